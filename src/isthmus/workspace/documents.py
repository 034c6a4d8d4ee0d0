"""Documents: pages, single documents, search, and their labels in a run."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.orm import Session

from isthmus.exceptions import DataError
from isthmus.features import TextVectorizer
from isthmus.features.tokens import readable, surface_forms
from isthmus.workspace.context import Context, Part, check_page, missing
from isthmus.workspace.database import Database
from isthmus.workspace.schema import COLLECTIONS, DOCUMENTS, PREDICTIONS, TERMS, Collection, Document

# -- Which documents contain a term, as rows of a table: a full-text search that is the same in both databases. Terms
# are those of the methods: stems where the language has them, character chunks of scripts without blanks.


# Longest term in characters, the width of its column.
_LONGEST = 200
_SETTINGS: dict[str, Any] = {"min_df": 1, "stop_words": None, "weighting": "binary", "subwords": False}


class TermIndex:
    """The terms of a collection and the documents that contain them.

    Attributes
    ----------
    settings : dict
        Analyzer and language, with which :func:`read_query` finds the same terms in a query; empty without terms.
    """

    def __init__(self, texts: Sequence[str]):
        vectorizer = TextVectorizer(**_SETTINGS)
        self.settings: dict[str, str] = {}
        self._counts: Any = None
        try:
            self._counts = vectorizer.fit_transform(list(texts)).tocsc()
        except DataError:  # no text contains a word
            return
        self.settings = {"analyzer": vectorizer.analyzer_, "language": vectorizer.language_}
        self._terms = vectorizer.feature_names_.tolist()
        self._forms = surface_forms(vectorizer, texts)

    def rows(self, collection: str) -> Iterator[dict[str, Any]]:
        """Yield a row per term for the table of terms.

        Parameters
        ----------
        collection : str
            Id of the collection.

        Yields
        ------
        dict[str, Any]
            Term, the word shown for it, number of documents and their packed positions.
        """
        if self._counts is None:
            return
        ends = self._counts.indptr
        for column, term in enumerate(self._terms):
            # A term longer than its column is no word that people search for.
            if len(term) > _LONGEST:
                continue
            positions = self._counts.indices[ends[column] : ends[column + 1]]
            yield {
                "collection_id": collection,
                "term": term,
                "word": readable(term, self._forms)[:_LONGEST],
                "documents": len(positions),
                "positions": pack_positions(positions),
            }


def read_query(query: str, settings: Mapping[str, str]) -> list[str]:
    """Split a query into terms in the way in which the texts of a collection were split.

    Parameters
    ----------
    query : str
        Words that a person entered.
    settings : Mapping[str, str]
        ``TermIndex.settings`` of the collection.

    Returns
    -------
    list[str]
        Distinct terms in the order of the query.

    Examples
    --------
    >>> read_query("Friendly prices!", {"analyzer": "words", "language": "en"})
    ['friendli', 'price']
    """
    if not settings:
        return []
    vectorizer = TextVectorizer(analyzer=settings["analyzer"], language=settings["language"], **_SETTINGS)
    try:
        vectorizer.fit([query])
    except DataError:
        return []
    return list(dict.fromkeys(vectorizer.analyze(query)))


def pack_positions(positions: np.ndarray) -> bytes:
    """Pack sorted positions as compressed differences.

    Parameters
    ----------
    positions : np.ndarray
        Positions of documents in their collection.

    Returns
    -------
    bytes
        Bytes for :func:`unpack_positions`.
    """
    steps = np.diff(np.sort(positions.astype(np.uint32)), prepend=np.uint32(0)).astype("<u4")
    # Compression makes short lists longer; a zero byte marks an uncompressed one.
    return zlib.compress(steps.tobytes(), 1) if len(steps) > 16 else b"\x00" + steps.tobytes()


def unpack_positions(packed: bytes) -> np.ndarray:
    """Return the positions that :func:`pack_positions` packed.

    Parameters
    ----------
    packed : bytes
        Packed positions.

    Returns
    -------
    np.ndarray
        Sorted positions.
    """
    plain = packed[1:] if packed[:1] == b"\x00" else zlib.decompress(packed)
    return np.cumsum(np.frombuffer(plain, dtype="<u4"), dtype=np.int64)


# Longest query in characters; the rest is ignored.
_LONGEST_QUERY = 200
_MANY = sa.select(Document).where(DOCUMENTS.c.id.in_(sa.bindparam("wanted", expanding=True)))


class Documents(Part):
    """Pages of documents, single documents and search."""

    def page(self, collection: str, *, after: int | None = None, limit: int = 50) -> list[Document]:
        """Return one page of documents in the order of the file.

        Parameters
        ----------
        collection : str
            Id of the collection.
        after : int, optional
            Position of the last document on the previous page.
        limit : int, default=50
            Maximum number of rows on the page.

        Returns
        -------
        list[Document]
            Documents of the page.
        """
        after, limit = check_page(after, limit)
        query = sa.select(Document).where(DOCUMENTS.c.collection_id == collection)
        query = query.where(DOCUMENTS.c.position > (-1 if after is None else after))
        return self._all(query.order_by(DOCUMENTS.c.position).limit(limit))

    def get(self, id: str) -> Document:
        """Return a document by its id, or raise an error if it does not exist.

        Parameters
        ----------
        id : str
            Id of the document.

        Returns
        -------
        Document
            The document.
        """
        return self._get(Document, id)

    def many(self, ids: list[str]) -> list[Document]:
        """Return documents by their ids, in the same order; unknown ids are skipped.

        Parameters
        ----------
        ids : list[str]
            Ids of the documents.

        Returns
        -------
        list[Document]
            The documents.
        """
        with self._db.reading() as session:
            found = {row.id: row for row in session.scalars(_MANY, {"wanted": [str(id) for id in ids]})}
        return [found[id] for id in ids if id in found]


def searched_collection(session: Session, project: str, collection: str | None = None) -> Any:
    """Return the row of the collection to search.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    project : str
        Id of the project.
    collection : str, optional
        Id of the collection; the latest target that is ready if omitted.

    Returns
    -------
    Any
        Row of the collection, or None if there is none.
    """
    c = COLLECTIONS.c
    query = sa.select(Collection).where(c.project_id == project, c.state == "ready", c.removed_at.is_(None))
    query = query.where(c.kind == "target" if collection is None else c.id == collection)
    return session.scalars(query.order_by(c.created_at.desc()).limit(1)).first()


def search_collection(session: Session, where: Any, query: str) -> np.ndarray:
    """Find the documents of a collection that contain every word of a query.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    where : Any
        Row of the collection.
    query : str
        Words to search for.

    Returns
    -------
    np.ndarray
        Sorted positions of the documents.
    """
    terms = read_query(str(query)[:_LONGEST_QUERY], (where.facts or {}).get("terms", {}))
    found = sa.select(TERMS.c.positions).where(TERMS.c.collection_id == where.id, TERMS.c.term.in_(terms))
    packed = session.scalars(found).all() if terms else []
    # A term that is missing from the index occurs in no document.
    if not packed or len(packed) < len(terms):
        return np.zeros(0, dtype=np.int64)
    return reduce(lambda these, those: np.intersect1d(these, those, assume_unique=True), map(unpack_positions, packed))


def documents_at(
    session: Session, collection: str, positions: np.ndarray, *, after: int | None = None, limit: int = 50
) -> list[Document]:
    """Return one page of the documents at the given positions.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    collection : str
        Id of the collection.
    positions : np.ndarray
        Sorted positions of documents.
    after : int, optional
        Position of the last document on the previous page.
    limit : int, default=50
        Maximum number of rows on the page.

    Returns
    -------
    list[Document]
        Documents by position.
    """
    d = DOCUMENTS.c
    start = 0 if after is None else int(np.searchsorted(positions, after, side="right"))
    shown = positions[start : start + limit].tolist()
    query = sa.select(Document).where(d.collection_id == collection, d.position.in_(shown))
    return list(session.scalars(query.order_by(d.position)))


# -- The labels of a run as arrays. They are read once, because a finished run never changes


_KEPT = 8  # number of runs whose labels stay in memory


@dataclass(frozen=True)
class RunLabels:
    """Labels of a run as arrays by the position of the document.

    Attributes
    ----------
    classes : list of str
        Names of the classes.
    codes : ndarray
        Index of each document's class.
    confidence : ndarray
        Confidence of each label, from 0 to 1.
    review : ndarray
        Whether each document needs review.
    groups : ndarray
        Name of each document's new group, or "" for none.
    """

    classes: list[str]
    codes: np.ndarray
    confidence: np.ndarray
    review: np.ndarray
    groups: np.ndarray

    def are(self, label: str) -> np.ndarray:
        """Return which documents have a label.

        Parameters
        ----------
        label : str
            Name of the class.

        Returns
        -------
        np.ndarray
            Boolean array by position.
        """
        code = self.classes.index(label) if label in self.classes else -1
        return self.codes == code

    @property
    def names(self) -> np.ndarray:
        """Class name of every document."""
        return np.array(self.classes, dtype=object)[self.codes]


class LabelledPart(Part):
    """Base class of the parts that read the labels of runs."""

    def __init__(self, context: Context, labels: LabelStore):
        super().__init__(context)
        self._labels = labels


class LabelStore:
    """Reads the labels of runs, and keeps those of the latest runs in memory.

    Parameters
    ----------
    db : Database
        The database.
    """

    def __init__(self, db: Database):
        self._db = db
        # A finished run never changes.
        self.of: Callable[[str], RunLabels] = lru_cache(_KEPT)(self._read)

    def _read(self, run: str) -> RunLabels:
        """Read the labels of a run, or raise an error if it has none."""
        p = PREDICTIONS.c
        query = sa.select(p.label, p.confidence, p.needs_review, p.novel_group).where(p.run_id == run)
        with self._db.reading() as session:
            rows = session.execute(query.order_by(p.position)).all()
        if not rows:
            raise missing("run")
        code: dict[str, int] = {}
        codes = np.array([code.setdefault(row[0], len(code)) for row in rows], dtype=np.int32)
        return RunLabels(
            classes=list(code),
            codes=codes,
            confidence=np.array([row[1] for row in rows], dtype=float),
            review=np.array([row[2] for row in rows], dtype=bool),
            groups=np.array([row[3] for row in rows], dtype=object),
        )
