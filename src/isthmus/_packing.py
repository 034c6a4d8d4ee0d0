"""Names and texts in a few large pieces, for whoever keeps them on disk.

A saved model is a tree of nodes, one per object. Thousands of labels, each a node of its own, take longer to read back
than everything else in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

_PACKED = "_packed"


def pack_names(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state with arrays of names as numbers and a list of the distinct names; see :func:`unpack_names`."""
    arrays = {name: value for name, value in state.items() if _is_names(value)}
    if not arrays:
        return dict(state)
    packed = {}
    for name, values in arrays.items():
        place = {value: number for number, value in enumerate(dict.fromkeys(values.tolist()))}
        packed[name] = {"names": list(place), "codes": np.array([place[value] for value in values], dtype=np.int32)}
    return {**{name: value for name, value in state.items() if name not in arrays}, _PACKED: packed}


def unpack_names(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state as it was before :func:`pack_names`; one that was never packed stays as it is."""
    packed = state.get(_PACKED, {})
    arrays = {}
    for name, part in packed.items():
        names = np.empty(len(part["names"]), dtype=object)
        names[:] = part["names"]
        arrays[name] = names[part["codes"]]
    return {**{name: value for name, value in state.items() if name != _PACKED}, **arrays}


def _is_names(value: Any) -> bool:
    """Whether it is an array of str and None alone; other types would not come back."""
    if not isinstance(value, np.ndarray) or value.dtype != object or value.ndim != 1 or not len(value):
        return False
    return all(one is None or type(one) is str for one in value)


def pack_texts(texts: list[str]) -> dict[str, Any]:
    """Texts as one, with the place where each ends."""
    return {"text": "".join(texts), "ends": np.cumsum([len(text) for text in texts], dtype=np.int64)}


def unpack_texts(packed: Mapping[str, Any]) -> list[str]:
    ends = packed["ends"].tolist()
    return [packed["text"][start:end] for start, end in zip([0, *ends], ends, strict=False)]
