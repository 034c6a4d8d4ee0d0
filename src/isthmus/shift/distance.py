"""How well a linear classifier tells two domains apart: the proxy A-distance."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from isthmus._progress import progress
from isthmus.features.weights import document_frequency, weigh_tfidf

FEWEST = 20  # documents a side; below, a held-out error says nothing
LARGEST = 3_000  # documents a side that are looked at; more change the third digit only
_FOLDS = 5


def proxy_a_distance(
    source: sp.csr_matrix, target: sp.csr_matrix, *, largest: int = LARGEST, random_state: int | None = 0
) -> dict[str, float]:
    """2·(1 − 2ε), with ε the held-out error of a linear classifier that tells source from target.

    0: no difference is found; 2: every document gives away where it is from. The two sides weigh the same, whatever
    their sizes. If a share λ of the target were foreign and the rest like the source, the best classifier would err on
    half of the rest, ε = (1 − λ)/2, so half the distance is about the share of the target that looks foreign.

    Parameters
    ----------
    source, target : CSR matrices of counts over one vocabulary
    largest : int
        Documents a side; more are sampled.
    random_state : int or None

    Returns
    -------
    dict
        ``distance``, ``low`` and ``high`` (95 % interval from the number of held-out documents), ``error``,
        ``documents`` (a side, the smaller). NaN where a side has fewer than 20 documents that hold a word.

    See Also
    --------
    isthmus.diagnose : All measures together, with advice.
    isthmus.shift.vocabulary_overlap : Words in common.

    References
    ----------
    .. [1] Ben-David, Blitzer, Crammer, Pereira, "Analysis of representations for domain adaptation", NIPS 2006.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from isthmus.shift.distance import proxy_a_distance
    >>> left, right = np.tile([1, 0, 1], (40, 1)), np.tile([0, 1, 1], (40, 1))
    >>> proxy_a_distance(sp.csr_matrix(left), sp.csr_matrix(right))["distance"]
    2.0
    """
    rng = np.random.default_rng(random_state)
    sides = [_sample(side, largest, rng) for side in (source, target)]
    smaller = min(side.shape[0] for side in sides)
    if smaller < FEWEST:
        nothing = dict.fromkeys(("distance", "low", "high", "error"), float("nan"))
        return {**nothing, "documents": smaller}
    X = sp.vstack(sides, format="csr")
    X = weigh_tfidf(X[:, document_frequency(X) >= 2])
    y = np.repeat([0, 1], [side.shape[0] for side in sides])
    wrong = np.zeros(len(y), dtype=bool)
    seed = int(rng.integers(2**31))
    for fold, (train, test) in enumerate(StratifiedKFold(_FOLDS, shuffle=True, random_state=seed).split(X, y)):
        model = LinearSVC(class_weight="balanced", random_state=seed, max_iter=2_000, tol=1e-3)
        wrong[test] = model.fit(X[train], y[train]).predict(X[test]) != y[test]
        progress("telling the domains apart", fold + 1, _FOLDS)
    rates = np.array([wrong[y == side].mean() for side in (0, 1)])
    # One pseudo-observation a side keeps the interval open where no document at all was mistaken.
    sizes = np.array([side.shape[0] for side in sides])
    smooth = (rates * sizes + 0.5) / (sizes + 1)
    spread = 1.96 * np.sqrt(np.sum(smooth * (1 - smooth) / sizes) / 4)
    error = float(rates.mean())
    low, high = (float(np.clip(2 * (1 - 2 * (error + sign * spread)), 0, 2)) for sign in (1, -1))
    distance = float(np.clip(2 * (1 - 2 * error), 0, 2))
    return {"distance": distance, "low": low, "high": high, "error": error, "documents": int(smaller)}


def _sample(side: sp.csr_matrix, largest: int, rng: np.random.Generator) -> sp.csr_matrix:
    rows = np.flatnonzero(np.diff(side.indptr))  # documents without a word would all look alike
    if len(rows) > largest:
        rows = np.sort(rng.choice(rows, largest, replace=False))
    return side[rows]
