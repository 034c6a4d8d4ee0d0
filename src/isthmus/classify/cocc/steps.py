"""Steps of CoCC around the co-clustering itself: a start, k and λ, refinement, scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from isthmus._math.calibration import fit_temperature
from isthmus._math.rows import unit_rows
from isthmus._progress import progress
from isthmus.base import softmax
from isthmus.classify.cocc.blocks import Problem, SettlingDocuments, per_length
from isthmus.classify.cocc.co_clustering import CoClustering

# -- Starting word clusters for co-clustering: words that occur in the same documents start together
# The paper starts from CLUTO (repeated bisection, cosine); here sketches of the words' document profiles are grouped by
# k-means on the sphere.


def group_words(vectors: np.ndarray, k: int, rng: np.random.Generator, n_iter: int = 5) -> np.ndarray:
    """Cluster number of each word by k-means on the sphere from ``k`` random words; every cluster keeps a word."""
    # A start needs no more digits, and half the bytes are quicker.
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    n = len(vectors)
    seeds = rng.choice(n, size=k, replace=False)
    centres = vectors[seeds]
    labels = np.zeros(n, dtype=np.int64)
    for _ in range(n_iter):
        labels = (vectors @ centres.T).argmax(axis=1)
        labels[seeds] = np.arange(k)
        members = sp.csc_matrix((np.ones(n, dtype=np.float32), labels, np.arange(n + 1)), shape=(k, n))
        centres = unit_rows(members @ vectors)
    return labels


# -- Refinement: target documents settle at the nearest centroid of the classes that co-clustering gave them
# Co-clustering sees words through k clusters and long documents weigh more; a document's own rare words, and equal
# weight for every document, decide the doubtful ones better. From those labels: k-means on the sphere (tf-idf, cosine).


@dataclass
class Refinement:
    """The centroids (words × classes, columns of length one), mean cosines with them, and why it stopped."""

    centroids: np.ndarray
    history: list[float] = field(default_factory=list)
    stopped: str = "converged"


def refine_by_centroids(documents: SettlingDocuments, *, max_iter: int = 50) -> Refinement:
    """Move documents to the nearest centroid until none moves.

    It gives up when a class would lose more than half of its documents: the centroids then follow some other division.
    """
    before = documents.sizes
    first = centroids = unit_columns(documents.sums)
    history: list[float] = []
    for _ in range(max_iter):
        changed = documents.move(centroids)
        history.append(documents.mean_cosine(centroids))
        if np.any(2 * documents.sizes < before):
            return Refinement(first, [], "reverted")
        if not changed:
            return Refinement(centroids, history)
        centroids = unit_columns(documents.sums)
    return Refinement(centroids, history, "max_iter")


def unit_columns(table: np.ndarray) -> np.ndarray:
    norms = np.sqrt((table**2).sum(axis=0))
    return np.ascontiguousarray(table / np.where(norms > 0, norms, 1.0))


# -- Number of word clusters and λ without target labels: the most compact classes win


WORD_CLUSTERS = (16, 64, 256)
TRADE_OFFS = (0.0625, 0.25, 1.0, 4.0)
_ITERATIONS = 20  # enough to tell settings apart; the search itself goes on to the end


def choose_setting(
    problem: Problem,
    search: Callable[..., CoClustering],
    vectors: np.ndarray,
    n_word_clusters,
    trade_off,
    rng: np.random.Generator,
) -> tuple[int, float, list[dict] | None]:
    """Values for what was left to "auto", and the table they were chosen from; ``vectors`` are those of the words.

    Objectives of different k and λ cannot be compared. Chosen by the mean cosine of the documents with their clusters'
    tf-idf centroids, a space that knows neither k nor λ; no label enters.
    """
    if n_word_clusters != "auto" and trade_off != "auto":
        return int(n_word_clusters), float(trade_off), None
    limit = min(max(2, problem.n_words // 2), problem.n_words)
    ks = sorted({min(k, limit) for k in WORD_CLUSTERS}) if n_word_clusters == "auto" else [int(n_word_clusters)]
    trade_offs = TRADE_OFFS if trade_off == "auto" else (float(trade_off),)
    seed = int(rng.integers(2**31))  # the same start for all settings: they differ by their values only
    weights, as_they_are = problem.passes.idf, np.arange(problem.n_classes)
    table: list[dict] = []
    for k in ks:
        words = group_words(vectors, k, np.random.default_rng(seed))
        for value in trade_offs:
            result = search(k, value, words, max_iter=_ITERATIONS)
            fit = SettlingDocuments(problem, result.placed, as_they_are, weights).compactness()
            table.append({"n_word_clusters": k, "trade_off": value, "compactness": fit, "objective": result.objective})
            progress("choosing the settings", len(table), len(ks) * len(trade_offs))
    chosen = max(table, key=lambda row: row["compactness"])
    for row in table:
        row["chosen"] = row is chosen
    return chosen["n_word_clusters"], chosen["trade_off"], table


# -- Scores of documents under fitted co-clustering tables or centroids, and their calibration on the source


_LENGTH_POWERS = (0.0, 0.5, 1.0)


def calibrate(scores: np.ndarray, lengths: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Length power and factor under which softmax of the scores is most likely for the source's labels.

    Source documents took no part in finding the document clusters, so they serve as new ones; coming from the other
    domain, they make the estimate cautious.
    """
    fits = []
    for power in _LENGTH_POWERS:
        scaled = per_length(scores, lengths, power)
        factor = fit_temperature(scaled, codes)
        chances = softmax(factor * scaled)[np.arange(len(codes)), codes]
        fits.append((-float(np.mean(np.log(chances + 1e-300))), power, factor))
    return min(fits)[1:]
