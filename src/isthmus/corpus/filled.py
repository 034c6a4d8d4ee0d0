"""Read tables that a person has filled in: find the documents that they describe and the classes that they name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from isthmus.corpus.cells import as_number, cell_content, to_float
from isthmus.exceptions import DataError


def read_sample(
    table: Any, texts: Sequence[str], ids: Sequence[str] | None = None, *, label: str = "true_label"
) -> tuple[np.ndarray, list]:
    """Return the row numbers and true labels of a filled-in :func:`isthmus.choose.sample_table`.

    The table needs the column ``document`` and the label column. If it has ``id`` and ``text``, they must agree with
    the result, so that a sample of another result is refused.

    Parameters
    ----------
    table : mapping of str to sequence, or sequence of mapping
        Columns or rows.
    texts : sequence of str
        Documents of the result.
    ids : sequence of str, optional
        Ids of the documents.
    label : str
        Name of the label column.

    Returns
    -------
    rows : ndarray of int
        Row numbers, from 0.
    labels : list
        True labels as written.

    Raises
    ------
    DataError
        The table is incomplete or belongs to other documents.

    Examples
    --------
    >>> rows, true_labels = read_sample({"document": ["2"], "true_label": ["price"]}, ["kind staff", "high price"])
    >>> rows.tolist(), true_labels
    ([1], ['price'])
    """
    if isinstance(table, Sequence):
        table = {name: [row.get(name) for row in table] for name in dict.fromkeys(key for row in table for key in row)}
    for name in ("document", label):
        if name not in table:
            raise DataError(
                f"The checked sample has no column {name!r}; give the table that was drawn, with true_label filled in.",
                code="bad-check",
            )
    columns = {name: list(table[name]) for name in ("document", label, "id", "text") if name in table}
    if len({len(cells) for cells in columns.values()}) > 1:
        lengths = ", ".join(f"{name} {len(cells):,}" for name, cells in columns.items())
        raise DataError(
            f"The columns of the checked sample are not of one length ({lengths}); give one cell per document.",
            code="length-mismatch",
        )
    # Spreadsheets often add empty rows.
    filled = [i for i, cells in enumerate(zip(*columns.values(), strict=True)) if any(map(cell_content, cells))]
    columns = {name: [cells[i] for i in filled] for name, cells in columns.items()}
    rows = np.array([_row(cell, len(texts)) for cell in columns["document"]], dtype=np.int64)
    # Spreadsheets change the id 007 to 7 and 7 to 7.0, so ids are also compared as numbers.
    ids = ids if ids is not None and "id" in columns else []
    for row, cell in zip(rows.tolist() if ids else [], map(cell_content, columns.get("id", [])), strict=False):
        known, number = str(ids[row]).strip(), to_float(cell)
        if cell and cell != known and (number is None or number != to_float(known)):
            raise DataError(
                f"Document {row + 1:,} has the id {cell[:40]!r} in the sample and {known[:40]!r} in the "
                "labelling: the sample belongs to another one; if only the ids were changed, leave out their column.",
                code="bad-check",
            )
    # Spreadsheets change characters and cut long cells, but no spreadsheet changes more than half of the texts.
    seen = [" ".join(cell_content(cell).split()) for cell in columns.get("text", [])]
    pairs = list(zip(rows.tolist(), seen, strict=False))
    other = [row for row, text in pairs if text and text != " ".join(texts[row].split())]
    if len(other) * 2 > len(pairs):
        raise DataError(
            f"{len(other):,} of {len(pairs):,} texts of the sample are not those of the labelling, first document "
            f"{other[0] + 1:,}: the sample belongs to another one.",
            code="bad-check",
        )
    return rows, columns[label]


def read_among(cells: Sequence) -> int | None:
    """Return the number in the column ``among``: how many most confident documents the sample was drawn from.

    Parameters
    ----------
    cells : sequence
        Cells of the column.

    Returns
    -------
    int or None
        None if the column is empty.

    Raises
    ------
    DataError
        The column does not contain one single number.
    """
    numbers = {as_number(cell_content(cell)) for cell in cells if cell_content(cell)}
    if not numbers:
        return None
    number = numbers.pop()
    if numbers or number is None or number < 1 or not number.is_integer():
        raise DataError(
            "The column among does not hold one number, so the rows come from several draws; check each by itself.",
            code="bad-check",
        )
    return int(number)


def find_new_classes(labels: Sequence, known: Sequence) -> dict[str, str]:
    """Return the labels that are not yet a class, with the class that each may be a misspelling of.

    Parameters
    ----------
    labels : sequence
        Labels that people wrote.
    known : sequence
        Existing classes.

    Returns
    -------
    dict of str to str
        '' if no existing class is similar.

    Examples
    --------
    >>> find_new_classes(["staff", "stafff", "parking", "room 3"], ["staff", "price", "room 2"])
    {'stafff': 'staff', 'parking': '', 'room 3': ''}
    """
    similar = {}
    for name in map(str, (label for label in dict.fromkeys(labels) if label not in set(known))):
        # Names with different numbers are different on purpose.
        same = [other for other in map(str, known) if re.findall(r"\d+", other) == re.findall(r"\d+", name)]
        similar[name] = next(iter(get_close_matches(name, same, n=1, cutoff=0.8)), "")
    return similar


def check_drawn(drawn: Sequence, truths: Sequence) -> None:
    """Refuse checked documents that were not drawn at random, because they do not represent the other documents.

    Parameters
    ----------
    drawn : sequence
        How each document was chosen; "random" or empty is valid.
    truths : sequence
        True labels; documents without one are ignored.

    Raises
    ------
    DataError
        A document was chosen in another way.
    """
    known = [cell_content(how).lower() for how, truth in zip(drawn, truths, strict=True) if cell_content(truth)]
    picked = [how for how in known if how not in ("", "random")]
    # Documents chosen for review are harder than average, so their error rate is too high.
    if picked:
        raise DataError(
            f"{len(picked):,} of the {len(known):,} checked documents were not drawn at random (the column drawn says "
            f"{picked[0][:40]!r}), so they do not represent the others; draw a sample for a check, and give these to "
            "teach.",
            code="bad-check",
        )


def check_row(row: int, n_documents: int) -> None:
    """Refuse a row number outside the result.

    Parameters
    ----------
    row : int
        Row number, from 0.
    n_documents : int
        Number of documents in the result.

    Raises
    ------
    DataError
        The row does not exist.
    """
    if not 0 <= row < n_documents:
        raise DataError(
            f"Document {row + 1:,} does not exist: the result has {n_documents:,} documents; give the result that "
            "the table was made from.",
            code="bad-check",
        )


def _row(cell: Any, n_documents: int) -> int:
    """Convert a cell of the column ``document`` to a row number from 0."""
    number = to_float(cell_content(cell))
    if number is None or not number.is_integer():
        raise DataError(
            f"{cell_content(cell)[:40]!r} in the column document is not a document's number; leave that column as it "
            "was.",
            code="bad-check",
        )
    check_row(int(number) - 1, n_documents)
    return int(number) - 1


def names_a_class(labels: Sequence, classes: Sequence) -> bool:
    """Return whether at least one of the labels is a class.

    Parameters
    ----------
    labels : sequence
        Labels that people wrote.
    classes : sequence
        Existing classes.

    Returns
    -------
    bool

    Examples
    --------
    >>> names_a_class(["Price", None], ["price", "staff"]), names_a_class(["north", "south"], ["price", "staff"])
    (True, False)
    """
    known = {name for name in classes if name is not None}
    return not known.isdisjoint(match_classes(labels, list(known)))


def match_classes(true_labels: Sequence, classes: Sequence) -> list:
    """Convert labels that people wrote to the spelling of the classes.

    Parameters
    ----------
    true_labels : sequence
        Labels as written; case and number format may differ from the classes.
    classes : sequence
        Existing classes.

    Returns
    -------
    list
        None for an empty cell; a label that matches no class becomes a new class.
    """
    # The text of each class leads back to the class in its original type.
    values = {cell_content(name): name for name in classes}
    alike: dict[str, list[str]] = {}
    equal: dict[float | None, list[str]] = {}
    for text in values:
        alike.setdefault(text.casefold(), []).append(text)
        equal.setdefault(as_number(text), []).append(text)
    # Integer labels mark unknown by -1, as in scikit-learn.
    minus_one_is_unknown = np.asarray(classes).dtype.kind in "iu"
    matched: list[Any] = []
    for label in true_labels:
        text, number = cell_content(label), as_number(cell_content(label))
        if not text or (minus_one_is_unknown and number == -1):
            matched.append(None)
            continue
        # Spreadsheets change the case of TRUE and the decimals of numbers.
        near = alike.get(text.casefold()) or (equal.get(number, []) if number is not None else [])
        # Two similar classes would make the match ambiguous.
        if text not in values and len(near) == 1:
            text = near[0]
        if text not in values:  # a new class; later labels may match it
            values[text] = text
            alike.setdefault(text.casefold(), []).append(text)
            equal.setdefault(number, []).append(text)
        matched.append(values[text])
    return matched
