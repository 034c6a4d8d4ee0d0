"""Compiled loops over the documents of a block."""

from __future__ import annotations

import math

import numpy as np

from isthmus._math.compiled import compiled


@compiled
def weigh_rows(indptr, indices, counts, idf, logs):
    values = np.empty(counts.shape[0])
    for row in range(indptr.shape[0] - 1):
        square = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            value = logs[counts[at]] * idf[indices[at]]
            values[at] = value
            square += value * value
        length = math.sqrt(square) if square > 0.0 else 1.0
        for at in range(indptr[row], indptr[row + 1]):
            values[at] /= length
    return values


@compiled
def row_scores(indptr, indices, values, weights, bias):
    n_classes = weights.shape[1]
    scores = np.empty((indptr.shape[0] - 1, n_classes))
    for row in range(indptr.shape[0] - 1):
        for c in range(n_classes):
            scores[row, c] = bias[c]
        for at in range(indptr[row], indptr[row + 1]):
            value = values[at]
            for c in range(n_classes):
                scores[row, c] += value * weights[indices[at], c]
    return scores


@compiled
def best_classes(scores, power):
    """Class of each row by its scores, and the probability it gets from softmax(power · scores)."""
    labels = np.empty(scores.shape[0], np.int32)
    confidence = np.empty(scores.shape[0])
    for row in range(scores.shape[0]):
        best = 0
        for c in range(1, scores.shape[1]):
            if scores[row, c] > scores[row, best]:
                best = c
        total = 0.0
        for c in range(scores.shape[1]):
            total += math.exp(power * (scores[row, c] - scores[row, best]))
        labels[row] = best
        confidence[row] = 1.0 / total
    return labels, confidence


@compiled
def log_softmax(scores):
    out = np.empty_like(scores)
    for row in range(scores.shape[0]):
        highest = scores[row, 0]
        for c in range(1, scores.shape[1]):
            highest = max(highest, scores[row, c])
        total = 0.0
        for c in range(scores.shape[1]):
            total += math.exp(scores[row, c] - highest)
        for c in range(scores.shape[1]):
            out[row, c] = scores[row, c] - highest - math.log(total)
    return out


@compiled
def histogram(labels, values, n_classes, bins):
    """How many rows of each class have a value (0 to 1) in each of ``bins`` equal steps; rows of class -1 are none."""
    table = np.zeros((n_classes, bins), np.int64)
    for row in range(labels.shape[0]):
        if labels[row] >= 0:
            table[labels[row], min(bins - 1, int(values[row] * bins))] += 1
    return table


@compiled
def add_under(indptr, indices, weights, labels, table):
    for row in range(indptr.shape[0] - 1):
        if labels[row] >= 0:
            for at in range(indptr[row], indptr[row + 1]):
                table[indices[at], labels[row]] += weights[at]


# -- Term projection


@compiled
def class_sums(indptr, indices, counts, term_class, weight, n_classes):
    """Σ count · weight over the terms of each class; terms of class -1 are left out."""
    sums = np.zeros((indptr.shape[0] - 1, n_classes))
    for row in range(indptr.shape[0] - 1):
        for at in range(indptr[row], indptr[row + 1]):
            term = indices[at]
            if term_class[term] >= 0:
                sums[row, term_class[term]] += counts[at] * weight[term]
    return sums


@compiled
def leading_shares(features):
    """Class with the largest feature of each row, and by how much its share of the row leads; the first of equals."""
    labels = np.zeros(features.shape[0], np.int32)
    margins = np.zeros(features.shape[0])
    for row in range(features.shape[0]):
        total, first, second = 0.0, 0.0, 0.0
        for c in range(features.shape[1]):
            value = features[row, c]
            total += value
            if value > first:
                first, second = value, first
                labels[row] = c
            elif value > second:
                second = value
        if total > 0.0:
            margins[row] = first / total - second / total
    return labels, margins


@compiled
def best_by_weights(indptr, indices, counts, column, idf, weights, bias):
    """Place with the largest score of each row's tf-idf, rows of length one and 1 + log(count), the first of equals.

    ``column`` leads to the few terms that weigh something, -1 for the others, so that their tables stay in fast memory.
    """
    best = np.zeros(indptr.shape[0] - 1, np.int32)
    scores = np.empty(bias.shape[0])
    for row in range(best.shape[0]):
        scores[:] = 0.0
        square = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            term = column[indices[at]]
            if term >= 0:
                value = idf[term] if counts[at] == 1 else (1.0 + math.log(counts[at])) * idf[term]
                square += value * value
                for c in range(scores.shape[0]):
                    scores[c] += value * weights[term, c]
        length = math.sqrt(square) if square > 0.0 else 1.0
        for c in range(scores.shape[0]):
            scores[c] = scores[c] / length + bias[c]
            if scores[c] > scores[best[row]]:
                best[row] = c
    return best
