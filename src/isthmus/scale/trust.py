"""Evidence, expectation, new groups and calibration of a large run, from a sample drawn by content."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isthmus._math.confidence import AccuracyEstimate, sharpen, with_caution
from isthmus._math.content import content_keys
from isthmus.base import softmax
from isthmus.choose.candidates import Candidates, make_scorer
from isthmus.choose.evidence import LabelScorer
from isthmus.choose.stages.apply import confidence_from_margin, find_power, find_shift, reweight_classes
from isthmus.choose.stages.label_shift import class_factors
from isthmus.choose.texts import TransferTexts
from isthmus.choose.trust import (
    assess,
    budget_caution,
    confidence_outside,
    estimate_accuracy,
    moved_to,
    novel_names,
    outside_groups,
    plain_learners,
)
from isthmus.features.block_kernels import best_by_weights
from isthmus.features.term_table import pack_texts
from isthmus.features.vectorizer import TextVectorizer
from isthmus.scale.chunks import Chunk, Job
from isthmus.scale.reading import Reading
from isthmus.scale.views import View, load_rows

STEPS = 10_000  # confidences are written with four digits


@dataclass
class Trust:
    expected: AccuracyEstimate
    power: float = 1.0  # to which probabilities are raised, so that the sample's mean confidence is what is expected
    offsets: np.ndarray | None = None  # added to the scores of the classes, where labels follow shares that moved
    shift: float | None = None  # of how sure a vote's labels are; see ``choose.stages.apply.confidence_from_margin``
    caution: float = 0.0  # by which confidences are lowered before a budget is kept, in log-odds …
    surest: float = 1.0  # … and what they count for at most
    judge: LabelScorer | None = None  # the sample's scorer; tells new groups apart
    novel: list[dict] = field(default_factory=list)  # as of :class:`isthmus.api.result.LabelResult`
    warnings: list[dict] = field(default_factory=list)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities at the accuracy to expect, brought to the target's shares."""
        moved = scores if self.offsets is None else scores + self.offsets
        return confidence_from_margin(softmax(self.power * moved), self.shift)

    def __getstate__(self) -> dict:
        return {**self.__dict__, "judge": None}  # it holds the sample, which workers do not need


@dataclass
class SampleLearner:
    """A linear learner of the sample's words; it reads rows that the run has kept, not texts."""

    rows: tuple[str, int]
    column: np.ndarray  # of the sample's vocabulary, for each column of the rows; -1 for none
    idf: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    places: np.ndarray  # what each score stands for: the number of a class or of a new group, -1 for neither

    def best(self, chunk: Chunk, job: Job) -> np.ndarray:
        block = load_rows(chunk, job, *self.rows)
        arrays = block.indptr, block.indices, block.counts
        return self.places[best_by_weights(*arrays, self.column, self.idf, self.weights, self.bias)]


@dataclass
class PlainLabels:
    """What two plain methods say about every document, and four about those of the sample; see ``choose.trust``."""

    learners: list[SampleLearner]
    keys: np.ndarray  # hashes of the sample's texts, sorted
    codes: np.ndarray  # the class that each of the four gives them

    def dispute(self, chunk: Chunk, job: Job, labels: np.ndarray) -> np.ndarray:
        """Documents of a chunk whose label one of them contradicts."""
        found = np.any([learner.best(chunk, job) != labels for learner in self.learners], axis=0)
        facts = job.store.load(f"facts/{chunk.number}")
        places = np.minimum(np.searchsorted(self.keys, facts["keys"]), len(self.keys) - 1)
        sampled = self.keys[places] == facts["keys"]
        rows = facts["drawn"][sampled]
        found[rows] = (self.codes[places[sampled]] != labels[rows, None]).any(axis=1)
        return found


def sample_view(trust: Trust, *, segment: bool) -> View:
    """The words of the sample, by which its learners tell documents."""
    assert trust.judge is not None
    words = trust.judge.words.vectorizer
    reading = Reading(words.analyzer_, tuple(words.languages_), segment=segment)
    names = [str(name) for name in words.feature_names_]
    return View(reading, names, np.zeros(len(names), dtype=np.int64), 0)


def group_learner(trust: Trust, view: View) -> SampleLearner:
    assert trust.judge is not None
    novelty = trust.judge.novelty
    assert novelty.learner is not None
    places = novelty.learner.classes_ - novelty.n_classes
    return _sample_learner(trust, view, novelty.learner, np.where(places >= 0, places, -1))


def plain_labels(trust: Trust, view: View, texts: list[str], classes: np.ndarray) -> PlainLabels:
    """Labels of the plain methods for documents beyond the sample, and for its ``texts``."""
    judge = trust.judge
    assert judge is not None
    learners = []
    for learner in plain_learners():
        learner.fit(judge.words.source_rows, judge.source_labels)
        learners.append(_sample_learner(trust, view, learner, np.searchsorted(classes, learner.classes_)))
    keys, first = np.unique(content_keys([texts[row] for row in judge.target]), return_index=True)
    codes = np.array([np.searchsorted(classes, said) for said in judge.plain_labels], dtype=np.int32)
    return PlainLabels(learners, keys, codes.T[first])


