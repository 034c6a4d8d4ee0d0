"""What all charts share: colours that survive colour blindness and grey print, plain type, a light background."""

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
    """Vega-Lite's word for a column: quantitative if every known value is a number, else nominal."""
    values = [row.get(name) for row in table if row.get(name) is not None]
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    return "quantitative" if values and numbers else "nominal"


def in_order(table: list[dict], name: str) -> list:
    """Distinct values of a column in order of first appearance."""
    return list(dict.fromkeys(row.get(name) for row in table if row.get(name) is not None))


def data(table: list[dict]) -> alt.Data:
    """Rows for Vega-Lite: numbers that JSON cannot hold become gaps."""
    return alt.Data(values=[{key: _plain(value) for key, value in row.items()} for row in table])


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def escape(name: str) -> str:
    """A column name as Vega-Lite reads it: dots and brackets are not paths."""
    return "".join("\\" + sign if sign in ".[]:" else sign for sign in name)


def axis(channel: type, table: list[dict], spec: dict, which: str, **more: Any) -> Any:
    """The x or y channel: type, title, logarithm and range as the description says."""
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
    """How the numbers along an axis are written: in the format asked for, whole ones without fractions between."""
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

    When the colours are used up and come again, the shapes have moved on by one: no two names look the same.
    """
    name = spec.get("color")
    if name is None:
        return alt.value("circle")
    names = spec.get("color_order") or in_order(table, name)
    scale = alt.Scale(domain=names, range=[SHAPES[(i + i // len(SHAPES)) % len(SHAPES)] for i in range(len(names))])
    title = spec.get("color_title", name.replace("_", " "))
    return alt.Shape(field=escape(name), type="nominal", sort=names, scale=scale, title=title)


def error_bars(base: alt.Chart, table: list[dict], spec: dict, *, flat: bool = False) -> alt.Chart:
    """Bars from y − error to y + error, upright or lying; none where the error is not known."""
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
    """A dashed line at one value of y."""
    return (
        alt.Chart(data(table))
        .mark_rule(strokeDash=[5, 4], color="#666666")
        .encode(y=alt.YDatum(spec["reference"], type="quantitative"))
    )


def finish(layers: list[alt.Chart], table: list[dict], spec: dict, *, width: int = 420, height: int = 280) -> Any:
    """Layers put together, sized, faceted and styled."""
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
