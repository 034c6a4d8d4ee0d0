"""The page about a grouping: clusters, what each is aligned with, and what made the match."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from isthmus._utils import plural, versions
from isthmus.corpus import Collection, check_output, replacing
from isthmus.report import pictures, tables
from isthmus.report.cases import excerpt
from isthmus.report.page import collection_facts, render

_NOTE = "One value per iteration of the best start; it may rise where clusters are matched with groups anew."


def write_cluster_report(
    result, path, *, force: bool = False, source: Collection | None = None, target: Collection | None = None
) -> Path:
    """Write the page about a grouping.

    Parameters
    ----------
    result : GroupingResult
    path : path of the page
    force : bool
        Replace a page that exists.
    source, target : Collection, optional
        Where the texts came from; with them the page tells what was read.
    """
    check_output(path, force=force, table=False)
    page = render("cluster.html.j2", cluster_facts(result, source, target))
    with replacing(path, force=force) as out:
        out.write(page.encode("utf-8", "replace"))
    return Path(path)


def cluster_facts(result, source: Collection | None = None, target: Collection | None = None) -> dict[str, Any]:
    """Every number and text on the page."""
    clusters = result.clusters()
    for row in clusters:
        row["documents"] = [excerpt(text) for text in row["documents"]]
    links = alignment_links(result, clusters)
    curves = tables.convergence_tables(getattr(result.model, "history_", None) or [])
    guidance_estimate = getattr(result, "guidance_estimate", None)
    known = [(docs, role) for docs, role in ((source, "source"), (target, "target")) if docs is not None]
    return {
        "title": f"Isthmus: {plural(len(clusters), 'cluster')} of {plural(len(result.texts), 'document')}",
        "summary": summary_sentences(result, clusters, links),
        "guidance_estimate": None if guidance_estimate is None else guidance_estimate.reason,
        "clusters": clusters,
        "pictures": [alignment_picture(links), sizes_picture(clusters)],
        "sources": [collection_facts(docs, role) for docs, role in known],
        "steps": [
            pictures.convergence_picture(name, table, note=_NOTE) for name, table in curves.items() if len(table) > 1
        ][:3],
        "settings": result.settings,
        "versions": versions(),
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def cluster_name(row: dict) -> str:
    """A cluster's number and name, as pictures write it."""
    return f"{row['cluster']}: {row['name']}"


def alignment_links(result, clusters: list[dict]) -> list[dict]:
    """Source groups joined to clusters; groups and clusters without a partner stand alone."""
    links = [
        {
            "left": None if row["aligned_to"] is None else str(row["aligned_to"]),
            "right": cluster_name(row),
            "strength": None if row["aligned_to"] is None else round(float(row["strength"]), 4),
        }
        for row in clusters
    ]
    joined = {link["left"] for link in links}
    groups = [str(name) for name in getattr(result.model, "classes_", [])]
    alone = [{"left": name, "right": None, "strength": None} for name in groups if name not in joined]
    # In the order of the clusters, so that lines cross as little as may be.
    return sorted(links, key=lambda link: link["left"] is None) + alone


def alignment_picture(links: list[dict]) -> dict[str, Any]:
    """Groups on the left, clusters on the right."""
    shown = [{"source group": row["left"], "cluster": row["right"], "strength": row["strength"]} for row in links]
    note = (
        "Source groups (left) and target clusters (right); the stronger the match (0 to 1, in brackets), the thicker "
        "the line. A square has no match."
    )
    return pictures.picture("alignment", "Alignment", links, {"kind": "links"}, note=note, shown=shown)


def sizes_picture(clusters: list[dict]) -> dict[str, Any]:
    """Documents per cluster."""
    table = [
        {
            "cluster": cluster_name(row),
            "documents": row["size"],
            "kind": "new" if row["aligned_to"] is None else "aligned",
        }
        for row in clusters
    ]
    spec = {
        "kind": "bar", "x": "cluster", "y": "documents", "color": "kind", "color_title": "", "horizontal": True,
        "color_order": ["aligned", "new"], "x_title": "", "height": 22 * len(table) + 80,
    }  # fmt: skip
    return pictures.picture("sizes", "Documents per cluster", table, spec)


def summary_sentences(result, clusters: list[dict], links: list[dict]) -> list[str]:
    """The grouping in a few sentences."""
    aligned = [row for row in clusters if row["aligned_to"] is not None]
    largest = max(clusters, key=lambda row: row["size"])
    unused = [link["left"] for link in links if link["right"] is None]
    sentences = [
        f"{plural(len(result.texts), 'document falls', 'documents fall')} into {plural(len(clusters), 'cluster')}.",
        f"{len(aligned)} of them follow a group of the source; {len(clusters) - len(aligned)} are new.",
        f"The largest is {largest['name']} with {plural(largest['size'], 'document')}.",
    ]
    if aligned:
        firm = max(aligned, key=lambda row: row["strength"])
        sentences.append(
            f"The strongest match is cluster {firm['cluster']} with the group {firm['aligned_to']} "
            f"({firm['strength']:.2f}, where 1 is the same)."
        )
    if unused:
        sentences.append(f"Source groups without a cluster: {', '.join(unused)}.")
    return sentences
