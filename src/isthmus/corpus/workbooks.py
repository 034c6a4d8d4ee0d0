"""A look at a workbook before it is read: how far a sheet reaches, and what it unpacks to.

The reader makes room for every cell between the first and the last. One stray cell at the far corner of a sheet of a
few kilobytes asks for half a terabyte, which no error can be caught from: the process ends.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib

from isthmus.corpus.limits import too_large, unpack_limit
from isthmus.exceptions import DataError

MOST_CELLS = 50_000_000
_CHUNK = 1 << 22
_SHEET = re.compile(rb"<(?:\w+:)?sheet\b[^>]*?\bid=[\"']([^\"']+)[\"']")
_RELATION = re.compile(rb"<(?:\w+:)?Relationship\b[^>]*>")
_PLACE = re.compile(rb"<(?:\w+:)?(?:c|row)\b[^>]*?\br\s*=\s*[\"']([A-Za-z]{0,3})([0-9]{1,7})[\"']")


def check_sheet(data: bytes, name: str, most_cells: int = MOST_CELLS, *, sheet: int = 0) -> None:
    """Refuse a workbook of which a sheet is wider or longer than memory allows; leave all other faults to the reader.

    Parameters
    ----------
    data : bytes
        The file.
    name : str
        As it is shown in the refusal.
    most_cells : int
        Cells between the first and the last that are allowed.
    sheet : int
        Which sheet, from 0.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            size = sum(entry.file_size for entry in book.infolist())
            if size > unpack_limit():
                raise too_large(name, size)
            rows, columns = _reach(book, sheet)
    except (
        zipfile.BadZipFile,
        zlib.error,
        KeyError,
        OSError,
        ValueError,
        EOFError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        if isinstance(error, DataError):
            raise
        return  # not a workbook, or a damaged one: the reader says what is wrong
    if rows * columns > most_cells:
        raise DataError(
            f"{name} has a cell in row {rows:,} and one in column {columns:,}, so {rows * columns:,} cells would have "
            f"to be read and the limit is {most_cells:,}; delete the stray cells, or save the table as .csv.",
            code="too-large",
        )


def _reach(book: zipfile.ZipFile, number: int) -> tuple[int, int]:
    """Numbers of the last row and the last column that hold a cell."""
    rows = columns = 0
    unpacked, limit = 0, unpack_limit()
    with book.open(_sheet_file(book, number)) as sheet:
        rest = b""
        while chunk := sheet.read(_CHUNK):
            unpacked += len(chunk)
            if unpacked > limit:  # whatever the archive says about itself
                raise too_large("the workbook", unpacked)
            chunk = rest + chunk
            places = _PLACE.findall(chunk)
            rows = max(rows, max(map(int, {number for _, number in places}), default=0))
            columns = max(columns, max(map(_column, {letters for letters, _ in places}), default=0))
            rest = chunk[-200:]
    return rows, columns


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - 64
    return number


def _sheet_file(book: zipfile.ZipFile, number: int) -> str:
    """The file of a sheet, by way of the workbook's list of sheets."""
    listed = _SHEET.findall(book.read("xl/workbook.xml"))
    if number < len(listed):
        for relation in _RELATION.findall(book.read("xl/_rels/workbook.xml.rels")):
            if b'Id="' + listed[number] + b'"' in relation:
                target = re.search(rb'Target="([^"]+)"', relation)
                if target:
                    place = target[1].decode()
                    return place.lstrip("/") if place.startswith("/") else f"xl/{place}"
    return f"xl/worksheets/sheet{number + 1}.xml"
