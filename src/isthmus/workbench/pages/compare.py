"""Compare: which labels changed between two runs, and towards what."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter

from isthmus.exceptions import IsthmusError
from isthmus.workbench.context import Viewer
from isthmus.workbench.pages.frame import project_page
from isthmus.workbench.service import find_run

router = APIRouter(prefix="/projects/{project}/compare", include_in_schema=False)
PAGE = 50


def flow_table(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Labels before against labels after, with a tint for the large flows."""
    flows = {(row["old"], row["new"]): row["documents"] for row in found["flips"]}
    most = max(flows.values(), default=1)
    return [
        {
            "label": row["class"],
            "cells": [
                {
                    "label": other["class"],
                    "same": row["class"] == other["class"],
                    "n": (n := flows.get((row["class"], other["class"]), 0)),
                    "heat": 1 + min(2, 3 * n // (most + 1)) if n else 0,
                }
                for other in found["classes"]
            ],
            "kept": row["before"] - row["lost"],
        }
        for row in found["classes"]
    ]


@router.get("")
def compare(
    access: Viewer,
    a: str = "",
    b: str = "",
    before: str = "",
    after_label: str = "",
    after: int | None = None,
):
    """The page that compares two runs."""
    runs = [row for row in access.workspace.runs.list(access.project.id) if row.state == "done"]
    facts: dict[str, Any] = {"runs": runs, "trouble": ""}
    if len(runs) >= 2:
        second = find_run(access, b) if b else runs[0]
        first = find_run(access, a) if a else next(row for row in runs if row.id != second.id)
        facts |= {"a": first, "b": second, "before": before, "after_label": after_label}
        try:
            facts |= compared(access, first, second, before, after_label, after)
        except IsthmusError as error:
            facts["trouble"] = str(error)
    return project_page(access, "compare.html.j2", **facts)


def compared(access: Any, a: Any, b: Any, before: str, after_label: str, after: int | None) -> dict[str, Any]:
    """Everything that changed from one run to the other; the documents a page at a time."""
    workspace = access.workspace
    found = workspace.compare.of(a.id, b.id)
    flips = workspace.compare.flips(a.id, b.id, old=before or None, new=after_label or None, after=after, limit=PAGE)
    kept = {"a": a.id, "b": b.id, "before": before, "after_label": after_label}
    return {
        "found": found,
        "table": flow_table(found),
        "hero_a": workspace.runs.table(a.id, "hero"),
        "hero_b": workspace.runs.table(b.id, "hero"),
        "flips": flips,
        "next_address": "?" + urlencode({key: value for key, value in kept.items() if value}, errors="replace") + "&",
        "after": flips[-1]["position"] if len(flips) == PAGE else None,
    }
