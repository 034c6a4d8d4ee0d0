"""Jobs: work in a table, for one worker process. A job outlives the server and the machine that it began on."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from isthmus.exceptions import UsageError
from isthmus.workspace.context import Part, add_row, find_row, note_event, plain_detail, set_row
from isthmus.workspace.database import utc_now
from isthmus.workspace.schema import CANCELLED, COLLECTIONS, DONE, FAILED, INTERRUPTED, JOBS, QUEUED, RUNNING, RUNS, Job

# A job that is interrupted goes on by itself once; one that brings the worker down must not do so forever.
_ATTEMPTS = 2


class Jobs(Part):
    def enqueue(
        self, kind: str, payload: dict[str, Any], *, by: str | None, project: str | None = None, run: str | None = None
    ) -> Job:
        with self._db.writing() as connection:
            job = add_job(connection, kind, payload, by=by, project=project, run=run)
        return self.get(job)

    def get(self, id: str) -> Job:
        return self._get(Job, id)

    # For the worker

    def claim(self) -> Job | None:
        """The job that has waited longest, now running; None where nothing waits."""
        oldest = sa.select(JOBS.c.id).where(JOBS.c.state == QUEUED).order_by(JOBS.c.created_at, JOBS.c.id).limit(1)
        with self._db.reading() as connection:  # most of the time nothing waits: look before asking for the lock
            if connection.execute(oldest).first() is None:
                return None
        with self._db.writing() as connection:
            id, now = connection.scalar(oldest.with_for_update(skip_locked=True)), utc_now()
            if id is None:
                return None
            job = find_row(connection, JOBS, id)
            values = {"started_at": now, "heard_at": now, "attempts": job.attempts + 1, "error": None}
            _set_state(connection, job, RUNNING, **values)
        return self.get(id)

    def progress(self, id: str, progress: dict[str, Any]) -> bool:
        """Store how far a job is; whether somebody asked to cancel it."""
        with self._db.writing(durable=False) as connection:
            set_row(connection, JOBS, id, progress=plain_detail(progress), heard_at=utc_now())
            return bool(connection.scalar(sa.select(JOBS.c.cancel).where(JOBS.c.id == id)))

    def finish(self, id: str, result: dict[str, Any] | None = None) -> Job:
        return self._end(id, DONE, result=plain_detail(result))

    def fail(self, id: str, error: str, code: str = "failed") -> Job:
        """The job could not be done; ``error`` is a sentence for a person."""
        return self._end(id, FAILED, error=plain_detail(error), error_code=code)

    def stop(self, id: str) -> Job:
        """The job ended because somebody cancelled it."""
        return self._end(id, CANCELLED, error="Cancelled.")

    def _end(self, id: str, state: str, **values: Any) -> Job:
        with self._db.writing() as connection:
            job = find_row(connection, JOBS, id, lock=True)
            _set_state(connection, job, state, finished_at=utc_now(), **values)
            note_event(connection, f"job {state}", by=job.created_by, project=job.project_id, subject=id, job=job.kind)
        return self.get(id)

    def put_back(self, id: str, *, counted: bool = False) -> Job:
        """Put back the job of a worker that is asked to end; ``counted``: the attempt counts, because it failed."""
        with self._db.writing() as connection:
            job = find_row(connection, JOBS, id, lock=True)
            _set_state(connection, job, QUEUED, attempts=job.attempts if counted else job.attempts - 1)
        return self.get(id)

    def recover(self) -> list[Job]:
        """Mark what was running when a worker died; the first time it goes on by itself.

        Call it only while no worker runs: with the lock that only one can hold.
        """
        with self._db.writing() as connection:
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

    # For people

    def cancel(self, id: str, *, by: str) -> Job:
        """Ask for a job to end: one that waits ends at once, one that runs at its next step."""
        with self._db.writing() as connection:
            job = find_row(connection, JOBS, id, lock=True)
            if job.state == QUEUED:
                _set_state(connection, job, CANCELLED, cancel=True, finished_at=utc_now(), error="Cancelled.")
            elif job.state == RUNNING:
                set_row(connection, JOBS, id, cancel=True)
            else:
                raise UsageError("The job has ended already; there is nothing to cancel.")
            note_event(connection, "job cancelled", by=by, project=job.project_id, subject=id, job=job.kind)
        return self.get(id)

    def resume(self, id: str, *, by: str) -> Job:
        """Let a job that was interrupted, cancelled or failed run again, with the same record."""
        with self._db.writing() as connection:
            job = find_row(connection, JOBS, id, lock=True)
            if job.state not in (INTERRUPTED, CANCELLED, FAILED):
                raise UsageError(f"The job is {job.state}; only a stopped job can be resumed.")
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
    """A job in the transaction of what it is for."""
    return add_row(
        connection, JOBS, kind=kind, project_id=project, run_id=run, payload=plain_detail(payload), state=QUEUED,
        progress={}, attempts=0, cancel=False, created_by=by,
    )  # fmt: skip


def _set_state(connection: Connection, job: Any, state: str, **values: Any) -> None:
    """Change a job; the run, or the collection, that it is for shows its state."""
    set_row(connection, JOBS, job.id, state=state, **values)
    if job.run_id is not None and job.kind == "run":
        times = {RUNNING: {"started_at": utc_now()}, QUEUED: {}}.get(state, {"finished_at": utc_now()})
        set_row(connection, RUNS, job.run_id, state=state, error=values.get("error"), **times)
    if job.kind == "import":
        shown = {RUNNING: "reading", QUEUED: "reading", DONE: "ready"}.get(state, "new")
        set_row(connection, COLLECTIONS, job.payload["collection"], state=shown)
