"""Whether recorded rows come out again: a few tasks of a record are run anew, and every value is compared."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from isthmus.exceptions import DataError, UsageError
from isthmus_bench.engine.harness import find_suite, run_suite
from isthmus_bench.engine.records import Key, Record

TOLERANCE = 5e-4  # a difference that the third decimal shows
_OTHERS = {
    "task",
    "method",
    "metric",
    "value",
    "seconds",
    "seed",
    "correct",
}  # of a row's fields: the rest tell it apart
TASKS = 2  # run again if none is named: those that cost least


@dataclass(frozen=True)
class Verified:
    """What came out: values compared, those that differ, rows whose code has changed since, rows without a stamp."""

    compared: int
    different: list[str]
    stale: int
    unstamped: int
    units: int

    @property
    def sentences(self) -> list[str]:
        """For people: what differs, then the sum."""
        total = f"{self.compared - len(self.different)} of {self.compared} values are as recorded"
        code = [
            f"{count} of {self.units} {what}"
            for count, what in (
                (self.stale, "were computed by code that has changed since"),
                (self.unstamped, "do not say which code computed them"),
            )
            if count
        ]
        recorded = f"rows recorded for these tasks and methods: {'; '.join(code)}" if code else ""
        return [*self.different, f"{total}; {recorded}." if recorded else f"{total}, by the same code."]


def verify_record(
    suite: str,
    records: Path,
    folder: Path | None = None,
    tasks: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    jobs: int = 1,
    progress: Callable | None = None,
    *,
    note: bool = False,
) -> Verified:
    """Run recorded rows again and compare them.

    Parameters
    ----------
    suite : str
        Name of a suite.
    records : path
        Folder that holds ``<suite>/results.json``.
    folder : path, optional
        Data folder; if omitted, ``ISTHMUS_DATA`` names it.
    tasks, methods : sequences of str, optional
        Which rows; if omitted, all methods on the two tasks that took the least time.
    jobs : int
        Processes.
    progress : callable, optional
        As for :func:`isthmus_bench.engine.harness.run_suite`.
    note : bool
        Write into the record which rows came out again, and by which code.
    """
    found = find_suite(suite)
    if not found.parallel:
        raise UsageError(
            f"Suite {found.name} measures times, which differ from run to run; compare them with --against.",
            code="bad-parameter",
        )
    record = Record.open(records, found.name)
    keys = [
        key
        for key, unit in record.units.items()
        if unit.get("rows")
        and key[0] in (tasks or found.tasks)
        and key[1] in (methods or found.methods)
        and key[0] in found.tasks
        and key[1] in found.methods
    ]
    if not keys:
        raise DataError(
            f"There is no such row in {record.path}; run the command in a clone, which has the records, or write one "
            "with --record.",
            code="missing-data",
        )
    chosen = list(tasks or _cheapest(record, keys))
    keys = [key for key in keys if key[0] in chosen]
    seeds = sorted({key[2] for key in keys if key[2] is not None}) or None
    with tempfile.TemporaryDirectory() as empty:
        names = list(dict.fromkeys(key[1] for key in keys))
        run_suite(suite, folder, chosen, names, seeds, jobs, empty, True, progress)
        again = Record.open(Path(empty), found.name)
    stale = [record.changed_code(key) for key in keys]
    unstamped = sum(one is None for one in stale)
    different, compared = [], 0
    for key in keys:
        was, now = (_values(one, key) for one in (record, again))
        wrong = [metric for metric, value in was.items() if not _same(value, now.get(metric))]
        compared += len(was)
        different += [_difference(key, metric, was[metric], now.get(metric)) for metric in wrong]
        if note and not wrong:
            record.confirm(key, again.code[again.units[key]["code"]])
    if note:
        record.save()
    return Verified(compared, different, sum(bool(one) for one in stale), unstamped, len(keys))


def _cheapest(record: Record, keys: list[Key]) -> list[str]:
    """Tasks that took the least time over all methods."""
    seconds: dict[str, float] = {}
    for key in keys:
        seconds[key[0]] = seconds.get(key[0], 0.0) + max(row["seconds"] for row in record.units[key]["rows"])
    return sorted(seconds, key=lambda name: seconds[name])[:TASKS]


def _values(record: Record, key: Key) -> dict[str, float | None]:
    """Each metric of one unit, with the words and whole numbers that tell its rows apart, as the tables have them."""
    found: dict[str, float | None] = {}
    for row in record.units.get(key, {}).get("rows", ()):
        facts = [
            f"{name}={row[name]}" for name in sorted(row) if name not in _OTHERS and isinstance(row[name], str | int)
        ]
        name = " ".join([row["metric"], *facts])
        found[name if name not in found else f"{name} ({len(found)})"] = row["value"]
    return found


def _same(was: float | None, now: float | None) -> bool:
    if was is None or now is None:
        return was is now
    return math.isclose(was, now, rel_tol=0.0, abs_tol=TOLERANCE)


def _difference(key: Key, metric: str, was: float | None, now: float | None) -> str:
    shown = ["nothing" if value is None else f"{value:.4f}" for value in (was, now)]
    return f"{key[0]}, {key[1]}: {metric} was {shown[0]} and is {shown[1]}"
