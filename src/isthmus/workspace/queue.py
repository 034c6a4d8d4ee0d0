"""The review queue: documents in the order in which they should be read, each leased to one person at a time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value

from isthmus.workspace.context import Part, change, check_count, count_by, find, missing
from isthmus.workspace.database import storable, utc_now
from isthmus.workspace.schema import (
    ANSWERED,
    ANSWERS,
    DONE,
    LEASED,
    OPEN,
    PREDICTIONS,
    PROJECTS,
    RUNS,
    SECOND_READINGS,
    Moment,
    Prediction,
    Run,
)

# Time for which a document belongs to one person.
LEASE = timedelta(minutes=10)
# Most documents that one request can lease.
_MOST = 50
_SKIPPED = 1_000_000_000  # added to the rank of a skipped document, to move it behind all others


class Queue(Part):
    """Lease, release and skip documents of a run."""

    def next(self, run: str, user: str, n: int = 1) -> list[Prediction]:
        """Lease the next documents to a person: first those they already have, then the first free ones.

        A lease lasts ten minutes from the latest call, or until the document is answered, released or skipped. If the
        project asks for second readings, documents for a second reading are included without the first answer.

        Parameters
        ----------
        run : str
            Id of the run.
        user : str
            Id of the person.
        n : int, default=1
            Number of documents, at most 50.

        Returns
        -------
        list[Prediction]
            Documents with the run's labels.

        Raises
        ------
        DataError
            If the run does not exist.
        """
        check_count(n, "n", _MOST)
        with self._db.writing(durable=False) as session:
            return take_next(session, run, user, n)

    def release(self, run: str, user: str) -> int:
        """Release all documents that a person has leased.

        Parameters
        ----------
        run : str
            Id of the run.
        user : str
            Id of the person.

        Returns
        -------
        int
            Number of released documents.
        """
        return self._give_up(run, user, None)

    def skip(self, run: str, user: str, document: str) -> int:
        """Move a leased document behind all others and release it.

        Parameters
        ----------
        run : str
            Id of the run.
        user : str
            Id of the person.
        document : str
            Id of the document.

        Returns
        -------
        int
            1 if the person had leased the document, else 0.
        """
        rank = sa.case((PREDICTIONS.c.rank < _SKIPPED, PREDICTIONS.c.rank + _SKIPPED), else_=PREDICTIONS.c.rank)
        return self._give_up(run, user, document, LEASE, rank=rank)

    def _give_up(self, run: str, user: str, document: str | None, later: timedelta | None = None, **values: Any) -> int:
        """Release one or all documents of a person, with new values for the columns of the queue."""
        p = PREDICTIONS.c
        held = [p.run_id == run, p.state == LEASED, p.leased_to == user]
        if document is not None:
            held.append(p.document_id == document)
        with self._db.writing(durable=False) as session:
            changed = PREDICTIONS.update().where(*held)
            project = find(session, Run, run).project
            again = give_up_seconds(session, project, user, document, later)
            free = changed.values(state=OPEN, leased_to=None, leased_until=None, **values)
            return again + change(session, free)

    def counts(self, run: str) -> dict[str, int]:
        """Count the documents of a run by their state in the queue.

        Parameters
        ----------
        run : str
            Id of the run.

        Returns
        -------
        dict[str, int]
            ``open``, ``leased`` and ``done``, and ``to_review`` (documents that need review and are not done).
        """
        p = PREDICTIONS.c
        # The open documents are the rest: counting them would read most of the index.
        waiting = sa.select(sa.func.count()).where(p.run_id == run, p.needs_review, p.state.in_([OPEN, LEASED]))
        with self._db.reading() as session:
            summary = find(session, Run, run).summary or {}
            counts = count_by(session, p.state, p.run_id == run, p.state.in_([LEASED, ANSWERED]))
            to_review = session.execute(waiting).scalar_one()
        leased, answered = counts.get(LEASED, 0), counts.get(ANSWERED, 0)
        left = summary.get("documents", 0) - leased - answered
        return {OPEN: left, LEASED: leased, ANSWERED: answered, "to_review": to_review}


def take_next(session: Session, run: str, user: str, n: int = 1) -> list[Prediction]:
    """Lease the next documents to a person, in an open transaction.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    run : str
        Id of the run.
    user : str
        Id of the person.
    n : int, default=1
        Number of documents.

    Returns
    -------
    list[Prediction]
        Documents with the run's labels.

    Raises
    ------
    DataError
        If the run does not exist.
    """
    now = utc_now()
    found = session.execute(_STATE, {"run": storable(str(run)[:64])}).first()
    if found is None:
        raise missing("run")
    if found.state != DONE:
        return []
    about: dict[str, Any] = {"run": run, "user": user, "now": now}
    session.execute(_FREE_EXPIRED, about)

    def seconds(n: int, *, mine: bool) -> list[str]:
        """Return documents for a second reading, if the project asks for them."""
        if not found.second_reading or n < 1:
            return []
        return find_seconds(session, run, found.project_id, user, n, now, mine=mine)

    # Leased documents come first, so that a repeated request returns the same ones.
    again = seconds(n, mine=True)
    held = list(session.scalars(_MINE, {**about, "n": n - len(again)}))
    again += seconds(n - len(again) - len(held), mine=False)
    if len(again) + len(held) < n:
        held += session.scalars(_FIRST, {**about, "n": n - len(again) - len(held)})
    rows: list[Prediction] = []
    if again:
        lease_seconds(session, again, user, now + LEASE)
        rows += session.scalars(_AGAIN, {"run": run, "again": again})
        for row in rows:  # hide the first answer from the second reader
            set_committed_value(row, "answer", None)
    if held:
        session.execute(_TAKE, {**about, "held": held, "until": now + LEASE})
        rows += session.scalars(_TAKEN, {"run": run, "held": held})
    return rows


def check_in_run(session: Session, run: str, document: str) -> Any:
    """Return when and how the queue of a run offered a document.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    run : str
        Id of the run.
    document : str
        Id of the document.

    Returns
    -------
    Any
        Row with ``asked_at`` (None if it was not offered) and ``drawn``.

    Raises
    ------
    DataError
        If the document is not in the run.
    """
    row = session.execute(_IN_RUN, {"run": run, "document": document}).first()
    if row is None:
        raise missing("document in this run")
    return row


# Statements that run with every answer are built once: building one takes longer than running it.

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
_SHOWN = sa.select(Prediction).where(_p.run_id == _run).order_by(_p.rank)
_TAKEN = _SHOWN.where(_p.position.in_(_held))
_AGAIN = _SHOWN.where(_p.document_id.in_(sa.bindparam("again", expanding=True)))
_IN_RUN = sa.select(_p.asked_at, _p.drawn).where(_p.document_id == sa.bindparam("document"), _p.run_id == _run)


# -- Second readings: two people read some documents, so that their agreement can be estimated. The document's random id
# decides which ones, so nobody chooses them and the choice never changes. The second reader does not see the first
# answer. The first answer stays current, and the second is stored next to it


SECOND = "second"  # kind of the second reader's answer
_s = SECOND_READINGS.c


def is_due(document: str, share: float) -> bool:
    """Return whether two people should read a document.

    Parameters
    ----------
    document : str
        Id of the document.
    share : float
        Share of the documents that two people read, from 0 to 1.

    Returns
    -------
    bool
        True if the document belongs to the share.
    """
    # The first 32 bits of the random id are a uniform number below 2**32.
    return int(document[:8], 16) < share * 2**32


def ask_second(session: Session, document: str, project: str, by: str, now: datetime) -> None:
    """Request a second reading of a document that has its first answer.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    document : str
        Id of the document.
    project : str
        Id of the project.
    by : str
        Id of the first reader.
    now : datetime
        Present time.
    """
    row = {"document_id": document, "project_id": project, "first_by": by, "since": now}
    if session.execute(_FOUND, {"document": document}).first() is None:
        session.execute(_ADD, row)


def holds_second(session: Session, document: str, by: str) -> bool:
    """Return whether a document is leased to a person for a second reading.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    document : str
        Id of the document.
    by : str
        Id of the person.

    Returns
    -------
    bool
        True if the person is its second reader.
    """
    return session.execute(_HELD, {"document": document, "user": by}).first() is not None


def note_second(session: Session, document: str, answer: str) -> None:
    """Mark the second reading as complete.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    document : str
        Id of the document.
    answer : str
        Id of the second answer.
    """
    session.execute(_DONE, {"document": document, "answer": answer})


def find_seconds(
    session: Session, run: str, project: str, user: str, n: int, now: datetime, *, mine: bool
) -> list[str]:
    """Find documents of a run for a second reader.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    run : str
        Id of the run.
    project : str
        Id of the project.
    user : str
        Id of the person.
    n : int
        Maximum number of documents.
    now : datetime
        Present time.
    mine : bool
        Whether to return the documents that the person has leased; otherwise, free ones.

    Returns
    -------
    list[str]
        Ids of the documents.
    """
    about: dict[str, Any] = {"run": run, "project": project, "user": user, "now": now, "n": n}
    return list(session.scalars(_THEIRS if mine else _WAITING, about))


def lease_seconds(session: Session, documents: list[str], user: str, until: datetime) -> None:
    """Lease documents to a second reader.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    documents : list[str]
        Ids of the documents.
    user : str
        Id of the person.
    until : datetime
        End of the lease.
    """
    session.execute(_LEASE, {"documents": documents, "user": user, "until": until})


def give_up_seconds(session: Session, project: str, user: str, document: str | None, later: timedelta | None) -> int:
    """Release the documents that a second reader has leased in a project.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    project : str
        Id of the project.
    user : str
        Id of the person.
    document : str or None
        Id of the document; all if None.
    later : timedelta or None
        Time for which they are not offered again; None to offer them immediately.

    Returns
    -------
    int
        Number of released documents.
    """
    held = [_s.project_id == project, _s.leased_to == user, _s.answer_id.is_(None)]
    if document is not None:
        held.append(_s.document_id == document)
    values: dict[str, Any] = {"leased_to": None, "leased_until": None}
    if later is not None:
        values["since"] = utc_now() + later
    return change(session, SECOND_READINGS.update().where(*held).values(**values))


def undo_seconds(session: Session, batch: str, by: str, until: datetime) -> None:
    """Adapt second readings to an undone decision.

    A document whose second answer was undone is leased to its reader again. A document without a current answer loses
    its second reading, because there is nothing to compare with.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    batch : str
        Id that all answers of one decision share.
    by : str
        Id of the person who undoes the decision.
    until : datetime
        End of the new lease.
    """
    a = ANSWERS.c
    of_batch, touched = sa.select(a.id).where(a.batch == batch), sa.select(a.document_id).where(a.batch == batch)
    session.execute(
        SECOND_READINGS.update()
        .where(_s.answer_id.in_(of_batch))
        .values(answer_id=None, leased_to=by, leased_until=until)
    )
    holding = sa.select(a.document_id).where(a.document_id.in_(touched), a.current)
    session.execute(
        SECOND_READINGS.delete().where(
            _s.document_id.in_(touched), _s.document_id.not_in(holding), _s.answer_id.is_(None)
        )
    )


def _waiting(*, mine: bool) -> sa.Select:
    """Return the query for second readings that a person has leased, or that are free."""
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
_THEIRS, _WAITING = _waiting(mine=True), _waiting(mine=False)
