"""Read classes that are given by their names: a table with the columns class and, optionally, words or description."""

from __future__ import annotations

from pathlib import Path

from isthmus.corpus.decode import shown_name
from isthmus.corpus.read import cell_text, read_table
from isthmus.exceptions import DataError

_CLASS_NAMES = ("class", "classes", "name", "label", "category")
_WORD_NAMES = ("words", "description", "keywords", "definition")


def read_class_table(path: str | Path) -> dict[str, str]:
    """Classes of a table and the words or sentence that describe each, empty where there is none.

    The file has a column ``class`` and, optionally, ``words`` or ``description``. Both are joined, and so are several
    rows of one class: a file may have one word a row.
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
    described = [called[key] for key in _WORD_NAMES if key in called]
    found: dict[str, list[str]] = {}
    for row, cell in enumerate(names):
        label = cell_text(cell).strip()
        words = [cell_text(column[row]).strip() for column in described]
        if not label:
            if any(words):
                raise DataError(
                    f"Row {row + 1} of {name} describes a class and does not name it; fill in its class.",
                    code="bad-rows",
                )
            continue
        found.setdefault(label, []).extend(word for word in words if word)
    if not found:
        raise DataError(f"{name} names no class; give at least one row.", code="empty-file")
    return {label: " ".join(dict.fromkeys(words)) for label, words in found.items()}
