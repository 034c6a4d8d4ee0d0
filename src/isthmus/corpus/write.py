"""Write tables in the format of the file's ending, atomically."""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import os
import platform
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

from isthmus._streams import StandardOutput, check_standard_output
from isthmus._utils import import_optional
from isthmus.corpus.cells import (
    FORMULA_SIGNS,
    XLSX_EXACT,
    FormulaEscaper,
    as_cell_text,
    as_text,
    is_structure,
    json_text,
    plain,
    whole_text,
)
from isthmus.corpus.formats import is_packed, table_ending, written_format
from isthmus.corpus.sheets import Layout, write_sheets
from isthmus.exceptions import DataError, UsageError

# -- Hidden part files: data is written to a temporary file next to its destination
# The name of a part file contains the process and the machine. The next writer can therefore distinguish the files of
# killed processes, which it removes, from files that are still growing.


_PART = re.compile(r"\..{0,20}\.(?P<host>[0-9a-f]{8})-(?P<pid>[0-9]+)-[0-9a-f]{8}\.isthmus-part")


def create_part(real: Path) -> Path:
    """Create an empty part file next to its destination.

    Parameters
    ----------
    real : Path
        Destination.

    Returns
    -------
    Path
        The part file; it has the mode of the destination, or the mode of a new file.
    """
    remove_stale_parts(real.parent)
    name = f".{real.name[:20]}.{this_host()}-{os.getpid()}-{secrets.token_hex(4)}.isthmus-part"
    part = real.parent / name
    mode = _mode_of(real)
    # A new file gets the mode 0666 minus the user's mask, as usual on the system. A file that replaces another remains
    # private until it has the mode of that file.
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600))
    if mode is not None:
        with suppress(OSError):
            os.chmod(part, stat.S_IMODE(mode))
    return part


def remove_stale_parts(folder: Path) -> int:
    """Remove the part files of processes that have ended.

    Parameters
    ----------
    folder : Path
        Folder with part files.

    Returns
    -------
    int
        Number of removed files.
    """
    removed = 0
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(folder)
    for match in filter(None, map(_PART.fullmatch, names)):
        if match["host"] == this_host() and not is_running(int(match["pid"])):
            with suppress(OSError):
                os.unlink(folder / match.string)
                removed += 1
    return removed


def is_device(path: Path) -> bool:
    """Return whether a path is a pipe, a socket or a device, which cannot be replaced.

    Parameters
    ----------
    path : Path

    Returns
    -------
    bool
    """
    mode = _mode_of(path)
    return mode is not None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _mode_of(path: Path) -> int | None:
    """Return the mode of a file, or None if it cannot be read."""
    try:
        return path.stat().st_mode
    except OSError:
        return None


def this_host() -> str:
    """Return a short hash of the machine's name, which reveals nothing about it.

    Returns
    -------
    str
        Eight hexadecimal digits.
    """
    return hashlib.sha256(platform.node().encode("utf-8", "replace")).hexdigest()[:8]


