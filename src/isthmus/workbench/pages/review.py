"""The review queue: one document at a time, by keyboard; and accepting many at once after a look at some."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request

from isthmus.workbench.context import Access, Reviewer, Viewer, at, go, page
from isthmus.workbench.pages import check as checking
from isthmus.workbench.pages.frame import chosen_run, find_run, known_classes, project_page
from isthmus.workspace.records import Answer

router = APIRouter(prefix="/projects/{project}/review", include_in_schema=False)
Field = Annotated[str, Form(max_length=2_000)]
SAMPLE = 20  # documents to read before the others may be accepted unread
_FRESH, _RATIO = 2.0, 50  # how old the numbers above the queue may be: seconds, and times what counting took
_TALLIES, _RUNS = 1_000, 100  # kept in memory


@dataclass
class Tally:
    """The numbers above the queue of a run, and the classes that answers name; some seconds old."""

    until: float
    counts: dict[str, int]
    agreement: dict[str, Any]
    by_person: dict[str, int]
    labels: list[str]


def tally(access: Access, run: Any) -> Tally:
    """The tally of a run: the older the longer counting takes, and counted for one reader while the others go on."""
    bench = access.bench
    kept = bench.tallies.get(run.id)
    if kept is not None and (kept.until > time.monotonic() or not bench.counting.acquire(blocking=False)):
        return kept
    try:
        return count(access, run)
    finally:
        if kept is not None:
            bench.counting.release()


def count(access: Access, run: Any) -> Tally:
    """Count anew."""
    answers, project, began = access.workspace.answers, access.project.id, time.monotonic()
    found = Tally(
        until=0.0,
        counts=access.workspace.queue.counts(run.id),
        agreement=answers.agreement(project),
        by_person={row["by"]: row["answers"] for row in answers.counts(project)},
        labels=answers.labels(project),
    )
    ended = time.monotonic()
    found.until = ended + max(_FRESH, _RATIO * (ended - began))
    tallies = access.bench.tallies
    tallies[run.id] = found
    while len(tallies) > _TALLIES:
        tallies.pop(next(iter(tallies)))
    return found


def shown_tally(access: Access, run: Any) -> dict[str, Any]:
    """The numbers as one person sees them."""
    found = tally(access, run)
    return {
        "mine": found.by_person.get(access.by, 0),
        "answers": sum(found.by_person.values()),
        "waiting": found.counts["to_review"],
        "held": found.counts["leased"],
        "agreement": found.agreement if found.agreement["documents"] else None,
    }


def count_own_answer(access: Access, run: Any, given: Answer) -> None:
    """One's own number grows at once, though the others are some seconds old; so does the list of classes."""
    kept = access.bench.tallies.get(run.id)
    if kept is not None:
        kept.by_person[access.by] = kept.by_person.get(access.by, 0) + 1
        if given.current:  # a second reading leaves the queue as long as it was
            kept.counts["to_review"] = max(0, kept.counts["to_review"] - 1)
        if given.label not in kept.labels:
            kept.labels = sorted([*kept.labels, given.label])


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


def queue_run(access: Access, run: str) -> Any:
    """A run of this project. What the desk needs of one that is done never changes: kept at hand."""
    kept = access.bench.runs.get(run)
    if kept is None or kept.project != access.project.id:
        kept = find_run(access, run)
        if kept.state == "done":
            runs = access.bench.runs
            runs[kept.id] = kept
            while len(runs) > _RUNS:
                runs.pop(next(iter(runs)))
    return kept


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
    found = queue_run(access, run)
    given = access.workspace.answers.give(document, label or other, by=access.by, run=found.id)
    count_own_answer(access, found, given)
    return desk(request, access, found, just=f"Answered: {given.label}.")


@router.post("/skip")
def skip(request: Request, access: Reviewer, document: Field = "", run: Field = ""):
    """Leave a document for later."""
    found = queue_run(access, run)
    access.workspace.queue.skip(found.id, access.by, document)
    return desk(request, access, found, just="Left for later.")


@router.post("/undo")
def undo(request: Request, access: Reviewer, run: Field = ""):
    """Take back the last answer; its document comes back."""
    found = queue_run(access, run)
    taken = access.workspace.answers.undo(by=access.by, project=access.project.id)
    if not taken:
        return desk(request, access, found, just="There is nothing to undo.")
    access.bench.tallies.clear()
    if len(taken) > 1:
        return desk(request, access, found, just=f"Taken back: {len(taken):,} answers.")
    # A second reading comes back from the queue, without the first answer.
    document = None if taken[0].kind == "second" else taken[0].document
    return desk(request, access, found, document=document, just=f"Taken back: {taken[0].label}.")


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
