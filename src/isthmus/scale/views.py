"""Count the vocabulary of a large input, with exact document frequencies, and the rows of its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from isthmus.exceptions import DataError
from isthmus.features.blocks import RowBlock
from isthmus.features.term_table import TermTable, pack_texts, unpack_texts
from isthmus.features.token_kernels import count_rows, pair_keys
from isthmus.features.weights import least_documents, smooth_idf
from isthmus.scale.chunks import TERM_PARTS, Chunk, Job, load_codes, make_tokens
from isthmus.scale.reading import Reading, Tokens, read_tokens
from isthmus.scale.store import damaged

MAX_TERMS = 1_000_000  # most columns: the most frequent terms
_MERGED = 4_000_000  # terms of chunks merged at a time: bounds the memory, and the table fits into the cache
_PAIRS = 20_000_000  # pairs of chunks merged at a time


@dataclass
class View:
    """A vocabulary: terms and pairs of terms, with the document frequency of each column.

    Columns are sorted by their names as in memory, so that a method with a random start has the same start.
    """

    reading: Reading
    terms: list[str]
    frequency: np.ndarray  # of the terms, then of the pairs
    n_documents: int
    pairs: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    place: np.ndarray | None = None  # column of each term and pair; None where terms are sorted and there are no pairs
    left_out: int = 0  # terms beyond the limit
    _index: TermTable | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Name under which rows over this vocabulary are stored."""
        return self.reading.name + ("-pairs" if self.reading.pairs else "")

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.terms) + len(self.pairs)

    @property
    def idf(self) -> np.ndarray:
        """Inverse document frequencies of the columns."""
        # Frequencies are in the order of terms and pairs; columns may be sorted by name.
        idf = smooth_idf(self.frequency, self.n_documents)
        return idf if self.place is None else idf[np.argsort(self.place)]

    def names(self) -> list[str]:
        """Return the names of the columns."""
        names = self._names()
        return names if self.place is None else [names[i] for i in np.argsort(self.place)]

    def _names(self) -> list[str]:
        width = max(1, len(self.terms))
        return self.terms + [f"{self.terms[key // width]} {self.terms[key % width]}" for key in self.pairs.tolist()]

    def column_of(self, packed: np.ndarray) -> np.ndarray:
        """Return the column of each packed term, -1 for a term outside the vocabulary."""
        # The table is large and quick to make, so it is not sent to workers.
        if self._index is None:
            self._index = TermTable()
            self._index.add(pack_texts(self.terms))
        return self._index.find(packed).astype(np.int64)

    def count(self, tokens: Tokens) -> RowBlock:
        """Return the counts of the columns in documents whose terms are read."""
        column = self.column_of(tokens.terms)
        indptr, indices, counts = count_rows(tokens.ids, tokens.ends, tokens.solo, column, self.pairs, len(self.terms))
        if self.place is not None:
            rows = sp.csr_matrix((counts, self.place[indices], indptr), (len(indptr) - 1, self.n_columns))
            rows.sort_indices()
            indices, counts = rows.indices, rows.data
        return RowBlock(indptr, indices, counts, self.n_columns)

    def count_texts(self, texts: Sequence[str]) -> RowBlock:
        """Return the counts of the columns in texts."""
        return self.count(read_tokens(texts, self.reading))

    def __getstate__(self) -> dict:
        """Return the state without the table of terms, which is computed again."""
        return {**self.__dict__, "_index": None}


# -- document frequencies ----------------------------------------------------------------------------------------------


