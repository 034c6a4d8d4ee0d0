"""Learn from answers of annotators: select questions, correct the labels, rename classes, and estimate the accuracy."""

from importlib import import_module
from typing import Any

# Public name -> module. A module is imported on first use, so that a saved result labels a text without importing the
# modules that learn.
_PUBLIC = {
    "Answers": "isthmus.feedback.answers",
    "Correction": "isthmus.feedback.correction",
    "DocumentViews": "isthmus.feedback.views",
    "Expectation": "isthmus.feedback.accounting",
    "Labelling": "isthmus.feedback.labelling",
    "Learned": "isthmus.feedback.labelling",
    "Outlook": "isthmus.feedback.accounting",
    "Question": "isthmus.feedback.asking",
    "WordModel": "isthmus.feedback.self_training",
    "ask_documents": "isthmus.feedback.asking",
    "ask_words": "isthmus.feedback.asking",
    "expect_accuracy": "isthmus.feedback.accounting",
    "learn_correction": "isthmus.feedback.correction",
    "outlook": "isthmus.feedback.accounting",
    "train_on_everything": "isthmus.feedback.self_training",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    """Import and return a public name on first use."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
