"""Vectorise: from texts to sparse counts over the joint vocabulary of both domains."""

from importlib import import_module
from typing import Any

# Public name -> module. Lazy, so that reading tokens does not load kernels.
_PUBLIC = {
    "LatentSemantics": "isthmus.features.latent",
    "TermProjection": "isthmus.features.projection",
    "TextEmbedder": "isthmus.features.embedder",
    "TextVectorizer": "isthmus.features.vectorizer",
    "chi2": "isthmus.features.term_chi2",
    "embed_texts": "isthmus.features.embeddings",
    "guess_language": "isthmus.features.languages",
    "guess_languages": "isthmus.features.languages",
    "identify_language": "isthmus.features.languages",
    "tf_chi2": "isthmus.features.term_chi2",
    "tokenize_words": "isthmus.features.tokens",
    "weigh_tfidf": "isthmus.features.weights",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
