"""Labels of the source that are probably wrong: confident learning on out-of-fold probabilities.

A label is doubtful where a classifier that has not seen the document gives it another class, and gives that class at
least as much as it gives the documents which carry it (Northcutt, Jiang and Chuang, JAIR 2021). The threshold is the
class's own, so a class that is hard to tell is not doubted as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from isthmus._math.samples import two_sided_z, wilson_ends
from isthmus.features.weights import weigh_tfidf

FOLDS = 5
FEWEST = 5  # documents a class for its labels to be judged
SUREST = 0.1  # share of the documents of a class in which noise is read off
_WORDS = 5  # words that are named for a class
_ITERATIONS = 200
_CONFIDENCE = 0.9  # of the interval, as for the accuracy to expect


@dataclass(frozen=True)
class LabelDoubt:
    """What speaks against labels.

    ``rows`` are the documents whose label is doubtful, the most doubtful first; ``suggested`` is the class that each of
    them probably has, and ``evidence`` the columns that speak for either (``for_label``, ``for_suggested``).

    ``probabilities`` (documents × classes) are those of a classifier that has not seen the document, 0 for classes with
    fewer than five documents. ``support`` is what speaks for each document's label against the strongest other class,
    between 0 and 1, either in units of its mean probability among the documents that carry it; 1 for those that were
    not judged.

    ``noise`` is the share of wrong labels, ``low`` to ``high`` the interval of 90 % in which it should lie.
    """

    rows: np.ndarray
    suggested: np.ndarray
    probabilities: np.ndarray
    support: np.ndarray
    noise: float
    low: float
    high: float
    evidence: list[dict[str, np.ndarray]]


def doubt_labels(
    counts: sp.csr_matrix, codes: np.ndarray, n_classes: int, *, random_state: int | None = 0
) -> LabelDoubt | None:
    """Which labels are probably wrong, what they probably should be, and how many are wrong in all.

    Parameters
    ----------
    counts : CSR matrix of word counts
    codes : ndarray of int
        Class of each row.
    n_classes : int
    random_state : int or None
        For the division into five folds.

    Returns
    -------
    LabelDoubt or None
        None where fewer than two classes have five documents.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from isthmus.shift import doubt_labels
    >>> words = sp.csr_matrix(np.tile([[3, 0, 1], [0, 3, 1]], (20, 1)))
    >>> codes = np.tile([0, 1], 20)
    >>> codes[4] = 1  # its words are those of class 0
    >>> found = doubt_labels(words, codes, 2)
    >>> found.rows.tolist(), found.suggested.tolist()
    ([4], [0])
    """
    counts = sp.csr_matrix(counts)
    large = np.flatnonzero(np.bincount(codes, minlength=n_classes) >= FEWEST)
    judged = np.flatnonzero(np.isin(codes, large))
    if len(large) < 2:
        return None
    own = np.searchsorted(large, codes[judged])
    part, columns = _fit_folds(counts[judged], own, random_state)
    at_own = np.arange(len(own)), own
    thresholds = np.array([part[own == code, code].mean() for code in range(len(large))])
    # In units of its threshold a class that is hard to tell, or swollen by wrong labels, is no louder than the others.
    relative = part / thresholds
    confident = np.where(part >= thresholds, relative, 0.0)
    confident[at_own] = relative[at_own]
    best = confident.argmax(axis=1)
    others = relative.copy()
    others[at_own] = 0.0
    support = relative[at_own] / (relative[at_own] + others.max(axis=1))
    doubtful = np.flatnonzero(best != own)
    doubtful = doubtful[np.argsort(support[doubtful], kind="stable")]
    probabilities = np.zeros((len(codes), n_classes))
    probabilities[np.ix_(judged, large)] = part
    supports = np.ones(len(codes))
    supports[judged] = support
    noise, low, high = estimate_noise(part, own)
    return LabelDoubt(
        rows=judged[doubtful],
        suggested=large[best[doubtful]],
        probabilities=probabilities,
        support=supports,
        noise=noise,
        low=low,
        high=high,
        evidence=[columns(row, own[row], best[row]) for row in doubtful.tolist()],
    )


def estimate_noise(probabilities: np.ndarray, codes: np.ndarray) -> tuple[float, float, float]:
    """Share of wrong labels with an interval of 90 %.

    Where the classifier is surest, the first tenth of each class that it gives, it is hardly ever wrong, so a label
    that contradicts it mostly is. Further down its own errors look the same: both together are the share that it
    contradicts over all documents. Therefore the low end allows the surest tenth half as many errors of its own as the
    whole, and the high end none.
    """
    given = probabilities.argmax(axis=1)
    contradicted = given != codes
    share, n_surest = 0.0, 0
    for code in np.unique(given).tolist():
        rows = np.flatnonzero(given == code)
        surest = rows[np.argsort(-probabilities[rows, code], kind="stable")[: -int(-SUREST * len(rows) // 1)]]
        share += len(rows) / len(codes) * float(contradicted[surest].mean())
        n_surest += len(surest)
    low, high = wilson_ends(share, n_surest, two_sided_z(_CONFIDENCE))
    overall = float(contradicted.mean())
    return share, max(0.0, min(low, 2 * low - overall)), max(high, overall)


def _fit_folds(counts: sp.csr_matrix, codes: np.ndarray, random_state: int | None) -> tuple[np.ndarray, Any]:
    """Probabilities of each row by models that have not seen it, and a function that names the columns behind them."""
    rows = weigh_tfidf(counts, sublinear=True)
    probabilities = np.zeros((len(codes), int(codes.max()) + 1))
    fold_of = np.zeros(len(codes), dtype=int)
    weights = []
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0 if random_state is None else random_state)
    for fold, (train, test) in enumerate(folds.split(codes, codes)):
        linear = LogisticRegression(max_iter=_ITERATIONS).fit(rows[train], codes[train])
        probabilities[test] = linear.predict_proba(rows[test])
        fold_of[test] = fold
        weights.append(np.vstack([-linear.coef_, linear.coef_]) if len(linear.coef_) == 1 else linear.coef_)

    def columns(row: int, label: int, suggested: int) -> dict[str, np.ndarray]:
        document = rows[row]
        pull = document.data * (weights[fold_of[row]][suggested] - weights[fold_of[row]][label])[document.indices]
        order = np.argsort(pull, kind="stable")
        first, last = order[:_WORDS], order[::-1][:_WORDS]
        return {
            "for_label": document.indices[first[pull[first] < 0]],
            "for_suggested": document.indices[last[pull[last] > 0]],
        }

    return probabilities, columns


def review_table(rows: Sequence[dict], texts: Sequence[str], ids: Sequence[str] | None = None) -> dict[str, list]:
    """Doubtful labels (rows of ``doubtful_labels``) with the texts, as columns; ``true_label`` is left to fill in."""
    places = [row["document"] - 1 for row in rows]
    table: dict[str, list] = {"document": [row["document"] for row in rows]}
    if ids is not None:
        table["id"] = [ids[place] for place in places]
    table["text"] = [texts[place] for place in places]
    for name in ("label", "suggested", "support", "for_label", "for_suggested"):
        table[name] = [row[name] for row in rows]
    return table | {"true_label": [""] * len(rows)}
