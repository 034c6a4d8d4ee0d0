"""Speed of co-clustering: one iteration and a whole fit.

The peers are written here, straight from the published descriptions, and give the same answer as ours: each case
reports the largest difference.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from isthmus._math.information import mutual_information, safe_log
from isthmus._utils import one_blas_thread
from isthmus.classify.cocc.blocks import Problem
from isthmus.classify.cocc.classifier import CoClusteringClassifier
from isthmus.classify.cocc.co_clustering import CoClustering, document_logs, smooth_source
from isthmus.features.blocks import Passes
from isthmus.methods import make_method
from isthmus_bench.engine.suite import SpeedCase
from isthmus_bench.tasks import NEWSGROUP_TASKS, NEWSGROUPS_FILE


def synthetic(n: int, d: int, per_row: int, seed: int = 0, classes: int = 2) -> tuple[sp.csr_matrix, np.ndarray]:
    """Counts with a Zipf-like vocabulary in which classes prefer different words; built row block by row block."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    # The square of a uniform number favours small column numbers; a class adds its own offset.
    u = rng.random((n, per_row), dtype=np.float32)
    indices = (u * u * (d - classes)).astype(np.int32) // classes * classes
    own = rng.random((n, per_row), dtype=np.float32) < 0.7
    indices += np.where(own, labels[:, None], rng.integers(classes, size=(n, per_row))).astype(np.int32)
    del u, own
    data = rng.integers(1, 4, size=n * per_row, dtype=np.int8).astype(np.float64)
    indptr = np.arange(0, n * per_row + 1, per_row, dtype=np.int32)
    return sp.csr_matrix((data, indices.ravel(), indptr), shape=(n, d)), labels


def _start(n: int, d: int, per_row: int, k: int):
    X, labels = synthetic(n, d, per_row)
    rng = np.random.default_rng(1)
    documents = np.where(rng.random(n) < 0.25, 1 - labels, labels)
    counts = np.asarray(synthetic(2000, d, per_row, seed=2)[0].sum(axis=0)).reshape(-1, 1) * rng.random((d, 2))
    return X, counts, documents, rng.integers(k, size=d)


# -- peers ------------------------------------------------------------------------------------------------------------


