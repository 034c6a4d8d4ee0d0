"""Decisions about many documents at once: groups that fit no class, and words."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.orm import Session

from isthmus.exceptions import DataError, UsageError
from isthmus.feedback.answers import PICKED, propose_names
from isthmus.workspace.answers import add_batch
from isthmus.workspace.context import (
    add,
    change,
    check_label,
    check_name,
    check_page,
    count_by,
    find,
    note_event,
)
from isthmus.workspace.database import utc_now
from isthmus.workspace.documents import LabelledPart, documents_at, search_collection, searched_collection
from isthmus.workspace.runs import read_table, word_snapshot
from isthmus.workspace.schema import (
    ANSWERED,
    ANSWERS,
    DONE,
    GROUP_NAMES,
    OF_GROUP,
    PREDICTIONS,
    RUN_TABLES,
    RUNS,
    TERMS,
    WORDS,
    GroupName,
    Project,
    Run,
    Word,
)

# Example documents per group.
_SHOWN = 3


class Groups(LabelledPart):
    """Groups of documents that fit no class: rename, merge and label them; and rename classes."""

    def list(self, run: str) -> builtins.list[dict[str, Any]]:
        """Return the groups of a run that fit no class, largest first. Groups with one name are merged.

        Parameters
        ----------
        run : str
            Id of the run.

        Returns
        -------
        list[dict[str, Any]]
            Dicts with ``group``, ``name``, ``words``, ``documents``, ``answered``, ``examples`` and more: ``proposed``
            (possible names), ``given`` (classes that its unread documents got) and ``parts`` (the merged groups).
        """
        with self._db.reading() as session:
            labelled = find(session, Run, run)
            found = self._groups(session, run)
            if not found:
                return []
            p = PREDICTIONS.c
            # Answered documents are counted from the queue, because the stored table dates from the end of the run.
            counts = count_by(session, p.novel_group, p.run_id == run, p.novel_group != "", p.state == ANSWERED)
            given, classes = self._given(session, run), (labelled.summary or {}).get("classes", [])
            # Groups with the same name are shown as one; "parts" remembers the run's own groups.
            merged: dict[str, dict[str, Any]] = {}
            for part in found:
                empty = {"words": [], "parts": [], "given": [], "documents": 0, "answered": 0}
                into = merged.setdefault(part["name"], {**part, **empty})
                into["parts"].append(part["group"])
                into["words"] += str(part["words"]).split(", ")
                into["documents"] += part["documents"]
                into["answered"] += counts.get(part["group"], 0)
                into["given"] += [name for name in given.get(part["group"], []) if name not in into["given"]]
            groups = self._labels.of(run).groups
            for into in merged.values():
                positions = np.flatnonzero(np.isin(groups, into["parts"]))
                into["proposed"] = propose_names(", ".join(into["words"]), classes)
                # Only a few texts are read, because a group can contain thousands of documents.
                shown = documents_at(session, labelled.target, positions, limit=_SHOWN)
                into["examples"] = [row.text for row in shown]
        return sorted(merged.values(), key=lambda row: -row["documents"])

    def merge(self, run: str, groups: Sequence[str], name: str, *, by: str) -> None:
        """Give several groups one name, which merges them.

        Parameters
        ----------
        run : str
            Id of the run.
        groups : Sequence[str]
            Groups, by the run's names or their present names.
        name : str
            Name of the merged group.
        by : str
            Id of the person who makes the change.

        Raises
        ------
        UsageError
            If no group is given.
        """
        name = check_label(name)
        with self._db.writing() as session:
            project = find(session, Run, run).project
            parts = [part for group in groups for part in self._parts(session, run, group)]
            if not parts:
                raise UsageError("No group is named; choose at least one.")
            for part in parts:
                # A new row per name keeps the history.
                add(session, GroupName(run=run, old=part, new=name, by=by))
            kind = "group renamed" if len(parts) == 1 else "groups merged"
            note_event(session, kind, by=by, project=project, subject=run, groups=parts, name=name)

    def make_class(self, run: str, group: str, label: str, *, by: str) -> int:
        """Give every unanswered document of a group a class.

        One :meth:`Answers.undo` undoes the decision. The documents stay in the queue, because nobody has read them.

        Parameters
        ----------
        run : str
            Id of the run.
        group : str
            Group, by the run's name or its present name.
        label : str
            Existing or new class.
        by : str
            Id of the person who makes the change.

        Returns
        -------
        int
            Number of documents that got the class.
        """
        label = check_label(label)
        p = PREDICTIONS.c
        with self._db.writing() as session:
            parts = self._parts(session, run, group)
            query = sa.select(p.document_id).where(p.run_id == run, p.novel_group.in_(parts), p.state != ANSWERED)
            documents = session.scalars(query.order_by(p.position)).all()
            return _decide(session, run, documents, label, by=by, group=group)

    def label_documents(self, run: str, positions: Sequence[int], label: str, *, by: str, group: str) -> int:
        """Give documents of a group a class, as :meth:`make_class` does for the whole group.

        Parameters
        ----------
        run : str
            Id of the run.
        positions : Sequence[int]
            Positions of the documents in the run.
        label : str
            Existing or new class.
        by : str
            Id of the person who makes the change.
        group : str
            Name of the group, for the audit log.

        Returns
        -------
        int
            Number of documents that got the class.
        """
        label, wanted = check_label(label), set(positions)
        p = PREDICTIONS.c
        query = sa.select(p.document_id, p.position).where(p.run_id == run, p.state != ANSWERED).order_by(p.position)
        with self._db.writing() as session:
            # Positions are compared here, because one statement cannot hold thousands of values.
            documents = [row.document_id for row in session.execute(query) if row.position in wanted]
            return _decide(session, run, documents, label, by=by, group=group)

    def _groups(self, session: Session, run: str) -> builtins.list[dict[str, Any]]:
        """Return the groups of a run with their present names."""
        find(session, Run, run)
        c = GROUP_NAMES.c
        named = sa.select(c.old, c.new).where(c.run_id == run)
        names = {row.old: row.new for row in session.execute(named.order_by(c.number))}
        found = read_table(session, run, "novel") or []
        return [{**row, "name": names.get(row["group"], row["group"])} for row in found]

    def _parts(self, session: Session, run: str, group: str) -> builtins.list[str]:
        """Return the run's names of the groups that have a given name."""
        parts = [row["group"] for row in self._groups(session, run) if group in (row["name"], row["group"])]
        if not parts:
            raise DataError("The run has no such group; look at its list of groups.", code="not-found")
        return parts

    def _given(self, session: Session, run: str) -> dict[str, builtins.list[str]]:
        """Return the classes that unread documents of each group got."""
        a, p = ANSWERS.c, PREDICTIONS.c
        holds = sa.and_(a.document_id == p.document_id, a.current, a.kind == OF_GROUP)
        query = sa.select(p.novel_group, a.label).join(ANSWERS, holds).where(p.run_id == run).distinct()
        given: dict[str, builtins.list[str]] = {}
        for group, label in session.execute(query.order_by(a.label)):
            given.setdefault(group, []).append(label)
        return given


