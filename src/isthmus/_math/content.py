"""An order of rows that depends only on their contents."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri

_BLOCK = 1 << 15  # numbers mixed at a time, so that they fit the cache


def content_order(rows: Any, *more: np.ndarray) -> np.ndarray:
    """Return row numbers in the order of a hash of the rows' contents.

    Parameters
    ----------
    rows : sparse matrix, ndarray or sequence of str
    *more : ndarray of shape (n_rows,)
        Order equal rows.

    Returns
    -------
    ndarray of int of shape (n_rows,)
    """
    # The exact values decide only between rows that agree to seven digits: another machine's logarithm, which may
    # differ in the last one, then gives the same order.
    coarse = content_keys(rows)
    order = np.lexsort((*reversed(more), coarse))
    tied = np.zeros(len(order), dtype=bool)
    same = coarse[order[1:]] == coarse[order[:-1]]
    tied[order[1:][same]] = tied[order[:-1][same]] = True
    if not tied.any() or not (sp.issparse(rows) or isinstance(rows, np.ndarray)):
        return order
    exact = np.zeros(len(order), dtype=np.uint64)
    exact[tied] = content_keys(rows[np.flatnonzero(tied)], np.float64)
    return np.lexsort((*reversed(more), exact, coarse))


def content_keys(rows: Any, precision: Any = np.float32) -> np.ndarray:
    """Return a hash of each row.

    Parameters
    ----------
    rows : sparse matrix, ndarray or sequence of str
    precision : numpy type
        Precision to which numbers are rounded first.

    Returns
    -------
    ndarray of uint64 of shape (n_rows,)
    """
    if sp.issparse(rows):
        return _sparse_keys(rows, precision)
    if isinstance(rows, np.ndarray) and rows.ndim == 2:
        size = max(1, _BLOCK // max(1, rows.shape[1]))
        blocks = [_dense_keys(rows[start : start + size], precision) for start in range(0, len(rows), size)]
        return np.concatenate([*blocks, np.zeros(0, dtype=np.uint64)])
    digests = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in rows]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def label_ranks(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the rank of each known label among the sorted labels, -1 for the others; it orders equal rows.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
    known : ndarray of bool of shape (n_rows,)

    Returns
    -------
    ndarray of int of shape (n_rows,)
    """
    ranks = np.full(len(values), -1, dtype=np.int64)
    if known.any():
        ranks[known] = np.unique(values[known], return_inverse=True)[1]
    return ranks


def content_noise(rows: Any, width: int, rng: np.random.Generator) -> np.ndarray:
    """Return normal noise, ``width`` numbers per row, that depends only on ``rng`` and the contents of the row.

    Parameters
    ----------
    rows : sparse matrix, ndarray or sequence of str
    width : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_rows, width)
    """
    # Each column of noise is another hash of the same content.
    salt = rng.integers(2**63, size=width).astype(np.uint64)
    bits = mixed_bits(content_keys(rows)[:, None] ^ salt[None, :])
    return ndtri((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54)


def _sparse_keys(rows: sp.csr_matrix, precision: Any) -> np.ndarray:
    keys = np.zeros(rows.shape[0], dtype=np.uint64)
    # Blocks of whole rows bound the temporary arrays.
    starts = np.searchsorted(rows.indptr, np.arange(0, rows.nnz, _BLOCK))
    for first, last in pairwise(np.unique([0, *starts, len(keys)])):
        own = slice(rows.indptr[first], rows.indptr[last])
        entries = mixed_bits(mixed_bits(_bits(rows.data[own], precision)) + _columns(rows.indices[own]))
        # Stored zeros must not change the key, because other formats do not store them.
        entries[rows.data[own] == 0] = 0
        # Sums modulo 2^64 as differences of running sums, which are also right for empty rows.
        running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(entries, dtype=np.uint64)])
        ends = running[rows.indptr[first : last + 1] - own.start]
        keys[first:last] = ends[1:] - ends[:-1]
    return keys


def _dense_keys(rows: np.ndarray, precision: Any) -> np.ndarray:
    entries = mixed_bits(mixed_bits(_bits(rows, precision)) + _columns(np.arange(rows.shape[1])))
    # As in sparse rows, which have no entries for zeros.
    entries[rows == 0] = 0
    return entries.sum(axis=1, dtype=np.uint64)


def _bits(values: np.ndarray, precision: Any) -> np.ndarray:
    # Values beyond the range of the precision become infinite or zero, alike in all copies.
    with np.errstate(over="ignore", under="ignore"):
        rounded = np.ascontiguousarray(values, dtype=precision)
    return rounded.view(np.uint32 if precision is np.float32 else np.uint64).astype(np.uint64)


def _columns(numbers: np.ndarray) -> np.ndarray:
    return (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)


def mixed_bits(bits: np.ndarray) -> np.ndarray:
    """Mix bits in place, so that every bit of the result depends on every input bit (the last step of splitmix64).

    Parameters
    ----------
    bits : ndarray of uint64
        Changed in place.

    Returns
    -------
    ndarray of uint64
    """
    flat = bits.reshape(-1)
    for start in range(0, len(flat), _BLOCK):
        part = flat[start : start + _BLOCK]
        part ^= part >> np.uint64(30)
        part *= np.uint64(0xBF58476D1CE4E5B9)
        part ^= part >> np.uint64(27)
        part *= np.uint64(0x94D049BB133111EB)
        part ^= part >> np.uint64(31)
    return flat.reshape(bits.shape)
