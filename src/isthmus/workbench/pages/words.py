"""Words: search, what one touches, giving it to a class."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from isthmus.workbench.context import Access, Field, Reviewer, Viewer, go_to
from isthmus.workbench.pages.frame import classes_of, latest_run, part, project_page

router = APIRouter(prefix="/projects/{project}/words", include_in_schema=False)
_SHOWN, _SUGGESTED = 30, 12


def found_facts(access: Access, query: str) -> dict[str, Any]:
    """Words that begin like the query; without one, those whose class would settle most."""
    words, project = access.workspace.words, access.project.id
    suggested = [] if query else words.suggestions(project)[:_SUGGESTED]
    found = suggested or words.search(project, query, limit=_SHOWN)
    return {"query": query, "found": found, "suggested": bool(suggested)}


def touched_facts(access: Access, word: str) -> dict[str, Any]:
    """What a word touches, and to which classes it can be given."""
    run = latest_run(access)
    touched = access.workspace.words.touches(access.project.id, word) if word.strip() else None
    if touched is not None:
        most = max(touched["labels"].values(), default=1)
        labels = [{"label": label, "n": n, "share": n / most} for label, n in touched["labels"].items()]
        touched = {**touched, "labels": labels}
    return {"touched": touched, "classes": classes_of(access, run) if run else []}


@router.get("")
def words(access: Viewer, q: str = "", word: str = ""):
    """The page of words."""
    return project_page(
        access,
        "words.html.j2",
        given=access.workspace.words.list(access.project.id),
        names={row.id: row.name for row in access.workspace.people.list()},
        **found_facts(access, q),
        **touched_facts(access, word),
    )


@router.get("/search")
def search(access: Viewer, q: str = ""):
    """The list alone, while somebody types."""
    return part(access, "words_found.html.j2", **found_facts(access, q))


@router.get("/touches")
def touches(access: Viewer, word: str = ""):
    """What a word touches, alone."""
    return part(access, "touches.html.j2", **touched_facts(access, word))


@router.post("")
def assign(access: Reviewer, word: Field = "", label: Field = ""):
    """Give a word to a class."""
    access.workspace.words.assign(access.project.id, word, label, by=access.by)
    return go_to(access, "words")


@router.post("/remove")
def remove(access: Reviewer, word: Field = ""):
    """Take a word back."""
    access.workspace.words.remove(access.project.id, word, by=access.by)
    return go_to(access, "words")
