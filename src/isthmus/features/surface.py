"""Terms as people write them: the commonest word behind each stem, and around each piece of a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from isthmus.features.tokens import PIECE

_DOCUMENTS = 4_000  # that are looked at for the commonest forms
_CHARACTERS = 5_000  # of each


def surface_forms(vectorizer: Any, texts: Sequence[str], *, whole: bool = True) -> dict[str, str]:
    """Stem to the commonest word that has it; empty where the fitted vectoriser does not stem.

    ``whole=False`` leaves it at the words of these texts; otherwise every stem that the vectoriser has met gets a word.

    Examples
    --------
    >>> from isthmus.features import TextVectorizer
    >>> from isthmus.features.surface import readable, surface_forms
    >>> texts = ["the days of the invoices", "an invoice a day, and no invoice today"]
    >>> forms = surface_forms(TextVectorizer(min_df=1).fit(texts), texts)
    >>> forms["invoic"], readable("dai invoic", forms)
    ('invoice', 'day invoice')
    """
    words: Any = getattr(vectorizer, "_words", None)
    if getattr(vectorizer, "analyzer_", None) != "words" or not (words.stem or words.subwords):
        return {}
    step = max(1, len(texts) // _DOCUMENTS)
    counts: dict[str, Counter] = {}
    for text in texts[::step]:
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
    """A term with its stems written out; several words are joined by blanks."""
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
