"""Names for clusters: the aligned source group's name, or the words that set a new cluster apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus._math.kmeans import unit_rows


def distinctive_words(centers: np.ndarray, mean: np.ndarray, top: int = 10) -> list[list[int]]:
    """Columns that a centre has more of than the collection, largest lead first.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.clustering.names import distinctive_words
    >>> distinctive_words(np.array([[3.0, 2.0, 0.0], [0.0, 2.0, 1.0]]), np.array([1.5, 2.0, 0.5]), top=1)
    [[0], [2]]
    """
    lead = unit_rows(np.atleast_2d(centers)) - unit_rows(np.atleast_2d(mean))
    order = np.argsort(-lead, axis=1, kind="stable")[:, :top]
    return [[int(column) for column in row if lead[i, column] > 0] for i, row in enumerate(order)]


def name_clusters(model, words: Sequence[str], *, top: int = 3) -> list[str]:
    """One name per cluster of a fitted :class:`isthmus.CrossGuidedKMeans`; no name twice.

    Parameters
    ----------
    model : CrossGuidedKMeans
        Fitted.
    words : sequence of str
        Name of each column.
    top : int
        Words in the name of a new cluster.
    """
    columns = distinctive_words(model.cluster_means_, model.target_mean_, top)
    names = []
    for match, best in zip(model.alignment_, columns, strict=True):
        if match.group is not None:
            name = str(match.group)
        else:
            name = ", ".join(str(words[column]) for column in best) or "no distinctive words"
        names.append(name if name not in names else f"{name} ({match.cluster})")
    return names
