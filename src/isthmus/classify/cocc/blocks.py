"""What co-clustering asks of documents, by passes over their blocks; rows in memory are the case of one block a side.

Word × cluster tables travel, the documents' clusters never do: they are kept with the block, and a step adds up only
what moved. All that is added up is an integer, so that neither the cut into blocks nor the order matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from isthmus._math.content import content_noise
from isthmus._math.information import naive_bayes_scores
from isthmus._math.rows import unit_rows
from isthmus.classify.cocc.kernels import add_products, best_places, list_moves
from isthmus.features.block_kernels import add_under
from isthmus.features.blocks import Block, MemoryPasses, Passes, RowBlock, add_tuples

SKETCH_WIDTH = 24
_MOST_BITS = 40
_LARGEST_TABLE = 1_000_000  # counts up to which logarithms are looked up


@dataclass(frozen=True)
class Weigher:
    """Entries as whole numbers of 2 to the power of -``bits``: the counts themselves, or log(1 + count)."""

    weighting: str = "log"
    bits: int = _MOST_BITS

    @property
    def one(self) -> float:
        return 2.0**self.bits

    def plain(self, rows: RowBlock) -> np.ndarray:
        return rows.counts.astype(np.float64) if self.weighting == "counts" else np.log1p(rows.counts)

    def steps(self, rows: RowBlock) -> np.ndarray:
        return _made_once(rows, self, lambda: self._round(rows))

    def values(self, rows: RowBlock) -> np.ndarray:
        return _made_once(rows, (self, "values"), lambda: self.steps(rows) / self.one)

    def units(self, rows: RowBlock, idf: np.ndarray) -> np.ndarray:
        """The weights times ``idf``, rows of length one, as whole numbers."""
        return _made_once(rows, (self, "units"), lambda: self._unit_steps(rows, idf))

    def _round(self, rows: RowBlock) -> np.ndarray:
        most = rows.counts.max(initial=1)
        whole = rows.counts.astype(np.int64)
        if self.weighting == "counts" or most > _LARGEST_TABLE or np.any(whole != rows.counts):
            return np.rint(self.plain(rows) * self.one).astype(np.int64)
        levels = [round(float(np.log1p(number)) * self.one) for number in range(int(most) + 1)]
        return np.array(levels, dtype=np.int64)[whole]

    def _unit_steps(self, rows: RowBlock, idf: np.ndarray) -> np.ndarray:
        lengths = np.maximum(row_lengths(rows, self.values(rows), idf), 1e-300)
        units = self.values(rows) * idf[rows.indices] / np.repeat(lengths, np.diff(rows.indptr))
        return np.rint(units * self.one).astype(np.int64)


def _made_once(rows: RowBlock, key: Any, make: Callable[[], np.ndarray]) -> np.ndarray:
    if key not in rows.derived:
        rows.derived[key] = make()
    return rows.derived[key]


def row_lengths(rows: RowBlock, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Length of each row with its entries multiplied by the weights of their columns."""
    return np.sqrt(rows.matrix(values**2) @ weights**2)


# -- statistics of a block ---------------------------------------------------------------------------------------------


def total_weight(block: Block, weighting: str) -> int:
    """An upper bound of the weight of all entries: no sum of them is larger."""
    return int(np.ceil(Weigher(weighting).plain(block.rows)).sum())


