"""Documents: pages by key, single ones, search, and their labels in a run."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from isthmus.corpus import replacing
from isthmus.exceptions import DataError
from isthmus.features import TextVectorizer
from isthmus.features.tokens import readable, surface_forms
from isthmus.workspace.context import Context, Part, check_page, missing, to_record
from isthmus.workspace.database import Database
from isthmus.workspace.schema import COLLECTIONS, DOCUMENTS, PREDICTIONS, TERMS, Document

# -- Which documents hold a term, as rows of a table: full-text search that is the same in both databases
# Terms are those that the methods read: stems where the language has them, pieces of scripts without blanks.


_LONGEST = 200
_SETTINGS: dict[str, Any] = {"min_df": 1, "stop_words": None, "weighting": "binary", "subwords": False}


class TermIndex:
    """The terms of a collection; ``settings`` says how a query must be read to find the same ones."""

    def __init__(self, texts: Sequence[str]):
        vectorizer = TextVectorizer(**_SETTINGS)
        self.settings: dict[str, str] = {}
        self._counts: Any = None
        try:
            self._counts = vectorizer.fit_transform(list(texts)).tocsc()
        except DataError:  # not a word in any of them
            return
        self.settings = {"analyzer": vectorizer.analyzer_, "language": vectorizer.language_}
        self._terms = vectorizer.feature_names_.tolist()
        self._forms = surface_forms(vectorizer, texts)

    def rows(self, collection: str) -> Iterator[dict[str, Any]]:
        """A row per term: the word it is shown as, in how many documents it stands, and in which."""
        if self._counts is None:
            return
        ends = self._counts.indptr
        for column, term in enumerate(self._terms):
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
    """Terms of a query, read as the texts of a collection were.

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
    """Positions as the steps between them, sorted and packed."""
    steps = np.diff(np.sort(positions.astype(np.uint32)), prepend=np.uint32(0)).astype("<u4")
    return zlib.compress(steps.tobytes(), 1) if len(steps) > 16 else b"\x00" + steps.tobytes()


def unpack_positions(packed: bytes) -> np.ndarray:
    plain = packed[1:] if packed[:1] == b"\x00" else zlib.decompress(packed)
    return np.cumsum(np.frombuffer(plain, dtype="<u4"), dtype=np.int64)


_LONGEST_QUERY = 200
_MANY = DOCUMENTS.select().where(DOCUMENTS.c.id.in_(sa.bindparam("wanted", expanding=True)))


class Documents(Part):
    def page(self, collection: str, *, after: int | None = None, limit: int = 50) -> list[Document]:
        """Documents in the order of the file, after the one at position ``after``."""
        after, limit = check_page(after, limit)
        query = DOCUMENTS.select().where(DOCUMENTS.c.collection_id == collection)
        query = query.where(DOCUMENTS.c.position > (-1 if after is None else after))
        return self._all(Document, query.order_by(DOCUMENTS.c.position).limit(limit))

    def get(self, id: str) -> Document:
        return self._get(Document, id)

    def many(self, ids: list[str]) -> list[Document]:
        """The documents with these ids, in this order; ids of nothing are passed over."""
        with self._db.reading() as connection:
            rows = connection.execute(_MANY, {"wanted": [str(id) for id in ids]})
            found = {row.id: to_record(Document, row) for row in rows}
        return [found[id] for id in ids if id in found]

    def search(
        self, project: str, query: str, *, after: int | None = None, limit: int = 50, collection: str | None = None
    ) -> tuple[int, list[Document]]:
        """Documents that hold every word of a query, in any of its forms: how many, and those of a page.

        ``collection``: where to look; the latest target if omitted.
        """
        after, limit = check_page(after, limit)
        with self._db.reading() as connection:
            where = searched_collection(connection, project, collection)
            if where is None:
                return 0, []
            positions = search_collection(connection, where, query)
            return len(positions), documents_at(connection, where.id, positions, after=after, limit=limit)


def searched_collection(connection: Connection, project: str, collection: str | None = None) -> Any:
    """The collection that is searched: the one named, or the latest target of the project that is ready."""
    c = COLLECTIONS.c
    query = COLLECTIONS.select().where(c.project_id == project, c.state == "ready", c.removed_at.is_(None))
    query = query.where(c.kind == "target" if collection is None else c.id == collection)
    return connection.execute(query.order_by(c.created_at.desc()).limit(1)).first()


