"""Lines: a measure along something that grows (a parameter, iterations, sizes)."""

from __future__ import annotations

from typing import Any

import altair as alt

from isthmus.report.charts import theme


def draw(table: list[dict], spec: dict) -> Any:
    """Lines with points; with ``error`` bars around the points."""
    base = alt.Chart()
    x = theme.axis(alt.X, table, spec, "x", **({"type": spec["x_type"]} if spec.get("x_type") else {}))
    y = theme.axis(alt.Y, table, spec, "y")
    paint = theme.colour(table, spec)
    layers = [theme.reference_line(table, spec)] if spec.get("reference") is not None else []
    layers.append(base.mark_line(strokeWidth=2).encode(x=x, y=y, color=paint))
    if spec.get("error"):
        layers.append(theme.error_bars(base.encode(x=x), table, spec))
    if spec.get("points", True):
        layers.append(
            base.mark_point(filled=True, size=45, opacity=1).encode(
                x=x, y=y, color=paint, shape=theme.shape(table, spec), tooltip=_columns(table)
            )
        )
    return theme.finish(layers, table, spec)


def _columns(table: list[dict]) -> list[alt.Tooltip]:
    names = dict.fromkeys(key for row in table for key in row)
    return [alt.Tooltip(field=theme.escape(n), type=theme.field_type(table, n), title=n) for n in names]
