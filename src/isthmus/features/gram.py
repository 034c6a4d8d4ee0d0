"""Exact n-gram kernels between sequences of integers: presence, intersection, spectrum.

Sequence i is ``codes[offsets[i]:offsets[i + 1]]``. The loops are in :mod:`isthmus.features.gram_kernels`; the kernels
are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._utils import n_threads

KINDS = ("presence", "intersection", "spectrum")
DENSE_SHARE = 0.05  # lists with at least this share of the sequences go to the bit matrix (docs/measured/strings.md)
BLOCK = 256  # rows computed at a time


def ngram_gram(
    codes: np.ndarray,
    offsets: np.ndarray,
    lo: int,
    hi: int,
    kind: str = "presence",
    *,
    split: int = 0,
    normalize: bool = False,
    out: np.ndarray | None = None,
    dtype: Any = None,
    n_jobs: int = 1,
    report: Callable[[int, int], None] | None = None,
    index: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the kernel matrix of n-grams of lengths lo..hi, summed over the lengths, and its raw diagonal.

    ``kind``: distinct shared n-grams ("presence"), smaller counts summed ("intersection"), products of counts summed
    ("spectrum"). ``split``: 0 for all against all, otherwise sequences k.. (rows) against ..k-1 (columns).
    ``normalize`` divides by the root of the product of the two diagonal values; a sequence without n-grams has zeros,
    and one on the diagonal. ``out`` may be memory-mapped. ``index`` was made of the same sequences on a GPU and gives
    the rows.
    """
    n = len(offsets) - 1
    shape = (n - split, split) if split else (n, n)
    if out is None:
        exact = np.int64 if kind == "spectrum" else np.int32
        out = np.empty(shape, dtype or (np.float64 if normalize else exact))
    if index is None:
        index = _build_index(codes, offsets, lo, hi, kind, split)
    else:
        n_jobs = 1
    # Rows are scaled while they are in the cache.
    scale = inverse_roots(index.diag) if normalize else None
    _fill(index, out, split, scale, n_jobs, report)
    if not split:
        out[np.arange(n), np.arange(n)] = 1 if normalize else index.diag
    return out, index.diag


def inverse_roots(diag: np.ndarray) -> np.ndarray:
    """Return 1/√d of each diagonal value, and 0 for a value of 0."""
    roots = np.zeros(len(diag))
    np.divide(1.0, np.sqrt(diag, dtype=np.float64), out=roots, where=diag > 0)
    return roots


def _fill(index: Any, out: np.ndarray, split: int, scale: np.ndarray | None, n_jobs: int, report: Any) -> None:
    """Compute blocks of rows (lower triangle, or the rows behind ``split``) and mirror them."""
    first_row, n = split, len(index.diag)
    blocks = [(a, min(a + BLOCK, n)) for a in range(first_row, n, BLOCK)]
    done = 0

    def one(block: tuple[int, int]) -> int:
        a, b = block
        width = split or b
        target = out[a - first_row : b - first_row, :width]
        # A buffer of its own, because ``out`` may be of another type or on disk.
        raw = np.empty((b - a, width), index.dtype)
        index.add_rows(a, b, raw)
        if scale is None:
            target[:] = raw
        else:
            np.multiply(raw, scale[a:b, None], out=target, casting="unsafe")
            target *= scale[None, :width].astype(target.dtype)
        if not split:
            _mirror(out, a, b)
        return b - a

    workers = min(n_threads(n_jobs), len(blocks)) if len(blocks) > 1 else 1
    with ThreadPoolExecutor(workers) as pool:  # threads start with the first task: none for one worker
        # Several threads begin with the longest rows, so that none of them ends late.
        for rows in pool.map(one, blocks[::-1]) if workers > 1 else map(one, blocks):
            done += rows
            if report is not None:
                report(done, n - first_row)


def _mirror(out: np.ndarray, a: int, b: int, tile: int = 128) -> None:
    """Copy rows a..b-1, left of the diagonal, to the columns above it, tile by tile."""
    for j in range(0, a, tile):
        out[j : min(j + tile, a), a:b] = out[a:b, j : min(j + tile, a)].T
    corner = out[a:b, a:b]
    upper = np.triu_indices(b - a, 1)
    corner[upper] = corner.T[upper]


