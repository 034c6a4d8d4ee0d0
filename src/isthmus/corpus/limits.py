"""Limit the unpacked size of compressed files, because a few kilobytes can contain gigabytes of zeros."""

from __future__ import annotations

import gzip
import io
import os
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import reduce
from itertools import accumulate
from xml.etree import ElementTree

from isthmus.exceptions import DataError, UsageError

DEFAULT_LIMIT = 512 * 2**20  # bytes of unpacked data; reading takes about six times as much memory
VARIABLE = "ISTHMUS_MAX_UNPACKED"  # environment variable with another limit
_CHUNK = 1 << 22  # bytes of unpacked data per step
_TIGHTEST = 1032  # most unpacked bytes per packed byte of gzip
_SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_limit: ContextVar[int | None] = ContextVar("isthmus_max_unpacked", default=None)


def read_size(text: str, name: str = VARIABLE) -> int:
    """Return the number of bytes for a text such as ``2G``, ``800M`` or ``1000000``.

    Parameters
    ----------
    text : str
    name : str
        Name of the setting in error messages.

    Returns
    -------
    int

    Raises
    ------
    UsageError
        The text is no size.
    """
    match = re.fullmatch(r"([0-9]{1,18})\s*([kmg]?)(?:i?b)?", text.strip().lower())
    if not match or not int(match[1]):
        raise UsageError(f"{name} is {text[:40]!r}; give a number of bytes, or one with K, M or G, such as 2G.")
    return int(match[1]) * _SIZES[match[2]]


def given_limit() -> int | None:
    """Return the limit that the option or the environment variable sets.

    Returns
    -------
    int or None
        Bytes; None without a setting.
    """
    set_here = _limit.get()
    if set_here is not None:
        return set_here
    setting = os.environ.get(VARIABLE, "")
    return read_size(setting) if setting.strip() else None


def unpack_limit() -> int:
    """Return the limit for unpacked data in memory.

    Returns
    -------
    int
        Bytes.
    """
    return given_limit() or DEFAULT_LIMIT


def disk_limit(packed: int, given: int | None) -> int:
    """Return the limit for unpacked data on disk.

    The default is a hundred times the packed size. Texts do not compress that well; files that are made to fill a disk
    compress better.

    Parameters
    ----------
    packed : int
        Packed size in bytes.
    given : int or None
        Limit that the user has set.

    Returns
    -------
    int
        Bytes.

    Examples
    --------
    >>> disk_limit(10 * 2**30, None) == 1000 * 2**30, disk_limit(10 * 2**30, 2**30) == 2**30
    (True, True)
    """
    return max(DEFAULT_LIMIT, 100 * packed) if given is None else given


@contextmanager
def unpacking_at_most(size: int):
    """Set another limit inside the block; it overrides the environment variable.

    Parameters
    ----------
    size : int
        Bytes.

    Yields
    ------
    None
    """
    token = _limit.set(size)
    try:
        yield
    finally:
        _limit.reset(token)


def too_large(name: str, size: int | None = None, limit: int | None = None) -> DataError:
    """Return the error for a file whose unpacked size exceeds the limit.

    Parameters
    ----------
    name : str
        Name of the file.
    size : int, optional
        Unpacked size in bytes, if known.
    limit : int, optional
        Limit in bytes; :func:`unpack_limit` if omitted.

    Returns
    -------
    DataError
    """
    what = f"to {size / 2**20:,.0f} MiB" if size is not None else "to more"
    most = unpack_limit() if limit is None else limit
    return DataError(
        f"{name} unpacks {what}, and the limit is {most / 2**20:,.0f} MiB; if the file is what you expect, "
        f"raise the limit with {VARIABLE}=4G in the environment (the command also takes --max-unpacked 4G).",
        code="too-large",
    )


def gunzip(data: bytes, name: str) -> bytes:
    """Unpack all members of a gzip file.

    Parameters
    ----------
    data : bytes
        Content of the file.
    name : str
        Name of the file in error messages.

    Returns
    -------
    bytes

    Raises
    ------
    DataError
        The unpacked size exceeds the limit; memory has not grown yet.
    """
    # Small files cannot exceed the limit and need no trial.
    if len(data) * _TIGHTEST > unpack_limit():
        for size in accumulate(map(len, _unpack(data))):
            if size > unpack_limit():
                raise too_large(name)
    return b"".join(_unpack(data))


