"""Answers: each decision of a person is a row with a name and a date. Undoing adds to the row; no row is deleted."""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from isthmus.evaluate.agreement import count_labels, krippendorff_alpha
from isthmus.exceptions import UsageError
from isthmus.feedback.answers import PICKED, RANDOM, READ
from isthmus.workspace.context import (
    Part,
    add,
    change,
    check_label,
    check_name,
    choose_one,
    log_page,
    missing,
    note_event,
)
from isthmus.workspace.database import in_blocks, new_id, utc_now
from isthmus.workspace.queue import (
    LEASE,
    SECOND,
    ask_second,
    check_in_run,
    holds_second,
    is_due,
    note_second,
    undo_seconds,
)
from isthmus.workspace.schema import (
    ANSWERED,
    ANSWERS,
    CHECKED,
    COLLECTIONS,
    DOCUMENTS,
    LEASED,
    OF_GROUP,
    OPEN,
    PREDICTIONS,
    PROJECTS,
    Answer,
)

_BLOCK = 500  # ids in one statement, below the limits on bound values of both databases


class Answers(Part):
    """Give, undo, list and compare the answers of people."""

    def give(
        self,
        document: str,
        label: str,
        *,
        by: str,
        run: str | None = None,
        drawn: str | None = None,
        token: str | None = None,
    ) -> Answer:
        """Record an answer for a document.

        The answer becomes the current one; an earlier answer stays in the history. If the person is the document's
        second reader, the new answer has the kind "second" and the first answer stays current. When this method
        returns, the answer is on the disk.

        Parameters
        ----------
        document : str
            Id of the document.
        label : str
            Class that the person chooses.
        by : str
            Id of the person who makes the change.
        run : str, optional
            Id of the run whose queue offered the document.
        drawn : str, optional
            How the document was chosen: "asked", "random" or "picked". If omitted, the queue's own value where the
            queue offered the document, else "picked".
        token : str, optional
            Text of at most 64 characters, new for each answer. A repeated token returns the stored answer, for clients
            that did not see whether their request arrived.

        Returns
        -------
        Answer
            The stored answer.

        Raises
        ------
        DataError
            If the document does not exist or is not in the run.
        UsageError
            If the label, the token or ``drawn`` is not valid.
        """
        label = check_label(label)
        token = check_token(token)
        if drawn is not None:
            choose_one(drawn, READ, "way in which the document was drawn")
        with self._db.writing() as session:
            before = find_answer(session, document, by, token)
            if before is not None:
                return before
            return add_answer(session, document, label, by=by, run=run, drawn=drawn, kind="answer", token=token)

    def undo(self, *, by: str, project: str | None = None, answer: str | None = None) -> builtins.list[Answer]:
        """Undo a person's latest answer, or the named one, together with all answers of the same decision.

        If the decision has one answer, its document comes first in the person's queue again.

        Parameters
        ----------
        by : str
            Id of the person whose answer is undone.
        project : str, optional
            Only consider answers of this project.
        answer : str, optional
            Id of the answer to undo; the latest one if omitted.

        Returns
        -------
        list[Answer]
            Undone answers, newest first (at most 500); empty if there is nothing to undo.
        """
        query = sa.select(Answer).where(ANSWERS.c.by == by, ANSWERS.c.undone_at.is_(None))
        if project is not None:
            query = query.where(ANSWERS.c.project_id == project)
        if answer is not None:
            query = query.where(ANSWERS.c.id == answer)
        with self._db.writing() as session:
            last = session.scalars(query.order_by(ANSWERS.c.number.desc()).limit(1)).first()
            if last is None:
                return []
            undo_batch(session, last.batch, by=by, project=last.project)
            session.expire_all()
            # A decision can cover thousands of documents; the caller needs only some of them.
            batch = sa.select(Answer).where(ANSWERS.c.batch == last.batch).order_by(ANSWERS.c.number.desc()).limit(500)
            return list(session.scalars(batch))

    def list(
        self, project: str, *, after: int | None = None, limit: int = 100, latest: bool = False, everything: bool = True
    ) -> builtins.list[Answer]:
        """Return one page of a project's answers.

        Parameters
        ----------
        project : str
            Id of the project.
        after : int, optional
            Number of the last answer on the previous page.
        limit : int, default=100
            Maximum number of rows on the page.
        latest : bool, default=False
            Whether to start with the newest answer.
        everything : bool, default=True
            Whether to include answers that are no longer current.

        Returns
        -------
        list[Answer]
            Answers by number; newest first if ``latest``.
        """
        query = log_page(Answer, after, limit, latest=latest).where(ANSWERS.c.project_id == project)
        if not everything:
            query = query.where(ANSWERS.c.current)
        return self._all(query)

    def history(self, document: str) -> builtins.list[Answer]:
        """Return all answers for a document, oldest first, including undone answers.

        Parameters
        ----------
        document : str
            Id of the document.

        Returns
        -------
        list[Answer]
            All answers for the document.
        """
        query = sa.select(Answer).where(ANSWERS.c.document_id == document).order_by(ANSWERS.c.number)
        return self._all(query)

    def counts(self, project: str) -> builtins.list[dict[str, Any]]:
        """Count current and second answers by person; answers for whole groups are left out.

        Parameters
        ----------
        project : str
            Id of the project.

        Returns
        -------
        list[dict[str, Any]]
            Dicts with ``by`` and ``answers``, most active person first.
        """
        query = (
            sa.select(ANSWERS.c.by, sa.func.count().label("answers"))
            .where(ANSWERS.c.project_id == project, _HOLDING_OR_SECOND, ANSWERS.c.kind != OF_GROUP)
            .group_by(ANSWERS.c.by)
            .order_by(sa.func.count().desc())
        )
        with self._db.reading() as session:
            return [dict(row._mapping) for row in session.execute(query)]

    def labels(self, project: str) -> builtins.list[str]:
        """Return the classes that current and second answers name, including classes that no run knows yet.

        Parameters
        ----------
        project : str
            Id of the project.

        Returns
        -------
        list[str]
            Class names in alphabetical order.
        """
        query = sa.select(ANSWERS.c.label).where(ANSWERS.c.project_id == project, _HOLDING_OR_SECOND)
        with self._db.reading() as session:
            return sorted(session.scalars(query.distinct()))

    def agreement(self, project: str) -> dict[str, Any]:
        """Compute how far people agree on documents that at least two of them answered.

        Parameters
        ----------
        project : str
            Id of the project.

        Returns
        -------
        dict[str, Any]
            ``documents`` (answered by two or more people), ``agreed`` (documents with one label), ``share`` (of agreed
            documents), ``kappa`` (Scott's pi over all pairs of answers, or None if everybody always gives the same
            class), ``alpha`` (Krippendorff's) and ``disputed`` (the latest 50 documents with different labels).
        """
        a = ANSWERS.c
        # Answers for many documents at once show no agreement: nobody read the documents.
        shared = (
            sa.select(a.document_id)
            .where(a.project_id == project, a.undone_at.is_(None), _ONE_BY_ONE)
            .group_by(a.document_id)
            .having(sa.func.count(sa.distinct(a.by)) > 1)
        )
        query = sa.select(a.document_id, a.by, a.label).where(
            a.project_id == project, a.undone_at.is_(None), _ONE_BY_ONE, a.document_id.in_(shared)
        )
        with self._db.reading() as session:
            # Ordered by number, so that a person's latest answer for a document replaces the earlier ones below.
            rows = session.execute(query.order_by(a.number)).all()
        said: dict[str, dict[str, str]] = defaultdict(dict)
        for row in rows:  # only the latest of a person's answers for a document counts
            said[row.document_id].pop(row.by, None)
            said[row.document_id][row.by] = row.label
        return summarize_agreement(said)


