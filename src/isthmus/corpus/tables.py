"""Parse text as a table: find the header and the separator of cells, and read the rows."""

from __future__ import annotations

import csv
import gc
import io
import json
import re
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from isthmus.corpus.cells import bare_cells, cell_text, label_cells, unguard
from isthmus.corpus.decode import mend_surrogates
from isthmus.corpus.formats import FORMATS
from isthmus.corpus.guess import TITLE_ROWS, find_header, shorten
from isthmus.exceptions import DataError

MOST_COLUMNS = 16_384  # most columns of a table, as in a workbook; documents rarely have more than a few dozen
_NOTED = 10  # most renamed columns with a note of their own
_SEP_LINE = re.compile(r"sep=([,;\t|])\r?\n")
_SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_OPEN = "unexpected end of data"  # message of the csv module for a cell without a closing quotation mark


@dataclass
class Rows:
    """Hold the rows of a table as columns, or as records of a jsonl file, and the rows that could not be read."""

    names: tuple[str, ...]  # in the order of the file
    columns: dict[str, list] = field(default_factory=dict)  # cells by column; empty if there are records
    records: list[dict] | None = None  # rows that may have different columns
    bad: list[dict] = field(default_factory=list)  # file, row, reason and content of each row that could not be read
    guarded: bool = False  # whether cells may begin with an apostrophe that protects them from spreadsheets
    encoding: str | None = None
    notes: list[str] = field(default_factory=list)  # guesses and observations, one sentence each
    sheet: str | None = None  # sheet of a workbook that was read
    sheets: tuple[str, ...] = ()  # all sheets of the user in a workbook
    tool: str = ""  # name of the annotation tool that wrote the file

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()), ())) if self.records is None else len(self.records)

    def cells(self, name: str) -> list:
        """Return the unchanged cells of a column.

        Parameters
        ----------
        name : str
            Column.

        Returns
        -------
        list
        """
        return self.columns[name] if self.records is None else [record.get(name) for record in self.records]

    def bare(self, name: str) -> list:
        """Return the cells of a column without the apostrophes that protect them from spreadsheets.

        Parameters
        ----------
        name : str
            Column.

        Returns
        -------
        list
        """
        return bare_cells(self.cells(name)) if self.guarded else self.cells(name)

    def table(self) -> dict[str, list]:
        """Return the unchanged cells by column.

        Returns
        -------
        dict of str to list
        """
        return {name: self.cells(name) for name in self.names}

    def texts(self, names: Sequence[str]) -> list[str]:
        """Return the text of each row.

        Parameters
        ----------
        names : sequence of str
            Text columns; several texts are joined by a blank, and missing cells are empty.

        Returns
        -------
        list of str
        """
        parts = [[cell if type(cell) is str else cell_text(cell) for cell in self.bare(name)] for name in names]
        return parts[0] if len(parts) == 1 else [" ".join(filter(None, row)) for row in zip(*parts, strict=True)]

    def labels(self, name: str | None) -> list[str | None]:
        """Return the label of each row.

        Parameters
        ----------
        name : str or None
            Label column; None means that no row has a label.

        Returns
        -------
        list of (str or None)
            None for an empty cell.
        """
        return label_cells(self.bare(name)) if name else [None] * len(self)


@dataclass(eq=False)
class BadRow(Exception):
    """Report a row that cannot be read, with its line, the reason and advice."""

    line: int
    why: str
    advice: str
    quotes: bool = False  # whether quotation marks are the reason

    def refusal(self, name: str) -> DataError:
        """Return the error that refuses the whole file because of this row.

        Parameters
        ----------
        name : str
            Name of the file.

        Returns
        -------
        DataError
        """
        return DataError(f"{name}, line {self.line:,}: {self.why}; {self.advice}.", code="unreadable-file")


def check_width(count: int, name: str) -> None:
    """Refuse a table with too many columns before its rows are read.

    Parameters
    ----------
    count : int
        Number of columns.
    name : str
        Name of the file in error messages.

    Raises
    ------
    DataError
        There are too many columns.
    """
    if count > MOST_COLUMNS:
        raise DataError(
            f"{name} has more than {MOST_COLUMNS:,} columns, which is the most that is read; keep the columns that are "
            "needed, one document a row.",
            code="too-large",
        )


# -- csv and tsv -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Head:
    """Describe the header of a csv file.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns.
    delimiter : str
        Separator of cells.
    start : int
        Number of characters before the first row below the header.
    line : int
        Number of lines before the first row below the header.
    quotes : bool
        Whether quotation marks enclose cells; False if they are part of the text.
    notes : tuple of str
        Messages for the user.
    """

    columns: tuple[str, ...]
    delimiter: str
    start: int
    line: int
    quotes: bool = True
    notes: tuple[str, ...] = ()


