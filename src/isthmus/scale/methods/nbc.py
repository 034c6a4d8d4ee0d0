"""Naive Bayes: one sum of counts per word and class."""

from __future__ import annotations

import numpy as np

from isthmus.scale.methods.base import LinearModel, Problem, load
from isthmus.scale.methods.counts import ClassCounts
from isthmus.scale.pieces import Job, Piece


def class_statistics(piece: Piece, job: Job, rows: tuple[str, int], n_classes: int) -> ClassCounts:
    """Occurrences and documents of each term in each class of a source piece."""
    block = load(piece, job, rows)
    assert block.codes is not None
    labelled = np.flatnonzero(block.codes >= 0)
    return ClassCounts.of(block, labelled, block.codes[labelled], n_classes)


def fit(problem: Problem) -> LinearModel:
    """Multinomial naive Bayes with add-one smoothing, as scikit-learn's."""
    n_classes = len(problem.classes)
    phase = "counting words per class"
    stats = problem.sum(class_statistics, problem.source, problem.rows, n_classes, phase=phase).total()
    raised = stats.per_class(stats.occurrences).toarray() + 1.0
    weights = np.log(raised) - np.log(raised.sum(axis=0))
    bias = np.log(stats.class_documents / stats.class_documents.sum())
    return LinearModel(problem.rows, np.ascontiguousarray(weights), bias)
