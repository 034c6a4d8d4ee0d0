"""Pages for reading documents: the review queue, random samples, and accepting many labels at once."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form

from isthmus.workbench import api, service
from isthmus.workbench.context import Access, Field, Reviewer, Viewer, go_to
from isthmus.workbench.pages import chosen_run, classes_of, descriptions, known_classes, part, project_page
from isthmus.workbench.service import answer_sample, find_check, find_run, queue_run, shown_tally, tally, word_grades

router = APIRouter(prefix="/projects/{project}", include_in_schema=False)
SAMPLE = 20  # documents that people read before the other labels can be accepted unread


def desk_facts(access: Access, run: Any | None, document: str | None = None, just: str = "") -> dict[str, Any]:
    """Return what the review page shows: a requested document, or the next one of the queue.

    Parameters
    ----------
    access : Access
        The project and the person.
    run : Any or None
        The run, or None if there is none.
    document : str, optional
        Id of a document; the next one if omitted.
    just : str, default=""
        Sentence about the preceding action.

    Returns
    -------
    dict[str, Any]
        Values for the template.
    """
    facts: dict[str, Any] = {"run": run, "shown": None, "just": just, "may_teach": False}
    if run is None:
        return facts
    workspace = access.workspace
    if document:
        shown = workspace.runs.prediction(run.id, document)
    # Only reviewers lease documents; a viewer sees the first document without a lease.
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
    """Render only the part of the review page with the document.

    Parameters
    ----------
    access : Access
        The project and the person.
    run : Any or None
        The run, or None if there is none.
    **wanted : Any
        Arguments of :func:`desk_facts`.

    Returns
    -------
    HTMLResponse
        The part.
    """
    return part(access, "desk", **desk_facts(access, run, **wanted))


@router.get("/review")
def review(access: Viewer, run: str = "", document: str = ""):
    """Show the review page."""
    found = chosen_run(access, run)
    return project_page(access, "review", **desk_facts(access, found, document or None))


@router.get("/review/desk")
def show(access: Viewer, run: str = "", document: str = ""):
    """Return the part of the review page with the document."""
    return desk(access, chosen_run(access, run), document=document or None)


@router.post("/review/answers")
def answer(
    access: Reviewer, document: Field = "", run: Field = "", label: Field = "", other: Field = "", token: Field = ""
):
    """Answer the shown document and show the next one."""
    given = service.give_answer(access, run, document, label or other, token)
    return desk(access, queue_run(access, run), just=f"Answered: {given.label}.")


@router.post("/review/skip")
def skip(access: Reviewer, document: Field = "", run: Field = ""):
    """Skip the shown document and show the next one."""
    found = queue_run(access, run)
    access.workspace.queue.skip(found.id, access.by, document)
    return desk(access, found, just="Left for later.")


@router.post("/review/undo")
def undo(access: Reviewer, run: Field = ""):
    """Undo the person's latest answer and show its document."""
    found = queue_run(access, run)
    taken = api.undo(access)
    if not taken:
        return desk(access, found, just="There is nothing to undo.")
    if len(taken) > 1:
        return desk(access, found, just=f"Taken back: {len(taken):,} answers.")
    # After a second reading, the queue returns the document without the first answer.
    document = None if taken[0].kind == "second" else taken[0].document
    return desk(access, found, document=document, just=f"Taken back: {taken[0].label}.")


@router.get("/review/accept")
def accept_page(access: Viewer, run: str = "", threshold: float = 0.9, check: str = ""):
    """Show how to accept many labels: choose a threshold, read a sample, accept the rest."""
    found = chosen_run(access, run)
    facts: dict[str, Any] = {"run": found, "threshold": threshold, "above": 0, "check": None}
    if check:
        sample, found = find_check(access, check)
        facts |= sample_facts(access, sample, found) | {"threshold": sample.threshold or threshold}
    if found is not None:
        facts["above"] = access.workspace.checks.above(found.id, facts["threshold"])
    return project_page(access, "accept", **facts)


