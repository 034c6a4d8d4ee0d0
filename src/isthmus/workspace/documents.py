"""Documents: pages by key, single ones, and search."""

from __future__ import annotations

import sqlalchemy as sa

from isthmus.workspace.context import Context, check_page, find_row, to_record
from isthmus.workspace.records import Document
from isthmus.workspace.schema import COLLECTIONS, DOCUMENTS


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
            rows = connection.execute(DOCUMENTS.select().where(DOCUMENTS.c.id.in_([str(id) for id in ids])))
            found = {row.id: to_record(Document, row) for row in rows}
        return [found[id] for id in ids if id in found]

    def project(self, id: str) -> str:
        """Id of the project that a document is in."""
        query = sa.select(COLLECTIONS.c.project_id).join(DOCUMENTS, DOCUMENTS.c.collection_id == COLLECTIONS.c.id)
        with self._db.reading() as connection:
            document = find_row(connection, DOCUMENTS, id, "document")
            return connection.execute(query.where(DOCUMENTS.c.id == document.id)).scalar_one()