def search_collection(connection: Connection, where: Any, query: str) -> np.ndarray:
    """Positions of the documents that hold every word of a query, in any of its forms."""
    terms = read_query(str(query)[:_LONGEST_QUERY], (where.facts or {}).get("terms", {}))
    found = sa.select(TERMS.c.positions).where(TERMS.c.collection_id == where.id, TERMS.c.term.in_(terms))
    packed = connection.scalars(found).all() if terms else []
    if not packed or len(packed) < len(terms):
        return np.zeros(0, dtype=np.int64)
    return reduce(lambda these, those: np.intersect1d(these, those, assume_unique=True), map(unpack_positions, packed))


def documents_at(
    connection: Connection, collection: str, positions: np.ndarray, *, after: int | None = None, limit: int = 50
) -> list[Document]:
    """Documents of a collection at these positions, a page of them."""
    d = DOCUMENTS.c
    start = 0 if after is None else int(np.searchsorted(positions, after, side="right"))
    shown = positions[start : start + limit].tolist()
    rows = connection.execute(DOCUMENTS.select().where(d.collection_id == collection, d.position.in_(shown)))
    return sorted((to_record(Document, row) for row in rows), key=lambda found: found.position)


# -- The labels of a run as arrays, read once: a run that is done never changes


_KEPT = 8  # runs in memory
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class RunLabels:
    """What a run says of every document, by position; ``groups``: names of new groups, '' for none."""

    classes: list[str]
    codes: np.ndarray
    confidence: np.ndarray
    review: np.ndarray
    groups: np.ndarray

    def are(self, label: str) -> np.ndarray:
        code = self.classes.index(label) if label in self.classes else -1
        return self.codes == code

    @property
    def names(self) -> np.ndarray:
        return np.array(self.classes, dtype=object)[self.codes]


class LabelledPart(Part):
    def __init__(self, context: Context, labels: LabelStore):
        super().__init__(context)
        self._labels = labels


class LabelStore:
    """Labels of runs, the last ones in memory; the others in small files, which may be deleted at any time."""

    def __init__(self, db: Database, folder: Path):
        self._db = db
        self._folder = folder
        self._kept = OrderedDict[str, RunLabels]()
        self._lock = Lock()
        folder.mkdir(exist_ok=True)

    def of(self, run: str) -> RunLabels:
        if not _ID.fullmatch(run):  # it becomes the name of a file
            raise missing("run")
        with self._lock:
            if run in self._kept:
                self._kept.move_to_end(run)
                return self._kept[run]
        labels = self._load(run) or self._read(run)
        with self._lock:
            self._kept[run] = labels
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return labels

    def _load(self, run: str) -> RunLabels | None:
        try:
            with (self._folder / f"{run}.npz").open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                parts = {name: file[name] for name in file.files}
            names = parts["group_names"].astype(object)
            same = {name: parts[name] for name in ("codes", "confidence", "review")}
            return RunLabels(classes=parts["classes"].tolist(), groups=names[parts["groups"]], **same)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # none, or one that was cut short
            return None

    def _read(self, run: str) -> RunLabels:
        """From the table; and into a file, for the next process that asks."""
        p = PREDICTIONS.c
        columns = (p.label, p.confidence, p.needs_review, p.novel_group)
        query = sa.select(*columns).where(p.run_id == run).order_by(p.position)
        with self._db.reading() as connection:
            rows = connection.execute(query).all()
        if not rows:
            raise missing("run")
        code: dict[str, int] = {}
        codes = np.array([code.setdefault(row[0], len(code)) for row in rows], dtype=np.int32)
        labels = RunLabels(
            classes=list(code),
            codes=codes,
            confidence=np.array([row[1] for row in rows], dtype=float),
            review=np.array([row[2] for row in rows], dtype=bool),
            groups=np.array([row[3] for row in rows], dtype=object),
        )
        names, groups = np.unique(labels.groups.astype(str), return_inverse=True)
        with suppress(OSError, DataError), replacing(self._folder / f"{run}.npz", force=True) as out:
            parts: dict[str, Any] = {name: getattr(labels, name) for name in ("codes", "confidence", "review")}
            np.savez(out, classes=np.array(labels.classes, dtype=str), group_names=names, groups=groups, **parts)
        return labels
