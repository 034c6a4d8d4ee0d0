"""Speed of the term statistics, and of whole fits on headlines."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from isthmus.features.term_chi2 import count_terms, discriminability, summarise
from isthmus_bench.engine.suite import SpeedCase
from isthmus_bench.tasks import HEADLINES_FILE, read_records


def synthetic_counts(n_rows=70_000, n_terms=600_000, n_entries=6_500_000, n_classes=20, seed=0):
    """A matrix of the size the issue names; terms follow Zipf's law and stand in no order."""
    rng = np.random.default_rng(seed)
    rank = np.minimum((n_terms ** rng.random(n_entries)).astype(np.int64), n_terms - 1)
    columns = rng.permutation(n_terms)[rank]
    rows = rng.integers(0, n_rows, size=n_entries)
    X = sp.csr_matrix((np.ones(n_entries), (rows, columns)), shape=(n_rows, n_terms))
    X.sum_duplicates()
    return X, rng.integers(0, n_classes, size=n_rows)


def ours(X, codes, n_classes):
    """Class, χ²max, χ²total and discriminability of every term."""
    stats = count_terms(X, codes, n_classes)
    summary = summarise(stats)
    return summary.largest, summary.total, discriminability(stats, summary.klass, smoothing=0.5)


def straightforward(X, codes, n_classes):
    """The same with scipy and numpy: indicator products and dense class × term tables."""
    n_rows = X.shape[0]
    indicator = sp.csr_matrix((np.ones(n_rows), (codes, np.arange(n_rows))), shape=(n_classes, n_rows))
    found = np.asarray((indicator @ X).todense())
    presence = X.copy()
    presence.data = np.ones_like(presence.data)
    documents = np.asarray((indicator @ presence).todense())
    n_c, n_t, n = found.sum(axis=1, keepdims=True), found.sum(axis=0, keepdims=True), found.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        values = n * (found * n - n_c * n_t) ** 2 / (n_c * (n - n_c) * n_t * (n - n_t))
    values = np.nan_to_num(values)
    best = np.where(found * n > n_c * n_t, values, 0.0).argmax(axis=0)
    sizes = np.bincount(codes, minlength=n_classes)[best]
    inside = documents[best, np.arange(X.shape[1])]
    outside = documents.sum(axis=0) - inside
    ratio = ((inside + 0.5) / (sizes + 1.0)) / ((outside + 0.5) / (n_rows - sizes + 1.0))
    return values.max(axis=0), values.sum(axis=0), ratio


def _statistics(folder: Path) -> dict:
    X, codes = synthetic_counts()
    ours(X, codes, 20)  # compile
    times: dict[str, list[float]] = {"ours": [], "peer": []}
    for _ in range(3):
        for name, run in (("ours", ours), ("peer", straightforward)):
            began = time.process_time()
            result = run(X, codes, 20)
            times[name].append(time.process_time() - began)
            if name == "ours":
                mine = result
    gap = max(float(np.max(np.abs(a - b) / (np.abs(b) + 1e-9))) for a, b in zip(mine[:2], result[:2], strict=True))
    pairs = count_terms(X, codes, 20)
    pair_bytes = sum(array.nbytes for array in vars(pairs).values())
    return {
        "ours_s": min(times["ours"]),
        "peer": "scipy indicator products, numpy χ²",
        "peer_s": min(times["peer"]),
        "clock": "cpu",
        "n": X.shape[0],
        "terms": X.shape[1],
        "entries": X.nnz,
        "difference": gap,
        "ours_mb": pair_bytes / 1e6,
        # Entries are read twice, written by bucket and read, their terms twice; pairs are written and read twice.
        "operations": 2 * X.nnz + 12 * len(pairs.klass),
        "moved_bytes": X.nnz * (2 * 12 + 2 * 10 + 2) + 3 * pair_bytes,
        "peer_mb": 2 * 20 * X.shape[1] * 8 / 1e6,
    }


def _headlines(folder: Path) -> dict:
    """All headlines with their topics: read, vectorise, fit, predict; the peer is a linear SVM on tf-idf."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC

    from isthmus.classify.projection.classifier import TermProjectionClassifier
    from isthmus.features import TextVectorizer

    records = read_records(Path(folder) / HEADLINES_FILE)
    texts, labels = [r["text"] for r in records], np.array([f"{r['domain']} {r['label']}" for r in records])
    some = TextVectorizer(min_df=1).fit_transform(texts[:30_000])
    TermProjectionClassifier().fit(some, labels[:30_000]).predict(some)  # compile
    began = time.perf_counter()
    vectorizer = TextVectorizer(min_df=1)
    X = vectorizer.fit_transform(texts)
    model = TermProjectionClassifier().fit(X, labels)
    predicted = model.predict(X)
    took = time.perf_counter() - began
    began = time.perf_counter()
    peer = TfidfVectorizer(analyzer="char", ngram_range=(2, 2))
    rows = peer.fit_transform(texts)
    svm = LinearSVC().fit(rows, labels)
    svm.predict(rows)
    return {
        "ours_s": took,
        "peer": "scikit-learn TfidfVectorizer(char bigrams) + LinearSVC",
        "peer_s": time.perf_counter() - began,
        "n": len(texts),
        "classes": len(model.classes_),
        "fitted_accuracy": float(np.mean(predicted == labels)),
    }


CASES = (
    SpeedCase(
        name="term-statistics-70000",
        method="projection-rule",
        run=_statistics,
        summary="χ² and discriminability of 600,000 terms in 20 classes from 70,000 documents",
        limit=8,
        quick=True,
    ),
    SpeedCase(
        name="headlines-120000",
        method="projection-rule",
        run=_headlines,
        files=(HEADLINES_FILE,),
        summary="read 120,000 headlines as bigrams, fit, predict",
    ),
)
