"""Which language texts are in, and what is known of each: name, stemmer, stop words, words that negate.

Scripts that write one language tell it by themselves. For the others (Latin, Cyrillic, Arabic, Devanagari, Bengali)
py3langid decides; its model lies inside its wheel, and is read when the first such text is met.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from pathlib import Path

from isthmus.exceptions import UsageError
from isthmus.features.spelling import normalize_text


def read_table(name: str, width: int) -> list[list[str]]:
    """Return the rows of a table next to this file; cells that are missing at the end of a row are empty."""
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()[1:]
    return [(line.split("\t") + [""] * width)[:width] for line in lines]


_LANGUAGES = read_table("languages.tsv", 5)
# Identified languages by ISO 639-1 code. Neighbours that a classifier by bytes cannot hold apart are left to the larger
# one (Bokmål and Nynorsk, the written forms of Chinese and of Arabic).
NAMES = {code: name for code, name, *_ in _LANGUAGES}
OTHER = "other"  # a language nothing is done for: words as they are written
# Snowball's algorithms; for English the older Porter one, which the papers use. Croatian and Bosnian share the Serbian
# one, which reads both alphabets; Malay shares the Indonesian one.
STEMMERS = {code: name for code, _, name, *_ in _LANGUAGES if name}
# Words that turn a verdict round, and "without". A language with stop words and no entry here keeps all its stop words
# where verdicts are at stake.
NEGATIONS = {code: frozenset(words.split()) for code, _, _, words, _ in _LANGUAGES if words}
# What is left of "didn't" and its like where words are letters in a row.
_HALVES = {code: frozenset(words.split()) for code, *_, words in _LANGUAGES if words}

# -- scripts -----------------------------------------------------------------------------------------------------------

_SCRIPTS = read_table("scripts.tsv", 3)
SCRIPTS = {name: letters for name, letters, _ in _SCRIPTS}  # letters as a class of a regular expression has them
_ONE_LANGUAGE = {name: language for name, _, language in _SCRIPTS if language}


# First and last code point of each stretch of letters, with its script, in order.
_RANGES = sorted(
    (ord(run[0]), ord(run[-1]), name)
    for name, letters in SCRIPTS.items()
    for run in re.findall(".-.|.", letters.encode("ascii").decode("unicode_escape"), flags=re.DOTALL)
)
_STARTS = [first for first, _, _ in _RANGES]
IDEOGRAPHIC = frozenset({"zh", "ja"})
_COMPOUNDING = {"af", "da", "de", "et", "fi", "hu", "is", "nl", "no", "sv", "tr"}
UNSPACED = IDEOGRAPHIC | {"th", "lo", "km", "my"}  # languages whose words stand without blanks between them

# Languages that join words, or pile up endings, and those whose endings no stemmer takes off: five letters of a word in
# a row say more about its subject than the word alone. Measured on German, within its source half.
SUBWORDS = _COMPOUNDING | {
    code for code in NAMES if code not in STEMMERS and code not in UNSPACED and code not in ("ko", "vi")
}

_SAMPLE_DOCUMENTS = 300
_SAMPLE_CHARACTERS = 400  # that the identifier reads; more changes nothing but its time
_SCRIPT_CHARACTERS = 2_000  # that the count of scripts reads: some Chinese papers open with an English abstract
_SURE = 0.5  # probability below which a text does not tell its language
_CERTAIN = 0.9  # probability; from here on, a single text has a language that is rare in its collection
_FEW = 3  # documents, below which a language is rare
_FEW_LETTERS = 20  # too few to tell a language by
_SMALL_WORDS = 0.03  # share of function words below which a text is not running text; it is 0.2 to 0.5 in most
_PUNCTUATION = ".,;:!?()[]{}\"'«»„“”‚‘’…–—-"
_MIXED = 0.1  # share of the documents from which a further language is read by its own rules
# Running English is a third to a half stop words; Dutch or Scots, which share some of them, reach a tenth.
_ENGLISH_WORDS = 0.3
_ENGLISH_ALONE = frozenset({"the", "and", "of", "it", "this", "that", "with", "have"})
_FEW_WORDS = 8  # too few to tell English by
_NEARLY_ALL = 0.91  # share of documents plainly in English that leaves no other language a tenth


@lru_cache(maxsize=1)
def _identifier():
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(sorted(NAMES.keys() & set(identifier.labels)))
    return identifier


def script_of(text: str) -> str | None:
    """Script most letters of a text are in; None for no letters.

    A fifth of the letters is enough for ideographs, each of which says as much as a word of some letters. Kana among
    them make it Japanese: "kana".
    """
    text = text[:_SCRIPT_CHARACTERS]
    if text.isascii():
        return "latin" if re.search("[A-Za-z]", text) else None
    letters = dict.fromkeys(SCRIPTS, 0)
    for character, count in Counter(text).items():
        first, last, name = _RANGES[bisect_right(_STARTS, ord(character)) - 1]
        if first <= ord(character) <= last:
            letters[name] += count
    total = sum(letters.values())
    if not total:
        return None
    dense = letters["han"] + letters["kana"]
    if dense > 0.2 * total:
        return "kana" if letters["kana"] > 0.1 * dense else "han"
    return max(letters, key=lambda name: letters[name])


def identify_language(text: str) -> str | None:
    """Language of one text as a two-letter code, a script's name where words do not tell, None for no letters.

    >>> identify_language("Der Motor ist laut und die Sitze sind hart")
    'de'
    >>> identify_language("发动机很响"), identify_language("kettle lamp toaster"), identify_language("42")
    ('zh', 'latin', None)
    """
    return _identify(text)[0]


def _identify(text: str) -> tuple[str | None, float]:
    """Language, or script, or None, and how probable it is."""
    script = script_of(text)
    alone = _ONE_LANGUAGE.get(script or "")
    if script is None or alone is not None:
        return alone, 1.0
    if script == "latin" and _is_plain_english(text):
        return "en", 1.0
    language, probability = _identifier().classify(text[:_SAMPLE_CHARACTERS])
    return language if probability >= _SURE else script, probability


def pick_language(text: str, languages: Sequence[str]) -> str:
    """Return the likeliest of a few languages for one text, or the first if the text does not show its language."""
    script = script_of(text)
    alone = _ONE_LANGUAGE.get(script or "")
    if script is None or alone is not None:
        return alone if alone is not None and alone in languages else languages[0]
    return next((name for name, _ in _identifier().rank(text[:_SAMPLE_CHARACTERS]) if name in languages), languages[0])


def guess_languages(texts: Sequence[str], *, in_order: bool = False) -> dict[str, float]:
    """Share of the documents in each language, commonest first, from a sample; texts that do not tell are left out.

    A collection next to none of whose texts tells (keywords, bags of words) gives the shares of scripts instead.

    >>> guess_languages(["the engine is loud and it was hot", "der Motor ist laut und er war heiß", "42"])
    {'de': 0.5, 'en': 0.5}
    """
    sample = spread_sample(texts, _SAMPLE_DOCUMENTS, in_order=in_order)
    return dict(_shares(tuple(text[:_SCRIPT_CHARACTERS] for text in sample)))


def spread_sample(texts: Sequence[str], number: int, *, in_order: bool = False) -> list[str]:
    """About so many of the texts, never twice as many, the same ones in whatever order they come.

    ``in_order``: the texts are sorted by content already.
    """
    step = max(1, len(texts) // number)
    if in_order:
        return list(texts[::step])
    from isthmus._math.content import content_order  # loads scipy, which refusals before the work do not wait for

    return [texts[i] for i in content_order(texts)[::step]]


@lru_cache(maxsize=8)  # every candidate of ``auto`` asks about the same texts
def _shares(sample: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    answers = [_identify(text) for text in sample]
    counts = Counter(name for name, _ in answers if name in NAMES)
    common = sorted(name for name, count in counts.items() if count >= max(_FEW, _MIXED * counts.total()))
    # A text that looks like a rare neighbour of a common language, and not for sure, is in the common one.
    told = Counter(
        pick_language(text, common) if common and name in NAMES and name not in common and sure < _CERTAIN else name
        for text, (name, sure) in zip(sample, answers, strict=True)
    )
    del told[None]
    known = Counter({name: count for name, count in told.items() if name in NAMES})
    # A handful of telling texts among many that do not tell says little about the collection.
    counted = known if known.total() >= 0.1 * told.total() else told
    total = counted.total()
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return tuple((str(name), count / total) for name, count in ranked) if total else ()


def plainly_english(texts: Sequence[str], *, in_order: bool = False) -> bool:
    """Whether nearly all texts of a sample are running English text.

    The identifier, whose model takes a second to unpack, is then not needed.
    """
    sample = spread_sample(texts, _SAMPLE_DOCUMENTS, in_order=in_order)
    plain = sum(map(_is_plain_english, sample))
    return plain > 0 and plain >= _NEARLY_ALL * len(sample)


def _is_plain_english(text: str) -> bool:
    small = stop_words("en")
    words = text[:_SAMPLE_CHARACTERS].lower().split()
    return (
        len(words) >= _FEW_WORDS
        and not _ENGLISH_ALONE.isdisjoint(words)
        and sum(word in small for word in words) >= _ENGLISH_WORDS * len(words)
    )


def guess_language(texts: Sequence[str]) -> str:
    """Return the main language of a collection as a two-letter code, or ``"other"``.

    Collections whose single texts do not tell (keywords, bags of words) are read as one text; where that does not tell
    either, plain ASCII is taken as English and anything else is "other": neither stemmed nor freed of stop words.

    Examples
    --------
    >>> from isthmus.features import guess_language
    >>> guess_language(["the engine is loud and the seat is hard"]), guess_language(["发动机很响"])
    ('en', 'zh')
    """
    return languages_in_use(texts)[0]


def languages_in_use(texts: Sequence[str], *, in_order: bool = False) -> tuple[str, ...]:
    """Return the languages of at least a tenth of a collection's documents each, main one first.

    ``in_order`` as for :func:`spread_sample`.
    """
    texts = spread_sample(texts, _SAMPLE_DOCUMENTS, in_order=in_order)
    if plainly_english(texts, in_order=True):
        return ("en",)
    shares = guess_languages(texts, in_order=True)
    told = [name for name in shares if name in NAMES and _has_function_words(name, texts)]
    if not told:
        return (_guess_from_all(texts),)
    return tuple(name for name in told if shares[name] >= _MIXED) or (told[0],)


def _has_function_words(language: str, texts: Sequence[str]) -> bool:
    """Whether a collection holds any of the small words of every running text in a language.

    An identifier names a language for codes and made-up words as well, and that language's rules would merge words that
    only look alike. Languages without a list, or without blanks between words, pass.
    """
    small = stop_words(language)
    if language == "en" or not small:
        return True
    words = [word for text in texts for word in normalize_text(text[:500]).lower().split()]
    return sum(word.strip(_PUNCTUATION) in small for word in words) >= _SMALL_WORDS * len(words)


def _guess_from_all(texts: Sequence[str]) -> str:
    joined = " ".join(text[:100] for text in texts)
    if script_of(joined) is None:
        return "en"
    language, probability = _identifier().classify(joined[: 10 * _SAMPLE_CHARACTERS])
    letters = re.findall(r"[^\W\d_]", joined)
    if probability >= _CERTAIN and len(letters) >= _FEW_LETTERS and _has_function_words(language, [joined]):
        return language
    return "en" if sum(letter.isascii() for letter in letters) > 0.98 * len(letters) else OTHER


def language_name(code: str) -> str:
    """English name of a language, or of a script."""
    return NAMES.get(code, f"unknown ({code} script)")


def resolve_language(language: str) -> str:
    """Code of a language given as a code or an English name; "auto" and "other" stay."""
    given = str(language).strip().lower()
    code = {name.lower(): code for code, name in NAMES.items()}.get(given, re.split("[-_]", given)[0])
    code = {"nb": "no", "nn": "no", "iw": "he", "in": "id"}.get(code, code)
    if not isinstance(language, str) or code not in {"auto", OTHER, *NAMES}:
        raise UsageError(
            f"language={language!r}; use 'auto', 'other', or a language by its English name or two-letter code, "
            "such as 'German' or 'de'.",
            code="bad-parameter",
        )
    return code


# -- what is done for a language ---------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def stemmer(language: str):
    """Stemmer of a language, or None where there is none (PyStemmer before 3.1 knows fewer)."""
    import Stemmer

    name = STEMMERS.get(language)
    return Stemmer.Stemmer(name) if name in Stemmer.algorithms() else None


@lru_cache(maxsize=16)
def negators(language: str) -> frozenset[str]:
    """Words that turn what follows them round, as they stand among the words of a text.

    >>> "didn" in negators("en"), "nicht" in negators("de"), len(negators("zh"))
    (True, True, 0)
    """
    return NEGATIONS.get(language, frozenset()) | _HALVES.get(language, frozenset())


def stop_words(language: str, *, negations: bool = True) -> frozenset[str]:
    """Stop words of a language, empty where no list is kept; ``negations=False`` leaves words that negate out of it.

    >>> "nicht" in stop_words("de"), "nicht" in stop_words("de", negations=False), len(stop_words("zh"))
    (True, False, 0)
    """
    if language == "en":
        words: Collection[str] = _english_stop_words()
    elif language in UNSPACED or language == "ko" or not has_stop_words(language):
        words = ()  # characters in place of words, or no list
    else:
        import stopwordsiso

        listed = stopwordsiso.stopwords(_SHARED_LISTS.get(language, language))
        # Lists contain phrases, too; a phrase's words are stop words only if they are listed themselves.
        words = [normalize_text(word).lower() for word in listed if " " not in word]
    if negations:
        return frozenset(words)
    return frozenset(words) - NEGATIONS[language] if language in NEGATIONS else frozenset()


@cache
def _english_stop_words() -> frozenset[str]:
    # The list of scikit-learn 1.6 (BSD), as a file: a saved result labels texts without importing scikit-learn.
    return frozenset((Path(__file__).parent / "stop_words_en.txt").read_text(encoding="utf-8").split())


def has_stop_words(language: str) -> bool:
    """Return whether there is a list of stop words for a language."""
    import stopwordsiso

    return language in _SHARED_LISTS or stopwordsiso.has_lang(language)


_SHARED_LISTS = {"bs": "hr", "sr": "hr"}
