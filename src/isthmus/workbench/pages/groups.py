"""Groups that fit no class: naming them, merging them, making a class of one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query

from isthmus.workbench import service
from isthmus.workbench.context import Access, Field, Reviewer, Viewer, go_to
from isthmus.workbench.pages.frame import chosen_run, classes_of, project_page
from isthmus.workbench.service import find_run

router = APIRouter(prefix="/projects/{project}/groups", include_in_schema=False)


Clusters = Annotated[int | None, Query(ge=2, le=20)]


@router.get("")
def groups(access: Viewer, run: str = "", within: str = "", clusters: Clusters = None):
    """The page of groups, and of the subtopics of one of them or of a class."""
    found = chosen_run(access, run)
    subtopics = None
    if found is not None and within and access.may("reviewer"):
        subtopics = service.split_class(access, found.id, within, clusters)
    return project_page(
        access,
        "groups.html.j2",
        run=found,
        groups=access.workspace.groups.list(found.id) if found else [],
        classes=classes_of(access, found) if found else [],
        subtopics=subtopics,
        clusters=clusters,
    )


def back(access: Access, run: str):
    """To the page of groups again."""
    return go_to(access, "groups", query=f"?run={run}")


@router.post("/rename")
def rename(access: Reviewer, run: Field = "", group: Field = "", name: Field = ""):
    """Another name for a group."""
    access.workspace.groups.rename(find_run(access, run).id, group, name, by=access.by)
    return back(access, run)


@router.post("/merge")
def merge(access: Reviewer, run: Field = "", group: Field = "", into: Field = ""):
    """Put one group into another."""
    access.workspace.groups.merge(find_run(access, run).id, [group, into], into, by=access.by)
    return back(access, run)


@router.post("/subtopic")
def make_class_of_subtopic(
    access: Reviewer,
    run: Field = "",
    within: Field = "",
    number: Field = "",
    name: Field = "",
    clusters: Annotated[int | None, Form(ge=2, le=20)] = None,
):
    """Make a class of a subtopic: its documents get the label."""
    service.name_subtopics(access, run, within, clusters, {number: name})
    return back(access, run)


@router.post("/class")
def make_class(access: Reviewer, run: Field = "", group: Field = "", name: Field = ""):
    """Make a class of a group: its documents get the label."""
    service.make_class(access, run, group, name)
    return back(access, run)
