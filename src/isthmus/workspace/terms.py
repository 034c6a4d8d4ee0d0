"""Which documents hold a term, as rows of a table: full-text search that is the same in both databases.

Terms are the ones the methods read: stems where the language has them, pieces of scripts without blanks.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from isthmus.exceptions import DataError
from isthmus.features import TextVectorizer
from isthmus.features.surface import readable, surface_forms
from isthmus.features.tokens import PIECE

_LONGEST = 200


def term_rows(collection: str, texts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A row per term: the word it is shown as, in how many documents it stands, and in which."""
    vectorizer = TextVectorizer(min_df=1, stop_words=None, weighting="binary", subwords=False)
    try:
        counts = vectorizer.fit_transform(list(texts)).tocsc()
    except DataError:  # not a word in any of them
        return
    forms = surface_forms(vectorizer, texts)
    for column, term in enumerate(vectorizer.feature_names_.tolist()):
        if len(term) > _LONGEST or term.startswith(PIECE):
            continue
        rows = counts.indices[counts.indptr[column] : counts.indptr[column + 1]]
        yield {
            "collection_id": collection,
            "term": term,
            "word": readable(term, forms)[:_LONGEST],
            "documents": len(rows),
            "positions": pack_positions(rows),
        }


def read_query(texts: Sequence[str], query: str) -> list[str]:
    """Terms of a query, read as the texts of a collection are."""
    vectorizer = TextVectorizer(min_df=1, stop_words=None, weighting="binary", subwords=False)
    try:
        vectorizer.fit([*texts, query])
    except DataError:
        return []
    return list(dict.fromkeys(vectorizer.analyze(query)))


def pack_positions(rows: np.ndarray) -> bytes:
    """Sorted positions as the steps between them, packed.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.workspace.terms import pack_positions, unpack_positions
    >>> unpack_positions(pack_positions(np.array([7, 3, 100000]))).tolist()
    [3, 7, 100000]
    """
    steps = np.diff(np.sort(rows.astype(np.uint32)), prepend=np.uint32(0)).astype("<u4")
    return zlib.compress(steps.tobytes(), 1) if len(steps) > 16 else b"\x00" + steps.tobytes()


def unpack_positions(packed: bytes) -> np.ndarray:
    """The positions that :func:`pack_positions` packed."""
    plain = packed[1:] if packed[:1] == b"\x00" else zlib.decompress(packed)
    return np.cumsum(np.frombuffer(plain, dtype="<u4"), dtype=np.int64)
