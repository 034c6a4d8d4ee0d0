"""Small blocks and tables by numpy, large ones compiled: the same numbers, to the last bit."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus.classify.cocc import blocks as cocc
from isthmus.features import block_loops, term_chi2, term_chi2_loops


def counts(seed, n_rows, n_terms=90):
    X = sp.random(n_rows, n_terms, 0.08, "csr", random_state=seed)
    X.data = np.ceil(X.data * 4)
    return X


class Case:
    """Rows with labels, a second stratum, and numbers to multiply them with."""

    def __init__(self, n_classes):
        self.rng = rng = np.random.default_rng(n_classes)
        self.X, self.Y = counts(n_classes, 120), counts(n_classes + 1, 80)
        self.codes = rng.integers(-1, n_classes, 120).astype(np.int32)
        self.after = rng.integers(0, n_classes, 120).astype(np.int32)
        self.rows = self.X.indptr, self.X.indices
        self.steps = rng.integers(1, 1 << 40, self.X.nnz)
        self.weights, self.bias = rng.normal(size=(90, n_classes)), rng.normal(size=n_classes)
        self.stats = term_chi2.count_terms(self.X, self.codes, n_classes)
        self.other = term_chi2.count_terms(self.Y, rng.integers(0, n_classes, 80), n_classes)
        self.n_classes = n_classes


def weigh(case):
    return block_loops.weigh_rows(*case.rows, case.X.data.astype(int), np.abs(case.weights[:, 0]), np.arange(5.0))


def score(case):
    return block_loops.row_scores(*case.rows, case.X.data, case.weights, case.bias)


def under(case):
    table = np.zeros((90, case.n_classes), dtype=np.int64)
    block_loops.add_under(*case.rows, case.steps, case.codes, table)
    return table


def places(case):
    labels = case.codes.copy()
    cocc.best_places(*case.rows, case.X.data, case.weights, case.bias, labels)
    return labels


def places_by_group(case):
    labels = case.codes.copy()
    groups = (np.arange(90) % 7).astype(np.uint8)
    cocc.best_places(*case.rows, case.X.data, case.weights[:7], case.bias, labels, groups)
    return labels


def words(case):
    labels = np.arange(90) % 16
    logs = np.log(np.arange(1.0, 1 + case.n_classes * 16)).reshape(case.n_classes, 16)
    return cocc.assign_words(np.ascontiguousarray(case.weights.T), logs, labels), labels


def moves(case):
    table = np.zeros(90 * case.n_classes, dtype=np.int64)
    np.add.at(table, *cocc.list_moves(*case.rows, case.steps, case.codes, case.after, case.n_classes))
    return table


def products(case):
    out = np.zeros((90, 7), dtype=np.int64)
    vectors = np.random.default_rng(0).normal(size=(120, 7))
    cocc.add_products(*case.rows, case.X.data, vectors, 2.0**30, out)
    return out


def counted(case):
    return vars(term_chi2.count_terms(case.X, case.codes, case.n_classes)).values()


def added(case):
    return vars(case.stats + case.other).values()


def taken_out(case):
    return vars(case.stats + case.other - case.other).values()


def summary(case):
    return vars(term_chi2.summarise(case.stats)).values()


def summary_of_documents(case):
    return vars(term_chi2.summarise(case.stats, level="documents")).values()


def strata(case):
    return vars(term_chi2.summarise(case.stats, case.other)).values()


def ratios(case):
    return term_chi2.discriminability(case.stats, term_chi2.summarise(case.stats).klass)


def pooled(case):
    return term_chi2.discriminability(case.stats, term_chi2.summarise(case.stats).klass, case.other)


LOOPS = (
    weigh, score, under, places, places_by_group, words, moves, products,
    counted, added, taken_out, summary, summary_of_documents, strata, ratios, pooled,
)  # fmt: skip


@pytest.mark.parametrize("n_classes", [2, 12])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_small_and_large_give_the_same_numbers(loop, n_classes, monkeypatch):
    found = []
    for small in (10**9, -1):
        for module in (block_loops, term_chi2_loops, cocc):
            monkeypatch.setattr(module, "SMALL", small)
        made = loop(Case(n_classes))
        found.append([made] if isinstance(made, np.ndarray) else list(made))
    for by_numpy, compiled in zip(*found, strict=True):
        np.testing.assert_array_equal(by_numpy, compiled)
        assert np.asarray(by_numpy).dtype == np.asarray(compiled).dtype
