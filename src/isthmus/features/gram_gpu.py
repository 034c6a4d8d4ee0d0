"""Exact n-gram kernels on a CUDA device: the integers of the CPU path, for a hundred thousand documents.

Every function takes the array module ``xp``: CuPy on a device, numpy in the tests. Two steps have code for CUDA
(:func:`add_products`, and :func:`add_lists` in ``gram.cu``) and a few lines of numpy next to it.

N-grams in many documents become columns of an int8 matrix (tensor cores multiply it with itself), the others lists of
documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._progress import progress
from isthmus.exceptions import DataError, MissingExtraError, UsageError
from isthmus.features.gram import rank_symbols

DEVICES = ("auto", "cpu", "cuda")
AUTO_FROM = 4_000  # documents from which a device pays, its start included (docs/measured/strings.md)
DENSE_SHARE = 0.01  # lists in at least this share of the documents become columns of the int8 matrix
DENSE_BYTES = 8 << 30  # what that matrix may take
TILE_ROWS = 4_096  # rows of the kernel computed in one go
ALIGN = 64  # int8 products want sizes that are multiples of this
LANES = 8  # threads that walk through one list
SLACK = 1.4  # a pool of blocks holds more than what is in use


# -- The door: which array module, how much memory


def array_module(device: str, n_documents: int) -> Any:
    """CuPy for a problem that goes to a device; None for one that stays on the CPU ("auto": small, or no device)."""
    if device == "cpu" or (device == "auto" and n_documents < AUTO_FROM):
        return None
    try:
        import cupy
    except ImportError as error:
        if device == "auto":
            return None
        raise MissingExtraError(
            "device='cuda' needs CuPy, which is not installed; install it with: pip install 'isthmus[gpu]' "
            "(CUDA 13; for CUDA 12: pip install cupy-cuda12x), or use device='cpu'.",
            code="missing-extra",
        ) from error
    try:
        if cupy.cuda.runtime.getDeviceCount():
            return cupy
        reason = "no CUDA device"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        reason = str(error)
    if device == "auto":
        return None
    raise UsageError(
        f"device='cuda' was given, but CuPy finds no usable GPU ({reason}); use device='cpu' or device='auto'.",
        code="bad-parameter",
    )


def free_bytes(xp: Any) -> int | None:
    """Memory of the device that can still be taken; None where ``xp`` is numpy."""
    if xp is np:
        return None
    xp.get_default_memory_pool().free_all_blocks()
    return int(xp.cuda.runtime.memGetInfo()[0])


def gram_bytes(n: int, n_symbols: int, n_lengths: int) -> int:
    """Most that sorting and counting take at one time, without the matrix itself."""
    sorting = 56 * n_symbols
    lists = 30 * n_symbols * n_lengths
    tiles = 3 * 4 * min(n, TILE_ROWS) * n
    return int(SLACK * (sorting + lists + tiles + min(DENSE_BYTES, n * n)))


def has_memory(xp: Any, needed: int, what: str, device: str) -> bool:
    """State how much memory is about to be taken; where the device lacks it, "cuda" is refused and "auto" is not."""
    free = free_bytes(xp)
    progress("GPU memory", needed, free, what=what)
    if free is None or needed <= free:
        return True
    if device == "auto":
        return False
    raise DataError(
        f"{what} takes {needed / 1e9:.1f} GB of GPU memory and {free / 1e9:.1f} GB are free; "
        "set n_landmarks=2000, use fewer or shorter texts, or device='cpu'.",
        code="too-large",
    )


# -- Small things


def spans(first: int, last: int, size: int) -> list[tuple[int, int]]:
    """first..last cut into stretches of ``size``."""
    return [(a, min(a + size, last)) for a in range(first, last, size)]


def to_host(array: Any) -> np.ndarray:
    """Return an array of the device as an array of numpy."""
    return array if isinstance(array, np.ndarray) else array.get()


# -- Steps with CUDA code of their own, and their twins


_compiled: dict[str, Any] = {}


def _cuda(xp: Any, name: str) -> Any:
    if not _compiled:
        code = Path(__file__).with_name("gram.cu").read_text("utf-8")
        _compiled["add_lists"] = xp.RawModule(code=code, options=("-std=c++17",)).get_function("add_lists")
    return _compiled[name]


_CUBLAS_TYPES = {"int8": 3, "int32": 10, "float32": 0, "float64": 1}
_CUBLAS_COMPUTE = {"int8": 72, "float32": 68, "float64": 70, "fast": 77}  # fast: TF32 on tensor cores


def add_products(xp: Any, out: Any, a: Any, b: Any, *, sign: int = 1, flip: bool = True, fast: bool = False) -> None:
    """Add sign·a·bᵀ to ``out`` in place (``flip=False``: a·b), also on parts of matrices.

    ``fast`` computes float32 in TF32, with 10 bits of fraction.
    """
    if not (a.size and b.size):
        return
    if xp is np:
        wide = np.float64 if a.dtype == np.int8 else a.dtype
        product = a.astype(wide) @ (b.T if flip else b).astype(wide)
        out += (sign * product).astype(out.dtype)
        return
    from cupy.cuda import cublas, device  # type: ignore[import-not-found]

    name = a.dtype.name
    one, old = np.array(sign, out.dtype), np.array(1, out.dtype)
    stride_a, stride_b, stride_out = (m.strides[0] // m.itemsize for m in (a, b, out))
    # cuBLAS counts columns first, so it is asked for the transpose: outᵀ += b·aᵀ.
    cublas.gemmEx(
        device.get_cublas_handle(), 1 if flip else 0, 0, out.shape[1], out.shape[0], a.shape[1], one.ctypes.data,
        b.data.ptr, _CUBLAS_TYPES[name], stride_b, a.data.ptr, _CUBLAS_TYPES[name], stride_a, old.ctypes.data,
        out.data.ptr, _CUBLAS_TYPES[out.dtype.name], stride_out, _CUBLAS_COMPUTE["fast" if fast else name], -1,
    )  # fmt: skip


def add_lists(xp: Any, index: GramIndex, a: int, b: int, tile: Any) -> None:
    """Add to rows a..b-1 of the kernel what the lists hold: one, or a product of counts, for each earlier document."""
    if not len(index.docs):
        return
    if xp is np:
        for row in range(a, b):
            for e in range(index.entry_ptr[row], index.entry_ptr[row + 1]):
                before = slice(index.begins[e], index.places[e])
                near = index.docs[before] < (index.split or row)
                own = 1
                if index.values is not None:
                    own = index.values[index.places[e]] * index.values[before][near]
                tile[row - a, index.docs[before][near]] += own
        return
    values = index.values if index.values is not None else index.docs
    arguments = (
        np.int64(a), np.int64(index.split), np.int32(LANES), index.docs, values, np.int32(index.values is not None),
        index.entry_ptr, index.places, index.begins, tile, np.int64(tile.shape[1]),
    )  # fmt: skip
    _cuda(xp, "add_lists")((b - a,), (256,), arguments)


# -- Lists of documents by n-gram
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


# -- The index: columns of a matrix for frequent n-grams, lists for the others


def padded(n: int) -> int:
    """Return the next multiple of ``ALIGN``: products of other sizes are several times slower, or refused."""
    return -(-n // ALIGN) * ALIGN


@dataclass
class GramIndex:
    """What rows of the kernel are computed from. ``add_rows`` is the interface of the CPU's indexes."""

    xp: Any
    diag: np.ndarray
    split: int
    dense: Any
    docs: Any
    values: Any
    entry_ptr: Any
    places: Any
    begins: Any
    dtype: Any = np.int32

    @classmethod
    def build(cls, xp: Any, codes, offsets, lo: int, hi: int, kind: str, split: int) -> GramIndex:
        """Sort the n-grams of all texts on the device and make the columns and lists."""
        n = len(offsets) - 1
        docs, counts, sizes, diag = ngram_lists(xp, codes, offsets, lo, hi, kind, split)
        diag = to_host(diag)
        if n and int(diag.max()) >= 2**31:
            raise DataError(
                f"A text has a kernel value of {int(diag.max()):,} with itself, more than 32 bits hold; use "
                "device='cpu', cut long texts, or kind='presence'.",
                code="out-of-range",
            )
        values = counts if kind == "spectrum" else None
        frequent = _frequent(xp, sizes, values, n)
        number = xp.searchsorted(xp.cumsum(sizes), xp.arange(len(docs)), side="right")
        inside = frequent[number] if len(sizes) else xp.zeros(0, bool)
        column = (xp.cumsum(frequent) - 1)[number[inside]] if len(sizes) else number
        dense = xp.zeros((padded(n) + ALIGN, padded(int(frequent.sum()))), np.int8)
        dense[docs[inside], column] = 1 if values is None else values[inside].astype(np.int8)
        del number, column
        docs = docs[~inside]
        values = None if values is None else values[~inside]
        return cls(xp, diag, split, dense, docs, values, *_entries(xp, docs, sizes[~frequent], n))

    def tile(self, a: int, b: int) -> Any:
        """Rows a..b-1 against the documents before b (before ``split``); below the diagonal complete, on it not."""
        width = self.split or b
        tile = self.xp.zeros((padded(b - a), padded(width)), np.int32)
        add_products(self.xp, tile, self.dense[a : a + len(tile)], self.dense[: tile.shape[1]])
        add_lists(self.xp, self, a, b, tile)
        return tile[: b - a, :width]

    def add_rows(self, a: int, b: int, out: np.ndarray) -> None:
        """Rows a..b-1 to the host."""
        tile = to_host(self.tile(a, b))
        out[:, : tile.shape[1]] = tile


