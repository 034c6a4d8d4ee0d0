"""String kernels by landmarks: each document as its likeness to some hundred others, and a ridge on these features."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassifierMixin

from isthmus._math.calibration import fit_temperature
from isthmus.classify.strings.classifier import CALIBRATION_ROWS, SPACED_LENGTHS, UNSPACED_LENGTHS
from isthmus.classify.strings.ridge import choose_ridge, indicator, leave_one_out, rbf
from isthmus.exceptions import IsthmusWarning
from isthmus.features.blocks import (
    ONE,
    Block,
    Passes,
    add_tuples,
    as_bins,
    as_steps,
    block_steps,
    exact_product,
    histogram,
    square_sums,
)
from isthmus.features.languages import IDEOGRAPHIC
from isthmus.features.strings import StringKernel

LANDMARKS = 400
_RIDGE, _ADDED = 1e-4, 0.5  # as the recipe has them


class LandmarkKernelClassifier(ClassifierMixin, BaseEstimator):
    """The recipe "strings" on blocks: a ridge on the source, then also on the surest half of the target.

    ``centre_`` and ``length_`` are the mean of the likenesses over all documents and their mean length about it.
    """

    def fit_passes(self, passes: Passes) -> LandmarkKernelClassifier:
        sample, n_classes = passes.sample, len(passes.classes)
        lengths = UNSPACED_LENGTHS if passes.languages[0] in IDEOGRAPHIC else SPACED_LENGTHS
        self.kernel_ = StringKernel("presence", lengths)
        half = LANDMARKS // 2
        self.landmarks_ = [*sample.texts()[:half], *passes.target_sample.texts()[:half]]
        phase = "comparing texts"
        first = passes.sum(moments, "both", self, n_classes, None, phase=phase, add=add_tuples)
        count, squares = first[5].tolist()
        self.centre_ = first[4] / ONE / count
        spread = squares / ONE**2 / count - float(self.centre_ @ self.centre_)
        self.length_ = float(np.sqrt(max(spread, 1e-12)))
        source, codes = self.steps(sample.texts()), sample.codes
        alpha = choose_ridge(self._rows(source), codes, n_classes, _RIDGE)
        # The ridge was set on the sample; it stands for so many documents as the sample is smaller than the source.
        alpha *= max(1.0, float(first[3].sum()) / max(1, len(codes)))
        self.finish(first, alpha)
        phase = "comparing texts, second round"
        counts = passes.sum(score_histogram, "target", self, phase=phase)
        above = np.cumsum(counts[0][::-1])[::-1]
        least = int((above >= _ADDED * counts.sum()).sum() - 1)
        second = passes.sum(moments, "both", self, n_classes, least, phase=phase, add=add_tuples)
        self.inverse_temperature_ = self._temperature(source, codes, alpha)
        self.classes_ = passes.classes
        return self.finish(second, alpha)

    def finish(self, sums: tuple[np.ndarray, ...], alpha: float) -> LandmarkKernelClassifier:
        """Ridge weights and the mean response, from the sums of :func:`moments`."""
        gram, towards, total = sums[0] / ONE**2, sums[1] / ONE, sums[2] / ONE
        documents = sums[3].astype(float)
        count = documents.sum()
        self.offset_ = documents / count
        # Of rows (x − c)/s: products Σxxᵀ − Σx cᵀ − c Σxᵀ + n c cᵀ over s², responses y − offset.
        cross = np.outer(total, self.centre_)
        gram = (gram - cross - cross.T + count * np.outer(self.centre_, self.centre_)) / self.length_**2
        towards = (towards - np.outer(self.centre_, documents)) / self.length_
        towards -= np.outer((total - count * self.centre_) / self.length_, self.offset_)
        values, vectors = eigh(gram)
        self.weights_ = vectors @ ((vectors.T @ towards) / (np.maximum(values, 0.0) + alpha)[:, None])
        return self

    def steps(self, texts: list[str]) -> np.ndarray:
        """Likeness of texts to the landmarks, in fixed point."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IsthmusWarning)  # short texts; they are like nothing but themselves
            likeness = self.kernel_.cross(texts, self.landmarks_, normalize=True)
        return as_steps(rbf(likeness))

    def raw_scores(self, steps: np.ndarray) -> np.ndarray:
        own = exact_product(steps, self.weights_ / self.length_)
        return own + (self.offset_ - (self.centre_ / self.length_) @ self.weights_)

    def block_scores(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        steps, blank = block_steps(block, "strings", self.steps)
        return self.inverse_temperature_ * self.raw_scores(steps), blank

    def _rows(self, steps: np.ndarray) -> np.ndarray:
        return (steps / ONE - self.centre_) / self.length_

    def _temperature(self, steps: np.ndarray, codes: np.ndarray, alpha: float) -> float:
        rows, codes = self._rows(steps[:CALIBRATION_ROWS]), codes[:CALIBRATION_ROWS]
        if len(codes) < 50:
            return 5.0
        wanted = indicator(codes, int(codes.max()) + 1)
        offset = wanted.mean(axis=0)
        return fit_temperature(leave_one_out(rows @ rows.T, wanted - offset, alpha) + offset, codes)


def moments(block: Block, model: LandmarkKernelClassifier, n_classes: int, least: int | None) -> tuple[np.ndarray, ...]:
    """Sums of features, of their products, per class, and how many documents: all labelled ones of a source block.

    Of a target block those that are sure enough, or with ``least`` None the plain sums alone.
    """
    steps, _ = block_steps(block, "strings", model.steps)
    if block.side == "source":
        codes = block.codes
    elif least is None:
        codes = np.full(len(steps), -1, dtype=np.int32)
    else:
        codes, sure = _sureness(model, steps)
        codes = np.where(as_bins(sure) >= least, codes, -1)
    taken = codes >= 0
    marks = (codes[taken, None] == np.arange(n_classes)).astype(np.int16)
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


def score_histogram(block: Block, model: LandmarkKernelClassifier) -> np.ndarray:
    _, sure = _sureness(model, block_steps(block, "strings", model.steps)[0])
    return histogram(np.zeros(len(sure), dtype=np.int32), sure, 1)


def _sureness(model: LandmarkKernelClassifier, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scores = model.raw_scores(steps)
    labels = scores.argmax(axis=1).astype(np.int32)
    winning = np.clip(scores.max(axis=1), -1.0, 3.0)
    return labels, (winning + 1.0) / 4.0