# Statements that run with every answer are built once: building one takes longer than running it.
_PROJECT = (
    sa.select(COLLECTIONS.c.project_id, PROJECTS.c.second_reading)
    .join(DOCUMENTS, DOCUMENTS.c.collection_id == COLLECTIONS.c.id)
    .join(PROJECTS, PROJECTS.c.id == COLLECTIONS.c.project_id)
    .where(DOCUMENTS.c.id == sa.bindparam("document"))
    # Two people who answer one document at the same time take turns, so that one answer is current.
    .with_for_update(of=DOCUMENTS, key_share=True)
)
_ONE_BY_ONE = ANSWERS.c.kind.not_in(["accept", OF_GROUP])  # answers for single documents, not for many at once
_HOLDING = sa.select(ANSWERS.c.number, ANSWERS.c.drawn, ANSWERS.c.kind).where(
    ANSWERS.c.document_id == sa.bindparam("document"), ANSWERS.c.current
)
_HOLDING_OR_SECOND = sa.or_(ANSWERS.c.current, sa.and_(ANSWERS.c.kind == SECOND, ANSWERS.c.undone_at.is_(None)))
_REPLACED = ANSWERS.update().where(ANSWERS.c.number == sa.bindparam("replaced")).values(current=False)
_READ = (
    PREDICTIONS.update()
    .where(PREDICTIONS.c.document_id == sa.bindparam("document"))
    .values(state=ANSWERED, leased_to=None, leased_until=None)
)


