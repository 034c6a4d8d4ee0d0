"""Exact n-gram kernels between sequences of integers: presence, intersection, spectrum.

The sequences stand one behind the other in ``codes``; sequence i is ``codes[offsets[i]:offsets[i + 1]]``. Small inputs
run on scipy and need no compiler; larger ones go through :mod:`isthmus.features.gram_kernels`. Both are exact.
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
SMALL = 150_000  # symbols; below this the scipy path is faster than loading the compiled one
DENSE_SHARE = 0.05  # lists in at least this share of the sequences go to the bit matrix (set by timing, see the docs)
BLOCK = 256  # rows computed in one go
LONGEST_COUNTED = 65_535  # entries pack a list's length and weight in 16 bits each


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
    small: bool | None = None,
    report: Callable[[int, int], None] | None = None,
    index: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Kernel matrix of n-grams of lengths lo..hi, summed over the lengths, and its raw diagonal.

    ``kind``: distinct shared n-grams ("presence"), smaller counts summed ("intersection"), products of counts summed
    ("spectrum"). ``split``: 0 for all against all, otherwise sequences k.. (rows) against ..k-1 (columns).
    ``normalize`` divides by the root of the product of the two diagonal values; a sequence without n-grams has zeros,
    and one on the diagonal. ``out`` may be memory-mapped. ``small`` forces the scipy path or the compiled one;
    ``index`` was made of the same sequences elsewhere (on a GPU) and gives the rows.
    """
    n = len(offsets) - 1
    shape = (n - split, split) if split else (n, n)
    if out is None:
        exact = np.int64 if kind == "spectrum" else np.int32
        out = np.empty(shape, dtype or (np.float64 if normalize else exact))
    if small is None:
        small = len(codes) <= SMALL
    longest = int(np.diff(offsets).max()) if n else 0
    if index is not None:
        n_jobs = 1
    elif small or hi > 255 or longest < lo or (kind == "spectrum" and n > 2**31):
        index = _ScipyIndex.build(codes, offsets, lo, hi, kind, split)
    elif kind == "spectrum":
        index = _count_index(codes, offsets, lo, hi, split)
    else:
        index = _list_index(codes, offsets, lo, hi, kind, split)
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


# -- Lists of documents by n-gram, on a device or not: ``xp`` is CuPy or numpy
# Positions are sorted by the n-gram that starts there, one length after the other: a number that holds the n-gram one
# symbol shorter, the next symbol and the position is sorted whole, which a device does at memory speed.


def sorted_numbers(keys: Any, key_bits: int, numbers: Any, number_bits: int) -> tuple[Any, Any]:
    """Keys in order, and the numbers that came with them; equal keys keep the order of their (rising) numbers."""
    if key_bits + number_bits <= 63:
        both = (keys << number_bits) | numbers
        both.sort()
        return both >> number_bits, both & ((1 << number_bits) - 1)
    order = keys.argsort(kind="stable")
    return keys[order], numbers[order]


def _sorted_positions(xp: Any, codes: np.ndarray, offsets: np.ndarray, lo: int, hi: int) -> Any:
    """For each length: the number of the n-gram at each position, in order, and the document of the position."""
    ranks, bits = rank_symbols(codes)
    ranks = xp.asarray(ranks.astype(np.int64))
    ends = xp.asarray(np.asarray(offsets[1:], np.int64))
    every = xp.arange(len(codes), dtype=np.int64)
    document = xp.searchsorted(ends, every, side="right").astype(np.int32)
    left = ends[document] - every
    place_bits = max(len(codes), 1).bit_length()
    ids = xp.zeros(len(codes), np.int64)
    used = 0
    for length in range(1, hi + 1):
        if used + bits + place_bits > 63 and used > place_bits:
            # The n-grams so far by number instead of by their symbols: there are no more than positions.
            names, ids = xp.unique(ids, return_inverse=True)
            used = max(len(names), 1).bit_length()
        ids = ids << bits
        ids[: max(len(ids) - length + 1, 0)] |= ranks[length - 1 :]
        used += bits
        if length < lo:
            continue
        at = every[left >= length]
        keys, at = sorted_numbers(ids[at], used, at, place_bits)
        number = xp.cumsum(_changes(xp, keys), dtype=np.int64) - 1
        yield number, document[at]
        ids = xp.zeros(len(codes), np.int64)
        ids[at] = number
        used = max(len(at), 1).bit_length()


def _changes(xp: Any, *columns: Any) -> Any:
    """Where a row of the columns differs from the one before it; the first does."""
    new = xp.ones(len(columns[0]), bool)
    new[1:] = (columns[0][1:] != columns[0][:-1]) | (columns[-1][1:] != columns[-1][:-1])
    return new


def _pairs(xp: Any, number: Any, docs: Any) -> tuple[Any, Any, Any]:
    at = xp.flatnonzero(_changes(xp, number, docs))
    counts = xp.diff(at, append=xp.asarray([len(number)], dtype=at.dtype))
    return number[at], docs[at], counts.astype(np.int32)


