"""Runs: their parameters, their results, and everything needed to repeat them."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.orm import Session

from isthmus._utils import versions
from isthmus.api.methods import check_takes_classes, check_typed
from isthmus.choose.forecast import forecast_answers
from isthmus.exceptions import DataError, UsageError
from isthmus.features.languages import resolve_language
from isthmus.methods import METHODS, get_method
from isthmus.options import ERROR_BUDGET, LabelOptions
from isthmus.wording import AnswerForecast
from isthmus.workspace.collections import annotator_snapshot
from isthmus.workspace.context import (
    add,
    check_count,
    check_name,
    check_page,
    choose_one,
    find,
    note_event,
    plain_detail,
)
from isthmus.workspace.documents import LabelledPart, documents_at, search_collection, searched_collection
from isthmus.workspace.jobs import add_job
from isthmus.workspace.schema import (
    ANSWERED,
    ANSWERS,
    COLLECTIONS,
    DOCUMENTS,
    DONE,
    HOW_DRAWN,
    JOBS,
    OF_GROUP,
    PREDICTIONS,
    QUEUED,
    RUN_TABLES,
    RUNS,
    WORDS,
    Collection,
    Job,
    Prediction,
    Project,
    Run,
    RunTable,
)

# Kinds of runs.
LABEL, DIAGNOSE = "label", "diagnose"
ORDERS = ("position", "confidence")
# Most documents that a forecast considers.
_MOST_READ = 2_000
_DEFAULTS: dict[str, Any] = {
    **{spec.key: spec.start for spec in LabelOptions.form()},
    "sources": None,  # ids; if None, all that are ready
    "target": None,  # id; if None, the latest that is ready
    "extras": None,  # ids; if None, all that are ready
    "use_answers": True,
    "use_words": True,
    "vectors": True,  # use the packaged vectors if they are installed
}


class Runs(LabelledPart):
    """Start, repeat and list runs, and read their results."""

    def start(
        self, project: str, parameters: Mapping[str, Any] | None = None, *, by: str, kind: str = LABEL, name: str = ""
    ) -> Run:
        """Queue a run. Its record contains the present answers and words.

        Parameters
        ----------
        project : str
            Id of the project.
        parameters : Mapping[str, Any], optional
            Options of :class:`isthmus.options.LabelOptions`, and ``sources``, ``target`` and ``extras`` (ids of
            collections; if omitted all sources, the latest target and all extras), ``use_answers``, ``use_words``, and
            ``vectors`` (False to use none).
        by : str
            Id of the person who makes the change.
        kind : str, default=LABEL
            "label" or "diagnose".
        name : str, default=""
            Name of the run; "Run 3" or similar if empty.

        Returns
        -------
        Run
            The new run.

        Raises
        ------
        UsageError
            If a parameter is unknown or out of range.
        DataError
            If the project has no target, or neither a source nor class names.
        """
        choose_one(kind, (LABEL, DIAGNOSE), "kind of the run")
        # Check before the transaction, because it needs no database.
        settings = check_run_parameters(parameters or {})
        with self._db.writing() as session:
            find(session, Project, project, lock=True)
            chosen = _choose_collections(session, project, settings)
            run = _add_run(session, project, kind, name, settings, chosen, by=by)
        return self.get(run)

    def teach(self, run: str, *, by: str, name: str = "") -> Run:
        """Queue a run that learns from answers and words given since, without fitting the methods again.

        The methods are fitted again if a word that they used was removed or has another class now.

        Parameters
        ----------
        run : str
            Id of the run.
        by : str
            Id of the person who makes the change.
        name : str, default=""
            Name of the new run; numbered if empty.

        Returns
        -------
        Run
            The new run.

        Raises
        ------
        UsageError
            If the run is no finished labelling run.
        """
        with self._db.writing() as session:
            parent = find(session, Run, run)
            if parent.kind != LABEL or parent.state != DONE:
                raise UsageError("Only a finished labelling run can be taught; wait until it is done.")
            # The lock gives runs that start at the same time different numbers.
            find(session, Project, parent.project, lock=True)
            ids = [part["id"] for part in parent.record["collections"]]
            rows = {row.id: row for row in session.scalars(sa.select(Collection).where(COLLECTIONS.c.id.in_(ids)))}
            # In the order of the record: the order of sources decides the order of their documents.
            chosen = [rows[id] for id in ids]
            settings = {**parent.parameters, "use_answers": True, "use_words": True}
            # Teaching always starts from the fitted methods, and applies all answers again.
            base = find(session, Run, parent.base or parent.id)
            words = word_snapshot(session, parent.project)
            used = base.record["words"] if takes_words(base.parameters["method"]) else {}
            # A word that the methods were fitted with cannot be undone without fitting again.
            stays = all(words.get(word) == name for word, name in used.items())
            run = _add_run(
                session, parent.project, LABEL, name, settings, chosen, by=by, base=base.id if stays else None,
                parent=parent.id,
            )  # fmt: skip
        return self.get(run)

    def repeat(self, run: str, *, by: str) -> Run:
        """Queue the same run again from its record, with the same files, parameters, seed, answers and words.

        Parameters
        ----------
        run : str
            Id of the run.
        by : str
            Id of the person who makes the change.

        Returns
        -------
        Run
            The new run.
        """
        with self._db.writing() as session:
            old = find(session, Run, run)
            find(session, Project, old.project, lock=True)
            values = {name: getattr(old, name) for name in ("project", "kind", "target", "base", "parameters")}
            record = {**old.record, "repeats": old.id}
            # A repetition uses the answers of that time, not the present ones.
            said = {name: read_table(session, old.id, name) or [] for name in SAID}
            new = _insert_run(session, said, by=by, parent=old.id, record=record, **values)
            note_event(session, "run repeated", by=by, project=old.project, subject=new, repeats=old.id)
        return self.get(new)

    def get(self, id: str) -> Run:
        """Return a run by its id, or raise an error if it does not exist.

        Parameters
        ----------
        id : str
            Id of the run.

        Returns
        -------
        Run
            The run.
        """
        return self._get(Run, id)

    def list(self, project: str, *, kind: str | None = LABEL) -> builtins.list[Run]:
        """Return the runs of a project, latest first.

        Parameters
        ----------
        project : str
            Id of the project.
        kind : str, default=LABEL
            "label" or "diagnose"; None for both.

        Returns
        -------
        list[Run]
            The runs.
        """
        query = sa.select(Run).where(RUNS.c.project_id == project).order_by(RUNS.c.number.desc())
        if kind is not None:
            query = query.where(RUNS.c.kind == kind)
        return self._all(query)

    def latest(self, project: str) -> Run | None:
        """Return the latest finished labelling run of a project.

        Parameters
        ----------
        project : str
            Id of the project.

        Returns
        -------
        Run or None
            The run, or None if there is none.
        """
        query = sa.select(Run).where(RUNS.c.project_id == project, RUNS.c.kind == LABEL, RUNS.c.state == DONE)
        return self._first(query.order_by(RUNS.c.number.desc()).limit(1))

    def job(self, run: str) -> Job:
        """Return the latest job of a run.

        Parameters
        ----------
        run : str
            Id of the run.

        Returns
        -------
        Job
            The job.
        """
        query = sa.select(Job).where(JOBS.c.run_id == run, JOBS.c.kind == "run").order_by(JOBS.c.created_at.desc())
        with self._db.reading() as session:
            find(session, Run, run)
            return session.scalars(query.limit(1)).one()

    def rename(self, id: str, name: str, *, by: str) -> Run:
        """Rename a run.

        Parameters
        ----------
        id : str
            Id of the run.
        name : str
            New name.
        by : str
            Id of the person who makes the change.

        Returns
        -------
        Run
            The run.
        """
        name = check_name(name, "run")
        with self._db.writing() as session:
            run = find(session, Run, id, lock=True)
            note_event(session, "run renamed", by=by, project=run.project, subject=id, was=run.name, name=name)
            run.name = name
        return run

    # Results

    def table(self, run: str, name: str) -> Any:
        """Return a table that a run stored, such as "cards", "curve", "bins", "map", "groups" or "decision".

        The tables are the facts of the report, stored at the end of the run, so that pages need no computation.

        Parameters
        ----------
        run : str
            Id of the run.
        name : str
            Name of the table.

        Returns
        -------
        Any
            The table, or None if the run has no such table.
        """
        with self._db.reading() as session:
            return read_table(session, run, name)

    def tables(self, run: str, names: builtins.list[str] | None = None) -> dict[str, Any]:
        """Return several tables of a run.

        Parameters
        ----------
        run : str
            Id of the run.
        names : list[str], optional
            Names of the tables; all tables if omitted.

        Returns
        -------
        dict[str, Any]
            Tables by name.
        """
        query = sa.select(RUN_TABLES.c.name, RUN_TABLES.c.content).where(RUN_TABLES.c.run_id == run)
        if names is not None:
            query = query.where(RUN_TABLES.c.name.in_(names))
        with self._db.reading() as session:
            return {row.name: row.content for row in session.execute(query)}

    def predictions(
        self,
        run: str,
        *,
        after: int | None = None,
        limit: int = 50,
        label: str | None = None,
        review: bool | None = None,
        group: str | None = None,
        search: str | None = None,
        order: str = "position",
    ) -> builtins.list[Prediction]:
        """Return one page of a run's predictions.

        Parameters
        ----------
        run : str
            Id of the run.
        after : int, optional
            Position of the last document on the previous page, in either order.
        limit : int, default=50
            Maximum number of rows on the page.
        label : str, optional
            Only documents with this label.
        review : bool, optional
            Only documents that need review, or only the others.
        group : str, optional
            Only documents of this new group.
        search : str, optional
            Only documents with every word of this text.
        order : str, default="position"
            "position" for the order of the file, or "confidence" for the least confident first.

        Returns
        -------
        list[Prediction]
            Predictions of the page; empty if the run is not done.
        """
        after, limit = check_page(after, limit)
        choose_one(order, ORDERS, "order")
        of_run = sa.select(Prediction).where(PREDICTIONS.c.run_id == run)
        with self._db.reading() as session:
            found = find(session, Run, run)
            if found.state != DONE or found.kind != LABEL:
                return []
            # Without conditions, the index on positions finds the page without reading all labels.
            if order == "position" and (label, review, group, search) == (None,) * 4:
                start = -1 if after is None else after
                query = of_run.where(PREDICTIONS.c.position > start)
                return list(session.scalars(query.order_by(PREDICTIONS.c.position).limit(limit)))
            shown = self._select(session, found, (label, review, group, search), order, after, limit)
            page = session.scalars(of_run.where(PREDICTIONS.c.position.in_(shown)))
            place = {position: i for i, position in enumerate(shown)}
            return sorted(page, key=lambda row: place[row.position])

    def _select(
        self, session: Session, run: Any, wanted: tuple, order: str, after: int | None, limit: int
    ) -> builtins.list[int]:
        """Return the positions of the documents on a page that satisfies the conditions."""
        label, review, group, search = wanted
        labels = self._labels.of(run.id)
        kept = np.ones(len(labels.codes), dtype=bool)
        if label is not None:
            kept &= labels.are(label)
        if review is not None:
            kept &= labels.review == review
        if group is not None:
            kept &= labels.groups == group
        if search is not None:
            where = searched_collection(session, run.project, run.target)
            found = () if where is None else search_collection(session, where, search)
            kept &= np.isin(np.arange(len(kept)), found)
        rows = np.flatnonzero(kept)
        if order == "confidence":
            # Ties are ordered by position, so that pages neither repeat nor skip documents.
            rows = rows[np.lexsort((rows, labels.confidence[rows]))]
        return _page(rows, after, limit, labels.confidence if order == "confidence" else None)

    def forecast(self, run: str, read: int) -> AnswerForecast | None:
        """Forecast the effect of more answers, given those since the run.

        Parameters
        ----------
        run : str
            Id of the run.
        read : int
            Number of documents that a person can read, in the order of the queue.

        Returns
        -------
        AnswerForecast or None
            The forecast, or None if the run has no expected accuracy.
        """
        check_count(read, "read", _MOST_READ)
        p = PREDICTIONS.c
        waiting = sa.select(p.position).where(p.run_id == run, p.state != ANSWERED).order_by(p.rank).limit(read)
        answered = sa.select(p.position).where(p.run_id == run, p.state == ANSWERED)
        with self._db.reading() as session:
            found = find(session, Run, run)
            if (found.summary or {}).get("expected") is None:
                return None
            ahead = list(session.scalars(waiting))
            # Answers that the run has learned are part of its expected accuracy already.
            learned = {place for place, _, drawn, _ in read_table(session, run, "answers") or [] if drawn != OF_GROUP}
            given = [place for place in session.scalars(answered) if place not in learned]
            shown = documents_at(session, found.target, np.array(sorted(ahead)), limit=read)
        labels, texts = self._labels.of(run), {row.position: row.text for row in shown}
        budget = found.parameters.get("error_budget", ERROR_BUDGET)
        return forecast_answers(labels.confidence, labels.review, ahead, budget, texts, given=given)

    def prediction(self, run: str, document: str) -> Prediction:
        """Return the prediction of a run for one document.

        Parameters
        ----------
        run : str
            Id of the run.
        document : str
            Id of the document.

        Returns
        -------
        Prediction
            The prediction.

        Raises
        ------
        DataError
            If the document is not in the run.
        """
        p = PREDICTIONS.c
        found = self._first(sa.select(Prediction).where(p.run_id == run, p.document_id == document))
        if found is None:
            raise DataError("The run has no such document; it may belong to another run.", code="not-found")
        return found


def _page(rows: np.ndarray, after: int | None, limit: int, confidence: np.ndarray | None) -> list[int]:
    """Return the rows after the document at position ``after``.

    If that document no longer satisfies the conditions, the page starts where it would be.
    """
    if after is None:
        start = 0
    elif confidence is None:
        start = int(np.searchsorted(rows, after, side="right"))
    else:
        # The rows are ordered by confidence, then position: find the same place in both keys.
        last = confidence[after] if 0 <= after < len(confidence) else np.inf
        first, end = (int(np.searchsorted(confidence[rows], last, side=side)) for side in ("left", "right"))
        start = first + int(np.searchsorted(rows[first:end], after, side="right"))
    return rows[start : start + limit].tolist()


def check_run_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the complete parameters of a run.

    Parameters
    ----------
    given : Mapping[str, Any]
        Parameters by name.

    Returns
    -------
    dict[str, Any]
        Parameters with defaults for the missing ones.

    Raises
    ------
    UsageError
        If a parameter is unknown or out of range.
    """
    unknown = [name for name in given if name not in _DEFAULTS]
    if unknown:
        raise UsageError(f"A run has no parameter {str(unknown[0])[:40]!r}; it has {', '.join(_DEFAULTS)}.")
    settings = {**_DEFAULTS, **given}
    choose_one(settings["method"], ("auto", *METHODS), "method")
    if not isinstance(settings["language"], str):
        raise UsageError("language must be a text, such as 'de'.")
    # Building the request checks the values of its fields.
    LabelOptions.build({spec.key: settings[spec.key] for spec in LabelOptions.form()})
    resolve_language(settings["language"])
    check_typed(settings["method"], settings["parameters"])
    if settings["classes"]:
        check_takes_classes(settings["method"])
    return settings


