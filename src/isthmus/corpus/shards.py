"""Many files as one table that is never held whole: which files, where they are cut, and the rows of one piece."""

from __future__ import annotations

import glob
import gzip
import io
import itertools
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._utils import import_optional
from isthmus.corpus.decode import decode, mend_surrogates, shown_name
from isthmus.corpus.exchange import find_tool, flatten
from isthmus.corpus.folders import check_link, list_files
from isthmus.corpus.formats import can_cut, format_of, is_packed
from isthmus.corpus.guess import LOOKED_AT, ColumnRoles, list_columns, resolve_columns
from isthmus.corpus.limits import disk_limit, too_large
from isthmus.corpus.tables import (
    BadRow,
    Rows,
    check_width,
    read_csv,
    read_lines,
    read_rows,
    record_names,
    to_columns,
)
from isthmus.exceptions import DataError

MOST_BYTES = 32 << 20  # of a block, however many rows were asked for
_HEAD_BYTES = 1 << 20  # what encoding, separator and columns are guessed from
_CHUNK = 8 << 20
_SHOWN = 500  # characters of a bad row that are kept
_DAMAGE = (OSError, EOFError, zlib.error)
_NUL = "a NUL byte, which text cannot hold"


@dataclass(frozen=True)
class Shard:
    path: str
    kind: str
    encoding: str = "utf-8"
    delimiter: str = ","
    columns: tuple[str, ...] = ()  # of a jsonl file those of its first rows
    start: int = 0  # byte of the unpacked file at which the first record begins
    quotes: bool = True  # cells may stand between quotation marks
    tool: str = ""  # jsonl: the labelling tool that wrote it

    @property
    def name(self) -> str:
        return shown_name(Path(self.path).name)

    @property
    def packed(self) -> bool:
        return is_packed(self.path)

    @property
    def separator(self) -> str | None:
        """What separates cells where marks may enclose a line break; None where every line is a record."""
        return self.delimiter if self.kind != "jsonl" and self.quotes else None


@dataclass(frozen=True)
class Block:
    """A piece of a shard: bytes ``start`` to ``stop`` of its unpacked content, or these rows of a parquet file.

    ``first`` records of the shard lie before it, about ``rows`` in it; ``number`` counts over all shards.
    """

    shard: Shard
    start: int
    stop: int
    rows: int
    first: int
    number: int = 0
    unpacked: str | None = None  # a file with the unpacked content, where that was kept


# -- which files -------------------------------------------------------------------------------------------------------


def find_shards(sources: str | os.PathLike | Sequence[str | os.PathLike]) -> list[str]:
    """Files that are named, that a pattern matches or that lie in a folder; each once, in the order of their names."""
    given = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    found: dict[str, None] = {}
    for place in map(Path, given):
        source = str(place)
        if place.is_dir():
            files = [str(path) for path in list_files(place) if can_cut(path)]
            what = f"The folder {source!r} holds no csv, tsv, jsonl or parquet file; name one that does."
        elif glob.has_magic(source) and not place.is_file():
            fixed = Path(*itertools.takewhile(lambda part: not glob.has_magic(part), place.parts))
            matches = sorted(glob.glob(source, recursive=True))
            for path in matches:
                check_link(Path(path), fixed)
            files = [path for path in matches if os.path.isfile(path)]
            what = f"No file matches {source!r}; check the pattern."
        else:
            files, what = [source], ""
        if not files:
            raise DataError(what, code="missing-file")
        found.update(dict.fromkeys(files))
    for path in found:
        if not can_cut(path):
            raise DataError(
                f"{shown_name(Path(path).name)} cannot be read block by block; give csv, tsv, jsonl (also .gz) or "
                "parquet files.",
                code="unknown-format",
            )
    return list(found)


# -- where they are cut ------------------------------------------------------------------------------------------------


def open_shard(path: str) -> Shard:
    """How a file is read: encoding, separator and columns, from its first bytes."""
    name = shown_name(Path(path).name)
    format = format_of(path)
    assert format is not None  # find_shards has looked
    if format.name == "parquet":
        polars = import_optional("polars", f"Reading {name}")
        with _reading(name):
            columns = tuple(polars.read_parquet_schema(path))
        check_width(len(columns), name)
        return Shard(str(path), format.name, columns=columns)
    with _reading(name), _open_bytes(path) as file:
        data = file.read(_HEAD_BYTES)
    cut = len(data) == _HEAD_BYTES
    if cut and (end := data.rfind(b"\n")) >= 0:
        data = data[: end + 1]
    if not data.strip():
        raise DataError(f"{name} holds no rows; at least one document is expected.", code="empty-file")
    encoding, text = _decode_head(data, name)
    mark = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    if format.name == "jsonl":
        records = read_lines(text.split("\n")[:LOOKED_AT], lambda error, line: None)
        tool = find_tool(records)
        columns = record_names(flatten(records, tool), name)
        return Shard(str(path), format.name, encoding, "", columns, mark, tool=tool)
    head, _, _ = read_csv(text, name, format.name, cut=cut)
    above = text[: head.start]
    if above.endswith("\r"):
        raise DataError(
            f"{name} ends its lines with carriage returns alone, where it cannot be cut; save it with line feeds.",
            code="unreadable-file",
        )
    if "\0" in above:
        raise DataError(f"{name} holds NUL bytes in its header; save it as UTF-8 text.", code="nul-bytes")
    start = mark + len(above.encode(encoding, "surrogateescape"))
    columns = tuple(map(mend_surrogates, head.columns))
    return Shard(str(path), format.name, encoding, head.delimiter, columns, start, head.quotes)


