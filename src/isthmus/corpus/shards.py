"""Read many files as one table in blocks: find the files, cut them into blocks, and read the rows of a block."""

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
    read_record,
    read_rows,
    record_names,
    to_columns,
)
from isthmus.exceptions import DataError

MOST_BYTES = 32 << 20  # most bytes of a block, for any number of rows
_HEAD_BYTES = 1 << 20  # bytes that decide about encoding, separator and columns
_CHUNK = 8 << 20  # bytes per read of a file
_SHOWN = 500  # characters of a bad row in its report
_DAMAGE = (OSError, EOFError, zlib.error)


@dataclass(frozen=True)
class Shard:
    """Describe a file of a large table and how to read it."""

    path: str
    kind: str
    encoding: str = "utf-8"
    delimiter: str = ","
    columns: tuple[str, ...] = ()  # of a jsonl file: the columns of its first rows
    start: int = 0  # byte of the unpacked file at which the first record begins
    quotes: bool = True  # whether quotation marks may enclose cells
    tool: str = ""  # jsonl: the annotation tool that wrote the file

    @property
    def name(self) -> str:
        """File name for messages."""
        return shown_name(Path(self.path).name)

    @property
    def separator(self) -> str | None:
        """Separator of cells if quotation marks may enclose a line break; None if every line is a record."""
        return self.delimiter if self.kind != "jsonl" and self.quotes else None


@dataclass(frozen=True)
class Block:
    """Describe a block of a shard.

    Attributes
    ----------
    shard : Shard
        The file.
    start, stop : int
        First byte of the unpacked content and the byte after the last; rows in a parquet file.
    rows : int
        Approximate number of records in the block.
    first : int
        Number of records of the shard before the block.
    number : int
        Number of the block among the blocks of all shards.
    unpacked : str or None
        File with the unpacked content, if there is one.
    """

    shard: Shard
    start: int
    stop: int
    rows: int
    first: int
    number: int = 0
    unpacked: str | None = None


# -- Find files --------------------------------------------------------------------------------------------------------


def find_shards(sources: str | os.PathLike | Sequence[str | os.PathLike]) -> list[str]:
    """Return the files that the user named, without duplicates.

    Parameters
    ----------
    sources : path-like or sequence of path-like
        Files, patterns and folders.

    Returns
    -------
    list of str
        Files of a pattern or a folder are sorted by name.

    Raises
    ------
    DataError
        A source matches no file, or a file cannot be read in blocks.
    """
    paths = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    shards: dict[str, None] = {}
    for path in map(Path, paths):
        source = str(path)
        if path.is_dir():
            files = [str(file) for file in list_files(path) if can_cut(file)]
            what = f"The folder {source!r} holds no csv, tsv, jsonl or parquet file; name one that does."
        elif glob.has_magic(source) and not path.is_file():
            fixed = Path(*itertools.takewhile(lambda part: not glob.has_magic(part), path.parts))
            matches = sorted(glob.glob(source, recursive=True))
            for file in matches:
                check_link(Path(file), fixed)
            files = [file for file in matches if os.path.isfile(file)]
            what = f"No file matches {source!r}; check the pattern."
        else:
            files, what = [source], ""
        if not files:
            raise DataError(what, code="missing-file")
        shards.update(dict.fromkeys(files))
    # A user may name a file directly, so the format is checked for all files.
    for shard in shards:
        if not can_cut(shard):
            raise DataError(
                f"{shown_name(Path(shard).name)} cannot be read block by block; give csv, tsv, jsonl (also .gz) or "
                "parquet files.",
                code="unknown-format",
            )
    return list(shards)


# -- Cut files into blocks ---------------------------------------------------------------------------------------------


