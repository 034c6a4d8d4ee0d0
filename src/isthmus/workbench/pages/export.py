"""Export: labels, report, model, answers, audit log."""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import FileResponse

from isthmus.workbench.context import Access, Reviewer, Viewer
from isthmus.workbench.pages.frame import chosen_run, find_run, project_page

router = APIRouter(prefix="/projects/{project}/export", include_in_schema=False)
Field = Annotated[str, Form(max_length=200)]
KINDS: dict[str, dict[str, Any]] = {
    "labels": {
        "title": "Labels",
        "about": "Your table with label, confidence, needs_review, novel_group and what people answered.",
        "formats": ["csv", "xlsx", "jsonl", "parquet"],
    },
    "report": {"title": "Report", "about": "One page that needs no network, to mail or archive.", "formats": ["html"]},
    "model": {
        "title": "Model",
        "about": "For later files: isthmus label later.csv --model FILE.",
        "formats": ["isthmus"],
    },
    "answers": {
        "title": "Answers",
        "about": "Who said what, when; also what was taken back.",
        "formats": ["csv", "jsonl"],
    },
    "audit": {"title": "Audit log", "about": "Every event of this project, in order.", "formats": ["csv", "jsonl"]},
}


@router.get("")
def exports(request: Request, access: Viewer, run: str = ""):
    """What can be taken along."""
    found = chosen_run(access, run)
    return project_page(
        request,
        access,
        "export.html.j2",
        run=found,
        runs=[row for row in access.workspace.runs.list(access.project.id) if row.state == "done"],
        kinds=[{"kind": kind, **facts} for kind, facts in KINDS.items()],
        exports=access.workspace.exports.list(access.project.id)[:20],
        names={row.id: row.name for row in access.workspace.people.list()},
    )


def make_export(access: Access, run: str, kind: str, format: str) -> FileResponse:
    """A file to download. Both names come from our own table; nothing a client says becomes a path."""
    if kind not in KINDS or format not in KINDS[kind]["formats"]:
        raise HTTPException(422, "There is no such export; choose one of the page.")
    found = find_run(access, run)
    exports = access.workspace.exports
    export = exports.make(access.project.id, kind, by=access.by, run=found.id, ending=f".{format}")
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", export.name).strip(".-") or f"{kind}.{format}"
    return FileResponse(
        exports.path(export.id),
        media_type="application/octet-stream",
        headers={"content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(export.name)}"},
    )


@router.post("")
def export(request: Request, access: Reviewer, run: Field = "", kind: Field = "labels", format: Field = "csv"):
    """Take a file along."""
    return make_export(access, run, kind, format)
