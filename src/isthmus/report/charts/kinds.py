"""Draw each kind of chart with the function of its name: line, scatter, bar and heatmap."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

# Colours of Okabe and Ito without black, and without yellow, which is hard to see on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#5D5D5D", "#7A3E9D")
# Shapes of Vega-Lite that differ clearly at a small size.
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
_FEW = 10  # largest range of whole numbers in which each number has a tick
INK, FAINT = "#222222", "#E4E4E4"  # colours of text and of grid lines

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
    """Return the Vega-Lite type of a column.

    Parameters
    ----------
    table : list of dict
        Rows.
    name : str
        Column.

    Returns
    -------
    str
        "quantitative" if all values are numbers, otherwise "nominal".
    """
    values = [row.get(name) for row in table if row.get(name) is not None]
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    return "quantitative" if values and numbers else "nominal"


def in_order(table: list[dict], name: str) -> list:
    """Return the distinct values of a column in the order of the table.

    Parameters
    ----------
    table : list of dict
        Rows.
    name : str
        Column.

    Returns
    -------
    list
    """
    return list(dict.fromkeys(row.get(name) for row in table if row.get(name) is not None))


def data(table: list[dict]) -> alt.Data:
    """Return the rows as data for Vega-Lite; numbers that JSON does not support become gaps.

    Parameters
    ----------
    table : list of dict
        Rows.

    Returns
    -------
    altair.Data
    """
    return alt.Data(values=[{key: _plain(value) for key, value in row.items()} for row in table])


def _plain(value: Any) -> Any:
    """Return a value that JSON supports."""
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def escape(name: str) -> str:
    """Escape a column name, so that Vega-Lite does not interpret dots and brackets as paths.

    Parameters
    ----------
    name : str
        Column.

    Returns
    -------
    str
    """
    return "".join("\\" + sign if sign in ".[]:" else sign for sign in name)


def axis(channel: type, table: list[dict], spec: dict, which: str, **more: Any) -> Any:
    """Return an axis with its scale, ticks and title.

    Parameters
    ----------
    channel : type
        altair.X or altair.Y.
    table : list of dict
        Rows.
    spec : dict
        Description of the chart.
    which : {"x", "y"}
        Option with the column's name.
    **more
        Options of the channel.

    Returns
    -------
    altair.X or altair.Y
    """
    name = spec[which]
    kind = more.pop("type", None) or field_type(table, name)
    title = spec.get(f"{which}_title", name.replace("_", " "))
    options: dict[str, Any] = {"field": escape(name), "type": kind, "title": title, **more}
    if kind == "quantitative":
        # Points and lines show differences, so their scale need not start at zero.
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
        # Rotated names need more height but do not overlap.
        turned = which == "x" and channel is alt.X and not numbers and _is_crowded(table, name, spec.get("room"))
        options["axis"] = alt.Axis(labelAngle=-35 if turned else 0, labelLimit=160, labelOverlap=numbers)
    return channel(**options)


def _numbers(table: list[dict], spec: dict, which: str) -> dict[str, Any]:
    """Return the options for numbers along an axis: their format, and ticks only at whole numbers if all are whole."""
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
    """Return whether the names do not fit next to each other, each within ``room`` pixels if that is given."""
    names = [str(value) for value in in_order(table, name)]
    if room is not None:
        # 6.5 pixels is the mean width of a character at the font size of labels.
        return max(map(len, names), default=0) * 6.5 > room
    # About 60 characters fit along an axis of the usual width.
    return sum(len(value) + 2 for value in names) > 60


def colour(table: list[dict], spec: dict, **more: Any) -> Any:
    """Return the colour channel: a colour per name, or one colour for all marks.

    Parameters
    ----------
    table : list of dict
        Rows.
    spec : dict
        Description of the chart.
    **more
        Options of the channel.

    Returns
    -------
    altair.Color or altair.Value
    """
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
    """Return the shape channel, which repeats the colours for readers who cannot distinguish them.

    When the colours repeat, the shapes are shifted by one: no two names look the same.

    Parameters
    ----------
    table : list of dict
        Rows.
    spec : dict
        Description of the chart.

    Returns
    -------
    altair.Shape or altair.Value
    """
    name = spec.get("color")
    if name is None:
        return alt.value("circle")
    names = spec.get("color_order") or in_order(table, name)
    scale = alt.Scale(domain=names, range=[SHAPES[(i + i // len(SHAPES)) % len(SHAPES)] for i in range(len(names))])
    title = spec.get("color_title", name.replace("_", " "))
    return alt.Shape(field=escape(name), type="nominal", sort=names, scale=scale, title=title)


def error_bars(base: alt.Chart, table: list[dict], spec: dict, *, flat: bool = False) -> alt.Chart:
    """Return bars from y − error to y + error; a missing error has length zero.

    Parameters
    ----------
    base : altair.Chart
        Chart with the positions.
    table : list of dict
        Rows.
    spec : dict
        Description of the chart.
    flat : bool
        Whether the values are along x.

    Returns
    -------
    altair.Chart
    """
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
    """Return a dashed line at a value of y.

    Parameters
    ----------
    table : list of dict
        Rows.
    spec : dict
        Description of the chart.

    Returns
    -------
    altair.Chart
    """
    return (
        alt.Chart(data(table))
        .mark_rule(strokeDash=[5, 4], color="#666666")
        .encode(y=alt.YDatum(spec["reference"], type="quantitative"))
    )


def finish(layers: list[alt.Chart], table: list[dict], spec: dict, *, width: int = 420, height: int = 280) -> Any:
    """Combine layers to a chart with its size, facets, title and style.

    Parameters
    ----------
    layers : list of altair.Chart
        Layers, the lowest first.
    table : list of dict
        Rows.
    spec : dict
        Description of the chart.
    width, height : int
        Default size in pixels.

    Returns
    -------
    altair.Chart or altair.FacetChart
    """
    # Facets need the data on the whole chart, not on a layer.
    chart = alt.layer(*layers, data=data(table)) if len(layers) > 1 else layers[0].properties(data=data(table))
    # Facets share the width of one chart.
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
    """Draw one measure over another as lines, with points and error bars if wanted.

    Parameters
    ----------
    table : list of dict
        Rows.
    spec : dict
        Description of the chart.

    Returns
    -------
    altair.Chart or altair.FacetChart
    """
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
    """Draw one measure against another as points, with names and a fitted line if wanted.

    Parameters
    ----------
    table : list of dict
        Rows.
    spec : dict
        Description of the chart.

    Returns
    -------
    altair.Chart or altair.FacetChart
    """
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
    """Return an empty chart with its axes."""
    kind = {"type": spec["x_type"]} if spec.get("x_type") else {}
    return alt.Chart(), axis(alt.X, table, spec, "x", **kind), axis(alt.Y, table, spec, "y")


def bar(table: list[dict], spec: dict) -> Any:
    """Draw a measure per name as bars from zero, next to each other if there is a second name.

    Parameters
    ----------
    table : list of dict
        Rows.
    spec : dict
        Description of the chart.

    Returns
    -------
    altair.Chart or altair.FacetChart
    """
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
    # Readers compare the lengths of bars, so bars start at zero unless the description sets a range.
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
        values.stack = None  # bars of one name point in two directions; stacked bars would add their values
    layers = [base.mark_bar(clip=True).encode(color=colour(table, spec), **where)]
    if spec.get("error"):
        rest = {key: value for key, value in where.items() if key != ("x" if flat else "y")}
        bars = error_bars(base.encode(**rest), table, spec, flat=flat)
        layers.append(bars.encode(color=alt.value(INK)))
    if spec.get("reference") is not None and not flat:
        layers.append(reference_line(table, spec))
    # 16 pixels per bar, within limits that fit on a page.
    step = 16 * max(1, len({row.get(spec["color"]) for row in table}) if beside else 1)
    length = max(120 if not flat else 60, min(900, step * len({row.get(names_field) for row in table})))
    return finish(layers, table, spec, width=420 if flat else max(260, length), height=length if flat else 280)


def _stand_side_by_side(table: list[dict], spec: dict) -> bool:
    """Return whether a name has bars of several colours that need separate positions; mirrored bars do not."""
    colour = spec.get("color")
    if not colour or colour == spec["x"] or spec.get("mirror"):
        return False
    pairs = {(row.get(spec["x"]), row.get(colour)) for row in table}
    return len(pairs) > len({name for name, _ in pairs})


def heatmap(table: list[dict], spec: dict) -> Any:
    """Draw a measure over two names or two numbers as coloured cells, with the numbers in the cells if wanted.

    Parameters
    ----------
    table : list of dict
        Rows.
    spec : dict
        Description of the chart.

    Returns
    -------
    altair.Chart or altair.FacetChart
    """
    value = spec.get("value") or spec["color"]
    x = axis(alt.X, table, spec, "x", type="ordinal", sort=_order(table, spec["x"]))
    y = axis(alt.Y, table, spec, "y", type="ordinal", sort=_order(table, spec["y"]))
    # Missing values have an empty cell.
    numbers = [float(row[value]) for row in table if row.get(value) is not None]
    scale = alt.Scale(scheme="blueorange", domainMid=0) if spec.get("diverging") else alt.Scale(scheme="blues")
    paint: Any = alt.Color(field=escape(value), type="quantitative", scale=scale)
    paint.title = spec.get("color_title", value.replace("_", " "))
    base = alt.Chart()
    layers = [base.mark_rect().encode(x=x, y=y, color=paint)]
    if spec.get("value_format") and numbers:
        # In the upper 40% of its range, the blue is dark enough for white letters.
        middle = min(numbers) + 0.6 * (max(numbers) - min(numbers))
        dark = "false" if spec.get("diverging") else f"datum[{value!r}] > {middle!r}"
        text = alt.Text(field=escape(value), type="quantitative", format=spec["value_format"])
        ink = alt.condition(dark, alt.value("#FFFFFF"), alt.value(INK))
        layers.append(base.mark_text(fontSize=11).encode(x=x, y=y, text=text, color=ink))
    columns, lines = (len({row.get(spec[axis]) for row in table}) for axis in ("x", "y"))
    width, height = (max(80, min(560, 44 * columns)), max(80, min(480, 30 * lines)))
    return finish(layers, table, spec, width=width, height=height)


def _order(table: list[dict], name: str) -> list:
    """Return the values of a column, sorted if they are numbers."""
    values = in_order(table, name)
    # Names have the order of the table, which the caller has chosen.
    return sorted(values) if field_type(table, name) == "quantitative" else values
