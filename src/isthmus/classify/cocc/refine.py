"""Refinement: target documents settle at the nearest centroid of the classes that co-clustering gave them.

Co-clustering sees words through k clusters and long documents weigh more; once it has found the classes, a document's
own rare words and an equal say for every document decide the doubtful ones better. This is k-means on the sphere
(tf-idf, cosine) started from the co-clustering's labels: sums over row blocks, an objective that never falls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isthmus._math.cocc import CountBlocks
from isthmus.features.weights import smooth_idf


@dataclass
class Refinement:
    """Labels after refinement, the centroids (words × classes, columns of length one) and the word weights."""

    labels: np.ndarray
    centroids: np.ndarray
    weights: np.ndarray
    history: list[float] = field(default_factory=list)
    stopped: str = "converged"


def block_idf(read: Callable[[], Iterable[Any]], n_words: int) -> np.ndarray:
    """log((1 + n) / (1 + df)) + 1 per word, over the blocks' documents.

    Both domains together: a word that both use everywhere tells least, and twice the documents give a steadier weight.
    """
    from isthmus._math.cocc_kernels import add_columns

    frequency, n = np.zeros(n_words), 0
    for block in read():
        add_columns(block.indices, block.data, np.zeros(n_words), frequency)
        n += block.shape[0]
    return smooth_idf(frequency, n)


def compactness(target: CountBlocks, labels: np.ndarray, n_classes: int, weights: np.ndarray) -> float:
    """Mean cosine of the documents with the centroids of their classes: for unit rows the centroid sums' lengths."""
    sums = _class_sums(target, np.asarray(labels, dtype=np.int64), n_classes, weights)
    return float(np.sqrt((sums**2).sum(axis=0)).sum() / max(1, target.n_rows))


def _class_sums(target: CountBlocks, labels: np.ndarray, n_classes: int, weights: np.ndarray) -> np.ndarray:
    from isthmus._math.cocc_kernels import add_unit_rows

    sums = np.zeros((len(weights), n_classes))
    for rows, block in target.blocks():
        add_unit_rows(block.indptr, block.indices, block.data, weights, labels[rows], sums)
    return sums


def refine_by_centroids(
    target: CountBlocks, labels: np.ndarray, n_classes: int, weights: np.ndarray, *, max_iter: int = 50
) -> Refinement:
    """Move documents to the nearest centroid until none moves; ``weights`` multiply the words' values.

    It gives up, and returns the labels it was given, when a class would lose more than half of its documents: then the
    centroids follow some other division of the target than the one the co-clustering found.
    """
    from isthmus._math.cocc_kernels import assign_to_centroids

    given = np.array(labels, dtype=np.int64)
    labels = given.copy()
    before = np.bincount(given, minlength=n_classes)
    sums = _class_sums(target, labels, n_classes, weights)
    first = unit_columns(sums)
    centroids, history = first, []
    for _ in range(max_iter):
        sums, changed, fit = np.zeros_like(sums), 0, 0.0
        for rows, block in target.blocks():
            moved, part = assign_to_centroids(
                block.indptr, block.indices, block.data, weights, centroids, labels[rows], sums
            )
            changed, fit = changed + moved, fit + part
        history.append(fit / max(1, target.n_rows))
        if np.any(2 * np.bincount(labels, minlength=n_classes) < before):
            return Refinement(given, first, weights, [], "reverted")
        if not changed:
            return Refinement(labels, centroids, weights, history)
        centroids = unit_columns(sums)
    return Refinement(labels, centroids, weights, history, "max_iter")


def unit_columns(table: np.ndarray) -> np.ndarray:
    """Columns scaled to length one; empty ones stay zero."""
    norms = np.sqrt((table**2).sum(axis=0))
    return np.ascontiguousarray(table / np.where(norms > 0, norms, 1.0))
