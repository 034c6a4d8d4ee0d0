"""Ridge in steps: the direct solution is what it must reproduce, and what is left where steps do not get there."""

import numpy as np
import pytest

from isthmus import TransductiveKernelClassifier
from isthmus.classify.strings import kernel_ridge, ridge_steps
from isthmus.classify.strings.kernel_ridge import GrowingRidge, rbf

ALPHA = 1e-3


def likeness(n=90, seed=0, repeats=0):
    """exp(K − 1) for a kernel with ones on its diagonal; the last rows repeat the first."""
    Z = np.abs(np.random.default_rng(seed).normal(size=(n - repeats, 40)))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    Z = np.vstack([Z, Z[:repeats]])
    return rbf(0.5 * Z @ Z.T + 0.5 * np.eye(n)) if not repeats else rbf(Z @ Z.T)


def centred(R):
    return R - R.mean(axis=0)


def expected_weights(R, train, Y, alpha=ALPHA):
    rows = R[train]
    return rows.T @ np.linalg.solve(rows @ rows.T + alpha * np.eye(len(rows)), Y)


def responses(n, k, seed=3):
    return np.where(np.random.default_rng(seed).integers(0, k + 1, n)[:, None] == np.arange(k), 1.0, -1.0)


def same(found, expected, what):
    apart = np.abs(found - expected).max() / np.abs(expected).max()
    assert apart < 1e-5, f"{what}: the weights are {apart:.1e} from those of the direct solution, at most 1e-5 expected"


@pytest.mark.parametrize("align", [lambda R: R, centred], ids=["as they are", "centred"])
@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.parametrize("train", ["run", "scattered", "all"])
def test_steps_end_at_the_direct_solution(align, n_classes, train):
    R = align(likeness())
    rows = {"run": np.arange(45), "scattered": np.r_[40:5:-1, 60:80], "all": np.arange(90)}[train]
    Y = responses(len(rows), n_classes)
    found = ridge_steps.solve_in_steps(R, ridge_steps.as_run(rows), Y, ALPHA)
    assert found is not None, f"{train}: steps should reach the solution for a symmetric kernel"
    same(found, expected_weights(R, rows, Y), train)


def test_equal_rows_with_different_labels_get_the_mean_of_their_labels():
    R, rows = likeness(repeats=20), np.r_[:30, 70:90]
    Y = responses(len(rows), 1)
    found = ridge_steps.solve_in_steps(R, rows, Y, ALPHA)
    assert found is not None, "equal rows should not keep the steps from the solution"
    same(found, expected_weights(R, rows, Y), "equal rows")


def test_a_response_that_is_zero_everywhere_has_no_weights():
    Y = np.column_stack([responses(45, 1), np.zeros(45)])
    found = ridge_steps.solve_in_steps(likeness(), slice(0, 45), Y, ALPHA)
    np.testing.assert_array_equal(found[:, 1], 0, err_msg="the weights of a response of zeros should be zero")


@pytest.mark.parametrize(
    ("R", "why"),
    [
        (np.random.default_rng(0).normal(size=(50, 50)), "a matrix that is not symmetric"),
        (-likeness(50), "a kernel with negative eigenvalues"),
    ],
    ids=["not symmetric", "negative"],
)
def test_other_matrices_are_left_to_the_direct_solution(R, why, monkeypatch):
    rows, Y = np.arange(30), responses(30, 1)
    assert ridge_steps.solve_in_steps(R, slice(0, 30), Y, ALPHA) is None, f"{why} should be refused"
    monkeypatch.setattr(kernel_ridge, "STEPS_FROM", (1, 1))
    ridge = GrowingRidge(R, ALPHA, linear=True)
    ridge.extend(rows)
    same(ridge.weights(Y), expected_weights(R, rows, Y), why)


def test_steps_that_run_out_leave_it_to_the_direct_solution(monkeypatch):
    monkeypatch.setattr(ridge_steps, "MOST_STEPS", 1)
    monkeypatch.setattr(ridge_steps, "MOST_ROUNDS", 1)
    found = ridge_steps.solve_in_steps(likeness(), slice(0, 45), responses(45, 1), ALPHA)
    assert found is None, "one step cannot reach the solution, so none should be returned"


