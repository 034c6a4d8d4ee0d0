"""Row blocks for co-clustering: checks on blocks a caller hands in, and matrices that stay on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._validation import read_labels
from isthmus.base import row_blocks
from isthmus.exceptions import DataError


class MappedMatrix:
    """A sparse matrix in a folder, read through memory maps in blocks of rows.

    Iterate over it as often as needed: it yields CSR blocks, and nothing else of it is held in memory.

    Parameters
    ----------
    folder : path
        Written by :meth:`write`.
    block_rows : int, default=4096

    Examples
    --------
    >>> import tempfile
    >>> import scipy.sparse as sp
    >>> from isthmus.classify.cocc.blocks import MappedMatrix
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mapped = MappedMatrix.write(sp.eye(5, format="csr"), folder, block_rows=2)
    ...     [block.shape for block in mapped]
    [(2, 5), (2, 5), (1, 5)]
    """

    _PARTS = ("indptr", "indices", "data")

    def __init__(self, folder, block_rows: int = 4096):
        self.folder, self.block_rows = Path(folder), block_rows
        try:
            self.shape = tuple(int(n) for n in np.load(self.folder / "shape.npy"))
        except FileNotFoundError as error:
            raise DataError(
                f"The folder {self.folder.name!r} holds no matrix; write one with MappedMatrix.write.",
                code="missing-file",
            ) from error

    @classmethod
    def write(cls, X, folder, block_rows: int = 4096) -> MappedMatrix:
        """Put a sparse matrix into a folder, which is made if needed."""
        X, folder = sp.csr_matrix(X), Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for part in cls._PARTS:
            np.save(folder / f"{part}.npy", getattr(X, part))
        np.save(folder / "shape.npy", np.array(X.shape))
        return cls(folder, block_rows)

    def __iter__(self) -> Iterator[sp.csr_matrix]:
        indptr, indices, data = (np.load(self.folder / f"{part}.npy", mmap_mode="r") for part in self._PARTS)
        for rows in row_blocks(self.shape[0], self.block_rows):
            bounds = np.array(indptr[rows.start : rows.stop + 1])
            first, last = int(bounds[0]), int(bounds[-1])
            yield sp.csr_matrix(
                (np.array(data[first:last]), np.array(indices[first:last]), bounds - first),
                shape=(rows.stop - rows.start, self.shape[1]),
            )


def open_blocks(blocks: Callable | Iterable) -> Iterable:
    """A fresh pass over the blocks."""
    if callable(blocks):
        return blocks()
    if iter(blocks) is blocks:
        raise DataError(
            "The blocks came as a generator, which can be read once; give a list, or a function that makes one.",
            code="bad-parameter",
        )
    return blocks


def labelled_blocks(source: Callable | Iterable) -> tuple[np.ndarray, np.ndarray, int]:
    """Classes, the class code of every source row, and the number of words, from one pass over (X, y) blocks."""
    labels, n_words = [], None
    for X, y in open_blocks(source):
        values, known = read_labels(y)
        if X.shape[0] != len(values):
            raise DataError(
                f"A source block has {X.shape[0]} rows and {len(values)} labels; give one label per row.",
                code="length-mismatch",
            )
        if not known.all():
            raise DataError(
                f"{int((~known).sum())} source rows of a block have no label; blocks of the source must be labelled.",
                code="no-labels",
            )
        labels.append(values)
        n_words = X.shape[1] if n_words is None else n_words
    if not labels or n_words is None:
        raise DataError("The source has no blocks; give at least one block of labelled rows.", code="no-rows")
    classes, codes = np.unique(np.concatenate(labels), return_inverse=True)
    if len(classes) < 2:
        raise DataError("The source labels name one class; a classifier needs at least two classes.", code="one-class")
    return classes, codes, int(n_words)


def plain_blocks(
    blocks: Callable | Iterable, n_words: int, who: str, classes: np.ndarray | None = None
) -> Iterator[tuple[sp.csr_matrix, Any]]:
    """Blocks as float CSR matrices without negative or missing entries, with class codes where there are classes."""
    for block in open_blocks(blocks):
        X, y = block if classes is not None else (block, None)
        X = sp.csr_matrix(X, dtype=np.float64)
        if X.shape[1] != n_words:
            raise DataError(
                f"A block has {X.shape[1]} columns, the first source block {n_words}; all must share one vocabulary.",
                code="length-mismatch",
            )
        if X.nnz and not (np.isfinite(X.data).all() and X.data.min() >= 0):
            raise DataError(
                f"A block given to {who} holds negative or missing entries; non-negative counts are expected.",
                code="negative-counts",
            )
        yield X, None if classes is None else np.searchsorted(classes, read_labels(y)[0])
