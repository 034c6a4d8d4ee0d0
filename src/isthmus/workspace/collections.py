"""Uploaded files: preview them, map their columns, store documents, and store the answers of other annotators."""

from __future__ import annotations

import builtins
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from isthmus._progress import progress
from isthmus.corpus import Collection as TextCollection
from isthmus.corpus.cells import cell_text
from isthmus.corpus.guess import guess_roles, shorten
from isthmus.corpus.read import kind_of, read_columns, read_whole, to_collection
from isthmus.corpus.sheets import REVIEW_SHEET
from isthmus.corpus.tables import Rows
from isthmus.exceptions import DataError, UsageError
from isthmus.workspace.context import (
    Context,
    Part,
    add,
    check_label,
    check_name,
    choose_one,
    find,
    note_event,
    plain_detail,
)
from isthmus.workspace.database import PROGRESS_ROWS, new_id, storable, utc_now
from isthmus.workspace.documents import TermIndex
from isthmus.workspace.files import MAX_UPLOAD, FileStore, read_ending
from isthmus.workspace.jobs import add_job
from isthmus.workspace.schema import (
    ANNOTATORS,
    ANSWERS,
    COLLECTIONS,
    DOCUMENTS,
    FILES,
    KINDS,
    RUNS,
    TERMS,
    Annotator,
    Collection,
    File,
    Project,
    Run,
)

# Limits of a preview: rows, characters of a cell, and columns.
_PREVIEW_ROWS = 10
_PREVIEW_CELL = 300
_PREVIEW_COLUMNS = 200
INLINE = 2 * 2**20  # largest file in bytes that a request reads itself; a job of the worker reads larger files
# Error codes of files that people can still map themselves, because only the guess of the columns failed.
_GUESS_TROUBLE = ("no-text-column", "no-label-column", "no-labels")


