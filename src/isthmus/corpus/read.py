"""Read documents: csv, tsv, jsonl, json, parquet, xlsx (also .gz), standard input, or a folder of text files."""

from __future__ import annotations

import hashlib
import math
import sys
import zlib
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import IO, Any

from isthmus._progress import progress
from isthmus._utils import plural
from isthmus.corpus.cells import unguard
from isthmus.corpus.collection import Collection
from isthmus.corpus.decode import decode, mend_surrogates, shown_name
from isthmus.corpus.guess import find_column, guess_id, guess_label, guess_text, list_columns, shorten
from isthmus.corpus.limits import gunzip
from isthmus.corpus.tables import FORMATS, Table, read_xlsx, sniff_format
from isthmus.exceptions import DataError, UsageError

_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "xlsx",
}
_GUARDED = ("csv", "tsv", "xlsx")  # where an apostrophe before "=" and the like keeps spreadsheets from running a cell
_STDIN = "standard input"


def read_collection(
    path: str | Path,
    *,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    format: str | None = None,
    sheet: str | None = None,
    want_labels: bool | None = None,
    stdin: IO[bytes] | None = None,
) -> Collection:
    """Read a file, standard input or a folder of text files.

    Parameters
    ----------
    path : str or Path
        File, folder with one sub-folder per label, or ``"-"`` for standard input.
    text : str or sequence of str, optional
        Text column; several, as a sequence or joined by commas, are put together with a blank. Guessed if omitted.
    label, id : str, optional
        Label and id columns. Guessed if omitted; without an id column rows are numbered from 1.
    format : {"csv", "tsv", "jsonl", "json", "parquet", "xlsx"}, optional
        For files whose ending does not say it.
    sheet : str, optional
        xlsx: name or number (from 1) of the sheet; the first if omitted.
    want_labels : bool, optional
        True: labels are needed, and the read fails without them. False: no column is read as labels, even if one is
        named. None: labels are read if a column is named ``label`` or alike.
    stdin : binary file, optional
        Read instead of the process's standard input when ``path`` is ``"-"``.

    Returns
    -------
    Collection
        ``notes`` says what was guessed. In csv, tsv and xlsx, an apostrophe before ``= + - @``, tab or carriage return
        (written by the commands for the sake of spreadsheets) is no part of an id, a text or a label; ``table()`` gives
        the cells as they stand.

    See Also
    --------
    isthmus.corpus.Collection : What it gives.
    isthmus.corpus.write_rows : The way back to a file.

    Examples
    --------
    >>> import io
    >>> from isthmus.corpus import read_collection
    >>> table = b"nr,comment,category\\n007,kind people,staff\\n008,too dear,price\\n"
    >>> docs = read_collection("-", stdin=io.BytesIO(table))
    >>> docs.ids, docs.texts, docs.labels
    (['007', '008'], ['kind people', 'too dear'], ['staff', 'price'])
    >>> docs.notes
    ["standard input: 'comment' is taken as the text.", "standard input: 'category' is taken as the label."]
    """
    if format is not None and format not in FORMATS:
        raise UsageError(f"Format {format!r} is unknown; use one of {', '.join(FORMATS)}.", code="unknown-format")
    if not str(path):
        raise DataError("The name of the file is empty; name a file, a folder or '-'.", code="missing-file")
    if str(path) == "-":
        name = _STDIN
        if stdin is None and sys.stdin is None:
            raise DataError("Standard input is closed; name a file, or send the documents.", code="missing-file")
        data = (stdin or sys.stdin.buffer).read()
    else:
        path = Path(path)
        name = shown_name(path.name or str(path))
        if path.is_dir():
            return _read_folder(path, want_labels=want_labels)
        kind = format or _format_of(path)
        data = _read_bytes(path)
    digest = hashlib.sha256(data).hexdigest()
    data = _unzip(data, name)
    if str(path) == "-":
        kind = format or sniff_format(data)
    if not data.strip():
        raise DataError(
            f"{name} is empty; a table with a header and at least one document is expected.", code="empty-file"
        )
    if sheet is not None and kind != "xlsx":
        raise UsageError(
            f"--sheet {sheet!r} was given and {name} is not a workbook; leave it out.", code="bad-parameter"
        )
    table = FORMATS[kind](data, name) if sheet is None else read_xlsx(data, name, sheet)
    del data
    if not table.n_rows:
        raise DataError(
            f"{name} has a header ({list_columns(table.columns)}) and no rows; at least one document is expected.",
            code="empty-file",
        )
    docs = _to_collection(table, name, text=text, label=label, id=id, want_labels=want_labels, bare=kind in _GUARDED)
    docs.sha256 = digest
    return docs


