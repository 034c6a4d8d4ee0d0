"""Align target clusters with source groups, and name clusters after that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from isthmus._math.rows import group_means, unit_rows
from isthmus._utils import as_python
from isthmus.clustering.kmeans import Pull
from isthmus.shift.similarity import CrossSimilarity


class Match(NamedTuple):
    """What a target cluster is aligned with; ``group`` is None for a new cluster.

    Attributes
    ----------
    cluster : int
        Number of the target cluster.
    group : object or None
        Label of the source group.
    strength : float
        Match weight δ: cross-domain similarity of the two centres, 0 for a new cluster.
    collection : int or None
        Number of the source collection (``sample_domain``) the group is in.
    """

    cluster: int
    group: Any
    strength: float
    collection: int | None


@dataclass(frozen=True)
class SourceGroups:
    """Groups of one or several source collections, one row each."""

    centers: np.ndarray  # means of the groups' rows
    codes: np.ndarray  # label code
    collections: np.ndarray  # number of the collection
    sizes: np.ndarray  # number of rows

    def __len__(self) -> int:
        return len(self.codes)


def source_groups(X: sp.csr_matrix, codes: np.ndarray, collections: np.ndarray) -> SourceGroups:
    """Means of the rows of each (collection, label) pair."""
    keys, member = np.unique(np.column_stack([collections, codes]), axis=0, return_inverse=True)
    member = member.ravel()
    sizes = np.bincount(member, minlength=len(keys))
    return SourceGroups(group_means(X, member, len(keys)), keys[:, 1], keys[:, 0], sizes)


def match_weights(similarity: np.ndarray, collections: np.ndarray) -> np.ndarray:
    """Match weights δ (clusters × groups): the best one-to-one match within each source collection, 0 elsewhere.

    For a cluster that several collections match, weights are shared out: the whole pull is the strength-weighted mean
    of the strengths.
    """
    weights = np.zeros_like(similarity)
    for collection in np.unique(collections):
        columns = np.flatnonzero(collections == collection)
        rows, picked = linear_sum_assignment(similarity[:, columns], maximize=True)
        weights[rows, columns[picked]] = similarity[rows, columns[picked]]
    return weights


def share_pull(weights: np.ndarray) -> np.ndarray:
    """δ²/Σδ per cluster: with one collection δ itself."""
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights**2, total, out=np.zeros_like(weights), where=total > 0)


class Aligner:
    """Step b of an iteration: cross-domain similarities, matching, and the pull that follows from it.

    Words that are common everywhere make unrelated groups similar. The *contrast* of a pair is the cosine of the
    centres after each domain's mean is taken away: about zero for unrelated pairs. Below ``min_contrast`` a pair is not
    matched (-1 matches all, as in the paper). Centres are drawn along the target's words only, since the others cannot
    bring a document nearer, or with ``own_words=False`` along all words of the source, as in the paper. ``warmup``:
    plain iterations before the first alignment.
    """

    def __init__(
        self,
        groups: SourceGroups,
        similarity: CrossSimilarity,
        target_mean,
        *,
        warmup=5,
        min_contrast=0.0,
        own_words=True,
    ):
        self.groups = groups
        self.similarity = similarity
        self.target_mean = np.asarray(target_mean, dtype=np.float64).ravel()
        self.warmup = warmup
        self.min_contrast = min_contrast
        self.anchors = groups.centers * (self.target_mean != 0) if own_words else groups.centers
        self._source = similarity.on_pivots(groups.centers, "source")
        self._source_contrast = similarity.on_pivots(groups.centers - groups.centers.mean(axis=0), "source")
        self._spread_mean = similarity.spread(self.target_mean[None], "target")
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    def __getstate__(self) -> dict:
        return {**vars(self), "_last": None}  # scratch, of no use in a saved model

    def similarities(self, centers: np.ndarray) -> np.ndarray:
        """Cross-domain similarities, clusters × groups."""
        return self._similarities(self._spread(centers))

    def contrasts(self, centers: np.ndarray) -> np.ndarray:
        """Cosines of what sets clusters and groups apart in their domains, clusters × groups, from -1 to 1."""
        return self._contrasts(self._spread(centers))

    def _spread(self, centers: np.ndarray) -> np.ndarray:
        """Centres on the pivots; the centres just measured are those aligned next, so the last ones are kept."""
        last = self._last
        if last is None or last[0].shape != centers.shape or not np.array_equal(last[0], centers):
            last = self._last = (centers.copy(), self.similarity.spread(centers, "target"))
        return last[1]

    def _similarities(self, spread: np.ndarray) -> np.ndarray:
        return np.clip(unit_rows(spread) @ self._source.T, 0.0, 1.0)

    def _contrasts(self, spread: np.ndarray) -> np.ndarray:
        return unit_rows(spread - self._spread_mean) @ self._source_contrast.T

    def weights(self, centers: np.ndarray) -> np.ndarray:
        spread = self._spread(centers)
        similarity = self._similarities(spread)
        if self.min_contrast > -1 and len(self.groups) > 1 and len(centers) > 1:
            similarity = np.where(self._contrasts(spread) >= self.min_contrast, similarity, 0.0)
        return match_weights(similarity, self.groups.collections)

    def __call__(self, centers: np.ndarray, iteration: int) -> Pull | None:
        if iteration <= self.warmup:
            return None
        return Pull(share_pull(self.weights(centers)), self.anchors, self.similarities)


def alignment_table(weights: np.ndarray, groups: SourceGroups, classes: np.ndarray) -> list[Match]:
    """One :class:`Match` per cluster: its strongest group over all collections, or none."""
    matches = []
    for cluster, row in enumerate(weights):
        best = int(row.argmax()) if len(row) else -1
        if best < 0 or row[best] <= 0:
            matches.append(Match(cluster, None, 0.0, None))
            continue
        group = as_python(classes[groups.codes[best]])
        matches.append(Match(cluster, group, float(row[best]), int(groups.collections[best])))
    return matches


# -- Names for clusters: the aligned source group's name, or the words that set a new cluster apart


def distinctive_words(centers: np.ndarray, mean: np.ndarray, top: int = 10) -> list[list[int]]:
    """Columns that a centre has more of than the collection, largest lead first.

    >>> distinctive_words(np.array([[3.0, 2.0, 0.0], [0.0, 2.0, 1.0]]), np.array([1.5, 2.0, 0.5]), top=1)
    [[0], [2]]
    """
    lead = unit_rows(np.atleast_2d(centers)) - unit_rows(np.atleast_2d(mean))
    order = np.argsort(-lead, axis=1, kind="stable")[:, :top]
    return [[int(column) for column in row if lead[i, column] > 0] for i, row in enumerate(order)]


def name_clusters(model, words: Sequence[str], *, top: int = 3) -> list[str]:
    """One name per cluster of a fitted :class:`isthmus.CrossGuidedKMeans`, a new one by ``top`` words; none twice."""
    columns = distinctive_words(model.cluster_means_, model.target_mean_, top)
    names = []
    for match, best in zip(model.alignment_, columns, strict=True):
        if match.group is not None:
            name = str(match.group)
        else:
            name = ", ".join(str(words[column]) for column in best) or "no distinctive words"
        names.append(name if name not in names else f"{name} ({match.cluster})")
    return names
