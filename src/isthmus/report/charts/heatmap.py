"""Cells: a measure over two names or two numbers (confusion tables, sweeps over two parameters, document–word maps)."""

from __future__ import annotations

from typing import Any

import altair as alt

from isthmus.report.charts import theme


def draw(table: list[dict], spec: dict) -> Any:
    """One cell per row of the table, coloured by ``value``; with ``value_format`` the number stands in the cell."""
    value = spec.get("value") or spec["color"]
    x = theme.axis(alt.X, table, spec, "x", type="ordinal", sort=_order(table, spec["x"]))
    y = theme.axis(alt.Y, table, spec, "y", type="ordinal", sort=_order(table, spec["y"]))
    numbers = [float(row[value]) for row in table if row.get(value) is not None]
    scale = alt.Scale(scheme="blueorange", domainMid=0) if spec.get("diverging") else alt.Scale(scheme="blues")
    paint: Any = alt.Color(field=theme.escape(value), type="quantitative", scale=scale)
    paint.title = spec.get("color_title", value.replace("_", " "))
    base = alt.Chart()
    layers = [base.mark_rect().encode(x=x, y=y, color=paint)]
    if spec.get("value_format") and numbers:
        # The blue is dark enough for white letters from about six tenths of its range on.
        middle = min(numbers) + 0.6 * (max(numbers) - min(numbers))
        dark = "false" if spec.get("diverging") else f"datum[{value!r}] > {middle!r}"
        text = alt.Text(field=theme.escape(value), type="quantitative", format=spec["value_format"])
        ink = alt.condition(dark, alt.value("#FFFFFF"), alt.value(theme.INK))
        layers.append(base.mark_text(fontSize=11).encode(x=x, y=y, text=text, color=ink))
    columns, lines = (len({row.get(spec[axis]) for row in table}) for axis in ("x", "y"))
    width, height = (max(80, min(560, 44 * columns)), max(80, min(480, 30 * lines)))
    return theme.finish(layers, table, spec, width=width, height=height)


def _order(table: list[dict], name: str) -> list:
    values = theme.in_order(table, name)
    return sorted(values) if theme.field_type(table, name) == "quantitative" else values
