"""Evidence about labels of the target, without a single true one.

Two questions are put to every set of labels, both through one plain linear classifier on tf-idf rows:

* *Learnability*: trained on one part of the labelled target, how much of the labels does it repeat on the rest? Labels
  that follow the classes should be about as learnable in the target as the true labels are in the source. Much less:
  the labels are noisy. Much more: they follow some other, easier division of the target (its subjects instead of its
  verdicts, say).
* *Reverse accuracy*: trained on the labelled target, how well does it label the source? (Reverse validation.)

Learnability is counted as information, not as accuracy: nearly all labels in one class are repeated with high accuracy
and hold next to nothing. For the same reason reverse accuracy is averaged over classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import bdtrc, chdtrc, xlogy
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from isthmus._math.content import content_order, label_ranks
from isthmus.choose.views import DenseView, JudgedView, View, count_pairs, even_lengths
from isthmus.exceptions import DataError
from isthmus.features.vectorizer import TextVectorizer
from isthmus.shift.novelty import Novelty, Pair, compare_pair, find_novel_groups, simulate_on_source

SAMPLE = 2_000  # documents of each side that are looked at
FOLDS = 3
FEWEST = 30  # documents of a side below which nothing can be said
DRAWS = 200  # resamplings behind a spread
CHANCE = 1e-3  # as likely as this by chance alone, labels count as not learnable


@dataclass(frozen=True)
class Evidence:
    """What is known about one method's labels for the target.

    Attributes
    ----------
    learnability : float
        Share of the labels' information that a plain classifier repeats on documents it has not seen.
    source_learnability : float
        The same for the true labels within the source.
    reverse_accuracy : float
        Accuracy on the source, averaged over its classes, of a plain classifier trained on the labelled target.
    cv_accuracy : float
        Share of labels that are repeated on documents not seen: learnability as an accuracy.
    tables : tuple of ndarray
        The counts behind these figures, labels by answers: within the target, within the source, and from
        target to source.
    even : Evidence or None
        The same on texts thinned to equal length, where source and target differ much in length.
    others : dict of str to Evidence
        The same in views of vectors.
    """

    learnability: float
    source_learnability: float
    reverse_accuracy: float
    cv_accuracy: float
    tables: tuple[np.ndarray, ...] = ()
    even: Evidence | None = None
    others: Mapping[str, Evidence] = field(default_factory=dict)

    @classmethod
    def from_tables(cls, target: np.ndarray, source: np.ndarray, back: np.ndarray) -> Evidence:
        repeated = np.trace(target, axis1=-2, axis2=-1) / np.maximum(1, target.sum(axis=(-2, -1)))
        cv_accuracy = float(repeated) if target.ndim == 2 else repeated
        return cls(information(target), information(source), class_accuracy(back), cv_accuracy, (target, source, back))

    @property
    def views(self) -> list[Evidence]:
        """Evidence in every view: words (at equal length), and vectors where there are some."""
        return [self.even or self, *self.others.values()]

    @property
    def learned(self) -> bool:
        """Whether the labels can be learned within the target in any view; True where no counts say otherwise."""
        return self._follows(0)

    @property
    def source_learned(self) -> bool:
        """The same for the source's labels."""
        return self._follows(1)

    @property
    def leads_back(self) -> bool:
        """Whether a classifier trained on the labels tells the source's classes apart in any view."""
        return self._follows(2)

    def _follows(self, table: int) -> bool:
        return not self.tables or any(beyond_chance(found.tables[table]) for found in (self, *self.others.values()))

    def redraw(self, rng: np.random.Generator, n_draws: int) -> Evidence:
        """The same evidence on random draws of as many documents, with replacement: each figure an array of draws.

        As it is without counts.
        """
        if not self.tables:
            return self
        drawn = [
            rng.multinomial(int(t.sum()), t.ravel() / max(1, t.sum()), size=n_draws).reshape(n_draws, *t.shape)
            for t in self.tables
        ]
        return replace(
            Evidence.from_tables(*drawn),
            even=None if self.even is None else self.even.redraw(rng, n_draws),
            others={name: found.redraw(rng, n_draws) for name, found in self.others.items()},
        )


def information(counts: np.ndarray) -> Any:
    """Mutual information of rows and columns as a share of the rows' entropy; 0 where all rows are one.

    Leading axes stack tables: then one figure per table.
    """
    counts = np.asarray(counts, dtype=float)
    joint = counts / np.maximum(1.0, counts.sum(axis=(-2, -1), keepdims=True))
    entropy, other = (-np.sum(xlogy(sums, sums), axis=-1) for sums in (joint.sum(axis=-1), joint.sum(axis=-2)))
    mutual = entropy + other + np.sum(xlogy(joint, joint), axis=(-2, -1))
    share = np.clip(np.divide(mutual, entropy, out=np.zeros_like(mutual), where=entropy > 0), 0.0, 1.0)
    return float(share) if counts.ndim == 2 else share


