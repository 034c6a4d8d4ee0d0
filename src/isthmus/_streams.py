"""Write to standard output and standard error, and stop when the user asks for it.

The command imports this module before anything else has loaded.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import IO, Any

from isthmus.exceptions import DataError

STOPPED = 130  # exit code of a command that Ctrl-C ended: 128 plus the number of the signal
STOPPED_SENTENCE = "Stopped; no file was left half-written."

_stop_asked = False
_line_shown = False  # a line of progress is on the terminal; the next message overwrites it
# Progress and messages come from several threads; the lock prevents mixed lines.
_talk_lock = threading.RLock()


class StandardOutput:
    """Write all bytes to standard output.

    Unbuffered standard output drops the bytes that the system does not accept at once.

    Parameters
    ----------
    stream : binary file, optional
        Stream to use instead of the standard output of the process.
    """

    def __init__(self, stream: IO[bytes] | None = None):
        """Store the stream; open nothing."""
        self.stream = stream

    def write(self, data: Any) -> int:
        """Write all bytes and return their number.

        Parameters
        ----------
        data : bytes-like

        Returns
        -------
        int
            Number of bytes.
        """
        out = _stream(self.stream)
        rest = memoryview(data)
        total = rest.nbytes
        while rest.nbytes:
            taken = out.write(rest)
            # None: a pipe that does not block and is full for now. Ask again.
            rest = rest[taken or 0 :]
        return total

    def flush(self) -> None:
        """Flush the stream."""
        _stream(self.stream).flush()


def _stream(given: IO[bytes] | None) -> IO[bytes]:
    """Return the given stream, or the binary standard output."""
    if given is not None:
        return given
    check_standard_output()
    return sys.stdout.buffer


def check_standard_output() -> None:
    """Refuse a closed standard output; call this function before the work starts.

    Raises
    ------
    DataError
        Standard output is closed.
    """
    if sys.stdout is None or getattr(sys.stdout, "closed", False):
        raise DataError(
            "Standard output is closed, so nothing can be written there; name a file with -o OUT.",
            code="output-unwritable",
        )


def whole_writes(stream: Any) -> Any:
    """Return the text stream, or a buffered stream over the same file if the given stream is unbuffered.

    Parameters
    ----------
    stream : text file

    Returns
    -------
    text file
    """
    # A raw stream writes a part of a long text and drops the rest, so it needs a buffer.
    raw = getattr(stream, "buffer", None)
    if not isinstance(raw, io.RawIOBase):
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=stream.encoding, errors=stream.errors, newline="\n", line_buffering=True
    )


def abandon(stream: Any) -> None:
    """Discard the rest of a stream's buffer, so that Python does not report an error when it ends.

    Parameters
    ----------
    stream : file
    """
    with suppress(OSError, ValueError, AttributeError):
        # Python flushes the stream when it ends; from here on the flush goes nowhere and cannot fail.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def hear_stop() -> None:
    """Remember Ctrl-C as well as raise it, because some libraries swallow the exception while they load."""
    global _stop_asked
    _stop_asked = False
    # Only the main thread may set a signal handler. A handler of the host program is left in place.
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _remember_and_stop)


def _remember_and_stop(number, frame):
    """Handle the signal of Ctrl-C."""
    global _stop_asked
    _stop_asked = True
    raise KeyboardInterrupt


def stop_if_asked() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed earlier and a library swallowed the exception.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C was pressed, and this is the main thread.
    """
    if _stop_asked and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt


def say(text: str = "") -> None:
    """Write a message to standard error; drop it if standard error is closed.

    Parameters
    ----------
    text : str
        Message without a line break at its end.
    """
    with _talk_lock:
        clear_line()
        write_talk(f"{text}\n")


def rewrite_line(text: str) -> None:
    """Overwrite the current line of the terminal; the next message overwrites it again.

    Parameters
    ----------
    text : str
        One line.
    """
    global _line_shown
    with _talk_lock:
        write_talk(f"\r\033[K{text}")
        _line_shown = True


def clear_line() -> None:
    """Remove the line of progress from the terminal."""
    global _line_shown
    with _talk_lock:
        # The escape sequence clears the line of the terminal, so that a short message leaves no rest of a long one.
        if _line_shown:
            write_talk("\r\033[K")
        _line_shown = False


def write_talk(text: str) -> None:
    """Write to standard error, and continue if it is closed.

    Parameters
    ----------
    text : str
    """
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        abandon(sys.stderr)


def emit(text: str = "") -> None:
    """Write a line of data to standard output.

    Parameters
    ----------
    text : str
        The line without its line break.
    """
    write_data(f"{text}\n")


def write_data(text: str) -> None:
    """Write to standard output; raise the same error for a full disk whether or not the stream is buffered.

    Parameters
    ----------
    text : str

    Raises
    ------
    DataError
        The text cannot be written.
    """
    check_standard_output()
    try:
        sys.stdout.write(text)
    # The reader has closed the pipe, for example head; the command ends without an error message.
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DataError(f"Standard output cannot be written: {error.strerror}.", code="output-unwritable") from None


def one_line(text: str) -> str:
    """Return a text without line breaks and control characters, which hostile data could contain.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    return "".join(char if char.isprintable() else " " for char in " ".join(text.split()))
