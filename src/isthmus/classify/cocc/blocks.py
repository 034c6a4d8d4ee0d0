"""Co-clustering over blocks: word × cluster tables travel, the documents' clusters never do.

A document's cluster follows from the tables alone (the first of equals). Where it was before is kept with its block,
so that a step adds up only what moved. A count enters as log(1 + count), rounded to a multiple of 2⁻²⁰, and everything
that is added up is an integer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from isthmus._math.content import content_noise
from isthmus._math.rows import unit_rows
from isthmus.classify.baselines.naive_bayes import naive_bayes_scores
from isthmus.classify.cocc.steps import SKETCH_WIDTH
from isthmus.features.blocks import Block, Passes, RowBlock, add_tuples

_BITS = 20
_ONE = 1 << _BITS
_ENOUGH = 100  # documents of the sample from which scores are calibrated


def log_levels(rows: RowBlock) -> np.ndarray:
    """log(1 + count) of the counts 0, 1, … as integers, in units of 2⁻²⁰."""
    most = int(rows.counts.max(initial=1))
    return np.array([round(float(np.log1p(count)) * _ONE) for count in range(most + 1)], dtype=np.int64)


def log_weights(rows: RowBlock) -> np.ndarray:
    """The same of the entries."""
    return log_levels(rows)[rows.counts]


# -- statistics of a block ---------------------------------------------------------------------------------------------


def class_table(block: Block, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Words × classes of a source block, and its documents per class."""
    from isthmus.features.block_kernels import add_under

    rows, codes = block.rows, block.codes
    table = np.zeros((rows.n_columns, n_classes), dtype=np.int64)
    add_under(rows.indptr, rows.indices, log_weights(rows), codes, table)
    return table, np.bincount(codes[codes >= 0], minlength=n_classes)


