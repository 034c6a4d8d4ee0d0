"""The command ``isthmus``: one file per command.

Data goes to standard output, talk to standard error. Exit codes: 0 done, 1 refused because of the data, 2 wrong usage,
130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import sys

_NEEDS_APP = "The isthmus command needs its extra packages; install them with: pip install 'isthmus[app]'"


def main(arguments: list[str] | None = None) -> None:
    """Run the command; errors become one sentence and an exit code."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        print(_NEEDS_APP, file=sys.stderr)
        raise SystemExit(2) from None
    from isthmus.cli.common import run_command

    code = run_command(arguments)
    _leave(code)


def _leave(code: int) -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has left. Python would complain when it closes stdout, so give it another one.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(code)