def _frequent(xp: Any, sizes: Any, counts: Any, n: int) -> Any:
    """Which lists become columns: those in many documents, as far as memory goes; counts must fit 7 bits."""
    least = max(DENSE_SHARE * n, 2)
    room = max(DENSE_BYTES // max(n, 1), 0)
    if int((sizes >= least).sum()) > room:
        least = max(least, int(xp.sort(sizes)[-room - 1]) + 1 if room else n + 1)
    frequent = sizes >= least
    if counts is not None and len(counts):
        large = xp.flatnonzero(counts > 127)
        frequent[xp.searchsorted(xp.cumsum(sizes), large, side="right")] = False
    return frequent


def _entries(xp: Any, docs: Any, sizes: Any, n: int) -> tuple[Any, Any, Any]:
    """For each document its places in the lists, and where the list of each place begins."""
    ends = xp.cumsum(sizes)
    at = xp.arange(len(docs), dtype=np.int64)
    bits = max(len(docs), 1).bit_length()
    _, places = sorted_numbers(docs.astype(np.int64), max(n, 1).bit_length(), at, bits)
    begins = xp.concatenate([xp.zeros(1, np.int64), ends.astype(np.int64)])
    begins = begins[xp.searchsorted(ends, places, side="right")]
    entry_ptr = xp.zeros(n + 1, np.int64)
    if len(docs):
        entry_ptr[1:] = xp.cumsum(xp.bincount(docs, minlength=n))
    return entry_ptr, places, begins
