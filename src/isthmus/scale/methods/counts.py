"""Occurrences and documents of terms in classes, added up over blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from isthmus._math.chi2 import TermStatistics, count_terms
from isthmus.scale.views import RowBlock

_PER_COLUMN, _FEWEST = 4, 2_000_000  # entries that wait


@dataclass
class ClassCounts:
    """Term statistics of rows under their classes; ``+`` adds blocks, in any order.

    Counting and merging go through the whole vocabulary, however few the rows. Rows therefore wait until they have some
    entries for each of its columns: a document costs the same with any number of terms. Before counts travel to another
    process, nothing waits any more.
    """

    n_columns: int
    n_classes: int
    rows: tuple[sp.csr_matrix, ...] = ()
    codes: tuple[np.ndarray, ...] = ()
    counted: TermStatistics | None = None

    @classmethod
    def of(cls, block: RowBlock, rows: np.ndarray, codes: np.ndarray, n_classes: int) -> ClassCounts:
        """Counts of some rows of a block, each under a class."""
        shape = len(block), block.n_columns
        taken = sp.csr_matrix((block.counts, block.indices, block.indptr), shape)[rows]
        return cls(block.n_columns, n_classes, (taken,), (codes,))

    def __add__(self, other: ClassCounts) -> ClassCounts:
        counted = self.counted if other.counted is None else other.counted
        if self.counted is not None and other.counted is not None:
            counted = self.counted + other.counted
        both = replace(self, rows=self.rows + other.rows, codes=self.codes + other.codes, counted=counted)
        entries = sum(rows.nnz for rows in both.rows)
        return both if entries < max(_FEWEST, _PER_COLUMN * self.n_columns) else both._with_none_waiting()

    def total(self) -> TermStatistics:
        """The statistics of all rows."""
        if self.counted is not None and not self.rows:
            return self.counted
        rows = sp.vstack([sp.csr_matrix((0, self.n_columns)), *self.rows], format="csr", dtype=np.float64)
        own = count_terms(rows, np.concatenate([np.zeros(0, np.int32), *self.codes]), self.n_classes)
        return own if self.counted is None else self.counted + own

    def _with_none_waiting(self) -> ClassCounts:
        return replace(self, rows=(), codes=(), counted=self.total())

    def __getstate__(self) -> dict:
        return self._with_none_waiting().__dict__