def read_csv(text: str, name: str, kind: str, *, cut: bool = False) -> tuple[Head, list[list[str]], BadRow | None]:
    """Read a csv or tsv file.

    Parameters
    ----------
    text : str
        Content of the file.
    name : str
        Name of the file in error messages.
    kind : {"csv", "tsv"}
        Format.
    cut : bool
        Whether ``text`` is the beginning of a longer text, so that its last cell may be incomplete.

    Returns
    -------
    head : Head
        Header.
    rows : list of list of str
        Cells by row; empty if a row is bad.
    bad : BadRow or None
        The first row that cannot be read.

    Raises
    ------
    DataError
        The header cannot be read.
    """
    delimiters = FORMATS[kind].delimiters
    head, rows, bad = _try_csv(text, name, delimiters, quotes=True)
    open_cell = cut and bad is not None and bad.why == _OPEN
    # Many tab-separated files use no quoting; a single quotation mark is then part of the text.
    if bad is not None and bad.quotes and not open_cell and _delimiter(text, delimiters)[0] == "\t":
        head, rows, bad = _try_csv(text, name, delimiters, quotes=False)
    if head is None:
        assert bad is not None
        raise bad.refusal(name)
    return head, rows, bad


def _try_csv(
    text: str, name: str, delimiters: str, *, quotes: bool
) -> tuple[Head | None, list[list[str]], BadRow | None]:
    """Read header and rows with or without quoting."""
    head = None
    try:
        head = _read_head(text, name, delimiters, quotes)
        stream = io.StringIO(text, newline="")
        stream.seek(head.start)
        return head, read_rows(stream, head.delimiter, len(head.columns), quotes=quotes, line=head.line), None
    except BadRow as error:
        return head, [], error


def _read_head(text: str, name: str, delimiters: str, quotes: bool) -> Head:
    """Read the header and count the characters and lines before the first row."""
    delimiter, start = _delimiter(text, delimiters)
    stream = io.StringIO(text, newline="")
    stream.seek(start)
    ends: list[int] = []

    def lines() -> Iterator[str]:
        for line in stream:
            ends.append((ends[-1] if ends else start) + len(line))
            yield line

    reader = _reader(lines(), delimiter, quotes)
    rows: list[list[str]] = []
    behind: list[int] = []  # number of lines up to the end of each row
    with long_cells():
        try:
            for row in reader:
                check_width(len(row), name)
                rows.append(row)
                behind.append(len(ends))
                if len(rows) >= 2 * TITLE_ROWS and any(map(_is_filled, rows)):
                    break
        except csv.Error as error:
            if not any(map(_is_filled, rows)):
                raise _bad_quotes(reader.line_num, error) from None
    place = find_header(rows)
    place = next((i for i, row in enumerate(rows) if i >= place and _is_filled(row)), -1)
    if place < 0:
        raise empty_table(name)
    names, renamed = unique_names(rows[place])
    notes = [*note_titles(rows[:place]), *renamed]
    if not quotes:
        notes.insert(0, "quotation marks do not pair, so they were read as part of the text.")
    if delimiter != delimiters[0]:
        notes.insert(0 if quotes else 1, f"columns are separated by {_SEPARATOR_NAMES[delimiter]}.")
    line = behind[place]
    skipped = text.count("\n", 0, start)
    return Head(tuple(names), delimiter, ends[line - 1], line + skipped, quotes, tuple(notes))


def _is_filled(row: list[str]) -> bool:
    """Return whether a row has a cell with text."""
    return any(cell.strip() for cell in row)


def read_rows(
    stream: io.StringIO, delimiter: str, width: int, *, quotes: bool = True, line: int = 0
) -> list[list[str]]:
    """Return the rows without blank lines and without empty cells beyond the header's width.

    Parameters
    ----------
    stream : io.StringIO
        Text below the header.
    delimiter : str
        Separator of cells.
    width : int
        Number of columns in the header.
    quotes : bool
        Whether quotation marks enclose cells.
    line : int
        Number of lines above the stream.

    Returns
    -------
    list of list of str
        Rows with ``width`` cells each.

    Raises
    ------
    BadRow
        A row has another width, or its quotation marks are wrong.
    """
    start = stream.tell()
    with long_cells(), suppress(csv.Error):
        rows = list(filter(None, _reader(stream, delimiter, quotes)))
        if {*map(len, rows)} <= {width}:
            return rows
    # At least one row has another width; the slower loop finds its line.
    rows = []
    stream.seek(start)
    reader = _reader(stream, delimiter, quotes)
    with long_cells():
        try:
            for row in filter(None, reader):
                if len(row) < width or any(row[width:]):
                    raise _bad_width(line + reader.line_num, len(row), width, delimiter)
                rows.append(row[:width])
        except csv.Error as error:
            raise _bad_quotes(line + reader.line_num, error) from None
    return rows


