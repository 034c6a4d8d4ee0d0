"""``isthmus bench``: the benchmarks, a distribution of its own that offers its commands through an entry point."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Any

import typer

from isthmus.exceptions import MissingExtraError

GROUP = "isthmus.bench"
MISSING = (
    "The benchmarks are not part of the installed package; install them from a checkout of Isthmus with: "
    "pip install ./benchmarks"
)


def load_benchmarks() -> Any:
    """The module with the commands of the benchmarks; refused with a sentence that says how to install them."""
    for entry in entry_points(group=GROUP):
        return importlib.import_module(entry.module)
    raise MissingExtraError(MISSING, code="missing-extra")


def register(app: typer.Typer) -> None:
    """Add the command to the program; where the benchmarks are not installed, one that says how to get them."""
    try:
        load_benchmarks().register(app)
    except MissingExtraError:
        anything = {"allow_extra_args": True, "ignore_unknown_options": True}
        app.command("bench", help=MISSING, context_settings=anything)(load_benchmarks)
