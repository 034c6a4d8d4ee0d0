"""Pages for projects: the list, the overview with the next step, members, and history."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse

from isthmus.workbench import api, service
from isthmus.workbench.context import Access, BenchNow, Field, Owner, Person, Viewer, at, go, go_to, in_bytes, page
from isthmus.workbench.pages import answer_count, latest_run, people_names, project_page
from isthmus.workbench.pages.review import measured
from isthmus.workbench.service import add_sample, may_create, require_creator, shown_tally

router = APIRouter(include_in_schema=False)
# Rows on a page: events, and documents with different answers.
_EVENTS = 50
_DISPUTED = 20
_ID = re.compile(r"[0-9a-f]{32}")
# Details of events that people cannot read.
_HIDDEN = ("sha256", "mapping")
# Shares of documents for a second reading that the page offers.
SHARES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)


@router.get("/")
def start():
    """Redirect to the list of projects."""
    return RedirectResponse("/projects", status_code=303)


@router.get("/projects")
def projects(request: Request, bench: BenchNow, person: Person):
    """Show the projects of the person."""
    rows = bench.projects_of(person, archived=True)
    away = [row for row in rows if row.archived_at is not None]
    rows = [row for row in rows if row.archived_at is None]
    return page(request, "projects", projects=rows, away=away, may_create=may_create(bench, person))


@router.post("/projects")
def create(request: Request, bench: BenchNow, person: Person, name: Field = ""):
    """Create a project."""
    require_creator(bench, person)
    return go(request, at("projects", bench.workspace.projects.create(name, by=person.id).id))


@router.post("/projects/sample")
def sample(request: Request, bench: BenchNow, person: Person):
    """Create the sample project."""
    require_creator(bench, person)
    project, run = add_sample(bench.workspace, by=person.id)
    return go(request, at("projects", project.id, "runs", run.id))


@router.get("/projects/{project}")
def overview(access: Viewer, read: Annotated[int | None, Query(ge=1, le=2_000)] = None):
    """Show the state of a project and the next step.

    Parameters
    ----------
    access : Access
        The project and the person.
    read : int, optional
        Number of documents that somebody can read, for a forecast.
    """
    workspace, run = access.workspace, latest_run(access)
    members = workspace.projects.members(access.project.id)
    inside = {row.person for row in members}
    owner = access.may("owner") and access.bench.settings.accounts
    # Only owners of the project may see who else has an account.
    others = workspace.people.list() if owner else []
    numbers = shown_tally(access, run) if run else None
    hero = workspace.runs.table(run.id, "hero") if run else None
    # A measured accuracy replaces the advice that follows from an expected one.
    found = measured(access, run) if run else None
    advice = (hero or {}).get("next") or ""
    at_random = not found and "drawn at random" in advice
    return project_page(
        access,
        "project",
        run=run,
        hero=hero,
        measured=found,
        advice="" if found else advice,
        at_random=at_random,
        tally=numbers,
        read=read or service.SITTING,
        forecast=service.forecast(access, run, read) if run and read else numbers and numbers["forecast"],
        disputed=disputed(access, numbers["agreement"]) if numbers else [],
        machines=api.list_hands(access),
        shares=sorted({*SHARES, access.project.second_reading}),
        steps=steps(access, run, numbers["answers"] if numbers else answer_count(access), check_first=at_random),
        members=members if owner else [],
        strangers=[row for row in others if row.id not in inside and not row.disabled],
    )


def disputed(access: Access, agreement: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the latest documents with different answers, with their texts and the people's names.

    Parameters
    ----------
    access : Access
        The project.
    agreement : dict[str, Any] or None
        Result of :meth:`Answers.agreement`.

    Returns
    -------
    list[dict[str, Any]]
        Dicts with ``document``, ``text`` and ``answers``.
    """
    rows = (agreement or {}).get("disputed", [])[:_DISPUTED]
    texts = {row.id: row.text for row in access.workspace.documents.many([row["document"] for row in rows])}
    names = people_names(access) if rows else {}
    return [
        {
            "document": row["document"],
            "text": texts.get(row["document"], ""),
            "answers": [{"name": names.get(said["by"], "?"), "label": said["label"]} for said in row["answers"]],
        }
        for row in rows
    ]


