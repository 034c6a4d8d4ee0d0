"""Words: what a person says about a word holds for every document that has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import sqlalchemy as sa

from isthmus.exceptions import DataError
from isthmus.workspace.context import (
    Context,
    Many,
    check_label,
    check_name,
    check_page,
    find_row,
    note_event,
    to_record,
)
from isthmus.workspace.database import new_id, utc_now
from isthmus.workspace.documents import documents_at, find_positions, read_query, searched_collection
from isthmus.workspace.labels import LabelStore
from isthmus.workspace.records import DONE, Word
from isthmus.workspace.schema import PROJECTS, RUN_TABLES, RUNS, TERMS, WORDS

_EXAMPLES = 5


class Words:
    """Words that people gave to classes."""

    def __init__(self, context: Context, labels: LabelStore):
        self._db, self._labels = context.db, labels

    def search(self, project: str, query: str = "", *, limit: int = 50) -> Many[dict[str, Any]]:
        """Words of the target that begin like this, the commonest first: ``word``, ``documents``, ``label``.

        ``label`` is the class that somebody gave the word, or None.
        """
        _, limit = check_page(None, limit)
        start = " ".join(str(query).split()).casefold()[:100]
        with self._db.reading() as connection:
            where = searched_collection(connection, project)
            if where is None:
                return []
            t = TERMS.c
            found = sa.select(t.word, t.documents).where(t.collection_id == where.id)
            if start:
                # The whole range of texts that begin so; an index answers it, which LIKE does not in every database.
                found = found.where(t.word >= start, t.word < start + "\U0010ffff")
            rows = connection.execute(found.order_by(t.documents.desc(), t.word).limit(limit)).all()
            given = self._given(connection, project)
        return [{"word": row.word, "documents": row.documents, "label": given.get(row.word)} for row in rows]

    def suggestions(self, project: str) -> Many[dict[str, Any]]:
        """Words worth a person's opinion, by the latest run: ``word``, ``suggestion``, ``documents``, ``settles``."""
        query = (
            sa.select(RUN_TABLES.c.content)
            .join(RUNS, RUNS.c.id == RUN_TABLES.c.run_id)
            .where(RUNS.c.project_id == project, RUNS.c.state == DONE, RUN_TABLES.c.name == "ask_words")
            .order_by(RUNS.c.number.desc())
            .limit(1)
        )
        with self._db.reading() as connection:
            found = connection.execute(query).scalar() or []
            given = self._given(connection, project)
        return [row for row in found if row["word"].casefold() not in given]

    def touches(self, project: str, word: str, *, examples: int = _EXAMPLES) -> dict[str, Any]:
        """What a word would touch: ``documents``, how many of which ``labels`` by the latest run, and ``examples``.

        Counted are the documents that hold the word in any of its forms; of several words, those that hold all.
        """
        word = check_word(word)
        with self._db.reading() as connection:
            where = searched_collection(connection, project)
            if where is None:
                return {"word": word, "documents": 0, "labels": {}, "examples": []}
            terms = read_query(word, (where.facts or {}).get("terms", {}))
            positions = find_positions(connection, where.id, terms)
            shown = documents_at(connection, where.id, positions, limit=examples)
            latest = sa.select(RUNS.c.id).where(
                RUNS.c.project_id == project, RUNS.c.state == DONE, RUNS.c.target_id == where.id, RUNS.c.kind == "label"
            )
            run = connection.execute(latest.order_by(RUNS.c.number.desc()).limit(1)).scalar()
        labels: dict[str, int] = {}
        if run is not None and len(positions):
            found = self._labels.of(run)
            counts = np.bincount(found.codes[positions], minlength=len(found.classes))
            labels = {name: int(count) for name, count in zip(found.classes, counts, strict=True) if count}
        return {"word": word, "documents": len(positions), "labels": labels, "examples": shown}

    def assign(self, project: str, word: str, label: str, *, by: str) -> Word:
        """Give a word to a class; the next run learns from it. What it was given to before stays in the history."""
        word, label = check_word(word), check_label(label)
        with self._db.writing() as connection:
            find_row(connection, PROJECTS, project, "project", lock=True)
            self._end(connection, project, word, by)
            id = new_id()
            row = {"id": id, "project_id": project, "word": word, "label": label, "by": by, "at": utc_now()}
            connection.execute(WORDS.insert().values(**row))
            note_event(connection, "word assigned", by=by, project=project, subject=id, word=word, label=label)
            return to_record(Word, find_row(connection, WORDS, id, "word"))

    def remove(self, project: str, word: str, *, by: str) -> None:
        """Take a word back."""
        word = check_word(word)
        with self._db.writing() as connection:
            find_row(connection, PROJECTS, project, "project", lock=True)
            if not self._end(connection, project, word, by):
                raise DataError(f"The word {word!r} has no class; there is nothing to take back.", code="not-found")
            note_event(connection, "word removed", by=by, project=project, word=word)

    def list(self, project: str, *, everything: bool = False) -> Many[Word]:
        """Words that have a class, by name; with ``everything`` also what was taken back."""
        query = WORDS.select().where(WORDS.c.project_id == project).order_by(WORDS.c.word, WORDS.c.number)
        if not everything:
            query = query.where(WORDS.c.removed_at.is_(None))
        with self._db.reading() as connection:
            return [to_record(Word, row) for row in connection.execute(query)]

    def _end(self, connection: Any, project: str, word: str, by: str) -> int:
        holds = sa.and_(WORDS.c.project_id == project, WORDS.c.word == word, WORDS.c.removed_at.is_(None))
        return connection.execute(WORDS.update().where(holds).values(removed_at=utc_now(), removed_by=by)).rowcount

    def _given(self, connection: Any, project: str) -> dict[str, str]:
        query = sa.select(WORDS.c.word, WORDS.c.label).where(
            WORDS.c.project_id == project, WORDS.c.removed_at.is_(None)
        )
        return {row.word: row.label for row in connection.execute(query)}


def check_word(word: Any) -> str:
    """A word as it is kept: in one line and in small letters, as texts are read."""
    return check_name(word, "word").casefold()