@pytest.mark.parametrize("steps_from", [(1, 1), (10**9, 10**9)], ids=["steps", "factor"])
def test_growing_ridge_with_and_without_a_factor(steps_from, monkeypatch):
    """The same expectation on both sides of the number of rows from which steps are taken."""
    monkeypatch.setattr(kernel_ridge, "STEPS_FROM", steps_from)
    R, Y = likeness(), responses(60, 2)
    ridge = GrowingRidge(R, ALPHA, linear=True)
    for new in (np.arange(45), np.arange(70, 85)):
        ridge.extend(new)
        known = Y[: len(ridge.train)]
        same(ridge.weights(known), expected_weights(R, ridge.train, known), f"{len(ridge.train)} rows")
    places = np.arange(0, 45, 2)
    A = R[places] @ R[places].T + ALPHA * np.eye(len(places))
    expected = Y[places] - np.linalg.solve(A, Y[places]) / np.diag(np.linalg.inv(A))[:, None]
    np.testing.assert_allclose(ridge.held_out_scores(places, Y[places]), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("align", [None, "mean"])
def test_labels_of_the_classifier_are_those_of_the_factor_in_any_order(align, monkeypatch):
    rng = np.random.default_rng(5)
    texts = [
        " ".join(rng.choice(("kind polite rude staff waiter" if c else "fast slow bike wheel saddle").split(), 12))
        for c in np.arange(120) % 2
    ]
    y = [c if i < 60 else None for i, c in enumerate((np.arange(120) % 2).tolist())]
    order = rng.permutation(120)

    def fit(places):
        model = TransductiveKernelClassifier(ngram_range=(3, 5), align=align, alpha=1e-4)
        return model.fit([texts[i] for i in places], [y[i] for i in places])

    expected = fit(range(120))
    monkeypatch.setattr(kernel_ridge, "STEPS_FROM", (1, 1))
    found, mixed = fit(range(120)), fit(order)
    assert found.transduction_.tolist() == expected.transduction_.tolist(), "labels differ from those of the factor"
    assert mixed.transduction_.tolist() == found.transduction_[order].tolist(), "labels depend on the order of rows"
    scores, other = found.target_scores_, expected.target_scores_
    np.testing.assert_allclose(scores, other, atol=1e-5, err_msg="scores differ from those of the factor")


@pytest.mark.parametrize("align", [lambda R: R, centred], ids=["as they are", "centred"])
@pytest.mark.parametrize("train", [np.arange(45), np.r_[40:5:-1, 60:80]], ids=["run", "scattered"])
def test_rows_copied_in_several_strips_end_there_too(align, train, monkeypatch):
    monkeypatch.setattr(ridge_steps, "STRIP", 7)
    R, Y = align(likeness()), responses(len(train), 2)
    found = ridge_steps.solve_in_steps(R, ridge_steps.as_run(train), Y, ALPHA)
    assert found is not None, "strips of seven rows should not keep the steps from the solution"
    same(found, expected_weights(R, train, Y), "strips of seven rows")


@pytest.mark.parametrize(("responses_wanted", "first", "enough"), [("opposite", 3, 3), ("one", 3, 3), ("two", 3, 200)])
def test_steps_are_taken_from_the_row_on_that_the_number_of_responses_says(
    responses_wanted, first, enough, monkeypatch
):
    """Two that are opposite are one response; several need a hundred rows each."""
    monkeypatch.setattr(kernel_ridge, "STEPS_FROM", (first, first + 4))
    R = np.eye(220)
    for n_rows in (enough - 1, enough):
        one = responses(n_rows, 1)
        Y = {"one": one, "opposite": np.hstack([one, -one]), "two": responses(n_rows, 2)}[responses_wanted]
        asked = []
        monkeypatch.setattr(
            kernel_ridge, "solve_in_steps", lambda R, rows, wanted, alpha, asked=asked: asked.append(wanted)
        )
        ridge = GrowingRidge(R, ALPHA, linear=True)
        ridge.extend(np.arange(n_rows))
        assert ridge._in_steps(Y) is None
        columns = 2 if responses_wanted == "two" else 1
        assert [wanted.shape for wanted in asked] == [(n_rows, columns)] * (n_rows == enough), f"{n_rows} rows"