def is_running(pid: int) -> bool:
    """Return whether a process exists.

    Parameters
    ----------
    pid : int
        Number of the process.

    Returns
    -------
    bool
        True if the system does not answer.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # another user's process, or an invalid number: assume that it is running
    return True


_ROW_GROUP = 100_000  # rows per group of a joined parquet file
# Limits of the format: characters per cell, rows and columns.
_XLSX_CELL, _XLSX_ROWS, _XLSX_COLUMNS = 32_767, 1_048_576, 16_384


def write_rows(
    path: str | Path,
    columns: Mapping[str, list],
    *,
    force: bool = False,
    spreadsheet_safe: bool = False,
    stdout: IO[bytes] | None = None,
    layout: Layout | None = None,
) -> int:
    """Write columns as csv, tsv, jsonl, parquet or xlsx (text formats also with .gz).

    The file appears only when it is complete: a temporary file next to it receives the rows and is renamed at the end.

    Parameters
    ----------
    path : str or Path
        The ending determines the format; ``"-"`` writes csv to standard output.
    columns : mapping of str to list
        Columns of one length. None is an empty cell; in csv, lists and objects become JSON.
    force : bool
        Replace an existing file.
    spreadsheet_safe : bool
        In csv and tsv, put ``'`` before cells and column names that a spreadsheet would run as formulas: those that
        begin with ``= + - @`` (also full-width), a tab or a line break and are no numbers. Readers remove the
        apostrophe. The default is False, because the file otherwise differs from the texts; the commands use True. In
        xlsx, texts are always written as text; jsonl and parquet never change.
    stdout : binary file, optional
        File to write instead of the standard output of the process if ``path`` is ``"-"``.
    layout : Layout, optional
        Drop-down lists and a sheet for answers in xlsx; other formats ignore it.

    Returns
    -------
    int
        Number of cells with an added apostrophe.

    See Also
    --------
    isthmus.corpus.read_collection : Reads the file.

    Examples
    --------
    >>> import tempfile
    >>> from isthmus.corpus import read_collection, write_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rows(f"{folder}/out.csv", {"text": ["one, two", "=1+1"], "label": ["a", None]})
    ...     write_rows(f"{folder}/safe.csv", {"text": ["one, two", "=1+1"]}, spreadsheet_safe=True)
    ...     read_collection(f"{folder}/out.csv").texts
    0
    1
    ['one, two', '=1+1']
    """
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(
            f"The columns to write differ in length: {lengths}; give one value per row.", code="length-mismatch"
        )
    guard = FormulaEscaper(spreadsheet_safe)
    if str(path) == "-":
        out = StandardOutput(stdout)
        write_body(out, "csv", columns, guard)
        out.flush()
        return guard.count
    path = Path(path)
    check_output(path, force=force)
    kind = output_kind(path)
    with replacing(path, force=force) as out:
        if kind == "parquet":
            _save_parquet(out, columns, path.name)
        elif kind == "xlsx":
            _save_xlsx(out, columns, path.name, layout or Layout())
        else:
            write_body(out, kind, columns, guard)
    return guard.count


def with_columns(table: Mapping[str, list], added: Mapping[str, list], only: Sequence[str] = ()) -> dict[str, list]:
    """Return all columns of a table and the added columns.

    Parameters
    ----------
    table : mapping of str to list
        Input columns. If an added column has the same name, the input column becomes ``NAME_input``.
    added : mapping of str to list
        New columns.
    only : sequence of str
        Names of the added columns to use; empty for all.

    Returns
    -------
    dict of str to list

    Examples
    --------
    >>> from isthmus.corpus import with_columns
    >>> with_columns({"text": ["a"], "label": ["old"]}, {"label": ["new"]})
    {'text': ['a'], 'label_input': ['old'], 'label': ['new']}
    """
    added = only_columns(added, only)
    joined: dict[str, list] = {}
    for name, values in table.items():
        # The user's column remains in the output under another name.
        new_name = f"{name}_input" if name in added else name
        while new_name != name and (new_name in table or new_name in added):
            new_name += "_"
        joined[new_name] = values
    return joined | added


def only_columns(added: Mapping[str, Any], only: Sequence[str]) -> dict[str, Any]:
    """Return the added columns that the user wants.

    Parameters
    ----------
    added : mapping of str to object
        New columns.
    only : sequence of str
        Names of the columns to use; empty for all.

    Returns
    -------
    dict of str to object
    """
    return {name: cells for name, cells in added.items() if not only or name in only}


def write_records(path: str | Path, records: Iterable[Mapping[str, Any]], *, force: bool = False) -> int:
    """Write JSON lines (also .gz), one record at a time.

    Parameters
    ----------
    path : str or Path
        File.
    records : iterable of mapping
        Records.
    force : bool
        Replace an existing file.

    Returns
    -------
    int
        Number of records.

    Raises
    ------
    DataError
        The file cannot be written.
    """
    path = Path(path)
    check_output(path, force=force, table=False)
    with replacing(path, force=force) as out:
        return write_lines(out, records)


def check_output(path: str | Path, *, force: bool = False, table: bool = True) -> None:
    """Refuse an output that cannot be written; call this function before the work starts.

    Parameters
    ----------
    path : str or Path
        File, or ``"-"``.
    force : bool
        Allow an existing file.
    table : bool
        Whether the ending must belong to a table format; False for outputs such as reports.

    Raises
    ------
    DataError
        The file exists or cannot be written.
    UsageError
        No table format has this ending.
    """
    if str(path) == "-":
        check_standard_output()
        return
    path = Path(path)
    if path.is_dir():
        raise _unwritable(path, "it is a folder; name a file in it")
    if table:
        output_kind(path)
    if is_device(path):
        return
    if path.exists() and not force:
        raise DataError(f"{str(path)!r} exists; give another name, or force=True to replace it.", code="output-exists")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise _unwritable(path, f"folder {str(path.parent)!r} does not exist; create it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unwritable(path, f"you may not write into {str(path.parent)!r}; choose another folder")


def check_table(path: str | Path, columns: Mapping[str, list], *, added: int = 0) -> None:
    """Refuse a table that its format cannot store; call this function before the work starts.

    Parameters
    ----------
    path : str or Path
        File.
    columns : mapping of str to list
        Columns of the table.
    added : int
        Number of additional columns with short cells.

    Raises
    ------
    DataError
        The table is too large for the format.
    """
    if str(path) == "-" or output_kind(path) != "xlsx":
        return
    rows, width = len(next(iter(columns.values()), [])), len(columns) + added
    # Most cells are certainly short enough. Spreadsheets count characters beyond U+FFFF twice.
    lengths = [
        len((as_cell_text(value) or "").encode("utf-16-le", "replace")) // 2
        for value in chain(columns, *columns.values())
        if not (isinstance(value, str) and 2 * len(value) < _XLSX_CELL) and not isinstance(value, (bool, float))
    ]
    longest = max(lengths, default=0)
    too_much = {
        f"{rows:,} rows": rows >= _XLSX_ROWS,
        f"{width:,} columns": width > _XLSX_COLUMNS,
        f"a cell of {longest:,} characters": longest > _XLSX_CELL,
    }
    if any(too_much.values()):
        what = next(what for what, exceeds in too_much.items() if exceeds)
        raise DataError(
            f"{Path(path).name!r} cannot hold {what} (xlsx ends at {_XLSX_ROWS:,} rows, {_XLSX_COLUMNS:,} columns and "
            f"{_XLSX_CELL:,} characters a cell); write .csv, .jsonl or .parquet instead.",
            code="output-unwritable",
        )


@contextmanager
def replacing(path: str | Path, *, force: bool = False):
    """Open a binary file that replaces ``path`` when the block succeeds and disappears when the block fails.

    Parameters
    ----------
    path : str or Path
        Destination; a ``.gz`` file is compressed.
    force : bool
        Replace an existing file.

    Yields
    ------
    binary file

    Raises
    ------
    DataError
        The file cannot be written, or it appeared during the work.
    """
    path = Path(path)
    if is_device(path):
        with path.open("wb") as out:
            yield out
        return
    real = path.resolve()  # the destination of a link is replaced, not the link
    part = None
    try:
        try:
            part = create_part(real)
        except OSError as error:
            raise _unwritable(path, f"{error.strerror}; choose another folder") from None
        with part.open("wb") as raw:
            if is_packed(path):
                # Without a name and a time in the header, the same rows give the same bytes.
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0, compresslevel=6) as out:
                    yield out
            else:
                yield raw
        # Another program may have written the file since check_output.
        if real.exists() and not force:
            raise DataError(f"{str(path)!r} appeared meanwhile; it was not replaced.", code="output-exists")
        os.replace(part, real)
        part = None
    except OSError as error:
        raise _unwritable(path, f"{error.strerror or error}") from None
    finally:
        if part is not None:
            with suppress(OSError):
                os.unlink(part)


def _unwritable(path: Path, why: str) -> DataError:
    """Return the error for an output that cannot be written."""
    return DataError(f"{str(path)!r} cannot be written: {why}.", code="output-unwritable")


def output_kind(path: str | Path) -> str:
    """Return the name of the format in which a file is written.

    Parameters
    ----------
    path : str or Path
        File.

    Returns
    -------
    str

    Raises
    ------
    UsageError
        The ending belongs to no format that can be written.
    """
    format = written_format(path)
    if format is not None:
        return format.name
    if is_device(Path(path)) and not table_ending(path):
        return "csv"
    raise UsageError(
        f"{Path(path).name!r} names no format that can be written; end it in .csv, .tsv or .jsonl (also with .gz), "
        ".parquet or .xlsx.",
        code="unknown-format",
    )


# -- Text formats, for whole files and for parts of large files --------------------------------------------------------
# The csv module does not quote a single carriage return in every version of Python, so it is not used for csv files.

_NEED_QUOTES = ('"', ",", ";", "\t", "\r", "\n", "\0")  # characters for which a cell is quoted or changed
_AT_ONCE = 20_000  # rows that are converted and written in one step


def write_body(out: Any, kind: str, columns: Mapping[str, list], guard: FormulaEscaper, *, header: bool = True) -> None:
    """Write columns as csv, tsv or jsonl to a binary file.

    Parameters
    ----------
    out : binary file
        Destination.
    kind : {"csv", "tsv", "jsonl"}
        Format.
    columns : mapping of str to list
        Cells by column.
    guard : FormulaEscaper
        Protects cells from spreadsheets.
    header : bool
        Whether to write the names of the columns.
    """
    if kind == "jsonl":
        write_lines(out, (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)))
        return
    delimiter = "\t" if kind == "tsv" else ","
    if header:
        names = [_csv_cell(str(name), guard) or '""' for name in columns]
        out.write((delimiter.join(names) + "\n").encode("utf-8", "replace"))
    # An empty cell in the only column is written as "", because readers skip blank lines.
    empty = '""' if len(columns) == 1 else ""
    n_rows = len(next(iter(columns.values()), ()))
    for start in range(0, n_rows, _AT_ONCE):
        cells = [_csv_cells(values[start : start + _AT_ONCE], guard) for values in columns.values()]
        lines = map(delimiter.join, zip(*cells, strict=True))
        # Thousands of rows per write are much faster than one row.
        out.write("".join([(line or empty) + "\n" for line in lines]).encode("utf-8", "replace"))


def extend_records(records: Iterable[Mapping[str, Any]], added: Mapping[str, list]) -> Iterator[dict[str, Any]]:
    """Return records with more columns; existing fields remain, see :func:`with_columns`.

    Parameters
    ----------
    records : iterable of mapping
        Records.
    added : mapping of str to list
        New columns, one cell per record.

    Yields
    ------
    dict of str to object
    """
    for record, *new in zip(records, *added.values(), strict=True):
        yield with_columns(record, dict(zip(added, new, strict=True)))


def write_lines(out: Any, records: Iterable[Mapping[str, Any]]) -> int:
    """Write one JSON object per line.

    Parameters
    ----------
    out : binary file
        Destination.
    records : iterable of mapping
        Records.

    Returns
    -------
    int
        Number of records.
    """
    count = 0
    for record in records:
        out.write(json_text(record).encode() + b"\n")
        count += 1
    return count


def _csv_cells(cells: list, guard: FormulaEscaper) -> list[str]:
    """Return the text of csv cells."""
    kinds = {*map(type, cells)}
    if kinds <= {float, bool} and all(map(math.isfinite, cells)):
        return list(map(str, cells))
    if kinds == {str}:
        # Most columns need no quotes and no apostrophe, which a search in the joined text shows at once.
        marks, edges = set("".join(cells)), {cell[:1] for cell in cells} | {cell[-1:] for cell in cells}
        if marks.isdisjoint(_NEED_QUOTES) and edges.isdisjoint(FORMULA_SIGNS) and not any(map(str.isspace, edges)):
            return cells
    return [_csv_cell(cell, guard) for cell in cells]


def _csv_cell(value: Any, guard: FormulaEscaper) -> str:
    """Return the text of a csv cell."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    text = json_text(value) if is_structure(value) else guard(value if isinstance(value, str) else as_text(value))
    # Isthmus and other programs could not read a file with a NUL byte.
    text = text.replace("\0", "\ufffd")
    if text[:1].isspace() or text[-1:].isspace() or any(mark in text for mark in _NEED_QUOTES):
        return '"' + text.replace('"', '""') + '"'
    return text