def class_table(block: Block, weigher: Weigher, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Words × classes of a source block, and its documents per class."""
    rows, codes = block.rows, block.codes
    table = np.zeros((rows.n_columns, n_classes), dtype=np.int64)
    add_under(rows.indptr, rows.indices, weigher.steps(rows), codes, table)
    return table, np.bincount(codes[codes >= 0], minlength=n_classes)


def word_totals(block: Block, weigher: Weigher) -> tuple[np.ndarray, np.ndarray]:
    """Weight of every word in a block, and what its documents' own information needs, in units of 2⁶ steps."""
    rows = block.rows
    totals = np.zeros((rows.n_columns, 1), dtype=np.int64)
    add_under(rows.indptr, rows.indices, weigher.steps(rows), np.zeros(len(rows), dtype=np.int32), totals)
    values = weigher.values(rows)
    sums = rows.matrix(values) @ np.ones(rows.n_columns)
    own = [np.rint(xlogy(part, part) * (weigher.one / 64)).astype(np.int64).sum() for part in (values, sums)]
    return totals[:, 0], np.array(own, dtype=np.int64)


def sketch_block(block: Block, weigher: Weigher, seed: int, words: np.ndarray | None) -> np.ndarray:
    """Sum over documents of their vectors, for each word: random ones first, then the mean of their words' vectors."""
    rows = block.rows
    values = weigher.values(rows)
    if words is None:
        vectors = content_noise(rows.matrix(weigher.plain(rows)), SKETCH_WIDTH, np.random.default_rng(seed))
    else:
        vectors = unit_rows(rows.matrix(values) @ words)
    out = np.zeros((rows.n_columns, SKETCH_WIDTH), dtype=np.int64)
    add_products(rows.indptr, rows.indices, values, vectors, weigher.one / 16, out)
    return out


@dataclass(frozen=True)
class ByScores:
    """Places a document by scores of its terms, or of the groups that they are in; on a tie it stays where it was."""

    scores: np.ndarray
    bias: np.ndarray
    groups: np.ndarray | None = None

    def labels(self, block: Block, values: np.ndarray, before: np.ndarray) -> np.ndarray:
        labels = before.copy()
        best_places(block.rows.indptr, block.rows.indices, values, self.scores, self.bias, labels, self.groups)
        return labels


@dataclass(frozen=True)
class ByClusters:
    """Places a document in the class of the cluster that it was kept in."""

    name: str
    mapping: np.ndarray

    def labels(self, block: Block, values: np.ndarray, before: np.ndarray) -> np.ndarray:
        return self.mapping[kept_labels(block, self.name)].astype(np.int32)


def kept_labels(block: Block, name: str | None) -> np.ndarray:
    """Where the documents of a block were placed under this name; -1 under none."""
    if name is None:
        return np.full(len(block.rows), -1, dtype=np.int32)
    held = block.kept(name)
    assert held is not None, f"{name} has not been kept"
    return held["labels"]


@dataclass
class TableChange:
    """What is added to a terms × classes table: a table, and single places with their values."""

    shape: tuple[int, int]
    table: np.ndarray | None = None
    places: list[np.ndarray] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)

    def __add__(self, other: TableChange) -> TableChange:
        total = self.table if other.table is None else other.table
        if self.table is not None and other.table is not None:
            total = self.table + other.table
        return TableChange(self.shape, total, self.places + other.places, self.values + other.values).shortened()

    def shortened(self) -> TableChange:
        """As a table alone where the places take more room than one."""
        if 2 * sum(map(len, self.places)) <= self.shape[0] * self.shape[1]:
            return self
        return TableChange(self.shape, self.added_to(np.zeros(self.shape, dtype=np.int64)))

    def added_to(self, table: np.ndarray) -> np.ndarray:
        """The table with the change; ``table`` itself stays."""
        total = table.copy() if self.table is None else table + self.table
        for places, values in zip(self.places, self.values, strict=True):
            if len(places):  # late in a search no document moves
                at = np.zeros_like(places), places  # scipy adds places up in a tenth of the time of np.add.at
                total += sp.coo_matrix((values, at), shape=(1, total.size)).toarray().reshape(total.shape)
        return total


def move_documents(
    block: Block, weigher: Weigher, by: Any, n_classes: int, before: str | None, after: str, idf: np.ndarray | None
) -> tuple[TableChange, np.ndarray, int]:
    """Place the documents of a block, keep where; what that changes, the documents of each class, how many moved.

    Few documents move late in a search, so the change to the table travels, not the table. Places ``before`` (None if
    there were none) and ``after`` are kept apart, so that a repeated step gives the same. With ``idf`` the table holds
    tf-idf of length one.
    """
    rows = block.rows
    old = kept_labels(block, before)
    labels = by.labels(block, weigher.values(rows), old)
    block.keep(after, {"labels": labels})
    weights = weigher.steps(rows) if idf is None else weigher.units(rows, idf)
    moved = old != labels
    shape = rows.n_columns, n_classes
    if 4 * np.diff(rows.indptr)[moved].sum() > shape[0] * shape[1]:  # a table is shorter than places left and reached
        gained, lost = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        add_under(rows.indptr, rows.indices, weights, np.where(moved, labels, -1), gained)
        add_under(rows.indptr, rows.indices, weights, np.where(moved, old, -1), lost)
        change = TableChange(shape, gained - lost)
    else:
        places, values = list_moves(rows.indptr, rows.indices, weights, old, labels, n_classes)
        change = TableChange(shape, None, [places], [values])
    return change, np.bincount(labels, minlength=n_classes), int(np.sum(moved))


