# mypy: ignore-errors
"""Which n-grams of one sequence stand in which others, and how often: one pass over the others, exact."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numba import njit

_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplying loses nothing


def shared_ngrams(
    text: np.ndarray, codes: np.ndarray, offsets: np.ndarray, lo: int, hi: int
) -> tuple[np.ndarray, np.ndarray, sp.csr_matrix]:
    """The distinct n-grams of ``text``, how often it has each, and counts of sequences × n-grams.

    Parameters
    ----------
    text : ndarray of uint32
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
    text, codes = np.ascontiguousarray(text, np.uint32), np.ascontiguousarray(codes, np.uint32)
    offsets = np.ascontiguousarray(offsets, np.int64)
    room = sum(max(0, len(text) - n + 1) for n in range(lo, hi + 1))
    bits = max(4, int(4 * room).bit_length())
    slots = np.full(1 << bits, -1, np.int32)
    starts, lengths, hashes, own = _index(text, lo, hi, slots, bits, room)
    pointer, columns, values = _scan(text, codes, offsets, lo, hi, slots, bits, starts, lengths, hashes)
    counts = sp.csr_matrix((values, columns, pointer), shape=(len(offsets) - 1, len(starts)))
    return np.column_stack([starts, lengths]), own, counts


@njit(cache=True)
def _find(h, n, place, sequence, text, slots, bits, starts, lengths, hashes):
    """The n-gram of the text that stands at a place of a sequence, or −1 minus the free slot for it."""
    mask = (1 << bits) - 1
    slot = np.int64(h >> np.uint64(64 - bits))
    while slots[slot] >= 0:
        gram = slots[slot]
        if hashes[gram] == h and lengths[gram] == n:
            same = True
            for k in range(n):  # a hash is not trusted
                if text[starts[gram] + k] != sequence[place + k]:
                    same = False
                    break
            if same:
                return np.int64(gram)
        slot = (slot + 1) & mask
    return -1 - slot


@njit(cache=True)
def _mix(h):
    # The rolling value differs little between neighbours; the slot is taken from its upper bits.
    return (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)


@njit(cache=True)
def _index(text, lo, hi, slots, bits, room):
    starts, lengths = np.empty(room, np.int64), np.empty(room, np.int64)
    hashes, own = np.empty(room, np.uint64), np.zeros(room, np.int64)
    count = 0
    for n in range(lo, hi + 1):
        for i in range(len(text) - n + 1):
            h = np.uint64(n)
            for k in range(n):
                h = h * _BASE + np.uint64(text[i + k]) + np.uint64(1)
            h = _mix(h)
            gram = _find(h, n, i, text, text, slots, bits, starts, lengths, hashes)
            if gram < 0:
                slots[-1 - gram] = count
                starts[count], lengths[count], hashes[count] = i, n, h
                gram = count
                count += 1
            own[gram] += 1
    return starts[:count], lengths[:count], hashes[:count], own[:count]


@njit(cache=True)
def _scan(text, codes, offsets, lo, hi, slots, bits, starts, lengths, hashes):
    n_sequences, n_grams = len(offsets) - 1, len(starts)
    pointer = np.zeros(n_sequences + 1, np.int64)
    columns, values = np.empty(1024, np.int64), np.empty(1024, np.int64)
    counts, touched = np.zeros(n_grams, np.int64), np.empty(n_grams, np.int64)
    filled = 0
    for j in range(n_sequences):
        n_touched = 0
        for n in range(lo, hi + 1):
            power = np.uint64(1)
            for _ in range(n - 1):
                power = power * _BASE
            # Σ (c_k + 1)·B^(n−1−k), kept rolling; the length enters as the leading term n·B^n.
            lead = np.uint64(n) * power * _BASE
            h = np.uint64(0)
            for i in range(offsets[j], offsets[j + 1]):
                if i - offsets[j] >= n:
                    h -= (np.uint64(codes[i - n]) + np.uint64(1)) * power
                h = h * _BASE + np.uint64(codes[i]) + np.uint64(1)
                if i - offsets[j] < n - 1:
                    continue
                gram = _find(_mix(h + lead), n, i - n + 1, codes, text, slots, bits, starts, lengths, hashes)
                if gram >= 0:
                    if counts[gram] == 0:
                        touched[n_touched] = gram
                        n_touched += 1
                    counts[gram] += 1
        while filled + n_touched > len(columns):
            columns, values = _double(columns), _double(values)
        for k in range(n_touched):
            columns[filled], values[filled] = touched[k], counts[touched[k]]
            counts[touched[k]] = 0
            filled += 1
        pointer[j + 1] = filled
    return pointer, columns[:filled], values[:filled]


@njit(cache=True)
def _double(old):
    new = np.empty(2 * len(old), old.dtype)
    new[: len(old)] = old
    return new
