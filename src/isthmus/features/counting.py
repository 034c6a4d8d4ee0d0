"""Terms of many texts as integers: every text is read once, and what several vectorisers need is made once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
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
        # Other keys can be computed at the same time.
        with own:
            if key not in self.made:
                self.made[key] = make()
            return self.made[key]


_store: ContextVar[_Store | None] = ContextVar("isthmus_shared_counts", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Keep tokens, counts and vectors inside the block for the next call that asks for them."""
    # A block inside another block shares its results.
    token = _store.set(_store.get() or _Store())
    try:
        yield
    finally:
        _store.reset(token)


def shared(key: Hashable, make: Callable[[], Any]) -> Any:
    """Return the result of ``make``, or its earlier result inside the same :func:`sharing`.

    The caller must not change the result.
    """
    store = _store.get()
    return make() if store is None else store.get(key, make)


def texts_key(texts: Sequence[str]) -> Hashable:
    """Return a key that identifies texts by their content."""
    return len(texts), hash(tuple(texts))


def rows_key(rows: Any) -> Hashable:
    """Return a key that identifies rows by their content."""
    parts = (rows.data, rows.indices, rows.indptr) if sp.issparse(rows) else (np.ascontiguousarray(rows),)
    return rows.shape, *(hash(part.tobytes()) for part in parts)


@dataclass
class Tokens:
    """The words of many texts: distinct words, their numbers one text after another, and where each text ends."""

    words: list[Any]  # str, or (language, str) where texts are in several languages
    ids: np.ndarray
    ends: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """Text of each token."""
        return np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))


def read_tokens(texts: Sequence[str], read: Callable[[str], list], how: Hashable) -> Tokens:
    """All words of all texts; ``how`` identifies ``read`` for sharing.

    Texts that are all among the first that were read that way are not read again.
    """

    def make() -> Tokens:
        places, first = shared(
            ("first tokens", how),
            lambda: ({text: row for row, text in enumerate(texts)}, _read_tokens(texts, read)),
        )
        # Texts of an earlier call are looked up by content.
        rows = np.array([places.get(text, -1) for text in texts], dtype=np.int64)
        if np.any(rows < 0):
            return _read_tokens(texts, read)
        if np.array_equal(rows, np.arange(len(first.ends))):
            return first
        chosen, ends = take_runs(np.concatenate([[0], first.ends]), rows)
        return Tokens(first.words, first.ids[chosen], ends[1:])

    return shared(("tokens", how, texts_key(texts)), make)


def numbering() -> defaultdict[Any, int]:
    """Numbers words as they are first asked for, without a line of Python per word."""
    return defaultdict(count().__next__)


