"""Groups that fit no class: naming them, merging them, making a class of one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request

from isthmus.workbench.context import Access, Reviewer, Viewer, at, go
from isthmus.workbench.pages.frame import chosen_run, classes_of, find_run, project_page

router = APIRouter(prefix="/projects/{project}/groups", include_in_schema=False)
Field = Annotated[str, Form(max_length=2_000)]


@router.get("")
def groups(request: Request, access: Viewer, run: str = ""):
    """The page of groups."""
    found = chosen_run(access, run)
    return project_page(
        request,
        access,
        "groups.html.j2",
        run=found,
        groups=access.workspace.groups.list(found.id) if found else [],
        classes=classes_of(access, found) if found else [],
    )


def back(request: Request, access: Access, run: str):
    """To the page of groups again."""
    return go(request, at("projects", access.project.id, "groups") + f"?run={run}")


@router.post("/rename")
def rename(request: Request, access: Reviewer, run: Field = "", group: Field = "", name: Field = ""):
    """Another name for a group."""
    found = find_run(access, run)
    access.workspace.groups.rename(found.id, group, name, by=access.by)
    return back(request, access, found.id)


@router.post("/merge")
def merge(request: Request, access: Reviewer, run: Field = "", group: Field = "", into: Field = ""):
    """Put one group into another."""
    found = find_run(access, run)
    access.workspace.groups.merge(found.id, [group, into], into, by=access.by)
    return back(request, access, found.id)


@router.post("/class")
def make_class(request: Request, access: Reviewer, run: Field = "", group: Field = "", name: Field = ""):
    """Make a class of a group: its documents get the label."""
    found = find_run(access, run)
    access.workspace.groups.make_class(found.id, group, name, by=access.by)
    access.bench.tallies.clear()
    return back(request, access, found.id)
