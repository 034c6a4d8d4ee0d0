"""The review queue: documents in the order in which they should be read, each handed to one person at a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from isthmus.workspace.context import Part, check_count, count_by, find_row, missing, to_record
from isthmus.workspace.database import storable, utc_now
from isthmus.workspace.runs import prediction_query
from isthmus.workspace.schema import ANSWERED, DONE, LEASED, OPEN, PREDICTIONS, PROJECTS, RUNS, Moment, Prediction
from isthmus.workspace.second_reading import find_seconds, give_up_seconds, lease_seconds

LEASE = timedelta(minutes=10)
_MOST = 50
_SKIPPED = 1_000_000_000  # added to the rank of a document that somebody passed over


class Queue(Part):
    """Who reads what next."""

    def next(self, run: str, user: str, n: int = 1) -> list[Prediction]:
        """The next documents for a person: those in their hands already, then the first that nobody has.

        They are theirs for ten minutes, or until they are answered, released or skipped. No two people ever hold the
        same document. Asking again renews the time. Where the project asks for second readings, documents that somebody
        else answered come among the others, without that answer.
        """
        check_count(n, "n", _MOST)
        with self._db.writing(durable=False) as connection:
            return take_next(connection, run, user, n)

    def release(self, run: str, user: str, document: str | None = None) -> int:
        """Put back what a person holds: one document, or all; how many."""
        return self._give_up(run, user, document)

    def skip(self, run: str, user: str, document: str) -> int:
        """Put a document back, behind all others."""
        rank = sa.case((PREDICTIONS.c.rank < _SKIPPED, PREDICTIONS.c.rank + _SKIPPED), else_=PREDICTIONS.c.rank)
        return self._give_up(run, user, document, LEASE, rank=rank)

    def _give_up(self, run: str, user: str, document: str | None, later: timedelta | None = None, **values: Any) -> int:
        p = PREDICTIONS.c
        held = [p.run_id == run, p.state == LEASED, p.leased_to == user]
        if document is not None:
            held.append(p.document_id == document)
        with self._db.writing(durable=False) as connection:
            changed = PREDICTIONS.update().where(*held)
            project = find_row(connection, RUNS, run).project_id
            again = give_up_seconds(connection, project, user, document, later)
            free = changed.values(state=OPEN, leased_to=None, leased_until=None, **values)
            return again + connection.execute(free).rowcount

    def counts(self, run: str) -> dict[str, int]:
        """Documents by where they stand: ``open``, ``leased``, ``done``; ``to_review``: need it and are not done."""
        p = PREDICTIONS.c
        # What is open is the rest: counting it would mean to walk through most of the index.
        waiting = sa.select(sa.func.count()).where(p.run_id == run, p.needs_review, p.state.in_([OPEN, LEASED]))
        with self._db.reading() as connection:
            summary = find_row(connection, RUNS, run).summary or {}
            counts = count_by(connection, p.state, p.run_id == run, p.state.in_([LEASED, ANSWERED]))
            to_review = connection.execute(waiting).scalar_one()
        leased, answered = counts.get(LEASED, 0), counts.get(ANSWERED, 0)
        left = summary.get("documents", 0) - leased - answered
        return {OPEN: left, LEASED: leased, ANSWERED: answered, "to_review": to_review}


def take_next(connection: Connection, run: str, user: str, n: int = 1) -> list[Prediction]:
    """The next documents for a person, in an open transaction."""
    now = utc_now()
    found = connection.execute(_STATE, {"run": storable(str(run)[:64])}).first()
    if found is None:
        raise missing("run")
    if found.state != DONE:
        return []
    about: dict[str, Any] = {"run": run, "user": user, "now": now}
    connection.execute(_FREE_EXPIRED, about)

    def seconds(n: int, *, mine: bool) -> list[str]:
        if not found.second_reading or n < 1:
            return []
        return find_seconds(connection, run, found.project_id, user, n, now, mine=mine)

    again = seconds(n, mine=True)
    held = list(connection.scalars(_MINE, {**about, "n": n - len(again)}))
    again += seconds(n - len(again) - len(held), mine=False)
    if len(again) + len(held) < n:
        held += connection.scalars(_FIRST, {**about, "n": n - len(again) - len(held)})
    rows = []
    if again:
        lease_seconds(connection, again, user, now + LEASE)
        shown = connection.execute(_AGAIN, {"run": run, "again": again})
        rows += [replace(to_record(Prediction, row), answer=None) for row in shown]  # the second reader does not see it
    if held:
        connection.execute(_TAKE, {**about, "held": held, "until": now + LEASE})
        rows += [to_record(Prediction, row) for row in connection.execute(_TAKEN, {"run": run, "held": held})]
    return rows


def check_in_run(connection: Connection, run: str, document: str) -> Any:
    """When the queue of a run offered a document (``asked_at``), and how it was drawn; an error if it is not there."""
    row = connection.execute(_IN_RUN, {"run": run, "document": document}).first()
    if row is None:
        raise missing("document in this run")
    return row


# The statements of every answer, made once: to build one takes longer than to run it.

_p = PREDICTIONS.c
_now = sa.bindparam("now", type_=Moment())
_n = sa.bindparam("n", type_=sa.Integer())
_run = sa.bindparam("run", type_=sa.String())
_user = sa.bindparam("user", type_=sa.String())
_held = sa.bindparam("held", type_=sa.Integer(), expanding=True)
_STATE = (
    sa.select(RUNS.c.state, RUNS.c.project_id, PROJECTS.c.second_reading)
    .join(PROJECTS, PROJECTS.c.id == RUNS.c.project_id)
    .where(RUNS.c.id == _run)
)
_FREE_EXPIRED = (
    PREDICTIONS.update()
    .where(_p.run_id == _run, _p.state == LEASED, _p.leased_until < _now)
    .values(state=OPEN, leased_to=None, leased_until=None)
)
_IN_ORDER = sa.select(_p.position).where(_p.run_id == _run).order_by(_p.rank).limit(_n)
_MINE = _IN_ORDER.where(_p.state == LEASED, _p.leased_to == _user)
_FIRST = _IN_ORDER.where(_p.state == OPEN).with_for_update(skip_locked=True)
_TAKE = (
    PREDICTIONS.update()
    .where(_p.run_id == _run, _p.position.in_(_held))
    .values(
        state=LEASED,
        leased_to=_user,
        leased_until=sa.bindparam("until"),
        asked_at=sa.func.coalesce(_p.asked_at, _now),
    )
)
_SHOWN = prediction_query(_run).order_by(_p.rank)
_TAKEN = _SHOWN.where(_p.position.in_(_held))
_AGAIN = _SHOWN.where(_p.document_id.in_(sa.bindparam("again", expanding=True)))
_IN_RUN = sa.select(_p.asked_at, _p.drawn).where(_p.document_id == sa.bindparam("document"), _p.run_id == _run)
