"""Pages for runs: start, progress, result, documents, comparison, exports and diagnosis."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, HTTPException, Request, Response

from isthmus._utils import spell_time
from isthmus.exceptions import IsthmusError
from isthmus.methods import METHODS
from isthmus.options import LabelOptions
from isthmus.report.diagnosis import diagnosis_facts
from isthmus.workbench import api
from isthmus.workbench.context import Access, Field, Owner, Reviewer, Viewer, go_to, wants_part
from isthmus.workbench.pages import (
    answer_count,
    chosen_run,
    classes_of,
    latest_run,
    part,
    people_names,
    project_page,
)
from isthmus.workbench.pages.review import measured
from isthmus.workbench.service import EXPORTS, find_run, make_export

router = APIRouter(prefix="/projects/{project}", include_in_schema=False)
Ids = Annotated[list[str] | None, Form()]
ShortField = Annotated[str, Form(max_length=200)]
# Documents on one page.
PAGE = 50
_LEAST_ELAPSED = 3.0  # seconds of a step before its remaining time is estimated
# Tables of a run that the page of its result shows.
TABLES = (
    "hero", "cards", "groups", "map", "curve", "bins", "examples", "moved", "bridges", "shift", "why", "decision",
    "decision_columns", "decision_meanings", "steps", "sources", "settings", "versions",
)  # fmt: skip


@router.get("/runs")
def runs(access: Viewer):
    """Show the runs and the form for a new one."""
    workspace = access.workspace
    ready = [row for row in workspace.collections.list(access.project.id) if row.state == "ready"]
    by_kind = {kind: [row for row in ready if row.kind == kind] for kind in ("source", "target", "extra")}
    return project_page(
        access,
        "runs",
        runs=workspace.runs.list(access.project.id),
        ready=bool(by_kind["target"]),
        sources=by_kind["source"],
        targets=by_kind["target"][::-1],
        extras=by_kind["extra"],
        methods=[{"name": recipe.name, "about": recipe.summary} for recipe in METHODS.values()],
        options=[spec for spec in LabelOptions.form() if spec.name != "method"],
        answers=answer_count(access),
        words=len(workspace.words.list(access.project.id)),
    )


async def read_options(request: Request) -> dict[str, Any]:
    """Return the options of a run that the form sent.

    Parameters
    ----------
    request : Request
        Request of the browser or client.

    Returns
    -------
    dict[str, Any]
        Values by option, without empty ones.
    """
    form = await request.form()
    sent = {spec.key: (spec, form.get(spec.key)) for spec in LabelOptions.form()}
    return {key: spec.read(text) for key, (spec, text) in sent.items() if isinstance(text, str) and text.strip()}


@router.post("/runs")
def start(
    access: Owner,
    options: Annotated[dict[str, Any], Depends(read_options)],
    target: Field = "",
    source: Ids = None,
    extra: Ids = None,
    answers: Field = "",
    words: Field = "",
    vectors: Field = "",
    name: Field = "",
):
    """Start a run."""
    parameters: dict[str, Any] = {
        **options,
        "use_answers": bool(answers),
        "use_words": bool(words),
        "vectors": bool(vectors),
        # An empty form means no extra texts, not all of them.
        "extras": extra or [],
    }
    # With named classes, no source is a choice; otherwise it means all sources.
    if source or options.get("classes"):
        parameters["sources"] = source or []
    if target:
        parameters["target"] = target
    run = access.workspace.runs.start(access.project.id, parameters, by=access.by, name=name)
    return go_to(access, "runs", run.id)


@router.post("/runs/teach")
def teach(access: Reviewer):
    """Start a run that learns from all answers."""
    run = latest_run(access)
    if run is None:
        raise HTTPException(422, "There is no finished run to teach yet.")
    taught = access.workspace.runs.teach(run.id, by=access.by)
    return go_to(access, "runs", taught.id)


@router.get("/runs/{run}")
def result(access: Viewer, run: str):
    """Show the result of a run, or its progress."""
    found = find_run(access, run)
    if found.kind != "label":
        return go_to(access, "diagnosis")
    if found.state != "done":
        return project_page(access, "run", **progress_facts(access, found))
    # A missing table becomes None.
    tables = dict.fromkeys(TABLES) | access.workspace.runs.tables(found.id, list(TABLES))
    return project_page(access, "run", run=found, measured=measured(access, found), **tables)


def progress_facts(access: Access, run: Any) -> dict[str, Any]:
    """Return the progress of a run as words and as a share.

    Parameters
    ----------
    access : Access
        The project.
    run : Any
        The run.

    Returns
    -------
    dict[str, Any]
        Values for the template.
    """
    job = access.workspace.runs.job(run.id)
    progress = job.progress or {}
    done, total = progress.get("done"), progress.get("total")
    phase = progress.get("phase") or "Starting …"
    detail = f"{done} of {total}" if total else ""
    left = time_left(progress, datetime.now(UTC))
    if run.state == "queued":
        phase = "Waiting for earlier jobs …"
    if job.cancel:
        detail = "It will stop at its next step."
        left = ""
    share = min(1.0, done / total) if done is not None and total else None
    live = run.state in ("queued", "running")
    return {"run": run, "live": live, "phase": phase, "share": share, "detail": detail, "left": left}


def time_left(progress: dict[str, Any], now: datetime) -> str:
    """Estimate how long the present step will take at its average speed.

    Parameters
    ----------
    progress : dict[str, Any]
        Progress of the job.
    now : datetime
        Present time.

    Returns
    -------
    str
        Text such as "about 2 minutes left in this step", or "" if it is too early for an estimate.
    """
    done, total, since = progress.get("done"), progress.get("total"), progress.get("since")
    if not done or not total or not since:
        return ""
    elapsed = (now - datetime.fromisoformat(since)).total_seconds()
    seconds = elapsed * max(0, total - done) / done
    # The first seconds of a step include its preparation.
    if elapsed < _LEAST_ELAPSED:
        return ""
    return f"about {spell_time(seconds)} left in this step"


@router.get("/runs/{run}/progress")
def progress(access: Viewer, run: str):
    """Return the progress of a run; the page requests this repeatedly."""
    found = find_run(access, run)
    if found.state == "done":
        # The result is another page, so the whole page loads again.
        return Response(status_code=200, headers={"HX-Refresh": "true"})
    return part(access, "progress", fragment=True, **progress_facts(access, found))


@router.post("/runs/{run}/cancel")
def cancel(request: Request, access: Owner, run: str):
    """Cancel a run."""
    api.cancel(access, run)
    if wants_part(request):
        facts = progress_facts(access, find_run(access, run))
        return part(access, "progress", fragment=True, **facts)
    return go_to(access, "runs", run)


@router.post("/runs/{run}/resume")
def resume(access: Owner, run: str):
    """Continue a stopped run."""
    api.resume(access, run)
    return go_to(access, "runs", run)


@router.get("/documents")
def documents(
    access: Viewer,
    run: str = "",
    q: str = "",
    label: str = "",
    show: str = "",
    order: str = "position",
    group: str = "",
    after: int | None = None,
    row: int | None = None,
):
    """Show the documents of a run with their labels."""
    found = chosen_run(access, run)
    if found is None:
        return project_page(access, "documents", run=None)
    if row is not None:  # marks on the map number documents from 1
        after = max(-1, row - 2)
    rows = access.workspace.runs.predictions(
        found.id,
        after=after,
        limit=PAGE,
        label=label or None,
        review=True if show == "review" else None,
        group=group or None,
        search=q if q.strip() else None,
        order="confidence" if order == "confidence" else "position",
    )
    kept = {"run": found.id, "q": q, "label": label, "show": show, "group": group, "order": order}
    return project_page(
        access,
        "documents",
        run=found,
        rows=rows,
        query=q,
        label=label,
        show=show,
        order=order,
        classes=classes_of(access, found),
        next_address=next_address(kept),
        after=rows[-1].position if len(rows) == PAGE else None,
    )


def next_address(kept: dict[str, str]) -> str:
    """Return the query of the next page.

    Parameters
    ----------
    kept : dict[str, str]
        Parameters of the present page.

    Returns
    -------
    str
        Query that ends with "&".
    """
    return "?" + urlencode({key: value for key, value in kept.items() if value}, errors="replace") + "&"


def done_runs(access: Access) -> list[Any]:
    """Return the finished runs of the project, latest first.

    Parameters
    ----------
    access : Access
        The project.

    Returns
    -------
    list[Any]
        The runs.
    """
    return [row for row in access.workspace.runs.list(access.project.id) if row.state == "done"]


@router.get("/diagnosis")
def diagnosis(access: Viewer):
    """Show the latest diagnosis or its progress."""
    runs = access.workspace.runs.list(access.project.id, kind="diagnose")
    run = runs[0] if runs else None
    kinds = {row.kind for row in access.workspace.collections.list(access.project.id) if row.state == "ready"}
    facts: dict[str, Any] = {"run": run, "live": False, "ready": {"source", "target"} <= kinds}
    if run is not None and run.state == "done":
        kept = access.workspace.runs.table(run.id, "diagnosis")
        facts |= diagnosis_facts(SimpleNamespace(settings={}, **kept), None, None)
    elif run is not None:
        facts |= progress_facts(access, run)
    return project_page(access, "diagnosis_page", **facts)


@router.post("/diagnosis")
def diagnose(access: Owner):
    """Start a diagnosis."""
    access.workspace.runs.start(access.project.id, by=access.by, kind="diagnose")
    return go_to(access, "diagnosis")


# -- Comparison of two runs: which labels changed, and from which class to which


def flow_table(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Tabulate labels of the earlier run against labels of the later one, with a tint for large numbers.

    Parameters
    ----------
    found : dict[str, Any]
        Result of :meth:`Comparisons.of`.

    Returns
    -------
    list[dict[str, Any]]
        One dict per row of the table.
    """
    flows = {(row["old"], row["new"]): row["documents"] for row in found["flips"]}
    most = max(flows.values(), default=1)
    return [
        {
            "label": row["class"],
            "cells": [
                {
                    "label": other["class"],
                    "same": row["class"] == other["class"],
                    "n": (n := flows.get((row["class"], other["class"]), 0)),
                    # Three tints, from rare to frequent.
                    "heat": 1 + min(2, 3 * n // (most + 1)) if n else 0,
                }
                for other in found["classes"]
            ],
            "kept": row["before"] - row["lost"],
        }
        for row in found["classes"]
    ]


@router.get("/compare")
def compare(
    access: Viewer, a: str = "", b: str = "", before: str = "", after_label: str = "", after: int | None = None
):
    """Show the changes between two runs."""
    runs = done_runs(access)
    facts: dict[str, Any] = {"runs": runs, "trouble": ""}
    if len(runs) >= 2:
        # The latest run is compared with the one before it.
        second = find_run(access, b) if b else runs[0]
        first = find_run(access, a) if a else next(row for row in runs if row.id != second.id)
        facts |= {"a": first, "b": second, "before": before, "after_label": after_label}
        try:
            facts |= compared(access, first, second, before, after_label, after)
        except IsthmusError as error:
            facts["trouble"] = str(error)
    return project_page(access, "compare", **facts)


def compared(access: Any, a: Any, b: Any, before: str, after_label: str, after: int | None) -> dict[str, Any]:
    """Return all changes between two runs, and one page of the changed documents.

    Parameters
    ----------
    access : Any
        The project.
    a : Any
        The earlier run.
    b : Any
        The later run.
    before : str
        Only documents with this label in the earlier run; "" for all.
    after_label : str
        Only documents with this label in the later run; "" for all.
    after : int or None
        Position of the last document on the previous page.

    Returns
    -------
    dict[str, Any]
        Values for the template.
    """
    workspace = access.workspace
    found = workspace.compare.of(a.id, b.id)
    flips = workspace.compare.flips(a.id, b.id, old=before or None, new=after_label or None, after=after, limit=PAGE)
    kept = {"a": a.id, "b": b.id, "before": before, "after_label": after_label}
    return {
        "found": found,
        "table": flow_table(found),
        "hero_a": workspace.runs.table(a.id, "hero"),
        "hero_b": workspace.runs.table(b.id, "hero"),
        "flips": flips,
        "next_address": next_address(kept),
        "after": flips[-1]["position"] if len(flips) == PAGE else None,
    }


# -- Export: labels, report, model, answers, audit log


@router.get("/export")
def exports(access: Viewer, run: str = ""):
    """Show the kinds of exports and the latest ones."""
    found = chosen_run(access, run)
    return project_page(
        access,
        "export",
        run=found,
        runs=done_runs(access),
        kinds=EXPORTS,
        exports=access.workspace.exports.list(access.project.id)[:20],
        names=people_names(access),
    )


@router.post("/export")
def export(
    access: Reviewer,
    run: ShortField = "",
    kind: ShortField = "labels",
    format: ShortField = "csv",
    add: ShortField = "",
):
    """Write an export and download it."""
    return make_export(access, run, kind, format, [add] if add else [])
