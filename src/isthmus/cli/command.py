"""Commands made from the options of a job, so that each option is defined once, and their help."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from isthmus._streams import emit
from isthmus.exceptions import UsageError
from isthmus.methods import METHODS
from isthmus.options import GROUPS, ClusterOptions, JobOptions, LabelOptions

HELP_ALL = "help_all"
JOBS: dict[str | None, type[JobOptions]] = {"label": LabelOptions, "cluster": ClusterOptions}


def shared(name: str, help: str | None = None) -> Any:
    """Return an option of ``label`` for another command.

    Parameters
    ----------
    name : str
        Name of the option.
    help : str, optional
        Sentence for this command; the sentence of ``label`` if omitted.

    Returns
    -------
    Any
        Option for typer.
    """
    spec = LabelOptions.options()[name]
    return flag(spec.typed, help or spec.help, min=spec.low, max=spec.high)


def check_option(name: str, value: Any) -> None:
    """Raise an error if the value of a :func:`shared` option is out of range.

    Parameters
    ----------
    name : str
        Name of the option.
    value : Any
        The value, or None if the option was not given.
    """
    spec = LabelOptions.options()[name]
    if value is not None:
        spec.check(value, spec.shown)


def flag(typed: str, help: str, **more: Any) -> Any:
    """Return an option that only one command has, such as ``flag("-o --output OUT", "Where the output goes.")``.

    Parameters
    ----------
    typed : str
        Names of the option and its value, as people type them.
    help : str
        Sentence for the help.
    **more : Any
        Arguments of ``typer.Option``.

    Returns
    -------
    Any
        Option for typer.
    """
    flags = [word for word in typed.split() if word.startswith("-")]
    metavar = typed.partition(flags[-1])[2].strip() or None
    return typer.Option(*flags, metavar=metavar, help=help, **more)


def argument(metavar: str, help: str) -> Any:
    """Return a positional argument.

    Parameters
    ----------
    metavar : str
        Name of the argument in the help.
    help : str
        Sentence for the help.

    Returns
    -------
    Any
        Argument for typer.
    """
    return typer.Argument(metavar=metavar, help=help)


def refuse(*cases: tuple[bool, str]) -> None:
    """Raise an error for the first condition that is true.

    Parameters
    ----------
    *cases : tuple[bool, str]
        Pairs of a condition and the sentence of its error.

    Raises
    ------
    UsageError
        If a condition is true.
    """
    for holds, why in cases:
        if holds:
            raise UsageError(why)


class JobCommand(TyperCommand):
    """A command whose help has sections; its first screen shows only the options that most people need."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line: arguments, then options.

        Parameters
        ----------
        ctx : Any
            Context of click.

        Returns
        -------
        list[str]
            Parts of the line.
        """
        parts: Any = [part for part in self.params if part.param_type_name == "argument"]
        return [*(part.metavar if part.required else f"[{part.metavar}]" for part in parts), "[OPTIONS]"]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options by section.

        Parameters
        ----------
        ctx : Any
            Context of click.
        formatter : Any
            Formatter of click.
        """
        sections: dict[str, list] = {}
        parts: Any = self.get_params(ctx)
        known = JOBS[self.name].options() if self.name in JOBS else {}
        later = set() if HELP_ALL in ctx.meta else {name for name, spec in known.items() if not spec.first}
        for part in parts:
            section = getattr(part, "rich_help_panel", None) or "Options"
            if part.param_type_name == "argument":
                sections.setdefault("Arguments", []).append((part.metavar, part.help))
            elif part.name not in later:
                sections.setdefault(section, []).append(part.get_help_record(ctx))
        if HELP_ALL in ctx.meta and self.name == "label":
            sections["Methods"] = [(name, recipe.summary) for name, recipe in METHODS.items()]
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def show_all(ctx: typer.Context, wanted: bool) -> None:
    """Print the help with all options and exit.

    Parameters
    ----------
    ctx : typer.Context
        Context of click.
    wanted : bool
        Whether the user asked for it.
    """
    if wanted:
        ctx.meta[HELP_ALL] = True
        emit(ctx.get_help())
        raise typer.Exit()


def takes_options(job: type[JobOptions], metavar: str, help: str) -> Callable[[Callable[..., None]], Any]:
    """Return a decorator that makes a command of a function of the options of a job.

    Parameters
    ----------
    job : type[JobOptions]
        Dataclass whose options the command gets.
    metavar : str
        Name of the files in the help.
    help : str
        Sentence about the files.

    Returns
    -------
    Callable[[Callable[..., None]], Any]
        The decorator.
    """
    kinds: list[tuple[str, Any, Any, Any]] = [("files", list[str], argument(metavar, help), inspect.Parameter.empty)]
    for name, spec in job.options().items():
        kind: Any = list[spec.kind] if spec.many else spec.kind  # type: ignore[name-defined]
        if spec.flags:  # a field without a flag is only for Python
            # typer distinguishes a missing option from an empty list only by None.
            default = None if spec.many else spec.default
            kinds.append((name, kind | None, flag(spec.typed, spec.help, rich_help_panel=spec.group), default))
    every = f"Show all {len(kinds) - 1} options by topic: {', '.join(GROUPS).lower()}."
    kinds.append((HELP_ALL, bool, typer.Option("--help-all", help=every, is_eager=True, callback=show_all), False))

    def make_command(run: Callable[..., None]) -> Any:
        """Return a function with the signature that typer reads."""

        def command(help_all: bool, **given: Any) -> None:
            """Build the options and run the function."""
            # The dataclass is immutable, so lists become tuples; it knows the default of a missing option.
            values: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
            }
            run(job(**{name: value for name, value in values.items() if value is not None and value != ()}))

        by_name = inspect.Parameter.KEYWORD_ONLY
        command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(name, by_name, default=default, annotation=Annotated[kind, shown])
                for name, kind, shown, default in kinds
            ]
        )
        # typer would otherwise also read the annotation of ``given``.
        command.__annotations__ = {}
        command.__doc__ = run.__doc__
        return command

    return make_command
