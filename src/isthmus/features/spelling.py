"""One spelling for what readers take as the same."""

from __future__ import annotations

import re
import unicodedata

# Points and strokes that writers leave out at will: Hebrew and Arabic vowel signs, the Arabic stretch; soft hyphens and
# joiners, which are invisible.
_OPTIONAL = re.compile(
    r"[\u00ad\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670\u200b-\u200f\ufeff]"
)
_WIDTH = re.compile(r"[\uff01-\uffdc]+")
_DOTTED = str.maketrans({"I": "ı", "İ": "i"})  # Turkish and Azerbaijani capitals
# The same letter from an Arabic and from a Persian keyboard.
_PERSIAN = str.maketrans({"ي": "ی", "ى": "ی", "ك": "ک"})


def normalize_text(text: str) -> str:
    """One spelling for what readers take as the same: Unicode NFKC without optional points and invisible characters.

    Accents stay: they tell words apart.
    """
    if text.isascii():
        return text
    text = _OPTIONAL.sub("", unicodedata.normalize("NFKC", text))
    # NFKC takes a Thai and a Lao vowel apart that every keyboard writes as one.
    return text.replace("\u0e4d\u0e32", "\u0e33").replace("\u0ecd\u0eb2", "\u0eb3")


def fold_width(text: str) -> str:
    """Full-width letters and half-width kana in their usual form, and Unicode NFC; signs such as ① and ㎡ stay one."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _WIDTH.sub(lambda run: unicodedata.normalize("NFKC", run.group()), text))


def lower_text(text: str, language: str = "other") -> str:
    """Lower case as the language has it: Turkish and Azerbaijani tell dotted and dotless i apart."""
    if language in ("tr", "az"):
        text = text.translate(_DOTTED)
    elif language in ("fa", "ur"):
        text = text.translate(_PERSIAN)
    return text.lower()