class _Plain:
    """The same smoothed objective as ours, iterated without the cheap form; subclasses say how a step is computed."""

    def __init__(self, X: sp.csr_matrix, source: np.ndarray, k: int, trade_off: float, smoothing: float):
        self.X, self.Xt, self.source, self.k = X, sp.csr_matrix(X.T), source, k
        self.trade_off, self.smoothing, self.total = trade_off, smoothing, X.sum()
        share = np.asarray(X.sum(axis=0)).ravel() / self.total
        self.pinned = np.repeat(share[:, None] * smoothing / source.shape[1], source.shape[1], axis=1)

    def word_documents(self, documents: np.ndarray) -> np.ndarray:
        Z = _indicator(documents, self.source.shape[1])
        return (self.Xt @ Z).toarray() * ((1 - self.smoothing) / self.total) + self.pinned

    def tables(self, words: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        W = _indicator(words, self.k).T
        return W @ F, W @ self.source

    def objective(self, words: np.ndarray, F: np.ndarray) -> float:
        f, g = self.tables(words, F)
        return -mutual_information(f) - self.trade_off * mutual_information(g)


class PerCluster(_Plain):
    """The published per-cluster updates on sparse data: one pass over the non-zeros per document and per word cluster.

    The paper's cost is O((C + k)·nnz) an iteration: every document is compared with each of C clusters, every word with
    each of k, by the divergences as they are written (sparse products, vectorised; no loop over documents or words).
    """

    def iterate(self, documents: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        C = self.source.shape[1]
        F = self.word_documents(documents)
        f, g = self.tables(words, F)
        profile = safe_log(f / np.maximum(f.sum(axis=1, keepdims=True), 1e-300))
        classes = safe_log(g / np.maximum(g.sum(axis=1, keepdims=True), 1e-300))
        scale = (1 - self.smoothing) / self.total
        scores = np.full((self.X.shape[1], self.k), -np.inf)
        for cluster in range(self.k):
            if not g[cluster].any():
                continue
            by_document = profile[cluster][documents]  # log f̂(D|ŵ) up to terms that do not depend on the cluster
            target = scale * (self.Xt @ by_document) + self.pinned @ profile[cluster]
            scores[:, cluster] = target + self.trade_off * (self.source @ classes[cluster])
        words = _keep_ties(scores, words)
        f, _ = self.tables(words, F)
        logs = document_logs(f)
        found = np.column_stack([self.X @ logs[:, c][words] for c in range(C)])
        return _keep_ties(found, documents), words


class Products(_Plain):
    """The same by sparse matrix products with cluster indicators: the shortest way to write it with scipy."""

    def iterate(self, documents: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        F = self.word_documents(documents)
        f, g = self.tables(words, F)
        empty = g.sum(axis=1) == 0
        profile = safe_log(f / np.maximum(f.sum(axis=1, keepdims=True), 1e-300))
        classes = safe_log(g / np.maximum(g.sum(axis=1, keepdims=True), 1e-300))
        profile[empty], classes[empty] = 0.0, 0.0
        scores = F @ profile.T + self.trade_off * (self.source @ classes.T)
        scores[:, empty] = -np.inf
        words = _keep_ties(scores, words)
        f, _ = self.tables(words, F)
        counts = self.X @ _indicator(words, self.k)
        return _keep_ties(np.asarray(counts @ document_logs(f)), documents), words


class Dense(_Plain):
    """The paper's equations on dense arrays: f and f̂ are held as documents × words, divergences computed from them."""

    def __init__(self, X, source, k, trade_off, smoothing):
        super().__init__(X, source, k, trade_off, smoothing)
        C = source.shape[1]
        f = X.toarray() / self.total * (1 - smoothing)
        self.f = np.vstack([f, self.pinned.T])  # the pinned average documents are rows like others
        self.C = C

    def iterate(self, documents: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = np.concatenate([documents, np.arange(self.C)])
        W, Z = np.eye(self.k)[words], np.eye(self.C)[z]
        joint = Z.T @ self.f @ W
        g = self.source.T @ W
        scores = np.full((len(words), self.k), -np.inf)
        for cluster in range(self.k):
            if g[:, cluster].sum() == 0:
                continue
            # f̂(D|ŵ) = f(d̂|ŵ)·f(d)/f(d̂); Σ_d f(d,w)·log of it, and the same for the classes.
            given = joint[:, cluster] / max(joint[:, cluster].sum(), 1e-300)
            f_hat = given[z] * self.f.sum(axis=1) / np.maximum(joint.sum(axis=1), 1e-300)[z]
            scores[:, cluster] = safe_log(f_hat) @ self.f
            scores[:, cluster] += self.trade_off * (self.source @ safe_log(g[:, cluster] / g[:, cluster].sum()))
        words = _keep_ties(scores, words)
        W = np.eye(self.k)[words]
        joint = Z.T @ self.f @ W
        found = np.empty((len(documents), self.C))
        for cluster in range(self.C):
            # f̂(W|d̂) = f(ŵ|d̂)·f(w)/f(ŵ)
            f_hat = (joint[cluster] / joint[cluster].sum() / np.maximum(joint.sum(axis=0), 1e-300))[words]
            found[:, cluster] = self.f[: len(documents)] @ safe_log(f_hat * np.maximum(self.f.sum(axis=0), 1e-300))
        return _keep_ties(found, documents), words


def _indicator(labels: np.ndarray, k: int) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(len(labels)), labels, np.arange(len(labels) + 1)), shape=(len(labels), k))


def _keep_ties(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    best = scores.argmax(axis=1)
    at = np.arange(len(labels))
    return np.where(scores[at, best] > scores[at, labels] + 1e-15, best, labels)


# -- cases ------------------------------------------------------------------------------------------------------------


@one_blas_thread()  # of both sides: threads that wait for each other would count as work
def _compare(peer_class, name: str, n: int, d: int, per_row: int, k: int, rounds: int, *, whole: bool = False) -> dict:
    """CPU seconds (other work on the machine then matters less) of the same iterations from the same start."""
    X, counts, documents, words = _start(n, d, per_row, k)
    source = smooth_source(counts)

    def start() -> CoClustering:
        problem = Problem(Passes(X[:0], X, np.zeros(0, dtype=np.int32), np.arange(source.shape[1])))
        problem.class_counts = counts.T
        return CoClustering(problem, problem.placed(documents), words, k, trade_off=0.25, smoothing=0.3)

    start().run(rounds)  # compile before the clock starts
    began = time.process_time()
    ours = start()
    if not whole:  # what is made once is not part of an iteration
        began = time.process_time()
    ours.run(rounds)
    ours_s = time.process_time() - began
    began = time.process_time()
    peer = peer_class(CoClusteringClassifier().weigh(X), source, k, 0.25, 0.3)
    if not whole:  # what is made once is no part of an iteration
        began = time.process_time()
    z, w = documents, words
    for _ in range(ours.n_iter):
        z, w = peer.iterate(z, w)
    peer_s = time.process_time() - began
    constant = ours.history[-1] + mutual_information(ours.target_table) + 0.25 * mutual_information(ours.source_table)
    difference = abs(ours.history[-1] - (constant + peer.objective(w, peer.word_documents(z))))
    share = 1 if whole else ours.n_iter
    return {
        "ours_s": ours_s / share,
        "peer": name,
        "peer_s": peer_s / share,
        "clock": "cpu",
        "n": n,
        "words": d,
        "nonzeros": int(X.nnz),
        "word_clusters": k,
        "iterations": ours.n_iter,
        "difference": float(difference),
        **({} if whole else _least_work(X.nnz, d, k, source.shape[1])),
    }


def _least_work(entries: int, words: int, k: int, classes: int) -> dict:
    """Of one iteration: every entry once for each class, every word against each word cluster in both tables."""
    operations = 2 * entries * classes + 2 * words * k * 2 * classes
    return {"operations": operations, "moved_bytes": 12 * entries + 8 * words * 2 * classes}


def _iteration(folder: Path) -> dict:
    return _compare(PerCluster, "published per-cluster updates, sparse", 4000, 15000, 88, 128, 15)


def _products(folder: Path) -> dict:
    return _compare(Products, "sparse indicator products", 4000, 15000, 88, 128, 15)


def _dense(folder: Path) -> dict:
    return _compare(Dense, "the paper's equations on dense arrays", 2000, 8000, 88, 64, 4, whole=True)


def _newsgroup(folder: Path) -> dict:
    data = NEWSGROUP_TASKS["sci-talk"].load(folder)
    texts, labels, domain = data.joined()
    X = make_method("cocc").steps[0][1].fit_transform(texts)
    CoClusteringClassifier(n_init=1, max_iter=2, random_state=0).fit(X, labels, domain)  # compiles
    wall, cpu = time.perf_counter(), time.process_time()
    model = CoClusteringClassifier(n_init=5, random_state=0).fit(X, labels, domain)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "ours_s": cpu,
        "wall_s": wall,
        "peer": "goal of 3 s",
        "peer_s": 3.0,
        "clock": "cpu",
        "n": X.shape[0],
        "nonzeros": int(X.nnz),
        "iterations": model.n_iter_,
    }


CASES = (
    SpeedCase("cocc-iteration", "cocc", _iteration, summary="one iteration, published updates", limit=15, quick=True),
    SpeedCase("cocc-iteration-products", "cocc", _products, summary="one iteration, sparse products", quick=True),
    SpeedCase("cocc-fit-dense", "cocc", _dense, summary="a whole fit, equations on dense arrays"),
    SpeedCase("cocc-fit-newsgroups", "cocc", _newsgroup, (NEWSGROUPS_FILE,), "five starts on sci-talk, after warm-up"),
)