def score_rows(
    rows: RowBlock, weigher: Weigher, word_scores: np.ndarray, word_weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of rows, one column per class, and the rows' sums.

    Without ``word_weights``: Σ value · log p(ŵ|d̂), what the document step maximises. With them, cosines:
    ``word_scores`` are then weighted centroids.
    """
    values = weigher.values(rows)
    scores = rows.matrix(values) @ word_scores
    if word_weights is not None:
        lengths = row_lengths(rows, values, word_weights)
        scores /= np.where(lengths > 0, lengths, 1.0)[:, None]
    return scores, rows.matrix(values) @ np.ones(rows.n_columns)


def per_length(scores: np.ndarray, lengths: np.ndarray, power: float) -> np.ndarray:
    """Scores divided by a power of the documents' lengths: words of one document are not independent witnesses."""
    return scores / (np.maximum(lengths, 1.0) ** power)[:, None]


# -- what the search works on ------------------------------------------------------------------------------------------


@dataclass
class TargetTotals:
    word_totals: np.ndarray
    n_rows: int
    information: float  # I(D;W)

    @property
    def total(self) -> float:
        return float(self.word_totals.sum())


class KeptDocuments:
    """Documents under labels that the blocks keep under ``name``; ``table``: words × labels, in fixed point."""

    def __init__(self, problem: Problem, name: str, table: np.ndarray):
        self.problem = problem
        self.name = name
        self.table = table

    @property
    def sums(self) -> np.ndarray:
        return self.table / self.problem.weigher.one

    @property
    def labels(self) -> np.ndarray:
        return kept_labels(self.problem.sample, self.name)


class PlacedDocuments(KeptDocuments):
    def __init__(self, problem: Problem, name: str, table: np.ndarray, runs: Any = None):
        super().__init__(problem, name, table)
        self._runs = runs or count(1)
        self._first = name
        self._run = 0
        self._step = 0

    def copy(self) -> PlacedDocuments:
        own = PlacedDocuments(self.problem, self.name, self.table, self._runs)
        own._run = next(self._runs)
        return own

    def move(self, words: np.ndarray, logs: np.ndarray) -> int:
        self._step += 1
        before, after = self.name, f"placed-{self._run}-{self._step}"
        groups = words.astype(np.min_scalar_type(len(logs)))  # short numbers stay in the fastest memory
        by = ByScores(logs, np.zeros(logs.shape[1]), groups)
        phase = f"co-clustering, run {self._run}, step {self._step}"
        change, _, moved = self.problem.move(by, before, after, phase=phase)
        if before != self._first:
            self.problem.passes.forget(before)
        self.table, self.name = change.added_to(self.table), after
        return moved


class SettlingDocuments(KeptDocuments):
    """Documents that settle at the centroids of their classes: tf-idf rows of length one, added up by class."""

    def __init__(self, problem: Problem, placed: PlacedDocuments, mapping: np.ndarray, idf: np.ndarray):
        super().__init__(problem, "", np.zeros_like(placed.table))
        self.idf = idf
        self._step = 0
        self._place(ByClusters(placed.name, mapping))

    def mean_cosine(self, centroids: np.ndarray) -> float:
        return float((self.sums * centroids).sum() / max(1, self.problem.target.n_rows))

    def compactness(self) -> float:
        """Mean cosine with the classes' own centroids: for unit rows the lengths of their sums."""
        return float(np.sqrt((self.sums**2).sum(axis=0)).sum() / max(1, self.problem.target.n_rows))

    def move(self, centroids: np.ndarray) -> int:
        scores = np.ascontiguousarray(centroids * self.idf[:, None])
        before = self.name
        self._step += 1
        moved = self._place(ByScores(scores, np.zeros(scores.shape[1])))
        self.problem.passes.forget(before)
        return moved

    def _place(self, by: Any) -> int:
        before, self.name = self.name or None, f"settled-{self._step}"
        phase = f"settling, round {self._step}"
        change, self.sizes, moved = self.problem.move(by, before, self.name, phase=phase, idf=self.idf)
        self.table = change.added_to(self.table)
        return moved


class Problem:
    """All that co-clustering needs of both domains; ``fixed``: without a target, the source's classes are clusters."""

    def __init__(self, passes: Passes, weighting: str = "log", *, fixed: bool = False):
        self.passes = passes
        self.fixed = fixed
        self.n_words, self.n_classes = passes.n_columns, len(passes.classes)
        self._side, self._both = ("source", "source") if fixed else ("target", "both")
        largest = passes.sum(total_weight, self._both, weighting, phase="weighing words")
        self.weigher = Weigher(weighting, min(_MOST_BITS, 62 - int(largest).bit_length()))
        arguments = self.weigher, self.n_classes
        phase = "counting words per class"
        self.class_table, documents = passes.sum(class_table, "source", *arguments, phase=phase, add=add_tuples)
        self.class_counts, self.priors = self.class_table / self.weigher.one, documents.astype(float)
        self.target = self._totals()

    @property
    def sample(self) -> Block:
        return self.passes.sample if self.fixed else self.passes.target_sample

    def _totals(self) -> TargetTotals:
        phase = "counting words of the target"
        steps, own = self.passes.sum(word_totals, self._side, self.weigher, phase=phase, add=add_tuples)
        totals = steps / self.weigher.one
        n_rows = self.passes.n_source if self.fixed else self.passes.n_target
        total, words = float(totals.sum()), totals[totals > 0]
        information = 0.0
        if total > 0:
            # Σ p log p(d,w)/(p(d)p(w)) with p = v/total; the three terms differ in how often log(total) enters.
            documents = float(own[0] - own[1]) / (self.weigher.one / 64)
            information = (documents - float(words @ np.log(words))) / total + float(np.log(total))
        return TargetTotals(totals, n_rows, max(0.0, information))

    def sketch(self, rng: np.random.Generator) -> np.ndarray:
        """A short unit vector per word; words of similar document profiles point the same way.

        One step of subspace iteration: documents start with random numbers drawn from their contents, give words a
        first vector, and become the mean of their words; words become the sum of their documents.
        """
        seed, words = int(rng.integers(2**63)), None
        for _ in range(2):
            sums = self.passes.sum(sketch_block, self._both, self.weigher, seed, words, phase="sketching words")
            words = unit_rows(sums / (self.weigher.one / 16))
        assert words is not None
        # The common direction is what all documents share; without it the cosine tells topics apart.
        return unit_rows(words - words.mean(axis=0))

    def start(self) -> PlacedDocuments:
        """Documents placed by naive Bayes of the source."""
        if self.fixed:
            return self.placed(self.sample.codes)
        return self._place(ByScores(*naive_bayes_scores(self.class_counts, self.priors)))

    def placed(self, labels: np.ndarray) -> PlacedDocuments:
        self.sample.keep("given", {"labels": np.asarray(labels, dtype=np.int32)})
        return self._place(ByClusters("given", np.arange(self.n_classes)))

    def _place(self, by: Any) -> PlacedDocuments:
        change, *_ = self.move(by, None, "placed-start", phase="placing documents")
        return PlacedDocuments(self, "placed-start", change.added_to(np.zeros_like(self.class_table)))

    def move(self, by: Any, before: str | None, after: str, *, phase: str, idf: np.ndarray | None = None) -> Any:
        arguments = self.weigher, by, self.n_classes, before, after, idf
        return self.passes.sum(move_documents, self._side, *arguments, phase=phase, add=add_tuples)


def problem_in_memory(X: sp.csr_matrix, n_classes: int, weighting: str = "counts") -> Problem:
    """Rows of a target alone, whose clusters and source tables come from elsewhere."""
    passes = MemoryPasses(X[:0], X, np.zeros(0, dtype=np.int32), np.arange(n_classes))
    return Problem(passes, weighting)
