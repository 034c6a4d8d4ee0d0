"""Co-clustering based classification (Dai, Xue, Yang, Yu, KDD 2007) on arrays, block by block.

Target documents go to as many clusters as there are classes, words to ``k`` clusters, so that little mutual information
is lost in the target and, weighted by λ, between classes and words in the source:

    I(D;W) − I(D̂;Ŵ) + λ·[ I(C;W) − I(C;Ŵ) ].

**Cheap form.** A document's divergence to a cluster depends on the cluster through the k × C table only, a word's
through two tables of that size. One pass over the non-zeros serves the document step and the sums f(w,d̂), which are
all that the word step reads. The pass is a sum over row blocks, wherever they are.

**Smoothing that keeps the objective monotone.** Both joint distributions are smoothed once, before the search: g gets a
constant in every cell; f gets one pinned pseudo-document per cluster, average target documents that together hold the
share ``smoothing`` of the mass. The objective is that of the smoothed distributions. Each step then minimises exactly
over positive tables, Theorem 1 applies, and I(D;W) is (1 − smoothing) times that of the plain counts, since an average
document carries no information.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from isthmus._math.information import mutual_information, safe_log
from isthmus._math.rows import group_sums, unit_rows
from isthmus.classify.cocc.blocks import Documents, Problem

FINITE = -1e300  # in place of -inf: a weight of zero times it is zero, any other weight excludes the cluster


def group_words(vectors: np.ndarray, k: int, rng: np.random.Generator, n_iter: int = 5) -> np.ndarray:
    """Return the cluster of each word by k-means on the sphere from ``k`` random words; every cluster has a word.

    The paper starts from CLUTO (repeated bisection, cosine).

    Parameters
    ----------
    vectors : ndarray of shape (n_words, n_dimensions)
    k : int
    rng : numpy.random.Generator
    n_iter : int

    Returns
    -------
    ndarray of int of shape (n_words,)
    """
    # A start needs no more digits, and half the bytes take less time.
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    seeds = rng.choice(len(vectors), size=k, replace=False)
    centres = vectors[seeds]
    for _ in range(n_iter):
        labels = (vectors @ centres.T).argmax(axis=1)
        labels[seeds] = np.arange(k)
        centres = unit_rows(group_sums(vectors, labels, k).astype(np.float32))
    return labels


def smooth_source(class_counts: np.ndarray, smoothing: float = 1.0) -> np.ndarray:
    """Return g(c,w): class-word counts raised by ``smoothing`` in every cell, as a distribution.

    Parameters
    ----------
    class_counts : ndarray of shape (n_classes, n_words)
    smoothing : float

    Returns
    -------
    ndarray of shape (n_classes, n_words)
    """
    raised = np.ascontiguousarray(class_counts + smoothing)
    return raised / raised.sum()


def document_logs(target_table: np.ndarray) -> np.ndarray:
    """Return log p(ŵ|d̂), word clusters × document clusters; a document's score is the sum over its words.

    Parameters
    ----------
    target_table : ndarray of shape (k, n_classes)

    Returns
    -------
    ndarray of shape (k, n_classes)
    """
    mass = target_table.sum(axis=0)
    return np.maximum(safe_log(target_table / np.where(mass > 0, mass, 1.0)), FINITE)


def word_logs(table: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """Return log p(column|ŵ), columns × word clusters; empty clusters are excluded.

    A cluster whose words have no weight on this side has the overall profile. Any profile gives an upper bound of the
    loss after the move, so the step still cannot raise the objective.

    Parameters
    ----------
    table : ndarray of shape (k, n_columns)
    alive : ndarray of bool of shape (k,)
        Clusters with at least one word.

    Returns
    -------
    ndarray of shape (n_columns, k)
    """
    mass = table.sum(axis=1, keepdims=True)
    profile = np.where(mass > 0, table / np.where(mass > 0, mass, 1.0), table.sum(axis=0) / max(table.sum(), 1e-300))
    logs = np.maximum(safe_log(profile), FINITE)
    logs[~alive] = FINITE
    return np.ascontiguousarray(logs.T)


class CoClustering:
    """One search from one start.

    Attributes
    ----------
    documents : Documents
    words : ndarray of int
        Cluster of each word.
    target_table, source_table : ndarray of shape (k, n_classes)
        Smoothed joint distribution of word clusters with document clusters and with classes.
    in_target, in_source : ndarray of shape (n_classes, n_words)
        The same for single words: f(w,d̂) and g(c,w).
    history : list of float
        The objective before the first and after every step.
    """

    def __init__(
        self, problem: Problem, documents: Documents, words: np.ndarray, k: int, *, trade_off: float, smoothing: float
    ):
        self.documents, self.words, self.k, self.trade_off = documents.copy(), words.astype(np.int64), k, trade_off
        self.in_source = smooth_source(problem.class_counts)
        # f(w,d̂) and λ·g(c,w), a row for each document cluster and class: long rows of words are quick to work on.
        self.weights = np.concatenate([np.empty_like(self.in_source), trade_off * self.in_source])
        self.in_target = self.weights[: problem.n_classes]
        self.scale = (1 - smoothing) / problem.total
        self.pinned = smoothing / problem.n_classes * (problem.word_totals / problem.total)
        self.constant = (1 - smoothing) * problem.information + trade_off * mutual_information(self.in_source)
        self.target_table = self.source_table = np.zeros((k, problem.n_classes))
        self._add_documents()
        self._add_words()
        self.history = [self.objective()]
        self.n_iter, self.converged = 0, False

    def objective(self) -> float:
        """Return the objective of the smoothed distributions.

        Returns
        -------
        float
        """
        return self.constant - mutual_information(self.target_table) - self.trade_off * self.source_information

    def run(self, max_iter: int, tol: float = 0.0, *, move_documents: bool = True) -> CoClustering:
        """Iterate until nothing moves, at most ``max_iter`` iterations in total; return the search.

        The word step comes first, because the first word clusters do not depend on the classes. ``tol`` ends the search
        when an iteration lowers the objective by less than this share of the total decrease.

        Parameters
        ----------
        max_iter : int
        tol : float
        move_documents : bool

        Returns
        -------
        CoClustering
        """
        while self.n_iter < max_iter and not self.converged:
            self.n_iter += 1
            before = self.history[-1]
            changed = self.word_step()
            self.history.append(self.objective())
            if move_documents:
                changed += self.document_step()
                self.history.append(self.objective())
            self.converged = not changed
            if before - self.history[-1] < tol * (self.history[0] - self.history[-1]):
                break
        return self

    def word_step(self) -> int:
        """Move every word to its best cluster; return the number of words that moved.

        Returns
        -------
        int
        """
        from isthmus.classify.cocc.kernels import assign_words

        alive = np.bincount(self.words, minlength=self.k) > 0
        logs = np.vstack([word_logs(self.target_table, alive), word_logs(self.source_table, alive)])
        changed = assign_words(self.weights, logs, self.words)
        self._add_words()
        return changed

    def document_step(self) -> int:
        """Move every document to its best cluster; return the number of documents that moved.

        Returns
        -------
        int
        """
        groups = self.words.astype(np.min_scalar_type(self.k))  # short numbers stay in the fastest memory
        changed = self.documents.move(document_logs(self.target_table), groups=groups, phase="co-clustering")
        self._add_documents()
        self.target_table = self._added_up(self.in_target)
        return changed

    def _add_documents(self) -> None:
        """Take the documents' sums as f, smoothed."""
        np.multiply(self.documents.sums, self.scale, out=self.in_target)
        self.in_target += self.pinned

    def _add_words(self) -> None:
        self.target_table = self._added_up(self.in_target)
        self.source_table = self._added_up(self.in_source)
        self.source_information = mutual_information(self.source_table)

    def _added_up(self, rows: np.ndarray) -> np.ndarray:
        """Return word clusters × rows."""
        return np.stack([np.bincount(self.words, weights=row, minlength=self.k) for row in rows], axis=1)


