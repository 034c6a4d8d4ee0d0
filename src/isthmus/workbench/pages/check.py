"""Check: a blind random sample, and what it says about all labels."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form

from isthmus.workbench.context import Access, Field, Reviewer, Viewer, go_to
from isthmus.workbench.pages.frame import chosen_run, classes_of, part, project_page
from isthmus.workbench.service import answer_sample, find_check, find_run

router = APIRouter(prefix="/projects/{project}/check", include_in_schema=False)
SIZES = (20, 50, 100, 200, 400)
LEAST_ANSWERED = 20  # before, the interval is wider than what is expected anyway
_SUGGESTED, _MARGIN = 100, 7  # half the width of the interval in points, for 85 % right


def whole_samples(access: Access, run: Any) -> list[Any]:
    """Samples of all documents of a run; those above a threshold belong to accepting many at once."""
    return [row for row in access.workspace.checks.list(run.id) if row.threshold is None]


def measured(access: Access, run: Any) -> dict[str, Any] | None:
    """What the sample of a run with the most answers says, once it has enough to say anything; otherwise None."""
    found = max(whole_samples(access, run), key=lambda row: row.answered, default=None)
    if found is None or found.answered < LEAST_ANSWERED:
        return None
    return access.workspace.checks.estimate(found.id)


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
def checks(access: Viewer, run: str = "", check: str = ""):
    """The page of samples."""
    chosen, found = find_check(access, check) if check else (None, chosen_run(access, run))
    samples = whole_samples(access, found) if found else []
    chosen = chosen or next(iter(samples), None)
    facts: dict[str, Any] = {"run": found, "check": None, "checks": samples}
    if chosen is not None:
        facts |= desk_facts(access, chosen, found)
    return project_page(access, "check", sizes=SIZES, suggested=_SUGGESTED, margin=_MARGIN, **facts)


@router.post("")
def draw(access: Reviewer, run: Field = "", size: Annotated[int, Form()] = _SUGGESTED):
    """Draw a sample."""
    drawn = access.workspace.checks.draw(find_run(access, run).id, size, by=access.by)
    return go_to(access, "check", query=f"?check={drawn.id}")


@router.get("/{check}/desk")
def show(access: Viewer, check: str):
    """The next document, alone."""
    found, run = find_check(access, check)
    return part(access, "check_desk", **desk_facts(access, found, run))


@router.post("/{check}/answers")
def answer(access: Reviewer, check: str, document: Field = "", label: Field = "", other: Field = "", token: Field = ""):
    """An answer; the next document comes back."""
    label = label or other
    found, run = answer_sample(access, check, document, label, token)
    facts = desk_facts(access, found, run, just=f"Answered: {label}.")
    # The list of samples below the desk goes along; the page of accepting many at once has none.
    checks = whole_samples(access, run) if found.threshold is None else []
    return part(access, "check_desk", fragment=True, checks=checks, **facts)
