"""Find the words that connect the source's classes with the target, and the words whose use differs between the two.

Every question is answered with one model: multinomial naive Bayes on the presence of words, with equal priors. Its
score is a sum over words, so the contribution of one word can be subtracted exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls
from scipy.special import ndtr
from sklearn.model_selection import StratifiedKFold

from isthmus._math.information import safe_log
from isthmus._math.rows import group_sums
from isthmus._progress import progress
from isthmus.features.weights import document_frequency

_FOLDS = 5  # folds of the cross-validation on the source
_FEWEST = 5  # documents; classes with fewer are not held out
_SMOOTHING = 0.5  # added to every count of a word in a class, so that no probability is 0
_TIED = 3.0  # standard errors; words with a weaker association are not tied to a class
_AT_A_TIME = 4_000_000  # entries × classes in memory at a time


def log_weights(X: sp.csr_matrix, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the logarithm of p(word | class) with smoothed counts.

    Parameters
    ----------
    X : CSR matrix of shape (n_documents, n_words)
        Presence of each word.
    codes : ndarray of int, shape (n_documents,)
        Class of each row.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_classes, n_words)
    """
    sums = group_sums(X, codes, n_classes) + _SMOOTHING  # classes × words: small and dense
    # Texts that consist of punctuation only have no words to add.
    total = np.maximum(sums.sum(axis=1, keepdims=True), _SMOOTHING)
    return np.log(sums) - np.log(total)


def presence(X: sp.csr_matrix) -> sp.csr_matrix:
    """Return a copy of a count matrix in which every stored entry is 1.

    Parameters
    ----------
    X : CSR matrix of shape (n_documents, n_words)

    Returns
    -------
    CSR matrix of shape (n_documents, n_words)
    """
    X = X.copy()
    X.data = np.ones_like(X.data)
    return X


@dataclass(frozen=True)
class Carrying:
    """Report how well classes can be distinguished in documents with the target's word frequencies."""

    source: float  # balanced accuracy on held-out source documents
    thinned: float  # balanced accuracy after words were removed until each is as frequent as in the target
    chance: float  # 1 / number of classes
    # (thinned − chance) / (source − chance), between 0 and 1; 0 if the accuracy on the source is not above chance
    share: float
    spread: float  # standard error of the two accuracies

    @property
    def above_chance(self) -> bool:
        """Whether words distinguish the source's own classes."""
        return self.source - self.chance > 2 * self.spread


def vocabulary_transfer(
    source: sp.csr_matrix, codes: np.ndarray, target: sp.csr_matrix, *, random_state: int | None = 0
) -> Carrying | None:
    """Measure how well classes can be distinguished at the target's word frequencies.

    Let a word occur in a share r of the source's documents and in a share q of the target's. The word stays in a
    held-out source document with probability min(1, q/r). Words that the target lacks disappear, and rare words become
    rare. The accuracy on these thinned documents is an upper bound for the target. It needs no target labels, and it
    does not cover words that changed their meaning.

    Parameters
    ----------
    source, target : CSR matrices of shape (n_documents, n_words)
        Counts over one vocabulary.
    codes : ndarray of int, shape (n_source,)
        Class of each source row.
    random_state : int or None
        Seed for the choice of the words that are removed.

    Returns
    -------
    Carrying or None
        None if fewer than two classes have five documents or more.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from isthmus.shift.bridges import vocabulary_transfer
    >>> source = sp.csr_matrix(np.tile([[1, 0, 1], [0, 1, 1]], (20, 1)))
    >>> codes = np.tile([0, 1], 20)
    >>> vocabulary_transfer(source, codes, source).share
    1.0
    >>> vocabulary_transfer(source, codes, sp.csr_matrix([[0, 0, 1]] * 40)).share
    0.0
    """
    rows = np.flatnonzero(np.isin(codes, np.flatnonzero(np.bincount(codes) >= _FEWEST)))
    classes, codes = np.unique(codes[rows], return_inverse=True)
    if len(classes) < 2:
        return None
    X = presence(source[rows])
    r = document_frequency(source) / source.shape[0]
    q = document_frequency(target) / max(1, target.shape[0])
    keep = np.minimum(1.0, np.divide(q, r, out=np.zeros_like(r), where=r > 0))
    rng = np.random.default_rng(random_state)
    thin = X.copy()
    thin.data = (rng.random(len(X.data)) < keep[X.indices]).astype(np.float64)
    thin.eliminate_zeros()
    right = np.zeros((2, len(codes)))
    folds = _folds(codes)
    for fold, (train, test) in enumerate(folds):
        weights = log_weights(X[train], codes[train], len(classes)).T
        for row, rows_in in enumerate((X, thin)):
            right[row, test] = _winners(np.asarray(rows_in[test] @ weights))[np.arange(len(test)), codes[test]]
        progress("measuring what carries over", fold + 1, len(folds))
    recalls = np.array([[part[codes == c].mean() for c in range(len(classes))] for part in right])
    full, left = recalls.mean(axis=1)
    sizes = np.bincount(codes)
    spread = float(np.sqrt(np.sum(np.maximum(recalls[0] * (1 - recalls[0]), 0.01) / sizes)) / len(classes))
    chance = 1.0 / len(classes)
    found = Carrying(float(full), float(left), chance, 0.0, spread)
    if not found.above_chance:
        return found
    return replace(found, share=float(np.clip((left - chance) / (full - chance), 0.0, 1.0)))


