"""Ridge regression on rows of a kernel: both solutions, leave-one-out, confident rows."""

import numpy as np
import pytest

from isthmus import TransductiveKernelClassifier
from isthmus.classify.strings import ridge
from isthmus.classify.strings.ridge import indicator, leave_one_out, most_confident, rbf, solve_ridge

ALPHA = 1e-3


def rows_of(n, p, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


def likeness(n=90, seed=0, repeats=0):
    """Centred rows of exp(K − 1) for a kernel with ones on its diagonal; the last rows repeat the first."""
    Z = np.abs(rows_of(n - repeats, 40, seed))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    Z = np.vstack([Z, Z[:repeats]])
    R = rbf(0.5 * Z @ Z.T + 0.5 * np.eye(n)) if not repeats else rbf(Z @ Z.T)
    return R - R.mean(axis=0)


def expected_weights(R, train, Y, alpha=ALPHA):
    rows = R[train]
    return rows.T @ np.linalg.solve(rows @ rows.T + alpha * np.eye(len(rows)), Y)


def responses(n, k, seed=3):
    return np.where(np.random.default_rng(seed).integers(0, k + 1, n)[:, None] == np.arange(k), 1.0, -1.0)


def same(found, expected, case):
    apart = np.abs(found - expected).max() / np.abs(expected).max()
    assert apart < 1e-5, f"{case}: the weights are {apart:.1e} from those of the direct solution, at most 1e-5 expected"


@pytest.fixture(params=["steps", "factor"])
def solver(request, monkeypatch):
    monkeypatch.setattr(ridge, "STEPS_FROM", (1, 1) if request.param == "steps" else (10**9, 10**9))


@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.parametrize(
    "train", [np.arange(45), np.r_[40:5:-1, 60:80], np.arange(90)], ids=["run", "scattered", "all"]
)
def test_both_solutions_are_the_ridge(solver, n_classes, train, monkeypatch):
    monkeypatch.setattr(ridge, "STRIP", 7)
    R, Y = likeness(), responses(len(train), n_classes)
    same(solve_ridge(R, train, Y, ALPHA), expected_weights(R, train, Y), "weights")


def test_two_classes_are_solved_as_one(solver):
    R, one = likeness(), responses(45, 1)
    weights = solve_ridge(R, np.arange(45), np.hstack([one, -one]), ALPHA)
    np.testing.assert_array_equal(weights[:, 0], -weights[:, 1])
    same(weights[:, :1], expected_weights(R, np.arange(45), one), "opposite responses")


def test_equal_rows_with_different_labels_get_the_mean_of_their_labels(solver):
    R, train = likeness(repeats=20), np.r_[:30, 70:90]
    Y = responses(len(train), 1)
    same(solve_ridge(R, train, Y, ALPHA), expected_weights(R, train, Y), "equal rows")


def test_a_response_that_is_zero_everywhere_has_no_weights(solver):
    Y = np.column_stack([responses(45, 1), np.zeros(45)])
    np.testing.assert_allclose(solve_ridge(likeness(), np.arange(45), Y, ALPHA)[:, 1], 0, atol=1e-12)


@pytest.mark.parametrize("R", [rows_of(50, 50), -likeness(50)], ids=["not symmetric", "negative"])
def test_other_matrices_are_left_to_the_direct_solution(R, monkeypatch):
    monkeypatch.setattr(ridge, "STEPS_FROM", (1, 1))
    train, Y = np.arange(30), responses(30, 1)
    same(solve_ridge(R, train, Y, ALPHA), expected_weights(R, train, Y), "direct solution")


def test_steps_that_run_out_leave_it_to_the_direct_solution(monkeypatch):
    monkeypatch.setattr(ridge, "STEPS_FROM", (1, 1))
    monkeypatch.setattr(ridge, "MOST_STEPS", 1)
    monkeypatch.setattr(ridge, "MOST_ROUNDS", 1)
    Y = responses(45, 1)
    same(solve_ridge(likeness(), np.arange(45), Y, ALPHA), expected_weights(likeness(), np.arange(45), Y), "one step")


def test_more_documents_than_columns():
    R, Y = rows_of(60, 8), rows_of(40, 2, 1)
    same(solve_ridge(R, np.arange(40), Y, ALPHA), expected_weights(R, np.arange(40), Y), "landmarks")


def test_directions_without_weight_are_dropped():
    """Rows (1, 1), (1, 1), (2, 2) give no information about (1, −1)."""
    R = np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    weights = solve_ridge(R, np.arange(3), np.array([[1.0], [0.0], [0.0]]), 1e-300)
    assert weights.ravel() == pytest.approx([1 / 12, 1 / 12])  # RᵀR is 6 everywhere: its eigenvalues are 12 and 0


def test_leave_one_out_equals_leaving_one_out():
    R, Y = rows_of(9, 15), rows_of(9, 2, 1)
    A = R @ R.T
    expected = []
    for i in range(9):
        rest = np.delete(np.arange(9), i)
        expected.append(A[i, rest] @ np.linalg.solve(A[np.ix_(rest, rest)] + 0.5 * np.eye(8), Y[rest]))
    np.testing.assert_allclose(leave_one_out(A, Y, 0.5), expected, rtol=1e-5, atol=1e-8)


def test_most_confident_indicator_and_rbf():
    assert most_confident(np.array([[0.9, 0], [0.1, 0], [0, 0.95]]), 2).tolist() == [2, 0]
    assert indicator(np.array([1, 0]), 2).tolist() == [[-1, 1], [1, -1]]
    np.testing.assert_allclose(rbf(np.array([[1.0, 0.0]])), [[1.0, np.exp(-1)]], rtol=1e-5, atol=1e-8)


def test_labels_do_not_depend_on_the_solution_or_the_order_of_rows(monkeypatch):
    rng = np.random.default_rng(5)
    texts = [
        " ".join(rng.choice(("kind polite rude staff waiter" if c else "fast slow bike wheel saddle").split(), 12))
        for c in np.arange(120) % 2
    ]
    y = [c if i < 60 else None for i, c in enumerate((np.arange(120) % 2).tolist())]
    order = rng.permutation(120)

    def fit(places):
        model = TransductiveKernelClassifier(ngram_range=(3, 5))
        return model.fit([texts[i] for i in places], [y[i] for i in places])

    expected = fit(range(120))
    monkeypatch.setattr(ridge, "STEPS_FROM", (1, 1))
    found, mixed = fit(range(120)), fit(order)
    assert found.transduction_.tolist() == expected.transduction_.tolist()
    assert mixed.transduction_.tolist() == found.transduction_[order].tolist()
    np.testing.assert_allclose(found.target_scores_, expected.target_scores_, atol=1e-5)
