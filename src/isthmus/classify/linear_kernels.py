"""Compiled passes of linear models over the documents of a block, in fixed point; importing this module loads numba."""

from __future__ import annotations

import math

import numpy as np

from isthmus._math.compiled import compiled

# A row is known by its counts, the level of each count (1 + log, or the count itself), and its length with the idf in
# it. The idf of a column is a factor of all its entries: who calls has put it into the weights, and puts it into the
# sums, so that the loops need not fetch it for every entry.


@compiled
def row_lengths(indptr, indices, counts, idf, levels):
    lengths = np.empty(indptr.shape[0] - 1)
    for row in range(lengths.shape[0]):
        square = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            value = levels[counts[at]] * idf[indices[at]]
            square += value * value
        lengths[row] = math.sqrt(square) if square > 0.0 else 1.0
    return lengths


@compiled
def level_scores(indptr, indices, counts, levels, lengths, codes, weights, bias):
    """Scores of the rows that have a class; those of the others are left at nothing.

    One and two columns, which two classes have, are added up in registers: three times as fast.
    """
    width = weights.shape[1]
    scores = np.zeros((lengths.shape[0], width))
    for row in range(lengths.shape[0]):
        if codes[row] < 0:
            continue
        if width == 1:
            first = 0.0
            for at in range(indptr[row], indptr[row + 1]):
                first += levels[counts[at]] * weights[indices[at], 0]
            scores[row, 0] = first
        elif width == 2:
            first, second = 0.0, 0.0
            for at in range(indptr[row], indptr[row + 1]):
                level = levels[counts[at]]
                first += level * weights[indices[at], 0]
                second += level * weights[indices[at], 1]
            scores[row, 0], scores[row, 1] = first, second
        else:
            for at in range(indptr[row], indptr[row + 1]):
                level = levels[counts[at]]
                for c in range(width):
                    scores[row, c] += level * weights[indices[at], c]
        for c in range(width):
            scores[row, c] = scores[row, c] / lengths[row] + bias[c]
    return scores


@compiled
def _add_row(indptr, indices, counts, levels, length, row, slope, scale, out):
    """Add slope × row to the first rows of ``out`` and the slope itself to the one before the last, in fixed point."""
    width = slope.shape[0]
    if width == 1:
        own = slope[0] / length * scale
        for at in range(indptr[row], indptr[row + 1]):
            out[indices[at], 0] += np.int64(np.rint(own * levels[counts[at]]))
    else:
        for at in range(indptr[row], indptr[row + 1]):
            part = levels[counts[at]] / length * scale
            for c in range(width):
                out[indices[at], c] += np.int64(np.rint(slope[c] * part))
    for c in range(width):
        out[out.shape[0] - 2, c] += np.int64(np.rint(slope[c] * scale))


@compiled
def logistic_pass(indptr, indices, counts, levels, lengths, codes, scores, curved, scale, out):
    """Gradient and loss of logistic regression, or its Hessian times a direction, whose scores stand behind the others.

    One column of scores: the second of two classes against the first. Rows without a class are left out.
    """
    width = out.shape[1]
    chance, slope = np.empty(width), np.empty(width)
    last = out.shape[0] - 1
    for row in range(scores.shape[0]):
        if codes[row] < 0:
            continue
        if width == 1:
            score = scores[row, 0]
            small = math.exp(-abs(score))
            chance[0] = 1.0 / (1.0 + small) if score >= 0 else small / (1.0 + small)
            loss = math.log(1.0 + small) + max(score, 0.0) - (score if codes[row] == 1 else 0.0)
            slope[0] = chance[0] - (1.0 if codes[row] == 1 else 0.0)
            if curved:
                slope[0] = chance[0] * (1.0 - chance[0]) * scores[row, 1]
        else:
            highest = scores[row, 0]
            for c in range(1, width):
                highest = max(highest, scores[row, c])
            total = 0.0
            for c in range(width):
                chance[c] = math.exp(scores[row, c] - highest)
                total += chance[c]
            mean = 0.0
            for c in range(width):
                chance[c] /= total
                mean += chance[c] * scores[row, width + c]
            loss = math.log(total) + highest - scores[row, codes[row]]
            for c in range(width):
                slope[c] = (
                    chance[c] * (scores[row, width + c] - mean)
                    if curved
                    else chance[c] - (1.0 if c == codes[row] else 0.0)
                )
        out[last, 0] += np.int64(np.rint(min(loss, 60.0) * scale))
        _add_row(indptr, indices, counts, levels, lengths[row], row, slope, scale, out)


@compiled
def hinge_pass(indptr, indices, counts, levels, lengths, codes, scores, curved, scale, out):
    """The same for the squared hinge, one class against the others."""
    width = out.shape[1]
    slope = np.empty(width)
    last = out.shape[0] - 1
    for row in range(scores.shape[0]):
        if codes[row] < 0:
            continue
        loss = 0.0
        for c in range(width):
            sign = 1.0 if (codes[row] == 1 if width == 1 else codes[row] == c) else -1.0
            slack = 1.0 - sign * scores[row, c]
            slope[c] = 0.0
            if slack > 0.0:
                loss += slack * slack
                slope[c] = 2.0 * scores[row, width + c] if curved else -2.0 * sign * slack
        out[last, 0] += np.int64(np.rint(min(loss, 60.0) * scale))
        _add_row(indptr, indices, counts, levels, lengths[row], row, slope, scale, out)
