"""Cosines of vectors as a kernel: of rows, or of raw texts through a model, alone or summed with string kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import cosine_similarity

from isthmus.features.embeddings import STATIC, embed_texts
from isthmus.features.strings import KernelSum


@dataclass(frozen=True)
class CosineKernel:
    """Cosines of the rows of one or two matrices, for ``TransductiveKernelClassifier(kernel=CosineKernel())``."""

    def __call__(self, rows_a: Any, rows_b: Any = None) -> np.ndarray:
        return cosine_similarity(rows_a, rows_b)


@dataclass(frozen=True)
class VectorKernel:
    """Cosines of texts by a model of vectors; can be added to string kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import StringKernel
    >>> from isthmus.features.vector_kernel import VectorKernel
    >>> model = lambda texts: np.array([[1.0, len(text)] for text in texts])
    >>> both = StringKernel("presence", (2, 2), normalize=True) + VectorKernel(model)
    >>> both.gram(["banana"]).round(6).tolist()
    [[2.0]]
    """

    model: Any = STATIC

    def gram(self, texts: Sequence[str], *, normalize: bool | None = None) -> np.ndarray:
        """Cosines of the texts with each other; they are normalised as they are."""
        return cosine_similarity(embed_texts(texts, self.model)).astype(np.float64)

    def cross(self, texts_a: Sequence[str], texts_b: Sequence[str], *, normalize: bool | None = None) -> np.ndarray:
        """Cosines of ``texts_a`` (rows) with ``texts_b`` (columns)."""
        rows = [embed_texts(texts, self.model) for texts in (texts_a, texts_b)]
        return cosine_similarity(*rows).astype(np.float64)

    def __call__(self, texts_a: Sequence[str], texts_b: Sequence[str] | None = None) -> np.ndarray:
        return self.gram(texts_a) if texts_b is None else self.cross(texts_a, texts_b)

    def __add__(self, other: Any) -> KernelSum:
        return KernelSum((self,)) + other
