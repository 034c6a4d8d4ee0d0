"""The page about a diagnosis: verdict, findings, words."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from isthmus._utils import versions
from isthmus.corpus import Collection, check_output, replacing
from isthmus.report import pictures
from isthmus.report.page import collection_facts, render
from isthmus.shift.diagnose import SEVERITIES

_SHOWN = 20
_EXCERPT = 300


def write_diagnosis_report(
    result,
    path,
    *,
    force: bool = False,
    source: Collection | None = None,
    target: Collection | None = None,
) -> Path:
    """Write the page about a diagnosis.

    Parameters
    ----------
    result : Diagnosis
    path : path of the page
    force : bool
        Replace a page that exists.
    source, target : Collection, optional
        Where the texts came from; with them the page tells what was read, and shows near-duplicates as text.
    """
    check_output(path, force=force, table=False)
    page = render("diagnosis.html.j2", diagnosis_facts(result, source, target))
    with replacing(path, force=force) as out:
        out.write(page.encode("utf-8", "replace"))
    return Path(path)


def diagnosis_facts(result, source: Collection | None, target: Collection | None) -> dict[str, Any]:
    """Every number and text on the page."""
    known = [(docs, role) for docs, role in ((source, "source"), (target, "target")) if docs is not None]
    return {
        "title": "Isthmus diagnosis",
        "verdict": result.verdict,
        "level": result.level,
        "findings": [{**row, "severity_name": SEVERITIES[row["severity"]]} for row in result.findings],
        "sources": [collection_facts(docs, role) for docs, role in known],
        "pictures": word_pictures(result.tables),
        "tables": word_tables(result.tables),
        "repeats": repeats(result.tables.get("near_duplicates", []), source, target),
        "settings": result.settings,
        "versions": versions(),
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def word_pictures(tables: dict[str, list[dict]]) -> list[dict]:
    """Charts of the words that carry and of those that moved, where there are any."""
    drawn = []
    pivots = tables.get("pivots", [])[:_SHOWN]
    if pivots:
        rows = [{"word": row["word"], "information": row["information"], "class": row["class"]} for row in pivots]
        spec = {"kind": "bar", "x": "word", "y": "information", "color": "class", "horizontal": True, "x_title": "",
                "y_title": "information about the class (nats)", "height": 18 * len(rows) + 90}  # fmt: skip
        drawn.append(pictures.picture("pivots", "Words of both sides that say most about the class", rows, spec))
    moved = tables.get("class_shifted_words", [])[:_SHOWN]
    if moved:
        rows = [
            {"word": f"{row['word']} ({row['class']})", "collection": side, "share": row[f"{side}_share"]}
            for row in moved
            for side in ("source", "target")
        ]
        spec = {"kind": "bar", "x": "word", "y": "share", "color": "collection", "color_title": "", "horizontal": True,
                "color_order": ["source", "target"], "x_title": "", "y_format": "~%",
                "y_title": "documents with the word that speak for its class",
                "height": 32 * len(moved) + 90}  # fmt: skip
        note = "Of the documents with the word, the share whose other words speak for its class."
        drawn.append(
            pictures.picture("moved-words", "Words that keep other company in the target", rows, spec, note=note)
        )
    return drawn


def word_tables(tables: dict[str, list[dict]]) -> list[dict]:
    """The tables of words, with a title each; empty ones are left out."""
    titles = {
        "pivots": "Pivots: frequent on both sides, and telling",
        "class_shifted_words": "Words that moved",
        "target_only_words": "Words that only the target has",
    }
    return [
        {"title": title, "columns": list(tables[name][0]), "rows": tables[name]}
        for name, title in titles.items()
        if tables.get(name)
    ]


def repeats(found: list[dict], source: Collection | None, target: Collection | None) -> list[dict]:
    """Near-duplicates, with ids and texts where the collections are at hand."""
    rows = []
    for row in found[:_SHOWN]:
        shown = {"source": str(row["source"] + 1), "target": str(row["target"] + 1), "share": row["share"], "text": ""}
        if source is not None:
            shown["source"] = source.ids[row["source"]]
        if target is not None:
            text = target.texts[row["target"]]
            shown |= {"target": target.ids[row["target"]], "text": text[:_EXCERPT] + "…" * (len(text) > _EXCERPT)}
        rows.append(shown)
    return rows
