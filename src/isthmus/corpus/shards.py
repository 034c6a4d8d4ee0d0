"""Many files as one table that is never held whole: which files, where they are cut, and the rows of one piece.

A shard is a file; a block is a piece of it that is read at once. Blocks are cut behind whole records, so that the rows
are the same wherever the cuts are.
"""

from __future__ import annotations

import csv
import gc
import glob
import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._utils import import_optional
from isthmus.corpus.blocks import _HEAD_BYTES, _kind, _open_bytes
from isthmus.corpus.decode import decode, mend_surrogates, shown_name
from isthmus.corpus.guess import find_column, guess_label, guess_text, list_columns, shorten
from isthmus.corpus.limits import disk_limit, too_large
from isthmus.corpus.read import bare_cells, cell_text, label_cells
from isthmus.corpus.tables import DELIMITERS, _long_cells, _sniff_delimiter, _unique_names
from isthmus.exceptions import DataError

MOST_BYTES = 32 << 20  # of a block, however many rows were asked for
_CHUNK = 8 << 20
_HEAD_ROWS = 1_000  # what columns are guessed from
_SHOWN = 500  # characters of a bad row that are kept
_DAMAGE = (OSError, EOFError, zlib.error)
_ROW_GROUP = 100_000  # of parquet files that are written
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Shard:
    """A file of the input and how it is read.

    Attributes
    ----------
    path : str
    kind : {"csv", "tsv", "jsonl", "parquet"}
    encoding, delimiter : str
    columns : tuple of str
        Of a jsonl file those of its first rows.
    start : int
        Byte of the unpacked file at which the first record begins.
    """

    path: str
    kind: str
    encoding: str = "utf-8"
    delimiter: str = ","
    columns: tuple[str, ...] = ()
    start: int = 0

    @property
    def name(self) -> str:
        return shown_name(Path(self.path).name)

    @property
    def packed(self) -> bool:
        return self.path.lower().endswith(".gz")


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


@dataclass
class Rows:
    """The rows of a block: columns, or for jsonl records; and those that could not be read."""

    names: tuple[str, ...]
    columns: dict[str, list] = field(default_factory=dict)
    records: list[dict] | None = None
    bad: list[dict] = field(default_factory=list)
    guarded: bool = False  # cells may begin with an apostrophe for the sake of spreadsheets

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ())) if self.records is None else len(self.records)

    def cells(self, name: str) -> list:
        """Cells of a column as they stand."""
        return self.columns[name] if self.records is None else [record.get(name) for record in self.records]

    def texts(self, names: Sequence[str]) -> list[str]:
        """Texts of the rows, several columns joined by a blank; missing cells are empty."""
        parts = [[cell if type(cell) is str else cell_text(cell) for cell in self._bare(name)] for name in names]
        return parts[0] if len(parts) == 1 else [" ".join(filter(None, row)) for row in zip(*parts, strict=True)]

    def labels(self, name: str) -> list[str | None]:
        """Labels of the rows, None where the cell is empty."""
        return label_cells(self._bare(name))

    def _bare(self, name: str) -> list:
        """Cells without the apostrophe that tables for spreadsheets carry; other files carry none."""
        return bare_cells(self.cells(name)) if self.guarded else self.cells(name)


# -- which files -------------------------------------------------------------------------------------------------------


def find_shards(sources: str | os.PathLike | Sequence[str | os.PathLike]) -> list[str]:
    """Files that are named, that a pattern matches or that lie in a folder; each once, in the order of their names.

    Parameters
    ----------
    sources : path, pattern or folder, or a sequence of them
        csv, tsv, jsonl (also .gz) and parquet files.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from isthmus.corpus.shards import find_shards
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.csv", "a.csv.gz", "notes.txt"):
    ...         _ = pathlib.Path(folder, name).write_text("")
    ...     [pathlib.Path(path).name for path in find_shards(folder)]
    ['a.csv.gz', 'b.csv']
    """
    given = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    found: dict[str, None] = {}
    for place in map(Path, given):
        source = str(place)
        if place.is_dir():
            files = sorted(str(p) for p in place.rglob("*") if p.is_file() and can_cut(p) and not _hidden(p, place))
            what = f"The folder {source!r} holds no csv, tsv, jsonl or parquet file; name one that does."
        elif glob.has_magic(source) and not place.is_file():
            files = sorted(path for path in glob.glob(source, recursive=True) if os.path.isfile(path))
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


