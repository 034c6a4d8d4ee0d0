"""``isthmus bench``: the benchmarks, a distribution of its own that offers its command through an entry point."""

from __future__ import annotations

from importlib.metadata import entry_points

import typer

from isthmus.exceptions import MissingExtraError

GROUP = "isthmus.bench"
MISSING = (
    "The benchmarks are not part of the installed package; install them from a checkout of Isthmus with: "
    "pip install ./benchmarks"
)


def register(app: typer.Typer) -> None:
    """Add the command to the program; where the benchmarks are not installed, one that says how to get them."""
    for entry in entry_points(group=GROUP):
        entry.load()(app)
        return
    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("bench", help=MISSING, context_settings=anything)(refuse)


def refuse() -> None:
    """Stand in for the command."""
    raise MissingExtraError(MISSING, code="missing-extra")