def steps(access: Access, run: Any | None, answers: int, *, check_first: bool = False) -> list[dict[str, Any]]:
    """Return the steps of a project: which are done, and which is next.

    Parameters
    ----------
    access : Access
        The project.
    run : Any or None
        The latest finished run, or None.
    answers : int
        Number of answers.
    check_first : bool, default=False
        Whether a check helps more than reviewing documents.

    Returns
    -------
    list[dict[str, Any]]
        Dicts with ``title``, ``text``, ``done``, ``part``, ``button``, ``next`` and ``address``.
    """
    workspace, project = access.workspace, access.project.id
    ready = [row.kind for row in workspace.collections.list(project) if row.state == "ready"]
    # A run needs no source if its classes are named.
    data = "target" in ready and ("source" in ready or run is not None)
    checked = run is not None and any(check.answered for check in workspace.checks.list(run.id))
    rows = [
        ("Add two files", "One with labels, one without. Or only the second: then name the classes.", data,
         "data", "Data"),
        ("Label", "Isthmus tries several methods and combines those that the evidence supports.", run is not None,
         "runs", "Runs"),
        ("Review", "Read what is doubtful; 20 answers are a good start. Then teach.", answers > 0, "review", "Review"),
        ("Check", "A blind random sample tells how many labels are right.", checked, "check", "Check"),
        ("Export", "Labels, report, model, audit log.", False, "export", "Export"),
    ]  # fmt: skip
    later = "review" if check_first else None
    first = next((i for i, row in enumerate(rows) if not row[2] and row[3] != later), None)
    names = ("title", "text", "done", "part", "button")
    return [
        {**dict(zip(names, row, strict=True)), "next": i == first, "address": at("projects", project, row[3])}
        for i, row in enumerate(rows)
    ]


@router.post("/projects/{project}/name")
def rename(access: Owner, name: Field = ""):
    """Rename the project."""
    access.workspace.projects.rename(access.project.id, name, by=access.by)
    return go_to(access)


@router.post("/projects/{project}/second-reading")
def second_reading(access: Owner, share: Annotated[float, Form()] = 0.0):
    """Set the share of documents that a second person reads."""
    access.workspace.projects.set_second_reading(access.project.id, share, by=access.by)
    return go_to(access)


@router.post("/projects/{project}/archive")
def archive(request: Request, access: Owner):
    """Archive the project."""
    access.workspace.projects.archive(access.project.id, by=access.by)
    return go(request, "/projects")


@router.post("/projects/{project}/unarchive")
def unarchive(access: Owner):
    """Restore the project from the archive."""
    access.workspace.projects.archive(access.project.id, by=access.by, archived=False)
    return go_to(access)


@router.post("/projects/{project}/members")
def add_member(access: Owner, other: Field = "", role: Field = "reviewer"):
    """Add a person to the project."""
    access.workspace.projects.add_member(access.project.id, other, role, by=access.by)
    return go_to(access)


@router.post("/projects/{project}/members/{other}/remove")
def remove_member(access: Owner, other: str):
    """Remove a person from the project."""
    api.remove_member(access, other)
    return go_to(access)


@router.get("/projects/{project}/history")
def history(access: Viewer, after: int | None = None):
    """Show the audit log of the project."""
    rows = access.workspace.audit.events(access.project.id, after=after, limit=_EVENTS, latest=True)
    names = people_names(access)
    return project_page(
        access,
        "history",
        events=rows,
        details={row.number: line for row, line in zip(rows, readable_details(access, rows, names), strict=True)},
        names=names,
        after=rows[-1].number if len(rows) == _EVENTS else None,
    )


def readable_details(access: Access, events: list[Any], people: dict[str, str]) -> list[str]:
    """Describe each event with the names of people, documents and runs instead of their ids.

    Parameters
    ----------
    access : Access
        The project.
    events : list[Any]
        Events of the audit log.
    people : dict[str, str]
        Name by id.

    Returns
    -------
    list[str]
        One line per event.
    """
    workspace = access.workspace
    named = dict(people)
    for kind in ("label", "diagnose"):
        named |= {row.id: f"run {row.number}" for row in workspace.runs.list(access.project.id, kind=kind)}
    named |= {row.id: row.name for row in workspace.collections.list(access.project.id)}
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
            is_hash = isinstance(shown, str) and _ID.fullmatch(shown)  # an id without a known name tells people nothing
            if value is not None and key not in _HIDDEN and not is_hash:
                parts.append(f"{key}: {shown}")
        lines.append("; ".join(parts))
    return lines
