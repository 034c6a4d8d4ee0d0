"""The command ``isthmus``: one file per command.

Data goes to standard output, talk to standard error. Exit codes: 0 done, 1 refused because of the data, 2 wrong usage,
130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

from isthmus.cli._exit import STOPPED, STOPPED_SENTENCE

_NEEDS_APP = "The isthmus command needs its extra packages; install them with: pip install 'isthmus[app]'"


def main(arguments: list[str] | None = None) -> None:
    """Run the command; errors become one sentence and an exit code."""
    try:
        code = _run(arguments)
    except KeyboardInterrupt:  # while packages were still loading; later ones are met where the command runs
        print(STOPPED_SENTENCE, file=sys.stderr)
        code = STOPPED
    _leave(code)


def _run(arguments: list[str] | None) -> int:
    if any(find_spec(name) is None for name in ("rich", "typer")):
        print(_NEEDS_APP, file=sys.stderr)
        return 2
    from isthmus.cli.app import run_command

    return run_command(arguments)


def _leave(code: int) -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has left. Python would complain when it closes stdout, so give it another one.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(code)
