"""The kinds of charts, each a function of the same name (line, scatter, bar, heatmap), and what they share."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

# Okabe and Ito's colours without black and without the yellow that vanishes on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#5D5D5D", "#7A3E9D")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
_FEW = 10  # whole numbers that all get a tick
INK, FAINT = "#222222", "#E4E4E4"

CONFIG: dict[str, Any] = {
    "background": "#FFFFFF",
    "font": "Helvetica, Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK, "titleColor": INK, "gridColor": FAINT, "domainColor": "#888888", "tickColor": "#888888",
        "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 8,
    },
    "legend": {"labelColor": INK, "titleColor": INK, "labelFontSize": 11, "titleFontSize": 12, "labelLimit": 260},
    "header": {"labelColor": INK, "titleColor": INK, "labelFontSize": 12},
    "title": {"color": INK, "fontSize": 14, "anchor": "start", "fontWeight": "bold", "offset": 10},
}  # fmt: skip


def field_type(table: list[dict], name: str) -> Any:
    values = [row.get(name) for row in table if row.get(name) is not None]
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    return "quantitative" if values and numbers else "nominal"


def in_order(table: list[dict], name: str) -> list:
    return list(dict.fromkeys(row.get(name) for row in table if row.get(name) is not None))


def data(table: list[dict]) -> alt.Data:
    """Rows for Vega-Lite; numbers that JSON cannot hold become gaps."""
    return alt.Data(values=[{key: _plain(value) for key, value in row.items()} for row in table])


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def escape(name: str) -> str:
    """A column name whose dots and brackets Vega-Lite does not read as paths."""
    return "".join("\\" + sign if sign in ".[]:" else sign for sign in name)


def axis(channel: type, table: list[dict], spec: dict, which: str, **more: Any) -> Any:
    name = spec[which]
    kind = more.pop("type", None) or field_type(table, name)
    title = spec.get(f"{which}_title", name.replace("_", " "))
    options: dict[str, Any] = {"field": escape(name), "type": kind, "title": title, **more}
    if kind == "quantitative":
        scale: dict[str, Any] = {"zero": False, "nice": True}
        ticks: dict[str, Any] = {"grid": channel is alt.Y, "tickCount": 6, **_numbers(table, spec, which)}
        if channel is alt.X:
            scale.update(nice=False, padding=12)
        if spec.get(f"log_{which}"):
            scale.update(type="log", nice=False, padding=12)
            ticks["labelOverlap"] = True
        options["axis"] = alt.Axis(**ticks)
        if spec.get(f"{which}_domain"):
            scale.update(domain=list(spec[f"{which}_domain"]), nice=False)
        options["scale"] = alt.Scale(**(scale | more.get("scale_options", {})))
        options.pop("scale_options", None)
    else:
        options.setdefault("sort", in_order(table, name))
        numbers = field_type(table, name) == "quantitative"
        turned = which == "x" and channel is alt.X and not numbers and _is_crowded(table, name, spec.get("room"))
        options["axis"] = alt.Axis(labelAngle=-35 if turned else 0, labelLimit=160, labelOverlap=numbers)
    return channel(**options)


def _numbers(table: list[dict], spec: dict, which: str) -> dict[str, Any]:
    """Numbers along an axis are written in the format asked for; whole ones have no fractions between."""
    written: dict[str, Any] = {}
    kind = spec.get(f"{which}_format")
    if kind and spec.get("mirror"):
        written["labelExpr"] = f"format(abs(datum.value), {kind!r})"
    elif kind:
        written["format"] = kind
    values: list[Any] = [row.get(spec[which]) for row in table]
    if which == "x" and all(
        isinstance(value, int) or (isinstance(value, float) and value.is_integer()) for value in values
    ):
        low, high = int(min(values)), int(max(values))
        if 0 < high - low <= _FEW and not spec.get("log_x"):
            written.update(values=list(range(low, high + 1)), format="d")
    return written


def _is_crowded(table: list[dict], name: str, room: float | None = None) -> bool:
    """Whether the names do not fit side by side, each into ``room`` pixels where that is known."""
    names = [str(value) for value in in_order(table, name)]
    if room is not None:
        return max(map(len, names), default=0) * 6.5 > room
    return sum(len(value) + 2 for value in names) > 60


def colour(table: list[dict], spec: dict, **more: Any) -> Any:
    """The colour channel by names, or one colour where none is asked for."""
    name = spec.get("color")
    if name is None:
        return alt.value(PALETTE[0])
    names = spec.get("color_order") or in_order(table, name)
    return alt.Color(
        field=escape(name),
        type="nominal",
        title=spec.get("color_title", name.replace("_", " ")),
        sort=names,
        scale=alt.Scale(domain=names, range=[PALETTE[i % len(PALETTE)] for i in range(len(names))]),
        **more,
    )


def shape(table: list[dict], spec: dict) -> Any:
    """Shapes repeat what colours say, for readers who cannot tell the colours apart.

    When the colours come again, the shapes have moved on by one: no two names look the same.
    """
    name = spec.get("color")
    if name is None:
        return alt.value("circle")
    names = spec.get("color_order") or in_order(table, name)
    scale = alt.Scale(domain=names, range=[SHAPES[(i + i // len(SHAPES)) % len(SHAPES)] for i in range(len(names))])
    title = spec.get("color_title", name.replace("_", " "))
    return alt.Shape(field=escape(name), type="nominal", sort=names, scale=scale, title=title)


def error_bars(base: alt.Chart, table: list[dict], spec: dict, *, flat: bool = False) -> alt.Chart:
    """Bars from y − error to y + error; none where the error is not known."""
    y, error = spec["y"], spec["error"]
    title = spec.get("y_title", y.replace("_", " "))
    low, high = (alt.X("_low:Q", title=title), "x2") if flat else (alt.Y("_low:Q", title=title), "y2")
    return (
        base.transform_calculate(
            _low=f"datum[{y!r}] - (datum[{error!r}] || 0)", _high=f"datum[{y!r}] + (datum[{error!r}] || 0)"
        )
        .mark_rule(strokeWidth=1.5, opacity=0.7, clip=True)
        .encode(low, **{high: "_high:Q", "color": colour(table, spec)})
    )


def reference_line(table: list[dict], spec: dict) -> alt.Chart:
    return (
        alt.Chart(data(table))
        .mark_rule(strokeDash=[5, 4], color="#666666")
        .encode(y=alt.YDatum(spec["reference"], type="quantitative"))
    )


def finish(layers: list[alt.Chart], table: list[dict], spec: dict, *, width: int = 420, height: int = 280) -> Any:
    chart = alt.layer(*layers, data=data(table)) if len(layers) > 1 else layers[0].properties(data=data(table))
    faceted = spec.get("facet")
    chart = chart.properties(
        width=spec.get("width", 240 if faceted else width), height=spec.get("height", 190 if faceted else height)
    )
    if faceted:
        names = in_order(table, faceted)
        header = alt.Facet(field=escape(faceted), type="nominal", title=None, sort=names)
        chart = chart.facet(facet=header, columns=spec.get("columns", min(3, len(names))))
    if spec.get("title"):
        chart = chart.properties(title=spec["title"])
    return chart.configure(**CONFIG)


# -- The kinds


def line(table: list[dict], spec: dict) -> Any:
    base, x, y = _plane(table, spec)
    paint = colour(table, spec)
    layers = [reference_line(table, spec)] if spec.get("reference") is not None else []
    layers.append(base.mark_line(strokeWidth=2).encode(x=x, y=y, color=paint))
    if spec.get("error"):
        layers.append(error_bars(base.encode(x=x), table, spec))
    if spec.get("points", True):
        layers.append(
            base.mark_point(filled=True, size=45, opacity=1).encode(
                x=x, y=y, color=paint, shape=shape(table, spec), tooltip=_tooltips(table)
            )
        )
    return finish(layers, table, spec)


def _tooltips(table: list[dict]) -> list[alt.Tooltip]:
    names = dict.fromkeys(key for row in table for key in row)
    return [alt.Tooltip(field=escape(n), type=field_type(table, n), title=n) for n in names]


def scatter(table: list[dict], spec: dict) -> Any:
    """Points: one measure against another, with names beside them and a straight line where asked for."""
    base, x, y = _plane(table, spec)
    layers = [reference_line(table, spec)] if spec.get("reference") is not None else []
    if spec.get("trend"):
        fit = base.transform_regression(escape(spec["x"]), escape(spec["y"]))
        layers.append(fit.mark_line(color="#888888", strokeDash=[4, 3]).encode(x=x, y=y))
    if spec.get("error"):
        layers.append(error_bars(base.encode(x=x), table, spec))
    points = base.mark_point(filled=True, size=spec.get("size", 60), opacity=spec.get("opacity", 0.85))
    layers.append(points.encode(x=x, y=y, color=colour(table, spec), shape=shape(table, spec)))
    if spec.get("label"):
        words = alt.Text(field=escape(spec["label"]), type="nominal")
        names = base.mark_text(align="left", dx=7, dy=-4, fontSize=10, color=INK)
        layers.append(names.encode(x=x, y=y, text=words))
    return finish(layers, table, spec)


def _plane(table: list[dict], spec: dict) -> tuple[alt.Chart, Any, Any]:
    kind = {"type": spec["x_type"]} if spec.get("x_type") else {}
    return alt.Chart(), axis(alt.X, table, spec, "x", **kind), axis(alt.Y, table, spec, "y")


def bar(table: list[dict], spec: dict) -> Any:
    """Bars from zero: a measure per name, side by side where there is a second name."""
    flat = bool(spec.get("horizontal"))
    names_field = spec["x"]
    across, along = (alt.Y, alt.X) if flat else (alt.X, alt.Y)
    sort = "-x" if flat else "-y"
    names = axis(
        across,
        table,
        spec,
        "x",
        type="nominal",
        sort=sort if spec.get("order") == "value" else in_order(table, names_field),
    )
    # Bars are read by their length: they start at zero unless the description says otherwise.
    scale_options = {} if spec.get("y_domain") or spec.get("log_y") else {"zero": True, "nice": True, "padding": 0}
    values = axis(along, table, spec, "y", type="quantitative", scale_options=scale_options)
    where = {"y": names, "x": values} if flat else {"x": names, "y": values}
    base = alt.Chart()
    beside = _stand_side_by_side(table, spec)
    if beside:
        group = escape(spec["color"])
        order = spec.get("color_order") or in_order(table, spec["color"])
        channel, offset = ("yOffset", alt.YOffset) if flat else ("xOffset", alt.XOffset)
        where[channel] = offset(field=group, type="nominal", sort=order)
    elif spec.get("color"):
        values.stack = None  # bars of one name in two directions, not on top of each other
    layers = [base.mark_bar(clip=True).encode(color=colour(table, spec), **where)]
    if spec.get("error"):
        rest = {key: value for key, value in where.items() if key != ("x" if flat else "y")}
        bars = error_bars(base.encode(**rest), table, spec, flat=flat)
        layers.append(bars.encode(color=alt.value(INK)))
    if spec.get("reference") is not None and not flat:
        layers.append(reference_line(table, spec))
    step = 16 * max(1, len({row.get(spec["color"]) for row in table}) if beside else 1)
    length = max(120 if not flat else 60, min(900, step * len({row.get(names_field) for row in table})))
    return finish(layers, table, spec, width=420 if flat else max(260, length), height=length if flat else 280)


def _stand_side_by_side(table: list[dict], spec: dict) -> bool:
    """Whether some name has bars of several colours that need places of their own; mirrored ones do not."""
    colour = spec.get("color")
    if not colour or colour == spec["x"] or spec.get("mirror"):
        return False
    pairs = {(row.get(spec["x"]), row.get(colour)) for row in table}
    return len(pairs) > len({name for name, _ in pairs})


def heatmap(table: list[dict], spec: dict) -> Any:
    """Cells: a measure over two names or two numbers, coloured by ``value``, which may stand in the cell."""
    value = spec.get("value") or spec["color"]
    x = axis(alt.X, table, spec, "x", type="ordinal", sort=_order(table, spec["x"]))
    y = axis(alt.Y, table, spec, "y", type="ordinal", sort=_order(table, spec["y"]))
    numbers = [float(row[value]) for row in table if row.get(value) is not None]
    scale = alt.Scale(scheme="blueorange", domainMid=0) if spec.get("diverging") else alt.Scale(scheme="blues")
    paint: Any = alt.Color(field=escape(value), type="quantitative", scale=scale)
    paint.title = spec.get("color_title", value.replace("_", " "))
    base = alt.Chart()
    layers = [base.mark_rect().encode(x=x, y=y, color=paint)]
    if spec.get("value_format") and numbers:
        # The blue is dark enough for white letters from about six tenths of its range on.
        middle = min(numbers) + 0.6 * (max(numbers) - min(numbers))
        dark = "false" if spec.get("diverging") else f"datum[{value!r}] > {middle!r}"
        text = alt.Text(field=escape(value), type="quantitative", format=spec["value_format"])
        ink = alt.condition(dark, alt.value("#FFFFFF"), alt.value(INK))
        layers.append(base.mark_text(fontSize=11).encode(x=x, y=y, text=text, color=ink))
    columns, lines = (len({row.get(spec[axis]) for row in table}) for axis in ("x", "y"))
    width, height = (max(80, min(560, 44 * columns)), max(80, min(480, 30 * lines)))
    return finish(layers, table, spec, width=width, height=height)


def _order(table: list[dict], name: str) -> list:
    values = in_order(table, name)
    return sorted(values) if field_type(table, name) == "quantitative" else values
