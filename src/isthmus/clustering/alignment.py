"""Compare target clusters with source groups, align them, and name the clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.utils.extmath import row_norms

from isthmus._math.rows import group_means, unit_rows
from isthmus._utils import as_python
from isthmus.clustering.kmeans import KMeansRun, kmeans, metric_rows
from isthmus.features.contexts import Contexts
from isthmus.shift.similarity import CrossSimilarity, cross_similarity


class Match(NamedTuple):
    """Alignment of a target cluster.

    Attributes
    ----------
    cluster : int
        Number of the target cluster.
    group : object or None
        Label of the source group; None for a new cluster.
    strength : float
        Match weight δ: cross-domain similarity of the two centres, 0 for a new cluster.
    collection : int or None
        Number of the source collection (``sample_domain``) of the group.
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

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.codes)


def source_groups(X: sp.csr_matrix, codes: np.ndarray, collections: np.ndarray) -> SourceGroups:
    """Return the means of the rows of each (collection, label) pair.

    Parameters
    ----------
    X : csr_matrix of shape (n_rows, n_words)
    codes : ndarray of int of shape (n_rows,)
        Label of each row.
    collections : ndarray of int of shape (n_rows,)

    Returns
    -------
    SourceGroups
    """
    keys, member = np.unique(np.column_stack([collections, codes]), axis=0, return_inverse=True)
    return SourceGroups(group_means(X, member.ravel(), len(keys)), keys[:, 1], keys[:, 0])


def match_weights(similarity: np.ndarray, collections: np.ndarray) -> np.ndarray:
    """Return the match weights δ (clusters × groups): the best one-to-one match within each source collection.

    Parameters
    ----------
    similarity : ndarray of shape (n_clusters, n_groups)
    collections : ndarray of int of shape (n_groups,)

    Returns
    -------
    ndarray of shape (n_clusters, n_groups)
    """
    weights = np.zeros_like(similarity)
    for collection in np.unique(collections):
        columns = np.flatnonzero(collections == collection)
        rows, picked = linear_sum_assignment(similarity[:, columns], maximize=True)
        weights[rows, columns[picked]] = similarity[rows, columns[picked]]
    return weights


class Aligner:
    """Alignment step of an iteration: similarities across the domains, the matching, and the pull that follows.

    Words that are common everywhere make unrelated groups similar. The *contrast* of a pair is the cosine of the
    centres after each domain's mean is subtracted: about zero for unrelated pairs. Pairs of negative contrast are not
    matched. Centres are pulled along the target's words only, because the other words cannot bring a document nearer.

    Centres are given by their ``spread`` over the pivot words, which is computed once per iteration.
    """

    def __init__(self, groups: SourceGroups, similarity: CrossSimilarity, target_mean: Any):
        mean = np.asarray(target_mean, dtype=np.float64).ravel()
        self.groups = groups
        self.similarity = similarity
        self.anchors = groups.centers * (mean != 0)
        self._source = similarity.on_pivots(groups.centers, "source")
        self._source_contrast = similarity.on_pivots(groups.centers - groups.centers.mean(axis=0), "source")
        self._mean = similarity.spread(mean[None], "target")

    def spread(self, centers: np.ndarray) -> np.ndarray:
        """Return target centres over the pivot words.

        Parameters
        ----------
        centers : ndarray of shape (n_clusters, n_words)

        Returns
        -------
        ndarray of shape (n_clusters, n_pivots)
        """
        return self.similarity.spread(centers, "target")

    def similarities(self, spread: np.ndarray) -> np.ndarray:
        """Return similarities across the domains, clusters × groups.

        Parameters
        ----------
        spread : ndarray of shape (n_clusters, n_pivots)

        Returns
        -------
        ndarray of shape (n_clusters, n_groups)
        """
        return np.clip(unit_rows(spread) @ self._source.T, 0.0, 1.0)

    def contrasts(self, spread: np.ndarray) -> np.ndarray:
        """Return the cosines of clusters and groups less the means of their domains, from -1 to 1.

        Parameters
        ----------
        spread : ndarray of shape (n_clusters, n_pivots)

        Returns
        -------
        ndarray of shape (n_clusters, n_groups)
        """
        return unit_rows(spread - self._mean) @ self._source_contrast.T

    def weights(self, spread: np.ndarray) -> np.ndarray:
        """Return the match weights δ, clusters × groups.

        Parameters
        ----------
        spread : ndarray of shape (n_clusters, n_pivots)

        Returns
        -------
        ndarray of shape (n_clusters, n_groups)
        """
        similarity = self.similarities(spread)
        if len(self.groups) > 1 and len(spread) > 1:
            similarity = np.where(self.contrasts(spread) >= 0.0, similarity, 0.0)
        return match_weights(similarity, self.groups.collections)

    def pull_weights(self, spread: np.ndarray) -> np.ndarray:
        """Return δ²/Σδ per cluster: with one collection δ itself, with several the strength-weighted mean of δ.

        Parameters
        ----------
        spread : ndarray of shape (n_clusters, n_pivots)

        Returns
        -------
        ndarray of shape (n_clusters, n_groups)
        """
        weights = self.weights(spread)
        total = weights.sum(axis=1, keepdims=True)
        return np.divide(weights**2, total, out=np.zeros_like(weights), where=total > 0)


