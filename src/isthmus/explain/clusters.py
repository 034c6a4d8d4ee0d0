"""Explain a cross-guided clustering: tables (lists of dicts) from fitted attributes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus._math.rows import unit_rows
from isthmus.clustering.alignment import distinctive_words, name_clusters
from isthmus.clustering.fitted import FittedClusters
from isthmus.clustering.kmeans import metric_rows


def cluster_table(model, words: Sequence[str], *, top: int = 10) -> list[dict]:
    """Return per cluster: ``cluster``, ``name``, ``size``, ``aligned_to``, ``collection``, ``strength``, ``words``.

    Parameters
    ----------
    model : CrossGuidedKMeans or FittedClusters
        Fitted.
    words : sequence of str
        Names of the columns.
    top : int
        Number of words per cluster.

    Returns
    -------
    list of dict
    """
    columns = distinctive_words(model.cluster_means_, model.target_mean_, top)
    names = name_clusters(model, words)
    return [
        {
            "cluster": match.cluster,
            "name": names[match.cluster],
            "size": int(model.cluster_sizes_[match.cluster]),
            "aligned_to": match.group,
            "collection": match.collection,
            "strength": match.strength,
            "words": [str(words[column]) for column in columns[match.cluster]],
        }
        for match in model.alignment_
    ]


def representative_documents(model, X_target, *, top: int = 3) -> list[dict]:
    """Return the target rows nearest to each centre: ``cluster``, ``row`` (in ``X_target``), ``similarity``.

    Parameters
    ----------
    model : CrossGuidedKMeans or FittedClusters
        Fitted.
    X_target : sparse matrix
    top : int
        Number of rows per cluster.

    Returns
    -------
    list of dict
    """
    rows = metric_rows(X_target, True)
    labels = model.predict(X_target)
    # Cosines, whatever the metric of the clustering was.
    similarity = np.asarray(rows @ unit_rows(model.cluster_centers_).T)
    table = []
    for cluster in range(model.n_clusters_):
        members = np.flatnonzero(labels == cluster)
        order = members[np.argsort(-similarity[members, cluster], kind="stable")[:top]]
        table += [{"cluster": cluster, "row": int(row), "similarity": float(similarity[row, cluster])} for row in order]
    return table


def match_pivots(model, words: Sequence[str], *, top: int = 10) -> list[dict]:
    """Return the shared words that made each match: ``cluster``, ``aligned_to``, ``word``, ``share``, ``weight``.

    ``share`` is the word's part of the similarity; ``weight`` is the similarity of
    its contexts in both domains.

    Parameters
    ----------
    model : CrossGuidedKMeans or FittedClusters
        Fitted.
    words : sequence of str
        Names of the columns.
    top : int
        Number of words per cluster.

    Returns
    -------
    list of dict
    """
    table = []
    model = FittedClusters.of(model)
    for match in model.alignment_:
        # A cluster without a match has no words in common to show.
        if match.group is None:
            continue
        group = int(np.argmax(model.match_weights_[match.cluster]))
        similarity = model.similarity
        assert similarity is not None  # a cluster has a group only if the source guided it
        parts = similarity.parts(model.cluster_centers_[match.cluster], model.group_centers[group])
        total = parts.sum()
        for place in np.argsort(-parts, kind="stable")[:top]:
            # Parts are sorted, so no later word contributes.
            if parts[place] <= 0:
                break
            table.append(
                {
                    "cluster": match.cluster,
                    "aligned_to": match.group,
                    "word": str(words[similarity.pivots[place]]),
                    "share": float(parts[place] / total),
                    "weight": float(similarity.weights[place]),
                }
            )
    return table
