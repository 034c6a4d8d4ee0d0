"""Compiled passes of linear models over the documents of a block, in fixed point; importing this module loads numba."""

from __future__ import annotations

import math

import numpy as np

from isthmus._math.compiled import compiled


@compiled
def _add_row(indptr, indices, values, row, slope, scale, out):
    """Add slope × row to the first rows of ``out`` and the slope itself to the one before the last, in fixed point."""
    width = slope.shape[0]
    for at in range(indptr[row], indptr[row + 1]):
        for c in range(width):
            out[indices[at], c] += np.int64(np.rint(slope[c] * values[at] * scale))
    for c in range(width):
        out[out.shape[0] - 2, c] += np.int64(np.rint(slope[c] * scale))


@compiled
def logistic_pass(indptr, indices, values, codes, scores, moved, curved, scale, out):
    """Gradient and loss of logistic regression, or its Hessian times a direction whose scores are ``moved``.

    One column of scores: the second of two classes against the first. Rows without a class are left out.
    """
    width = scores.shape[1]
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
                slope[0] = chance[0] * (1.0 - chance[0]) * moved[row, 0]
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
                mean += chance[c] * moved[row, c]
            loss = math.log(total) + highest - scores[row, codes[row]]
            for c in range(width):
                slope[c] = (
                    chance[c] * (moved[row, c] - mean) if curved else chance[c] - (1.0 if c == codes[row] else 0.0)
                )
        out[last, 0] += np.int64(np.rint(min(loss, 60.0) * scale))
        _add_row(indptr, indices, values, row, slope, scale, out)


@compiled
def hinge_pass(indptr, indices, values, codes, scores, moved, curved, scale, out):
    """The same for the squared hinge, one class against the others."""
    width = scores.shape[1]
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
                slope[c] = 2.0 * moved[row, c] if curved else -2.0 * sign * slack
        out[last, 0] += np.int64(np.rint(min(loss, 60.0) * scale))
        _add_row(indptr, indices, values, row, slope, scale, out)
