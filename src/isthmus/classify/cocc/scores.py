"""Scores of documents under fitted co-clustering tables or centroids, and their calibration on the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from isthmus._math.calibration import fit_temperature
from isthmus.base import softmax

_LENGTH_POWERS = (0.0, 0.5, 1.0)


def score_rows(rows: Any, word_scores: np.ndarray, word_weights: np.ndarray | None = None) -> np.ndarray:
    """Scores of sparse rows, one column per class.

    Without ``word_weights``: Σ value · log p(ŵ|d̂), what the document step maximises. With them, ``word_scores`` are
    weighted centroids and rows are scaled to length one: cosines.
    """
    scores = np.asarray(rows @ word_scores)
    if word_weights is not None:
        norms = np.sqrt(np.asarray(rows.multiply(rows) @ (word_weights**2)).ravel())
        scores = scores / np.where(norms > 0, norms, 1.0)[:, None]
    return scores


def per_length(scores: np.ndarray, rows: Any, power: float) -> np.ndarray:
    """Scores divided by a power of the documents' lengths: words of one document are not independent witnesses."""
    if power == 0:
        return scores
    lengths = np.asarray(rows.sum(axis=1)).ravel()
    return scores / np.maximum(lengths, 1.0)[:, None] ** power


def calibrate(
    read_source: Callable[[], Iterable[tuple[Any, np.ndarray]]], score: Callable[[Any], np.ndarray]
) -> tuple[float, float]:
    """Length power and factor under which softmax of the scores is most likely for the source's labels.

    Source documents took no part in finding the document clusters, so they are new documents to them; that they come
    from the other domain makes the estimate cautious.
    """
    blocks = [(score(rows), np.asarray(rows.sum(axis=1)), codes) for rows, codes in read_source()]
    codes = np.concatenate([block[2] for block in blocks])
    fits = []
    for power in _LENGTH_POWERS:
        scaled = np.concatenate(
            [scores / np.maximum(lengths, 1.0).reshape(-1, 1) ** power for scores, lengths, _ in blocks]
        )
        factor = fit_temperature(scaled, codes)
        chances = softmax(factor * scaled)[np.arange(len(codes)), codes]
        fits.append((-float(np.mean(np.log(chances + 1e-300))), power, factor))
    return min(fits)[1:]