def target_totals(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Weight of every word in a target block, and what its documents' own information needs."""
    from isthmus.classify.cocc.block_kernels import own_information
    from isthmus.features.block_kernels import add_under

    rows = block.rows
    weights = log_weights(rows)
    totals = np.zeros((rows.n_columns, 1), dtype=np.int64)
    add_under(rows.indptr, rows.indices, weights, np.zeros(len(rows), dtype=np.int32), totals)
    return totals, np.array(own_information(rows.indptr, weights / _ONE, float(_ONE)), dtype=np.int64)


def sketch_block(block: Block, seed: int, words: np.ndarray | None) -> np.ndarray:
    """Sum over documents of their vectors, for each word: random ones first, then the mean of their words' vectors."""
    from isthmus.classify.cocc.block_kernels import add_products
    from isthmus.classify.cocc.block_kernels import unit_rows as scale_rows
    from isthmus.features.block_kernels import row_scores

    rows = block.rows
    values = log_weights(rows) / _ONE
    if words is None:
        noise = content_noise(rows.matrix(values), SKETCH_WIDTH, np.random.default_rng(seed))
        vectors = np.rint(noise * _ONE) / _ONE
    else:
        vectors = row_scores(rows.indptr, rows.indices, values, words, np.zeros(words.shape[1]))
        scale_rows(vectors)
    out = np.zeros((rows.n_columns, SKETCH_WIDTH), dtype=np.int64)
    add_products(rows.indptr, rows.indices, values, vectors, float(_ONE), out)
    return out


@dataclass(frozen=True)
class ByTerms:
    """Places a document by scores of its terms."""

    scores: np.ndarray
    bias: np.ndarray

    def labels(self, block: Block, rows: RowBlock) -> np.ndarray:
        from isthmus.classify.cocc.block_kernels import best_by_terms

        levels = log_levels(rows) / _ONE
        return best_by_terms(rows.indptr, rows.indices, rows.counts, levels, self.scores, self.bias)


@dataclass(frozen=True)
class ByWordClusters:
    """Places a document by scores of its terms' clusters."""

    words: np.ndarray
    scores: np.ndarray

    def labels(self, block: Block, rows: RowBlock) -> np.ndarray:
        from isthmus.classify.cocc.block_kernels import best_by_groups

        levels = log_levels(rows) / _ONE
        return best_by_groups(rows.indptr, rows.indices, rows.counts, levels, self.words, self.scores)


@dataclass(frozen=True)
class ByClusters:
    """Places a document in the class of the cluster that it was kept in."""

    name: str
    mapping: np.ndarray

    def labels(self, block: Block, rows: RowBlock) -> np.ndarray:
        return self.mapping[kept_labels(block, self.name)].astype(np.int32)


def kept_labels(block: Block, name: str) -> np.ndarray:
    """Where the documents of a block were placed under this name."""
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
        both = TableChange(self.shape, total, self.places + other.places, self.values + other.values)
        return both.folded() if both.is_long() else both

    def is_long(self) -> bool:
        """Whether the places take more room than a table."""
        return 2 * sum(map(len, self.places)) > self.shape[0] * self.shape[1]

    def folded(self) -> TableChange:
        return TableChange(self.shape, self.added_to(np.zeros(self.shape, dtype=np.int64)))

    def added_to(self, table: np.ndarray) -> np.ndarray:
        """The table with the change; ``table`` itself stays."""
        from isthmus.classify.cocc.block_kernels import add_at

        total = table.copy() if self.table is None else table + self.table
        for places, values in zip(self.places, self.values, strict=True):
            add_at(total.reshape(-1), places, values)
        return total


def move_documents(
    block: Block, by: Any, n_classes: int, before: str | None, after: str, idf: np.ndarray | None
) -> tuple[TableChange, np.ndarray]:
    """Place the documents of a target block, keep where, and give back what that changes.

    Few documents move late in a search, so what travels is the change to the table, not the table. The places before,
    None if there were none, and after are kept apart, so that a step that is done twice gives the same. With ``idf``
    the table holds tf-idf of length one, otherwise log(1 + count). Also the documents of each class.
    """
    from isthmus.classify.cocc.block_kernels import list_moves, row_lengths

    rows = block.rows
    weights = log_weights(rows)
    labels = by.labels(block, rows)
    old = np.full(len(rows), -1, dtype=np.int32) if before is None else kept_labels(block, before)
    block.keep(after, {"labels": labels})
    if idf is not None:
        values = weights / _ONE
        lengths = np.maximum(row_lengths(rows.indptr, rows.indices, values, idf), 1e-300)
        units = values * idf[rows.indices] / np.repeat(lengths, np.diff(rows.indptr))
        weights = np.rint(units * _ONE).astype(np.int64)
    places, moved = list_moves(rows.indptr, rows.indices, weights, old, labels, n_classes)
    change = TableChange((rows.n_columns, n_classes), None, [places], [moved])
    return change.folded() if change.is_long() else change, np.bincount(labels, minlength=n_classes)


def score_block(
    rows: RowBlock, word_scores: np.ndarray, word_weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """As ``score_rows``, entry by entry, of counts; and the rows' lengths."""
    from isthmus.classify.cocc.block_kernels import row_lengths, row_sums
    from isthmus.features.block_kernels import row_scores

    values = log_weights(rows) / _ONE
    scores = row_scores(rows.indptr, rows.indices, values, word_scores, np.zeros(word_scores.shape[1]))
    if word_weights is not None:
        lengths = row_lengths(rows.indptr, rows.indices, values, word_weights)
        scores /= np.where(lengths > 0, lengths, 1.0)[:, None]
    return scores, row_sums(rows.indptr, values)


# -- what the search works on ------------------------------------------------------------------------------------------


@dataclass
class TargetTotals:
    """What the search must know of the target."""

    word_totals: np.ndarray
    n_rows: int
    information: float = 0.0

    @property
    def total(self) -> float:
        return float(self.word_totals.sum())


class PassedDocuments:
    """Documents of blocks in their clusters; the blocks keep where, under ``name``."""

    keeps_ties = False

    def __init__(self, passes: Passes, name: str, table: np.ndarray, runs: Any = None):
        self.passes = passes
        self.name = name
        self.table = table
        self._runs = runs or count(1)
        self._first = name
        self._run = 0
        self._step = 0

    @property
    def counts(self) -> np.ndarray:
        return self.table / _ONE

    def copy(self) -> PassedDocuments:
        """The same places, for a run of its own: the places of this one stay."""
        own = PassedDocuments(self.passes, self.name, self.table, self._runs)
        own._run = next(self._runs)
        return own

    def move(self, words: np.ndarray, logs: np.ndarray) -> int:
        self._step += 1
        phase = f"co-clustering, run {self._run}, step {self._step}"
        by, before, after = ByWordClusters(words.astype(np.int32), logs), self.name, f"placed-{self._run}-{self._step}"
        arguments = by, self.table.shape[1], before, after, None
        change, _ = self.passes.sum(move_documents, "target", *arguments, phase=phase, add=add_tuples)
        if before != self._first:
            self.passes.forget(before)
        table = change.added_to(self.table)
        changed = not np.array_equal(table, self.table)
        self.table, self.name = table, after
        return int(changed)


class PassedSettling:
    """Documents of blocks that settle at the centroids of their classes."""

    fit = None

    def __init__(self, passes: Passes, placed: PassedDocuments, mapping: np.ndarray, idf: np.ndarray):
        self.passes = passes
        self.idf = idf
        self.table = np.zeros_like(placed.table)
        self._step = 0
        self._place(ByClusters(placed.name, mapping), None)

    @property
    def sums(self) -> np.ndarray:
        return self.table / _ONE

    def move(self, centroids: np.ndarray) -> int:
        before = self.table
        scores = np.ascontiguousarray(centroids * self.idf[:, None])
        self._place(ByTerms(scores, np.zeros(scores.shape[1])), f"settled-{self._step}")
        self.passes.forget(f"settled-{self._step - 1}")
        return int(not np.array_equal(self.table, before))

    def _place(self, by: Any, before: str | None) -> None:
        if before is not None:
            self._step += 1
        arguments = by, self.table.shape[1], before, f"settled-{self._step}", self.idf
        phase = f"settling, round {self._step}"
        change, self.sizes = self.passes.sum(move_documents, "target", *arguments, phase=phase, add=add_tuples)
        self.table = change.added_to(self.table)


class PassedProblem:
    """What co-clustering needs of both domains, by passes over their blocks."""

    fixed = None

    def __init__(self, passes: Passes):
        self.passes = passes
        self.n_words, self.n_classes = passes.n_columns, len(passes.classes)
        phase = "counting words per class"
        table, documents = passes.sum(class_table, "source", self.n_classes, phase=phase, add=add_tuples)
        self.class_counts, self.priors = table / _ONE, documents.astype(float)
        totals, self._own = passes.sum(target_totals, "target", phase="counting words of the target", add=add_tuples)
        self.target = TargetTotals(totals[:, 0] / _ONE, passes.n_target)

    def measure_information(self) -> None:
        """I(D;W) of the target; it must hold a word."""
        entries, rows = self._own
        words = self.target.word_totals[self.target.word_totals > 0]
        own = (entries - rows) / _ONE - float(words @ np.log(words))
        self.target.information = max(0.0, own / self.target.total + float(np.log(self.target.total)))

    def sketch(self, rng: np.random.Generator) -> np.ndarray:
        """As ``sketch_words``."""
        seed, words = int(rng.integers(2**63)), None
        for _ in range(2):
            sums = self.passes.sum(sketch_block, "both", seed, words, phase="sketching words")
            words = unit_rows(sums / _ONE)
        assert words is not None
        return unit_rows(words - words.mean(axis=0))

    def start(self) -> PassedDocuments:
        by = ByTerms(*naive_bayes_scores(self.class_counts, self.priors))
        arguments = by, self.n_classes, None, "placed-start", None
        change, _ = self.passes.sum(move_documents, "target", *arguments, phase="placing documents", add=add_tuples)
        table = change.added_to(np.zeros((self.n_words, self.n_classes), dtype=np.int64))
        return PassedDocuments(self.passes, "placed-start", table)

    def idf(self) -> np.ndarray:
        return self.passes.idf

    def settling(self, placed: PassedDocuments, mapping: np.ndarray, weights: np.ndarray) -> PassedSettling:
        return PassedSettling(self.passes, placed, mapping, weights)

    def calibration_rows(self) -> Iterable[tuple[Any, np.ndarray]]:
        sample = self.passes.sample
        if len(sample.codes) < _ENOUGH:
            return []
        rows = sample.rows
        return [(rows.matrix(log_weights(rows) / _ONE), sample.codes)]
