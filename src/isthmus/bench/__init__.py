"""Benchmarks: the papers' tables and figures, and speed against peers, each re-run by one command.

``SUITES`` names the suites that are there; the module of a suite is imported when the suite is looked up.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from isthmus.bench.suite import Method, SpeedCase, Study, Suite, Task, TaskData

_NAMES = ("cocc", "strings", "projection", "dual", "guided", "choose", "speed")


class _Suites(Mapping):
    """Suites by name, each imported on first look-up."""

    def __getitem__(self, name: str) -> Suite:
        if name not in _NAMES or find_spec(f"isthmus.bench.{name}") is None:
            raise KeyError(name)
        return importlib.import_module(f"isthmus.bench.{name}").SUITE

    def __iter__(self) -> Iterator[str]:
        return (name for name in _NAMES if find_spec(f"isthmus.bench.{name}") is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


SUITES: Mapping[str, Suite] = _Suites()

__all__ = ["SUITES", "Method", "SpeedCase", "Study", "Suite", "Task", "TaskData"]
