"""How much a packed file may unpack to: a few kilobytes can hold gigabytes of zeros."""

from __future__ import annotations

import io
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from isthmus.exceptions import DataError, UsageError

DEFAULT_LIMIT = 512 * 2**20  # reading takes about six times as much memory
VARIABLE = "ISTHMUS_MAX_UNPACKED"
_CHUNK = 1 << 22
_PACKED_CHUNK = 1 << 16
_TIGHTEST = 1032  # bytes that one byte of gzip can hold at most
_SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_limit: ContextVar[int | None] = ContextVar("isthmus_max_unpacked", default=None)


def read_size(text: str, name: str = VARIABLE) -> int:
    """Bytes from a text such as ``2G``, ``800M`` or ``1000000``."""
    found = re.fullmatch(r"([0-9]{1,18})\s*([kmg]?)(?:i?b)?", text.strip().lower())
    if not found or not int(found[1]):
        raise UsageError(f"{name} is {text[:40]!r}; give a number of bytes, or one with K, M or G, such as 2G.")
    return int(found[1]) * _SIZES[found[2]]


def given_limit() -> int | None:
    """The limit that was asked for, by the option or by the environment variable."""
    set_here = _limit.get()
    if set_here is not None:
        return set_here
    given = os.environ.get(VARIABLE, "")
    return read_size(given) if given.strip() else None


def unpack_limit() -> int:
    given = given_limit()
    return DEFAULT_LIMIT if given is None else given


def disk_limit(packed: int, given: int | None) -> int:
    """The most bytes that a packed file of this size may unpack to on disk; ``given`` is a limit that was asked for.

    By default a hundred times its size: no text is packed that well; what is made to fill the disk is packed better.

    >>> disk_limit(10 * 2**30, None) == 1000 * 2**30, disk_limit(10 * 2**30, 2**30) == 2**30
    (True, True)
    """
    return max(DEFAULT_LIMIT, 100 * packed) if given is None else given


@contextmanager
def unpacking_at_most(size: int):
    """Another limit inside the block, stronger than the environment variable."""
    token = _limit.set(size)
    try:
        yield
    finally:
        _limit.reset(token)


def too_large(name: str, size: int | None = None, limit: int | None = None) -> DataError:
    what = f"to {size / 2**20:,.0f} MiB" if size is not None else "to more"
    most = unpack_limit() if limit is None else limit
    return DataError(
        f"{name} unpacks {what}, and the limit is {most / 2**20:,.0f} MiB; if the file is what you expect, "
        f"raise the limit with {VARIABLE}=4G in the environment (the command also takes --max-unpacked 4G).",
        code="too-large",
    )


def gunzip(data: bytes, name: str) -> bytes:
    """All members of a gzip file; one above the limit is refused before memory grows."""
    limit = unpack_limit()
    if len(data) * _TIGHTEST > limit:
        total = 0
        for part in _unpack(data):
            total += len(part)
            if total > limit:
                raise too_large(name)
    return b"".join(_unpack(data))


def _unpack(data: bytes) -> Iterator[bytes]:
    """The content piece by piece, a few at a time in memory."""
    packed = memoryview(data)
    place = 0
    while place < len(packed):
        member = zlib.decompressobj(wbits=31)
        rest: bytes | memoryview = b""
        while not member.eof:
            if not rest:
                rest = packed[place : place + _PACKED_CHUNK]
                place += len(rest)
            part = member.decompress(rest, _CHUNK)
            if not part and not rest and not member.eof:
                raise EOFError("it ends before the end of the packed data")
            yield part
            rest = member.unconsumed_tail
        place -= len(member.unused_data)
        while packed[place : place + 1] == b"\0":  # some tools pad with zeros
            place += 1


# -- A look at a workbook before it is read: how far a sheet reaches, and what it unpacks to
# The reader makes room for every cell between the first and the last. One stray cell at the far corner of a sheet of a
# few kilobytes asks for half a terabyte, which no error can be caught from: the process ends.


MOST_CELLS = 50_000_000
_SHEET = re.compile(rb"<(?:\w+:)?sheet\b[^>]*?\bid=[\"']([^\"']+)[\"']")
_RELATION = re.compile(rb"<(?:\w+:)?Relationship\b[^>]*>")
_PLACE = re.compile(rb"<(?:\w+:)?(?:c|row)\b[^>]*?\br\s*=\s*[\"']([A-Za-z]{0,3})([0-9]{1,7})[\"']")


def check_sheet(data: bytes, name: str, *, sheet: int = 0) -> None:
    """Refuse a workbook of which a sheet reaches further than memory allows; leave other faults to the reader."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            size = sum(entry.file_size for entry in book.infolist())
            if size > unpack_limit():
                raise too_large(name, size)
            rows, columns = _reach(book, sheet)
    except DataError:
        raise
    except (zipfile.BadZipFile, zlib.error, KeyError, OSError, ValueError, EOFError, RuntimeError):
        return  # not a workbook, or a damaged one: the reader says what is wrong
    if rows * columns > MOST_CELLS:
        raise DataError(
            f"{name} has a cell in row {rows:,} and one in column {columns:,}, so {rows * columns:,} cells would have "
            f"to be read and the limit is {MOST_CELLS:,}; delete the stray cells, or save the table as .csv.",
            code="too-large",
        )


def _reach(book: zipfile.ZipFile, number: int) -> tuple[int, int]:
    rows = columns = 0
    unpacked, limit = 0, unpack_limit()
    with book.open(_sheet_file(book, number)) as sheet:
        rest = b""
        while chunk := sheet.read(_CHUNK):
            unpacked += len(chunk)
            if unpacked > limit:  # whatever the archive says about itself
                raise too_large("the workbook", unpacked)
            chunk = rest + chunk
            places = _PLACE.findall(chunk)
            rows = max(rows, max(map(int, {number for _, number in places}), default=0))
            columns = max(columns, max(map(_column, {letters for letters, _ in places}), default=0))
            rest = chunk[-200:]
    return rows, columns


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - 64
    return number


def _sheet_file(book: zipfile.ZipFile, number: int) -> str:
    listed = _SHEET.findall(book.read("xl/workbook.xml"))
    if number < len(listed):
        for relation in _RELATION.findall(book.read("xl/_rels/workbook.xml.rels")):
            if b'Id="' + listed[number] + b'"' in relation:
                target = re.search(rb'Target="([^"]+)"', relation)
                if target:
                    place = target[1].decode()
                    return place.lstrip("/") if place.startswith("/") else f"xl/{place}"
    return f"xl/worksheets/sheet{number + 1}.xml"
