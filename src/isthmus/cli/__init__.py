"""The command ``isthmus``: one file per command.

Data goes to standard output, talk to standard error. Exit codes: 0 done, 1 refused because of the data, 2 wrong usage,
130 stopped by Ctrl-C.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from isthmus._streams import STOPPED, STOPPED_SENTENCE, abandon, hear_stop, say, whole_writes

_NEEDS_APP = "The isthmus command needs its extra packages; install them with: pip install 'isthmus[app]'"


def main(arguments: list[str] | None = None) -> None:
    """Run the command; errors become one sentence and an exit code."""
    try:
        hear_stop()
        _prepare_streams()
        code = _run(arguments)
    except KeyboardInterrupt:  # while packages were still loading; later ones are met where the command runs
        say(STOPPED_SENTENCE)
        code = STOPPED
    _leave(code)


def _run(arguments: list[str] | None) -> int:
    if any(find_spec(name) is None for name in ("rich", "typer")):
        say(_NEEDS_APP)
        return 2
    from isthmus.cli.app import run_command

    return run_command(arguments)


def _prepare_streams() -> None:
    """Standard output that loses nothing in silence, and letters that its encoding lacks written as escapes."""
    sys.stdout = whole_writes(sys.stdout)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def _leave(code: int) -> None:
    """End with the exit code; what is still in a buffer and cannot be written any more changes it, or nothing."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has left
        abandon(sys.stdout)
    except (OSError, ValueError) as error:
        abandon(sys.stdout)
        if code == 0:
            code = 1
            say(f"isthmus: Standard output cannot be written: {getattr(error, 'strerror', error)}. [output-unwritable]")
    raise SystemExit(code)
