"""Co-clustering over blocks: word × cluster tables travel, the documents' clusters never do.

A document's cluster follows from the tables alone (the first of equals). Where it was before is kept beside its block,
so that a step adds up only what moved. A count enters as log(1 + count), rounded to a multiple of 2⁻²⁰, and everything
that is added up is an integer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isthmus._math.cocc import Search, document_logs, match_clusters, naive_bayes_scores, smooth_source
from isthmus._math.content import content_noise
from isthmus._progress import progress
from isthmus.classify.cocc.classifier import DEFAULT_WORD_CLUSTERS, CoClusteringClassifier, _finite, _generator
from isthmus.classify.cocc.steps import SKETCH_WIDTH, _unit, calibrate, group_words, unit_columns
from isthmus.exceptions import DataError
from isthmus.scale._kernels import (
    add_at,
    add_products,
    add_under,
    best_by_groups,
    best_by_terms,
    list_moves,
    own_information,
    row_lengths,
    row_scores,
    row_sums,
    unit_rows,
)
from isthmus.scale.methods.base import Problem, RowModel, load
from isthmus.scale.methods.dense import add_tuples
from isthmus.scale.pieces import Job, Piece
from isthmus.scale.views import RowBlock

_BITS = 20
_ONE = 1 << _BITS
_REFINE = 50  # rounds in which documents settle


def log_levels(rows: RowBlock) -> np.ndarray:
    """log(1 + count) of the counts 0, 1, … as integers, in units of 2⁻²⁰."""
    most = int(rows.counts.max(initial=1))
    return np.array([round(float(np.log1p(count)) * _ONE) for count in range(most + 1)], dtype=np.int64)


def log_weights(rows: RowBlock) -> np.ndarray:
    """The same of the entries."""
    return log_levels(rows)[rows.counts]


# -- statistics of a piece ---------------------------------------------------------------------------------------------


def class_table(piece: Piece, job: Job, rows: tuple[str, int], n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Words × classes of a source piece, and its documents per class."""
    block = load(piece, job, rows)
    assert block.codes is not None
    table = np.zeros((block.n_columns, n_classes), dtype=np.int64)
    add_under(block.indptr, block.indices, log_weights(block), block.codes, table)
    return table, np.bincount(block.codes[block.codes >= 0], minlength=n_classes)