def _open_bytes(path: str) -> Any:
    return gzip.open(path, "rb") if is_packed(path) else open(path, "rb")


def _decode_head(head: bytes, name: str) -> tuple[str, str]:
    """Encoding and text of the first bytes; damaged ones become half characters, their rows are set aside later."""
    try:
        text, encoding, _ = decode(head, name)
    except DataError as error:
        if error.code not in ("bad-encoding", "nul-bytes") or head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise
        return "utf-8", head.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    if encoding.startswith(("utf-16", "utf-32")):
        raise DataError(f"{name} is {encoding.upper()}, which cannot be cut; save it as UTF-8.", code="bad-encoding")
    return ("utf-8" if encoding in ("utf-8-sig", "ascii") else encoding), text.removeprefix("\ufeff")


def cut_shard(path: str, rows: int, unpacked: str | None = None, limit: int | None = None) -> list[Block]:
    """The blocks of a file, ``rows`` records each, or fewer where these are very long.

    A packed file cannot be read from its middle, so it is written to ``unpacked`` on the way, up to ``limit`` bytes
    (:func:`isthmus.corpus.limits.disk_limit`).
    """
    shard = open_shard(path)
    if shard.kind == "parquet":
        polars = import_optional("polars", f"Reading {shard.name}")
        with _reading(shard.name):
            total = int(polars.scan_parquet(path).select(polars.len()).collect().item())
        cuts = [*range(0, total, rows), total]
        return [Block(shard, a, b, b - a, a) for a, b in itertools.pairwise(cuts) if b > a]
    keep = unpacked if shard.packed else None
    with _reading(shard.name):
        return list(_cut_text(shard, rows, keep, disk_limit(os.path.getsize(path), limit)))


def _cut_text(shard: Shard, rows: int, unpacked: str | None, limit: int) -> Iterator[Block]:
    start, first, waiting, known = shard.start, 0, 0, shard.start  # of the block that is open; end of its last record
    for ends in _record_ends(shard, unpacked, limit):
        at = 0
        while at < len(ends):
            near = int(np.searchsorted(ends, start + MOST_BYTES))
            cut = min(at + rows - waiting - 1, max(near, at))
            if cut >= len(ends):
                waiting += len(ends) - at
                known = int(ends[-1])
                break
            count = waiting + cut - at + 1
            yield Block(shard, start, int(ends[cut]), count, first, unpacked=unpacked)
            start = known = int(ends[cut])
            first, waiting, at = first + count, 0, cut + 1
    if waiting:
        yield Block(shard, start, known, waiting, first, unpacked=unpacked)


def _record_ends(shard: Shard, unpacked: str | None, limit: int) -> Iterator[np.ndarray]:
    """Ends of all records in the unpacked content, chunk by chunk; a last record without a line feed ends too."""
    from isthmus.corpus._scan import START, scan

    state, offset, last = START, 0, shard.start
    with ExitStack() as stack:
        file = stack.enter_context(_open_bytes(shard.path))
        keep = None if unpacked is None else stack.enter_context(_keeping(unpacked, shard.name))
        while chunk := file.read(_CHUNK):
            if shard.packed and offset + len(chunk) > limit:
                raise too_large(shard.name, limit=limit)
            if keep is not None:
                keep(chunk)
            skipped = max(0, shard.start - offset)
            ends, state = scan(chunk[skipped:] if skipped else chunk, shard.separator, state)
            ends = ends + (offset + skipped)
            offset += len(chunk)
            if len(ends):
                last = int(ends[-1])
                yield ends
    if offset > last:
        yield np.array([offset])


@contextmanager
def _keeping(place: str, name: str) -> Iterator[Callable[[bytes], None]]:
    """Writes what a packed file holds to ``place``, which is there only when it is whole."""
    part = f"{place}.{os.getpid()}.part"

    def write(chunk: bytes) -> None:
        try:
            out.write(chunk)
            out.flush()
        except OSError as error:
            raise DataError(
                f"{name} cannot be unpacked next to the output ({error.strerror or error}); make room, then continue "
                "with resume=True.",
                code="file-trouble",
            ) from None

    try:
        with open(part, "wb") as out:
            yield write
        os.replace(part, place)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


# -- reading a block ---------------------------------------------------------------------------------------------------


