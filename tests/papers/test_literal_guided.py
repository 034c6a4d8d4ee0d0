"""``isthmus.papers.guided`` against slow loops (Bhattacharya, Godbole, Joshi and Verma, ICDM 2009)."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus.clustering.kmeans import initial_centers
from isthmus.methods import GROUPINGS, make_grouping
from isthmus.options import ClusterOptions
from isthmus.papers.guided import LiteralGuidedKMeans, cross_guided_clustering, prepare

SOURCE = {
    "bikes": ["engine", "wheel", "gear", "chain", "brake", "ride", "helmet"],
    "staff": ["kind", "polite", "desk", "help", "smile", "answer", "counter"],
    "price": ["cheap", "price", "bill", "cost", "invoice", "charge", "refund"],
}
TARGET = {
    "bikes": "engine wheel gear car door seat",
    "staff": "kind help answer phone caller line",
    "price": "cost bill fee",
}


def collections(seed):
    rng = np.random.default_rng(seed)
    groups = list(SOURCE)
    source = [" ".join(rng.choice(SOURCE[groups[i % 3]], 7)) for i in range(18)]
    target = [
        " ".join([*rng.choice(TARGET[groups[i % 3]].split(), 5), *rng.choice(["day", "week"], 2)]) for i in range(24)
    ]
    return source, np.arange(18) % 3, target


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)


def contexts(documents, n_words, pivots, window=5):
    """How often a word and a pivot stand within a few tokens, tf-idf over the words that have a context."""
    counts = np.zeros((n_words, n_words))
    for tokens in documents:
        for i, word in enumerate(tokens):
            for other in tokens[max(0, i - window) : i] + tokens[i + 1 : i + 1 + window]:
                counts[word, other] += other in pivots and other != word
    used = np.count_nonzero(counts.any(axis=1))
    return counts * (np.log((1 + used) / (1 + np.count_nonzero(counts, axis=0))) + 1)


@pytest.mark.parametrize("seed", range(3))
def test_every_iteration_is_that_of_the_loops(seed):
    source_texts, codes, target_texts = collections(seed)
    vectorizer, model, rows = make_grouping(source_texts, target_texts, method="guided-paper", min_df=1, n_clusters=3)
    n = len(source_texts)
    prepared = prepare(rows[:n], codes, np.ones(n, dtype=int), rows[n:], contexts=model.contexts)
    start = initial_centers(rows[n:], 3, "random", seed)
    found = cross_guided_clustering(prepared, start)

    X = unit(rows.toarray())
    S, T, n_words = X[:n], X[n:], X.shape[1]
    pivots = [w for w in range(n_words) if S[:, w].any() and T[:, w].any()]
    column = {word: place for place, word in enumerate(vectorizer.feature_names_)}
    tokens = [[column[token] for token in vectorizer.analyze(text)] for text in source_texts + target_texts]
    near_source, near_target = (contexts(part, n_words, set(pivots)) for part in (tokens[:n], tokens[n:]))
    cosine = np.sum(unit(near_source) * unit(near_target), axis=1)[pivots]
    weights = (cosine + 0.1) / 1.1

    def on_pivots(centers, near):
        """Centres over the pivots; the weight of other words goes to the pivots they occur with."""
        shares = near / np.maximum(near.sum(axis=1, keepdims=True), 1e-300)
        shares[pivots] = 0.0
        return unit((centers + centers @ shares)[:, pivots] * np.sqrt(weights))

    groups = np.stack([S[codes == c].mean(axis=0) for c in range(3)])
    centers, alpha = np.asarray(start), 0.5
    for iteration in range(1, found.n_iter + 1):
        labels = (T @ unit(centers).T).argmax(axis=1)
        moved = np.stack([T[labels == c].mean(axis=0) for c in range(3)])
        across = 0.0
        if iteration > 5:
            near_groups = on_pivots(groups, near_source)
            close = np.clip(on_pivots(centers, near_target) @ near_groups.T, 0.0, 1.0)
            best = max(permutations(range(3)), key=lambda pairs: sum(close[i, j] for i, j in enumerate(pairs)))
            delta = np.array([close[i, j] for i, j in enumerate(best)])[:, None]
            moved = (alpha * moved + (1 - alpha) * delta * groups[list(best)]) / (alpha + (1 - alpha) * delta)
            after = np.clip(on_pivots(moved, near_target) @ near_groups.T, 0.0, 1.0)
            across = sum(delta[i, 0] * np.sum(labels == i) * (1 - after[i, j]) ** 2 for i, j in enumerate(best))
        inside = sum(np.sum((row - unit(moved)[c]) ** 2) for row, c in zip(T, labels, strict=True))
        assert found.history[iteration - 1] == pytest.approx(alpha * inside + (1 - alpha) * across)
        centers = moved
    assert found.n_iter > 5
    np.testing.assert_allclose(found.centers, centers, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(found.labels, (T @ unit(centers).T).argmax(axis=1))


def test_contexts_of_the_paper_are_plain_and_use_every_shared_word():
    texts = collections(0)
    _, model, rows = make_grouping(texts[0], texts[2], method="guided-paper", min_df=1)
    shared = np.asarray((rows[:18].sum(axis=0) > 0) & (rows[18:].sum(axis=0) > 0)).ravel()
    np.testing.assert_array_equal(model.contexts.columns, np.flatnonzero(shared))
    assert isinstance(model, LiteralGuidedKMeans)
    assert not isinstance(make_grouping(texts[0], texts[2], min_df=1)[1], LiteralGuidedKMeans)


def test_the_command_knows_every_grouping():
    assert ClusterOptions.options()["method"].choices == tuple(GROUPINGS)
    assert sp.issparse(make_grouping(["kind staff"], ["rude staff"], min_df=1)[2])
