"""Term projection from blocks of rows, each read once: the sums of the blocks are the sums of the whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from isthmus._math.chi2 import TermStatistics, count_terms
from isthmus._parameters import check_parameters
from isthmus._progress import progress
from isthmus._validation import read_labels
from isthmus.classify.projection.classifier import TermProjectionClassifier
from isthmus.exceptions import DataError, UsageError


class PairwiseSum:
    """Sums of blocks, added in pairs of like size, so that many small blocks do not each copy the whole."""

    def __init__(self):
        self._waiting: list[TermStatistics] = []

    def add(self, block: TermStatistics) -> None:
        self._waiting.append(block)
        while len(self._waiting) > 1 and len(self._waiting[-2].klass) <= 2 * len(self._waiting[-1].klass):
            last = self._waiting.pop()
            self._waiting[-1] = self._waiting[-1] + last

    def total(self) -> TermStatistics:
        """The sum of all blocks so far."""
        while len(self._waiting) > 1:
            last = self._waiting.pop()
            self._waiting[-1] = self._waiting[-1] + last
        return self._waiting[0]


class _Classes:
    """Classes in order of first sight; codes never change, the sorted order comes at the end."""

    def __init__(self):
        self.index: dict[Any, int] = {}

    def codes(self, labels: Iterable) -> np.ndarray:
        values, known = read_labels(list(labels))
        codes = np.full(len(values), -1, dtype=np.int32)
        for i in np.flatnonzero(known):
            codes[i] = self.index.setdefault(values[i], len(self.index))
        return codes

    def sorted(self, stats: TermStatistics) -> tuple[np.ndarray, TermStatistics]:
        """Sorted classes and the statistics with codes to match."""
        names = np.array(list(self.index))
        order = np.argsort(names)
        place = np.argsort(order)
        table = stats.per_class(stats.occurrences), stats.per_class(stats.documents)
        moved = [matrix[:, order].tocsr() for matrix in table]
        for matrix in moved:
            matrix.sort_indices()
        documents = np.zeros(len(names))
        documents[place] = stats.class_documents
        starts = moved[0].indptr.astype(np.int64)
        klass = moved[0].indices.astype(np.int32)
        return names[order], TermStatistics(starts, klass, moved[0].data, moved[1].data.astype(np.int32), documents)


def fit_blocks(blocks: Iterable[tuple[Any, Iterable]], model: TermProjectionClassifier | None = None):
    """Fit the rule from an iterable of ``(X, y)`` blocks, each read once.

    Columns may be added from block to block (never moved), classes may appear at any time, and the order of blocks
    changes nothing.

    Parameters
    ----------
    blocks : iterable of (CSR matrix, labels)
        Unlabelled rows (None, -1, NaN) are left out.
    model : TermProjectionClassifier, optional
        Its parameters are used; ``classifier`` must be "rule".

    Returns
    -------
    TermProjectionClassifier
        Fitted; ``n_features_in_`` is the number of columns of the widest block.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.classify.projection.blocks import fit_blocks
    >>> blocks = [(np.array([[4, 0], [3, 1]]), ["red", "red"]), (np.array([[0, 2, 5]]), ["blue"])]
    >>> fit_blocks(blocks).predict(np.array([[1, 0, 0], [0, 0, 1]])).tolist()
    ['red', 'blue']
    """
    model = TermProjectionClassifier() if model is None else model
    check_parameters(model)
    if model.classifier != "rule":
        raise UsageError("fit_blocks makes the rule; use classifier='rule', or fit for an SVM.", code="bad-parameter")
    classes, sums = _Classes(), PairwiseSum()
    for number, (X, y) in enumerate(blocks, 1):
        codes = classes.codes(y)
        sums.add(count_terms(X, codes, max(len(classes.index), 1)))
        progress("counting blocks", number)
    if len(classes.index) < 2:
        raise DataError(
            f"The blocks name {len(classes.index)} classes; a classifier needs at least two.", code="one-class"
        )
    names, stats = classes.sorted(sums.total())
    model.n_features_in_ = stats.n_terms
    return model.finish_statistics(stats, names)
