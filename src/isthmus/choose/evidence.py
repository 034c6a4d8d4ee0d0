"""Evidence about labels of the target, without a single true one.

Two questions are put to every set of labels, both through one plain linear classifier on tf-idf rows:

* *Learnability*: how well can the labels be learned from one part of the target and repeated on the rest? Labels that
  follow the classes should be about as learnable in the target as the true labels are in the source. Much less: the
  labels are noisy. Much more: they follow some other, easier division of the target (its subjects instead of its
  verdicts, say).
* *Way back*: a classifier trained on the labelled target, how well does it label the source? (Reverse validation.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import LinearSVC

from isthmus.exceptions import DataError
from isthmus.features.vectorizer import TextVectorizer

SAMPLE = 2_000  # documents of each side that are looked at
FOLDS = 3
FEWEST = 30  # documents of a side below which nothing can be said
WAY_BACK_WEIGHT = 0.2


@dataclass(frozen=True)
class Evidence:
    """What is known about one method's labels for the target.

    Attributes
    ----------
    learnability : float
        Held-out accuracy of a plain classifier on these labels within the target.
    source_learnability : float
        The same for the true labels within the source.
    way_back : float
        Accuracy on the source of a plain classifier trained on the labelled target.
    score : float
        ``0.2 · way_back − |learnability − source_learnability|``.
    """

    learnability: float
    source_learnability: float
    way_back: float

    @property
    def score(self) -> float:
        return WAY_BACK_WEIGHT * self.way_back - abs(self.learnability - self.source_learnability)

    @property
    def excess(self) -> float:
        """How much easier the labels are to learn than the source's; negative: harder."""
        return self.learnability - self.source_learnability


class Judge:
    """Puts the two questions to any labels of one pair of collections; rows are made once.

    Parameters
    ----------
    source_texts, source_labels, target_texts : sequences
        Source texts without a label are left out by the caller.
    analyzer, min_df
        As for :class:`isthmus.features.TextVectorizer`.
    random_state : int or None
        For the sample of large collections and for the folds.
    """

    def __init__(
        self,
        source_texts: Sequence[str],
        source_labels: Sequence,
        target_texts: Sequence[str],
        *,
        analyzer: str = "auto",
        min_df: int | str = "auto",
        random_state: int | None = 0,
    ):
        if min(len(source_texts), len(target_texts)) < FEWEST:
            raise DataError(
                f"{len(source_texts)} source and {len(target_texts)} target documents are too few to judge labels by; "
                f"{FEWEST} of each are needed.",
                code="no-rows",
            )
        rng = np.random.default_rng(random_state)
        self.random_state = random_state
        source, self.target = (_sample(len(texts), rng) for texts in (source_texts, target_texts))
        texts = [source_texts[i] for i in source] + [target_texts[i] for i in self.target]
        rows = TextVectorizer(analyzer=analyzer, min_df=min_df, weighting="tfidf", sublinear=True).fit_transform(texts)
        self.source_rows, self.target_rows = rows[: len(source)], rows[len(source) :]
        self.source_labels = np.array([str(source_labels[i]) for i in source])
        self.source_learnability = self._learnability(self.source_rows, self.source_labels)

    def weigh(self, target_labels: Sequence) -> Evidence:
        """Evidence about one label per target text."""
        labels = np.array([str(target_labels[i]) for i in self.target])
        if len(np.unique(labels)) < 2:  # one class for all: learned perfectly, worth nothing
            share = float(np.mean(self.source_labels == labels[0]))
            return Evidence(1.0, self.source_learnability, share)
        back = self._learner().fit(self.target_rows, labels).predict(self.source_rows)
        return Evidence(
            self._learnability(self.target_rows, labels),
            self.source_learnability,
            float(np.mean(back == self.source_labels)),
        )

    def _learner(self) -> LinearSVC:
        return LinearSVC(C=0.5, random_state=0)

    def _learnability(self, rows, labels: np.ndarray) -> float:
        names, counts = np.unique(labels, return_counts=True)
        usable = np.isin(labels, names[counts >= FOLDS])  # a class of one or two cannot be held out
        if len(np.unique(labels[usable])) < 2:
            return 1.0
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        held_out = cross_val_predict(self._learner(), rows[usable], labels[usable], cv=folds)
        return float(np.mean(held_out == labels[usable]))


def _sample(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.arange(n) if n <= SAMPLE else np.sort(rng.choice(n, SAMPLE, replace=False))
