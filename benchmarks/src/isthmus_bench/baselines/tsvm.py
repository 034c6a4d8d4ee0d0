"""Transductive support vector machine: a margin through the gaps of the target (Joachims, ICML 1999)."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from isthmus._math.calibration import fit_temperature
from isthmus._progress import progress
from isthmus.base import FROM_1, POSITIVE, Domains, Interval, TransferClassifier


def balanced_signs(scores: np.ndarray, n_positive: int) -> np.ndarray:
    """+1 for the ``n_positive`` highest scores, -1 for the rest."""
    signs = np.full(len(scores), -1.0)
    signs[np.argsort(-scores, kind="stable")[:n_positive]] = 1.0
    return signs


def switch_pairs(signs: np.ndarray, scores: np.ndarray) -> int:
    """Swap the labels of pairs (one of each sign) whose slacks add up to more than two, in place; how many.

    Such a swap lowers the slack part of the objective, for the hinge and for its square. The worst are paired with the
    worst.
    """
    slack = np.maximum(0.0, 1.0 - signs * scores)
    positive, negative = np.flatnonzero(signs > 0), np.flatnonzero(signs < 0)
    positive = positive[np.argsort(-slack[positive], kind="stable")]
    negative = negative[np.argsort(-slack[negative], kind="stable")]
    m = min(len(positive), len(negative))
    a, b = slack[positive[:m]], slack[negative[:m]]
    n_pairs = int(np.sum((a > 0) & (b > 0) & (a + b > 2.0 + 1e-9)))
    signs[positive[:n_pairs]], signs[negative[:n_pairs]] = -1.0, 1.0
    return n_pairs


class TransductiveSVM(TransferClassifier):
    """Linear transductive SVM: target labels are switched in pairs while their weight grows.

    The target's rows take part with labels of their own, at first with hardly any weight. Labels of a pair are
    switched where that lowers the loss; when no pair is left the weight doubles, up to that of the source. The share of
    each class in the target is held at its share in the source. It assumes that classes lie in clusters with a gap
    between them and that the class proportions agree; more than two classes are taken one against the rest.

    Parameters
    ----------
    C : float, default=1.0
        Weight of errors on source rows.
    target_C : float, default=1.0
        Final weight of errors on target rows.
    start_C : float, default=1e-3
        Their first weight.
    growth : float, default=2.0
        Factor by which it grows.
    max_iter : int, default=20
        Most rounds of switching per weight.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    coef_, intercept_ : ndarray
        One row per class (two classes: still two, of opposite sign).
    n_iter_ : int
        Support vector machines trained.
    history_ : list of int
        Pairs switched in each round.
    termination_condition_ : {"converged", "max_iter", "no_target"}

    See Also
    --------
    isthmus_bench.baselines.sgt.SpectralGraphTransducer : A graph cut instead of a margin.
    isthmus.SelfTrainingTransferClassifier : A simpler way to use target rows.

    References
    ----------
    .. [1] T. Joachims. Transductive inference for text classification using support vector machines. ICML 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus_bench.baselines.tsvm import TransductiveSVM
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.1], [0.1, 0.9]])
    >>> TransductiveSVM(random_state=0).fit(X, ["a", "b", None, None]).transduction_.tolist()
    ['a', 'b', 'a', 'b']
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "C": [POSITIVE],
        "target_C": [POSITIVE],
        "start_C": [POSITIVE],
        "growth": [Interval(Real, 1, None, closed="neither")],
        "max_iter": [FROM_1],
        "random_state": ["random_state"],
    }

    history_measure = "pairs switched"

    def __init__(
        self,
        *,
        C: float = 1.0,
        target_C: float = 1.0,
        start_C: float = 1e-3,
        growth: float = 2.0,
        max_iter: int = 20,
        random_state: Any = None,
    ):
        self.C = C
        self.target_C = target_C
        self.start_C = start_C
        self.growth = growth
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, domains: Domains) -> np.ndarray:
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.history_: list[int] = []
        self.n_iter_ = 0
        self.termination_condition_ = "converged" if len(domains.target) else "no_target"
        source, target, codes = domains.rows(domains.source), domains.rows(domains.target), domains.source_codes
        n_planes = 1 if domains.n_classes == 2 else domains.n_classes
        planes = []
        for plane in range(n_planes):
            positive = 1 if n_planes == 1 else plane
            planes.append(self._fit_plane(source, target, np.where(codes == positive, 1.0, -1.0)))
            progress("moving the boundary", plane + 1, n_planes)
        self.coef_, self.intercept_ = (np.array(part) for part in zip(*planes, strict=True))
        if n_planes == 1:
            self.coef_ = np.vstack([-self.coef_, self.coef_])
            self.intercept_ = np.append(-self.intercept_, self.intercept_)
        self.inverse_temperature_ = fit_temperature(self._margins(source), codes)
        return self._margins(target).argmax(axis=1)

    def _fit_plane(self, source, target, signs: np.ndarray) -> tuple[np.ndarray, float]:
        n_source, n_target = len(signs), target.shape[0]
        coef, intercept = self._train(source, signs, np.full(n_source, self.C))
        if n_target == 0:
            return coef, intercept
        n_positive = int(np.clip(round(np.mean(signs > 0) * n_target), min(1, n_target - 1), max(n_target - 1, 1)))
        target_signs = balanced_signs(target @ coef + intercept, n_positive)
        rows = sp.vstack([source, target], format="csr") if sp.issparse(source) else np.vstack([source, target])
        weight = min(self.start_C, self.target_C)
        while True:
            for _ in range(self.max_iter):
                weights = np.concatenate([np.full(n_source, self.C), np.full(n_target, weight)])
                coef, intercept = self._train(rows, np.concatenate([signs, target_signs]), weights)
                switched = switch_pairs(target_signs, target @ coef + intercept)
                self.history_.append(switched)
                if not switched:
                    break
            else:
                self.termination_condition_ = "max_iter"
            if weight >= self.target_C:
                return coef, intercept
            weight = min(weight * self.growth, self.target_C)

    def _train(self, rows, signs: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
        self.n_iter_ += 1
        machine = LinearSVC(C=1.0, random_state=self._seed, tol=1e-3).fit(rows, signs, sample_weight=weights)
        return machine.coef_.ravel(), float(machine.intercept_[0])

    def _margins(self, X) -> np.ndarray:
        return np.asarray(X @ self.coef_.T) + self.intercept_

    def term_contributions(self, row) -> dict[int, np.ndarray]:
        """Return what each term of one document adds to the margin of each class."""
        return {int(column): self.coef_[:, column] * value for column, value in zip(row.indices, row.data, strict=True)}

    def _scores(self, X) -> np.ndarray:
        return self.inverse_temperature_ * self._margins(X)
