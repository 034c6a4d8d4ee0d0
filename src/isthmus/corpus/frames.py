"""Data frames in and out: pandas, polars, pyarrow (through narwhals) and Hugging Face datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isthmus._utils import import_optional
from isthmus.corpus.collection import Collection
from isthmus.corpus.guess import resolve_columns
from isthmus.corpus.read import to_collection
from isthmus.corpus.tables import Rows
from isthmus.corpus.write import with_columns

_LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf", "datasets")


def is_frame(value: Any) -> bool:
    """Whether a value is a table with named columns; loads no library of such tables.

    >>> is_frame(["kind staff"]), is_frame({"text": ["kind staff"]})
    (False, False)
    """
    return _library(value) in _LIBRARIES and (hasattr(value, "columns") or hasattr(value, "column_names"))


def frame_columns(frame: Any) -> dict[str, list]:
    if _is_dataset(frame):
        return {name: list(frame[name]) for name in frame.column_names}
    table = _narwhals(frame)
    return {str(name): table[name].to_list() for name in table.columns}


def read_frame(
    frame: Any,
    name: str,
    *,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    want_labels: bool | None = None,
) -> Collection:
    """The documents of a data frame, as :func:`isthmus.corpus.read_collection` reads those of a file.

    Missing texts (None, NaN) are empty, missing labels are None; labels keep their type.
    """
    columns = frame_columns(frame)
    rows = Rows(tuple(columns), columns)
    roles = resolve_columns(columns, name, text=text, label=label, id=id, want_labels=want_labels)
    docs = to_collection(rows, name, text=roles.text, label=roles.label, id=roles.id, want_labels=want_labels)
    docs.notes = list(roles.notes)
    if roles.label:
        given = zip(columns[roles.label], docs.labels, strict=True)
        docs.labels = [None if text is None else value for value, text in given]
    return docs


def holds_categories(frame: Any, column: str | None) -> bool:
    if column is None or _is_dataset(frame):
        return False
    narwhals = import_optional("narwhals", "Reading data frames")
    return _narwhals(frame)[column].dtype in (narwhals.Categorical, narwhals.Enum)


def extend_frame(frame: Any, added: Mapping[str, Sequence], categories: Sequence[str] = ()) -> Any:
    """The same kind of frame with further columns; its index and all its columns are kept.

    A column of the same name is kept as ``NAME_input`` (:func:`isthmus.corpus.with_columns`). Columns named in
    ``categories`` get that type.
    """
    names = list(frame.column_names if _is_dataset(frame) else _narwhals(frame).columns)
    kept = list(with_columns({name: [] for name in names}, {name: [] for name in added}))
    renamed = {old: new for old, new in zip(names, kept, strict=False) if old != new}
    if _is_dataset(frame):
        frame = frame.rename_columns(renamed)
        for name, cells in added.items():
            frame = frame.add_column(name, list(cells))
        return frame
    narwhals = import_optional("narwhals", "Reading data frames")
    table = _narwhals(frame).rename(renamed)
    backend = narwhals.get_native_namespace(table)
    series = [narwhals.new_series(name, list(cells), backend=backend) for name, cells in added.items()]
    series = [one.cast(narwhals.Categorical) if one.name in categories else one for one in series]
    return table.with_columns(*series).to_native()


def make_frame(columns: Mapping[str, Sequence], like: Any) -> Any:
    """A frame of the same kind as another one."""
    cells = {name: list(values) for name, values in columns.items()}
    if _is_dataset(like):
        return type(like).from_dict(cells)
    narwhals = import_optional("narwhals", "Reading data frames")
    return narwhals.from_dict(cells, backend=narwhals.get_native_namespace(_narwhals(like))).to_native()


def convert_frame(frame: Any, library: str) -> Any:
    if _library(frame) == library:
        return frame
    # Cell by cell: the libraries' own ways to each other need pyarrow.
    columns = {name: [None if cell != cell else cell for cell in cells] for name, cells in frame_columns(frame).items()}
    return import_optional(library, f"to_{library}()").DataFrame(columns)


def _library(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _is_dataset(frame: Any) -> bool:
    return _library(frame) == "datasets"


def _narwhals(frame: Any) -> Any:
    narwhals = import_optional("narwhals", "Reading data frames")
    table = narwhals.from_native(frame)
    return table.collect() if isinstance(table, narwhals.LazyFrame) else table
