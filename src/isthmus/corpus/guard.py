"""Cells that a spreadsheet would run as formulas: an apostrophe put before them in csv and tsv, and taken off again."""

from __future__ import annotations

import re

# The full-width signs too: spreadsheets set to Chinese or Japanese read them as the plain ones.
_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_GUARDED = re.compile(r"'[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-][0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]+)?")


class FormulaEscaper:
    """Puts ``'`` before text that begins with ``= + - @`` (also full-width), tab or a line break.

    Numbers such as -0.5 stay.

    A spreadsheet shows such a cell instead of running it. ``count`` says how many cells were changed.

    Examples
    --------
    >>> from isthmus.corpus.guard import FormulaEscaper
    >>> guard = FormulaEscaper()
    >>> [guard(text) for text in ("=1+1", "-0.5", "fine")], guard.count
    (["'=1+1", '-0.5', 'fine'], 1)
    """

    def __init__(self, on: bool = True):
        self.on, self.count = on, 0

    def __call__(self, text: str) -> str:
        if not self.on or not text.startswith(_SIGNS) or _NUMBER.fullmatch(text):
            return text
        self.count += 1
        return "'" + text


def unguard(text: str) -> str:
    """Text without the apostrophe of :class:`FormulaEscaper`.

    Examples
    --------
    >>> from isthmus.corpus.guard import unguard
    >>> unguard("'=1+1"), unguard("'tis fine")
    ('=1+1', "'tis fine")
    """
    return text[1:] if _GUARDED.match(text) else text
