"""Logistic regression and linear SVM from blocks: gradients and Hessian products are sums over documents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from isthmus._math.calibration import fit_temperature
from isthmus._parameters import POSITIVE, StrOptions, check_parameters, parameter, parameters
from isthmus.base import softmax
from isthmus.exceptions import DataError
from isthmus.features.blocks import Block, MemoryPasses, Passes, RowBlock
from isthmus.features.term_chi2 import as_counts

_NEWTON, _INNER = 30, 25  # steps at most
_TOLERANCE = 1e-3  # of the gradient's length against that at the start
_ENOUGH = 100  # documents of the sample from which the factor of an SVM's scores is placed


@parameters
class LinearClassifier(ClassifierMixin, BaseEstimator):
    """A linear classifier on tf-idf of counts, with a ridge, from one block of rows or from many.

    ``loss`` is "logistic" (multinomial) or "squared_hinge" (one class against the others, as ``LinearSVC``); with
    ``sublinear`` a count c weighs 1 + log c. ``coef_`` is features × classes, ``history_`` has the objective after each
    Newton step, and ``inverse_temperature_`` turns scores into log-probabilities.
    """

    loss: str = parameter(StrOptions({"logistic", "squared_hinge"}), default="logistic", positional=True)
    C: float = parameter(POSITIVE, default=1.0)
    sublinear: bool = parameter("boolean", default=False)

    def fit(self, X, y):
        check_parameters(self)
        X, y = validate_data(self, X, y, accept_sparse="csr")
        classes, codes = np.unique(y, return_inverse=True)
        rows = _whole_counts(X)
        return self.fit_passes(MemoryPasses(rows, rows[:0], codes, classes))

    def fit_passes(self, passes: Passes) -> LinearClassifier:
        phase = "logistic regression" if self.loss == "logistic" else "support vectors"
        solver = self.solver(passes, passes.n_source, phase)
        self.finish(passes, solver.minimise(solver.start()))
        self.history_ = solver.history
        if self.loss != "logistic" and len(passes.sample.codes) >= _ENOUGH:
            # Set on rows that it was fitted on, so it is too sure; calibration on the target's sample corrects that.
            self.inverse_temperature_ = fit_temperature(self.block_scores(passes.sample)[0], passes.sample.codes)
        return self

    def solver(self, passes: Passes, n_rows: int, phase: str) -> Solver:
        """What minimises the objective over the source's blocks; with ``pseudo`` also over those of the target."""
        # Digits so many that no sum can overflow: each row adds at most 2^6 to an entry.
        bits = min(62 - 6 - max(1, int(n_rows).bit_length()), 40)
        objective = Objective(passes.idf, self.sublinear, len(passes.classes), self.loss, self.C, bits)
        return Solver(passes, objective, phase, passes.n_source)

    def finish(self, passes: Passes, point: np.ndarray) -> LinearClassifier:
        """The model from the minimum."""
        weights = spread_classes(point)
        self.coef_, self.intercept_ = np.ascontiguousarray(weights[:-1]), weights[-1].copy()
        self.classes_, self.idf_ = passes.classes, passes.idf
        self.n_features_in_ = len(self.idf_)
        self.inverse_temperature_ = 1.0
        return self

    def block_scores(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        rows = block.rows
        return self._scores(rows), np.diff(rows.indptr) == 0

    def _scores(self, rows: RowBlock) -> np.ndarray:
        values = rows.tfidf(self.idf_, sublinear=self.sublinear)
        return self.inverse_temperature_ * (rows.matrix(values) @ self.coef_ + self.intercept_)

    def predict_proba(self, X) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        return softmax(self._scores(RowBlock.of(_whole_counts(X))))

    def predict(self, X) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def spread_classes(point: np.ndarray) -> np.ndarray:
    """Weights of each class; of two classes, which share one column of weights, each gets half."""
    return np.hstack([-point / 2, point / 2]) if point.shape[1] == 1 else point


def _whole_counts(X) -> sp.csr_matrix:
    rows = as_counts(sp.csr_matrix(X))
    if np.any(rows.data != np.rint(rows.data)) or np.any(rows.data < 0):
        raise DataError(
            "The rows hold fractions or negative numbers; LinearClassifier weighs whole counts itself. Give counts, or "
            "use SourceOnlyClassifier.",
            code="not-numbers",
        )
    return rows.astype(np.int64)


@dataclass(frozen=True)
class Objective:
    """What is minimised: a loss of the rows times ``penalty`` plus half the squared length of the weights."""

    idf: np.ndarray
    sublinear: bool
    n_classes: int
    loss: str
    penalty: float
    bits: int  # digits of the fixed point behind the binary point
    pseudo: str = ""  # under which name target blocks keep labels, and steps of confidence, of their rows
    least: np.ndarray | None = None  # step of each class from which up a row of the target counts as labelled

    @property
    def width(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    def pseudo_codes(self, block: Block) -> np.ndarray:
        """Labels of a target block's surest rows, -1 for the others."""
        held = block.kept(self.pseudo)
        assert held is not None
        assert self.least is not None
        return np.where(held["steps"] >= self.least[held["labels"]], held["labels"], -1).astype(np.int32)


@dataclass(frozen=True)
class WeighedRows:
    """A block's rows for the loops of :mod:`isthmus.classify.linear_kernels`; lengths are kept with it."""

    arrays: tuple[np.ndarray, ...]  # indptr, indices, counts, levels, lengths

    @classmethod
    def of(cls, block: Block, idf: np.ndarray, sublinear: bool) -> WeighedRows:
        from isthmus.classify.linear_kernels import row_lengths

        rows, name = block.rows, f"lengths-{sublinear}"
        arrays = rows.indptr, rows.indices, rows.counts
        levels = rows.levels(sublinear)
        held = block.kept(name)
        if held is None or len(held["lengths"]) != len(rows):  # a stopped run may have left another's
            held = {"lengths": row_lengths(*arrays, idf, levels)}
            block.keep(name, held)
        return cls((*arrays, levels, held["lengths"]))

    def scores(self, codes: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """Scores of the rows whose class is not -1; ``weights`` are times the idf."""
        from isthmus.classify.linear_kernels import level_scores

        return level_scores(*self.arrays, codes, weights, bias)


def block_loss(block: Block, objective: Objective, weights: np.ndarray, bias: np.ndarray, curved: bool) -> np.ndarray:
    """A block's share of the loss and its gradient, or of the Hessian times a direction.

    The columns of a direction stand behind those of the weights. Weights are times the idf, and the outcome lacks it:
    one flat array of integers, columns, intercepts, loss.
    """
    from isthmus.classify.linear_kernels import hinge_pass, logistic_pass

    rows = WeighedRows.of(block, objective.idf, objective.sublinear)
    codes = block.codes if block.side == "source" else objective.pseudo_codes(block)
    scores = rows.scores(codes, weights, bias)
    out = np.zeros((weights.shape[0] + 2, objective.width), dtype=np.int64)
    add_rows = logistic_pass if objective.loss == "logistic" else hinge_pass
    add_rows(*rows.arrays, codes, scores, curved, 2.0**objective.bits, out)
    return out


@dataclass
class Solver:
    """Newton's method with conjugate gradients inside; keeps nothing but a few arrays as large as the weights."""

    passes: Passes
    objective: Objective
    phase: str
    n_rows: int  # rows that are added up, about
    first: float = 0.0  # length of the gradient at nothing, for each of them
    history: list[float] = field(default_factory=list)

    def start(self) -> np.ndarray:
        return np.zeros((self.passes.n_columns + 1, self.objective.width))

    def with_pseudo(self, pseudo: str, least: np.ndarray, n_rows: int, phase: str) -> Solver:
        """The same over the target's ``n_rows`` surest rows too, under labels that its blocks keep."""
        objective = replace(self.objective, pseudo=pseudo, least=least)
        return replace(self, objective=objective, phase=phase, n_rows=self.passes.n_source + n_rows, history=[])

    def _sum(self, point: np.ndarray, along: np.ndarray | None = None) -> np.ndarray:
        length = 1.0
        if along is not None:  # of length one, so that what a row adds stays within the digits of the fixed point
            length = float(np.linalg.norm(along)) or 1.0
            point = np.hstack([point, along / length])
        sides = "both" if self.objective.pseudo else "source"
        idf = self.objective.idf[:, None]
        tables = point[:-1] * idf, point[-1], along is not None
        total = self.passes.sum(block_loss, sides, self.objective, *tables, phase=self.phase)
        total = total * (length * self.objective.penalty / 2.0**self.objective.bits)
        total[:-2] *= idf
        return total

    def _ridge(self, point: np.ndarray) -> np.ndarray:
        """The weights without the intercepts, which logistic regression does not shrink and the SVM does."""
        kept = point.copy()
        if self.objective.loss == "logistic":
            kept[-1] = 0.0
        return kept

    def value(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        total = self._sum(point)
        ridge = self._ridge(point)
        return float(total[-1].sum() + 0.5 * np.sum(ridge * point)), total[:-1] + ridge

    def direction(self, point: np.ndarray, gradient: np.ndarray, enough: float) -> np.ndarray:
        """Conjugate gradients for the Newton step, as exact as the gradient is small, and not below ``enough``."""
        step, residual = np.zeros_like(gradient), -gradient
        search, power = residual.copy(), float(np.sum(residual**2))
        goal = max(min(0.25, np.sqrt(np.sqrt(power))) * np.sqrt(power), enough)
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
        """The minimum; a looser one in the first rounds of self-training cost them their labels."""
        value, gradient = self.value(point)
        if not self.first:
            self.first = float(np.linalg.norm(gradient)) / self.n_rows
        enough = _TOLERANCE * self.first * self.n_rows
        for _ in range(_NEWTON):
            self.history.append(value)
            if np.linalg.norm(gradient) <= enough:
                break
            step = self.direction(point, gradient, enough / 2)
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
