"""Results at a glance: a card for notebooks, in the style of the report's first screen. All data are escaped."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path

_ALONE = "/* Cards alone */"  # in the style sheet: from here on it is of no use to pages


@cache
def _style() -> tuple[str, str]:
    shared, _, alone = Path(__file__).with_suffix(".css").read_text(encoding="utf-8").partition(_ALONE)
    return shared, alone


def shared_style() -> str:
    return _style()[0]


def card_style() -> str:
    shared, alone = _style()
    return f".isthmus-card {{ {shared.replace(':root', '&')} }}{alone}"


def frame(content: str) -> str:
    return f'<div class="isthmus-card" dir="auto"><style>{card_style()}</style>\n{content}\n</div>'


def card(
    title: str,
    facts: Iterable[tuple[str, str]] = (),
    bars: Iterable[tuple[str, float]] = (),
    *,
    about: str = "",
    banners: Iterable[tuple[str, str, str]] = (),
) -> str:
    """A card: a title with a line above it, banners (level "stop" or "care", title, text), facts (name, value) as
    tiles, and bars (name, share of one)."""
    notes = "".join(
        f'<div class="banner {level}" role="note"><strong>{escape(head)}</strong> {escape(text)}</div>'
        for level, head, text in banners
    )
    tiles = "".join(
        f'<section class="tile"><h2>{escape(name)}</h2><p>{escape(value)}</p></section>' for name, value in facts
    )
    drawn = "".join(
        f'<span><bdi>{escape(name)}</bdi> {100 * share:.0f} %</span><svg class="bar" viewBox="0 0 100 1" '
        f'preserveAspectRatio="none" aria-hidden="true"><rect class="mark" height="1" '
        f'width="{100 * min(max(share, 0.0), 1.0):.1f}"/></svg>'
        for name, share in bars
    )
    tiles += f'<section class="tile"><div class="stack">{drawn}</div></section>' if drawn else ""
    tiles = f'<div class="tiles">{tiles}</div>' if tiles else ""
    return frame(f'<header><p class="eyebrow">{escape(about)}</p><h1>{escape(title)}</h1>{notes}{tiles}</header>')
