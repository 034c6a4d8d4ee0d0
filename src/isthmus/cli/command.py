"""Commands made from a request: their options are the request's, so that each option is defined once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from isthmus.exceptions import UsageError
from isthmus.methods import METHODS
from isthmus.request import LabelRequest, Option, Request, split_flags

_CHOICES = f"auto, which tries several and lets the best supported vote, or one of: {', '.join(METHODS)}."


def shared(name: str, help: str | None = None) -> Any:
    """Return an option of the label request, for a command that is not made from a request.

    Parameters
    ----------
    name : str
        Name of the option.
    help : str, optional
        Sentence for this command; the request's sentence if omitted.

    Returns
    -------
    Any
        Option for typer.
    """
    spec = LabelRequest.options()[name]
    return _typer_option(spec, help, min=spec.low, max=spec.high)


def check_option(name: str, value: Any) -> None:
    """Raise an error if the value of a :func:`shared` option is out of range.

    Parameters
    ----------
    name : str
        Name of the option.
    value : Any
        The value, or None if the option was not given.
    """
    spec = LabelRequest.options()[name]
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
    flags, metavar = split_flags(typed)
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


def takes_request(request: type[Request], metavar: str, help: str) -> Callable[[Callable[..., None]], Any]:
    """Return a decorator that makes a command of a function of a request.

    Parameters
    ----------
    request : type[Request]
        Class of the request, whose options the command gets.
    metavar : str
        Name of the files in the help.
    help : str
        Sentence about the files.

    Returns
    -------
    Callable[[Callable[..., None]], Any]
        The decorator.
    """
    known = request.options()
    files = inspect.Parameter("files", _BY_NAME, annotation=Annotated[list[str], argument(metavar, help)])

    def make_command(run: Callable[..., None]) -> Any:
        """Return a function with the signature that typer reads."""

        def command(**given: Any) -> None:
            """Build the request from the options and run the function."""
            run(request(**{key: _as_field(known[key], value) for key, value in given.items()}))

        # Fields without a flag, such as the files, are no options.
        options = [_parameter(spec) for spec in known.values() if spec.flags]
        command.__signature__ = inspect.Signature([files, *options])  # type: ignore[attr-defined]
        # typer would otherwise also read the annotation of ``given``.
        command.__annotations__ = {}
        command.__doc__ = run.__doc__
        return command

    return make_command


_BY_NAME = inspect.Parameter.KEYWORD_ONLY


def _parameter(spec: Option) -> inspect.Parameter:
    """Return an option of a request as a parameter of a function."""
    kind: Any = list[spec.kind] if spec.many else spec.kind  # type: ignore[name-defined]
    if spec.optional or spec.many:
        kind = kind | None
    # typer distinguishes a missing option from an empty list only by None.
    default = None if spec.many else spec.default
    return inspect.Parameter(spec.name, _BY_NAME, default=default, annotation=Annotated[kind, _typer_option(spec)])


def _typer_option(spec: Option, help: str | None = None, **limits: Any) -> Any:
    """Return an option of a request for typer."""
    # Only the command's help lists all methods.
    sentence = _CHOICES if spec.name == "method" and not spec.choices else spec.help
    return typer.Option(*spec.flags, metavar=spec.metavar, help=help or sentence, **limits)


def _as_field(spec: Option, value: Any) -> Any:
    """Convert a value of typer to the type of the request's field."""
    if not spec.many:
        return value
    # Requests are immutable, so lists become tuples.
    return tuple(value) if value else spec.default
