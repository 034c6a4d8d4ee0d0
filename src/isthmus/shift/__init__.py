"""Measure the differences between two collections and recommend what to do about them."""

from importlib import import_module
from typing import Any

# Public name -> module. A module is imported on first use, so that one measure does not load the others.
_PUBLIC = {
    "vocabulary_transfer": "isthmus.shift.bridges",
    "guess_languages": "isthmus.features.languages",
    "class_shifted_words": "isthmus.shift.bridges",
    "doubt_labels": "isthmus.shift.doubt",
    "measure_shift": "isthmus.shift.diagnose",
    "near_duplicates": "isthmus.shift.duplicates",
    "pivot_table": "isthmus.shift.bridges",
    "proxy_a_distance": "isthmus.shift.vocabulary",
    "vocabulary_overlap": "isthmus.shift.vocabulary",
    "word_divergence": "isthmus.shift.vocabulary",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    """Import and return a public name on first use."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
