"""Read the texts of a chunk as numbers of terms: the expensive pass over a large input, whose result is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from isthmus.features import counting
from isthmus.features.languages import UNSPACED, languages_in_use, resolve_language, stop_words
from isthmus.features.ngrams import BITS, ngram_keys
from isthmus.features.term_rows import look_up_terms, read_words
from isthmus.features.term_table import TermTable, pack_texts, unpack_texts
from isthmus.features.token_kernels import number_keys, pack_plain_words
from isthmus.features.tokens import WordAnalyzer, as_terms
from isthmus.features.vectorizer import EVERYWHERE, analyzer_for

_CACHE_WORDS = 500_000  # words whose stems are cached between chunks


@dataclass(frozen=True)
class Reading:
    """Choice of how texts become terms, made once from a sample and the same for all chunks and workers."""

    analyzer: str = "words"
    languages: tuple[str, ...] = ("en",)
    sentiment: bool = False  # as for :class:`isthmus.features.TextVectorizer`
    pairs: bool = False  # also two neighbouring words
    segment: bool = False  # cut scripts without blanks into words where a segmenter is installed

    @property
    def name(self) -> str:
        """Name under which terms of this reading are stored."""
        kind = "sentiment" if self.sentiment else "topic"
        return f"{kind}-{self.analyzer}-{'-'.join(self.languages)}{'-s' if self.segment else ''}"

    @property
    def spared(self) -> bool:
        """Whether words are not stemmed: stems and stop words lower the accuracy of English verdicts."""
        return self.sentiment and self.languages[0] == "en"

    @property
    def most_documents(self) -> float:
        """Share of documents above which a term is a stop word, for languages without a list of stop words."""
        language = self.languages[0]
        unlisted = language != "other" and language not in UNSPACED and not stop_words(language)
        return EVERYWHERE if unlisted and not self.sentiment else 1.0


def choose_reading(texts: Sequence[str], *, analyzer: str = "auto", language: str = "auto") -> Reading:
    """Choose how to read texts, from some of them."""
    given = resolve_language(language)
    languages = languages_in_use(texts) if given == "auto" else (given,)
    chosen = analyzer_for(languages) if analyzer == "auto" else analyzer
    return Reading(chosen, tuple(languages), segment=analyzer == "words")


@dataclass
class Tokens:
    """Terms of the documents of a chunk in their order, as numbers of the distinct terms of the chunk.

    ``terms`` are packed (:func:`isthmus.features.term_table.pack_texts`). ``solo``: which are whole words and may form
    pairs; empty where all are.
    """

    terms: np.ndarray
    ids: np.ndarray
    ends: np.ndarray
    solo: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))


@lru_cache(maxsize=4)
def _analyzer(reading: Reading) -> WordAnalyzer:
    return WordAnalyzer(
        reading.languages,
        stem=not reading.spared,
        stop_words=frozenset() if reading.spared else None,
        keep_negations=reading.sentiment,
        subwords=not reading.sentiment,
        segment=reading.segment,
    )


def read_tokens(texts: Sequence[str], reading: Reading) -> Tokens:
    """Return the terms of texts."""
    if reading.analyzer != "words":
        return _read_keys(texts, reading)
    words = _analyzer(reading)
    # The cache of stems would grow with the vocabulary of all chunks.
    if words.n_seen > _CACHE_WORDS:
        words.forget()
    read = _number_words if len(words.languages) == 1 else read_words
    found = read(texts, words)
    return _as_terms([as_terms(term) for term in look_up_terms(found.words, words)], found.ids, found.ends)


def _number_words(texts: Sequence[str], words: WordAnalyzer) -> counting.Tokens:
    """Return the written words of texts in one language.

    Texts of ASCII characters are read as bytes, which is many times as fast as a pattern.
    """
    language = words.languages[0]
    is_plain = np.array([text.isascii() for text in texts], dtype=bool)
    is_plain &= language not in ("tr", "az")  # their small i is another letter
    plain, others = np.flatnonzero(is_plain), np.flatnonzero(~is_plain)
    own = [texts[i] for i in plain.tolist()]
    joined = "".join(own).lower().encode("ascii")
    lengths = np.fromiter(map(len, own), dtype=np.int64, count=len(own))
    packed, counted = pack_plain_words(np.frombuffer(joined, dtype=np.uint8), np.cumsum(lengths))
    written = [words.words(texts[i], language) for i in others.tolist()]
    table = TermTable()
    numbers = table.add(packed), table.add(pack_texts([word for found in written for word in found]))
    # Both kinds of texts are put back into the order of the documents.
    counts = np.zeros(len(texts), dtype=np.int64)
    counts[plain] = counted
    counts[others] = [len(found) for found in written]
    ends = np.cumsum(counts)
    joint = np.empty(counts.sum(), dtype=np.int32)
    for part, rows in zip(numbers, (plain, others), strict=True):
        before = np.cumsum(counts[rows]) - counts[rows]
        joint[np.repeat((ends - counts)[rows] - before, counts[rows]) + np.arange(len(part))] = part
    return counting.Tokens(unpack_texts(table.packed(np.ones(table.size, dtype=bool))), joint, ends)


def _as_terms(terms: list[tuple[str, ...]], words: np.ndarray, ends: np.ndarray) -> Tokens:
    """Convert words to terms: none for a stop word, one, or several for a word that is cut into parts."""
    names: dict[str, int] = {}
    lengths = np.fromiter(map(len, terms), dtype=np.int64, count=len(terms))
    flat = np.fromiter(
        (names.setdefault(term, len(names)) for several in terms for term in several),
        dtype=np.int32,
        count=int(lengths.sum()),
    )
    starts = np.append(0, np.cumsum(lengths))
    per_word = lengths[words] if len(words) else np.zeros(0, dtype=np.int64)
    total = np.append(0, np.cumsum(per_word))
    # The common case: every word is one term or a stop word.
    if len(lengths) == 0 or lengths.max() <= 1:
        kept = per_word > 0
        ids = flat[starts[words[kept]]] if len(flat) else np.zeros(0, dtype=np.int32)
        solo = np.zeros(0, dtype=bool)
    else:
        place = np.repeat(starts[words] - total[:-1], per_word) + np.arange(total[-1])
        ids, solo = flat[place], np.repeat(per_word == 1, per_word)
    return Tokens(pack_texts(list(names)), ids.astype(np.int32), total[ends], solo)


def _read_keys(texts: Sequence[str], reading: Reading) -> Tokens:
    length = 3 if reading.analyzer == "trigrams" else 2
    keys, rows = ngram_keys(texts, (length,))
    ids, distinct = number_keys(keys)
    # The code points of an n-gram side by side are a string of its length.
    places = reversed(range(length))
    points = np.stack([((distinct >> (BITS * place)) & ((1 << BITS) - 1)) - 1 for place in places], axis=1)
    names = np.ascontiguousarray(points, dtype="<u4").view(f"<U{length}").ravel().tolist()
    ends = np.searchsorted(rows, np.arange(len(texts)), side="right")
    return Tokens(pack_texts(names), ids, ends.astype(np.int64))
