"""Pages for decisions about many documents at once: groups that fit no class, and words."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form

from isthmus.workbench import api, service
from isthmus.workbench.context import Access, Field, Reviewer, Viewer, go_to
from isthmus.workbench.pages import chosen_run, classes_of, latest_run, part, people_names, project_page
from isthmus.workbench.service import find_run

router = APIRouter(prefix="/projects/{project}", include_in_schema=False)
_SHOWN, _SUGGESTED = 30, 12  # words on a page: found by a search, and suggested


@router.get("/groups")
def groups(access: Viewer, run: str = "", within: str = "", clusters: api.Clusters = None):
    """Show the groups of a run that fit no class."""
    found = chosen_run(access, run)
    subtopics = None
    # As in the JSON interface, only reviewers may split a class, because it loads the saved result.
    if found is not None and within and access.may("reviewer"):
        subtopics = service.split_class(access, found.id, within, clusters)
    return project_page(
        access,
        "groups",
        run=found,
        groups=access.workspace.groups.list(found.id) if found else [],
        classes=classes_of(access, found) if found else [],
        subtopics=subtopics,
        clusters=clusters,
    )


def back(access: Access, run: str):
    """Redirect to the groups of a run.

    Parameters
    ----------
    access : Access
        The project.
    run : str
        Id of the run.

    Returns
    -------
    Response
        The redirect.
    """
    return go_to(access, "groups", query=f"?run={run}")


@router.post("/groups/rename")
def rename(access: Reviewer, run: Field = "", group: Field = "", name: Field = ""):
    """Rename a group."""
    access.workspace.groups.rename(find_run(access, run).id, group, name, by=access.by)
    return back(access, run)


@router.post("/groups/merge")
def merge(access: Reviewer, run: Field = "", group: Field = "", into: Field = ""):
    """Merge two groups."""
    access.workspace.groups.merge(find_run(access, run).id, [group, into], into, by=access.by)
    return back(access, run)


@router.post("/groups/subtopic")
def make_class_of_subtopic(
    access: Reviewer,
    run: Field = "",
    within: Field = "",
    number: Field = "",
    name: Field = "",
    clusters: Annotated[int | None, Form(ge=2, le=20)] = None,
):
    """Turn a subtopic into a class."""
    # The page names one subtopic at a time.
    service.name_subtopics(access, run, within, clusters, {number: name})
    return back(access, run)


@router.post("/groups/class")
def make_class(access: Reviewer, run: Field = "", group: Field = "", name: Field = ""):
    """Turn a group into a class."""
    service.make_class(access, run, group, name)
    return back(access, run)


# -- Words


def found_facts(access: Access, query: str) -> dict[str, Any]:
    """Return the words that a query finds, or suggested words without a query.

    Parameters
    ----------
    access : Access
        The project.
    query : str
        Beginning of the words.

    Returns
    -------
    dict[str, Any]
        Values for the template.
    """
    words, project = access.workspace.words, access.project.id
    suggested = [] if query else words.suggestions(project)[:_SUGGESTED]
    found = suggested or words.search(project, query, limit=_SHOWN)
    return {"query": query, "found": found, "suggested": bool(suggested)}


def touched_facts(access: Access, word: str) -> dict[str, Any]:
    """Return the documents that contain a word, by label.

    Parameters
    ----------
    access : Access
        The project.
    word : str
        The word.

    Returns
    -------
    dict[str, Any]
        Values for the template.
    """
    run = latest_run(access)
    touched = access.workspace.words.touches(access.project.id, word) if word.strip() else None
    if touched is not None:
        # The most frequent label has the longest bar.
        most = max(touched["labels"].values(), default=1)
        labels = [{"label": label, "n": n, "share": n / most} for label, n in touched["labels"].items()]
        touched = {**touched, "labels": labels}
    return {"touched": touched, "classes": classes_of(access, run) if run else []}


@router.get("/words")
def words(access: Viewer, q: str = "", word: str = ""):
    """Show the words that have a class, and a search for others."""
    return project_page(
        access,
        "words",
        given=access.workspace.words.list(access.project.id),
        names=people_names(access),
        **found_facts(access, q),
        **touched_facts(access, word),
    )


@router.get("/words/search")
def search(access: Viewer, q: str = ""):
    """Return the words that a query finds, for the page of words."""
    return part(access, "words_found", **found_facts(access, q))


@router.get("/words/touches")
def touches(access: Viewer, word: str = ""):
    """Return the documents that contain a word, for the page of words."""
    return part(access, "touches", **touched_facts(access, word))


@router.post("/words")
def assign(access: Reviewer, word: Field = "", label: Field = ""):
    """Assign a word to a class."""
    access.workspace.words.assign(access.project.id, word, label, by=access.by)
    return go_to(access, "words")


@router.post("/words/remove")
def remove(access: Reviewer, word: Field = ""):
    """Remove a word's class."""
    access.workspace.words.remove(access.project.id, word, by=access.by)
    return go_to(access, "words")
