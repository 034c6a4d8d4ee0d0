"""N-grams of many sequences, sorted once: a further sequence is then compared with all of them in a few milliseconds.

Every place is known by a key of 64 bits, the n-gram of the greatest length that begins there, zeros past the end of
its sequence. Places that begin with the same n-gram of any length then stand side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from isthmus.features.gram import SMALL, normalize_kernel, rank_symbols


@dataclass(frozen=True)
class NgramLookup:
    """Places of all n-grams in the order of their keys."""

    lo: int
    hi: int
    bits: int  # of a symbol
    symbols: np.ndarray  # in order; the number of a symbol is its place, from 1
    keys: np.ndarray
    sequences: np.ndarray  # sequence of each place
    before: np.ndarray  # the nearest place before it in the same sequence, -1 for none
    n_sequences: int

    @classmethod
    def build(cls, codes: np.ndarray, offsets: np.ndarray, lo: int, hi: int) -> NgramLookup | None:
        """From sequences that stand one behind the other; None where an n-gram does not fit into a key."""
        ranks, needed = rank_symbols(codes)
        bits = min(64 // hi, 16)
        if needed > bits or not len(codes):
            return None
        n = len(offsets) - 1
        sequence = np.repeat(np.arange(n, dtype=np.uint16 if n <= 65_536 else np.uint32), np.diff(offsets))
        keys, fits = _keys(ranks, np.asarray(offsets)[1:][sequence] - np.arange(len(codes)), lo, hi, bits)
        order = np.argsort(keys)
        sequence = sequence[fits][order]
        by_sequence = np.argsort(sequence, kind="stable")
        before = np.full(len(order), -1, dtype=np.int32 if len(order) < 2**31 else np.int64)
        again = sequence[by_sequence[1:]] == sequence[by_sequence[:-1]]
        before[by_sequence[1:][again]] = by_sequence[:-1][again]
        symbols = np.empty(int(ranks.max()), dtype=codes.dtype)
        symbols[ranks - 1] = codes
        return cls(lo, hi, bits, symbols, keys[order], sequence, before, n)

    def presence(self, codes: np.ndarray) -> tuple[np.ndarray, int] | None:
        """Distinct n-grams that a sequence shares with each of the others, and how many it has.

        None where it has more new symbols than there are numbers left.
        """
        ranks = np.minimum(np.searchsorted(self.symbols, codes), len(self.symbols) - 1)
        new = self.symbols[ranks] != codes
        fresh, numbers = np.unique(codes[new], return_inverse=True)
        if len(self.symbols) + len(fresh) + 1 >= 1 << self.bits:  # a key of ones alone would have none beyond it
            return None
        ranks[new] = len(self.symbols) + numbers
        keys, _ = _keys(ranks + 1, len(codes) - np.arange(len(codes)), self.lo, self.hi, self.bits)
        rests = [np.uint64((1 << self.bits * (self.hi - length)) - 1) for length in range(self.lo, self.hi + 1)]
        # All lengths in one order: neighbours are looked up at places that lie side by side.
        own = np.sort(np.concatenate([keys[: max(0, len(keys) - more)] & ~low for more, low in enumerate(rests)]))
        own = own[np.diff(own, prepend=np.uint64(0)) > 0]
        rest = np.zeros_like(own)
        for low in reversed(rests):
            rest[own & low == 0] = low  # no symbol beyond this length
        return self._count(own, own + rest + np.uint64(1)), len(own)

    def compare(self, codes: np.ndarray, offsets: np.ndarray, diagonal: np.ndarray) -> np.ndarray | None:
        """The normalised kernel of sequences with the others, whose diagonal is known; None as for a single one."""
        found = [self.presence(codes[start:end]) for start, end in pairwise(offsets.tolist())]
        known = [row for row in found if row is not None]
        if len(known) < len(found):
            return None
        K = np.array([counts for counts, _ in known], dtype=np.float64)
        return normalize_kernel(K, np.array([size for _, size in known]), diagonal)

    def _count(self, keys: np.ndarray, beyond: np.ndarray) -> np.ndarray:
        """How many of the n-grams each sequence has: places from ``keys`` up to ``beyond`` are those of one n-gram.

        A sequence counts where it stands there for the first time.
        """
        counts = np.zeros(self.n_sequences, dtype=np.int64)
        if len(self.keys) > SMALL:
            from isthmus.features.gram_kernels import count_stretches

            count_stretches(keys, beyond, self.keys, self.sequences, self.before, counts)
            return counts
        first, last = np.searchsorted(self.keys, keys), np.searchsorted(self.keys, beyond)
        lengths = last - first
        begins = np.repeat(first, lengths)
        at = np.arange(len(begins)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + begins
        counts += np.bincount(self.sequences[at[self.before[at] < begins]], minlength=self.n_sequences)
        return counts


def _keys(ranks: np.ndarray, left: np.ndarray, lo: int, hi: int, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Keys of the places where an n-gram of length ``lo`` fits, and which these are; ``left`` symbols to the end."""
    keys = np.zeros(len(ranks), dtype=np.uint64)
    ranks = ranks.astype(np.uint64)
    for ahead in range(min(hi, len(ranks))):
        part = ranks[ahead:] << np.uint64(bits * (hi - 1 - ahead))
        part[left[: len(part)] <= ahead] = 0
        keys[: len(part)] |= part
    fits = left >= lo
    return keys[fits], fits
