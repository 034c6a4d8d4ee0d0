"""Ridge regression on rows that are known for all documents: rows of a kernel, or similarities with landmarks.

The transductive kernel K̄·K̄ᵀ (Ionescu and Butnaru 2018, section 3) is a linear kernel on the rows R of K̄. It is never
formed whole: training solves (R_T·R_Tᵀ + αI)·a = y for the training rows T, and a prediction is R·(R_Tᵀ·a).

Most of R_T·R_Tᵀ is the square of R_TT. With P = R_TT + δI the matrix P⁻¹(R_T·R_Tᵀ + αI)P⁻¹ is close to the identity,
and about seven conjugate gradient steps make the residual ten thousand times smaller. The factor of P and the steps are
in single precision; residuals are in double precision, and the system is solved again for the remaining residual.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigh
from scipy.linalg.blas import strsm, strsv
from scipy.linalg.lapack import dtrtri, spotrf

STEPS_FROM = 1_500, 2_500  # training rows from which steps are faster than a factor: one response, several
TOLERANCE = 1e-7  # of the residual, relative to the responses
GAIN = 1e-4  # largest reduction of a residual in single precision before it is computed again
MOST_ROUNDS, MOST_STEPS = 6, 25  # a kernel that needs more is left to the direct solution
SAME = 1e-13  # rows whose sums are closer than this, relative to the largest, may be equal
STRIP = 256  # rows copied in one go
RIDGES = (1e-2, 1e-1, 1.0, 10.0, 100.0)  # tried on held-out documents if rows are shorter than documents are many


def rbf(K: np.ndarray) -> np.ndarray:
    """Turn a normalised kernel into exp(K̂ − 1), in place: ‖x − x'‖² = 2 − 2K̂ with width one.

    Parameters
    ----------
    K : ndarray
        Changed in place.

    Returns
    -------
    ndarray
    """
    K -= 1.0
    return np.exp(K, out=K)


def indicator(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return one column per class: +1 for its rows, −1 for the others (one against all).

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
    n_classes : int

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    Y = np.full((len(codes), n_classes), -1.0)
    Y[np.arange(len(codes)), codes] = 1.0
    return Y


def most_confident(scores: np.ndarray, count: int) -> np.ndarray:
    """Return the row numbers of the largest winning scores, the largest first.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
    count : int

    Returns
    -------
    ndarray of int of shape (count,)
    """
    return np.argsort(-scores.max(axis=1), kind="stable")[:count]


def solve_ridge(rows: np.ndarray, train: np.ndarray, Y: np.ndarray, alpha: float) -> np.ndarray:
    """Return the weights R_Tᵀ·a of ridge regression on the training rows.

    Parameters
    ----------
    rows : ndarray of shape (n_documents, n_columns)
        A square matrix is a symmetric kernel whose rows were centred by one row for all.
    train : ndarray of int
        Row numbers of the training documents.
    Y : ndarray of shape (n_train, n_classes)
        Responses.
    alpha : float
        Ridge.

    Returns
    -------
    ndarray of shape (n_columns, n_classes)
    """
    n, p = rows.shape
    opposite = Y.shape[1] == 2 and np.array_equal(Y[:, 0], -Y[:, 1])  # two classes, one against the other
    wanted = Y[:, :1] if opposite else Y
    enough = STEPS_FROM[0] if wanted.shape[1] == 1 else max(STEPS_FROM[1], 100 * wanted.shape[1])
    weights = _solve_in_steps(rows, train, wanted, alpha) if n == p and len(train) >= enough else None
    if weights is None:
        own = rows[as_run(train)]
        if len(train) <= p:
            weights = own.T @ _solve(own @ own.T, wanted, alpha)
        else:
            weights = _solve(own.T @ own, own.T @ wanted, alpha)
    return np.hstack([weights, -weights]) if opposite else weights


def _solve(A: np.ndarray, B: np.ndarray, alpha: float) -> np.ndarray:
    A[np.diag_indices(len(A))] += alpha
    try:
        return cho_solve(cho_factor(A, lower=True, check_finite=False), B, check_finite=False)
    except LinAlgError:
        values, vectors = eigh(A, check_finite=False)
        kept = values > values[-1] * len(values) * np.finfo(float).eps
        return (vectors[:, kept] / values[kept]) @ (vectors[:, kept].T @ B)


def as_run(index: np.ndarray) -> slice | np.ndarray:
    """Return consecutive row numbers as a slice, which saves a copy of the rows; other numbers are unchanged.

    Parameters
    ----------
    index : ndarray of int

    Returns
    -------
    slice or ndarray
    """
    if len(index) and index[-1] - index[0] == len(index) - 1 and np.all(np.diff(index) == 1):
        return slice(index[0], index[-1] + 1)
    return index


def choose_ridge(rows: np.ndarray, codes: np.ndarray, n_classes: int, least: float) -> float:
    """Choose the ridge for rows with fewer columns than documents, by holding out every fifth document.

    With about as many columns as documents a small ridge fits noise. ``least`` is tried too; the smallest of equally
    good ridges is taken.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
    codes : ndarray of int of shape (n_rows,)
    n_classes : int
    least : float
        Smallest candidate.

    Returns
    -------
    float
    """
    held_out = np.arange(len(codes)) % 5 == 4
    if not held_out.any() or len(np.unique(codes[~held_out])) < n_classes:
        return least
    train, Y = rows[~held_out], indicator(codes[~held_out], n_classes)
    offset = Y.mean(axis=0)
    products, wanted = train.T @ train, train.T @ (Y - offset)
    best, best_right = least, -1.0
    for ridge in sorted({least, *RIDGES}):
        scores = rows[held_out] @ _solve(products.copy(), wanted, ridge) + offset
        right = float(np.mean(scores.argmax(axis=1) == codes[held_out]))
        if right > best_right:
            best, best_right = ridge, right
    return best


def leave_one_out(A: np.ndarray, Y: np.ndarray, alpha: float) -> np.ndarray:
    """Return the scores of each training row from a ridge fitted without it: y − a / diag((A + αI)⁻¹).

    Parameters
    ----------
    A : ndarray of shape (n_rows, n_rows)
        Products of the rows.
    Y : ndarray of shape (n_rows, n_classes)
        Responses.
    alpha : float

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
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


