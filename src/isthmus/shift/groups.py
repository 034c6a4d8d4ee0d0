"""Measure whether documents form groups, whether labels are these groups, and how well the groups of domains match."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from isthmus._math.rows import group_means, unit_rows
from isthmus._progress import progress
from isthmus.features.weights import document_frequency, weigh_tfidf
from isthmus.shift.vocabulary import sample_filled

# -- Clusterability of a target, matchability of a source and a target (section VI of the paper). With the target's true
# labels the figures are those of the paper. Without them, clusters by k-means replace the true groups.


@dataclass(frozen=True)
class Matchability:
    """How clearly groups and clusters match each other, from 0 to 1 for similarities that are not negative."""

    # Mean difference between the best and the second-best similarity, over target clusters and over source groups.
    target_side: float
    source_side: float

    @property
    def both(self) -> float:
        """Mean of both sides."""
        return (self.target_side + self.source_side) / 2.0


def clusterability(X: sp.csr_matrix, labels: np.ndarray) -> float:
    """Return Cab(T|C), from −1 to 1: mean of sim(document, own centre) − max sim(document, other centre), equation (4).

    With the true groups it is an upper bound on the result of k-means.

    Parameters
    ----------
    X : CSR matrix of shape (n_documents, n_terms)
    labels : ndarray of int, shape (n_documents,)
        Group of each row, counted from 0.

    Returns
    -------
    float
        0 if there is only one group.
    """
    labels = np.asarray(labels)
    n_groups = int(labels.max()) + 1
    if n_groups < 2:
        return 0.0
    centers = unit_rows(group_means(X, labels, n_groups))
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    similarity = np.asarray(X @ centers.T) / np.where(lengths > 0, lengths, 1.0)[:, None]
    rows = np.arange(X.shape[0])
    own = similarity[rows, labels]
    similarity[rows, labels] = -np.inf
    return float(np.mean(own - similarity.max(axis=1)))


def matchability(similarity: np.ndarray) -> Matchability:
    """Return Mab of both sides from cross-domain similarities.

    Parameters
    ----------
    similarity : ndarray of shape (n_target_clusters, n_source_groups)

    Returns
    -------
    Matchability
        If there is only one cluster or group to choose from, its second-best similarity counts as 0.
    """
    similarity = np.asarray(similarity, dtype=np.float64)
    return Matchability(_mean_lead(similarity), _mean_lead(similarity.T))


def _mean_lead(rows: np.ndarray) -> float:
    ordered = np.sort(rows, axis=1)
    second = ordered[:, -2] if rows.shape[1] > 1 else np.zeros(len(rows))
    return float(np.mean(ordered[:, -1] - second))


def cross_clusterability(alone: float, match: Matchability, guidance: float = 0.5) -> float:
    """Return Cab(T|Cs, Ct) = α·Cab + (1 − α)·Mab, equation (5), with 1 − α = ``guidance``.

    Parameters
    ----------
    alone : float
        Clusterability of the target.
    match : Matchability
    guidance : float

    Returns
    -------
    float
    """
    return (1.0 - guidance) * alone + guidance * match.both


LARGEST = 1_000  # documents of a side that are clustered; larger sides are sampled
_STARTS = 2  # starts of k-means


def shuffle_words(X: sp.csr_matrix, *, random_state: int | None = 0) -> sp.csr_matrix:
    """Distribute the same words over the documents at random.

    Document lengths and word frequencies do not change; the words of a document no longer belong together.

    Parameters
    ----------
    X : CSR matrix of shape (n_documents, n_words)
    random_state : int or None

    Returns
    -------
    CSR matrix of shape (n_documents, n_words)
    """
    rng = np.random.default_rng(random_state)
    order = rng.permutation(len(X.indices))
    dealt = sp.csr_matrix((X.data[order], X.indices[order], X.indptr.copy()), shape=X.shape)
    dealt.sum_duplicates()
    return dealt


def group_facts(
    source: sp.csr_matrix,
    codes: np.ndarray,
    target: sp.csr_matrix,
    n_classes: int,
    *,
    largest: int = LARGEST,
    random_state: int | None = 0,
) -> dict[str, float] | None:
    """Compare the clusters of the documents with chance and with the labels.

    k-means on tf-idf rows finds as many clusters as there are classes. Shuffled words show how clearly clusters are
    separated by chance.

    Parameters
    ----------
    source, target : CSR matrices of shape (n_documents, n_words)
        Counts over one vocabulary.
    codes : ndarray of int, shape (n_source,)
        Class of each source row.
    n_classes : int
    largest : int
        Documents of a side that are clustered; larger sides are sampled.
    random_state : int or None

    Returns
    -------
    dict of str to float or None
        ``clusterability`` of the target, ``shuffled`` (clusterability of shuffled words) and ``agreement`` (adjusted
        Rand index of source clusters and labels). None if a side has fewer than four documents per class.
    """
    rng = np.random.default_rng(random_state)
    rows_source, rows_target = (sample_filled(side, largest, rng) for side in (source, target))
    if min(len(rows_source), len(rows_target)) < 4 * n_classes or n_classes < 2:
        return None
    seed = int(rng.integers(2**31))
    chosen = [source[rows_source], target[rows_target], shuffle_words(target[rows_target], random_state=seed)]
    found, figures = [], []
    for step, counts in enumerate(chosen):
        X = weigh_tfidf(counts[:, document_frequency(counts) >= 2], sublinear=True)
        found.append(quiet_kmeans(X, n_classes, n_init=_STARTS, max_iter=30, random_state=seed))
        figures.append(clusterability(X, found[-1]))
        progress("looking for groups", step + 1, len(chosen))
    agreement = adjusted_rand_score(codes[rows_source], found[0])
    return {"clusterability": figures[1], "shuffled": figures[2], "agreement": float(agreement)}


def quiet_kmeans(X: Any, n_clusters: int, **settings: Any) -> np.ndarray:
    """Cluster rows without scikit-learn's warning about fewer distinct rows than clusters.

    k-means runs in one thread: more threads would mostly wait for each other, and sums would depend on their number.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_documents, n_features)
    n_clusters : int
    **settings
        Parameters of :class:`sklearn.cluster.KMeans`.

    Returns
    -------
    ndarray of int, shape (n_documents,)
    """
    with warnings.catch_warnings(), threadpool_limits(1, user_api="openmp"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(n_clusters, **settings).fit(X).labels_
