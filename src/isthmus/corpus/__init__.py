"""Read documents, look at them, write them: collections, readers, writers, benchmark data sets, the bundled sample."""

from isthmus.corpus.collection import Collection
from isthmus.corpus.datasets import data_folder, list_datasets, load_dataset, load_lexicon
from isthmus.corpus.read import read_collection
from isthmus.corpus.sample import load_sample
from isthmus.corpus.shifted import ShiftedTexts, make_shifted_texts
from isthmus.corpus.write import check_output, replacing, with_columns, write_records, write_rows

__all__ = [
    "Collection",
    "ShiftedTexts",
    "check_output",
    "data_folder",
    "list_datasets",
    "load_dataset",
    "load_lexicon",
    "load_sample",
    "make_shifted_texts",
    "read_collection",
    "replacing",
    "with_columns",
    "write_records",
    "write_rows",
]