def _choose_collections(session: Session, project: str, settings: Mapping[str, Any]) -> list[Any]:
    """Return the rows of a run's collections: sources, then the target, then extras. All must be ready."""
    c = COLLECTIONS.c
    query = sa.select(Collection).where(c.project_id == project, c.removed_at.is_(None))
    ready = [row for row in session.scalars(query.order_by(c.created_at, c.id)) if row.state == "ready"]
    by_id = {row.id: row for row in ready}

    def named(ids: Any, kind: str) -> list[Any]:
        """Return the named collections, or all ready ones of a kind."""
        if ids is None:
            return [row for row in ready if row.kind == kind]
        ids = [ids] if isinstance(ids, str) else list(ids)
        if any(id not in by_id for id in ids):
            raise DataError(f"A {kind} of the run is not in this project, or its columns are not mapped yet.",
                            code="not-found")  # fmt: skip
        return [by_id[id] for id in ids]

    sources, targets = named(settings["sources"], "source"), named(settings["target"], "target")[-1:]
    if not targets:
        raise DataError(
            "The project has no documents to label (target) yet; add a file and map its columns.", code="no-target"
        )
    # Class names can replace labelled documents.
    if not sources and not settings["classes"]:
        raise DataError(
            "The run has no labelled documents (source); add a file and map its columns, or name the classes.",
            code="no-labels",
        )
    return [*sources, *targets, *named(settings["extras"], "extra")]


