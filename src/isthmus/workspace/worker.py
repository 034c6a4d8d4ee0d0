"""The worker: one process that does the jobs, one after the other. ``python -m isthmus.workspace.worker FOLDER``."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from isthmus._progress import listen
from isthmus.exceptions import IsthmusError
from isthmus.workspace.database import AWAY, AWAY_SENTENCE, utc_now
from isthmus.workspace.files import FolderLock
from isthmus.workspace.schema import Job
from isthmus.workspace.store import DATABASE_VARIABLE, Workspace, open_workspace

_log = logging.getLogger("isthmus.worker")
_PAUSE = 0.25  # seconds between two looks at the table of jobs
_AWAY_PAUSE = 1.0  # seconds between two looks whether the database is back
_AWAY_ATTEMPTS = 3
_TELL = 0.5  # seconds between two notes about progress


class Cancelled(BaseException):
    """Somebody cancelled the job; a BaseException, so that no method takes it for a failure of its own."""


class Stopped(BaseException):
    """The worker was asked to end."""


class _Listener:
    """Stores progress, not too often, and ends the job when somebody has cancelled it."""

    def __init__(self, workspace: Workspace, job: Job, stopping: Callable[[], bool]):
        self.workspace = workspace
        self.job = job
        self.stopping = stopping
        self.noted_at = 0.0
        self.phase = ""
        self.since = ""

    def __call__(self, event: dict) -> None:
        if self.stopping():
            raise Stopped
        now = time.monotonic()
        if now - self.noted_at < _TELL and event["phase"] == self.phase:
            return
        if event["phase"] != self.phase:
            self.since = utc_now().isoformat()
        self.noted_at = now
        self.phase = event["phase"]
        said = {name: event[name] for name in ("phase", "done", "total")} | {"since": self.since}
        if self.workspace.jobs.progress(self.job.id, said):
            raise Cancelled


def do_job(workspace: Workspace, job: Job, stopping: Callable[[], bool] = lambda: False) -> Job:
    """Do one job that was claimed, and write down how it ended."""
    _log.info("job %s %s begins, attempt %d", job.id, job.kind, job.attempts)
    began = time.monotonic()
    try:
        with listen(_Listener(workspace, job, stopping)):
            result = workspace.perform(job)
        job = workspace.jobs.finish(job.id, result)
    except Stopped:
        workspace.jobs.put_back(job.id)
        raise
    except Cancelled:
        job = workspace.jobs.stop(job.id)
    except IsthmusError as error:
        if error.code == AWAY:
            return _wait_and_put_back(workspace, job, stopping)
        sentence = str(error).replace(str(workspace.folder), "the workspace")  # where it lies is nobody's business
        job = workspace.jobs.fail(job.id, sentence, error.code)
    except MemoryError:
        job = workspace.jobs.fail(
            job.id, "There is not enough memory for this; try fewer or shorter texts.", "too-large"
        )
    except Exception as error:
        _log.exception("job %s failed", job.id)
        job = workspace.jobs.fail(job.id, f"Something went wrong ({type(error).__name__}); see the server's log.")
    _log.info("job %s %s is %s after %.1f s", job.id, job.kind, job.state, time.monotonic() - began)
    return job


def _wait_and_put_back(workspace: Workspace, job: Job, stopping: Callable[[], bool]) -> Job:
    """The database went away, or the disk was full, under a job: it goes on when writes are taken again.

    A job that meets it again and again waits for a person in the end.
    """
    _log.error("job %s %s: the database is away or the disk is full", job.id, job.kind)
    while not stopping():
        try:
            if job.attempts >= _AWAY_ATTEMPTS:
                return workspace.jobs.fail(job.id, AWAY_SENTENCE, AWAY)
            return workspace.jobs.put_back(job.id, counted=True)
        except IsthmusError as error:
            if error.code != AWAY:
                raise
            time.sleep(_AWAY_PAUSE)
    raise Stopped


def _claim(workspace: Workspace, stopping: Callable[[], bool]) -> Job | None:
    """The next job; waits while the database is away."""
    said = False
    while not stopping():
        try:
            return workspace.jobs.claim()
        except IsthmusError as error:
            if error.code != AWAY:
                raise
            if not said:
                _log.error("the database is away or the disk is full; the worker waits")
            said = True
            time.sleep(_AWAY_PAUSE)
    return None


def work(workspace: Workspace, *, until_idle: bool = False, stopping: Callable[[], bool] = lambda: False) -> int:
    """Do jobs until asked to stop, or until none waits; how many.

    Parameters
    ----------
    workspace : Workspace
    until_idle : bool
        End when no job waits: for scripts and tests.
    stopping : callable
        Asked between jobs and at every step of one.

    Examples
    --------
    >>> import io, tempfile
    >>> from isthmus.workspace import open_workspace, work
    >>> table = b"text,label\\nkind staff,staff\\nfast bike,product\\npolite staff,staff\\nslow bike,product\\n"
    >>> with tempfile.TemporaryDirectory() as folder, open_workspace(folder) as workspace:
    ...     kim = workspace.people.create("Kim", None)
    ...     project = workspace.projects.create("Dealers", by=kim.id)
    ...     for kind in ("source", "target"):
    ...         file = workspace.collections.add(project.id, f"{kind}.csv", io.BytesIO(table), kind=kind, by=kim.id)
    ...         label = "label" if kind == "source" else None
    ...         _ = workspace.collections.map(file.id, text=["text"], label=label, by=kim.id)
    ...     run = workspace.runs.start(project.id, {"method": "nbc"}, by=kim.id)
    ...     done = work(workspace, until_idle=True)
    ...     [row.label for row in workspace.runs.predictions(run.id)]
    ['staff', 'product', 'staff', 'product']
    """
    done = 0
    with FolderLock(workspace.folder / "worker.lock", stopping=stopping) as lock:
        if not lock.held:
            return 0
        workspace.sweep()
        for left in workspace.jobs.recover():
            _log.warning("job %s %s was interrupted; it is %s", left.id, left.kind, left.state)
        while not stopping():
            job = _claim(workspace, stopping)
            if job is not None:
                do_job(workspace, job, stopping)
                done += 1
            elif until_idle:
                return done
            else:
                time.sleep(_PAUSE)
    return done


def start_worker(workspace: Workspace, *, log_file: IO[bytes] | None = None) -> subprocess.Popen:
    """A worker process for a workspace; it ends with the process that started it.

    Its log goes to ``log_file``, or to standard error. The address of the database travels in the environment: a
    command line can be read by every user of a machine.

    Examples
    --------
    >>> import tempfile
    >>> from isthmus.workspace import open_workspace, start_worker, stop_worker
    >>> with tempfile.TemporaryDirectory() as folder, open_workspace(folder) as workspace:
    ...     worker = start_worker(workspace)
    ...     stop_worker(worker)
    """
    environment = {**os.environ, DATABASE_VARIABLE: workspace.database_url}
    command = [sys.executable, "-m", "isthmus.workspace.worker", str(workspace.folder), "--parent", str(os.getpid())]
    return subprocess.Popen(command, env=environment, start_new_session=True, stdout=log_file, stderr=log_file)


def stop_worker(process: subprocess.Popen, patience: float = 10.0) -> None:
    """End a worker: it puts its job back and leaves; one that does not listen is killed, and its job goes on later."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="isthmus.workspace.worker")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parent", type=int, help="end when this process has ended")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    stop: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda given, frame: stop.append(given))

    def stopping() -> bool:
        return bool(stop) or options.parent not in (None, os.getppid())

    with open_workspace(options.folder, os.environ.get(DATABASE_VARIABLE), create=False) as workspace:
        try:
            work(workspace, stopping=stopping)
        except Stopped:
            _log.info("the worker ends; its job goes on when one starts again")


if __name__ == "__main__":
    main()
