"""Fit the stages, the expected accuracy and the checks of a run in chunks, from a sample drawn by content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._math.confidence import LEAST, AccuracyEstimate, with_caution
from isthmus._math.content import content_keys
from isthmus.choose.candidates import Candidates, make_scorer
from isthmus.choose.decision import Decision
from isthmus.choose.evidence import LabelScorer
from isthmus.choose.model import LabelModel
from isthmus.choose.stages import label_shift, margin, temperature
from isthmus.choose.stages.apply import Batch, LabelShift, Temperature, find_power
from isthmus.choose.texts import TransferTexts
from isthmus.choose.trust import (
    assess,
    budget_caution,
    confidence_outside,
    estimate_accuracy,
    novel_names,
    plain_learners,
)
from isthmus.features.term_table import pack_texts
from isthmus.features.weights import weigh_tfidf
from isthmus.scale.chunks import Chunk, Job
from isthmus.scale.views import View, load_rows
from isthmus.shift.novelty import Novelty

STEPS = 10_000  # steps of confidence per unit: confidences are written with four digits


@dataclass
class Trust:
    """What the sample shows about the labels of a run.

    Attributes
    ----------
    expected : AccuracyEstimate
    caution, surest : float
        Log-odds by which confidences are lowered before an error budget is met, and the most that they count for.
    scorer : LabelScorer or None
        Source of the evidence; tells new groups apart.
    warnings : list of dict
    """

    expected: AccuracyEstimate
    caution: float
    surest: float
    scorer: LabelScorer | None
    warnings: list[dict]


def fit_stages(
    model: LabelModel,
    batch: Batch,
    source: tuple[list[str], list],
    target: list[str],
    candidates: Candidates | None,
    options: dict[str, Any],
    n_source: int,
) -> Trust:
    """Fit the stages that follow the pooled opinions, and append them to the model.

    Parameters
    ----------
    model : LabelModel
        Members that were fitted on everything, without stages.
    batch : Batch
        Their opinions about the sample of the target.
    source : (list of str, list)
        Texts and labels of the sample of the source.
    target : list of str
        Texts of the sample of the target.
    candidates : Candidates or None
        Methods that were tried on the sample; None where the caller named the method.
    options : dict
        How texts are read, for the evidence about a named method.
    n_source : int
        Labelled documents of the whole source.

    Returns
    -------
    Trust
    """
    # The model has no stages yet: these are the pooled opinions.
    proba, classes = model.apply(batch), model.classes_
    labels, source_labels = classes[proba.argmax(axis=1)], np.array(source[1], dtype=object)
    if candidates is None:
        scorer = make_scorer(TransferTexts.of(source[0], source_labels, target), options)
        expected = estimate_accuracy(scorer, labels, confidence_outside(scorer, proba))
        caution, surest = expected.caution, expected.surest_alone
        if expected.for_calibration is not None:
            power = find_power(proba[novel_names(scorer, target) == ""], expected.for_calibration)
            model.stages.append(Temperature(power))
    else:
        decision = Decision(candidates, model, batch, proba, classes, candidates.estimate(labels, proba))
        for stage in (temperature, label_shift, margin):
            stage.fit(decision)
        scorer, expected, proba, labels = candidates.scorer, decision.accuracy, decision.proba, decision.labels
        caution, surest = budget_caution(expected, n_source, single=False), 1.0
    followed = model.stage(LabelShift) is not None
    warnings = assess(scorer, source_labels, labels, proba, classes, followed=followed)
    sizes = f"{len(source_labels):,} documents of the source and {len(target):,} of the target"
    for row in warnings:
        if row["topic"] == "class shares":
            rest = "." if followed else "; the labels do not follow them."
            row["message"] += f" The shares are those of a sample, {sizes}{rest}"
    return Trust(expected, caution, surest, scorer, warnings)


@dataclass
class SampleClassifiers:
    """Classifiers of the sample's words: they find new groups and disputed labels in the documents of all chunks.

    Attributes
    ----------
    view : str
        Name of the vocabulary whose rows they read.
    columns : CSR matrix of shape (n_columns, n_words)
        Assigns the columns of the rows to the words of the sample.
    idf : ndarray of shape (n_words,)
    novelty : Novelty
    plain : list
        Fitted plain methods whose labels are compared with those of the run; empty for a vote.
    keys : ndarray
        Hashes of the sample's texts, sorted.
    plain_labels : ndarray of shape (n_keys, 4)
        Labels of the sample's texts by the four plain methods.
    """

    view: str
    columns: sp.csr_matrix
    idf: np.ndarray
    novelty: Novelty
    plain: list
    keys: np.ndarray
    plain_labels: np.ndarray

    @classmethod
    def of(cls, scorer: LabelScorer, view: View, texts: Sequence[str], *, compare: bool) -> SampleClassifiers:
        """Prepare the classifiers; ``compare`` adds the plain methods, whose labels are compared with the run's."""
        words = scorer.words.vectorizer
        own = view.column_of(pack_texts([str(name) for name in words.feature_names_]))
        # Words of the sample that are too rare in all documents have no column.
        known = np.flatnonzero(own >= 0)
        columns = sp.csr_matrix((np.ones(len(known)), (own[known], known)), (view.n_columns, len(own)))
        keys, plain_labels, plain = np.zeros(0, dtype=np.uint64), np.zeros((0, 0), dtype=str), []
        if compare:
            plain = [learner.fit(scorer.words.source_rows, scorer.source_labels) for learner in plain_learners()]
            keys, first = np.unique(content_keys([texts[row] for row in scorer.target]), return_index=True)
            plain_labels = np.array(scorer.plain_labels).T[first]
        return cls(view.name, columns, words.idf_, scorer.novelty, plain, keys, plain_labels)

    def examine(self, chunk: Chunk, job: Job, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the new group of each document of a chunk (-1 for none), and which labels a plain method disputes."""
        counts = load_rows(chunk, job, self.view, self.columns.shape[0]).matrix() @ self.columns
        rows, names = weigh_tfidf(counts, self.idf, sublinear=True), labels.astype(str)
        disputed = np.zeros(len(names), dtype=bool)
        # A label is disputed if one plain method gives another one.
        for learner in self.plain:
            disputed |= learner.predict(rows) != names
        if self.plain:  # all four methods have labelled the documents of the sample
            facts = job.store.load(f"facts/{chunk.number}")
            places = np.minimum(np.searchsorted(self.keys, facts["keys"]), len(self.keys) - 1)
            sampled = self.keys[places] == facts["keys"]
            drawn = facts["drawn"][sampled]
            disputed[drawn] = (self.plain_labels[places[sampled]] != names[drawn, None]).any(axis=1)
        return self.novelty.assign(rows), disputed


def review_limits(
    passable: np.ndarray, n_documents: int, budget: float, caution: float = 0.0, surest: float = 1.0
) -> np.ndarray:
    """Return the steps of confidence below which documents are reviewed, so that the file meets the error budget.

    The result equals ``review_mask`` in memory: documents are accepted from the most confident down, disputed ones last
    and counted as wrong; documents of equal confidence are accepted together.

    Parameters
    ----------
    passable : ndarray of shape (2, STEPS + 1)
        Undisputed and disputed documents at each step, without those that are read in any case.
    n_documents : int
        All documents of the target.
    budget : float
        Share of wrong labels that is allowed in the finished file.
    caution, surest : float
        As in :class:`Trust`.

    Returns
    -------
    ndarray of shape (2,)
        Limits of undisputed and of disputed documents.
    """
    steps = np.arange(STEPS, -1, -1)
    doubts = STEPS - np.rint(STEPS * with_caution(steps / STEPS, caution, surest)).astype(np.int64)
    doubts = np.concatenate([doubts, np.full(STEPS + 1, STEPS)])
    documents = passable[:, ::-1].ravel()
    within = np.cumsum(documents * doubts) <= (budget + 1e-12) * STEPS * n_documents  # integers: sums are exact
    if budget < 1:
        within &= doubts <= (1 - LEAST) * STEPS
    last = np.flatnonzero(within & (documents > 0))
    limits = np.full(2, STEPS + 1)
    if len(last):
        # The last step within the budget; all undisputed documents pass before a disputed one does.
        kind, place = divmod(int(last[-1]), STEPS + 1)
        limits[kind] = steps[place]
        limits[:kind] = 0
    return limits
