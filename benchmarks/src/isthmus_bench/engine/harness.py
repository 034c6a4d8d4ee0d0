"""Run a suite: plan units, keep those that are finished, compute the rest in parallel, record every one at once."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isthmus._utils import to_plain
from isthmus.exceptions import DataError, UsageError
from isthmus_bench import SUITES
from isthmus_bench.datasets import ENVIRONMENT, data_folder
from isthmus_bench.engine.records import Key, Record, cache_folder, stamp
from isthmus_bench.engine.stamps import hash_file
from isthmus_bench.engine.suite import Study, Suite, Task
from isthmus_bench.engine.workers import Begun, Job, Message, Outcome, Step, load_suite, run_job, run_jobs


@dataclass
class Run:
    """What a run gave: the rows asked for, what failed, what could not be run, and how much was already there."""

    suite: str
    rows: list[dict] = field(default_factory=list)
    failures: list[dict] = field(default_factory=list)
    not_run: dict[str, str] = field(default_factory=dict)
    studies: dict[str, list[dict]] = field(default_factory=dict)
    kept: int = 0
    record: Record | None = None

    def to_json(self) -> dict[str, Any]:
        """The contract's shape; failures and tasks not run are added only where there are any."""
        content: dict[str, Any] = {"suite": self.suite, "rows": self.rows}
        if self.failures:
            content["failures"] = self.failures
        if self.not_run:
            content["not_run"] = [{"task": task, "reason": reason} for task, reason in self.not_run.items()]
        return to_plain(content)


def find_suite(reference: str) -> Suite:
    """A suite by name or by the path of a Python file; an unknown one is refused with the nearest names."""
    try:
        return load_suite(reference)
    except KeyError:
        raise _unknown("suite", reference, SUITES, "unknown-name") from None


def find_data(given: str | Path | None, files: Iterable[str] = ()) -> Path:
    """The data folder: the one given or the one the environment names; only a suite that reads files needs one."""
    if given is None and not any(files) and not os.environ.get(ENVIRONMENT):
        return Path(os.curdir)
    return data_folder(given)


def choose(kind: str, wanted: Sequence[str] | None, known: Iterable[str], default: Iterable[str] | None) -> list[str]:
    """Names asked for, each known, in the order given; the defaults (or all) where none is asked for."""
    names = list(known)
    if not wanted:
        return list(default) if default is not None else names
    code = "unknown-method" if kind == "method" else "unknown-name"
    for name in wanted:
        if name not in names:
            raise _unknown(kind, name, names, code)
    return list(dict.fromkeys(wanted))


def _unknown(kind: str, name: str, known: Iterable[str], code: str) -> UsageError:
    names = list(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(names) or 'none'}."
    return UsageError(f"No {kind} is called {name!r}; {hint}", code=code)


