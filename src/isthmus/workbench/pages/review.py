"""The review queue: one document at a time, by keyboard; and accepting many at once after a look at some."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request

from isthmus.workbench.context import Access, Reviewer, Viewer, at, go, page
from isthmus.workbench.pages import check as checking
from isthmus.workbench.pages.frame import chosen_run, classes_of, find_run, project_page

router = APIRouter(prefix="/projects/{project}/review", include_in_schema=False)
Field = Annotated[str, Form(max_length=2_000)]
SAMPLE = 20  # documents to read before the others may be accepted unread
_FRESH, _RATIO = 2.0, 50  # how old the numbers above the queue may be: seconds, and times what counting took


def tally(access: Access, run: Any) -> dict[str, Any]:
    """The numbers above the queue; some seconds old, and the older the longer counting takes."""
    key, now = (run.id,), time.monotonic()
    kept = access.bench.tallies.get(key)
    if kept is None or kept[0] < now:
        answers = access.workspace.answers
        counts = access.workspace.queue.counts(run.id)
        agreement = answers.agreement(access.project.id)
        by_person = {row["by"]: row["answers"] for row in answers.counts(access.project.id)}
        ended = time.monotonic()
        kept = (ended + max(_FRESH, _RATIO * (ended - now)), counts, agreement, by_person)
        access.bench.tallies[key] = kept
        while len(access.bench.tallies) > 1_000:
            access.bench.tallies.pop(next(iter(access.bench.tallies)))
    _, counts, agreement, by_person = kept
    return {
        "mine": by_person.get(access.by, 0),
        "answers": sum(by_person.values()),
        "waiting": counts["to_review"],
        "held": counts["leased"],
        "agreement": agreement if agreement["documents"] else None,
    }


def count_own_answer(access: Access, run: Any) -> None:
    """One's own number grows at once, though the others are some seconds old."""
    kept = access.bench.tallies.get((run.id,))
    if kept is not None:
        counts, by_person = kept[1], kept[3]
        by_person[access.by] = by_person.get(access.by, 0) + 1
        counts["to_review"] = max(0, counts["to_review"] - 1)


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
    facts |= {"shown": shown, "tally": tally(access, run), "may_teach": access.may("reviewer")}
    if shown is not None:
        classes, grades = classes_of(access, run), word_grades(access, run)
        facts |= {
            "classes": classes,
            "grades": grades,
            "code": classes.index(shown.label) if shown.label in classes else -1,
            "near": workspace.documents.many(shown.near),
        }
    return facts


def word_grades(access: Access, run: Any) -> dict[str, list[int]] | None:
    """Grades of words for the tints. They never change, and reading them takes longer than all else: kept at hand."""
    kept = access.bench.grades
    if run.id not in kept:
        while len(kept) >= 8:
            kept.pop(next(iter(kept)))
        kept[run.id] = access.workspace.runs.table(run.id, "words")
    return kept[run.id]


def desk(request: Request, access: Access, run: Any | None, **wanted: Any):
    """The desk alone, for a swap."""
    return page(request, "desk.html.j2", access=access, **desk_facts(access, run, **wanted))


@router.get("")
def review(request: Request, access: Viewer, run: str = "", document: str = ""):
    """The page of the queue."""
    found = chosen_run(access, run)
    return project_page(request, access, "review.html.j2", **desk_facts(access, found, document or None))


@router.get("/desk")
def show(request: Request, access: Viewer, run: str = "", document: str = ""):
    """Another document on the desk."""
    return desk(request, access, chosen_run(access, run), document=document or None)


@router.post("/answers")
def answer(
    request: Request, access: Reviewer, document: Field = "", run: Field = "", label: Field = "", other: Field = ""
):
    """An answer; the next document comes back."""
    found, label = find_run(access, run), label or other
    access.workspace.runs.prediction(found.id, document)  # of this project's run, or not found
    access.workspace.answers.give(document, label, by=access.by, run=found.id)
    count_own_answer(access, found)
    return desk(request, access, found, just=f"Answered: {label}.")


@router.post("/skip")
def skip(request: Request, access: Reviewer, document: Field = "", run: Field = ""):
    """Leave a document for later."""
    found = find_run(access, run)
    access.workspace.queue.skip(found.id, access.by, document)
    return desk(request, access, found, just="Left for later.")


@router.post("/undo")
def undo(request: Request, access: Reviewer, run: Field = ""):
    """Take back the last answer; its document comes back."""
    found = find_run(access, run)
    taken = access.workspace.answers.undo(by=access.by, project=access.project.id)
    if not taken:
        return desk(request, access, found, just="There is nothing to undo.")
    access.bench.tallies.clear()
    if len(taken) > 1:
        return desk(request, access, found, just=f"Taken back: {len(taken):,} answers.")
    return desk(request, access, found, document=taken[0].document, just=f"Taken back: {taken[0].label}.")


@router.get("/accept")
def accept_page(request: Request, access: Viewer, run: str = "", threshold: float = 0.9, check: str = ""):
    """Accept many at once: choose how sure, look at a sample, then accept."""
    found = chosen_run(access, run)
    facts: dict[str, Any] = {"run": found, "threshold": threshold, "above": 0, "check": None}
    if check:
        sample, found = checking.find_check(access, check)
        facts |= checking.desk_facts(access, sample, found) | {"threshold": sample.threshold or threshold}
    if found is not None:
        facts["above"] = access.workspace.checks.above(found.id, facts["threshold"])
    return project_page(request, access, "accept.html.j2", **facts)


@router.post("/accept/sample")
def accept_sample(request: Request, access: Reviewer, run: Field = "", threshold: Annotated[float, Form()] = 0.9):
    """Draw the sample that must be read before the others are accepted."""
    found = find_run(access, run)
    sample = access.workspace.checks.draw(found.id, SAMPLE, by=access.by, threshold=threshold)
    return go(request, at("projects", access.project.id, "review", "accept") + f"?check={sample.id}")


@router.post("/accept")
def accept(request: Request, access: Reviewer, check: Field = ""):
    """Accept every label that is as sure as the sample's."""
    sample, _ = checking.find_check(access, check)
    access.workspace.checks.accept(sample.id, by=access.by)
    access.bench.tallies.clear()
    return go(request, at("projects", access.project.id, "review"))
