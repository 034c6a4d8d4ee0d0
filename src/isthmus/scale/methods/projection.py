"""Term projection, adapted to all of the target: sums per term and class, and histograms of margins in between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._math.calibration import fit_temperature
from isthmus._math.chi2 import TermStatistics, count_terms
from isthmus.classify.projection.classifier import TEMPERATURES, TermProjectionClassifier, class_shares
from isthmus.features.projection import Projection
from isthmus.scale._kernels import class_sums, histogram, leading_shares
from isthmus.scale.methods.base import Problem, RowModel, load
from isthmus.scale.methods.counts import ClassCounts
from isthmus.scale.methods.nbc import class_statistics
from isthmus.scale.pieces import Job, Piece
from isthmus.scale.views import RowBlock

BINS = 1 << 16  # steps in which margins are counted
_ENOUGH = 100  # documents of the sample from which the temperature is placed
_BLIND = 10.0


@dataclass
class ProjectionModel(RowModel):
    """A projection with the temperature of its class shares."""

    rows: tuple[str, int]
    projection: Projection
    inverse_temperature: float
    log_prior: np.ndarray

    def scores(self, rows: RowBlock) -> np.ndarray:
        features = class_features(rows, self.projection)
        scores = self.inverse_temperature * class_shares(features)
        scores[~features.any(axis=1)] = self.log_prior  # no term speaks for any class: the commonest one
        return scores


def class_features(rows: RowBlock, projection: Projection) -> np.ndarray:
    """As :meth:`isthmus.features.projection.Projection.features`, number by number."""
    arrays = rows.indptr, rows.indices, rows.counts
    return class_sums(*arrays, projection.term_class, projection.weight, projection.n_classes)


def fit(problem: Problem) -> ProjectionModel:
    """As :class:`isthmus.TermProjectionClassifier`, but for surest rows told by steps of 1/65,536 of their margin."""
    settings, n_classes = TermProjectionClassifier(), len(problem.classes)
    phase = "counting words per class"
    stats = problem.sum(class_statistics, problem.source, problem.rows, n_classes, phase=phase).total()
    target: TermStatistics | None = None
    for step in range(1, settings.max_iter + 1):
        projection, phase = settings._build(stats, target), f"adapting, round {step} of {settings.max_iter}"
        margins = problem.sum(margin_histogram, problem.target, problem.rows, projection, phase=phase)
        least = least_bins(margins, settings.adapt_share * step / settings.max_iter)
        moves = problem.sum(move_sure, problem.target, problem.rows, n_classes, least, step, phase=phase).total()
        problem.job.store.drop(f"sure/{step - 1}")
        came, left = moves.between(0, n_classes), moves.between(n_classes, 2 * n_classes)
        target = came if target is None else target + came - left  # in this order no count is ever below zero
    documents = stats.class_documents + 1.0
    temperature = place_temperature(problem, settings, stats, target)
    return ProjectionModel(
        problem.rows, settings._build(stats, target), temperature, np.log(documents / documents.sum())
    )


def margin_histogram(piece: Piece, job: Job, rows: tuple[str, int], projection: Projection) -> np.ndarray:
    """How many rows of each class, by rule, have which margin; both are kept for :func:`move_sure`."""
    labels, margins = leading_shares(class_features(load(piece, job, rows), projection))
    steps = np.minimum(BINS - 1, (margins * BINS).astype(np.int64)).astype(np.uint16)
    leading = np.where(margins > 0, labels, -1)  # where no class leads, the row counts in its class but is never sure
    job.store.save(f"margins/{piece.number}", {"labels": leading, "steps": steps})
    return histogram(labels, margins, projection.n_classes, BINS)


def least_bins(counts: np.ndarray, share: float) -> np.ndarray:
    """For each class the step from which up lies at least this share of its rows."""
    above = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
    wanted = np.ceil(share * counts.sum(axis=1))
    return (above >= np.maximum(wanted, 1)[:, None]).sum(axis=1) - 1


def move_sure(
    piece: Piece, job: Job, rows: tuple[str, int], n_classes: int, least: np.ndarray, step: int
) -> ClassCounts:
    """Counts of the rows that came to the surest of a class in this round; behind the classes, of those that left.

    Most rows stay where they were in the round before, which is kept under its own name, so that a round that is done
    twice gives the same.
    """
    held = job.store.load(f"margins/{piece.number}")
    labels = held["labels"]
    now = np.where((labels >= 0) & (held["steps"] >= least[labels]), labels, -1).astype(np.int32)
    before = np.full(len(now), -1, dtype=np.int32)
    if step > 1:
        before = job.store.load(f"sure/{step - 1}/{piece.number}")["labels"]
    job.store.save(f"sure/{step}/{piece.number}", {"labels": now})
    came, left = (np.flatnonzero((now != before) & (own >= 0)) for own in (now, before))
    codes = np.concatenate([now[came], before[left] + np.int32(n_classes)])
    return ClassCounts.of(load(piece, job, rows), np.concatenate([came, left]), codes, 2 * n_classes)


def place_temperature(
    problem: Problem, settings: TermProjectionClassifier, stats: TermStatistics, target: TermStatistics | None
) -> float:
    """By the sample of the source, taken out of the sums again."""
    rows, codes = problem.sample_rows()
    if len(rows) < _ENOUGH:
        return _BLIND
    own = count_terms(rows.matrix(), codes, stats.n_classes)
    shares = class_shares(settings._build(stats - own, target).features(rows.matrix()))
    return fit_temperature(shares, codes, bounds=TEMPERATURES)
