"""``isthmus bench``: commands of the benchmarks, a separate distribution that offers them through an entry point."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Any

import typer

from isthmus.exceptions import MissingExtraError

# Name of the entry point with which the benchmarks register.
GROUP = "isthmus.bench"
MISSING = (
    "The benchmarks are not part of the installed package; install them from a checkout of Isthmus with: "
    "pip install ./benchmarks"
)


def load_benchmarks() -> Any:
    """Import the module with the commands of the benchmarks.

    Returns
    -------
    Any
        The module.

    Raises
    ------
    MissingExtraError
        If the benchmarks are not installed.
    """
    # The first entry is enough: only one distribution provides the benchmarks.
    for entry in entry_points(group=GROUP):
        return importlib.import_module(entry.module)
    raise MissingExtraError(MISSING, code="missing-extra")


def register(app: typer.Typer) -> None:
    """Add the command to the program, or a command that explains how to install the benchmarks.

    Parameters
    ----------
    app : typer.Typer
        The program.
    """
    try:
        load_benchmarks().register(app)
    except MissingExtraError:
        # Any options are accepted, so that the explanation appears instead of an error about an option.
        anything = {"allow_extra_args": True, "ignore_unknown_options": True}
        app.command("bench", help=MISSING, context_settings=anything)(load_benchmarks)
