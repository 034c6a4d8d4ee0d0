"""Runs: start, progress, results, comparison, labels of later texts, and exports."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Body, HTTPException, Query, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field, create_model

from isthmus._utils import spell_time
from isthmus.exceptions import IsthmusError
from isthmus.methods import METHODS
from isthmus.options import LabelOptions, Option
from isthmus.report.diagnosis import diagnosis_facts
from isthmus.workbench.context import (
    PROJECT,
    RUN,
    Access,
    After,
    BenchNow,
    Fields,
    Filter,
    Limit,
    NameField,
    Owner,
    Reviewer,
    SignedIn,
    Text,
    Viewer,
    answer_count,
    classes_of,
    forecast_of,
    people_names,
)
from isthmus.workbench.render import go, part, project_page
from isthmus.workbench.routes.review import measured
from isthmus.workspace.schema import DONE, Job, Prediction, Run

api = APIRouter(prefix="/api", tags=["runs"])
pages = APIRouter(prefix="/projects/{project}", include_in_schema=False)
MOST_VALUES = 200  # most values of an option that takes several
PAGE = 50  # documents on one page
_LEAST_ELAPSED = 3.0  # seconds of a step before its remaining time is estimated
# Tables of a run that the page of its result shows.
TABLES = (
    "hero", "cards", "groups", "map", "curve", "bins", "examples", "moved", "bridges", "shift", "why", "decision",
    "decision_columns", "decision_meanings", "steps", "sources", "settings", "versions",
)  # fmt: skip
_TABLE_FORMATS = ("csv", "xlsx", "jsonl", "parquet")
# Possible exports: title, description and formats.
EXPORTS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "labels": (
        "Labels",
        "Your table with label, confidence, needs_review, novel_group, review_reason and what people answered.",
        _TABLE_FORMATS,
    ),
    "report": ("Report", "One page that works offline, to mail or archive.", ("html",)),
    "model": ("Model", "For later files: isthmus label later.csv --model FILE.", ("isthmus",)),
    "answers": ("Answers", "Who gave which answer and when, including undone answers.", ("csv", "jsonl")),
    "codebook": (
        "Codebook",
        "Each class, its description and its number of documents; isthmus label takes it by --classes.",
        _TABLE_FORMATS,
    ),
    "audit": ("Audit log", "Every event of this project, in order.", ("csv", "jsonl")),
}


# -- Start


def field_of(spec: Option) -> Any:
    """Return an option of a run as a field of a request body.

    Parameters
    ----------
    spec : Option
        The option.

    Returns
    -------
    tuple
        Type and default.
    """
    if spec.many:
        return (Annotated[list[Text], Field(max_length=MOST_VALUES, description=spec.help)], spec.start)
    if spec.kind is str:
        return (Text, spec.start)
    # Limits and description come from the request, so that command and server agree.
    return (Annotated[spec.kind, Field(ge=spec.low, le=spec.high, description=spec.help)], spec.start)


RunOptions: Any = create_model(
    "RunOptions", __base__=Fields, **{spec.key: field_of(spec) for spec in LabelOptions.form()}
)


class NewRun(RunOptions):
    """Options of a new run; omitted ones are chosen automatically."""

    sources: Annotated[list[Text], Field(max_length=100)] | None = None
    target: Text | None = None
    extras: Annotated[list[Text], Field(max_length=100)] | None = None
    use_answers: bool = True
    use_words: bool = True
    vectors: bool = True
    name: Annotated[str, Field(max_length=200)] = ""


@api.get(PROJECT + "/runs")
def runs(access: Viewer, kind: Literal["label", "diagnose"] = "label") -> list[Run]:
    """List the runs of a project, latest first."""
    return access.workspace.runs.list(access.id, kind=kind)


@api.post(PROJECT + "/runs")
def start_run(access: Owner, body: NewRun) -> Run:
    """Start a run; request it repeatedly until its state is done."""
    # None means that the run should choose, so such options are left out.
    parameters = {key: value for key, value in body.model_dump().items() if value is not None and key != "name"}
    return access.workspace.runs.start(access.id, parameters, by=access.by, name=body.name)


@api.post(PROJECT + "/diagnoses")
def start_diagnosis(access: Owner) -> Run:
    """Compare the two collections before labelling."""
    return access.workspace.runs.start(access.id, by=access.by, kind="diagnose")


@api.get(RUN)
def run(access: Viewer, run: str) -> Run:
    """Return a run."""
    return access.run(run)


@api.patch(RUN)
def rename_run(access: Owner, run: str, name: NameField) -> Run:
    """Rename a run."""
    return access.workspace.runs.rename(access.run(run).id, name, by=access.by)


@api.post(RUN + "/teach")
def teach(access: Reviewer, run: str) -> Run:
    """Start a run that learns from all answers and words."""
    return access.workspace.runs.teach(access.run(run).id, by=access.by)


@api.get(RUN + "/job")
def job(access: Viewer, run: str) -> Job:
    """Return the job of a run with its progress."""
    return access.workspace.runs.job(access.run(run).id)


@api.post(RUN + "/cancel")
def cancel(access: Owner, run: str) -> Job:
    """Cancel a run."""
    # People know runs, so the addresses of jobs name the run.
    return access.workspace.jobs.cancel(job(access, run).id, by=access.by)


@api.post(RUN + "/resume")
def resume(access: Owner, run: str) -> Job:
    """Continue a stopped run."""
    return access.workspace.jobs.resume(job(access, run).id, by=access.by)


# -- Results


@api.get(RUN + "/tables/{table}")
def table(access: Viewer, run: str, table: str) -> Any:
    """Return a table of the report, such as ``hero``, cards, curve, bins, map, groups, moved, shift or decision."""
    found = access.workspace.runs.table(access.run(run).id, table)
    if found is None:
        raise HTTPException(404, "The run has no such table.")
    return found


@api.get(RUN + "/predictions")
def predictions(
    access: Viewer,
    run: str,
    after: After = None,
    limit: Limit = 50,
    label: Filter = None,
    review: bool | None = None,
    search: Filter = None,
    order: Literal["position", "confidence"] = "position",
) -> list[Prediction]:
    """Return one page of a run's documents with their labels."""
    return access.workspace.runs.predictions(
        access.run(run).id, after=after, limit=limit, label=label, review=review, search=search, order=order
    )