# -- Conjugate gradient steps


def _solve_in_steps(R: np.ndarray, train: np.ndarray, Y: np.ndarray, alpha: float) -> np.ndarray | None:
    """Return R_Tᵀ·a, or None if the residual does not vanish."""
    run = as_run(train)
    own = R[run] if isinstance(run, slice) else None

    def times(weights: np.ndarray) -> np.ndarray:
        return own @ weights if own is not None else (R @ weights)[train]

    def transposed_times(a: np.ndarray) -> np.ndarray:
        if own is not None:
            return own.T @ a
        padded = np.zeros((len(R), a.shape[1]))  # a product with all rows is faster than a copy of these
        padded[train] = a
        return R.T @ padded

    total = transposed_times(np.ones((len(train), 1)))  # the direction that all rows share
    along = times(total)
    Y = _mean_of_equal_rows(R, train, along[:, 0], Y)
    along += alpha
    system = _Preconditioned(R, train, alpha)
    if system.failed:
        return None
    a, s = np.zeros(Y.shape), Y
    norm = np.maximum(np.linalg.norm(Y, axis=0), 1e-300)
    left = 1.0
    for _ in range(MOST_ROUNDS):
        a += system.solve(s, max(GAIN, TOLERANCE / (4 * left)))
        weights = transposed_times(a)
        s = Y - times(weights) - alpha * a
        # The kernel is greatest by far along the constant, where a small residual is a large error: remove it.
        constant = s.sum(axis=0) / along.sum()
        a, weights, s = a + constant, weights + total * constant, s - along * constant
        before, left = left, float(np.max(np.linalg.norm(s, axis=0) / norm))
        if left <= TOLERANCE:
            return weights
        if not left < before:
            break
    return None


def _mean_of_equal_rows(R: np.ndarray, train: np.ndarray, sums: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Average responses over equal rows: the same weights, and no dual weight as large as 1/α to be rounded."""
    order = np.argsort(sums, kind="stable")
    same = np.flatnonzero(np.diff(sums[order]) <= SAME * np.abs(sums).max())
    first = np.arange(len(train))
    for place in same:
        one, other = order[place], order[place + 1]
        if np.allclose(R[train[one]], R[train[other]], rtol=0, atol=1e-12):
            first[other] = first[one]
    averaged = np.zeros(Y.shape)
    np.add.at(averaged, first, Y)
    return averaged[first] / np.bincount(first)[first][:, None]


class _Preconditioned:
    """P⁻¹(R_T·R_Tᵀ + αI)P⁻¹ for R_T = [P − δI, H] + means, in single precision.

    Rows that were centred by one row for all are symmetric again without their means.
    """

    def __init__(self, R: np.ndarray, train: np.ndarray, alpha: float):
        self.means, self.width, self.alpha = R.mean(axis=1), len(R), alpha
        mask = np.ones(len(R), bool)
        mask[train] = False
        others = as_run(np.flatnonzero(mask))
        n = len(train)
        P, self.H = np.empty((n, n), np.float32), np.empty((n, len(R) - n), np.float32)
        for start in range(0, n, STRIP):
            strip = train[start : start + STRIP]
            part = R[as_run(strip)] - self.means[strip, None]
            # The factor needs one triangle only.
            P[start : start + STRIP, start:] = part[:, as_run(train[start:])]
            self.H[start : start + STRIP] = part[:, others]
        self.means = self.means[train]
        places = np.diag_indices(n)
        self.shift = max(np.sqrt(alpha), 1e-3 * float(P[places].mean()))
        P[places] += np.float32(self.shift)
        # Transposed, the symmetric matrix has the layout of LAPACK.
        self.factor, self.failed = spotrf(P.T, lower=1, clean=0, overwrite_a=1)

    def _divide(self, V: np.ndarray) -> np.ndarray:
        V = V.astype(np.float32)
        if V.shape[1] == 1:
            return strsv(self.factor, strsv(self.factor, V[:, 0], lower=1), lower=1, trans=1)[:, None]
        return strsm(1.0, self.factor, strsm(1.0, self.factor, V, lower=1), lower=1, trans_a=1)

    def solve(self, S: np.ndarray, gain: float) -> np.ndarray:
        """Return dual weights for the responses ``S``, until the residual is ``gain`` times its first size."""
        R = self._divide(S).astype(np.float64)
        direction, squares = R, (R * R).sum(axis=0)
        found, goal = np.zeros(S.shape), gain**2 * squares
        for _ in range(MOST_STEPS):
            if np.all(squares <= goal):
                break
            Z = self._divide(direction).astype(np.float64)
            inner = self.H @ (self.H.T @ Z.astype(np.float32)) + (self.shift**2 + self.alpha) * Z
            inner += self.width * np.outer(self.means, self.means @ Z) - 2 * self.shift * direction
            product = direction + self._divide(inner)
            curved = (direction * product).sum(axis=0)
            step = np.divide(squares, curved, out=np.zeros_like(squares), where=curved > 0)
            found += Z * step
            R = R - product * step
            squares, before = (R * R).sum(axis=0), squares
            direction = R + direction * np.divide(squares, before, out=np.zeros_like(before), where=before > 0)
        return found
