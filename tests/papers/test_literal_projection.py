"""Term projection written out from the paper's equations (Zheng, Liu, Teng and Sun, AIRS 2009), in plain numpy."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus.exceptions import IsthmusWarning
from isthmus.features import tf_chi2
from isthmus.methods import make_method
from isthmus.papers.projection import chi_square, class_sums


def literal_chi2(X, codes, n_classes):
    """Eq. 1 on occurrences: N(AD − BC)² / ((A+C)(B+D)(A+B)(C+D)), terms × classes."""
    table = np.zeros((X.shape[1], n_classes))
    for term in range(X.shape[1]):
        for c in range(n_classes):
            A, B = X[codes == c, term].sum(), X[codes != c, term].sum()
            C, D = X[codes == c].sum() - A, X[codes != c].sum() - B
            below = (A + C) * (B + D) * (A + B) * (C + D)
            table[term, c] = (A + B + C + D) * (A * D - B * C) ** 2 / below if below else 0.0
    return table


def literal_ratios(X, codes, n_classes, added=0.5):
    """PR(t,c) = [df(t,c)/df(c)] / [df(t,¬c)/df(¬c)], with half a document added to both sides."""
    ratios = np.zeros((X.shape[1], n_classes))
    for c in range(n_classes):
        own, other = X[codes == c] > 0, X[codes != c] > 0
        inside = (own.sum(axis=0) + added) / (len(own) + 2 * added)
        outside = (other.sum(axis=0) + added) / (len(other) + 2 * added)
        ratios[:, c] = inside / outside
    return ratios


def draw(seed, n_classes=4, d=30):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(n_classes), 12)
    rate = rng.random((n_classes, d))[codes] * 1.5
    return rng.poisson(rate).astype(float), codes, rng.poisson(rate[::2]).astype(float)


def literal_class(X, codes, chi2):
    """The class of χ²max; of two classes, which have the same χ², the one where AD > BC."""
    if chi2.shape[1] > 2:
        return chi2.argmax(axis=1)
    first, second = (X[codes == c].sum(axis=0) / X[codes == c].sum() for c in (0, 1))
    return np.where(first > second, 0, 1)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_the_paper_s_rule_written_out(seed, n_classes):
    X, codes, new = draw(seed, n_classes)
    model = make_method("projection-paper")[-1].fit(X, codes)
    chi2, ratios = literal_chi2(X, codes, n_classes), literal_ratios(X, codes, n_classes)
    kept = (chi2.max(axis=1) >= 0.5 * chi2.sum(axis=1) - 1e-9) & (chi2.sum(axis=1) > 0)
    klass = np.where(kept, literal_class(X, codes, chi2), -1)
    np.testing.assert_allclose(chi_square(class_sums(sp.csr_matrix(X), codes, n_classes)), chi2, rtol=1e-10)
    np.testing.assert_array_equal(model.term_class_, klass)
    np.testing.assert_allclose(model.term_weight_, ratios.max(axis=1), rtol=1e-10)
    features = np.stack([(new * ratios.max(axis=1))[:, klass == c].sum(axis=1) for c in range(n_classes)], axis=1)
    np.testing.assert_allclose(model.features(new), features, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(model.predict(new), features.argmax(axis=1))


def two_classes(seed, n=200):
    """Counts of source and target documents; half of the terms are four times as frequent in each of two classes."""
    rng = np.random.default_rng(seed)
    codes = np.arange(2 * n) % 2
    rate = np.where(np.arange(40)[None, :] % 2 == codes[:, None], 0.8, 0.2)
    return rng.poisson(rate).astype(float), codes, np.repeat([1, -1], n)


@pytest.mark.parametrize("seed", range(3))
def test_two_classes_are_told_apart_and_swap_with_their_names(seed):
    X, codes, domain = two_classes(seed)
    found = {}
    for names in (("cold", "warm"), ("warm", "cold")):
        labels = np.array(names)[codes]
        found[names] = make_method("projection-paper")[-1].fit(X, labels, sample_domain=domain).transduction_
        assert np.mean((found[names] == labels)[domain < 0]) >= 0.95
    one, other = found.values()
    assert np.all(one != other)


def test_a_term_of_two_classes_alike_is_reported():
    X = np.array([[2, 3], [0, 5], [1, 4]])  # the first term is as typical of "a" as it is untypical of "b"
    with pytest.warns(IsthmusWarning) as caught:
        make_method("projection-paper")[-1].fit(X, ["a", "b", "c"])
    assert "tied-classes" in [warning.message.code for warning in caught]


@pytest.mark.parametrize("seed", range(3))
def test_selection_and_the_default_s_signed_choice(seed):
    X, codes, new = draw(seed)
    chi2, ratios = literal_chi2(X, codes, 4), literal_ratios(X, codes, 4)
    np.testing.assert_allclose(tf_chi2(X, codes), chi2.max(axis=1), rtol=1e-10)
    model = make_method("projection")[-1].fit(X, codes)
    shares = X.sum(axis=0) / X.sum()
    positive = np.stack([X[codes == c].sum(axis=0) / X[codes == c].sum() > shares for c in range(4)], axis=1)
    signed = np.where(positive, chi2, -1.0)
    klass = np.where(signed.max(axis=1) >= 0.5 * chi2.sum(axis=1) - 1e-9, signed.argmax(axis=1), -1)
    np.testing.assert_array_equal(model.term_class_, klass)
    weight = np.maximum(ratios[np.arange(30), np.maximum(klass, 0)], 1.0)
    features = np.stack([(new * weight)[:, klass == c].sum(axis=1) for c in range(4)], axis=1)
    np.testing.assert_allclose(model.projection_.features(new), features, rtol=1e-10, atol=1e-10)
