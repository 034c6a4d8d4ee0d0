"""What people write beside the documents: labelled words, classes by name, vectors in a column."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.corpus.cells import cell_text, to_float
from isthmus.corpus.decode import shown_name
from isthmus.corpus.read import read_table
from isthmus.exceptions import DataError

if TYPE_CHECKING:
    import numpy as np

_WORD_NAMES = ("word", "words", "term", "token")
_LABEL_NAMES = ("label", "class", "category")
_WEIGHT_NAMES = ("weight", "score")


def read_words(path: str | Path, *, blanks: bool = False) -> dict[str, dict[str, float]]:
    """Labelled words of a table, as ``word_labels`` takes them: word to {class: weight}.

    The columns are ``word``, ``label`` and optionally ``weight``, 1 where empty; a negative one speaks against the
    class. The weights of a word with several classes must be below 1, or the file is refused. ``blanks``: pass over
    words without a label.
    """
    name = shown_name(Path(path).name)
    table = read_table(path)
    words = _column(table, _WORD_NAMES, name)
    labels = _column(table, _LABEL_NAMES, name)
    weights = _column(table, _WEIGHT_NAMES, name, needed=False)
    read: dict[str, dict[str, float]] = {}
    first_line: dict[str, int] = {}
    for row, (word, label) in enumerate(zip(words, labels, strict=True)):
        word = cell_text(word).strip()
        label = cell_text(label).strip()
        if not label and (blanks or not word):
            continue
        if not word or not label:
            lacks = "label" if word else "word"
            raise DataError(f"Row {row + 1} of {name} has no {lacks}; give both.", code="bad-word-labels")
        weight = _weight(weights[row] if weights is not None else None, row, name)
        given = read.setdefault(word, {})
        first_line.setdefault(word, row + 1)
        if label in given and given[label] != weight:
            raise _contradiction(
                word, f"{given[label]:g} and {weight:g} for {label!r}", first_line[word], row + 1, name
            )
        given[label] = weight
        full = [other for other, value in given.items() if value >= 1]
        if len(full) > 1:
            raise _contradiction(word, " and ".join(map(repr, full)), first_line[word], row + 1, name)
    if not read:
        raise DataError(f"{name} holds no labelled word; give at least one row.", code="empty-file")
    return read


def _column(columns: dict[str, list], names: tuple[str, ...], file: str, *, needed: bool = True) -> Any:
    for column in columns:
        if column.strip().casefold() in names:
            return columns[column]
    if not needed:
        return None
    raise DataError(
        f"{file} has the columns {', '.join(columns)}; a column called {names[0]!r} is expected.", code="unknown-column"
    )


def _weight(cell: Any, row: int, name: str) -> float:
    text = cell_text(cell).strip()
    if not text:
        return 1.0
    weight = to_float(text.replace(",", "."))
    if weight is None or not math.isfinite(weight) or weight == 0:
        raise DataError(
            f"Row {row + 1} of {name} has the weight {cell!r}; a number other than 0 is expected, negative if the word "
            "counts against the label.",
            code="bad-word-labels",
        )
    return weight


def _contradiction(word: str, what: str, first: int, second: int, name: str) -> DataError:
    return DataError(
        f"Rows {first} and {second} of {name} contradict each other: the word {word!r} has {what}; keep one, or give "
        "both a weight below 1.",
        code="bad-word-labels",
    )


# -- Classes by name


_CLASS_NAMES = ("class", "classes", "name", "label", "category")
_DESCRIPTION_NAMES = ("words", "description", "keywords", "definition")


def read_class_table(path: str | Path) -> dict[str, str]:
    """Classes of a table (column ``class``) and what its columns ``words`` and ``description`` say, '' where nothing.

    Several rows of one class are joined, so a file may have one word a row.
    """
    name = shown_name(Path(path).name)
    columns = read_table(path)
    called = {column.strip().casefold(): cells for column, cells in columns.items()}
    names = next((called[key] for key in _CLASS_NAMES if key in called), None)
    if names is None:
        raise DataError(
            f"{name} has the columns {', '.join(columns)}; a column called 'class' is expected, and 'words' or "
            "'description' if classes are described.",
            code="unknown-column",
        )
    described = [called[key] for key in _DESCRIPTION_NAMES if key in called]
    found: dict[str, list[str]] = {}
    for row, cell in enumerate(names):
        label = cell_text(cell).strip()
        words = list(filter(None, (cell_text(column[row]).strip() for column in described)))
        if label:
            found.setdefault(label, []).extend(words)
        elif words:
            raise DataError(
                f"Row {row + 1} of {name} describes a class and does not name it; fill in its class.", code="bad-rows"
            )
    if not found:
        raise DataError(f"{name} names no class; give at least one row.", code="empty-file")
    return {label: " ".join(dict.fromkeys(words)) for label, words in found.items()}


# -- A column of vectors: lists of numbers, or texts that write them ("[0.1, -2]", "0.1 -2")


def read_vectors(values: Sequence, column: str, name: str) -> np.ndarray:
    """One row of numbers per cell, all of one length, or a sentence that names the first cell that is not one.

    >>> read_vectors(["[1, 2]", [3, 4.5]], "vector", "a.csv").tolist()
    [[1.0, 2.0], [3.0, 4.5]]
    """
    import numpy as np  # here alone: words and classes are read without it

    rows: list[list[float]] = []
    for place, value in enumerate(values, 1):
        row = _numbers(value)
        if row is None or (rows and len(row) != len(rows[0])):
            length = f" of {len(rows[0])} numbers, as the cells before it" if rows else ""
            raise DataError(
                f"Row {place:,} of the column {column!r} of {name} holds no vector{length}; write each as [0.1, 0.2].",
                code="length-mismatch",
            )
        rows.append(row)
    return np.array(rows, dtype=np.float32)


def _numbers(value: Any) -> list[float] | None:
    try:
        if isinstance(value, str):
            text = value.strip()
            value = json.loads(text) if text.startswith("[") else text.replace(",", " ").split()
        return [float(number) for number in value] or None
    except (TypeError, ValueError):
        return None
