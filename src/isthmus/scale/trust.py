"""Evidence, expectation, new groups and calibration of a large run, from a sample drawn by content."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isthmus._math.confidence import AccuracyEstimate, sharpen, with_caution
from isthmus.base import softmax
from isthmus.choose.choice import make_scorer, share_factors
from isthmus.choose.combined import sharpness_for, to_shares
from isthmus.choose.evidence import LabelScorer
from isthmus.choose.texts import TransferTexts
from isthmus.choose.trust import assess, confidence_outside, estimate_accuracy, moved_to, novel_names
from isthmus.features.block_kernels import best_by_weights
from isthmus.features.term_table import pack_texts
from isthmus.features.vectorizer import TextVectorizer
from isthmus.scale.pieces import Job, Piece
from isthmus.scale.reading import Reading
from isthmus.scale.views import View, load_rows

STEPS = 10_000  # confidences are written with four digits


@dataclass
class Trust:
    """How far the labels of a large run can be trusted."""

    expected: AccuracyEstimate
    power: float = 1.0  # to which probabilities are raised, so that the sample's mean confidence is what is expected
    offsets: np.ndarray | None = None  # added to the scores of the classes, where labels follow shares that moved
    judge: LabelScorer | None = None  # the sample's scorer; tells new groups apart
    novel: list[dict] = field(default_factory=list)  # as of :class:`isthmus.api.label.LabelResult`
    warnings: list[dict] = field(default_factory=list)

    def moved(self, scores: np.ndarray) -> np.ndarray:
        """Scores brought to the target's shares."""
        return scores if self.offsets is None else scores + self.offsets

    def __getstate__(self) -> dict:
        return {**self.__dict__, "judge": None}  # it holds the sample, which workers do not need


@dataclass
class GroupModel:
    """Tells the documents of new groups by their terms, as the learner that the sample's groups were confirmed by.

    It reads rows that the run has kept, so that texts are not read again.
    """

    rows: tuple[str, int]
    column: np.ndarray  # of the sample's vocabulary, for each column of the rows; -1 for none
    idf: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    places: np.ndarray  # number of the group of each score, -1 for a class

    def groups(self, piece: Piece, job: Job) -> np.ndarray:
        """Number of the new group of each document of a piece, -1 for none."""
        block = load_rows(piece, job, *self.rows)
        arrays = block.indptr, block.indices, block.counts
        return self.places[best_by_weights(*arrays, self.column, self.idf, self.weights, self.bias)]


def group_view(trust: Trust, *, segment: bool) -> View:
    """The words of the sample, by which its new groups are told."""
    assert trust.judge is not None
    words = trust.judge.words.vectorizer
    reading = Reading(words.analyzer_, tuple(words.languages_), segment=segment)
    names = [str(name) for name in words.feature_names_]
    return View(reading, names, np.zeros(len(names), dtype=np.int64), 0)


def group_model(trust: Trust, view: View) -> GroupModel:
    """The learner of the sample's new groups for rows of another vocabulary."""
    assert trust.judge is not None
    words: TextVectorizer = trust.judge.words.vectorizer
    novelty = trust.judge.novelty
    assert novelty.learner is not None
    own = view.column_of(pack_texts([str(name) for name in words.feature_names_]))
    known = np.flatnonzero(own >= 0)
    column = np.full(view.n_columns, -1, dtype=np.int32)
    column[own[known]] = known
    weights, bias = novelty.learner.coef_.T, novelty.learner.intercept_
    if len(bias) == 1:  # of two places scikit-learn scores the second
        weights, bias = np.hstack([-weights, weights]), np.concatenate([-bias, bias])
    places = novelty.learner.classes_ - novelty.n_classes
    return GroupModel(
        (view.name, view.n_columns),
        column,
        words.idf_,
        np.ascontiguousarray(weights),
        bias,
        np.where(places >= 0, places, -1).astype(np.int16),
    )


def weigh_sample(
    source: tuple[list[str], list[Any]],
    target: list[str],
    scores: np.ndarray,
    classes: np.ndarray,
    *,
    options: dict[str, Any],
    follow: bool = False,
) -> Trust:
    """What the sample says about a model fitted on everything: ``scores`` are its scores of the target's sample.

    ``follow``: labels are brought to shares that moved, where the estimates of these agree; as in memory, a vote is
    and a method that was named is not.
    """
    probabilities = softmax(scores)
    labels = classes[probabilities.argmax(axis=1)]
    texts = TransferTexts.of(source[0], np.array(source[1], dtype=object), target)
    judge = make_scorer(texts, options)
    expected = estimate_accuracy(judge, labels, confidence_outside(judge, probabilities))
    power, factors = 1.0, None
    if expected.for_calibration is not None:
        outside = novel_names(judge, target) == ""
        power = sharpness_for(probabilities[outside], expected.for_calibration)
        raised = sharpen(probabilities, power)
        if follow:
            factors = share_factors(judge, raised[outside], labels[outside], classes)
        if factors is not None:
            probabilities = to_shares(raised, factors)
            labels = classes[probabilities.argmax(axis=1)]
            expected = moved_to(expected, float(probabilities[outside].max(axis=1).mean()))
    found = assess(judge, expected, texts.given_labels, labels, probabilities, classes, followed=factors is not None)
    for row in found.warnings:
        if row["topic"] == "class shares":
            row["message"] += _shares_by(len(source[0]), len(target), factors is not None)
    novel = [group.to_dict() for group in found.novelty.groups] if found.novelty else []
    offsets = None if factors is None else np.log(np.maximum(factors, 1e-300)) / power
    return Trust(expected, power, offsets, judge, novel, found.warnings)


def _shares_by(n_source: int, n_target: int, followed: bool) -> str:
    said = f" The shares are those of a sample, {n_source:,} documents of the source and {n_target:,} of the target"
    return said + ("." if followed else "; the labels do not follow them.")


def review_limit(counts: np.ndarray, budget: float, expected: AccuracyEstimate | None = None) -> int:
    """Step of confidence below which documents are reviewed, so that the others keep within the budget.

    ``counts`` has the number of documents at each of the confidences 0, 0.0001, …, 1, as at the low end of an accuracy
    that is ``expected``. Documents of one confidence are accepted together or not at all.

    >>> counts = np.zeros(10_001, dtype=np.int64)
    >>> counts[[9_900, 9_500, 6_000, 5_000]] = 1
    >>> review_limit(counts, 0.16)
    6000
    """
    steps = np.arange(len(counts))[::-1]
    accepted = np.cumsum(counts[::-1])
    doubts = STEPS - steps
    if expected is not None and expected.estimate is not None:
        cautious_confidence = with_caution(steps / STEPS, expected.caution, expected.surest_alone)
        doubts = STEPS - np.rint(STEPS * cautious_confidence).astype(np.int64)
    doubt = np.cumsum(counts[::-1] * doubts)  # integers: sums are exact
    within = (doubt <= (budget + 1e-12) * STEPS * accepted) & (counts[::-1] > 0)
    return int(steps[np.flatnonzero(within)[-1]]) if within.any() else STEPS + 1
