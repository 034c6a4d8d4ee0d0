"""Texts to rows over a vocabulary that is known already. Needs numpy and scipy.sparse alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._math.rows import row_blocks, unit_rows
from isthmus.features.counting import (
    Tokens,
    count_known,
    count_pieces,
    count_terms,
    mark_following,
    read_tokens,
)
from isthmus.features.languages import negators
from isthmus.features.ngrams import ngram_keys
from isthmus.features.tokens import NEGATED, WordAnalyzer, as_terms
from isthmus.features.weights import weigh_tfidf

_FEW = 2_000  # terms that are counted by sorting them
_MANY, _PART = 100, 5_000  # texts from which every distinct word is looked up once, and how many at a time
BLOCK = 20_000  # documents per block of the integer path: bounds the array of keys
PIECE_LENGTHS = {"bigrams": (2, 2), "trigrams": (3, 3)}


@dataclass(frozen=True)
class Vocabulary:
    """The terms, in the order of their columns."""

    names: Sequence[str]

    @cached_property
    def index(self) -> dict[str, int]:
        """Column of each term; made when new texts come, which they often do not."""
        return {name: column for column, name in enumerate(self.names)}


@dataclass(frozen=True)
class TermRows:
    """What a fitted vectoriser does with new texts.

    ``analyzer`` is "words" with a ``vocabulary``, or one of characters with sorted ``keys`` of n-grams. The other
    fields are as for :class:`isthmus.features.TextVectorizer`.
    """

    analyzer: str
    words: WordAnalyzer
    vocabulary: Vocabulary
    keys: np.ndarray | None
    idf: np.ndarray
    weighting: str
    sublinear: bool
    lowercase: bool
    lengths: tuple[int, int]  # of n-grams of characters

    def __call__(self, texts: Sequence[str]) -> sp.csr_matrix:
        """Rows of new texts, which the caller must not change; unknown terms are left out."""
        return weigh_counts(self._count(texts), self.weighting, self.idf, sublinear=self.sublinear)

    def _count(self, texts: Sequence[str]) -> sp.csr_matrix:
        if self.keys is None:
            return self._count_words(texts)
        blocks = []
        for block in row_blocks(len(texts), BLOCK):
            keys, documents = piece_keys(texts[block], self.analyzer, self.lengths, lowercase=self.lowercase)
            column = np.searchsorted(self.keys, keys)
            column[column == len(self.keys)] = 0
            known = self.keys[column] == keys
            blocks.append(count_places(documents[known], column[known], (block.stop - block.start, len(self.keys))))
        return sp.vstack(blocks, format="csr")

    def _count_words(self, texts: Sequence[str]) -> sp.csr_matrix:
        if len(texts) > _MANY:  # in blocks: all pairs of words are spelled before those that are known are picked
            return sp.vstack([self._count_many(texts[part]) for part in row_blocks(len(texts), _PART)], format="csr")
        index, analyze = self.vocabulary.index, self.words
        rows = [[index[term] for term in analyze(text) if term in index] for text in texts]
        return counts_from_rows(rows, len(index))

    def _count_many(self, texts: Sequence[str]) -> sp.csr_matrix:
        index = self.vocabulary.index
        read = read_terms(texts, self.words)
        if read is None:
            return sp.vstack([self._count_words(texts[part]) for part in row_blocks(len(texts), _MANY)])
        tokens, terms, in_pieces = read
        if not in_pieces:
            return count_known(tokens, terms, self.words.ngram_range, index)
        names, counts = count_pieces(tokens, terms, np.flatnonzero)
        columns = np.array([index.get(name, -1) for name in names], dtype=np.int32)
        known = counts[:, np.flatnonzero(columns >= 0)]
        places = columns[columns >= 0][known.indices]  # names and vocabulary are in the same order
        return sp.csr_matrix((known.data, places, known.indptr), shape=(len(texts), len(index)))


def count_as_integers(
    texts: Sequence[str], words: WordAnalyzer, keep: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, sp.csr_matrix] | None:
    """Names and counts of the terms that ``keep`` chooses from the document frequencies; None as for `read_terms`."""
    read = read_terms(texts, words)
    if read is None:
        return None
    tokens, terms, in_pieces = read
    return count_pieces(tokens, terms, keep) if in_pieces else count_terms(tokens, terms, words.ngram_range, keep)


def read_terms(texts: Sequence[str], words: WordAnalyzer) -> tuple[Tokens, list, bool] | None:
    """Words of texts, each distinct one read once; what each counts as; and whether that is several terms a word.

    None for several languages, for phrases, and for sequences of pieces of words.
    """
    if len(words.languages) > 1 or words.phrases:
        return None
    language = words.languages[0]
    tokens = read_tokens(texts, lambda text: words.words(text, language), (language, words.lowercase, words.segment))
    seen = words.look_up(tokens.words, language)
    terms: list[Any] = [seen[word] for word in tokens.words]
    if any(isinstance(term, tuple) for term in terms):
        single = words.ngram_range == (1, 1) and not words.negation
        return (tokens, [as_terms(term) for term in terms], True) if single else None
    if words.negation and len(tokens.ids):
        turning = np.array([word.lower() in negators(language) for word in tokens.words])
        marked = mark_following(tokens, turning, words.negation)
        # Only what is read is replaced: these tokens are shared with others.
        tokens = replace(tokens, ids=tokens.ids + marked * np.int32(len(terms)))
        terms = terms + [None if term is None else NEGATED + term for term in terms]
    return tokens, terms, False


def piece_keys(
    texts: Sequence[str], analyzer: str, lengths: tuple[int, int], *, lowercase: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Keys of the n-grams of characters that an analyser counts, and the text of each."""
    low, high = PIECE_LENGTHS.get(analyzer, lengths)
    return ngram_keys(texts, range(low, high + 1), lowercase=lowercase, words_only=analyzer in PIECE_LENGTHS)


