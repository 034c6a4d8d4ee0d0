"""Terms of many texts as integers: every text is read once, and what several vectorisers need is made once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._progress import progress

_REPORT = 5_000  # texts between two reports


class _Store:
    """What has been made; one lock per key, so that two threads never make the same thing."""

    def __init__(self) -> None:
        self.made: dict[Hashable, Any] = {}
        self.locks: dict[Hashable, Lock] = {}
        self.lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        with self.lock:
            own = self.locks.setdefault(key, Lock())
        with own:
            if key not in self.made:
                self.made[key] = make()
            return self.made[key]


_store: ContextVar[_Store | None] = ContextVar("isthmus_shared_counts", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Keep tokens, counts and vectors inside the block for the next call that asks for them."""
    token = _store.set(_store.get() or _Store())
    try:
        yield
    finally:
        _store.reset(token)


def shared(key: Hashable, make: Callable[[], Any]) -> Any:
    """What ``make`` gives, or gave before inside the same :func:`sharing`; the caller must not change it."""
    store = _store.get()
    return make() if store is None else store.get(key, make)


def texts_key(texts: Sequence[str]) -> Hashable:
    return len(texts), hash(tuple(texts))


def rows_key(rows: Any) -> Hashable:
    parts = (rows.data, rows.indices, rows.indptr) if sp.issparse(rows) else (np.ascontiguousarray(rows),)
    return rows.shape, *(hash(part.tobytes()) for part in parts)


@dataclass
class Tokens:
    """The words of many texts: distinct words, their numbers one text after another, and where each text ends."""

    words: list[str]
    ids: np.ndarray
    ends: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))


def read_tokens(texts: Sequence[str], read: Callable[[str], list[str]], how: Hashable) -> Tokens:
    """All words of all texts; ``how`` identifies ``read`` for sharing.

    Texts that are all among the first that were read that way are not read again.
    """

    def make() -> Tokens:
        places, first = shared(
            ("first tokens", how),
            lambda: ({text: row for row, text in enumerate(texts)}, _read_tokens(texts, read)),
        )
        rows = [places.get(text, -1) for text in texts]
        return _read_tokens(texts, read) if -1 in rows else _take_tokens(first, np.array(rows, dtype=np.int64))

    return shared(("tokens", how, texts_key(texts)), make)


def numbering() -> defaultdict[str, int]:
    """Numbers words as they are first asked for, without a line of Python per word."""
    return defaultdict(count().__next__)


def _take_tokens(tokens: Tokens, rows: np.ndarray) -> Tokens:
    """The tokens of some texts, numbered as before."""
    if np.array_equal(rows, np.arange(len(tokens.ends))):
        return tokens
    places, ends = take_runs(np.concatenate([[0], tokens.ends]), rows)
    return Tokens(tokens.words, tokens.ids[places], ends[1:])


