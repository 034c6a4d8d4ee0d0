"""Do the documents fall into groups, are the labels those groups, and would a source match them?"""

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

# -- Clusterability of a target, matchability of a source and a target (section VI of the paper)
# With gold labels of the target the figures are the paper's; without them, clusters found by plain k-means stand in for
# the gold groups.


@dataclass(frozen=True)
class Matchability:
    """How plainly groups and clusters find each other; 0 to 1 for similarities that are not negative."""

    # mean lead of the best over the second-best similarity, over target clusters and over source groups
    target_side: float
    source_side: float

    @property
    def both(self) -> float:
        return (self.target_side + self.source_side) / 2.0


def clusterability(X: sp.csr_matrix, labels: np.ndarray) -> float:
    """Cab(T|C), from -1 to 1: mean of sim(document, own centre) − max sim(document, other centre), equation (4).

    With gold groups an upper bound on what k-means can find.
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
    """Mab of both sides from cross-domain similarities, target clusters × source groups.

    Where there is only one to choose from, the second best counts as 0.
    """
    similarity = np.asarray(similarity, dtype=np.float64)
    return Matchability(_mean_lead(similarity), _mean_lead(similarity.T))


def _mean_lead(rows: np.ndarray) -> float:
    ordered = np.sort(rows, axis=1)
    second = ordered[:, -2] if rows.shape[1] > 1 else np.zeros(len(rows))
    return float(np.mean(ordered[:, -1] - second))


def cross_clusterability(alone: float, match: Matchability, guidance: float = 0.5) -> float:
    """Cab(T|Cs, Ct) = α·Cab + (1 − α)·Mab, equation (5)."""
    return (1.0 - guidance) * alone + guidance * match.both


LARGEST = 1_000  # documents a side that are clustered; more are sampled
_STARTS = 2


def shuffle_words(X: sp.csr_matrix, *, random_state: int | None = 0) -> sp.csr_matrix:
    """The same words dealt out anew: lengths of documents and frequencies of words stay, company does not."""
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
    """``clusterability`` of the target, that of ``shuffled`` words, and ``agreement`` of source clusters and labels.

    k-means on tf-idf rows finds as many clusters as there are classes. Shuffled words show how far clusters stand apart
    by chance. None where there are fewer documents than four per class.
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
    """Clusters of rows, without scikit-learn's warning where there are fewer distinct rows than clusters.

    In one thread: further ones would mostly turn in circles, waiting for it, and sums would depend on their number.
    """
    with warnings.catch_warnings(), threadpool_limits(1, user_api="openmp"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(n_clusters, **settings).fit(X).labels_
