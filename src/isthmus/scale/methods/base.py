"""What the methods share: the problem they are given, and what they give back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from isthmus.scale._kernels import log_softmax, row_scores
from isthmus.scale.pieces import Job, Piece
from isthmus.scale.views import RowBlock, View, load_rows


class Model(Protocol):
    """A fitted method: scores whose softmax are probabilities."""

    def piece_scores(self, piece: Piece, job: Job) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the documents of a piece, and which of them say nothing to the method."""
        ...

    def text_scores(self, texts: Sequence[str], views: Mapping[str, View]) -> np.ndarray:
        """Scores of texts."""
        ...


@dataclass
class Problem:
    """A large input, ready to be learned from.

    Attributes
    ----------
    engine : LocalEngine or DaskEngine
    job : Job
    source, target : sequences of Piece
    classes : ndarray of str
    n_source, n_target : int
        Documents.
    view : View
        Vocabulary that the method reads.
    sample : (texts, labels)
        Labelled source documents, drawn by content.
    target_sample : list of str
        Target documents, drawn likewise.
    """

    engine: Any
    job: Job
    source: Sequence[Piece]
    target: Sequence[Piece]
    classes: np.ndarray
    n_source: int
    n_target: int
    view: View
    sample: tuple[list[str], list[Any]] = field(default_factory=lambda: ([], []))
    target_sample: list[str] = field(default_factory=list)
    random_state: int = 0

    def sum(self, function: Any, pieces: Sequence[Piece], *args: Any, phase: str, **options: Any) -> Any:
        """Statistics of all pieces, added up."""
        return self.engine.sum(function, pieces, self.job, *args, phase=phase, **options)

    @property
    def rows(self) -> tuple[str, int]:
        """What :func:`load` needs to find the rows of a piece."""
        return self.view.name, self.view.n_columns

    def sample_rows(self) -> tuple[RowBlock, np.ndarray]:
        """The sample over the vocabulary, and its class codes."""
        texts, labels = self.sample
        codes = np.searchsorted(self.classes, np.array(labels, dtype=object)).astype(np.int32)
        return self.view.count_texts(texts), codes


def load(piece: Piece, job: Job, rows: tuple[str, int]) -> RowBlock:
    """Rows of a piece."""
    return load_rows(piece, job, *rows)


class RowModel:
    """A method that reads rows over a vocabulary; ``rows`` names them, ``scores`` is its own."""

    rows: tuple[str, int]

    def scores(self, rows: RowBlock) -> np.ndarray:
        raise NotImplementedError

    def piece_scores(self, piece: Piece, job: Job) -> tuple[np.ndarray, np.ndarray]:
        rows = load(piece, job, self.rows)
        return self.scores(rows), np.diff(rows.indptr) == 0

    def text_scores(self, texts: Sequence[str], views: Mapping[str, View]) -> np.ndarray:
        return self.scores(views[self.rows[0]].count_texts(texts))


@dataclass
class LinearModel(RowModel):
    """Σ value · weight + bias over the terms of a document; values are counts or tf-idf."""

    rows: tuple[str, int]
    weights: np.ndarray
    bias: np.ndarray
    idf: np.ndarray | None = None
    sublinear: bool = False
    factor: float = 1.0

    def values(self, rows: RowBlock) -> np.ndarray:
        if self.idf is None:
            return rows.counts.astype(np.float64)
        return rows.tfidf(self.idf, sublinear=self.sublinear)

    def scores(self, rows: RowBlock) -> np.ndarray:
        return self.factor * row_scores(rows.indptr, rows.indices, self.values(rows), self.weights, self.bias)


_FLOOR = 1e-3  # no member can veto a class by calling it impossible


@dataclass
class VotingModel:
    """Weighted geometric mean of several methods' probabilities, as :func:`isthmus.choose.combined.pool`."""

    members: dict[str, Model]
    weights: dict[str, float]

    def _pool(self, scores: Mapping[str, np.ndarray]) -> np.ndarray:
        total = np.zeros_like(next(iter(scores.values())))
        for name, own in scores.items():
            total += self.weights[name] * np.maximum(log_softmax(own), math.log(_FLOOR))
        return total

    def piece_scores(self, piece: Piece, job: Job) -> tuple[np.ndarray, np.ndarray]:
        found = {name: model.piece_scores(piece, job) for name, model in self.members.items()}
        silent = np.all([own for _, own in found.values()], axis=0)
        return self._pool({name: own for name, (own, _) in found.items()}), silent

    def text_scores(self, texts: Sequence[str], views: Mapping[str, View]) -> np.ndarray:
        return self._pool({name: model.text_scores(texts, views) for name, model in self.members.items()})
