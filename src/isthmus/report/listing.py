"""The list of documents: what the page's script shows, as plain data."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from isthmus._utils import plural
from isthmus.corpus import Collection
from isthmus.explain.neighbours import nearest_documents
from isthmus.explain.words import WordList
from isthmus.shift.space import JointSpace, spread

LIST_CAP = 20_000  # documents in the list
_TEXT_BYTES = 6_500_000  # all texts of the list together
_LONGEST = 900  # characters of a text
_SHORT = 220  # characters of a source document
_NEIGHBOURS = 3_000  # documents that get near documents of the source, least sure first


def excerpt(text: str, size: int = _LONGEST) -> str:
    """The beginning of a text in one paragraph: messages of many short lines would fill pages."""
    text = " ".join(text[: 4 * size].split())
    return text if len(text) <= size else text[: size - 1] + "…"


def listed_rows(result, cap: int = LIST_CAP) -> np.ndarray:
    """Documents of the list in their order: all, or the ``cap`` that most need reading."""
    order = np.lexsort((result.confidence, ~result.needs_review))
    return np.sort(order[:cap])


def list_data(
    result,
    target: Collection,
    space: JointSpace | None,
    words: WordList | None,
    *,
    mapped: np.ndarray | None = None,
) -> dict[str, Any]:
    """Everything the script needs: documents, classes, near documents of the source, weights of words.

    Parameters
    ----------
    mapped : ndarray of int, optional
        Source documents shown on the map; their texts are needed there.
    """
    rows = listed_rows(result)
    near = _near(result, rows, space)
    wanted = sorted({int(i) for i in near.ravel() if i >= 0} | {int(i) for i in (mapped if mapped is not None else ())})
    place = {row: i for i, row in enumerate(wanted)}
    size = int(min(_LONGEST, max(120, _TEXT_BYTES / max(1, len(rows)))))
    code = {name: i for i, name in enumerate(result.classes.tolist())}
    probabilities = np.array(result.probabilities[rows])
    labels = np.array([code[result.labels[i]] for i in rows], dtype=int)
    probabilities[np.arange(len(rows)), labels] = -1.0
    second = probabilities.argmax(axis=1) if len(code) > 1 else np.full(len(rows), -1)
    groups = result.novel_group[rows]
    return {
        "key": page_key(result),
        "classes": [str(name) for name in result.classes.tolist()],
        "row": (rows + 1).tolist(),
        "id": [str(target.ids[i]) for i in rows],
        "text": [_fit(result.texts[i], size) for i in rows],
        "label": labels.tolist(),
        "second": second.tolist(),
        "sure": [round(float(value), 3) for value in result.confidence[rows]],
        "review": "".join("1" if flag else "0" for flag in result.needs_review[rows]),
        "group": [str(name) for name in groups] if any(groups) else [],
        "near": [[place[int(i)] for i in found if i >= 0] for found in near],
        "source": {
            "id": wanted,
            "text": [_fit(result.source_texts[i], _SHORT) for i in wanted],
            "label": [code.get(result.source_labels[i], -1) for i in wanted],
        },
        "words": words.words if words else {},
    }


def _fit(text: str, size: int) -> str:
    """An excerpt of at most ``size`` bytes, roughly: other scripts take two or three for a character."""
    short = excerpt(text, size)
    heavy = len(short.encode("utf-8", "replace")) / max(1, len(short))
    return short if heavy < 1.2 else excerpt(text, max(60, int(1.2 * size / heavy)))


def _near(result, rows: np.ndarray, space: JointSpace | None) -> np.ndarray:
    near = np.full((len(rows), 2), -1)
    labelled = np.array([name is not None for name in result.source_labels])
    if space is None or not labelled.any():
        return near
    pool = np.flatnonzero(labelled)
    pool = pool[spread(len(pool), 4_000)]
    first = np.argsort(result.confidence[rows], kind="stable")[:_NEIGHBOURS]
    chosen = rows[first]
    if space.counts.shape[0] == space.n_source + len(result.texts):
        target = space.vectors[space.n_source + chosen]
        source = space.vectors[pool]
    else:
        target = space.project([result.texts[i] for i in chosen])
        source = space.project([result.source_texts[i] for i in pool])
    found = nearest_documents(target, source)
    near[first, : found.shape[1]] = np.where(found >= 0, pool[found], -1)
    return near


def page_key(result) -> str:
    """Under which the browser keeps the corrections of this result, and of no other."""
    digest = hashlib.sha256()
    for text, label in zip(result.texts, result.labels, strict=True):
        digest.update(f"{text}\0{label}\0".encode("utf-8", "replace"))
    return "isthmus-" + digest.hexdigest()[:16]


def as_json(data: dict[str, Any]) -> str:
    """JSON that may stand inside a page: no text in it can end the element or begin another."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def cap_note(result) -> str:
    """Said where the list does not hold every document."""
    n = len(result.texts)
    if n <= LIST_CAP:
        return ""
    return (
        f"The list holds {LIST_CAP:,} of {plural(n, 'document')}: those that most need reading. All are in the table."
    )
