"""Dense features in fixed point: with few binary digits every product and sum is exact, in whatever order it is taken.

Features are multiples of 2⁻¹⁵ and at most one; weights get as many digits as a float can add up without rounding. A
matrix product is then the same for every cut into blocks and for every number of threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from isthmus.features.blocks import Block

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


def block_steps(block: Block, name: str, make: Callable[[list[str]], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Features that ``make`` makes of a block's texts, made once, and which of the texts are blank."""
    held = block.kept(name)
    if held is None:
        texts = block.texts()
        held = {"steps": make(texts), "blank": np.array([not text.strip() for text in texts], dtype=bool)}
        block.keep(name, held)
    return held["steps"], held["blank"]