def _unpack(data: bytes) -> Iterator[bytes]:
    """Return the unpacked content in chunks, so that memory use remains small."""
    file = gzip.GzipFile(fileobj=io.BytesIO(data))
    return iter(lambda: file.read(_CHUNK), b"")


# -- Check the size of a workbook before it is read
# The reader reserves memory for every cell between the first and the last. One stray cell in the last row and column of
# a small sheet requests half a terabyte, and the process ends without an exception.


MOST_CELLS = 50_000_000  # most cells of the sheets that are read, empty cells included
_REFERENCE = re.compile(rb"<(?:\w+:)?(?:c|row)\b[^>]*?\br\s*=\s*[\"']([A-Za-z]{0,3})([0-9]{1,7})[\"']")
# Errors of a damaged archive or of damaged XML.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    ElementTree.ParseError,
    KeyError,
    OSError,
    ValueError,
    EOFError,
    RuntimeError,
)


def sheet_paths(data: bytes, name: str) -> dict[str, str]:
    """Return the sheets of a workbook with their paths in the archive.

    Parameters
    ----------
    data : bytes
        Content of the file.
    name : str
        Name of the file in error messages.

    Returns
    -------
    dict of str to str
        In the order of the workbook; empty if it is damaged, which its reader reports.

    Raises
    ------
    DataError
        The workbook unpacks to more than the limit.
    """
    size, paths = 0, {}
    with suppress(*_DAMAGE), zipfile.ZipFile(io.BytesIO(data)) as book:
        size = sum(entry.file_size for entry in book.infolist())
    if size > unpack_limit():
        raise too_large(name, size)
    with suppress(*_DAMAGE), zipfile.ZipFile(io.BytesIO(data)) as book:
        parts = ElementTree.fromstring(book.read("xl/_rels/workbook.xml.rels"))
        targets = {part.get("Id"): part.get("Target", "") for part in parts}
        for sheet in ElementTree.fromstring(book.read("xl/workbook.xml")).iterfind(".//{*}sheet"):
            number = next((value for key, value in sheet.items() if key.endswith("}id")), None)
            # A path that begins with "/" is absolute.
            paths[sheet.get("name", "")] = posixpath.join("xl", targets[number]).lstrip("/")
    return paths


def check_sheets(data: bytes, name: str, paths: Iterable[str]) -> None:
    """Refuse sheets that are too large for the memory; ignore other faults.

    Parameters
    ----------
    data : bytes
        Content of the file.
    name : str
        Name of the file in error messages.
    paths : iterable of str
        Paths of the sheets in the archive.

    Raises
    ------
    DataError
        The sheets are too large.
    """
    cells = 0
    with suppress(*_DAMAGE), zipfile.ZipFile(io.BytesIO(data)) as book:
        for path in paths:
            rows = columns = 0
            with book.open(path) as sheet:
                rest = b""
                while chunk := sheet.read(_CHUNK):
                    references = set(_REFERENCE.findall(rest + chunk))
                    rows = max(rows, max((int(number) for _, number in references), default=0))
                    columns = max(columns, max((_column(letters) for letters, _ in references), default=0))
                    # A cell's tag may continue in the next chunk.
                    rest = chunk[-200:]
            cells += rows * columns
    if cells > MOST_CELLS:
        raise DataError(
            f"{name} has {cells:,} cells between the first and the last of the sheets to read, and the limit is "
            f"{MOST_CELLS:,}; delete stray cells in distant rows and columns, name one sheet with sheet=NAME, or save "
            "the table as .csv.",
            code="too-large",
        )


def _column(letters: bytes) -> int:
    """Return the number of a column from its letters, which are digits from A = 1 to Z = 26."""
    return reduce(lambda number, letter: 26 * number + letter - 64, letters.upper(), 0)
