"""Documents of the source that are nearest to a document of the target."""

from __future__ import annotations

import numpy as np

_BLOCK = 2_000


def nearest_documents(target: np.ndarray, source: np.ndarray, *, top: int = 2) -> np.ndarray:
    """Row numbers in ``source`` of the ``top`` nearest rows to each row of ``target``, nearest first.

    Parameters
    ----------
    target, source : ndarrays with rows of length one
        A row of zeros has no neighbours: −1.
    top : int

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.explain.neighbours import nearest_documents
    >>> nearest_documents(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]), top=1).tolist()
    [[1], [-1]]
    """
    top = min(top, len(source))
    nearest = np.full((len(target), top), -1)
    for start in range(0, len(target), _BLOCK):
        likeness = target[start : start + _BLOCK] @ source.T
        order = np.argpartition(-likeness, top - 1, axis=1)[:, :top]
        order = np.take_along_axis(order, np.argsort(-np.take_along_axis(likeness, order, axis=1), axis=1), axis=1)
        close = np.take_along_axis(likeness, order, axis=1) > 1e-9
        nearest[start : start + _BLOCK] = np.where(close, order, -1)
    return nearest
