"""Read and write documents: collections, readers, writers and the bundled sample."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Public name -> module. Modules load on first use, so that a command that only checks a file name loads no reader.
_PUBLIC = {
    "Collection": "isthmus.corpus.collection",
    "check_output": "isthmus.corpus.write",
    "list_sheets": "isthmus.corpus.binary",
    "load_sample": "isthmus.corpus.sample",
    "read_collection": "isthmus.corpus.read",
    "read_table": "isthmus.corpus.read",
    "replacing": "isthmus.corpus.write",
    "with_columns": "isthmus.corpus.write",
    "write_records": "isthmus.corpus.write",
    "write_rows": "isthmus.corpus.write",
}

__all__ = sorted(_PUBLIC)

if TYPE_CHECKING:  # for editors and type checkers; at run time __getattr__ does this
    from isthmus.corpus.binary import list_sheets
    from isthmus.corpus.collection import Collection
    from isthmus.corpus.read import read_collection, read_table
    from isthmus.corpus.sample import load_sample
    from isthmus.corpus.write import check_output, replacing, with_columns, write_records, write_rows


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
