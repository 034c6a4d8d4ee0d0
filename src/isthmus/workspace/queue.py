"""The review queue: documents in the order in which they should be read, each handed to one person at a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from isthmus.exceptions import UsageError
from isthmus.workspace.context import Context, find_row, missing, to_record
from isthmus.workspace.database import utc_now
from isthmus.workspace.records import DONE, Prediction
from isthmus.workspace.runs import prediction_query
from isthmus.workspace.schema import PREDICTIONS, RUNS

OPEN, LEASED, ANSWERED = "open", "leased", "done"
LEASE = timedelta(minutes=10)
_MOST = 50
_SKIPPED = 1_000_000_000  # added to the rank of a document that somebody passed over


class Queue:
    """Who reads what next."""

    def __init__(self, context: Context):
        self._db = context.db

    def next(self, run: str, user: str, n: int = 1) -> list[Prediction]:
        """The next documents for a person: those in their hands already, then the first that nobody has.

        They are theirs for ten minutes, or until they are answered, released or skipped. No two people ever hold the
        same document. Asking again renews the time.
        """
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= _MOST:
            raise UsageError(f"n is {str(n)[:40]!r}; give a number from 1 to {_MOST}.", code="bad-parameter")
        now = utc_now()
        p = PREDICTIONS.c
        with self._db.writing(durable=False) as connection:
            if find_row(connection, RUNS, run, "run").state != DONE:
                return []
            free_expired(connection, run, now)
            mine = sa.select(p.position).where(p.run_id == run, p.state == LEASED, p.leased_to == user)
            held = list(connection.execute(mine.order_by(p.rank).limit(n)).scalars())
            if len(held) < n:
                first = sa.select(p.position).where(p.run_id == run, p.state == OPEN).order_by(p.rank)
                first = first.limit(n - len(held)).with_for_update(skip_locked=True)
                held += connection.execute(first).scalars()
            if not held:
                return []
            connection.execute(
                PREDICTIONS.update()
                .where(p.run_id == run, p.position.in_(held))
                .values(
                    state=LEASED, leased_to=user, leased_until=now + LEASE, asked_at=sa.func.coalesce(p.asked_at, now)
                )
            )
            rows = connection.execute(prediction_query(run).where(p.position.in_(held)).order_by(p.rank))
            return [to_record(Prediction, row) for row in rows]

    def release(self, run: str, user: str, document: str | None = None) -> int:
        """Put back what a person holds: one document, or all; how many."""
        return self._give_up(run, user, document, {})

    def skip(self, run: str, user: str, document: str) -> int:
        """Put a document back, behind all others."""
        rank = sa.case((PREDICTIONS.c.rank < _SKIPPED, PREDICTIONS.c.rank + _SKIPPED), else_=PREDICTIONS.c.rank)
        return self._give_up(run, user, document, {"rank": rank})

    def _give_up(self, run: str, user: str, document: str | None, values: dict[str, Any]) -> int:
        p = PREDICTIONS.c
        held = [p.run_id == run, p.state == LEASED, p.leased_to == user]
        if document is not None:
            held.append(p.document_id == document)
        with self._db.writing(durable=False) as connection:
            changed = PREDICTIONS.update().where(*held)
            return connection.execute(changed.values(state=OPEN, leased_to=None, leased_until=None, **values)).rowcount

    def counts(self, run: str) -> dict[str, int]:
        """Documents by where they stand: ``open``, ``leased``, ``done``; ``to_review``: need it and are not done."""
        p = PREDICTIONS.c
        # What is open is the rest: counting it would mean to walk through most of the index.
        taken = sa.select(p.state, sa.func.count()).where(p.run_id == run, p.state.in_([LEASED, ANSWERED]))
        waiting = sa.select(sa.func.count()).where(
            p.run_id == run, p.needs_review == sa.true(), p.state.in_([OPEN, LEASED])
        )
        with self._db.reading() as connection:
            summary = find_row(connection, RUNS, run, "run").summary or {}
            counts = {row[0]: row[1] for row in connection.execute(taken.group_by(p.state))}
            to_review = connection.execute(waiting).scalar_one()
        leased, answered = counts.get(LEASED, 0), counts.get(ANSWERED, 0)
        left = summary.get("documents", 0) - leased - answered
        return {OPEN: left, LEASED: leased, ANSWERED: answered, "to_review": to_review}


def free_expired(connection: Connection, run: str, now: Any) -> None:
    """Documents that were not answered in time are free again."""
    p = PREDICTIONS.c
    connection.execute(
        PREDICTIONS.update()
        .where(p.run_id == run, p.state == LEASED, p.leased_until < now)
        .values(state=OPEN, leased_to=None, leased_until=None)
    )


def check_in_run(connection: Connection, run: str, document: str) -> Any:
    """The prediction of a document in a run, or an error."""
    p = PREDICTIONS.c
    row = connection.execute(PREDICTIONS.select().where(p.document_id == document, p.run_id == run)).first()
    if row is None:
        raise missing("document in this run")
    return row
