"""Texts to terms: Unicode made uniform, words, stems, stop words, and pieces of scripts without blanks."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from typing import Any

from isthmus.features.counting import shared
from isthmus.features.languages import SCRIPTS, SUBWORDS, negators, pick_language, spread_sample, stemmer, stop_words
from isthmus.features.spelling import lower_text, normalize_text

# Letters, and the marks that Python's \w leaves out (accents written apart, Hebrew and Arabic points, the vowels of
# Indic scripts, Thai, Lao, Burmese and Khmer). Numbers are no words: across domains they bind documents by chance.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0971-\u0dff\u0e31-\u0e4e"
    "\u0eb1-\u0ece\u102b-\u103e\u1056-\u109d\u135d-\u135f\u17b4-\u17d3"
)
WORD = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{_MARKS}])+")
_NO_LETTERS = {code: " " for code in range(128) if not chr(code).isalpha()}
# Pieces in place of words: pairs of ideographs and kana, syllables and pairs of them in Korean, whose particles cling
# to words, and three letters in a row in the alphabets that write no blanks (docs/measured/languages.md says why).
_PIECES = {
    (2, 2): SCRIPTS["han"] + SCRIPTS["kana"],
    (1, 2): SCRIPTS["hangul"],
    (3, 3): r"\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u109d\u1780-\u17d3",
}
_CUT = re.compile("|".join(f"([{letters}]+)" for letters in _PIECES.values()))
_LENGTHS = tuple(_PIECES)
PIECE = "…"  # around a piece of a word, so that it is no word's term
_PIECE_LETTERS = 5
NEGATED = "not-"  # before the term of a word that is negated; no term of a word holds a hyphen


def tokenize_words(text: str, *, lowercase: bool = True) -> list[str]:
    """Words of two or more Unicode letters.

    Examples
    --------
    >>> from isthmus.features import tokenize_words
    >>> tokenize_words("Très bien, I'm re-reading all 12 of them!")
    ['très', 'bien', 're', 'reading', 'all', 'of', 'them']
    """
    return _find_words(text.lower() if lowercase else text)


def _find_words(text: str) -> list[str]:
    if not text.isascii():
        return WORD.findall(text)
    return [word for word in text.translate(_NO_LETTERS).split() if len(word) > 1]  # the same in a third of the time


def stem_words(words: Iterable[str], language: str = "en") -> list[str]:
    """Stems of a language's words; the words themselves where it has no stemmer.

    >>> stem_words(["riding", "rides", "prices"]), stem_words(["Häuser", "Hauses"], "de")
    (['ride', 'ride', 'price'], ['Haus', 'Haus'])
    """
    found = stemmer(language)
    return list(words) if found is None else found.stemWords(list(words))


def needs_cut(word: str) -> bool:
    """Whether a word stands for pieces of it: its script writes no blanks."""
    return _CUT.search(word) is not None


def cut_pieces(word: str) -> list[str]:
    """Cut a word whose script writes no blanks into the terms that are counted."""
    terms: list[str] = []
    at = 0
    for run in _CUT.finditer(word):
        if run.start() - at > 1:
            terms.append(word[at : run.start()])
        low, high = _LENGTHS[int(run.lastindex or 1) - 1]
        letters = run.group()
        for length in range(min(low, len(letters)), min(high, len(letters)) + 1):
            terms += [letters[i : i + length] for i in range(len(letters) - length + 1)]
        at = run.end()
    if len(word) - at > 1:
        terms.append(word[at:])
    return terms


def cut_subwords(word: str) -> list[str]:
    """Every five letters of a word in a row; a shorter word whole."""
    last = max(1, len(word) - _PIECE_LETTERS + 1)
    return [f"{PIECE}{word[i : i + _PIECE_LETTERS]}{PIECE}" for i in range(last)]


# -- segmenters: optional packages that know words of scripts without blanks -------------------------------------------


@lru_cache(maxsize=4)
def segmenter(language: str) -> Callable[[str], list[str]] | None:
    """Return the function that cuts a text of the language into words, or None where no such package is installed."""
    try:
        if language == "zh":
            return importlib.import_module("rjieba").cut
        if language == "ja":
            tagger = importlib.import_module("fugashi").Tagger("-Owakati")
            return lambda text: tagger.parse(text).split()
        if language == "th":
            return importlib.import_module("pythainlp.tokenize").word_tokenize
    except (ImportError, RuntimeError):  # fugashi without a dictionary is a RuntimeError
        pass
    return None


def as_terms(term: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the terms of a word as a tuple; empty for a stop word."""
    return () if term is None else (term,) if isinstance(term, str) else term