def _reader(lines: Iterable[str], delimiter: str, quotes: bool) -> Any:
    """Return a strict reader of the csv module."""
    quoting: Any = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    return csv.reader(lines, delimiter=delimiter, strict=True, quoting=quoting)


def _bad_quotes(line: int, error: csv.Error) -> BadRow:
    advice = 'put cells that hold quotation marks between quotation marks and double those inside ("")'
    return BadRow(line, str(error), advice, quotes=True)


def _bad_width(line: int, count: int, width: int, delimiter: str) -> BadRow:
    advice = f"put cells that hold {_SEPARATOR_NAMES[delimiter]} or line breaks between quotation marks"
    return BadRow(line, f"{count} cells where the header has {width}", advice)


def to_columns(names: Sequence[str], rows: list) -> dict[str, list]:
    """Return the cells of rows by column.

    Parameters
    ----------
    names : sequence of str
        Columns.
    rows : list of list
        Cells by row.

    Returns
    -------
    dict of str to list

    Raises
    ------
    ValueError
        A row has another number of cells.
    """
    if {*map(len, rows)} - {len(names)}:
        raise ValueError(f"Rows of another width than the {len(names)} columns.")
    # zip(*rows) would be slower: every row becomes an argument, and the garbage collector visits all of them.
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


_readers_lock = threading.Lock()
_readers: dict[str, Any] = {"count": 0, "limit": 0, "collecting": False}


@contextmanager
def long_cells() -> Iterator[None]:
    """Remove the csv module's limit of 131,072 characters per cell, and pause the garbage collector.

    The collector would visit many small lists again and again. Both settings apply to the whole process. They are
    restored when the last reader of any thread ends.

    Yields
    ------
    None
    """
    with _readers_lock:
        if not _readers["count"]:
            _readers["limit"] = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
            _readers["collecting"] = gc.isenabled()
            gc.disable()
        _readers["count"] += 1
    try:
        yield
    finally:
        with _readers_lock:
            _readers["count"] -= 1
            if not _readers["count"]:
                csv.field_size_limit(_readers["limit"])
                if _readers["collecting"]:
                    gc.enable()


def _delimiter(text: str, candidates: str) -> tuple[str, int]:
    """Return the separator of cells and the number of characters that declare it.

    Excel writes a line ``sep=;`` before the header.
    """
    # A declared separator is certain; a guess may fail for tables with one column.
    stated = _SEP_LINE.match(text)
    if stated:
        return stated.group(1), stated.end()
    return _sniff_delimiter(text, candidates), 0


def _sniff_delimiter(text: str, candidates: str) -> str:
    """Return the separator with which most of the first rows have the width of the header, preferring large widths."""
    if len(candidates) == 1:
        return candidates
    sample = text[: 1 << 17]
    best, best_score = candidates[0], (0.0, 1)
    with long_cells():
        for delimiter in candidates:
            rows = [row for row in islice(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter), 60) if row]
            if len(sample) < len(text):
                rows = rows[:-1] or rows  # the last row may be incomplete
            rows = rows[find_header(rows) :] if rows else rows
            width = len(rows[0]) if rows else 0
            if width < 2:
                continue
            # Commas occur in prose too, but rarely the same number of times in every row.
            fitting = sum(len(row) == width for row in rows) / len(rows)
            if (fitting, width) > best_score:
                best, best_score = delimiter, (fitting, width)
    return best


def note_titles(rows: Iterable[Sequence]) -> list[str]:
    """Return a note if there are titles above the header.

    Parameters
    ----------
    rows : iterable of sequence
        Rows above the header.

    Returns
    -------
    list of str
        At most one note.
    """
    titles = [str(next(filter(_holds, row))).strip() for row in rows if any(map(_holds, row))]
    if not titles:
        return []
    what = f"{len(titles)} rows above the header are" if len(titles) > 1 else "a row above the header is"
    return [f"{what} taken for a title and left out, first {shorten(titles[0])!r}."]


def _holds(cell: object) -> bool:
    """Return whether a cell contains text."""
    return cell is not None and bool(str(cell).strip())


