"""Words: search, what one touches, giving it to a class."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Request

from isthmus.workbench.context import Access, Reviewer, Viewer, at, go, page
from isthmus.workbench.pages.frame import classes_of, latest_run, project_page

router = APIRouter(prefix="/projects/{project}/words", include_in_schema=False)
Field = Annotated[str, Form(max_length=2_000)]
_SHOWN = 30


def found_facts(access: Access, query: str) -> dict[str, Any]:
    """Words that begin like the query."""
    found = access.workspace.words.search(access.project.id, query, limit=_SHOWN)
    nothing = "Bring a target first: the words come from its documents."
    return {"query": query, "found": found, "nothing": nothing}


def touched_facts(access: Access, word: str) -> dict[str, Any]:
    """What a word touches, and to which classes it can be given."""
    run = latest_run(access)
    touched = access.workspace.words.touches(access.project.id, word) if word else None
    if touched is not None:
        most = max((row["n"] for row in touched["labels"]), default=1)
        touched = {**touched, "labels": [{**row, "share": row["n"] / most} for row in touched["labels"]]}
    return {"touched": touched, "classes": classes_of(access, run) if run else []}


@router.get("")
def words(request: Request, access: Viewer, q: str = "", word: str = ""):
    """The page of words."""
    return project_page(
        request,
        access,
        "words.html.j2",
        given=access.workspace.words.list(access.project.id),
        names={row.id: row.name for row in access.workspace.people.list()},
        **found_facts(access, q),
        **touched_facts(access, word),
    )


@router.get("/search")
def search(request: Request, access: Viewer, q: str = ""):
    """The list alone, while somebody types."""
    return page(request, "words_found.html.j2", access=access, **found_facts(access, q))


@router.get("/touches")
def touches(request: Request, access: Viewer, word: str = ""):
    """What a word touches, alone."""
    return page(request, "touches.html.j2", access=access, **touched_facts(access, word))


@router.post("")
def assign(request: Request, access: Reviewer, word: Field = "", label: Field = ""):
    """Give a word to a class."""
    access.workspace.words.assign(access.project.id, word, label, by=access.by)
    return go(request, at("projects", access.project.id, "words"))


@router.post("/{id}/remove")
def remove(request: Request, access: Reviewer, id: str):
    """Take a word back."""
    remove_word(access, id)
    return go(request, at("projects", access.project.id, "words"))


def remove_word(access: Access, id: str) -> None:
    """Take back a word of this project."""
    if all(row.id != id for row in access.workspace.words.list(access.project.id)):
        raise HTTPException(404, "There is no such word here.")
    access.workspace.words.remove(id, by=access.by)
