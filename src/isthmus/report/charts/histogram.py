"""Histogram: how many documents lie where, and where the line between two readings runs."""

from __future__ import annotations

from typing import Any

import altair as alt

from isthmus.report.charts import theme


def draw(table: list[dict], spec: dict) -> Any:
    """Bars from ``low`` to ``high``, as high as ``documents``, stacked by ``reading``; a rule at ``threshold``."""
    x = alt.X("low:Q", title=spec.get("x_title", "confidence"), scale=alt.Scale(domain=[0, 1], nice=False))
    bars = alt.Chart(theme.data(_stack(table))).mark_rect(stroke="#FFFFFF", strokeWidth=0.5)
    layers = [
        bars.encode(
            x=x,
            x2="high:Q",
            y=alt.Y("bottom:Q", title="documents", scale=alt.Scale(zero=True, nice=True)),
            y2="top:Q",
            color=theme.colour(table, {"color": "reading", "color_title": "", **spec}),
        )
    ]
    threshold = spec.get("threshold")
    if threshold is not None:
        at = alt.XDatum(threshold, type="quantitative")
        one = alt.Data(values=[{}])
        left = threshold < 0.3
        layers.append(alt.Chart(one).mark_rule(color=theme.INK, strokeDash=[5, 3], strokeWidth=1.5).encode(x=at))
        words = alt.Chart(one).mark_text(
            align="left" if left else "right", baseline="bottom", dx=4 if left else -4, fontSize=11, color=theme.INK
        )
        name = alt.value(f"accepted from {threshold:.2f}")
        layers.append(words.encode(x=at, y=alt.value(10), text=name))
    return theme.finish(layers, table, spec, width=520, height=220)


def _stack(table: list[dict]) -> list[dict]:
    """Where each bar begins and ends: those of one place stand on each other."""
    height: dict[float, int] = {}
    rows = []
    for row in table:
        bottom = height.get(row["low"], 0)
        height[row["low"]] = bottom + row["documents"]
        if row["documents"]:
            rows.append({**row, "bottom": bottom, "top": height[row["low"]]})
    return rows
