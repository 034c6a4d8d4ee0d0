"""Class centroids on vectors of a model trained elsewhere, settling among the target's documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._math.calibration import fit_temperature
from isthmus._math.centroids import unit_rows
from isthmus.classify.vectors import TransductiveCentroidClassifier
from isthmus.features.embeddings import resolve_embedder
from isthmus.scale.methods.base import Problem
from isthmus.scale.methods.dense import ONE, TextFeatures, add_tuples, as_steps, exact_product, kept_steps, square_sums
from isthmus.scale.pieces import Job, Piece, load_codes


@dataclass
class VectorModel(TextFeatures):
    """Cosines with class centroids, of vectors centred by domain."""

    embed: str
    means: dict[str, np.ndarray]
    centroids: np.ndarray | None = None
    inverse_temperature: float = 1.0
    name = "vectors"

    def steps(self, texts: list[str]) -> np.ndarray:
        return as_steps(unit_rows(np.asarray(resolve_embedder(self.embed)(texts), dtype=np.float64)))

    def centred(self, steps: np.ndarray, side: str) -> np.ndarray:
        """Rows minus their domain's mean, of length one, in steps again."""
        mean = self.means[side]
        squares = np.square(steps, dtype=np.float64).sum(axis=1) / ONE**2
        squared = squares - 2 * exact_product(steps, mean[:, None])[:, 0] + float(mean @ mean)
        scale = np.where((squared > 1e-9) & (squares > 0), 1 / np.sqrt(np.maximum(squared, 1e-9)), 0.0)
        return as_steps((steps / ONE - mean) * scale[:, None])

    def step_scores(self, steps: np.ndarray, side: str = "target") -> np.ndarray:
        assert self.centroids is not None
        return self.inverse_temperature * exact_product(self.centred(steps, side), self.centroids.T)


def plain_sums(piece: Piece, job: Job, model: VectorModel) -> tuple[np.ndarray, np.ndarray]:
    steps = kept_steps(piece, job, model.name, model.steps)
    return steps.sum(axis=0, dtype=np.int64), np.array([len(steps)])


def class_sums(piece: Piece, job: Job, model: VectorModel, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centred rows added up by class: the label of a source row, the nearest centroid of a target row."""
    steps = model.centred(kept_steps(piece, job, model.name, model.steps), piece.side)
    if piece.side == "source":
        codes = load_codes(job.store, piece, classes)
    else:
        assert model.centroids is not None
        codes = exact_product(steps, model.centroids.T).argmax(axis=1)
    marks = (codes[:, None] == np.arange(len(classes))).astype(np.int16)
    return square_sums(marks, steps), marks.sum(axis=0, dtype=np.int64)


def fit(problem: Problem) -> VectorModel:
    """As the recipe "vectors"."""
    settings = TransductiveCentroidClassifier()
    model = VectorModel("static", {})
    for side, pieces in (("source", problem.source), ("target", problem.target)):
        total, count = problem.sum(plain_sums, pieces, model, phase="making vectors", add=add_tuples)
        model.means[side] = total / ONE / float(count[0])
    own, _ = problem.sum(class_sums, problem.source, model, problem.classes, phase="class centroids", add=add_tuples)
    start = model.centroids = unit_rows(own / ONE)
    before = None
    for step in range(1, settings.max_iter + 1):
        phase = f"settling, round {step}"
        sums, counts = problem.sum(class_sums, problem.target, model, problem.classes, phase=phase, add=add_tuples)
        if before is not None and np.array_equal(sums, before):
            break
        moved = unit_rows(settings.source_weight * start + (1 - settings.source_weight) * unit_rows(sums / ONE))
        model.centroids, before = np.where((counts > 0)[:, None], moved, start), sums
    model.inverse_temperature = _temperature(problem, model, own / ONE)
    return model


def _temperature(problem: Problem, model: VectorModel, sums: np.ndarray) -> float:
    """By the sample of the source, each row compared with a centroid that does not hold it."""
    texts, labels = problem.sample
    codes = np.searchsorted(problem.classes, np.array(labels, dtype=object))
    rows = model.centred(model.steps(texts), "source") / ONE
    lengths = np.linalg.norm(sums, axis=1)
    products = rows @ sums.T
    there = (np.arange(len(codes)), codes)
    own = products[there]
    similarity = products / np.maximum(lengths, 1e-12)
    similarity[there] = (own - 1) / np.sqrt(np.maximum(lengths[codes] ** 2 - 2 * own + 1, 1e-12))
    return fit_temperature(similarity, codes)
