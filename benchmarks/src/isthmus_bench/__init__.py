"""Benchmarks: the papers' tables and figures, and speed against peers, each re-run by one command.

``SUITES`` names the suites that are there; the module of a suite is imported when the suite is looked up.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from isthmus._lazy import lazy_names

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
    "hands",
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
        return importlib.import_module(f"isthmus_bench.suites.{name}").SUITE

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


SUITES: Mapping[str, Any] = _Suites()

__all__ = ["SUITES", *sorted(_PUBLIC)]

__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