def beyond_chance(counts: np.ndarray) -> bool:
    """Whether answers follow labels more than chance would have it, or repeat more of them.

    The first by a likelihood-ratio test. With many classes and few documents it sees next to nothing, as every pair of
    a label and an answer counts for itself: so the repeated labels are also compared with those that rows and columns
    of these sizes share by chance (binomial test).
    """
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    freedom = (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1)
    if freedom < 1:
        return False
    shares = rows[rows > 0] / rows.sum()
    statistic = 2 * rows.sum() * information(counts) * -float(np.sum(shares * np.log(shares)))
    if chdtrc(freedom, statistic) < CHANCE:
        return True
    n = rows.sum()
    return bool(bdtrc(np.trace(counts) - 1, n, float(rows @ columns) / n**2) < CHANCE)


def class_accuracy(counts: np.ndarray) -> Any:
    """Share of right answers, averaged over the rows that have any documents; tables may be stacked."""
    counts = np.asarray(counts, dtype=float)
    totals = counts.sum(axis=-1)
    right = np.diagonal(counts, axis1=-2, axis2=-1) / np.maximum(totals, 1.0)
    share = right.sum(axis=-1) / np.maximum((totals > 0).sum(axis=-1), 1)
    return float(share) if counts.ndim == 2 else share


class LabelScorer:
    """Puts the two questions to any labels of one pair of collections; rows are made once.

    Of texts that occur several times one is looked at: a copy would be learned by heart, not from its words.

    Parameters
    ----------
    source_texts, source_labels, target_texts : sequences
        Source texts without a label are left out by the caller.
    analyzer, min_df, language
        As for :class:`isthmus.features.TextVectorizer`.
    views : mapping of str to View, optional
        Vectors of all these texts; labels are judged in each of these views too.
    random_state : int or None
        For the sample of large collections.
    target_numbers : ndarray of int, optional
        Where the texts (and ``views``) are sorted by content already: number of each target text in the caller's order.
        Labels are then scored in that order.

    Examples
    --------
    >>> from isthmus.choose import LabelScorer
    >>> texts = [f"{word} {number}" for number in range(20) for word in ("staff", "price")]
    >>> scorer = LabelScorer(texts, ["staff", "price"] * 20, texts)
    >>> scorer.score(["staff", "price"] * 20).learnability
    1.0
    """

    def __init__(
        self,
        source_texts: Sequence[str],
        source_labels: Sequence,
        target_texts: Sequence[str],
        *,
        analyzer: str = "auto",
        min_df: int | str = "auto",
        language: str = "auto",
        views: Mapping[str, View] | None = None,
        random_state: int | None = 0,
        target_numbers: np.ndarray | None = None,
    ):
        # By content, so that neither samples nor folds, nor which of two equal texts is kept, follow the rows' order.
        labels = np.array([str(label) for label in source_labels], dtype=object)
        if target_numbers is None:
            source = content_order(source_texts, label_ranks(labels, np.ones(len(labels), bool)))
            target = content_order(target_texts)
        else:
            source = np.arange(len(source_texts))
            target = np.arange(len(target_texts))
        source = _distinct(source_texts, source)
        target = _distinct(target_texts, target)
        if min(len(source), len(target)) < FEWEST:
            raise DataError(
                f"{len(source)} different source and {len(target)} different target documents are too few to "
                f"judge labels by; {FEWEST} of each are needed.",
                code="no-rows",
            )
        rng = np.random.default_rng(random_state)
        self.source = source = draw_rows(source, SAMPLE, rng)
        target = draw_rows(target, SAMPLE, rng)
        self.target = target if target_numbers is None else target_numbers[target]
        self.source_labels = np.array([str(source_labels[i]) for i in source])
        sides = [source_texts[i] for i in source], [target_texts[i] for i in target]
        settings: dict[str, Any] = {"analyzer": analyzer, "min_df": min_df, "language": language}
        self.words = WordView(*sides, self.source_labels, **settings)
        even = even_lengths(*sides)
        uneven = even != sides
        self.even = WordView(*even, self.source_labels, **settings) if uneven else None
        self.others = {}
        for name, view in (views or {}).items():
            rows = view.source[source], view.target[target]
            if uneven and view.make is not None:
                rows = view.make(even[0]), view.make(even[1])
            self.others[name] = DenseView(rows[0], self.source_labels, rows[1])

    def without_groups_of(self, labels: np.ndarray, classes: Sequence) -> LabelScorer:
        """The same where documents labelled with some classes, which the source lacks, belong to no new group."""
        found = copy(self)
        found.novelty = self.novelty.without(np.isin(labels[self.target], classes))
        return found

    def bare(self) -> LabelScorer:
        """The same without its views of vectors, and without what was found in them."""
        found = object.__new__(LabelScorer)
        vars(found).update({name: vars(self)[name] for name in ("source", "target", "source_labels", "words", "even")})
        found.others = {}
        return found

    @cached_property
    def pair(self) -> Pair:
        """The two collections in one space."""
        view = self.others.get("vectors")
        vectors = None if view is None else (view.source.rows, view.target.rows)
        return compare_pair(self.words.source_rows, self.source_labels, self.words.target_rows, vectors=vectors)

    @cached_property
    def novelty(self) -> Novelty:
        """Groups of the target that belong to no class."""
        return find_novel_groups(self.pair, self.words.target_rows, self.words.vectorizer.get_feature_names_out())

    @cached_property
    def simulated_recall(self) -> dict[str, float] | None:
        """What the search for new groups finds where the truth is known: in the source."""
        names = self.words.vectorizer.get_feature_names_out()
        return simulate_on_source(self.words.source_rows, self.source_labels, names)

    @cached_property
    def space(self) -> DenseView:
        """The space of the pair as a view in which labels are judged."""
        return DenseView(self.pair.source, self.source_labels, self.pair.target)

    @cached_property
    def plain_labels(self) -> list[np.ndarray]:
        """Labels of the target by four plain methods: linear, naive Bayes, settled at the classes, ridge."""
        ridge = self.space.source.answer(self.source_labels, self.space.target.rows)
        return [*(self.pair.classes[codes] for codes in self.pair.plain_codes), ridge]

    def score(self, target_labels: Sequence | np.ndarray) -> Evidence:
        """Evidence about one label per target text."""
        labels = np.array([str(target_labels[i]) for i in self.target])
        return replace(
            Evidence.from_tables(*self.words.tables(labels)),
            even=None if self.even is None else Evidence.from_tables(*self.even.tables(labels)),
            others={name: Evidence.from_tables(*view.tables(labels)) for name, view in self.others.items()},
        )


