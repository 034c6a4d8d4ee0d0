"""Run over files larger than memory: the folder, the chunks and the passes that labels and clusters share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from isthmus._utils import warn
from isthmus._validation import check_seed
from isthmus.corpus.guess import check_label_kind
from isthmus.corpus.limits import given_limit
from isthmus.corpus.shards import Block, choose_columns, cut_shard, find_shards, read_block
from isthmus.exceptions import DataError, UsageError
from isthmus.features.blocks import add_tuples
from isthmus.options import BLOCK_ROWS, JobOptions
from isthmus.scale.chunks import Chunk, Facts, Job, by_shard, survey
from isthmus.scale.output import Output, check_places, open_work
from isthmus.scale.reading import Reading, choose_reading
from isthmus.scale.settings import Paths, make_plan, start_engine
from isthmus.scale.store import FolderStore, MemoryStore, Store
from isthmus.scale.views import View, build_view, make_rows

_HEAD_SHARDS, _HEAD_ROWS = 10, 300  # files, and rows of each, from which the language is identified
Files = str | os.PathLike | Sequence[str | os.PathLike]
Asked = TypeVar("Asked", bound=JobOptions)
AnyRun = TypeVar("AnyRun", bound="Run[Any]")


@contextmanager
def running(
    kind: type[AnyRun],
    request: JobOptions,
    sources: Files,
    target: Files,
    *,
    client: Any = None,
    tls: Mapping[str, str] | None = None,
    keep_work: bool = False,
) -> Iterator[AnyRun]:
    """Yield a run with its folder and its engine; remove the folder after a run without errors.

    Parameters
    ----------
    kind : type
        Class of the run.
    request : JobOptions
    sources, target : path or sequence of paths
    client, tls, keep_work
        As for :func:`isthmus.scale.label_files`.
    """
    # Everything that can be refused is refused before a folder is made or a worker is started.
    check_seed(request.seed)
    if request.analyzer == "chars":
        raise UsageError("analyzer='chars'; large inputs are read as words, bigrams or trigrams, or auto.")
    paths = {"source": find_shards(sources), "target": find_shards(target)}
    check_places(request.output, (*paths["source"], *paths["target"]))
    work = open_work(request.output, make_plan(request, paths), resume=request.resume, force=request.force)
    engine = start_engine(request, work, paths, client=client, tls=tls)
    try:
        # Other processes see only what is stored in the folder.
        store: Store = MemoryStore()
        if request.engine != "memory":
            store = FolderStore(work / "store", resumed=request.resume)
        yield kind(engine, request, Output(request.output, str(work), not request.exact), store, paths)
    finally:
        engine.close()
    if not keep_work:
        shutil.rmtree(work, ignore_errors=True)


class _File(NamedTuple):
    """A file to be cut; its bytes are the rows in the progress."""

    path: str
    rows: int
    unpacked: str


def _cut(file: _File, block_rows: int, limit: int | None) -> list[Block]:
    return cut_shard(file.path, block_rows, file.unpacked, limit)


class Run(Generic[Asked]):
    """The chunks of both sides, with the engine and the store of the run."""

    set_aside = False  # whether rows that cannot be read are skipped
    any_groups = True  # whether labels may be of any kind, not only classes

    def __init__(self, engine: Any, request: Asked, output: Output, store: Store, paths: Paths):
        self.engine, self.request, self.output, self.store, self.paths = engine, request, output, store, paths
        self.views: dict[str, View] = {}
        self.notes: list[str] = []

    @property
    def chunks(self) -> list[Chunk]:
        """Chunks of both sides."""
        return [*self.source, *self.target]

    @property
    def replace(self) -> bool:
        """Whether output files may be replaced."""
        return self.request.force or self.request.resume

    def look(self) -> Reading:
        """Cut the files, find their columns, and choose how their texts are read."""
        folder = Path(self.output.work) / "unpacked"
        folder.mkdir(exist_ok=True)
        how = self.request.block_rows or BLOCK_ROWS, given_limit()
        chunks: dict[str, list[Chunk]] = {}
        number = 0
        for side, paths in self.paths.items():
            files = [_File(path, os.path.getsize(path), str(folder / f"{side}-{i}")) for i, path in enumerate(paths)]
            # Files are cut in parallel, because compressed files must be read as a whole.
            blocks = list(chain.from_iterable(self.engine.map(_cut, files, *how, phase=f"looking at the {side}")))
            if not blocks:
                raise DataError(f"The {side} holds no rows; check its files.", code="empty-file")
            chunks[side] = [Chunk(block, side, number + i) for i, block in enumerate(blocks)]
            number += len(blocks)
        self.source, self.target = chunks["source"], chunks["target"]
        asked = self.request
        source, target = ([chunk.block for chunk in chunks] for chunks in (self.source, self.target))
        columns = {
            "source": choose_columns(source, text=asked.text, label=asked.label, want_labels=True),
            "target": choose_columns(target, text=asked.target_text or asked.text, label=None, want_labels=False),
        }
        self.notes += [*columns["source"].notes, *columns["target"].notes]
        # Small enough to be sent with every pass.
        self.job = Job(self.store, columns, self.set_aside)
        # The first texts of some files of both sides: the same for every size of chunks.
        texts: list[str] = []
        for own_side in (self.source, self.target):
            shards = list(by_shard(own_side).values())
            for own in shards[:: max(1, len(shards) // _HEAD_SHARDS)]:
                first: list[str] = []
                for chunk in own:
                    first += read_block(chunk.block).texts(self.job.columns[chunk.side].text)
                    if len(first) >= _HEAD_ROWS:
                        break
                texts += first[:_HEAD_ROWS]
        return choose_reading(texts, analyzer=asked.analyzer, language=asked.language)

    def survey(self, readings: Sequence[Reading]) -> None:
        """Read all chunks once: count rows and labels, draw the sample, and store the terms of these readings."""
        size = self.request.sample
        limits: dict[str, int] = {}
        for side, chunks in (("source", self.source), ("target", self.target)):
            # Hashes below the limit are drawn: somewhat more than ``size`` documents.
            share = (1.3 * size + 100) / max(1, sum(chunk.rows for chunk in chunks))
            limits[side] = min(2**64 - 1, int(2**64 * min(1.0, share)))
        arguments = self.job, readings, limits
        facts: Facts = self.engine.sum(survey, self.chunks, *arguments, phase="reading", add=add_tuples)
        rows, self.labels, self.bad_rows, sample = facts
        self.n_source, self.n_target = rows["source"], rows["target"]
        # Sorted, so that classes have the same numbers for every order of files.
        names = sorted(self.labels)
        drawn = sorted(sample, key=lambda row: (row[1], row[2], row[3] or ""))  # the smallest hashes come first
        labelled = [row for row in drawn if row[0] == "source" and row[3] is not None][:size]
        self.source_sample = [row[2] for row in labelled], [row[3] for row in labelled]
        self.target_sample = [row[2] for row in drawn if row[0] == "target"][:size]
        if not self.n_target:
            raise DataError("The target has no rows that can be read.", code="no-target")
        if len(names) < 2:
            code, what = ("no-labels", "no label") if not names else ("one-class", f"one class, {names[0]!r}")
            raise DataError(
                f"The source's labels name {what}; at least two classes are needed. Check label=COLUMN.", code=code
            )
        # The sample shows whether a column of numbers or of sentences was taken for labels.
        kind = check_label_kind(self.source_sample[1], name="The labels of the source", force_classes=self.any_groups)
        if kind.message:
            warn(f"The labels of the source {kind.message}", code="data-checks")
        self.classes = np.array(names, dtype=object)

    def view(self, reading: Reading) -> View:
        """Return the vocabulary of a reading, with the rows of all chunks stored."""
        name = reading.name + ("-pairs" if reading.pairs else "")
        if name not in self.views:
            view = build_view(self.engine, self.job, self.chunks, reading, self.n_source + self.n_target)
            if view.left_out:
                self.notes.append(f"{view.left_out:,} rarer terms beyond {view.n_columns:,} are left out.")
            self.number(self.chunks, view)
        return self.views[name]

    def number(self, chunks: Sequence[Chunk], view: View) -> None:
        """Store the rows of chunks over the vocabulary of a view."""
        self.engine.map(make_rows, chunks, self.job, view, self.classes, phase="numbering words")
        self.views[view.name] = view
