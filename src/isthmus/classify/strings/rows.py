"""From documents to rows of a kernel: string kernels, callables and precomputed matrices, whole or by landmarks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._math.gram import KINDS, n_threads
from isthmus._math.kernel_ridge import inverse_root, kernel_problem, rbf
from isthmus._packing import pack_texts, unpack_texts
from isthmus._progress import progress
from isthmus.base import Domains, row_blocks
from isthmus.exceptions import DataError
from isthmus.features.languages import IDEOGRAPHIC, guess_language, resolve_language
from isthmus.features.strings import StringKernel, normalize_kernel

SPACED_LENGTHS, UNSPACED_LENGTHS = (5, 8), (1, 4)
FEW = 3  # new documents up to which the columns are walked through instead of being sorted
BLOCK = 2048  # documents compared with the landmarks in one go; larger blocks are no faster and take more memory


@dataclass
class KernelRows:
    """Knows the documents on the columns and how to compare others with them.

    ``fit`` gives the rows of all fitted documents; ``new_rows`` those of later documents.
    """

    kernel: Any
    use_rbf: bool
    transductive: bool
    align: str | None = None
    columns: Any = None
    landmarks: np.ndarray | None = None
    root: np.ndarray | None = None
    train: np.ndarray | None = None
    centre: np.ndarray | None = None
    length: float = 1.0
    diagonal: np.ndarray | None = None  # of a string kernel, for the columns: what normalising divides by

    @classmethod
    def from_settings(cls, estimator, documents: Any) -> KernelRows:
        kernel = estimator.kernel
        lengths = estimator.ngram_range
        if isinstance(lengths, str) and lengths == "auto":
            lengths = lengths_for(guess_language(documents) if isinstance(documents, list) else "other")
        if isinstance(kernel, str) and kernel in KINDS:
            kernel = StringKernel(
                kernel,
                ngram_range=lengths,
                lowercase=estimator.lowercase,
                squeeze=estimator.squeeze,
                n_jobs=estimator.n_jobs,
            )
        return cls(kernel, estimator.rbf, estimator.transductive, estimator.align)

    def fit(self, domains: Domains, landmarks: np.ndarray | None) -> tuple[np.ndarray, bool]:
        """Rows of all documents, and whether they are features (inner products are the kernel) or the kernel itself."""
        self.landmarks = landmarks
        if landmarks is None:
            self.columns = None if self._precomputed else domains.X
            K = self._curve(self._whole(domains.X))
            self._align(K, domains)
            return K, self.transductive
        self.columns = domains.rows(landmarks)
        rows = self._compare_blocks(domains)
        if not self.transductive:
            # Nyström: K ≈ C·K_mm⁺·Cᵀ, so C·K_mm^(−1/2) are features of the plain kernel.
            self.root = inverse_root(rows[landmarks])
            rows = rows @ self.root
        self._align(rows, domains)
        return rows, True

    def _compare_blocks(self, domains: Domains) -> np.ndarray:
        """All documents against the landmarks, as many blocks at a time as there are threads."""
        rows, blocks = np.empty((domains.n_rows, len(self.columns))), list(row_blocks(domains.n_rows, BLOCK))
        threads, own = 1, self
        if isinstance(self.kernel, StringKernel):
            # Every block is left to one thread: little of the work on a block can be shared.
            threads = min(len(blocks), n_threads(self.kernel.n_jobs))
            own = replace(self, kernel=replace(self.kernel, n_jobs=1))

        def compare(block: slice) -> int:
            rows[block] = own._curve(own._between(domains.rows(np.arange(block.start, block.stop)), own.columns))
            return block.stop

        with ThreadPoolExecutor(threads) as pool:
            # Without other threads the caller's own: a function of the caller may not be ready for another one.
            for done in map(compare, blocks) if threads < 2 else pool.map(compare, blocks):
                progress("landmarks", done, domains.n_rows)
        self.diagonal = own.diagonal
        return rows

    def _align(self, rows: np.ndarray, domains: Domains) -> None:
        """Centre the rows, in place; the centre of the target is kept for documents to come."""
        if self.align is None:
            return
        if self.align == "mean" or not len(domains.target):
            self.centre = rows.mean(axis=0)
            rows -= self.centre
            # Mean squared length one: the ridge means the same for every kernel.
            self.length = float(np.sqrt(np.einsum("ij,ij->", rows, rows) / len(rows))) or 1.0
            rows /= self.length
        else:
            self.centre = rows[domains.target].mean(axis=0)
            for number in np.unique(domains.domain):
                mask = domains.domain == number
                rows[mask] -= rows[mask].mean(axis=0)
        if self.align == "domain":
            _unit(rows)

    def keep(self, train: np.ndarray | None) -> KernelRows:
        """Forget what prediction does not need: a plain kernel looks at its training documents only."""
        self.train = train
        if train is not None and self.columns is not None:
            self.columns = _take(self.columns, train)
            self.diagonal = None if self.diagonal is None else self.diagonal[train]
        return self

    def __getstate__(self):
        texts = isinstance(self.columns, list)
        return {**self.__dict__, "columns": pack_texts(self.columns) if texts else self.columns}

    def __setstate__(self, state):
        columns = state["columns"]
        self.__dict__.update(state, columns=unpack_texts(columns) if isinstance(columns, dict) else columns)

    def new_rows(self, X: Any) -> np.ndarray:
        """Rows of new documents against the columns."""
        if self._precomputed:
            rows = self._curve(_dense(X).copy() if self.train is None else _dense(X)[:, self.train])
        elif isinstance(self.kernel, StringKernel) and self.diagonal is not None and len(X) <= FEW:
            rows = self._curve(self.kernel.cross_few(X, self.columns, self.diagonal))
        else:
            rows = self._curve(self._between(X, self.columns))
        if self.root is not None:
            rows = rows @ self.root
        if self.centre is not None:
            rows -= self.centre
            rows /= self.length
        return _unit(rows) if self.align == "domain" else rows

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str)

    def _whole(self, X: Any) -> np.ndarray:
        if isinstance(self.kernel, StringKernel):
            K, self.diagonal = self.kernel.gram_and_diagonal(X, normalize=True)
            return K
        K = _dense(X).copy() if self._precomputed else np.array(self.kernel(X, X), dtype=np.float64)
        problem = kernel_problem(K)
        if problem:
            raise DataError(
                f"The kernel matrix {problem}; a kernel is a finite symmetric matrix, one row and column per document.",
                code="bad-kernel",
            )
        return K if self._precomputed else normalize_kernel(K, np.diag(K), np.diag(K))

    def _between(self, X: Any, columns: Any) -> np.ndarray:
        if isinstance(self.kernel, StringKernel):
            K, _, self.diagonal = self.kernel.cross_and_diagonals(X, columns, normalize=True)
            return K
        K = np.asarray(self.kernel(X, columns), dtype=np.float64)
        if not np.all(np.isfinite(K)):
            raise DataError(
                "The kernel function returned NaN or inf; it must return finite numbers.", code="bad-kernel"
            )
        return normalize_kernel(K, self._self_similarity(X), self._self_similarity(columns))

    def _self_similarity(self, X: Any) -> np.ndarray:
        """K(x, x) of each row, in small blocks: a function of two sets of rows gives no cheaper way."""
        n = len(X) if isinstance(X, list) else X.shape[0]
        blocks = [_take(X, np.arange(b.start, b.stop)) for b in row_blocks(n, 64)]
        return np.concatenate([np.diag(np.asarray(self.kernel(block, block), dtype=np.float64)) for block in blocks])

    def _curve(self, K: np.ndarray) -> np.ndarray:
        if not self.use_rbf:
            return K
        top = float(K.max(initial=0.0))
        if top > 1 + 1e-6:
            raise DataError(
                f"The kernel has values up to {top:g}; exp(K − 1) needs a normalised kernel with ones on the diagonal. "
                "Divide by the root of the diagonal on both sides, or set rbf=False.",
                code="bad-kernel",
            )
        return rbf(K)


def lengths_for(language: str) -> tuple[int, int] | str:
    """Lengths of n-grams for texts in a language; "auto" where the language is to be guessed."""
    code = resolve_language(language)
    # A character of an unspaced script says about as much as a syllable or a short word.
    return code if code == "auto" else UNSPACED_LENGTHS if code in IDEOGRAPHIC else SPACED_LENGTHS


def _unit(rows: np.ndarray) -> np.ndarray:
    """Scale rows to length one, in place."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    length[length == 0] = 1.0
    rows /= length
    return rows


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)


def _take(rows: Any, index: np.ndarray) -> Any:
    return [rows[i] for i in index] if isinstance(rows, list) else rows[index]
