"""Projects, their members and their history."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request
from fastapi.responses import RedirectResponse
from pydantic import Field

from isthmus.workbench.context import (
    PROJECT,
    SITTING,
    Access,
    After,
    BenchNow,
    Fields,
    Limit,
    Name,
    NameField,
    Owner,
    SignedIn,
    Text,
    Viewer,
    answer_count,
    forecast_of,
    people_names,
    require_workspace_owner,
    tally,
)
from isthmus.workbench.render import at, in_bytes, page, project_page
from isthmus.workbench.routes.accounts import Role, refuse_self
from isthmus.workbench.routes.data import annotators
from isthmus.workbench.routes.review import measured
from isthmus.workbench.sample import add_sample
from isthmus.workspace.schema import OWNER, Event, Member, Project, Run

api = APIRouter(prefix="/api", tags=["projects"])
pages = APIRouter(include_in_schema=False)
# Rows on a page: events, and documents with different answers.
_EVENTS, _DISPUTED = 50, 20
_ID = re.compile(r"[0-9a-f]{32}")
# Details of events that people cannot read.
_HIDDEN = ("sha256", "mapping")
# Shares of documents for a second reading that the page offers.
SHARES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
_ONLY_OWNERS = "Only owners of the workspace can create projects."


class Changes(Fields):
    """Changes of a project; omitted fields stay unchanged."""

    name: Name | None = None
    second_reading: Annotated[float, Field(ge=0, le=1)] | None = None
    archived: bool | None = None


@api.get("/projects")
def projects(bench: BenchNow, person: SignedIn, archived: bool = False) -> list[Project]:
    """List your projects, and archived ones on request."""
    return bench.projects_of(person, archived=archived)


@api.post("/projects")
def create_project(bench: BenchNow, person: SignedIn, name: NameField) -> Project:
    """Create a project."""
    require_workspace_owner(bench, person, _ONLY_OWNERS)
    return bench.workspace.projects.create(name, by=person.id)


@api.post("/sample")
def create_sample(bench: BenchNow, person: SignedIn) -> Run:
    """Create a project with the bundled sample, and label it."""
    require_workspace_owner(bench, person, _ONLY_OWNERS)
    return add_sample(bench.workspace, by=person.id)[1]


@api.get(PROJECT)
def project(access: Viewer) -> Project:
    """Return a project."""
    return access.project


@api.patch(PROJECT)
def change_project(access: Owner, body: Changes) -> Project:
    """Rename or archive a project, or set the share of documents that two people read."""
    found, store = access.project, access.workspace.projects
    if body.name is not None:
        found = store.rename(access.id, body.name, by=access.by)
    if body.second_reading is not None:
        found = store.set_second_reading(access.id, body.second_reading, by=access.by)
    if body.archived is not None:
        found = store.archive(access.id, by=access.by, archived=body.archived)
    return found


# Deleting a project only archives it, because answers must stay traceable.
@api.delete(PROJECT)
def archive_project(access: Owner) -> Project:
    """Archive a project; nothing is lost, and ``{"archived": false}`` restores it."""
    return access.workspace.projects.archive(access.id, by=access.by)


@api.get(PROJECT + "/members")
def members(access: Viewer) -> list[Member]:
    """List the members of a project."""
    return access.workspace.projects.members(access.id)


@api.post(PROJECT + "/members")
def add_member(access: Owner, person: Annotated[Text, Body()], role: Annotated[Role, Body()]) -> list[Member]:
    """Add a person to a project, or change a member's role."""
    access.workspace.projects.add_member(access.id, person, role, by=access.by)
    return members(access)


@api.delete(PROJECT + "/members/{other}")
def remove_member(access: Owner, other: str) -> list[Member]:
    """Remove a person from a project."""
    refuse_self(access.by, other)
    access.workspace.projects.remove_member(access.id, other, by=access.by)
    return members(access)


@api.get(PROJECT + "/events")
def events(access: Viewer, after: After = None, limit: Limit = 100) -> list[Event]:
    """Return the history of a project, oldest first."""
    return access.workspace.audit.events(access.id, after=after, limit=limit)


# -- Pages


@pages.get("/")
def start():
    """Go to the list of projects."""
    return RedirectResponse("/projects", status_code=303)


@pages.get("/projects")
def projects_page(request: Request, bench: BenchNow, person: SignedIn):
    """Show the projects of a person."""
    rows = bench.projects_of(person, archived=True)
    here, away = ([row for row in rows if (row.archived_at is None) == is_open] for is_open in (True, False))
    may_create = not bench.settings.accounts or person.role == OWNER
    return page(request, "projects", projects=here, away=away, may_create=may_create)


