"""Projects: the list, the overview with the next step, members, history."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import RedirectResponse

from isthmus.workbench.context import Access, BenchNow, Owner, Person, Viewer, at, go, page
from isthmus.workbench.pages.frame import latest_run, project_page
from isthmus.workbench.pages.review import shown_tally
from isthmus.workbench.sample import add_sample

router = APIRouter(include_in_schema=False)
Field = Annotated[str, Form(max_length=2_000)]
_EVENTS = 50
_DISPUTED = 20
SHARES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)


def may_create(bench: Any, person: Any) -> bool:
    """Whether a person may make projects."""
    return not bench.settings.accounts or person.role == "owner"


def require_creator(bench: Any, person: Any) -> None:
    """Refuse everybody else."""
    if not may_create(bench, person):
        raise HTTPException(403, "Only owners of the workspace make projects.")


@router.get("/")
def start():
    """The beginning is the list of projects."""
    return RedirectResponse("/projects", status_code=303)


@router.get("/projects")
def projects(request: Request, bench: BenchNow, person: Person):
    """All projects of a person."""
    rows = bench.workspace.projects.list(person.id)
    return page(request, "projects.html.j2", projects=rows, may_create=may_create(bench, person))


@router.post("/projects")
def create(request: Request, bench: BenchNow, person: Person, name: Field = ""):
    """A new project."""
    require_creator(bench, person)
    return go(request, at("projects", bench.workspace.projects.create(name, by=person.id).id))


@router.post("/projects/sample")
def sample(request: Request, bench: BenchNow, person: Person):
    """The bundled sample as a project, being labelled."""
    require_creator(bench, person)
    project, run = add_sample(bench.workspace, by=person.id)
    return go(request, at("projects", project.id, "runs", run.id))


@router.get("/projects/{project}")
def overview(request: Request, access: Viewer):
    """Where a project stands and what comes next."""
    workspace, run = access.workspace, latest_run(access)
    members = workspace.projects.members(access.project.id)
    inside = {row.person for row in members}
    owner = access.may("owner") and access.bench.settings.accounts
    numbers = shown_tally(access, run) if run else None
    return project_page(
        request,
        access,
        "project.html.j2",
        run=run,
        hero=workspace.runs.table(run.id, "hero") if run else None,
        tally=numbers,
        disputed=disputed(access, numbers["agreement"]) if numbers else [],
        shares=sorted({*SHARES, access.project.second_reading}),
        steps=steps(access, run, numbers["answers"] if numbers else answer_count(access)),
        members=members if owner else [],
        strangers=[row for row in workspace.people.list() if row.id not in inside and not row.disabled]
        if owner
        else [],
    )


def disputed(access: Access, agreement: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The latest documents on which people differ, with their texts and the names of the people."""
    rows = (agreement or {}).get("disputed", [])[:_DISPUTED]
    texts = {row.id: row.text for row in access.workspace.documents.many([row["document"] for row in rows])}
    names = {row.id: row.name for row in access.workspace.people.list()} if rows else {}
    return [
        {
            "document": row["document"],
            "text": texts.get(row["document"], ""),
            "answers": [{"name": names.get(said["by"], "?"), "label": said["label"]} for said in row["answers"]],
        }
        for row in rows
    ]


def answer_count(access: Access) -> int:
    """Answers that hold now."""
    return sum(row["answers"] for row in access.workspace.answers.counts(access.project.id))


def steps(access: Access, run: Any | None, answers: int) -> list[dict[str, Any]]:
    """The way through a project: what is done, what is next."""
    workspace, project = access.workspace, access.project.id
    ready = [row.kind for row in workspace.collections.list(project) if row.state == "ready"]
    data = "source" in ready and "target" in ready
    checked = run is not None and any(check.answered for check in workspace.checks.list(run.id))
    rows = [
        ("Bring two files", "One with labels, one without.", data, "data", "Data"),
        ("Label", "Isthmus tries several methods and lets those vote that the evidence supports.", run is not None,
         "runs", "Runs"),
        ("Review", "Read what is doubtful; 20 answers are a good start. Then teach.", answers > 0, "review", "Review"),
        ("Check", "A blind random sample tells how many labels are right.", checked, "check", "Check"),
        ("Take it with you", "Labels, report, model, audit log.", False, "export", "Export"),
    ]  # fmt: skip
    first = next((i for i, row in enumerate(rows) if not row[2]), None)
    return [
        {
            "title": title,
            "text": text,
            "done": done,
            "next": i == first,
            "address": at("projects", project, part),
            "button": button,
        }
        for i, (title, text, done, part, button) in enumerate(rows)
    ]


@router.post("/projects/{project}/name")
def rename(request: Request, access: Owner, name: Field = ""):
    """Another name."""
    access.workspace.projects.rename(access.project.id, name, by=access.by)
    return go(request, at("projects", access.project.id))


@router.post("/projects/{project}/second-reading")
def second_reading(request: Request, access: Owner, share: Annotated[float, Form()] = 0.0):
    """Which share of the documents two people read."""
    access.workspace.projects.set_second_reading(access.project.id, share, by=access.by)
    return go(request, at("projects", access.project.id))


@router.post("/projects/{project}/archive")
def archive(request: Request, access: Owner):
    """Put a project away."""
    access.workspace.projects.archive(access.project.id, by=access.by)
    return go(request, "/projects")


@router.post("/projects/{project}/members")
def add_member(request: Request, access: Owner, other: Field = "", role: Field = "reviewer"):
    """Let somebody in."""
    access.workspace.projects.add_member(access.project.id, other, role, by=access.by)
    return go(request, at("projects", access.project.id))


@router.post("/projects/{project}/members/{other}/remove")
def remove_member(request: Request, access: Owner, other: str):
    """Shut somebody out."""
    if other == access.by:
        raise HTTPException(422, "Another owner has to do this for you.")
    access.workspace.projects.remove_member(access.project.id, other, by=access.by)
    return go(request, at("projects", access.project.id))


@router.get("/projects/{project}/history")
def history(request: Request, access: Viewer, after: int | None = None):
    """The audit log, latest first."""
    rows = access.workspace.audit.events(access.project.id, after=after, limit=_EVENTS, latest=True)
    names = {row.id: row.name for row in access.workspace.people.list()}
    return project_page(
        request,
        access,
        "history.html.j2",
        events=rows,
        names=names,
        after=rows[-1].number if len(rows) == _EVENTS else None,
    )