def run_suite(
    suite: str | Suite,
    folder: str | Path | None = None,
    tasks: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    jobs: int = 2,
    record_dir: str | Path | None = None,
    force: bool = False,
    progress: Callable[[dict], None] | None = None,
    *,
    studies: Sequence[str] | None = None,
    command: str | None = None,
    renew: bool = False,
) -> Run:
    """Run tasks × methods × seeds of a suite, and studies where they are asked for.

    Parameters
    ----------
    suite : str or Suite
        Name, path of a Python file with ``SUITE``, or a suite object (then everything runs in this process).
    folder : path, optional
        Data folder; if omitted, ``ISTHMUS_DATA`` names it.
    tasks, methods, seeds : sequences, optional
        What to run; if omitted, the suite's defaults.
    jobs : int
        Processes. A suite of timings runs in one.
    record_dir : path, optional
        Folder whose ``<suite>/results.json`` keeps the rows; if omitted, the user's cache folder.
    force : bool
        Compute again what is finished.
    progress : callable, optional
        Gets a dict per event: ``event`` is plan, begin, step, done or failed.
    studies : sequence of str, optional
        Studies to run instead of the main table (``["all"]`` for all but those that choose defaults).
    command : str, optional
        The command to write into the record.
    renew : bool
        Take tasks, methods, seeds and studies from the record, and compute those again that other code computed.

    Returns
    -------
    Run
        Rows in the order tasks, methods, seeds. After Ctrl-C the rows finished so far are in the record.
    """
    found = find_suite(suite) if isinstance(suite, str) else suite
    if jobs < 1:
        raise UsageError(f"--jobs is {jobs}; at least one process is needed.", code="bad-parameter")
    record = Record.open(Path(record_dir) if record_dir is not None else cache_folder(), found.name)
    if renew:
        plan = _plan_again(found, record, folder, tasks, methods, studies)
    else:
        plan = _plan(found, folder, tasks, methods, seeds, studies)
    record.data.update(plan.hashes)
    if command and command not in record.commands:
        record.commands.append(command)
    todo = [key for key in plan.keys if force or not record.holds(key, plan.stamps[key[0]], same_code=renew)]
    table_todo = [
        name
        for name in plan.studies
        if force or not record.holds_study(name, plan.stamps[_study_key(name)], same_code=renew)
    ]
    tell = progress or (lambda event: None)
    total = len(todo) + len(table_todo)
    kept = len(plan.keys) + len(plan.studies) - total
    tell({"event": "plan", "total": total, "kept": kept})
    work = [*_task_jobs(todo), *(Job(task=_study_key(n), study=n, seeds=plan.studies[n]) for n in table_todo)]
    done = 0
    with closing(_messages(suite, found, work, plan.folder, jobs)) as messages:
        for message in messages:
            if isinstance(message, Begun):
                tell({"event": "begin", "task": message.task, "method": message.unit[0], "seed": message.unit[1]})
                continue
            if isinstance(message, Step):
                tell({"event": "step", **vars(message)})
                continue
            done += 1
            _keep(record, message, plan, renew=renew)
            record.save()
            tell(_event(message, done, total))
    if not work:
        record.save()
    return Run(
        suite=found.name,
        rows=record.rows(plan.keys),
        failures=[*record.failures(plan.keys), *_study_failures(record, plan.studies)],
        not_run=plan.not_run,
        studies={n: record.studies[n]["rows"] for n in plan.studies if "rows" in record.studies.get(n, {})},
        kept=kept,
        record=record,
    )


@dataclass
class _Plan:
    folder: Path
    keys: list[Key]
    studies: dict[str, tuple[int, ...]]  # with the seeds of each
    hashes: dict[str, str]
    stamps: dict[str, str]  # task name (or study key) -> stamp
    not_run: dict[str, str]


def _plan(found: Suite, folder, tasks, methods, seeds, studies) -> _Plan:
    study_names = _study_names(found, studies)
    all_tasks = [*found.tasks, *(name for name in found.absent if name not in found.tasks)]
    default = None if found.default_tasks is None else [*found.default_tasks, *found.absent]
    only_studies = bool(study_names) and not tasks and not methods
    task_names = [] if only_studies else choose("task", tasks, all_tasks, default)
    method_names = choose("method", methods, found.methods, found.default_methods)
    chosen_seeds = tuple(dict.fromkeys(seeds)) if seeds else found.seeds
    wanted: list[Any] = [found.tasks[name] for name in task_names if name in found.tasks]
    chosen_studies: list[Any] = [found.studies[name] for name in study_names]
    place = find_data(folder, (file for item in (*wanted, *chosen_studies) for file in item.files))
    not_run = {name: found.absent[name] for name in task_names if name in found.absent}
    runnable = [task for task in wanted if _available(task, place, named=bool(tasks), not_run=not_run)]
    for study in chosen_studies:
        _require(study, place)
    keys = [
        (task.name, method, seed if found.methods[method].seeded else None)
        for task in runnable
        for method in method_names
        if found.pairs is None or (task.name, method) in found.pairs
        for seed in (chosen_seeds if found.methods[method].seeded else chosen_seeds[:1])
    ]
    hashes, stamps = _stamp_items(runnable, chosen_studies, place)
    return _Plan(place, keys, dict.fromkeys(study_names, chosen_seeds), hashes, stamps, not_run)


def _plan_again(found: Suite, record: Record, folder, tasks, methods, studies) -> _Plan:
    """What the record holds: all of it, or the tasks, methods and studies that are named."""
    only_studies = bool(studies) and not tasks and not methods
    only_rows = bool(tasks or methods) and not studies
    task_names = choose("task", tasks, found.tasks, None)
    method_names = choose("method", methods, found.methods, None)
    study_names = list(found.studies) if list(studies or ["all"]) == ["all"] else _study_names(found, studies)
    keys = [key for key in record.units if not only_studies and key[0] in task_names and key[1] in method_names]
    recorded = {
        name: tuple(record.studies[name].get("seeds", found.seeds))
        for name in study_names
        if name in record.studies and not only_rows
    }
    if not keys and not recorded:
        raise DataError(f"{record.path} holds no such row; --record names the folder of records.", code="missing-data")
    wanted: list[Any] = [found.tasks[name] for name in dict.fromkeys(key[0] for key in keys)]
    chosen_studies: list[Any] = [found.studies[name] for name in recorded]
    place = find_data(folder, (file for item in (*wanted, *chosen_studies) for file in item.files))
    for item in (*wanted, *chosen_studies):
        _require(item, place)
    hashes, stamps = _stamp_items(wanted, chosen_studies, place)
    return _Plan(place, keys, recorded, hashes, stamps, {})


