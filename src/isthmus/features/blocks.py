"""Counts of texts that arrive block by block, over a vocabulary that grows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from isthmus.exceptions import IsthmusWarning, UsageError
from isthmus.features.languages import languages_in_use, resolve_language
from isthmus.features.ngrams import ngram_keys
from isthmus.features.tokens import WordAnalyzer
from isthmus.features.vectorizer import analyzer_for

_CACHE_WORDS = 300_000  # stems remembered between documents


class BlockVectorizer:
    """Sparse counts of one block after another; columns of a term never change, new terms get new columns.

    Words as :class:`~isthmus.features.TextVectorizer` reads them, or character bigrams as integers. Nothing is dropped
    by frequency: that cannot be known before the last block.

    Parameters
    ----------
    analyzer : {"auto", "words", "bigrams", "trigrams"}, default="auto"
        "auto": by the languages of the first block.
    max_terms : int, default=4_000_000
        Terms after which new ones are left out, with a warning; bounds memory.
    language : str, default="auto"
        As for :class:`~isthmus.features.TextVectorizer`; "auto" looks at the first block.

    Attributes
    ----------
    n_terms_ : int
        Terms seen so far.

    Examples
    --------
    >>> from isthmus.features.blocks import BlockVectorizer
    >>> vectorizer = BlockVectorizer(analyzer="words")
    >>> vectorizer.count(["kind staff"]).toarray().tolist()
    [[1.0, 1.0]]
    >>> vectorizer.count(["kind driver, kind staff"]).shape
    (1, 3)
    >>> vectorizer.count(["unknown staff"], grow=False).toarray().tolist()
    [[0.0, 1.0, 0.0]]
    """

    def __init__(self, analyzer="auto", max_terms=4_000_000, language="auto"):
        if analyzer not in ("auto", "words", "bigrams", "trigrams"):
            raise UsageError(
                f"analyzer={analyzer!r}; blocks are read as 'words', 'bigrams' or 'trigrams', or 'auto'.",
                code="bad-parameter",
            )
        self.analyzer = analyzer
        self.language = resolve_language(language)
        self.max_terms = max_terms
        self.analyzer_: str | None = None
        self._index: dict[str, int] = {}
        self._keys = np.zeros(0, dtype=np.int64)  # sorted, with the column of each beside it
        self._columns = np.zeros(0, dtype=np.int32)

    @property
    def n_terms_(self) -> int:
        return len(self._index) if self.analyzer_ == "words" else len(self._keys)

    def count(self, texts: Sequence[str], *, grow: bool = True) -> sp.csr_matrix:
        """Counts of a block over all terms known so far; with ``grow`` its new terms become known."""
        if self.analyzer_ is None:
            self._choose(texts)
        if self.analyzer_ == "words":
            return self._count_words(texts, grow)
        return self._count_keys(texts, grow)

    def names(self) -> np.ndarray:
        """The terms, in column order."""
        from isthmus.features.ngrams import key_names

        if self.analyzer_ == "words":
            return np.array(list(self._index), dtype=object)
        names = np.empty(len(self._keys), dtype=object)
        names[self._columns] = key_names(self._keys)
        return names

    def _choose(self, texts: Sequence[str]) -> None:
        languages = languages_in_use(texts) if self.language == "auto" else (self.language,)
        self.analyzer_ = analyzer_for(languages) if self.analyzer == "auto" else self.analyzer
        self._words = WordAnalyzer(
            languages, stem=True, stop_words=None, subwords=True, segment=self.analyzer == "words"
        )

    def _count_words(self, texts: Sequence[str], grow: bool) -> sp.csr_matrix:
        if self._words.n_seen > _CACHE_WORDS:
            self._words.forget()
        index, columns, lengths = self._index, [], np.zeros(len(texts), dtype=np.int64)
        for i, text in enumerate(texts):
            terms = self._words(text)
            if grow and len(index) + len(terms) <= self.max_terms:
                found = [index.setdefault(term, len(index)) for term in terms]
            else:
                found = [index[term] for term in terms if term in index]
                if grow and len(found) < len(terms):
                    self._warn_full()
            columns.extend(found)
            lengths[i] = len(found)
        rows = np.repeat(np.arange(len(texts)), lengths)
        return _counts(rows, np.array(columns, dtype=np.int64), (len(texts), len(index)))

    def _count_keys(self, texts: Sequence[str], grow: bool) -> sp.csr_matrix:
        keys, rows = ngram_keys(texts, (3,) if self.analyzer_ == "trigrams" else (2,))
        distinct, where = np.unique(keys, return_inverse=True)
        column, known = self._look_up(distinct)
        if grow and not known.all():
            self._grow(distinct[~known])
            column, known = self._look_up(distinct)
        kept = known[where]
        return _counts(rows[kept], column[where][kept], (len(texts), len(self._keys)))

    def _look_up(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not len(self._keys):
            return np.zeros(len(keys), dtype=np.int32), np.zeros(len(keys), dtype=bool)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return self._columns[place], self._keys[place] == keys

    def _grow(self, fresh: np.ndarray) -> None:
        room = self.max_terms - len(self._keys)
        if len(fresh) > room:
            fresh = fresh[: max(room, 0)]
            self._warn_full()
        columns = np.arange(len(self._keys), len(self._keys) + len(fresh), dtype=np.int32)
        place = np.searchsorted(self._keys, fresh)
        self._keys = np.insert(self._keys, place, fresh)
        self._columns = np.insert(self._columns, place, columns)

    def _warn_full(self) -> None:
        warnings.warn(
            IsthmusWarning(
                f"The vocabulary reached {self.max_terms:,} terms; terms seen later are left out.", code="approximation"
            ),
            stacklevel=4,
        )


def _counts(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sp.csr_matrix:
    matrix = sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    return matrix
