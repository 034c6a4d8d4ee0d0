"""Documents: pages by key, single ones, and search."""

from __future__ import annotations

from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from isthmus.workspace.context import Context, check_page, find_row, to_record
from isthmus.workspace.records import Document
from isthmus.workspace.schema import COLLECTIONS, DOCUMENTS
from isthmus.workspace.terms import find_positions, read_query

_LONGEST_QUERY = 200
_MANY = DOCUMENTS.select().where(DOCUMENTS.c.id.in_(sa.bindparam("wanted", expanding=True)))


class Documents:
    """The texts of collections."""

    def __init__(self, context: Context):
        self._db = context.db

    def page(self, collection: str, *, after: int | None = None, limit: int = 50) -> list[Document]:
        """Documents in the order of the file, after the one at position ``after``."""
        after, limit = check_page(after, limit)
        query = DOCUMENTS.select().where(DOCUMENTS.c.collection_id == collection)
        query = query.where(DOCUMENTS.c.position > (-1 if after is None else after))
        with self._db.reading() as connection:
            rows = connection.execute(query.order_by(DOCUMENTS.c.position).limit(limit))
            return [to_record(Document, row) for row in rows]

    def get(self, id: str) -> Document:
        """The document with this id."""
        with self._db.reading() as connection:
            return to_record(Document, find_row(connection, DOCUMENTS, id, "document"))

    def many(self, ids: list[str]) -> list[Document]:
        """The documents with these ids, in this order; ids of nothing are passed over."""
        with self._db.reading() as connection:
            rows = connection.execute(_MANY, {"wanted": [str(id) for id in ids]})
            found = {row.id: to_record(Document, row) for row in rows}
        return [found[id] for id in ids if id in found]

    def project(self, id: str) -> str:
        """Id of the project that a document is in."""
        query = sa.select(COLLECTIONS.c.project_id).join(DOCUMENTS, DOCUMENTS.c.collection_id == COLLECTIONS.c.id)
        with self._db.reading() as connection:
            document = find_row(connection, DOCUMENTS, id, "document")
            return connection.execute(query.where(DOCUMENTS.c.id == document.id)).scalar_one()

    def search(
        self,
        project: str,
        query: str,
        *,
        after: int | None = None,
        limit: int = 50,
        collection: str | None = None,
    ) -> tuple[int, list[Document]]:
        """Documents that hold every word of a query, in any of its forms: how many, and those of a page.

        ``collection``: where to look; the latest target if omitted.
        """
        after, limit = check_page(after, limit)
        with self._db.reading() as connection:
            where = searched_collection(connection, project, collection)
            if where is None:
                return 0, []
            terms = read_query(str(query)[:_LONGEST_QUERY], (where.facts or {}).get("terms", {}))
            positions = find_positions(connection, where.id, terms)
            return len(positions), documents_at(connection, where.id, positions, after=after, limit=limit)


def searched_collection(connection: Connection, project: str, collection: str | None = None) -> Any:
    """The collection that is searched: the one named, or the latest target of the project that is ready."""
    c = COLLECTIONS.c
    query = COLLECTIONS.select().where(c.project_id == project, c.state == "ready", c.removed_at.is_(None))
    query = query.where(c.kind == "target" if collection is None else c.id == collection)
    return connection.execute(query.order_by(c.created_at.desc()).limit(1)).first()


def documents_at(
    connection: Connection, collection: str, positions: np.ndarray, *, after: int | None = None, limit: int = 50
) -> list[Document]:
    """Documents of a collection at these positions, a page of them."""
    d = DOCUMENTS.c
    start = 0 if after is None else int(np.searchsorted(positions, after, side="right"))
    shown = positions[start : start + limit].tolist()
    rows = connection.execute(DOCUMENTS.select().where(d.collection_id == collection, d.position.in_(shown)))
    return sorted((to_record(Document, row) for row in rows), key=lambda found: found.position)
