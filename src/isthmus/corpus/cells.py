"""Convert the values of cells to forms that files can store.

A writer must accept every value that a reader returns.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from typing import Any

from isthmus.corpus.decode import mend_surrogates

XLSX_EXACT = 2**53  # largest exact whole number of a spreadsheet, which stores all numbers as floats
_MANY_DIGITS = 4_000  # digits of a whole number; Python refuses to print longer numbers


def plain(value: Any) -> Any:
    """Convert a value to types that JSON supports, also inside lists and objects.

    Parameters
    ----------
    value : object

    Returns
    -------
    object
        NaN and infinity become None; scalars and arrays of numpy become Python values.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if hasattr(value, "tolist"):  # a numpy value; text files are read and written without an import of numpy
        value = value.tolist()
    if isinstance(value, int):
        return value if value.bit_length() <= 3 * _MANY_DIGITS else as_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key if isinstance(key, str) else as_text(key): plain(part) for key, part in value.items()}
    if is_structure(value):
        return [plain(part) for part in value]
    return value


def json_text(value: Any) -> str:
    """Return a value as JSON text that any file can store.

    Parameters
    ----------
    value : object
        Dates and bytes become text, NaN becomes null.

    Returns
    -------
    str
    """
    return whole_text(json.dumps(plain(value), ensure_ascii=False, default=as_text, allow_nan=False))


def as_text(value: Any) -> str:
    """Return a value as text.

    Parameters
    ----------
    value : object
        Dates get ISO form, bytes are decoded as UTF-8.

    Returns
    -------
    str
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 3 * _MANY_DIGITS:
        return hex(value)
    return whole_text(str(value))


def as_cell_text(value: Any) -> str | None:
    """Return a value as the text of a cell in a format with types.

    Parameters
    ----------
    value : object

    Returns
    -------
    str or None
        None for an empty cell; JSON for lists, objects and truth values.
    """
    if value is None or isinstance(value, str):
        return value
    return json_text(value) if is_structure(value) or isinstance(value, bool) else as_text(value)


def whole_text(text: str) -> str:
    """Replace single halves of surrogate pairs, which no file can store.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    return text if text.isascii() else mend_surrogates(text)


def is_structure(value: Any) -> bool:
    """Return whether a value contains several values.

    Parameters
    ----------
    value : object

    Returns
    -------
    bool
        True for lists, mappings, sets, arrays and columns.
    """
    return (
        isinstance(value, (list, tuple, dict, set, frozenset))
        or hasattr(value, "to_list")
        or getattr(value, "ndim", 0) > 0
    )


def cell_text(cell: Any) -> str:
    """Return the text of a cell.

    Parameters
    ----------
    cell : object
        None and NaN give empty text; whole numbers have no decimals.

    Returns
    -------
    str
    """
    if isinstance(cell, str):
        return cell
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    # Many tools turn the integer 3 into 3.0 if its column has missing cells; the id or label was 3.
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell)


def cell_content(cell: Any) -> str:
    """Return the text of a cell without surrounding blanks.

    Parameters
    ----------
    cell : object
        None, NaN and pandas' NA give empty text.

    Returns
    -------
    str
    """
    # The test of the type's name finds the marker of pandas without an import of pandas.
    return "" if type(cell).__name__ == "NAType" else cell_text(cell).strip()


def to_float(value: Any) -> float | None:
    """Convert a value to a float.

    Parameters
    ----------
    value : object

    Returns
    -------
    float or None
        None if Python cannot read the value as a number; NaN and infinity are numbers here.
    """
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def as_number(text: str) -> float | None:
    """Convert text to a finite number.

    Parameters
    ----------
    text : str

    Returns
    -------
    float or None
        None for other text, and for numbers with underscores, which only Python accepts.
    """
    number = to_float(text)
    return None if number is None or not math.isfinite(number) or "_" in text else number


def label_cells(cells: list) -> list[str | None]:
    """Return the label of each cell.

    Parameters
    ----------
    cells : list

    Returns
    -------
    list of (str or None)
        None for blank cells.
    """
    texts = map(cell_text, cells)
    return [value if value.strip() else None for value in texts]


def bare_cells(cells: list) -> list:
    """Remove the apostrophes that protect cells from spreadsheets.

    Parameters
    ----------
    cells : list

    Returns
    -------
    list
        The same list if no cell changes.
    """
    # One search in the joined text is much faster than one test per cell.
    if {*map(type, cells)} == {str} and "\n'" not in "\n" + "\n".join(cells):
        return cells
    return [unguard(cell) if isinstance(cell, str) and cell[:1] == "'" else cell for cell in cells]


# -- Cells that a spreadsheet would run as formulas: csv and tsv files have an apostrophe before them


# Spreadsheets with Chinese or Japanese settings also run cells with full-width signs.
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_GUARDED = re.compile(r"'[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-][0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]+)?")


class FormulaEscaper:
    """Put ``'`` before text that a spreadsheet would run as a formula.

    Such text begins with ``= + - @`` (also full-width), a tab or a line break. Numbers do not change.

    Parameters
    ----------
    on : bool
        Whether to change any text.

    Attributes
    ----------
    count : int
        Number of changed cells.
    """

    def __init__(self, on: bool = True):
        """Start with no changed cells."""
        self.on, self.count = on, 0

    def __call__(self, text: str) -> str:
        """Return the text, with an apostrophe if it needs one."""
        if not self.on or not text.startswith(FORMULA_SIGNS) or _NUMBER.fullmatch(text):
            return text
        self.count += 1
        return "'" + text


def unguard(text: str) -> str:
    """Remove the apostrophe before text that a spreadsheet would run as a formula.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    return text[1:] if _GUARDED.match(text) else text
