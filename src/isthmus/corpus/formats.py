"""The formats of tables, in one place: their names and endings, and what can be done with files of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isthmus.exceptions import UsageError


@dataclass(frozen=True)
class Format:
    name: str
    endings: tuple[str, ...]  # of file names, with the dot
    text: bool = True  # plain text: also read in blocks, and written with .gz
    blocks: bool = True  # can be read block by block
    written: bool = True
    guarded: bool = False  # an apostrophe before "=" and the like keeps spreadsheets from running a cell
    delimiters: str = ""  # what may separate cells, the usual one first


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
MANIFEST = "manifest.json"  # of the files that a run in blocks wrote into a folder
FASTTEXT = b"__label__"  # how a line of fastText begins
_BY_ENDING = {ending: format for format in FORMATS.values() for ending in format.endings}


def table_ending(path: Any) -> str:
    """The ending that names a format, in small letters and without ``.gz``; '' where there is none.

    >>> table_ending("a/Survey.CSV.gz"), table_ending("a")
    ('.csv', '')
    """
    endings = [ending.lower() for ending in Path(path).suffixes]
    if is_packed(path):
        endings.pop()
    return endings[-1] if endings else ""


def is_packed(path: Any) -> bool:
    return Path(path).suffix.lower() == ".gz"


def format_of(path: Any) -> Format | None:
    return _BY_ENDING.get(table_ending(path))


def can_cut(path: Any) -> bool:
    """Whether it can be read in blocks, by its ending."""
    found = format_of(path)
    return found is not None and found.blocks and (found.text or not is_packed(path))


def written_format(path: Any) -> Format | None:
    """The format in which a file of this name is written, if any."""
    found = format_of(path)
    if found is None or not found.written or (is_packed(path) and not found.text):
        return None
    return found


def is_workbook(path: Any) -> bool:
    return table_ending(path) == ".xlsx"


def sniff_format(data: bytes) -> str:
    """Format of bytes that have no name: parquet, xlsx, json, jsonl, fasttext, or csv for all else."""
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith(b"PK\x03\x04"):
        return "xlsx"
    head = data[:200].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(FASTTEXT):
        return "fasttext"
    if head.startswith(b"{"):
        return "jsonl"
    return "json" if head.startswith(b"[") else "csv"


def split_sheet(path: Any) -> tuple[Path, str | None]:
    """The file and the sheet of ``FILE.xlsx::SHEET``; no sheet where none is named.

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
