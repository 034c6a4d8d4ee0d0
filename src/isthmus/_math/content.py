"""An order of rows that depends on what they hold and on nothing else.

Methods that draw rows, add them up or break ties between them take the rows in this order. The answer is then the
same, to the last bit, however the caller has sorted them.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

_DENSE_BLOCK = 1 << 22  # cells of a dense array looked at in one go


def content_order(rows: Any, *more: np.ndarray) -> np.ndarray:
    """Row numbers in the order of a hash of the rows' contents; rows alike are ordered by ``more``.

    Parameters
    ----------
    rows : CSR matrix without repeated entries, ndarray of two dimensions, or sequence of str
    *more : ndarrays of int
        What else tells rows apart (domain, label), one number per row.

    Returns
    -------
    ndarray of int
        Two rows that no key tells apart are the same row twice: their places do not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus._math.content import content_order
    >>> rows = ["c", "a", "b"]
    >>> first = [rows[i] for i in content_order(rows)]
    >>> rows = rows[::-1]
    >>> first == [rows[i] for i in content_order(rows)]
    True
    """
    coarse, exact = content_keys(rows)
    # The exact values decide only between rows that agree to seven digits: another machine's logarithm, which may
    # differ in the last one, then gives the same order.
    return np.lexsort((*reversed(more), exact, coarse))


def content_keys(rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two hashes per row as unsigned integers: of its values in single, and in full precision."""
    if sp.issparse(rows):
        coarse, exact = (_sparse_keys(rows, _mixed(bits)) for bits in _both_precisions(rows.data))
        return coarse, exact
    if isinstance(rows, np.ndarray) and rows.ndim == 2:
        size = max(1, _DENSE_BLOCK // max(1, rows.shape[1]))
        blocks = [_dense_keys(rows[start : start + size]) for start in range(0, len(rows), size)]
        empty = np.zeros(0, dtype=np.uint64)
        return (
            np.concatenate([block[0] for block in blocks] or [empty]),
            np.concatenate([block[1] for block in blocks] or [empty]),
        )
    digests = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in rows]
    keys = np.frombuffer(b"".join(digests), dtype=np.uint64).reshape(-1, 2)
    return keys[:, 0], keys[:, 1]


def _sparse_keys(rows: sp.csr_matrix, values: np.ndarray) -> np.ndarray:
    # Sums modulo 2^64 as differences of running sums, which empty rows do not trouble.
    entries = _mixed(values + _columns(rows.indices))
    entries[rows.data == 0] = 0
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(entries, dtype=np.uint64)])
    return running[rows.indptr[1:]] - running[rows.indptr[:-1]]


def _dense_keys(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    columns = _columns(np.arange(rows.shape[1]))
    keys = []
    for bits in _both_precisions(rows):
        entries = _mixed(_mixed(bits) + columns)
        entries[rows == 0] = 0
        keys.append(entries.sum(axis=1, dtype=np.uint64))
    return keys[0], keys[1]


def _both_precisions(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    exact = np.ascontiguousarray(values, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore"):
        coarse = exact.astype(np.float32)
    return coarse.view(np.uint32).astype(np.uint64), exact.view(np.uint64).copy()


def _columns(numbers: np.ndarray) -> np.ndarray:
    return (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)


def _mixed(bits: np.ndarray) -> np.ndarray:
    """Every bit of the outcome depends on every bit given (the finish of splitmix64), in place."""
    with np.errstate(over="ignore"):
        bits ^= bits >> np.uint64(30)
        bits *= np.uint64(0xBF58476D1CE4E5B9)
        bits ^= bits >> np.uint64(27)
        bits *= np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
    return bits
