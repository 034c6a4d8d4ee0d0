"""Exports: files that leave the workspace. Each is written once, stored under its id and recorded in the audit log."""

from __future__ import annotations

import builtins
import hashlib
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from isthmus.corpus import with_columns, write_records, write_rows
from isthmus.corpus.sheets import Layout
from isthmus.exceptions import DataError, UsageError
from isthmus.options import ADDED
from isthmus.workspace.collections import Collections
from isthmus.workspace.context import Context, Part, choose_one, find, note_event
from isthmus.workspace.database import new_id
from isthmus.workspace.jobs import Jobs
from isthmus.workspace.runs import read_table
from isthmus.workspace.schema import (
    ANSWERS,
    COLLECTIONS,
    DOCUMENTS,
    DONE,
    EVENTS,
    EXPORTS,
    HOW_DRAWN,
    OF_GROUP,
    PEOPLE,
    PREDICTIONS,
    Export,
    Job,
    Project,
    Run,
)

# Endings that an export can have, by its kind; the first is the default.
TABLES = (".csv", ".xlsx", ".jsonl", ".parquet")
KINDS: dict[str, tuple[str, ...]] = {
    "labels": TABLES,
    "answers": TABLES,
    "codebook": TABLES,
    "audit": (".jsonl", ".csv"),
    "report": (".html",),
    "model": (".isthmus",),
}
LABELLED = (*ADDED, "decided_by", "decided_at")  # columns that an export of labels adds
# Kinds of exports that need a run; the others contain the whole project.
_OF_A_RUN = ("labels", "codebook", "report", "model")


