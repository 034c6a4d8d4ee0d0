"""From bytes to named columns, one function per format. Cells of csv, tsv and xlsx stay text, exactly as they stand."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from isthmus._utils import import_optional
from isthmus.corpus.cells import unguard
from isthmus.corpus.decode import decode, mend_surrogates
from isthmus.corpus.guess import TITLE_ROWS, find_header, list_columns, shorten
from isthmus.corpus.limits import check_sheet, too_large, unpack_limit
from isthmus.corpus.sheets import CHOICES_SHEET, REVIEW_SHEET
from isthmus.exceptions import DataError

# -- Binary tables are read once in a process of their own before they are read in this one
# The readers of parquet and xlsx are compiled: a damaged or forged file can make them ask for memory that no machine
# has, and then the whole process ends, with no error to catch. A trial elsewhere turns that into a sentence.


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
    if kind == "parquet":
        import polars
        size = polars.read_parquet(io.BytesIO(data)).estimated_size()
    else:
        import fastexcel
        fastexcel.read_excel(data).load_sheet(sheet, header_row=None, dtypes="string")
        size = 0
    print(json.dumps({"size": size}))
except BaseException as error:
    print(json.dumps({"error": (str(error).strip() or type(error).__name__).splitlines()[0][:300]}))
"""


def try_reading(data: bytes, kind: str, name: str, *, sheet: int = 0) -> None:
    """Refuse a file (or a sheet of it) that cannot be read as ``kind`` ("parquet" or "xlsx"), whatever happens."""
    limit = unpack_limit()
    command = [sys.executable, "-P", "-c", _CODE, kind, str(8 * limit + _ROOM), str(sheet)]
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
        raise unreadable(name, kind, "its reader came to no end") from None
    except (OSError, ValueError):
        return  # no interpreter to be had for a trial (a program with Python inside): read it here
    if "error" in outcome:
        raise unreadable(name, kind, outcome["error"])
    if done.returncode != 0 or "size" not in outcome:
        raise unreadable(name, kind, "its reader broke down")
    if outcome["size"] > limit:
        raise too_large(name, outcome["size"])


def unreadable(name: str, kind: str, reason: str) -> DataError:
    """The refusal of a file that is not what its name promises."""
    return DataError(
        f"{name} cannot be read as {kind} ({reason[:120]}); check that the file is whole and its ending right.",
        code="unreadable-file",
    )


DELIMITERS = ",;\t|"
_NOTED = 10  # renamed columns that are told of one by one
_SEP_LINE = re.compile(r"sep=([,;\t|])\r?\n")


@dataclass
class Table:
    """Columns in the order of the file, all of one length."""

    columns: dict[str, list]
    encoding: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values()), []))


def read_csv(data: bytes, name: str, delimiters: str = DELIMITERS) -> Table:
    """Comma-, semicolon-, tab- or bar-separated text with a header row."""
    text, encoding, notes = decode(data, name)
    if not text.strip():
        raise _empty(name)
    told = _SEP_LINE.match(text)  # Excel's own way to say it, a line "sep=;" before the header
    if told:
        text = text[told.end() :]
    delimiter = told.group(1) if told else _sniff_delimiter(text, delimiters)
    try:
        header, columns, titles = _parse_csv(text, name, delimiter)
    except _BadQuotes as error:
        # Tab-separated files often use no quoting at all; a lone quotation mark is then part of the text.
        if delimiter != "\t":
            raise DataError(
                f"{name}, line {error.line:,}: {error.reason}; put cells that hold quotation marks between "
                'quotation marks and double those inside ("").',
                code="unreadable-file",
            ) from None
        header, columns, titles = _parse_csv(text, name, delimiter, quoting=csv.QUOTE_NONE)
        notes.append(f"{name}: quotation marks do not pair, so they were read as part of the text.")
    names, renamed = _unique_names(header)
    if delimiter != delimiters[0]:
        notes.append(f"{name}: columns are separated by {_SEPARATOR_NAMES[delimiter]}.")
    return Table(
        dict(zip(names, columns, strict=True)), encoding, notes + [f"{name}: {note}" for note in [*titles, *renamed]]
    )


def read_tsv(data: bytes, name: str) -> Table:
    """Tab-separated text with a header row."""
    return read_csv(data, name, "\t")


_SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


class _BadQuotes(Exception):
    def __init__(self, line: int, reason: str):
        super().__init__(reason)
        self.line, self.reason = line, reason


_cells_lock = threading.Lock()
_cells_limit: list[int] = [0, 0]  # how many are reading, and the limit to put back after the last of them


@contextmanager
def _long_cells() -> Iterator[None]:
    """Lift the csv module's limit of 131,072 characters a cell.

    The limit is one for the whole process: it is put back when the last reader is done, whichever thread that is in.
    """
    with _cells_lock:
        if not _cells_limit[0]:
            _cells_limit[1] = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        _cells_limit[0] += 1
    try:
        yield
    finally:
        with _cells_lock:
            _cells_limit[0] -= 1
            if not _cells_limit[0]:
                csv.field_size_limit(_cells_limit[1])