def read_table(path: str | Path, *, sheet: str | None = None, filled: str | None = None) -> dict[str, list]:
    """All columns of a file, whatever they are called; in csv, tsv and xlsx without the apostrophes of spreadsheets.

    For tables that are not documents, such as answers. ``sheet`` is read where the file is a workbook that has it, and
    the first sheet otherwise. ``filled`` names a column: where nothing stands in it on that sheet, the first one on
    which something does is read instead, for people rename sheets and write where they happen to be.
    """
    path = Path(path)
    name, kind = shown_name(path.name), _format_of(path)
    data = _unzip(_read_bytes(path), name)
    if not data.strip():
        raise DataError(f"{name} is empty; a table with a header is expected.", code="empty-file")
    take = bare_cells if kind in _GUARDED else list
    table = FORMATS[kind](data, name) if sheet is None else _sheet_if_there(data, name, kind, sheet)
    if filled is not None and kind == "xlsx" and not _has_cells(table, filled):
        table = _filled_sheet(data, name, filled) or table
    return {column: take(cells) for column, cells in table.columns.items()}


def _sheet_if_there(data: bytes, name: str, kind: str, sheet: str) -> Table:
    if kind != "xlsx":
        return FORMATS[kind](data, name)
    try:
        return read_xlsx(data, name, sheet)
    except DataError as error:
        if error.code != "unknown-column":
            raise
        return read_xlsx(data, name)


def _filled_sheet(data: bytes, name: str, column: str) -> Table | None:
    """The first sheet on which something stands in a column."""
    for number in count(1):
        try:
            table = read_xlsx(data, name, str(number))
        except DataError as error:
            if error.code == "unknown-column":  # no sheet of this number
                break
            if error.code != "empty-file":
                raise
            continue
        if _has_cells(table, column):
            return table
    return None


def _has_cells(table: Table, column: str) -> bool:
    return any(cell_text(cell).strip() for cell in table.columns.get(column, ()))


def _format_of(path: Path) -> str:
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] == ".gz":
        endings.pop()
    kind = _ENDINGS.get(endings[-1]) if endings else None
    if kind is None and path.exists():
        given = f"ends in {endings[-1]!r}" if endings else "has no ending"
        raise DataError(
            f"{path.name} {given}; files that end in .csv, .tsv, .jsonl, .json, .parquet or .xlsx can be read "
            "(also with .gz), or a folder of text files.",
            code="unknown-format",
        )
    return kind or "csv"


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        near = f" The folder {str(path.parent)!r} does not exist." if not path.parent.is_dir() else ""
        raise DataError(f"There is no file {str(path)!r}; check the name.{near}", code="missing-file") from None
    except NotADirectoryError:
        raise DataError(f"There is no file {str(path)!r}; check the name.", code="missing-file") from None
    except OSError as error:
        raise DataError(
            f"{str(path)!r} cannot be read ({error.strerror}); check that you may read it.", code="unreadable-file"
        ) from None


def _unzip(data: bytes, name: str) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gunzip(data, name)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{name} cannot be unpacked as gzip ({error}); the file may be cut short.", code="unreadable-file"
        ) from None


def _to_collection(
    table: Table, name: str, *, text: Any, label: str | None, id: str | None, want_labels: bool | None, bare: bool
) -> Collection:
    columns, notes = table.columns, list(table.notes)
    take = bare_cells if bare else list
    id_column = find_column(id, columns, name, "id") if id else None
    text_columns = _text_columns(text, columns, name)
    label_column = None
    if want_labels is not False:
        label_column = find_column(label, columns, name, "label") if label else None
    if label_column in text_columns:
        raise UsageError(
            f"{label_column!r} is named both as the text and as the label; a label cannot be learned from itself.",
            code="bad-parameter",
        )
    if not text_columns:
        guess = guess_text(columns, [column for column in (id_column, label_column, id or guess_id(columns)) if column])
        if guess is None:
            raise DataError(
                f"No column of {name} looks like text (columns: {list_columns(columns)}); name it with --text COLUMN.",
                code="no-text-column",
            )
        text_columns = [guess]
        notes.append(f"{name}: {shorten(guess)!r} is taken as the text.")
    taken = [*text_columns, *([id_column] if id_column else [])]
    if want_labels is not False and label_column is None:
        not_label = [*taken, guess_id(columns, taken) or ""]
        label_column = guess_label(columns, not_label, by_cells=bool(want_labels))
        if label_column is not None:
            notes.append(f"{name}: {shorten(label_column)!r} is taken as the label.")
        elif want_labels:
            raise DataError(
                f"No column of {name} looks like labels (columns: {list_columns(columns)}); "
                "name it with --label COLUMN.",
                code="no-label-column",
            )
    if id_column is None:
        id_column = guess_id(columns, [*taken, *([label_column] if label_column else [])])
    labels: list[str | None] = [None] * table.n_rows
    if label_column:
        labels = label_cells(take(columns[label_column]))
    if want_labels and all(value is None for value in labels):
        raise DataError(
            f"All {plural(len(labels), 'cell')} of the label column {label_column!r} of {name} are empty; "
            "at least two classes of labelled documents are needed.",
            code="no-labels",
        )
    used = {*text_columns, label_column, id_column}
    return Collection(
        ids=[cell_text(cell) for cell in take(columns[id_column])] if id_column else _numbers(table.n_rows),
        texts=_texts([take(columns[column]) for column in text_columns]),
        labels=labels,
        columns={key: cells for key, cells in columns.items() if key not in used},
        name=name,
        notes=notes,
        encoding=table.encoding,
        cells=columns,
    )


