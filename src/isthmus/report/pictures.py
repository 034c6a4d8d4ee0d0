"""Pictures of the pages: a chart as SVG with the table it draws, so that no number exists in the picture alone."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

_SHOWN = 200  # rows of a table under a picture
_OWN = ("histogram", "links")  # kinds only pages draw; the others are described in isthmus.report.charts


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

    from isthmus.report.charts import draw, to_svg

    if spec["kind"] in _OWN:
        module = importlib.import_module(f"isthmus.report.charts.{spec['kind']}")
        chart = module.draw(table, {key: value for key, value in spec.items() if key != "kind"})
    else:
        chart = draw(table, spec)
    chart.config.legend = {**chart.config.legend, "orient": "top"}  # beside the picture it would cost a phone's width
    rows = table if shown is None else shown
    return {
        "name": name,
        "title": title,
        "note": note,
        "svg": Markup(to_svg(chart)),
        "columns": list(rows[0]),
        "rows": [{key: _cell(value) for key, value in row.items()} for row in rows[:_SHOWN]],
        "left_out": max(0, len(rows) - _SHOWN),
    }


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return "–" if value is None else value


def domain_map_picture(points: list[dict]) -> dict[str, Any]:
    """The two collections as clouds of points."""
    spec = {
        "kind": "scatter", "x": "first", "y": "second", "color": "collection", "color_order": ["source", "target"],
        "color_title": "", "size": 22, "opacity": 0.55, "width": 520, "height": 320,
        "x_title": "first direction", "y_title": "second direction",
    }  # fmt: skip
    note = (
        "Each point is a document, placed by the words it uses (the two main directions of tf-idf): clouds that lie "
        "apart talk about different things."
    )
    return picture("domain-map", "Map of the two collections", points, spec, note=note)


def shifted_words_picture(words: list[dict]) -> dict[str, Any]:
    """Words used far more on one side."""
    long = [
        {"word": row["word"], "collection": side, "share": row[side]} for row in words for side in ("source", "target")
    ]
    spec = {
        "kind": "bar", "x": "word", "y": "share", "color": "collection", "color_order": ["source", "target"],
        "color_title": "", "horizontal": True, "x_title": "", "width": 420,
        "y_title": "share of documents with the word",
    }  # fmt: skip
    return picture(
        "shifted-words", "Words that shifted most", long, spec, note="Share of documents with the word.", shown=words
    )


def clusters_picture(rows: list[dict]) -> dict[str, Any]:
    """How strongly each word cluster speaks for each class, in the source and in the target."""
    long = []
    for row in rows:
        words = ", ".join(row["words"][:3])
        for side in ("source", "target"):
            for name, share in row[side].items():
                cell = {"cluster": f"{row['cluster']}: {words}", "class": str(name), "domain": side, "share": share}
                long.append(cell)
    spec = {
        "kind": "heatmap", "x": "class", "y": "cluster", "value": "share", "facet": "domain", "columns": 2,
        "value_format": ".2f", "color_title": "p(class | cluster)", "x_title": "", "y_title": "",
        "width": max(140, 52 * len({cell["class"] for cell in long})), "height": 24 * len(rows),
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
    note = "Words grouped because they behave alike; where both sides agree, a cluster carries its class across."
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
    spec = {
        "kind": "bar", "x": "class", "y": "share", "color": "collection", "color_title": "",
        "color_order": ["source", "target"], "x_title": "", "y_title": "share of documents", "width": 520,
        "height": 240,
    }  # fmt: skip
    return picture("shares", "Labels of the target against the source", table, spec)


def decision_picture(table: list[dict], measure: str) -> dict[str, Any]:
    """The candidates by the measure that ranked them."""
    spec = {
        "kind": "bar", "x": "method", "y": measure, "horizontal": True, "x_title": "", "color": "taken",
        "color_title": "taken", "width": 420,
    }  # fmt: skip
    return picture("decision-chart", f"The methods by {measure.replace('_', ' ')}", table, spec)


def convergence_picture(measure: str, table: list[dict]) -> dict[str, Any]:
    """One measure along the method's steps."""
    spec = {"kind": "line", "x": "step", "y": measure, "width": 520, "height": 200}
    title = f"Convergence: {measure.replace('_', ' ')}"
    return picture(f"convergence-{measure.replace('_', '-')}", title, table, spec)
