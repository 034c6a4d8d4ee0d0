"""Tables that a person has filled in: which documents of a labelling they are about, and which classes they name."""

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
    """Row numbers (from 0) and true labels of a filled-in :func:`isthmus.choose.sample_table`, by columns or by rows.

    It needs ``document`` and the column ``label``. Where it has ``id`` and ``text``, they must be those of the
    labelling, so that a sample of another one is refused.

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
    # Spreadsheets like to add rows in which nothing stands.
    filled = [i for i, cells in enumerate(zip(*columns.values(), strict=True)) if any(map(cell_content, cells))]
    columns = {name: [cells[i] for i in filled] for name, cells in columns.items()}
    rows = np.array([_row(cell, len(texts)) for cell in columns["document"]], dtype=np.int64)
    _check_ids(rows, columns.get("id"), ids)
    _check_texts(rows, columns.get("text"), texts)
    return rows, columns[label]


def read_among(cells: Sequence) -> int | None:
    """The one number in a column ``among`` of a sample; None where it says nothing."""
    found = {as_number(cell_content(cell)) for cell in cells if cell_content(cell)}
    if not found:
        return None
    number = found.pop()
    if found or number is None or number < 1 or not number.is_integer():
        raise DataError(
            "The column among does not hold one number, so the rows come from several draws; check each by itself.",
            code="bad-check",
        )
    return int(number)


def find_new_classes(labels: Sequence, known: Sequence) -> dict[str, str]:
    """Names that are no class so far, each with the class it may be a misspelling of, or ''.

    >>> find_new_classes(["staff", "stafff", "parking", "room 3"], ["staff", "price", "room 2"])
    {'stafff': 'staff', 'parking': '', 'room 3': ''}
    """
    names = [str(name) for name in dict.fromkeys(labels) if name not in set(known)]
    return {name: _nearest_name(name, list(map(str, known))) for name in names}


def _nearest_name(name: str, known: list[str]) -> str:
    """The class that is written almost alike; names that differ in a number are different on purpose."""
    same = [other for other in known if re.findall(r"\d+", other) == re.findall(r"\d+", name)]
    return next(iter(get_close_matches(name, same, n=1, cutoff=0.8)), "")


def check_drawn(drawn: Sequence, truths: Sequence) -> None:
    """Refuse documents that were asked for or picked as a sample: they say nothing about the others."""
    known = [cell_content(how).lower() for how, truth in zip(drawn, truths, strict=True) if cell_content(truth)]
    picked = [how for how in known if how not in ("", "random")]
    if picked:
        raise DataError(
            f"{len(picked):,} of the {len(known):,} checked documents were not drawn at random (the column drawn says "
            f"{picked[0][:40]!r}), so they say nothing about the others; draw a sample for a check, and give these to "
            "teach.",
            code="bad-check",
        )


def check_row(row: int, n_documents: int) -> None:
    if not 0 <= row < n_documents:
        raise DataError(
            f"Document {row + 1:,} is not there: the labelling has {n_documents:,} documents; give the labelling that "
            "the table was made from.",
            code="bad-check",
        )


def _row(cell: Any, n_documents: int) -> int:
    number = to_float(cell_content(cell))
    if number is None or not number.is_integer():
        raise DataError(
            f"{cell_content(cell)[:40]!r} in the column document is not a document's number; leave that column as it "
            "was.",
            code="bad-check",
        )
    check_row(int(number) - 1, n_documents)
    return int(number) - 1


def _check_ids(rows: np.ndarray, given: list | None, ids: Sequence[str] | None) -> None:
    if given is None or ids is None:
        return
    for row, cell in zip(rows.tolist(), map(cell_content, given), strict=True):
        if cell and not _same_id(cell, str(ids[row]).strip()):
            raise DataError(
                f"Document {row + 1:,} has the id {cell[:40]!r} in the sample and {str(ids[row])[:40]!r} in the "
                "labelling: the sample belongs to another one; if only the ids were changed, leave out their column.",
                code="bad-check",
            )


def _same_id(first: str, second: str) -> bool:
    number = to_float(first)  # a spreadsheet makes 7 of 007 and 7.0 of 7
    return first == second or (number is not None and number == to_float(second))


def _check_texts(rows: np.ndarray, given: list | None, texts: Sequence[str]) -> None:
    """Refuse where most texts are others. Some may differ: spreadsheets change signs and cut long cells."""
    cells = [" ".join(cell_content(cell).split()) for cell in given or []]
    seen = list(zip(rows.tolist(), cells, strict=bool(given)))
    other = [row for row, text in seen if text and text != " ".join(texts[row].split())]
    if len(other) * 2 > len(seen):
        raise DataError(
            f"{len(other):,} of {len(seen):,} texts of the sample are not those of the labelling, first document "
            f"{other[0] + 1:,}: the sample belongs to another one.",
            code="bad-check",
        )


def names_a_class(labels: Sequence, classes: Sequence) -> bool:
    """Whether at least one of the labels is a class.

    >>> names_a_class(["Price", None], ["price", "staff"]), names_a_class(["north", "south"], ["price", "staff"])
    (True, False)
    """
    known = {name for name in classes if name is not None}
    return not known.isdisjoint(match_classes(labels, list(known)))


def match_classes(true_labels: Sequence, classes: Sequence) -> list:
    """True labels as the classes write them; None where there is none, a name of its own for a class not among them."""
    values = {cell_content(name): name for name in classes}
    alike: dict[str, list[str]] = {}
    equal: dict[float | None, list[str]] = {}
    for text in values:
        alike.setdefault(text.casefold(), []).append(text)
        equal.setdefault(as_number(text), []).append(text)
    minus_one_is_unknown = np.asarray(classes).dtype.kind in "iu"
    matched: list[Any] = []
    for given in true_labels:
        text, number = cell_content(given), as_number(cell_content(given))
        if not text or (minus_one_is_unknown and number == -1):
            matched.append(None)
            continue
        near = alike.get(text.casefold()) or (equal.get(number, []) if number is not None else [])
        if text not in values and len(near) == 1:
            text = near[0]
        if text not in values:  # a class of its own, which later labels may mean too
            values[text] = text
            alike.setdefault(text.casefold(), []).append(text)
            equal.setdefault(number, []).append(text)
        matched.append(values[text])
    return matched
