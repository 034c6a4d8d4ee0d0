"""Files come in: documents, whose columns are looked at and mapped, and answers of machines."""

from __future__ import annotations

import builtins
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from isthmus._progress import progress
from isthmus.corpus import Collection as TextCollection
from isthmus.corpus import replacing
from isthmus.corpus.cells import cell_text
from isthmus.corpus.formats import is_workbook
from isthmus.corpus.guess import guess_roles, shorten
from isthmus.corpus.read import each_sheet, kind_of, read_columns, read_whole, to_collection
from isthmus.corpus.sheets import REVIEW_SHEET
from isthmus.corpus.tables import Rows
from isthmus.exceptions import DataError, UsageError
from isthmus.workspace.context import (
    Context,
    Part,
    add_row,
    check_label,
    check_name,
    choose_one,
    find_row,
    missing,
    note_event,
    plain_detail,
    set_row,
)
from isthmus.workspace.database import PROGRESS_ROWS, new_id, storable, utc_now
from isthmus.workspace.documents import TermIndex
from isthmus.workspace.files import MAX_UPLOAD, FileStore, read_ending
from isthmus.workspace.jobs import add_job
from isthmus.workspace.schema import (
    ANSWERS,
    COLLECTIONS,
    DOCUMENTS,
    FILES,
    HANDS,
    KINDS,
    PROJECTS,
    RUNS,
    TERMS,
    Collection,
    Hand,
)

_PREVIEW_ROWS = 10
_PREVIEW_CELL = 300
_PREVIEW_COLUMNS = 200
INLINE = 2 * 2**20  # bytes up to which documents are read at once; larger files are the worker's
_GUESS_TROUBLE = ("no-text-column", "no-label-column", "no-labels")


