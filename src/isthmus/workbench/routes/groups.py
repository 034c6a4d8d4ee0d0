"""Groups of documents that fit no class, subtopics of classes, and words that people assign to classes."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query
from pydantic import Field

from isthmus.workbench.context import (
    PROJECT,
    RUN,
    Access,
    Fields,
    Limit,
    Name,
    Reviewer,
    Text,
    Viewer,
    classes_of,
    people_names,
)
from isthmus.workbench.render import part, project_page
from isthmus.workspace.schema import Word

api = APIRouter(prefix="/api")
pages = APIRouter(prefix="/projects/{project}", include_in_schema=False)
Clusters = Annotated[int | None, Query(ge=2, le=20, description="how many groups; by their number if omitted")]
GivenName = Annotated[Name, Body()]
_SHOWN, _SUGGESTED = 30, 12  # words on a page: found by a search, and suggested


@api.get(RUN + "/groups", tags=["groups"])
def groups(access: Viewer, run: str) -> list[dict[str, Any]]:
    """List the groups of documents that fit no class."""
    return access.workspace.groups.list(access.run(run).id)


@api.post(RUN + "/groups/rename", tags=["groups"])
def rename_group(access: Reviewer, run: str, group: GivenName, name: GivenName) -> list[dict[str, Any]]:
    """Rename a group."""
    access.workspace.groups.merge(access.run(run).id, [group], name, by=access.by)
    return groups(access, run)


@api.post(RUN + "/groups/merge", tags=["groups"])
def merge_groups(access: Reviewer, run: str, group: GivenName, into: GivenName) -> list[dict[str, Any]]:
    """Merge a group into another one."""
    access.workspace.groups.merge(access.run(run).id, [group, into], into, by=access.by)
    return groups(access, run)


@api.post(RUN + "/groups/class", tags=["groups"])
def make_class(access: Reviewer, run: str, group: GivenName, name: GivenName) -> list[dict[str, Any]]:
    """Turn a group into a class: all its documents get the class until somebody reads them."""
    access.workspace.groups.make_class(access.run(run).id, group, name, by=access.by)
    access.forget_tallies()
    return groups(access, run)


class SubtopicNames(Fields):
    """Names of the subtopics that become classes, by number."""

    within: Text
    clusters: Annotated[int, Field(ge=2, le=20)] | None = None
    names: Annotated[dict[str, Name], Field(min_length=1, max_length=20)]


# Only reviewers may split a class, because it loads the saved result.
@api.get(RUN + "/subtopics", tags=["groups"])
def subtopics(
    access: Reviewer, run: str, within: Annotated[str, Query(max_length=2_000)], clusters: Clusters = None
) -> list[dict[str, Any]]:
    """Split a class or a new group into subtopics with number, name, size, words and documents."""
    return access.bench.model(access.run(run).id).split(within, clusters).groups


@api.post(RUN + "/subtopics", tags=["groups"])
def name_subtopics(access: Reviewer, run: str, body: SubtopicNames) -> dict[str, int]:
    """Turn subtopics into classes by their numbers, and return how many documents got a class."""
    table = access.bench.model(access.run(run).id).split(body.within, body.clusters).name(body.names)
    count = 0
    # One decision per class, so that each can be undone separately.
    for label in dict.fromkeys(table["true_label"]):
        numbers = zip(table["document"], table["true_label"], strict=True)
        positions = [number - 1 for number, name in numbers if name == label]
        count += access.workspace.groups.label_documents(run, positions, label, by=access.by, group=body.within)
    access.forget_tallies()
    return {"answered": count}


@pages.get("/groups")
def groups_page(access: Viewer, run: str = "", within: str = "", clusters: Clusters = None):
    """Show the groups of a run, and the subtopics of a class."""
    found = access.run_or_latest(run)
    split = found is not None and within and access.may("reviewer")
    return project_page(
        access,
        "groups",
        run=found,
        groups=groups(access, found.id) if found else [],
        classes=classes_of(access, found),
        subtopics=subtopics(access, found.id, within, clusters) if found and split else None,
        within=within,
        clusters=clusters,
    )


# -- Words


@api.get(PROJECT + "/words", tags=["words"])
def words(access: Viewer) -> list[Word]:
    """List the words that have a class."""
    return access.workspace.words.list(access.id)


@api.get(PROJECT + "/words/search", tags=["words"])
def search_words(access: Viewer, q: Annotated[str, Query(max_length=200)] = "", limit: Limit = 30) -> list[Any]:
    """Find words of the target by their beginning, most frequent first."""
    return access.workspace.words.search(access.id, q, limit=limit)


@api.get(PROJECT + "/words/touches", tags=["words"])
def touches(access: Viewer, word: Annotated[str, Query(min_length=1, max_length=200)]) -> dict[str, Any]:
    """Return the documents that contain a word, and their labels."""
    return access.workspace.words.touches(access.id, word)


@api.post(PROJECT + "/words", tags=["words"])
def assign_word(access: Reviewer, word: GivenName, label: GivenName) -> Word:
    """Assign a word to a class, for the next run."""
    return access.workspace.words.assign(access.id, word, label, by=access.by)


@api.delete(PROJECT + "/words/{word:path}", tags=["words"])
def remove_word(access: Reviewer, word: str) -> dict[str, bool]:
    """Remove a word's class."""
    access.workspace.words.remove(access.id, word, by=access.by)
    return {"removed": True}


def found_facts(access: Access, query: str) -> dict[str, Any]:
    """Return the words that the page lists: suggestions, or those with a beginning.

    Parameters
    ----------
    access : Access
        Access to the project.
    query : str
        Beginning of the words.

    Returns
    -------
    dict[str, Any]
        ``query``, ``found`` and ``suggested``.
    """
    if query:
        return {"query": query, "found": search_words(access, query, _SHOWN), "suggested": False}
    # The most frequent words of a text decide no class, so without suggestions the list is empty.
    suggested = access.workspace.words.suggestions(access.id)[:_SUGGESTED]
    return {"query": query, "found": suggested, "suggested": True}


def touched_facts(access: Access, word: str) -> dict[str, Any]:
    """Return what the page shows about a word.

    Parameters
    ----------
    access : Access
        Access to the project.
    word : str
        The word.

    Returns
    -------
    dict[str, Any]
        ``touched`` and ``classes``.
    """
    found = touches(access, word) if word.strip() else None
    if found is not None:
        # The most frequent label has the longest bar.
        most = max(found["labels"].values(), default=1)
        found["labels"] = [{"label": label, "n": n, "share": n / most} for label, n in found["labels"].items()]
    return {"touched": found, "classes": classes_of(access, access.workspace.runs.latest(access.id))}


@pages.get("/words")
def words_page(access: Viewer, q: str = "", word: str = ""):
    """Show words with their documents and classes."""
    facts = found_facts(access, q) | touched_facts(access, word)
    return project_page(access, "words", given=words(access), names=people_names(access), **facts)


@pages.get("/words/search")
def words_found(access: Viewer, q: str = ""):
    """Show found words as a part of the page."""
    return part(access, "words_found", **found_facts(access, q))


@pages.get("/words/touches")
def word_touches(access: Viewer, word: str = ""):
    """Show the documents of a word as a part of the page."""
    return part(access, "touches", **touched_facts(access, word))