@dataclass(frozen=True)
class Prepared:
    """Data that the runs from all starts share."""

    target: sp.csr_matrix  # rows in the form that the metric compares
    norms: np.ndarray  # squared lengths of the rows
    groups: SourceGroups | None = None
    aligner: Aligner | None = None


def prepare(
    source: Any,
    codes: Any,
    collections: Any,
    target: Any,
    *,
    cosine: bool = True,
    pivot_weights: bool | Mapping[int, float] = True,
    projection: bool = True,
    contexts: Contexts | None = None,
) -> Prepared:
    """Compute source groups, pivots and weights once for all starts.

    Parameters
    ----------
    source, target : sparse matrices over one vocabulary
        Without a source, or without a word that both share, there is no aligner.
    codes, collections : ndarray of int
        Group and collection of each source row.
    cosine : bool
        Compare directions of rows; otherwise Euclidean distances.
    pivot_weights, projection, contexts
        As for :func:`isthmus.shift.similarity.cross_similarity`.

    Returns
    -------
    Prepared
    """
    target = metric_rows(target, cosine)
    norms = row_norms(target, squared=True)
    if source is None or source.shape[0] == 0:
        return Prepared(target, norms)
    source = metric_rows(source, cosine)
    groups = source_groups(source, codes, collections)
    similarity = cross_similarity(source, target, weighted=pivot_weights, projected=projection, contexts=contexts)
    if len(similarity.pivots) == 0:
        return Prepared(target, norms, groups)
    return Prepared(target, norms, groups, Aligner(groups, similarity, target.mean(axis=0)))


def guided_kmeans(
    prepared: Prepared, start: np.ndarray, *, guidance: float = 0.5, cosine: bool = True, **settings: Any
) -> KMeansRun:
    """Run cross-guided k-means from one start (figure 2 of the paper); without guidance it is plain k-means.

    Parameters
    ----------
    prepared : Prepared
    start : ndarray of shape (n_clusters, n_words)
    guidance : float
        Weight 1 − α of the source.
    cosine : bool
    **settings
        Of :func:`isthmus.clustering.kmeans.iterate`, and ``n_threads``.

    Returns
    -------
    KMeansRun
    """
    settings |= {"norms": prepared.norms, "aligner": prepared.aligner, "guidance": guidance}
    return kmeans(prepared.target, start, cosine=cosine, **settings)


def alignment_table(weights: np.ndarray, groups: SourceGroups, classes: np.ndarray) -> list[Match]:
    """Return one :class:`Match` per cluster: its strongest group over all collections, or none.

    Parameters
    ----------
    weights : ndarray of shape (n_clusters, n_groups)
        Match weights.
    groups : SourceGroups
    classes : ndarray
        Labels by code.

    Returns
    -------
    list of Match
    """
    matches = []
    for cluster, row in enumerate(weights):
        best = int(row.argmax()) if len(row) else -1
        if best < 0 or row[best] <= 0:
            matches.append(Match(cluster, None, 0.0, None))
            continue
        group = as_python(classes[groups.codes[best]])
        matches.append(Match(cluster, group, float(row[best]), int(groups.collections[best])))
    return matches


def distinctive_words(centers: np.ndarray, mean: np.ndarray, top: int = 10) -> list[list[int]]:
    """Return the columns in which each centre exceeds the mean of the collection, largest difference first.

    Parameters
    ----------
    centers : ndarray of shape (n_clusters, n_words)
    mean : ndarray of shape (n_words,)
        Mean of the collection.
    top : int
        Number of words per centre.

    Returns
    -------
    list of list of int

    Examples
    --------
    >>> distinctive_words(np.array([[3.0, 2.0, 0.0], [0.0, 2.0, 1.0]]), np.array([1.5, 2.0, 0.5]), top=1)
    [[0], [2]]
    """
    lead = unit_rows(np.atleast_2d(centers)) - unit_rows(np.atleast_2d(mean))
    order = np.argsort(-lead, axis=1, kind="stable")[:, :top]
    return [[int(column) for column in row if lead[i, column] > 0] for i, row in enumerate(order)]


def name_clusters(model: Any, words: Sequence[str], *, top: int = 3) -> list[str]:
    """Return one unique name per cluster of a fitted :class:`isthmus.CrossGuidedKMeans`.

    An aligned cluster has the name of its source group, a new cluster that of its ``top`` most distinctive words.

    Parameters
    ----------
    model : CrossGuidedKMeans
        Fitted.
    words : sequence of str
        Names of the columns.
    top : int
        Number of words in the name of a new cluster.

    Returns
    -------
    list of str
    """
    columns = distinctive_words(model.cluster_means_, model.target_mean_, top)
    names: list[str] = []
    for match, best in zip(model.alignment_, columns, strict=True):
        if match.group is not None:
            name = str(match.group)
        else:
            name = ", ".join(str(words[column]) for column in best) or "no distinctive words"
        names.append(name if name not in names else f"{name} ({match.cluster})")
    return names
