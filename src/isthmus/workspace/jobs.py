"""Jobs: a table of work for one worker process. A job survives the end of the server and of the machine."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from isthmus.exceptions import UsageError
from isthmus.workspace.context import Part, add_row, find_row, note_event, plain_detail, set_row
from isthmus.workspace.database import utc_now
from isthmus.workspace.schema import CANCELLED, COLLECTIONS, DONE, FAILED, INTERRUPTED, JOBS, QUEUED, RUNNING, RUNS, Job

# Attempts per job. An interrupted job restarts once: a job that crashes the worker must not restart forever.
_ATTEMPTS = 2


class Jobs(Part):
    """Queue, run, cancel and resume jobs."""

    def enqueue(
        self, kind: str, payload: dict[str, Any], *, by: str | None, project: str | None = None, run: str | None = None
    ) -> Job:
        """Queue a job.

        Parameters
        ----------
        kind : str
            "run", "import" or "export".
        payload : dict[str, Any]
            Arguments of the job.
        by : str or None
            Id of the person who makes the change.
        project : str, optional
            Id of the project.
        run : str, optional
            Id of the run.

        Returns
        -------
        Job
            The job.
        """
        with self._db.writing() as connection:
            job = add_job(connection, kind, payload, by=by, project=project, run=run)
        return self.get(job)

    def get(self, id: str) -> Job:
        """Return a job by its id, or raise an error if it does not exist.

        Parameters
        ----------
        id : str
            Id of the job.

        Returns
        -------
        Job
            The job.
        """
        return self._get(Job, id)

    # Calls of the worker

    def claim(self) -> Job | None:
        """Mark the oldest queued job as running and return it.

        Returns
        -------
        Job or None
            The job, or None if no job is queued.
        """
        oldest = sa.select(JOBS.c.id).where(JOBS.c.state == QUEUED).order_by(JOBS.c.created_at, JOBS.c.id).limit(1)
        with self._db.reading() as connection:  # usually no job is queued: check before taking the write lock
            if connection.execute(oldest).first() is None:
                return None
        with self._db.writing() as connection:
            id, now = connection.scalar(oldest.with_for_update(skip_locked=True)), utc_now()
            if id is None:
                return None
            job = find_row(connection, JOBS, id)
            values = {"started_at": now, "heartbeat_at": now, "attempts": job.attempts + 1, "error": None}
            _set_state(connection, job, RUNNING, **values)
        return self.get(id)

    def progress(self, id: str, progress: dict[str, Any]) -> bool:
        """Store the progress of a job and check whether somebody has cancelled it.

        Parameters
        ----------
        id : str
            Id of the job.
        progress : dict[str, Any]
            ``phase``, ``done`` and ``total``.

        Returns
        -------
        bool
            True if the job should be cancelled.
        """
        with self._db.writing(durable=False) as connection:
            set_row(connection, JOBS, id, progress=plain_detail(progress), heartbeat_at=utc_now())
            return bool(connection.scalar(sa.select(JOBS.c.cancel).where(JOBS.c.id == id)))

    def finish(self, id: str, result: dict[str, Any] | None = None) -> Job:
        """Mark a job as done.

        Parameters
        ----------
        id : str
            Id of the job.
        result : dict[str, Any], optional
            Result of the job.

        Returns
        -------
        Job
            The job.
        """
        return self._end(id, DONE, result=plain_detail(result))

    def fail(self, id: str, error: str, code: str = "failed") -> Job:
        """Mark a job as failed.

        Parameters
        ----------
        id : str
            Id of the job.
        error : str
            Sentence for a person.
        code : str, default="failed"
            Code of the error.

        Returns
        -------
        Job
            The job.
        """
        return self._end(id, FAILED, error=plain_detail(error), error_code=code)

    def stop(self, id: str) -> Job:
        """Mark a job as cancelled.

        Parameters
        ----------
        id : str
            Id of the job.

        Returns
        -------
        Job
            The job.
        """
        return self._end(id, CANCELLED, error="Cancelled.")

    def _end(self, id: str, state: str, **values: Any) -> Job:
        """Set the final state of a job and record it in the audit log."""
        with self._db.writing() as connection:
            job = find_row(connection, JOBS, id, lock=True)
            _set_state(connection, job, state, finished_at=utc_now(), **values)
            note_event(connection, f"job {state}", by=job.created_by, project=job.project_id, subject=id, job=job.kind)
        return self.get(id)

    def put_back(self, id: str, *, counted: bool = False) -> Job:
        """Queue a running job again, because its worker ends or has lost the database.

        Parameters
        ----------
        id : str
            Id of the job.
        counted : bool, default=False
            Whether the attempt counts towards the limit, because it failed.

        Returns
        -------
        Job
            The job.
        """
        with self._db.writing() as connection:
            job = find_row(connection, JOBS, id, lock=True)
            # A worker that was asked to end has not failed, so its attempt does not count.
            _set_state(connection, job, QUEUED, attempts=job.attempts if counted else job.attempts - 1)
        return self.get(id)

    def recover(self) -> list[Job]:
        """Queue the jobs that were running when a worker died; mark them as interrupted after the last attempt.

        Call it only with the worker's lock, while no other worker runs.

        Returns
        -------
        list[Job]
            The jobs.
        """
        with self._db.writing() as connection:
            # With the worker's lock held, a running job belongs to a worker that has died.
            rows = connection.execute(JOBS.select().where(JOBS.c.state == RUNNING).with_for_update()).all()
            for job in rows:
                again = job.attempts < _ATTEMPTS and not job.cancel
                state = QUEUED
                error = "Interrupted; it will continue."
                ended = None
                if not again:
                    state = CANCELLED if job.cancel else INTERRUPTED
                    error = "Interrupted: the worker ended while it ran."
                    ended = utc_now()
                _set_state(connection, job, state, error=error, finished_at=ended)
                note_event(
                    connection, "job interrupted", by=None, project=job.project_id, subject=job.id,
                    job=job.kind, attempt=job.attempts, goes_on=again,
                )  # fmt: skip
        return [self.get(job.id) for job in rows]

    # Calls of people

    def cancel(self, id: str, *, by: str) -> Job:
        """Cancel a job: a queued job ends immediately, a running one at its next progress report.

        Parameters
        ----------
        id : str
            Id of the job.
        by : str
            Id of the person who makes the change.

        Returns
        -------
        Job
            The job.

        Raises
        ------
        UsageError
            If the job has ended.
        """
        with self._db.writing() as connection:
            job = find_row(connection, JOBS, id, lock=True)
            if job.state == QUEUED:
                _set_state(connection, job, CANCELLED, cancel=True, finished_at=utc_now(), error="Cancelled.")
            # The worker reads this mark at its next progress report.
            elif job.state == RUNNING:
                set_row(connection, JOBS, id, cancel=True)
            else:
                raise UsageError("The job has ended already; there is nothing to cancel.")
            note_event(connection, "job cancelled", by=by, project=job.project_id, subject=id, job=job.kind)
        return self.get(id)

    def resume(self, id: str, *, by: str) -> Job:
        """Queue an interrupted, cancelled or failed job again, with the same arguments.

        Parameters
        ----------
        id : str
            Id of the job.
        by : str
            Id of the person who makes the change.

        Returns
        -------
        Job
            The job.

        Raises
        ------
        UsageError
            If the job has not stopped.
        """
        with self._db.writing() as connection:
            job = find_row(connection, JOBS, id, lock=True)
            if job.state not in (INTERRUPTED, CANCELLED, FAILED):
                raise UsageError(f"The job is {job.state}; only a stopped job can be resumed.")
            # A person asked for it, so the job gets all its attempts again.
            fresh = {"attempts": 0, "error": None, "error_code": None, "finished_at": None}
            _set_state(connection, job, QUEUED, cancel=False, **fresh)
            note_event(connection, "job resumed", by=by, project=job.project_id, subject=id, job=job.kind)
        return self.get(id)


def add_job(
    connection: Connection,
    kind: str,
    payload: dict[str, Any],
    *,
    by: str | None,
    project: str | None = None,
    run: str | None = None,
) -> str:
    """Queue a job in the transaction of the change that needs it.

    Parameters
    ----------
    connection : Connection
        Connection with an open transaction.
    kind : str
        "run", "import" or "export".
    payload : dict[str, Any]
        Arguments of the job.
    by : str or None
        Id of the person who makes the change.
    project : str, optional
        Id of the project.
    run : str, optional
        Id of the run.

    Returns
    -------
    str
        Id of the job.
    """
    return add_row(
        connection, JOBS, kind=kind, project_id=project, run_id=run, payload=plain_detail(payload), state=QUEUED,
        progress={}, attempts=0, cancel=False, created_by=by,
    )  # fmt: skip


def _set_state(connection: Connection, job: Any, state: str, **values: Any) -> None:
    """Change the state of a job, and of the run or the collection that it works on."""
    set_row(connection, JOBS, job.id, state=state, **values)
    if job.run_id is not None and job.kind == "run":
        # Queuing sets neither time of the run; every other state than "running" ends it.
        times = {RUNNING: {"started_at": utc_now()}, QUEUED: {}}.get(state, {"finished_at": utc_now()})
        set_row(connection, RUNS, job.run_id, state=state, error=values.get("error"), **times)
    if job.kind == "import":
        shown = {RUNNING: "reading", QUEUED: "reading", DONE: "ready"}.get(state, "new")
        set_row(connection, COLLECTIONS, job.payload["collection"], state=shown)
