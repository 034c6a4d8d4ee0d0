"""Embed texts in a pipeline: a transformer for a model that was trained elsewhere."""

from __future__ import annotations

import os
from typing import Any, ClassVar

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from isthmus._validation import check_texts
from isthmus.base import check_parameters
from isthmus.features.counting import shared, texts_key
from isthmus.features.embeddings import Embedder, FunctionEmbedder, VectorTable, resolve_embedder
from isthmus.features.static_vectors import STATIC
from isthmus.features.vector_rows import VectorRows


class TextEmbedder(TransformerMixin, BaseEstimator):
    """Raw texts → one vector each, by a model trained elsewhere; nothing is learned from the texts.

    Parameters
    ----------
    model : str, path, callable or VectorTable, default="static"
        "static" (extra ``embed``), "minilm" (extra ``onnx`` or ``sentences``), "use" (extra ``multilingual``), the
        folder or name of an encoder in ONNX format or of a model of sentence-transformers or model2vec, or a function
        from a list of texts to an array.

    Attributes
    ----------
    fingerprint_ : str
        Of the model that was used; a saved pipeline refuses to go on with another.
    n_components_ : int
        Numbers per text.

    See Also
    --------
    isthmus.features.LatentSemantics : vectors from the collections at hand, without any model.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.features import TextEmbedder
    >>> TextEmbedder(lambda texts: np.array([[len(text)] for text in texts])).fit_transform(["a", "ab"]).tolist()
    [[1.0], [2.0]]
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "model": [str, os.PathLike, callable],
    }

    def __init__(
        self,
        model: Any = STATIC,
    ):
        self.model = model

    @classmethod
    def of(cls, embedder: Embedder) -> TextEmbedder:
        """For a model that is resolved already; a model with a name is kept by its name."""
        if isinstance(embedder, FunctionEmbedder):
            return cls(embedder.function)
        return cls(embedder if isinstance(embedder, VectorTable) else embedder.name)

    def fit(self, X, y=None):
        """Find the model."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X, y=None):
        """Find the model and give the vectors."""
        check_parameters(self)
        texts = check_texts(X)
        embedder = resolve_embedder(self.model)
        vectors = shared(("vectors", id(self.model), embedder.name, texts_key(texts)), lambda: embedder(texts))
        self.fingerprint_ = embedder.fingerprint
        self.n_components_ = vectors.shape[1]
        return vectors

    def transform(self, X):
        """Vectors of new texts."""
        check_is_fitted(self)
        return self.row_step()(check_texts(X))

    def row_step(self) -> VectorRows:
        """Return the step that computes vectors of new texts."""
        return VectorRows(self.model, self.fingerprint_)

    def __sklearn_tags__(self):
        """Return the tags of an estimator that reads strings."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags
