"""Parse text as a table: find the header and the separator of cells, and read the rows."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from isthmus.corpus.cells import bare_cells, cell_text, label_cells, unguard
from isthmus.corpus.decode import mend_surrogates
from isthmus.corpus.formats import FORMATS
from isthmus.corpus.guess import TITLE_ROWS, find_header, list_columns, shorten
from isthmus.exceptions import DataError

MOST_COLUMNS = 16_384  # most columns of a table, as in a workbook; documents rarely have more than a few dozen
_SEP_LINE = re.compile(r"sep=([,;\t|])\r?\n")
_SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# The csv module refuses cells of more than 131,072 characters. Its limit applies to the whole process, and several
# threads may read, so it is raised once.
csv.field_size_limit(2**31 - 1)
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
    # Excel writes a line "sep=;" before the header.
    stated = _SEP_LINE.match(text)
    delimiter, start = (stated[1], stated.end()) if stated else (_sniff_delimiter(text, delimiters), 0)
    stream = io.StringIO(text, newline="")
    # Many tab-separated files use no quoting; a single quotation mark is then part of the text.
    for quotes in (True, False):
        head, rows, bad = None, [], None
        stream.seek(start)
        try:
            head = _read_head(stream, name, delimiter, delimiters[0], quotes, text.count("\n", 0, start))
            rows = read_rows(stream, delimiter, len(head.columns), quotes=quotes, line=head.line)
        except BadRow as error:
            bad = error
        if bad is None or not bad.quotes or delimiter != "\t" or (cut and bad.why == _OPEN):
            break
    if head is None:
        assert bad is not None  # only a bad row prevents the header
        raise bad.refusal(name)
    return head, rows, bad


def _read_head(stream: io.StringIO, name: str, delimiter: str, usual: str, quotes: bool, line: int) -> Head:
    """Read the header, and set the stream to the first row below it; ``line`` counts the lines above the stream."""
    reader = _reader(stream, delimiter, quotes)
    rows: list[list[str]] = []
    ends: list[tuple[int, int]] = []  # characters and lines up to the end of each row
    try:
        for row in reader:
            check_width(len(row), name)
            rows.append(row)
            ends.append((stream.tell(), reader.line_num))
            if len(rows) >= 2 * TITLE_ROWS and any(map(_is_filled, rows)):
                break
    except csv.Error as error:
        if not any(map(_is_filled, rows)):
            raise _bad_quotes(reader.line_num, error) from None
    index = next((i for i in range(find_header(rows), len(rows)) if _is_filled(rows[i])), None)
    if index is None:
        raise empty_table(name)
    names, notes = unique_names(rows[index])
    notes = [*note_titles(rows[:index]), *notes]
    if delimiter != usual:
        notes.insert(0, f"columns are separated by {_SEPARATOR_NAMES[delimiter]}.")
    if not quotes:
        notes.insert(0, "quotation marks do not pair, so they were read as part of the text.")
    start, above = ends[index]
    stream.seek(start)
    return Head(tuple(names), delimiter, start, above + line, quotes, tuple(notes))


def _is_filled(row: Sequence[str | None]) -> bool:
    """Return whether a row has a cell with text."""
    return any(cell and cell.strip() for cell in row)


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
    rows = []
    reader = _reader(stream, delimiter, quotes)
    try:
        for row in filter(None, reader):
            if len(row) < width or any(row[width:]):
                advice = f"put cells that hold {_SEPARATOR_NAMES[delimiter]} or line breaks between quotation marks"
                raise BadRow(line + reader.line_num, f"{len(row)} cells where the header has {width}", advice)
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


def _sniff_delimiter(text: str, candidates: str) -> str:
    """Return the separator with which most of the first rows have the width of the header, preferring large widths."""
    sample = text[: 1 << 17]
    scores = {}
    for delimiter in candidates:
        rows = [row for row in islice(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter), 60) if row]
        if len(sample) < len(text):
            rows = rows[:-1] or rows  # the last row may be incomplete
        rows = rows[find_header(rows) :]
        width = len(rows[0]) if rows else 0
        # Commas occur in prose too, but rarely the same number of times in every row.
        fitting = sum(len(row) == width for row in rows) / len(rows) if width > 1 else 0.0
        scores[delimiter] = fitting, width
    return max(scores, key=scores.__getitem__)


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
    titles = [next(cell.strip() for cell in row if cell and cell.strip()) for row in rows if _is_filled(row)]
    if not titles:
        return []
    what = f"{len(titles)} rows above the header are" if len(titles) > 1 else "a row above the header is"
    return [f"{what} taken for a title and left out, first {shorten(titles[0])!r}."]


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
    counts: Counter = Counter()  # later columns with each repeated name
    for i, given in enumerate(header):
        # Empty names occur for index columns of data frames.
        name = first = unguard(given).strip() or f"column_{i + 1}"
        while name in names or (name != first and name in given_names):
            counts[first] += 1
            name = f"{first}_{counts[first] + 1}"
        names[name] = None
    if not counts:
        return list(names), []
    repeated = list_columns(map(repr, map(shorten, counts)))
    return list(names), [f"column names occur more than once, so the later ones got a number: {repeated}."]


# -- JSON --------------------------------------------------------------------------------------------------------------


def read_lines(text: str) -> list[dict]:
    """Return the JSON object on each line; skip empty lines.

    Parameters
    ----------
    text : str
        Content of a jsonl file.

    Returns
    -------
    list of dict

    Raises
    ------
    BadRow
        A line contains no JSON object.
    """
    # Only a line feed ends a line: JSON texts may contain other separators of lines.
    return [read_record(line, number) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def read_record(text: str, line: int = 1) -> dict:
    """Return the JSON object on a line.

    Parameters
    ----------
    text : str
        The line.
    line : int
        Number of the line, from 1.

    Returns
    -------
    dict

    Raises
    ------
    BadRow
        The line contains no JSON object.
    """
    advice = "a jsonl file holds one JSON object a line"
    record = _load_json(text, line, "a JSON object", advice)
    if not isinstance(record, dict):
        raise BadRow(line, f"not a JSON object (a JSON {type(record).__name__} was found)", advice)
    return record


def _load_json(text: str, line: int, what: str, advice: str) -> Any:
    """Return the value of a JSON text that begins on a line, or raise BadRow."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        why = f"not {what} ({error.msg} at character {error.colno})"
        raise BadRow(line + error.lineno - 1, why, advice) from None
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else "a number with too many digits"
        raise BadRow(line, f"not {what} ({why})", "write plain texts and labels") from None
    if "\\ud" not in text and "\\uD" not in text:
        return value
    # No file can store halves of surrogate pairs, which JSON may contain as escapes.
    return json.loads(mend_surrogates(json.dumps(value, ensure_ascii=False)))


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
        records = _load_json(text, 1, "JSON", "an array of objects is expected")
    except BadRow:
        # Some tools write JSON lines into a file that ends in .json.
        if not text.lstrip().startswith("{"):
            raise
        records = read_lines(text)
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
    return records


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
