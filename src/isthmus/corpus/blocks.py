"""Read a table block by block, for files larger than memory: csv, tsv and jsonl, also with .gz."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from isthmus.corpus.decode import decode, shown_name
from isthmus.corpus.guess import find_column, guess_label, guess_text, list_columns
from isthmus.corpus.read import bare_cells, cell_text, label_cells
from isthmus.corpus.tables import DELIMITERS, _long_cells, _mend, _sniff_delimiter, _unique_names, json_lines
from isthmus.exceptions import DataError

_ENDINGS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_HEAD_BYTES = 1 << 20  # what encoding, separator and columns are guessed from
_BLOCK_CHARACTERS = 1_500_000
_DAMAGE = (OSError, EOFError, zlib.error)  # of a packed file, where unpacking stops


def can_stream(path: str | Path) -> bool:
    """Whether the file's ending names a format that can be read block by block."""
    return _kind(Path(path)) is not None


class BlockReader:
    """A table as a series of blocks; each pass over it opens the file anew.

    Parameters
    ----------
    path : str or Path
        A csv, tsv or jsonl file, also with .gz.
    text : str or sequence of str, optional
        Text column; several are joined by a blank. Guessed from the first rows if omitted.
    label : str, optional
        Label column, guessed likewise.
    want_labels : bool
        Whether labels are read at all.
    rows : int
        Rows in a block; a block also ends when its cells come to some millions of characters.

    Attributes
    ----------
    text_columns, label_column, columns
        What the first rows told.
    notes : list of str
        What was guessed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from isthmus.corpus.blocks import BlockReader
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "calls.csv")
    ...     _ = path.write_text("text,label\\nkind people,staff\\ntoo dear,price\\nrude,staff\\n")
    ...     reader = BlockReader(path, want_labels=True, rows=2)
    ...     [(reader.texts(block), reader.labels(block)) for block in reader]
    [(['kind people', 'too dear'], ['staff', 'price']), (['rude'], ['staff'])]
    """

    def __init__(self, path, *, text=None, label=None, want_labels: bool, rows: int = 4_000):
        self.path, self.rows = Path(path), rows
        self.name = shown_name(self.path.name)
        self.kind = _kind(self.path)
        if self.kind is None:
            raise DataError(
                f"{self.name} cannot be read block by block; give a file that ends in .csv, .tsv or .jsonl (also .gz).",
                code="unknown-format",
            )
        self._look_at_head()
        first = next(iter(self), None)
        if first is None:
            raise DataError(f"{self.name} holds no rows; at least one document is expected.", code="empty-file")
        self.columns = list(first)
        self.notes: list[str] = []
        self.label_column = self._find_label(label, first, text) if want_labels else None
        self.text_columns = self._find_text(text, first)

    def __iter__(self) -> Iterator[dict[str, list]]:
        """Blocks of the table: column names to lists of cells."""
        rows: list = []
        characters = 0
        try:
            for row in self._records() if self.kind == "jsonl" else self._cells():
                rows.append(row)
                cells = row.values() if isinstance(row, dict) else row
                characters += sum(len(cell) for cell in cells if isinstance(cell, str))
                if len(rows) >= self.rows or characters >= _BLOCK_CHARACTERS:
                    yield self._block(rows)
                    rows, characters = [], 0
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self.name}: a byte is not {self._encoding} text ({error.reason}); save the file as UTF-8.",
                code="bad-encoding",
            ) from None
        except _DAMAGE as error:
            raise self._damaged(error) from None
        if rows:
            yield self._block(rows)

    def texts(self, block: dict[str, list]) -> list[str]:
        """Texts of a block; missing cells are empty texts."""
        parts = [[cell_text(cell) for cell in self._taken(block, column)] for column in self.text_columns]
        return parts[0] if len(parts) == 1 else [" ".join(filter(None, row)) for row in zip(*parts, strict=True)]

    def labels(self, block: dict[str, list]) -> list[str | None]:
        """Labels of a block, None where the cell is empty."""
        assert self.label_column is not None  # asked for with want_labels
        return label_cells(self._taken(block, self.label_column))

    def _taken(self, block: dict[str, list], column: str) -> list:
        return block[column] if self.kind == "jsonl" else bare_cells(block[column])

    def _open(self) -> io.TextIOBase:
        raw = _open_bytes(self.path)
        return io.TextIOWrapper(raw, encoding=self._encoding, newline="" if self.kind != "jsonl" else "\n")

    def _look_at_head(self) -> None:
        try:
            with _open_bytes(self.path) as file:
                head = file.read(_HEAD_BYTES)
        except FileNotFoundError:
            raise DataError(f"There is no file {str(self.path)!r}; check the name.", code="missing-file") from None
        except _DAMAGE as error:
            raise self._damaged(error) from None
        cut = head.rfind(b"\n")
        if len(head) == _HEAD_BYTES and cut >= 0:
            head = head[: cut + 1]
        text, self._encoding, _ = decode(head, self.name)
        if self._encoding.lower().replace("-", "") in ("utf8", "ascii"):
            self._encoding = "utf-8-sig"
        if self.kind != "jsonl":
            self._delimiter = "\t" if self.kind == "tsv" else _sniff_delimiter(text, DELIMITERS)

    def _damaged(self, error: Exception) -> DataError:
        return DataError(
            f"{self.name} cannot be read ({error}); the file may be damaged or cut short.", code="unreadable-file"
        )

    def _cells(self) -> Iterator[list[str]]:
        with self._open() as file, _long_cells():
            rows = csv.reader(file, delimiter=self._delimiter, strict=self._delimiter != "\t")
            try:
                header = next((row for row in rows if any(cell.strip() for cell in row)), None)
                if header is None:
                    return
                self._names, _ = _unique_names(header)
                for row in rows:
                    if row:
                        wrong = len(row) != len(header)
                        yield _mend(row, len(header), self.name, rows.line_num, self._delimiter) if wrong else row
            except csv.Error as error:
                raise DataError(
                    f"{self.name}, line {rows.line_num:,}: {error}; check its quotation marks.", code="unreadable-file"
                ) from None

    def _records(self) -> Iterator[dict]:
        with self._open() as file:
            yield from json_lines(file, self.name)

    def _block(self, rows: list) -> dict[str, list]:
        if self.kind != "jsonl":
            return {name: list(cells) for name, cells in zip(self._names, zip(*rows, strict=True), strict=True)}
        # Columns of the first block hold for all: an output table cannot grow columns half-way.
        names = getattr(self, "columns", None) or list(dict.fromkeys(key for row in rows for key in row))
        return {name: [row.get(name) for row in rows] for name in names}

    def _find_label(self, given, block, text) -> str:
        if given is not None:
            return find_column(given, block, self.name, "label")
        taken = [text] if isinstance(text, str) else list(text or ())
        found = guess_label(block, taken)
        if found is None:
            raise DataError(
                f"{self.name}: no column looks like labels; its columns are {list_columns(block)}. "
                "Name one with --label.",
                code="no-label-column",
            )
        self.notes.append(f"{self.name}: {found!r} is taken as the label.")
        return found

    def _find_text(self, given: str | Sequence[str] | None, block) -> list[str]:
        if given is not None:
            names = given.split(",") if isinstance(given, str) and given not in block else given
            names = [names] if isinstance(names, str) else list(names)
            return [find_column(name, block, self.name, "text") for name in names]
        found = guess_text(block, [self.label_column] if self.label_column else [])
        if found is None:
            raise DataError(
                f"{self.name}: no column looks like text; its columns are {list_columns(block)}. Name one with --text.",
                code="no-text-column",
            )
        self.notes.append(f"{self.name}: {found!r} is taken as the text.")
        return [found]


def _kind(path: Path) -> str | None:
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] == ".gz":
        endings.pop()
    return _ENDINGS.get(endings[-1]) if endings else None


def _open_bytes(path: Path):
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")
