"""String kernels: how alike two texts are by the character n-grams they share. No words, no language, no vocabulary."""

from __future__ import annotations

import os
import tempfile
import warnings
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from isthmus._progress import progress
from isthmus._utils import warn
from isthmus._validation import check_texts
from isthmus.base import N_JOBS, Lengths, StrOptions, check_parameters
from isthmus.exceptions import DataError, IsthmusWarning
from isthmus.features.gram import KINDS, ngram_gram
from isthmus.features.gram_gpu import DEVICES, GramIndex, array_module, gram_bytes, has_memory
from isthmus.features.ngrams import encode_texts, prepare_text

MEMORY_SHARE = 0.6  # of the free memory that a matrix may take before it goes to a file


@dataclass(frozen=True)
class StringKernel:
    """Kernel on texts from shared character n-grams, exact, for any script (Ionescu and Butnaru 2018).

    Parameters
    ----------
    kind : {"presence", "intersection", "spectrum"}, default="presence"
        presence: number of distinct n-grams in both texts; intersection: Σ min(count, count); spectrum: Σ count·count.
    ngram_range : (int, int), default=(5, 8)
        Shortest and longest n-gram; the kernels of all lengths are summed.
    lowercase : bool, default=True
    squeeze : bool, default=True
        Turn every stretch of white space into one blank and strip the ends.
    normalize : bool, default=False
        K̂_ij = K_ij / √(K_ii·K_jj). A text without any n-gram is like nothing but itself.
    n_jobs : int, default=1
        Threads; -1 for all cores. The result does not depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where the matrix is computed; "auto": on a GPU where CuPy finds one and there are a few thousand texts. The
        result does not depend on it. Needs the extra ``gpu``.

    See Also
    --------
    isthmus.TransductiveKernelClassifier : The classifier that uses it.
    isthmus.features.TextVectorizer : Words instead of characters.

    Notes
    -----
    A character is a Unicode code point: combining marks and the parts of joined emoji count as characters of their own.

    References
    ----------
    R. T. Ionescu, A. M. Butnaru: Transductive learning with string kernels for cross-domain text classification.
    ICONIP 2018.

    Examples
    --------
    >>> from isthmus import StringKernel
    >>> StringKernel("presence", ngram_range=(2, 3)).gram(["banana", "bandana"]).tolist()
    [[6, 5], [5, 10]]
    >>> StringKernel("intersection", ngram_range=(2, 2)).cross(["banana"], ["ananas", "bread"]).tolist()
    [[4, 0]]
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "kind": [StrOptions(set(KINDS))],
        "ngram_range": [Lengths()],
        "lowercase": ["boolean"],
        "squeeze": ["boolean"],
        "normalize": ["boolean"],
        "n_jobs": N_JOBS,
        "device": [StrOptions(set(DEVICES))],
    }

    kind: str = "presence"
    ngram_range: tuple[int, int] = (5, 8)
    lowercase: bool = True
    squeeze: bool = True
    normalize: bool = False
    n_jobs: int = 1
    device: str = "auto"

    def gram(self, texts: Sequence[str], *, normalize: bool | None = None, out: Any = None, dtype: Any = None):
        """Kernel matrix of the texts with each other.

        Parameters
        ----------
        texts : sequence of str
        normalize : bool, optional
            Overrides the kernel's own setting.
        out : path or ndarray, optional
            A path: the matrix is written block by block to that ``.npy`` file and returned memory-mapped. Left out, a
            matrix that would take more than 60% of the free memory goes to a temporary file, with a warning; the
            file is removed when nothing uses the matrix any more.
        dtype : dtype, optional
            Default: float64 if normalised, otherwise int32 (int64 for spectrum).

        Returns
        -------
        ndarray of shape (n_texts, n_texts)
        """
        return self.gram_and_diagonal(texts, normalize=normalize, out=out, dtype=dtype)[0]

    def gram_and_diagonal(self, texts, *, normalize=None, out=None, dtype=None):
        """Return :meth:`gram` and its raw diagonal, by which the normalisation divides."""
        codes, offsets = self._encode(check_texts(texts))
        return self._compute(codes, offsets, 0, normalize, out, dtype)

    def cross(
        self, texts_a: Sequence[str], texts_b: Sequence[str], *, normalize: bool | None = None, dtype: Any = None
    ):
        """Kernel matrix of ``texts_a`` (rows) with ``texts_b`` (columns)."""
        return self.cross_and_diagonals(texts_a, texts_b, normalize=normalize, dtype=dtype)[0]

    def cross_and_diagonals(self, texts_a, texts_b, *, normalize=None, dtype=None):
        """Like :meth:`cross`, and the raw diagonals of both sides."""
        texts_a, texts_b = check_texts(texts_a), check_texts(texts_b)
        # The columns come first, as the computation of cross kernels expects.
        codes, offsets = self._encode([*texts_b, *texts_a], known=len(texts_b))
        K, diag = self._compute(codes, offsets, len(texts_b), normalize, None, dtype)
        return K, diag[len(texts_b) :], diag[: len(texts_b)]

    def __call__(self, texts_a: Sequence[str], texts_b: Sequence[str] | None = None):
        """``gram(texts_a)``, or ``cross(texts_a, texts_b)``."""
        return self.gram(texts_a) if texts_b is None else self.cross(texts_a, texts_b)

    def __add__(self, other) -> KernelSum:
        """Return the sum of two kernels."""
        return KernelSum((self,)) + other

    def prepare(self, text: str) -> str:
        """Return a text as the kernel reads it."""
        return prepare_text(text, lowercase=self.lowercase, squeeze=self.squeeze)

    def counts(self, text: str, texts: Sequence[str]) -> tuple[list[str], np.ndarray, Any]:
        """Count the distinct n-grams of a text in the text itself and in other texts.

        Returns the n-grams, their counts in the text, and a sparse matrix of texts × n-grams.

        Examples
        --------
        >>> from isthmus import StringKernel
        >>> names, own, counts = StringKernel(ngram_range=(2, 2)).counts("banana", ["bandana"])
        >>> names, own.tolist(), counts.toarray().tolist()
        (['ba', 'an', 'na'], [1, 2, 2], [[1, 2, 1]])
        """
        from isthmus.features.gram import shared_ngrams

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IsthmusWarning)  # texts without n-grams have been warned about
            codes, offsets = self._encode([*texts, text])
        shown, end = self.prepare(text), offsets[-2]
        places, own, counts = shared_ngrams(codes[end:], codes[:end], offsets[:-1], *self._lengths())
        return [shown[start : start + length] for start, length in places.tolist()], own, counts

    def _lengths(self) -> tuple[int, int]:
        check_parameters(self)
        lo, hi = self.ngram_range
        return int(lo), int(hi)

    def _encode(self, texts: list[str], known: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Code points of all texts and where each begins; the first ``known`` texts have been warned about before."""
        shortest, _ = self._lengths()
        return encode_texts(texts, shortest, lowercase=self.lowercase, squeeze=self.squeeze, known=known)

    def _compute(self, codes, offsets, split, normalize, out, dtype):
        lo, hi = self._lengths()
        normalize = self.normalize if normalize is None else normalize
        if dtype is None:
            dtype = np.float64 if normalize else (np.int64 if self.kind == "spectrum" else np.int32)
        n = len(offsets) - 1
        shape = (n - split, split) if split else (n, n)
        # A product of few with many costs about what a square matrix of the same area does.
        xp = array_module(self.device, int(np.sqrt(shape[0] * shape[1])))
        index, needed = None, gram_bytes(n, len(codes), hi - lo + 1)
        if xp is not None and has_memory(xp, needed, f"The kernel of {n:,} texts", self.device):
            index = GramIndex.build(xp, codes, offsets, lo, hi, self.kind, split)
        return ngram_gram(
            codes,
            offsets,
            lo,
            hi,
            self.kind,
            split=split,
            normalize=normalize,
            out=_room(shape, np.dtype(dtype), out),
            n_jobs=self.n_jobs,
            report=lambda done, total: progress("comparing texts", done, total),
            index=index,
        )


