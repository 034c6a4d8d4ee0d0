"""Second readings: some documents are read by two people, so that their agreement means something.

Which ones is decided by the document's id, which is random: nobody chooses them, and a document stays among them. The
second reader does not see the first answer. The first answer goes on holding; the second is kept beside it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from isthmus.workspace.database import utc_now
from isthmus.workspace.schema import ANSWERS, PREDICTIONS, SECOND_READINGS, Moment

SECOND = "second"  # the kind of the second reader's answer
_s = SECOND_READINGS.c


def is_due(document: str, share: float) -> bool:
    """Whether a document is among those that two people read."""
    return int(document[:8], 16) < share * 2**32


def ask_second(connection: Connection, document: str, project: str, by: str, now: datetime) -> None:
    """A document has its first answer; somebody else is to read it."""
    row = {"document_id": document, "project_id": project, "first_by": by, "since": now}
    if connection.execute(_FOUND, {"document": document}).first() is None:
        connection.execute(_ADD, row)


def holds_second(connection: Connection, document: str, by: str) -> bool:
    """Whether a person has the document in hand as its second reader."""
    return connection.execute(_HELD, {"document": document, "user": by}).first() is not None


def note_second(connection: Connection, document: str, answer: str) -> None:
    """The second answer is there."""
    connection.execute(_DONE, {"document": document, "answer": answer})


def find_seconds(
    connection: Connection, run: str, project: str, user: str, n: int, now: datetime, *, mine: bool
) -> list[str]:
    """Documents of a run for a second reader: those in their hands, or the first that nobody has."""
    about: dict[str, Any] = {"run": run, "project": project, "user": user, "now": now, "n": n}
    return list(connection.scalars(_MINE if mine else _FREE, about))


def lease_seconds(connection: Connection, documents: list[str], user: str, until: datetime) -> None:
    """Give documents into the hands of their second reader."""
    connection.execute(_LEASE, {"documents": documents, "user": user, "until": until})


def give_up_seconds(
    connection: Connection, project: str, user: str, document: str | None, later: timedelta | None
) -> int:
    """Put back what a second reader holds in a project, one document or all; behind the others if ``later``."""
    held = [_s.project_id == project, _s.leased_to == user, _s.answer_id.is_(None)]
    if document is not None:
        held.append(_s.document_id == document)
    values: dict[str, Any] = {"leased_to": None, "leased_until": None}
    if later is not None:
        values["since"] = utc_now() + later
    return connection.execute(SECOND_READINGS.update().where(*held).values(**values)).rowcount


def undo_seconds(connection: Connection, batch: str, by: str, until: datetime) -> None:
    """Second answers of a batch were taken back: to be read again. First answers were: there is nothing to compare."""
    a = ANSWERS.c
    of_batch, touched = sa.select(a.id).where(a.batch == batch), sa.select(a.document_id).where(a.batch == batch)
    connection.execute(
        SECOND_READINGS.update()
        .where(_s.answer_id.in_(of_batch))
        .values(answer_id=None, leased_to=by, leased_until=until)
    )
    holding = sa.select(a.document_id).where(a.document_id.in_(touched), a.current)
    connection.execute(
        SECOND_READINGS.delete().where(
            _s.document_id.in_(touched), _s.document_id.not_in(holding), _s.answer_id.is_(None)
        )
    )


def _waiting(*, mine: bool) -> sa.Select:
    user, now = sa.bindparam("user", type_=sa.String()), sa.bindparam("now", type_=Moment())
    if mine:
        hands = sa.and_(_s.leased_to == user, _s.leased_until >= now)
    else:
        hands = sa.and_(_s.since <= now, sa.or_(_s.leased_to.is_(None), _s.leased_until < now))
    here = sa.and_(PREDICTIONS.c.document_id == _s.document_id, PREDICTIONS.c.run_id == sa.bindparam("run"))
    return (
        sa.select(_s.document_id)
        .join(PREDICTIONS, here)
        .where(_s.project_id == sa.bindparam("project"), _s.answer_id.is_(None), _s.first_by != user, hands)
        .order_by(_s.since)
        .limit(sa.bindparam("n", type_=sa.Integer()))
        .with_for_update(of=SECOND_READINGS, skip_locked=True)
    )


_document = sa.bindparam("document", type_=sa.String())
_FOUND = sa.select(_s.document_id).where(_s.document_id == _document)
_HELD = _FOUND.where(_s.leased_to == sa.bindparam("user"), _s.answer_id.is_(None))
_ADD = SECOND_READINGS.insert()
_DONE = (
    SECOND_READINGS.update()
    .where(_s.document_id == _document)
    .values(answer_id=sa.bindparam("answer"), leased_to=None, leased_until=None)
)
_LEASE = (
    SECOND_READINGS.update()
    .where(_s.document_id.in_(sa.bindparam("documents", expanding=True)))
    .values(leased_to=sa.bindparam("user"), leased_until=sa.bindparam("until"))
)
_MINE, _FREE = _waiting(mine=True), _waiting(mine=False)
