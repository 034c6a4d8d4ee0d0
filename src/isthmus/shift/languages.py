"""Source and target in two languages: when that is so, and what it means for labels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from isthmus.exceptions import IsthmusWarning
from isthmus.features.languages import NAMES, guess_languages, language_name, plainly_english

# Languages whose readers follow each other, and which short texts do not hold apart: no two languages for our purpose.
_NEIGHBOURS = (
    {"bs", "hr", "sr"},
    {"da", "no", "sv"},
    {"id", "ms"},
    {"cs", "sk"},
    {"gl", "pt"},
    {"af", "nl"},
    {"bg", "mk"},
)
_FEWEST = 3  # documents of a side, below which nothing is said


def two_languages(source_texts: Sequence[str], target_texts: Sequence[str]) -> tuple[str, str] | None:
    """Main languages of both sides where most of the target is in no language of the source; else None.

    Examples
    --------
    >>> from isthmus.shift.languages import two_languages
    >>> german = ["der Motor ist laut und der Sitz ist hart"] * 3
    >>> two_languages(["the engine is loud and the seat is hard"] * 3, german), two_languages(german, german)
    (('en', 'de'), None)
    """
    if min(len(source_texts), len(target_texts)) < _FEWEST:
        return None
    if plainly_english(source_texts) and plainly_english(target_texts):
        return None
    source, target = guess_languages(source_texts), guess_languages(target_texts)
    known = {name for name, share in source.items() if share >= 0.05}
    for group in _NEIGHBOURS:
        if group & known:
            known |= group
    if not known <= NAMES.keys() or not target.keys() <= NAMES.keys() or not source or not target:
        return None
    if sum(share for name, share in target.items() if name in known) >= 0.5:
        return None
    return next(iter(source)), next(iter(target))


def warn_of_two_languages(source_texts: Sequence[str], target_texts: Sequence[str], *, vectors: bool = False) -> bool:
    """Warn where source and target are in two languages; whether they are.

    Parameters
    ----------
    source_texts, target_texts : sequences of str
    vectors : bool, default=False
        Vectors of meaning take part, which may join languages; words do not.
    """
    pair = two_languages(source_texts, target_texts)
    if pair is None:
        return False
    source, target = map(language_name, pair)
    said = f"The source is in {source} and the target in {target}; "
    if vectors:
        said += (
            "labels cross through the vectors alone, so their model must know both languages, and the expected "
            "accuracy rests on experience within one language. Check a sample."
        )
    else:
        said += "words do not cross languages. Translate one side, or give vectors of a multilingual model."
    warnings.warn(IsthmusWarning(said, code="two-languages"), stacklevel=3)
    return True