def build_view(engine: Any, job: Job, chunks: Sequence[Chunk], reading: Reading, n_documents: int) -> View:
    """Return the terms in enough documents with their exact frequencies, in bounded memory.

    Terms are merged and pruned in parts by their hash.
    """
    least = least_documents(n_documents)
    most = reading.most_documents * n_documents
    found = engine.sum(make_tokens, chunks, job, reading, phase="reading words")
    # As few groups as memory allows, but enough to occupy all workers.
    n_groups = min(TERM_PARTS, max(1 + found // _MERGED, 2 * engine.workers))
    cuts = pairwise(TERM_PARTS * i // n_groups for i in range(n_groups + 1))
    groups = [PartGroup(a, b, n_documents * b // TERM_PARTS - n_documents * a // TERM_PARTS) for a, b in cuts]
    merged = engine.map(_merge_terms, groups, job, chunks, reading, least, most, phase="counting words")
    found_terms = unpack_texts(np.concatenate([packed for packed, _ in merged]))
    if not found_terms:
        raise DataError(
            f"No word occurs in {least} or more of {n_documents:,} documents; check text=COLUMN.",
            code="empty-vocabulary",
        )
    frequency = np.concatenate([counts for _, counts in merged])
    order = np.array(sorted(range(len(found_terms)), key=found_terms.__getitem__), dtype=np.int64)
    left_out = max(0, len(order) - MAX_TERMS)
    if left_out:  # the most frequent remain, of equally frequent terms the first by name
        order = order[np.sort(np.argsort(-frequency[order], kind="stable")[:MAX_TERMS])]
    view = View(reading, [found_terms[i] for i in order], frequency[order], n_documents, left_out=left_out)
    return _with_pairs(engine, job, chunks, view, least) if reading.pairs else view


class PartGroup(NamedTuple):
    """Parts that are merged at once; ``rows`` is their share of the documents, for the progress."""

    first: int
    last: int
    rows: int


def _merge_terms(
    group: PartGroup, job: Job, chunks: Sequence[Chunk], reading: Reading, least: int, most: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the packed terms of some parts that are frequent enough, and their document frequencies."""
    table, counts = TermTable(), np.zeros(0, dtype=np.int64)
    for chunk in chunks:
        terms, frequency = job.term_counts(chunk, reading, group.first, group.last)
        numbers = table.add(terms)
        if table.size > len(counts):
            counts = np.concatenate([counts, np.zeros(2 * table.size - len(counts), dtype=np.int64)])
        counts[numbers] += frequency  # a chunk lists every term once
    counts = counts[: table.size]
    kept = (least <= counts) & (counts <= most)
    return table.packed(kept), counts[kept]


# -- pairs of words ----------------------------------------------------------------------------------------------------


def _with_pairs(engine: Any, job: Job, chunks: Sequence[Chunk], view: View, least: int) -> View:
    """Return the view with pairs of its words; a pair is at most as frequent as its words, so none is missed."""
    found = []
    # The number of pairs decides in how many parts they are merged.
    total = engine.sum(_pair_total, chunks, job, view, phase="counting word pairs")
    parts = 1 + int(total or 0) // _PAIRS
    for part in range(parts):
        arguments = job, view, part, parts
        keys, counts = engine.sum(_pair_counts, chunks, *arguments, phase="counting word pairs", add=_add_keys)
        found.append((keys[counts >= least], counts[counts >= least]))
    keys, counts = map(np.concatenate, zip(*found, strict=True))
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    room = max(0, MAX_TERMS - len(view.terms))
    if len(keys) > room:
        view = replace(view, left_out=view.left_out + len(keys) - room)
        top = np.sort(np.argsort(-counts, kind="stable")[:room])
        keys, counts = keys[top], counts[top]
    view = replace(view, pairs=keys, frequency=np.concatenate([view.frequency, counts]))
    names = view._names()
    place = np.empty(len(names), dtype=np.int32)
    place[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names), dtype=np.int32)
    return replace(view, place=place)


def _keys_of(chunk: Chunk, job: Job, view: View) -> tuple[np.ndarray, np.ndarray]:
    tokens = job.tokens(chunk, view.reading)
    keys = np.empty(len(tokens.ids), dtype=np.int64)
    rows = np.empty(len(tokens.ids), dtype=np.int64)
    column = view.column_of(tokens.terms)
    count = pair_keys(tokens.ids, tokens.ends, tokens.solo, column, len(view.terms), keys, rows)
    return keys[:count], rows[:count]


def _pair_total(chunk: Chunk, job: Job, view: View) -> int:
    return len(np.unique(_keys_of(chunk, job, view)[0]))


def _pair_counts(chunk: Chunk, job: Job, view: View, part: int, parts: int) -> tuple[np.ndarray, np.ndarray]:
    keys, rows = _keys_of(chunk, job, view)
    if parts > 1:
        own = keys % parts == part
        keys, rows = keys[own], rows[own]
    # Sorted by pair and document, repeats in a document are neighbours.
    order = np.lexsort((rows, keys))
    keys, rows = keys[order], rows[order]
    fresh = np.ones(len(keys), dtype=bool)
    fresh[1:] = (keys[1:] != keys[:-1]) | (rows[1:] != rows[:-1])  # a pair counts once per document
    return np.unique(keys[fresh], return_counts=True)


def _add_keys(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    keys = np.concatenate([a[0], b[0]])
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], np.concatenate([a[1], b[1]])[order]
    starts = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1))
    return keys[starts], np.add.reduceat(counts, starts)


# -- rows --------------------------------------------------------------------------------------------------------------


def make_rows(chunk: Chunk, job: Job, view: View, classes: np.ndarray) -> None:
    """Store the rows of a chunk over the vocabulary for later passes."""
    name = f"rows/{view.name}/{chunk.number}"
    if not job.store.has(name):
        rows = view.count(job.tokens(chunk, view.reading))
        # Most counts fit into a byte, which makes the stored rows smaller.
        small = np.uint8 if int(rows.counts.max(initial=0)) < 256 else np.int32
        arrays = {"indptr": rows.indptr, "indices": rows.indices, "counts": rows.counts.astype(small)}
        if chunk.side == "source":
            arrays["codes"] = load_codes(job.store, chunk, classes)
        job.store.save(name, arrays)


def load_rows(chunk: Chunk, job: Job, name: str, n_columns: int) -> RowBlock:
    """Return the stored rows of a chunk, checked if the run was resumed."""
    place = f"rows/{name}/{chunk.number}"
    held = job.store.load(place)
    rows = RowBlock(held["indptr"], held["indices"], held["counts"].astype(np.int32), n_columns, held.get("codes"))
    if job.store.resumed and not _hangs_together(rows):
        raise damaged(f"{place}.npz", "its numbers contradict each other")
    return rows


def _hangs_together(rows: RowBlock) -> bool:
    """Return whether rows are within the vocabulary, so that compiled loops stay within their tables."""
    indptr, indices, counts = rows.indptr, rows.indices, rows.counts
    whole = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == len(indices) == len(counts)
    ordered = not np.any(np.diff(indptr) < 0)
    inside = not np.any((indices < 0) | (indices >= rows.n_columns)) and not np.any(counts < 0)
    return bool(whole and ordered and inside)
