"""Bars: a measure per name, side by side where there is a second name."""

from __future__ import annotations

from typing import Any

import altair as alt

from isthmus.report.charts import theme


def draw(table: list[dict], spec: dict) -> Any:
    """Bars from zero. ``horizontal`` turns them; ``order="value"`` sorts them by length."""
    flat = bool(spec.get("horizontal"))
    names_field = spec["x"]
    across, along = (alt.Y, alt.X) if flat else (alt.X, alt.Y)
    sort = "-x" if flat else "-y"
    names = theme.axis(
        across,
        table,
        spec,
        "x",
        type="nominal",
        sort=sort if spec.get("order") == "value" else theme.in_order(table, names_field),
    )
    # Bars are read by their length: they start at zero unless the description says otherwise.
    scale_options = {} if spec.get("y_domain") or spec.get("log_y") else {"zero": True, "nice": True, "padding": 0}
    values = theme.axis(along, table, spec, "y", type="quantitative", scale_options=scale_options)
    where = {"y": names, "x": values} if flat else {"x": names, "y": values}
    base = alt.Chart()
    beside = _stand_side_by_side(table, spec)
    if beside:
        group = theme.escape(spec["color"])
        order = spec.get("color_order") or theme.in_order(table, spec["color"])
        channel, offset = ("yOffset", alt.YOffset) if flat else ("xOffset", alt.XOffset)
        where[channel] = offset(field=group, type="nominal", sort=order)
    elif spec.get("color"):
        values.stack = None  # bars of one name in two directions, not on top of each other
    layers = [base.mark_bar(clip=True).encode(color=theme.colour(table, spec), **where)]
    if spec.get("error"):
        rest = {key: value for key, value in where.items() if key != ("x" if flat else "y")}
        bars = theme.error_bars(base.encode(**rest), table, spec, flat=flat)
        layers.append(bars.encode(color=alt.value(theme.INK)))
    if spec.get("reference") is not None and not flat:
        layers.append(theme.reference_line(table, spec))
    step = 16 * max(1, len({row.get(spec["color"]) for row in table}) if beside else 1)
    length = max(120 if not flat else 60, min(900, step * len({row.get(names_field) for row in table})))
    return theme.finish(layers, table, spec, width=420 if flat else max(260, length), height=length if flat else 280)


def _stand_side_by_side(table: list[dict], spec: dict) -> bool:
    """Whether some name has bars of several colours: then they need places of their own, unless they are mirrored."""
    colour = spec.get("color")
    if not colour or colour == spec["x"] or spec.get("mirror"):
        return False
    pairs = {(row.get(spec["x"]), row.get(colour)) for row in table}
    return len(pairs) > len({name for name, _ in pairs})