class Collections(Part):
    """Add files, map their columns and read their documents."""

    def __init__(self, context: Context, files: FileStore):
        super().__init__(context)
        self._files = files

    def add(
        self, project: str, filename: str, stream: IO[bytes], *, kind: str, by: str, limit: int = MAX_UPLOAD
    ) -> Collection:
        """Store an uploaded file and preview its content. :meth:`map` turns its rows into documents.

        Parameters
        ----------
        project : str
            Id of the project.
        filename : str
            Name that the client gives the file. Its ending determines the format; its folders are ignored.
        stream : IO[bytes]
            Content of the file.
        kind : str
            "source", "target" or "extra".
        by : str
            Id of the person who makes the change.
        limit : int, default=MAX_UPLOAD
            Largest accepted size in bytes.

        Returns
        -------
        Collection
            The new collection, with ``state`` "new".

        Raises
        ------
        DataError
            If the file is too large or cannot be read.
        """
        choose_one(kind, KINDS, "kind of the collection")
        name = check_filename(filename)
        self._get(Project, project)
        with self._files.receive(stream, limit=limit) as arrived:
            preview = self._look(arrived.sha256, read_ending(name), name, kind, file=arrived.path)
            arrived.keep()
        sha256, size = arrived.sha256, arrived.size
        with self._db.writing() as session:
            if session.execute(sa.select(FILES.c.sha256).where(FILES.c.sha256 == sha256)).first() is None:
                add(session, File(sha256=sha256, size=size))
            made = Collection(
                project=project, name=name, ending=read_ending(name), kind=kind, sha256=sha256, state="new",
                preview=preview, created_by=by,
            )  # fmt: skip
            collection = add(session, made).id
            note_event(
                session, "collection added", by=by, project=project, subject=collection,
                name=name, role=kind, sha256=sha256, size=size,
            )  # fmt: skip
        return self.get(collection)

    def read_columns(self, filename: str, stream: IO[bytes], *, limit: int = MAX_UPLOAD) -> dict[str, builtins.list]:
        """Return the columns of a file that is not stored, such as a table of answers.

        In a workbook, a sheet with filled-in answers is preferred.

        Parameters
        ----------
        filename : str
            Name that the client gives the file.
        stream : IO[bytes]
            Content of the file.
        limit : int, default=MAX_UPLOAD
            Largest accepted size in bytes.

        Returns
        -------
        dict[str, list]
            Cells by column.
        """
        name = check_filename(filename)
        with self._files.receive(stream, limit=limit) as arrived:
            data = self._files.read(arrived.path)
            kind = kind_of(name, data, read_ending(name))
            return read_columns(data, name, kind, sheet=REVIEW_SHEET, filled="true_label")

    def get(self, id: str) -> Collection:
        """Return a collection by its id, or raise an error if it does not exist.

        Parameters
        ----------
        id : str
            Id of the collection.

        Returns
        -------
        Collection
            The collection.
        """
        return self._get(Collection, id)

    def list(self, project: str, *, kind: str | None = None) -> builtins.list[Collection]:
        """Return the collections of a project in the order in which they were added.

        Parameters
        ----------
        project : str
            Id of the project.
        kind : str, optional
            Only collections of this kind: "source", "target" or "extra".

        Returns
        -------
        list[Collection]
            Collections that have not been removed.
        """
        query = sa.select(Collection).where(COLLECTIONS.c.project_id == project, COLLECTIONS.c.removed_at.is_(None))
        query = query.order_by(COLLECTIONS.c.created_at, COLLECTIONS.c.id)
        if kind is not None:
            query = query.where(COLLECTIONS.c.kind == kind)
        return self._all(query)

    def preview(self, id: str, *, sheet: str | None = None) -> dict[str, Any]:
        """Return the first rows and the columns of a file, with guesses which column holds what.

        Parameters
        ----------
        id : str
            Id of the collection.
        sheet : str, optional
            Name of the worksheet to read; the sheet read on upload if omitted.

        Returns
        -------
        dict[str, Any]
            ``columns`` (dicts with ``name``, ``filled``, ``distinct`` and ``examples``), ``rows`` (the first ones, with
            shortened cells), ``guesses`` (columns that look like ``text``, ``label`` and ``id``), ``findings`` (dicts
            with ``check``, ``count``, ``examples`` and ``message``), ``notes``, and ``problem`` (a sentence, or "" if
            the documents can be read). For a workbook also ``sheets`` and ``sheet``.
        """
        row = self._get(Collection, id)
        if sheet is None:
            return row.preview
        return self._look(row.sha256, row.ending, row.name, row.kind, sheet=sheet)

    def map(
        self,
        id: str,
        *,
        text: Sequence[str],
        label: str | None = None,
        id_column: str | None = None,
        sheet: str | None = None,
        kind: str | None = None,
        by: str,
        inline: bool | None = None,
    ) -> Collection:
        """Set which columns hold text, label and id, and store the rows as documents.

        A small file is read at once. A job reads a larger one; meanwhile ``state`` is "reading".

        Parameters
        ----------
        id : str
            Id of the collection.
        text : Sequence[str]
            Names of the columns whose cells form the text.
        label : str, optional
            Name of the column with labels.
        id_column : str, optional
            Name of the column with the documents' names.
        sheet : str, optional
            Name of the worksheet to read.
        kind : str, optional
            New kind of the collection; unchanged if omitted.
        by : str
            Id of the person who makes the change.
        inline : bool, optional
            Whether to read the file at once; depends on its size if omitted.

        Returns
        -------
        Collection
            The collection.

        Raises
        ------
        UsageError
            If a run or an answer already uses the documents, or no text column is given.
        DataError
            If a column does not exist or the file cannot be read.
        """
        with self._db.reading() as session:
            row = find(session, Collection, id)
            if _is_used(session, id):
                raise UsageError(
                    f"{row.name!r} has been used in a run, so its documents stay as they are; add the file again to "
                    "map other columns."
                )
        kind = choose_one(kind or row.kind, KINDS, "kind of the collection")
        mapping = {"text": list(text), "label": label, "id": id_column, "sheet": sheet}
        if not mapping["text"] or not all(isinstance(name, str) for name in mapping["text"]):
            raise UsageError("No text column is named; choose at least one.")
        self._check_columns(row, mapping)
        inline = row.size <= INLINE if inline is None else inline
        # Read before writing: if the new columns cannot be read, the earlier mapping stays unchanged.
        docs = self._read(row, mapping, kind) if inline else None
        with self._db.writing() as session:
            state = "new" if inline else "reading"
            found = find(session, Collection, id)
            found.mapping, found.kind, found.state = plain_detail(mapping), kind, state
            note_event(session, "columns mapped", by=by, project=row.project, subject=id, role=kind, mapping=mapping)
            if not inline:
                add_job(session, "import", {"collection": id}, by=by, project=row.project)
        if inline:
            self.read_documents(id, docs)
        return self.get(id)

    def _check_columns(self, row: Any, mapping: dict[str, Any]) -> None:
        """Raise an error if a mapped column does not exist, as far as the preview lists all columns."""
        known = {column["name"] for column in row.preview["columns"]}
        if mapping["sheet"] is not None or row.preview["more_columns"]:
            return  # the preview does not list all columns, so the reader checks them
        for name in [*mapping["text"], mapping["label"], mapping["id"]]:
            if name is not None and name not in known:
                raise DataError(
                    f"{row.name} has no column {shorten(name)!r}; its columns are: {', '.join(sorted(known)[:10])}.",
                    code="unknown-column",
                )

    def read_documents(self, id: str, docs: TextCollection | None = None) -> int:
        """Store the documents of a mapped file, replacing those of an earlier, interrupted attempt.

        Parameters
        ----------
        id : str
            Id of the collection.
        docs : TextCollection, optional
            Documents of the file, if it has been read already.

        Returns
        -------
        int
            Number of documents.
        """
        row = self._get(Collection, id)
        progress("reading the file", 0, 1)
        if docs is None:
            docs = self._read(row, row.mapping or {}, row.kind)
        with self._db.writing() as session:
            # An interrupted import may have stored a part of the rows.
            session.execute(TERMS.delete().where(TERMS.c.collection_id == id))
            session.execute(DOCUMENTS.delete().where(DOCUMENTS.c.collection_id == id))
        self._db.insert_many(DOCUMENTS, _document_rows(id, docs))
        texts = [storable(text) for text in docs.texts]
        progress("indexing words", 0, 1)
        # Only targets are searched, so only they need an index.
        index = TermIndex(texts if row.kind == "target" else [])
        self._db.insert_many(TERMS, index.rows(id))
        classes = Counter(label for label in docs.labels if label is not None)
        facts = {
            "findings": docs.checks(),
            "notes": [for_people(note) for note in docs.notes],
            "encoding": docs.encoding,
            "classes": classes,
        }
        facts["terms"] = index.settings
        with self._db.writing() as session:
            found = find(session, Collection, id)
            found.state, found.facts = "ready", plain_detail(facts)
            found.documents, found.labelled = len(docs), sum(classes.values())
        return len(docs)

    def remove(self, id: str, *, by: str) -> None:
        """Hide a collection. Its documents and their answers stay in the database.

        Parameters
        ----------
        id : str
            Id of the collection.
        by : str
            Id of the person who makes the change.
        """
        with self._db.writing() as session:
            row = find(session, Collection, id, lock=True)
            row.removed_at = utc_now()
            note_event(session, "collection removed", by=by, project=row.project, subject=id, name=row.name)

    def table(self, id: str) -> dict[str, builtins.list]:
        """Return every column of the file as it was read, for exports.

        Parameters
        ----------
        id : str
            Id of the collection.

        Returns
        -------
        dict[str, list]
            Cells by column.
        """
        row = self._get(Collection, id)
        return self._rows(row, row.mapping).table()

    # Reading

    def _parse(
        self, sha256: str, ending: str, name: str, *, sheet: str | None = None, file: Path | None = None
    ) -> Rows:
        """Return the table in a file, or in one of its sheets."""
        data = self._files.read(file or sha256)
        return read_whole(data, name, kind_of(name, data, ending), sheet=sheet)

    def _rows(self, row: Any, mapping: dict[str, Any] | None) -> Rows:
        """Return the parsed table of a collection's file."""
        sheet = (mapping or {}).get("sheet") or row.preview.get("sheet")
        return self._parse(row.sha256, row.ending, row.name, sheet=sheet)

    def _read(self, row: Any, mapping: dict[str, Any], kind: str) -> TextCollection:
        """Return the documents of a file with the given mapping of columns."""
        columns = {role: mapping[role] for role in ("text", "label", "id")}
        # True requires labels, None accepts them, False ignores them.
        want_labels = None if mapping["label"] else False
        if kind == "source":
            want_labels = True
        return to_collection(self._rows(row, mapping), row.name, want_labels=want_labels, **columns)

    def _look(
        self, sha256: str, ending: str, name: str, kind: str, *, sheet: str | None = None, file: Path | None = None
    ) -> dict[str, Any]:
        """Return the preview of a file."""
        rows = self._parse(sha256, ending, name, sheet=sheet, file=file)
        docs, problem = _read_somehow(rows, name, kind)
        columns = rows.table()
        shown = list(columns)[:_PREVIEW_COLUMNS]
        roles = guess_roles(columns, name, want_labels=_WANTED[kind])
        preview = {
            "columns": [_column_facts(column, columns[column]) for column in shown],
            "more_columns": max(0, len(columns) - len(shown)),
            "rows": [[_cell(columns[column][i]) for column in shown] for i in range(min(_PREVIEW_ROWS, len(rows)))],
            "n_rows": len(rows),
            "guesses": {"text": list(roles.text), "label": roles.label, "id": roles.id},
            "findings": [] if docs is None else docs.checks(),
            "notes": [] if docs is None else [for_people(note) for note in docs.notes],
            "problem": problem,
        }
        if rows.sheets:
            preview |= {"sheets": list(rows.sheets), "sheet": rows.sheet}
        return plain_detail(preview)