_BY_TOKEN = sa.select(Answer).where(
    ANSWERS.c.document_id == sa.bindparam("document"),
    ANSWERS.c.by == sa.bindparam("person"),
    ANSWERS.c.token == sa.bindparam("token"),
)
_LOCKED = sa.select(DOCUMENTS.c.id).where(DOCUMENTS.c.id == sa.bindparam("document")).with_for_update(key_share=True)


def check_token(token: Any) -> str | None:
    """Return a valid token, or None for a missing or empty one.

    Parameters
    ----------
    token : Any
        Token of a request.

    Returns
    -------
    str or None
        The token in one line.

    Raises
    ------
    UsageError
        If the token is not a text of at most 64 characters.
    """
    if token is None or token == "":
        return None
    return check_name(token, "token", 64)


def find_answer(session: Session, document: str, by: str, token: str | None) -> Answer | None:
    """Return the answer that an earlier request with the same token stored.

    The document is locked first, so a concurrent request with the same token finishes before the search.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    document : str
        Id of the document.
    by : str
        Id of the person who gives the answer.
    token : str or None
        Token of the request; a repeated request with the same token adds nothing.

    Returns
    -------
    Answer or None
        The stored answer, or None if the token is new or missing.
    """
    if token is None:
        return None
    about = {"document": str(document)[:64], "person": by, "token": token}
    # Without the lock, two simultaneous requests with one token would both find nothing.
    session.execute(_LOCKED, {"document": about["document"]}).all()
    return session.scalars(_BY_TOKEN, about).first()


def add_answer(
    session: Session,
    document: str,
    label: str,
    *,
    by: str,
    run: str | None,
    drawn: str | None,
    kind: str,
    token: str | None = None,
) -> Answer:
    """Store one answer in an open transaction.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    document : str
        Id of the document.
    label : str
        Name of the class.
    by : str
        Id of the person who gives the answer.
    run : str or None
        Id of the run whose queue offered the document.
    drawn : str or None
        How the document was chosen; None to use the queue's value.
    kind : str
        Kind of the answer: "answer" or "check".
    token : str, optional
        Token of the request; a repeated request with the same token adds nothing.

    Returns
    -------
    Answer
        The stored answer.

    Raises
    ------
    DataError
        If the document does not exist or is not in the run.
    """
    # An id has 32 characters; cutting a longer one from a client keeps the query small.
    about = {"document": str(document)[:64]}
    place = session.execute(_PROJECT, about).first()
    if place is None:
        raise missing("document")
    project = place.project_id
    offered = None if run is None else check_in_run(session, run, document)
    came = None if offered is None or offered.asked_at is None else offered.drawn
    before = session.execute(_HOLDING, about).first()
    # A document that was drawn at random stays a random one: later answers do not change how it was drawn.
    drawn = RANDOM if before is not None and before.drawn == RANDOM else drawn or came or PICKED
    # The second reader's answer must not replace the first one: it only measures agreement.
    if kind == "answer" and before is not None and holds_second(session, document, by):
        kind = SECOND
    # The unique index allows one current answer per document, so the old one gives way first.
    elif before is not None:
        session.execute(_REPLACED, {"replaced": before.number})
    id, now, holds = new_id(), utc_now(), kind != SECOND
    given = add(
        session,
        Answer(
            id=id, project=project, document=document, run=run, label=label, drawn=drawn, kind=kind, batch=id, by=by,
            at=now, current=holds, token=token,
        ),
    )  # fmt: skip
    # A second answer leaves the queue unchanged, because the first answer has already removed the document.
    if holds:
        session.execute(_READ, about)
        # A class that a document got with its group was not read, so the next answer counts as the first reading.
        first = before is None or before.kind == OF_GROUP
        if kind == "answer" and came and first and is_due(document, place.second_reading):
            ask_second(session, document, project, by, now)
    else:
        note_second(session, document, id)
    event = "answer given" if holds else "second answer given"
    note_event(session, event, by=by, project=project, subject=document, label=label, answer=id)
    return given


