"""The pages, one file per part of the work; and what those of a project share."""

from __future__ import annotations

from typing import Any

from fastapi.responses import HTMLResponse

from isthmus.workbench.context import Access, at, page
from isthmus.workbench.service import find_run


def project_page(access: Access, name: str, /, **facts: Any) -> HTMLResponse:
    """A page of a project, with the way through it at its side."""
    return part(access, name, nav=navigation(access), **facts)


def part(access: Access, name: str, /, **facts: Any) -> HTMLResponse:
    """A part of such a page, for a swap."""
    return page(access.request, name, access=access, **facts)


def navigation(access: Access) -> list[tuple[str, list[dict[str, Any]]]]:
    links = (
        ("Prepare", (("", "Overview"), ("data", "Data"), ("diagnosis", "Diagnosis"))),
        ("Label", (("runs", "Runs"), ("documents", "Documents"), ("groups", "Groups"))),
        ("Decide", (("review", "Review"), ("words", "Words"), ("check", "Check"))),
        ("Use", (("compare", "Compare"), ("export", "Export"), ("history", "History"))),
    )
    here = access.request.url.path
    return [
        (heading, [_link(access.project.id, part, title, here) for part, title in parts]) for heading, parts in links
    ]


def _link(project: str, part: str, title: str, here: str) -> dict[str, Any]:
    address = at("projects", project, *([part] if part else []))
    inside = here == address or (part != "" and here.startswith(address + "/"))
    return {"address": address, "title": title, "here": inside}


def latest_run(access: Access) -> Any | None:
    return access.workspace.runs.latest(access.project.id)


def chosen_run(access: Access, run: str | None) -> Any | None:
    return find_run(access, run) if run else latest_run(access)


def classes_of(access: Access, run: Any) -> list[str]:
    return known_classes(run, access.workspace.answers.labels(access.project.id))


def answer_count(access: Access) -> int:
    return sum(row["answers"] for row in access.workspace.answers.counts(access.project.id))


def people_names(access: Access) -> dict[str, str]:
    return {row.id: row.name for row in access.workspace.people.list()}


def descriptions(access: Access, run: Any) -> dict[str, str]:
    rows = access.workspace.runs.tables(run.id, ["codebook"]).get("codebook") or []
    return {row["class"]: row["description"] for row in rows if row["description"]}


def known_classes(run: Any, answered: list[str]) -> list[str]:
    known = list((run.summary or {}).get("classes", []))
    return known + [name for name in answered if name not in known]
