"""New groups that got a class all at once: learned from, but read by nobody."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isthmus._math.confidence import AccuracyEstimate
from isthmus._math.samples import two_sided_z, wilson_ends
from isthmus.feedback.accounting import RATE, Expectation
from isthmus.feedback.answers import PICKED, Answers
from isthmus.feedback.labelling import Labelling

SETTLES = 5  # answers within a new group that settle whether it was announced wrongly


@dataclass(frozen=True)
class WholeGroups:
    """New groups whose documents got a class all at once: a decision about many documents, of which none was read.

    ``right``: how many of them are, by those of the same groups that were read; from nothing to all where none was.
    """

    documents: np.ndarray
    right: AccuracyEstimate

    def joined_to(self, expected: Expectation, n_documents: int) -> Expectation:
        """What is expected of all documents, from what is expected of the others."""
        part = len(self.documents) / n_documents
        ends = zip(
            (self.right.estimate, self.right.low, self.right.high),
            (expected.estimate, expected.low, expected.high),
            strict=True,
        )
        estimate, low, high = (part * (own or 0.0) + (1 - part) * other for own, other in ends)
        return replace(expected, estimate=estimate, low=low, high=high)


NO_GROUPS = WholeGroups(np.zeros(0, dtype=int), AccuracyEstimate(0.5, 0.0, 1.0))


def whole_groups(untaught: Labelling, known: Answers) -> WholeGroups:
    """Which answers gave a class to a whole new group in one table."""
    groups = np.asarray(untaught.novel_group)[known.rows]
    batches = np.array(known.batch, dtype=object)
    decided = np.zeros(len(known.rows), dtype=bool)
    hits: list[bool] = []
    for group in untaught.novel:
        own = groups == group["group"]
        if own.sum() < np.sum(untaught.novel_group == group["group"]):
            continue  # some of its documents have no answer
        for batch in dict.fromkeys(batches[own].tolist()):
            table = np.flatnonzero(batches == batch)
            names = {known.labels[i] for i in table}
            picked = all(known.drawn[i] == PICKED for i in table)
            if len(names) == 1 and picked and own[table].all() and 2 * len(table) > own.sum() >= SETTLES:
                decided[table] = True
                hits += [known.labels[i] in names for i in np.flatnonzero(own & ~decided)]
    share = (sum(hits) + 1) / (len(hits) + 2)  # as by two answers more, one of them wrong
    low, high = wilson_ends(share, len(hits), two_sided_z(RATE)) if hits else (0.0, 1.0)
    return WholeGroups(np.array(known.rows, dtype=int)[decided], AccuracyEstimate(share, low, high))


def read_answers_of(labelling: Labelling) -> Answers:
    """The answers to documents that somebody read: all that are known, without those of whole groups."""
    known = labelling.known_answers
    if not known.rows:
        return known
    decided = set(whole_groups(labelling.untaught(), known).documents.tolist())
    return known.keep(row for row in known.rows if row not in decided) if decided else known
