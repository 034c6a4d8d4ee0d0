"""Read parquet files and workbooks, each first in a separate process.

The readers are compiled. A damaged or forged file can make them request more memory than the machine has; the process
then ends without an exception. The trial in another process turns this case into an error message.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from isthmus._utils import import_optional
from isthmus.corpus.guess import TITLE_ROWS, find_header, guess_texts, list_columns, shorten
from isthmus.corpus.limits import check_sheets, sheet_paths, too_large, unpack_limit
from isthmus.corpus.sheets import CHOICES_SHEET, REVIEW_SHEET
from isthmus.corpus.tables import MOST_COLUMNS, Rows, check_width, empty_table, note_titles, to_columns, unique_names
from isthmus.exceptions import DataError

_SECONDS, _SECONDS_PER_BYTE = 60.0, 2e-6  # time limit of a trial: a constant, and a part per byte
_RESERVE = 16 * 2**30  # bytes of address space in addition to the table; threads and libraries reserve much

_CODE = """
import io, json, sys
kind, limit, most_columns, *sheets = sys.argv[1:]
limit = int(limit)
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
data = sys.stdin.buffer.read()
try:
    width = size = 0
    if kind == "parquet":
        import polars
        width = len(polars.read_parquet_schema(io.BytesIO(data)))
        if width <= int(most_columns):
            size = polars.read_parquet(io.BytesIO(data)).estimated_size()
    else:
        import fastexcel
        book = fastexcel.read_excel(data)
        for sheet in sheets or [0]:
            book.load_sheet(sheet, header_row=None, dtypes="string")
    print(json.dumps({"size": size, "width": width}))
except BaseException as error:
    print(json.dumps({"error": (str(error).strip() or type(error).__name__).splitlines()[0][:300]}))
