"""Read documents, look at them, write them: collections, readers, writers, benchmark data sets, the bundled sample."""

from isthmus.corpus.collection import Collection
from isthmus.corpus.read import read_collection

__all__ = ["Collection", "read_collection"]
