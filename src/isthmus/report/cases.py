"""Single documents on the page: clear cases and doubtful ones, with the terms that decided them."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.corpus import Collection
from isthmus.exceptions import UsageError

_EXAMPLES, _MANY_CLASSES = 2, 8  # examples of each class; one where there are more classes than that
_TERMS = 6
_EXCERPT = 400


def sure_examples(result) -> np.ndarray:
    """The surest documents of each class."""
    chosen: list = []
    size = _EXAMPLES if len(result.classes) <= _MANY_CLASSES else 1
    for name in result.classes:
        rows = np.flatnonzero(result.labels == name)
        chosen.extend(rows[np.argsort(-result.confidence[rows], kind="stable")[:size]])
    return np.array(chosen, dtype=int)


def documents(result, target: Collection, rows: np.ndarray) -> list[dict]:
    """Texts with their labels and the terms that decided them."""
    return [
        {
            "id": target.ids[i],
            "text": excerpt(result.texts[i]),
            "label": str(result.labels[i]),
            "confidence": float(result.confidence[i]),
            "review": bool(result.needs_review[i]),
            "terms": deciding_terms(result, i),
        }
        for i in rows.tolist()
    ]


def excerpt(text: str, size: int = _EXCERPT) -> str:
    """The beginning of a text in one paragraph: messages of many short lines would fill pages."""
    text = " ".join(text[: 4 * size].split())
    return text if len(text) <= size else text[: size - 1] + "…"


def deciding_terms(result, i: int) -> list[dict[str, Any]]:
    """Terms for and against the label of one document, largest first."""
    try:
        found = result.reasons(i, top=_TERMS)
    except UsageError:  # a method without an account of its labels
        return []
    label = result.labels[i]
    return [
        {"term": str(row["term"]), "contribution": float(row["contribution"])}
        for row in found
        if row["class"] == label and row["contribution"]
    ]