# -- parquet and workbooks ---------------------------------------------------------------------------------------------


def _save_parquet(out: IO[bytes], columns: Mapping[str, list], name: str) -> None:
    polars = import_optional("polars", f"Writing {name}")
    frame = {whole_text(str(key)): _parquet_column(polars, values) for key, values in columns.items()}
    buffer = io.BytesIO()
    polars.DataFrame(frame).write_parquet(buffer)
    out.write(buffer.getbuffer())


def join_parquet(parts: Sequence[str | os.PathLike], path: str | os.PathLike) -> None:
    """Join parquet files to one file with regular row groups.

    Parameters
    ----------
    parts : sequence of path-like
        Files in order.
    path : path-like
        Destination.
    """
    polars = import_optional("polars", f"Writing {Path(path).name}")
    frames = [polars.scan_parquet(part) for part in parts]
    polars.concat(frames, how="vertical_relaxed").sink_parquet(path, row_group_size=_ROW_GROUP, maintain_order=True)


def _parquet_column(polars, values: list):
    """Return a column of numbers, texts or dates; convert mixed, nested and very large values to text."""
    values = [whole_text(value) if isinstance(value, str) else plain(value) for value in values]
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return polars.Series(values, dtype=polars.String)
    whole = [value for value in values if type(value) is int]
    if kinds == {int, float} and all(abs(value) <= XLSX_EXACT for value in whole):
        # Columns of numbers remain numbers if no digit is lost.
        values, kinds = [None if value is None else float(value) for value in values], {float}
    if len(kinds) == 1 and not kinds & {list, dict} and all(-(2**63) <= value < 2**63 for value in whole):
        with suppress(Exception):  # a type that polars cannot store
            return polars.Series(values)
    return polars.Series([as_cell_text(value) for value in values], dtype=polars.String)


def _save_xlsx(out: IO[bytes], columns: Mapping[str, list], name: str, layout: Layout) -> None:
    xlsxwriter = import_optional("xlsxwriter", f"Writing {name}")
    check_table(name, columns)
    columns = {whole_text(str(key)): values for key, values in columns.items()}
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True, "constant_memory": False}) as book:
        write_sheets(book, columns, layout)
    out.write(buffer.getbuffer())
