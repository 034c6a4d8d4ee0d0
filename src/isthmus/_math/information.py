"""Mutual information and divergences of discrete distributions, in nats."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def mutual_information(table: ArrayLike) -> float:
    """Return I(X;Y) = Σ p(x,y)·log( p(x,y) / (p(x)·p(y)) ) of a table of non-negative weights.

    Parameters
    ----------
    table : array-like of shape (n, m)

    Returns
    -------
    float
        0 for an empty table.
    """
    joint = np.asarray(table, dtype=np.float64)
    total = joint.sum()
    if total <= 0:
        return 0.0
    # Weights of any scale become probabilities.
    joint = joint / total
    # Sums of logs: the product of two tiny marginals would underflow.
    logs = safe_log(joint.sum(axis=1))[:, None] + safe_log(joint.sum(axis=0))
    seen = joint > 0
    return float(joint[seen] @ (np.log(joint[seen]) - logs[seen]))


def kl_divergence(p: ArrayLike, q: ArrayLike) -> float:
    """Return D(p‖q) of two distributions given by weights; infinite if ``q`` has no weight at a point where ``p`` has.

    Parameters
    ----------
    p, q : array-like
        Weights; they are scaled to sum to one.

    Returns
    -------
    float
    """
    a = np.asarray(p, dtype=np.float64).ravel()
    b = np.asarray(q, dtype=np.float64).ravel()
    a, b = a / a.sum(), b / b.sum()
    # 0·log 0 is 0.
    seen = a > 0
    if np.any(b[seen] <= 0):
        return float("inf")
    return float(a[seen] @ np.log(a[seen] / b[seen]))


def domain_divergence(source_counts: ArrayLike, target_counts: ArrayLike, *, smoothing: float = 1.0) -> float:
    """Return D(source‖target) between the word distributions of two domains.

    ``smoothing`` is added to each word count.

    Without smoothing, one word that only the source has makes the divergence infinite. Dai et al. (KDD 2007) smooth
    too.

    Parameters
    ----------
    source_counts, target_counts : array-like of shape (n_words,)
    smoothing : float, default=1.0

    Returns
    -------
    float
    """
    source = np.asarray(source_counts, dtype=np.float64).ravel() + smoothing
    target = np.asarray(target_counts, dtype=np.float64).ravel() + smoothing
    return kl_divergence(source, target)


def safe_log(values: np.ndarray) -> np.ndarray:
    """Return logarithms, −∞ for 0, without numpy's warning.

    Parameters
    ----------
    values : ndarray

    Returns
    -------
    ndarray
    """
    out = np.full(np.shape(values), -np.inf)
    np.log(values, out=out, where=np.asarray(values) > 0)
    return out


def naive_bayes_scores(class_counts: np.ndarray, class_documents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return word scores (words × classes) and bias of multinomial naive Bayes with add-one smoothing.

    Parameters
    ----------
    class_counts : ndarray of shape (n_words, n_classes)
    class_documents : ndarray of shape (n_classes,)
        Number of documents of each class.

    Returns
    -------
    scores : ndarray of shape (n_words, n_classes)
    bias : ndarray of shape (n_classes,)
    """
    raised = class_counts + 1.0
    scores = np.log(raised) - np.log(raised.sum(axis=0))
    return np.ascontiguousarray(scores), safe_log(class_documents) - np.log(class_documents.sum())