def _sample_learner(trust: Trust, view: View, learner: Any, places: np.ndarray) -> SampleLearner:
    assert trust.judge is not None
    words: TextVectorizer = trust.judge.words.vectorizer
    own = view.column_of(pack_texts([str(name) for name in words.feature_names_]))
    known = np.flatnonzero(own >= 0)
    column = np.full(view.n_columns, -1, dtype=np.int32)
    column[own[known]] = known
    weights, bias = linear_scores(learner)
    return SampleLearner(
        (view.name, view.n_columns), column, words.idf_, np.ascontiguousarray(weights), bias, places.astype(np.int32)
    )


def linear_scores(learner: Any) -> tuple[np.ndarray, np.ndarray]:
    """Weights (terms × places) and bias of a linear classifier or of naive Bayes."""
    if not hasattr(learner, "coef_"):
        return learner.feature_log_prob_.T, np.zeros(len(learner.classes_))
    weights, bias = learner.coef_.T, learner.intercept_
    if len(bias) == 1:  # of two places scikit-learn scores the second
        weights, bias = np.hstack([-weights, weights]), np.concatenate([-bias, bias])
    return weights, bias


@dataclass
class Sample:
    """Documents of both sides, drawn by content, and the names of all classes."""

    texts: list[str]
    labels: list[Any]
    target: list[str]
    classes: np.ndarray


def weigh_method(sample: Sample, scores: np.ndarray, options: dict[str, Any]) -> Trust:
    probabilities = softmax(scores)
    labels = sample.classes[probabilities.argmax(axis=1)]
    texts = TransferTexts.of(sample.texts, np.array(sample.labels, dtype=object), sample.target)
    judge = make_scorer(texts, options)
    expected = estimate_accuracy(judge, labels, confidence_outside(judge, probabilities))
    trust = Trust(expected, judge=judge, caution=expected.caution, surest=expected.surest_alone)
    if expected.for_calibration is not None:
        trust.power = find_power(probabilities[novel_names(judge, sample.target) == ""], expected.for_calibration)
    return _assessed(trust, sample, labels, probabilities)


def weigh_vote(sample: Sample, scores: np.ndarray, candidates: Candidates, n_source: int) -> Trust:
    """What the sample says about a vote of methods fitted on everything, as ``choose.choice.decide`` in memory.

    ``candidates`` were tried on the sample; ``n_source``: labelled documents of the source.
    """
    classes = sample.classes
    probabilities = softmax(scores)
    labels = classes[probabilities.argmax(axis=1)]
    judge = candidates.scorer
    trust = Trust(candidates.estimate(labels, probabilities), judge=judge)
    if trust.expected.for_calibration is not None:
        outside = outside_groups(judge, len(labels))
        trust.power = find_power(probabilities[outside], trust.expected.for_calibration)
        probabilities = sharpen(probabilities, trust.power)
        factors = class_factors(judge, probabilities[outside], labels[outside], classes)
        if factors is not None:
            trust.offsets = np.log(np.maximum(factors, 1e-300)) / trust.power
            probabilities = reweight_classes(probabilities, factors)
            labels = classes[probabilities.argmax(axis=1)]
            sure = float(probabilities[outside].max(axis=1).mean())
            trust.expected = moved_to(trust.expected, sure, len(classes))
        assert trust.expected.for_calibration is not None
        trust.shift = find_shift(probabilities[outside], trust.expected.for_calibration)
        probabilities = confidence_from_margin(probabilities, trust.shift)
    trust.caution = budget_caution(trust.expected, n_source, single=False)
    return _assessed(trust, sample, labels, probabilities)


def _assessed(trust: Trust, sample: Sample, labels: np.ndarray, probabilities: np.ndarray) -> Trust:
    followed = trust.offsets is not None
    known = np.array(sample.labels, dtype=object)
    warnings = assess(trust.judge, known, labels, probabilities, sample.classes, followed=followed)
    sizes = f"{len(sample.texts):,} documents of the source and {len(sample.target):,} of the target"
    rest = "." if followed else "; the labels do not follow them."
    for row in warnings:
        if row["topic"] == "class shares":
            row["message"] += f" The shares are those of a sample, {sizes}{rest}"
    trust.novel = [] if trust.judge is None else [group.to_dict() for group in trust.judge.novelty.groups]
    trust.warnings = warnings
    return trust


def review_limits(counts: np.ndarray, budget: float, caution: float = 0.0, surest: float = 1.0) -> np.ndarray:
    """Steps of confidence below which documents are reviewed, so that the others keep within the budget.

    As ``review_mask`` in memory: documents are accepted from the surest down, those in dispute last and as wrong; those
    of one confidence together or not at all. ``counts``: documents at each step, undisputed and disputed.
    """
    steps = np.arange(STEPS, -1, -1)
    doubts = STEPS - np.rint(STEPS * with_caution(steps / STEPS, caution, surest)).astype(np.int64)
    doubts = np.concatenate([doubts, np.full(STEPS + 1, STEPS)])
    documents = counts[:, ::-1].ravel()
    accepted = np.cumsum(documents)
    within = np.cumsum(documents * doubts) <= (budget + 1e-12) * STEPS * accepted  # integers: sums are exact
    last = np.flatnonzero(within & (documents > 0))
    limits = np.full(2, STEPS + 1)
    if len(last):
        kind, place = divmod(int(last[-1]), STEPS + 1)
        limits[kind] = steps[place]
        limits[:kind] = 0
    return limits