def rank_symbols(codes: np.ndarray) -> tuple[np.ndarray, int]:
    """Rank code points from 1 in their order; return the ranks and the bits that the largest one needs."""
    # Ranks of used symbols need fewer bits than code points, so more symbols fit into a key.
    used = np.bincount(codes) > 0
    return np.cumsum(used, dtype=np.uint32)[codes], int(used.sum()).bit_length()


# -- The index: lists of documents by n-gram, from which the rows of a kernel are computed


@dataclass
class _Index:
    """Hold the tables of one of the compiled loops over rows, and the raw diagonal of the kernel."""

    diag: np.ndarray
    split: int
    dtype: Any
    kernel: Callable[..., None]
    tables: tuple[np.ndarray, ...]

    def add_rows(self, a: int, b: int, out: np.ndarray) -> None:
        """Write rows a..b-1 of the kernel to ``out``."""
        self.kernel(a, b, self.split, *self.tables, out)


def _build_index(codes: np.ndarray, offsets: np.ndarray, lo: int, hi: int, kind: str, split: int) -> _Index:
    """Sort the positions, list the documents of every n-gram, and note for each document which lists have it."""
    from isthmus.features import gram_kernels as kernels

    n = len(offsets) - 1
    docs, pos, lcp, fit = _sort_positions(codes, offsets, lo, hi)
    most = len(docs) * (hi - lo + 1)  # an upper bound; pages that stay unused are never touched
    lists, starts = np.empty(most, docs.dtype), np.empty(most // 2 + 2, np.int64)
    counts = np.empty(most if kind == "spectrum" else 0, np.int32)
    weights, firsts, diag = np.empty(most // 2 + 1, np.int32), np.empty(most // 2 + 1, np.uint32), np.zeros(n, np.int64)
    runs = lists, counts, starts, weights, firsts, diag
    n_lists = kernels.scan_runs(docs, pos, lcp, fit, n, lo, hi, split, KINDS.index(kind), *runs)
    del docs, pos, lcp, fit
    if kind != "spectrum":
        dense_from = min(max(int(DENSE_SHARE * n), 64), kernels.TOP_WEIGHT)
        dense = np.diff(starts[: n_lists + 1]) >= dense_from
        bits = np.zeros((n, -(-int(weights[:n_lists][dense].sum()) // 64)), np.uint64)
        kernels.fill_bits(lists, starts, weights, n_lists, dense_from, bits)
        lists, starts, weights, n_lists = _merge(lists, starts, weights, firsts[:n_lists], dense_from)
    entry_ptr = np.zeros(n + 1, np.int64)
    kernels.count_entries(lists, starts, n_lists, split, entry_ptr)
    entries = np.empty(entry_ptr[-1], np.uint64)
    kernels.fill_entries(lists, starts, weights, n_lists, split, kind == "spectrum", entry_ptr[:-1].copy(), entries)
    if kind == "spectrum":
        lists, counts = lists[: starts[n_lists]].copy(), counts[: starts[n_lists]].copy()
        return _Index(diag, split, np.int64, kernels.add_count_rows, (lists, counts, entry_ptr, entries))
    return _Index(diag, split, np.int32, kernels.add_rows, (lists, entry_ptr, entries, bits))


def _sort_positions(codes: np.ndarray, offsets: np.ndarray, lo: int, hi: int) -> tuple[np.ndarray, ...]:
    """Return the positions in the order of their n-grams: documents, positions, shared and remaining symbols."""
    from isthmus.features import gram_kernels as kernels

    ranks, bits = rank_symbols(codes)
    bits = max(bits, 1)
    offsets = np.asarray(offsets, np.int64)
    doc_type = np.uint16 if len(offsets) <= 65_537 else np.uint32
    # Symbols that fit into one 64-bit key.
    width = min(64 // bits, hi)
    keys = np.empty(len(codes), np.uint64)
    doc_of = np.empty(len(codes), doc_type)
    kernels.pack_keys(ranks, offsets, width, bits, keys, doc_of)
    del ranks
    pos = np.empty(len(codes), np.uint32)
    pos = pos[: kernels.long_enough(offsets, lo, pos)]
    key, spare_key, spare_pos = np.empty(len(pos), np.uint64), np.empty(len(pos), np.uint64), np.empty_like(pos)
    for word in range(-(-hi // width) - 1, -1, -1):  # last word first: every sort is stable
        kernels.gather_words(keys, pos, doc_of, offsets, word * width, key)
        if kernels.radix_sort(key, pos, spare_key, spare_pos, bits * width):
            key, spare_key, pos, spare_pos = spare_key, key, spare_pos, pos
    del spare_key, spare_pos
    lcp, fit = np.empty(len(pos), np.min_scalar_type(hi)), np.empty(len(pos), np.min_scalar_type(hi))
    docs = np.empty(len(pos), doc_type)
    kernels.shared_prefix(key, keys, pos, doc_of, offsets, width, bits, hi, lcp, fit, docs)
    return docs, pos, lcp, fit


def _merge(lists, starts, weights, firsts, dense_from) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return the lists in the order of their first positions, without dense ones and with equal neighbours merged."""
    from isthmus.features import gram_kernels as kernels

    n_lists = len(firsts)
    key, order = firsts.astype(np.uint64), np.arange(n_lists, dtype=np.uint32)
    spare_key, spare_order = np.empty_like(key), np.empty_like(order)
    if kernels.radix_sort(key, order, spare_key, spare_order, max(int(firsts.max(initial=1)).bit_length(), 1)):
        order = spare_order
    merged = np.empty(starts[n_lists], lists.dtype)
    new_starts, new_weights = np.empty(n_lists + 1, np.int64), np.empty(n_lists, np.int32)
    kept = kernels.merge_lists(order, lists, starts, weights, dense_from, merged, new_starts, new_weights)
    return merged[: new_starts[kept]], new_starts, new_weights, kept


# -- The n-grams that one text shares with others


def compare_few(
    codes: np.ndarray, offsets: np.ndarray, lo: int, hi: int, kind: str, split: int, diagonal: np.ndarray
) -> np.ndarray:
    """Return the normalised kernel of a few texts with many, without compiled code.

    The kernel consists of whole numbers, so it equals that of :func:`ngram_gram`. Loading the compiled code takes
    longer than comparing a single text.

    Parameters
    ----------
    codes, offsets : ndarray of int
        Symbols of all texts, the many first, and where each text begins; the last entry is the end.
    lo, hi : int
        Shortest and longest n-gram.
    kind : str
        One of ``KINDS``.
    split : int
        Number of the many texts.
    diagonal : ndarray of shape (split,)
        Raw kernel of each of the many texts with itself.

    Returns
    -------
    ndarray of shape (n_texts - split, split)
    """
    rows, sizes = np.zeros((len(offsets) - 1 - split, split)), np.zeros(len(offsets) - 1 - split)
    for row, (start, end) in enumerate(zip(offsets[split:-1], offsets[split + 1 :], strict=True)):
        many = codes[: offsets[split]], offsets[: split + 1]
        _, own, counts = shared_ngrams(codes[start:end], *many, lo, hi)
        values, sizes[row] = shared_values(kind, own, counts)
        rows[row] = np.asarray(values.sum(axis=1)).ravel()
    return normalize_kernel(rows, sizes, diagonal)


_TABLE = 1 << 22  # largest number that is looked up in a table; larger ones are found by bisection


def shared_values(kind: str, own: np.ndarray, counts: Any) -> tuple[Any, int]:
    """Return the share of each n-gram of a text in its kernel with other texts, and its kernel with itself.

    ``own`` are the counts in the text, ``counts`` is texts × n-grams.
    """
    values = counts.copy()
    if kind == "presence":
        values.data = np.ones_like(counts.data)
        return values, len(own)
    if kind == "spectrum":
        values.data = counts.data * own[counts.indices]
        return values, int(own @ own)
    values.data = np.minimum(counts.data, own[counts.indices])
    return values, int(own.sum())


def normalize_kernel(K: np.ndarray, diag_rows: np.ndarray, diag_columns: np.ndarray) -> np.ndarray:
    """Divide a kernel matrix by the roots of the diagonal values of its rows and columns."""
    scaled = K * inverse_roots(np.asarray(diag_rows))[:, None]
    scaled *= inverse_roots(np.asarray(diag_columns))[None, :]
    return scaled


def shared_ngrams(
    text: np.ndarray, codes: np.ndarray, offsets: np.ndarray, lo: int, hi: int
) -> tuple[np.ndarray, np.ndarray, sp.csr_matrix]:
    """Count the distinct n-grams of a text in the text itself and in other texts.

    Each n-gram extends one that is a symbol shorter: positions of the other texts where no n-gram of the text begins
    are dropped length by length.

    Parameters
    ----------
    text : ndarray of int
        Symbols of the text.
    codes, offsets : ndarray of int
        Symbols of the other texts, one text after another, and where each text begins; the last entry is the end.
    lo, hi : int
        Shortest and longest n-gram.

    Returns
    -------
    places : ndarray of shape (n_ngrams, 2)
        First position and length of each n-gram, by length and then by position.
    own : ndarray of shape (n_ngrams,)
        Counts in the text.
    counts : CSR matrix of shape (n_texts, n_ngrams)
        Counts in the other texts.
    """
    offsets = np.asarray(offsets, np.int64)
    symbols, own_symbols = np.unique(np.asarray(text, np.int64), return_inverse=True)
    other_symbols = _find(symbols, np.asarray(codes, np.int64))
    base = len(symbols) + 1  # so that a symbol that the text lacks, -1, leads to no n-gram of the text
    at = _possible_positions(own_symbols, other_symbols, lo)
    own, there = np.zeros(len(text), np.int64), np.zeros(len(at), np.int64)
    ends = offsets[np.searchsorted(offsets, at, side="right")]
    places, times = [np.zeros((0, 2), np.int64)], [np.zeros(0, np.int64)]
    parts = [sp.csr_matrix((len(offsets) - 1, 0), dtype=np.int64)]
    for length in range(1, min(hi, len(text)) + 1):
        keys = own[: len(text) - length + 1] * base + own_symbols[length - 1 :]
        names, first, own = np.unique(keys, return_index=True, return_inverse=True)
        inside = at + length <= ends
        at, ends = at[inside], ends[inside]
        there = _find(names, there[inside] * base + other_symbols[at + length - 1])
        found = there >= 0
        at, ends, there = at[found], ends[found], there[found].astype(np.int64)
        if length >= lo:
            order = np.argsort(first)
            where = np.searchsorted(offsets, at, side="right") - 1, np.argsort(order)[there]
            shape = len(offsets) - 1, len(order)
            parts.append(sp.csr_matrix((np.ones(len(at), np.int64), where), shape=shape))
            places.append(np.column_stack([first[order], np.full(len(order), length)]))
            times.append(np.bincount(own)[order])
    return np.concatenate(places), np.concatenate(times), sp.hstack(parts, format="csr")


_HASHES = 1 << 16  # n-grams of one text are few, so hardly any other n-gram has the hash of one of them


def _possible_positions(own_symbols: np.ndarray, other_symbols: np.ndarray, length: int) -> np.ndarray:
    """Return the positions of the other texts at which an n-gram of the text may begin, by hashes of n-grams."""
    marked = np.zeros(_HASHES, dtype=bool)
    hashes = []
    for symbols in (own_symbols, other_symbols):
        values, size = symbols.astype(np.uint64), len(symbols) - length + 1
        mixed = np.zeros(max(0, size), np.uint64)
        for place in range(length if size > 0 else 0):
            mixed *= np.uint64(0x9E3779B97F4A7C15)
            mixed += values[place : place + size]
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        hashes.append((mixed >> np.uint64(48)).astype(np.int64))
    marked[hashes[0]] = True
    return np.flatnonzero(marked[hashes[1]])


def _find(names: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the place of each value among sorted names, and -1 for other values; names and values are at least -1."""
    size = int(names.max(initial=-1)) + 2
    if size <= _TABLE:
        table = np.full(size, -1, np.int32)
        table[names] = np.arange(len(names))
        return table[np.minimum(values, size - 1)]  # the last entry is -1, for values that are too large and for -1
    place = np.minimum(np.searchsorted(names, values), len(names) - 1)
    return np.where(names[place] == values, place, -1)
