"""Co-clustering based classification (Dai, Xue, Yang, Yu, KDD 2007) on arrays, block by block.

Target documents go to as many clusters as there are classes, words to ``k`` clusters, so that little mutual information
is lost in the target and, weighted by λ, between classes and words in the source:

    I(D;W) − I(D̂;Ŵ) + λ·[ I(C;W) − I(C;Ŵ) ].

**Cheap form.** A document's divergence to a cluster depends on the cluster through the k × C table alone, a word's
through two tables of that size. One pass over the non-zeros serves the document step and the sums f(w,d̂), which are
all that the word step reads. The pass is a sum over row blocks, wherever they lie.

**Smoothing that keeps the objective monotone.** Both joint distributions are smoothed once, up front: g gets a constant
in every cell; f gets one pinned pseudo-document per cluster, average target documents that together hold the share
``smoothing`` of the mass. The objective is that of the smoothed ones. Each step then minimises exactly over positive
tables, Theorem 1 applies, and I(D;W) is (1 − smoothing) times that of the plain counts, since an average document
carries no information.

**Laplace smoothing** (``smoothing="laplace"``) is the paper's word; what it smooths is our reading: every word counts
once more in every document cluster, as in every class of the source. That is one pinned pseudo-document per cluster
that holds each word once, so the argument above holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from isthmus._math.information import mutual_information, safe_log
from isthmus.classify.cocc.blocks import PlacedDocuments, TargetTotals
from isthmus.classify.cocc.kernels import assign_words


@dataclass(eq=False)
class CoClustering:
    """A fitted co-clustering. ``target_table`` and ``source_table`` are word clusters × clusters/classes, smoothed."""

    placed: PlacedDocuments
    words: np.ndarray
    target_table: np.ndarray
    source_table: np.ndarray
    word_table: np.ndarray
    history: list[float]
    n_iter: int
    converged: bool

    @property
    def objective(self) -> float:
        return self.history[-1]

    @property
    def documents(self) -> np.ndarray:
        return self.placed.labels


def document_logs(target_table: np.ndarray) -> np.ndarray:
    """log p(ŵ|d̂), word clusters × document clusters; what a document adds up over its words."""
    mass = target_table.sum(axis=0)
    return safe_log(target_table / np.where(mass > 0, mass, 1.0))  # an empty cluster: -inf throughout


def _word_logs(table: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """log p(column|ŵ) as columns × word clusters; -inf for empty clusters.

    For a cluster whose words have no weight on this side, the overall profile stands in. Any stand-in is an upper bound
    of the loss after the move, so the step still cannot raise the objective.
    """
    mass = table.sum(axis=1, keepdims=True)
    profile = np.where(mass > 0, table / np.where(mass > 0, mass, 1.0), table.sum(axis=0) / max(table.sum(), 1e-300))
    logs = safe_log(profile)
    logs[~alive] = -np.inf
    return np.ascontiguousarray(logs.T)


class Search:
    """One run from one start: state and the two steps."""

    def __init__(self, target: TargetTotals, source: np.ndarray, k: int, trade_off: float, smoothing: float | str):
        self.target, self.source, self.k = target, source, k
        self.trade_off = trade_off
        self.n_clusters = source.shape[1]
        # f(w,d̂) and λ·g(c,w), a row for each document cluster and class: long rows of words are quick to work on.
        self.weights = np.empty((2 * self.n_clusters, len(source)))
        self.weights[self.n_clusters :] = trade_off * source.T
        self.by_class = np.ascontiguousarray(source.T)
        self.by_cluster = self.weights[: self.n_clusters]
        if isinstance(smoothing, str):
            total = target.total + self.by_cluster.size
            self.scale = 1 / total
            self.pinned = np.full(len(source), 1 / total)
            information = laplace_information(target, self.n_clusters)
        else:
            shares = target.word_totals / target.total
            self.scale = (1 - smoothing) / target.total
            self.pinned = (smoothing / self.n_clusters) * shares
            information = (1 - smoothing) * target.information
        self.constant = information + trade_off * mutual_information(source)

    def place(self, counts: np.ndarray) -> None:
        """Take word × document-cluster counts as f, smoothed."""
        np.multiply(counts.T, self.scale, out=self.by_cluster)
        self.by_cluster += self.pinned

    def tables(self, words: np.ndarray) -> None:
        self.target_table = self._added_up(words, self.by_cluster)
        self.source_table = self._added_up(words, self.by_class)
        self.source_information = mutual_information(self.source_table)

    def _added_up(self, words: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Word clusters × rows."""
        return np.stack([np.bincount(words, weights=row, minlength=self.k) for row in rows], axis=1)

    def objective(self) -> float:
        return self.constant - (mutual_information(self.target_table) + self.trade_off * self.source_information)

    def word_step(self, words: np.ndarray) -> int:
        alive = np.bincount(words, minlength=self.k) > 0
        logs = np.vstack([_word_logs(self.target_table, alive), _word_logs(self.source_table, alive)])
        # Finite stand-ins for -inf: a weight of zero times them is zero, any other weight rules the cluster out.
        logs = np.maximum(logs, -1e300)
        changed = assign_words(self.weights, logs, words)
        self.tables(words)
        return changed

    def document_step(self, words: np.ndarray, placed: PlacedDocuments) -> int:
        # Finite stand-ins for -inf, as in the word step.
        changed = placed.move(words, np.maximum(document_logs(self.target_table), -1e300))
        self.place(placed.sums)
        self.target_table = self._added_up(words, self.by_cluster)
        return changed


