"""A column of vectors: lists of numbers, or texts that write them ("[0.1, -2]", "0.1 -2")."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.exceptions import DataError


def read_vectors(values: Sequence, column: str, name: str) -> np.ndarray:
    """One row of numbers per cell, all of one length, or a sentence that names the first cell that is not one.

    >>> read_vectors(["[1, 2]", [3, 4.5]], "vector", "a.csv").tolist()
    [[1.0, 2.0], [3.0, 4.5]]
    """
    rows: list[list[float]] = []
    for place, value in enumerate(values, 1):
        row = _numbers(value)
        if row is None or (rows and len(row) != len(rows[0])):
            length = f" of {len(rows[0])} numbers, as the cells before it" if rows else ""
            raise DataError(
                f"Row {place:,} of the column {column!r} of {name} holds no vector{length}; write each as [0.1, 0.2].",
                code="length-mismatch",
            )
        rows.append(row)
    return np.array(rows, dtype=np.float32)


def _numbers(value: Any) -> list[float] | None:
    if isinstance(value, str):
        text = value.strip()
        try:
            value = json.loads(text) if text.startswith("[") else text.replace(",", " ").split()
        except ValueError:
            return None
    try:
        row = [float(number) for number in value]
    except (TypeError, ValueError):
        return None
    return row or None