def _shared(xp: Any, number: Any, docs: Any, counts: Any, split: int) -> tuple[Any, Any, Any, Any]:
    """Without the n-grams that connect no two documents; and how many documents each of the others has."""
    new = _changes(xp, number)
    starts = xp.flatnonzero(new)
    ends = xp.concatenate([starts, xp.asarray([len(number)], dtype=starts.dtype)])[1:]
    kept = ends - starts >= 2
    if split:
        kept &= (docs[starts] < split) & (docs[ends - 1] >= split)
    inside = kept[xp.cumsum(new) - 1]
    return number[inside], docs[inside], counts[inside], (ends - starts)[kept]


def ngram_lists(xp: Any, codes: np.ndarray, offsets: np.ndarray, lo: int, hi: int, kind: str, split: int) -> tuple:
    """Documents and counts list after list, the sizes of the lists, and the raw diagonal of the kernel."""
    n = len(offsets) - 1
    diag = xp.zeros(n, np.int64)
    found: list[tuple] = [(xp.zeros(0, np.int32), xp.zeros(0, np.int32), xp.zeros(0, np.int64))]
    for number, docs in _sorted_positions(xp, codes, offsets, lo, hi):
        if not len(number):
            continue
        number, docs, counts = _pairs(xp, number, docs)
        own = {"presence": xp.ones(1, np.int64), "intersection": counts, "spectrum": counts.astype(np.int64) ** 2}
        weights = xp.broadcast_to(own[kind], docs.shape).astype(np.float64)  # exact: far below 2⁵³
        diag += xp.bincount(docs, weights=weights, minlength=n).astype(np.int64)
        number, docs, counts, sizes = _shared(xp, number, docs, counts, split)
        found.append((docs, counts, sizes))
        times = 1
        while kind == "intersection" and len(docs):
            # min(a, b) = Σ_t [a ≥ t][b ≥ t]: a list of its own for each occurrence number.
            times += 1
            often = counts >= times
            number, docs, counts, sizes = _shared(xp, number[often], docs[often], counts[often], split)
            found.append((docs, counts, sizes))
    docs, counts, sizes = (xp.concatenate([part[k] for part in found]) for k in range(3))
    return docs, counts, sizes.astype(np.int64), diag


# -- Indexes: what rows of a kernel are computed from


