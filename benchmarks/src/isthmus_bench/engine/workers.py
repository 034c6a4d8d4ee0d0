"""Processes that run the tasks of a suite and send each finished unit home at once.

Only names cross the border: a worker loads the suite itself, so that a suite may hold closures. A worker that dies (out
of memory, a crash in compiled code) costs the unit it was busy with; a new one takes up the rest of its task.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import connection
from pathlib import Path

from isthmus._progress import listen
from isthmus.exceptions import IsthmusError
from isthmus_bench import SUITES
from isthmus_bench.engine.stamps import loaded_code
from isthmus_bench.engine.suite import Suite

Unit = tuple[str, int | None]  # method, seed

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Job:
    """What one worker does in one go: units of a task, or a study."""

    task: str
    units: tuple[Unit, ...] = ()
    study: str | None = None
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Begun:
    """A unit has begun; if its worker dies, this is what it was busy with."""

    task: str
    unit: Unit


@dataclass(frozen=True)
class Step:
    """How far a unit has come: what the method itself reports."""

    task: str
    phase: str
    done: int
    total: int | None


@dataclass(frozen=True)
class Outcome:
    """A finished unit or study: its rows, or why there are none."""

    task: str
    unit: Unit
    rows: list[dict] | None
    failure: str | None
    seconds: float
    study: str | None = None
    warnings: tuple[str, ...] = field(default=())
    code: dict[str, str] = field(default_factory=dict)  # modules that were loaded, with the hashes of their files


Message = Begun | Step | Outcome


def load_suite(reference: str) -> Suite:
    """A suite by name, or the ``SUITE`` of a Python file (a path that ends in ``.py``). KeyError if there is none."""
    if not reference.endswith(".py"):
        return SUITES[reference]
    path = Path(reference)
    if not path.is_file():
        raise KeyError(reference)
    name = f"isthmus_bench_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # the file ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.SUITE


# ---------------------------------------------------------------------------------------------- inside one process


def run_job(suite: Suite, job: Job, folder: Path) -> Iterator[Begun | Outcome]:
    """Run a job, yielding before and after each unit. Errors become outcomes; only a stop by the user goes through."""
    if job.study is not None:
        yield Begun(job.task, (job.study, None))
        study = suite.studies[job.study]
        yield _measure(job.task, (job.study, None), lambda: study.run(folder, job.seeds), study=job.study)
        return
    begin = time.perf_counter()
    try:
        data = suite.tasks[job.task].load(folder)
    except Exception as error:
        seconds = time.perf_counter() - begin
        for unit in job.units:
            yield Outcome(job.task, unit, None, f"the task could not be loaded: {_describe(error)}", seconds)
        return
    for method, seed in job.units:
        yield Begun(job.task, (method, seed))
        run = suite.methods[method].run
        number = 0 if seed is None else seed
        yield _measure(job.task, (method, seed), lambda run=run, number=number: run(data, number))


def _measure(task: str, unit: Unit, call, study: str | None = None) -> Outcome:
    rows, failure = None, None
    begin = time.perf_counter()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("default")
        try:
            rows = [dict(row) for row in call()]
            seconds = time.perf_counter() - begin
            if study is None:
                rows = [_complete(row, task, unit, seconds) for row in rows]
        except Exception as error:
            rows, failure, seconds = None, _describe(error), time.perf_counter() - begin
    said = tuple(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in heard))
    return Outcome(task, unit, rows, failure, seconds, study=study, warnings=said, code=loaded_code())


def _complete(row: dict, task: str, unit: Unit, seconds: float) -> dict:
    if "metric" not in row or "value" not in row:
        raise ValueError(f"a row needs metric and value; {unit[0]} returned the fields {', '.join(row) or 'none'}")
    own = {
        key: value for key, value in row.items() if key not in ("task", "method", "metric", "value", "seconds", "seed")
    }
    head = {"task": task, "method": unit[0], "metric": row["metric"], "value": row["value"]}
    return {**head, "seconds": round(row.get("seconds", seconds), 4), "seed": unit[1], **own}


def _describe(error: BaseException) -> str:
    if isinstance(error, IsthmusError):
        return str(error)
    return f"{type(error).__name__}: {error}"


# -------------------------------------------------------------------------------------------------- many processes


def run_jobs(
    reference: str, jobs: Iterable[Job], folder: Path, *, n_workers: int, one_thread: bool = True
) -> Iterator[Message]:
    """Run jobs in ``n_workers`` processes, yielding their messages as they come. Closing it ends the processes."""
    waiting = deque(jobs)
    crew = [_Worker(reference, folder, one_thread) for _ in range(min(n_workers, len(waiting)))]
    try:
        for worker in crew:
            worker.give(waiting)
        while any(worker.job for worker in crew):
            ready = connection.wait([worker.pipe for worker in crew if worker.job])
            for worker in [w for w in crew if w.pipe in ready]:
                try:
                    message = worker.pipe.recv()
                except (EOFError, OSError):
                    yield from _bury(worker, waiting)
                    crew.remove(worker)
                    if waiting:
                        crew.append(_Worker(reference, folder, one_thread))
                        crew[-1].give(waiting)
                    continue
                if message is None:
                    worker.give(waiting)
                    continue
                worker.note(message)
                yield message
    finally:
        for worker in crew:
            worker.end()


def _bury(worker: _Worker, waiting: deque[Job]) -> Iterator[Outcome]:
    """A worker died: its unit failed, the rest of its job goes back in front of the queue."""
    worker.process.join()
    code = worker.process.exitcode
    job, lost = worker.job, worker.unit
    assert job is not None  # a worker without a job waits and cannot die of it
    reason = f"the process ended with code {code}" + (" (perhaps out of memory)" if code == -signal.SIGKILL else "")
    if lost is None:  # it died while loading: trying again would end the same way
        lost_units = worker.left or [(job.study or "", None)]
        yield from (Outcome(job.task, unit, None, reason, 0.0, study=job.study) for unit in lost_units)
        return
    yield Outcome(job.task, lost, None, reason, 0.0, study=job.study)
    rest = tuple(unit for unit in worker.left if unit != lost)
    if rest:
        waiting.appendleft(Job(task=job.task, units=rest))


class _Worker:
    """One process, the pipe to it and what it is busy with."""

    def __init__(self, reference: str, folder: Path, one_thread: bool):
        context = multiprocessing.get_context("spawn")  # a fresh interpreter: thread limits must precede numpy
        self.pipe, far_end = context.Pipe()
        self.process = context.Process(target=_serve, args=(far_end, reference, str(folder)))
        with _environment(_ONE_THREAD if one_thread else {}):
            self.process.start()
        far_end.close()
        self.job: Job | None = None
        self.left: list[Unit] = []
        self.unit: Unit | None = None

    def give(self, waiting: deque[Job]) -> None:
        self.job = waiting.popleft() if waiting else None
        self.left, self.unit = list(self.job.units) if self.job else [], None
        with suppress(OSError):  # already dead: reading from the pipe will say so
            self.pipe.send(self.job)

    def note(self, message: Message) -> None:
        if isinstance(message, Begun):
            self.unit = message.unit
        elif isinstance(message, Outcome):
            self.unit = None
            self.left = [unit for unit in self.left if unit != message.unit]

    def end(self) -> None:
        if self.job is not None:
            self.process.kill()
        self.process.join(timeout=10)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.pipe.close()


@contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def end_with_parent() -> None:
    """End this process when the one that started it is gone, however it ended: nobody is left to take a result."""
    parent = multiprocessing.parent_process()
    assert parent is not None  # called in processes that were started by another

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _serve(pipe: connection.Connection, reference: str, folder: str) -> None:
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    suite = load_suite(reference)
    loaded_code()  # what is loaded now, and not what its files hold when the first unit is done
    try:
        while (job := pipe.recv()) is not None:
            with listen(_reporter(pipe, job.task)):
                for message in run_job(suite, job, Path(folder)):
                    pipe.send(message)
            pipe.send(None)
    except (EOFError, OSError):  # the parent is gone
        return


def _reporter(pipe: connection.Connection, task: str, every: float = 1.0) -> Callable[[dict], None]:
    """A listener that passes on at most one event a second."""
    last = time.monotonic()

    def report(event: dict) -> None:
        nonlocal last
        if event["time"] - last >= every:
            last = event["time"]
            pipe.send(Step(task, event["phase"], event["done"], event["total"]))

    return report
