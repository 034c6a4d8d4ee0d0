"""How much a packed file may unpack to: a few kilobytes can hold gigabytes of zeros."""

from __future__ import annotations

import os
import re
import zlib
from contextlib import contextmanager
from contextvars import ContextVar

from isthmus.exceptions import DataError, UsageError

DEFAULT_LIMIT = 512 * 2**20  # reading takes about six times as much memory
VARIABLE = "ISTHMUS_MAX_UNPACKED"
_SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_limit: ContextVar[int | None] = ContextVar("isthmus_max_unpacked", default=None)


def read_size(text: str, name: str = VARIABLE) -> int:
    """Bytes from a text such as ``2G``, ``800M`` or ``1000000``.

    Examples
    --------
    >>> from isthmus.corpus.limits import read_size
    >>> read_size("2G") == 2 * 2**30
    True
    """
    found = re.fullmatch(r"([0-9]{1,18})\s*([kmg]?)(?:i?b)?", text.strip().lower())
    if not found or not int(found[1]):
        raise UsageError(
            f"{name} is {text[:40]!r}; give a number of bytes, or one with K, M or G, such as 2G.", code="bad-parameter"
        )
    return int(found[1]) * _SIZES[found[2]]


def given_limit() -> int | None:
    """The limit that was asked for, by the option or by the environment variable; None where none was."""
    set_here = _limit.get()
    if set_here is not None:
        return set_here
    given = os.environ.get(VARIABLE, "")
    return read_size(given) if given.strip() else None


def unpack_limit() -> int:
    """The most bytes that a packed file may unpack to."""
    given = given_limit()
    return DEFAULT_LIMIT if given is None else given


def disk_limit(packed: int, given: int | None) -> int:
    """The most bytes that a file of this size may unpack to on disk, where memory is no matter.

    Without a limit that was asked for, a hundred times its size: no text is packed that well, and what is made to fill
    the disk is packed better.

    Examples
    --------
    >>> from isthmus.corpus.limits import disk_limit
    >>> disk_limit(10 * 2**30, None) == 1000 * 2**30, disk_limit(10 * 2**30, 2**30) == 2**30
    (True, True)
    """
    return max(DEFAULT_LIMIT, 100 * packed) if given is None else given


@contextmanager
def unpacking_at_most(size: int):
    """Another limit inside the block; it comes before the environment variable.

    Examples
    --------
    >>> from isthmus.corpus.limits import unpack_limit, unpacking_at_most
    >>> with unpacking_at_most(1000):
    ...     unpack_limit()
    1000
    """
    token = _limit.set(size)
    try:
        yield
    finally:
        _limit.reset(token)


def too_large(name: str, size: int | None = None, limit: int | None = None) -> DataError:
    """The refusal of a file that unpacks to more than the limit."""
    what = f"to {size / 2**20:,.0f} MiB" if size is not None else "to more"
    most = unpack_limit() if limit is None else limit
    return DataError(
        f"{name} unpacks {what}, and the limit is {most / 2**20:,.0f} MiB; if the file is what you expect, "
        f"raise the limit: isthmus --max-unpacked 4G …, or {VARIABLE}=4G.",
        code="too-large",
    )


def gunzip(data: bytes, name: str) -> bytes:
    """All members of a gzip file unpacked, up to the limit."""
    limit, parts, total = unpack_limit(), [], 0
    rest = data
    while rest:
        member = zlib.decompressobj(wbits=31)
        part = member.decompress(rest, limit - total + 1)
        total += len(part)
        if total > limit:
            raise too_large(name)
        parts.append(part)
        if not member.eof:
            raise EOFError("it ends before the end of the packed data")
        rest = member.unused_data.lstrip(b"\0")  # some tools pad with zeros
    return parts[0] if len(parts) == 1 else b"".join(parts)
