"""From bytes to text: which encoding, or a clear refusal."""

from __future__ import annotations

import codecs
import re
from itertools import islice

from isthmus.exceptions import DataError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Characters above ASCII that Western European prose really uses; a file full of others is not Windows-1252.
_WESTERN = frozenset(
    "àáâãäåæçèéêëìíîïñòóôõöøùúûüßœšžÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜŒŠŽ‘’“”‚„‹›–—…€£¥©®™°·•«»¿¡´`§¶¹²³½¼¾ºª±\xa0"
)
_HIGH = re.compile(rb"[\x80-\xff]+")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SAMPLE = 1 << 20  # bytes looked at when an encoding is judged by how its text looks


def decode(data: bytes, name: str) -> tuple[str, str, list[str]]:
    """Text of ``data``, the encoding's name, and notes for the user.

    A byte-order mark decides; then UTF-8; then GB18030 if the outcome looks Chinese; then, with a note, Windows-1252 if
    it looks like Western prose. Anything else is refused.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError as error:
                raise _broken(
                    data, name, error, f"it begins with the mark of {encoding}, but some bytes are damaged"
                ) from None
            _refuse_nul(name, text.find("\0"))
            return text, encoding, []
    _refuse_nul(name, data.find(b"\0"))
    try:
        return data.decode("utf-8"), "utf-8", []
    except UnicodeDecodeError as error:
        first = error
    if _mostly_utf8(data):
        raise _broken(data, name, first, "most of it is UTF-8, but some bytes are damaged")
    chinese = _try(data, "gb18030")
    if chinese is not None and _looks_chinese(chinese):
        return chinese, "gb18030", [f"{name} is not UTF-8; it was read as GB18030 (Chinese)."]
    western = _try(data, "cp1252")
    if western is not None and _looks_western(western):
        note = f"{name} is not UTF-8; it was read as Windows-1252. If letters look wrong, save it as UTF-8."
        return western, "cp1252", [note]
    raise _broken(data, name, first, "it is neither UTF-8, UTF-16, GB18030 nor Windows-1252")


def mend_surrogates(text: str) -> str:
    """Text that can be encoded: halves of surrogate pairs, also from file names that are not UTF-8, become U+FFFD."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def shown_name(name: str) -> str:
    """The name of a file as it may be shown: line breaks, control and half characters become U+FFFD."""
    return "".join(char if char.isprintable() else "\ufffd" for char in name)


def _refuse_nul(name: str, at: int) -> None:
    if at >= 0:
        raise DataError(
            f"{name} holds NUL bytes (the first at position {at:,}), so it is not a plain text file; "
            "save it again as UTF-8 text (csv or jsonl).",
            code="nul-bytes",
        )


def _broken(data: bytes, name: str, error: UnicodeDecodeError, why: str) -> DataError:
    line = data.count(b"\n", 0, error.start) + 1
    byte = data[error.start]
    return DataError(
        f"{name} cannot be read as text: {why} (see byte 0x{byte:02x} in line {line:,}); save the file again as UTF-8.",
        code="bad-encoding",
    )


def _try(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _mostly_utf8(data: bytes) -> bool:
    """Whether most runs of bytes above ASCII are sound UTF-8: then the rest is damage, not another encoding."""
    sound = [_try(match.group(), "utf-8") is not None for match in islice(_HIGH.finditer(data), 10_000)]
    return 2 * sum(sound) > len(sound)


def _looks_chinese(text: str) -> bool:
    """Whether the characters above ASCII are everyday Chinese.

    Western text misread as GB18030 pairs an accented letter with the ASCII letter behind it: outside GB2312.
    """
    high = [char for char in text[:_SAMPLE] if char > "\x7f"]
    everyday = "".join(high).encode("gb2312", "ignore").decode("gb2312")
    return bool(high) and len(everyday) >= 0.8 * len(high)


def _looks_western(text: str) -> bool:
    high = [char for char in text[:_SAMPLE] if char > "\x7f"]
    return sum(char in _WESTERN for char in high) >= 0.8 * len(high)
