"""A command made from a request: its options are those of the request, and nothing is written down twice."""

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
    """An option of the label request for a command that is not made from a request."""
    spec = LabelRequest.options()[name]
    return _typer_option(spec, help, min=spec.low, max=spec.high)


def check_option(name: str, value: Any) -> None:
    """Refuse a value of a :func:`shared` option that is outside the table; None is one that was not given."""
    spec = LabelRequest.options()[name]
    if value is not None:
        spec.check(value, spec.shown)


def flag(typed: str, help: str, **more: Any) -> Any:
    """An option that one command alone has, written as it is typed: ``flag("-o --output OUT", "Where it goes.")``."""
    flags, metavar = split_flags(typed)
    return typer.Option(*flags, metavar=metavar, help=help, **more)


def argument(metavar: str, help: str) -> Any:
    """What stands before the options of a command."""
    return typer.Argument(metavar=metavar, help=help)


def refuse(*cases: tuple[bool, str]) -> None:
    """Refuse a wrong use: of cases and what is said about them, the first that holds."""
    for holds, why in cases:
        if holds:
            raise UsageError(why)


def takes_request(request: type[Request], metavar: str, help: str) -> Callable[[Callable[..., None]], Any]:
    """Make a command of a function of a request: it takes files, shown as ``metavar``, and the request's options."""
    known = request.options()
    files = inspect.Parameter("files", _BY_NAME, annotation=Annotated[list[str], argument(metavar, help)])

    def make_command(run: Callable[..., None]) -> Any:
        def command(**given: Any) -> None:
            run(request(**{key: _as_field(known[key], value) for key, value in given.items()}))

        options = [_parameter(spec) for spec in known.values() if spec.flags]
        command.__signature__ = inspect.Signature([files, *options])  # type: ignore[attr-defined]
        command.__annotations__ = {}
        command.__doc__ = run.__doc__
        return command

    return make_command


_BY_NAME = inspect.Parameter.KEYWORD_ONLY


def _parameter(spec: Option) -> inspect.Parameter:
    kind: Any = list[spec.kind] if spec.many else spec.kind  # type: ignore[name-defined]
    if spec.optional or spec.many:
        kind = kind | None
    default = None if spec.many else spec.default
    return inspect.Parameter(spec.name, _BY_NAME, default=default, annotation=Annotated[kind, _typer_option(spec)])


def _typer_option(spec: Option, help: str | None = None, **limits: Any) -> Any:
    sentence = _CHOICES if spec.name == "method" and not spec.choices else spec.help  # only the command lists them all
    return typer.Option(*spec.flags, metavar=spec.metavar, help=help or sentence, **limits)


def _as_field(spec: Option, value: Any) -> Any:
    """What typer gave, in the form of the request's field."""
    if not spec.many:
        return value
    return tuple(value) if value else spec.default
