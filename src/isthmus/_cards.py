"""Build cards for notebooks in the style of a report's first screen.

All texts are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path

from isthmus.wording import percent

_ALONE = "/* Cards alone */"  # marks the start of the rules for cards in the style sheet; pages do not use these rules


@cache
def _style() -> tuple[str, str]:
    """Return the rules of the style sheet for pages and cards, and the rules for cards only."""
    shared, _, alone = Path(__file__).with_suffix(".css").read_text(encoding="utf-8").partition(_ALONE)
    return shared, alone


def shared_style() -> str:
    """Return the CSS rules that report pages and cards share.

    Returns
    -------
    str
    """
    return _style()[0]


def card_style() -> str:
    """Return the CSS rules of a card, limited to the class ``isthmus-card``.

    Returns
    -------
    str
    """
    shared, alone = _style()
    return f".isthmus-card {{ {shared.replace(':root', '&')} }}{alone}"


def frame(content: str) -> str:
    """Wrap content in the element of a card, with its style.

    Parameters
    ----------
    content : str
        HTML; the caller has escaped its texts.

    Returns
    -------
    str
        HTML.
    """
    return f'<div class="isthmus-card" dir="auto"><style>{card_style()}</style>\n{content}\n</div>'


def card(
    title: str,
    facts: Iterable[tuple[str, str]] = (),
    bars: Iterable[tuple[str, float]] = (),
    *,
    about: str = "",
    banners: Iterable[tuple[str, str, str]] = (),
) -> str:
    """Return a card with a title, banners, tiles and bars.

    Parameters
    ----------
    title : str
        Heading.
    facts : iterable of (str, str)
        Name and value of each tile.
    bars : iterable of (str, float)
        Name of each bar and its length, as a share from 0 to 1.
    about : str
        Line above the title.
    banners : iterable of (str, str, str)
        Level ("stop" or "care"), title and text of each notice.

    Returns
    -------
    str
        HTML.
    """
    notes = "".join(
        f'<div class="banner {level}" role="note"><strong>{escape(head)}</strong> {escape(text)}</div>'
        for level, head, text in banners
    )
    tiles = "".join(
        f'<section class="tile"><h2>{escape(name)}</h2><p>{escape(value)}</p></section>' for name, value in facts
    )
    drawn = "".join(
        f'<span><bdi>{escape(name)}</bdi> {percent(share)}</span><svg class="bar" viewBox="0 0 100 1" '
        f'preserveAspectRatio="none" aria-hidden="true"><rect class="mark" height="1" '
        f'width="{100 * min(max(share, 0.0), 1.0):.1f}"/></svg>'
        for name, share in bars
    )
    # All bars share one tile, so that their lengths can be compared.
    tiles += f'<section class="tile"><div class="stack">{drawn}</div></section>' if drawn else ""
    tiles = f'<div class="tiles">{tiles}</div>' if tiles else ""
    return frame(f'<header><p class="eyebrow">{escape(about)}</p><h1>{escape(title)}</h1>{notes}{tiles}</header>')
