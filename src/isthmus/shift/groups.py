"""Do the documents fall into groups, and are the labels those groups?"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from isthmus._progress import progress
from isthmus.features.weights import document_frequency, weigh_tfidf
from isthmus.shift.clusterability import clusterability

LARGEST = 1_000  # documents a side that are clustered; more are sampled
_STARTS = 2


def shuffle_words(X: sp.csr_matrix, *, random_state: int | None = 0) -> sp.csr_matrix:
    """The same words dealt out anew: lengths of documents and frequencies of words stay, company does not.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from isthmus.shift.groups import shuffle_words
    >>> shuffled = shuffle_words(sp.csr_matrix([[1, 1, 0], [0, 2, 1]]))
    >>> int(shuffled.sum())
    5
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
    """Clusterability of the target, the same for shuffled words, and how far the source's labels are its own groups.

    k-means on tf-idf rows finds as many clusters as there are classes. Found clusters always stand apart a little, by
    the way they were found; shuffled words show how much.

    Returns
    -------
    dict or None
        ``clusterability``, ``shuffled``; ``agreement``: adjusted Rand index of source clusters and source labels.
        None where there are fewer documents than four per class.
    """
    rng = np.random.default_rng(random_state)
    rows_source, rows_target = (_sample(side, largest, rng) for side in (source, target))
    if min(len(rows_source), len(rows_target)) < 4 * n_classes or n_classes < 2:
        return None
    seed = int(rng.integers(2**31))
    chosen = [source[rows_source], target[rows_target], shuffle_words(target[rows_target], random_state=seed)]
    found, figures = [], []
    for step, counts in enumerate(chosen):
        X = weigh_tfidf(counts[:, document_frequency(counts) >= 2], sublinear=True)
        found.append(_clusters(X, n_classes, seed))
        figures.append(clusterability(X, found[-1]))
        progress("looking for groups", step + 1, len(chosen))
    agreement = adjusted_rand_score(codes[rows_source], found[0])
    return {"clusterability": figures[1], "shuffled": figures[2], "agreement": float(agreement)}


def _clusters(X: sp.csr_matrix, n_clusters: int, seed: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct documents than clusters
        return KMeans(n_clusters, n_init=_STARTS, max_iter=30, random_state=seed).fit(X).labels_


def _sample(side: sp.csr_matrix, largest: int, rng: np.random.Generator) -> np.ndarray:
    rows = np.flatnonzero(np.diff(side.indptr))
    return np.sort(rng.choice(rows, largest, replace=False)) if len(rows) > largest else rows