def takes_words(method: str) -> bool:
    """Return whether a method itself learns from words with classes.

    Parameters
    ----------
    method : str
        Name of the method, or "auto".

    Returns
    -------
    bool
        True if it does.
    """
    return method == "auto" or get_method(method).takes_words


def _add_run(
    session: Session,
    project: str,
    kind: str,
    name: str,
    settings: dict[str, Any],
    chosen: list[Any],
    *,
    by: str,
    base: str | None = None,
    parent: str | None = None,
) -> str:
    """Queue a run with a snapshot of the present answers, words and class names."""
    target = next(row for row in chosen if row.kind == "target")
    # The snapshot is taken now, so that answers given while the run waits do not change it.
    said = {name: take(session, target.id) if settings["use_answers"] else [] for name, take in SAID.items()}
    words = word_snapshot(session, project) if settings["use_words"] else {}
    record = {
        "collections": [
            {part: getattr(row, part) for part in ("id", "kind", "name", "sha256", "ending", "mapping", "documents")}
            for row in chosen
        ],
        "words": words,
        "answers": len(said["answers"]),
        "versions": versions(),
    }
    run = _insert_run(
        session, said, name, by=by, project=project, kind=kind, target=target.id, base=base, parent=parent,
        parameters=plain_detail(settings), record=plain_detail(record),
    )  # fmt: skip
    number = find(session, Run, run).number
    note_event(
        session, "run started", by=by, project=project, subject=run, run=number, what=kind, answers=record["answers"]
    )
    return run


