"""Read chunks for the first time: count rows and labels, draw the sample and store the terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._math.confidence import without_text
from isthmus._math.content import content_keys
from isthmus.corpus.guess import ColumnRoles
from isthmus.corpus.shards import Block, read_block
from isthmus.corpus.tables import Rows
from isthmus.exceptions import DataError
from isthmus.features.counting import take_runs
from isthmus.features.term_table import packed_starts
from isthmus.features.token_kernels import document_frequency, hash_parts
from isthmus.scale.reading import Reading, Tokens, read_tokens
from isthmus.scale.store import Store, damaged, pack, unpack


@dataclass(frozen=True)
class Chunk:
    """A block of a file, with its side and its number."""

    block: Block
    side: str  # "source" or "target"
    number: int

    @property
    def rows(self) -> int:
        """Number of rows of the block."""
        return self.block.rows


def by_shard(chunks: Iterable[Chunk]) -> dict[str, list[Chunk]]:
    """Return the chunks of each file, by its path."""
    found: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        found.setdefault(chunk.block.shard.path, []).append(chunk)
    return found


@dataclass
class Job:
    """Store and columns of a run. Every pass sends it to the workers, so it is small."""

    store: Store
    columns: dict[str, ColumnRoles]
    set_aside: bool = False

    def read(self, chunk: Chunk) -> Rows:
        """Return the rows of a chunk; a bad row stops the run unless bad rows are set aside."""
        # Rows that were set aside once stay out of every pass, because every pass reads the chunk in this way.
        rows = read_block(chunk.block)
        if rows.bad and not self.set_aside:
            first = rows.bad[0]
            raise DataError(
                f"{chunk.block.shard.name}, row {first['row']:,}: {first['reason']}; correct it, or set such rows "
                "aside with bad_rows=FILE.",
                code="bad-rows",
            )
        return rows

    def texts(self, chunk: Chunk) -> list[str]:
        """Return the texts of a chunk."""
        return self.read(chunk).texts(self.columns[chunk.side].text)

    def tokens(self, chunk: Chunk, reading: Reading) -> Tokens:
        """Return the terms of a chunk; read them if they are not stored."""
        make_tokens(chunk, self, reading)
        name = f"tokens/{reading.name}/{chunk.number}"
        held = self.store.load(name)
        if self.store.resumed and not _hangs_together(held):
            raise damaged(f"{name}.npz", "its numbers contradict each other")
        return Tokens(held["terms"], held["ids"], held["ends"], held["solo"])

    def term_counts(self, chunk: Chunk, reading: Reading, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the packed terms of a chunk in these parts of the hashes, and their document frequencies."""
        name = f"tokens/{reading.name}/{chunk.number}"
        held = self.store.load(name, "starts", "terms", "frequency")
        # The two rows of ``starts`` are offsets in bytes and in terms, one for each part.
        (start, end), (first_term, end_term) = held["starts"].reshape(2, -1)[:, [first, last]].tolist()
        return held["terms"][start:end], held["frequency"][first_term:end_term]


def _hangs_together(held: Any) -> bool:
    """Return whether every number of a term is valid, so that compiled loops stay within their tables."""
    ids, ends, n_terms = held["ids"], held["ends"], int(np.count_nonzero(held["terms"] == ord("\n")))
    # One line feed ends each term, so their number is that of the terms.
    inside = not np.any((ids < 0) | (ids >= n_terms))
    ordered = np.all(np.diff(ends, prepend=0) >= 0) and (len(ends) == 0 or ends[-1] == len(ids))
    return bool(inside and ordered and len(held["solo"]) in (0, len(ids)))


TERM_PARTS = 64  # parts of the terms by their hash; each part of all chunks is merged at once


def save_tokens(store: Store, name: str, tokens: Tokens) -> int:
    """Store the terms of a chunk, sorted by part, and return the number of distinct terms."""
    starts = packed_starts(tokens.terms)
    part = hash_parts(tokens.terms, len(starts) - 1, TERM_PARTS)
    order = np.argsort(part, kind="stable")
    # Number of each term after the sort, by its number before.
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    packed = tokens.terms[take_runs(starts, order)[0]]
    firsts = np.searchsorted(part[order], np.arange(TERM_PARTS + 1))
    arrays = {
        "terms": packed,
        "frequency": document_frequency(tokens.ids, tokens.ends, len(order))[order],
        "starts": np.concatenate([packed_starts(packed)[firsts], firsts]),
        "ids": place[tokens.ids],
        "ends": tokens.ends,
        "solo": tokens.solo,
    }
    store.save(name, arrays)
    return len(order)


def make_tokens(chunk: Chunk, job: Job, reading: Reading) -> int:
    """Store the terms of a chunk unless they are stored, and return the number of distinct terms."""
    name = f"tokens/{reading.name}/{chunk.number}"
    if not job.store.has(name):
        return save_tokens(job.store, name, read_tokens(job.texts(chunk), reading))
    return int(job.store.load(name, "starts")["starts"][-1])


# Facts of the first pass about some chunks: rows of each side, documents of each label, bad rows, and the documents
# that were drawn for the sample, as [side, hash, text, label]. Their sum does not depend on the order.
Facts = tuple[Counter, Counter, int, list]


def survey(chunk: Chunk, job: Job, readings: Sequence[Reading], limits: dict[str, int]) -> Facts:
    """Read a chunk, store its terms and labels, and draw its part of the sample.

    A document is drawn if the hash of its text lies below the limit of its side.
    """
    done = f"facts/{chunk.number}"
    if job.store.has(done) and all(job.store.has(f"tokens/{reading.name}/{chunk.number}") for reading in readings):
        try:
            counts, labels, bad, sample = unpack(job.store.load(done, "facts")["facts"])
            return Counter(counts), Counter(labels), int(bad), [[side, int(key), *row] for side, key, *row in sample]
        except (TypeError, ValueError) as error:
            raise damaged("facts", error) from None
    rows = job.read(chunk)
    columns = job.columns[chunk.side]
    texts, given = rows.texts(columns.text), rows.labels(columns.label)
    keys = content_keys(texts)
    # The hash depends only on the text, so the sample is the same for every size of chunks and every order of files.
    drawn = np.flatnonzero(keys < np.uint64(limits[chunk.side]))
    counts, labels = Counter({chunk.side: len(texts)}), Counter(label for label in given if label is not None)
    sample = [[chunk.side, int(keys[i]), texts[i], given[i]] for i in drawn.tolist()]
    facts = counts, labels, len(rows.bad), sample
    for reading in readings:
        save_tokens(job.store, f"tokens/{reading.name}/{chunk.number}", read_tokens(texts, reading))
    if columns.label:
        # Labels are stored as numbers of this chunk's names, because the classes of all chunks are not known yet.
        place = {name: code for code, name in enumerate(sorted(labels))}
        codes = np.array([place.get(label, -1) for label in given], dtype=np.int32)
        job.store.save(f"labels/{chunk.number}", {"names": pack(list(place)), "codes": codes})
    chosen = {"drawn": drawn, "keys": keys[drawn], "empty": np.flatnonzero(without_text(texts))}
    job.store.save(done, {"facts": pack(facts), "bad": pack(rows.bad), **chosen})
    return facts


def load_codes(store: Store, chunk: Chunk, classes: np.ndarray) -> np.ndarray:
    """Return the class of each document of a chunk, -1 for none."""
    held = store.load(f"labels/{chunk.number}")
    names = unpack(held["names"])
    # The last entry stands for -1, a document without a label.
    place = np.array([*np.searchsorted(classes, np.array(names, dtype=object)), -1], dtype=np.int32)
    return place[held["codes"]]
