"""Which documents hold a term, as rows of a table: full-text search that is the same in both databases.

Terms are those that the methods read: stems where the language has them, pieces of scripts without blanks.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from isthmus.exceptions import DataError
from isthmus.features import TextVectorizer
from isthmus.features.surface import readable, surface_forms
from isthmus.workspace.schema import TERMS

_LONGEST = 200
_SETTINGS: dict[str, Any] = {"min_df": 1, "stop_words": None, "weighting": "binary", "subwords": False}


class TermIndex:
    """The terms of a collection.

    Attributes
    ----------
    settings : dict
        ``analyzer`` and ``language``: how a query must be read to find the same terms.
    """

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

    Examples
    --------
    >>> from isthmus.workspace.terms import read_query
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


def find_positions(connection: Connection, collection: str, terms: Sequence[str]) -> np.ndarray:
    """Positions of the documents that hold every one of the terms."""
    if not terms:
        return np.zeros(0, dtype=np.int64)
    query = sa.select(TERMS.c.positions).where(TERMS.c.collection_id == collection, TERMS.c.term.in_(terms))
    packed = connection.execute(query).scalars().all()
    if len(packed) < len(set(terms)):
        return np.zeros(0, dtype=np.int64)
    return reduce(lambda these, those: np.intersect1d(these, those, assume_unique=True), map(unpack_positions, packed))


def pack_positions(positions: np.ndarray) -> bytes:
    """Positions as the steps between them, sorted and packed.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.workspace.terms import pack_positions, unpack_positions
    >>> unpack_positions(pack_positions(np.array([7, 3, 100000]))).tolist()
    [3, 7, 100000]
    """
    steps = np.diff(np.sort(positions.astype(np.uint32)), prepend=np.uint32(0)).astype("<u4")
    return zlib.compress(steps.tobytes(), 1) if len(steps) > 16 else b"\x00" + steps.tobytes()


def unpack_positions(packed: bytes) -> np.ndarray:
    """The positions that :func:`pack_positions` packed."""
    plain = packed[1:] if packed[:1] == b"\x00" else zlib.decompress(packed)
    return np.cumsum(np.frombuffer(plain, dtype="<u4"), dtype=np.int64)