def weigh_counts(counts: sp.csr_matrix, weighting: str, idf: np.ndarray, *, sublinear: bool) -> sp.csr_matrix:
    """Rows of the kind that was asked for: a copy, for the counts may belong to others as well."""
    if weighting == "tfidf":
        return weigh_tfidf(counts, idf, sublinear=sublinear)
    counts = counts.copy()
    if weighting == "binary":
        counts.data[:] = 1.0
    return counts


def counts_from_rows(rows: list[list[int]], n_columns: int) -> sp.csr_matrix:
    """Counts from the columns of each row's terms, one after another."""
    lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
    columns = np.fromiter((column for row in rows for column in row), dtype=np.int64, count=int(lengths.sum()))
    return count_places(np.repeat(np.arange(len(rows)), lengths), columns, (len(rows), n_columns))


def count_places(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sp.csr_matrix:
    if len(rows) <= _FEW:  # a text or two: most of the time would go to building and checking a second matrix
        places, counts = np.unique(rows * np.int64(shape[1]) + columns, return_counts=True)
        starts = np.searchsorted(places, np.arange(shape[0] + 1) * np.int64(shape[1])).astype(np.int32)
        indices = (places % max(1, shape[1])).astype(np.int32)
        matrix = sp.csr_matrix((counts.astype(np.float64), indices, starts), shape=shape)
        matrix.has_canonical_format = True
        return matrix
    matrix = sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    return matrix


# -- What else may stand between texts and a classifier


@dataclass(frozen=True)
class LatentRows:
    """Rows along directions that were learned; see :class:`isthmus.features.LatentSemantics`."""

    components: np.ndarray

    def __call__(self, X: Any) -> np.ndarray:
        return X @ self.components.T


@dataclass(frozen=True)
class UnitRows:
    def __call__(self, X: Any) -> Any:
        """The rows at length one, in the precision that they have."""
        return unit_rows(X)


@dataclass(frozen=True)
class SideBySide:
    """What several chains of steps make of the same texts, as columns side by side."""

    parts: Sequence[Sequence[Any]]

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        return np.hstack([run_steps(part, texts) for part in self.parts])


def run_steps(steps: Sequence[Any], texts: Any) -> Any:
    for step in steps:
        texts = step(texts)
    return texts