class LabelledText(BaseModel):
    """The label of one text, its confidence, and whether it needs review."""

    label: str
    confidence: float
    needs_review: bool
    review_reason: str
    novel_group: str


class LabelledTexts(BaseModel):
    """Labels of texts, in the order of the texts."""

    run: str
    project: str
    labels: list[LabelledText]


@api.post("/label")
def label_texts(
    bench: BenchNow,
    person: SignedIn,
    run: Annotated[Text, Body()],
    texts: Annotated[list[Annotated[str, Field(max_length=20_000)]], Body(min_length=1, max_length=100)],
) -> LabelledTexts:
    """Label texts with a finished run, without storing them.

    This needs the role reviewer in the run's project. The first call loads the saved model; later ones take
    milliseconds.
    """
    # The address names no project, so the role is checked in the run's project.
    project = bench.workspace.runs.get(run).project
    seen = bench.enter_project(person, project)
    if seen is None:
        raise HTTPException(404, "There is no such run here.")
    Access(bench, seen[0], person, seen[1]).require("reviewer")
    columns, names = bench.model(run).label_new(texts).columns(), LabelledText.model_fields
    rows = zip(*(columns[name] for name in names), strict=True)
    labels = [LabelledText(**dict(zip(names, row, strict=True)) | {"label": str(row[0])}) for row in rows]
    return LabelledTexts(run=run, project=project, labels=labels)


@api.get(PROJECT + "/compare")
def compare(access: Viewer, a: str, b: str) -> dict[str, Any]:
    """Compare two runs: how many labels changed, and from which class to which."""
    return access.workspace.compare.of(access.run(a).id, access.run(b).id)


@api.get(PROJECT + "/compare/flips")
def flips(
    access: Viewer,
    a: str,
    b: str,
    before: Filter = None,
    towards: Filter = None,
    after: After = None,
    limit: Limit = 50,
) -> list[dict[str, Any]]:
    """Return documents whose label changed between two runs."""
    # Both runs must belong to this project.
    first, second = access.run(a), access.run(b)
    return access.workspace.compare.flips(first.id, second.id, old=before, new=towards, after=after, limit=limit)