@dataclass
class _ScipyIndex:
    """Occurrence matrix in scipy's sparse format; rows by a sparse product."""

    diag: np.ndarray
    left: sp.csr_matrix
    right: sp.csr_matrix
    dtype: Any = np.int64

    @classmethod
    def build(cls, codes, offsets, lo, hi, kind, split):
        docs, counts, sizes, diag = ngram_lists(np, codes, offsets, lo, hi, kind, split)
        values = counts.astype(np.int64) if kind == "spectrum" else np.ones(len(docs), np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        X = sp.csc_matrix((values, docs, starts), shape=(len(diag), len(sizes))).tocsr()
        return cls(diag, X, (X[:split] if split else X).T.tocsr())

    def add_rows(self, a: int, b: int, out: np.ndarray) -> None:
        out[:] = (self.left[a:b] @ self.right).toarray()[:, : out.shape[1]]


def _sort_positions(codes: np.ndarray, offsets: np.ndarray, lo: int, hi: int) -> tuple[np.ndarray, ...]:
    """Positions in the order of the n-grams that start there: documents, positions, and what the scans need of each."""
    from isthmus.features import gram_kernels as kernels

    ranks, bits = rank_symbols(codes)
    offsets = np.asarray(offsets, np.int64)
    doc_type = np.uint16 if len(offsets) <= 65_537 else np.uint32
    width = min(64 // bits, hi)
    keys = np.empty(len(codes), np.uint64)
    doc_of = np.empty(len(codes), doc_type)
    kernels.pack_keys(ranks, offsets, width, bits, keys, doc_of)
    del ranks
    room = np.empty(len(codes), np.uint32)
    pos = room[: kernels.long_enough(offsets, lo, room)]
    words = -(-hi // width)
    key, spare_key, spare_pos = np.empty(len(pos), np.uint64), np.empty(len(pos), np.uint64), np.empty_like(pos)
    for word in range(words - 1, -1, -1):  # last word first: every sort is stable
        kernels.gather_words(keys, pos, doc_of, offsets, word * width, key)
        if kernels.radix_sort(key, pos, spare_key, spare_pos, bits * width):
            key, spare_key, pos, spare_pos = spare_key, key, spare_pos, pos
    del spare_key, spare_pos
    lcp, fit, docs = np.empty(len(pos), np.uint8), np.empty(len(pos), np.uint8), np.empty(len(pos), doc_type)
    kernels.shared_prefix(key, keys, pos, doc_of, offsets, width, bits, hi, lcp, fit, docs)
    return docs, pos, lcp, fit


@dataclass
class _CompiledIndex:
    """Lists of documents by n-gram, as one of the compiled loops over rows reads them."""

    diag: np.ndarray
    split: int
    dtype: Any
    kernel: Callable[..., None]
    tables: tuple[np.ndarray, ...]

    def add_rows(self, a: int, b: int, out: np.ndarray) -> None:
        self.kernel(a, b, self.split, *self.tables, out)


def _list_index(codes, offsets, lo, hi, kind, split) -> _CompiledIndex:
    """For presence and intersection: frequent n-grams as columns of bits, lists of documents for the others."""
    from isthmus.features import gram_kernels as kernels

    n = len(offsets) - 1
    order = _sort_positions(codes, offsets, lo, hi)
    room = len(order[0]) * (hi - lo + 1)  # an upper bound; pages that stay unused are never touched
    lists = np.empty(room, order[0].dtype)
    starts, weights = np.empty(room // 2 + 2, np.int64), np.empty(room // 2 + 1, np.int32)
    firsts, diag = np.empty(room // 2 + 1, np.uint32), np.zeros(n, np.int64)
    counting = kind == "intersection"
    n_lists = kernels.scan_runs(*order, n, lo, hi, split, counting, lists, starts, weights, firsts, diag)
    del order
    dense_from = min(max(int(DENSE_SHARE * n), 64), LONGEST_COUNTED)
    bits = _bit_matrix(kernels, n, lists, starts, weights, n_lists, dense_from)
    lists, starts, weights, n_lists = _merge(kernels, lists, starts, weights, firsts[:n_lists], dense_from, len(codes))
    pair_ptr, entry_ptr = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    kernels.count_entries(lists, starts, n_lists, split, pair_ptr, entry_ptr)
    pairs, entries = np.empty(pair_ptr[-1], np.uint64), np.empty(entry_ptr[-1], np.uint64)
    kernels.fill_entries(
        lists, starts, weights, n_lists, split, pair_ptr[:-1].copy(), entry_ptr[:-1].copy(), pairs, entries
    )
    tables = lists, pair_ptr, pairs, entry_ptr, entries, bits
    return _CompiledIndex(diag, split, np.int32, kernels.add_rows, tables)


def _bit_matrix(kernels, n, lists, starts, weights, n_lists, dense_from):
    sizes = np.diff(starts[: n_lists + 1])
    columns = int(weights[:n_lists][sizes >= dense_from].sum())
    # Whole vectors; three spare rows, because rows are compared four at a time.
    bits = np.zeros((n + 3, -(-columns // kernels.VECTOR) * (kernels.VECTOR // 64)), np.uint64)
    kernels.fill_bits(lists, starts, weights, n_lists, dense_from, bits)
    return bits


def _merge(kernels, lists, starts, weights, firsts, dense_from, n_codes):
    n_lists = len(firsts)
    if n_lists == 0:
        return lists[:0].copy(), starts[:1].copy(), weights[:0].copy(), 0
    key, order = firsts.astype(np.uint64), np.arange(n_lists, dtype=np.uint32)
    spare_key, spare_order = np.empty_like(key), np.empty_like(order)
    if kernels.radix_sort(key, order, spare_key, spare_order, max(n_codes.bit_length(), 1)):
        order = spare_order
    del key, spare_key
    merged = np.empty(starts[n_lists], lists.dtype)
    new_starts, new_weights = np.empty(n_lists + 1, np.int64), np.empty(n_lists, np.int32)
    kept = kernels.merge_lists(order, lists, starts, weights, dense_from, merged, new_starts, new_weights)
    return merged[: new_starts[kept]], new_starts, new_weights, kept


def _count_index(codes, offsets, lo, hi, split) -> _CompiledIndex:
    """For the spectrum kernel: lists with counts."""
    from isthmus.features import gram_kernels as kernels

    n = len(offsets) - 1
    order = _sort_positions(codes, offsets, lo, hi)
    room = len(order[0]) * (hi - lo + 1)
    lists, counts = np.empty(room, order[0].dtype), np.empty(room, np.int32)
    starts, diag = np.empty(room // 2 + 2, np.int64), np.zeros(n, np.int64)
    n_lists = kernels.scan_counts(*order, n, lo, hi, lists, counts, starts, diag)
    used = starts[n_lists]
    lists, counts = lists[:used], counts[:used]
    entry_ptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(lists, minlength=n), out=entry_ptr[1:])
    places, owners = np.empty(used, np.int64), np.empty(used, np.int64)
    kernels.place_entries(lists, starts, n_lists, entry_ptr[:-1].copy(), places, owners)
    tables = lists, counts, starts, entry_ptr, places, owners
    return _CompiledIndex(diag, split, np.int64, kernels.add_count_rows, tables)


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