def can_cut(path: str | os.PathLike) -> bool:
    """Whether the file's ending names a format that can be read in blocks."""
    return _kind(Path(path)) is not None or Path(path).suffix.lower() == ".parquet"


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


# -- where they are cut ------------------------------------------------------------------------------------------------


def open_shard(path: str) -> Shard:
    """How a file is read: encoding, separator and columns, from its first bytes."""
    name = shown_name(Path(path).name)
    if Path(path).suffix.lower() == ".parquet":
        polars = import_optional("polars", f"Reading {name}")
        with _reading(name):
            return Shard(str(path), "parquet", columns=tuple(polars.read_parquet_schema(path)))
    kind = _kind(Path(path))
    assert kind is not None  # find_shards has looked
    with _reading(name), _open_bytes(Path(path)) as file:
        head = file.read(_HEAD_BYTES)
    whole = len(head) < _HEAD_BYTES
    if not whole and (cut := head.rfind(b"\n")) >= 0:
        head = head[: cut + 1]
    if not head.strip():
        raise DataError(f"{name} holds no rows; at least one document is expected.", code="empty-file")
    encoding, text = _encoding(head, name)
    mark = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    if kind == "jsonl":
        lines = [line for line in text.split("\n")[:_HEAD_ROWS] if line.strip()]
        names = dict.fromkeys(key for line in lines for key in _keys(line))
        return Shard(str(path), kind, encoding, "", tuple(names), mark)
    delimiter = "\t" if kind == "tsv" else _sniff_delimiter(text, DELIMITERS)
    from isthmus.corpus._scan import START, scan

    start = mark
    for end in [*scan(head[mark:], delimiter, START)[0] + mark, len(head)]:
        record, start = head[start:end].decode(encoding, "replace"), int(end)
        row = _header(record, delimiter, name)
        if any(cell.strip() for cell in row):
            return Shard(str(path), kind, encoding, delimiter, tuple(_unique_names(row)[0]), start)
    raise DataError(f"{name} holds no rows; at least one document is expected.", code="empty-file")


def _header(record: str, delimiter: str, name: str) -> list[str]:
    try:
        with _long_cells():
            rows = [row for row in csv.reader(io.StringIO(record, newline=""), delimiter=delimiter) if row]
    except csv.Error as error:
        raise DataError(f"{name}: the header cannot be read ({error}).", code="unreadable-file") from None
    if len(rows) > 1:
        raise DataError(
            f"{name} ends its lines with carriage returns alone, where it cannot be cut; save it with line feeds.",
            code="unreadable-file",
        )
    return rows[0] if rows else []


def _encoding(head: bytes, name: str) -> tuple[str, str]:
    try:
        text, encoding, _ = decode(head, name)
    except DataError as error:
        if error.code != "bad-encoding":
            raise
        # Some damaged rows: they are set aside one by one.
        return "utf-8", head.decode("utf-8", "replace")
    if encoding.startswith(("utf-16", "utf-32")):
        raise DataError(f"{name} is {encoding.upper()}, which cannot be cut; save it as UTF-8.", code="bad-encoding")
    return ("utf-8" if encoding in ("utf-8-sig", "ascii") else encoding), text.removeprefix("\ufeff")


def _keys(line: str) -> list[str]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return list(record) if isinstance(record, dict) else []


