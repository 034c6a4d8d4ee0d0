"""Pictures of the pages: a chart as SVG with the table it draws, so that no number exists in the picture alone."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any

_SHOWN = 600  # rows of a table under a picture
_WIDTH = 440  # pixels, names and axes included: the page enlarges it on a desk and a phone need not shrink it much
_OWN = ("histogram", "links")  # kinds only pages draw; the others are described in isthmus.report.charts
_SIZES = {"labelFontSize": 12, "titleFontSize": 12}
_PERCENT = "~%"


def picture(
    name: str,
    title: str,
    table: list[dict],
    spec: Mapping[str, Any],
    *,
    note: str = "",
    shown: list[dict] | None = None,
) -> dict[str, Any]:
    """A chart inside a page.

    Parameters
    ----------
    name : str
        Id of the figure.
    title, note : str
        What it shows, and how to read it.
    table : list of dict
        The rows that are drawn.
    spec : mapping
        As for :func:`isthmus.report.charts.draw`; also the kinds ``histogram`` and ``links``.
    shown : list of dict, optional
        The rows written under the picture, where they are not the drawn ones.
    """
    from markupsafe import Markup

    from isthmus.report.charts import draw, drawable, to_svg

    free = spec["kind"] == "links" or "facet" in spec  # these grow with what they hold
    if not free:
        spec = {"width": _WIDTH, **spec}
    if spec["kind"] in _OWN:
        module = importlib.import_module(f"isthmus.report.charts.{spec['kind']}")
        chart = module.draw(drawable(table), {key: value for key, value in spec.items() if key != "kind"})
    else:
        chart = draw(table, spec)
    if not free:
        chart.autosize = {"type": "fit", "contains": "padding"}
    chart.config.background = "transparent"  # the page's own paper, light or dark
    chart.config.axis = {**chart.config.axis, **_SIZES}
    # Beside the picture a legend would cost a phone's width.
    chart.config.legend = {**chart.config.legend, **_SIZES, "orient": "top", "titleLimit": 300}
    svg = to_svg(chart)
    rows = table if shown is None else shown
    return {
        "name": name,
        "title": title,
        "note": note,
        "svg": Markup(svg),
        "width": _width_of(svg),
        "columns": list(rows[0]),
        "rows": [{key: cell_text(value) for key, value in row.items()} for row in rows[:_SHOWN]],
        "left_out": max(0, len(rows) - _SHOWN),
    }


def _width_of(svg: str) -> int:
    found = re.search(r'<svg[^>]*? width="([0-9.]+)"', svg)
    return round(float(found.group(1))) if found else _WIDTH


def cell_text(value: Any) -> Any:
    """A value as tables of the page show it."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return "–" if value is None else value


def domain_map_picture(points: list[dict]) -> dict[str, Any]:
    """The two collections as clouds of points."""
    spec = {
        "kind": "scatter", "x": "first", "y": "second", "color": "collection", "color_order": ["source", "target"],
        "color_title": "", "size": 20, "opacity": 0.55, "height": 300,
        "x_title": "first direction", "y_title": "second direction",
    }  # fmt: skip
    note = (
        "Each point is a document, placed by the words it uses (the two main directions of tf-idf): clouds that lie "
        "apart talk about different things."
    )
    return picture("domain-map", "Map of the two collections", points, spec, note=note)


def shifted_words_picture(words: list[dict]) -> dict[str, Any]:
    """Words used far more on one side: the source to the left, the target to the right."""
    long = [
        {"word": row["word"], "collection": side, "share": sign * row[side]}
        for row in words
        for side, sign in (("source", -1), ("target", 1))
    ]
    spec = {
        "kind": "bar", "x": "word", "y": "share", "color": "collection", "color_order": ["source", "target"],
        "color_title": "", "horizontal": True, "mirror": True, "x_title": "", "y_format": _PERCENT,
        "y_title": "← source · share of documents · target →", "height": 18 * len(words) + 80,
    }  # fmt: skip
    shown = [
        {"word": row["word"], **{f"share in the {side}": f"{row[side]:.1%}" for side in ("source", "target")}}
        for row in words
    ]
    note = "Share of the source's documents (left) and of the target's (right) that hold the word."
    return picture("shifted-words", "Words that shifted most", long, spec, note=note, shown=shown)


def clusters_picture(rows: list[dict]) -> dict[str, Any]:
    """How strongly each word cluster speaks for each class, in the source and in the target."""
    long = []
    for row in rows:
        words = ", ".join(row["words"][:3])
        for side in ("source", "target"):
            for name, share in row[side].items():
                cell = {"cluster": f"{row['cluster']}: {words}", "class": str(name), "domain": side, "share": share}
                long.append(cell)
    classes = len({cell["class"] for cell in long})
    spec = {
        "kind": "heatmap", "x": "class", "y": "cluster", "value": "share", "facet": "domain",
        "columns": 2 if classes <= 5 else 1, "value_format": ".2f", "color_title": "weight of the class in the cluster",
        "x_title": "", "y_title": "", "room": 34, "width": max(68, 34 * classes), "height": 22 * len(rows),
    }  # fmt: skip
    shown = [
        {
            "cluster": row["cluster"],
            "class": row["class"],
            "agree": "yes" if row["agree"] else "no",
            "words": row["words"],
            "size": row["size"],
            "share of target": row["share"],
        }
        for row in rows
    ]
    note = (
        "Words grouped because they behave alike. A row sums to 1 on each side; where both sides agree, the cluster "
        "carries its class across."
    )
    return picture("word-clusters", "Word clusters and classes", long, spec, note=note, shown=shown)


def confidence_picture(table: list[dict], threshold: float | None) -> dict[str, Any]:
    """Histogram of confidences with the line above which labels are accepted."""
    spec = {"kind": "histogram", "threshold": threshold, "color_order": ["accepted", "to review"]}
    note = "Labels to the right of the dashed line need no review within the error budget."
    if threshold is None:
        note = "No label is sure enough to be accepted within the error budget."
    return picture("confidence", "How sure the labels are", table, spec, note=note)


def shares_picture(table: list[dict]) -> dict[str, Any]:
    """Class shares of both sides."""
    names = dict.fromkeys(row["class"] for row in table)
    lying = len(names) > 6 or sum(map(len, names)) > 40
    spec = {
        "kind": "bar", "x": "class", "y": "share", "color": "collection", "color_title": "",
        "color_order": ["source", "target"], "x_title": "", "y_title": "share of documents", "y_format": _PERCENT,
        "horizontal": lying, "height": 28 * len(names) + 80 if lying else 240,
    }  # fmt: skip
    return picture("shares", "Labels of the target against the source", table, spec)


def decision_picture(table: list[dict], measure: str, *, spread: str | None = None, note: str = "") -> dict[str, Any]:
    """The candidates by the measure that ranked them, with its uncertainty where that is known."""
    spec = {
        "kind": "bar", "x": "method", "y": measure, "horizontal": True, "x_title": "", "color": "taken",
        "color_title": "takes part", "color_order": ["yes", "no"], "height": 22 * len(table) + 90,
    }  # fmt: skip
    if spread is not None:
        spec["error"] = spread
    return picture("decision-chart", f"The methods by {measure.replace('_', ' ')}", table, spec, note=note)


def convergence_picture(measure: str, table: list[dict], *, note: str = "") -> dict[str, Any]:
    """One measure along the method's steps."""
    spec = {"kind": "line", "x": "step", "y": measure, "height": 210}
    title = f"Convergence: {measure.replace('_', ' ')}"
    return picture("convergence-" + re.sub(r"\W|_", "-", measure), title, table, spec, note=note)
