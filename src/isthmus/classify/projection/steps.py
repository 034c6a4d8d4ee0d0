"""Steps of the projection classifier: hold rows out, adapt to the target, turn scores into probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from sklearn.preprocessing import normalize

from isthmus._math.chi2 import TermStatistics, count_terms
from isthmus._progress import progress
from isthmus.features.projection import Projection

TEMPERATURES = (math.exp(-3.0), math.exp(6.0))  # where the factor of the class shares is looked for


def held_out_features(
    X, codes: np.ndarray, stats: TermStatistics, build: Callable[[TermStatistics], Projection], folds: int, used: int
) -> tuple[np.ndarray, np.ndarray]:
    """Features of labelled rows by a projection that has not seen them, and the rows in question.

    A rare term of a training document is by itself enough to send that term to the document's class, so features of the
    training documents by their own projection are far too good. Sums can be taken out again: the projection for a fold
    is built from ``stats`` minus that fold's own statistics. ``used`` of the ``folds`` are made.
    """
    parts, rows = [], []
    for fold in range(used):
        own = np.arange(fold, len(codes), folds)
        X_own = X[own]
        without = stats - count_terms(X_own, codes[own], stats.n_classes)
        parts.append(build(without).features(X_own))
        rows.append(own)
        progress("cross-fitting", fold + 1, used)
    return np.concatenate(parts), np.concatenate(rows)


def adapt_statistics(
    X_target,
    n_classes: int,
    build: Callable[[TermStatistics | None], Projection],
    *,
    rounds: int,
    share: float,
) -> tuple[TermStatistics | None, list[dict], str]:
    """Statistics of the surest target rows under their predicted class.

    Each round: project the target, label it by rule, count the rows with the largest margins of each class. The part of
    each class that counts as sure grows in equal steps up to ``share``.

    Parameters
    ----------
    X_target : CSR matrix
    n_classes : int
    build : callable
        Target statistics, None at first, to a projection.
    rounds : int
    share : float

    Returns
    -------
    target, history, termination
        ``history`` has one entry per pass: target rows that changed label, mean share of the winning class.
    """
    target: TermStatistics | None = None
    history: list[dict] = []
    labels = np.full(X_target.shape[0], -1)
    for step in range(rounds + 1):
        shares = class_shares(build(target).features(X_target))
        changed = int(np.sum(shares.argmax(axis=1) != labels))
        labels = shares.argmax(axis=1)
        history.append({"changed": changed, "mean_share": float(shares.max(axis=1).mean())})
        progress("adapting", step, rounds)
        if step < rounds:
            sure = surest_rows(shares, share * (step + 1) / rounds)
            target = count_terms(X_target, np.where(sure, labels, -1), n_classes)
    return target, history, "no_change" if changed == 0 else "max_iter"


def surest_rows(shares: np.ndarray, share: float) -> np.ndarray:
    """Rows among the ``share`` with the largest margins of those given the same class; never rows without a margin.

    Class by class, so that a class that is easy to tell cannot crowd out the others.
    """
    top = np.partition(shares, -2, axis=1)
    margin = top[:, -1] - top[:, -2]
    labels = shares.argmax(axis=1)
    sure = np.zeros(len(shares), dtype=bool)
    for code in np.unique(labels):
        rows = np.flatnonzero(labels == code)
        sure[rows] = margin[rows] >= np.quantile(margin[rows], 1.0 - share)
    return sure & (margin > 0)


def class_shares(features: np.ndarray) -> np.ndarray:
    """Rows of non-negative features to rows that sum to one; a row of zeros stays one."""
    return normalize(features, norm="l1")


def estimate_prior(probabilities: np.ndarray, source_prior: np.ndarray, max_iter: int = 100) -> np.ndarray:
    """Class prior of unlabelled rows by expectation-maximisation (Saerens, Latinne and Decaestecker, 2002).

    ``probabilities`` were made under ``source_prior``; the result is the prior under which re-weighted probabilities
    average to the prior itself.
    """
    prior = source_prior.copy()
    for _ in range(max_iter):
        weighted = probabilities * (prior / source_prior)
        weighted /= weighted.sum(axis=1, keepdims=True)
        new = weighted.mean(axis=0)
        if np.abs(new - prior).max() < 1e-6:
            return new
        prior = new
    return prior