def cut_shard(path: str, rows: int, unpacked: str | None = None, limit: int | None = None) -> list[Block]:
    """The blocks of a file, ``rows`` records each, or fewer where these are very long.

    A packed file cannot be read from its middle, so its content is written to ``unpacked`` on the way, up to ``limit``
    bytes; see :func:`isthmus.corpus.limits.disk_limit`.
    """
    shard = open_shard(path)
    if shard.kind == "parquet":
        polars = import_optional("polars", f"Reading {shard.name}")
        with _reading(shard.name):
            total = int(polars.scan_parquet(path).select(polars.len()).collect().item())
        cuts = [*range(0, total, rows), total]
        return [Block(shard, a, b, b - a, a) for a, b in pairwise(cuts) if b > a]
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

    delimiter = None if shard.kind == "jsonl" else shard.delimiter
    state, offset, last = START, 0, shard.start
    with ExitStack() as stack:
        file = stack.enter_context(_open_bytes(Path(shard.path)))
        keep = None if unpacked is None else stack.enter_context(_keeping(unpacked, shard.name))
        while chunk := file.read(_CHUNK):
            if shard.packed and offset + len(chunk) > limit:
                raise too_large(shard.name, limit=limit)
            if keep is not None:
                keep(chunk)
            skipped = max(0, shard.start - offset)
            ends, state = scan(chunk[skipped:] if skipped else chunk, delimiter, state)
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
                f"{name} cannot be unpacked beside the output ({error.strerror or error}); make room, then continue "
                "with --resume.",
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
    """The rows of a block; what cannot be read as a row is told in ``bad``."""
    shard = block.shard
    if shard.kind == "parquet":
        polars = import_optional("polars", f"Reading {shard.name}")
        with _reading(shard.name):
            frame = polars.scan_parquet(shard.path).slice(block.start, block.stop - block.start).collect()
            return Rows(shard.columns, {column.name: column.to_list() for column in frame})
    with _reading(shard.name):
        data = _bytes_of(block)
    if shard.kind == "jsonl":
        return _read_lines(block, data)
    with _long_cells(), _without_collection():
        rows = _read_at_once(shard, data)
        bad: list[dict] = []
        if rows is None:
            rows, bad = _read_one_by_one(block, data)
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(shard.columns)
        table = {name: list(cells) for name, cells in zip(shard.columns, columns, strict=True)}
    return Rows(shard.columns, table, bad=bad, guarded=True)


def _bytes_of(block: Block) -> bytes:
    kept = block.unpacked is not None and os.path.exists(block.unpacked)
    with open(block.unpacked, "rb") if kept else _open_bytes(Path(block.shard.path)) as file:  # type: ignore[arg-type]
        file.seek(block.start)
        data = file.read(block.stop - block.start)
    if len(data) < block.stop - block.start:
        raise EOFError("it is shorter than it was when the run began")
    return data


def _read_at_once(shard: Shard, data: bytes) -> list[list[str]] | None:
    """All rows, or None where any of them is damaged."""
    try:
        text = data.decode(shard.encoding)
        found = csv.reader(io.StringIO(text, newline=""), delimiter=shard.delimiter, strict=shard.delimiter != "\t")
        rows = [row for row in found if row]
    except (UnicodeDecodeError, csv.Error):
        return None
    return rows if {*map(len, rows)} <= {len(shard.columns)} else None


def _read_one_by_one(block: Block, data: bytes) -> tuple[list[list[str]], list[dict]]:
    from isthmus.corpus._scan import START, scan

    shard, width = block.shard, len(block.shard.columns)
    rows: list[list[str]] = []
    bad: list[dict] = []
    ends = [*scan(data, shard.delimiter, START)[0].tolist(), len(data)]
    waiting = [data[a:b] for a, b in zip([0, *ends], ends, strict=False) if b > a][::-1]
    number = block.first
    while waiting:
        record = waiting.pop()
        number += 1
        if not record.strip():
            continue
        found, why = _read_record(record, shard, width)
        line, _, rest = record.partition(b"\n")
        if found:
            rows += found
        elif rest.strip():
            # A mark that was never closed has swallowed the lines behind it: only the first of them is bad.
            bad.append(_bad_row(block, number, "a quotation mark is not closed", line))
            ends = scan(rest, shard.delimiter, START)[0].tolist()
            waiting += [rest[a:b] for a, b in zip([0, *ends], [*ends, len(rest)], strict=False) if b > a][::-1]
        else:
            bad.append(_bad_row(block, number, why, line))
    return rows, bad


def _read_record(record: bytes, shard: Shard, width: int) -> tuple[list[list[str]], str]:
    """The row of a record (several where a bare carriage return ends a line, as when read whole), or why it is bad."""
    try:
        text = record.decode(shard.encoding)
        found = csv.reader(io.StringIO(text, newline=""), delimiter=shard.delimiter, strict=shard.delimiter != "\t")
        rows = [row[:width] if len(row) > width and not any(row[width:]) else row for row in found if row]
    except UnicodeDecodeError as error:
        return [], f"byte 0x{record[error.start]:02x} is not {shard.encoding} text"
    except csv.Error as error:
        return [], str(error)
    wrong = next((row for row in rows if len(row) != width), None)
    return (rows, "") if wrong is None else ([], f"{len(wrong)} cells where the header has {width}")