"""


def try_reading(data: bytes, kind: str, name: str, sheets: Sequence[str] = ()) -> None:
    """Refuse a file or sheets that cannot be read.

    Parameters
    ----------
    data : bytes
        Content of the file.
    kind : {"parquet", "xlsx"}
        Format.
    name : str
        Name of the file in error messages.
    sheets : sequence of str
        Sheets of a workbook; the first sheet if empty.

    Raises
    ------
    DataError
        The file is damaged, too wide or too large.
    """
    limit = unpack_limit()
    command = [sys.executable, "-P", "-c", _CODE, kind, str(8 * limit + _RESERVE), str(MOST_COLUMNS), *sheets]
    try:
        done = subprocess.run(
            command,
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS + _SECONDS_PER_BYTE * len(data),
            # Each thread reserves address space, which counts towards the limit of the trial.
            env={**os.environ, "POLARS_MAX_THREADS": "2"},
            check=False,
        )
        outcome = json.loads(done.stdout or b"{}")
    except subprocess.TimeoutExpired:
        raise _unreadable(name, kind, "its reader came to no end") from None
    except (OSError, ValueError):
        return  # no separate interpreter is available (an embedded Python): read the file in this process
    if "error" in outcome:
        raise _unreadable(name, kind, outcome["error"])
    if done.returncode != 0 or "size" not in outcome:
        raise _unreadable(name, kind, "its reader broke down")
    check_width(outcome["width"], name)
    if outcome["size"] > limit:
        raise too_large(name, outcome["size"])


def _unreadable(name: str, kind: str, reason: str) -> DataError:
    """Return the error for a file that its reader refuses."""
    return DataError(
        f"{name} cannot be read as {kind} ({reason[:120]}); check that the file is whole and its ending right.",
        code="unreadable-file",
    )


@contextmanager
def _reading(name: str, kind: str) -> Iterator[None]:
    """Turn any failure of a compiled reader into a DataError."""
    try:
        yield
    except (DataError, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # polars reports a damaged file with a panic, which is not an Exception
        lines = str(error).strip().splitlines()
        raise _unreadable(name, kind, lines[0] if lines else type(error).__name__) from None


def read_parquet(data: bytes, name: str) -> Rows:
    """Read a parquet file.

    Parameters
    ----------
    data : bytes
        Content of the file.
    name : str
        Name of the file in error messages.

    Returns
    -------
    Rows

    Raises
    ------
    DataError
        The file cannot be read.
    """
    polars = import_optional("polars", f"Reading {name}")
    try_reading(data, "parquet", name)
    with _reading(name, "parquet"):
        frame = polars.read_parquet(io.BytesIO(data))
        return Rows(tuple(frame.columns), {column.name: column.to_list() for column in frame})


def read_xlsx(data: bytes, name: str, sheet: str | None = None, rank: Callable[[Rows], tuple] | None = None) -> Rows:
    """Read one sheet of a workbook.

    The first row is the header; with titles above the table, the row below them.

    Parameters
    ----------
    data : bytes
        Content of the file.
    name : str
        Name of the file in error messages.
    sheet : str, optional
        Name or number (from 1) of the sheet.
    rank : callable, optional
        Takes the Rows of a sheet and returns a tuple. Without a named sheet, the sheet with the highest tuple is read;
        a note lists sheets with the same first value. The default compares whether a sheet has a text column, then
        the number of its rows.

    Returns
    -------
    Rows

    Raises
    ------
    DataError
        The workbook cannot be read, or the sheet does not exist or is empty.
    """
    import_optional("polars", f"Reading {name}")
    fastexcel = import_optional("fastexcel", f"Reading {name}")
    paths = sheet_paths(data, name)
    titles = [title for title in paths if title != CHOICES_SHEET]
    if sheet is not None and titles:
        titles = [list(paths)[find_sheet(list(paths), sheet, name)]]
    check_sheets(data, name, [paths[title] for title in titles])
    try_reading(data, "xlsx", name, titles)
    if not titles:
        raise _unreadable(name, "xlsx", "it lists no sheets")
    with _reading(name, "xlsx"):
        book = fastexcel.read_excel(data)
        tables = []
        for title in titles:
            # Cells arrive as text: the header may be in a later row, which would give its columns a wrong type.
            frame = book.load_sheet(title, header_row=None, dtypes="string").to_polars()
            tables.append(
                _find_table(title, [row for row in frame.iter_rows() if any(cell is not None for cell in row)])
            )
    ranks = [(rank or rank_documents)(table) for table in tables]
    best = ranks.index(max(ranks))
    rows = tables[best]
    if not rows.names:
        raise empty_table(name)
    # Sheets that Isthmus adds itself are no sheets of the user.
    rows.sheets = tuple(title for title in paths if title not in (CHOICES_SHEET, REVIEW_SHEET)) or tuple(paths)
    if len(rows.sheets) > 1 and sheet is None:
        others = [title for title, value in zip(titles, ranks, strict=True) if value[0] and title != rows.sheet]
        also = f"; {list_columns(map(repr, others))} may hold documents, too" if others else ""
        rows.notes.append(
            f"of {len(rows.sheets)} sheets, {shorten(str(rows.sheet))!r} was read{also}; name another with sheet=NAME."
        )
    rows.notes = [f"{name}: {note}" for note in rows.notes]
    return rows


def rank_documents(rows: Rows) -> tuple:
    """Return whether a sheet has a text column, and its number of rows.

    Parameters
    ----------
    rows : Rows
        A sheet.

    Returns
    -------
    tuple of (bool, int)
    """
    return rows.sheet != REVIEW_SHEET and bool(guess_texts(rows.columns)), len(rows)


def _find_table(title: str, rows: list) -> Rows:
    """Return the table of a sheet; without columns if the sheet is empty."""
    if not rows:
        return Rows((), sheet=title)
    header = find_header(rows[: 2 * TITLE_ROWS], sure=True)
    names, notes = unique_names([cell or "" for cell in rows[header]])
    columns = to_columns(names, rows[header + 1 :])
    return Rows(tuple(names), columns, guarded=True, notes=notes + note_titles(rows[:header]), sheet=title)


def list_sheets(path: str | os.PathLike) -> list[str]:
    """Return the names of the sheets of a workbook, without the sheets that Isthmus adds.

    Parameters
    ----------
    path : path-like
        Workbook.

    Returns
    -------
    list of str
        Empty if the file is damaged or is no workbook.

    Raises
    ------
    DataError
        The workbook unpacks to more than the limit.
    """
    with suppress(OSError), open(path, "rb") as file:
        return [title for title in sheet_paths(file.read(), str(path)) if title not in (CHOICES_SHEET, REVIEW_SHEET)]
    return []


def find_sheet(names: Sequence[str], wanted: str, name: str) -> int:
    """Return the index of a sheet.

    Parameters
    ----------
    names : sequence of str
        Names of all sheets.
    wanted : str
        Name, or number from 1.
    name : str
        Name of the file in error messages.

    Returns
    -------
    int
        Index from 0.

    Raises
    ------
    DataError
        No such sheet exists.
    """
    for index, known in enumerate(names):
        if known.casefold().strip() == wanted.casefold().strip():
            return index
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    raise DataError(
        f"{name} has no sheet {shorten(wanted)!r}; its sheets are: {list_columns(names)}.", code="unknown-column"
    )