def _parse_csv(
    text: str, name: str, delimiter: str, quoting: Any = csv.QUOTE_MINIMAL
) -> tuple[list[str], tuple[list[str], ...], list[str]]:
    """The header, the columns, and a note where titles stand above the header."""

    def read() -> Any:
        return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, quoting=quoting)

    rows = read()
    with _long_cells():
        try:
            start = list(islice(read(), 2 * TITLE_ROWS))
            place = find_header(start)
            header = next((row for row in islice(rows, place, None) if any(cell.strip() for cell in row)), None)
            if header is None:
                raise _empty(name)
            width = len(header)
            body = []
            for row in rows:
                if len(row) != width:
                    if not row:  # a blank line
                        continue
                    row = _mend(row, width, name, rows.line_num, delimiter)
                body.append(row)
        except csv.Error as error:
            raise _BadQuotes(rows.line_num, str(error)) from None
    columns = tuple(list(column) for column in zip(*body, strict=True)) if body else tuple([] for _ in header)
    return header, columns, _note_titles(start[:place])


def _note_titles(rows: Iterable[Sequence]) -> list[str]:
    titles = [str(next(filter(_holds, row))).strip() for row in rows if any(map(_holds, row))]
    if not titles:
        return []
    what = f"{len(titles)} rows above the header are" if len(titles) > 1 else "a row above the header is"
    return [f"{what} taken for a title and left out, first {shorten(titles[0])!r}."]


def _holds(cell: object) -> bool:
    return cell is not None and bool(str(cell).strip())


def _mend(row: list[str], width: int, name: str, line: int, delimiter: str) -> list[str]:
    """A row with empty cells too many is cut; any other row of the wrong width is refused."""
    if len(row) > width and not any(row[width:]):
        return row[:width]
    raise DataError(
        f"{name}, line {line:,}: the row has {len(row)} cells and the header {width}; put cells that hold "
        f"{_SEPARATOR_NAMES[delimiter]} or line breaks between quotation marks.",
        code="unreadable-file",
    )


def _sniff_delimiter(text: str, candidates: str) -> str:
    """The separator that cuts the first rows into equally many cells, and into most of them."""
    if len(candidates) == 1:
        return candidates
    sample = text[: 1 << 17]
    best, best_score = candidates[0], (0.0, 1)
    with _long_cells():
        for delimiter in candidates:
            rows = [row for row in islice(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter), 60) if row]
            if len(sample) < len(text):
                rows = rows[:-1] or rows  # the last one may be cut short
            rows = rows[find_header(rows) :] if rows else rows
            width = len(rows[0]) if rows else 0
            if width < 2:
                continue
            fitting = sum(len(row) == width for row in rows) / len(rows)
            if (fitting, width) > best_score:
                best, best_score = delimiter, (fitting, width)
    return best


def _unique_names(header: list[str]) -> tuple[list[str], list[str]]:
    """Names of the columns, made unique; and a note per change."""
    names: dict[str, None] = {}
    given_names = set(header)
    numbers: dict[str, int] = defaultdict(lambda: 2)  # the next number to try for a name
    notes, renamed = [], 0
    for i, given in enumerate(header):
        name = unguard(given).strip() or f"column_{i + 1}"
        if name in names:
            while f"{name}_{numbers[name]}" in names or f"{name}_{numbers[name]}" in given_names:
                numbers[name] += 1
            other = f"{name}_{numbers[name]}"
            renamed += 1
            if renamed <= _NOTED:
                called = f"{shorten(name)}_{numbers[name]}"
                notes.append(
                    f"the column name {shorten(name)!r} occurs twice; the later one is called {shorten(called)!r}."
                )
            name = other
        names[name] = None
    if renamed > _NOTED:
        notes.append(f"{renamed - _NOTED:,} more column names that occur twice got a number likewise.")
    return list(names), notes


def read_jsonl(data: bytes, name: str) -> Table:
    """One JSON object a line, split at line feeds only."""
    text, encoding, notes = decode(data, name)
    return _from_records(list(json_lines(text.split("\n"), name)), text, name, encoding, notes)


