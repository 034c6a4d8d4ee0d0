"""Dense features in fixed point: with few binary digits every product and sum is exact, in whatever order it is taken.

Features are multiples of 2⁻¹⁵ and at most one; weights get as many digits as a float can add up without rounding. A
matrix product is then the same for every cut into blocks and for every number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from isthmus.scale.pieces import Job, Piece
from isthmus.scale.views import View

BITS = 15
ONE = 1 << BITS
_WEIGHT_BITS = 26


def as_steps(features: np.ndarray) -> np.ndarray:
    """Features between -1 and 1 as 16-bit integers."""
    return np.clip(np.rint(features * ONE), -ONE + 1, ONE - 1).astype(np.int16)


def exact_product(steps: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """steps/2¹⁵ · weights, the weights rounded so that nothing else is."""
    largest = float(np.abs(weights).max(initial=0.0)) or 1.0
    scale = 2.0 ** np.ceil(np.log2(largest))
    whole = np.rint(weights / scale * 2.0**_WEIGHT_BITS)
    # 15 + 26 bits and the sum of up to 2^11 of them: 52 bits, which a float holds exactly.
    return (steps.astype(np.float64) @ whole) * (scale / 2.0 ** (_WEIGHT_BITS + BITS))


def square_sums(steps: np.ndarray, others: np.ndarray) -> np.ndarray:
    """stepsᵀ · others as integers; both have at most 16 bits, and a block has fewer than 2^21 rows."""
    return np.rint(steps.T.astype(np.float64) @ others.astype(np.float64)).astype(np.int64)


def kept_steps(piece: Piece, job: Job, name: str, make: Callable[[list[str]], np.ndarray]) -> np.ndarray:
    """Features of a piece, made once."""
    place = f"features/{name}/{piece.number}"
    if not job.store.has(place):
        texts = job.texts(piece)
        job.store.save(place, {"steps": make(texts), "silent": np.array([not text.strip() for text in texts])})
    return job.store.load(place)["steps"]


def silent_rows(piece: Piece, job: Job, name: str) -> np.ndarray:
    """Which documents of a piece are blank."""
    return job.store.load(f"features/{name}/{piece.number}")["silent"]


class TextFeatures:
    """A method that makes features of texts by itself; ``name`` tells where they are kept."""

    name = ""

    def steps(self, texts: list[str]) -> np.ndarray:
        raise NotImplementedError

    def step_scores(self, steps: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def piece_scores(self, piece: Piece, job: Job) -> tuple[np.ndarray, np.ndarray]:
        scores = self.step_scores(kept_steps(piece, job, self.name, self.steps))
        return scores, silent_rows(piece, job, self.name)

    def text_scores(self, texts: Sequence[str], views: Mapping[str, View]) -> np.ndarray:
        return self.step_scores(self.steps(list(texts)))


def add_tuples(a: Any, b: Any) -> tuple:
    """Two tuples of sums, member by member."""
    return tuple(x + y for x, y in zip(a, b, strict=True))
