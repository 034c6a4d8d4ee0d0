"""Which n-grams of one sequence stand in which others, and how often: exact, and without a compiler to wait for."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

_TABLE = 1 << 22  # entries up to which a number is looked up in a table; beyond that by bisection


def shared_ngrams(
    text: np.ndarray, codes: np.ndarray, offsets: np.ndarray, lo: int, hi: int
) -> tuple[np.ndarray, np.ndarray, sp.csr_matrix]:
    """The distinct n-grams of ``text``, how often it has each, and counts of sequences × n-grams.

    An n-gram is the one that begins at the same place and is one symbol shorter, and a further symbol: places of the
    others that begin with no n-gram of the text drop out length by length.

    Parameters
    ----------
    text : ndarray of int
        One sequence of symbols.
    codes, offsets : ndarray
        The others; sequence i is ``codes[offsets[i]:offsets[i + 1]]``.
    lo, hi : int
        Shortest and longest n-gram.

    Returns
    -------
    places : ndarray of shape (n_grams, 2)
        Where an n-gram begins in ``text``, and its length.
    own : ndarray of shape (n_grams,)
    counts : csr_matrix of shape (n_sequences, n_grams)

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus._math.gram_share import shared_ngrams
    >>> text, codes, offsets = np.array([1, 2, 1, 2]), np.array([1, 2, 3, 2, 1]), np.array([0, 3, 5])
    >>> places, own, counts = shared_ngrams(text, codes, offsets, 2, 2)
    >>> places.tolist(), own.tolist(), counts.toarray().tolist()
    ([[0, 2], [1, 2]], [2, 1], [[1, 0], [0, 1]])
    """
    offsets = np.asarray(offsets, np.int64)
    symbols, own_symbols = np.unique(np.asarray(text, np.int64), return_inverse=True)
    other_symbols = _find(symbols, np.asarray(codes), int(codes.max(initial=0)) + 1)
    narrow = np.int32 if max(len(codes), len(text) * len(symbols)) < 2**31 else np.int64  # half the memory to walk
    at = np.flatnonzero(other_symbols >= 0).astype(narrow)
    ends = np.repeat(offsets[1:].astype(narrow), np.diff(offsets))
    left = ends[at] - at  # symbols from the place to the end of its sequence
    own, there = np.zeros(len(text), np.int64), np.zeros(len(at), narrow)  # number of the n-gram at each place
    n_before, found = 1, []
    for length in range(1, min(hi, len(text)) + 1):
        keys = own[: len(text) - length + 1] * len(symbols) + own_symbols[length - 1 :]
        names, first, own = np.unique(keys, return_index=True, return_inverse=True)
        fits = left >= length
        at, left, there = at[fits], left[fits], there[fits]
        following = other_symbols[at + length - 1]
        ahead = _find(names, there * narrow(len(symbols)) + following, n_before * len(symbols))
        kept = (following >= 0) & (ahead >= 0)
        at, left, there = at[kept], left[kept], ahead[kept]
        n_before = len(names)
        if length >= lo:
            found.append((length, first, np.bincount(own), np.searchsorted(offsets, at, side="right") - 1, there))
    return _assemble(found, len(offsets) - 1)


def _find(names: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """Place of each value, below ``size``, among sorted names; −1 where it is none of them."""
    if not len(names):
        return np.full(len(values), -1)
    if size <= _TABLE:
        table = np.full(max(size, int(names[-1]) + 1), -1, np.int32)
        table[names] = np.arange(len(names))
        return table[values]
    place = np.minimum(np.searchsorted(names, values), len(names) - 1)
    return np.where(names[place] == values, place, -1)


def _assemble(found: list[tuple], n_sequences: int) -> tuple[np.ndarray, np.ndarray, sp.csr_matrix]:
    """All lengths side by side, n-grams of a length in the order in which the text has them."""
    places, own, parts = [np.zeros((0, 2), np.int64)], [np.zeros(0, np.int64)], []
    for length, first, times, rows, columns in found:
        order = np.argsort(first)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        pairs, counts = np.unique(rows * len(order) + rank[columns], return_counts=True)
        where = pairs // len(order), pairs % len(order)
        parts.append(sp.csr_matrix((counts, where), shape=(n_sequences, len(order)), dtype=np.int64))
        places.append(np.column_stack([first[order], np.full(len(order), length)]))
        own.append(times[order])
    together = sp.hstack(parts, format="csr") if parts else sp.csr_matrix((n_sequences, 0), dtype=np.int64)
    return np.concatenate(places), np.concatenate(own), together
