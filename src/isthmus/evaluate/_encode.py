"""Labels of any kind to integer codes over one shared list of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus._validation import is_missing
from isthmus.exceptions import DataError

_NUMBERS = "biuf"


def label_array(labels: Any, name: str) -> np.ndarray:
    """One-dimensional array of labels that keeps every label's own type."""
    array = np.asarray(labels) if not isinstance(labels, (list, tuple)) else _from_sequence(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{name} has shape {array.shape}; give one label per row.", code="bad-labels")
    return array


def shared_codes(*columns: Any, names: tuple[str, ...]) -> tuple[list[np.ndarray], list]:
    """Codes of several label columns over the union of their labels, and that union.

    The union is sorted where its labels can be compared, otherwise in order of first appearance. Labels are equal when
    Python says so: ``1``, ``1.0`` and ``True`` are one label, ``1`` and ``"1"`` are two.
    """
    arrays = [label_array(column, name) for column, name in zip(columns, names, strict=True)]
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        found = ", ".join(f"{name} has {len(array)}" for name, array in zip(names, arrays, strict=True))
        raise DataError(f"Labels of the same rows differ in number: {found}.", code="length-mismatch")
    if not len(arrays[0]):
        raise DataError(f"{names[0]} is empty; give at least one label to score.", code="no-rows")
    kinds = {array.dtype.kind for array in arrays}
    if kinds <= set(_NUMBERS) or kinds == {"U"}:
        values, codes = np.unique(np.concatenate(arrays), return_inverse=True)
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise _missing(names)
        return list(np.split(codes.reshape(-1), len(arrays))), values.tolist()
    return _codes_of_objects(arrays, names)


def _from_sequence(labels: list | tuple) -> np.ndarray:
    # numpy would turn [1, "a"] into strings; objects keep 1 apart from "1".
    same_kind = len({isinstance(label, str) for label in labels}) <= 1
    if same_kind and not any(label is None for label in labels):
        return np.asarray(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _codes_of_objects(arrays: list[np.ndarray], names: tuple[str, ...]) -> tuple[list[np.ndarray], list]:
    seen: dict[Any, int] = {}
    codes = []
    for array in arrays:
        column = array.tolist()
        if any(is_missing(label) for label in column):
            raise _missing(names)
        codes.append(np.array([seen.setdefault(label, len(seen)) for label in column], dtype=np.int64))
    values = list(seen)
    try:
        order = sorted(range(len(values)), key=values.__getitem__)
    except TypeError:  # labels of kinds that cannot be compared keep the order in which they came
        return codes, values
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return [rank[column] for column in codes], [values[i] for i in order]


def _missing(names: tuple[str, ...]) -> DataError:
    return DataError(
        f"{' or '.join(names)} holds missing labels (None or NaN); score only rows whose label is known.",
        code="bad-labels",
    )
