"""Fit estimators on chunks of files, and read the opinions of fitted ones."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._math.rows import softmax
from isthmus.choose.model import LabelModel
from isthmus.choose.stages.apply import Batch
from isthmus.features.blocks import Block, RowBlock
from isthmus.features.term_rows import weigh_counts
from isthmus.scale.chunks import Chunk, Job, load_codes
from isthmus.scale.views import View, load_rows

# -- blocks of files ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Columns:
    """Vocabulary of the rows that a method reads, and how they are weighted."""

    view: str
    n_columns: int
    classes: np.ndarray
    weighting: str = "counts"  # of the vectoriser of the method, like ``sublinear`` and ``idf``
    sublinear: bool = False
    idf: np.ndarray | None = None

    def weigh(self, counts: sp.csr_matrix) -> sp.csr_matrix:
        """Return the weights of counts."""
        return weigh_counts(counts, self.weighting, self.idf, sublinear=self.sublinear)


class ChunkBlock:
    """A chunk of a file as an estimator reads it; see :class:`isthmus.features.blocks.Block`."""

    def __init__(self, chunk: Chunk, job: Job, columns: Columns):
        self.chunk = chunk
        self.job = job
        self.columns = columns
        self.side = chunk.side

    @cached_property
    def rows(self) -> RowBlock:
        """Counts over the vocabulary."""
        return load_rows(self.chunk, self.job, self.columns.view, self.columns.n_columns)

    @cached_property
    def weighed(self) -> sp.csr_matrix:
        """The rows with the weights of the method's vectoriser."""
        return self.columns.weigh(self.rows.matrix())

    @property
    def codes(self) -> np.ndarray:
        """Class of each document, -1 for none."""
        # Rows over a vocabulary are stored together with their classes.
        if self.columns.n_columns:
            return self.rows.codes  # type: ignore[return-value]  # a source chunk has them
        return load_codes(self.job.store, self.chunk, self.columns.classes)

    def texts(self) -> list[str]:
        """Return the texts of the documents."""
        return self.job.texts(self.chunk)

    def keep(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Store arrays for the next pass."""
        self.job.store.save(self._place(name), arrays)

    def kept(self, name: str) -> Mapping[str, np.ndarray] | None:
        """Return the arrays that an earlier pass stored, or None."""
        place = self._place(name)
        return self.job.store.load(place) if self.job.store.has(place) else None

    def _place(self, name: str) -> str:
        return f"kept/{name}/{self.chunk.number}"


def on_block(chunk: Chunk, job: Job, columns: Columns, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function with a chunk in the form that an estimator reads."""
    return function(ChunkBlock(chunk, job, columns), *args)


class ChunkPasses:
    """Chunks of a :class:`isthmus.scale.run.Run` for a fit; see :class:`isthmus.features.blocks.Passes`."""

    def __init__(self, run: Any, view: View, vectorizer: Any = None):
        self.run, self.view = run, view
        self.classes, self.n_source, self.n_target = run.classes, run.n_source, run.n_target
        self.random_state = run.request.seed
        self.n_columns, self.languages = view.n_columns, view.reading.languages
        # Workers get this small description instead of the vocabulary.
        self.columns = Columns(view.name, view.n_columns, run.classes)
        if vectorizer is not None and vectorizer.weighting == "tfidf":
            self.columns = replace(self.columns, weighting="tfidf", sublinear=vectorizer.sublinear, idf=self.idf)

    @cached_property
    def idf(self) -> np.ndarray:
        """Inverse document frequencies over the documents of both sides."""
        return self.view.idf

    @cached_property
    def sample(self) -> Block:
        """Documents of the source that were drawn for the sample."""
        texts, labels = self.run.source_sample
        # The drawn documents of the source have labels, all of which are classes.
        codes = np.searchsorted(self.classes, np.array(labels, dtype=object)).astype(np.int32)
        return Block("source", lambda: self.view.count_texts(texts), texts, codes, weigh=self.columns.weigh)

    @cached_property
    def target_sample(self) -> Block:
        """Documents of the target that were drawn for the sample."""
        texts = self.run.target_sample
        return Block("target", lambda: self.view.count_texts(texts), texts, weigh=self.columns.weigh)

    def sum(
        self, function: Callable[..., Any], sides: str, *args: Any, phase: str, add: Callable[..., Any] = operator.add
    ) -> Any:
        """Return the sum of a statistic over all chunks of "source", "target" or "both"."""
        # A statistic travels to the chunks, and only its sum comes back.
        chunks = self.run.chunks if sides == "both" else getattr(self.run, sides)
        arguments = self.run.job, self.columns, function, *args
        return self.run.engine.sum(on_block, chunks, *arguments, phase=phase, add=add)

    def forget(self, name: str) -> None:
        """Drop the arrays that chunks stored under this name."""
        self.run.job.store.drop(f"kept/{name}")


# -- fitted methods ----------------------------------------------------------------------------------------------------


@dataclass
class FittedMethod:
    """An estimator that was fitted on chunks, and the columns that it reads."""

    estimator: Any
    columns: Columns

    @property
    def classes_(self) -> np.ndarray:
        """Classes of the method."""
        return self.columns.classes

    def chunk(self, chunk: Chunk, job: Job) -> Any:
        """Return a chunk as the estimator reads it."""
        return ChunkBlock(chunk, job, self.columns)

    def texts(self, texts: Sequence[str], views: Mapping[str, View]) -> Block:
        """Return texts as the estimator reads them; the rows are made when a method asks for them."""
        return Block("target", lambda: views[self.columns.view].count_texts(texts), texts, weigh=self.columns.weigh)


def read_opinions(model: LabelModel, blocks: Mapping[str, Block]) -> tuple[Batch, np.ndarray]:
    """Return the members' opinions about documents, and which documents hold no term that a member knows.

    Parameters
    ----------
    model : LabelModel
        Its members are :class:`FittedMethod`.
    blocks : mapping of str to Block
        The documents as each member reads them.
    """
    found = {name: member.estimator.block_scores(blocks[name]) for name, member in model.members.items()}
    columns = {name: member.classes_ for name, member in model.members.items()}
    # A document counts as unknown only if no member knows a term of it.
    unknown = np.all([own for _, own in found.values()], axis=0)
    return Batch({name: softmax(scores) for name, (scores, _) in found.items()}, columns), unknown