def open_shard(path: str) -> Shard:
    """Read the first bytes of a file and return its encoding, separator and columns.

    Parameters
    ----------
    path : str
        File.

    Returns
    -------
    Shard

    Raises
    ------
    DataError
        The file is empty or cannot be read in blocks.
    """
    name = shown_name(Path(path).name)
    format = format_of(path)
    assert format is not None  # find_shards refuses other formats
    if format.name == "parquet":
        polars = import_optional("polars", f"Reading {name}")
        with _reading(name):
            columns = tuple(polars.read_parquet_schema(path))
        check_width(len(columns), name)
        return Shard(str(path), format.name, columns=columns)
    with _reading(name), _open_bytes(path) as file:
        data = file.read(_HEAD_BYTES)
    cut = len(data) == _HEAD_BYTES
    # The last line of the sample may be incomplete.
    if cut and (end := data.rfind(b"\n")) >= 0:
        data = data[: end + 1]
    if not data.strip():
        raise DataError(f"{name} holds no rows; at least one document is expected.", code="empty-file")
    try:
        text, encoding, _ = decode(data, name)
    except DataError:
        # Damage in the first bytes makes single rows bad, not the whole file.
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise
        text, encoding = data.decode("utf-8", "surrogateescape"), "utf-8"
    if encoding.startswith(("utf-16", "utf-32")):
        raise DataError(f"{name} is {encoding.upper()}, which cannot be cut; save it as UTF-8.", code="bad-encoding")
    text, encoding = text.removeprefix("\ufeff"), encoding.removesuffix("-sig")
    mark = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    if format.name == "jsonl":
        records = []
        for line in filter(str.strip, text.split("\n")[:LOOKED_AT]):
            with suppress(BadRow):
                records.append(read_record(line))
        tool = find_tool(records)
        columns = record_names(flatten(records, tool), name)
        return Shard(str(path), format.name, encoding, "", columns, mark, tool=tool)
    # Bad rows are reported when their block is read.
    head, _, _ = read_csv(text, name, format.name, cut=cut)
    above = text[: head.start]
    if above.endswith("\r"):
        raise DataError(
            f"{name} ends its lines only with carriage returns, where it cannot be cut; save it with line feeds.",
            code="unreadable-file",
        )
    if "\0" in above:
        raise DataError(f"{name} holds NUL bytes in its header; save it as UTF-8 text.", code="nul-bytes")
    start = mark + len(above.encode(encoding, "surrogateescape"))
    columns = tuple(map(mend_surrogates, head.columns))
    return Shard(str(path), format.name, encoding, head.delimiter, columns, start, head.quotes)


def _open_bytes(path: str) -> Any:
    return gzip.open(path, "rb") if is_packed(path) else open(path, "rb")


def cut_shard(path: str, rows: int, unpacked: str | None = None, limit: int | None = None) -> list[Block]:
    """Cut a file into blocks.

    A packed file cannot be read from its middle, so its content is also written to ``unpacked``.

    Parameters
    ----------
    path : str
        File.
    rows : int
        Records per block; a block with very long records has fewer.
    unpacked : str, optional
        File for the unpacked content.
    limit : int, optional
        Limit in bytes, as for :func:`isthmus.corpus.limits.disk_limit`.

    Returns
    -------
    list of Block

    Raises
    ------
    DataError
        The file cannot be read, or its unpacked size exceeds the limit.
    """
    shard = open_shard(path)
    if shard.kind == "parquet":
        polars = import_optional("polars", f"Reading {shard.name}")
        with _reading(shard.name):
            total = int(polars.scan_parquet(path).select(polars.len()).collect().item())
        cuts = [*range(0, total, rows), total]
        return [Block(shard, a, b, b - a, a) for a, b in itertools.pairwise(cuts) if b > a]
    copy = unpacked if is_packed(shard.path) else None
    with _reading(shard.name):
        return list(_cut_text(shard, rows, copy, disk_limit(os.path.getsize(path), limit)))


def _cut_text(shard: Shard, rows: int, unpacked: str | None, limit: int) -> Iterator[Block]:
    """Yield the blocks of a text file."""
    start = end = shard.start
    first = count = 0
    for end in itertools.chain.from_iterable(_record_ends(shard, unpacked, limit)):
        count += 1
        # Very long records end a block early, so that it fits in memory.
        if count == rows or end - start >= MOST_BYTES:
            yield Block(shard, start, end, count, first, unpacked=unpacked)
            start, first, count = end, first + count, 0
    if count:
        yield Block(shard, start, end, count, first, unpacked=unpacked)


def _record_ends(shard: Shard, unpacked: str | None, limit: int) -> Iterator[list[int]]:
    """Yield the ends of all records in the unpacked content, chunk by chunk.

    A last record without a line feed also ends.
    """
    from isthmus.corpus._scan import START, scan

    state, offset, last = START, 0, shard.start
    with ExitStack() as stack:
        file = stack.enter_context(_open_bytes(shard.path))
        write_copy = None if unpacked is None else stack.enter_context(_save_copy(unpacked, shard.name))
        while chunk := file.read(_CHUNK):
            if is_packed(shard.path) and offset + len(chunk) > limit:
                raise too_large(shard.name, limit=limit)
            if write_copy is not None:
                write_copy(chunk)
            skipped = max(0, shard.start - offset)
            ends, state = scan(chunk[skipped:] if skipped else chunk, shard.separator, state)
            chunk_ends = (ends + (offset + skipped)).tolist()
            offset += len(chunk)
            last = chunk_ends[-1] if chunk_ends else last
            yield chunk_ends
    if offset > last:
        yield [offset]


@contextmanager
def _save_copy(copy: str, name: str) -> Iterator[Callable[[bytes], None]]:
    """Write the unpacked content to a file that appears only when it is complete."""
    # The process number in the name prevents two runs from writing to the same file.
    part = f"{copy}.{os.getpid()}.part"

    def write(chunk: bytes) -> None:
        try:
            out.write(chunk)
            out.flush()
        except OSError as error:
            raise DataError(
                f"{name} cannot be unpacked next to the output ({error.strerror or error}); free some space, then "
                "continue with resume=True.",
                code="file-trouble",
            ) from None

    try:
        with open(part, "wb") as out:
            yield write
        os.replace(part, copy)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


