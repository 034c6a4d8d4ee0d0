"""Find source labels that are probably wrong, by confident learning on out-of-fold probabilities.

A label is uncertain under two conditions (Northcutt, Jiang and Chuang, JAIR 2021). A classifier that was not trained on
the document prefers another class, and it gives that class at least the mean probability of documents with that label.
Each class has its own threshold, so the labels of a difficult class are not all reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from isthmus._math.fitted import fitted
from isthmus._math.samples import two_sided_z, wilson_ends
from isthmus.features.weights import weigh_tfidf

# Fitted constants; ``choose/trust.json`` states their units and origin.
DOUBT = fitted("uncertain_labels")

FOLDS = 5  # folds of the out-of-fold probabilities
_WORDS = 5  # words listed for a class
# Iterations of the logistic regression at most.
_ITERATIONS = 200
_CONFIDENCE = 0.9  # probability that the interval covers the true value, as for the expected accuracy


@dataclass(frozen=True)
class LabelDoubt:
    """Source labels that are probably wrong, with the evidence.

    Attributes
    ----------
    rows : ndarray of int, shape (n_uncertain,)
        Documents with an uncertain label, the most uncertain first.
    suggested : ndarray of int, shape (n_uncertain,)
        Class that each of these documents probably has.
    probabilities : ndarray of shape (n_documents, n_classes)
        Out-of-fold probabilities; 0 for classes with fewer than five documents.
    support : ndarray of shape (n_documents,)
        Support for each document's label against the strongest other class, between 0 and 1. Both probabilities are
        divided by the mean probability of their class among the documents with that label. 1 for documents that were
        not judged.
    noise : float
        Estimated proportion of wrong labels.
    low, high : float
        Ends of the 90% interval of ``noise``.
    evidence : list of dict
        Per uncertain document: the columns that support its label (``for_label``) and those that support the suggested
        class (``for_suggested``).
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
    """Find labels that are probably wrong, suggest a class for each, and estimate the proportion of wrong labels.

    Parameters
    ----------
    counts : CSR matrix of shape (n_documents, n_words)
        Word counts.
    codes : ndarray of int, shape (n_documents,)
        Class of each row.
    n_classes : int
    random_state : int or None
        Seed of the division into five folds.

    Returns
    -------
    LabelDoubt or None
        None if fewer than two classes have five documents.

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
    large = np.flatnonzero(np.bincount(codes, minlength=n_classes) >= DOUBT["fewest"])
    judged = np.flatnonzero(np.isin(codes, large))
    if len(large) < 2:
        return None
    own = np.searchsorted(large, codes[judged])
    part, columns = _fit_folds(counts[judged], own, random_state)
    at_own = np.arange(len(own)), own
    thresholds = np.array([part[own == code, code].mean() for code in range(len(large))])
    # Dividing by the threshold makes classes comparable: a difficult class, or one with many wrong labels, has lower
    # probabilities throughout.
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
    """Estimate the proportion of wrong labels, with a 90% interval.

    The most confident tenth of the predictions of each class is hardly ever wrong, so a label that contradicts such a
    prediction is probably wrong. Less confident predictions contradict labels also by errors of the classifier. The
    rate of contradictions over all documents therefore includes both. The low end of the interval assumes that the most
    confident tenth has half as many errors of the classifier as all documents; the high end assumes that it has none.

    Parameters
    ----------
    probabilities : ndarray of shape (n_documents, n_classes)
        Out-of-fold probabilities.
    codes : ndarray of int, shape (n_documents,)
        Class of each row.

    Returns
    -------
    noise, low, high : float
    """
    given = probabilities.argmax(axis=1)
    contradicted = given != codes
    share, n_surest = 0.0, 0
    for code in np.unique(given).tolist():
        rows = np.flatnonzero(given == code)
        surest = rows[
            np.argsort(-probabilities[rows, code], kind="stable")[: -int(-DOUBT["most_confident"] * len(rows) // 1)]
        ]
        share += len(rows) / len(codes) * float(contradicted[surest].mean())
        n_surest += len(surest)
    low, high = wilson_ends(share, n_surest, two_sided_z(_CONFIDENCE))
    overall = float(contradicted.mean())
    return share, max(0.0, min(low, 2 * low - overall)), max(high, overall)


def _fit_folds(counts: sp.csr_matrix, codes: np.ndarray, random_state: int | None) -> tuple[np.ndarray, Any]:
    """Return out-of-fold probabilities, and a function that lists the columns behind a prediction."""
    rows = weigh_tfidf(counts, sublinear=True)
    probabilities = np.zeros((len(codes), int(codes.max()) + 1))
    fold_of = np.zeros(len(codes), dtype=int)
    weights = []
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0 if random_state is None else random_state)
    for fold, (train, test) in enumerate(folds.split(codes, codes)):
        linear = LogisticRegression(max_iter=_ITERATIONS).fit(rows[train], codes[train])
        probabilities[test] = linear.predict_proba(rows[test])
        fold_of[test] = fold
        # A binary model has one row of coefficients; give each class its own row.
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
    """Return the uncertain labels with their texts as a table to correct.

    Parameters
    ----------
    rows : sequence of dict
        Rows of the table ``doubtful_labels``.
    texts : sequence of str
        All source texts.
    ids : sequence of str or None
        Identifiers of the source texts.

    Returns
    -------
    dict of str to list
        Columns of the table; the column ``true_label`` is empty.
    """
    places = [row["document"] - 1 for row in rows]  # the table counts documents from 1
    table: dict[str, list] = {"document": [row["document"] for row in rows]}
    if ids is not None:
        table["id"] = [ids[place] for place in places]
    table["text"] = [texts[place] for place in places]
    for name in ("label", "suggested", "support", "for_label", "for_suggested"):
        table[name] = [row[name] for row in rows]
    return table | {"true_label": [""] * len(rows)}
