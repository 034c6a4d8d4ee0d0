"""Vectors of texts as a step of a saved result; the encoders are imported only by results that use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus.exceptions import DataError
from isthmus.features.static_vectors import STATIC, need_static


@dataclass
class VectorRows:
    """Vectors of texts by the model with which a method was fitted.

    Attributes
    ----------
    model : str, callable or VectorTable
        As for :class:`isthmus.features.TextEmbedder`.
    fingerprint : str
        A model with another fingerprint is refused.
    """

    model: Any
    fingerprint: str

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return one vector per text.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of shape (n_texts, n_dimensions)
        """
        if isinstance(self.model, str) and self.model == STATIC:
            embedder: Any = need_static()
        else:  # the other models are imported only by results that use them
            from isthmus.features.embeddings import resolve_embedder

            embedder = resolve_embedder(self.model)
        return check_fingerprint(embedder, self.fingerprint)(list(texts))


def check_fingerprint(embedder: Any, fingerprint: str) -> Any:
    """Return the model of vectors, or refuse a model other than the one a pipeline was fitted with."""
    if embedder.fingerprint != fingerprint:
        raise DataError(
            f"The model {embedder.name!r} has changed since this pipeline was fitted; fit it again.", code="bad-model"
        )
    return embedder