def read_block(block: Block) -> Rows:
    """The rows of a block; those that cannot be read are listed in ``bad``."""
    shard = block.shard
    if shard.kind == "parquet":
        polars = import_optional("polars", f"Reading {shard.name}")
        with _reading(shard.name):
            frame = polars.scan_parquet(shard.path).slice(block.start, block.stop - block.start).collect()
            return Rows(shard.columns, {column.name: column.to_list() for column in frame})
    with _reading(shard.name):
        data = _bytes_of(block)
    bad: list[dict] = []
    if shard.kind == "jsonl":

        def set_aside(error: BadRow, line: bytes) -> None:
            bad.append(_bad_row(block, block.first + error.line, error.why, line))

        records = read_lines(data.split(b"\n"), set_aside, shard.encoding)
        return Rows(shard.columns, records=flatten(records, shard.tool), bad=bad)
    try:
        rows = _read_text(shard, data)
    except BadRow:
        rows = _read_one_by_one(block, data, bad)
    return Rows(shard.columns, to_columns(shard.columns, rows), bad=bad, guarded=True)


def _read_text(shard: Shard, data: bytes) -> list[list[str]]:
    """All rows of some bytes, up to the first bad one. A bare carriage return ends a line, as in a whole file."""
    try:
        text = data.decode(shard.encoding)
    except UnicodeDecodeError as error:
        raise BadRow(0, f"byte 0x{data[error.start]:02x} is not {shard.encoding} text", "") from None
    if "\0" in text:
        raise BadRow(0, _NUL, "")
    stream = io.StringIO(text, newline="")
    return read_rows(stream, shard.delimiter, len(shard.columns), quotes=shard.quotes)


def _bytes_of(block: Block) -> bytes:
    kept = block.unpacked is not None and os.path.exists(block.unpacked)
    with open(block.unpacked, "rb") if kept else _open_bytes(block.shard.path) as file:  # type: ignore[arg-type]
        file.seek(block.start)
        data = file.read(block.stop - block.start)
    if len(data) < block.stop - block.start:
        raise EOFError("it is shorter than it was when the run began")
    return data


def _read_one_by_one(block: Block, data: bytes, bad: list[dict]) -> list[list[str]]:
    """The rows of a block in which some are bad; those are added to ``bad``."""
    rows: list[list[str]] = []
    waiting = _cut_records(data, block.shard)[::-1]
    number = block.first
    while waiting:
        record = waiting.pop()
        number += 1
        if not record.strip():
            continue
        line, _, rest = record.partition(b"\n")
        try:
            rows += _read_text(block.shard, record)
        except BadRow as error:
            swallowed = rest.strip() and block.shard.quotes
            # A mark that was never closed has swallowed the lines behind it: only the first of them is bad.
            bad.append(_bad_row(block, number, "a quotation mark is not closed" if swallowed else error.why, line))
            waiting += _cut_records(rest, block.shard)[::-1] if swallowed else []
    return rows


def _cut_records(data: bytes, shard: Shard) -> list[bytes]:
    from isthmus.corpus._scan import START, scan

    ends = [*scan(data, shard.separator, START)[0].tolist(), len(data)]
    return [data[a:b] for a, b in zip([0, *ends], ends, strict=False) if b > a]


def _bad_row(block: Block, number: int, why: str, content: bytes) -> dict:
    """``number`` counts the rows of the file from 1."""
    shown = content.decode("utf-8", "backslashreplace").rstrip("\r\n")[:_SHOWN]
    return {"file": block.shard.path, "row": number, "reason": why, "content": shown}


@contextmanager
def _reading(name: str) -> Iterator[None]:
    try:
        yield
    except (DataError, ImportError, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except FileNotFoundError:
        raise DataError(f"There is no file {name!r}; check the name.", code="missing-file") from None
    except BaseException as error:  # a damaged file makes polars panic, which is no Exception
        if not isinstance(error, _DAMAGE) and not type(error).__module__.startswith(("polars", "pyo3")):
            raise
        why = str(error).split("\n")[0]
        raise DataError(
            f"{name} cannot be read ({why}); it may be damaged, cut short or out of reach. Continue with resume=True "
            "when the same file is there again, or start again with force=True and another file.",
            code="unreadable-file",
        ) from None


# -- which columns -----------------------------------------------------------------------------------------------------


def choose_columns(
    blocks: Sequence[Block], *, text: str | Sequence[str] | None, label: str | None, want_labels: bool
) -> ColumnRoles:
    """Columns that were named, or else guessed from the first rows; every shard must have them."""
    name = blocks[0].shard.name
    head: dict[str, list] = {column: [] for column in blocks[0].shard.columns}
    for block in blocks:
        if block.shard != blocks[0].shard or len(next(iter(head.values()), ())) >= LOOKED_AT:
            break
        rows = read_block(block)
        for column, cells in head.items():
            cells += rows.cells(column)
    roles = resolve_columns(head, name, text=text, label=label, want_labels=want_labels)
    for shard in {block.shard.path: block.shard for block in blocks}.values():
        for column in filter(None, (*roles.text, roles.label)):
            if column not in shard.columns:
                raise DataError(
                    f"{shard.name} has no column {column!r}, which the first file has; its columns are "
                    f"{list_columns(shard.columns)}.",
                    code="unknown-column",
                )
    return replace(roles, notes=roles.notes[::-1])  # the label first, as the records of such runs have it
