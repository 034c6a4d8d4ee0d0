"""General lexicons of opinion words, read as data from installed packages, and the classes that they support.

Nothing is shipped here. English comes from ``vaderSentiment`` (extra ``lexicons``; MIT); German and French are read
where ``textblob-de`` (the German Polarity Lexicon, Apache 2.0) and ``textblob-fr`` (PDDL) are installed. The packages
are not imported.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from isthmus.exceptions import MissingExtraError
from isthmus.features.languages import negators, read_table
from isthmus.features.spelling import lower_text, normalize_text
from isthmus.features.static_vectors import package_file
from isthmus.features.tokens import WORD, tokenize_words

_REACH = 3  # words after a negation in which an opinion word means the opposite
_LEAST = 0.1  # valence, of at most 1, below which a word says next to nothing


@dataclass(frozen=True)
class Lexicon:
    """Words with a valence from -1 (negative) to 1 (positive)."""

    name: str  # package that it was read from
    language: str
    valence: dict[str, float]


def _read_vader(path: Path) -> Iterable[tuple[str, float]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = line.split("\t")
        if len(cells) > 1:
            yield cells[0], float(cells[1]) / 4.0  # ratings reach from -4 to 4


def _read_polarity(path: Path) -> Iterable[tuple[str, float]]:
    for entry in ElementTree.parse(path).getroot().iter("word"):
        yield entry.get("form", ""), float(entry.get("polarity") or 0.0)


_SOURCES: dict[str, tuple[str, str, str, Callable[[Path], Iterable[tuple[str, float]]]]] = {
    "en": ("vaderSentiment", "vaderSentiment", "vader_lexicon.txt", _read_vader),
    "de": ("textblob-de", "textblob_de", "data/de-sentiment.xml", _read_polarity),
    "fr": ("textblob-fr", "textblob_fr", "fr-sentiment.xml", _read_polarity),
}


def _file_of(language: str) -> Path | None:
    found = package_file(*_SOURCES[language][1:3]) if language in _SOURCES else None
    return found[0] if found else None


def has_lexicon(language: str) -> bool:
    """Return whether an opinion lexicon of the language is installed."""
    return _file_of(language) is not None


@functools.lru_cache(maxsize=4)
def read_lexicon(language: str = "en") -> Lexicon:
    """Read the installed lexicon of a language; raise :class:`MissingExtraError` if there is none.

    Single words of letters only; spellings that differ in case are averaged, words of next to no valence left out.
    """
    # The packages are data here, so a missing one is reported like a missing extra.
    path = _file_of(language)
    if path is None:
        package = _SOURCES[language][0] if language in _SOURCES else None
        advice = f"install {package}" if package else f"there is one for {', '.join(sorted(_SOURCES))}"
        advice = "install it with: pip install 'isthmus[lexicons]'" if language == "en" else advice
        raise MissingExtraError(
            f"No opinion lexicon of the language {language!r} is installed; {advice}.", code="missing-extra"
        )
    name, _, _, reader = _SOURCES[language]
    several: dict[str, list[float]] = {}
    for word, valence in reader(path):
        key = lower_text(normalize_text(word))
        if WORD.fullmatch(key):
            several.setdefault(key, []).append(valence)
    means = {word: sum(values) / len(values) for word, values in several.items()}
    return Lexicon(name, language, {word: value for word, value in means.items() if abs(value) >= _LEAST})


# ------------------------------------------------------------------------------------------------------ polar classes


_SIDES = {word: float(side) for side, words in read_table("verdicts.tsv", 2) for word in words.split()}
_STRONGER = frozenset({"very", "strongly", "extremely", "sehr", "très", "muy", "molto", "muito", "zeer", "非常", "很"})
_UNITS = frozenset({"star", "stars", "stern", "sterne", "étoile", "étoiles", "estrella", "estrellas", "stelle", "星"})
_FILLERS = frozenset(
    {"thumb", "thumbs", "review", "reviews", "sentiment", "opinion", "feedback", "rating", "class", "label"}
)
_PIECES = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+|[+\-]+|[^\w\s]")
_MOST_GRADES = 10


def read_polarity(classes: Iterable) -> dict[Any, float] | None:
    """Valence from -1 to 1 of classes whose names say that they are verdicts; None unless all of them are.

    Words for good and bad in several languages, thumbs and signs, and grades: stars, or numbers from a low to a high
    end.
    """
    classes = list(classes)
    found = _read_grades(classes) or {}
    if not found:
        sides = {name: _read_side(name) for name in classes}
        found = {name: side for name, side in sides.items() if side is not None}
    # A lexicon helps only if the classes have both sides.
    if len(found) < len(classes) or not found or min(found.values()) >= 0 or max(found.values()) <= 0:
        return None
    return found


def _read_side(name: Any) -> float | None:
    pieces = [piece.casefold() for piece in _PIECES.findall(normalize_text(str(name)).replace("_", " "))]
    pieces = [piece for piece in pieces if piece not in _FILLERS]
    strength = 1.0
    if len(pieces) > 1:
        strength = 1.5 if any(piece in _STRONGER for piece in pieces) else 1.0
        pieces = [piece for piece in pieces if piece not in _STRONGER]
    sides = {_SIDES[piece] for piece in pieces if piece in _SIDES}
    # A name with another word, such as "good price", is no verdict.
    if len(sides) != 1 or any(piece not in _SIDES for piece in pieces):
        return None
    return sides.pop() * strength


def _read_grades(classes: list) -> dict[Any, float] | None:
    """Stars: numbers with a word for stars, or rows of stars; bare numbers alone could count anything."""
    grades: dict[Any, float] = {}
    starred = False
    for name in classes:
        text = normalize_text(str(name)).strip()
        # Rows of full and empty stars.
        if text and not text.strip("★⭐☆ "):
            grades[name] = float(sum(letter in "★⭐" for letter in text))
            starred = True
            continue
        pieces = [piece.casefold() for piece in _PIECES.findall(text.replace("_", " "))]
        units = [piece for piece in pieces if piece in _UNITS]
        numbers = [piece for piece in pieces if piece[0].isdigit()]
        if len(numbers) != 1 or len(units) + 1 != len(pieces):
            return None
        starred = starred or bool(units)
        grades[name] = float(numbers[0])
    low, high = min(grades.values(), default=0.0), max(grades.values(), default=0.0)
    # Numbers without a unit could be years or categories.
    if not starred or high <= low or high > _MOST_GRADES:
        return None
    return {name: 2 * (grade - low) / (high - low) - 1 for name, grade in grades.items()}


def label_words(lexicon: Lexicon, polarity: Mapping[Any, float]) -> dict[str, dict[Any, float]]:
    """Return the lexicon's words as labelled words of polar classes, as ``word_labels`` takes them.

    A positive word supports the most positive class and a negative word the most negative, with full weight, since
    how strong words are is better learned from the documents.
    """
    # Classes in between have no words of their own.
    best = max(polarity, key=lambda name: polarity[name])
    worst = min(polarity, key=lambda name: polarity[name])
    return {word: {best if value > 0 else worst: 1.0} for word, value in lexicon.valence.items()}


def score_texts(lexicon: Lexicon, texts: Iterable[str]) -> list[float]:
    """Mean valence of each text's opinion words, turned over after a negation; 0 where a text has none."""
    turning = negators(lexicon.language)
    scores = []
    for text in texts:
        found = []
        since = _REACH + 1
        for word in tokenize_words(normalize_text(text)):
            value = lexicon.valence.get(word)
            if value is not None:
                found.append(-value if since <= _REACH else value)
            since = 1 if word in turning else since + 1
        scores.append(sum(found) / len(found) if found else 0.0)
    return scores