@api.get(RUN + "/forecast")
def forecast(access: Viewer, run: str, read: Annotated[int, Query(ge=1, le=2_000)] = 50) -> dict[str, Any] | None:
    """Forecast the effect of more answers: documents to review now and then, and the share of right labels then.

    The result is null if the run has no expected accuracy.
    """
    return forecast_of(access, access.run(run), read)


# -- Exports


class NewExport(Fields):
    """Run, kind and format of an export."""

    run: Text
    kind: Text = "labels"
    format: Text = "csv"
    add: list[Text] = []


@api.post(PROJECT + "/exports", tags=["export"], response_class=Response)
def export(access: Reviewer, body: NewExport) -> Response:
    """Download labels (csv, xlsx, jsonl, parquet), report (html), model (isthmus), codebook, answers or audit log."""
    if body.kind not in EXPORTS or body.format not in EXPORTS[body.kind][2]:
        raise HTTPException(422, "There is no such export; choose one from the page.")
    exports = access.workspace.exports
    made = exports.make(
        access.id, body.kind, by=access.by, run=access.run(body.run).id, ending=f".{body.format}", add=body.add
    )
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", made.name).strip(".-") or f"{body.kind}.{body.format}"
    return FileResponse(
        exports.path(made.id),
        media_type="application/octet-stream",
        # Browsers without RFC 5987 use the plain name, all others the full one.
        headers={"content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(made.name)}"},
    )


# -- Pages


@pages.get("/runs")
def runs_page(access: Viewer):
    """Show the runs of a project, with a form for a new one."""
    workspace = access.workspace
    ready = [row for row in workspace.collections.list(access.id) if row.state == "ready"]
    by_kind = {kind: [row for row in ready if row.kind == kind] for kind in ("source", "target", "extra")}
    return project_page(
        access,
        "runs",
        runs=runs(access),
        ready=by_kind,
        methods=[{"name": recipe.name, "about": recipe.summary} for recipe in METHODS.values()],
        options=[spec for spec in LabelOptions.form() if spec.name != "method"],
        answers=answer_count(access),
        words=len(workspace.words.list(access.id)),
    )


@pages.get("/runs/{run}")
def run_page(access: Viewer, run: str):
    """Show the result of a run, or its progress."""
    found = access.run(run)
    if found.kind != "label":
        return go(access.request, f"/projects/{access.id}/diagnosis")
    if found.state != DONE:
        return project_page(access, "run", **progress_facts(access, found))
    # A missing table becomes None.
    tables = dict.fromkeys(TABLES) | access.workspace.runs.tables(found.id, list(TABLES))
    return project_page(access, "run", run=found, measured=measured(access, found), **tables)


def progress_facts(access: Access, run: Run) -> dict[str, Any]:
    """Return what the page shows about a run that is not done.

    Parameters
    ----------
    access : Access
        Access to the project.
    run : Run
        The run.

    Returns
    -------
    dict[str, Any]
        ``run``, ``live``, ``phase``, ``share``, ``detail`` and ``left``.
    """
    job = access.workspace.runs.job(run.id)
    progress = job.progress or {}
    done, total, phase = progress.get("done"), progress.get("total"), progress.get("phase") or "Starting …"
    detail, left = f"{done} of {total}" if total else "", time_left(progress, datetime.now(UTC))
    if run.state == "queued":
        phase = "Waiting for earlier jobs …"
    if job.cancel:
        detail, left = "It will stop at its next step.", ""
    share = min(1.0, done / total) if done is not None and total else None
    live = run.state in ("queued", "running")
    return {"run": run, "live": live, "phase": phase, "share": share, "detail": detail, "left": left}


def time_left(progress: dict[str, Any], now: datetime) -> str:
    """Return an estimate of the remaining time of a step.

    Parameters
    ----------
    progress : dict
        Progress of the job.
    now : datetime
        Present time.

    Returns
    -------
    str
        A phrase, or "" without an estimate.
    """
    done, total, since = progress.get("done"), progress.get("total"), progress.get("since")
    if not done or not total or not since:
        return ""
    elapsed = (now - datetime.fromisoformat(since)).total_seconds()
    # The first seconds of a step include its preparation.
    if elapsed < _LEAST_ELAPSED:
        return ""
    return f"about {spell_time(elapsed * max(0, total - done) / done)} left in this step"


