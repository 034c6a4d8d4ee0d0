"""Lay out tables in a workbook: typed cells, fixed header, filters, widths, drop-down lists and colours."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isthmus.corpus.cells import as_text, plain

CHOICES_SHEET = "isthmus_choices"  # hidden sheet with the entries of the drop-down lists
REVIEW_SHEET = "review"  # sheet for documents that a person should read
_WIDEST, _NARROWEST = 60, 8  # column width in characters
_MEASURED = 200  # rows that determine the width
# Written as a number only if it reads back as the same text: no leading zero, no plus, no more digits than are exact.
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{0,9}[1-9])?")


@dataclass(frozen=True)
class Layout:
    """Describe the extras of a workbook that Isthmus writes."""

    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)  # entries of the drop-down list by column
    review: Mapping[str, list] = field(default_factory=dict)  # columns of a second sheet that a person fills in
    title: str = "table"  # name of the first sheet


def write_sheets(
    book: Any, columns: Mapping[str, list], layout: Layout, write_cell: Callable[[Any, int, int, Any], None]
) -> None:
    """Fill a workbook of xlsxwriter.

    Parameters
    ----------
    book : xlsxwriter.Workbook
        The workbook.
    columns : mapping of str to list
        Cells of the first sheet.
    layout : Layout
        Extras of the workbook.
    write_cell : callable
        ``write_cell(sheet, row, column, value)`` writes one cell.
    """
    formats = {
        "header": book.add_format({"bold": True, "bottom": 1, "valign": "top"}),
        "text": book.add_format({"text_wrap": True, "valign": "top"}),
        "fill": book.add_format({"bg_color": "#FFF7D6", "valign": "top"}),
        "doubt": book.add_format({"bg_color": "#FCE4D6"}),
    }
    _write_sheet(book.add_worksheet(layout.title), columns, layout, formats, write_cell)
    if layout.review:
        _write_sheet(book.add_worksheet(REVIEW_SHEET), layout.review, layout, formats, write_cell)
    if layout.choices:
        lists = book.add_worksheet(CHOICES_SHEET)
        lists.hide()
        for j, (name, entries) in enumerate(layout.choices.items()):
            for i, value in enumerate([name, *entries]):
                lists.write_string(i, j, str(value))


def _write_sheet(
    sheet: Any,
    columns: Mapping[str, list],
    layout: Layout,
    formats: Mapping[str, Any],
    write_cell: Callable[[Any, int, int, Any], None],
) -> None:
    """Write a sheet with its header, widths and filters."""
    n_rows = len(next(iter(columns.values()), []))
    for j, (name, values) in enumerate(columns.items()):
        sheet.write_string(0, j, str(name), formats["header"])
        width = _width(name, values)
        style = formats["fill"] if name in layout.choices else formats["text"] if width == _WIDEST else None
        sheet.set_column(j, j, width, style)
        for i, value in enumerate(typed_cells(values), 1):
            if value is not None:
                write_cell(sheet, i, j, value)
    sheet.freeze_panes(1, 0)
    if n_rows and columns:
        sheet.autofilter(0, 0, n_rows, len(columns) - 1)
        _decorate(sheet, list(columns), n_rows, layout, formats)


def _decorate(sheet: Any, names: list[str], n_rows: int, layout: Layout, formats: Mapping[str, Any]) -> None:
    """Add drop-down lists, and colours for uncertain documents."""
    for place, (name, entries) in enumerate(layout.choices.items()):
        if name in names and entries:
            column = names.index(name)
            source = f"={CHOICES_SHEET}!${chr(65 + place)}$2:${chr(65 + place)}${len(entries) + 1}"
            sheet.data_validation(
                1,
                column,
                n_rows,
                column,
                {
                    "validate": "list",
                    "source": source,
                    "error_type": "warning",
                    "error_title": "A new class?",
                    "error_message": "This is not one of the classes. Keep it to make a new one.",
                },
            )
    if "confidence" in names:
        column = names.index("confidence")
        scale = {"type": "2_color_scale", "min_color": "#F8CBAD", "max_color": "#FFFFFF"}
        sheet.conditional_format(1, column, n_rows, column, scale)
    if "needs_review" in names:
        column = names.index("needs_review")
        rule = {"type": "cell", "criteria": "==", "value": "TRUE", "format": formats["doubt"]}
        sheet.conditional_format(1, column, n_rows, column, rule)


def _width(name: str, values: list) -> int:
    """Return the width of a column in characters."""
    longest = max((len(as_text(plain(value))) for value in values[:_MEASURED] if value is not None), default=0)
    return min(_WIDEST, max(_NARROWEST, len(str(name)) + 3, longest + 1))


def typed_cells(values: list) -> list:
    """Return the cells of a column, with text converted to numbers if all texts are numbers.

    Parameters
    ----------
    values : list
        Cells.

    Returns
    -------
    list
        Unchanged if a number would be written differently from its text.

    Examples
    --------
    >>> typed_cells(["12", "", "3.5"]), typed_cells(["007", "12"])
    ([12, None, 3.5], ['007', '12'])
    """
    texts = [value for value in values if isinstance(value, str) and value]
    if not texts or not all(_NUMBER.fullmatch(text) for text in texts):
        return values
    return [_number(value) if isinstance(value, str) else value for value in values]


def _number(text: str) -> int | float | None:
    if not text:
        return None
    return float(text) if "." in text else int(text)
