"""Transductive SVM: balanced labels, switching, labels in the gap."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus import SourceOnlyClassifier
from isthmus.exceptions import UsageError
from isthmus_bench.baselines.tsvm import TransductiveSVM, balanced_signs, switch_pairs


def shifted_clouds(seed=0, n=60):
    """Two clouds; the target's gap lies where the source's machine would cut through a cloud."""
    rng = np.random.default_rng(seed)
    source = np.vstack([rng.normal((-1, 0), 0.2, (n, 2)), rng.normal((1, 0), 0.2, (n, 2))])
    target = np.vstack([rng.normal((-0.1, 0), 0.2, (n, 2)), rng.normal((1.6, 0), 0.2, (n, 2))])
    y = np.repeat([0, 1], n)
    return np.vstack([source, target]), np.concatenate([y, y]), np.repeat([1, -1], 2 * n)


def test_balanced_signs_take_the_highest_scores():
    assert balanced_signs(np.array([0.3, -1.0, 2.0, 0.1]), 2).tolist() == [1, -1, 1, -1]


def test_switching_lowers_the_loss_and_keeps_the_balance():
    rng = np.random.default_rng(0)
    scores, signs = rng.normal(size=40), np.repeat([1.0, -1.0], 20)
    before = np.maximum(0, 1 - signs * scores)
    changed = signs.copy()
    pairs = switch_pairs(changed, scores)
    after = np.maximum(0, 1 - changed * scores)
    assert pairs > 0
    assert changed.sum() == signs.sum()
    assert after.sum() < before.sum()
    assert (after**2).sum() < (before**2).sum()
    assert switch_pairs(balanced_signs(scores, 20), scores) == 0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_the_plane_moves_into_the_gap_of_the_target(form):
    X, y, domain = shifted_clouds()
    target = domain < 0
    model = TransductiveSVM(random_state=0).fit(form(X), np.where(target, -1, y), domain)
    plain = SourceOnlyClassifier().fit(form(X), np.where(target, -1, y), domain)
    assert np.mean(plain.transduction_[target] == y[target]) < 0.9
    assert np.mean(model.transduction_[target] == y[target]) > 0.97
    assert model.n_iter_ > 10


def test_three_classes_are_taken_one_against_the_rest():
    rng = np.random.default_rng(1)
    centres = np.array([(0, 3), (3, -2), (-3, -2)])
    y = np.repeat([0, 1, 2], 30)
    X = np.vstack([centres[y] + rng.normal(size=(90, 2)) * 0.4, centres[y] * 0.8 + rng.normal(size=(90, 2)) * 0.4])
    model = TransductiveSVM(random_state=0).fit(X, np.append(y, np.full(90, -1)))
    assert np.mean(model.transduction_[90:] == y) > 0.95
    assert model.coef_.shape == (3, 2)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("wrong", [{"C": 0}, {"target_C": -1}, {"growth": 1.0}], ids=str)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        TransductiveSVM(**wrong).fit([[0.0], [1.0], [2.0]], [0, 1, -1])


@pytest.mark.parametrize("turned", [1.0, -1.0])
def test_pairs_are_as_many_as_the_rarer_sign_has_and_of_the_worst(turned):
    """Slacks 3, 0.2 and 0.1 beside a single one of 1.5: only the first makes more than two with it."""
    signs, scores = turned * np.array([1.0, -1.0, 1.0, 1.0]), turned * np.array([0.8, 0.5, -2.0, 0.9])
    assert switch_pairs(signs, scores) == 1
    assert (turned * signs).tolist() == [1.0, 1.0, -1.0, 1.0], "the third has the most slack"
