"""Jobs: a table of work for one worker process. A job survives the end of the server and of the machine."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from isthmus.exceptions import UsageError
from isthmus.workspace.context import Part, add, find, note_event, plain_detail
from isthmus.workspace.database import utc_now
from isthmus.workspace.schema import CANCELLED, DONE, FAILED, INTERRUPTED, JOBS, QUEUED, RUNNING, Collection, Job, Run

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
        with self._db.writing() as session:
            job = add_job(session, kind, payload, by=by, project=project, run=run)
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
        with self._db.reading() as session:  # usually no job is queued: check before taking the write lock
            if session.execute(oldest).first() is None:
                return None
        with self._db.writing() as session:
            id, now = session.scalar(oldest.with_for_update(skip_locked=True)), utc_now()
            if id is None:
                return None
            job = find(session, Job, id)
            values = {"started_at": now, "heartbeat_at": now, "attempts": job.attempts + 1, "error": None}
            _set_state(session, job, RUNNING, **values)
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
        with self._db.writing(durable=False) as session:
            job = find(session, Job, id)
            job.progress, job.heartbeat_at = plain_detail(progress), utc_now()
            return job.cancel

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
        with self._db.writing() as session:
            job = find(session, Job, id, lock=True)
            _set_state(session, job, state, finished_at=utc_now(), **values)
            note_event(session, f"job {state}", by=job.created_by, project=job.project, subject=id, job=job.kind)
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
        with self._db.writing() as session:
            job = find(session, Job, id, lock=True)
            # A worker that was asked to end has not failed, so its attempt does not count.
            _set_state(session, job, QUEUED, attempts=job.attempts if counted else job.attempts - 1)
        return self.get(id)

    def recover(self) -> list[Job]:
        """Queue the jobs that were running when a worker died; mark them as interrupted after the last attempt.

        Call it only with the worker's lock, while no other worker runs.

        Returns
        -------
        list[Job]
            The jobs.
        """
        with self._db.writing() as session:
            # With the worker's lock held, a running job belongs to a worker that has died.
            rows = session.scalars(sa.select(Job).where(JOBS.c.state == RUNNING).with_for_update()).all()
            for job in rows:
                again = job.attempts < _ATTEMPTS and not job.cancel
                state = QUEUED
                error = "Interrupted; it will continue."
                ended = None
                if not again:
                    state = CANCELLED if job.cancel else INTERRUPTED
                    error = "Interrupted: the worker ended while it ran."
                    ended = utc_now()
                _set_state(session, job, state, error=error, finished_at=ended)
                note_event(
                    session, "job interrupted", by=None, project=job.project, subject=job.id,
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
        with self._db.writing() as session:
            job = find(session, Job, id, lock=True)
            if job.state == QUEUED:
                _set_state(session, job, CANCELLED, cancel=True, finished_at=utc_now(), error="Cancelled.")
            # The worker reads this mark at its next progress report.
            elif job.state == RUNNING:
                job.cancel = True
            else:
                raise UsageError("The job has ended already; there is nothing to cancel.")
            note_event(session, "job cancelled", by=by, project=job.project, subject=id, job=job.kind)
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
        with self._db.writing() as session:
            job = find(session, Job, id, lock=True)
            if job.state not in (INTERRUPTED, CANCELLED, FAILED):
                raise UsageError(f"The job is {job.state}; only a stopped job can be resumed.")
            # A person asked for it, so the job gets all its attempts again.
            fresh = {"attempts": 0, "error": None, "error_code": None, "finished_at": None}
            _set_state(session, job, QUEUED, cancel=False, **fresh)
            note_event(session, "job resumed", by=by, project=job.project, subject=id, job=job.kind)
        return self.get(id)


def add_job(
    session: Session,
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
    session : Session
        Session with an open transaction.
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
    job = Job(kind=kind, project=project, run=run, payload=plain_detail(payload), created_by=by)
    return add(session, job).id


def _set_state(session: Session, job: Job, state: str, **values: Any) -> None:
    """Change the state of a job, and that of its run or file."""
    for name, value in {"state": state, **values}.items():
        setattr(job, name, value)
    if job.run is not None and job.kind == "run":
        run = find(session, Run, job.run)
        run.state, run.error = state, values.get("error")
        # Queuing sets neither time of the run; every other state than "running" ends it.
        if state == RUNNING:
            run.started_at = utc_now()
        elif state != QUEUED:
            run.finished_at = utc_now()
    if job.kind == "import":
        shown = {RUNNING: "reading", QUEUED: "reading", DONE: "ready"}.get(state, "new")
        find(session, Collection, job.payload["collection"]).state = shown