def target_totals(piece: Piece, job: Job, rows: tuple[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Weight of every word in a target piece, and what its documents' own information needs."""
    block = load(piece, job, rows)
    weights = log_weights(block)
    totals = np.zeros((block.n_columns, 1), dtype=np.int64)
    add_under(block.indptr, block.indices, weights, np.zeros(len(block), dtype=np.int32), totals)
    return totals, np.array(own_information(block.indptr, weights / _ONE, float(_ONE)), dtype=np.int64)


def sketch(piece: Piece, job: Job, rows: tuple[str, int], seed: int, words: np.ndarray | None) -> np.ndarray:
    """Sum over documents of their vectors, for each word: random ones first, then the mean of their words' vectors."""
    block = load(piece, job, rows)
    values = log_weights(block) / _ONE
    if words is None:
        matrix = block.matrix()
        matrix.data = values
        vectors = np.rint(content_noise(matrix, SKETCH_WIDTH, np.random.default_rng(seed)) * _ONE) / _ONE
    else:
        vectors = row_scores(block.indptr, block.indices, values, words, np.zeros(words.shape[1]))
        unit_rows(vectors)
    out = np.zeros((block.n_columns, SKETCH_WIDTH), dtype=np.int64)
    add_products(block.indptr, block.indices, values, vectors, float(_ONE), out)
    return out


@dataclass(frozen=True)
class ByTerms:
    """Places a document by scores of its terms."""

    scores: np.ndarray
    bias: np.ndarray

    def labels(self, block: RowBlock, levels: np.ndarray) -> np.ndarray:
        return best_by_terms(block.indptr, block.indices, block.counts, levels, self.scores, self.bias)


@dataclass(frozen=True)
class ByWordClusters:
    """Places a document by scores of its terms' clusters."""

    words: np.ndarray
    scores: np.ndarray

    def labels(self, block: RowBlock, levels: np.ndarray) -> np.ndarray:
        return best_by_groups(block.indptr, block.indices, block.counts, levels, self.words, self.scores)

    def of_terms(self) -> np.ndarray:
        return np.ascontiguousarray(self.scores[self.words])


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
        total = table.copy() if self.table is None else table + self.table
        for places, values in zip(self.places, self.values, strict=True):
            add_at(total.reshape(-1), places, values)
        return total


def move_documents(
    piece: Piece,
    job: Job,
    rows: tuple[str, int],
    by: ByTerms | ByWordClusters,
    steps: tuple[str | None, str],
    idf: np.ndarray | None = None,
) -> tuple[TableChange, np.ndarray]:
    """Place the documents of a target piece, keep where, and tell what that changes.

    Few documents move late in a search, so what travels is the change to the table, not the table. ``steps`` names the
    places before, or None, and after: kept apart, so that a step that is done twice gives the same. With ``idf`` the
    table holds tf-idf of length one, otherwise log(1 + count). Gives back the change and the documents of each class.
    """
    block = load(piece, job, rows)
    weights = log_weights(block)
    labels = by.labels(block, log_levels(block) / _ONE)
    before = np.full(len(block), -1, dtype=np.int32)
    if steps[0] is not None:
        before = job.store.load(f"placed/{steps[0]}/{piece.number}")["labels"]
    job.store.save(f"placed/{steps[1]}/{piece.number}", {"labels": labels})
    if idf is not None:
        values = weights / _ONE
        lengths = np.maximum(row_lengths(block.indptr, block.indices, values, idf), 1e-300)
        units = values * idf[block.indices] / np.repeat(lengths, np.diff(block.indptr))
        weights = np.rint(units * _ONE).astype(np.int64)
    n_classes = by.scores.shape[1]
    places, moved = list_moves(block.indptr, block.indices, weights, before, labels, n_classes)
    change = TableChange((block.n_columns, n_classes), None, [places], [moved])
    return change.folded() if change.is_long() else change, np.bincount(labels, minlength=n_classes)


# -- the model ---------------------------------------------------------------------------------------------------------


@dataclass
class CoccModel(RowModel):
    """Scores by the co-clustering's tables, or cosines with the centroids at which documents settled."""

    rows: tuple[str, int]
    word_scores: np.ndarray
    word_weights: np.ndarray | None
    length_power: float = 0.0
    inverse_temperature: float = 1.0

    def raw(self, rows: RowBlock) -> tuple[np.ndarray, np.ndarray]:
        """Scores before calibration, and the rows' lengths."""
        values = log_weights(rows) / _ONE
        scores = row_scores(rows.indptr, rows.indices, values, self.word_scores, np.zeros(self.word_scores.shape[1]))
        if self.word_weights is not None:
            lengths = row_lengths(rows.indptr, rows.indices, values, self.word_weights)
            scores /= np.where(lengths > 0, lengths, 1.0)[:, None]
        return scores, row_sums(rows.indptr, values)

    def scores(self, rows: RowBlock) -> np.ndarray:
        scores, sums = self.raw(rows)
        scale = np.array([max(float(total), 1.0) ** self.length_power for total in sums.tolist()])
        return self.inverse_temperature * scores / scale[:, None]


@dataclass
class _Totals:
    """What the search must know of the target."""

    word_totals: np.ndarray
    information: float

    @property
    def total(self) -> float:
        return float(self.word_totals.sum())


class _CoClusterer:
    def __init__(self, problem: Problem):
        self.problem, self.settings = problem, CoClusteringClassifier()
        self.n_classes, self.n_words = len(problem.classes), problem.view.n_columns
        self.n_clusters = min(DEFAULT_WORD_CLUSTERS, max(2, self.n_words // 2), self.n_words)
        table, documents = problem.sum(
            class_table, problem.source, problem.rows, self.n_classes, phase="counting words per class", add=add_tuples
        )
        self.class_counts, self.priors = table / _ONE, documents.astype(float)
        totals, (entries, rows) = problem.sum(
            target_totals, problem.target, problem.rows, phase="counting words of the target", add=add_tuples
        )
        self.target = _Totals(totals[:, 0] / _ONE, 0.0)
        self._check()
        words = self.target.word_totals[self.target.word_totals > 0]
        own = (entries - rows) / _ONE - float(words @ np.log(words))
        self.target.information = max(0.0, own / self.target.total + float(np.log(self.target.total)))
        self.source = smooth_source(self.class_counts)

    def _check(self) -> None:
        if not np.any((self.class_counts.sum(axis=1) > 0) & (self.target.word_totals > 0)):
            raise DataError(
                "Target and source share no word; co-clustering needs shared words. Check their languages, or try "
                "method strings.",
                code="no-shared-words",
            )

    def vectors(self, rng: np.random.Generator) -> np.ndarray:
        """As ``sketch_words``: a short vector of each word's document profile."""
        seed, both = int(rng.integers(2**63)), [*self.problem.source, *self.problem.target]
        words = None
        for _ in range(2):
            sums = self.problem.sum(sketch, both, self.problem.rows, seed, words, phase="sketching words")
            words = _unit(sums / _ONE)
        assert words is not None
        return _unit(words - words.mean(axis=0))

    def place(self, by: ByTerms | ByWordClusters, steps: tuple[str | None, str], phase: str, idf: Any = None) -> Any:
        """Place all documents; the change to the table and the documents of each class."""
        arguments = self.problem.target, self.problem.rows, by, steps, idf
        return self.problem.sum(move_documents, *arguments, phase=phase, add=add_tuples)

    def forget(self, step: str) -> None:
        self.problem.job.store.drop(f"placed/{step}")

    def search(self, words: np.ndarray, start: _Placed, max_iter: int, tol: float, name: str, phase: str) -> _Found:
        """One run of word and document steps from word clusters and placed documents; ``name`` is the run's own."""
        settings = self.settings
        state = Search(self.target, self.source, self.n_clusters, settings.trade_off, settings.smoothing)  # type: ignore[arg-type]
        words, placed = words.astype(np.int64).copy(), start
        state.place(placed.counts / _ONE)
        state.tables(words)
        history = [state.objective()]
        for step in range(1, max_iter + 1):
            changed = state.word_step(words)
            state.tables(words)
            by = ByWordClusters(words.astype(np.int32), np.maximum(document_logs(state.target_table), -1e300))
            change, _ = self.place(by, (placed.step, f"{name}-{step}"), f"{phase}, step {step}")
            if placed is not start:
                self.forget(placed.step)
            before, placed = placed, _Placed(f"{name}-{step}", change.added_to(placed.counts))
            state.place(placed.counts / _ONE)
            state.tables(words)
            history.append(state.objective())
            gained = history[-2] - history[-1]
            moved = not np.array_equal(placed.counts, before.counts)
            if not (changed or moved) or gained <= tol * (history[0] - history[-1]):
                break
        return _Found(words, placed, state.target_table, state.source_table, history, by)


@dataclass(frozen=True)
class _Placed:
    """Where the documents are: the step under which that is kept, and their words × clusters table."""

    step: str
    counts: np.ndarray


@dataclass
class _Found:
    words: np.ndarray
    placed: _Placed
    target_table: np.ndarray
    source_table: np.ndarray
    history: list[float]
    by: ByWordClusters  # by which the documents were last placed


def fit(problem: Problem) -> CoccModel:
    """As :class:`isthmus.CoClusteringClassifier` with its default settings."""
    work = _CoClusterer(problem)
    rng = _generator(problem.random_state)
    vectors = work.vectors(rng)
    change, _ = work.place(
        ByTerms(*naive_bayes_scores(work.class_counts, work.priors)), (None, "start"), "placing documents"
    )
    start = _Placed("start", change.added_to(np.zeros((work.n_words, work.n_classes), dtype=np.int64)))
    runs = []
    n_init, settings = work.settings.n_init, work.settings
    for number, seeds in enumerate(rng.spawn(n_init), 1):
        phase = f"co-clustering, start {number} of {n_init}"
        words = group_words(vectors, work.n_clusters, seeds)
        runs.append(work.search(words, start, settings.max_iter, settings.tol, str(number), phase))
        progress("co-clustering", number, n_init, objective=runs[-1].history[-1])
    best = min(runs, key=lambda run: run.history[-1])
    best = work.search(best.words, best.placed, settings.max_iter, 0.0, "end", "co-clustering, to the end")
    return _finish(problem, work, best)


def _finish(problem: Problem, work: _CoClusterer, best: _Found) -> CoccModel:
    mapping, _ = match_clusters(best.target_table, best.source_table)
    by_class = np.argsort(mapping)
    scores = _finite(document_logs(best.target_table[:, by_class])[best.words])
    model = CoccModel(problem.rows, scores, None)
    settled = _settle(problem, work, np.ascontiguousarray(best.by.of_terms()[:, by_class]))
    if settled is not None:
        idf = problem.view.idf
        model = CoccModel(problem.rows, np.ascontiguousarray(settled * idf[:, None]), idf)
    rows, codes = problem.sample_rows()
    if len(rows) >= 100:
        model.length_power, model.inverse_temperature = calibrate(*_sample_reader(model, rows, codes))
    return model


def _sample_reader(model: CoccModel, rows: RowBlock, codes: np.ndarray) -> Any:
    """The sample as ``calibrate`` reads it."""
    scores, _ = model.raw(rows)
    matrix = rows.matrix()
    matrix.data = log_weights(rows) / _ONE
    return lambda: [(matrix, codes)], lambda _: scores


def _settle(problem: Problem, work: _CoClusterer, scores: np.ndarray) -> np.ndarray | None:
    """Centroids at which the documents settle; None where a class would lose more than half of its documents."""
    idf, none = problem.view.idf, np.zeros(work.n_classes)
    change, before = work.place(ByTerms(scores, none), (None, "settled-0"), "settling", idf)
    sums = change.added_to(np.zeros(scores.shape, dtype=np.int64))
    for step in range(1, _REFINE + 1):
        centroids = unit_columns(sums / _ONE)
        by, steps = ByTerms(centroids * idf[:, None], none), (f"settled-{step - 1}", f"settled-{step}")
        change, documents = work.place(by, steps, f"settling, round {step}", idf)
        work.forget(steps[0])
        if np.any(2 * documents < before):
            return None
        new = change.added_to(sums)
        if np.array_equal(new, sums):
            break
        sums = new
    return centroids