def match_clusters(
    target_table: np.ndarray, source_table: np.ndarray, *, floor: float = 1e-6
) -> tuple[np.ndarray, np.ndarray]:
    """Match document clusters with classes one to one by D(ĝ(Ŵ|c) ‖ f̂(Ŵ|d̂)).

    The paper takes the nearest class of each cluster, which can name one class twice; here the sum of divergences is
    smallest. The spread of words within a word cluster does not depend on the document cluster, so the k × C tables
    decide.

    Parameters
    ----------
    target_table, source_table : ndarray of shape (k, n_classes)
    floor : float
        Share of the mass that each cell gets.

    Returns
    -------
    mapping : ndarray of int of shape (n_classes,)
    divergence : ndarray of shape (n_classes, n_clusters)
    """
    # Word clusters that the target never uses would make every divergence infinite; each cell gets a share of the mass.
    raised = target_table + floor * target_table.sum() / target_table.size
    p = source_table / source_table.sum(axis=0)
    own = np.sum(p * np.where(p > 0, safe_log(p), 0.0), axis=0)
    divergence = own[:, None] - p.T @ document_logs(raised)
    classes, clusters = linear_sum_assignment(divergence)
    mapping = np.empty(len(clusters), dtype=np.int64)
    mapping[clusters] = classes
    return mapping, divergence