@dataclass(frozen=True)
class KernelSum:
    """Weighted sum of string kernels, each normalised or raw as it is set."""

    kernels: tuple[Any, ...]
    weights: tuple[float, ...] | None = None

    def gram(self, texts, *, normalize: bool | None = None):
        """Return the kernel matrix of texts with each other."""
        return self._sum([kernel.gram(texts, normalize=normalize) for kernel in self.kernels])

    def cross(self, texts_a, texts_b, *, normalize: bool | None = None):
        """Return the kernel matrix of ``texts_a`` (rows) with ``texts_b`` (columns)."""
        return self._sum([kernel.cross(texts_a, texts_b, normalize=normalize) for kernel in self.kernels])

    def __call__(self, texts_a, texts_b=None):
        """Return ``gram(texts_a)``, or ``cross(texts_a, texts_b)``."""
        return self.gram(texts_a) if texts_b is None else self.cross(texts_a, texts_b)

    def __add__(self, other) -> KernelSum:
        """Return the sum with another kernel or sum."""
        if not isinstance(other, KernelSum) and hasattr(other, "gram") and hasattr(other, "cross"):
            other = KernelSum((other,))
        if not isinstance(other, KernelSum):
            return NotImplemented
        return KernelSum(self.kernels + other.kernels, self._weights() + other._weights())

    def _weights(self) -> tuple[float, ...]:
        return self.weights or (1.0,) * len(self.kernels)

    def _sum(self, matrices) -> np.ndarray:
        total = np.zeros(matrices[0].shape)
        for weight, matrix in zip(self._weights(), matrices, strict=True):
            total += weight * matrix
        return total


def _room(shape: tuple[int, int], dtype: np.dtype, out: Any) -> np.ndarray:
    """Where the matrix goes: a given array, a named file, memory, or a temporary file when memory is short."""
    if isinstance(out, np.ndarray):
        if out.shape != shape:
            raise DataError(f"out has shape {out.shape}; {shape} is needed.", code="length-mismatch")
        return out
    if out is not None:
        return np.lib.format.open_memmap(Path(out), mode="w+", dtype=dtype, shape=shape)
    size, free = shape[0] * shape[1] * dtype.itemsize, _free_memory()
    if free is None or size <= MEMORY_SHARE * free:
        return np.empty(shape, dtype)
    with tempfile.NamedTemporaryFile(prefix="isthmus-kernel-", suffix=".npy", delete=False) as file:
        name = file.name
    try:
        warn(
            f"The kernel matrix of {shape[0]:,} × {shape[1]:,} texts takes {size / 1e9:.1f} GB and "
            f"{free / 1e9:.1f} GB of memory are free; it is written to {name} until it is no longer used. "
            "Give out= to choose the file, or use landmarks.",
            code="fallback",
        )
        matrix = np.lib.format.open_memmap(name, mode="w+", dtype=dtype, shape=shape)
    except BaseException:  # a warning made an error, a full disk, Ctrl-C
        os.unlink(name)
        raise
    # The mapping, not the array: views of the array live on it. Its name is kept so long, for other processes to open.
    weakref.finalize(matrix._mmap, Path(name).unlink, missing_ok=True)  # type: ignore[attr-defined]
    return matrix


def _free_memory() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
