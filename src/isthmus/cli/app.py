"""The program: its commands, and errors as sentences with an exit code."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import isthmus
from isthmus._streams import STOPPED, STOPPED_SENTENCE, emit, one_line, say
from isthmus.exceptions import IsthmusError, UsageError
from isthmus.options import in_flags

# Each command is a module of this package, imported when it is called. These sentences are its line in --help.
COMMANDS = {
    "demo": "Label the bundled sample and write a report: the quickest way to see what this does.",
    "label": "Label the documents of TARGET with the labels of SOURCE.",
    "ask": "List the documents or words that a person should answer next.",
    "teach": "Learn from answers of a person, and label again.",
    "check": "Draw a random sample for a person to label, then estimate how many labels are right.",
    "cluster": "Group the documents of TARGET, following the groups of SOURCE where they fit.",
    "explain": "Show which words count for and against each class of a document.",
    "diagnose": "Report whether labels can transfer from SOURCE to TARGET, and which problems to expect.",
    "convert": "Write a table for Label Studio, Argilla, doccano, Prodigy or fastText, or import a file of theirs.",
    "models": "List recommended sentence encoders, or download one for --embed.",
    "serve": "Open the workbench: lasting projects that a team reviews in the browser.",
    "workspace": "Back up, restore and check the workspace of a workbench.",
    "bench": "Run the published experiments again, and time the methods against others.",
    "data": "Copy the bundled sample, list the benchmark corpora, or make their files from the public archives.",
}


class _Commands(Mapping):
    """Commands by name; the module of a command is imported on first use."""

    def __getitem__(self, name: str) -> Any:
        """Return the command with a name."""
        # click looks up any name that a user types; Mapping.get turns the KeyError into None.
        if name not in COMMANDS:
            raise KeyError(name)
        # A program per command: typer then builds only the command that was called.
        program = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
        module = importlib.import_module(f"isthmus.cli.{name}")
        if hasattr(module, "register"):
            module.register(program)
        else:
            # The options of the jobs are needed only for a command of this kind.
            from isthmus.cli.command import JobCommand

            program.command(name, cls=JobCommand, epilog=module.EXAMPLE)(getattr(module, name))
        command = typer.main.get_command(program)
        # A group of commands is wrapped in the program that registered it.
        return getattr(command, "commands", {}).get(name, command)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the commands."""
        return iter(COMMANDS)

    def __len__(self) -> int:
        """Return the number of commands."""
        return len(COMMANDS)


class WholeLines(TyperGroup):
    """A group of commands whose help shows the complete first paragraph of each command."""

    def lines(self) -> list[tuple[str, str]]:
        """Return the name and the first paragraph of each command.

        Returns
        -------
        list[tuple[str, str]]
            Pairs of a name and a sentence.
        """
        shown = [(name, command) for name, command in self.commands.items() if not command.hidden]
        return [(name, " ".join((command.help or "").partition("\n\n")[0].split())) for name, command in shown]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands without shortening their sentences.

        Parameters
        ----------
        ctx : Any
            Context of click.
        formatter : Any
            Formatter of click.
        """
        with formatter.section("Commands"):
            formatter.write_dl(self.lines())


class _Program(WholeLines):
    """The program; its help lists the commands without importing their modules."""

    def __init__(self, **settings: Any):
        super().__init__(**settings)
        self.commands: Any = _Commands()

    def lines(self) -> list[tuple[str, str]]:
        """Return the name and the sentence of each command."""
        return list(COMMANDS.items())


def make_app() -> typer.Typer:
    """Build the program.

    Returns
    -------
    typer.Typer
        The program for typer.
    """
    app = typer.Typer(
        name="isthmus",
        cls=_Program,
        help="Transfer labels to texts of another domain: label or group them, and estimate how many labels are right.",
        epilog="isthmus COMMAND --help shows the options of a command and an example. To begin: isthmus demo",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback(invoke_without_command=True)(_program)
    return app


def _program(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    max_unpacked: Annotated[
        str | None,
        typer.Option("--max-unpacked", metavar="SIZE", help="Largest size a compressed file may unpack to (512M)."),
    ] = None,
) -> None:
    # Imported only here, because most calls do not limit the size.
    if max_unpacked is not None:
        from isthmus.corpus.limits import read_size, unpacking_at_most

        context.with_resource(unpacking_at_most(read_size(max_unpacked, "--max-unpacked")))
    if version:
        emit(f"isthmus {isthmus.__version__}")
    elif context.invoked_subcommand is None:
        say(context.get_help())
        # Without a command, the help is an answer to wrong usage, so it goes to standard error.
        raise typer.Exit(2)


def run_command(arguments: list[str] | None = None) -> int:
    """Run the program and turn its outcome into an exit code.

    Parameters
    ----------
    arguments : list[str], optional
        Arguments of the command; those of the process if omitted.

    Returns
    -------
    int
        Exit code.
    """
    try:
        code = int(make_app()(args=arguments, prog_name="isthmus", standalone_mode=False) or 0)
        if code == STOPPED:  # typer turns Ctrl-C into this code without a message
            say(STOPPED_SENTENCE)
        return code
    except typer.Exit as leave:
        return leave.exit_code
    except (typer.Abort, KeyboardInterrupt):
        say(STOPPED_SENTENCE)
        return STOPPED
    # A program such as head has read enough: this is no error.
    except BrokenPipeError:
        return 0
    except IsthmusError as error:
        say(f"isthmus: {one_line(in_flags(str(error)))} [{error.code}]")
        # Scripts can distinguish a wrong command from unusable data.
        return 2 if isinstance(error, UsageError) else 1
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        say(f"isthmus: {one_line(str(error.strerror or error) + where)}; check the name and the place. [file-trouble]")
        return 1
    # The allocation failed, so there is enough memory left for a sentence.
    except MemoryError:
        say("isthmus: there is not enough memory for this; try fewer or shorter texts and labels. [too-large]")
        return 1
    except Exception as error:
        click_error: Any = error
        # Errors of click are recognised by name and attributes: their class is private to typer.
        # A group without a command shows its help, which needs no prefix.
        if type(error).__name__ == "NoArgsIsHelpError":
            say(click_error.format_message())
            return 2
        # A wrong option or a missing argument.
        if hasattr(error, "exit_code") and hasattr(error, "format_message"):
            where = getattr(getattr(error, "ctx", None), "command_path", "") or "isthmus"
            said = one_line(click_error.format_message())
            say(f"isthmus: {said if said[-1:] in '.?!' else said + '.'} See {where} --help.")
            return click_error.exit_code
        raise
