"""Check: a blind random sample, and what it says about all labels."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Request

from isthmus.workbench.context import Access, Reviewer, Viewer, at, go, page
from isthmus.workbench.pages.frame import chosen_run, classes_of, find_run, project_page

router = APIRouter(prefix="/projects/{project}/check", include_in_schema=False)
Field = Annotated[str, Form(max_length=2_000)]
SIZES = (20, 50, 100, 200, 400)
_SUGGESTED, _MARGIN = 100, 7  # half the width of the interval in points, for 85 % right


def find_check(access: Access, check: str) -> tuple[Any, Any]:
    """A sample of this project, and its run."""
    found = access.workspace.checks.get(check)
    run = access.workspace.runs.get(found.run)
    if run.project != access.project.id:
        raise HTTPException(404, "There is no such sample here.")
    return found, run


def whole_samples(access: Access, run: Any) -> list[Any]:
    """Samples of all documents of a run; those above a threshold belong to accepting many at once."""
    return [row for row in access.workspace.checks.list(run.id) if row.threshold is None]


def desk_facts(access: Access, check: Any, run: Any, just: str = "") -> dict[str, Any]:
    """The next document of a sample, without what the run says about it."""
    shown = access.workspace.checks.next(check.id, access.by) if access.may("reviewer") else None
    estimate = access.workspace.checks.estimate(check.id)
    return {
        "run": run,
        "check": check,
        "shown": shown,
        "just": just,
        "classes": classes_of(access, run),
        "estimate": estimate,
        "wrong": estimate["answered"] - estimate["right"] if estimate else 0,
        "expected": (run.summary or {}).get("expected"),
    }


@router.get("")
def checks(request: Request, access: Viewer, run: str = "", check: str = ""):
    """The page of samples."""
    if check:
        chosen, found = find_check(access, check)
    else:
        found = chosen_run(access, run)
        known = whole_samples(access, found) if found else []
        chosen = known[0] if known else None
    facts: dict[str, Any] = {"run": found, "check": None, "checks": []}
    if found is not None:
        facts["checks"] = whole_samples(access, found)
    if chosen is not None:
        facts |= desk_facts(access, chosen, found)
    return project_page(request, access, "check.html.j2", sizes=SIZES, suggested=_SUGGESTED, margin=_MARGIN, **facts)


@router.post("")
def draw(request: Request, access: Reviewer, run: Field = "", size: Annotated[int, Form()] = _SUGGESTED):
    """Draw a sample."""
    drawn = access.workspace.checks.draw(find_run(access, run).id, size, by=access.by)
    return go(request, at("projects", access.project.id, "check") + f"?check={drawn.id}")


@router.get("/{check}/desk")
def show(request: Request, access: Viewer, check: str):
    """The next document, alone."""
    found, run = find_check(access, check)
    return page(request, "check_desk.html.j2", access=access, **desk_facts(access, found, run))


@router.post("/{check}/answers")
def answer(request: Request, access: Reviewer, check: str, document: Field = "", label: Field = "", other: Field = ""):
    """An answer; the next document comes back."""
    found, run = find_check(access, check)
    label = label or other
    access.workspace.checks.answer(found.id, document, label, by=access.by)
    found, run = find_check(access, check)
    return page(
        request, "check_desk.html.j2", access=access, **desk_facts(access, found, run, just=f"Answered: {label}.")
    )
