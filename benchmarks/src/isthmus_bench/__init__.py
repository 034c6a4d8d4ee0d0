"""Benchmarks: the papers' tables and figures, and speed against peers, each re-run by one command.

``SUITES`` names the suites that are there; the module of a suite is imported when the suite is looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

_NAMES = (
    "cocc",
    "strings",
    "projection",
    "dual",
    "guided",
    "choose",
    "trust",
    "names",
    "doubt",
    "annotators",
    "languages",
    "listen",
    "scale",
    "speed",
)
_PUBLIC = dict.fromkeys(("Method", "SpeedCase", "Study", "Suite", "Task", "TaskData"), "isthmus_bench.engine.suite")


class _Suites(Mapping):
    """Suites by name, each imported on first look-up."""

    def __getitem__(self, name: str) -> Any:
        if name not in _NAMES:
            raise KeyError(name)
        return import_module(f"isthmus_bench.suites.{name}").SUITE

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


SUITES: Mapping[str, Any] = _Suites()

__all__ = ["SUITES", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
