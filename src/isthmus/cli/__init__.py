"""The command ``isthmus``: one module per command.

Data goes to standard output, messages go to standard error. Exit codes: 0 for success, 1 if the data is refused, 2 for
wrong usage, 130 after Ctrl-C.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from isthmus._streams import STOPPED, STOPPED_SENTENCE, abandon, hear_stop, say, whole_writes

_NEEDS_APP = "The isthmus command needs its extra packages; install them with: pip install 'isthmus[app]'"


def main(arguments: list[str] | None = None) -> None:
    """Run the command, turn errors into one sentence and an exit code, and exit.

    Parameters
    ----------
    arguments : list[str], optional
        Arguments of the command; those of the process if omitted.
    """
    try:
        hear_stop()
        _prepare_streams()
        code = _run(arguments)
    except KeyboardInterrupt:  # Ctrl-C while packages were loading; run_command handles it later
        say(STOPPED_SENTENCE)
        code = STOPPED
    _leave(code)


def _run(arguments: list[str] | None) -> int:
    """Run the command if its packages are installed, and return the exit code."""
    # Without these packages, importing the program would fail with a traceback.
    if any(find_spec(name) is None for name in ("rich", "typer")):
        say(_NEEDS_APP)
        return 2
    from isthmus.cli.app import run_command

    return run_command(arguments)


def _prepare_streams() -> None:
    """Make standard output report lost data, and escape the characters that its encoding lacks."""
    sys.stdout = whole_writes(sys.stdout)
    if hasattr(sys.stdout, "reconfigure"):
        # A class name in another script must not end the command on an old console.
        sys.stdout.reconfigure(errors="backslashreplace")


def _leave(code: int) -> None:
    """Exit with a code, which becomes 1 if buffered output cannot be written."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:  # the program that reads our output has ended
        abandon(sys.stdout)
    except (OSError, ValueError) as error:
        abandon(sys.stdout)
        # An earlier error is more important than the one about the buffer.
        if code == 0:
            code = 1
            say(f"isthmus: Standard output cannot be written: {getattr(error, 'strerror', error)}. [output-unwritable]")
    raise SystemExit(code)
