"""Co-clustering over blocks: word × cluster tables travel, the documents' clusters never do.

A document's cluster follows from the tables alone (the first of equals), so no labels are kept between steps. A count
enters as log(1 + count), rounded to a multiple of 2⁻²⁰, and everything that is added up is an integer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._math.cocc import Search, document_logs, match_clusters, naive_bayes_scores, smooth_source
from isthmus._math.content import content_noise
from isthmus._progress import progress
from isthmus.classify.cocc.classifier import DEFAULT_WORD_CLUSTERS, CoClusteringClassifier, _finite, _generator
from isthmus.classify.cocc.refine import unit_columns
from isthmus.classify.cocc.scores import calibrate
from isthmus.classify.cocc.start import SKETCH_WIDTH, _unit, group_words
from isthmus.exceptions import DataError
from isthmus.scale._kernels import (
    add_products,
    add_under,
    best_classes,
    own_information,
    row_lengths,
    row_scores,
    row_sums,
    unit_rows,
)
from isthmus.scale.methods.base import Problem, RowModel, load
from isthmus.scale.pieces import Job, Piece
from isthmus.scale.views import RowBlock

_BITS = 20
_ONE = 1 << _BITS
_REFINE = 50  # rounds in which documents settle


def log_weights(rows: RowBlock) -> np.ndarray:
    """log(1 + count) of the entries as integers, in units of 2⁻²⁰."""
    most = int(rows.counts.max(initial=1))
    table = np.array([round(float(np.log1p(count)) * _ONE) for count in range(most + 1)], dtype=np.int64)
    return table[rows.counts]


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


def cluster_table(piece: Piece, job: Job, rows: tuple[str, int], scores: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Words × clusters of a target piece, each document in the cluster of its largest score."""
    block = load(piece, job, rows)
    weights = log_weights(block)
    labels, _ = best_classes(row_scores(block.indptr, block.indices, weights / _ONE, scores, bias), 1.0)
    table = np.zeros(scores.shape, dtype=np.int64)
    add_under(block.indptr, block.indices, weights, labels, table)
    return table


def centroid_sums(
    piece: Piece, job: Job, rows: tuple[str, int], scores: np.ndarray, idf: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """tf-idf rows of length one of a target piece, added up by the class of their largest score; documents a class."""
    block = load(piece, job, rows)
    values = log_weights(block) / _ONE
    own = row_scores(block.indptr, block.indices, values, scores, np.zeros(scores.shape[1]))
    labels, _ = best_classes(own, 1.0)
    lengths = np.maximum(row_lengths(block.indptr, block.indices, values, idf), 1e-300)
    units = np.rint(values * idf[block.indices] / np.repeat(lengths, np.diff(block.indptr)) * _ONE).astype(np.int64)
    sums = np.zeros(scores.shape, dtype=np.int64)
    add_under(block.indptr, block.indices, units, labels, sums)
    return sums, np.bincount(labels, minlength=scores.shape[1])


def _add(a: tuple, b: tuple) -> tuple:
    return tuple(x + y for x, y in zip(a, b, strict=True))


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
        table, documents = problem.sum(
            class_table, problem.source, problem.rows, self.n_classes, phase="counting words per class", add=_add
        )
        self.class_counts, self.priors = table / _ONE, documents.astype(float)
        totals, (entries, rows) = problem.sum(
            target_totals, problem.target, problem.rows, phase="counting words of the target", add=_add
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

    def document_step(self, scores: np.ndarray, bias: np.ndarray, phase: str) -> np.ndarray:
        return self.problem.sum(cluster_table, self.problem.target, self.problem.rows, scores, bias, phase=phase)

    def search(self, words: np.ndarray, counts: np.ndarray, k: int, max_iter: int, tol: float, phase: str) -> _Found:
        """One run of word and document steps from word clusters and a words × clusters table."""
        state = Search(self.target, self.source, k, self.settings.trade_off, self.settings.smoothing)  # type: ignore[arg-type]
        words = words.astype(np.int64).copy()
        state.place(counts / _ONE)
        state.tables(words)
        history = [state.objective()]
        for step in range(1, max_iter + 1):
            changed = state.word_step(words)
            state.tables(words)
            logs = np.ascontiguousarray(np.maximum(document_logs(state.target_table), -1e300)[words])
            new = self.document_step(logs, np.zeros(self.n_classes), f"{phase}, step {step}")
            moved = not np.array_equal(new, counts)
            counts = new
            state.place(counts / _ONE)
            state.tables(words)
            history.append(state.objective())
            gained = history[-2] - history[-1]
            if not (changed or moved) or gained <= tol * (history[0] - history[-1]):
                break
        return _Found(words, counts, state.target_table, state.source_table, history, logs)


@dataclass
class _Found:
    words: np.ndarray
    counts: np.ndarray
    target_table: np.ndarray
    source_table: np.ndarray
    history: list[float]
    document_scores: np.ndarray  # by which the documents were last placed


def fit(problem: Problem) -> CoccModel:
    """As :class:`isthmus.CoClusteringClassifier` with its default settings."""
    work = _CoClusterer(problem)
    rng = _generator(problem.random_state)
    vectors = work.vectors(rng)
    k = min(DEFAULT_WORD_CLUSTERS, max(2, work.n_words // 2), work.n_words)
    start = work.document_step(*naive_bayes_scores(work.class_counts, work.priors), "placing documents")
    runs = []
    n_init, settings = work.settings.n_init, work.settings
    for number, seeds in enumerate(rng.spawn(n_init), 1):
        phase = f"co-clustering, start {number} of {n_init}"
        runs.append(work.search(group_words(vectors, k, seeds), start, k, settings.max_iter, settings.tol, phase))
        progress("co-clustering", number, n_init, objective=runs[-1].history[-1])
    best = min(runs, key=lambda run: run.history[-1])
    best = work.search(best.words, best.counts, k, settings.max_iter, 0.0, "co-clustering, to the end")
    return _finish(problem, work, best)


def _finish(problem: Problem, work: _CoClusterer, best: _Found) -> CoccModel:
    mapping, _ = match_clusters(best.target_table, best.source_table)
    by_class = np.argsort(mapping)
    scores = _finite(document_logs(best.target_table[:, by_class])[best.words])
    model = CoccModel(problem.rows, scores, None)
    settled = _settle(problem, np.ascontiguousarray(best.document_scores[:, by_class]))
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


def _settle(problem: Problem, scores: np.ndarray) -> np.ndarray | None:
    """Centroids at which the documents settle; None where a class would lose half of its documents."""
    idf = problem.view.idf
    arguments = problem.target, problem.rows
    sums, before = problem.sum(centroid_sums, *arguments, scores, idf, phase="settling", add=_add)
    for step in range(1, _REFINE + 1):
        centroids = unit_columns(sums / _ONE)
        new, documents = problem.sum(
            centroid_sums, *arguments, centroids * idf[:, None], idf, phase=f"settling, round {step}", add=_add
        )
        if np.any(2 * documents < before):
            return None
        if np.array_equal(new, sums):
            break
        sums = new
    return centroids
