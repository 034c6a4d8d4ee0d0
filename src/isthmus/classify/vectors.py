"""Class centroids, centred by domain, that settle among the target's documents."""

from __future__ import annotations

import numpy as np

from isthmus._math.calibration import fit_temperature
from isthmus._math.centroids import CentredRows, settle, unit_rows
from isthmus._parameters import FROM_1, SHARE
from isthmus.base import Domains, TransferClassifier


class TransductiveCentroidClassifier(TransferClassifier):
    """Nearest class centroid on rows centred by domain, with centroids that settle among the target's rows.

    Every row is scaled to length one, its domain's mean is subtracted, and it is scaled again, so that what merely
    tells the domains apart (length, style, subject of the collection) is gone. Centroids start at the source's classes;
    then target rows go to the nearest centroid and centroids move towards their target rows, until no row moves.

    It assumes that classes are groups in the space of the rows (topics are; verdicts about them are less so) and that
    they have about the same shares in both domains. Meant for vectors of whole documents: latent semantic ones
    (:class:`isthmus.features.LatentSemantics`) or those of a language model (:class:`isthmus.features.TextEmbedder`).
    Sparse rows work too and stay sparse.

    Parameters
    ----------
    source_weight : float, default=0.5
        Share of the source's centroid in a centroid; 1: centroids stay where the source has them, 0: they move freely.
    max_iter : int, default=50
        Most rounds.

    Attributes
    ----------
    classes_, transduction_, n_iter_, history_, termination_condition_
        ``history_``: mean similarity of the target rows to their centroids, round by round.
    centroids_ : ndarray of shape (n_classes, n_features)
        Directions of length one.
    inverse_temperature_ : float
        Factor that turns similarities into log-probabilities, from source rows left out of their own centroid.

    See Also
    --------
    isthmus.TransductiveKernelClassifier : kernel ridge instead of centroids; centred by domain with ``align="domain"``.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import TransductiveCentroidClassifier
    >>> source = np.array([[4, 1], [5, 1], [1, 4], [1, 5.0]])
    >>> target = source + [9, 0]  # the same two groups, moved
    >>> model = TransductiveCentroidClassifier().fit(np.vstack([source, target]), ["a", "a", "b", "b"] + [None] * 4)
    >>> model.transduction_[4:].tolist()
    ['a', 'a', 'b', 'b']
    """

    _parameter_constraints = {"source_weight": [SHARE], "max_iter": [FROM_1]}
    _need_overlap = False

    def __init__(self, *, source_weight=0.5, max_iter=50):
        self.source_weight = source_weight
        self.max_iter = max_iter

    def _fit(self, domains: Domains) -> np.ndarray:
        own = np.zeros((domains.n_classes, domains.X.shape[1]))
        parts = []
        for number in domains.source_domains:
            rows = domains.source[domains.domain[domains.source] == number]
            centred = CentredRows.about(domains.X[rows])
            own += centred.sums(np.eye(domains.n_classes)[domains.codes[rows]])
            parts.append((centred, domains.codes[rows]))
        start = unit_rows(own)
        target = CentredRows.about(domains.X[domains.target]) if len(domains.target) else None
        self.mean_ = parts[0][0].mean if target is None else target.mean
        self.inverse_temperature_ = _fit_temperature(parts, own)
        self.centroids_, self.n_iter_ = start, 1
        self.history_: list[float] = []
        self.termination_condition_ = "no_target"
        if target is None:
            return np.zeros(0, dtype=np.int64)
        self.centroids_, codes, self.history_, settled = settle(
            start, target, source_weight=self.source_weight, max_iter=self.max_iter
        )
        self.n_iter_ = len(self.history_)
        self.termination_condition_ = "settled" if settled else "max_iter"
        return codes

    def _scores(self, X) -> np.ndarray:
        return self.inverse_temperature_ * CentredRows.about(X, self.mean_).dot(self.centroids_)


def _fit_temperature(parts: list[tuple[CentredRows, np.ndarray]], sums: np.ndarray) -> float:
    """Factor on similarities, from source rows compared with centroids that do not hold them."""
    lengths = np.linalg.norm(sums, axis=1)
    scores, codes = [], []
    for centred, own in parts:
        products = centred.dot(sums)
        there = (np.arange(len(own)), own)
        # Taking a row of length one out of its sum s: (s − x)·x = s·x − 1, and |s − x|² = |s|² − 2·s·x + 1.
        length = np.sqrt(np.maximum(lengths[own] ** 2 - 2 * products[there] + 1, 1e-12))
        left = (products[there] - 1) / length
        similarity = products / np.maximum(lengths, 1e-12)
        similarity[there] = left
        scores.append(similarity)
        codes.append(own)
    return fit_temperature(np.vstack(scores), np.concatenate(codes))
