"""String kernels by landmarks: each document as its likeness to some hundred others, and a ridge on these features."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from isthmus._math.calibration import fit_temperature
from isthmus._math.kernel_ridge import choose_ridge, indicator, leave_one_out, rbf
from isthmus.classify.strings.classifier import CALIBRATION_ROWS, SPACED_LENGTHS, UNSPACED_LENGTHS
from isthmus.exceptions import IsthmusWarning
from isthmus.features.languages import IDEOGRAPHIC
from isthmus.features.strings import StringKernel
from isthmus.scale._kernels import histogram
from isthmus.scale.methods.base import Problem
from isthmus.scale.methods.dense import ONE, TextFeatures, add_tuples, as_steps, exact_product, kept_steps, square_sums
from isthmus.scale.methods.projection import BINS
from isthmus.scale.pieces import Job, Piece, load_codes

LANDMARKS = 400
_RIDGE, _ADDED = 1e-4, 0.5  # as the recipe has them


@dataclass
class StringModel(TextFeatures):
    """Likeness to the landmarks, centred, times weights."""

    kernel: StringKernel
    landmarks: list[str]
    centre: np.ndarray
    length: float = 1.0
    weights: np.ndarray | None = None
    offset: np.ndarray | None = None
    inverse_temperature: float = 1.0
    name = "strings"

    def steps(self, texts: list[str]) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IsthmusWarning)  # short texts; they are like nothing but themselves
            likeness = self.kernel.cross(texts, self.landmarks, normalize=True)
        return as_steps(rbf(likeness))

    def rows(self, steps: np.ndarray) -> np.ndarray:
        """Features as the ridge sees them."""
        return (steps / ONE - self.centre) / self.length

    def raw(self, steps: np.ndarray) -> np.ndarray:
        assert self.weights is not None
        assert self.offset is not None
        own = exact_product(steps, self.weights / self.length)
        return own + (self.offset - (self.centre / self.length) @ self.weights)

    def step_scores(self, steps: np.ndarray) -> np.ndarray:
        return self.inverse_temperature * self.raw(steps)


def moments(
    piece: Piece, job: Job, model: StringModel, classes: np.ndarray, least: np.ndarray | None
) -> tuple[np.ndarray, ...]:
    """Sums of features, of their products, per class, and how many documents: of a source piece all labelled ones, of a
    target piece those that are sure enough, or with ``least`` None the plain sums alone.
    """
    steps = kept_steps(piece, job, model.name, model.steps)
    if piece.side == "source":
        codes = load_codes(job.store, piece, classes)
    elif least is None:
        codes = np.full(len(steps), -1, dtype=np.int32)
    else:
        codes, sure = _sureness(model, steps)
        codes = np.where(np.minimum(BINS - 1, (sure * BINS).astype(np.int64)) >= least[0], codes, -1)
    taken = codes >= 0
    marks = (codes[taken, None] == np.arange(len(classes))).astype(np.int16)
    own = steps[taken]
    everything = steps.sum(axis=0, dtype=np.int64)
    squares = np.int64(np.rint(np.square(steps, dtype=np.float64).sum()))
    return (
        square_sums(own, own),
        square_sums(own, marks),
        own.sum(axis=0, dtype=np.int64),
        marks.sum(axis=0, dtype=np.int64),
        everything,
        np.array([len(steps), squares], dtype=np.int64),
    )


def _sureness(model: StringModel, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Class of each row and its winning score, squeezed into 0 to 1."""
    scores = model.raw(steps)
    labels = scores.argmax(axis=1).astype(np.int32)
    winning = np.clip(scores.max(axis=1), -1.0, 3.0)
    return labels, (winning + 1.0) / 4.0


def score_histogram(piece: Piece, job: Job, model: StringModel) -> np.ndarray:
    _, sure = _sureness(model, kept_steps(piece, job, model.name, model.steps))
    return histogram(np.zeros(len(sure), dtype=np.int32), sure, 1, BINS)


def fit(problem: Problem) -> StringModel:
    """As the recipe "strings" with landmarks: a ridge on the source, then also on the surest half of the target."""
    unspaced = problem.view.reading.languages[0] in IDEOGRAPHIC
    kernel = StringKernel("presence", UNSPACED_LENGTHS if unspaced else SPACED_LENGTHS)
    landmarks = [*problem.sample[0][: LANDMARKS // 2], *problem.target_sample[: LANDMARKS // 2]]
    model = StringModel(kernel, landmarks, np.zeros(len(landmarks)))
    both = [*problem.source, *problem.target]
    first = problem.sum(moments, both, model, problem.classes, None, phase="comparing texts", add=add_tuples)
    count, squares = first[5].tolist()
    model.centre = first[4] / ONE / count
    spread = squares / ONE**2 / count - float(model.centre @ model.centre)
    model.length = float(np.sqrt(max(spread, 1e-12)))
    source = model.steps(problem.sample[0])
    codes = np.searchsorted(problem.classes, np.array(problem.sample[1], dtype=object))
    alpha = choose_ridge(model.rows(source), codes, len(problem.classes), _RIDGE)
    # The ridge was set on the sample; it stands for so many documents as the sample is smaller than the source.
    alpha *= max(1.0, float(first[3].sum()) / max(1, len(codes)))
    model.weights, model.offset = _solve(model, first, alpha)
    counts = problem.sum(score_histogram, problem.target, model, phase="comparing texts, second round")
    above = np.cumsum(counts[0][::-1])[::-1]
    least = np.array([(above >= _ADDED * counts.sum()).sum() - 1])
    second = problem.sum(
        moments, both, model, problem.classes, least, phase="comparing texts, second round", add=add_tuples
    )
    model.inverse_temperature = _temperature(model, source, codes, alpha)
    model.weights, model.offset = _solve(model, second, alpha)
    return model


def _solve(model: StringModel, sums: tuple[np.ndarray, ...], alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Ridge weights and the mean response, from sums."""
    gram, towards, total = sums[0] / ONE**2, sums[1] / ONE, sums[2] / ONE
    documents = sums[3].astype(float)
    count = documents.sum()
    offset = documents / count
    # Of rows (x − c)/s: products Σxxᵀ − Σx cᵀ − c Σxᵀ + n c cᵀ over s², responses y − offset.
    cross = np.outer(total, model.centre)
    gram = (gram - cross - cross.T + count * np.outer(model.centre, model.centre)) / model.length**2
    towards = (towards - np.outer(model.centre, documents)) / model.length
    towards -= np.outer((total - count * model.centre) / model.length, offset)
    values, vectors = eigh(gram)
    return vectors @ ((vectors.T @ towards) / (np.maximum(values, 0.0) + alpha)[:, None]), offset


def _temperature(model: StringModel, steps: np.ndarray, codes: np.ndarray, alpha: float) -> float:
    rows, codes = model.rows(steps[:CALIBRATION_ROWS]), codes[:CALIBRATION_ROWS]
    if len(codes) < 50:
        return 5.0
    n_classes = int(codes.max()) + 1
    wanted = indicator(codes, n_classes)
    offset = wanted.mean(axis=0)
    return fit_temperature(leave_one_out(rows @ rows.T, wanted - offset, alpha) + offset, codes)
