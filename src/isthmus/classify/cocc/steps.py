"""Steps of CoCC around the co-clustering itself: the problem, a start, k and λ, refinement, scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isthmus._math.calibration import fit_temperature
from isthmus._math.cocc import CoClustering, CountBlocks
from isthmus._math.content import content_noise
from isthmus._progress import progress
from isthmus.base import softmax
from isthmus.features.weights import smooth_idf

# -- What a co-clustering run works on, whoever holds the rows


@dataclass
class Problem:
    """All that the search needs, whoever holds the rows: readers of blocks and the tables made of them."""

    read_source: Callable[[], Iterable[tuple[Any, np.ndarray]]]
    target: CountBlocks
    class_counts: np.ndarray
    priors: np.ndarray
    fixed: np.ndarray | None = None  # document clusters that must stay (no target: the classes themselves)

    @property
    def n_words(self) -> int:
        return self.class_counts.shape[0]

    def read_all(self) -> Iterable[Any]:
        """Blocks of both domains, for the words' document profiles."""
        for block, _ in self.read_source():
            yield block
        if self.fixed is None:
            yield from self.target.read()


# -- Starting word clusters for co-clustering: words that occur in the same documents start together
# The paper starts from CLUTO (repeated bisection, cosine). Here each word's document profile is sketched in a few
# dimensions, a sum over row blocks, and the sketches are grouped by k-means on the sphere.


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


# -- Refinement: target documents settle at the nearest centroid of the classes that co-clustering gave them
# Co-clustering sees words through k clusters and long documents weigh more; once it has found the classes, a document's
# own rare words and an equal say for every document decide the doubtful ones better. This is k-means on the sphere
# (tf-idf, cosine) started from the co-clustering's labels: sums over row blocks, an objective that never falls.


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


# -- Number of word clusters and λ without target labels: the most compact classes win


WORD_CLUSTERS = (16, 64, 256)
TRADE_OFFS = (0.0625, 0.25, 1.0, 4.0)
_ITERATIONS = 20  # enough to tell settings apart; the search itself goes on to the end


def choose_setting(
    problem: Problem,
    search: Callable[..., CoClustering],
    first_words: Callable[[int, np.random.Generator], np.ndarray],
    n_word_clusters,
    trade_off,
    rng: np.random.Generator,
) -> tuple[int, float, list[dict] | None]:
    """Values for what was left to "auto", and the table they were chosen from.

    Objectives of different k and λ cannot be compared. What can be is how well each setting's document clusters hold
    together in a space that knows neither: the mean cosine of the documents with their clusters' tf-idf centroids. No
    label of either domain enters.
    """
    if n_word_clusters != "auto" and trade_off != "auto":
        return int(n_word_clusters), float(trade_off), None
    limit = min(max(2, problem.n_words // 2), problem.n_words)
    ks = sorted({min(k, limit) for k in WORD_CLUSTERS}) if n_word_clusters == "auto" else [int(n_word_clusters)]
    trade_offs = TRADE_OFFS if trade_off == "auto" else (float(trade_off),)
    seed = int(rng.integers(2**31))  # the same start for all settings: they differ by their values only
    weights = block_idf(problem.read_all, problem.n_words)
    table: list[dict] = []
    for k in ks:
        words = first_words(k, np.random.default_rng(seed))
        for value in trade_offs:
            result = search(k, value, words, max_iter=_ITERATIONS)
            fit = compactness(problem.target, result.documents, problem.class_counts.shape[1], weights)
            table.append({"n_word_clusters": k, "trade_off": value, "compactness": fit, "objective": result.objective})
            progress("choosing", len(table), len(ks) * len(trade_offs))
    chosen = max(table, key=lambda row: row["compactness"])
    for row in table:
        row["chosen"] = row is chosen
    return chosen["n_word_clusters"], chosen["trade_off"], table


# -- Scores of documents under fitted co-clustering tables or centroids, and their calibration on the source


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