def _insert_run(session: Session, said: dict[str, list], name: str = "", *, by: str, **values: Any) -> str:
    """Insert a run, its tables and its job. The caller has locked the project, so the number is unique."""
    project = values["project"]
    latest = session.scalar(sa.select(sa.func.max(RUNS.c.number)).where(RUNS.c.project_id == project))
    number = (latest or 0) + 1
    name = check_name(name or f"Run {number}", "run")
    run = add(session, Run(number=number, name=name, state=QUEUED, created_by=by, **values)).id
    for table, content in said.items():
        add(session, RunTable(run=run, name=table, content=content))
    add_job(session, "run", {}, by=by, project=project, run=run)
    return run


def answer_snapshot(session: Session, target: str) -> list[list]:
    """Return the current answers to learn from.

    Documents that got a class with their group are marked as drawn by "group". Labels accepted unread are left out,
    because the run would learn its own mistakes.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    target : str
        Id of the target collection.

    Returns
    -------
    list[list]
        Lists of position, class, how the document was drawn, and the person's id.
    """
    return _snapshot(session, target, ANSWERS.c.current, ANSWERS.c.kind != "accept")


def replaced_snapshot(session: Session, target: str) -> list[list]:
    """Return the classes that documents got with their group before somebody read them.

    They show how often such classes are right.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    target : str
        Id of the target collection.

    Returns
    -------
    list[list]
        Lists of position, class, how the document was drawn, and the person's id.
    """
    a = ANSWERS.c
    return _snapshot(session, target, ~a.current, a.undone_at.is_(None), a.kind == OF_GROUP)