def co_cluster(
    target: TargetTotals,
    source: np.ndarray,
    documents: PlacedDocuments,
    words: np.ndarray,
    n_word_clusters: int,
    *,
    trade_off: float = 0.25,
    smoothing: float | str = 0.3,
    max_iter: int = 100,
    tol: float = 0.0,
    first: str = "words",
    move_documents: bool = True,
) -> CoClustering:
    """Co-cluster target documents and all words from one start; both starts are copied.

    ``source`` is the joint distribution g(c,w) of :func:`smooth_source`, ``trade_off`` λ. It stops when neither step
    changes anything, or when an iteration lowers the objective by less than ``tol`` of what all lowered it by. Each
    iteration begins with ``first``: words, because the starting word clusters know nothing of classes and the source
    should enter before any document is moved; or documents, the paper's order.
    """
    words = np.array(words, dtype=np.int64)
    search = Search(target, source, n_word_clusters, trade_off, smoothing)
    placed = documents.copy()
    search.place(placed.sums)
    search.tables(words)
    history = [search.objective()]
    order = [first, "documents" if first == "words" else "words"] if move_documents else ["words"]
    converged, n_iter, steps = False, 0, len(order)
    for n_iter in range(1, max_iter + 1):  # noqa: B007  (its last value is the number of iterations)
        changed = 0
        for step in order:
            changed += search.word_step(words) if step == "words" else search.document_step(words, placed)
            history.append(search.objective())
        if not changed:
            converged = True
            break
        gained = history[-1 - steps] - history[-1]
        if gained < tol * (history[0] - history[-1]):
            break
    tables = search.target_table, search.source_table, search.by_cluster.T.copy()
    return CoClustering(placed, words, *tables, history, n_iter, converged)


def smooth_source(class_counts: np.ndarray, smoothing: float = 1.0) -> np.ndarray:
    """g(c,w): class-word counts raised by ``smoothing`` in every cell, as a distribution."""
    raised = np.ascontiguousarray(class_counts + smoothing)
    return raised / raised.sum()


def laplace_information(target: TargetTotals, n_clusters: int) -> float:
    """I(D;W) of the target with ``n_clusters`` more documents, each of which holds every word once."""
    words = target.word_totals[target.word_totals > 0]
    # The formula of the information the other way round: what documents and their entries add to it.
    documents = target.total * (target.information - np.log(target.total)) + float(words @ np.log(words))
    raised = target.word_totals + n_clusters
    total = float(raised.sum())
    n_words = len(raised)
    documents -= n_clusters * n_words * np.log(n_words)
    return max(0.0, (documents - float(raised @ np.log(raised))) / total + float(np.log(total)))


def spread_divergence(
    target_words: np.ndarray, source_words: np.ndarray, words: np.ndarray, n_clusters: int, *, floor: float = 1e-12
) -> np.ndarray:
    """Per class, how differently source and target spread their mass over the words within word clusters.

    The part of D(ĝ(W|c) ‖ f̂(W|d̂)) that the k × C tables do not hold: Σ_ŵ g(ŵ|c) · D(g(w|ŵ) ‖ f(w|ŵ)). No assignment
    depends on it, since it does not differ between document clusters.
    """
    shares = []
    for table in (source_words, target_words):
        mass = table.sum(axis=1) + floor * table.sum() / len(table)  # words that one side never uses
        shares.append(mass / np.bincount(words, weights=mass, minlength=n_clusters)[words])
    within = np.bincount(words, weights=shares[0] * np.log(shares[0] / shares[1]), minlength=n_clusters)
    classes = np.stack([np.bincount(words, weights=column, minlength=n_clusters) for column in source_words.T])
    return (classes / classes.sum(axis=1, keepdims=True)) @ within


def match_clusters(
    target_table: np.ndarray, source_table: np.ndarray, *, floor: float = 1e-6
) -> tuple[np.ndarray, np.ndarray]:
    """Class of each document cluster, one to one, and the divergences D(ĝ(W|c) ‖ f̂(W|d̂)) (classes × clusters).

    The paper takes the nearest class of each cluster, which can name one class twice; here the sum of divergences is
    smallest. How ĝ and f̂ spread words within a word cluster does not depend on the document cluster, so the k × C
    tables decide.
    """
    # Word clusters that the target never uses would make every divergence infinite: a millionth of the mass everywhere.
    # Smoothed by Laplace's rule there are none, and ``floor`` is 0.
    raised = target_table + floor * target_table.sum() / target_table.size
    # Finite stand-ins for -inf: an empty word cluster has no weight in the source either.
    p, log_q = source_table / source_table.sum(axis=0), np.maximum(document_logs(raised), -1e300)
    own = np.sum(p * np.where(p > 0, safe_log(p), 0.0), axis=0)
    divergence = own[:, None] - p.T @ log_q
    classes, clusters = linear_sum_assignment(divergence)
    mapping = np.empty(len(clusters), dtype=np.int64)
    mapping[clusters] = classes
    return mapping, divergence
