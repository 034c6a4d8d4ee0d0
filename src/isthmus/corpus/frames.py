"""Read and create data frames of pandas, polars and pyarrow (through narwhals) and Hugging Face datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isthmus._utils import import_optional
from isthmus.corpus.collection import Collection
from isthmus.corpus.guess import resolve_columns
from isthmus.corpus.read import to_collection
from isthmus.corpus.tables import Rows
from isthmus.corpus.write import with_columns

_LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf", "datasets")  # top-level packages of frame types


def is_frame(value: Any) -> bool:
    """Return whether a value is a table with named columns, without an import of any data frame library.

    Parameters
    ----------
    value : object

    Returns
    -------
    bool

    Examples
    --------
    >>> is_frame(["kind staff"]), is_frame({"text": ["kind staff"]})
    (False, False)
    """
    return _library(value) in _LIBRARIES and (hasattr(value, "columns") or hasattr(value, "column_names"))


def frame_columns(frame: Any) -> dict[str, list]:
    """Return the columns of a frame as lists.

    Parameters
    ----------
    frame : data frame or dataset

    Returns
    -------
    dict of str to list
    """
    if _is_dataset(frame):
        # narwhals does not support datasets of Hugging Face.
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
    """Return the documents of a data frame, as :func:`isthmus.corpus.read_collection` does for a file.

    Parameters
    ----------
    frame : data frame or dataset
        Missing texts (None, NaN) become empty, missing labels become None.
    name : str
        Name of the frame in messages.
    text : str or sequence of str, optional
        Text columns; guessed if omitted.
    label : str, optional
        Label column; guessed if omitted.
    id : str, optional
        Id column; guessed if omitted.
    want_labels : bool, optional
        As for :func:`isthmus.corpus.read_collection`.

    Returns
    -------
    Collection
        Labels have their original type.
    """
    columns = frame_columns(frame)
    rows = Rows(tuple(columns), columns)
    roles = resolve_columns(columns, name, text=text, label=label, id=id, want_labels=want_labels)
    docs = to_collection(rows, name, text=roles.text, label=roles.label, id=roles.id, want_labels=want_labels)
    docs.notes = list(roles.notes)
    # Readers of files return labels as text; labels of frames have their own type.
    if roles.label:
        pairs = zip(columns[roles.label], docs.labels, strict=True)
        docs.labels = [None if text is None else value for value, text in pairs]
    return docs


def holds_categories(frame: Any, column: str | None) -> bool:
    """Return whether a column has a categorical type.

    Parameters
    ----------
    frame : data frame or dataset
    column : str or None
        None gives False.

    Returns
    -------
    bool
    """
    if column is None or _is_dataset(frame):
        return False
    narwhals = import_optional("narwhals", "Reading data frames")
    return _narwhals(frame)[column].dtype in (narwhals.Categorical, narwhals.Enum)


def extend_frame(frame: Any, added: Mapping[str, Sequence], categories: Sequence[str] = ()) -> Any:
    """Return a frame of the same type with more columns; its index and its own columns do not change.

    Parameters
    ----------
    frame : data frame or dataset
    added : mapping of str to sequence
        New columns. An input column of the same name becomes ``NAME_input``, as in :func:`isthmus.corpus.with_columns`.
    categories : sequence of str
        New columns that get a categorical type.

    Returns
    -------
    data frame or dataset
    """
    names = list(frame.column_names if _is_dataset(frame) else _narwhals(frame).columns)
    # with_columns decides the new names; empty lists suffice for this.
    new_names = list(with_columns({name: [] for name in names}, {name: [] for name in added}))
    renamed = {old: new for old, new in zip(names, new_names, strict=False) if old != new}
    if _is_dataset(frame):
        frame = frame.rename_columns(renamed)
        for name, cells in added.items():
            frame = frame.add_column(name, list(cells))
        return frame
    narwhals = import_optional("narwhals", "Reading data frames")
    table = _narwhals(frame).rename(renamed)
    # New columns must belong to the same library as the frame.
    backend = narwhals.get_native_namespace(table)
    series = [narwhals.new_series(name, list(cells), backend=backend) for name, cells in added.items()]
    series = [one.cast(narwhals.Categorical) if one.name in categories else one for one in series]
    return table.with_columns(*series).to_native()


def make_frame(columns: Mapping[str, Sequence], like: Any) -> Any:
    """Return a frame of the same type as another frame.

    Parameters
    ----------
    columns : mapping of str to sequence
        Cells of the new frame.
    like : data frame or dataset
        Frame with the wanted type.

    Returns
    -------
    data frame or dataset
    """
    cells = {name: list(values) for name, values in columns.items()}
    if _is_dataset(like):
        return type(like).from_dict(cells)
    narwhals = import_optional("narwhals", "Reading data frames")
    return narwhals.from_dict(cells, backend=narwhals.get_native_namespace(_narwhals(like))).to_native()


def convert_frame(frame: Any, library: str) -> Any:
    """Return a frame as a data frame of another library.

    Parameters
    ----------
    frame : data frame or dataset
    library : str
        "pandas" or "polars".

    Returns
    -------
    data frame
        The same object if it already has the type.
    """
    if _library(frame) == library:
        return frame
    # The libraries' own conversions need pyarrow, so lists of cells are copied. NaN (unequal to itself) becomes None.
    columns = {name: [None if cell != cell else cell for cell in cells] for name, cells in frame_columns(frame).items()}
    return import_optional(library, f"to_{library}()").DataFrame(columns)


def _library(value: Any) -> str:
    """Return the top-level package that defines the type of a value."""
    return type(value).__module__.partition(".")[0]


def _is_dataset(frame: Any) -> bool:
    return _library(frame) == "datasets"


def _narwhals(frame: Any) -> Any:
    """Return the frame behind the common interface of narwhals; compute a lazy frame."""
    narwhals = import_optional("narwhals", "Reading data frames")
    table = narwhals.from_native(frame)
    return table.collect() if isinstance(table, narwhals.LazyFrame) else table
