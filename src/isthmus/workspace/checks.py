"""Checks: a blind random sample estimates the accuracy; afterwards, labels above a threshold can be accepted unread."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.orm import Session

from isthmus._utils import to_plain
from isthmus.choose import draw_sample
from isthmus.choose.checking import check_sample
from isthmus.exceptions import DataError, UsageError
from isthmus.feedback.answers import PICKED, RANDOM
from isthmus.options import ERROR_BUDGET
from isthmus.wording import LOOK
from isthmus.workspace.answers import add_answer, add_batch, check_threshold, check_token, find_answer
from isthmus.workspace.context import add, check_count, check_label, find, missing, note_event
from isthmus.workspace.database import in_blocks, new_id, utc_now
from isthmus.workspace.documents import LabelledPart, RunLabels
from isthmus.workspace.queue import LEASE
from isthmus.workspace.schema import ANSWERS, CHECKED, CHECKS, DONE, OPEN, PREDICTIONS, Check, Checked, Document, Run

LEAST_CHECKED = 20  # documents that people must check before the other labels can be accepted unread
# Documents that one transaction accepts, so that other writers do not wait long.
_BLOCK = 5_000
# Positions in one statement.
_NAMED = 500


class Checks(LabelledPart):
    """Draw random samples of a run, record their answers, estimate the accuracy and accept labels."""

    def draw(
        self, run: str, n: int | None = None, *, by: str, threshold: float | None = None, seed: int | None = None
    ) -> Check:
        """Draw a random sample of a run's documents.

        With a threshold, only documents with at least this confidence are drawn, so that :meth:`accept` can accept
        the labels above it.

        Parameters
        ----------
        run : str
            Id of the run.
        n : int, optional
            Number of documents; 100 if omitted.
        by : str
            Id of the person who makes the change.
        threshold : float, optional
            Smallest confidence of the documents to draw from.
        seed : int, optional
            Seed of the draw; a new random seed is stored if omitted.

        Returns
        -------
        Check
            The new check.

        Raises
        ------
        DataError
            If no label reaches the threshold.
        UsageError
            If the run is not done, or a number is out of range.
        """
        least = None if threshold is None else check_threshold(threshold)
        if self._get(Run, run).state != DONE:
            raise UsageError("The run is not done; wait for it.")
        positions = _eligible(self._labels.of(run), least)
        if not len(positions):
            raise DataError("No label reaches this confidence; choose a lower threshold.", code="no-rows")
        n = LOOK if n is None else n
        # A request for more documents than there are draws all of them.
        n = min(check_count(n, "n"), len(positions))
        seed = int(np.random.default_rng().integers(2**31)) if seed is None else seed
        # Drawing needs no database, so it happens before the write lock is taken.
        drawn = positions[draw_sample(len(positions), n, seed)]
        with self._db.writing() as session:
            found = find(session, Run, run)
            check = add(session, Check(run=run, size=n, seed=seed, threshold=least, created_by=by)).id
            session.execute(CHECKED.insert(), _checked_rows(session, run, check, drawn.tolist()))
            note_event(session, "sample drawn", by=by, project=found.project, subject=check, size=n, threshold=least)
        return self.get(check)

    def get(self, id: str) -> Check:
        """Return a check by its id, or raise an error if it does not exist.

        Parameters
        ----------
        id : str
            Id of the check.

        Returns
        -------
        Check
            The check.
        """
        return self._get(Check, id)

    def list(self, run: str) -> builtins.list[Check]:
        """Return the checks of a run, latest first.

        Parameters
        ----------
        run : str
            Id of the run.

        Returns
        -------
        list[Check]
            All checks of the run.
        """
        return self._all(sa.select(Check).where(CHECKS.c.run_id == run).order_by(CHECKS.c.created_at.desc()))

    def next(self, check: str, user: str) -> Document | None:
        """Lease the next document of the sample to a person, without showing the run's label.

        Parameters
        ----------
        check : str
            Id of the check.
        user : str
            Id of the person.

        Returns
        -------
        Document or None
            The document, or None if no unanswered document is free.
        """
        c, now = CHECKED.c, utc_now()
        free = sa.or_(c.leased_to.is_(None), c.leased_to == user, c.leased_until < now)
        query = sa.select(Checked).where(c.check_id == check, c.answer_id.is_(None), free).order_by(c.place).limit(1)
        with self._db.writing(durable=False) as session:
            find(session, Check, check)
            # Documents that another transaction locks are skipped, so two people never get the same one.
            row = session.scalars(query.with_for_update(skip_locked=True)).first()
            if row is None:
                return None
            row.leased_to, row.leased_until = user, now + LEASE
            return find(session, Document, row.document)

    def answer(self, check: str, document: str, label: str, *, by: str, token: str | None = None) -> None:
        """Record an answer for a document of the sample.

        Parameters
        ----------
        check : str
            Id of the check.
        document : str
            Id of the document.
        label : str
            Class that the person chooses.
        by : str
            Id of the person who gives the answer.
        token : str, optional
            Token of the request; a repeated request with the same token adds nothing.

        Raises
        ------
        DataError
            If the document is not in the sample.
        """
        label = check_label(label)
        token = check_token(token)
        c = CHECKED.c
        with self._db.writing() as session:
            found = find(session, Check, check)
            place = session.execute(sa.select(c.place).where(c.check_id == check, c.document_id == document)).scalar()
            if place is None:
                raise missing("document in this sample")
            # A sample above a threshold does not represent all labels: its answers do not count as random ones.
            drawn = RANDOM if found.threshold is None else PICKED
            # A client that repeats its request must not add a second answer.
            if find_answer(session, document, by, token) is not None:
                return
            answer = add_answer(session, document, label, by=by, run=found.run, drawn=drawn, kind="check", token=token)
            answered = CHECKED.update().where(c.check_id == check, c.place == place)
            session.execute(answered.values(answer_id=answer.id))

    def estimate(self, check: str) -> dict[str, Any] | None:
        """Estimate the accuracy of the labels from the answers given so far.

        Parameters
        ----------
        check : str
            Id of the check.

        Returns
        -------
        dict[str, Any] or None
            Figures of :class:`isthmus.choose.LabelCheck` for all labels, or for those above the check's threshold; None
            before the first answer. Without a threshold, ``guarantee`` states how many labels can pass unread within
            the run's error budget.
        """
        c = CHECKED.c
        query = (
            sa.select(c.position, ANSWERS.c.label)
            .join(ANSWERS, ANSWERS.c.id == c.answer_id)
            .where(c.check_id == check, ANSWERS.c.undone_at.is_(None))
        )
        with self._db.reading() as session:
            found = find(session, Check, check)
            budget = find(session, Run, found.run).parameters.get("error_budget", ERROR_BUDGET)
            rows = session.execute(query).all()
        if not rows:
            return None
        labels = self._labels.of(found.run)
        positions = _eligible(labels, found.threshold)
        places = np.searchsorted(positions, [row.position for row in rows])
        result = check_sample(
            labels.names[positions],
            labels.confidence[positions],
            places,
            [row.label for row in rows],
            classes=labels.classes,
            budget=budget if found.threshold is None and 0 < budget < 1 else None,
        )
        return to_plain(result.to_dict()) | {"answered": result.n, "estimate": result.accuracy}

    def above(self, run: str, threshold: float) -> int:
        """Return the number of labels that reach a confidence.

        Parameters
        ----------
        run : str
            Id of the run.
        threshold : float
            Smallest confidence.

        Returns
        -------
        int
            Number of labels with at least this confidence.
        """
        return len(_eligible(self._labels.of(run), check_threshold(threshold)))

    def accept(self, check: str, *, by: str) -> int:
        """Accept, unread, every label that reaches the sample's threshold.

        The sample must have been drawn with a threshold and must be answered completely. The accepted labels form one
        decision, which one :meth:`Answers.undo` undoes. Documents that are leased or answered are left out. The next
        run does not learn from accepted labels, because it would learn its own mistakes.

        Parameters
        ----------
        check : str
            Id of the check.
        by : str
            Id of the person who accepts the labels.

        Returns
        -------
        int
            Number of accepted labels.

        Raises
        ------
        UsageError
            If the sample has no threshold, is too small or is not answered completely.
        """
        found, estimate = self.get(check), self.estimate(check)
        if found.threshold is None:
            raise UsageError("This sample has no threshold; draw one above a threshold.")
        eligible = int((self._labels.of(found.run).confidence >= found.threshold).sum())
        if found.answered < min(found.size, eligible) or found.size < min(LEAST_CHECKED, eligible):
            raise UsageError(
                f"{found.answered} of {found.size} documents of the sample are answered; answer all, of at least "
                f"{min(LEAST_CHECKED, eligible)}, before accepting the others unread."
            )
        batch, accepted = new_id(), 0
        with self._db.writing() as session:
            project = find(session, Run, found.run).project
            note_event(
                session, "labels accepted", by=by, project=project, subject=batch, run=found.run, check=check,
                threshold=found.threshold, accuracy=None if estimate is None else estimate["accuracy"],
            )  # fmt: skip
        p = PREDICTIONS.c
        query = sa.select(p.document_id, p.label).where(
            p.run_id == found.run, p.state == OPEN, p.confidence >= found.threshold
        )
        # One transaction per block: accepting a million labels at once would stop all other writers.
        while True:
            with self._db.writing() as session:
                rows = session.execute(query.limit(_BLOCK)).all()
                accepted += add_batch(
                    session, [(row.document_id, row.label) for row in rows], project=project, run=found.run,
                    by=by, kind="accept", drawn=PICKED, batch=batch,
                )  # fmt: skip
            if len(rows) < _BLOCK:
                return accepted


def _eligible(labels: RunLabels, threshold: float | None) -> np.ndarray:
    """Return the sorted positions of the documents that a sample may contain."""
    if threshold is None:
        return np.arange(len(labels.codes))
    return np.flatnonzero(labels.confidence >= threshold)


def _checked_rows(session: Session, run: str, check: str, positions: list[int]) -> list[dict[str, Any]]:
    """Return the rows of the sample in the order of the draw, with the answers that people gave earlier.

    An answer for many documents at once (accepted labels, a class for a group) does not count, because nobody read
    the document.
    """
    p = PREDICTIONS.c
    read = ANSWERS.c.kind.in_(["answer", "check"])
    known = sa.and_(ANSWERS.c.document_id == p.document_id, ANSWERS.c.current, read)
    query = sa.select(p.position, p.document_id, ANSWERS.c.id.label("answer_id")).outerjoin(ANSWERS, known)
    found: dict[int, Any] = {}
    for block in in_blocks(positions, _NAMED):
        part = query.where(p.run_id == run, p.position.in_(block))
        found |= {row.position: row for row in session.execute(part)}
    return [
        {"check_id": check, "place": place, "document_id": found[position].document_id, "position": position,
         "answer_id": found[position].answer_id}
        for place, position in enumerate(positions)
    ]  # fmt: skip
