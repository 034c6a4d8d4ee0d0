"""Collections: a file comes in, is looked at, its columns are mapped, and its documents are there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any

import sqlalchemy as sa

from isthmus._progress import progress
from isthmus.corpus import collection as corpus_collection
from isthmus.corpus import read_collection, read_table
from isthmus.corpus.guess import guess_id, guess_label, guess_text, shorten
from isthmus.corpus.read import cell_text
from isthmus.exceptions import DataError, UsageError
from isthmus.workspace.context import (
    Context,
    Many,
    check_name,
    choose_one,
    find_row,
    missing,
    note_event,
    plain_detail,
    to_record,
)
from isthmus.workspace.database import TOLD, new_id, storable, utc_now
from isthmus.workspace.documents import TermIndex
from isthmus.workspace.files import MAX_UPLOAD, FileStore, read_ending
from isthmus.workspace.jobs import add_job
from isthmus.workspace.records import KINDS, Collection
from isthmus.workspace.schema import ANSWERS, COLLECTIONS, DOCUMENTS, FILES, PROJECTS, RUNS, TERMS

_PREVIEW_ROWS = 10
_PREVIEW_CELL = 300
_PREVIEW_COLUMNS = 200
INLINE = 2 * 2**20  # bytes up to which documents are read at once; larger files are the worker's
_GUESS_TROUBLE = ("no-text-column", "no-label-column", "no-labels")


class Collections:
    """Files of documents in projects."""

    def __init__(self, context: Context, files: FileStore):
        self._db, self._files = context.db, files

    def add(
        self, project: str, filename: str, stream: IO[bytes], *, kind: str, by: str, limit: int = MAX_UPLOAD
    ) -> Collection:
        """Keep a file and look at it; :meth:`preview` says what was seen, :meth:`map` makes documents of it.

        Parameters
        ----------
        project : str
            Id.
        filename : str
            As the client calls it: shown to people, and its ending tells the format. Never a path.
        stream : binary file
        kind : {"source", "target", "extra"}
        by : str
            Id of the person.
        limit : int
            Most bytes that are taken.
        """
        choose_one(kind, KINDS, "kind of the collection")
        name = check_name(str(filename).replace("\\", "/").rpartition("/")[2] or "file", "file", 300)
        with self._db.reading() as connection:
            find_row(connection, PROJECTS, project, "project")
        sha256, size = self._files.keep(stream, limit=limit)
        preview = self._look(sha256, read_ending(name), name, kind)
        collection = new_id()
        with self._db.writing() as connection:
            if connection.execute(sa.select(FILES.c.sha256).where(FILES.c.sha256 == sha256)).first() is None:
                connection.execute(FILES.insert().values(sha256=sha256, size=size, created_at=utc_now()))
            connection.execute(
                COLLECTIONS.insert().values(
                    id=collection, project_id=project, name=name, ending=read_ending(name), kind=kind, sha256=sha256,
                    state="new", preview=preview, documents=0, labelled=0, created_by=by, created_at=utc_now(),
                )
            )  # fmt: skip
            note_event(
                connection, "collection added", by=by, project=project, subject=collection,
                name=name, role=kind, sha256=sha256, size=size,
            )  # fmt: skip
        return self.get(collection)

    def get(self, id: str) -> Collection:
        """The collection with this id."""
        with self._db.reading() as connection:
            row = connection.execute(_WITH_SIZE.where(COLLECTIONS.c.id == str(id)[:64])).first()
        if row is None:
            raise missing("collection")
        return to_record(Collection, row)

    def list(self, project: str, *, kind: str | None = None) -> Many[Collection]:
        """Collections of a project in the order in which they came."""
        query = _WITH_SIZE.where(COLLECTIONS.c.project_id == project, COLLECTIONS.c.removed_at.is_(None))
        query = query.order_by(COLLECTIONS.c.created_at, COLLECTIONS.c.id)
        if kind is not None:
            query = query.where(COLLECTIONS.c.kind == kind)
        with self._db.reading() as connection:
            return [to_record(Collection, row) for row in connection.execute(query)]

    def preview(self, id: str, *, sheet: str | None = None) -> dict[str, Any]:
        """What is in the file: ``columns``, ``rows``, ``guesses``, ``findings``, ``notes``, ``problem``.

        ``columns`` is a list of dict (``name``, ``filled``, ``distinct``, ``examples``); ``rows`` the first rows, cut
        short; ``guesses`` says which columns look like ``text``, ``label`` and ``id``; ``findings`` are oddities with
        ``check``, ``count``, ``examples`` and ``message``; ``problem`` is a sentence, or '' where the file can be read.
        """
        with self._db.reading() as connection:
            row = find_row(connection, COLLECTIONS, id, "collection")
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
        """Say which columns hold what, and make documents of the rows.

        Small files are read at once; for others there is a job, and ``state`` is "reading" until it is done. ``inline``
        decides it by hand.
        """
        with self._db.reading() as connection:
            row = find_row(connection, COLLECTIONS, id, "collection")
            size = connection.execute(sa.select(FILES.c.size).where(FILES.c.sha256 == row.sha256)).scalar_one()
            if _is_used(connection, id):
                raise UsageError(
                    f"{row.name!r} has been used in a run, so its documents stay as they are; add the file again to "
                    "map other columns.",
                    code="bad-parameter",
                )
        kind = choose_one(kind or row.kind, KINDS, "kind of the collection")
        mapping = {"text": list(text), "label": label, "id": id_column, "sheet": sheet}
        if not mapping["text"] or not all(isinstance(name, str) for name in mapping["text"]):
            raise UsageError("No text column is named; choose at least one.", code="bad-parameter")
        self._check_columns(row, mapping)
        inline = size <= INLINE if inline is None else inline
        with self._db.writing() as connection:
            connection.execute(
                COLLECTIONS.update()
                .where(COLLECTIONS.c.id == id)
                .values(mapping=plain_detail(mapping), kind=kind, state="new" if inline else "reading")
            )
            note_event(
                connection, "columns mapped", by=by, project=row.project_id, subject=id, role=kind, mapping=mapping
            )
            if not inline:
                add_job(connection, "import", {"collection": id}, by=by, project=row.project_id)
        if inline:
            self.read_documents(id)
        return self.get(id)

    def _check_columns(self, row: Any, mapping: dict[str, Any]) -> None:
        known = {column["name"] for column in row.preview["columns"]}
        if mapping["sheet"] is not None or row.preview["more_columns"]:
            return  # the reader will say
        for name in [*mapping["text"], mapping["label"], mapping["id"]]:
            if name is not None and name not in known:
                raise DataError(
                    f"{row.name} has no column {shorten(name)!r}; its columns are: {', '.join(sorted(known)[:10])}.",
                    code="unknown-column",
                )

    def read_documents(self, id: str) -> int:
        """Read the file as it is mapped and store its documents; what an earlier, unfinished read left is replaced."""
        with self._db.reading() as connection:
            row = find_row(connection, COLLECTIONS, id, "collection")
        progress("reading the file", 0, 1)
        docs = self._read(row, row.mapping)
        with self._db.writing() as connection:
            connection.execute(TERMS.delete().where(TERMS.c.collection_id == id))
            connection.execute(DOCUMENTS.delete().where(DOCUMENTS.c.collection_id == id))
        self._db.insert_many(DOCUMENTS, _document_rows(id, docs))
        texts = [storable(text) for text in docs.texts]
        progress("indexing words", 0, 1)
        index = TermIndex(texts if row.kind == "target" else [])
        self._db.insert_many(TERMS, index.rows(id))
        classes: dict[str, int] = {}
        for label in docs.labels:
            if label is not None:
                classes[label] = classes.get(label, 0) + 1
        facts = {"findings": docs.checks(), "notes": docs.notes, "encoding": docs.encoding, "classes": classes}
        facts["terms"] = index.settings
        with self._db.writing() as connection:
            connection.execute(
                COLLECTIONS.update()
                .where(COLLECTIONS.c.id == id)
                .values(state="ready", documents=len(docs), labelled=sum(classes.values()), facts=plain_detail(facts))
            )
        return len(docs)

    def remove(self, id: str, *, by: str) -> None:
        """Take a collection out of sight. Its documents and what was said about them stay."""
        with self._db.writing() as connection:
            row = find_row(connection, COLLECTIONS, id, "collection", lock=True)
            connection.execute(COLLECTIONS.update().where(COLLECTIONS.c.id == id).values(removed_at=utc_now()))
            note_event(connection, "collection removed", by=by, project=row.project_id, subject=id, name=row.name)

    def table(self, id: str) -> dict[str, Many]:
        """Every column of the file as it was read, for exports."""
        with self._db.reading() as connection:
            row = find_row(connection, COLLECTIONS, id, "collection")
        return self._read(row, row.mapping).table()

    # Reading

    def _read(self, row: Any, mapping: dict[str, Any]) -> corpus_collection.Collection:
        with self._files.named(row.sha256, row.ending) as path:
            try:
                docs = read_collection(
                    path,
                    text=mapping["text"],
                    label=mapping["label"],
                    id=mapping["id"],
                    sheet=mapping["sheet"],
                    want_labels=True if row.kind == "source" else None if mapping["label"] else False,
                )
            except DataError as error:
                raise DataError(_renamed(str(error), path.name, row.name), code=error.code) from None
            docs.name, docs.notes = row.name, [_renamed(note, path.name, row.name) for note in docs.notes]
        return docs

    def _look(self, sha256: str, ending: str, name: str, kind: str, *, sheet: str | None = None) -> dict[str, Any]:
        with self._files.named(sha256, ending) as path:
            docs: corpus_collection.Collection | dict[str, Many]
            try:
                docs, problem = _read_somehow(path, kind, sheet)
            except DataError as error:
                docs, problem = _table_or_fail(path, name, error, sheet), str(error)
            problem = _renamed(problem, path.name, name)
            notes = [_renamed(note, path.name, name) for note in getattr(docs, "notes", [])]
        columns = docs if isinstance(docs, dict) else docs.table()
        findings = [] if isinstance(docs, dict) else docs.checks()
        shown = list(columns)[:_PREVIEW_COLUMNS]
        n_rows = len(next(iter(columns.values()), []))
        return plain_detail(
            {
                "columns": [_column_facts(column, columns[column]) for column in shown],
                "more_columns": max(0, len(columns) - len(shown)),
                "rows": [[_cell(columns[column][i]) for column in shown] for i in range(min(_PREVIEW_ROWS, n_rows))],
                "n_rows": n_rows,
                "guesses": _guess(columns, kind),
                "findings": findings,
                "notes": notes,
                "problem": problem,
            }
        )


_WITH_SIZE = sa.select(COLLECTIONS, FILES.c.size).join(FILES, FILES.c.sha256 == COLLECTIONS.c.sha256)


def _is_used(connection: Any, id: str) -> bool:
    """Whether a run or an answer rests on the documents."""
    runs = sa.select(RUNS.c.record).join(COLLECTIONS, COLLECTIONS.c.project_id == RUNS.c.project_id)
    for record in connection.execute(runs.where(COLLECTIONS.c.id == id)).scalars():
        if id in {part["id"] for part in record.get("collections", [])}:
            return True
    answered = sa.select(ANSWERS.c.id).join(DOCUMENTS, DOCUMENTS.c.id == ANSWERS.c.document_id)
    return connection.execute(answered.where(DOCUMENTS.c.collection_id == id).limit(1)).first() is not None


def _document_rows(collection: str, docs: corpus_collection.Collection) -> Iterator[dict[str, Any]]:
    for position, (name, text, label) in enumerate(zip(docs.ids, docs.texts, docs.labels, strict=True)):
        if position % TOLD == 0:
            progress("storing documents", position, len(docs))
        yield {
            "id": new_id(),
            "collection_id": collection,
            "position": position,
            "name": storable(name)[:500],
            "text": storable(text),
            "label": None if label is None else storable(str(label)),
        }


def _read_somehow(path: Any, kind: str, sheet: str | None) -> tuple[corpus_collection.Collection, str]:
    """The documents by what can be guessed; labels are wanted in a source, but not at any price."""
    if kind != "source":
        return read_collection(path, sheet=sheet), ""
    try:
        return read_collection(path, want_labels=True, sheet=sheet), ""
    except DataError as error:
        if error.code not in ("no-label-column", "no-labels"):
            raise
        return read_collection(path, sheet=sheet), str(error)


def _table_or_fail(path: Any, name: str, error: DataError, sheet: str | None) -> dict[str, list]:
    """Columns of a file whose text column cannot be guessed; any other trouble stays trouble."""
    if error.code not in _GUESS_TROUBLE:
        raise DataError(_renamed(str(error), path.name, name), code=error.code) from None
    return read_table(path, sheet=sheet)


def _guess(columns: dict[str, list], kind: str) -> dict[str, Any]:
    text = guess_text(columns, [name for name in (guess_id(columns),) if name])
    taken = [name for name in (text, guess_id(columns)) if name]
    label = guess_label(columns, taken, by_cells=kind == "source") if kind != "extra" else None
    return {
        "text": [text] if text else [],
        "label": label,
        "id": guess_id(columns, [name for name in (text, label) if name]),
    }


def _column_facts(name: str, cells: list) -> dict[str, Any]:
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
    return shorten(cell_text(cell), longest)


def _renamed(sentence: str, given: str, shown: str) -> str:
    """A reader's sentence with the name that people know."""
    return sentence.replace(given, shown)
