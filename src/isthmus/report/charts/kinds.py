"""The kinds of charts, each a function of the same name: ``line``, ``scatter``, ``bar``, ``heatmap``."""

from __future__ import annotations

from typing import Any

import altair as alt

from isthmus.report.charts import theme


def line(table: list[dict], spec: dict) -> Any:
    """Lines with points: a measure along something that grows. With ``error`` bars around the points."""
    base, x, y = _plane(table, spec)
    paint = theme.colour(table, spec)
    layers = [theme.reference_line(table, spec)] if spec.get("reference") is not None else []
    layers.append(base.mark_line(strokeWidth=2).encode(x=x, y=y, color=paint))
    if spec.get("error"):
        layers.append(theme.error_bars(base.encode(x=x), table, spec))
    if spec.get("points", True):
        layers.append(
            base.mark_point(filled=True, size=45, opacity=1).encode(
                x=x, y=y, color=paint, shape=theme.shape(table, spec), tooltip=_tooltips(table)
            )
        )
    return theme.finish(layers, table, spec)


def _tooltips(table: list[dict]) -> list[alt.Tooltip]:
    names = dict.fromkeys(key for row in table for key in row)
    return [alt.Tooltip(field=theme.escape(n), type=theme.field_type(table, n), title=n) for n in names]


def scatter(table: list[dict], spec: dict) -> Any:
    """Points: one measure against another, with names beside them and a straight line where asked for."""
    base, x, y = _plane(table, spec)
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


def _plane(table: list[dict], spec: dict) -> tuple[alt.Chart, Any, Any]:
    """An empty chart and its two axes."""
    kind = {"type": spec["x_type"]} if spec.get("x_type") else {}
    return alt.Chart(), theme.axis(alt.X, table, spec, "x", **kind), theme.axis(alt.Y, table, spec, "y")


def bar(table: list[dict], spec: dict) -> Any:
    """Bars from zero: a measure per name, side by side where there is a second name."""
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


def heatmap(table: list[dict], spec: dict) -> Any:
    """Cells: a measure over two names or two numbers, coloured by ``value``, which may stand in the cell."""
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
