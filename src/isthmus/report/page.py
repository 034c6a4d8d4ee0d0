"""The report: numbers in a plain dict → template → one HTML file that needs no network."""

from __future__ import annotations

import platform
from collections import Counter
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.corpus import Collection, check_output, replacing
from isthmus.exceptions import MissingExtraError

_DOUBTFUL = 25
_EXAMPLES_PER_CLASS = 2
_TERMS = 6
_EXCERPT = 400
_BINS = 20


def write_label_report(
    result,
    path,
    *,
    force: bool = False,
    source: Collection | None = None,
    target: Collection | None = None,
) -> Path:
    """Write the page about a labelling.

    Parameters
    ----------
    result : LabelResult
    path : path of the page
    force : bool
        Replace a page that exists.
    source, target : Collection, optional
        Where the texts came from; made from the result's texts when left out.
    """
    check_output(path, force=force, table=False)
    source = source or Collection.from_texts(result.source_texts, list(result.source_labels), name="source texts")
    target = target or Collection.from_texts(result.texts, name="target texts")
    page = render("label.html.j2", label_facts(result, source, target))
    with replacing(path, force=force) as out:
        out.write(page.encode("utf-8", "replace"))
    return Path(path)


def render(template: str, facts: dict[str, Any]) -> str:
    """Fill a template; everything that comes from data is escaped."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError(
            "A report needs jinja2; install it with: pip install 'isthmus[app]'", code="missing-extra"
        ) from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("isthmus.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = lambda value: f"{100 * value:.1f} %"
    environment.filters["count"] = lambda value: f"{value:,}"
    return environment.get_template(template).render(facts)


def label_facts(result, source: Collection, target: Collection) -> dict[str, Any]:
    """Every number and text on the page."""
    shares = class_table(result)
    histogram = confidence_table(result)
    return {
        "title": "Isthmus report",
        "summary": summary_sentences(result, source, target, shares),
        "sources": [collection_facts(docs, role) for docs, role in ((source, "source"), (target, "target"))],
        "shares": shares,
        "pictures": [
            picture("Labels of the target against the source", shares_long(shares), _SHARES_CHART),
            picture("How sure the labels are", histogram, _CONFIDENCE_CHART),
        ],
        "decision": result.decision,
        "doubtful": documents(result, target, np.argsort(result.confidence, kind="stable")[:_DOUBTFUL]),
        "examples": documents(result, target, sure_examples(result)),
        "settings": {**result.settings, "method used": result.method},
        "versions": _versions(),
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def class_table(result) -> list[dict]:
    """Per class: documents in source and target, mean confidence, how many to review."""
    source = Counter(str(name) for name in result.source_labels if name is not None)
    total = max(1, sum(source.values()))
    rows = []
    for name in result.classes.tolist():
        chosen = result.labels == name
        rows.append(
            {
                "class": str(name),
                "source": source[str(name)],
                "source_share": source[str(name)] / total,
                "target": int(chosen.sum()),
                "target_share": float(chosen.mean()),
                "confidence": float(result.confidence[chosen].mean()) if chosen.any() else None,
                "review": int(result.needs_review[chosen].sum()),
            }
        )
    return rows


def shares_long(shares: list[dict]) -> list[dict]:
    """The table of classes, one row per bar."""
    return [
        {"class": row["class"], "collection": side, "share": round(row[f"{side}_share"], 4)}
        for row in shares
        for side in ("source", "target")
    ]


_SHARES_CHART = {
    "kind": "bar",
    "x": "class",
    "y": "share",
    "color": "collection",
    "y_title": "share of documents",
    "width": 520,
}
_CONFIDENCE_CHART = {
    "kind": "bar",
    "x": "confidence",
    "y": "documents",
    "color": "reading",
    "width": 520,
}


def confidence_table(result) -> list[dict]:
    """Counts of documents by confidence, accepted and to be reviewed."""
    edges = np.linspace(0, 1, _BINS + 1)
    place = np.clip(np.digitize(result.confidence, edges) - 1, 0, _BINS - 1)
    rows = []
    for i in range(place.min(), _BINS):
        for reading, mask in (("accepted", ~result.needs_review), ("to review", result.needs_review)):
            rows.append(
                {
                    "confidence": f"{edges[i]:.2f}–{edges[i + 1]:.2f}",
                    "reading": reading,
                    "documents": int(np.sum((place == i) & mask)),
                }
            )
    return rows


def picture(title: str, table: list[dict], spec: dict) -> dict[str, Any]:
    """A chart as SVG inside the page, with the table it draws."""
    from markupsafe import Markup

    from isthmus.report.charts import draw, to_svg

    return {"title": title, "svg": Markup(to_svg(draw(table, spec))), "columns": list(table[0]), "rows": table}


def summary_sentences(result, source: Collection, target: Collection, shares: list[dict]) -> list[str]:
    """The result in five sentences."""
    largest = max(shares, key=lambda row: row["target"])
    moved = max(shares, key=lambda row: abs(row["target_share"] - row["source_share"]))
    review = int(result.needs_review.sum())
    budget = result.settings.get("error_budget", 0.1)
    why = next(row["why"] for row in result.decision if row["chosen"])
    return [
        f"{len(target):,} documents of {target.name} were labelled with the {len(result.classes)} classes of "
        f"{len(source):,} documents of {source.name}.",
        f"The method was {result.method} ({why}).",
        f"The largest class is {largest['class']} with {largest['target']:,} documents "
        f"({100 * largest['target_share']:.0f} %).",
        f"The share that moved most is that of {moved['class']}: {100 * moved['source_share']:.0f} % in the source, "
        f"{100 * moved['target_share']:.0f} % in the target.",
        f"{review:,} documents should be read by a person, so that of the others, by the method's own confidence, at "
        f"most {100 * budget:.0f} % are wrong.",
    ]


def collection_facts(docs: Collection, role: str) -> dict[str, Any]:
    """What was read, and what looked odd."""
    lengths = np.array([len(text) for text in docs.texts])
    return {
        "role": role,
        "name": docs.name,
        "documents": len(docs),
        "median_length": int(np.median(lengths)),
        "longest": int(lengths.max()),
        "notes": docs.notes,
        "checks": [finding["message"] for finding in docs.checks()],
        "sha256": docs.sha256,
    }


def sure_examples(result) -> np.ndarray:
    """The surest documents of each class."""
    chosen = []
    for name in result.classes:
        rows = np.flatnonzero(result.labels == name)
        chosen.extend(rows[np.argsort(-result.confidence[rows], kind="stable")[:_EXAMPLES_PER_CLASS]])
    return np.array(chosen, dtype=int)


def documents(result, target: Collection, rows: np.ndarray) -> list[dict]:
    """Texts with their labels and the terms that decided them."""
    found = []
    for i in rows.tolist():
        text = result.texts[i]
        label = result.labels[i]
        terms = [row for row in result.reasons(i, top=_TERMS) if row["class"] == label]
        found.append(
            {
                "id": target.ids[i],
                "text": text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…",
                "label": str(label),
                "confidence": float(result.confidence[i]),
                "terms": [row for row in terms if row["contribution"]],
            }
        )
    return found


def _versions() -> dict[str, str]:
    names = ("isthmus", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}