def add_batch(
    session: Session,
    rows: list[tuple[str, str]],
    *,
    project: str,
    run: str,
    by: str,
    kind: str,
    drawn: str,
    batch: str | None = None,
) -> int:
    """Store one decision for many documents; documents with a current answer are left unchanged.

    The documents leave the queue, except those labelled with their group, which nobody has read.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    rows : list[tuple[str, str]]
        Pairs of a document id and a class.
    project : str
        Id of the project.
    run : str
        Id of the run.
    by : str
        Id of the person who makes the change.
    kind : str
        Kind of the answers: "accept" or "group".
    drawn : str
        How the documents were chosen.
    batch : str, optional
        Id that the answers share; a new one if omitted.

    Returns
    -------
    int
        Number of documents that got an answer.
    """
    batch, now = batch or new_id(), utc_now()
    lock_documents(session, [name for name, _ in rows])
    # Only after the locks are held, the set of answered documents cannot change.
    free = _unanswered(session, [name for name, _ in rows])
    rows = [row for row in rows if row[0] in free]
    if rows:
        shared: dict[str, Any] = {"project_id": project, "run_id": run, "drawn": drawn, "kind": kind}
        shared |= {"batch": batch, "by": by, "at": now, "current": True}
        session.execute(
            ANSWERS.insert(), [{"id": new_id(), "document_id": name, "label": label, **shared} for name, label in rows]
        )
        # The rows of all runs change, because a document has at most one current answer in the project.
        done = {"state": ANSWERED, "leased_to": None, "leased_until": None}
        for names in in_blocks([] if kind == OF_GROUP else [name for name, _ in rows], _BLOCK):
            session.execute(PREDICTIONS.update().where(PREDICTIONS.c.document_id.in_(names)).values(**done))
    return len(rows)


def lock_documents(session: Session, documents: Sequence[str]) -> None:
    """Lock documents until the transaction ends, so that no other transaction can answer them.

    Every transaction locks documents in the order of their ids before it locks rows of a queue, so that no two
    transactions wait for each other. SQLite allows one writer at a time and needs no locks.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    documents : Sequence[str]
        Ids of the documents.
    """
    if session.get_bind().dialect.name == "sqlite":
        return
    for names in in_blocks(sorted(documents), _BLOCK):
        query = sa.select(DOCUMENTS.c.id).where(DOCUMENTS.c.id.in_(names)).order_by(DOCUMENTS.c.id)
        session.execute(query.with_for_update(key_share=True)).all()


def _unanswered(session: Session, documents: Sequence[str]) -> set[str]:
    """Return the ids of the documents without a current answer."""
    free = set(documents)
    for names in in_blocks(documents, _BLOCK):
        query = sa.select(ANSWERS.c.document_id).where(ANSWERS.c.document_id.in_(names), ANSWERS.c.current)
        free -= set(session.scalars(query))
    return free


