"""Decode bytes to text: find the encoding, or refuse the bytes with a clear error."""

from __future__ import annotations

import codecs
import re
from itertools import islice

from isthmus.exceptions import DataError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, because the mark of UTF-16 is the beginning of this mark
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Characters above ASCII in Western European prose; a file with many other characters is not Windows-1252.
_WESTERN = frozenset(
    "àáâãäåæçèéêëìíîïñòóôõöøùúûüßœšžÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜŒŠŽ‘’“”‚„‹›–—…€£¥©®™°·•«»¿¡´`§¶¹²³½¼¾ºª±\xa0"
)
_HIGH = re.compile(rb"[\x80-\xff]+")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SAMPLE = 1 << 20  # characters that decide whether decoded text looks right


def decode(data: bytes, name: str) -> tuple[str, str, list[str]]:
    """Decode bytes, and report the encoding.

    A byte-order mark decides first, then valid UTF-8, then GB18030 if the text looks Chinese, then Windows-1252 (with a
    note) if the text looks like Western prose. All other bytes are refused.

    Parameters
    ----------
    data : bytes
        Content of a file.
    name : str
        Name of the file in messages.

    Returns
    -------
    text : str
        Decoded text.
    encoding : str
        Name of the encoding.
    notes : list of str
        Messages for the user.

    Raises
    ------
    DataError
        No encoding fits, or the bytes contain NUL.
    """
    encoding = next((encoding for mark, encoding in _BOMS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            why = f"it begins with the mark of {encoding}, but some bytes are damaged"
            raise _broken(data, name, error, why) from None
        first = error
        _refuse_nul(name, data.find(b"\0"))
    else:
        # UTF-8 accepts NUL, but files with NUL are binary or UTF-16 without a mark.
        _refuse_nul(name, text.find("\0"))
        return text, encoding, []
    if _mostly_utf8(data):
        raise _broken(data, name, first, "most of it is UTF-8, but some bytes are damaged")
    # GB18030 before Windows-1252, which accepts almost any bytes.
    chinese = _try(data, "gb18030")
    if chinese is not None and _looks_chinese(chinese):
        return chinese, "gb18030", [f"{name} is not UTF-8; it was read as GB18030 (Chinese)."]
    western = _try(data, "cp1252")
    if western is not None and _looks_western(western):
        note = f"{name} is not UTF-8; it was read as Windows-1252. If letters look wrong, save it as UTF-8."
        return western, "cp1252", [note]
    raise _broken(data, name, first, "it is neither UTF-8, UTF-16, GB18030 nor Windows-1252")


def mend_surrogates(text: str) -> str:
    """Replace halves of surrogate pairs by U+FFFD, so that the text can be encoded.

    Such halves also come from file names that are not UTF-8.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    return _LONE_SURROGATE.sub("\ufffd", text)


def shown_name(name: str) -> str:
    """Return a file name for messages: line breaks, control characters and halves of pairs become U+FFFD.

    Parameters
    ----------
    name : str

    Returns
    -------
    str
    """
    return "".join(char if char.isprintable() else "\ufffd" for char in name)


def _refuse_nul(name: str, at: int) -> None:
    """Refuse text with a NUL byte at position ``at``; -1 means none."""
    if at >= 0:
        raise DataError(
            f"{name} holds NUL bytes (the first at position {at:,}), so it is not a plain text file; "
            "save it again as UTF-8 text (csv or jsonl).",
            code="nul-bytes",
        )


def _broken(data: bytes, name: str, error: UnicodeDecodeError, why: str) -> DataError:
    """Return the error for bytes that no encoding fits."""
    # The position of the first bad byte lets the user find it in an editor.
    line = data.count(b"\n", 0, error.start) + 1
    byte = data[error.start]
    return DataError(
        f"{name} cannot be read as text: {why} (see byte 0x{byte:02x} in line {line:,}); save the file again as UTF-8.",
        code="bad-encoding",
    )


def _try(data: bytes, encoding: str) -> str | None:
    """Decode bytes, or return None if the encoding does not fit."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _mostly_utf8(data: bytes) -> bool:
    """Return whether most byte sequences above ASCII are valid UTF-8; the others are then damage."""
    sound = [_try(match.group(), "utf-8") is not None for match in islice(_HIGH.finditer(data), 10_000)]
    return 2 * sum(sound) > len(sound)


def _looks_chinese(text: str) -> bool:
    """Return whether at least 80% of the characters above ASCII are everyday Chinese (GB2312).

    Western text that is misread as GB18030 combines an accented letter with the next ASCII letter. The result is
    outside GB2312.
    """
    high = [char for char in text[:_SAMPLE] if char > "\x7f"]
    everyday = "".join(high).encode("gb2312", "ignore").decode("gb2312")
    return bool(high) and len(everyday) >= 0.8 * len(high)


def _looks_western(text: str) -> bool:
    """Return whether at least 80% of the characters above ASCII occur in Western European prose."""
    high = [char for char in text[:_SAMPLE] if char > "\x7f"]
    return sum(char in _WESTERN for char in high) >= 0.8 * len(high)
