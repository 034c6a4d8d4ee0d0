"""Texts of a block to numbers of terms: the costly pass over a large input, done once and kept."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from isthmus.features.languages import languages_in_use, resolve_language, stop_words
from isthmus.features.ngrams import BITS, ngram_keys
from isthmus.features.term_table import pack_texts
from isthmus.features.token_kernels import number_keys
from isthmus.features.tokens import WordAnalyzer, as_terms
from isthmus.features.vectorizer import analyzer_for

_ASCII_WORD = re.compile(r"[a-z]{2,}")  # what the general pattern finds in plain text, many times as fast
_CACHE_WORDS = 500_000  # stems remembered between blocks


@dataclass(frozen=True)
class Reading:
    """How texts become terms: decided once, from a sample, and the same for all blocks and workers."""

    analyzer: str = "words"
    languages: tuple[str, ...] = ("en",)
    sentiment: bool = False  # as for :class:`isthmus.features.TextVectorizer`
    pairs: bool = False  # also two neighbouring words
    segment: bool = False  # cut scripts without blanks into words where a segmenter is installed

    @property
    def name(self) -> str:
        kind = "sentiment" if self.sentiment else "topic"
        return f"{kind}-{self.analyzer}-{'-'.join(self.languages)}{'-s' if self.segment else ''}"

    @property
    def spared(self) -> bool:
        """Whether words stay as they are written: stems and stop words cost English verdicts more than they bring."""
        return self.sentiment and self.languages[0] == "en"

    @property
    def most_documents(self) -> float:
        """Share of documents above which a term counts as a stop word, where no list of them is kept."""
        from isthmus.features.languages import UNSPACED
        from isthmus.features.vectorizer import EVERYWHERE

        language = self.languages[0]
        unlisted = language != "other" and language not in UNSPACED and not stop_words(language)
        return EVERYWHERE if unlisted and not self.sentiment else 1.0


def choose_reading(texts: Sequence[str], *, analyzer: str = "auto", language: str = "auto") -> Reading:
    """How these texts are best read; those given stand for all."""
    given = resolve_language(language)
    languages = languages_in_use(texts) if given == "auto" else (given,)
    chosen = analyzer_for(languages) if analyzer == "auto" else analyzer
    return Reading(chosen, tuple(languages), segment=analyzer == "words")


@dataclass
class Tokens:
    """Terms of a block's documents in their order, as numbers of the block's own distinct terms.

    ``terms`` are packed (:func:`isthmus.features.term_table.pack_texts`). ``solo`` says of each whether it stands for a
    whole word, so that it may form a pair; empty where all do.
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
    """Terms of the texts.

    >>> from isthmus.features.term_table import unpack_texts
    >>> tokens = read_tokens(["Kind people", "The kindest of people"], Reading())
    >>> unpack_texts(tokens.terms), tokens.ids.tolist(), tokens.ends.tolist()
    (['kind', 'peopl', 'kindest'], [0, 1, 2, 1], [2, 4])
    """
    if reading.analyzer != "words":
        return _read_keys(texts, reading)
    words = _analyzer(reading)
    if words.n_seen > _CACHE_WORDS:
        words.forget()
    index: defaultdict = defaultdict()
    index.default_factory = index.__len__
    number = index.__getitem__
    parts: list[int] = []
    ends = np.empty(len(texts), dtype=np.int64)
    one, plain = words.languages[0], _ASCII_WORD.findall
    several, general = len(words.languages) > 1, one in ("tr", "az")
    for i, text in enumerate(texts):
        if several:
            language = words.language_of(text)
            parts.extend(number((language, word)) for word in words.words(text, language))
        else:
            found = plain(text.lower()) if text.isascii() and not general else words.words(text, one)
            parts.extend(map(number, found))
        ends[i] = len(parts)
    keys = list(index)
    if several:
        by_language: dict[str, list[str]] = defaultdict(list)
        for language, word in keys:
            by_language[language].append(word)
        looked_up = {language: words.look_up(own, language) for language, own in by_language.items()}
        found_terms = [looked_up[language][word] for language, word in keys]
    else:
        seen = words.look_up(keys, one)
        found_terms = [seen[word] for word in keys]
    return _as_terms([as_terms(term) for term in found_terms], np.array(parts, dtype=np.int32), ends)


def _as_terms(terms: list[tuple[str, ...]], words: np.ndarray, ends: np.ndarray) -> Tokens:
    """Words to terms: none for a stop word, one, or several for a word that is cut into pieces."""
    names: dict[str, int] = {}
    lengths = np.fromiter(map(len, terms), dtype=np.int64, count=len(terms))
    flat = np.fromiter(
        (names.setdefault(term, len(names)) for several in terms for term in several),
        dtype=np.int32,
        count=int(lengths.sum()),
    )
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    per_word = lengths[words] if len(words) else np.zeros(0, dtype=np.int64)
    total = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(per_word)])
    if len(lengths) == 0 or lengths.max() <= 1:
        kept = per_word > 0
        ids = flat[starts[words[kept]]] if len(flat) else np.zeros(0, dtype=np.int32)
        solo = np.zeros(0, dtype=bool)
    else:
        place = np.repeat(starts[words] - total[:-1], per_word) + np.arange(total[-1])
        ids, solo = flat[place], np.repeat(per_word == 1, per_word)
    return Tokens(pack_texts(list(names)), ids.astype(np.int32), total[ends], solo)


def _read_keys(texts: Sequence[str], reading: Reading) -> Tokens:
    keys, rows = ngram_keys(texts, (3,) if reading.analyzer == "trigrams" else (2,))
    ids, distinct = number_keys(keys)
    names = _names(distinct, 3 if reading.analyzer == "trigrams" else 2)
    ends = np.searchsorted(rows, np.arange(len(texts)), side="right")
    return Tokens(pack_texts(names), ids, ends.astype(np.int64))


def _names(keys: np.ndarray, length: int) -> list[str]:
    """The n-grams of keys, all of one length: their code points side by side are a string of that length."""
    places = reversed(range(length))
    points = np.stack([((keys >> (BITS * place)) & ((1 << BITS) - 1)) - 1 for place in places], axis=1)
    return np.ascontiguousarray(points, dtype="<u4").view(f"<U{length}").ravel().tolist()
