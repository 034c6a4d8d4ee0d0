"""Prepare the list of documents on a page: its data, highlighted words and the language of each text."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from isthmus._utils import plural
from isthmus.corpus import Collection
from isthmus.explain.words import WordList, nearest_documents
from isthmus.features.languages import NAMES, identify_language
from isthmus.features.tokens import WORD
from isthmus.shift.space import JointSpace, spread

LIST_CAP = 20_000  # most documents in the list
_TEXT_BYTES = 6_500_000  # bytes of all texts in the list, to limit the size of the page
_LONGEST = 900  # most characters of a target document
_SHORT = 220  # most characters of a source document
_NEIGHBOURS = 3_000  # documents with similar source documents, the least confident first


def excerpt(text: str, size: int = _LONGEST) -> str:
    """Return the beginning of a text as one paragraph, because messages of many short lines would fill pages.

    Parameters
    ----------
    text : str
        Document.
    size : int
        Most characters.

    Returns
    -------
    str
    """
    text = " ".join(text[: 4 * size].split())
    return text if len(text) <= size else text[: size - 1] + "…"


def listed_rows(result, cap: int = LIST_CAP) -> np.ndarray:
    """Return the documents of the list.

    Parameters
    ----------
    result : LabelResult
        The result.
    cap : int
        Most documents; documents that need review and have low confidence come first in the selection.

    Returns
    -------
    ndarray of int
        Row numbers in ascending order.
    """
    order = np.lexsort((result.confidence, ~result.needs_review))
    return np.sort(order[:cap])


def runner_up(probabilities: np.ndarray, own: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the second class of each document and its probability.

    Parameters
    ----------
    probabilities : ndarray of shape (n_documents, n_classes)
        Probabilities.
    own : sequence of int
        Class code of each label.

    Returns
    -------
    second : ndarray of int of shape (n_documents,)
        Class code.
    probability : ndarray of shape (n_documents,)
        Probability of this class.

    Examples
    --------
    >>> [found.tolist() for found in runner_up(np.array([[0.7, 0.1, 0.2], [0.3, 0.6, 0.1]]), [0, 1])]
    [[2, 0], [0.2, 0.3]]
    """
    rows, others = np.arange(len(own)), np.array(probabilities)
    others[rows, own] = -1.0
    second = others.argmax(axis=1)
    return second, others[rows, second]


def list_data(
    result, target: Collection, space: JointSpace | None, words: WordList | None, *, mapped: np.ndarray | None = None
) -> dict[str, Any]:
    """Return the data that the page's script needs.

    Parameters
    ----------
    result : LabelResult
        The result.
    target : Collection
        The target, for its ids.
    space : JointSpace or None
        Vectors for the search of similar source documents.
    words : WordList or None
        Words to highlight.
    mapped : ndarray of int, optional
        Source documents on the map, whose texts are also needed.

    Returns
    -------
    dict of str to object
    """
    rows = listed_rows(result)
    near = _near(result, rows, space)
    wanted = sorted({int(i) for i in near.ravel() if i >= 0} | {int(i) for i in (mapped if mapped is not None else ())})
    place = {row: i for i, row in enumerate(wanted)}
    size = int(min(_LONGEST, max(120, _TEXT_BYTES / max(1, len(rows)))))
    code = {name: i for i, name in enumerate(result.classes.tolist())}
    labels = np.array([code[result.labels[i]] for i in rows], dtype=int)
    second = runner_up(result.probabilities[rows], labels)[0] if len(code) > 1 else np.full(len(rows), -1)
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
    """Return an excerpt of about ``size`` bytes; characters of many scripts take two or three bytes."""
    short = excerpt(text, size)
    heavy = len(short.encode("utf-8", "replace")) / max(1, len(short))
    return short if heavy < 1.2 else excerpt(text, max(60, int(1.2 * size / heavy)))


def _near(result, rows: np.ndarray, space: JointSpace | None) -> np.ndarray:
    """Return up to two similar source documents per listed document; -1 for none."""
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
    """Return the key under which the browser stores the corrections of this result.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    str
        Different for other texts or labels.
    """
    digest = hashlib.sha256()
    for text, label in zip(result.texts, result.labels, strict=True):
        digest.update(f"{text}\0{label}\0".encode("utf-8", "replace"))
    return "isthmus-" + digest.hexdigest()[:16]


def as_json(data: dict[str, Any]) -> str:
    """Return JSON text for a script element; no text in it can end the element or begin another.

    Parameters
    ----------
    data : dict of str to object
        The data.

    Returns
    -------
    str
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def cap_note(result) -> str:
    """Explain that the list is limited.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    str
        '' if the list contains all documents.
    """
    n = len(result.texts)
    if n <= LIST_CAP:
        return ""
    return (
        f"The list holds {LIST_CAP:,} of {plural(n, 'document')}: those that most need reading. All are in the table."
    )


# -- Highlight words by their evidence for the label; the page's script does the same in the browser


LEAST, STRONG = 2, 5  # smallest grade of a highlighted and of a strongly highlighted word
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")


def tint(text: str, words: Mapping[str, Sequence[int]], code: int) -> list[tuple[str, str]]:
    """Split a text into chunks with the highlight of each chunk.

    Parameters
    ----------
    text : str
        Document.
    words : mapping of str to sequence of int
        Grade of each word per class.
    code : int
        Class code of the label.

    Returns
    -------
    list of (str, str)
        Chunk and highlight: '', 'for', 'for2', 'no' or 'no2'.
    """
    pieces: list[tuple[str, str]] = []
    at = 0
    for start, end, grade in _graded(text, words, code):
        kind = _kind(grade)
        if not kind:
            continue
        if start > at:
            pieces.append((text[at:start], ""))
        pieces.append((text[start:end], kind))
        at = end
    if at < len(text):
        pieces.append((text[at:], ""))
    return pieces


def _kind(grade: int) -> str:
    """Return the highlight for a grade."""
    if abs(grade) < LEAST:
        return ""
    return ("for" if grade > 0 else "no") + ("2" if abs(grade) >= STRONG else "")


def _graded(text: str, words: Mapping[str, Sequence[int]], code: int):
    """Yield start, end and grade of every word; in scripts without blanks, of pairs of characters."""
    for match in WORD.finditer(text):
        word = match.group()
        if not _UNSPACED.search(word):
            yield match.start(), match.end(), words[word.lower()][code] if word.lower() in words else 0
            continue
        i = 0
        while i < len(word) - 1:
            pair = word[i : i + 2]
            if pair in words and abs(words[pair][code]) >= LEAST:
                yield match.start() + i, match.start() + i + 2, words[pair][code]
                i += 1
            i += 1


# -- Language of a text
# Browsers need it to choose the glyphs of ideographs, to break lines and to read texts aloud.


_READ = 2_000  # characters that determine the language, and the key of the cache


def lang_attribute(text: str):
    """Return the attribute of an element with the text's language, such as ``lang="de"`` after a blank.

    Parameters
    ----------
    text : str
        Document.

    Returns
    -------
    Markup
        Empty if the language is unknown.

    Examples
    --------
    >>> str(lang_attribute("Die Suppe war kalt und das Brot trocken")), str(lang_attribute("42"))
    (' lang="de"', '')
    """
    from markupsafe import Markup

    language = _language(str(text)[:_READ])
    return Markup(f' lang="{language}"') if language in NAMES else Markup("")


@lru_cache(maxsize=2_048)  # pages are opened repeatedly, and they show the same source documents many times
def _language(text: str) -> str | None:
    return identify_language(text)
