"""Export: labels, report, model, answers, audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form

from isthmus.workbench.context import Reviewer, Viewer
from isthmus.workbench.pages.frame import chosen_run, project_page
from isthmus.workbench.service import EXPORTS, make_export

router = APIRouter(prefix="/projects/{project}/export", include_in_schema=False)
Field = Annotated[str, Form(max_length=200)]


@router.get("")
def exports(access: Viewer, run: str = ""):
    """What can be taken along."""
    found = chosen_run(access, run)
    return project_page(
        access,
        "export.html.j2",
        run=found,
        runs=[row for row in access.workspace.runs.list(access.project.id) if row.state == "done"],
        kinds=EXPORTS,
        exports=access.workspace.exports.list(access.project.id)[:20],
        names={row.id: row.name for row in access.workspace.people.list()},
    )


@router.post("")
def export(access: Reviewer, run: Field = "", kind: Field = "labels", format: Field = "csv"):
    """Take a file along."""
    return make_export(access, run, kind, format)