# -- Read a block ------------------------------------------------------------------------------------------------------


def read_block(block: Block) -> Rows:
    """Return the rows of a block.

    Parameters
    ----------
    block : Block

    Returns
    -------
    Rows
        ``bad`` lists the rows that cannot be read.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    shard = block.shard
    if shard.kind == "parquet":
        polars = import_optional("polars", f"Reading {shard.name}")
        with _reading(shard.name):
            frame = polars.scan_parquet(shard.path).slice(block.start, block.stop - block.start).collect()
            return Rows(shard.columns, {column.name: column.to_list() for column in frame})
    with _reading(shard.name):
        is_copied = block.unpacked is not None and os.path.exists(block.unpacked)
        with open(str(block.unpacked), "rb") if is_copied else _open_bytes(shard.path) as file:
            file.seek(block.start)
            data = file.read(block.stop - block.start)
        if len(data) < block.stop - block.start:
            raise EOFError("it is shorter than it was when the run began")
    bad: list[dict] = []
    try:
        rows = _read_text(shard, data)
    except BadRow:
        rows = _read_one_by_one(block, data, bad)
    if shard.kind == "jsonl":
        return Rows(shard.columns, records=flatten(rows, shard.tool), bad=bad)
    return Rows(shard.columns, to_columns(shard.columns, rows), bad=bad, guarded=True)


def _read_text(shard: Shard, data: bytes) -> list:
    """Return all rows or records of some bytes, or raise BadRow at the first bad row.

    A single carriage return ends a line of a csv file, as in a whole file.
    """
    try:
        text = data.decode(shard.encoding)
    except UnicodeDecodeError as error:
        raise BadRow(0, f"byte 0x{data[error.start]:02x} is not {shard.encoding} text", "") from None
    if "\0" in text:
        raise BadRow(0, "a NUL byte, which text cannot hold", "")
    if shard.kind == "jsonl":
        return read_lines(text)
    return read_rows(io.StringIO(text, newline=""), shard.delimiter, len(shard.columns), quotes=shard.quotes)


def _read_one_by_one(block: Block, data: bytes, bad: list[dict]) -> list:
    """Return the good rows of a block, and append the bad rows with their numbers in the file to ``bad``."""
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
            # An unclosed quotation mark includes the following lines in its cell: only the first line is bad.
            swallowed = bool(rest.strip()) and block.shard.separator is not None
            why = "a quotation mark is not closed" if swallowed else error.why
            shown = line.decode("utf-8", "backslashreplace").rstrip("\r\n")[:_SHOWN]
            bad.append({"file": block.shard.path, "row": number, "reason": why, "content": shown})
            waiting += _cut_records(rest, block.shard)[::-1] if swallowed else []
    return rows


def _cut_records(data: bytes, shard: Shard) -> list[bytes]:
    """Return the bytes of each record."""
    from isthmus.corpus._scan import START, scan

    ends = [*scan(data, shard.separator, START)[0].tolist(), len(data)]
    return [data[a:b] for a, b in zip([0, *ends], ends, strict=False) if b > a]


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Turn any failure to read a file into a DataError."""
    try:
        yield
    except (DataError, ImportError, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except FileNotFoundError:
        raise DataError(f"There is no file {name!r}; check the name.", code="missing-file") from None
    except BaseException as error:  # polars reports a damaged file with a panic, which is not an Exception
        if not isinstance(error, _DAMAGE) and not type(error).__module__.startswith(("polars", "pyo3")):
            raise
        why = str(error).split("\n")[0]
        raise DataError(
            f"{name} cannot be read ({why}); it may be damaged, cut short or out of reach. Continue with resume=True "
            "when the same file is there again, or start again with force=True and another file.",
            code="unreadable-file",
        ) from None


# -- Choose columns ----------------------------------------------------------------------------------------------------


def choose_columns(
    blocks: Sequence[Block], *, text: str | Sequence[str] | None, label: str | None, want_labels: bool
) -> ColumnRoles:
    """Return the text and label columns of a large table: named columns, or guesses from the first rows.

    Parameters
    ----------
    blocks : sequence of Block
        Blocks of all shards.
    text : str or sequence of str or None
        Named text columns.
    label : str or None
        Named label column.
    want_labels : bool
        Whether a label column is required.

    Returns
    -------
    ColumnRoles

    Raises
    ------
    DataError
        A shard lacks one of the columns.
    """
    name = blocks[0].shard.name
    head: dict[str, list] = {column: [] for column in blocks[0].shard.columns}
    for block in blocks:
        # The first rows of the first file suffice for a guess.
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
    return replace(roles, notes=roles.notes[::-1])  # the label first, in the order of earlier run records