@router.post("/review/accept/sample")
def accept_sample(access: Reviewer, run: Field = "", threshold: Annotated[float, Form()] = 0.9):
    """Draw the sample that must be read before labels are accepted."""
    found = find_run(access, run)
    sample = access.workspace.checks.draw(found.id, SAMPLE, by=access.by, threshold=threshold)
    return go_to(access, "review", "accept", query=f"?check={sample.id}")


@router.post("/review/accept")
def accept(access: Reviewer, check: Field = ""):
    """Accept all labels above the sample's threshold."""
    api.accept(access, check)
    return go_to(access, "review")


# -- Check: a blind random sample estimates the accuracy of all labels


# Sizes of samples that the page offers.
SIZES = (20, 50, 100, 200, 400)
LEAST_ANSWERED = 20  # answers below which the measured interval is wider than the expected one
# Suggested size, and half the width of its interval in points if 85% of the labels are right.
_SUGGESTED, _MARGIN = 100, 7


def whole_samples(access: Access, run: Any) -> list[Any]:
    """Return the samples of all documents of a run, without those above a threshold.

    Parameters
    ----------
    access : Access
        The project.
    run : Any
        The run.

    Returns
    -------
    list[Any]
        The samples, latest first.
    """
    return [row for row in access.workspace.checks.list(run.id) if row.threshold is None]


def measured(access: Access, run: Any) -> dict[str, Any] | None:
    """Return the estimate of the sample with the most answers.

    Parameters
    ----------
    access : Access
        The project.
    run : Any
        The run.

    Returns
    -------
    dict[str, Any] or None
        The estimate, or None if no sample has enough answers.
    """
    found = max(whole_samples(access, run), key=lambda row: row.answered, default=None)
    if found is None or found.answered < LEAST_ANSWERED:
        return None
    return access.workspace.checks.estimate(found.id)


def sample_facts(access: Access, check: Any, run: Any, just: str = "") -> dict[str, Any]:
    """Return the next document of a sample, without the run's label, and the estimate so far.

    Parameters
    ----------
    access : Access
        The project and the person.
    check : Any
        The sample.
    run : Any
        The run.
    just : str, default=""
        Sentence about the preceding action.

    Returns
    -------
    dict[str, Any]
        Values for the template.
    """
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


@router.get("/check")
def checks(access: Viewer, run: str = "", check: str = ""):
    """Show the samples of a run."""
    chosen, found = find_check(access, check) if check else (None, chosen_run(access, run))
    samples = whole_samples(access, found) if found else []
    # Without a chosen sample, show the latest.
    chosen = chosen or next(iter(samples), None)
    facts: dict[str, Any] = {"run": found, "check": None, "checks": samples}
    if chosen is not None:
        facts |= sample_facts(access, chosen, found)
    return project_page(access, "check", sizes=SIZES, suggested=_SUGGESTED, margin=_MARGIN, **facts)


@router.post("/check")
def draw(access: Reviewer, run: Field = "", size: Annotated[int, Form()] = _SUGGESTED):
    """Draw a sample."""
    drawn = access.workspace.checks.draw(find_run(access, run).id, size, by=access.by)
    return go_to(access, "check", query=f"?check={drawn.id}")


@router.get("/check/{check}/desk")
def show_sample(access: Viewer, check: str):
    """Return the part of the page with the next document of a sample."""
    found, run = find_check(access, check)
    return part(access, "check_desk", **sample_facts(access, found, run))


@router.post("/check/{check}/answers")
def answer_check(
    access: Reviewer, check: str, document: Field = "", label: Field = "", other: Field = "", token: Field = ""
):
    """Answer the shown document of a sample and show the next one."""
    # A new class comes from the text field, a known one from its button.
    label = label or other
    found, run = answer_sample(access, check, document, label, token)
    facts = sample_facts(access, found, run, just=f"Answered: {label}.")
    # The check page also shows a list of samples; the page for accepting labels does not.
    checks = whole_samples(access, run) if found.threshold is None else []
    return part(access, "check_desk", fragment=True, checks=checks, **facts)
