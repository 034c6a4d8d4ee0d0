"""Naive Bayes: one sum of counts per word and class."""

from __future__ import annotations

import numpy as np

from isthmus._math.chi2 import TermStatistics, count_terms
from isthmus.scale.methods.base import LinearModel, Problem, load
from isthmus.scale.pieces import Job, Piece


def class_statistics(piece: Piece, job: Job, rows: tuple[str, int], n_classes: int) -> TermStatistics:
    """Occurrences and documents of each term in each class of a source piece."""
    block = load(piece, job, rows)
    assert block.codes is not None
    return count_terms(block.matrix(), block.codes, n_classes)


def fit(problem: Problem) -> LinearModel:
    """Multinomial naive Bayes with add-one smoothing, as scikit-learn's."""
    n_classes = len(problem.classes)
    stats = problem.sum(class_statistics, problem.source, problem.rows, n_classes, phase="counting words per class")
    raised = stats.per_class(stats.occurrences).toarray() + 1.0
    weights = np.log(raised) - np.log(raised.sum(axis=0))
    bias = np.log(stats.class_documents / stats.class_documents.sum())
    return LinearModel(problem.rows, np.ascontiguousarray(weights), bias)