def _folds(codes: np.ndarray, random_state: int | None = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    folds = StratifiedKFold(min(_FOLDS, int(np.bincount(codes).min())), shuffle=True, random_state=random_state)
    return list(folds.split(codes, codes))


def _winners(scores: np.ndarray, slack: float = 1e-12) -> np.ndarray:
    """Return 1 for the class with the highest score of a row; tied classes share the 1."""
    best = scores >= scores.max(axis=1, keepdims=True) - slack
    return best / best.sum(axis=1, keepdims=True)


def pivot_table(
    source: sp.csr_matrix, codes: np.ndarray, target: sp.csr_matrix, names: np.ndarray, classes: np.ndarray
) -> list[dict]:
    """List the words that are frequent in both domains, sorted by their mutual information with the class.

    A word is frequent if it occurs in at least 0.5% of the documents of each domain, and in at least 3 documents. As
    for the pivots of structural correspondence learning, the score is the mutual information between a word's presence
    and the source's labels.

    Parameters
    ----------
    source, target : CSR matrices of shape (n_documents, n_words)
        Counts over one vocabulary.
    codes : ndarray of int, shape (n_source,)
        Class of each source row.
    names : ndarray of str, shape (n_words,)
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    list of dict
        ``word``, ``class`` (in which the word is most over-represented), ``information`` (nats), ``source`` and
        ``target`` (documents with the word).
    """
    X = presence(source)
    n = X.shape[0]
    in_source, in_target = document_frequency(source), document_frequency(target)
    frequent = (in_source >= max(3, 0.005 * n)) & (in_target >= max(3, 0.005 * target.shape[0]))
    columns = np.flatnonzero(frequent)
    sizes = np.bincount(codes, minlength=len(classes)).astype(float)
    with_word = group_sums(X[:, columns], codes, len(classes))
    information = _presence_information(with_word, sizes)
    lift = with_word / np.maximum(sizes, 1)[:, None]
    best = lift.argmax(axis=0) if len(columns) else np.zeros(0, dtype=int)
    order = np.argsort(-information, kind="stable")
    return [
        {
            "word": str(names[columns[i]]),
            "class": str(classes[best[i]]),
            "information": round(float(information[i]), 5),
            "source": int(in_source[columns[i]]),
            "target": int(in_target[columns[i]]),
        }
        for i in order
    ]


def _presence_information(with_word: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    n = sizes.sum()
    total = np.zeros(with_word.shape[1])
    for joint in (with_word / n, (sizes[:, None] - with_word) / n):
        expected = safe_log(joint.sum(axis=0))[None, :] + safe_log(sizes / n)[:, None]
        with np.errstate(invalid="ignore"):
            total += np.where(joint > 0, joint * (safe_log(joint) - expected), 0.0).sum(axis=0)
    return np.maximum(total, 0.0)


def votes_without_word(X: sp.csr_matrix, weights: np.ndarray) -> np.ndarray:
    """Count, per class and word, the documents that the rest of their words assigns to that class.

    Parameters
    ----------
    X : CSR matrix of shape (n_documents, n_words)
        Presence of each word.
    weights : ndarray of shape (n_classes, n_words)
        log p(word | class).

    Returns
    -------
    ndarray of shape (n_classes, n_words)
        Sums over the documents that contain the word; tied classes share a document.
    """
    n_classes, n_words = weights.shape
    votes = np.zeros((n_classes, n_words))
    block = max(1, _AT_A_TIME // max(1, n_classes))
    scores = np.asarray(X @ weights.T)
    row_of = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    for start in range(0, len(X.indices), block):
        entries = slice(start, start + block)
        rest = scores[row_of[entries]] - weights[:, X.indices[entries]].T
        # If a document has no other word, the rest is 0 up to rounding errors; such near-ties count as ties.
        part = _winners(rest, 1e-9 * (1 + np.abs(rest).max()))
        for c in range(n_classes):
            votes[c] += np.bincount(X.indices[entries], weights=part[:, c], minlength=n_words)
    return votes


def class_shifted_words(
    source: sp.csr_matrix,
    codes: np.ndarray,
    target: sp.csr_matrix,
    names: np.ndarray,
    classes: np.ndarray,
    *,
    fewest: int = 10,
    random_state: int | None = 0,
) -> list[dict]:
    """List the words that occur with another class in the target than in the source, the clearest cases first.

    No target label is known. Each document with the word therefore gets the class that its *other* words support, by
    naive Bayes trained on the source (out of fold for source documents). The word itself has no vote, and both sides
    are judged by the same model.

    Let c be the class with which the source's own labels associate a word most. The log-odds of c among documents with
    the word, minus the log-odds among all documents, are compared between the two sides, in units of their standard
    error. The model is less accurate in the target, which weakens all associations by a common factor. This factor is
    fitted and removed; the list contains the words that weakened more.

    Parameters
    ----------
    source, target : CSR matrices of shape (n_documents, n_words)
        Counts over one vocabulary.
    codes : ndarray of int, shape (n_source,)
        Class of each source row.
    names : ndarray of str, shape (n_words,)
    classes : ndarray of shape (n_classes,)
    fewest : int
        Documents with the word that each side must have.
    random_state : int or None
        Seed of the folds.

    Returns
    -------
    list of dict
        ``word``, ``class`` (in the source), ``source_share`` and ``target_share`` (of the documents with the word, the
        proportion assigned to that class), ``towards`` (class that gained most), ``z``, ``source`` and ``target``
        (documents). The list contains words that are clearly associated with a class in the source (3 standard errors)
        and whose association weakened. The false discovery rate is 5% (Benjamini and Hochberg).
    """
    X, T = presence(source), presence(target)
    n_classes = len(classes)
    if np.bincount(codes, minlength=n_classes).min() < 2 or n_classes < 2:
        return []
    votes_source = np.zeros((n_classes, X.shape[1]))
    base_source = np.zeros(n_classes)
    folds = _folds(codes, random_state)
    for fold, (train, test) in enumerate(folds):
        weights = log_weights(X[train], codes[train], n_classes)
        votes_source += votes_without_word(X[test], weights)
        base_source += _shares(X[test], weights) * len(test)
        progress("looking for words that moved", fold + 1, len(folds))
    weights = log_weights(X, codes, n_classes)
    votes_target = votes_without_word(T, weights)
    base_target = _shares(T, weights) * T.shape[0]
    in_source, in_target = votes_source.sum(axis=0), votes_target.sum(axis=0)
    columns = np.flatnonzero((in_source >= fewest) & (in_target >= fewest))
    if not len(columns):
        return []
    # Words are selected with the true labels and compared with the votes: selection by the votes would bias the
    # comparison.
    best, tied = _ties(X[:, columns], codes, n_classes)
    columns, best = columns[tied], best[tied]
    a, va = _log_odds(votes_source[:, columns], base_source)
    b, vb = _log_odds(votes_target[:, columns], base_target)
    a, b, va, vb = (part[best, np.arange(len(columns))] for part in (a, b, va, vb))
    # Least squares for b = blur · a: the common factor by which all associations are weaker in the target.
    blur = float(np.clip(np.sum(a * b / (va + vb)) / max(np.sum(a * a / (va + vb)), 1e-12), 0.0, 1.0))
    z = (b - blur * a) / np.sqrt(vb + blur**2 * va)
    part_source, part_target = (v[:, columns] / v[:, columns].sum(axis=0) for v in (votes_source, votes_target))
    towards = (part_target - part_source).argmax(axis=0)
    chosen = _discoveries(z)
    return [
        {
            "word": str(names[columns[i]]),
            "class": str(classes[best[i]]),
            "source_share": round(float(part_source[best[i], i]), 4),
            "target_share": round(float(part_target[best[i], i]), 4),
            "towards": str(classes[towards[i]]),
            "z": round(float(z[i]), 2),
            "source": round(in_source[columns[i]]),
            "target": round(in_target[columns[i]]),
        }
        for i in chosen
    ]


def _ties(X: sp.csr_matrix, codes: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the class most associated with each word, and whether by more than 3 standard errors."""
    odds, variance = _log_odds(group_sums(X, codes, n_classes), np.bincount(codes, minlength=n_classes))
    tie = odds / np.sqrt(variance)
    return tie.argmax(axis=0), tie.max(axis=0) > _TIED


def _discoveries(z: np.ndarray, rate: float = 0.05) -> np.ndarray:
    """Return the indices of words with a significantly low z, lowest first, at the false discovery rate ``rate``."""
    order = np.argsort(z, kind="stable")
    chance = ndtr(z[order])
    below = np.flatnonzero(chance <= rate * np.arange(1, len(z) + 1) / max(1, len(z)))
    return order[: below[-1] + 1] if len(below) else order[:0]


def _shares(X: sp.csr_matrix, weights: np.ndarray) -> np.ndarray:
    return _winners(np.asarray(X @ weights.T)).mean(axis=0)


def _log_odds(votes: np.ndarray, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each class's log-odds given a word minus its log-odds among all documents, and the variance."""
    yes, no = votes + 0.5, votes.sum(axis=0) - votes + 0.5
    overall = np.log((base + 0.5) / (base.sum() - base + 0.5))
    return np.log(yes / no) - overall[:, None], 1 / yes + 1 / no


def predicted_shares(source: sp.csr_matrix, codes: np.ndarray, target: sp.csr_matrix, n_classes: int) -> np.ndarray:
    """Estimate the target's class proportions with a source classifier, corrected for its confusions.

    Solve q = Cᵀp for p ≥ 0, where q are the predicted proportions and C is the confusion table on held-out source
    documents. The result is exact only if the domains differ in nothing but the class proportions.

    Parameters
    ----------
    source, target : CSR matrices of shape (n_documents, n_words)
        Counts over one vocabulary.
    codes : ndarray of int, shape (n_source,)
        Class of each source row.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    X, T = presence(source), presence(target)
    predicted = _shares(T, log_weights(X, codes, n_classes))
    if np.bincount(codes, minlength=n_classes).min() < 2:
        return predicted
    confusion = np.zeros((n_classes, n_classes))
    for train, test in _folds(codes):
        scores = np.asarray(X[test] @ log_weights(X[train], codes[train], n_classes).T)
        np.add.at(confusion, (codes[test], scores.argmax(axis=1)), 1.0)
    confusion /= confusion.sum(axis=1, keepdims=True)
    shares, _ = nnls(confusion.T, predicted)
    return shares / shares.sum() if shares.sum() > 0 else predicted