def _decide(session: Session, run: str, documents: Sequence[str], label: str, *, by: str, group: str) -> int:
    """Store one decision about many documents with its event, and return how many documents it labels."""
    project = find(session, Run, run).project
    rows = [(document, label) for document in documents]
    count = add_batch(session, rows, project=project, run=run, by=by, kind=OF_GROUP, drawn=PICKED)
    note_event(
        session, "class made of a group", by=by, project=project, subject=run, group=group, label=label,
        documents=count,
    )  # fmt: skip
    return count


# -- Words: a class that a person gives a word applies to every document with the word


# Example documents per word.
_EXAMPLES = 5


class Words(LabelledPart):
    """Words that people assign to classes."""

    def search(self, project: str, query: str = "", *, limit: int = 50) -> builtins.list[dict[str, Any]]:
        """Return the target's most frequent words with a given beginning.

        Parameters
        ----------
        project : str
            Id of the project.
        query : str, default=""
            Beginning of the words; all words if empty.
        limit : int, default=50
            Maximum number of rows on the page.

        Returns
        -------
        list[dict[str, Any]]
            Dicts with ``word``, ``documents`` and ``label`` (the class that somebody gave the word, or None).
        """
        _, limit = check_page(None, limit)
        # Words are stored in lower case.
        start = " ".join(str(query).split()).casefold()[:100]
        with self._db.reading() as session:
            where = searched_collection(session, project)
            if where is None:
                return []
            t = TERMS.c
            found = sa.select(t.word, t.documents).where(t.collection_id == where.id)
            if start:
                # A range of texts with this beginning uses the index; LIKE does not in every database.
                found = found.where(t.word >= start, t.word < start + "\U0010ffff")
            rows = session.execute(found.order_by(t.documents.desc(), t.word).limit(limit)).all()
            given = word_snapshot(session, project)
        return [{"word": row.word, "documents": row.documents, "label": given.get(row.word)} for row in rows]

    def suggestions(self, project: str) -> builtins.list[dict[str, Any]]:
        """Return words of the latest run that are worth a person's decision and have no class yet.

        Parameters
        ----------
        project : str
            Id of the project.

        Returns
        -------
        list[dict[str, Any]]
            Dicts with ``word``, ``suggestion``, ``documents`` and ``settles``.
        """
        query = (
            sa.select(RUN_TABLES.c.content)
            .join(RUNS, RUNS.c.id == RUN_TABLES.c.run_id)
            .where(RUNS.c.project_id == project, RUNS.c.state == DONE, RUN_TABLES.c.name == "ask_words")
            .order_by(RUNS.c.number.desc())
            .limit(1)
        )
        with self._db.reading() as session:
            found = session.scalar(query) or []
            given = word_snapshot(session, project)
        # The suggestions date from the end of the run; words assigned since are left out.
        return [row for row in found if row["word"].casefold() not in given]

    def touches(self, project: str, word: str) -> dict[str, Any]:
        """Return how many documents contain a word in any inflected form, and their labels in the latest run.

        Parameters
        ----------
        project : str
            Id of the project.
        word : str
            Word, or several words that a document must all contain.

        Returns
        -------
        dict[str, Any]
            ``word``, ``documents``, ``labels`` (documents by class) and ``examples``.
        """
        word = check_word(word)
        with self._db.reading() as session:
            where = searched_collection(session, project)
            if where is None:
                return {"word": word, "documents": 0, "labels": {}, "examples": []}
            positions = search_collection(session, where, word)
            shown = documents_at(session, where.id, positions, limit=_EXAMPLES)
            # The words belong to the latest target, so only its own latest run can show their labels.
            latest = sa.select(RUNS.c.id).where(
                RUNS.c.project_id == project, RUNS.c.state == DONE, RUNS.c.target_id == where.id, RUNS.c.kind == "label"
            )
            run = session.scalar(latest.order_by(RUNS.c.number.desc()).limit(1))
        labels: dict[str, int] = {}
        if run is not None and len(positions):
            found = self._labels.of(run)
            counts = np.bincount(found.codes[positions], minlength=len(found.classes))
            labels = {name: int(count) for name, count in zip(found.classes, counts, strict=True) if count}
        return {"word": word, "documents": len(positions), "labels": labels, "examples": shown}

    def assign(self, project: str, word: str, label: str, *, by: str) -> Word:
        """Assign a word to a class, for the next run. An earlier class stays in the history.

        Parameters
        ----------
        project : str
            Id of the project.
        word : str
            Word in any case.
        label : str
            Name of the class.
        by : str
            Id of the person who makes the change.

        Returns
        -------
        Word
            The assigned word.
        """
        word, label = check_word(word), check_label(label)
        with self._db.writing() as session:
            find(session, Project, project, lock=True)
            # The earlier class gets an end date instead of being overwritten.
            self._end(session, project, word, by)
            made = add(session, Word(project=project, word=word, label=label, by=by))
            note_event(session, "word assigned", by=by, project=project, subject=made.id, word=word, label=label)
            return made

    def remove(self, project: str, word: str, *, by: str) -> None:
        """Remove a word's class.

        Parameters
        ----------
        project : str
            Id of the project.
        word : str
            Word in any case.
        by : str
            Id of the person who makes the change.

        Raises
        ------
        DataError
            If the word has no class.
        """
        word = check_word(word)
        with self._db.writing() as session:
            find(session, Project, project, lock=True)
            if not self._end(session, project, word, by):
                raise DataError(f"The word {word!r} has no class; there is nothing to take back.", code="not-found")
            note_event(session, "word removed", by=by, project=project, word=word)

    def list(self, project: str, *, everything: bool = False) -> builtins.list[Word]:
        """Return the words that have a class, in alphabetical order.

        Parameters
        ----------
        project : str
            Id of the project.
        everything : bool, default=False
            Whether to include removed words.

        Returns
        -------
        list[Word]
            The words.
        """
        query = sa.select(Word).where(WORDS.c.project_id == project).order_by(WORDS.c.word, WORDS.c.number)
        if not everything:
            query = query.where(WORDS.c.removed_at.is_(None))
        return self._all(query)

    def _end(self, session: Session, project: str, word: str, by: str) -> int:
        """Mark the word's present class as removed and return the number of changed rows."""
        holds = sa.and_(WORDS.c.project_id == project, WORDS.c.word == word, WORDS.c.removed_at.is_(None))
        return change(session, WORDS.update().where(holds).values(removed_at=utc_now(), removed_by=by))


def check_word(word: Any) -> str:
    """Return a word in lower case and in one line, as the texts are compared.

    Parameters
    ----------
    word : Any
        Word that a person entered.

    Returns
    -------
    str
        The normalised word.

    Raises
    ------
    UsageError
        If the word is no text, empty or too long.
    """
    return check_name(word, "word").casefold()
