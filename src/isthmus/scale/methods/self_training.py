"""Self-training by rounds: the surest target documents of each class join the training set under their labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from isthmus.classify.baselines.self_training import SelfTrainingTransferClassifier
from isthmus.scale._kernels import best_classes, histogram
from isthmus.scale.methods.base import LinearModel, Problem
from isthmus.scale.methods.linear import Solver, as_model, make_objective, start_point
from isthmus.scale.methods.projection import BINS, least_bins
from isthmus.scale.pieces import Job, Piece


def confidence_histogram(piece: Piece, job: Job, model: LinearModel, n_classes: int) -> np.ndarray:
    labels, confidence = best_classes(model.piece_scores(piece, job)[0], 1.0)
    return histogram(labels, confidence, n_classes, BINS)


def keep_surest(piece: Piece, job: Job, model: LinearModel, least: np.ndarray, place: str) -> int:
    """Keep the labels of a piece's surest documents, -1 for the others; how many there are."""
    labels, confidence = best_classes(model.piece_scores(piece, job)[0], 1.0)
    steps = np.minimum(BINS - 1, (confidence * BINS).astype(np.int64))
    codes = np.where(steps >= least[labels], labels, -1).astype(np.int32)
    job.store.save(f"{place}/{piece.number}", {"codes": codes})
    return int((codes >= 0).sum())


def fit(problem: Problem) -> LinearModel:
    """As the recipe: logistic regression, in round i the surest i tenths of the target, each round from the last."""
    rounds, n_classes = SelfTrainingTransferClassifier().max_iter, len(problem.classes)
    n_rows = problem.n_source + problem.n_target
    what = make_objective(problem, "logistic", penalty=10.0, sublinear=True, n_rows=n_rows)
    point = Solver(problem, problem.source, what, "self-training, source").minimise(start_point(problem, what))
    for number in range(1, rounds + 1):
        model, phase = as_model(problem, what, point), f"self-training, round {number} of {rounds}"
        counts = problem.sum(confidence_histogram, problem.target, model, n_classes, phase=phase)
        least = least_bins(counts, number / rounds)
        place = f"pseudo/{number}"
        problem.sum(keep_surest, problem.target, model, least, place, phase=phase)
        pieces = [*problem.source, *problem.target]
        point = Solver(problem, pieces, replace(what, pseudo=place), phase).minimise(point)
    return as_model(problem, what, point)
