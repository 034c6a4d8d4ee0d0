"""Terms as bytes side by side, and a table that numbers them: many times as fast as strings in a dict, and smaller."""

from __future__ import annotations

import numpy as np

from isthmus.features.token_kernels import place_hashes, place_terms


def pack_texts(texts: list[str]) -> np.ndarray:
    """Strings without line feeds as one array of bytes, each ended by a line feed."""
    return np.frombuffer(bytearray("\n".join([*texts, ""]).encode("utf-8", "surrogatepass")), dtype=np.uint8)


def unpack_texts(packed: np.ndarray) -> list[str]:
    """Strings of :func:`pack_texts`, or of a stretch of its bytes that ends behind a line feed."""
    return packed.tobytes().decode("utf-8", "surrogatepass").split("\n")[:-1]


def packed_starts(packed: np.ndarray) -> np.ndarray:
    """Return where each packed string begins, and the end of the last one."""
    return np.concatenate([[0], np.flatnonzero(packed == ord("\n")) + 1])


class TermTable:
    """Numbers 0, 1, … of terms in the order in which they came, compared by their bytes, not by a hash alone."""

    def __init__(self) -> None:
        self.size = 0
        # A power of two, so that a mask replaces the division by the size.
        self._slots = np.full(1 << 10, -1, dtype=np.int32)
        self._hashes = np.empty(0, dtype=np.uint64)
        self._starts = np.zeros(1, dtype=np.int64)
        self._arena = np.empty(0, dtype=np.uint8)

    def add(self, packed: np.ndarray) -> np.ndarray:
        """Numbers of terms; new ones get the next."""
        # Every term ends with a line feed.
        count = int(np.count_nonzero(packed == ord("\n")))
        self._make_room(self.size + count, int(self._starts[self.size]) + len(packed))
        numbers, self.size = self._place(packed, count, True)
        return numbers

    def find(self, packed: np.ndarray) -> np.ndarray:
        """Numbers of terms, -1 for those that are not here."""
        return self._place(packed, int(np.count_nonzero(packed == ord("\n"))), False)[0]

    def packed(self, kept: np.ndarray) -> np.ndarray:
        """Return the bytes of the terms that ``kept`` marks."""
        # Bytes of the table that are in use; the rest is room for more terms.
        starts = self._starts[: self.size + 1]
        return self._arena[: starts[-1]][np.repeat(kept, np.diff(starts))]

    def _place(self, packed: np.ndarray, count: int, grow: bool) -> tuple[np.ndarray, int]:
        return place_terms(packed, count, self._slots, self._hashes, self._starts, self._arena, self.size, grow)

    def _make_room(self, terms: int, size: int) -> None:
        """Room for so many terms and bytes, twice as much as is needed where it must grow."""
        if terms > len(self._hashes):
            self._hashes = _wider(self._hashes, 2 * terms)
            self._starts = _wider(self._starts, 2 * terms + 1)
        if size > len(self._arena):
            self._arena = _wider(self._arena, 2 * size)
        # At most half of the slots are filled, so that a search is short.
        if 2 * terms > len(self._slots):
            self._slots = np.full(1 << (4 * terms).bit_length(), -1, dtype=np.int32)
            place_hashes(self._hashes[: self.size], self._slots)


def _wider(array: np.ndarray, size: int) -> np.ndarray:
    wide = np.empty(size, dtype=array.dtype)
    wide[: len(array)] = array
    return wide
