"""Records of benchmark runs: what was measured, by which versions, on which bytes.

A record is one JSON file, rewritten whole and swapped in place after every finished unit, so that a run that is stopped
can be taken up again. It names no host and no path.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._utils import to_plain, versions
from isthmus.corpus import replacing
from isthmus.exceptions import DataError
from isthmus_bench.engine.stamps import changed_modules, digest
from isthmus_bench.engine.suite import Suite, unpack_correct
from isthmus_bench.significance import mcnemar


def cache_folder() -> Path:
    """Where rows are kept when no record is asked for: ``ISTHMUS_CACHE``, or the user's cache folder."""
    given = os.environ.get("ISTHMUS_CACHE")
    if given:
        return Path(given) / "bench"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "isthmus" / "bench"


def machine() -> str:
    """The machine in general words."""
    return f"{os.cpu_count()} cores, {platform.machine()}"


def load_average() -> float | None:
    """Processes that wanted a core in the last minute; None where the system does not say."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def stamp(hashes: Mapping[str, str]) -> str:
    """What a finished row depends on, beside its own name: our version and the data's bytes."""
    facts = json.dumps([version("isthmus"), sorted(hashes.items())])
    return hashlib.sha256(facts.encode()).hexdigest()[:16]


def write_json(path: Path, content: Any) -> None:
    """Write in one move: readers see the old file or the new one, never half of it."""
    write_text(path, json.dumps(to_plain(content), indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{path.name} cannot be written to {path.parent} ({error.strerror}); name a folder that can be written to.",
            code="output-unwritable",
        ) from error
    with replacing(path, force=True) as stream:
        stream.write(text.encode("utf-8"))


Key = tuple[str, str, int | None]


def _first(names: list[str], what: str, most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more {what}" if len(names) > most else "")


@dataclass
class Record:
    """The rows of one suite on disk, by (task, method, seed), with the stamps that say when they still hold."""

    path: Path
    suite: str
    units: dict[Key, dict] = field(default_factory=dict)  # key -> {"stamp", "rows" | "failure"}
    studies: dict[str, dict] = field(default_factory=dict)  # name -> {"stamp", "seconds", "rows"}
    data: dict[str, str] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    code: dict[str, dict[str, str]] = field(default_factory=dict)  # digest of a unit -> its modules, with their hashes
    correct: dict[Key, str] = field(default_factory=dict)
    changed: set[Key | str] = field(default_factory=set)  # units and studies computed since the record was opened

    @classmethod
    def open(cls, folder: Path, suite: str) -> Record:
        """The record in ``folder/suite``, or an empty one; a file that cannot be read counts as none."""
        record = cls(path=Path(folder) / suite / "results.json", suite=suite)
        content = _read_json(record.path)
        for unit in content.get("units", []):
            record.units[unit["task"], unit["method"], unit["seed"]] = (
                unit if "failure" in unit else {**unit, "rows": []}
            )
        for row in content.get("rows", []):
            record.units[row["task"], row["method"], row["seed"]]["rows"].append(row)
        record.studies = content.get("studies", {})
        record.data = content.get("data", {})
        record.commands = content.get("commands", [])
        record.code = content.get("code", {})
        for task, method, seed, packed in _read_json(record._side_path).get("correct", []):
            record.correct[task, method, seed] = packed
        return record

    @property
    def _side_path(self) -> Path:
        # Which documents were right is large and of use only here: in the cache, never among recorded results.
        place = hashlib.sha256(str(self.path.resolve()).encode()).hexdigest()[:16]
        return cache_folder() / "correct" / f"{self.suite}-{place}.json"

    def holds(self, key: Key, stamp_: str, *, same_code: bool = False) -> bool:
        """Whether this unit is finished and was computed by this version, or by this very code, on these bytes."""
        unit = self.units.get(key, {})
        return "rows" in unit and unit["stamp"] == stamp_ and not (same_code and self.changed_code(key) != [])

    def holds_study(self, name: str, stamp_: str, *, same_code: bool = False) -> bool:
        """The same for a study."""
        entry = self.studies.get(name, {})
        return "rows" in entry and entry["stamp"] == stamp_ and not (same_code and self.changed_study(name) != [])

    def changed_code(self, key: Key) -> list[str] | None:
        """Modules that have changed since this unit was last computed; None where it does not say which computed it."""
        code = self.code.get(_last_code(self.units[key]))
        return None if code is None else changed_modules(code)

    def changed_study(self, name: str) -> list[str] | None:
        """The same for a study."""
        code = self.code.get(self.studies[name].get("code", ""))
        return None if code is None else changed_modules(code)

    def code_sentence(self) -> str:
        """Whether the rows are those of the code as it is now, for a reader of the record."""
        changed = {name: changed_modules(code) for name, code in self.code.items()}  # many rows, few codes
        found = {key: changed.get(_last_code(unit)) for key, unit in self.units.items() if "rows" in unit}
        stale = {key: names for key, names in found.items() if names}
        unknown = sum(names is None for names in found.values())
        if not found or unknown == len(found):
            return "The record does not say which code computed its rows." if found else ""
        if not stale and not unknown:
            return "Every row was computed by the code as it is."
        modules = sorted({name for names in stale.values() for name in names})
        methods = sorted({method for _, method, _ in stale})
        said = []
        if stale:
            shown = _first(modules, "modules")
            moved = "all" if len(stale) == len(found) else f"those of {_first(methods, 'methods')}"
            command = f"isthmus bench {self.suite}"
            said = [
                f"{len(stale)} of {len(found)} rows were computed before {shown} changed. They are what was measured "
                f"then; of the figures here, {moved} may have moved. `{command} --verify` computes two tasks anew and "
                f"compares, `{command} --renew` computes all of them."
            ]
        said += [f"{unknown} of {len(found)} rows do not say which code computed them."] if unknown else []
        again = sum("verified" in self.units[key] and names == [] for key, names in found.items())
        if again:
            said.append(f"Verified (computed again by the code as it is, with the recorded values): {again}.")
        return " ".join(said)

    def busy_sentence(self) -> str:
        """Whether other programs kept the machine busy while rows were computed; nothing where it was quiet."""
        highest = max((unit.get("load") or 0 for unit in self.units.values()), default=0)
        if highest <= (os.cpu_count() or 1) + 1:  # our own processes, one a core, and some slack
            return ""
        return f"The machine had other work (a load of up to {highest:g}), so times are longer than on a quiet one."

    def add(
        self,
        key: Key,
        stamp_: str,
        rows: Iterable[dict] | None,
        failure: str | None,
        code: Mapping[str, str] | None = None,
    ) -> None:
        task, method, seed = key
        unit: dict[str, Any] = {"task": task, "method": method, "seed": seed, "stamp": stamp_, "load": load_average()}
        if code:
            unit["code"] = digest(code)
            self.code[unit["code"]] = dict(code)
        if failure is not None:
            unit["failure"] = failure
        else:
            kept = [dict(row) for row in rows or ()]
            for row in kept:
                packed = row.pop("correct", None)
                if packed is not None:
                    self.correct[key] = packed
            unit["rows"] = [to_plain(row) for row in kept]
        self.units[key] = unit
        self.changed.add(key)

    def confirm(self, key: Key, code: Mapping[str, str]) -> None:
        """Note that this code has computed the unit again, with the values that are recorded."""
        self.units[key]["verified"] = digest(code)
        self.code[digest(code)] = dict(code)
        self.changed.add(key)

    def add_study(self, name: str, entry: dict, code: Mapping[str, str] | None = None) -> None:
        self.studies[name] = to_plain(entry)
        if code:
            self.studies[name]["code"] = digest(code)
            self.code[digest(code)] = dict(code)
        self.changed.add(name)

    def rows(self, keys: Iterable[Key] | None = None) -> list[dict]:
        """Finished rows, of these units or of all."""
        chosen = self.units if keys is None else keys
        return [row for key in chosen for row in self.units.get(key, {}).get("rows", ())]

    def failures(self, keys: Iterable[Key] | None = None) -> list[dict]:
        """Units whose method raised, with what it said."""
        chosen = (self.units if keys is None else {k: self.units[k] for k in keys if k in self.units}).values()
        return [{k: u[k] for k in ("task", "method", "seed", "failure")} for u in chosen if "failure" in u]

    def save(self) -> None:
        self._take_in()
        content = {
            "suite": self.suite,
            "commands": self.commands,
            "versions": versions(),
            "machine": machine(),
            "data": dict(sorted(self.data.items())),
            "rows": self.rows(),
            "units": [{k: v for k, v in unit.items() if k != "rows"} for unit in self.units.values()],
            "studies": self.studies,
            "code": {name: self.code[name] for name in sorted(self._digests()) if name in self.code},
        }
        write_json(self.path, content)
        if self.correct:
            write_json(self._side_path, {"correct": [[*key, packed] for key, packed in self.correct.items()]})

    def _digests(self) -> set[str]:
        """Of the code that units and studies were computed by."""
        entries = (*self.units.values(), *self.studies.values())
        return {entry[name] for entry in entries for name in ("code", "verified") if name in entry}

    def _take_in(self) -> None:
        """What another run of the same suite has written meanwhile stays, unless it was computed here too."""
        other = Record.open(self.path.parent.parent, self.suite)
        parts: list[tuple[dict, dict]] = [
            (self.units, other.units),
            (self.correct, other.correct),
            (self.studies, other.studies),
        ]
        for mine, theirs in parts:
            for key, value in theirs.items():
                if key not in self.changed:
                    mine[key] = value
        self.units = dict(
            sorted(self.units.items(), key=lambda item: (*item[0][:2], -1 if item[0][2] is None else item[0][2]))
        )
        self.data = {**other.data, **self.data}
        self.code = {**other.code, **self.code}
        self.commands = list(dict.fromkeys([*other.commands, *self.commands]))


def _last_code(unit: dict) -> str:
    """Which code computed a unit last: to verify it, or to record it."""
    return unit.get("verified") or unit.get("code", "")


def _read_json(path: Path) -> dict:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


# -- Is a method better than another on a task, or was it chance? McNemar's test on the documents each got right


def compare(correct: Mapping[Key, str], task: str, method: str, other: str, *, seed: int | None = None) -> dict:
    """McNemar's exact test of two methods on one task.

    Parameters
    ----------
    correct : mapping
        Packed right-or-wrong answers by (task, method, seed), as a record keeps them in ``record.correct``.
    task, method, other : str
        What to compare.
    seed : int, optional
        Which run of a seeded method; if omitted, the first one. Runs are not pooled: they share their documents.

    Returns
    -------
    dict
        Accuracies, documents that only one of them got right, two-sided p-value.
    """
    first, second = (unpack_correct(_answers(correct, task, name, seed)) for name in (method, other))
    if len(first) != len(second):
        raise DataError(
            f"On {task}, {method} answered {len(first)} documents and {other} {len(second)}; use --force.",
            code="length-mismatch",
        )
    result = mcnemar(np.ones(len(first), dtype=int), first.astype(int), second.astype(int))
    return {
        "task": task,
        "method": method,
        "other": other,
        "accuracy": float(first.mean()),
        "other_accuracy": float(second.mean()),
        "only_method": result.only_a,
        "only_other": result.only_b,
        "p_value": result.p_value,
    }


def compare_best(correct: Mapping[Key, str], task: str, method: str, others: Iterable[str]) -> dict:
    """:func:`compare` with the most accurate of ``others`` (chosen after the fact, which favours the other side)."""
    named = [name for name in others if name != method and _has(correct, task, name)]
    if not named:
        raise DataError(f"On {task} no method to compare {method} with has kept its answers.", code="missing-data")
    best = max(named, key=lambda name: unpack_correct(_answers(correct, task, name, None)).mean())
    return compare(correct, task, method, best)


def contrasts(suite: Suite, record: Record) -> list[dict]:
    """One row per task and contrast the suite asks for, where both sides have kept their answers."""
    return [
        compare_best(record.correct, task, method, others)
        for method, others in suite.contrasts.items()
        for task in suite.tasks
        if _has(record.correct, task, method) and any(_has(record.correct, task, o) for o in others if o != method)
    ]


def _seeds(correct: Mapping[Key, str], task: str, method: str) -> list[int | None]:
    return sorted((k[2] for k in correct if k[:2] == (task, method)), key=lambda s: -1 if s is None else s)


def _has(correct: Mapping[Key, str], task: str, method: str) -> bool:
    return bool(_seeds(correct, task, method))


def _answers(correct: Mapping[Key, str], task: str, method: str, seed: int | None) -> str:
    seeds = _seeds(correct, task, method)
    if not seeds:
        raise DataError(
            f"{method} has kept no answers on {task}; use --force, and see that its rows carry 'correct'.",
            code="missing-data",
        )
    return correct[task, method, seed if seed in seeds else seeds[0]]