class WordView(JudgedView):
    """The two questions by a linear SVM on tf-idf rows."""

    def __init__(self, source: list[str], target: list[str], source_labels: np.ndarray, **settings):
        self.vectorizer = TextVectorizer(weighting="tfidf", sublinear=True, **settings)
        rows = self.vectorizer.fit_transform([*source, *target])
        self.source_rows, self.target_rows = rows[: len(source)], rows[len(source) :]
        self.source_labels = source_labels
        codes = np.unique(source_labels, return_inverse=True)[1]
        counts = np.bincount(codes)
        # By a learner that has not seen the document. The guard and labelled words are compared with them, too.
        self.source_decisions: np.ndarray | None = None
        if len(counts) > 1 and counts.min() >= FOLDS:
            self.source_decisions = held_out_decisions(self.source_rows, codes)
            self.source_table = count_pairs(codes, _decided(self.source_decisions))
        else:  # a class is too small to be held out
            self.source_table = cross_validated(self.source_rows, codes)

    def held_out(self, target: np.ndarray) -> np.ndarray:
        return cross_validated(self.target_rows, target)

    def answer(self, target: np.ndarray) -> np.ndarray:
        return plain_learner().fit(self.target_rows, target).predict(self.source_rows)


def plain_learner() -> LinearSVC:
    return LinearSVC(C=0.5, random_state=0)


def cross_validated(rows, labels: np.ndarray) -> np.ndarray:
    codes = np.unique(labels, return_inverse=True)[1]
    usable = np.bincount(codes)[codes] >= FOLDS  # a class of one or two cannot be held out
    if len(np.unique(codes[usable])) < 2:
        return np.array([[len(codes)]])
    rows, codes = rows if usable.all() else rows[usable], np.unique(codes[usable], return_inverse=True)[1]
    return count_pairs(codes, _decided(held_out_decisions(rows, codes)))


def held_out_decisions(rows, codes: np.ndarray) -> np.ndarray:
    """Decision values by a learner that has not seen the document; one number each for two classes."""
    n_classes = int(codes.max()) + 1
    found = np.empty(len(codes) if n_classes == 2 else (len(codes), n_classes))
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(codes, codes):
        found[test] = plain_learner().fit(rows[train], codes[train]).decision_function(rows[test])
    return found


def _decided(decisions: np.ndarray) -> np.ndarray:
    return (decisions > 0).astype(np.int64) if decisions.ndim == 1 else decisions.argmax(axis=1)


def _distinct(texts: Sequence[str], order: np.ndarray) -> np.ndarray:
    first: dict[str, int] = {}
    for place in order.tolist():
        first.setdefault(texts[place], place)
    return np.array(list(first.values()), dtype=int)


def draw_rows(rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= size else rows[np.sort(rng.choice(len(rows), size, replace=False))]
