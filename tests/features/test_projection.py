"""The transformer: where terms go, blocks, and the way back to words."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus import TermProjection
from isthmus.exceptions import DataError, UsageError
from isthmus.features.projection import WEIGHTINGS


def example(n=60, d=40, n_classes=3, seed=0):
    """Counts in which term t belongs to class t mod n_classes."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, size=n)
    rate = np.where((np.arange(d)[None, :] % n_classes) == codes[:, None], 1.2, 0.15)
    names = np.array(["alpha", "beta", "gamma", "delta"])[:n_classes]
    return sp.csr_matrix(rng.poisson(rate).astype(float)), names[codes]


def test_terms_go_to_their_class_and_features_follow():
    X, y = example(n=400)
    projection = TermProjection().fit(X, y)
    kept = projection.term_class_ >= 0
    assert kept.mean() > 0.9
    np.testing.assert_array_equal(projection.term_class_[kept], (np.arange(40) % 3)[kept])
    features = projection.transform(X)
    assert features.shape == (400, 3)
    assert np.mean(projection.classes_[features.argmax(axis=1)] == y) > 0.95
    assert projection.get_feature_names_out().tolist() == ["alpha", "beta", "gamma"]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_features_are_the_sparse_product(weighting):
    X, y = example()
    projection = TermProjection(weighting=weighting).fit(X, y)
    own = projection.term_class_[:, None] == np.arange(len(projection.classes_))
    product = X @ (own * projection.projection_.weight[:, None])
    np.testing.assert_allclose(projection.transform(X), product)


@settings(max_examples=25)
@given(st.integers(0, 2**16), st.integers(1, 5))
def test_blocks_in_any_order_give_the_same_model(seed, n_blocks):
    X, y = example(seed=seed)
    whole = TermProjection().fit(X, y)
    rng = np.random.default_rng(seed)
    blocks = np.array_split(rng.permutation(60), n_blocks)
    parts = TermProjection()
    for rows in blocks:
        parts.partial_fit(X[rows], y[rows], classes=np.unique(y))
    for name in ("term_class_", "term_weight_", "term_chi2_", "term_purity_", "term_discriminability_"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_classes_may_appear_later():
    X, y = example()
    order = np.argsort(y, kind="stable")[::-1]  # gamma first, alpha last: every new class comes before the known ones
    parts = TermProjection()
    for rows in np.array_split(order, 4):
        names = np.unique(y[rows])
        parts.partial_fit(X[rows], y[rows], classes=None if len(names) > 1 or hasattr(parts, "classes_") else ["beta"])
    np.testing.assert_array_equal(parts.transform(X), TermProjection().fit(X, y).transform(X))


def test_target_labels_are_never_seen():
    X, y = example()
    domain = np.where(np.arange(60) < 40, 1, -1)
    lies = y.copy()
    lies[40:] = "alpha"
    one, two = (TermProjection().fit(X, labels, sample_domain=domain) for labels in (y, lies))
    np.testing.assert_array_equal(one.term_weight_, two.term_weight_)
    np.testing.assert_array_equal(one.term_weight_, TermProjection().fit(X[:40], y[:40]).term_weight_)


def test_number_of_terms_and_purity_cut():
    X, y = example()
    assert np.sum(TermProjection(n_terms=7).fit(X, y).term_class_ >= 0) <= 7
    strict = TermProjection(purity=0.8).fit(X, y)
    kept = strict.term_class_ >= 0
    assert np.all(strict.term_purity_[kept] >= 0.8 - 1e-6)
    assert kept.sum() < np.sum(TermProjection(purity=0.0).fit(X, y).term_class_ >= 0)


def test_norm():
    X, y = example()
    rows = TermProjection(norm="l1").fit(X, y).transform(X)
    sums = rows.sum(axis=1)
    assert np.all(np.isclose(sums, 1.0) | (sums == 0.0))


def test_terms_table_names_words_with_their_numbers():
    X, y = example(d=6)
    projection = TermProjection().fit(X, y)
    names = [f"word{i}" for i in range(6)]
    rows = projection.terms(n=1, names=names)
    assert [row["class"] for row in rows] == ["alpha", "beta", "gamma"]
    assert all(int(row["term"][4:]) % 3 == place for place, row in enumerate(rows))
    assert rows[0]["weight"] == pytest.approx(rows[0]["discriminability"])
    everything = projection.terms("beta", n=None)
    assert all(a["chi2"] >= b["chi2"] for a, b in itertools.pairwise(everything))
    assert all(isinstance(row["term"], int) for row in everything)
    with pytest.raises(UsageError):
        projection.terms("omega")


@pytest.mark.parametrize(
    "parameters",
    [{"n_terms": 0}, {"n_terms": 2.5}, {"purity": 1.2}, {"weighting": "bm25"}, {"smoothing": 0.0}, {"norm": "max"}],
)
def test_bad_parameters(parameters):
    X, y = example()
    with pytest.raises(UsageError) as error:
        TermProjection(**parameters).fit(X, y)
    assert error.value.code == "bad-parameter"
    assert next(iter(parameters)) in str(error.value)


def test_bad_data():
    X, y = example()
    with pytest.raises(DataError) as error:
        TermProjection().fit(-X, y)
    assert error.value.code == "negative-counts"
    with pytest.raises(DataError) as error:
        TermProjection().fit(X, ["alpha"] * 60)
    assert error.value.code == "one-class"


def test_terms_are_kept_by_their_largest_chi2_not_by_the_sum_over_classes():
    """``n_terms`` by χ²total: a term tied a little to every class would push out one tied to a single class."""
    # term 0 belongs to class 0 alone; term 1 parts classes {0, 1} from {2, 3}; term 2 is everywhere, and so a larger
    # part of the shorter documents
    X = np.array([[9, 6, 9]] * 3 + [[0, 6, 9]] * 3 + [[0, 0, 9]] * 3 + [[0, 0, 9]] * 3)
    y = np.repeat([0, 1, 2, 3], 3)
    from isthmus.features.term_chi2 import count_terms, summarise

    summary = summarise(count_terms(X, y, 4))
    assert (summary.largest.argmax(), summary.total.argmax()) == (0, 2)
    kept = TermProjection(n_terms=1, purity=0.0).fit(X, y)
    assert np.flatnonzero(kept.term_class_ >= 0).tolist() == [0]


def test_scaling_all_counts_changes_no_chi2_class():
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (40, 12)), np.arange(40) % 3
    one, three = (TermProjection(purity=0.0).fit(k * X, y).term_class_ for k in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_of_terms_with_the_same_chi2_the_first_are_kept():
    """The last ones kept."""
    # the last term is all that the second class has and tells most; the other three tell alike
    X = np.array([[2, 2, 2, 1]] * 3 + [[0, 0, 0, 9]] * 3)
    kept = TermProjection(n_terms=2, purity=0.0).fit(X, [0, 0, 0, 1, 1, 1])
    assert np.flatnonzero(kept.term_class_ >= 0).tolist() == [0, 3]
