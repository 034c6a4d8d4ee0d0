"""Steps of CoCC around the co-clustering itself: the problem, a start, k and λ, refinement, scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from isthmus._math.calibration import fit_temperature
from isthmus._math.content import content_noise
from isthmus._math.rows import unit_rows
from isthmus._progress import progress
from isthmus.base import softmax
from isthmus.classify.baselines.naive_bayes import naive_bayes_scores
from isthmus.classify.cocc.co_clustering import CoClustering, CountBlocks, MemoryDocuments, assign_blocks
from isthmus.features.weights import smooth_idf

# -- What a co-clustering run works on, whoever holds the rows


class Problem(Protocol):
    """All that the search needs, whoever holds the rows."""

    @property
    def target(self) -> Any:
        """Has ``word_totals``, ``total``, ``information`` and ``n_rows``."""
        ...

    @property
    def class_counts(self) -> np.ndarray: ...

    @property
    def priors(self) -> np.ndarray: ...

    @property
    def fixed(self) -> np.ndarray | None:
        """Document clusters that must stay (no target: the classes themselves)."""
        ...

    @property
    def n_words(self) -> int: ...

    def sketch(self, rng: np.random.Generator) -> np.ndarray:
        """A short vector of each word's document profile."""
        ...

    def start(self) -> Any:
        """Documents placed by naive Bayes of the source."""
        ...

    def idf(self) -> np.ndarray: ...

    def settling(self, placed: Any, mapping: np.ndarray, weights: np.ndarray) -> SettlingDocuments:
        """Documents under the classes of their clusters, as refinement moves them."""
        ...

    def calibration_rows(self) -> Iterable[tuple[Any, np.ndarray]]:
        """Labelled rows, weighted, with their codes."""
        ...


@dataclass
class MemoryProblem:
    """Readers of blocks in memory and the tables made of them."""

    read_source: Callable[[], Iterable[tuple[Any, np.ndarray]]]
    target: CountBlocks
    class_counts: np.ndarray
    priors: np.ndarray
    fixed: np.ndarray | None = None

    @property
    def n_words(self) -> int:
        return self.class_counts.shape[0]

    @property
    def n_classes(self) -> int:
        return self.class_counts.shape[1]

    def read_all(self) -> Iterable[Any]:
        """Blocks of both domains, for the words' document profiles."""
        for block, _ in self.read_source():
            yield block
        if self.fixed is None:
            yield from self.target.read()

    def sketch(self, rng: np.random.Generator) -> np.ndarray:
        return sketch_words(self.read_all, self.n_words, rng)

    def start(self) -> MemoryDocuments:
        labels = self.fixed
        if labels is None:
            labels = np.full(self.target.n_rows, -1, dtype=np.int64)
            assign_blocks(self.target, *naive_bayes_scores(self.class_counts, self.priors), labels)
        return MemoryDocuments(self.target, labels, self.n_classes)

    def idf(self) -> np.ndarray:
        return block_idf(self.read_all, self.n_words)

    def settling(self, placed: MemoryDocuments, mapping: np.ndarray, weights: np.ndarray) -> MemorySettling:
        return MemorySettling(self.target, mapping[placed.labels], self.n_classes, weights)

    def calibration_rows(self) -> Iterable[tuple[Any, np.ndarray]]:
        return self.read_source()


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
    from isthmus.classify.cocc.kernels import add_transposed_product

    seed = int(rng.integers(2**63))
    words = np.zeros((n_words, width))
    for block in read():
        noise = content_noise(block, width, np.random.default_rng(seed))
        add_transposed_product(block.indptr, block.indices, block.data, noise, words)
    words = unit_rows(words)
    smooth = np.zeros((n_words, width))
    for block in read():
        documents = unit_rows(block @ words)
        add_transposed_product(block.indptr, block.indices, block.data, documents, smooth)
    # The common direction is what all documents share; without it the cosine tells topics apart.
    smooth = unit_rows(smooth)
    return unit_rows(smooth - smooth.mean(axis=0))


def group_words(vectors: np.ndarray, k: int, rng: np.random.Generator, n_iter: int = 5) -> np.ndarray:
    """Cluster number of each word by k-means on the sphere from ``k`` random words; every cluster keeps a word."""
    from isthmus.classify.cocc.kernels import sum_by_label

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
        centres = unit_rows(sums)
    return labels


