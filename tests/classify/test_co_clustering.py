"""Co-clustering steps against a literal reading of the paper's equations."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus._math.information import kl_divergence, mutual_information
from isthmus.classify.cocc import kernels
from isthmus.classify.cocc.blocks import Problem
from isthmus.classify.cocc.co_clustering import CoClustering, match_clusters, smooth_source
from isthmus.features.blocks import Passes


def problem(seed, n=14, d=12, n_classes=2, k=4, density=0.5):
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.5, (n, d)) * (rng.random((n, d)) < density)
    X[0, 0] += 1
    source = rng.poisson(2.0, (d, n_classes)).astype(float)
    return sp.csr_matrix(X, dtype=float), source, rng.integers(n_classes, size=n), rng.integers(k, size=d)


def in_memory(X, n_classes):
    """The rows of a target, whose source is given elsewhere."""
    return Problem(Passes(X[:0], X, np.zeros(0, dtype=np.int32), np.arange(n_classes)))


def run(X, counts, documents, words, *, k=4, trade_off=0.25, smoothing=0.3, **options):
    target = in_memory(X, counts.shape[1])
    target.class_counts = counts.T
    search = CoClustering(target, target.placed(documents), words, k, trade_off=trade_off, smoothing=smoothing)
    return search.run(**{"max_iter": 100, **options})


def approximations(X, source, documents, words, smoothing):
    """f, f̂ (with the pinned average documents as extra rows) and g, ĝ, dense, straight from the definitions."""
    C = source.shape[1]
    f = np.log1p(X.toarray())
    f = f / f.sum()
    f = np.vstack([(1 - smoothing) * f, np.repeat(f.sum(axis=0)[None] * smoothing / C, C, axis=0)])
    z = np.concatenate([documents, np.arange(C)])
    k = words.max() + 1
    D, W = np.eye(C)[z], np.eye(k)[words]
    joint = D.T @ f @ W
    f_hat = np.zeros_like(f)
    for i in range(len(f)):
        for w in range(f.shape[1]):
            a, b = z[i], words[w]
            denominator = joint[a].sum() * joint[:, b].sum()
            f_hat[i, w] = joint[a, b] * f[i].sum() * f[:, w].sum() / denominator if denominator > 0 else 0.0
    g = source.T
    gw = g @ W
    g_hat = np.array(
        [[gw[c, words[w]] * g[:, w].sum() / gw[:, words[w]].sum() for w in range(g.shape[1])] for c in range(C)]
    )
    return f, f_hat, g, g_hat


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 0.4]), st.sampled_from([0.0, 0.25, 3.0]), st.integers(2, 3))
def test_objective_never_rises_and_equals_the_divergences(seed, smoothing, trade_off, n_classes):
    X, counts, documents, words = problem(seed, n_classes=n_classes)
    result = run(X, counts, documents, words, trade_off=trade_off, smoothing=smoothing, max_iter=30)
    assert np.all(np.diff(result.history) <= 1e-12)
    f, f_hat, g, g_hat = approximations(X, smooth_source(counts), result.documents.labels, result.words, smoothing)
    # Lemma 1: the loss of information is the divergence of the joint distributions from their approximations.
    literal = kl_divergence(f, f_hat) + trade_off * kl_divergence(g, g_hat)
    assert result.history[-1] == pytest.approx(literal, abs=1e-7)


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_converged_documents_and_words_are_at_their_nearest_cluster(seed):
    X, counts, documents, words = problem(seed)
    smoothing, trade_off = 0.2, 0.7
    result = run(X, counts, documents, words, trade_off=trade_off, smoothing=smoothing, max_iter=200)
    assert result.converged
    # No single document, moved to another cluster with the tables as they are, comes nearer (the document step).
    k, C = 4, 2
    p = result.target_table / result.target_table.sum(axis=0)
    n = np.log1p(X.toarray()) @ np.eye(k)[result.words]
    with np.errstate(divide="ignore"):
        logs = np.where(p > 0, np.log(p), -1e300)
    scores = n @ logs
    assert np.all(scores[np.arange(len(scores)), result.documents.labels] >= scores.max(axis=1) - 1e-7)
    assert result.target_table.shape == (k, C)


def test_information_is_that_of_the_counts():
    X = problem(3)[0]
    assert in_memory(X, 2).information == pytest.approx(mutual_information(np.log1p(X.toarray())))


def test_row_order_changes_nothing_but_the_order():
    X, counts, documents, words = problem(5, n=30, d=25)
    order = np.random.default_rng(0).permutation(30)
    plain = run(X, counts, documents, words)
    moved = run(X[order], counts, documents[order], words)
    np.testing.assert_array_equal(plain.documents.labels[order], moved.documents.labels)
    assert plain.history[-1] == pytest.approx(moved.history[-1], abs=1e-12)


def test_fixed_documents_stay():
    X, counts, documents, words = problem(8)
    result = run(X, counts, documents, words, move_documents=False)
    np.testing.assert_array_equal(result.documents.labels, documents)
    assert np.all(np.diff(result.history) <= 1e-12)


def test_clusters_are_matched_one_to_one_where_the_nearest_class_is_taken_twice():
    # Both document clusters lie nearest to class 0; taken one by one both would be called 0.
    source = np.array([[0.5, 0.05], [0.5, 0.95]]) / 2
    target = np.array([[0.6, 0.40], [0.4, 0.60]]) / 2
    mapping, divergence = match_clusters(target, source)
    assert divergence.argmin(axis=0).tolist() == [0, 0]
    assert mapping.tolist() == [0, 1]


@pytest.mark.parametrize("k", [2, 3])
def test_on_a_tie_documents_and_words_keep_their_cluster(k):
    """Moved on a tie, they could go to and fro for ever."""
    X = sp.csr_matrix([[1.0, 0.0], [0.0, 2.0]])
    documents = np.array([1, 0], dtype=np.int32)  # as in a fit: nothing else is compiled
    kernels.best_places(X.indptr, X.indices, X.data, np.zeros((2, k)), np.zeros(k), documents, None)
    assert documents.tolist() == [1, 0]
    words = np.array([1, 0])
    assert kernels.assign_words(np.ones((k, 2)), np.zeros((k, k)), words) == 0
    assert words.tolist() == [1, 0]
