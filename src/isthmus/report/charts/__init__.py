"""Draw charts: convert a table of plain values and a description to a Vega-Lite chart."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isthmus._utils import import_optional
from isthmus.exceptions import DataError, UsageError

# Allowed kinds, file endings and options; the documentation of draw() explains them.
KINDS = ("line", "scatter", "bar", "heatmap")
FORMATS = (".svg", ".png", ".json")
_OPTIONS = {
    "kind", "x", "y", "color", "facet", "title", "x_title", "y_title", "color_title", "log_x", "log_y", "x_domain",
    "y_domain", "x_type", "value", "value_format", "error", "label", "reference", "size", "opacity", "width", "height",
    "columns", "diverging", "order", "trend", "points", "color_order", "horizontal", "x_format", "y_format", "mirror",
    "room",
}  # fmt: skip


def draw(table: Sequence[Mapping[str, Any]], spec: Mapping[str, Any]) -> Any:
    """Draw a table.

    Parameters
    ----------
    table : sequence of dicts
        One dict of plain values per row.
    spec : mapping
        ``kind`` (line, scatter, bar, heatmap), ``x`` and ``y`` (column names), and optionally ``color``, ``facet``,
        ``title``, ``x_title``, ``y_title``, ``color_title``, ``log_x``, ``log_y``, ``x_domain``, ``y_domain``,
        ``width``, ``height``, ``columns`` (of facets), ``x_format``, ``y_format`` (number formats of d3-format),
        ``room`` (pixels for each name along x; longer names are rotated). Line, scatter, bar: ``error`` (column with
        half the length of an error bar), ``reference`` (value of y with a line). Line: ``points=False``. Scatter:
        ``label`` (column with names), ``trend`` (fitted straight line), ``size``, ``opacity``. Bar: ``horizontal``,
        ``order`` (``"table"`` or ``"value"``), ``mirror`` (negative values form a second side, written without their
        sign). Heatmap: ``value`` or ``color`` (column that the colours show), ``value_format`` (format of numbers in
        the cells), ``diverging`` (colours around 0).

    Returns
    -------
    altair.Chart or altair.FacetChart

    Raises
    ------
    UsageError
        The description is not valid.
    DataError
        The table is empty.

    See Also
    --------
    isthmus.report.charts.save_chart : Writes the picture to a file.
    """
    kind = spec.get("kind", "line")
    if kind not in KINDS:
        raise UsageError(f"No chart is of kind {kind!r}; choose one of {', '.join(KINDS)}.")
    unknown = sorted(set(spec) - _OPTIONS)
    if unknown:
        raise UsageError(f"A chart has no option {unknown[0]!r}; see isthmus.report.charts.draw.")
    _check_columns(table, spec, kind)
    import_optional("altair", "A chart")
    from isthmus.report.charts import kinds  # this module imports altair, which is optional

    rows = [{key: _drawable(value) for key, value in row.items()} for row in table]
    return getattr(kinds, kind)(rows, dict(spec))


# Characters that XML 1.0 forbids. The drawing library would end the whole process because of one of them.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST_NAME = 80  # characters


def _drawable(value: Any) -> Any:
    """Return a name that a chart can show: no control characters, at most one line."""
    if not isinstance(value, str):
        return value
    text = _NOT_XML.sub("\ufffd", value)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


def to_svg(chart: Any) -> str:
    """Return a chart as SVG text; all data in it are escaped.

    Parameters
    ----------
    chart : altair.Chart
        The chart.

    Returns
    -------
    str
    """
    return _stable_ids(_renderer().vegalite_to_svg(chart.to_dict()))


def _renderer() -> Any:
    return import_optional("vl_convert", "A chart as a picture", extra="pictures")


def save_chart(chart: Any, path: str | Path) -> Path:
    """Write a chart as .svg, .png or .json (Vega-Lite), without network or browser.

    Parameters
    ----------
    chart : altair.Chart
        The chart.
    path : str or Path
        File; its folder is created.

    Returns
    -------
    Path

    Raises
    ------
    UsageError
        The ending is unknown.
    DataError
        The file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"A chart cannot be written as {path.name!r}; use .svg, .png or .json.", code="unknown-format")
    content: bytes
    if path.suffix.lower() == ".json":
        content = (chart.to_json(indent=1) + "\n").encode()
    elif path.suffix.lower() == ".svg":
        content = to_svg(chart).encode()
    else:
        content = _renderer().vegalite_to_png(chart.to_dict(), scale=2)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({error.strerror}); choose another place.", code="output-unwritable"
        ) from error
    return path


def _stable_ids(svg: str) -> str:
    """Replace the names of clips and gradients by names that depend only on the chart.

    The renderer numbers them over its lifetime. The same chart would differ between runs, and two charts on one page
    could share a name.
    """
    names = list(dict.fromkeys(re.findall(r'id="([^"]+)"', svg)))
    if not names:
        return svg
    # Longer names first, because a name may be the beginning of another.
    either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    pattern = re.compile(rf'(?<=id=")(?:{either})(?=")|(?<=url\(#)(?:{either})(?=\))')
    places = {name: place for place, name in enumerate(names)}
    digest = hashlib.sha256(pattern.sub(lambda match: str(places[match.group()]), svg).encode()).hexdigest()[:8]
    return pattern.sub(lambda match: f"c{digest}-{places[match.group()]}", svg)


def _check_columns(table: Sequence[Mapping[str, Any]], spec: Mapping[str, Any], kind: str) -> None:
    """Refuse a description without a required column or with a column that the table lacks."""
    if not table:
        raise DataError("The table for a chart has no rows; there is nothing to draw.", code="no-rows")
    for option in ("x", "y"):
        if option not in spec:
            raise UsageError(f"The chart does not say which column is {option}.")
    if kind == "heatmap" and not (spec.get("value") or spec.get("color")):
        raise UsageError("A heat map needs 'value': the column that its colours show.")
    # Rows may have different columns.
    known = dict.fromkeys(key for row in table for key in row)
    for option in ("x", "y", "color", "facet", "error", "label", "value"):
        name = spec.get(option)
        if name is not None and name not in known:
            raise UsageError(
                f"The chart's {option} is {name!r}, which is not a column of the table ({', '.join(known)}).",
                code="unknown-column",
            )
