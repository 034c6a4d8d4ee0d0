"""Starting word clusters for co-clustering: words that occur in the same documents start together.

The paper starts from CLUTO (repeated bisection, cosine). Here each word's document profile is sketched in a few
dimensions, a sum over row blocks, and the sketches are grouped by k-means on the sphere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from isthmus._math.content import content_noise

SKETCH_WIDTH = 24


def sketch_words(
    read: Callable[[], Iterable[Any]], n_words: int, rng: np.random.Generator, width: int = SKETCH_WIDTH
) -> np.ndarray:
    """A short unit vector per word; words of similar document profiles point the same way.

    Two passes over the blocks: random numbers for documents, drawn from their contents so that neither their order nor
    their blocks matter, give words a first vector, documents become the mean of
    their words, words become the sum of their documents (one step of subspace iteration, without a decomposition).
    """
    from isthmus._math.cocc_kernels import add_transposed_product

    seed = int(rng.integers(2**63))
    words = np.zeros((n_words, width))
    for block in read():
        noise = content_noise(block, width, np.random.default_rng(seed))
        add_transposed_product(block.indptr, block.indices, block.data, noise, words)
    words = _unit(words)
    smooth = np.zeros((n_words, width))
    for block in read():
        documents = _unit(block @ words)
        add_transposed_product(block.indptr, block.indices, block.data, documents, smooth)
    # The common direction is what all documents share; without it the cosine tells topics apart.
    smooth = _unit(smooth)
    return _unit(smooth - smooth.mean(axis=0))


def group_words(vectors: np.ndarray, k: int, rng: np.random.Generator, n_iter: int = 5) -> np.ndarray:
    """Cluster number of each word by k-means on the sphere from ``k`` random words; every cluster keeps a word."""
    from isthmus._math.cocc_kernels import sum_by_label

    vectors = np.ascontiguousarray(
        vectors, dtype=np.float32
    )  # a start needs no more digits, and half the bytes are quicker
    n = len(vectors)
    seeds = rng.choice(n, size=k, replace=False)
    centres = vectors[seeds]
    labels = np.zeros(n, dtype=np.int64)
    for _ in range(n_iter):
        labels = (vectors @ centres.T).argmax(axis=1)
        labels[seeds] = np.arange(k)
        sums = np.zeros_like(centres)
        sum_by_label(vectors, labels, sums)
        centres = _unit(sums)
    return labels


def _unit(rows: np.ndarray) -> np.ndarray:
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return rows / np.where(norms > 0, norms, 1.0)[:, None]
