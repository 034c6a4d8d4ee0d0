"""Collect evidence about labels of the target, without a single true label.

A linear classifier on tf-idf rows answers two questions about any set of labels:

* *Learnability*: a classifier is trained on one part of the labelled target. How much of the labels does it repeat on
the rest? Labels that follow the classes should be about as learnable as the true labels in the source.
Much less learnable labels are noisy. Much more learnable labels follow another, easier division of the target (for
example its subjects instead of its verdicts).
* *Reverse accuracy*: a classifier is trained on the labelled target. How well does it label the source? (Reverse
validation.)

Learnability is measured as information, not as accuracy: if nearly all labels are one class, they are repeated with
high accuracy and contain hardly any information. For the same reason, reverse accuracy is averaged over classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import bdtrc, chdtrc, xlogy
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from isthmus._math.confidence import clipped_logit
from isthmus._math.content import content_order, label_ranks
from isthmus._math.fitted import fitted
from isthmus.choose.views import DenseView, JudgedView, View, count_pairs, even_lengths
from isthmus.exceptions import DataError
from isthmus.features.vectorizer import TextVectorizer
from isthmus.shift.novelty import (
    Novelty,
    Pair,
    compare_pair,
    find_novel_groups,
    shows_its_worth,
    simulate_on_source,
)

# Fitted constants; ``choose/trust.json`` states their units and origin.
EVIDENCE = fitted("evidence")
NOVELTY = fitted("novelty")

SAMPLE = 2_000  # documents of each side that are evaluated; larger sides are sampled
FOLDS = 3  # folds of the cross-validation
DRAWS = 200  # resamplings from which the spread of a score is computed


@dataclass(frozen=True)
class Evidence:
    """Evidence about one method's labels for the target.

    Attributes
    ----------
    learnability : float
        Share of the labels' information that a linear classifier repeats on held-out documents.
    source_learnability : float
        The same share for the true labels of the source.
    reverse_accuracy : float
        Accuracy on the source, averaged over its classes, of a linear classifier trained on the labelled target.
    cv_accuracy : float
        Share of labels that are repeated on held-out documents: learnability as an accuracy.
    tables : tuple of ndarray
        The counts behind these figures, labels × predictions: within the target, within the source, and from target to
        source.
    even : Evidence or None
        The same evidence on texts thinned to equal length, if source and target differ much in length.
    others : dict of str to Evidence
        Evidence from the embedding views.
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
        """Compute the figures from the three tables of counts.

        Parameters
        ----------
        target, source, back : ndarray of shape (..., n_classes, n_classes)
            Labels × predictions within the target, within the source, and from target to source.

        Returns
        -------
        Evidence
        """
        repeated = np.trace(target, axis1=-2, axis2=-1) / np.maximum(1, target.sum(axis=(-2, -1)))
        cv_accuracy = float(repeated) if target.ndim == 2 else repeated
        return cls(information(target), information(source), class_accuracy(back), cv_accuracy, (target, source, back))

    @property
    def source_log_odds(self) -> float:
        """Log-odds that a held-out document of the source gets its label; 0 without counts."""
        if not self.tables:
            return 0.0
        return float(clipped_logit(np.trace(self.tables[1]) / max(1, self.tables[1].sum())))

    def strongest(self, far: float) -> Evidence:
        """Return the evidence by vectors if they separate the source's classes far better than words, else by words.

        Parameters
        ----------
        far : float
            Log-odds; smallest advantage of the vectors.

        Returns
        -------
        Evidence
        """
        vectors = self.others.get("vectors")
        return self if vectors is None or vectors.source_log_odds <= self.source_log_odds + far else vectors

    @property
    def views(self) -> list[Evidence]:
        """Evidence in every view: words (at equal length), and vectors if available."""
        return [self.even or self, *self.others.values()]

    @property
    def learned(self) -> bool:
        """Whether the labels can be learned within the target in any view; True without counts."""
        return self._follows(0)

    @property
    def source_learned(self) -> bool:
        """Whether the source's labels can be learned within the source in any view; True without counts."""
        return self._follows(1)

    @property
    def leads_back(self) -> bool:
        """Whether a classifier trained on the labels distinguishes the source's classes; True without counts."""
        return self._follows(2)

    def _follows(self, table: int) -> bool:
        return not self.tables or any(beyond_chance(found.tables[table]) for found in (self, *self.others.values()))

    def redraw(self, rng: np.random.Generator, n_draws: int) -> Evidence:
        """Return the same evidence on random draws of as many documents, with replacement.

        Parameters
        ----------
        rng : numpy.random.Generator
        n_draws : int

        Returns
        -------
        Evidence
            Each figure is an array of shape (n_draws,). Evidence without counts is returned unchanged.
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
    """Return the mutual information of rows and columns as a share of the rows' entropy.

    Parameters
    ----------
    counts : ndarray of shape (..., n_labels, n_predictions)

    Returns
    -------
    float or ndarray
        One figure per table; 0 if all documents are in one row.
    """
    counts = np.asarray(counts, dtype=float)
    joint = counts / np.maximum(1.0, counts.sum(axis=(-2, -1), keepdims=True))
    entropy, other = (-np.sum(xlogy(sums, sums), axis=-1) for sums in (joint.sum(axis=-1), joint.sum(axis=-2)))
    mutual = entropy + other + np.sum(xlogy(joint, joint), axis=(-2, -1))
    share = np.clip(np.divide(mutual, entropy, out=np.zeros_like(mutual), where=entropy > 0), 0.0, 1.0)
    return float(share) if counts.ndim == 2 else share


def beyond_chance(counts: np.ndarray) -> bool:
    """Decide whether predictions depend on labels, or repeat more of them, than chance would explain.

    The first test is a likelihood-ratio test. With many classes and few documents it has little power, because it has a
    degree of freedom for every pair of a label and a prediction. A binomial test therefore compares the number of
    repeated labels with the number expected by chance for rows and columns of these sizes.

    Parameters
    ----------
    counts : ndarray of shape (n_labels, n_predictions)

    Returns
    -------
    bool
    """
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    freedom = (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1)
    if freedom < 1:
        return False
    shares = rows[rows > 0] / rows.sum()
    # The statistic of the likelihood-ratio test is 2n times the mutual information.
    statistic = 2 * rows.sum() * information(counts) * -float(np.sum(shares * np.log(shares)))
    if chdtrc(freedom, statistic) < EVIDENCE["chance"]:
        return True
    n = rows.sum()
    return bool(bdtrc(np.trace(counts) - 1, n, float(rows @ columns) / n**2) < EVIDENCE["chance"])


def class_accuracy(counts: np.ndarray) -> Any:
    """Return the share of right predictions, averaged over the rows that contain documents.

    Parameters
    ----------
    counts : ndarray of shape (..., n_classes, n_classes)

    Returns
    -------
    float or ndarray
        One figure per table.
    """
    counts = np.asarray(counts, dtype=float)
    totals = counts.sum(axis=-1)
    right = np.diagonal(counts, axis1=-2, axis2=-1) / np.maximum(totals, 1.0)
    share = right.sum(axis=-1) / np.maximum((totals > 0).sum(axis=-1), 1)
    return float(share) if counts.ndim == 2 else share


class LabelScorer:
    """Compute the evidence about any labels of one pair of collections.

    The rows are computed once. Of texts that occur several times only one is used, because a classifier would learn a
    copy by heart, not from its words.

    Parameters
    ----------
    source_texts, source_labels, target_texts : sequences
        Every source text has a label.
    analyzer, min_df, language
        See :class:`isthmus.features.TextVectorizer`.
    views : mapping of str to View, optional
        Vectors of all these texts; labels are also judged in each of these views.
    random_state : int or None
        Seed of the samples of large collections.
    target_numbers : ndarray of int, optional
        For texts (and ``views``) that are sorted by content already: the number of each target text in the caller's
        order. Labels are then given in the caller's order.

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
        # Rows are sorted by content, so that samples, folds and the choice between equal texts do not depend on the
        # caller's order.
        labels = np.array([str(label) for label in source_labels], dtype=object)
        if target_numbers is None:
            source = content_order(source_texts, label_ranks(labels, np.ones(len(labels), bool)))
            target = content_order(target_texts)
        else:
            source = np.arange(len(source_texts))
            target = np.arange(len(target_texts))
        source = _distinct(source_texts, source)
        target = _distinct(target_texts, target)
        if min(len(source), len(target)) < EVIDENCE["fewest"]:
            raise DataError(
                f"{len(source)} different source and {len(target)} different target documents are too few to "
                f"judge labels by; {EVIDENCE['fewest']} of each are needed.",
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
        # Long texts are easier to learn than short texts, so evidence is also computed at equal length.
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
        """Return a scorer whose new groups exclude documents that are labelled with some classes.

        Parameters
        ----------
        labels : ndarray of shape (n_target,)
        classes : sequence
            Classes that the source lacks.

        Returns
        -------
        LabelScorer
        """
        found = copy(self)
        found.novelty = self.novelty.without(np.isin(labels[self.target], classes))
        return found

    def bare(self) -> LabelScorer:
        """Return a scorer without the views of vectors, and without results that were computed from them.

        Returns
        -------
        LabelScorer
        """
        found = object.__new__(LabelScorer)
        vars(found).update({name: vars(self)[name] for name in ("source", "target", "source_labels", "words", "even")})
        found.others = {}
        return found

    @cached_property
    def pair(self) -> Pair:
        """Both collections in one space."""
        view = self.others.get("vectors")
        vectors = None if view is None else (view.source.rows, view.target.rows)
        return compare_pair(self.words.source_rows, self.source_labels, self.words.target_rows, vectors=vectors)

    @cached_property
    def novelty(self) -> Novelty:
        """Groups of the target that belong to no class.

        A few source documents do not show what belongs to a class. With fewer than ``NOVELTY["unproven"]`` documents,
        there are no groups unless the search was reliable on the source.
        """
        found = find_novel_groups(self.pair, self.words.target_rows, self.words.vectorizer.get_feature_names_out())
        few = len(self.source_labels) < NOVELTY["unproven"]
        if found.groups and few and not shows_its_worth(self.simulated_recall):
            return Novelty([], np.full(len(found.membership), -1))
        return found

    @cached_property
    def simulated_recall(self) -> dict[str, float] | None:
        """Result of the search for new groups in the source, where the truth is known."""
        names = self.words.vectorizer.get_feature_names_out()
        return simulate_on_source(self.words.source_rows, self.source_labels, names)

    @cached_property
    def space(self) -> DenseView:
        """The space of the pair as a view in which labels are judged."""
        return DenseView(self.pair.source, self.source_labels, self.pair.target)

    @cached_property
    def plain_labels(self) -> list[np.ndarray]:
        """Labels of the target by four simple methods: linear, naive Bayes, clustering around the classes, ridge."""
        ridge = self.space.source.answer(self.source_labels, self.space.target.rows)
        return [*(self.pair.classes[codes] for codes in self.pair.plain_codes), ridge]

    def score(self, target_labels: Sequence | np.ndarray) -> Evidence:
        """Compute the evidence about labels.

        Parameters
        ----------
        target_labels : sequence
            One label per target text.

        Returns
        -------
        Evidence
        """
        labels = np.array([str(target_labels[i]) for i in self.target])
        return replace(
            Evidence.from_tables(*self.words.tables(labels)),
            even=None if self.even is None else Evidence.from_tables(*self.even.tables(labels)),
            others={name: Evidence.from_tables(*view.tables(labels)) for name, view in self.others.items()},
        )


class WordView(JudgedView):
    """Judge labels by a linear SVM on tf-idf rows."""

    def __init__(self, source: list[str], target: list[str], source_labels: np.ndarray, **settings):
        self.vectorizer = TextVectorizer(weighting="tfidf", sublinear=True, **settings)
        rows = self.vectorizer.fit_transform([*source, *target])
        self.source_rows, self.target_rows = rows[: len(source)], rows[len(source) :]
        self.source_labels = source_labels
        codes = np.unique(source_labels, return_inverse=True)[1]
        counts = np.bincount(codes)
        # Out-of-fold decisions; the comparison of the vote with source-only and the labelled words use them, too.
        self.source_decisions: np.ndarray | None = None
        if len(counts) > 1 and counts.min() >= FOLDS:
            self.source_decisions = held_out_decisions(self.source_rows, codes)
            self.source_table = count_pairs(codes, _decided(self.source_decisions))
        else:  # a class is too small to be held out
            self.source_table = cross_validated(self.source_rows, codes)

    def held_out(self, target: np.ndarray) -> np.ndarray:
        """Count the target's labels by the out-of-fold predictions of a linear SVM.

        Parameters
        ----------
        target : ndarray of shape (n_target,)

        Returns
        -------
        ndarray of shape (n_classes, n_classes)
        """
        return cross_validated(self.target_rows, target)

    def answer(self, target: np.ndarray) -> np.ndarray:
        """Predict the source's labels with a linear SVM trained on the labelled target.

        Parameters
        ----------
        target : ndarray of shape (n_target,)

        Returns
        -------
        ndarray of shape (n_source,)
        """
        rows, learner = self.target_rows, plain_learner()
        # scikit-learn warns if most labels are different. Two copies of each row with half the weight give the same
        # model without the warning.
        if 2 * len(np.unique(target)) > len(target):
            rows, target = sp.vstack([rows, rows], format="csr"), np.concatenate([target, target])
            learner.set_params(C=learner.C / 2)
        return learner.fit(rows, target).predict(self.source_rows)


def plain_learner() -> LinearSVC:
    """Return the linear classifier that judges labels.

    Returns
    -------
    LinearSVC
    """
    return LinearSVC(C=0.5, random_state=0)


def cross_validated(rows, labels: np.ndarray) -> np.ndarray:
    """Count labels by out-of-fold predictions.

    Parameters
    ----------
    rows : CSR matrix of shape (n_documents, n_words)
    labels : ndarray of shape (n_documents,)

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        One cell if fewer than two classes have enough documents.
    """
    codes = np.unique(labels, return_inverse=True)[1]
    usable = np.bincount(codes)[codes] >= FOLDS  # a class of one or two documents cannot be held out
    # One cell counts as not learnable in beyond_chance.
    if len(np.unique(codes[usable])) < 2:
        return np.array([[len(codes)]])
    rows, codes = rows if usable.all() else rows[usable], np.unique(codes[usable], return_inverse=True)[1]
    return count_pairs(codes, _decided(held_out_decisions(rows, codes)))


def held_out_decisions(rows, codes: np.ndarray) -> np.ndarray:
    """Return out-of-fold decision values.

    Parameters
    ----------
    rows : CSR matrix of shape (n_documents, n_words)
    codes : ndarray of int, shape (n_documents,)

    Returns
    -------
    ndarray of shape (n_documents,) or (n_documents, n_classes)
        One value per document for two classes.
    """
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
    """Sample at most ``size`` rows; their order does not change.

    Parameters
    ----------
    rows : ndarray of int
    size : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int
    """
    return rows if len(rows) <= size else rows[np.sort(rng.choice(len(rows), size, replace=False))]
