"""Results at a glance: a small HTML card for notebooks. Everything that comes from data is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_STYLE = (
    "font:14px/1.5 system-ui,sans-serif;border:1px solid #8884;border-radius:8px;padding:12px 16px;"
    "display:inline-block;max-width:46em"
)
_MUTED = "opacity:.7"


def card(title: str, facts: Iterable[tuple[str, str]], bars: Iterable[tuple[str, float]] = ()) -> str:
    """A titled card: facts as name and value, then bars as name and share of one."""
    rows = "".join(
        f'<tr><td style="text-align:left;padding:0 1.2em 0 0;{_MUTED}">{escape(name)}</td>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in facts
    )
    drawn = "".join(
        f'<tr><td style="text-align:left;padding:0 1.2em 0 0">{escape(name)}</td>'
        f'<td style="width:12em;text-align:left"><span style="display:inline-block;height:.7em;border-radius:2px;'
        f'background:#3a78b5;width:{100 * min(max(share, 0.0), 1.0):.0f}%"></span></td>'
        f'<td style="text-align:right;{_MUTED}">{share:.0%}</td></tr>'
        for name, share in bars
    )
    tables = "".join(f'<table style="border:0;margin:6px 0 0">{part}</table>' for part in (rows, drawn) if part)
    return f'<div dir="auto" style="{_STYLE}"><strong>{escape(title)}</strong>{tables}</div>'
