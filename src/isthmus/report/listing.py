"""Documents on a page: the list as plain data, words tinted, the language of a text."""

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
    """Documents in the list's order: all, or the ``cap`` that most need reading."""
    order = np.lexsort((result.confidence, ~result.needs_review))
    return np.sort(order[:cap])


def runner_up(probabilities: np.ndarray, own: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The next best class of each document and how sure that is; ``own`` are the places of the labels.

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
    """Everything the script needs. ``mapped`` are source documents on the map, where their texts are needed."""
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
    """The browser keeps the corrections of this result, and of no other, under this key."""
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
    n = len(result.texts)
    if n <= LIST_CAP:
        return ""
    return (
        f"The list holds {LIST_CAP:,} of {plural(n, 'document')}: those that most need reading. All are in the table."
    )


# -- Words of a text tinted by what they say about its label. The page's script does the same in the browser


LEAST, STRONG = 2, 5  # grades from which a word is tinted, and tinted strongly
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")


def tint(text: str, words: Mapping[str, Sequence[int]], code: int) -> list[tuple[str, str]]:
    """The text in pieces, each with its tint: '', 'for', 'for2', 'no' or 'no2'."""
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
    if abs(grade) < LEAST:
        return ""
    return ("for" if grade > 0 else "no") + ("2" if abs(grade) >= STRONG else "")


def _graded(text: str, words: Mapping[str, Sequence[int]], code: int):
    """Start, end and grade of every word; scripts without blanks go by pairs of characters."""
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


# -- What a browser must know of a text's language
# Which glyphs of the same ideograph, where lines may break, how to read it aloud.


_READ = 2_000  # characters that tell the language; also the key under which it is remembered


def lang_attribute(text: str):
    """``lang="de"`` with a blank before it, for an element that holds the text; nothing where the text does not tell.

    >>> str(lang_attribute("Die Suppe war kalt und das Brot trocken")), str(lang_attribute("42"))
    (' lang="de"', '')
    """
    from markupsafe import Markup

    language = _language(str(text)[:_READ])
    return Markup(f' lang="{language}"') if language in NAMES else Markup("")


@lru_cache(maxsize=2_048)  # a page is opened again, and the same few source documents stand beside many others
def _language(text: str) -> str | None:
    return identify_language(text)
