"""The worker: one process that does one job after the other. ``python -m isthmus.workspace.worker FOLDER``."""

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
_PAUSE = 0.25  # seconds between two checks for a queued job
_AWAY_PAUSE = 1.0  # seconds between two attempts to reach the database again
# Attempts at a job that loses the database, before a person must resume it.
_AWAY_ATTEMPTS = 3
_TELL = 0.5  # least number of seconds between two progress reports of one phase


class Cancelled(BaseException):
    """Raised in a cancelled job; a BaseException, so that no method handles it as an error of its own."""


class Stopped(BaseException):
    """Raised when the worker should end."""


class _Listener:
    """Stores the progress of a job at most twice a second, and ends a cancelled job."""

    def __init__(self, workspace: Workspace, job: Job, stopping: Callable[[], bool]):
        self.workspace = workspace
        self.job = job
        self.stopping = stopping
        self.noted_at = 0.0
        self.phase = ""
        self.since = ""

    def __call__(self, event: dict) -> None:
        """Store a progress report, or raise an exception if the job or the worker should end."""
        if self.stopping():
            raise Stopped
        now = time.monotonic()
        # A new phase is always stored, so that people see it immediately.
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
    """Do a claimed job and store its outcome.

    Parameters
    ----------
    workspace : Workspace
        Open workspace.
    job : Job
        Job to do.
    stopping : Callable[[], bool], optional
        Function that returns True when the worker should end.

    Returns
    -------
    Job
        The job in its final state.

    Raises
    ------
    Stopped
        If the worker should end; the job is queued again.
    """
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
        # Messages must not reveal where the workspace is stored.
        sentence = str(error).replace(str(workspace.folder), "the workspace")
        job = workspace.jobs.fail(job.id, sentence, error.code)
    # People can solve this with a smaller task, so the sentence says how.
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
    """Queue a job again when a lost database can be reached again, or when a full disk has space again.

    After three such failures, the job waits for a person.
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
    """Return the next job, or None; wait while the database does not answer."""
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
    r"""Do jobs until the worker should stop, or until no job is queued.

    Parameters
    ----------
    workspace : Workspace
        Open workspace.
    until_idle : bool, default=False
        Whether to return when no job is queued, for scripts and tests.
    stopping : callable, optional
        Function that returns True when the worker should stop; called between jobs and at every step of a job.

    Returns
    -------
    int
        Number of jobs done.

    Examples
    --------
    >>> import io, tempfile
    >>> from isthmus.workspace import open_workspace, work
    >>> table = b"text,label\nkind staff,staff\nfast bike,product\npolite staff,staff\nslow bike,product\n"
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
        # Each start of the worker removes the remains of uploads that are older than a day.
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
    """Start a worker process for a workspace; it ends with the process that started it.

    Parameters
    ----------
    workspace : Workspace
        Open workspace.
    log_file : file, optional
        Binary file for the worker's log; standard error if omitted.

    Returns
    -------
    subprocess.Popen
        The process.

    Notes
    -----
    The environment passes the address of the database, because every user of a machine can read command lines.

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
    """End a worker process.

    The worker queues its job again. If it does not end in time, it is killed, and its job restarts later.

    Parameters
    ----------
    process : subprocess.Popen
        Process that :func:`start_worker` returned.
    patience : float, default=10.0
        Seconds to wait before the process is killed.
    """
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main(arguments: list[str] | None = None) -> None:
    """Run a worker from the command line until a signal or the end of its parent.

    Parameters
    ----------
    arguments : list[str], optional
        Arguments of the command; those of the process if omitted.
    """
    parser = argparse.ArgumentParser(prog="isthmus.workspace.worker")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parent", type=int, help="end when this process has ended")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    # Alembic reports every start at the level of information.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    stop: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        # The handler only notes the signal: the job ends at its next progress report.
        signal.signal(number, lambda given, frame: stop.append(given))

    def stopping() -> bool:
        """Return whether a signal has arrived or the parent process has ended."""
        # A process whose parent has died gets another parent.
        return bool(stop) or options.parent not in (None, os.getppid())

    with open_workspace(options.folder, os.environ.get(DATABASE_VARIABLE), create=False) as workspace:
        try:
            work(workspace, stopping=stopping)
        except Stopped:
            _log.info("the worker ends; its job goes on when one starts again")


if __name__ == "__main__":
    main()