def take_runs(ends: np.ndarray, runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of some of many runs that stand one after another, and where each chosen one ends, 0 first.

    >>> [found.tolist() for found in take_runs(np.array([0, 2, 3, 6]), np.array([2, 0]))]
    [[3, 4, 5, 0, 1], [0, 3, 5]]
    """
    lengths = ends[runs + 1] - ends[runs]
    taken = np.concatenate([[0], np.cumsum(lengths)])
    return np.repeat(ends[runs] - taken[:-1], lengths) + np.arange(taken[-1]), taken


def _read_tokens(texts: Sequence[str], read: Callable[[str], list]) -> Tokens:
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


@dataclass
class Terms:
    """Counts of the terms of one length in texts × terms, and what spells the terms."""

    counts: sp.csr_matrix
    spelling: np.ndarray  # numbers of the single terms of each sequence, a row per sequence
    names: np.ndarray  # of the single terms

    def spell(self, own: Any = slice(None)) -> list[str]:
        """Return the terms, or some of them, as strings with blanks between the words."""
        places = self.spelling[own].T
        return list(map(" ".join, zip(*(self.names[place].tolist() for place in places), strict=True)))


def find_terms(
    tokens: Tokens,
    terms: Sequence[tuple[str, ...] | str | None],
    ngram_range: tuple[int, int],
    phrases: Collection[str],
) -> list[Terms]:
    """Count single terms, sequences of them, and phrases, one item per length.

    Parameters
    ----------
    tokens : Tokens
    terms : sequence
        The term of each distinct word. None leaves the word out, and its neighbours become neighbours. Several terms,
        the pieces of a word, occur in no sequence.
    ngram_range : (int, int)
    phrases : collection of str
        Sequences that are longer than those of ``ngram_range``.
    """
    several = [(term,) if isinstance(term, str) else term or () for term in terms]
    names = sorted({term for own in several for term in own})
    place = {name: number for number, name in enumerate(names)}
    spelled = np.array(names, dtype=object)
    found = []
    if ngram_range[0] == 1:
        columns = np.array([place[term] for own in several for term in own], dtype=np.int64)
        ends = np.cumsum([0, *map(len, several)])
        within = sp.csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(terms), len(names)))
        starts = np.concatenate([[0], tokens.ends])
        words = sp.csr_matrix((np.ones(len(tokens.ids)), tokens.ids, starts), shape=(len(tokens.ends), len(terms)))
        found.append(Terms(sp.csr_matrix(words @ within), np.arange(len(names))[:, None], spelled))
    longest = max([ngram_range[1], *(phrase.count(" ") + 1 for phrase in phrases)])
    if longest > 1:
        own_places = [place[term] if isinstance(term, str) else -1 for term in terms]
        numbers = np.array(own_places, dtype=np.int64)[tokens.ids]
        counted = np.array([term is not None for term in terms], dtype=bool)[tokens.ids]
        for part in _sequences(tokens.rows[counted], numbers[counted], spelled, len(tokens.ends), longest):
            length = part.spelling.shape[1]
            if length > ngram_range[1]:
                own = np.array([place for place, name in enumerate(part.spell()) if name in phrases], dtype=np.int64)
                part = Terms(part.counts[:, own], part.spelling[own], spelled)
            if length >= ngram_range[0]:
                found.append(part)
    return found


def _sequences(rows: np.ndarray, numbers: np.ndarray, names: np.ndarray, n_texts: int, longest: int) -> Iterator[Terms]:
    """Yield the sequences of two terms and more: one that starts at the same place and is shorter by a term, and one.

    ``rows`` and ``numbers`` are the text and the term of each place, -1 for a place that no sequence may contain.
    """
    # A sequence is one number: the code of its first part, times the number of terms, plus its last term.
    n_terms = max(1, len(names))
    spelling, codes, places = np.arange(n_terms)[:, None], numbers, np.flatnonzero(numbers >= 0)
    for length in range(2, longest + 1):
        places = places[places + length <= len(numbers)]
        last = numbers[places + length - 1]
        inside = (rows[places] == rows[places + length - 1]) & (last >= 0)
        places, last = places[inside], last[inside]
        distinct, short = np.unique(codes[places] * n_terms + last, return_inverse=True)
        spelling = np.hstack([spelling[distinct // n_terms], (distinct % n_terms)[:, None]])
        codes = np.full(len(numbers), -1)
        codes[places] = short
        counts = sp.csr_matrix((np.ones(len(places)), (rows[places], short)), shape=(n_texts, len(spelling)))
        yield Terms(counts, spelling, names)


def choose_terms(found: Sequence[Terms], keep: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, sp.csr_matrix]:
    """Return names and counts of the terms that ``keep`` chooses by document frequency, in the order of the names."""
    counts = sp.hstack([part.counts for part in found], format="csr")
    kept = keep(np.bincount(counts.indices, minlength=counts.shape[1]))
    names: list[str] = []
    start = 0
    for part in found:
        names += part.spell(kept[(kept >= start) & (kept < start + len(part.spelling))] - start)
        start += len(part.spelling)
    chosen = np.array(names, dtype=object)
    order = np.argsort(chosen)
    # Columns follow the names, so the order of the texts does not decide.
    counts = counts[:, kept[order]]
    counts.sort_indices()
    return chosen[order], counts


def place_terms(found: Sequence[Terms], index: Mapping[str, int]) -> sp.csr_matrix:
    """Return the counts of the terms that have a column in ``index``."""
    counts = sp.hstack([part.counts for part in found], format="csr")
    # Terms outside the vocabulary get -1 and are dropped.
    columns = np.array([index.get(name, -1) for part in found for name in part.spell()], dtype=np.int32)
    counts = counts[:, np.flatnonzero(columns >= 0)]
    places = columns[columns >= 0][counts.indices]
    placed = sp.csr_matrix((counts.data, places, counts.indptr), shape=(counts.shape[0], len(index)))
    placed.sort_indices()
    return placed
