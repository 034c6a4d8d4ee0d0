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
from isthmus.features import gram_kernels as kernels

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
    scale = inverse_roots(index.diag) if normalize else None
    _fill(index, out, split, scale, n_jobs, report)
    if not split:
        out[np.arange(n), np.arange(n)] = 1 if normalize else index.diag
    return out, index.diag


def inverse_roots(diag: np.ndarray) -> np.ndarray:
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
        direct = (
            scale is None and out.dtype == index.dtype and out.flags.c_contiguous and not isinstance(out, np.memmap)
        )
        raw = out[a - first_row : b - first_row] if direct else np.empty((b - a, width), index.dtype)
        index.add_rows(a, b, raw)
        if scale is not None:
            np.multiply(raw[:, :width], scale[a:b, None], out=target, casting="unsafe")
            target *= scale[None, :width].astype(target.dtype)
        elif not direct:
            target[:] = raw
        if not split:
            _mirror(out, a, b)
        return b - a

    workers = min(n_threads(n_jobs), len(blocks))
    if workers <= 1:
        for block in blocks:
            done += one(block)
            if report is not None:
                report(done, n - first_row)
        return
    with ThreadPoolExecutor(workers) as pool:
        for rows in pool.map(one, blocks[::-1]):  # the longest rows first, so that no thread ends late
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
    """Codes numbered from 1 in their order, and the number of bits that takes."""
    if len(codes) and int(codes.max()) < 1 << 22:
        used = np.flatnonzero(np.bincount(codes))
        table = np.zeros(used[-1] + 1, np.uint32)
        table[used] = np.arange(1, len(used) + 1, dtype=np.uint32)
        return table[codes], len(used).bit_length()
    used, ranks = np.unique(codes, return_inverse=True)
    return (ranks + 1).astype(np.uint32), len(used).bit_length()


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
        self.kernel(a, b, self.split, *self.tables, out)


def _build_index(codes: np.ndarray, offsets: np.ndarray, lo: int, hi: int, kind: str, split: int) -> _Index:
    """Sort the positions, list the documents of every n-gram, and note for each document which lists have it."""
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
    ranks, bits = rank_symbols(codes)
    bits = max(bits, 1)
    offsets = np.asarray(offsets, np.int64)
    doc_type = np.uint16 if len(offsets) <= 65_537 else np.uint32
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
    n_lists = len(firsts)
    key, order = firsts.astype(np.uint64), np.arange(n_lists, dtype=np.uint32)
    spare_key, spare_order = np.empty_like(key), np.empty_like(order)
    if kernels.radix_sort(key, order, spare_key, spare_order, max(int(firsts.max(initial=1)).bit_length(), 1)):
        order = spare_order
    merged = np.empty(starts[n_lists], lists.dtype)
    new_starts, new_weights = np.empty(n_lists + 1, np.int64), np.empty(n_lists, np.int32)
    kept = kernels.merge_lists(order, lists, starts, weights, dense_from, merged, new_starts, new_weights)
    return merged[: new_starts[kept]], new_starts, new_weights, kept


# -- Which n-grams of one sequence stand in which others, and how often: exact, and without a compiler to wait for


_TABLE = 1 << 22  # entries up to which a number is looked up in a table; beyond that by bisection


def shared_values(kind: str, own: np.ndarray, counts: Any) -> tuple[Any, int]:
    """What each n-gram of a text adds to its kernel with each other text, by its counts there; its kernel with itself.

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
    scaled = K * inverse_roots(np.asarray(diag_rows))[:, None]
    scaled *= inverse_roots(np.asarray(diag_columns))[None, :]
    return scaled


def shared_ngrams(
    text: np.ndarray, codes: np.ndarray, offsets: np.ndarray, lo: int, hi: int
) -> tuple[np.ndarray, np.ndarray, sp.csr_matrix]:
    """The distinct n-grams of ``text`` as (place, length), how often it has each, and counts of sequences × n-grams.

    Each n-gram extends one that is a symbol shorter: places of the others that begin with no n-gram of the text drop
    out length by length.
    """
    offsets = np.asarray(offsets, np.int64)
    n_sequences = len(offsets) - 1
    if not len(text):
        return _assemble([], n_sequences)
    symbols, own_symbols = np.unique(np.asarray(text, np.int64), return_inverse=True)
    other_symbols = _find(symbols, np.asarray(codes), int(codes.max(initial=0)) + 1)
    narrow = np.int32 if max(len(codes), len(text) * len(symbols)) < 2**31 else np.int64  # half the memory to walk
    base = len(symbols) + 1  # a symbol that the text lacks is one more
    # The first symbols at once, as far as a table holds all their sequences: most places drop out in one walk.
    start = max((n for n in (2, 3) if n <= min(lo, len(text)) and base**n <= _TABLE), default=1)
    names, first, own = np.unique(_pack(own_symbols + 1, start, base), return_index=True, return_inverse=True)
    there = _find(names, _pack(other_symbols + 1, start, base), base**start)  # number of the n-gram at each place
    at = np.flatnonzero(there >= 0).astype(narrow)
    left = np.repeat(offsets[1:].astype(narrow), np.diff(offsets))[at] - at  # symbols to the end of its sequence
    there = there[at].astype(narrow)
    found = []
    for length in range(start, min(hi, len(text)) + 1):
        fits = left >= length
        at, left, there = at[fits], left[fits], there[fits]
        if length > start:
            size = len(names) * len(symbols)
            keys = own[: len(text) - length + 1] * len(symbols) + own_symbols[length - 1 :]
            names, first, own = np.unique(keys, return_index=True, return_inverse=True)
            following = other_symbols[at + length - 1]
            ahead = _find(names, there * narrow(len(symbols)) + following, size)
            kept = (following >= 0) & (ahead >= 0)
            at, left, there = at[kept], left[kept], ahead[kept]
        if length >= lo:
            found.append((length, first, np.bincount(own), np.searchsorted(offsets, at, side="right") - 1, there))
    return _assemble(found, n_sequences)


def _pack(numbers: np.ndarray, length: int, base: int) -> np.ndarray:
    n = max(0, len(numbers) - length + 1)
    packed = numbers[:n]
    for step in range(1, length):
        packed = packed * base + numbers[step : n + step]
    return packed


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
