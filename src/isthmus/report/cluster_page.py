"""Write the report page of a clustering: clusters, their aligned groups of the source and the shared words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from isthmus._utils import plural
from isthmus.corpus import Collection, check_output
from isthmus.report import figures
from isthmus.report.listing import excerpt
from isthmus.report.page import render_card, write_page
from isthmus.report.summary import origin_facts
from isthmus.shift.space import latent_rows, map_places, spread

_QUOTE, _TIP = 260, 120  # characters of an excerpt on a card and in a tooltip
_LISTED = 200  # documents in the table below the map
_NAMED = 2  # new groups named in the headline


def write_cluster_report(
    result, path, *, force: bool = False, source: Collection | None = None, target: Collection | None = None
) -> Path:
    """Write the report page of a clustering.

    Parameters
    ----------
    result : GroupingResult
    path : str or Path
        Path of the page.
    force : bool
        Replace an existing page.
    source, target : Collection, optional
        Collections with the texts; with them the page describes the input files.

    Returns
    -------
    Path
    """
    check_output(path, force=force, table=False)
    return write_page("cluster", cluster_facts(result, source, target), path, force=force)


def cluster_facts(result, source: Collection | None = None, target: Collection | None = None) -> dict[str, Any]:
    """Return all data of the page.

    Parameters
    ----------
    result : GroupingResult
        The clustering.
    source, target : Collection, optional
        Collections with the texts.

    Returns
    -------
    dict of str to object
    """
    clusters = cluster_cards(result)
    joined = {str(row["aligned_to"]) for row in clusters if row["aligned_to"] is not None}
    groups = [str(name) for name in getattr(result.model, "classes_", [])]
    return {
        **first_screen(result, clusters, target),
        "title": f"Isthmus: {plural(len(clusters), 'cluster')} of {plural(len(result.texts), 'document')}",
        "map": cluster_map(result, clusters),
        "unused": [name for name in groups if name not in joined],
        "curves": figures.step_curves(result.model.history_, {}),
        **origin_facts(result.settings, source, target),
    }


def first_screen(result, clusters: list[dict], target: Collection | None = None) -> dict[str, Any]:
    """Return the data of the top of the page.

    Parameters
    ----------
    result : GroupingResult
        The clustering.
    clusters : list of dict
        As :func:`cluster_cards` returns.
    target : Collection, optional
        Collection with the clustered texts.

    Returns
    -------
    dict of str to object
    """
    guidance_estimate = result.guidance_estimate
    new = [row for row in clusters if row["aligned_to"] is None]
    return {
        "verdict": cluster_verdict(clusters),
        "about": about(result, target),
        "guidance": None if guidance_estimate is None else guidance_estimate.reason,
        "doubtful_source": guidance_estimate is not None and not guidance_estimate.helps,
        "clusters": clusters,
        "new": {"groups": len(new), "documents": sum(row["size"] for row in new)},
        "followed": len(clusters) - len(new),
        "documents": len(result.texts),
    }


def cluster_card(result) -> str:
    """Return the card of a clustering for notebooks.

    Parameters
    ----------
    result : GroupingResult

    Returns
    -------
    str
        HTML.
    """
    return render_card("cluster_hero", first_screen(result, cluster_cards(result)))


def cluster_cards(result) -> list[dict[str, Any]]:
    """Return the data of each cluster, new clusters first, then by size.

    Parameters
    ----------
    result : GroupingResult

    Returns
    -------
    list of dict
    """
    n = max(1, len(result.texts))
    # New clusters come first, because users look for topics that the source does not contain.
    order = sorted(result.clusters(), key=lambda row: (row["aligned_to"] is not None, -row["size"]))
    return [
        {
            **row,
            "share": row["size"] / n,
            "strength": float(row["strength"]),
            "colour": place % 8,
            "documents": [excerpt(text, _QUOTE) for text in row["documents"]],
        }
        for place, row in enumerate(order)
    ]


def cluster_map(result, clusters: list[dict]) -> dict[str, Any] | None:
    """Return the map of target documents with the colours of the cards.

    Parameters
    ----------
    result : GroupingResult
        The clustering.
    clusters : list of dict
        As :func:`cluster_cards` returns.

    Returns
    -------
    dict or None
        None if there are fewer than two clusters or too few words for a map.
    """
    rows = spread(len(result.texts), figures.MAPPED["target"])
    vectors = latent_rows(result.rows[rows])
    if len(clusters) < 2 or vectors is None:
        return None
    labels = np.asarray(result.labels)[rows]
    places = map_places(vectors, labels.tolist(), range(len(result.names)))
    colour = {row["cluster"]: row["colour"] for row in clusters}
    # Coordinates from -1 to 1 become 2 to 98 percent of the map, so that no point touches its edge.
    across, up = 2 + 48 * (places.T + 1)
    points = [
        {"x": round(float(x), 2), "y": round(float(100 - y), 2), "colour": colour[int(cluster)],
         "cluster": result.names[int(cluster)], "text": excerpt(result.texts[row], _TIP)}
        for row, cluster, x, y in zip(rows, labels, across, up, strict=True)
    ]  # fmt: skip
    return {
        "corners": len(np.unique(labels)) > 2,
        "points": points,
        "table": points[:_LISTED],
        "left_out": len(result.texts) - len(rows),
    }


def cluster_verdict(clusters: list[dict]) -> str:
    """Summarise the clustering in one line: the number of clusters and the new clusters.

    Parameters
    ----------
    clusters : list of dict
        As :func:`cluster_cards` returns.

    Returns
    -------
    str

    Examples
    --------
    >>> cluster_verdict([{"aligned_to": None, "name": "tyres", "size": 30}, {"aligned_to": "staff"}])
    '2 clusters, one of them new: “tyres” (30 documents).'
    """
    new = [row for row in clusters if row["aligned_to"] is None]
    if not new:
        return f"{plural(len(clusters), 'cluster')}, and each follows a group of the source."
    named = ", ".join(f"“{row['name']}” ({plural(row['size'], 'document')})" for row in new[:_NAMED])
    more = f" and {len(new) - _NAMED} more" if len(new) > _NAMED else ""
    if len(new) == len(clusters):
        return f"{plural(len(clusters), 'cluster')}, {'' if len(new) == 1 else 'all '}new: {named}{more}."
    how_many = "one of them" if len(new) == 1 else f"{len(new)} of them"
    return f"{plural(len(clusters), 'cluster')}, {how_many} new: {named}{more}."


def about(result, target: Collection | None) -> str:
    """Return the line above the title: the number of documents and of source groups.

    Parameters
    ----------
    result : GroupingResult
        The clustering.
    target : Collection or None
        Collection with the clustered texts.

    Returns
    -------
    str
    """
    name = f" of {target.name}" if target is not None and target.name else ""
    groups = len(getattr(result.model, "classes_", []))
    return f"{plural(len(result.texts), 'document')}{name}, guided by {plural(groups, 'group')} of the source."
