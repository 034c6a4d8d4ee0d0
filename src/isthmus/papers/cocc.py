"""CoCC as its paper prints it (Dai, Xue, Yang and Yu, KDD 2007).

f(d, w) is the joint distribution of documents and words in the target, g(c, w) that of classes and words in the source.
Documents have as many clusters d̂ as there are classes, words have k clusters ŵ. The clusters approximate

    f̂(d, w) = f(d̂, ŵ) · f(d)/f(d̂) · f(w)/f(ŵ)    and    ĝ(c, w) = g(c, ŵ) · g(w)/g(ŵ).

The text leaves four choices open. "Laplacian smoothing" adds one to every word in every class of the source, and one
document per cluster that holds every word once to the target; these documents stay in their clusters. λ = 0.25, k = 64
and ten iterations are figures that the stored text has lost. The paper starts word clusters with CLUTO and its default
parameters: repeated bisection, the cosine and the criterion I2. ``bisecting_words`` does the same on the counts. New
documents, which the paper does not label, go to the cluster that the document step gives them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_random_state

from isthmus._math.content import content_noise
from isthmus._math.information import naive_bayes_scores, safe_log
from isthmus._math.rows import group_sums, unit_rows
from isthmus._utils import warn
from isthmus._validation import shorten
from isthmus.base import FROM_1, NON_NEGATIVE, Domains, StrOptions, TransferClassifier
from isthmus.classify.cocc.blocks import SKETCH_WIDTH
from isthmus.classify.cocc.classifier import calibrate
from isthmus.classify.cocc.co_clustering import group_words
from isthmus.classify.rules import ClusterMapRule, CoClusterTables
from isthmus.exceptions import DataError

WORD_CLUSTERS = 64
# Random starts of each bisection, and steps of each start. Ten starts, as in CLUTO, take most of the time of a fit.
BISECTION_TRIALS = 4
BISECTION_STEPS = 10


def joint_distributions(source: sp.csr_matrix, codes: np.ndarray, target: sp.csr_matrix, n_classes: int) -> tuple:
    """Return f (documents × words, sparse) and g (classes × words), both with Laplace smoothing."""
    f = sp.vstack([target, sp.csr_matrix(np.ones((n_classes, target.shape[1])))], format="csr")
    g = group_sums(source, codes, n_classes) + 1.0
    return f / f.sum(), g / g.sum()


def cluster_table(joint: Any, rows: np.ndarray, words: np.ndarray, n_rows: int, k: int) -> np.ndarray:
    """Return f(d̂, ŵ) = Σ f(d, w) over the documents of d̂ and the words of ŵ; g(c, ŵ) with a row per class."""
    return group_sums(joint.T @ np.eye(n_rows)[rows], words, k).T


def information(joint: Any) -> float:
    """Return I(X;Y) = Σ p(x, y)·log( p(x, y) / (p(x)·p(y)) ), a sum over the non-zeros."""
    joint = sp.coo_matrix(joint)
    p_x, p_y = (np.asarray(joint.sum(axis=axis)).ravel() for axis in (1, 0))
    return float(joint.data @ np.log(joint.data / (p_x[joint.row] * p_y[joint.col])))


def given_cluster(table: np.ndarray, p_w: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return f̂(w|d̂) = f(d̂, ŵ)/f(d̂) · f(w)/f(ŵ), clusters × words; ĝ(w|c) of the table g(c, ŵ)."""
    of_words = np.bincount(words, weights=p_w, minlength=table.shape[1])
    return (table / table.sum(axis=1, keepdims=True))[:, words] * (p_w / of_words[words])


