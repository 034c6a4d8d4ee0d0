"""Approximate string kernels by landmarks: a ridge regression on similarities to a few hundred documents."""

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
_RIDGE, _ADDED = 1e-4, 0.5  # ridge penalty and share of target documents added, as in the recipe


class LandmarkKernelClassifier(ClassifierMixin, BaseEstimator):
    """The recipe "strings" on chunks: a ridge on the source, then also on the most confident half of the target.

    Attributes
    ----------
    centre_ : ndarray of shape (n_landmarks,)
        Mean similarity to each landmark over all documents.
    length_ : float
        Root mean squared distance of the documents to ``centre_``.
    weights_ : ndarray of shape (n_landmarks, n_classes)
    """

    def fit_passes(self, passes: Passes) -> LandmarkKernelClassifier:
        """Fit the chunks of both domains.

        Parameters
        ----------
        passes : Passes

        Returns
        -------
        self
        """
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
        # The penalty was chosen on the sample, so it grows with the ratio of the source to the sample.
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
        """Compute ridge weights and the mean response from sums.

        Parameters
        ----------
        sums : tuple of ndarray
            From :func:`moments`.
        alpha : float
            Ridge penalty.

        Returns
        -------
        self
        """
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
        """Return the similarity of texts to the landmarks, in fixed point.

        Parameters
        ----------
        texts : list of str

        Returns
        -------
        ndarray of int of shape (n_texts, n_landmarks)
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IsthmusWarning)  # short texts resemble only themselves
            likeness = self.kernel_.cross(texts, self.landmarks_, normalize=True)
        return as_steps(rbf(likeness))

    def raw_scores(self, steps: np.ndarray) -> np.ndarray:
        """Return class scores before calibration.

        Parameters
        ----------
        steps : ndarray of int of shape (n_documents, n_landmarks)

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
        """
        own = exact_product(steps, self.weights_ / self.length_)
        return own + (self.offset_ - (self.centre_ / self.length_) @ self.weights_)

    def block_scores(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Return class scores of the documents of a chunk, and which documents are blank.

        Parameters
        ----------
        block : Block

        Returns
        -------
        scores : ndarray of shape (n_documents, n_classes)
            Their softmax are probabilities.
        blank : ndarray of bool of shape (n_documents,)
        """
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
    """Return the sums of a chunk from which the ridge is computed.

    The labelled documents of a source chunk count. Of a target chunk, the confident documents count under their
    predicted class.

    Parameters
    ----------
    block : Block
    model : LandmarkKernelClassifier
    n_classes : int
    least : int or None
        Least confidence, as a bin, at which a target document counts; None counts none.

    Returns
    -------
    tuple of ndarray
        Products of the features, their sums by class, their sum, the documents by class; then over all documents the
        sum of the features, and the number of documents with the sum of squares.
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
    """Return how many target documents of a chunk fall into each bin of confidence.

    Parameters
    ----------
    block : Block
    model : LandmarkKernelClassifier

    Returns
    -------
    ndarray of int of shape (1, n_bins)
    """
    _, sure = _sureness(model, block_steps(block, "strings", model.steps)[0])
    return histogram(np.zeros(len(sure), dtype=np.int32), sure, 1)


def _sureness(model: LandmarkKernelClassifier, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and the largest raw score of each document, scaled to 0–1."""
    scores = model.raw_scores(steps)
    labels = scores.argmax(axis=1).astype(np.int32)
    winning = np.clip(scores.max(axis=1), -1.0, 3.0)
    return labels, (winning + 1.0) / 4.0