def _snapshot(session: Session, target: str, *wanted: Any) -> list[list]:
    """Return the answers for a target that satisfy the conditions, by position."""
    a, d = ANSWERS.c, DOCUMENTS.c
    query = sa.select(d.position, a.label, HOW_DRAWN, a.by).join(ANSWERS, a.document_id == d.id)
    query = query.where(d.collection_id == target, *wanted).order_by(d.position)
    return [list(row) for row in session.execute(query)]


# Tables of answers that a run learns from, with the functions that take their snapshots.
SAID = {"answers": answer_snapshot, "replaced_answers": replaced_snapshot, "machine_answers": annotator_snapshot}


def word_snapshot(session: Session, project: str) -> dict[str, str]:
    """Return the words that have a class.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    project : str
        Id of the project.

    Returns
    -------
    dict[str, str]
        Class by word.
    """
    query = sa.select(WORDS.c.word, WORDS.c.label).where(WORDS.c.project_id == project, WORDS.c.removed_at.is_(None))
    return {row.word: row.label for row in session.execute(query.order_by(WORDS.c.word))}


def read_table(session: Session, run: str, name: str) -> Any:
    """Return a table of a run.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    run : str
        Id of the run.
    name : str
        Name of the table.

    Returns
    -------
    Any
        The table, or None if the run has no such table.
    """
    query = sa.select(RUN_TABLES.c.content).where(RUN_TABLES.c.run_id == run, RUN_TABLES.c.name == name)
    return session.scalar(query)


# -- Comparison of two runs: which labels changed, and from which class to which


