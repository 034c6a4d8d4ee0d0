"""Suite "speed": ours against a peer, both measured in one run.

The cases live in the modules of :mod:`isthmus_bench.speed`, one per method, each with a tuple ``CASES`` of
:class:`~isthmus_bench.engine.suite.SpeedCase`. A task is a case's name, a method the case's method; a
pair that is no case is skipped.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import isthmus_bench.speed
from isthmus.exceptions import UsageError
from isthmus_bench.ceilings import against_ceilings
from isthmus_bench.engine.suite import Method, SpeedCase, Suite, Task, TaskData

FALL = 1 / 3  # of a ratio, from which on it counts as fallen


def collect_cases() -> tuple[SpeedCase, ...]:
    """All cases of all modules of :mod:`isthmus_bench.speed`, in order of module name."""
    names = sorted(module.name for module in pkgutil.iter_modules(isthmus_bench.speed.__path__))
    cases = [case for name in names for case in importlib.import_module(f"isthmus_bench.speed.{name}").CASES]
    seen = set()
    for case in cases:
        if (case.name, case.method) in seen:
            raise ValueError(f"two speed cases are called {case.name!r} with method {case.method!r}")
        seen.add((case.name, case.method))
    return tuple(cases)


def case_names(module: str) -> list[str]:
    """Names of the cases of one module of :mod:`isthmus_bench.speed`: ``isthmus bench speed --suite gpu``."""
    known = sorted(found.name for found in pkgutil.iter_modules(isthmus_bench.speed.__path__))
    if module not in known:
        raise UsageError(f"The suite speed has no part {module!r}; there are: {', '.join(known)}.", code="unknown-name")
    return [case.name for case in importlib.import_module(f"isthmus_bench.speed.{module}").CASES]


def quick_names() -> list[str]:
    """Names of the cases that take two minutes together: ``isthmus bench speed --quick``."""
    return [case.name for case in collect_cases() if case.quick]


def fallen(rows: Iterable[Mapping], recorded: Iterable[Mapping]) -> list[str]:
    """What to say about ratios that have fallen by a third or more since they were recorded."""
    before = {(row["task"], row["method"]): row["ratio"] for row in recorded}
    said = []
    for row in rows:
        known = before.get((row["task"], row["method"]))
        if known is not None and row["ratio"] < (1 - FALL) * known:
            said.append(f"{row['task']} {row['method']}: ratio {row['ratio']:.3g}, {known:.3g} in the record")
    return said


def speed_suite(cases: Iterable[SpeedCase]) -> Suite:
    """A suite whose tasks are the cases' names and whose methods are the cases' methods."""
    cases = tuple(cases)
    by_pair = {(case.name, case.method): case for case in cases}
    names = dict.fromkeys(case.name for case in cases)
    tasks = {name: _task(name, [case for case in cases if case.name == name]) for name in names}
    methods = {m: _method(m, by_pair) for m in dict.fromkeys(case.method for case in cases)}
    return Suite(
        name="speed",
        summary="Seconds of ours and of a peer, measured in one run.",
        tasks=tasks,
        methods=methods,
        default_tasks=tuple(case.name for case in cases if not case.on_demand),
        seeds=(0,),
        pairs=frozenset(by_pair),
        parallel=False,
    )


def speed_row(measured: dict, limit: float | None = None) -> dict:
    """A row of the contract from what a case measured: the ratio is the value, our seconds are its seconds."""
    row = dict(measured) if limit is None else {"limit": limit, **measured}
    row.setdefault("ratio", row["peer_s"] / row["ours_s"] if row["ours_s"] else float("inf"))
    if "operations" in row:
        row |= against_ceilings(row["ours_s"], row["operations"], row["moved_bytes"])
    return {"metric": "ratio", "value": row["ratio"], "seconds": row["ours_s"], **row}


def _task(name: str, cases: list[SpeedCase]) -> Task:
    def load(folder: Path) -> TaskData:
        return TaskData([], [], [], [], extra={"folder": folder, "case": name})

    files = tuple(dict.fromkeys(file for case in cases for file in case.files))
    return Task(name=name, load=load, files=files)


def _method(name: str, by_pair: dict[tuple[str, str], SpeedCase]) -> Method:
    def run(data: TaskData, seed: int) -> list[dict]:
        case = by_pair[data.extra["case"], name]
        return [speed_row(case.run(data.extra["folder"]), case.limit)]

    return Method(name=name, run=run, seeded=False)


SUITE = speed_suite(collect_cases())
