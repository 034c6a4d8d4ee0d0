"""Words of a text tinted by what they say about its label. The page's script does the same in the browser."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from isthmus.features.tokens import WORD

LEAST, STRONG = 2, 5  # grades from which a word is tinted, and tinted strongly
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")


def tint(text: str, words: Mapping[str, Sequence[int]], code: int) -> list[tuple[str, str]]:
    """The text in pieces, each with its tint: '', 'for', 'for2', 'no' or 'no2'.

    Examples
    --------
    >>> from isthmus.report.tint import tint
    >>> tint("Kind staff, high price", {"staff": [6, -6], "price": [-3, 3]}, 0)
    [('Kind ', ''), ('staff', 'for2'), (', high ', ''), ('price', 'no')]
    """
    pieces: list[tuple[str, str]] = []
    at = 0
    for start, end, grade in _graded(text, words, code):
        kind = _kind(grade)
        if not kind:
            continue
        if start > at:
            pieces.append((text[at:start], ""))
        pieces.append((text[start:end], kind))
        at = end
    if at < len(text):
        pieces.append((text[at:], ""))
    return pieces


def _kind(grade: int) -> str:
    if abs(grade) < LEAST:
        return ""
    return ("for" if grade > 0 else "no") + ("2" if abs(grade) >= STRONG else "")


def _graded(text: str, words: Mapping[str, Sequence[int]], code: int):
    """Start, end and grade of every word; scripts without blanks go by pairs of characters."""
    for match in WORD.finditer(text):
        word = match.group()
        if not _UNSPACED.search(word):
            yield match.start(), match.end(), words[word.lower()][code] if word.lower() in words else 0
            continue
        i = 0
        while i < len(word) - 1:
            pair = word[i : i + 2]
            if pair in words and abs(words[pair][code]) >= LEAST:
                yield match.start() + i, match.start() + i + 2, words[pair][code]
                i += 1
            i += 1
