"""Standard output as bytes: all of them or an error, and a clear refusal where it is closed."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import IO, Any

from isthmus.exceptions import DataError


class StandardOutput:
    """Takes every byte of a write; unbuffered standard output drops what the system does not take at once."""

    def __init__(self, stream: IO[bytes] | None = None):
        self.stream = stream

    def write(self, data: Any) -> int:
        out = _stream(self.stream)
        rest = memoryview(data)
        total = rest.nbytes
        while rest.nbytes:
            taken = out.write(rest)
            # None: a pipe that does not block and is full for now. Ask again.
            rest = rest[taken or 0 :]
        return total

    def flush(self) -> None:
        _stream(self.stream).flush()


def _stream(given: IO[bytes] | None) -> IO[bytes]:
    if given is not None:
        return given
    check_standard_output()
    return sys.stdout.buffer


def check_standard_output() -> None:
    """Refuse a standard output that is closed: call it before the work, not after."""
    if sys.stdout is None or getattr(sys.stdout, "closed", False):
        raise DataError(
            "Standard output is closed, so nothing can be written there; name a file with -o OUT.",
            code="output-unwritable",
        )


def whole_writes(stream: Any) -> Any:
    """The text stream, or, where it is unbuffered, one over the same file whose writes take everything."""
    raw = getattr(stream, "buffer", None)
    if not isinstance(raw, io.RawIOBase):
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=stream.encoding, errors=stream.errors, newline="\n", line_buffering=True
    )


def abandon(stream: Any) -> None:
    """Send what is left in a stream's buffer nowhere, so that Python does not complain when it ends."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
