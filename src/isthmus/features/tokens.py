"""Words, stems, stop words and the guess which language a collection is in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

# Letters, and the marks that Python's \w leaves out (accents written apart, Hebrew and Arabic points, Indic and Thai
# vowels). Numbers are no words: across domains they bind documents by chance.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0971-\u0d7f\u0e31-\u0e4e"
)
WORD = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{_MARKS}])+")
# Scripts that write words without blanks between them: kana, CJK ideographs and their extensions.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_LETTER = re.compile(r"[^\W\d_]")
_SAMPLE = 400  # documents looked at when guessing a language
_SAMPLE_CHARACTERS = 2_000
_DISTINCT_WORDS = 30  # fewer different words have no frequencies to speak of


def tokenize_words(text: str, *, lowercase: bool = True) -> list[str]:
    """Words of two or more Unicode letters.

    Examples
    --------
    >>> from isthmus.features import tokenize_words
    >>> tokenize_words("Très bien, I'm re-reading all 12 of them!")
    ['très', 'bien', 're', 'reading', 'all', 'of', 'them']
    """
    return WORD.findall(text.lower() if lowercase else text)


def guess_language(texts: Sequence[str]) -> str:
    """Guess ``"zh"`` (scripts without blanks between words), ``"en"``, or ``"other"`` from a sample of the texts.

    English is recognised by its function words: they make up more than an eighth of running English words. Words
    without them are taken as English when they are plain ASCII and no few words dominate (bags of words whose stop
    words were removed, keywords); otherwise the language is "other", and is neither stemmed nor stripped of stop words.

    Examples
    --------
    >>> from isthmus.features import guess_language
    >>> guess_language(["the engine is loud and the seat is hard"]), guess_language(["发动机很响"])
    ('en', 'zh')
    """
    step = max(1, len(texts) // _SAMPLE)
    sample = [text[:_SAMPLE_CHARACTERS] for text in texts[::step][:_SAMPLE]]
    letters = sum(len(_LETTER.findall(text)) for text in sample)
    unspaced = sum(len(_UNSPACED.findall(text)) for text in sample)
    if letters and unspaced > 0.3 * letters:
        return "zh"
    words = [word for text in sample for word in tokenize_words(text)]
    if not words or sum(word in ENGLISH_STOP_WORDS for word in words) > len(words) / 8:
        return "en"
    # Function words of any language dominate running text: the five most frequent words make up a tenth and more.
    counts = Counter(words)
    frequent = sum(count for _, count in counts.most_common(5))
    running = len(counts) >= _DISTINCT_WORDS and frequent > 0.09 * len(words)
    if not running and sum(word.isascii() for word in words) > 0.98 * len(words):
        return "en"
    return "other"


@lru_cache(maxsize=1)
def _porter():
    import Stemmer

    return Stemmer.Stemmer("porter")


def stem_words(words: Iterable[str]) -> list[str]:
    """Porter stems.

    Examples
    --------
    >>> from isthmus.features.tokens import stem_words
    >>> stem_words(["riding", "rides", "prices"])
    ['ride', 'ride', 'price']
    """
    return _porter().stemWords(list(words))


class WordAnalyzer:
    """Text to list of terms; every distinct word is stemmed and looked up once.

    Parameters
    ----------
    stem : bool
        Porter stems.
    stop_words : frozenset
        Left out before stemming.
    ngram_range : (int, int)
        Lengths of word sequences; parts are joined by a blank.
    """

    def __init__(self, *, lowercase=True, stem=False, stop_words=frozenset(), ngram_range=(1, 1)):
        self.lowercase = lowercase
        self.stem = stem
        self.stop_words = stop_words
        self.ngram_range = ngram_range
        self._seen: dict[str, str | None] = {}

    def __call__(self, text: str) -> list[str]:
        words = tokenize_words(text, lowercase=self.lowercase)
        seen = self._seen
        fresh = [word for word in set(words) if word not in seen]
        if fresh:
            kept = [word for word in fresh if word.lower() not in self.stop_words]
            seen.update(dict.fromkeys(fresh))
            seen.update(zip(kept, stem_words(kept) if self.stem else kept, strict=True))
        terms = [term for word in words if (term := seen[word]) is not None]
        low, high = self.ngram_range
        if (low, high) == (1, 1):
            return terms
        grams = list(terms) if low == 1 else []
        for length in range(max(low, 2), high + 1):
            grams += [" ".join(terms[i : i + length]) for i in range(len(terms) - length + 1)]
        return grams

    def __getstate__(self):
        return {**self.__dict__, "_seen": {}}
