"""Tables behind the figures of the suite "cocc". Each returns plain rows; errors on the target are results only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.svm import LinearSVC

from isthmus._math.cocc import (
    assign_blocks,
    block_statistics,
    class_word_counts,
    co_cluster,
    match_clusters,
    naive_bayes_scores,
    smooth_source,
)
from isthmus._math.information import domain_divergence
from isthmus.bench.engine.suite import Task, TaskData
from isthmus.classify.cocc.start import group_words, sketch_words
from isthmus.evaluate.labels import error_rate
from isthmus.recipes import make_recipe

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
TRADE_OFFS = (0.03125, 0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
WORD_CLUSTERS = (4, 8, 16, 32, 64, 128, 256, 512)


def count_rises(histories: Iterable[Sequence[float]], tolerance: float = 1e-12) -> int:
    """Steps, over all starts, after which the objective stood higher than before."""
    return int(sum(np.sum(np.diff(history) > tolerance) for history in histories))


def _matrix(data: TaskData, recipe: str) -> tuple[Any, np.ndarray, np.ndarray]:
    texts, labels, domain = data.joined()
    return make_recipe(recipe).steps[0][1].fit_transform(texts), labels, domain


def _fit_error(data: TaskData, name: str, X, labels, domain, **settings: Any) -> float:
    model = make_recipe(name, random_state=settings.pop("random_state", 0)).steps[-1][1].set_params(**settings)
    model.fit(X, labels, sample_domain=domain)
    return error_rate(data.target_labels, model.transduction_[domain < 0].tolist())


def sizes(folder: Path, tasks: Sequence[Task]) -> list[dict]:
    """The paper's table of data sets: divergence, sizes, SVM trained on the source and by ten folds in the target."""
    rows = []
    for task in tasks:
        data = task.load(folder)
        counts, labels, domain = _matrix(data, "nbc")
        tfidf = _matrix(data, "svm")[0]
        target = domain < 0
        accuracy = cross_val_score(LinearSVC(random_state=0), tfidf[target], data.target_labels, cv=10)
        rows.append(
            {
                "task": task.name,
                "divergence": _divergence(counts, domain),
                "source_documents": int(np.sum(~target)),
                "target_documents": int(np.sum(target)),
                "words": counts.shape[1],
                "svm_source_target": _fit_error(data, "svm", tfidf, labels, domain),
                "svm_target_ten_fold": float(1 - accuracy.mean()),
            }
        )
    return rows


def _divergence(counts, domain: np.ndarray) -> float:
    sums = [np.asarray(counts[side].sum(axis=0)).ravel() for side in (domain > 0, domain < 0)]
    return domain_divergence(*sums)


def source_share(data: TaskData, seeds: Sequence[int]) -> list[dict]:
    """Error when only a random share of the source's documents is there."""
    counts, labels, domain = _matrix(data, "nbc")
    source = np.flatnonzero(domain > 0)
    rows = []
    for share in SHARES:
        errors: dict[str, list[float]] = {"nbc": [], "cocc": []}
        for seed in seeds if share < 1 else seeds[:1]:
            kept = _stratified(labels[source], share, seed)
            index = np.concatenate([source[kept], np.flatnonzero(domain < 0)])
            for name, found in errors.items():
                extra = {"random_state": seed} if name == "cocc" else {}
                found.append(_fit_error(data, name, counts[index], labels[index], domain[index], **extra))
        for name, found in errors.items():
            rows.append({"share": share, "method": name, "error": float(np.mean(found)), "sd": float(np.std(found))})
    return rows


