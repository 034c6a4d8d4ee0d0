"""Texts to rows over a vocabulary that is known already. Needs numpy and scipy.sparse alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._math.rows import row_blocks, unit_rows
from isthmus.features.counting import Terms, Tokens, find_terms, mark_following, place_terms, read_tokens
from isthmus.features.languages import negators
from isthmus.features.ngrams import key_names, ngram_keys
from isthmus.features.tokens import WordAnalyzer, negate
from isthmus.features.weights import weigh_tfidf

PART = 5_000  # texts whose terms are counted at a time
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

    @property
    def names(self) -> np.ndarray:
        """The term of each column."""
        return np.asarray(self.vocabulary.names if self.keys is None else key_names(self.keys), dtype=object)

    def __call__(self, texts: Sequence[str]) -> sp.csr_matrix:
        """Rows of new texts, which the caller must not change; unknown terms are left out."""
        return weigh_counts(self._count(texts), self.weighting, self.idf, sublinear=self.sublinear)

    def analyze(self, text: str) -> list[str]:
        """Return the terms of one text, also those outside the vocabulary."""
        if self.keys is None:
            return self.words(text)
        return key_names(piece_keys([text], self.analyzer, self.lengths, lowercase=self.lowercase)[0]).tolist()

    def _count(self, texts: Sequence[str]) -> sp.csr_matrix:
        if self.keys is None:
            return self._count_words(texts)
        blocks = []
        for block in row_blocks(len(texts), BLOCK):
            keys, documents = piece_keys(texts[block], self.analyzer, self.lengths, lowercase=self.lowercase)
            column = np.searchsorted(self.keys, keys)
            # Keys behind the last one get any column; the comparison below drops them.
            column[column == len(self.keys)] = 0
            known = self.keys[column] == keys
            blocks.append(count_places(documents[known], column[known], (block.stop - block.start, len(self.keys))))
        return sp.vstack(blocks, format="csr")

    def _count_words(self, texts: Sequence[str]) -> sp.csr_matrix:
        # In blocks: all sequences of words are spelled before the known ones are chosen.
        blocks = [find_words(texts[part], self.words) for part in row_blocks(len(texts), PART)]
        empty = sp.csr_matrix((0, len(self.vocabulary.index)))
        return sp.vstack([empty, *(place_terms(found, self.vocabulary.index) for found in blocks)], format="csr")


def find_words(texts: Sequence[str], words: WordAnalyzer) -> list[Terms]:
    """Count the terms of texts as ``words`` reads them; every distinct word is read once."""
    tokens = read_words(texts, words)
    terms = look_up_terms(tokens.words, words)
    if words.negation and len(tokens.ids):
        several = len(words.languages) > 1
        written = tokens.words if several else [(words.languages[0], word) for word in tokens.words]
        turning = np.array([word.lower() in negators(language) for language, word in written])
        marked = mark_following(tokens, turning, words.negation)
        # New tokens: those that were read are shared with others.
        tokens = replace(tokens, ids=tokens.ids + marked * np.int32(len(terms)))
        terms = terms + [None if term is None else negate(term) for term in terms]
    return find_terms(tokens, terms, words.ngram_range, words.phrases)


def look_up_terms(written: Sequence[Any], words: WordAnalyzer) -> list[Any]:
    """Return the term of each written word: None for a stop word, a tuple for a word that is cut.

    Parameters
    ----------
    written : sequence of str or (str, str)
        Words, with their languages if ``words`` reads several.
    words : WordAnalyzer

    Returns
    -------
    list of str, tuple or None
    """
    if len(words.languages) == 1:
        seen = words.look_up(written, words.languages[0])
        return [seen[word] for word in written]
    by_language: dict[str, list[str]] = {}
    for language, word in written:
        by_language.setdefault(language, []).append(word)
    found = {language: words.look_up(own, language) for language, own in by_language.items()}
    return [found[language][word] for language, word in written]


def read_words(texts: Sequence[str], words: WordAnalyzer) -> Tokens:
    """Return the written words of texts, with the language of each word where texts are in several languages."""
    how = words.languages, words.lowercase, words.segment
    if len(words.languages) == 1:
        return read_tokens(texts, lambda text: words.words(text, words.languages[0]), how)

    def read(text: str) -> list[tuple[str, str]]:
        language = words.language_of(text)
        return [(language, word) for word in words.words(text, language)]

    return read_tokens(texts, read, how)


def piece_keys(
    texts: Sequence[str], analyzer: str, lengths: tuple[int, int], *, lowercase: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Keys of the n-grams of characters that an analyser counts, and the text of each."""
    low, high = PIECE_LENGTHS.get(analyzer, lengths)
    return ngram_keys(texts, range(low, high + 1), lowercase=lowercase, words_only=analyzer in PIECE_LENGTHS)


def weigh_counts(counts: sp.csr_matrix, weighting: str, idf: np.ndarray | None, *, sublinear: bool) -> sp.csr_matrix:
    """Rows of the kind that was asked for: a copy, for the counts may belong to others as well."""
    if weighting == "tfidf":
        return weigh_tfidf(counts, idf, sublinear=sublinear)
    counts = counts.copy()
    # Counts as they are need no change.
    if weighting == "binary":
        counts.data[:] = 1.0
    return counts


def count_places(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sp.csr_matrix:
    """Return how often each column occurs in each row."""
    matrix = sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    return matrix


# -- What else may stand between texts and a classifier


@dataclass(frozen=True)
class LatentRows:
    """Rows along directions that were learned; see :class:`isthmus.features.LatentSemantics`."""

    components: np.ndarray

    def __call__(self, X: Any) -> np.ndarray:
        """Return the rows along the directions."""
        return X @ self.components.T


@dataclass(frozen=True)
class UnitRows:
    """Rows of length one."""

    def __call__(self, X: Any) -> Any:
        """Divide the rows by their lengths, in the precision that they have."""
        return unit_rows(X)


@dataclass(frozen=True)
class SideBySide:
    """What several chains of steps make of the same texts, as columns side by side."""

    parts: Sequence[Sequence[Any]]

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return the columns of all chains next to each other."""
        return np.hstack([run_steps(part, texts) for part in self.parts])


@dataclass(frozen=True)
class FittedTransformer:
    """A transformer of another package; a result with such a step cannot be saved."""

    transformer: Any

    def __call__(self, rows: Any) -> Any:
        """Return the transformed rows."""
        return self.transformer.transform(rows)


def all_steps(steps: Sequence[Any]) -> list[Any]:
    """Return the steps of a chain, and those of the chains within it."""
    inner = [part for step in steps if isinstance(step, SideBySide) for part in step.parts]
    return [*steps, *(step for part in inner for step in all_steps(part))]


def run_steps(steps: Sequence[Any], texts: Any) -> Any:
    """Pass texts through a chain of steps."""
    for step in steps:
        texts = step(texts)
    return texts
