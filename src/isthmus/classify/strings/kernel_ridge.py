"""Ridge regression and discriminant analysis on kernels whose rows are known for all documents.

The transductive kernel K̄·K̄ᵀ (Ionescu and Butnaru 2018, Section 3) is a linear kernel on the rows R of K̄. It is never
formed whole: training needs R_train·R_trainᵀ only, and a prediction is R·(R_trainᵀ·a).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigh, solve_triangular
from scipy.linalg.lapack import dtrtri

from isthmus.classify.strings.ridge_steps import as_run, solve_in_steps

BLOCK = 4_096  # rows multiplied in one go
STEPS_FROM = 1_500, 2_500  # training rows from which steps are quicker than a factor: one response, several


def rbf(K: np.ndarray) -> np.ndarray:
    """exp(K̂ − 1), in place: the normalised kernel read as a distance ‖x − x'‖² = 2 − 2K̂ with width one."""
    K -= 1.0
    return np.exp(K, out=K)


def indicator(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """One column per class: +1 for its rows, −1 for the others (one against all)."""
    Y = np.full((len(codes), n_classes), -1.0)
    Y[np.arange(len(codes)), codes] = 1.0
    return Y


class GrowingRidge:
    """Solve (A_TT + αI)·x = b for training rows T, where T only grows: the factor of earlier rows is kept.

    ``rows`` are the kernel itself, or with ``linear`` feature rows whose inner products are the kernel.
    """

    def __init__(self, rows: np.ndarray, alpha: float, *, linear: bool):
        self.rows, self.alpha, self.linear = rows, alpha, linear
        self.train = np.zeros(0, np.int64)
        self._factorised = 0  # so many training rows; the others wait until a factor is asked for
        self._factor: np.ndarray | None = np.zeros((0, 0))  # below the diagonal, see held_out_scores
        self._diagonal = np.zeros(0)  # of the first rows' kernel
        self._products: np.ndarray | None = None  # R_trainᵀ·R_train, once there are more rows than features …
        self._multiplied = 0  # … of so many training rows

    def block(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if not self.linear:
            return self.rows[np.ix_(a, b)]
        left = self._take(a)
        return left @ (left if a is b else self._take(b)).T

    def _take(self, index: np.ndarray) -> np.ndarray:
        return self.rows[as_run(index)]

    def extend(self, new: np.ndarray) -> None:
        self.train = np.concatenate([self.train, new])

    def _factorise(self) -> None:
        """With the factor L of the earlier rows, only those added since are factorised."""
        old, new = np.split(self.train, [self._factorised])
        self._factorised = len(self.train)
        if self._factor is None or not len(new):
            return
        corner = self.block(new, new)
        corner[np.diag_indices(len(new))] += self.alpha
        try:
            if len(old) == 0:
                self._diagonal = np.diag(corner).copy()
                self._factor = cho_factor(corner, lower=True, overwrite_a=True, check_finite=False)[0]
                return
            side = solve_triangular(self._factor, self.block(old, new), lower=True, check_finite=False).T
            corner -= side @ side.T
            lower = cholesky(corner, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            self._factor = None
            return
        n, m = len(old), len(new)
        factor = np.zeros((n + m, n + m))
        factor[:n, :n], factor[n:, :n], factor[n:, n:] = self._factor, side, lower
        self._factor = factor

    def _in_steps(self, Y: np.ndarray) -> np.ndarray | None:
        """Weights without a factor, where that is quicker and there is none to grow; None otherwise."""
        n, p = self.rows.shape
        opposite = Y.shape[1] == 2 and np.array_equal(Y[:, 0], -Y[:, 1])  # two classes, one against the other
        wanted = Y[:, :1] if opposite else Y
        enough = STEPS_FROM[0] if wanted.shape[1] == 1 else max(STEPS_FROM[1], 100 * wanted.shape[1])
        if n != p or self._factorised or len(self.train) < enough:
            return None
        weights = solve_in_steps(self.rows, as_run(self.train), wanted, self.alpha)
        return np.hstack([weights, -weights]) if opposite and weights is not None else weights

    def dual(self, Y: np.ndarray) -> np.ndarray:
        self._factorise()
        if self._factor is not None:
            return cho_solve((self._factor, True), Y, check_finite=False)
        # Repeated rows or an indefinite kernel: drop directions without weight instead of dividing by noise.
        A = self.block(self.train, self.train)
        values, vectors = eigh(A, check_finite=False)
        keep = values > max(values[-1], 0.0) * len(values) * np.finfo(float).eps
        vectors = vectors[:, keep]
        return vectors @ ((vectors.T @ Y) / (values[keep] + self.alpha)[:, None])

    def held_out_scores(self, places: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Scores that some of the training rows (by place) would get from a ridge fitted on the others among them."""
        if self._factor is not None and 0 < self._factorised == len(self._diagonal):
            # The solver leaves the kernel, with the ridge on it, above the diagonal of its factor.
            above = np.triu(self._factor[np.ix_(places, places)], 1)
            kernel = above + above.T
            kernel[np.diag_indices(len(kernel))] = self._diagonal[places]
            return leave_one_out(kernel, Y, 0.0)
        rows = self.train[places]
        return leave_one_out(self.block(rows, rows), Y, self.alpha)

    def weights(self, Y: np.ndarray) -> np.ndarray:
        """What a row is multiplied with: R_trainᵀ·a for feature rows (p × classes), the dual weights for a kernel."""
        if not self.linear:
            return self.dual(Y)
        weights = self._in_steps(Y)
        if weights is not None:
            return weights
        if len(self.train) <= self.rows.shape[1]:
            return self._take(self.train).T @ self.dual(Y)
        A = self._multiply()
        wanted = self._transposed_times(Y)
        A[np.diag_indices(len(A))] += self.alpha
        if self.alpha > np.trace(A) * len(A) * np.finfo(float).eps:  # no direction would be dropped below
            factor = cholesky(A.T, lower=True, overwrite_a=True, check_finite=False)
            return cho_solve((factor, True), wanted, check_finite=False)
        values, vectors = eigh(A, check_finite=False)
        keep = values > values[-1] * len(values) * np.finfo(float).eps
        vectors = vectors[:, keep]
        return vectors @ ((vectors.T @ wanted) / values[keep][:, None])

    def _multiply(self) -> np.ndarray:
        """A copy of R_trainᵀ·R_train; rows multiplied before are not multiplied again, and no copy of all is made."""
        products = np.zeros((self.rows.shape[1],) * 2) if self._products is None else self._products.copy()
        for start in range(self._multiplied, len(self.train), BLOCK):
            block = self._take(self.train[start : start + BLOCK])
            products += block.T @ block
        self._products, self._multiplied = products, len(self.train)
        return products.copy()

    def _transposed_times(self, Y: np.ndarray) -> np.ndarray:
        total = np.zeros((self.rows.shape[1], Y.shape[1]))
        for start in range(0, len(self.train), BLOCK):
            total += self._take(self.train[start : start + BLOCK]).T @ Y[start : start + BLOCK]
        return total

    def scores(self, weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
        scores = np.empty((len(rows), weights.shape[1]))
        for start in range(0, len(rows), BLOCK):
            part = rows[start : start + BLOCK]
            columns = self._take(part) if self.linear else self.rows[np.ix_(part, self.train)]
            scores[start : start + BLOCK] = columns @ weights
        return scores


RIDGES = (1e-2, 1e-1, 1.0, 10.0, 100.0)


def choose_ridge(rows: np.ndarray, codes: np.ndarray, n_classes: int, least: float) -> float:
    """Ridge for feature rows that are fewer than the documents, by every fifth document held out.

    With about as many features as documents a small ridge fits noise. ``least`` is tried too; the smallest of equally
    good ridges is taken.
    """
    held_out = np.arange(len(codes)) % 5 == 4
    if not held_out.any() or len(np.unique(codes[~held_out])) < n_classes:
        return least
    train, Y = rows[~held_out], indicator(codes[~held_out], n_classes)
    offset = Y.mean(axis=0)
    products, wanted, ahead = train.T @ train, train.T @ (Y - offset), rows[held_out]
    best, best_right = least, -1.0
    for ridge in sorted({least, *RIDGES}):
        shifted = products.copy()
        shifted[np.diag_indices(len(shifted))] += ridge
        try:
            # A factor for each ridge costs less than the eigenvectors that would serve all of them; transposed, the
            # symmetric matrix lies as LAPACK wants it.
            factor = cholesky(shifted.T, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        scores = ahead @ cho_solve((factor, True), wanted, check_finite=False) + offset
        right = float(np.mean(scores.argmax(axis=1) == codes[held_out]))
        if right > best_right:
            best, best_right = ridge, right
    return best


def leave_one_out(A: np.ndarray, Y: np.ndarray, alpha: float) -> np.ndarray:
    """Scores each training row would get from a ridge fitted without it: y − a / diag((A + αI)⁻¹)."""
    B = A + alpha * np.eye(len(A))
    try:
        factor = cholesky(B, lower=True, check_finite=False)
        inverse_factor = dtrtri(factor, lower=1)[0]
        diagonal = np.einsum("ij,ij->j", inverse_factor, inverse_factor)
        dual = cho_solve((factor, True), Y, check_finite=False)
    except LinAlgError:
        values, vectors = eigh(B, check_finite=False)
        inverse = 1.0 / np.maximum(values, max(values[-1], 1e-300) * len(values) * np.finfo(float).eps)
        diagonal = (vectors**2) @ inverse
        dual = vectors @ (inverse[:, None] * (vectors.T @ Y))
    return Y - dual / diagonal[:, None]


def discriminant_responses(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Orthonormal class indicators orthogonal to the constant: C − 1 columns.

    Ridge regression on them gives the directions of kernel discriminant analysis (Cai, He and Han 2007).
    """
    stacked = np.column_stack([np.ones(len(codes)), *(codes == c for c in range(n_classes))]).astype(float)
    basis = np.linalg.qr(stacked[:, : n_classes + 1])[0]
    return basis[:, 1:n_classes] * np.sqrt(len(codes))


def centroid_scores(Z: np.ndarray, centres: np.ndarray, spread: float) -> np.ndarray:
    """−‖z − centre‖² / (2·spread): log-likelihood of round classes up to a constant."""
    return -((Z[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2) / (2.0 * spread)


def most_confident(scores: np.ndarray, r: int, *, balanced: bool = False) -> np.ndarray:
    """Row numbers of the r largest winning scores, surest first; balanced: evenly over predicted classes."""
    predicted, confidence = scores.argmax(axis=1), scores.max(axis=1)
    order = np.argsort(-confidence, kind="stable")
    if not balanced:
        return order[:r]
    n_classes = scores.shape[1]
    place = np.empty(len(order), np.int64)
    for c in range(n_classes):
        own = order[predicted[order] == c]
        place[own] = np.arange(len(own))
    # By rank within the predicted class first: every class gives its k-th before any gives its k+1-th.
    return np.lexsort((-confidence, place))[:r]


def kernel_problem(K: np.ndarray) -> str | None:
    """What is wrong with a kernel matrix between the same rows, in words; None if nothing is."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        return f"has shape {K.shape} and is not square"
    if not np.all(np.isfinite(K)):
        return f"holds {int(np.sum(~np.isfinite(K)))} entries that are NaN or inf"
    gap = float(np.abs(K - K.T).max(initial=0.0))
    if gap > 1e-8 * max(float(np.abs(K).max(initial=0.0)), 1e-300):
        return f"is not symmetric: K and its transpose differ by up to {gap:g}"
    if np.any(np.diag(K) < 0):
        return f"has {int(np.sum(np.diag(K) < 0))} negative values on its diagonal"
    return None


# -- The Nyström map: features of a kernel from a few landmark rows


def inverse_root(K: np.ndarray) -> np.ndarray:
    values, vectors = eigh((K + K.T) / 2)
    keep = values > max(values[-1], 0.0) * len(values) * np.finfo(float).eps * 100
    return (vectors[:, keep] / np.sqrt(values[keep])) @ vectors[:, keep].T
