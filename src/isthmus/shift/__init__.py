"""Measure: how far apart two domains are, what could carry labels across, and what to do about it."""

import importlib

# Public name -> module. Lazy, so that one measure does not load the others.
_PUBLIC = {
    "Diagnosis": "isthmus.shift.diagnose",
    "carrying": "isthmus.shift.bridges",
    "guess_languages": "isthmus.shift.languages",
    "moved_words": "isthmus.shift.bridges",
    "near_duplicates": "isthmus.shift.duplicates",
    "pivot_table": "isthmus.shift.bridges",
    "proxy_a_distance": "isthmus.shift.distance",
    "vocabulary_overlap": "isthmus.shift.vocabulary",
    "word_divergence": "isthmus.shift.vocabulary",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name):
    if name in _PUBLIC:
        value = getattr(importlib.import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'isthmus.shift' has no attribute {name!r}")


def __dir__():
    return __all__