@pages.get("/runs/{run}/progress")
def progress(access: Viewer, run: str):
    """Show the progress of a run; a finished one is another page, so the whole page loads again."""
    found = access.run(run)
    if found.state == DONE:
        return Response(headers={"HX-Refresh": "true"})
    return part(access, "progress", fragment=True, **progress_facts(access, found))


@pages.get("/documents")
def documents_page(
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
    """Show documents with their labels."""
    found = access.run_or_latest(run)
    if found is None:
        return project_page(access, "documents", run=None)
    if row is not None:  # marks on the map number documents from 1
        after = max(-1, row - 2)
    asked = {"run": found.id, "q": q, "label": label, "show": show, "group": group, "order": order}
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
    return project_page(
        access,
        "documents",
        run=found,
        rows=rows,
        asked=asked,
        classes=classes_of(access, found),
        next_address=next_address(asked),
        after=rows[-1].position if len(rows) == PAGE else None,
    )


def next_address(asked: dict[str, str]) -> str:
    """Return the beginning of the address of the next page.

    Parameters
    ----------
    asked : dict[str, str]
        Query of this page.

    Returns
    -------
    str
        Query to which the position is appended.
    """
    return "?" + urlencode({key: value for key, value in asked.items() if value}, errors="replace") + "&"


@pages.get("/diagnosis")
def diagnosis_page(access: Viewer):
    """Show the latest diagnosis."""
    run = next(iter(access.workspace.runs.list(access.id, kind="diagnose")), None)
    kinds = {row.kind for row in access.workspace.collections.list(access.id) if row.state == "ready"}
    facts: dict[str, Any] = {"run": run, "live": False, "ready": {"source", "target"} <= kinds}
    if run is not None and run.state == DONE:
        kept = access.workspace.runs.table(run.id, "diagnosis")
        facts |= diagnosis_facts(SimpleNamespace(settings={}, **kept), None, None)
    elif run is not None:
        facts |= progress_facts(access, run)
    return project_page(access, "diagnosis_page", **facts)


@pages.get("/compare")
def compare_page(
    access: Viewer, a: str = "", b: str = "", before: str = "", towards: str = "", after: int | None = None
):
    """Show which labels changed between two runs."""
    done = [row for row in runs(access) if row.state == DONE]
    facts: dict[str, Any] = {"runs": done, "trouble": ""}
    if len(done) >= 2:
        # The latest run is compared with the one before it.
        second = access.run(b) if b else done[0]
        first = access.run(a) if a else next(row for row in done if row.id != second.id)
        asked = {"a": first.id, "b": second.id, "before": before, "towards": towards}
        facts |= asked | {"a": first, "b": second, "next_address": next_address(asked)}
        try:
            found = access.workspace.compare.of(first.id, second.id)
            rows = flips(access, first.id, second.id, before or None, towards or None, after, PAGE)
            heroes = [access.workspace.runs.table(row.id, "hero") for row in (first, second)]
            facts |= {"found": found, "table": flow_table(found), "heroes": heroes, "flips": rows}
            facts["after"] = rows[-1]["position"] if len(rows) == PAGE else None
        except IsthmusError as error:
            facts["trouble"] = str(error)
    return project_page(access, "compare", **facts)


def flow_table(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the table of changed labels: a row per class before, a column per class after.

    Parameters
    ----------
    found : dict
        Comparison of two runs.

    Returns
    -------
    list[dict]
        Dicts with ``label``, ``cells`` and ``kept``.
    """
    counts = {(row["old"], row["new"]): row["documents"] for row in found["flips"]}
    most = max(counts.values(), default=1)
    return [
        {
            "label": row["class"],
            "cells": [
                {
                    "label": other["class"],
                    "same": row["class"] == other["class"],
                    "n": (n := counts.get((row["class"], other["class"]), 0)),
                    # Three tints, from rare to frequent.
                    "heat": 1 + min(2, 3 * n // (most + 1)) if n else 0,
                }
                for other in found["classes"]
            ],
            "kept": row["before"] - row["lost"],
        }
        for row in found["classes"]
    ]


@pages.get("/export")
def export_page(access: Viewer, run: str = ""):
    """Show the possible exports, and those made so far."""
    return project_page(
        access,
        "export",
        run=access.run_or_latest(run),
        runs=[row for row in runs(access) if row.state == DONE],
        kinds=EXPORTS,
        exports=access.workspace.exports.list(access.id)[:20],
        names=people_names(access),
    )
