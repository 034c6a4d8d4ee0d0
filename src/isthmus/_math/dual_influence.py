"""What one more word label would do, before it is given."""

from __future__ import annotations

import numpy as np

from isthmus._math.dual_manifold import ManifoldProblem

CHUNK = 25  # words worked out together: bounds memory to a few arrays of (n + d) × CHUNK


def word_influence(
    problem: ManifoldProblem,
    values: np.ndarray,
    words: np.ndarray,
    chances: np.ndarray,
    rows: np.ndarray,
    moments: tuple[np.ndarray, np.ndarray],
    *,
    tol: float = 1e-6,
    max_iter: int = 500,
) -> list[tuple[float, float]]:
    """Expected number of flipped rows and expected change of scores for each candidate word.

    A label ``y`` of weight 1 on node ``w`` adds ``e_w e_wᵀ K`` to the matrix of Eq. 4 and ``e_w y`` to its right-hand
    side. With ``g = K A⁻¹ e_w`` the new values are ``F + g (y - F_w) / (1 + g_w)``, exactly (Sherman and Morrison)
    for the squared loss; for other losses this is the first step.

    Parameters
    ----------
    problem : ManifoldProblem
    values : ndarray of shape (n + d, m)
        Fitted values ``F``.
    words : ndarray of int
        Columns to try.
    chances : ndarray of shape (len(words), m)
        Probability of each class for each word.
    rows : ndarray of int
        Rows whose labels matter (the target).
    moments : (mean, deviation)
        How values become comparable scores.
    """
    n, total = problem.n_rows, len(problem.targets)
    current = (values[rows] - moments[0]) / moments[1]
    labels = current.argmax(axis=1)
    table: list[tuple[float, float]] = []
    for start in range(0, len(words), CHUNK):
        chunk = words[start : start + CHUNK]
        units = np.zeros((total, len(chunk)))
        units[n + chunk, np.arange(len(chunk))] = 1.0
        influence = problem.solve_cg(problem.weights[:, None], units, tol=tol, max_iter=max_iter).values
        for j, word in enumerate(chunk):
            reach = influence[rows, j] / (1.0 + influence[n + word, j])
            flips = change = 0.0
            for label, chance in enumerate(chances[start + j]):
                surprise = (np.arange(values.shape[1]) == label) - values[n + word]
                moved = np.outer(reach, surprise / moments[1])
                flips += chance * float(np.sum((current + moved).argmax(axis=1) != labels))
                change += chance * float(np.mean(np.abs(moved)))
            table.append((flips, change))
    return table
