"""Values of cells in the forms that files can hold: nothing a reader gives may make a writer stumble."""

from __future__ import annotations

import datetime
import json
import math
import re
from typing import Any

from isthmus.corpus.decode import mend_surrogates

_MANY_DIGITS = 4_000  # Python refuses to print longer whole numbers


def plain(value: Any) -> Any:
    """What JSON can hold, inside lists and objects too: NaN and infinity become null, numpy's numbers Python's."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if hasattr(value, "tolist"):  # numpy's, asked without loading numpy: a text file is read and written without it
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
    """JSON that any file can hold: dates and bytes as text, no bare NaN, no half characters."""
    return whole_text(json.dumps(plain(value), ensure_ascii=False, default=as_text, allow_nan=False))


def as_text(value: Any) -> str:
    """A value that is not text as text: dates in ISO form, bytes as the text they most likely are."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 3 * _MANY_DIGITS:
        return hex(value)
    return whole_text(str(value))


def whole_text(text: str) -> str:
    """Text without halves of surrogate pairs, which no file can hold."""
    return text if text.isascii() else mend_surrogates(text)


def is_structure(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple, dict, set, frozenset))
        or hasattr(value, "to_list")
        or getattr(value, "ndim", 0) > 0
    )


def cell_text(cell: Any) -> str:
    """A cell as text: nothing for a missing one, no decimals for whole numbers."""
    if isinstance(cell, str):
        return cell
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    # Integers next to missing cells become 3.0 in many tools; as an id or a label they were 3.
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell)


def cell_content(cell: Any) -> str:
    """A cell as text without blanks around it; nothing for a missing one."""
    # pandas' own marker by name: pandas is not required
    return "" if type(cell).__name__ == "NAType" else cell_text(cell).strip()


def to_float(value: Any) -> float | None:
    """What Python reads as a number, NaN and infinity included."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def as_number(text: str) -> float | None:
    number = to_float(text)
    return None if number is None or not math.isfinite(number) or "_" in text else number


def label_cells(cells: list) -> list[str | None]:
    """Labels as they stand in their cells; blank cells are no label."""
    texts = map(cell_text, cells)
    return [value if value.strip() else None for value in texts]


def bare_cells(cells: list) -> list:
    if {*map(type, cells)} == {str} and "\n'" not in "\n" + "\n".join(cells):  # found out many times as fast
        return cells
    return [unguard(cell) if isinstance(cell, str) and cell[:1] == "'" else cell for cell in cells]


# -- Cells that a spreadsheet would run as formulas: an apostrophe put before them in csv and tsv, and taken off again


# The full-width signs too: spreadsheets set to Chinese or Japanese read them as the plain ones.
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_GUARDED = re.compile(r"'[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-][0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]+)?")


class FormulaEscaper:
    """Puts ``'`` before text that begins with ``= + - @`` (also full-width), tab or a line break; numbers stay.

    ``count`` says how many cells were changed.
    """

    def __init__(self, on: bool = True):
        self.on, self.count = on, 0

    def __call__(self, text: str) -> str:
        if not self.on or not text.startswith(FORMULA_SIGNS) or _NUMBER.fullmatch(text):
            return text
        self.count += 1
        return "'" + text


def unguard(text: str) -> str:
    return text[1:] if _GUARDED.match(text) else text