def _text_columns(text: Any, columns: dict[str, list], name: str) -> list[str]:
    if text is None:
        return []
    if isinstance(text, str):
        text = [text] if text in columns else [part.strip() for part in text.split(",") if part.strip()]
    return [find_column(part, columns, name, "text") for part in text]


def _texts(parts: list[list]) -> list[str]:
    if len(parts) == 1:
        return [cell if isinstance(cell, str) else cell_text(cell) for cell in parts[0]]
    return [" ".join(filter(None, map(cell_text, cells))) for cells in zip(*parts, strict=True)]


def _numbers(n: int) -> list[str]:
    return [str(i + 1) for i in range(n)]


def bare_cells(cells: list) -> list:
    """Cells without the apostrophe that keeps spreadsheets from running them; only ids, texts and labels lose it."""
    return [unguard(cell) if isinstance(cell, str) and cell[:1] == "'" else cell for cell in cells]


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def cell_text(cell: Any) -> str:
    """A cell as text: nothing for a missing one, no decimals for whole numbers."""
    if isinstance(cell, str):
        return cell
    if _is_missing(cell):
        return ""
    # Integers beside missing cells become 3.0 in many tools; as an id or a label they were 3.
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell)


def label_cells(cells: list) -> list[str | None]:
    """Labels as they stand in their cells; blank cells are no label."""
    texts = map(cell_text, cells)
    return [value if value.strip() else None for value in texts]


# A folder of text files


def _read_folder(folder: Path, *, want_labels: bool | None) -> Collection:
    """One document a file; the first sub-folder on the way to it is its label."""
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    tables = [path for path in files if path.parent == folder and _ENDINGS.get(_plain_ending(path))]
    if tables or not files:
        raise _not_a_file(folder, tables)
    ids, texts, labels = [], [], []
    encodings: Counter = Counter()
    skipped: list[str] = []
    digest = hashlib.sha256()
    for done, path in enumerate(files):
        place = path.relative_to(folder)
        try:
            data = _read_bytes(path)
            text, encoding, _ = decode(data, str(place))
        except DataError as error:
            if error.code not in ("nul-bytes", "bad-encoding"):
                raise
            skipped.append(str(place))
            continue
        digest.update(f"{place.as_posix()}\0{hashlib.sha256(data).hexdigest()}\n".encode("utf-8", "surrogateescape"))
        ids.append(mend_surrogates(place.as_posix()))
        texts.append(text)
        labels.append(mend_surrogates(place.parts[0]) if len(place.parts) > 1 else None)
        encodings[encoding] += 1
        progress("reading", done + 1, len(files))
    if not texts:
        raise _not_a_file(folder, [])
    if want_labels and not any(labels):
        raise DataError(
            f"The folder {folder.name!r} holds {plural(len(texts), 'text file')} and no sub-folders; put the files of "
            "each label into a sub-folder of that name.",
            code="no-label-column",
        )
    if want_labels is False:
        labels = [None] * len(texts)
    return Collection(
        ids=ids,
        texts=texts,
        labels=labels,
        name=shown_name(folder.name),
        notes=_folder_notes(shown_name(folder.name), texts, labels, encodings, skipped),
        encoding=encodings.most_common(1)[0][0],
        sha256=digest.hexdigest(),
    )


def _plain_ending(path: Path) -> str:
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def _folder_notes(name: str, texts: list, labels: list, encodings: Counter, skipped: list[str]) -> list[str]:
    notes = []
    if any(labels):
        notes.append(f"{name}: the names of its {len(set(labels) - {None})} sub-folders are taken as the labels.")
    other = [encoding for encoding in encodings if encoding not in ("utf-8", "utf-8-sig")]
    if other:
        notes.append(
            f"{name}: {sum(encodings[e] for e in other)} of {len(texts)} files were read as {', '.join(other)}."
        )
    if skipped:
        notes.append(f"{name}: {plural(len(skipped), 'file')} that hold no text left out, first {skipped[0]!r}.")
    return notes


def _not_a_file(folder: Path, tables: list[Path]) -> DataError:
    if tables:
        hint = f"name one of the files in it, for example {str(tables[0])!r}"
    else:
        hint = "name a file, or a folder of text files with one sub-folder per label"
    return DataError(f"{str(folder)!r} is a folder, and no text files can be read from it; {hint}.", code="not-a-file")