def _read_lines(block: Block, data: bytes) -> Rows:
    records, bad = [], []
    for number, line in enumerate(data.split(b"\n"), block.first + 1):
        if not line.strip():
            continue
        try:
            text = line.decode(block.shard.encoding)
            record = json.loads(text)
            if not isinstance(record, dict):
                raise ValueError(f"a JSON {type(record).__name__}, not an object")
            if "\\ud" in text or "\\uD" in text:
                record = json.loads(mend_surrogates(json.dumps(record, ensure_ascii=False)))
            records.append(record)
        except UnicodeDecodeError as error:
            bad.append(_bad_row(block, number, f"byte 0x{line[error.start]:02x} is not {block.shard.encoding}", line))
        except (ValueError, RecursionError) as error:
            bad.append(_bad_row(block, number, f"not a JSON object ({error})", line))
    return Rows(block.shard.columns, records=records, bad=bad)


def _bad_row(block: Block, number: int, why: str, content: bytes) -> dict:
    shown = content.decode("utf-8", "backslashreplace").rstrip("\r\n")[:_SHOWN]
    return {"file": block.shard.path, "row": number, "reason": why, "content": shown}


def join_parquet(parts: Sequence[str | os.PathLike], place: str | os.PathLike) -> None:
    """Several parquet files as one, block after block; the cuts between them leave no trace."""
    polars = import_optional("polars", f"Writing {Path(place).name}")
    frames = [polars.scan_parquet(part) for part in parts]
    polars.concat(frames, how="vertical_relaxed").sink_parquet(place, row_group_size=_ROW_GROUP, maintain_order=True)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Many small lists make the garbage collector look at all of them again and again, for nothing."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


class _reading:
    """Turns what a damaged file raises into one sentence."""

    def __init__(self, name: str):
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None or isinstance(error, (DataError, ImportError, KeyboardInterrupt, SystemExit, MemoryError)):
            return
        if isinstance(error, FileNotFoundError):
            raise DataError(f"There is no file {self.name!r}; check the name.", code="missing-file") from None
        if isinstance(error, (*_DAMAGE, gzip.BadGzipFile)) or type(error).__module__.startswith(("polars", "pyo3")):
            why = str(error).split("\n")[0]
            raise DataError(
                f"{self.name} cannot be read ({why}); it may be damaged, cut short or out of reach. Continue with "
                "--resume when the same file is there again, or begin anew with --force with another in its place.",
                code="unreadable-file",
            ) from None


# -- which columns -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShardColumns:
    """Columns of the text and of the label, by name."""

    text: tuple[str, ...]
    label: str | None = None
    notes: tuple[str, ...] = ()


def choose_columns(
    blocks: Sequence[Block], *, text: str | Sequence[str] | None, label: str | None, want_labels: bool
) -> ShardColumns:
    """Columns that were named, or else guessed from the first rows; every shard must have them."""
    first = blocks[0]
    name = first.shard.name
    head = read_block(first)
    table = {column: head.cells(column)[:_HEAD_ROWS] for column in head.names}
    notes = []
    if want_labels and label is None:
        taken = [text] if isinstance(text, str) else list(text or ())
        label = guess_label(table, taken)
        if label is None:
            raise DataError(
                f"{name}: no column looks like labels; its columns are {list_columns(table)}. Name one with --label.",
                code="no-label-column",
            )
        notes.append(f"{name}: {shorten(label)!r} is taken as the label.")
    elif want_labels:
        label = find_column(str(label), table, name, "label")
    if text is None:
        guessed = guess_text(table, [label] if want_labels and label else [])
        if guessed is None:
            raise DataError(
                f"{name}: no column looks like text; its columns are {list_columns(table)}. Name one with --text.",
                code="no-text-column",
            )
        notes.append(f"{name}: {shorten(guessed)!r} is taken as the text.")
        texts = [guessed]
    else:
        given = [text] if isinstance(text, str) else list(text)
        texts = [find_column(column, table, name, "text") for column in given]
    wanted = [*texts, *([label] if want_labels and label else [])]
    for shard in {block.shard.path: block.shard for block in blocks}.values():
        for column in wanted:
            if column not in shard.columns:
                raise DataError(
                    f"{shard.name} has no column {column!r}, which the first file has; its columns are "
                    f"{list_columns(shard.columns)}.",
                    code="unknown-column",
                )
    return ShardColumns(tuple(texts), label if want_labels else None, tuple(notes))
