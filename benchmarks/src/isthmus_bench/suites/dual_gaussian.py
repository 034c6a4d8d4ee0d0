"""Dual supervision with Gaussian kernels, balanced labels and other losses, for toy data and newsgroups.

The paper names hinge and logistic variants and gives no formulas for them. Here they are one class against the others,
and the hinge has a rounded corner.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from isthmus.base import Domains
from isthmus.classify.dual.solvers import kernel_cg
from isthmus.papers.dual import (
    MA_STEPS,
    MA_TOL,
    MR_STEPS,
    MR_TOL,
    LiteralFactor,
    LiteralManifold,
    approximation_objective,
    best_q,
    normalised_laplacian,
    solve_block,
)

HINGE_BEND = 0.25  # half-width of the parabola that rounds the hinge's corner
MOST_CURVED = {"hinge": 1.0 / (2 * HINGE_BEND), "logistic": 0.25}  # the largest curvature of each loss
NEWTON_STEPS = 50

# Losses of the margin s = t·f: value, slope and curvature.
Loss = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def rounded_hinge(margin: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``max(0, 1 - s)``, its corner rounded by a parabola of half-width ``HINGE_BEND``, and two derivatives."""
    short = 1.0 - margin
    bend = np.abs(short) <= HINGE_BEND
    over = short > HINGE_BEND
    value = np.where(over, short, np.where(bend, (short + HINGE_BEND) ** 2 / (4 * HINGE_BEND), 0.0))
    slope = np.where(over, -1.0, np.where(bend, -(short + HINGE_BEND) / (2 * HINGE_BEND), 0.0))
    return value, slope, np.where(bend, 1.0 / (2 * HINGE_BEND), 0.0)