# -- Refinement: target documents settle at the nearest centroid of the classes that co-clustering gave them
# Co-clustering sees words through k clusters and long documents weigh more; once it has found the classes, a document's
# own rare words and an equal say for every document decide the doubtful ones better. This is k-means on the sphere
# (tf-idf, cosine) started from the co-clustering's labels: sums over row blocks, an objective that never falls.


@dataclass
class Refinement:
    """The centroids (words × classes, columns of length one), mean cosines with them, and why it stopped."""

    centroids: np.ndarray
    history: list[float] = field(default_factory=list)
    stopped: str = "converged"


class SettlingDocuments(Protocol):
    """Documents that move between classes: their tf-idf rows of length one added up, and how many each class has."""

    @property
    def sums(self) -> np.ndarray: ...

    @property
    def sizes(self) -> np.ndarray: ...

    @property
    def fit(self) -> float | None:
        """Mean cosine of the documents with the centroids of the last move, where it is known."""
        ...

    def move(self, centroids: np.ndarray) -> int:
        """Every document to the nearest centroid; not zero if anything changed."""
        ...


class MemorySettling:
    """Documents of blocks in memory; ``labels`` has the class of each."""

    def __init__(self, target: CountBlocks, labels: np.ndarray, n_classes: int, weights: np.ndarray):
        self.target = target
        self.labels = np.array(labels, dtype=np.int64)
        self.n_classes = n_classes
        self.weights = weights
        self.sums = _class_sums(target, self.labels, n_classes, weights)
        self.fit: float | None = None

    @property
    def sizes(self) -> np.ndarray:
        return np.bincount(self.labels, minlength=self.n_classes)

    def move(self, centroids: np.ndarray) -> int:
        from isthmus.classify.cocc.kernels import assign_to_centroids

        self.sums = np.zeros_like(self.sums)
        changed, fit = 0, 0.0
        for rows, block in self.target.blocks():
            moved, part = assign_to_centroids(
                block.indptr, block.indices, block.data, self.weights, centroids, self.labels[rows], self.sums
            )
            changed += moved
            fit += part
        self.fit = fit / max(1, self.target.n_rows)
        return changed


def block_idf(read: Callable[[], Iterable[Any]], n_words: int) -> np.ndarray:
    """log((1 + n) / (1 + df)) + 1 per word, over the blocks' documents.

    Both domains together: a word that both use everywhere tells least, and twice the documents give a steadier weight.
    """
    from isthmus.classify.cocc.kernels import add_columns

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
    from isthmus.classify.cocc.kernels import add_unit_rows

    sums = np.zeros((len(weights), n_classes))
    for rows, block in target.blocks():
        add_unit_rows(block.indptr, block.indices, block.data, weights, labels[rows], sums)
    return sums


def refine_by_centroids(documents: SettlingDocuments, *, max_iter: int = 50) -> Refinement:
    """Move documents to the nearest centroid until none moves.

    It gives up when a class would lose more than half of its documents: then the centroids follow some other division
    of the target than the one the co-clustering found.
    """
    before = documents.sizes
    first = centroids = unit_columns(documents.sums)
    history: list[float] = []
    for _ in range(max_iter):
        changed = documents.move(centroids)
        if documents.fit is not None:
            history.append(documents.fit)
        if np.any(2 * documents.sizes < before):
            return Refinement(first, [], "reverted")
        if not changed:
            return Refinement(centroids, history)
        centroids = unit_columns(documents.sums)
    return Refinement(centroids, history, "max_iter")


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
    weights = problem.idf()
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


def calibrate(labelled: Iterable[tuple[Any, np.ndarray]], score: Callable[[Any], np.ndarray]) -> tuple[float, float]:
    """Length power and factor under which softmax of the scores is most likely for the source's labels.

    Source documents took no part in finding the document clusters, so they are new documents to them; that they come
    from the other domain makes the estimate cautious.
    """
    blocks = [(score(rows), np.asarray(rows.sum(axis=1)), codes) for rows, codes in labelled]
    if not blocks:
        return 0.0, 1.0
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
