"""Read answers: a table, a mapping of ids to labels, or one label per text, and assign them to documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.corpus.cells import as_number, cell_content
from isthmus.corpus.filled import check_drawn, match_classes, read_among, read_sample
from isthmus.corpus.frames import frame_columns, is_frame
from isthmus.corpus.read import read_table
from isthmus.corpus.sheets import REVIEW_SHEET
from isthmus.exceptions import DataError, UsageError
from isthmus.feedback.answers import DRAWN, PICKED, Answers
from isthmus.feedback.labelling import Labelling

# Column of the answers.
TRUTH = "true_label"


def read_answers(
    labelling: Labelling, table: Any, *, drawn: str | None = None, name: str = "", by: str | None = None
) -> Answers:
    """Read answers from a table or its file, a mapping of ids to labels, or one label per text.

    Parameters
    ----------
    labelling : Labelling
    table : object
        ``Answers`` are returned unchanged.
    drawn : str, optional
        How all documents were selected; see :class:`isthmus.feedback.answers.Answers`.
    name : str
        Name of the table.
    by : str, optional
        Annotator who gave all answers. The column ``by`` names the annotator of each answer. If several annotators
        answered a document, the class that most of them gave is its answer; a document with a tie has no answer.

    Returns
    -------
    Answers

    Raises
    ------
    DataError
        If the table has no answers or contradictory ones.
    UsageError
        If ``drawn`` is not known.
    """
    if drawn is not None and drawn not in DRAWN:
        raise UsageError(f"drawn={drawn!r}; use one of {', '.join(DRAWN)}.", code="bad-parameter")
    # Without a table there are only words to learn or a table to undo.
    if table is None:
        return Answers()
    if isinstance(table, Answers):
        return table
    columns = _as_columns(table, len(labelling.texts))
    rows, labels = _find_rows(columns, labelling)
    kinds = [drawn or _drawn(cell) for cell in columns.get("drawn", [None] * len(rows))]
    annotators = [by or cell_content(cell) for cell in columns.get("by", [None] * len(rows))]
    votes: dict[tuple[int, str], dict[str, Any]] = {}
    for row, label, kind, who in zip(rows, labels, kinds, annotators, strict=True):
        if label is None:
            continue
        # One annotator cannot give a document two classes; two annotators can.
        earlier = votes.get((row, who))
        if earlier is not None and earlier["label"] != label:
            named = f" (id {str(labelling.ids[row])[:40]!r})" if labelling.ids else ""
            raise DataError(
                f"Document {row + 1:,}{named} is answered twice, as {str(earlier['label'])[:40]!r} and as "
                f"{str(label)[:40]!r}; keep one, or name the annotator of each in the column by.",
                code="bad-answers",
            )
        votes[row, who] = {"row": row, "label": label, "drawn": kind, "by": who, "batch": name, "counts": False}
    by_row: dict[int, list[dict]] = {}
    for entry in votes.values():
        by_row.setdefault(entry["row"], []).append(entry)
    blank = sorted({row for row, label in zip(rows, labels, strict=True) if label is None} - set(by_row))
    if not votes and len(labels):
        raise DataError(
            f"None of the {len(labels):,} documents has a true label; fill in at least one.", code="bad-answers"
        )
    for votes_of_row in by_row.values():
        (label, most), *others = Counter(entry["label"] for entry in votes_of_row).most_common(2)
        # A document with a tie has no answer, so that it is asked about again.
        if not others or most > others[0][1]:
            [entry for entry in votes_of_row if entry["label"] == label][-1]["counts"] = True
    return Answers([*chain(*by_row.values())], blank_in={name: blank} if blank else {})


def read_votes(labelling: Labelling, table: Any, by: str = "") -> list[dict[str, Any]]:
    """Read every answer of a table with its annotator.

    Parameters
    ----------
    labelling : Labelling
    table : object
    by : str
        Annotator who gave all answers; if omitted, the column ``by`` names the annotator of each.

    Returns
    -------
    list of dict
        ``row``, ``label``, ``by``; rows without a true label are left out.

    Raises
    ------
    DataError
        If nothing names the annotators.
    """
    columns = _as_columns(table, len(labelling.texts))
    if by:
        columns["by"] = [by] * len(next(iter(columns.values()), []))
    if "by" not in columns:
        raise DataError(
            f"The answers have the columns {', '.join(columns) or 'none'}; by is needed, which names who gave each.",
            code="bad-answers",
        )
    rows, labels = _find_rows(columns, labelling)
    votes = zip(rows, labels, map(cell_content, columns["by"]), strict=True)
    return [{"row": row, "label": label, "by": by} for row, label, by in votes if label is not None]


def read_truths(labelling: Labelling, table: Any) -> tuple[list[int], list, int | None]:
    """Read a checked sample from a table of answers.

    Parameters
    ----------
    labelling : Labelling
    table : object

    Returns
    -------
    rows : list of int
        Documents, numbered from 0.
    truths : list
        True labels; None if not given.
    among : int or None
        Number of most confident documents from which the sample was drawn; None if it was drawn from all.
    """
    with _reworded(
        {
            "bad-answers": ("The answers have", "The checked sample has", "bad-check"),
            "length-mismatch": ("of the answers", "of the checked sample", "length-mismatch"),
        }
    ):
        columns = _as_columns(table, len(labelling.texts))
        rows, truths = _find_rows(columns, labelling)
        among = read_among(columns.get("among", ()))
        if among is None:  # a sample with the column ``among`` was drawn at random from the most confident documents
            check_drawn(columns.get("drawn", [None] * len(columns[TRUTH])), columns[TRUTH])
        return rows, truths, among


@contextmanager
def _reworded(changes: Mapping[str, tuple[str, str, str]]) -> Iterator[None]:
    """Replace a phrase of an error, and its code; ``changes`` has both phrases and the new code by the present code."""
    try:
        yield
    except DataError as error:
        # Errors with other codes do not mention the given data.
        if error.code not in changes:
            raise
        phrase, other, code = changes[error.code]
        raise DataError(str(error).replace(phrase, other), code=code) from None


def _about(what: str) -> AbstractContextManager[None]:
    """Convert errors about a checked sample to errors about a table that is read in the same way."""
    codes = {"bad-check": "bad-answers", "length-mismatch": "length-mismatch"}
    return _reworded({code: ("checked sample", what, new) for code, new in codes.items()})


def read_source_corrections(labelling: Labelling, table: Any) -> dict[int, Any]:
    """Read corrected source labels from a filled-in table of uncertain labels.

    Parameters
    ----------
    labelling : Labelling
    table : object
        The column ``document`` numbers the source's documents from 1. Rows without a true label, or with an unchanged
        label, are skipped.

    Returns
    -------
    dict of int to object
        True label by row (from 0).

    Raises
    ------
    DataError
        If the table lacks a column or contains contradictory labels.
    """
    columns = _as_columns(table, len(labelling.source_texts))
    if TRUTH not in columns or "document" not in columns:
        raise DataError(
            f"The source's labels have the columns {', '.join(columns) or 'none'}; document (numbered from 1) and "
            "true_label are needed.",
            code="bad-answers",
        )
    columns = {name: cells for name, cells in columns.items() if name in ("document", TRUTH, "text")}
    with _about("source's labels"):
        rows, truths = read_sample(columns, labelling.source_texts)
    known = [name for name in labelling.source_labels.tolist() if name is not None]
    matched = match_classes(labelling.in_current_names(truths), list(dict.fromkeys([*known, *labelling.classes])))
    found: dict[int, Any] = {}
    for row, label in zip(rows.tolist(), matched, strict=True):
        if label is None:
            continue
        if found.setdefault(row, label) != label:
            raise DataError(
                f"Source document {row + 1:,} is corrected twice, to {str(found[row])[:40]!r} and to "
                f"{str(label)[:40]!r}; keep one.",
                code="bad-answers",
            )
    return {row: label for row, label in found.items() if label != labelling.source_labels[row]}


def _as_columns(table: Any, n_texts: int) -> dict[str, list]:
    # A file is read by its format; a workbook by the sheet for reviews.
    if isinstance(table, str | PathLike):
        table = read_table(Path(table), sheet=REVIEW_SHEET, filled=TRUTH)
    if is_frame(table):
        return frame_columns(table)
    if hasattr(table, "columns"):  # a table of a library without special support
        return {str(name): list(table[name]) for name in table.columns}
    if isinstance(table, Mapping):
        # A mapping of ids to labels has no column of answers, and no lists as values.
        if TRUTH not in table and not any(map(_is_column, table.values())):
            return {"id": list(table), TRUTH: list(table.values())}
        return {str(name): list(cells) for name, cells in table.items()}
    if isinstance(table, Set) or not hasattr(table, "__iter__") or getattr(table, "ndim", 1) != 1:
        raise DataError(
            f"{type(table).__name__} was given; give a table with the columns id and true_label, "
            "{id: label}, or one label per text.",
            code="bad-answers",
        )
    rows = list(table)
    if all(isinstance(row, Mapping) for row in rows):
        # Rows may lack keys, so the columns are the union of all keys.
        names = dict.fromkeys(key for row in rows for key in row)
        return {key: [row.get(key) for row in rows] for key in names}
    if len(rows) != n_texts:
        raise DataError(
            f"There are {len(rows):,} answers and {n_texts:,} texts; give one label per text, None "
            "where it is unknown, or a table with the columns id and true_label.",
            code="length-mismatch",
        )
    return {"document": list(range(1, len(rows) + 1)), TRUTH: rows}


def _is_column(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


def _id_column(columns: dict[str, list], labelling: Labelling) -> str | None:
    # Spreadsheets add spaces around ids.
    known = {str(name).strip() for name in labelling.ids or ()}
    # A column of distinct known ids is recognised whatever its name.
    for name, cells in columns.items():
        filled = [cell_content(cell) for cell in cells if cell_content(cell)]
        if name != TRUTH and filled and known.issuperset(filled) and len(set(filled)) == len(filled):
            return name
    return None


def _find_rows(columns: dict[str, list], labelling: Labelling) -> tuple[list[int], list]:
    given = ", ".join(columns) or "none"
    second = [name for name in columns if re.fullmatch(rf"{TRUTH}_\d+", name)]
    if TRUTH in columns and any(cell_content(cell) for name in second for cell in columns[name]):
        raise DataError(
            f"The answers have two columns of true labels ({TRUTH} and {second[0]}); keep one.", code="bad-answers"
        )
    if not {"document", "id"} & set(columns):
        named = _id_column(columns, labelling)
        columns = columns if named is None else columns | {"id": columns[named]}
    if TRUTH not in columns or not ({"document", "id"} & set(columns)):
        raise DataError(
            f"The answers have the columns {given}; true_label and id (or document) are needed.",
            code="bad-answers",
        )
    if "document" not in columns:
        # A row without an id belongs to no document.
        filled = [index for index, cell in enumerate(columns["id"]) if cell_content(cell)]
        columns = {key: [cells[index] for index in filled] for key, cells in columns.items()}
        columns["document"] = _number_ids(columns.pop("id"), labelling)
    elif "id" in columns:
        columns = columns | {"document": _fill_numbers(columns["document"], columns["id"], labelling)}
    with _about("answers"):
        rows, truths = read_sample(columns, labelling.texts, labelling.ids)
    return rows.tolist(), match_classes(labelling.in_current_names(truths), labelling.classes.tolist())


def _fill_numbers(numbers: list, ids: list, labelling: Labelling) -> list:
    """Return the document numbers; blank numbers are found by id, because people add rows of their own to a table."""
    if len(numbers) != len(ids):
        return numbers  # refused later, where the lengths are compared
    added = [index for index, cell in enumerate(numbers) if not cell_content(cell) and cell_content(ids[index])]
    found = dict(zip(added, _number_ids([ids[index] for index in added], labelling), strict=True))
    return [found.get(index, cell) for index, cell in enumerate(numbers)]


def _number_ids(cells: list, labelling: Labelling) -> list[int]:
    indices: dict[Any, list[int]] = {}
    for index, known in enumerate(labelling.ids or map(str, range(1, len(labelling.texts) + 1))):
        name = str(known).strip()
        # Spreadsheets may write the id 7 as 7.0, so ids are also compared as numbers.
        for key in {name, as_number(name)} - {None}:
            indices.setdefault(key, []).append(index)
    numbers, unknown = [], []
    for cell in cells:
        name = cell_content(cell)
        found = indices.get(name) or indices.get(as_number(name), [])
        if len(found) > 1:
            raise DataError(
                f"The id {name[:40]!r} stands for {len(found):,} documents; give the column document, which numbers "
                "them from 1.",
                code="bad-answers",
            )
        numbers += [index + 1 for index in found]
        unknown += [] if found else [name]
    if unknown:
        others = f" and {len(unknown) - 1:,} more are" if len(unknown) > 1 else " is"
        numbered = "" if labelling.ids else " (without ids of their own they are numbered from 1)"
        raise DataError(
            f"The id {unknown[0][:40]!r}{others} not among the documents{numbered}; correct or delete these rows, or "
            "give the answers to the labelling that they are about.",
            code="bad-answers",
        )
    return numbers


def _drawn(cell: Any) -> str:
    kind = cell_content(cell).casefold()
    return kind if kind in DRAWN else PICKED
