"""The review queue: one document at a time, by keyboard; and accepting many at once after a look at some."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form

from isthmus.workbench import api, service
from isthmus.workbench.context import Access, Field, Reviewer, Viewer, go_to
from isthmus.workbench.pages import check as checking
from isthmus.workbench.pages.frame import chosen_run, descriptions, known_classes, part, project_page
from isthmus.workbench.service import find_check, find_run, queue_run, shown_tally, tally, word_grades

router = APIRouter(prefix="/projects/{project}/review", include_in_schema=False)
SAMPLE = 20  # documents to read before the others may be accepted unread


def desk_facts(access: Access, run: Any | None, document: str | None = None, just: str = "") -> dict[str, Any]:
    """What lies on the desk: a document that was asked for, or the next of the queue."""
    facts: dict[str, Any] = {"run": run, "shown": None, "just": just, "may_teach": False}
    if run is None:
        return facts
    workspace = access.workspace
    if document:
        shown = workspace.runs.prediction(run.id, document)
    elif access.may("reviewer"):
        shown = next(iter(workspace.queue.next(run.id, access.by)), None)
    else:
        shown = next(iter(workspace.runs.predictions(run.id, limit=1, review=True)), None)
    facts |= {"shown": shown, "tally": shown_tally(access, run), "may_teach": access.may("reviewer")}
    if shown is not None:
        classes, grades = known_classes(run, tally(access, run).labels), word_grades(access, run)
        facts |= {
            "classes": classes,
            "grades": grades,
            "code": classes.index(shown.label) if shown.label in classes else -1,
            "near": workspace.documents.many(shown.near),
            "about": descriptions(access, run),
        }
    return facts


def desk(access: Access, run: Any | None, **wanted: Any):
    """The desk alone, for a swap."""
    return part(access, "desk", **desk_facts(access, run, **wanted))


@router.get("")
def review(access: Viewer, run: str = "", document: str = ""):
    """The page of the queue."""
    found = chosen_run(access, run)
    return project_page(access, "review", **desk_facts(access, found, document or None))


@router.get("/desk")
def show(access: Viewer, run: str = "", document: str = ""):
    """Another document on the desk."""
    return desk(access, chosen_run(access, run), document=document or None)


@router.post("/answers")
def answer(
    access: Reviewer, document: Field = "", run: Field = "", label: Field = "", other: Field = "", token: Field = ""
):
    """An answer; the next document comes back."""
    given = service.give_answer(access, run, document, label or other, token)
    return desk(access, queue_run(access, run), just=f"Answered: {given.label}.")


@router.post("/skip")
def skip(access: Reviewer, document: Field = "", run: Field = ""):
    """Leave a document for later."""
    found = queue_run(access, run)
    access.workspace.queue.skip(found.id, access.by, document)
    return desk(access, found, just="Left for later.")


@router.post("/undo")
def undo(access: Reviewer, run: Field = ""):
    """Take back the last answer; its document comes back."""
    found = queue_run(access, run)
    taken = api.undo(access)
    if not taken:
        return desk(access, found, just="There is nothing to undo.")
    if len(taken) > 1:
        return desk(access, found, just=f"Taken back: {len(taken):,} answers.")
    # A second reading comes back from the queue, without the first answer.
    document = None if taken[0].kind == "second" else taken[0].document
    return desk(access, found, document=document, just=f"Taken back: {taken[0].label}.")


@router.get("/accept")
def accept_page(access: Viewer, run: str = "", threshold: float = 0.9, check: str = ""):
    """Accept many at once: choose how sure, look at a sample, then accept."""
    found = chosen_run(access, run)
    facts: dict[str, Any] = {"run": found, "threshold": threshold, "above": 0, "check": None}
    if check:
        sample, found = find_check(access, check)
        facts |= checking.desk_facts(access, sample, found) | {"threshold": sample.threshold or threshold}
    if found is not None:
        facts["above"] = access.workspace.checks.above(found.id, facts["threshold"])
    return project_page(access, "accept", **facts)


@router.post("/accept/sample")
def accept_sample(access: Reviewer, run: Field = "", threshold: Annotated[float, Form()] = 0.9):
    """Draw the sample that must be read before the others are accepted."""
    found = find_run(access, run)
    sample = access.workspace.checks.draw(found.id, SAMPLE, by=access.by, threshold=threshold)
    return go_to(access, "review", "accept", query=f"?check={sample.id}")


@router.post("/accept")
def accept(access: Reviewer, check: Field = ""):
    """Accept every label that is as sure as the sample's."""
    api.accept(access, check)
    return go_to(access, "review")
