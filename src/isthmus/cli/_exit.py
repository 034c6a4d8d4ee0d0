"""What the command can say before anything else has loaded: lines on both outputs, and how it ends when stopped."""

import signal
import sys
import threading

from isthmus._streams import abandon, check_standard_output
from isthmus.exceptions import DataError

STOPPED = 130
STOPPED_SENTENCE = "Stopped; no file was left half-written."

_stop_asked = False
_line_shown = False  # a line of progress stands on the terminal and gives way to whatever is said
_talk_lock = threading.RLock()


def hear_stop() -> None:
    """From now on Ctrl-C is also remembered: libraries swallow the exception when it meets them while they load."""
    global _stop_asked
    _stop_asked = False
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _remember_and_stop)


def _remember_and_stop(number, frame):
    global _stop_asked
    _stop_asked = True
    raise KeyboardInterrupt


def stop_if_asked() -> None:
    """Stop now if Ctrl-C was pressed earlier and did not stop the work."""
    if _stop_asked and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt


def say(text: str = "") -> None:
    """Talk goes to standard error, and nowhere when that is closed."""
    with _talk_lock:
        clear_line()
        write_talk(f"{text}\n")


def rewrite_line(text: str) -> None:
    """Write a line on a terminal in the place of the last one; the next talk takes its place."""
    global _line_shown
    with _talk_lock:
        write_talk(f"\r\033[K{text}")
        _line_shown = True


def clear_line() -> None:
    """Take the line of progress away, if one stands there."""
    global _line_shown
    with _talk_lock:
        if _line_shown:
            write_talk("\r\033[K")
        _line_shown = False


def write_talk(text: str) -> None:
    """Write to standard error; where nobody listens any more, the work goes on all the same."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        abandon(sys.stderr)


def emit(text: str = "") -> None:
    """A line on standard output: data, not talk."""
    write_data(f"{text}\n")


def write_data(text: str) -> None:
    """Write to standard output; a full disk behind it is told in the same words whether or not it is buffered."""
    check_standard_output()
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DataError(f"Standard output cannot be written: {error.strerror}.", code="output-unwritable") from None


def one_line(text: str) -> str:
    """A sentence for the terminal: line breaks and control characters of hostile data made harmless."""
    return "".join(char if char.isprintable() else " " for char in " ".join(text.split()))