def take_runs(ends: np.ndarray, runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of some of many runs that stand one after another, and where each chosen one ends, 0 first.

    >>> [found.tolist() for found in take_runs(np.array([0, 2, 3, 6]), np.array([2, 0]))]
    [[3, 4, 5, 0, 1], [0, 3, 5]]
    """
    lengths = ends[runs + 1] - ends[runs]
    taken = np.concatenate([[0], np.cumsum(lengths)])
    return np.repeat(ends[runs] - taken[:-1], lengths) + np.arange(taken[-1]), taken


def _read_tokens(texts: Sequence[str], read: Callable[[str], list[str]]) -> Tokens:
    index = numbering()
    parts = []
    for i, text in enumerate(texts):
        words = read(text)
        parts.append(np.fromiter(map(index.__getitem__, words), np.int32, len(words)))
        if i % _REPORT == _REPORT - 1:
            progress("reading words", i + 1, len(texts))
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return Tokens(list(index), np.concatenate(parts) if parts else np.zeros(0, np.int32), ends)


def mark_following(tokens: Tokens, starts: np.ndarray, reach: int) -> np.ndarray:
    """Which tokens stand at most ``reach`` behind one of the words that ``starts`` marks, in the same text."""
    start, rows = starts[tokens.ids], tokens.rows
    marked = np.zeros(len(start), dtype=bool)
    for step in range(1, reach + 1):
        marked[step:] |= start[:-step] & (rows[step:] == rows[:-step])
    return marked & ~start


def count_terms(
    tokens: Tokens, terms: Sequence[str | None], ngram_range: tuple[int, int], keep: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, sp.csr_matrix]:
    """Names and counts of the terms that ``keep`` chooses from the document frequencies, in the order of the names.

    ``terms`` says what each distinct word counts as; a word of None is left out, and its neighbours become neighbours.
    """
    names, found = _find_sequences(tokens, terms, ngram_range)
    kept = keep(np.concatenate([part.frequency for part in found]))
    spelled: list[str] = []
    columns, start = [], 0
    for part in found:
        own = kept[(kept >= start) & (kept < start + len(part.spelling))] - start
        column = np.full(len(part.spelling), -1)
        column[own] = np.arange(len(own)) + len(spelled)
        columns.append(column)
        spelled += part.spell(names, own)
        start += len(part.spelling)
    chosen = np.array(spelled, dtype=object)
    order = np.argsort(chosen) if len(chosen) else np.zeros(0, dtype=int)
    rank = np.full(len(order) + 1, -1)  # the last is that of terms which are left out
    rank[order] = np.arange(len(order))
    return chosen[order], _fill(found, [rank[column] for column in columns], len(tokens.ends), len(chosen))


def count_known(
    tokens: Tokens, terms: Sequence[str | None], ngram_range: tuple[int, int], index: Mapping[str, int]
) -> sp.csr_matrix:
    """Counts of the terms that have a column in ``index``; the rest as for :func:`count_terms`."""
    names, found = _find_sequences(tokens, terms, ngram_range)
    columns = [np.array([index.get(term, -1) for term in part.spell(names)], dtype=np.int64) for part in found]
    return _fill(found, columns, len(tokens.ends), len(index))


def _find_sequences(
    tokens: Tokens, terms: Sequence[str | None], ngram_range: tuple[int, int]
) -> tuple[list[str], list[_Sequences]]:
    """The distinct terms of words, and the sequences of them of each length that is asked for."""
    names = list(dict.fromkeys(term for term in terms if term is not None))
    place = {name: number for number, name in enumerate(names)}
    number_of = np.array([-1 if term is None else place[term] for term in terms], dtype=np.int64)
    numbers = number_of[tokens.ids] if len(terms) else np.zeros(0, np.int64)
    rows, numbers = tokens.rows[numbers >= 0], numbers[numbers >= 0]
    every = _sequences(rows, numbers, len(names), range(1, ngram_range[1] + 1))
    return names, [part for part in every if part.spelling.shape[1] >= ngram_range[0]]


def count_pieces(
    tokens: Tokens, terms: Sequence[tuple[str, ...]], keep: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, sp.csr_matrix]:
    """As :func:`count_terms` for single terms, where a word may count as several: words in texts × terms in words."""
    names = sorted({term for several in terms for term in several})
    place = {name: number for number, name in enumerate(names)}
    columns = np.array([place[term] for several in terms for term in several], dtype=np.int64)
    ends = np.cumsum([0, *map(len, terms)])
    within = sp.csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(terms), len(names)))
    starts = np.concatenate([[0], tokens.ends])
    words = sp.csr_matrix((np.ones(len(tokens.ids)), tokens.ids, starts), shape=(len(tokens.ends), len(terms)))
    counts = sp.csr_matrix(words @ within)
    kept = keep(np.bincount(counts.indices, minlength=len(names)))
    counts = counts[:, kept]
    counts.sort_indices()
    return np.array(names, dtype=object)[kept], counts


@dataclass
class _Sequences:
    """Distinct sequences of one length (rows of term numbers), and how often each text has which."""

    spelling: np.ndarray
    rows: np.ndarray
    codes: np.ndarray
    counts: np.ndarray

    @property
    def frequency(self) -> np.ndarray:
        return np.bincount(self.codes, minlength=len(self.spelling))

    def spell(self, names: list[str], own: Any = slice(None)) -> list[str]:
        places = self.spelling[own].T.tolist()
        return list(map(" ".join, zip(*(map(names.__getitem__, place) for place in places), strict=True)))


def _sequences(rows: np.ndarray, numbers: np.ndarray, n_terms: int, lengths: range) -> Iterator[_Sequences]:
    """Per length: a sequence is the one that begins at the same place and is one term shorter, and a further term."""
    spelling = np.arange(n_terms, dtype=np.int64)[:, None]
    codes, places = numbers, np.arange(len(numbers))
    for length in lengths:
        if length > 1:
            places = places[places + length <= len(numbers)]
            places = places[rows[places] == rows[places + length - 1]]  # within one text
            keys = codes[places] * n_terms + numbers[places + length - 1]
            distinct, short = np.unique(keys, return_inverse=True)
            spelling = np.hstack([spelling[distinct // max(1, n_terms)], (distinct % max(1, n_terms))[:, None]])
            codes = np.full(len(numbers), -1)
            codes[places] = short
            del keys, short
        width = max(1, len(spelling))
        pairs, counts = np.unique(rows[places] * width + codes[places], return_counts=True)
        # Millions of pairs are kept until all lengths are counted: in four bytes where they fit.
        small = np.int32 if max(width, int(rows.max(initial=0))) < 2**31 else np.int64
        yield _Sequences(spelling, (pairs // width).astype(small), (pairs % width).astype(small), counts.astype(small))


def _fill(found: list[_Sequences], columns: list[np.ndarray], n_texts: int, n_columns: int) -> sp.csr_matrix:
    """Counts of the sequences that have a column; -1 for those that have none."""
    places = [column[part.codes] for part, column in zip(found, columns, strict=True)]
    kept = [place >= 0 for place in places]
    counts = np.concatenate([part.counts[own] for part, own in zip(found, kept, strict=True)])
    rows = np.concatenate([part.rows[own] for part, own in zip(found, kept, strict=True)])
    place = np.concatenate([place[own] for place, own in zip(places, kept, strict=True)])
    matrix = sp.csr_matrix((counts.astype(float), (rows, place)), shape=(n_texts, n_columns))
    matrix.sort_indices()
    return matrix
