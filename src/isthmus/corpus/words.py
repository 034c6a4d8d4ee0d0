"""Read the tables that people write next to their documents: labelled words, classes by name and vectors."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.corpus.cells import cell_content, to_float
from isthmus.corpus.decode import shown_name
from isthmus.corpus.read import read_table
from isthmus.exceptions import DataError

if TYPE_CHECKING:
    import numpy as np

# Accepted names of the columns, in lower case.
_WORD_NAMES = ("word", "words", "term", "token")
_LABEL_NAMES = ("label", "class", "category")
_WEIGHT_NAMES = ("weight", "score")


def read_words(path: str | Path, *, blanks: bool = False) -> dict[str, dict[str, float]]:
    """Return the labelled words of a table.

    The columns are ``word``, ``label`` and optionally ``weight``. An empty weight is 1, and a negative weight counts
    against the class. A word with several classes needs weights below 1.

    Parameters
    ----------
    path : str or Path
        File.
    blanks : bool
        Skip words without a label.

    Returns
    -------
    dict of str to dict of str to float
        Weight by word and class, as ``word_labels`` expects.

    Raises
    ------
    DataError
        A column or a value is missing, or two rows contradict each other.
    """
    name = shown_name(Path(path).name)
    table = read_table(path)
    words = _column(table, _WORD_NAMES, name)
    labels = _column(table, _LABEL_NAMES, name)
    weights = _column(table, _WEIGHT_NAMES, name, needed=False)
    read: dict[str, dict[str, float]] = {}
    first_row: dict[str, int] = {}  # messages about contradictions name both rows
    for row, (word, label) in enumerate(zip(map(cell_content, words), map(cell_content, labels), strict=True), 1):
        # Lists of candidate words have empty labels until a person fills them in.
        if not label and (blanks or not word):
            continue
        if not word or not label:
            lacks = "label" if word else "word"
            raise DataError(f"Row {row} of {name} has no {lacks}; give both.", code="bad-word-labels")
        cell = cell_content(weights[row - 1]) if weights is not None else ""
        # Many languages write decimals with a comma.
        weight = to_float(cell.replace(",", ".") or 1)
        if weight is None or not math.isfinite(weight) or weight == 0:
            raise DataError(
                f"Row {row} of {name} has the weight {cell!r}; a number other than 0 is expected, negative if the word "
                "counts against the label.",
                code="bad-word-labels",
            )
        weight_of = read.setdefault(word, {})
        first_row.setdefault(word, row)
        earlier = weight_of.setdefault(label, weight)
        # A weight of 1 means that the word proves the class, which cannot hold for two classes.
        full = [other for other, value in weight_of.items() if value >= 1]
        if earlier != weight or len(full) > 1:
            two = f"{earlier:g} and {weight:g} for {label!r}" if earlier != weight else " and ".join(map(repr, full))
            raise DataError(
                f"Rows {first_row[word]} and {row} of {name} contradict each other: the word {word!r} has {two}; keep "
                "one, or give both a weight below 1.",
                code="bad-word-labels",
            )
    if not read:
        raise DataError(f"{name} holds no labelled word; give at least one row.", code="empty-file")
    return read


def _column(columns: dict[str, list], names: tuple[str, ...], file: str, *, needed: bool = True) -> Any:
    """Return the cells of the column with one of some names; earlier names have priority."""
    known = {column.strip().casefold(): cells for column, cells in columns.items()}
    cells = next((known[name] for name in names if name in known), None)
    if cells is None and needed:
        raise DataError(
            f"{file} has the columns {', '.join(columns)}; a column called {names[0]!r} is expected.",
            code="unknown-column",
        )
    return cells


# -- Classes given by name


_CLASS_NAMES = ("class", "classes", "name", "label", "category")
_DESCRIPTION_NAMES = ("words", "description", "keywords", "definition")


def read_class_table(path: str | Path) -> dict[str, str]:
    """Return the classes of a table with their descriptions.

    The columns are ``class`` and optionally ``words`` and ``description``. Several rows of one class are joined, so
    that a file may have one word per row.

    Parameters
    ----------
    path : str or Path
        File.

    Returns
    -------
    dict of str to str
        Description by class; '' without a description.

    Raises
    ------
    DataError
        No class is named, or a description has no class.
    """
    name = shown_name(Path(path).name)
    columns = read_table(path)
    names = _column(columns, _CLASS_NAMES, name)
    described = [_column(columns, (given,), name, needed=False) for given in _DESCRIPTION_NAMES]
    words_of: dict[str, list[str]] = {}
    for row, cell in enumerate(names):
        label = cell_content(cell)
        words = [text for column in described if column is not None and (text := cell_content(column[row]))]
        if label:
            words_of.setdefault(label, []).extend(words)
        elif words:
            raise DataError(
                f"Row {row + 1} of {name} describes a class and does not name it; fill in its class.", code="bad-rows"
            )
    if not words_of:
        raise DataError(f"{name} names no class; give at least one row.", code="empty-file")
    # Repeated words would count twice.
    return {label: " ".join(dict.fromkeys(words)) for label, words in words_of.items()}


# -- Vectors in a column: lists of numbers, or text such as "[0.1, -2]" or "0.1 -2"


def read_vectors(values: Sequence, column: str, name: str) -> np.ndarray:
    """Return the vectors of a column.

    Parameters
    ----------
    values : sequence
        Cells: lists of numbers, or their text.
    column : str
        Name of the column in error messages.
    name : str
        Name of the file in error messages.

    Returns
    -------
    ndarray of float32 of shape (n_cells, n_features)

    Raises
    ------
    DataError
        A cell contains no vector of the common length; the message names the first such cell.

    Examples
    --------
    >>> read_vectors(["[1, 2]", [3, 4.5]], "vector", "a.csv").tolist()
    [[1.0, 2.0], [3.0, 4.5]]
    """
    import numpy as np  # only this function needs it: words and classes are read without numpy

    rows: list[list[float]] = []
    for number, value in enumerate(values, 1):
        row = _numbers(value)
        if row is None or (rows and len(row) != len(rows[0])):
            length = f" of {len(rows[0])} numbers, as the cells before it" if rows else ""
            raise DataError(
                f"Row {number:,} of the column {column!r} of {name} holds no vector{length}; write each as [0.1, 0.2].",
                code="length-mismatch",
            )
        rows.append(row)
    return np.array(rows, dtype=np.float32)


def _numbers(value: Any) -> list[float] | None:
    """Return the numbers in a cell, or None if it contains anything else."""
    try:
        if isinstance(value, str):
            text = value.strip()
            value = json.loads(text) if text.startswith("[") else text.replace(",", " ").split()
        return [float(number) for number in value] or None
    except (TypeError, ValueError):
        return None