def logistic(margin: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``log(1 + exp(-s))`` and two derivatives."""
    value = np.logaddexp(0.0, -margin)
    slope = -np.exp(-margin - value)
    return value, slope, -slope * (1.0 + slope)


LOSSES: dict[str, Loss] = {"hinge": rounded_hinge, "logistic": logistic}


def signs_of(targets: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one-against-others targets ±1 and their weights.

    A word that only counts against a class has weight 0 for the others.
    """
    signs = np.where(targets > 0, 1.0, -1.0)
    counts = (targets > 0).any(axis=1, keepdims=True) | (targets < 0)
    return signs, np.where(counts, weights[:, None], 0.0)


class GaussianManifold(LiteralManifold):
    """MR with the defaults of the benchmarks.

    Parameters
    ----------
    loss : {"squared", "hinge", "logistic"}, default="squared"
    class_normalisation : {"both", "scores"}, default="both"
        "both" also balances the labels of the classes.
    word_labels, feature_names, width, word_width, gamma, mu, power, random_state
        As for :class:`isthmus.papers.dual.LiteralManifold`.
    """

    _parameter_constraints = {
        **LiteralManifold._parameter_constraints,
        "loss": [str],
        "class_normalisation": [str],
    }

    def __init__(
        self,
        *,
        word_labels=None,
        feature_names=None,
        width=None,
        word_width=None,
        gamma=0.3,
        mu=3.0,
        power=2,
        loss="squared",
        class_normalisation="both",
        random_state=None,
    ):
        super().__init__(
            word_labels=word_labels,
            feature_names=feature_names,
            width=width,
            word_width=word_width,
            gamma=gamma,
            mu=mu,
            power=power,
            random_state=random_state,
        )
        self.loss = loss
        self.class_normalisation = class_normalisation

    def _fit(self, domains: Domains) -> np.ndarray:
        self._balances_labels = self.class_normalisation == "both"
        if self.loss == "squared":
            return super()._fit(domains)
        X, targets, weights = sides = self._read_sides(domains)
        n, M, K = X.shape[0], normalised_laplacian(X), self._kernels(X)
        loss = LOSSES[self.loss]
        signs, weights = signs_of(targets, weights)

        def kernel(a: np.ndarray) -> np.ndarray:
            return np.concatenate([K[0] @ a[:n], K[1] @ a[n:]])

        def smooth(values: np.ndarray) -> np.ndarray:
            for _ in range(self.power):
                values = M @ values
            return self.mu * values

        def curved(hessian: np.ndarray, values: np.ndarray) -> np.ndarray:
            return smooth(values) + hessian * values

        def objective(a: np.ndarray, values: np.ndarray) -> float:
            norms = np.sum(self.gamma * a * values) + np.sum(values * smooth(values))
            return 0.5 * float(norms) + float(np.sum(weights * loss(signs * values)[0]))

        a, values = np.zeros_like(signs), np.zeros_like(signs)
        self.history_ = [objective(a, values)]
        self.termination_condition_ = "max_iter"
        for _ in range(NEWTON_STEPS):
            _, slope, curvature = loss(signs * values)
            hessian = weights * curvature
            # Newton: the loss is replaced by its parabola at the current values; Eq. 4 with J = hessian solves it.
            rhs = hessian * values - weights * signs * slope
            found = kernel_cg(
                kernel,
                partial(curved, hessian),
                self.gamma,
                rhs,
                start=(a, values),
                tol=MR_TOL,
                max_iter=MR_STEPS,
            )
            step, current = 1.0, self.history_[-1]
            while step > 1e-6:
                trial = a + step * (found.coefficients - a), values + step * (found.values - values)
                value = objective(*trial)
                if value <= current:
                    break
                step *= 0.5
            else:
                self.termination_condition_ = "tol"
                break
            a, values = trial
            self.history_.append(value)
            if current - value <= 1e-9 * max(abs(current), 1e-12):
                self.termination_condition_ = "tol"
                break
        self.n_iter_ = max(len(self.history_) - 1, 1)
        self._coefficients = a[:n], a[n:]
        return self._finish(domains, sides, values)


class GaussianFactor(LiteralFactor):
    """MA with the defaults of the benchmarks.

    Parameters
    ----------
    loss, class_normalisation
        As for :class:`GaussianManifold`.
    word_labels, feature_names, width, word_width, gamma, mu, random_state
        As for :class:`isthmus.papers.dual.LiteralFactor`.
    """

    _parameter_constraints = {
        **LiteralFactor._parameter_constraints,
        "loss": [str],
        "class_normalisation": [str],
    }

    def __init__(
        self,
        *,
        word_labels=None,
        feature_names=None,
        width=None,
        word_width=None,
        gamma=1e-4,
        mu=0.01,
        loss="squared",
        class_normalisation="both",
        random_state=None,
    ):
        super().__init__(
            word_labels=word_labels,
            feature_names=feature_names,
            width=width,
            word_width=word_width,
            gamma=gamma,
            mu=mu,
            random_state=random_state,
        )
        self.loss = loss
        self.class_normalisation = class_normalisation

    def _fit(self, domains: Domains) -> np.ndarray:
        self._balances_labels = self.class_normalisation == "both"
        if self.loss == "squared":
            return super()._fit(domains)
        X, targets, weights = sides = self._read_sides(domains)
        n, K, bend = X.shape[0], self._kernels(X), MOST_CURVED[self.loss]
        start = self._start(K, X, targets, weights)
        parts, matrices = (slice(0, n), slice(n, None)), (X, X.T.tocsr())
        signs, counted = signs_of(targets, weights)
        a = [start[part] for part in parts]
        F = [K[side] @ a[side] for side in (0, 1)]

        def objective() -> float:
            unlabelled = [np.zeros(len(one)) for one in F]
            smooth = approximation_objective(X, a, F, Q, F, unlabelled, self.gamma, self.mu)
            margins = [signs[part] * values for part, values in zip(parts, F, strict=True)]
            return smooth + sum(
                float(np.sum(counted[part] * LOSSES[self.loss](margin)[0]))
                for part, margin in zip(parts, margins, strict=True)
            )

        self.history_ = []
        self.termination_condition_ = "max_iter"
        for step in range(MA_STEPS):
            Q = best_q(X, F[0], F[1])
            self.history_.append(objective())
            for side, part in enumerate(parts):
                # A squared loss that equals the side's own at the current values and is nowhere below it.
                firmness = np.where(weights[part] > 0, weights[part], 1.0)[:, None]
                slope = counted[part] * signs[part] * LOSSES[self.loss](signs[part] * F[side])[1]
                Y, J = F[side] - slope / (bend * firmness), bend * weights[part]
                turned = Q if side == 0 else Q.T
                right = J[:, None] * Y + self.mu * (matrices[side] @ F[1 - side] @ turned.T)
                Z = turned @ (F[1 - side].T @ F[1 - side]) @ turned.T
                a[side], F[side] = solve_block(K[side], J, right, Z, self.gamma, self.mu, (a[side], F[side]))
                self.history_.append(objective())
            self.n_iter_ = step + 1
            before = self.history_[max(len(self.history_) - 4, 0)]
            if before - self.history_[-1] <= MA_TOL * abs(before):
                self.termination_condition_ = "tol"
                break
        self.Q_, self._coefficients = Q, a
        return self._finish(domains, sides, np.concatenate(F))