def negate(term: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """Return the term of a negated word; the pieces of a word stay."""
    return NEGATED + term if isinstance(term, str) else term


@dataclass(eq=False, repr=False)
class WordAnalyzer:
    """Text to list of terms; every distinct word is stemmed and looked up once.

    With several ``languages`` each text is read in the likeliest of them. ``stop_words`` are left out before stemming
    (None: each language's own list, ``keep_negations`` without words that negate). ``subwords`` adds to each word its
    pieces of five letters, in the languages where that helps; with single words only. ``segment`` cuts scripts without
    blanks by a segmenter where one is installed. ``negation`` is how many words after one that negates count as other
    words: "good" there becomes "not-good".
    """

    languages: tuple[str, ...] = ("en",)
    _: KW_ONLY
    lowercase: bool = True
    stem: bool = False
    stop_words: frozenset[str] | None = frozenset()
    keep_negations: bool = False
    ngram_range: tuple[int, int] = (1, 1)
    subwords: bool = False
    segment: bool = False
    negation: int = 0
    phrases: frozenset[str] = frozenset()
    _seen: dict[str, dict[str, str | tuple[str, ...] | None]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Store the languages as a tuple."""
        self.languages = tuple(self.languages)

    def add_phrases(self, phrases: Iterable[str]) -> None:
        """Count these phrases, too, where they have more words than the sequences that are counted anyway."""
        read = [[term for term in self._terms(phrase) if isinstance(term, str)] for phrase in phrases]
        self.phrases |= {" ".join(terms) for terms in read if len(terms) > self.ngram_range[1]}

    def _terms(self, text: str) -> list[Any]:
        """Return the term of each word of a text without stop words."""
        language = self.language_of(text)
        words = self.words(text, language)
        seen = self.look_up(words, language)
        if not self.negation:
            return [term for word in words if (term := seen[word]) is not None]
        # Mark the words that follow closely behind one that negates.
        turning, last = negators(language), -self.negation - 1
        turned = []
        for place, word in enumerate(words):
            if word.lower() in turning:
                last = place
            turned.append(0 < place - last <= self.negation)
        found = [(seen[word], negated) for word, negated in zip(words, turned, strict=True)]
        return [negate(term) if negated else term for term, negated in found if term is not None]

    def _found_phrases(self, terms: list[Any]) -> list[str]:
        plain = [term if isinstance(term, str) else PIECE for term in terms]
        lengths = sorted({phrase.count(" ") + 1 for phrase in self.phrases})
        runs = (" ".join(plain[i : i + length]) for length in lengths for i in range(len(plain) - length + 1))
        return [run for run in runs if run in self.phrases]

    def language_of(self, text: str) -> str:
        """Return the language in which a text is read."""
        return self.languages[0] if len(self.languages) == 1 else pick_language(text, self.languages)

    def words(self, text: str, language: str) -> list[str]:
        """Written words of a text in that language, stop words included."""
        text = normalize_text(text)
        if self.lowercase:
            text = lower_text(text, language)
        words = _find_words(text)
        if self.segment and (cut := segmenter(language)) is not None:
            return [part for word in words for part in (cut(word) if needs_cut(word) else [word]) if len(part) > 1]
        return words

    def look_up(self, words: Iterable[str], language: str) -> dict[str, str | tuple[str, ...] | None]:
        """Term of each word: None for a stop word, several where the word is cut into pieces."""
        seen = self._seen.setdefault(language, {})
        fresh = [word for word in set(words) if word not in seen]
        if fresh:
            stops = self._stops(language)
            kept = [word for word in fresh if word.lower() not in stops]
            seen.update(dict.fromkeys(fresh))
            terms: list[Any] = kept
            if self.stem:  # others stem the same words
                stems = shared(("stems", language), dict)
                new = [word for word in kept if word not in stems]
                stems.update(zip(new, stem_words(new, language), strict=True))
                terms = [stems[word] for word in kept]
            if self.subwords and language in SUBWORDS:
                terms = [(term, *cut_subwords(word)) for word, term in zip(kept, terms, strict=True)]
            seen.update(zip(kept, terms, strict=True))
            if not (self.segment and segmenter(language)):
                seen.update({word: tuple(cut_pieces(word)) for word in kept if needs_cut(word)})
        return seen

    def _stops(self, language: str) -> frozenset[str]:
        if self.stop_words is not None:
            return self.stop_words
        return stop_words(language, negations=not self.keep_negations)

    def __call__(self, text: str) -> list[str]:
        """Return the terms of a text: words, sequences of words, and phrases."""
        terms = self._terms(text)
        several = not (text.isascii() and not self.subwords) and any(isinstance(term, tuple) for term in terms)
        low, high = self.ngram_range
        grams = list(terms) if low == 1 else []
        for length in range(max(low, 2), high + 1):
            runs = (terms[i : i + length] for i in range(len(terms) - length + 1))
            # Pieces overlap as they are: no sequences of them.
            grams += [" ".join(run) for run in runs if not several or all(isinstance(term, str) for term in run)]
        if self.phrases:
            grams += self._found_phrases(terms)
        return [piece for gram in grams for piece in as_terms(gram)] if several else grams

    def seen_words(self) -> Iterable[tuple[str, str | tuple[str, ...]]]:
        """Every word met so far that has a term, with its term or terms."""
        for seen in self._seen.values():
            yield from ((word, term) for word, term in seen.items() if term is not None)

    @property
    def n_seen(self) -> int:
        """Number of distinct words read so far."""
        return sum(map(len, self._seen.values()))

    def forget(self) -> None:
        """Free the memory of the words read so far."""
        self._seen.clear()

    def __getstate__(self):
        """Return the settings without the words read so far."""
        return {**self.__dict__, "_seen": {}}


# -- Terms as people write them: the commonest word behind each stem, and around each piece of a word


_DOCUMENTS = 4_000  # that are looked at for the commonest forms
_CHARACTERS = 5_000  # of each


def surface_forms(vectorizer: Any, texts: Sequence[str], *, whole: bool = True) -> dict[str, str]:
    """Stem to the commonest word that has it; empty where the fitted vectoriser does not stem.

    ``whole``: also stems that the vectoriser has met elsewhere than in these texts.
    """
    reader: Any = getattr(vectorizer, "term_rows", vectorizer)
    if getattr(reader, "analyzer", None) != "words" or not hasattr(reader, "words"):
        return {}
    words = reader.words
    if not (words.stem or words.subwords):
        return {}
    counts: dict[str, Counter] = {}
    for text in spread_sample(texts, _DOCUMENTS):
        text = text[:_CHARACTERS]
        language = words.language_of(text)
        counts.setdefault(language, Counter()).update(words.words(text, language))
    best: dict[str, tuple[int, int, str]] = {}
    for language, uses in counts.items():
        terms = words.look_up(uses, language)
        for word, count in uses.items():
            for term in _rewritten(terms[word]):
                # Of equally common words the shortest, so that the order of the texts does not decide.
                found = (-count, len(word), word)
                if term not in best or found < best[term]:
                    best[term] = found
    forms = {term: word for term, (_, _, word) in best.items()}
    if not whole:
        return forms
    counted = set(forms)
    # Stems of documents that were not looked at: the shortest word the vectoriser has met.
    for word, terms in words.seen_words():
        for stem in _rewritten(terms):
            if stem not in counted:
                forms[stem] = min(word, forms.get(stem, word), key=lambda name: (len(name), name))
    return forms


def _rewritten(term: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Terms that stand for a whole word: its stem and its pieces, not those of scripts without blanks."""
    if term is None or isinstance(term, str):
        return () if term is None else (term,)
    return term if term[-1:] and term[-1].startswith(PIECE) else ()


def readable(term: str, forms: Mapping[str, str]) -> str:
    """Return a term with its stems written out; several words are joined by blanks."""
    return " ".join(forms.get(part, part) for part in term.split(" "))


def merge_readable(rows: list[dict], forms: Mapping[str, str]) -> list[dict]:
    """Rows about terms with the terms written out; contributions of one word's stem and pieces to a class add up."""
    merged: dict[tuple, dict] = {}
    for row in rows:
        term = readable(str(row["term"]), forms)
        place = (row.get("class"), term)
        if place in merged:
            merged[place]["contribution"] += row["contribution"]
        else:
            merged[place] = {**row, "term": term}
    return list(merged.values())