def _stratified(labels: np.ndarray, share: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    parts = []
    for label in sorted(set(labels)):
        rows = np.flatnonzero(labels == label)
        parts.append(rng.permutation(rows)[: max(1, round(share * len(rows)))])
    return np.sort(np.concatenate(parts))


class _Prepared:
    """A task ready for many runs of the plain search (log counts, no finish)."""

    def __init__(self, data: TaskData):
        counts, labels, domain = _matrix(data, "cocc")
        X = counts.astype(float).log1p().tocsr()
        self.truth = data.target_labels
        self.classes, codes = np.unique(labels[domain > 0].astype(str), return_inverse=True)
        source, target = X[domain > 0], X[domain < 0]
        self.target = block_statistics(lambda: [target], X.shape[1])
        class_counts = class_word_counts(lambda: [(source, codes)], X.shape[1], len(self.classes))
        self.source = smooth_source(class_counts)
        self.start = np.full(target.shape[0], -1, dtype=np.int64)
        priors = np.bincount(codes).astype(float)
        assign_blocks(self.target, *naive_bayes_scores(class_counts, priors), self.start)
        self.vectors = sketch_words(lambda: [source, target], X.shape[1], np.random.default_rng(0))

    def run(self, k: int, trade_off: float, **options: Any):
        k = min(k, len(self.vectors))
        words = group_words(self.vectors, k, np.random.default_rng(0))
        return co_cluster(self.target, self.source, self.start, words, k, trade_off=trade_off, **options)

    def error(self, result) -> float:
        mapping, _ = match_clusters(result.target_table, result.source_table)
        return error_rate(self.truth, self.classes[mapping[result.documents]].tolist())


def iterations(tasks: Sequence[Task], folder: Path, limit: int = 20) -> list[dict]:
    """Error and objective of one start after each iteration.

    Every iteration's clusters are matched with classes by that iteration's own tables. Iteration 0 is where the
    documents start: naive Bayes on log counts with its own labels, which is not the column ``nbc`` (plain counts).
    """
    rows = []
    for task in tasks:
        prepared = _Prepared(task.load(folder))
        whole = prepared.run(64, 0.25, max_iter=limit)
        start = error_rate(prepared.truth, prepared.classes[prepared.start].tolist())
        rows.append({"task": task.name, "iteration": 0, "error": start, "objective": whole.history[0]})
        for iteration in range(1, whole.n_iter + 1):
            result = prepared.run(64, 0.25, max_iter=iteration)
            objective = whole.history[2 * iteration]
            rows.append(
                {"task": task.name, "iteration": iteration, "error": prepared.error(result), "objective": objective}
            )
    return rows


def trade_off(data: TaskData, ks: Sequence[int] = (16, 64, 256)) -> list[dict]:
    """Error of one start by λ."""
    prepared = _Prepared(data)
    return [
        {"trade_off": value, "word_clusters": str(k), "error": prepared.error(prepared.run(k, value))}
        for k in ks
        for value in TRADE_OFFS
    ]


def word_clusters(data: TaskData, values: Sequence[float] = (0.0625, 0.25, 1.0)) -> list[dict]:
    """Error of one start by number of word clusters."""
    prepared = _Prepared(data)
    return [
        {"word_clusters": k, "trade_off": f"λ = {value:g}", "error": prepared.error(prepared.run(k, value))}
        for value in values
        for k in WORD_CLUSTERS
    ]


def gain(folder: Path, tasks: Sequence[Task]) -> list[dict]:
    """Errors of naive Bayes and of the SVM that CoCC removes (negative: adds), by divergence of the domains."""
    rows = []
    for task in tasks:
        data = task.load(folder)
        counts, labels, domain = _matrix(data, "nbc")
        tfidf = _matrix(data, "svm")[0]
        ours = _fit_error(data, "cocc", counts, labels, domain)
        for name, X in (("nbc", counts), ("svm", tfidf)):
            theirs = _fit_error(data, name, X, labels, domain)
            removed = (theirs - ours) / theirs if theirs else 0.0
            distance = _divergence(counts, domain)
            rows.append({"task": task.name, "divergence": distance, "against": name, "gain": removed,
                         "error": theirs, "cocc_error": ours})  # fmt: skip
    return sorted(rows, key=lambda row: -row["divergence"])


def picture(data: TaskData, height: int = 40, width: int = 60) -> list[dict]:
    """Share of word occurrences in a grid of documents × words.

    Documents are ordered by domain and class, words by how much more often the first class uses them (true classes of
    both domains, as in the paper's picture); each cell is relative to its words' mean, so that 1 is average.
    """
    counts, _, domain = _matrix(data, "nbc")
    truth = np.array([*data.source_labels, *data.target_labels])
    first = sorted(set(truth))[0]
    order = np.lexsort((truth != first, domain < 0))
    positive = np.asarray(counts[truth == first].sum(axis=0)).ravel() + 1.0
    negative = np.asarray(counts[truth != first].sum(axis=0)).ravel() + 1.0
    words = np.argsort(-positive / negative, kind="stable")
    # Word bins of equal use, so that every column of the picture stands for as much text.
    use = np.cumsum(np.asarray(counts.sum(axis=0)).ravel()[words])
    bins = np.minimum((use * width / use[-1]).astype(int), width - 1)
    rows = []
    for place, part in enumerate(np.array_split(order, height)):
        totals = np.bincount(bins, weights=np.asarray(counts[part].sum(axis=0)).ravel()[words], minlength=width)
        side = "source" if domain[part[0]] > 0 else "target"
        for column, value in enumerate(totals):
            share = float(value * width / totals.sum()) if totals.sum() else 0.0
            rows.append({"documents": place, "words": column, "density": share, "domain": side})
    return rows
