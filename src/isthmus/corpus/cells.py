"""Values of cells in the forms that files can hold: nothing a reader gives may make a writer stumble."""

from __future__ import annotations

import datetime
import json
import math
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
        return {_key(key): plain(part) for key, part in value.items()}
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
    """Whether a cell holds several values."""
    return (
        isinstance(value, (list, tuple, dict, set, frozenset))
        or hasattr(value, "to_list")
        or getattr(value, "ndim", 0) > 0
    )


def _key(key: Any) -> str:
    return key if isinstance(key, str) else as_text(key)
