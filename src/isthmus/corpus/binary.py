"""Read parquet files and workbooks, each first in a process of its own.

Their readers are compiled: a damaged or forged file can make them ask for memory that no machine has, and then the
whole process ends, with no error to catch. A trial elsewhere turns that into a sentence.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from isthmus._utils import import_optional
from isthmus.corpus.guess import TITLE_ROWS, find_header, list_columns, shorten
from isthmus.corpus.limits import check_sheet, too_large, unpack_limit
from isthmus.corpus.sheets import CHOICES_SHEET, REVIEW_SHEET
from isthmus.corpus.tables import MOST_COLUMNS, Rows, check_width, empty_table, note_titles, to_columns, unique_names
from isthmus.exceptions import DataError

_SECONDS, _SECONDS_PER_BYTE = 60.0, 2e-6
_ROOM = 16 * 2**30  # address space beyond what the table itself may take: threads and libraries reserve a lot

_CODE = """
import io, json, sys
kind, room, sheet = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
data = sys.stdin.buffer.read()
try:
    width = size = 0
    if kind == "parquet":
        import polars
        width = len(polars.read_parquet_schema(io.BytesIO(data)))
        if width <= int(sys.argv[4]):
            size = polars.read_parquet(io.BytesIO(data)).estimated_size()
    else:
        import fastexcel
        fastexcel.read_excel(data).load_sheet(sheet, header_row=None, dtypes="string")
    print(json.dumps({"size": size, "width": width}))
except BaseException as error:
    print(json.dumps({"error": (str(error).strip() or type(error).__name__).splitlines()[0][:300]}))
"""


def try_reading(data: bytes, kind: str, name: str, *, sheet: int = 0) -> None:
    """Refuse a file (or a sheet of it) that cannot be read as ``kind`` ("parquet" or "xlsx")."""
    limit = unpack_limit()
    command = [sys.executable, "-P", "-c", _CODE, kind, str(8 * limit + _ROOM), str(sheet), str(MOST_COLUMNS)]
    try:
        done = subprocess.run(
            command,
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS + _SECONDS_PER_BYTE * len(data),
            env={**os.environ, "POLARS_MAX_THREADS": "2"},
            check=False,
        )
        outcome = json.loads(done.stdout or b"{}")
    except subprocess.TimeoutExpired:
        raise _unreadable(name, kind, "its reader came to no end") from None
    except (OSError, ValueError):
        return  # no interpreter to be had for a trial (a program with Python inside): read it here
    if "error" in outcome:
        raise _unreadable(name, kind, outcome["error"])
    if done.returncode != 0 or "size" not in outcome:
        raise _unreadable(name, kind, "its reader broke down")
    check_width(outcome["width"], name)
    if outcome["size"] > limit:
        raise too_large(name, outcome["size"])


def _unreadable(name: str, kind: str, reason: str) -> DataError:
    return DataError(
        f"{name} cannot be read as {kind} ({reason[:120]}); check that the file is whole and its ending right.",
        code="unreadable-file",
    )


@contextmanager
def _reading(name: str, kind: str) -> Iterator[None]:
    try:
        yield
    except (DataError, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # a damaged file makes polars panic, which is no Exception
        lines = str(error).strip().splitlines()
        raise _unreadable(name, kind, lines[0] if lines else type(error).__name__) from None


def read_parquet(data: bytes, name: str) -> Rows:
    polars = import_optional("polars", f"Reading {name}")
    try_reading(data, "parquet", name)
    with _reading(name, "parquet"):
        frame = polars.read_parquet(io.BytesIO(data))
        return Rows(tuple(frame.columns), {column.name: column.to_list() for column in frame})


def read_xlsx(data: bytes, name: str, sheet: str | None = None) -> Rows:
    """A sheet of a workbook (None: the first); its first row, or the one below titles, is the header."""
    import_optional("polars", f"Reading {name}")
    fastexcel = import_optional("fastexcel", f"Reading {name}")
    check_sheet(data, name)
    try_reading(data, "xlsx", name)
    with _reading(name, "xlsx"):
        book = fastexcel.read_excel(data)
        place = find_sheet(book.sheet_names, sheet, name)
        if place:
            check_sheet(data, name, sheet=place)
            try_reading(data, "xlsx", name, sheet=place)
        frame = book.load_sheet(place, header_row=None, dtypes="string").to_polars()
        rows = [row for row in frame.iter_rows() if any(cell is not None for cell in row)]
    shown = tuple(other for other in book.sheet_names if other not in (CHOICES_SHEET, REVIEW_SHEET))
    if len(rows) < 2 and sheet is None and len(shown) > 1:
        raise DataError(
            f"The first sheet of {name}, {shorten(shown[0])!r}, holds no documents; name another with sheet=NAME: "
            f"{list_columns(shown[1:])} (or write {name}::SHEET).",
            code="empty-file",
        )
    if not rows:
        raise empty_table(name)
    header = find_header(rows[: 2 * TITLE_ROWS], sure=True)
    names, notes = unique_names([cell or "" for cell in rows[header]])
    notes += note_titles(rows[:header])
    if len(shown) > 1 and sheet is None:
        notes.append(
            f"the first of {len(shown)} sheets, {shorten(shown[0])!r}, was read; name another with sheet=NAME."
        )
    return Rows(
        tuple(names),
        to_columns(names, rows[header + 1 :]),
        guarded=True,
        notes=[f"{name}: {note}" for note in notes],
        sheet=book.sheet_names[place],
        sheets=shown,
    )


def find_sheet(names: Sequence[str], wanted: str | None, name: str) -> int:
    """Place of the sheet with this name, or with this number from 1."""
    if wanted is None:
        return 0
    for place, known in enumerate(names):
        if known.casefold().strip() == wanted.casefold().strip():
            return place
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    raise DataError(
        f"{name} has no sheet {shorten(wanted)!r}; its sheets are: {list_columns(names)}.", code="unknown-column"
    )