def json_lines(lines: Iterable[str], name: str) -> Iterator[dict]:
    """The object on each line; empty lines are passed over."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{name}, line {number:,}"
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(
                f"{where}: not JSON ({error.msg} at character {error.pos + 1}); "
                "a jsonl file holds one JSON object a line.",
                code="unreadable-file",
            ) from None
        except (ValueError, RecursionError) as error:
            raise _monstrous(where, error) from None
        yield _check_record(record, where)


def read_json(data: bytes, name: str) -> Table:
    """A JSON array of objects, or one object; a file that holds one object a line is read as jsonl."""
    text, encoding, notes = decode(data, name)
    if not text.strip():
        raise _empty(name)
    try:
        records = json.loads(text)
    except json.JSONDecodeError as error:
        if text.lstrip().startswith("{"):
            return read_jsonl(data, name)
        raise DataError(
            f"{name}, line {error.lineno:,}: not JSON ({error.msg}); an array of objects is expected.",
            code="unreadable-file",
        ) from None
    except (ValueError, RecursionError) as error:
        raise _monstrous(name, error) from None
    if isinstance(records, dict):
        records = [records]
    if not isinstance(records, list):
        raise DataError(
            f"{name} holds a JSON {type(records).__name__}; an array of objects is expected.", code="unreadable-file"
        )
    records = [_check_record(record, f"{name}, item {i + 1:,}") for i, record in enumerate(records)]
    return _from_records(records, text, name, encoding, notes)


def _monstrous(where: str, error: Exception) -> DataError:
    what = "nested too deeply" if isinstance(error, RecursionError) else "a number with too many digits"
    return DataError(
        f"{where}: the JSON cannot be read ({what}); write plain texts and labels.", code="unreadable-file"
    )


def _check_record(record: object, where: str) -> dict:
    if not isinstance(record, dict):
        raise DataError(
            f'{where}: a JSON {type(record).__name__} was found; objects like {{"text": …, "label": …}} are expected.',
            code="unreadable-file",
        )
    return record


def _from_records(records: list[dict], text: str, name: str, encoding: str, notes: list[str]) -> Table:
    if not records:
        raise _empty(name)
    names: dict[str, None] = {}
    for record in records:
        if record.keys() != names.keys():
            names.update(dict.fromkeys(record))
    columns = {key: [record.get(key) for record in records] for key in names}
    if "\\ud" in text or "\\uD" in text:  # JSON may hold half of a surrogate pair; no file can
        columns = {
            mend_surrogates(key): [mend_surrogates(value) if isinstance(value, str) else value for value in values]
            for key, values in columns.items()
        }
    return Table(columns, encoding, notes)


def read_parquet(data: bytes, name: str) -> Table:
    """A parquet file, through polars."""
    polars = import_optional("polars", f"Reading {name}")
    try_reading(data, "parquet", name)
    try:
        frame = polars.read_parquet(io.BytesIO(data))
        return Table({column.name: column.to_list() for column in frame})
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # a damaged file makes polars panic, which is no Exception
        raise _unreadable(name, "parquet", error) from None


def read_xlsx(data: bytes, name: str, sheet: str | None = None) -> Table:
    """A sheet of a workbook (the first, unless one is named), its first row or the one below titles the header."""
    import_optional("polars", f"Reading {name}")
    fastexcel = import_optional("fastexcel", f"Reading {name}")
    check_sheet(data, name)
    try_reading(data, "xlsx", name)
    try:
        book = fastexcel.read_excel(data)
        place = _find_sheet(book.sheet_names, sheet, name)
        if place:
            check_sheet(data, name, sheet=place)
            try_reading(data, "xlsx", name, sheet=place)
        frame = book.load_sheet(place, header_row=None, dtypes="string").to_polars()
        rows = [row for row in frame.iter_rows() if any(cell is not None for cell in row)]
    except (DataError, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # as for parquet
        raise _unreadable(name, "xlsx", error) from None
    shown = [other for other in book.sheet_names if other not in (CHOICES_SHEET, REVIEW_SHEET)]
    if len(rows) < 2 and sheet is None and len(shown) > 1:
        raise DataError(
            f"The first sheet of {name}, {shorten(shown[0])!r}, holds no documents; name another with --sheet: "
            f"{list_columns(shown[1:])}.",
            code="empty-file",
        )
    if not rows:
        raise _empty(name)
    header = find_header(rows[: 2 * TITLE_ROWS], sure=True)
    names, notes = _unique_names([cell or "" for cell in rows[header]])
    columns = [list(column) for column in zip(*rows[header + 1 :], strict=True)] or [[] for _ in names]
    notes += _note_titles(rows[:header])
    if len(shown) > 1 and sheet is None:
        notes.append(f"the first of {len(shown)} sheets, {shorten(shown[0])!r}, was read; name another with --sheet.")
    return Table(dict(zip(names, columns, strict=True)), None, [f"{name}: {note}" for note in notes])


def _find_sheet(names: list[str], wanted: str | None, name: str) -> int:
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


FORMATS: dict[str, Callable[[bytes, str], Table]] = {
    "csv": read_csv,
    "tsv": read_tsv,
    "jsonl": read_jsonl,
    "json": read_json,
    "parquet": read_parquet,
    "xlsx": read_xlsx,
}


def sniff_format(data: bytes) -> str:
    """Format of bytes that have no name: parquet, xlsx, json, jsonl, or csv for all else."""
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith(b"PK\x03\x04"):
        return "xlsx"
    head = data[:200].lstrip(b"\xef\xbb\xbf \t\r\n")
    return "jsonl" if head.startswith(b"{") else "json" if head.startswith(b"[") else "csv"


def _unreadable(name: str, kind: str, error: BaseException) -> DataError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return unreadable(name, kind, reason)


def _empty(name: str) -> DataError:
    return DataError(
        f"{name} is empty; a table with a header row and at least one document is expected.", code="empty-file"
    )
