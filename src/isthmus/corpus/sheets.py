"""Lay out tables in a workbook: typed cells, fixed header, filters, widths, drop-down lists and colours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isthmus.corpus.cells import XLSX_EXACT, as_cell_text, as_text, plain, whole_text

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


def write_sheets(book: Any, columns: Mapping[str, list], layout: Layout) -> None:
    """Fill a workbook of xlsxwriter.

    Parameters
    ----------
    book : xlsxwriter.Workbook
        The workbook.
    columns : mapping of str to list
        Cells of the first sheet.
    layout : Layout
        Extras of the workbook.
    """
    formats = {
        "header": book.add_format({"bold": True, "bottom": 1, "valign": "top"}),
        "text": book.add_format({"text_wrap": True, "valign": "top"}),
        "fill": book.add_format({"bg_color": "#FFF7D6", "valign": "top"}),
        "doubt": book.add_format({"bg_color": "#FCE4D6"}),
    }
    _write_sheet(book.add_worksheet(layout.title), columns, layout, formats)
    if layout.review:
        _write_sheet(book.add_worksheet(REVIEW_SHEET), layout.review, layout, formats)
    if layout.choices:
        lists = book.add_worksheet(CHOICES_SHEET)
        lists.hide()
        for j, (name, entries) in enumerate(layout.choices.items()):
            for i, value in enumerate([name, *entries]):
                lists.write_string(i, j, str(value))


def _write_sheet(sheet: Any, columns: Mapping[str, list], layout: Layout, formats: Mapping[str, Any]) -> None:
    """Write a sheet with its header, widths, filters, drop-down lists and colours."""
    n_rows = len(next(iter(columns.values()), []))
    for j, (name, values) in enumerate(columns.items()):
        sheet.write_string(0, j, str(name), formats["header"])
        longest = max((len(as_text(plain(value))) for value in values[:_MEASURED] if value is not None), default=0)
        width = min(_WIDEST, max(_NARROWEST, len(str(name)) + 3, longest + 1))
        style = formats["fill"] if name in layout.choices else formats["text"] if width == _WIDEST else None
        sheet.set_column(j, j, width, style)
        for i, value in enumerate(map(plain, typed_cells(values)), 1):
            if isinstance(value, bool):
                sheet.write_boolean(i, j, value)
            elif isinstance(value, float) or (isinstance(value, int) and abs(value) <= XLSX_EXACT):
                sheet.write_number(i, j, value)
            elif value is not None:  # sheet.write() would turn a text that begins with "=" into a formula
                sheet.write_string(i, j, whole_text(as_cell_text(value) or ""))
        if not n_rows:
            continue
        if layout.choices.get(name):
            letter = chr(ord("A") + list(layout.choices).index(name))
            rule = {
                "validate": "list",
                "source": f"={CHOICES_SHEET}!${letter}$2:${letter}${len(layout.choices[name]) + 1}",
                "error_type": "warning",
                "error_title": "A new class?",
                "error_message": "This is not one of the classes. Keep it to make a new one.",
            }
            sheet.data_validation(1, j, n_rows, j, rule)
        if name == "confidence":
            scale = {"type": "2_color_scale", "min_color": "#F8CBAD", "max_color": "#FFFFFF"}
            sheet.conditional_format(1, j, n_rows, j, scale)
        elif name == "needs_review":
            rule = {"type": "cell", "criteria": "==", "value": "TRUE", "format": formats["doubt"]}
            sheet.conditional_format(1, j, n_rows, j, rule)
    sheet.freeze_panes(1, 0)
    if n_rows and columns:
        sheet.autofilter(0, 0, n_rows, len(columns) - 1)


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
    texts = [str(value) if isinstance(value, str) else "" for value in values]
    numbers = [(float(text) if "." in text else int(text)) if text else None for text in texts]
    return [number if isinstance(value, str) else value for value, number in zip(values, numbers, strict=True)]
