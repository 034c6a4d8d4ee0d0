"""Centroids that start at descriptions of classes and settle among documents without labels, and what is learned there.

Documents are dense rows of length one about their mean (``R``), descriptions are directions of length one (``A``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isthmus._math.rows import unit_rows
from isthmus.base import softmax
from isthmus.classify.centroids import left_out_similarity

RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0)  # of the mean eigenvalue


@dataclass
class Settled:
    centroids: np.ndarray  # (n_classes, n_features)
    similarity: np.ndarray  # of the rows to the final centroids
    history: list[float]  # mean similarity of the rows to the classes they are assigned to, round by round
    converged: bool  # whether assignments changed by less than the tolerance before the last round


def settle_softly(
    anchors: np.ndarray,
    rows: np.ndarray,
    *,
    anchor_weight: float | np.ndarray = 0.5,
    sharpness: float = 20.0,
    max_iter: int = 10,
    tol: float = 1e-3,
) -> Settled:
    """Let centroids move from descriptions of classes to where the documents are; all rows have length one.

    In turn every row is shared among the classes by softmax(``sharpness`` · similarities), and every centroid becomes
    the direction of ``anchor_weight`` · (its description) + (1 − ``anchor_weight``) · (the direction of its rows),
    until the mean change of a row's shares is below ``tol``. A class whose description is zero gets no row.
    ``anchor_weight`` may be a column, one for each class.
    """
    described = np.asarray(anchors.any(axis=1))
    if not described.any():
        described[:] = True
    centroids = anchors
    shares = np.zeros((len(rows), len(anchors)))
    history: list[float] = []
    converged = False
    for _ in range(max_iter):
        similarity = rows @ centroids.T
        before = shares
        shares = softmax(sharpness * np.where(described, similarity, -np.inf))
        history.append(float(np.mean(np.sum(shares * np.where(described, similarity, 0.0), axis=1))))
        if np.abs(shares - before).sum(axis=1).mean() < tol:
            converged = True
            break
        means = unit_rows(shares.T @ rows)
        centroids = unit_rows(anchor_weight * anchors + (1 - anchor_weight) * means)
        centroids[~described] = 0.0  # rows would draw it towards them otherwise
    return Settled(centroids, rows @ centroids.T, history, converged)


@dataclass
class Learned:
    """A linear model of shares: weights, intercepts, and what it gives each fitted row when that row is left out."""

    weights: np.ndarray
    intercepts: np.ndarray
    held_out: np.ndarray


def learn_shares(rows: np.ndarray, shares: np.ndarray, *, ridges: tuple[float, ...] = RIDGES) -> Learned:
    """Ridge regression of class shares on centred rows; answers for left-out rows come in closed form.

    ``ridges`` are multiples of the mean eigenvalue of the rows' products; the one that is best for left-out rows is
    taken.
    """
    values, vectors = np.linalg.eigh(rows.T @ rows)
    values = np.maximum(values, 0.0)
    size = max(float(values.mean()), 1e-12)
    turned = rows @ vectors
    mean = shares.mean(axis=0)
    wanted = turned.T @ (shares - mean)
    best: tuple[float, Learned] | None = None
    for ridge in ridges:
        shrunk = 1 / (values + ridge * size)
        leverage = np.minimum((turned**2) @ shrunk + 1 / len(rows), 1 - 1e-6)
        solved = shrunk[:, None] * wanted
        fitted = turned @ solved + mean
        held_out = (fitted - leverage[:, None] * shares) / (1 - leverage)[:, None]
        error = float(np.mean((held_out - shares) ** 2))
        if best is None or error < best[0]:
            best = error, Learned(vectors @ solved, mean, held_out)
    assert best is not None
    return best[1]


@dataclass
class NameAgreement:
    """How well labelled rows are told apart by names and by the other labelled rows: Cohen's kappa, never below 0."""

    names: float
    documents: float
    right: float = 0.0  # share of the labels that names alone get right

    @property
    def weight(self) -> float:
        """The names' part of the two; a half where neither tells anything apart."""
        total = self.names + self.documents
        return self.names / total if total > 0 else 0.5


def compare_names(names: np.ndarray, rows: np.ndarray, codes: np.ndarray) -> NameAgreement | None:
    """Names and labelled rows against each other; None where fewer than two classes have both.

    Names (zeros where one means nothing) settle among the centred rows without seeing a label; rows are compared with
    centroids of the others.
    """
    both = np.asarray(names.any(axis=1)) & (np.bincount(codes, minlength=len(names)) > 1)
    if both.sum() < 2:
        return None
    kept = both[codes]
    rows = rows[kept]
    codes = (np.cumsum(both) - 1)[codes[kept]]
    answers = settle_softly(names[both], rows).similarity.argmax(axis=1)
    sums = np.eye(int(codes.max()) + 1)[codes].T @ rows
    return NameAgreement(
        names=beyond_chance(answers, codes),
        right=float(np.mean(answers == codes)),
        documents=beyond_chance(left_out_similarity(rows @ sums.T, sums, codes).argmax(axis=1), codes),
    )


def beyond_chance(answers: np.ndarray, codes: np.ndarray) -> float:
    size = int(max(answers.max(), codes.max())) + 1
    joint = np.bincount(answers * size + codes, minlength=size**2).reshape(size, size) / len(codes)
    chance = float(joint.sum(axis=0) @ joint.sum(axis=1))
    if chance >= 1:
        return 0.0
    return max(0.0, (float(np.trace(joint)) - chance) / (1 - chance))
