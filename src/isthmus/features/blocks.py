"""Documents in blocks: what an estimator's statistics are taken from, and who feeds them.

An estimator that can be fitted from blocks has three parts: statistics of one block, their sum (``+``, integers, so
that neither the cut into blocks nor the order matters) and a finish. ``fit_passes`` asks for such sums and never sees
where the blocks lie: in memory, in files or on a cluster.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from isthmus.features.weights import as_counts, smooth_idf, weigh_tfidf

if TYPE_CHECKING:
    from isthmus.features.term_chi2 import TermStatistics

BINS = 1 << 16  # steps in which margins and confidences between 0 and 1 are counted
_PER_COLUMN, _FEWEST = 4, 2_000_000  # entries that wait to be counted


def project_rows(X: Any, term_class: np.ndarray, weight: np.ndarray, n_classes: int) -> np.ndarray:
    """Return Σ tf(t, d) · weight(t) over the terms of each class, an array of rows × classes.

    ``term_class`` is -1 for the terms of no class.
    """
    kept = term_class >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])
    return (as_counts(X) @ sp.csr_matrix((weight[kept], term_class[kept], ends), (len(kept), n_classes))).toarray()


@dataclass
class RowBlock:
    """Documents as CSR arrays of counts, with their classes where they have some; entries of a row are sorted."""

    indptr: np.ndarray
    indices: np.ndarray
    counts: np.ndarray
    n_columns: int
    codes: np.ndarray | None = None
    derived: dict = field(default_factory=dict, repr=False)  # what a method made of the entries, for its next pass

    @classmethod
    def of(cls, X: sp.csr_matrix, codes: np.ndarray | None = None) -> RowBlock:
        """Return the rows of a matrix as a block."""
        return cls(X.indptr, X.indices, X.data, X.shape[1], codes)

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.indptr) - 1

    def matrix(self, values: np.ndarray | None = None) -> sp.csr_matrix:
        """Return a CSR matrix of floats: the counts, or other values of the same entries."""
        data = self.counts.astype(np.float64) if values is None else values
        matrix = sp.csr_matrix((data, self.indices, self.indptr), (len(self), self.n_columns))
        matrix.has_canonical_format = True
        return matrix

    def tfidf(self, idf: np.ndarray, *, sublinear: bool) -> np.ndarray:
        """Return the tf-idf values of the entries, for rows of length one."""
        return weigh_tfidf(self.matrix(), idf, sublinear=sublinear).data

    def levels(self, sublinear: bool) -> np.ndarray:
        """Return the weight of each count before the idf and the length of its row: the count, or 1 + log."""
        most = int(self.counts.max(initial=1)) + 1
        if not sublinear:
            return np.arange(most, dtype=np.float64)
        return np.array([0.0] + [1.0 + np.log(count) for count in range(1, most)])


@dataclass
class Block:
    """One block of documents, in memory.

    Chunks of files have the same attributes and methods (``isthmus.scale.methods.ChunkBlock``).

    Parameters
    ----------
    side : {"source", "target"}
    make_rows : callable
        Returns the rows over the vocabulary; called on the first use of ``rows``.
    words : sequence of str
        Texts of the documents.
    codes : ndarray of int
        Class of each source document, -1 for a document without a label.
    held : dict
        Arrays that an earlier pass stored.
    weigh : callable, optional
        Turns counts into the weights of the method's vectoriser.
    """

    side: str
    make_rows: Callable[[], RowBlock]
    words: Sequence[str] = ()
    codes: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    held: dict[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    weigh: Callable[[sp.csr_matrix], sp.csr_matrix] | None = None

    @cached_property
    def rows(self) -> RowBlock:
        """Counts over the vocabulary."""
        return self.make_rows()

    @cached_property
    def weighed(self) -> sp.csr_matrix:
        """The rows with the weights of the method's vectoriser."""
        return self.rows.matrix() if self.weigh is None else self.weigh(self.rows.matrix())

    def texts(self) -> list[str]:
        """Return the texts of the documents."""
        return list(self.words)

    def keep(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Store arrays for the next pass."""
        self.held[name] = arrays

    def kept(self, name: str) -> Mapping[str, np.ndarray] | None:
        """Return the arrays that an earlier pass stored, or None."""
        return self.held.get(name)


@dataclass
class Passes:
    """Feed both domains to a fit: CSR rows without repeated entries, as one block of each side.

    Files are fed by a class with the same attributes and methods (``isthmus.scale.methods.ChunkPasses``).

    Parameters
    ----------
    source, target : sparse matrix
        Counts of the documents of each domain.
    codes : ndarray of int
        Class of each source document, -1 for a document without a label.
    classes : ndarray
        The classes, sorted.
    random_state : int
    languages : tuple of str
        Languages in which the texts are read, main one first.
    """

    source: sp.csr_matrix
    target: sp.csr_matrix
    codes: np.ndarray
    classes: np.ndarray
    random_state: int = 0
    languages: tuple[str, ...] = ("en",)

    def __post_init__(self) -> None:
        """Make one block of each side."""
        self.n_source, self.n_columns = self.source.shape
        self.n_target = self.target.shape[0]
        codes = np.asarray(self.codes, dtype=np.int32)
        self.blocks = {
            "source": Block("source", lambda: RowBlock.of(self.source, codes), codes=codes),
            "target": Block("target", lambda: RowBlock.of(self.target)),
        }

    @property
    def idf(self) -> np.ndarray:
        """Inverse document frequencies over the documents of both sides."""
        frequency = sum(
            np.bincount(X.indices[X.data > 0], minlength=self.n_columns) for X in (self.source, self.target)
        )
        return smooth_idf(np.asarray(frequency), self.n_source + self.n_target)

    @property
    def sample(self) -> Block:
        """Some documents of the source, the same however the blocks are cut."""
        return self.blocks["source"]

    @property
    def target_sample(self) -> Block:
        """Some documents of the target, the same however the blocks are cut."""
        return self.blocks["target"]

    def sum(
        self, function: Callable[..., Any], sides: str, *args: Any, phase: str, add: Callable[..., Any] = operator.add
    ) -> Any:
        """Return the sum of ``function(block, *args)`` over the blocks of "source", "target" or "both"."""
        names = ("source", "target") if sides == "both" else (sides,)
        return reduce(add, (function(self.blocks[name], *args) for name in names))

    def forget(self, name: str) -> None:
        """Drop the arrays that blocks stored under this name."""
        for block in self.blocks.values():
            block.held.pop(name, None)


# -- sums --------------------------------------------------------------------------------------------------------------


def add_tuples(a: Any, b: Any) -> tuple:
    """Add two tuples of sums, part by part."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


@dataclass
class ClassCounts:
    """Term statistics of rows under their classes; ``+`` adds blocks, in any order.

    Counting and merging go through the whole vocabulary, however few the rows. Rows therefore wait until they have some
    entries for each of its columns, or until counts travel to another process.
    """

    n_columns: int
    n_classes: int
    rows: tuple[sp.csr_matrix, ...] = ()
    codes: tuple[np.ndarray, ...] = ()
    counted: TermStatistics | None = None

    @classmethod
    def of(cls, block: RowBlock, rows: np.ndarray, codes: np.ndarray, n_classes: int) -> ClassCounts:
        """Return the rows of a block that have a class; they are counted later."""
        shape = len(block), block.n_columns
        taken = sp.csr_matrix((block.counts, block.indices, block.indptr), shape)[rows]
        return cls(block.n_columns, n_classes, (taken,), (codes,))

    def __add__(self, other: ClassCounts) -> ClassCounts:
        """Join two sums; rows are counted once enough of them wait."""
        counted = self.counted if other.counted is None else other.counted
        if self.counted is not None and other.counted is not None:
            counted = self.counted + other.counted
        both = replace(self, rows=self.rows + other.rows, codes=self.codes + other.codes, counted=counted)
        # Counting a few rows would cost a pass over the whole vocabulary.
        entries = sum(rows.nnz for rows in both.rows)
        return both if entries < max(_FEWEST, _PER_COLUMN * self.n_columns) else both._with_none_waiting()

    def total(self) -> TermStatistics:
        """Return the statistics of all rows."""
        if self.counted is not None and not self.rows:
            return self.counted
        from isthmus.features.term_chi2 import count_terms  # compiled; only fits need it

        rows = sp.vstack([sp.csr_matrix((0, self.n_columns)), *self.rows], format="csr", dtype=np.float64)
        own = count_terms(rows, np.concatenate([np.zeros(0, np.int32), *self.codes]), self.n_classes)
        return own if self.counted is None else self.counted + own

    def _with_none_waiting(self) -> ClassCounts:
        return replace(self, rows=(), codes=(), counted=self.total())

    def __getstate__(self) -> dict:
        """Return counts instead of rows, which take more memory."""
        return self._with_none_waiting().__dict__


def count_classes(block: Block, n_classes: int) -> ClassCounts:
    """Occurrences and documents of each term in each class of a source block."""
    rows = block.rows
    labelled = np.flatnonzero(block.codes >= 0)
    return ClassCounts.of(rows, labelled, block.codes[labelled], n_classes)


def as_bins(values: np.ndarray) -> np.ndarray:
    """Return the step of each value between 0 and 1, of ``BINS`` equal steps."""
    return np.minimum(BINS - 1, (values * BINS).astype(np.int64))


def histogram(labels: np.ndarray, values: np.ndarray, n_classes: int) -> np.ndarray:
    """Count the rows of each class with a value (0 to 1) in each of ``BINS`` steps; rows of class -1 are left out."""
    places = (labels * np.int64(BINS) + as_bins(values))[labels >= 0]
    return np.bincount(places, minlength=n_classes * BINS).reshape(n_classes, BINS)


def least_bins(counts: np.ndarray, share: float) -> np.ndarray:
    """For each class the step from which up lies at least this share of its rows; -1 for a class without rows.

    ``counts`` is classes × steps.
    """
    # Rows at each step or above it.
    above = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
    wanted = np.ceil(share * counts.sum(axis=1))
    return (above >= np.maximum(wanted, 1)[:, None]).sum(axis=1) - 1


# -- Dense features in fixed point: with few binary digits every product and sum is exact, in whatever order it is taken
# Features are multiples of 2⁻¹⁵ and at most one; weights get as many digits as a float can add up without rounding. A
# matrix product is then the same for every cut into blocks and for every number of threads.


BITS = 15
ONE = 1 << BITS
_WEIGHT_BITS = 26  # binary digits of a weight
_AT_ONCE = 512  # rows


def as_steps(features: np.ndarray) -> np.ndarray:
    """Features between -1 and 1 as 16-bit integers."""
    return np.clip(np.rint(features * ONE), -ONE + 1, ONE - 1).astype(np.int16)


def exact_product(steps: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """steps/2¹⁵ · weights, the weights rounded so that nothing else is."""
    largest = float(np.abs(weights).max(initial=0.0)) or 1.0
    # A power of two changes only exponents, so it adds no rounding.
    scale = 2.0 ** np.ceil(np.log2(largest))
    whole = np.rint(weights / scale * 2.0**_WEIGHT_BITS)
    # 15 + 26 bits and the sum of up to 2^11 of them: 52 bits, which a float holds exactly.
    products = np.empty((len(steps), weights.shape[1]))
    for rows in _few_rows(len(steps)):
        np.matmul(steps[rows].astype(np.float64), whole, out=products[rows])
    products *= scale / 2.0 ** (_WEIGHT_BITS + BITS)
    return products


def square_sums(steps: np.ndarray, others: np.ndarray) -> np.ndarray:
    """stepsᵀ · others as integers; both have at most 16 bits."""
    total = np.zeros((steps.shape[1], others.shape[1]), dtype=np.int64)
    for rows in _few_rows(len(steps)):
        total += np.rint(steps[rows].T.astype(np.float64) @ others[rows].astype(np.float64)).astype(np.int64)
    return total


def _few_rows(n: int) -> Iterator[slice]:
    """Rows whose floats stay in the cache: those of a whole block go to memory and back, ten times as slow."""
    return (slice(start, start + _AT_ONCE) for start in range(0, n, _AT_ONCE))


def block_steps(block: Block, name: str, make: Callable[[list[str]], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Features that ``make`` makes of a block's texts, made once, and which of the texts are blank."""
    held = block.kept(name)
    if held is None:
        texts = block.texts()
        held = {"steps": make(texts), "blank": np.array([not text.strip() for text in texts], dtype=bool)}
        block.keep(name, held)
    return held["steps"], held["blank"]