class Collections(Part):
    def __init__(self, context: Context, files: FileStore):
        super().__init__(context)
        self._files = files
        self._parsed = ParsedFiles(files, context.folder / "cache")

    def add(
        self, project: str, filename: str, stream: IO[bytes], *, kind: str, by: str, limit: int = MAX_UPLOAD
    ) -> Collection:
        """Keep a file of at most ``limit`` bytes and look at it (:meth:`preview`); :meth:`map` makes documents of it.

        ``filename`` is what the client calls it: its ending tells the format; never a path. ``kind`` is "source",
        "target" or "extra".
        """
        choose_one(kind, KINDS, "kind of the collection")
        name = check_filename(filename)
        self._row(PROJECTS, project)
        with self._files.receive(stream, limit=limit) as arrived:
            preview = self._look(arrived.sha256, read_ending(name), name, kind, file=arrived.path)
            arrived.keep()
        sha256, size = arrived.sha256, arrived.size
        with self._db.writing() as connection:
            if connection.execute(sa.select(FILES.c.sha256).where(FILES.c.sha256 == sha256)).first() is None:
                add_row(connection, FILES, sha256=sha256, size=size)
            collection = add_row(
                connection, COLLECTIONS, project_id=project, name=name, ending=read_ending(name), kind=kind,
                sha256=sha256, state="new", preview=preview, documents=0, labelled=0, created_by=by,
            )  # fmt: skip
            note_event(
                connection, "collection added", by=by, project=project, subject=collection,
                name=name, role=kind, sha256=sha256, size=size,
            )  # fmt: skip
        return self.get(collection)

    def read_columns(self, filename: str, stream: IO[bytes], *, limit: int = MAX_UPLOAD) -> dict[str, builtins.list]:
        """Columns of a file that is not kept, such as answers; of a workbook, the sheet that has some."""
        name = check_filename(filename)
        with self._files.receive(stream, limit=limit) as arrived:
            data = self._files.read(arrived.path)
            kind = kind_of(name, read_ending(name), data)
            return read_columns(data, name, kind, sheet=REVIEW_SHEET, filled="true_label")

    def get(self, id: str) -> Collection:
        found = self._first(Collection, _WITH_SIZE.where(COLLECTIONS.c.id == str(id)[:64]))
        if found is None:
            raise missing("collection")
        return found

    def list(self, project: str, *, kind: str | None = None) -> builtins.list[Collection]:
        """Collections of a project in the order in which they came."""
        query = _WITH_SIZE.where(COLLECTIONS.c.project_id == project, COLLECTIONS.c.removed_at.is_(None))
        query = query.order_by(COLLECTIONS.c.created_at, COLLECTIONS.c.id)
        if kind is not None:
            query = query.where(COLLECTIONS.c.kind == kind)
        return self._all(Collection, query)

    def preview(self, id: str, *, sheet: str | None = None) -> dict[str, Any]:
        """What is in the file: ``columns``, ``rows``, ``guesses``, ``findings``, ``notes``, ``problem``.

        Of a workbook also its ``sheets`` and the ``sheet`` that was read. ``columns`` are dicts (``name``, ``filled``,
        ``distinct``, ``examples``); ``rows`` the first ones, cut short; ``guesses`` the columns that look like
        ``text``, ``label`` and ``id``; ``findings`` have ``check``, ``count``, ``examples`` and ``message``;
        ``problem`` is a sentence, or '' where the file can be read.
        """
        row = self._row(COLLECTIONS, id)
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

        Small files are read at once; others by a job, with ``state`` "reading" until it is done. ``inline`` decides by
        hand.
        """
        with self._db.reading() as connection:
            row = find_row(connection, COLLECTIONS, id)
            size = connection.execute(sa.select(FILES.c.size).where(FILES.c.sha256 == row.sha256)).scalar_one()
            if _is_used(connection, id):
                raise UsageError(
                    f"{row.name!r} has been used in a run, so its documents stay as they are; add the file again to "
                    "map other columns."
                )
        kind = choose_one(kind or row.kind, KINDS, "kind of the collection")
        mapping = {"text": list(text), "label": label, "id": id_column, "sheet": sheet}
        if not mapping["text"] or not all(isinstance(name, str) for name in mapping["text"]):
            raise UsageError("No text column is named; choose at least one.")
        self._check_columns(row, mapping)
        inline = size <= INLINE if inline is None else inline
        # What cannot be read so is refused before anything is written: an earlier choice of columns stays.
        docs = self._read(row, mapping, kind) if inline else None
        with self._db.writing() as connection:
            state = "new" if inline else "reading"
            set_row(connection, COLLECTIONS, id, mapping=plain_detail(mapping), kind=kind, state=state)
            note_event(
                connection, "columns mapped", by=by, project=row.project_id, subject=id, role=kind, mapping=mapping
            )
            if not inline:
                add_job(connection, "import", {"collection": id}, by=by, project=row.project_id)
        if inline:
            self.read_documents(id, docs)
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

    def read_documents(self, id: str, docs: TextCollection | None = None) -> int:
        """Store the documents of a mapped file; what an earlier, unfinished read left is replaced.

        ``docs``: what the file holds, where it has been read already.
        """
        row = self._row(COLLECTIONS, id)
        progress("reading the file", 0, 1)
        if docs is None:
            docs = self._read(row, row.mapping, row.kind)
        with self._db.writing() as connection:
            connection.execute(TERMS.delete().where(TERMS.c.collection_id == id))
            connection.execute(DOCUMENTS.delete().where(DOCUMENTS.c.collection_id == id))
        self._db.insert_many(DOCUMENTS, _document_rows(id, docs))
        texts = [storable(text) for text in docs.texts]
        progress("indexing words", 0, 1)
        index = TermIndex(texts if row.kind == "target" else [])
        self._db.insert_many(TERMS, index.rows(id))
        classes = Counter(label for label in docs.labels if label is not None)
        facts = {"findings": docs.checks(), "notes": docs.notes, "encoding": docs.encoding, "classes": classes}
        facts["terms"] = index.settings
        with self._db.writing() as connection:
            counts = {"documents": len(docs), "labelled": sum(classes.values())}
            set_row(connection, COLLECTIONS, id, state="ready", facts=plain_detail(facts), **counts)
        return len(docs)

    def remove(self, id: str, *, by: str) -> None:
        """Take a collection out of sight. Its documents and what was said about them stay."""
        with self._db.writing() as connection:
            row = find_row(connection, COLLECTIONS, id, lock=True)
            set_row(connection, COLLECTIONS, id, removed_at=utc_now())
            note_event(connection, "collection removed", by=by, project=row.project_id, subject=id, name=row.name)

    def table(self, id: str) -> dict[str, builtins.list]:
        """Every column of the file as it was read, for exports."""
        row = self._row(COLLECTIONS, id)
        return self._rows(row, row.mapping).table()

    # Reading: the file is parsed when it comes, and never again

    def _rows(self, row: Any, mapping: dict[str, Any] | None) -> Rows:
        sheet = (mapping or {}).get("sheet") or row.preview.get("sheet")
        return self._parsed.rows(row.sha256, row.ending, row.name, sheet=sheet)

    def _read(self, row: Any, mapping: dict[str, Any], kind: str) -> TextCollection:
        columns = {role: mapping[role] for role in ("text", "label", "id")}
        want_labels = None if mapping["label"] else False
        if kind == "source":
            want_labels = True
        return to_collection(self._rows(row, mapping), row.name, want_labels=want_labels, **columns)

    def _look(
        self, sha256: str, ending: str, name: str, kind: str, *, sheet: str | None = None, file: Path | None = None
    ) -> dict[str, Any]:
        rows = self._first_rows(sha256, ending, name, sheet, file)
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
            "notes": [] if docs is None else docs.notes,
            "problem": problem,
        }
        if rows.sheets:
            preview |= {"sheets": list(rows.sheets), "sheet": rows.sheet}
        return plain_detail(preview)

    def _first_rows(self, sha256: str, ending: str, name: str, sheet: str | None, file: Path | None) -> Rows:
        """The rows to look at: those of a sheet that is named, else of the first that holds any."""
        try:
            return self._parsed.rows(sha256, ending, name, sheet=sheet, file=file)
        except DataError as error:
            if sheet is not None or error.code != "empty-file" or not is_workbook(f"file{ending}"):
                raise
            sheets = each_sheet(lambda number: self._parsed.rows(sha256, ending, name, sheet=number, file=file), 2)
            found = next(sheets, None)
            if found is None:
                raise
            return found


# Whether labels are looked for by their name only (None), by their cells too (True), or not at all.
_WANTED = {"source": True, "target": None, "extra": False}
_WITH_SIZE = sa.select(COLLECTIONS, FILES.c.size).join(FILES, FILES.c.sha256 == COLLECTIONS.c.sha256)


def check_filename(given: str) -> str:
    """What a client calls its file, without the folders."""
    return check_name(str(given).replace("\\", "/").rpartition("/")[2] or "file", "file", 300)


def _is_used(connection: Any, id: str) -> bool:
    """Whether a run or an answer rests on the documents."""
    runs = sa.select(RUNS.c.record).join(COLLECTIONS, COLLECTIONS.c.project_id == RUNS.c.project_id)
    for record in connection.scalars(runs.where(COLLECTIONS.c.id == id)):
        if id in {part["id"] for part in record.get("collections", [])}:
            return True
    answered = sa.select(ANSWERS.c.id).join(DOCUMENTS, DOCUMENTS.c.id == ANSWERS.c.document_id)
    return connection.execute(answered.where(DOCUMENTS.c.collection_id == id).limit(1)).first() is not None


def _document_rows(collection: str, docs: TextCollection) -> Iterator[dict[str, Any]]:
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
    """The documents by what can be guessed, and what cannot; labels are wanted in a source, if there are any."""
    problem = ""
    for want_labels in (True, None) if kind == "source" else (None,):
        try:
            return to_collection(rows, name, want_labels=want_labels), problem
        except DataError as error:
            if error.code not in _GUESS_TROUBLE:
                raise
            problem = problem or str(error)
    return None, problem


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


# -- Uploaded files as tables: parsed once, then read from what was kept of the parse


_FORMAT = 1  # raise it when the readers read the same bytes otherwise
_FIELDS = ("columns", "guarded", "encoding", "notes", "sheet", "sheets")


class ParsedFiles:
    """Tables of the files in a store; what lies in ``folder`` may be deleted at any time."""

    def __init__(self, files: FileStore, folder: Path):
        self._files = files
        self._folder = folder

    def rows(self, sha256: str, ending: str, name: str, *, sheet: str | None = None, file: Path | None = None) -> Rows:
        """All rows of a file, or of a sheet of it; ``name`` is what people call it, in messages and notes.

        ``file`` says where its content lies while it is not part of the store.
        """
        rows = _load(self._place(sha256, ending, sheet), name)
        if rows is None:
            data = self._files.read(file or sha256)
            rows = read_whole(data, name, kind_of(name, ending, data), sheet=sheet)
            for known_as in {sheet, rows.sheet}:
                _save(self._place(sha256, ending, known_as), rows, name)
        return rows

    def _place(self, sha256: str, ending: str, sheet: str | None) -> Path:
        key = hashlib.sha256(json.dumps([_FORMAT, ending, sheet]).encode()).hexdigest()[:16]
        return self._folder / f"{self._files.path(sha256).name}-{key}.json"


def _save(place: Path, rows: Rows, name: str) -> None:
    kept: dict[str, Any] = {field: getattr(rows, field) for field in _FIELDS}
    try:
        text = json.dumps({"name": name, **kept}, ensure_ascii=False)
    except TypeError:  # dates and the like in a parquet file, which JSON cannot hold: the file itself is the table
        return
    with suppress(DataError), replacing(place, force=True) as out:  # a full disk costs the next reader time, no more
        out.write(text.encode("utf-8", "surrogatepass"))


def _load(place: Path, name: str) -> Rows | None:
    try:
        kept = json.loads(place.read_bytes().decode("utf-8", "surrogatepass"))
        notes = [name + note.removeprefix(kept["name"]) for note in kept["notes"]]
        rows = Rows(tuple(kept["columns"]), **{field: kept[field] for field in _FIELDS})
    except (OSError, ValueError, KeyError, TypeError):  # none, or one that was cut short
        return None
    rows.notes = notes
    rows.sheets = tuple(rows.sheets)
    return rows


# -- Answers of other hands: files of a language model, a rule or a person without an account. They are weighed


class Hands(Part):
    """What hands other than the project's people said about documents."""

    def add(self, run: str, entries: Sequence[Mapping[str, Any]], *, file: str, by: str) -> builtins.list[Hand]:
        """Keep answers about the documents of a run: ``row`` (from 0), ``label`` and ``by``, the name of the hand.

        Later runs weigh them. Of two answers of a hand about a document, the later file counts.
        """
        said: dict[str, dict[int, str]] = {}
        for entry in entries:
            if not str(entry["by"]).strip():
                raise UsageError(
                    "Some answers name nobody; name the hand that gave them, or fill in the column by.",
                    code="bad-answers",
                )
            hand = check_name(entry["by"], "hand")
            said.setdefault(hand, {})[int(entry["row"])] = check_label(str(entry["label"]))
        with self._db.writing() as connection:
            found = find_row(connection, RUNS, run)
            for hand, answers in said.items():
                id = add_row(
                    connection, HANDS, project_id=found.project_id, target_id=found.target_id, name=hand,
                    file=check_filename(file), answers=len(answers), created_by=by,
                    said=[list(answer) for answer in sorted(answers.items())],
                )  # fmt: skip
                note_event(
                    connection, "hand added", by=by, project=found.project_id, subject=id, name=hand,
                    answers=len(answers), file=file,
                )  # fmt: skip
        return self.list(found.project_id)

    def list(self, project: str) -> builtins.list[Hand]:
        """Hands of a project, in the order in which their files came."""
        query = HANDS.select().where(HANDS.c.project_id == project, HANDS.c.removed_at.is_(None))
        return self._all(Hand, query.order_by(HANDS.c.created_at, HANDS.c.id))

    def get(self, id: str) -> Hand:
        return self._get(Hand, id)

    def remove(self, id: str, *, by: str) -> None:
        with self._db.writing() as connection:
            row = find_row(connection, HANDS, id, lock=True)
            set_row(connection, HANDS, id, removed_at=utc_now(), removed_by=by)
            note_event(connection, "hand removed", by=by, project=row.project_id, subject=id, name=row.name)


def hand_snapshot(connection: Connection, target: str) -> list[list]:
    """What hands say now about the documents of a target: position, label, name of the hand."""
    h = HANDS.c
    query = sa.select(h.name, h.said).where(h.target_id == target, h.removed_at.is_(None))
    said: dict[tuple[str, int], str] = {}
    for hand, answers in connection.execute(query.order_by(h.created_at, h.id)):
        said |= {(hand, position): label for position, label in answers}
    return [[position, label, hand] for (hand, position), label in said.items()]