@pages.get("/projects/{project}")
def overview(access: Viewer, read: Annotated[int | None, Query(ge=1, le=2_000)] = None):
    """Show how far a project is: accuracy, what to read, and the next steps."""
    run, people = access.workspace.runs.latest(access.id), people_names(access)
    facts: dict[str, Any] = {"run": run, "tally": None, "hero": None, "measured": None, "advice": "", "disputed": []}
    facts |= {"members": [], "strangers": [], "at_random": False, "forecast": None}
    if run is not None:
        found = tally(access, run)
        numbers, agreement = found.shown_to(access.by), found.agreement
        facts |= {"tally": numbers, "hero": access.workspace.runs.table(run.id, "hero")}
        # A measured accuracy replaces the advice that follows from an expected one.
        facts["measured"] = measured(access, run)
        facts["advice"] = "" if facts["measured"] else facts["hero"].get("next") or ""
        facts["at_random"] = "drawn at random" in facts["advice"]
        facts["forecast"] = forecast_of(access, run, read) if read else numbers["forecast"]
        facts["disputed"] = disputed(access, agreement["disputed"][:_DISPUTED], people)
    # Only owners of the project may see who else has an account.
    if access.may("owner") and access.bench.settings.accounts:
        facts["members"] = members(access)
        inside = {row.person for row in facts["members"]}
        others = access.workspace.people.list()
        facts["strangers"] = [row for row in others if row.id not in inside and not row.disabled]
    return project_page(
        access,
        "project",
        read=read or SITTING,
        annotators=annotators(access),
        shares=sorted({*SHARES, access.project.second_reading}),
        steps=steps(access, run, answer_count(access), check_first=facts["at_random"]),
        **facts,
    )


def disputed(access: Access, rows: list[dict[str, Any]], people: dict[str, str]) -> list[dict[str, Any]]:
    """Return documents with different answers, with their texts and the names of the people.

    Parameters
    ----------
    access : Access
        Access to the project.
    rows : list[dict]
        Documents with their answers.
    people : dict[str, str]
        Names by id.

    Returns
    -------
    list[dict]
        Dicts with ``document``, ``text`` and ``answers``.
    """
    texts = {row.id: row.text for row in access.workspace.documents.many([row["document"] for row in rows])}
    named = [[{"name": people.get(said["by"], "?"), "label": said["label"]} for said in row["answers"]] for row in rows]
    return [
        {"document": row["document"], "text": texts.get(row["document"], ""), "answers": answers}
        for row, answers in zip(rows, named, strict=True)
    ]


def steps(access: Access, run: Run | None, answers: int, *, check_first: bool = False) -> list[dict[str, Any]]:
    """Return the steps of a project; the first that is not done is the next one.

    Parameters
    ----------
    access : Access
        Access to the project.
    run : Run or None
        Latest finished run.
    answers : int
        Number of answers.
    check_first : bool, default=False
        Whether the advice is to check a random sample before the review.

    Returns
    -------
    list[dict]
        Dicts with ``title``, ``text``, ``done``, ``next``, ``address`` and ``button``.
    """
    workspace = access.workspace
    ready = [row.kind for row in workspace.collections.list(access.id) if row.state == "ready"]
    # A run needs no source if its classes are named.
    data = "target" in ready and ("source" in ready or run is not None)
    checked = run is not None and any(check.answered for check in workspace.checks.list(run.id))
    rows = [
        ("Add two files", "One with labels, one without. Or only the second: then name the classes.", data,
         "data", "Data"),
        ("Label", "Isthmus tries several methods and combines those that the evidence supports.", run is not None,
         "runs", "Runs"),
        ("Review", "Read uncertain documents; 20 answers are a good start. Then teach.", answers > 0,
         "review", "Review"),
        ("Check", "A blind random sample measures how many labels are right.", checked, "check", "Check"),
        ("Export", "Labels, report, model, audit log.", False, "export", "Export"),
    ]  # fmt: skip
    later = "review" if check_first else None
    first = next((i for i, row in enumerate(rows) if not row[2] and row[3] != later), None)
    names = ("title", "text", "done", "part", "button")
    return [
        {**dict(zip(names, row, strict=True)), "next": i == first, "address": at("projects", access.id, row[3])}
        for i, row in enumerate(rows)
    ]


@pages.get("/projects/{project}/history")
def history(access: Viewer, after: int | None = None):
    """Show the events of a project, latest first."""
    rows, people = (
        access.workspace.audit.events(access.id, after=after, limit=_EVENTS, latest=True),
        people_names(access),
    )
    return project_page(
        access,
        "history",
        events=list(zip(rows, readable_details(access, rows, people), strict=True)),
        names=people,
        after=rows[-1].number if len(rows) == _EVENTS else None,
    )


def readable_details(access: Access, events: list[Event], people: dict[str, str]) -> list[str]:
    """Return the details of events as lines, with names instead of ids.

    Parameters
    ----------
    access : Access
        Access to the project.
    events : list[Event]
        The events.
    people : dict[str, str]
        Names by id.

    Returns
    -------
    list[str]
        One line per event.
    """
    workspace = access.workspace
    named = people | {row.id: f"run {row.number}" for row in workspace.runs.list(access.id, kind=None)}
    named |= {row.id: row.name for row in workspace.collections.list(access.id)}
    # Only unknown ids are looked up, because documents are many.
    subjects = [row.subject for row in events if _ID.fullmatch(row.subject) and row.subject not in named]
    documents = {row.id: row.name for row in workspace.documents.many(subjects)}
    lines = []
    for row in events:
        parts = [f"document: {documents[row.subject]}"] if row.subject in documents else []
        for key, value in row.detail.items():
            shown = named.get(value, value) if isinstance(value, str) else value
            # Only the size of a file is in bytes; that of a sample is a number of documents.
            shown = in_bytes(value) if key == "size" and row.kind != "sample drawn" else shown
            is_hash = isinstance(shown, str) and _ID.fullmatch(shown)  # an id without a known name is of no use
            if value is not None and key not in _HIDDEN and not is_hash:
                parts.append(f"{key}: {shown}")
        lines.append("; ".join(parts))
    return lines
