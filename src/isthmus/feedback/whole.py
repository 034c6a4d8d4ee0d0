"""Account for new groups that got a class as a whole: the model learns from them, but nobody read their documents."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isthmus._math.confidence import AccuracyEstimate
from isthmus._math.samples import two_sided_z, wilson_ends
from isthmus.feedback.accounting import RATE, Expectation
from isthmus.feedback.answers import GROUP, Answers
from isthmus.feedback.labelling import Labelling


@dataclass(frozen=True)
class WholeGroups:
    """Documents of new groups that got a class as a whole, of which none was read.

    Attributes
    ----------
    documents : ndarray of int
    right : AccuracyEstimate
        Share of these documents with a right label, by documents of the same groups that were read; from 0 to 1 if none
        was read.
    """

    documents: np.ndarray
    right: AccuracyEstimate

    def joined_to(self, expected: Expectation, n_documents: int) -> Expectation:
        """Extend the expected accuracy of the other documents to all documents.

        Parameters
        ----------
        expected : Expectation
            Expected accuracy of the other documents.
        n_documents : int

        Returns
        -------
        Expectation
        """
        # Both parts count by their numbers of documents.
        part = len(self.documents) / n_documents
        ends = zip(
            (self.right.estimate, self.right.low, self.right.high),
            (expected.estimate, expected.low, expected.high),
            strict=True,
        )
        estimate, low, high = (part * (own or 0.0) + (1 - part) * other for own, other in ends)
        return replace(expected, estimate=estimate, low=low, high=high)


def whole_groups(untaught: Labelling, known: Answers) -> WholeGroups:
    """Return the documents that got a class with their whole group, and how often that class is right.

    The evidence consists of documents that were read: after their group got a class, or before, in a new group that got
    one class.

    Parameters
    ----------
    untaught : Labelling
    known : Answers

    Returns
    -------
    WholeGroups
    """
    decisions = [entry for entry in known.entries if entry["drawn"] == GROUP]
    given = {entry["row"]: entry["label"] for entry in known.given if entry["drawn"] == GROUP}
    names: dict[str, set] = {}
    for row, label in given.items():
        names.setdefault(untaught.novel_group[row], set()).add(label)
    hits = []
    for entry in known.read.entries:
        group = untaught.novel_group[entry["row"]]
        classes = {given[entry["row"]]} if entry["row"] in given else names.get(group, set()) if group else set()
        if len(classes) == 1:
            hits.append(entry["label"] in classes)
    share = (sum(hits) + 1) / (len(hits) + 2)  # with two additional answers, one right and one wrong
    low, high = wilson_ends(share, len(hits), two_sided_z(RATE)) if hits else (0.0, 1.0)
    rows = np.array([entry["row"] for entry in decisions], dtype=int)
    return WholeGroups(rows, AccuracyEstimate(share, low, high))