# How a label column is guessed, by kind of collection: by its name only (None), by its cells too (True), or not at all
# (False).
_WANTED = {"source": True, "target": None, "extra": False}


def check_filename(given: str) -> str:
    """Return the name that a client gives its file, without folders.

    Parameters
    ----------
    given : str
        Name or path that the client sent.

    Returns
    -------
    str
        The name, or "file" if there is none.
    """
    return check_name(str(given).replace("\\", "/").rpartition("/")[2] or "file", "file", 300)


def _is_used(session: Session, id: str) -> bool:
    """Return whether a run or an answer refers to the documents of a collection."""
    runs = sa.select(RUNS.c.record).join(COLLECTIONS, COLLECTIONS.c.project_id == RUNS.c.project_id)
    for record in session.scalars(runs.where(COLLECTIONS.c.id == id)):
        if id in {part["id"] for part in record.get("collections", [])}:
            return True
    answered = sa.select(ANSWERS.c.id).join(DOCUMENTS, DOCUMENTS.c.id == ANSWERS.c.document_id)
    return session.execute(answered.where(DOCUMENTS.c.collection_id == id).limit(1)).first() is not None


def _document_rows(collection: str, docs: TextCollection) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table of documents, and report progress."""
    for position, (name, text, label) in enumerate(zip(docs.ids, docs.texts, docs.labels, strict=True)):
        if position % PROGRESS_ROWS == 0:
            progress("storing documents", position, len(docs))
        yield {
            "id": new_id(),
            "collection_id": collection,
            "position": position,
            "name": storable(name)[:500],
            "text": storable(text),
            "label": None if label is None else storable(str(label)),
        }


def _read_somehow(rows: Rows, name: str, kind: str) -> tuple[TextCollection | None, str]:
    """Return the documents with guessed columns, or None, and a sentence about what could not be guessed.

    A source is read with labels if it has any.
    """
    problem = ""
    for want_labels in (True, None) if kind == "source" else (None,):
        try:
            return to_collection(rows, name, want_labels=want_labels), problem
        except DataError as error:
            if error.code not in _GUESS_TROUBLE:
                raise
            problem = problem or for_people(str(error))
    return None, problem


def for_people(sentence: str) -> str:
    """Return a sentence about columns for a page, on which people choose columns instead of naming them.

    Parameters
    ----------
    sentence : str
        Sentence of the reader.

    Returns
    -------
    str
        The sentence without the syntax of the command.

    Examples
    --------
    >>> for_people("No column looks like labels; name it with label=COLUMN.")
    'No column looks like labels; choose it below.'
    """
    return re.sub(r"[Nn]ame (\w+(?: column)?) with (?:text|label)=COLUMN(?:,COLUMN)?", r"choose \1 below", sentence)


def _column_facts(name: str, cells: list) -> dict[str, Any]:
    """Return the name of a column, how many cells it fills, how many differ, and three examples."""
    filled = [cell_text(cell) for cell in cells]
    filled = [cell for cell in filled if cell.strip()]
    distinct = dict.fromkeys(filled)
    return {
        "name": name,
        "filled": len(filled),
        "distinct": len(distinct),
        "examples": [_cell(cell, 80) for cell in list(distinct)[:3]],
    }


def _cell(cell: Any, longest: int = _PREVIEW_CELL) -> str:
    """Return a cell as a shortened text."""
    return shorten(cell_text(cell), longest)


# -- Answers of other annotators: files from a language model, a rule or a person without an account. Runs weight them
# by their estimated reliability


class Annotators(Part):
    """Answers of annotators without an account, such as a language model or a rule."""

    def add(self, run: str, entries: Sequence[Mapping[str, Any]], *, file: str, by: str) -> builtins.list[Annotator]:
        """Store an annotator's answers for the target documents of a run.

        Later runs weight them by the annotator's reliability. If an annotator answers a document twice, the later file
        counts.

        Parameters
        ----------
        run : str
            Id of the run.
        entries : Sequence[Mapping[str, Any]]
            Mappings with ``row`` (from 0), ``label`` and ``by``, the name of the annotator.
        file : str
            Name of the file that contained the answers.
        by : str
            Id of the person who makes the change.

        Returns
        -------
        list[Annotator]
            All annotators of the project.

        Raises
        ------
        UsageError
            If an answer has no annotator.
        """
        said: dict[str, dict[int, str]] = {}
        for entry in entries:
            if not str(entry["by"]).strip():
                raise UsageError(
                    "Some answers name no annotator; name the annotator who gave them, or fill in the column by.",
                    code="bad-answers",
                )
            name = check_name(entry["by"], "annotator")
            said.setdefault(name, {})[int(entry["row"])] = check_label(str(entry["label"]))
        with self._db.writing() as session:
            found = find(session, Run, run)
            for name, answers in said.items():
                made = Annotator(
                    project=found.project, target=found.target, name=name,
                    file=check_filename(file), answers=len(answers), created_by=by,
                    said=[list(answer) for answer in sorted(answers.items())],
                )  # fmt: skip
                add(session, made)
                note_event(
                    session, "annotator added", by=by, project=found.project, subject=made.id, name=name,
                    answers=len(answers), file=file,
                )  # fmt: skip
        return self.list(found.project)

    def list(self, project: str) -> builtins.list[Annotator]:
        """Return the annotators of a project in the order in which their files were added.

        Parameters
        ----------
        project : str
            Id of the project.

        Returns
        -------
        list[Annotator]
            Annotators that have not been removed.
        """
        query = sa.select(Annotator).where(ANNOTATORS.c.project_id == project, ANNOTATORS.c.removed_at.is_(None))
        return self._all(query.order_by(ANNOTATORS.c.created_at, ANNOTATORS.c.id))

    def get(self, id: str) -> Annotator:
        """Return an annotator's file by its id, or raise an error if it does not exist.

        Parameters
        ----------
        id : str
            Id of the annotator's file.

        Returns
        -------
        Hand
            The annotator's file.
        """
        return self._get(Annotator, id)

    def remove(self, id: str, *, by: str) -> None:
        """Remove an annotator's file; later runs ignore its answers.

        Parameters
        ----------
        id : str
            Id of the annotator's file.
        by : str
            Id of the person who makes the change.
        """
        with self._db.writing() as session:
            row = find(session, Annotator, id, lock=True)
            row.removed_at, row.removed_by = utc_now(), by
            note_event(session, "annotator removed", by=by, project=row.project, subject=id, name=row.name)


def annotator_snapshot(session: Session, target: str) -> list[list]:
    """Return the answers of all annotators for the documents of a target.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    target : str
        Id of the target collection.

    Returns
    -------
    list[list]
        Lists of position, class and name of the annotator.
    """
    h = ANNOTATORS.c
    query = sa.select(h.name, h.said).where(h.target_id == target, h.removed_at.is_(None))
    said: dict[tuple[str, int], str] = {}
    # In the order of the files, so that an annotator's later answer replaces the earlier one.
    for name, answers in session.execute(query.order_by(h.created_at, h.id)):
        said |= {(name, position): label for position, label in answers}
    return [[position, label, name] for (name, position), label in said.items()]
