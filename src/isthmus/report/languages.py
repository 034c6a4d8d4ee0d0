"""What a browser must know of a text's language: which glyphs of the same ideograph, where lines may break, how to read
it aloud."""

from __future__ import annotations

from functools import lru_cache

from isthmus.features.languages import NAMES, identify_language

_READ = 2_000  # characters that tell the language; also the key under which it is remembered


def lang_attribute(text: str):
    """``lang="de"`` with a blank before it, for an element that holds the text; nothing where the text does not tell.

    Examples
    --------
    >>> from isthmus.report.languages import lang_attribute
    >>> str(lang_attribute("Das Brot ist trocken und die Suppe ist kalt")), str(lang_attribute("42"))
    (' lang="de"', '')
    """
    from markupsafe import Markup

    language = _language(str(text)[:_READ])
    return Markup(f' lang="{language}"') if language in NAMES else Markup("")


@lru_cache(maxsize=2_048)  # a page is opened again, and the same few source documents stand beside many others
def _language(text: str) -> str | None:
    return identify_language(text)