class Comparisons(LabelledPart):
    """Changes between two runs on the same documents."""

    def of(self, earlier: str, later: str) -> dict[str, Any]:
        """Count the labels that changed between two runs.

        Parameters
        ----------
        earlier : str
            Id of the earlier run.
        later : str
            Id of the later run.

        Returns
        -------
        dict[str, Any]
            ``documents``, ``changed``, ``flips`` (dicts with ``old``, ``new`` and ``documents``, most frequent first),
            ``classes`` (dicts with ``class``, ``before``, ``after``, ``gained`` and ``lost``) and ``answers`` (number
            of people's answers, and how many of them each run agrees with).

        Raises
        ------
        UsageError
            If the runs are not done or label different documents.
        """
        target = self._check(earlier, later)
        names, before, after = self._codes(earlier, later)
        moved = before != after
        # Each pair of classes is encoded as one number, so that one pass counts all pairs.
        pairs, counts = np.unique(before[moved].astype(np.int64) * len(names) + after[moved], return_counts=True)
        flips = [
            {"old": names[pair // len(names)], "new": names[pair % len(names)], "documents": int(count)}
            for pair, count in zip(pairs.tolist(), counts, strict=True)
        ]
        flips.sort(key=lambda row: (-row["documents"], row["old"], row["new"]))
        tally = [
            np.bincount(codes, minlength=len(names)).tolist() for codes in (before, after, after[moved], before[moved])
        ]
        columns = ("before", "after", "gained", "lost")
        return {
            "documents": len(before),
            "changed": int(moved.sum()),
            "flips": flips,
            "classes": [
                {"class": name, **dict(zip(columns, row, strict=True))}
                for name, *row in sorted(zip(names, *tally, strict=True))
            ],
            "answers": self._answers(target, names, before, after),
        }

    def flips(
        self,
        earlier: str,
        later: str,
        *,
        old: str | None = None,
        new: str | None = None,
        after: int | None = None,
        limit: int = 50,
    ) -> list[dict[str, Any]]:
        """Return one page of the documents whose label changed, in the order of the file.

        Parameters
        ----------
        earlier : str
            Id of the earlier run.
        later : str
            Id of the later run.
        old : str, optional
            Only documents with this label in the earlier run.
        new : str, optional
            Only documents with this label in the later run.
        after : int, optional
            Position of the last document on the previous page.
        limit : int, default=50
            Maximum number of rows on the page.

        Returns
        -------
        list[dict[str, Any]]
            Dicts with ``document``, ``position``, ``name``, ``text``, ``old``, ``new``, ``old_confidence`` and
            ``new_confidence``.
        """
        after, limit = check_page(after, limit)
        target = self._check(earlier, later)
        names, before, now = self._codes(earlier, later)
        mask = before != now
        for wanted, codes in ((old, before), (new, now)):
            if wanted is not None:
                mask &= codes == (names.index(wanted) if wanted in names else -1)
        flipped = np.flatnonzero(mask)
        sure = self._labels.of(earlier).confidence, self._labels.of(later).confidence
        with self._db.reading() as session:
            rows = documents_at(session, target, flipped, after=after, limit=limit)
        return [
            {
                "document": row.id,
                "position": row.position,
                "name": row.name,
                "text": row.text,
                "old": names[before[row.position]],
                "new": names[now[row.position]],
                "old_confidence": float(sure[0][row.position]),
                "new_confidence": float(sure[1][row.position]),
            }
            for row in rows
        ]

    def _check(self, earlier: str, later: str) -> str:
        """Return the target of both runs, or raise an error if they cannot be compared."""
        with self._db.reading() as session:
            rows = [find(session, Run, run) for run in (earlier, later)]
        if rows[0].target != rows[1].target or any(row.state != DONE or row.kind != "label" for row in rows):
            raise UsageError("Only two finished labelling runs of the same documents can be compared.")
        return rows[0].target

    def _codes(self, earlier: str, later: str) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Return the class names of both runs, and the index of every document's label in each run."""
        old, new = self._labels.of(earlier), self._labels.of(later)
        # The two runs may know different classes, so their codes must share one list of names.
        names = list(dict.fromkeys([*old.classes, *new.classes]))
        place = {name: i for i, name in enumerate(names)}
        before, after = (np.array([place[name] for name in found.classes])[found.codes] for found in (old, new))
        return names, before, after

    def _answers(self, target: str, names: list[str], before: np.ndarray, after: np.ndarray) -> dict[str, int]:
        """Count people's answers, and how many of them each run agrees with."""
        with self._db.reading() as session:
            answers = answer_snapshot(session, target)
        said = {position: label for position, label, drawn, _ in answers if drawn != OF_GROUP}
        right = [sum(names[codes[place]] == label for place, label in said.items()) for codes in (before, after)]
        return {"documents": len(said), "before": right[0], "after": right[1]}
