"""Define the table formats: names, endings and supported operations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isthmus.exceptions import UsageError


@dataclass(frozen=True)
class Format:
    """Describe a table format."""

    name: str
    endings: tuple[str, ...]  # of file names, with the dot, in lower case
    text: bool = True  # plain text; such files may also be compressed as .gz
    blocks: bool = True  # whether files can be read in blocks
    written: bool = True  # whether files of this format can be written
    guarded: bool = False  # whether an apostrophe before "=" protects cells from spreadsheets
    delimiters: str = ""  # possible separators of cells, the usual one first


FORMATS = {
    format.name: format
    for format in (
        Format("csv", (".csv",), guarded=True, delimiters=",;\t|"),
        Format("tsv", (".tsv", ".tab"), guarded=True, delimiters="\t"),
        Format("jsonl", (".jsonl", ".ndjson")),
        Format("json", (".json",), blocks=False, written=False),
        Format("parquet", (".parquet", ".pq"), text=False),
        Format("xlsx", (".xlsx",), text=False, blocks=False, guarded=True),
        Format("fasttext", (".ft", ".fasttext"), blocks=False, written=False),
    )
}
MANIFEST = "manifest.json"  # lists the files that a run in blocks wrote into a folder
FASTTEXT = b"__label__"  # beginning of a line of fastText
_BY_ENDING = {ending: format for format in FORMATS.values() for ending in format.endings}


def table_ending(path: Any) -> str:
    """Return the ending that determines the format, in lower case and without ``.gz``.

    Parameters
    ----------
    path : path-like
        File name.

    Returns
    -------
    str
        With the dot; '' without an ending.

    Examples
    --------
    >>> table_ending("a/Survey.CSV.gz"), table_ending("a")
    ('.csv', '')
    """
    endings = [ending.lower() for ending in Path(path).suffixes]
    if is_packed(path):
        endings.pop()
    return endings[-1] if endings else ""


def is_packed(path: Any) -> bool:
    """Return whether a file name ends in ``.gz``.

    Parameters
    ----------
    path : path-like
        File name.

    Returns
    -------
    bool
    """
    return Path(path).suffix.lower() == ".gz"


def format_of(path: Any) -> Format | None:
    """Return the format of a file name.

    Parameters
    ----------
    path : path-like
        File name.

    Returns
    -------
    Format or None
        None if no format has this ending.
    """
    return _BY_ENDING.get(table_ending(path))


def can_cut(path: Any) -> bool:
    """Return whether a file with this name can be read in blocks.

    Parameters
    ----------
    path : path-like
        File name.

    Returns
    -------
    bool
    """
    format = format_of(path)
    return format is not None and format.blocks and (format.text or not is_packed(path))


def written_format(path: Any) -> Format | None:
    """Return the format in which a file with this name is written.

    Parameters
    ----------
    path : path-like
        File name.

    Returns
    -------
    Format or None
        None if the format cannot be written.
    """
    format = format_of(path)
    if format is None or not format.written or (is_packed(path) and not format.text):
        return None
    return format


def is_workbook(path: Any) -> bool:
    """Return whether a file name ends in ``.xlsx``.

    Parameters
    ----------
    path : path-like
        File name.

    Returns
    -------
    bool
    """
    return table_ending(path) == ".xlsx"


def sniff_format(data: bytes) -> str:
    """Return the format of data without a file name, from its first bytes.

    Parameters
    ----------
    data : bytes
        Beginning of the data.

    Returns
    -------
    str
        parquet, xlsx, json, jsonl, fasttext, or csv for all other data.
    """
    head = data[:200].lstrip(b"\xef\xbb\xbf \t\r\n")
    if data.startswith((b"PAR1", b"PK\x03\x04")):
        return "parquet" if data.startswith(b"PAR1") else "xlsx"
    kinds = {FASTTEXT: "fasttext", b"{": "jsonl", b"[": "json"}
    return next((kind for mark, kind in kinds.items() if head.startswith(mark)), "csv")


def split_sheet(path: Any) -> tuple[Path, str | None]:
    """Split ``FILE.xlsx::SHEET`` into the file and the sheet.

    Parameters
    ----------
    path : path-like
        File name, with or without a sheet.

    Returns
    -------
    file : Path
        File without the sheet.
    sheet : str or None
        None if the name contains no sheet.

    Raises
    ------
    UsageError
        The file is not a workbook.

    Examples
    --------
    >>> split_sheet("survey.xlsx::May")[1], split_sheet("survey.csv")[1]
    ('May', None)
    """
    file, mark, sheet = str(path).partition("::")
    if not mark or Path(path).exists():
        return Path(path), None
    if not is_workbook(file):
        raise UsageError(
            f"{str(path)!r} names a sheet, and {Path(file).name!r} is not a workbook; leave ::{sheet} out."
        )
    return Path(file), sheet.strip() or None