def move(scores: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return the cluster with the largest score of each row; on a tie the present one stays."""
    at, best = np.arange(len(clusters)), scores.argmax(axis=1)
    return np.where(scores[at, best] > scores[at, clusters], best, clusters)


def document_step(f: sp.csr_matrix, documents: np.ndarray, words: np.ndarray, n_classes: int, k: int) -> np.ndarray:
    """Return d̂ = argmin KL( f(W|d) ‖ f̂(W|d̂) ) = argmax Σ f(d, w)·log f̂(w|d̂) for each document of the target."""
    table = cluster_table(f, documents, words, n_classes, k)
    scores = f @ safe_log(given_cluster(table, np.asarray(f.sum(axis=0)).ravel(), words)).T
    added = len(documents) - n_classes  # the documents of Laplace's rule stay where they are
    return np.concatenate([move(scores[:added], documents[:added]), documents[added:]])


def word_step(
    f: sp.csr_matrix, g: np.ndarray, documents: np.ndarray, words: np.ndarray, k: int, trade_off: float
) -> np.ndarray:
    """Return ŵ = argmin f(w)·KL( f(D|w) ‖ f̂(D|ŵ) ) + λ·g(w)·KL( g(C|w) ‖ ĝ(C|ŵ) ) for each word.

    That is argmax Σ f(d, w)·log f̂(d|ŵ) + λ·Σ g(c, w)·log ĝ(c|ŵ). An empty word cluster stays empty.
    """
    n_classes = len(g)
    of_words = [
        cluster_table(f, documents, words, n_classes, k),
        cluster_table(g, np.arange(n_classes), words, n_classes, k),
    ]
    f_given, g_given = (safe_log(table / np.where(table.sum(axis=0) > 0, table.sum(axis=0), 1.0)) for table in of_words)
    p_d = np.asarray(f.sum(axis=1)).ravel()
    within = safe_log(p_d / of_words[0].sum(axis=1)[documents])  # log f(d)/f(d̂)
    return move(f.T @ (f_given[documents] + within[:, None]) + trade_off * (g.T @ g_given), words)


def kept_information(
    f: Any, g: np.ndarray, documents: np.ndarray, words: np.ndarray, k: int, trade_off: float
) -> float:
    """Return I(D̂;Ŵ) + λ·I(C;Ŵ). The loss is what lacks to I(D;W) + λ·I(C;W), and no step raises it (theorem)."""
    n_classes = len(g)
    in_source = information(cluster_table(g, np.arange(n_classes), words, n_classes, k))
    return information(cluster_table(f, documents, words, n_classes, k)) + trade_off * in_source


def class_divergences(f: Any, g: np.ndarray, documents: np.ndarray, words: np.ndarray, k: int) -> np.ndarray:
    """Return D( ĝ(W|c) ‖ f̂(W|d̂) ), classes × document clusters; the paper takes the nearest class of each cluster."""
    n_classes = len(g)
    g_hat = given_cluster(cluster_table(g, np.arange(n_classes), words, n_classes, k), g.sum(axis=0), words)
    f_hat = given_cluster(cluster_table(f, documents, words, n_classes, k), np.asarray(f.sum(axis=0)).ravel(), words)
    return np.sum(g_hat * np.log(g_hat), axis=1)[:, None] - g_hat @ np.log(f_hat).T


def bisect(rows: sp.csr_matrix, rng: np.random.Generator) -> tuple[float, np.ndarray]:
    """Divide unit rows in two and return the gain in I2 = Σ ‖sum of the rows of a cluster‖, and the halves."""
    n_rows = rows.shape[0]
    whole = np.asarray(rows.sum(axis=0)).ravel()
    best, halves = -np.inf, np.zeros(n_rows, dtype=bool)
    for _ in range(BISECTION_TRIALS):
        first, second = (rows[[row]].toarray().ravel() for row in rng.choice(n_rows, 2, replace=False))
        sides = np.zeros(n_rows, dtype=bool)
        for _ in range(BISECTION_STEPS):
            # A row is nearer to the second sum where its product with the difference of the directions is negative.
            before, sides = sides, rows @ (first / np.linalg.norm(first) - second / np.linalg.norm(second)) < 0
            if np.array_equal(before, sides) or sides.all() or not sides.any():
                break
            second = rows.T @ sides.astype(float)
            first = whole - second
        score = float(np.linalg.norm(first) + np.linalg.norm(second))
        if score > best and sides.any() and not sides.all():
            best, halves = score, sides
    return best - float(np.linalg.norm(whole)), halves


def bisecting_words(X: sp.csr_matrix, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return word clusters by repeated bisection, the method of CLUTO that the paper starts with.

    The rows are the words' counts by document, of length one. Each step divides the cluster whose bisection raises I2
    most, until there are k clusters or no cluster can be divided.
    """
    rows = unit_rows(sp.csr_matrix(X.T))
    words = np.zeros(rows.shape[0], dtype=np.int64)
    offers = {0: bisect(rows, rng)} if rows.shape[0] > 1 else {}
    for new in range(1, k):
        cluster = max(offers, key=lambda name: offers[name][0], default=None)
        if cluster is None or offers[cluster][0] == -np.inf:
            break
        members, halves = np.flatnonzero(words == cluster), offers.pop(cluster)[1]
        words[members[halves]] = new
        for half in (cluster, new):
            members = np.flatnonzero(words == half)
            if len(members) > 1:
                offers[half] = bisect(rows[members], rng)
    return words


def profile_words(X: sp.csr_matrix, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return word clusters by k-means on the sphere of the words' document profiles, sketched by random vectors."""
    noise = np.random.default_rng(int(rng.integers(2**63)))
    vectors = unit_rows(X.T @ content_noise(X, SKETCH_WIDTH, noise))
    vectors = unit_rows(X.T @ unit_rows(X @ vectors))
    return group_words(unit_rows(vectors - vectors.mean(axis=0)), k, rng.spawn(1)[0])


STARTS = {"bisection": bisecting_words, "profiles": profile_words}


class LiteralCoClustering(TransferClassifier):
    """Label target documents by the co-clustering of the paper.

    Parameters
    ----------
    n_word_clusters : int or None, default=None
        k. None: 64, or half of the vocabulary if that is less.
    trade_off : float, default=0.25
        λ, the weight of the source.
    max_iter : int, default=10
        Iterations, each a document step and a word step.
    word_start : {"bisection", "profiles"}, default="bisection"
        Start of the word clusters: repeated bisection as in CLUTO, or k-means on sketched document profiles, the start
        of :class:`isthmus.CoClusteringClassifier`.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    document_clusters_ : ndarray of int
        Document cluster of each row, numbered by the class that a one-to-one map gives it; -1 for source rows.
    match_divergence_ : ndarray of shape (n_classes, n_classes)
        D( ĝ(W|c) ‖ f̂(W|d̂) ) of each class (row) and document cluster (column).
    cluster_classes_ : ndarray of int
        Position in ``classes_`` of the nearest class of each document cluster, the printed map.
    history_ : list of float
        The loss before the first and after every step.
    """

    _row_kind = "counts"
    _parameter_constraints = {
        "n_word_clusters": [FROM_1, None],
        "trade_off": [NON_NEGATIVE],
        "max_iter": [FROM_1],
        "word_start": [StrOptions(set(STARTS))],
        "random_state": ["random_state"],
    }

    def __init__(self, *, n_word_clusters=None, trade_off=0.25, max_iter=10, word_start="bisection", random_state=None):
        self.n_word_clusters = n_word_clusters
        self.trade_off = trade_off
        self.max_iter = max_iter
        self.word_start = word_start
        self.random_state = random_state

    def _fit(self, domains: Domains) -> np.ndarray:
        if not len(domains.target):
            raise DataError("No row is part of the target; CoCC clusters the target's documents.", code="no-target")
        source, target = (sp.csr_matrix(domains.rows(rows), dtype=float) for rows in (domains.source, domains.target))
        codes, n_classes, n_words = domains.source_codes, len(self.classes_), target.shape[1]
        k = self.n_word_clusters or min(WORD_CLUSTERS, max(2, n_words // 2), n_words)
        self.n_word_clusters_, self.trade_off_ = k, self.trade_off
        if k > n_words:
            raise DataError(
                f"n_word_clusters={k} for a vocabulary of {n_words} words; give at most as many clusters as words.",
                code="bad-parameter",
            )
        f, g = joint_distributions(source, codes, target, n_classes)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        scores, bias = naive_bayes_scores(group_sums(source, codes, n_classes).T, np.bincount(codes).astype(float))
        documents = np.concatenate([(target @ scores + bias).argmax(axis=1), np.arange(n_classes)])
        words = STARTS[self.word_start](sp.vstack([source, target], format="csr"), k, rng)

        whole = information(f) + self.trade_off * information(g)
        self.history_ = [whole - kept_information(f, g, documents, words, k, self.trade_off)]
        self.termination_condition_ = "max_iter"
        for iteration in range(1, self.max_iter + 1):
            self.n_iter_ = iteration
            before = documents, words
            documents = document_step(f, documents, words, n_classes, k)
            self.history_.append(whole - kept_information(f, g, documents, words, k, self.trade_off))
            words = word_step(f, g, documents, words, k, self.trade_off)
            self.history_.append(whole - kept_information(f, g, documents, words, k, self.trade_off))
            if np.array_equal(before[0], documents) and np.array_equal(before[1], words):
                self.termination_condition_ = "converged"
                break
        self.objective_, self.restart_histories_ = self.history_[-1], [self.history_]
        divergence = class_divergences(f, g, documents, words, k)
        # Clusters are numbered by the one-to-one map with the smallest sum of divergences; the printed map comes next.
        matched, by_class = np.empty(n_classes, dtype=np.int64), linear_sum_assignment(divergence)[1]
        matched[by_class] = np.arange(n_classes)
        self.match_divergence_ = divergence[:, by_class]
        self.cluster_classes_ = self.match_divergence_.argmin(axis=0)
        self._warn_of_unused_classes()
        documents = matched[documents]
        self._store_tables(f, g, documents, words, k)
        self._calibrate(source, codes)
        clusters = documents[: len(domains.target)]
        self.document_clusters_ = np.full(domains.n_rows, -1, dtype=np.int64)
        self.document_clusters_[domains.target] = clusters
        self.document_clusters_ = domains.restore_rows(self.document_clusters_)
        return self.cluster_classes_[clusters]

    def _warn_of_unused_classes(self) -> None:
        unused = np.setdiff1d(np.arange(len(self.classes_)), self.cluster_classes_)
        if len(unused):
            names = ", ".join(shorten(name) for name in self.classes_[unused][:5])
            warn(
                f"The printed map left {len(unused)} of {len(self.classes_)} classes without documents ({names}), "
                'because two clusters are nearest to one class. Method "cocc" gives every class one cluster.',
                code="fallback",
            )

    def _store_tables(self, f: Any, g: np.ndarray, documents: np.ndarray, words: np.ndarray, k: int) -> None:
        """Store the tables that explanations read, words × clusters or classes."""
        n_classes = len(g)
        self.word_clusters_ = words
        self.target_words_, self.source_words_ = group_sums(f, documents, n_classes).T, g.T
        self.target_table_ = group_sums(self.target_words_, words, k)
        self.source_table_ = group_sums(self.source_words_, words, k)
        given = self.target_table_ / self.target_table_.sum(axis=0)  # f(ŵ|d̂)
        self.word_scores_, self.word_weights_ = safe_log(given)[words], None

    def _calibrate(self, source: sp.csr_matrix, codes: np.ndarray) -> None:
        """Fit the factor and the length power of the probabilities, which the paper does not have, on the source."""
        self.length_power_, self.inverse_temperature_ = calibrate(
            source @ self.word_scores_, np.asarray(source.sum(axis=1)).ravel(), codes
        )

    def weigh(self, X: Any) -> sp.csr_matrix:
        """Return the weights of the words of each row: the counts."""
        return sp.csr_matrix(X, dtype=float)

    def prediction_rule(self) -> ClusterMapRule:
        """Return the arrays that label new documents."""
        tables = CoClusterTables.of(self)
        return ClusterMapRule(
            self.word_scores_, self.length_power_, self.inverse_temperature_, len(self.classes_), tables
        )
