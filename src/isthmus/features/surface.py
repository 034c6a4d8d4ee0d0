"""Terms as people write them: the commonest word behind each stem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from isthmus.features.tokens import stem_words, tokenize_words

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
    ('invoice', 'days invoice')
    """
    words = getattr(vectorizer, "_words", None)
    if getattr(vectorizer, "analyzer_", None) != "words" or not getattr(words, "stem", False):
        return {}
    step = max(1, len(texts) // _DOCUMENTS)
    counts = Counter(word for text in texts[::step] for word in tokenize_words(text[:_CHARACTERS]))
    names = list(counts)
    forms: dict[str, str] = {}
    for word, stem in zip(names, stem_words(names), strict=True):
        if stem not in forms or counts[word] > counts[forms[stem]]:
            forms[stem] = word
    if not whole:
        return forms
    counted = set(forms)
    # Stems of documents that were not looked at: the shortest word the vectoriser has met.
    for word, stem in words._seen.items():
        if stem is not None and stem not in counted:
            forms[stem] = min(word, forms.get(stem, word), key=lambda name: (len(name), name))
    return forms


def readable(term: str, forms: Mapping[str, str]) -> str:
    """A term with its stems written out; several words are joined by blanks."""
    return " ".join(forms.get(part, part) for part in term.split(" "))
