"""Vectorise: from texts to sparse counts over the joint vocabulary of both domains."""

import importlib

# Public name -> module. Lazy, so that reading tokens does not load kernels.
_PUBLIC = {
    "TermProjection": "isthmus.features.projection",
    "TextVectorizer": "isthmus.features.vectorizer",
    "chi2": "isthmus.features.selection",
    "guess_language": "isthmus.features.tokens",
    "tf_chi2": "isthmus.features.selection",
    "tokenize_words": "isthmus.features.tokens",
    "weigh_tfidf": "isthmus.features.weights",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name):
    if name in _PUBLIC:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'isthmus.features' has no attribute {name!r}")


def __dir__():
    return __all__