def undo_batch(session: Session, batch: str, *, by: str, project: str) -> None:
    """Undo all answers of a decision and make the answers before them current again.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    batch : str
        Id that all answers of one decision share.
    by : str
        Id of the person who undoes the decision.
    project : str
        Id of the project.
    """
    a, p, now = ANSWERS.c, PREDICTIONS.c, utc_now()
    touched = sa.select(a.document_id).where(a.batch == batch)
    lock_documents(session, session.scalars(touched).all())
    count = change(
        session,
        ANSWERS.update()
        .where(a.batch == batch, a.undone_at.is_(None))
        .values(undone_at=now, undone_by=by, current=False),
    )
    # A document of a random sample must be answered again, or the sample would count too few answers.
    of_batch = sa.select(a.id).where(a.batch == batch)
    session.execute(CHECKED.update().where(CHECKED.c.answer_id.in_(of_batch)).values(answer_id=None, leased_to=None))
    # The latest remaining answer becomes current again; a second reader's answer only if there is no other.
    latest = sa.select(sa.func.max(a.number)).where(a.document_id.in_(touched), a.undone_at.is_(None))
    held = sa.select(a.document_id).where(a.document_id.in_(touched), a.current)
    for kinds in (a.kind != SECOND, a.document_id.not_in(held)):
        again = latest.where(kinds).group_by(a.document_id)
        session.execute(ANSWERS.update().where(a.number.in_(again)).values(current=True))
    undo_seconds(session, batch, by, now + LEASE)
    read = sa.and_(a.current, a.kind != OF_GROUP)
    holding = sa.select(a.document_id).where(a.document_id.in_(touched), read)
    free: list[Any] = [p.document_id.in_(touched), p.document_id.not_in(holding)]
    if count == 1:  # a single answer is usually undone to correct it: lease its document to that person
        values: dict[str, Any] = {"state": LEASED, "leased_to": by, "leased_until": now + LEASE}
    else:
        free.append(p.state == ANSWERED)  # unread documents of a group may be leased to somebody and stay leased
        values = {"state": OPEN, "leased_to": None, "leased_until": None}
    session.execute(PREDICTIONS.update().where(*free).values(**values))
    note_event(session, "answers taken back", by=by, project=project, subject=batch, answers=count)


def summarize_agreement(said: dict[str, dict[str, str]]) -> dict[str, Any]:
    """Compute the agreement of people from their answers.

    Parameters
    ----------
    said : dict[str, dict[str, str]]
        Class by person, for each document.

    Returns
    -------
    dict[str, Any]
        The figures of :meth:`Answers.agreement`.
    """
    agreed, pairs, same = 0, 0, 0
    uses: dict[str, float] = defaultdict(float)
    disputed = []
    for document, answers in said.items():
        labels = list(answers.values())
        agreed += len(set(labels)) == 1
        if len(set(labels)) > 1:
            disputed.append({"document": document, "answers": [{"by": k, "label": v} for k, v in answers.items()]})
        for i, first in enumerate(labels):
            for second in labels[:i]:
                pairs += 1
                same += first == second
                # Scott's pi compares with chance agreement, so both answers of a pair count half for their class.
                uses[first] += 0.5
                uses[second] += 0.5
    documents = [document for document, answers in said.items() for _ in answers]
    labels = [label for answers in said.values() for label in answers.values()]
    chance = sum((n / pairs) ** 2 for n in uses.values()) if pairs else 0.0
    return {
        "documents": len(said),
        "agreed": agreed,
        "share": agreed / len(said) if said else None,
        "kappa": (same / pairs - chance) / (1 - chance) if pairs and chance < 1 else None,
        "alpha": krippendorff_alpha(count_labels(documents, labels)) if said else None,
        "disputed": disputed[-50:][::-1],
    }


def check_threshold(threshold: Any) -> float:
    """Return a threshold as a float, or raise an error if it is not above 0 and at most 1.

    Parameters
    ----------
    threshold : Any
        Confidence that a person entered.

    Returns
    -------
    float
        The threshold.

    Raises
    ------
    UsageError
        If the threshold is no number, or out of range.
    """
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 < threshold <= 1:
        raise UsageError(f"The threshold is {str(threshold)[:40]!r}; give a confidence between 0 and 1.")
    return float(threshold)