def _stamp_items(tasks: Iterable[Task], studies: Iterable[Study], place: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Hashes of the files, and the stamp of each task and study."""
    stamps, hashes = {}, {}
    named: list[tuple[str, Any]] = [*((t.name, t) for t in tasks), *((_study_key(s.name), s) for s in studies)]
    for name, item in named:
        own = {file: hash_file(place / file) for file in item.files}
        hashes.update(own)
        stamps[name] = stamp(own)
    return hashes, stamps


def _study_names(found: Suite, studies: Sequence[str] | None) -> list[str]:
    if not studies:
        return []
    if list(studies) == ["all"]:
        return [name for name, study in found.studies.items() if not study.tune]
    return choose("study", studies, found.studies, None)


def tuning_studies(found: Suite) -> list[str]:
    """The studies that choose the suite's defaults again."""
    names = [name for name, study in found.studies.items() if study.tune]
    if not names:
        raise UsageError(
            f"Suite {found.name} has no choice of defaults to run again; its methods' pages say how each was set.",
            code="unknown-name",
        )
    return names


def _available(task: Task, place: Path, *, named: bool, not_run: dict[str, str]) -> bool:
    missing = [file for file in task.files if not (place / file).is_file()]
    if missing and task.optional and not named:
        not_run[task.name] = f"{missing[0]} is not in the data folder"
        return False
    _require(task, place)
    return True


def _require(item: Task | Study, place: Path) -> None:
    for file in item.files:
        if not (place / file).is_file():
            raise DataError(
                f"{item.name} needs {file}, which is not in the data folder; put it there or give --data.",
                code="missing-data",
            )


def _task_jobs(keys: Iterable[Key]) -> list[Job]:
    by_task: dict[str, list] = {}
    for task, method, seed in keys:
        by_task.setdefault(task, []).append((method, seed))
    return [Job(task=task, units=tuple(units)) for task, units in by_task.items()]


def _messages(
    suite: str | Suite, found: Suite, work: list[Job], folder: Path, jobs: int
) -> Generator[Message, None, None]:
    if isinstance(suite, str):
        workers = jobs if found.parallel else 1
        yield from run_jobs(suite, work, folder, n_workers=workers, one_thread=found.parallel)
    else:
        for job in work:
            yield from run_job(found, job, folder)


def _keep(record: Record, outcome: Outcome, plan: _Plan, *, renew: bool) -> None:
    stamp_ = plan.stamps[outcome.task]
    if outcome.study is None:
        held = record.units.get((outcome.task, *outcome.unit), {}).get("rows")
        if renew and held and outcome.rows == []:
            return  # what the method needs is not installed here; what was measured elsewhere stays
        record.add((outcome.task, *outcome.unit), stamp_, outcome.rows, outcome.failure, outcome.code)
        return
    seeds = list(plan.studies[outcome.study])
    entry: dict[str, Any] = {"stamp": stamp_, "seconds": round(outcome.seconds, 3), "seeds": seeds}
    entry |= {"failure": outcome.failure} if outcome.rows is None else {"rows": outcome.rows}
    record.add_study(outcome.study, entry, outcome.code)


def _event(outcome: Outcome, done: int, total: int) -> dict:
    return {
        "event": "done" if outcome.failure is None else "failed",
        "task": outcome.task,
        "method": outcome.unit[0],
        "seed": outcome.unit[1],
        "seconds": outcome.seconds,
        "rows": outcome.rows or [],
        "failure": outcome.failure,
        "warnings": outcome.warnings,
        "study": outcome.study,
        "done": done,
        "total": total,
    }


def _study_key(name: str) -> str:
    return f"study {name}"  # a blank keeps it apart from every task


def _study_failures(record: Record, names: Iterable[str]) -> list[dict]:
    return [
        {"task": _study_key(name), "method": name, "seed": None, "failure": record.studies[name]["failure"]}
        for name in names
        if "failure" in record.studies.get(name, {})
    ]
