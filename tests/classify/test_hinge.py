"""The SVM of few features: the same optimum as scikit-learn's solver."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from isthmus.classify.projection.hinge import fit_squared_hinge


@pytest.mark.parametrize(("n_classes", "C"), [(2, 1.0), (5, 1.0), (5, 10.0)])
def test_same_optimum_as_liblinear(n_classes, C):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_classes, size=400)
    X = np.eye(n_classes)[codes] + rng.normal(scale=0.6, size=(400, n_classes))
    coefficients, intercepts, n_iter = fit_squared_hinge(X, codes, n_classes, C=C, tol=1e-8)
    for code in range(n_classes):
        peer = LinearSVC(C=C, dual=False, tol=1e-10, max_iter=10_000).fit(X, codes == code)
        np.testing.assert_allclose(coefficients[code], peer.coef_[0], atol=2e-4)
        assert intercepts[code] == pytest.approx(peer.intercept_[0], abs=2e-4)
    assert 0 < n_iter < 50


def test_two_classes_mirror_each_other():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, size=100)
    X = np.eye(2)[codes] + rng.normal(scale=0.5, size=(100, 2))
    coefficients, intercepts, _ = fit_squared_hinge(X, codes, 2, tol=1e-8)
    np.testing.assert_allclose(coefficients[0], -coefficients[1], atol=1e-6)
    np.testing.assert_allclose(intercepts[0], -intercepts[1], atol=1e-6)


def test_features_without_any_signal_end():
    coefficients, intercepts, _ = fit_squared_hinge(np.zeros((10, 3)), np.arange(10) % 3, 3)
    np.testing.assert_allclose(coefficients, 0.0)
    assert np.all(np.isfinite(intercepts))