class Exports(Part):
    """Write and list exports, and load the model of a run."""

    def __init__(self, context: Context, collections: Collections, jobs: Jobs):
        super().__init__(context)
        self._context = context
        self._collections = collections
        self._jobs = jobs

    def start(self, project: str, kind: str, *, by: str, run: str | None = None, ending: str = "") -> Job:
        """Queue a job that makes an export; the job's result contains its id as ``export``.

        Parameters
        ----------
        project : str
            Id of the project.
        kind : str
            "labels", "answers", "codebook", "audit", "report" or "model".
        by : str
            Id of the person who makes the change.
        run : str, optional
            Id of the run.
        ending : str, default=""
            Ending of the file, such as ".xlsx"; the kind's first one if omitted.

        Returns
        -------
        Job
            The job.

        Raises
        ------
        UsageError
            If the kind or the ending is unknown, or the run is not done.
        """
        # Refuse a wrong request now, instead of in the worker.
        ending, _ = self._check(project, kind, run, ending)
        payload = {"kind": kind, "run": run, "ending": ending, "by": by}
        return self._jobs.enqueue("export", payload, by=by, project=project, run=run)

    def make(
        self, project: str, kind: str, *, by: str, run: str | None = None, ending: str = "", add: Sequence[str] = ()
    ) -> Export:
        """Write an export.

        An export of labels is the target's table with added columns: the current label (a person's, else the run's),
        its
        confidence, whether it needs review, and who decided when. The option ``--classes`` of the command reads the
        codebook.

        Parameters
        ----------
        project : str
            Id of the project.
        kind : str
            "labels", "codebook", "report" and "model" of a run, or "answers" and "audit" of the project.
        by : str
            Id of the person who makes the change.
        run : str, optional
            Id of the run.
        ending : str, default=""
            ".csv", ".xlsx", ".jsonl" or ".parquet" for tables; the kind's first one if omitted.
        add : Sequence[str], default=()
            Names of the added columns; all of them if empty.

        Returns
        -------
        Export
            The new export.

        Raises
        ------
        UsageError
            If the kind, the ending or a column is unknown, or the run is not done.
        """
        ending, name = self._check(project, kind, run, ending)
        for column in add:
            choose_one(column, LABELLED, "column of labels")
        write: dict[str, Callable[[Path, str, Any], None]] = {
            "labels": partial(self._write_labels, add=add),
            "answers": self._write_answers,
            "codebook": self._write_codebook,
            "audit": self._write_audit,
            "report": self._write_report,
            "model": self._write_model,
        }
        export = new_id()
        path = self._path(export, ending)
        path.parent.mkdir(exist_ok=True)
        write[kind](path, project, run)
        # The stored hash proves later which content left the workspace.
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        with self._db.writing() as session:
            made = Export(
                id=export, project=project, run=run, kind=kind, ending=ending, name=name,
                sha256=digest, size=path.stat().st_size, created_by=by,
            )  # fmt: skip
            session.add(made)
            note_event(session, "exported", by=by, project=project, subject=export, what=kind, run=run, name=name)
        return self.get(export)

    def get(self, id: str) -> Export:
        """Return an export by its id, or raise an error if it does not exist.

        Parameters
        ----------
        id : str
            Id of the export.

        Returns
        -------
        Export
            The export.
        """
        return self._get(Export, id)

    def list(self, project: str) -> builtins.list[Export]:
        """Return the latest 100 exports of a project, newest first.

        Parameters
        ----------
        project : str
            Id of the project.

        Returns
        -------
        list[Export]
            The exports.
        """
        query = (
            sa.select(Export).where(EXPORTS.c.project_id == project).order_by(EXPORTS.c.created_at.desc()).limit(100)
        )
        return self._all(query)

    def load(self, run: str) -> Any:
        """Load the saved result of a finished labelling run, for labelling other texts.

        Parameters
        ----------
        run : str
            Id of the run.

        Returns
        -------
        Any
            A :class:`isthmus.LabelResult`.

        Raises
        ------
        UsageError
            If the run is not done or is a diagnosis.
        """
        from isthmus.workspace.running import load_result  # loads the methods

        found = self._get(Run, run)
        if found.state != DONE or found.kind != "label":
            raise UsageError("Only a finished labelling run can label texts.")
        return load_result(self._context, run)

    def path(self, id: str) -> Path:
        """Return the path of an export's file. The caller records a download with ``workspace.audit.note``.

        Parameters
        ----------
        id : str
            Id of the export.

        Returns
        -------
        Path
            Path of the file.

        Raises
        ------
        DataError
            If the file no longer exists.
        """
        found = self.get(id)
        path = self._path(found.id, found.ending)
        if not path.exists():
            raise DataError("The file of this export is gone; make it again.", code="not-found")
        return path

    def _path(self, id: str, ending: str) -> Path:
        """Return the path of an export's file, without checking that it exists."""
        return self._context.folder / "exports" / f"{id}{ending}"

    def _check(self, project: str, kind: str, run: str | None, ending: str) -> tuple[str, str]:
        """Return the ending and the file name of an export, or raise an error if it cannot be made."""
        choose_one(kind, tuple(KINDS), "kind of export")
        ending = choose_one(ending or KINDS[kind][0], KINDS[kind], f"ending of an export of {kind}")
        name, number = self._get(Project, project).name, ""
        if run is not None or kind in _OF_A_RUN:
            found = self._get(Run, str(run))
            number = f"-run-{found.number}"
            if kind in _OF_A_RUN and (found.project != project or found.state != DONE or found.kind != "label"):
                raise UsageError("Only a finished labelling run of this project can be exported.")
        return ending, f"{_slug(name)}{number}-{kind}{ending}"

    # Writers

    def _write_labels(self, path: Path, project: str, run: str, add: Sequence[str] = ()) -> None:
        """Write the target's table with the current labels."""
        a, p = ANSWERS.c, PREDICTIONS.c
        query = (
            sa.select(
                p.label, p.confidence, p.needs_review, p.novel_group, p.reason, a.label.label("said"), a.kind, a.at,
                PEOPLE.c.name.label("person"),
            )
            .outerjoin(ANSWERS, sa.and_(a.document_id == p.document_id, a.current))
            .outerjoin(PEOPLE, PEOPLE.c.id == a.by)
            .where(p.run_id == run)
            .order_by(p.position)
        )  # fmt: skip
        columns: dict[str, builtins.list] = {name: [] for name in LABELLED}
        with self._db.reading() as session:
            found = find(session, Run, run)
            for row in session.execute(query):
                decided = row.said is not None
                # Labels accepted unread keep the run's confidence.
                read = decided and row.kind not in ("accept", OF_GROUP)
                # A class that a document got with its group was not read: it stays in the review list.
                settled = decided and row.kind != OF_GROUP
                review = bool(row.needs_review) and not settled
                columns["label"].append(row.said if decided else row.label)
                columns["confidence"].append(1.0 if read else round(row.confidence, 4))
                columns["needs_review"].append(review)
                columns["novel_group"].append("" if decided else row.novel_group)
                columns["review_reason"].append(row.reason.split("; ")[0] if review else "")
                columns["decided_by"].append(row.person if decided else "")
                columns["decided_at"].append(row.at.isoformat(timespec="seconds") if decided else "")
        table = with_columns(self._collections.table(found.target), columns, add)
        # Texts come from strangers: a spreadsheet must not run them as formulas.
        write_rows(path, table, spreadsheet_safe=True, layout=Layout(title="labels"))

    def _write_answers(self, path: Path, project: str, run: Any) -> None:
        """Write all answers of a project with the documents that they are about."""
        a = ANSWERS.c
        undone = PEOPLE.alias()
        query = (
            sa.select(
                DOCUMENTS.c.name.label("id"), COLLECTIONS.c.name.label("file"), DOCUMENTS.c.text,
                a.label.label("true_label"), HOW_DRAWN, a.kind, PEOPLE.c.name.label("by"), a.at,
                a.current.label("holds"), a.undone_at, undone.c.name.label("undone_by"),
            )
            .join(DOCUMENTS, DOCUMENTS.c.id == a.document_id)
            .join(COLLECTIONS, COLLECTIONS.c.id == DOCUMENTS.c.collection_id)
            .join(PEOPLE, PEOPLE.c.id == a.by)
            .outerjoin(undone, undone.c.id == a.undone_by)
            .where(a.project_id == project)
            .order_by(a.number)
        )  # fmt: skip
        with self._db.reading() as session:
            found = session.execute(query)
            names, rows = list(found.keys()), found.all()
        columns = {name: [_cell(row[place]) for row in rows] for place, name in enumerate(names)}
        write_rows(path, columns, spreadsheet_safe=True)

    def _write_codebook(self, path: Path, project: str, run: str) -> None:
        """Write the classes of a run with their descriptions and numbers of documents."""
        a = ANSWERS.c
        answered = sa.select(a.label, sa.func.count().label("n")).where(a.project_id == project, a.current)
        with self._db.reading() as session:
            rows = read_table(session, run, "codebook") or []
            named = {row["class"] for row in rows}
            for said in session.execute(answered.group_by(a.label).order_by(a.label)):
                # A class that only people have used so far is missing from the run's codebook.
                if said.label not in named:
                    rows.append({"class": said.label, "description": "", "documents": said.n})
        _write_columns(path, rows, ("class", "description", "documents"))

    def _write_audit(self, path: Path, project: str, run: Any) -> None:
        """Write the events of a project."""
        e = EVENTS.c
        query = sa.select(e.number, e.at, PEOPLE.c.name, e.by, e.kind, e.subject, e.detail)
        query = query.outerjoin(PEOPLE, PEOPLE.c.id == e.by).where(e.project_id == project).order_by(e.number)
        with self._db.reading() as session:
            rows = [
                {
                    "number": row.number,
                    "at": row.at.isoformat(),
                    "by": row.name or "",
                    "person": row.by or "",
                    "event": row.kind,
                    "subject": row.subject,
                    "detail": row.detail,
                }
                for row in session.execute(query)
            ]
        if path.suffix == ".jsonl":
            write_records(path, rows)
        else:
            _write_columns(path, rows, ("number", "at", "by", "event", "subject", "detail"))

    def _write_report(self, path: Path, project: str, run: str) -> None:
        """Write the HTML report of a run."""
        from isthmus.workspace.running import write_report  # loads the methods

        write_report(self._context, self._get(Run, run), path)

    def _write_model(self, path: Path, project: str, run: str) -> None:
        """Copy the saved model of a run."""
        path.write_bytes(self._context.find_model(run).read_bytes())


def _write_columns(path: Path, rows: list[dict[str, Any]], names: tuple[str, ...]) -> None:
    """Write dicts as a table with the given columns."""
    write_rows(path, {name: [row[name] for row in rows] for name in names}, spreadsheet_safe=True)


def _cell(value: Any) -> Any:
    """Return a cell of a table; a time becomes text in ISO 8601."""
    return value.isoformat(timespec="seconds") if hasattr(value, "isoformat") else value


def _slug(name: str) -> str:
    """Return a file name for a project: letters, digits and hyphens of its name.

    >>> _slug("Händler 2026 / ../x"), _slug("!")
    ('händler-2026-x', 'project')
    """
    return "-".join(re.findall(r"[^\W_]+", name.casefold()))[:80] or "project"
