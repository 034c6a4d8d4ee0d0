"""Logistic regression and linear SVM: gradients and Hessian products are sums over documents, in fixed point.

Both losses are convex and smooth, and the ridge makes the minimum unique: Newton steps with a line search reach it from
anywhere. Every pass adds integers, so each step is the same on any number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from isthmus._math.calibration import fit_temperature
from isthmus.scale._kernels import hinge_pass, logistic_pass, row_scores
from isthmus.scale.methods.base import LinearModel, Problem, load
from isthmus.scale.pieces import Job, Piece

_NEWTON, _INNER = 30, 25  # steps at most
_TOLERANCE = 1e-3  # of the gradient's length against that at the start
_ENOUGH = 100
PASSES = {"logistic": logistic_pass, "svm": hinge_pass}


@dataclass(frozen=True)
class Objective:
    """What is minimised: a loss of the rows times ``penalty`` plus half the squared length of the weights."""

    rows: tuple[str, int]
    idf: np.ndarray
    sublinear: bool
    n_classes: int
    loss: str
    penalty: float
    bits: int  # digits of the fixed point behind the binary point
    pseudo: str = ""  # where the labels of target rows that count as labelled are kept

    @property
    def width(self) -> int:
        """Columns of weights: two classes need one of them."""
        return 1 if self.n_classes == 2 else self.n_classes


def loss_of(
    piece: Piece, job: Job, what: Objective, weights: np.ndarray, bias: np.ndarray, along: np.ndarray | None
) -> np.ndarray:
    """A piece's share of the loss and its gradient; with ``along`` of the Hessian times that direction.

    One flat array of integers: weights, intercepts, loss.
    """
    block = load(piece, job, what.rows)
    codes = block.codes if piece.side == "source" else job.store.load(f"{what.pseudo}/{piece.number}")["codes"]
    values = block.tfidf(what.idf, sublinear=what.sublinear)
    scores = row_scores(block.indptr, block.indices, values, weights, bias)
    moved = scores
    if along is not None:
        moved = row_scores(block.indptr, block.indices, values, along[:-1], along[-1])
    out = np.zeros((weights.shape[0] + 2, weights.shape[1]), dtype=np.int64)
    PASSES[what.loss](block.indptr, block.indices, values, codes, scores, moved, along is not None, 2.0**what.bits, out)
    return out


@dataclass
class Solver:
    """Newton's method with conjugate gradients inside; keeps nothing but a few arrays as large as the weights."""

    problem: Problem
    pieces: Sequence[Piece]
    what: Objective
    phase: str
    history: list[float] = field(default_factory=list)

    def _sum(self, point: np.ndarray, along: np.ndarray | None = None) -> np.ndarray:
        length = 1.0
        if along is not None:  # of length one, so that what a row adds stays within the digits of the fixed point
            length = float(np.linalg.norm(along)) or 1.0
            along = along / length
        total = self.problem.sum(loss_of, self.pieces, self.what, point[:-1], point[-1], along, phase=self.phase)
        return total * (length * self.what.penalty / 2.0**self.what.bits)

    def _ridge(self, point: np.ndarray) -> np.ndarray:
        """The weights without the intercepts, which logistic regression does not shrink and the SVM does."""
        kept = point.copy()
        if self.what.loss == "logistic":
            kept[-1] = 0.0
        return kept

    def value(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        total = self._sum(point)
        ridge = self._ridge(point)
        return float(total[-1].sum() + 0.5 * np.sum(ridge * point)), total[:-1] + ridge

    def direction(self, point: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Conjugate gradients for the Newton step, as exact as the gradient is small."""
        step, residual = np.zeros_like(gradient), -gradient
        search, power = residual.copy(), float(np.sum(residual**2))
        goal = min(0.25, np.sqrt(np.sqrt(power))) * np.sqrt(power)
        for _ in range(_INNER):
            curved = self._sum(point, search)[:-1] + self._ridge(search)
            length = power / max(float(np.sum(search * curved)), 1e-300)
            step += length * search
            residual -= length * curved
            new = float(np.sum(residual**2))
            if np.sqrt(new) <= goal:
                break
            search = residual + (new / power) * search
            power = new
        return step

    def minimise(self, point: np.ndarray) -> np.ndarray:
        value, gradient = self.value(point)
        first = float(np.linalg.norm(self.value(np.zeros_like(point))[1])) if point.any() else np.linalg.norm(gradient)
        for _ in range(_NEWTON):
            self.history.append(value)
            if np.linalg.norm(gradient) <= _TOLERANCE * first:
                break
            step = self.direction(point, gradient)
            slope, size = float(np.sum(step * gradient)), 1.0
            for _ in range(30):
                new_value, new_gradient = self.value(point + size * step)
                if new_value <= value + 1e-4 * size * slope:
                    break
                size /= 2
            else:
                break  # nothing is gained beyond the digits of the fixed point
            point, value, gradient = point + size * step, new_value, new_gradient
        return point


def make_objective(problem: Problem, loss: str, *, penalty: float, sublinear: bool, n_rows: int) -> Objective:
    """Digits so many that no sum can overflow: each row adds at most 2^6 to an entry."""
    bits = 62 - 6 - max(1, int(n_rows).bit_length())
    return Objective(problem.rows, problem.view.idf, sublinear, len(problem.classes), loss, penalty, min(bits, 40))


def start_point(problem: Problem, what: Objective) -> np.ndarray:
    return np.zeros((problem.view.n_columns + 1, what.width))


def as_model(problem: Problem, what: Objective, point: np.ndarray) -> LinearModel:
    """Scores of all classes; two classes share one column of weights."""
    weights = np.hstack([-point / 2, point / 2]) if what.n_classes == 2 else point
    weights = np.ascontiguousarray(weights)
    return LinearModel(problem.rows, weights[:-1].copy(), weights[-1].copy(), what.idf, what.sublinear)


def fit_logistic(problem: Problem) -> LinearModel:
    """Multinomial logistic regression on tf-idf of words and word pairs, C = 10, as the recipe."""
    what = make_objective(problem, "logistic", penalty=10.0, sublinear=True, n_rows=problem.n_source)
    solver = Solver(problem, problem.source, what, "logistic regression")
    return as_model(problem, what, solver.minimise(start_point(problem, what)))


def fit_svm(problem: Problem) -> LinearModel:
    """Linear SVM, squared hinge, one class against the others, on tf-idf of words, C = 1, as the recipe.

    The factor that makes probabilities of its scores is set on the sample of the source, which it was fitted on: it is
    too sure, and the calibration on the target's sample puts that right.
    """
    what = make_objective(problem, "svm", penalty=1.0, sublinear=False, n_rows=problem.n_source)
    solver = Solver(problem, problem.source, what, "support vectors")
    model = as_model(problem, what, solver.minimise(start_point(problem, what)))
    rows, codes = problem.sample_rows()
    if len(rows) >= _ENOUGH:
        model.factor = fit_temperature(model.scores(rows), codes)
    return model