def unique_names(header: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return unique names of the columns.

    Parameters
    ----------
    header : sequence of str
        Names in the file.

    Returns
    -------
    names : list of str
        A repeated name gets a number.
    notes : list of str
        A note per renamed column.
    """
    names: dict[str, None] = {}
    given_names = set(header)
    numbers: dict[str, int] = defaultdict(lambda: 2)  # the next number to try for a name
    notes, renamed = [], 0
    for i, given in enumerate(header):
        # Empty names occur for index columns of data frames.
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


# -- JSON --------------------------------------------------------------------------------------------------------------


def read_lines(lines: Iterable[Any], reject: Callable[[BadRow, Any], None], encoding: str = "utf-8") -> list[dict]:
    """Return the JSON object on each line; skip empty lines.

    Parameters
    ----------
    lines : iterable of str or bytes
        Lines of a jsonl file.
    reject : callable
        ``reject(bad_row, line)`` is called for each line without an object.
    encoding : str
        Encoding of lines that are bytes.

    Returns
    -------
    list of dict
    """
    records = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            # Each line is decoded separately, so that one damaged line does not make the others unreadable.
            text = line if isinstance(line, str) else line.decode(encoding)
            records.append(_read_record(text, number))
        except UnicodeDecodeError as error:
            reject(BadRow(number, f"byte 0x{line[error.start]:02x} is not {encoding}", "save it as UTF-8"), line)
        except BadRow as error:
            reject(error, line)
    return records


def _read_record(text: str, line: int) -> dict:
    """Return the JSON object on a line."""
    advice = "a jsonl file holds one JSON object a line"
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadRow(line, f"not a JSON object ({error.msg} at character {error.pos + 1})", advice) from None
    except (ValueError, RecursionError) as error:
        raise BadRow(line, f"not a JSON object ({_excess(error)})", "write plain texts and labels") from None
    if not isinstance(record, dict):
        raise BadRow(line, f"not a JSON object (a JSON {type(record).__name__} was found)", advice)
    return whole_characters(record, text)


def read_json(text: str, name: str) -> list[dict]:
    """Return the records of a JSON array or of one JSON object.

    Parameters
    ----------
    text : str
        Content of the file; a file with one object per line is also accepted.
    name : str
        Name of the file in error messages.

    Returns
    -------
    list of dict

    Raises
    ------
    BadRow
        The text is no JSON.
    DataError
        The text is JSON of another kind.
    """
    try:
        records = json.loads(text)
    except json.JSONDecodeError as error:
        if text.lstrip().startswith("{"):
            return read_lines(text.split("\n"), refuse)
        raise BadRow(error.lineno, f"not JSON ({error.msg})", "an array of objects is expected") from None
    except (ValueError, RecursionError) as error:
        raise BadRow(1, f"the JSON cannot be read ({_excess(error)})", "write plain texts and labels") from None
    records = [records] if isinstance(records, dict) else records
    if not isinstance(records, list):
        raise DataError(
            f"{name} holds a JSON {type(records).__name__}; an array of objects is expected.", code="unreadable-file"
        )
    for i, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise DataError(
                f"{name}, item {i:,}: a JSON {type(record).__name__} was found; objects like "
                f'{{"text": …, "label": …}} are expected.',
                code="unreadable-file",
            )
    return whole_characters(records, text)


def refuse(error: BadRow, line: Any) -> None:
    """Raise the error of a bad line in a file that is read whole.

    Parameters
    ----------
    error : BadRow
        The error.
    line : str or bytes
        The line.

    Raises
    ------
    BadRow
        Always.
    """
    raise error


def _excess(error: Exception) -> str:
    """Describe a JSON value that Python refuses to read."""
    return "nested too deeply" if isinstance(error, RecursionError) else "a number with too many digits"


def whole_characters(value: Any, text: str) -> Any:
    """Replace halves of surrogate pairs in a JSON value, because no file can store them.

    Parameters
    ----------
    value : object
        Value from JSON.
    text : str
        JSON text of the value.

    Returns
    -------
    object
    """
    if "\\ud" not in text and "\\uD" not in text:
        return value
    return json.loads(mend_surrogates(json.dumps(value, ensure_ascii=False)))


def record_names(records: Iterable[dict], name: str) -> tuple[str, ...]:
    """Return the keys of all records in order of their first occurrence.

    Parameters
    ----------
    records : iterable of dict
        Records.
    name : str
        Name of the file in error messages.

    Returns
    -------
    tuple of str

    Raises
    ------
    DataError
        There are too many keys.
    """
    names: dict[str, None] = {}
    for record in records:
        # Most records have the same keys, and this comparison is faster than an update.
        if record.keys() != names.keys():
            names.update(dict.fromkeys(record))
            check_width(len(names), name)
    return tuple(names)


def empty_table(name: str) -> DataError:
    """Return the error for an empty file.

    Parameters
    ----------
    name : str
        Name of the file.

    Returns
    -------
    DataError
    """
    return DataError(f"{name} is empty; a table with a header is expected.", code="empty-file")
