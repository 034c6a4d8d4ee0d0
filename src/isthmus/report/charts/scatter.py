"""Points: one measure against another."""

from __future__ import annotations

from typing import Any

import altair as alt

from isthmus.report.charts import theme


def draw(table: list[dict], spec: dict) -> Any:
    """Points, with names beside them and a straight line through them where asked for."""
    base = alt.Chart()
    x = theme.axis(alt.X, table, spec, "x", **({"type": spec["x_type"]} if spec.get("x_type") else {}))
    y = theme.axis(alt.Y, table, spec, "y")
    layers = [theme.reference_line(table, spec)] if spec.get("reference") is not None else []
    if spec.get("trend"):
        fit = base.transform_regression(theme.escape(spec["x"]), theme.escape(spec["y"]))
        layers.append(fit.mark_line(color="#888888", strokeDash=[4, 3]).encode(x=x, y=y))
    if spec.get("error"):
        layers.append(theme.error_bars(base.encode(x=x), table, spec))
    points = base.mark_point(filled=True, size=spec.get("size", 60), opacity=spec.get("opacity", 0.85))
    layers.append(points.encode(x=x, y=y, color=theme.colour(table, spec), shape=theme.shape(table, spec)))
    if spec.get("label"):
        words = alt.Text(field=theme.escape(spec["label"]), type="nominal")
        names = base.mark_text(align="left", dx=7, dy=-4, fontSize=10, color=theme.INK)
        layers.append(names.encode(x=x, y=y, text=words))
    return theme.finish(layers, table, spec)
