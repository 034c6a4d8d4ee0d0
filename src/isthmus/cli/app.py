"""The program: its commands, and errors as sentences with an exit code."""

from __future__ import annotations

from typing import Annotated

import typer

import isthmus
from isthmus.cli import bench, check, cluster, data, demo, diagnose, explain, label
from isthmus.cli._exit import STOPPED, STOPPED_SENTENCE
from isthmus.cli.common import one_line, say
from isthmus.exceptions import IsthmusError, UsageError


def make_app() -> typer.Typer:
    """The program with all its commands."""
    app = typer.Typer(
        name="isthmus",
        help="Labels in one domain of text, none in another: label or group the new text, and say how far to trust it.",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback(invoke_without_command=True)(_program)
    for command in (demo, label, check, cluster, explain, diagnose, bench):
        command.register(app)
    app.add_typer(data.app, name="data")
    return app


def _program(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"isthmus {isthmus.__version__}")
    elif context.invoked_subcommand is None:
        say(context.get_help())
        raise typer.Exit(2)


def run_command(arguments: list[str] | None = None) -> int:
    """Run the program and turn whatever happens into an exit code."""
    try:
        code = int(make_app()(args=arguments, standalone_mode=False) or 0)
        if code == STOPPED:  # typer turns Ctrl-C into this code and says nothing
            say(STOPPED_SENTENCE)
        return code
    except typer.Exit as leave:
        return leave.exit_code
    except (typer.Abort, KeyboardInterrupt):
        say(STOPPED_SENTENCE)
        return STOPPED
    except BrokenPipeError:
        return 0
    except IsthmusError as error:
        say(f"isthmus: {one_line(str(error))} [{error.code}]")
        return 2 if isinstance(error, UsageError) else 1
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        say(f"isthmus: {one_line(str(error.strerror or error) + where)}; check the name and the place. [file-trouble]")
        return 1
    except MemoryError:
        say("isthmus: there is not enough memory for this; try a smaller file or --method nbc. [too-large]")
        return 1
    except Exception as error:
        # click's own errors: wrong option, missing argument. The class lives in a private package of typer's.
        if type(error).__name__ == "NoArgsIsHelpError":
            say(error.format_message())
            return 2
        if hasattr(error, "exit_code") and hasattr(error, "format_message"):
            where = getattr(getattr(error, "ctx", None), "command_path", "") or "isthmus"
            said = one_line(error.format_message())
            say(f"isthmus: {said if said[-1:] in '.?!' else said + '.'} See {where} --help.")
            return error.exit_code
        raise
