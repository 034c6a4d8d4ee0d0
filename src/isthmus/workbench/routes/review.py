"""The review queue, answers, and random samples that measure the accuracy."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body
from pydantic import Field

from isthmus.choose import sample_margin
from isthmus.choose.guaranteed import STEPS
from isthmus.wording import LOOK
from isthmus.workbench.context import (
    PROJECT,
    RUN,
    Access,
    After,
    Fields,
    Limit,
    Name,
    Reviewer,
    Text,
    TextField,
    Token,
    Viewer,
    classes_of,
    known_classes,
    tally,
)
from isthmus.workbench.render import part, project_page
from isthmus.workspace.schema import Answer, Check, Document, Prediction, Run

api = APIRouter(prefix="/api")
pages = APIRouter(prefix="/projects/{project}", include_in_schema=False)
SAMPLE = 20  # documents that people read before the other labels can be accepted unread
SIZES = STEPS  # sizes of samples that the page offers: all that a next step recommends
LEAST_ANSWERED = 20  # answers below which the measured interval is wider than the expected one


# -- The queue


@api.post(RUN + "/queue", tags=["review"])
def next_documents(
    access: Reviewer, run: str, n: Annotated[int, Body(embed=True, ge=1, le=50)] = 1
) -> list[Prediction]:
    """Lease the next documents for ten minutes."""
    return access.workspace.queue.next(access.run(run).id, access.by, n)


@api.post(RUN + "/queue/skip", tags=["review"])
def skip(access: Reviewer, run: str, document: TextField) -> dict[str, int]:
    """Move a leased document behind all others."""
    return {"skipped": access.workspace.queue.skip(access.run(run).id, access.by, document)}


@api.delete(RUN + "/queue", tags=["review"])
def release(access: Reviewer, run: str) -> dict[str, int]:
    """Release all documents that you have leased."""
    return {"released": access.workspace.queue.release(access.run(run).id, access.by)}


@api.get(RUN + "/queue", tags=["review"])
def queue_counts(access: Viewer, run: str) -> dict[str, int]:
    """Count the documents of a run by their state in the queue."""
    return access.workspace.queue.counts(access.run(run).id)


# -- Answers


@api.post(RUN + "/answers", tags=["review"])
def answer(
    access: Reviewer, run: str, document: Annotated[Text, Body()], label: Annotated[Name, Body()], token: Token = None
) -> Answer:
    """Answer a document. A repeated request with the same token (new for each answer) adds nothing."""
    found = access.run(run)
    given = access.workspace.answers.give(document, label, by=access.by, run=found.id, token=token)
    if found.id in access.bench.tallies:
        access.bench.tallies[found.id].add(given)
    return given


@api.get(PROJECT + "/answers", tags=["review"])
def answers(access: Viewer, after: After = None, limit: Limit = 100) -> list[Answer]:
    """Return all answers of a project, oldest first, including undone answers."""
    return access.workspace.answers.list(access.id, after=after, limit=limit)


@api.post(PROJECT + "/answers/undo", tags=["review"])
def undo(access: Reviewer) -> list[Answer]:
    """Undo your latest decision; return its answers."""
    taken = access.workspace.answers.undo(by=access.by, project=access.id)
    access.forget_tallies()
    return taken


@api.get(PROJECT + "/agreement", tags=["review"])
def agreement(access: Viewer) -> dict[str, Any]:
    """Return how far people agree on documents that at least two of them answered."""
    return access.workspace.answers.agreement(access.id)


def desk_facts(access: Access, run: Run | None, document: str = "") -> dict[str, Any]:
    """Return what the page of the review shows: a document and the numbers above it.

    Parameters
    ----------
    access : Access
        Access to the project.
    run : Run or None
        Run whose queue is read.
    document : str, default=""
        Id of the document; the next one of the queue if empty.

    Returns
    -------
    dict[str, Any]
        Values for the template.
    """
    facts: dict[str, Any] = {"run": run, "shown": None, "may_teach": access.may("reviewer")}
    if run is None:
        return facts
    workspace, found = access.workspace, tally(access, run)
    if document:
        shown = workspace.runs.prediction(run.id, document)
    # Only reviewers lease documents; a viewer sees the first document without a lease.
    elif access.may("reviewer"):
        shown = next(iter(workspace.queue.next(run.id, access.by)), None)
    else:
        shown = next(iter(workspace.runs.predictions(run.id, limit=1, review=True)), None)
    facts |= {"shown": shown, "tally": found.shown_to(access.by)}
    if shown is not None:
        classes = known_classes(run, found.labels)
        codebook = workspace.runs.table(run.id, "codebook") or []
        facts |= {
            "classes": classes,
            "grades": access.bench.grades(run.id),
            "code": classes.index(shown.label) if shown.label in classes else -1,
            "near": workspace.documents.many(shown.near),
            "about": {row["class"]: row["description"] for row in codebook if row["description"]},
        }
    return facts


@pages.get("/review")
def review_page(access: Viewer, run: str = "", document: str = ""):
    """Show the next document of the queue, or a chosen one."""
    return project_page(access, "review", **desk_facts(access, access.run_or_latest(run), document))


@pages.get("/review/desk")
def desk(access: Viewer, run: str = "", document: str = ""):
    """Show the same as a part of the page, after an answer."""
    return part(access, "desk", **desk_facts(access, access.run_or_latest(run), document))


# -- Random samples


class Sample(Fields):
    """Size of a random sample; with a threshold, the sample contains only labels with at least this confidence."""

    size: Annotated[int, Field(ge=1, le=10_000)] = 100
    threshold: Annotated[float, Field(gt=0, le=1)] | None = None


@api.get(RUN + "/checks", tags=["check"])
def checks(access: Viewer, run: str) -> list[Check]:
    """List the random samples of a run, latest first."""
    return access.workspace.checks.list(access.run(run).id)


@api.post(RUN + "/checks", tags=["check"])
def draw(access: Reviewer, run: str, body: Sample) -> Check:
    """Draw a random sample."""
    return access.workspace.checks.draw(access.run(run).id, body.size, by=access.by, threshold=body.threshold)


@api.post(PROJECT + "/checks/{sample}/next", tags=["check"])
def next_of_sample(access: Reviewer, sample: str) -> Document | None:
    """Lease the next document of a sample, without its label."""
    return access.workspace.checks.next(access.check(sample)[0].id, access.by)


@api.post(PROJECT + "/checks/{sample}/answers", tags=["check"])
def answer_sample(
    access: Reviewer,
    sample: str,
    document: Annotated[Text, Body()],
    label: Annotated[Name, Body()],
    token: Token = None,
) -> dict[str, Any] | None:
    """Answer a document of a sample; return the estimate so far."""
    found, run = access.check(sample)
    access.workspace.checks.answer(found.id, document, label, by=access.by, token=token)
    # The answer changes the numbers above the queue.
    access.bench.tallies.pop(run.id, None)
    return access.workspace.checks.estimate(found.id)


@api.get(PROJECT + "/checks/{sample}/estimate", tags=["check"])
def estimate(access: Viewer, sample: str) -> dict[str, Any] | None:
    """Return the accuracy that a sample measures."""
    return access.workspace.checks.estimate(access.check(sample)[0].id)


@api.post(PROJECT + "/checks/{sample}/accept", tags=["check"])
def accept(access: Reviewer, sample: str) -> dict[str, int]:
    """Accept all labels above the threshold of a sample without reading them."""
    accepted = access.workspace.checks.accept(access.check(sample)[0].id, by=access.by)
    access.forget_tallies()
    return {"accepted": accepted}


def whole_samples(access: Access, run: Run | None) -> list[Check]:
    """Return the samples of a run that represent all its labels.

    Parameters
    ----------
    access : Access
        Access to the project.
    run : Run or None
        The run.

    Returns
    -------
    list[Check]
        The samples, latest first.
    """
    return [row for row in access.workspace.checks.list(run.id) if row.threshold is None] if run else []


def measured(access: Access, run: Run) -> dict[str, Any] | None:
    """Return the accuracy of a run by its largest answered sample.

    Parameters
    ----------
    access : Access
        Access to the project.
    run : Run
        The run.

    Returns
    -------
    dict or None
        The estimate; None below 20 answers.
    """
    found = max(whole_samples(access, run), key=lambda row: row.answered, default=None)
    if found is None or found.answered < LEAST_ANSWERED:
        return None
    return access.workspace.checks.estimate(found.id)


def sample_facts(access: Access, check: Check, run: Run) -> dict[str, Any]:
    """Return what the pages show about a sample.

    Parameters
    ----------
    access : Access
        Access to the project.
    check : Check
        The sample.
    run : Run
        Its run.

    Returns
    -------
    dict[str, Any]
        Values for the template.
    """
    estimate = access.workspace.checks.estimate(check.id)
    return {
        "run": run,
        "check": check,
        "shown": access.workspace.checks.next(check.id, access.by) if access.may("reviewer") else None,
        "classes": classes_of(access, run),
        "estimate": estimate,
        "wrong": estimate["answered"] - estimate["right"] if estimate else 0,
        "expected": (run.summary or {}).get("expected"),
        # The page for accepting labels shows no list of samples.
        "checks": whole_samples(access, run) if check.threshold is None else [],
    }


@pages.get("/check")
def check_page(access: Viewer, run: str = "", check: str = ""):
    """Show a sample: the next document, and the measured accuracy."""
    chosen, found = access.check(check) if check else (None, access.run_or_latest(run))
    samples = whole_samples(access, found)
    # Without a chosen sample, show the latest.
    chosen = chosen or next(iter(samples), None)
    facts = {"run": found, "check": None, "checks": samples}
    if chosen is not None and found is not None:
        facts |= sample_facts(access, chosen, found)
    # The page suggests the size that the next step of the run recommends.
    step = (access.workspace.runs.table(found.id, "hero") or {}).get("step") if found else None
    suggested = step["read"] if step and step["at_random"] else LOOK
    # Half the width of the interval in points, if 85% of the labels are right.
    margin = round(100 * sample_margin(suggested, accuracy=0.85))
    return project_page(access, "check", sizes=SIZES, suggested=suggested, margin=margin, **facts)


@pages.get("/check/{check}/desk")
def check_desk(access: Viewer, check: str):
    """Show the same as a part of the page, after an answer."""
    return part(access, "check_desk", fragment=True, **sample_facts(access, *access.check(check)))


@pages.get("/review/accept")
def accept_page(access: Viewer, run: str = "", threshold: float = 0.9, check: str = ""):
    """Show how many labels reach a confidence, and the sample that must be read before they are accepted."""
    found = access.run_or_latest(run)
    facts: dict[str, Any] = {"run": found, "threshold": threshold, "above": 0, "check": None}
    if check:
        sample, found = access.check(check)
        facts |= sample_facts(access, sample, found) | {"threshold": sample.threshold or threshold}
    if found is not None:
        facts["above"] = access.workspace.checks.above(found.id, facts["threshold"])
    return project_page(access, "accept", least=SAMPLE, **facts)
