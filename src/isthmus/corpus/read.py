"""Read documents: csv, tsv, jsonl, json, parquet, xlsx (also .gz), standard input, or a folder of text files."""

from __future__ import annotations

import hashlib
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from isthmus._progress import progress
from isthmus._utils import plural
from isthmus.corpus.binary import rank_documents, read_parquet, read_xlsx
from isthmus.corpus.cells import cell_text
from isthmus.corpus.collection import Collection
from isthmus.corpus.decode import decode, mend_surrogates, shown_name
from isthmus.corpus.exchange import TOOLS, find_tool, flatten, read_fasttext
from isthmus.corpus.folders import list_files
from isthmus.corpus.formats import FASTTEXT, FORMATS, MANIFEST, format_of, sniff_format, split_sheet, table_ending
from isthmus.corpus.guess import WantLabels, list_columns, resolve_columns
from isthmus.corpus.limits import gunzip
from isthmus.corpus.sheets import REVIEW_SHEET
from isthmus.corpus.tables import (
    BadRow,
    Rows,
    empty_table,
    read_csv,
    read_json,
    read_lines,
    record_names,
    to_columns,
)
from isthmus.exceptions import DataError, UsageError

_STDIN = "standard input"


def read_collection(
    path: str | Path,
    *,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    format: str | None = None,
    sheet: str | None = None,
    want_labels: WantLabels = None,
    stdin: IO[bytes] | None = None,
) -> Collection:
    r"""Read a file, standard input or a folder of text files.

    Parameters
    ----------
    path : str or Path
        File, folder with one sub-folder per label, or ``"-"`` for standard input. ``FILE.xlsx::SHEET`` names a sheet.
    text : str or sequence of str, optional
        Text columns, as a sequence or with commas; several texts are joined by a blank. Guessed if omitted.
    label, id : str, optional
        Label and id columns. Guessed if omitted; without an id column, ids are row numbers from 1.
    format : {"csv", "tsv", "jsonl", "json", "parquet", "xlsx", "fasttext"}, optional
        Format of a file whose ending does not indicate it.
    sheet : str, optional
        Name or number (from 1) of a sheet in a workbook; the sheet in ``path`` if omitted. Without a named sheet, the
        largest sheet with the columns is read, and a note reports the choice.
    want_labels : bool or "some", optional
        True: labels are required. "some": labels are required, and some documents have none. False: no column is read
        as labels, even a named one. None: labels are read if a column has a name such as ``label``.
    stdin : binary file, optional
        File to read instead of the standard input of the process if ``path`` is ``"-"``.

    Returns
    -------
    Collection
        ``notes`` reports the guesses. In csv, tsv and xlsx, an apostrophe before ``= + - @``, tab or carriage return
        is no part of an id, a text or a label, because the commands write it for spreadsheets. ``table()`` returns the
        unchanged cells.

    Raises
    ------
    DataError
        The file cannot be read, or a column is missing.
    UsageError
        The format or the sheet is not valid.

    See Also
    --------
    isthmus.corpus.Collection : The returned object.
    isthmus.corpus.write_rows : Writes a table to a file.

    Examples
    --------
    >>> import io
    >>> from isthmus.corpus import read_collection
    >>> table = b"nr,comment,category\n007,kind people,staff\n008,too dear,price\n"
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
        kind = format
    else:
        file, named = split_sheet(path)
        sheet = named or sheet
        name = shown_name(file.name or str(file))
        if file.is_dir():
            return _read_folder(file, want_labels=want_labels)
        data = _read_bytes(file)
        kind = format or kind_of(file, data)
    # The hash covers the bytes before unpacking, so that users can compare it with their file.
    digest = hashlib.sha256(data).hexdigest()

    def rank(rows: Rows) -> tuple:
        """Return whether the columns exist in a sheet, and its number of rows."""
        try:
            resolve_columns(rows.columns, name, text=text, label=label, id=id, want_labels=want_labels)
        except DataError:
            return False, len(rows)
        return rank_documents(rows) if text is None else (rows.sheet != REVIEW_SHEET, len(rows))

    rows = read_whole(data, name, kind, sheet=sheet, rank=rank)
    del data
    docs = to_collection(rows, name, text=text, label=label, id=id, want_labels=want_labels)
    docs.sha256 = digest
    if str(path) != "-" and named is not None:
        # Messages then name the sheet as the user wrote it.
        docs.name = f"{name}::{named}"
    return docs


def read_whole(
    data: bytes,
    name: str,
    kind: str | None = None,
    *,
    sheet: str | None = None,
    rank: Callable[[Rows], tuple] | None = None,
) -> Rows:
    """Read all rows of a table; refuse the table if one row is bad.

    Parameters
    ----------
    data : bytes
        Content of the file, also packed as gzip.
    name : str
        Name of the file in messages.
    kind : str, optional
        Name of a format; the first bytes decide if omitted.
    sheet : str, optional
        Sheet of a workbook.
    rank : callable, optional
        Chooses a sheet if none is named, as for :func:`isthmus.corpus.binary.read_xlsx`.

    Returns
    -------
    Rows

    Raises
    ------
    DataError
        The table cannot be read.
    """
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gunzip(data, name)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(
                f"{name} cannot be unpacked as gzip ({error}); the file may be cut short.", code="unreadable-file"
            ) from None
    kind = kind or sniff_format(data)
    if not data.strip():
        raise empty_table(name)
    if kind == "xlsx":
        return read_xlsx(data, name, sheet, rank)
    if sheet is not None:
        raise UsageError(f"sheet={sheet!r} was given and {name} is not a workbook; leave it out.")
    return read_parquet(data, name) if kind == "parquet" else _read_text(data, name, kind)


def _read_text(data: bytes, name: str, kind: str) -> Rows:
    """Decode and parse a table in a text format."""
    text, encoding, notes = decode(data, name)
    del data
    if not text.strip():
        raise empty_table(name)
    try:
        if kind in ("csv", "tsv"):
            # csv and tsv files have titles, separators and quotes to guess.
            head, rows, bad = read_csv(text, name, kind)
            if bad is not None:
                raise bad
            columns = to_columns(head.columns, rows)
            notes += [f"{name}: {note}" for note in head.notes]
            return Rows(head.columns, columns, guarded=True, encoding=encoding, notes=notes)
        if kind == "fasttext":
            records = read_fasttext(text)
        else:
            records = read_json(text, name) if kind == "json" else read_lines(text)
    except BadRow as error:
        raise error.refusal(name) from None
    if not records:
        raise empty_table(name)
    # Files of annotation tools are nested; tables need flat records.
    tool = find_tool(records)
    records = flatten(records, tool)
    if tool:
        notes.append(f"{name}: read as a file of {TOOLS[tool].title}.")
    names = record_names(records, name)
    # Records may lack some keys; their cells are None.
    columns = {key: [record.get(key) for record in records] for key in names}
    return Rows(names, columns, encoding=encoding, notes=notes, tool=tool)


def read_table(path: str | Path, *, sheet: str | None = None, filled: str | None = None) -> dict[str, list]:
    """Return all columns of a file, without the apostrophes that protect cells from spreadsheets.

    The function reads tables that are not documents, such as answers. People rename sheets and fill in any sheet, so
    ``filled`` selects a sheet with answers.

    Parameters
    ----------
    path : str or Path
        File; ``FILE.xlsx::SHEET`` names a sheet.
    sheet : str, optional
        Sheet to prefer; otherwise the first sheet is read.
    filled : str, optional
        Column with the answers; a sheet with a filled cell in this column is preferred to others.

    Returns
    -------
    dict of str to list
        Cells by column.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    file, named = split_sheet(path)
    data = _read_bytes(file)
    return read_columns(data, shown_name(file.name), kind_of(file, data), named, sheet=sheet, filled=filled)


def read_columns(
    data: bytes, name: str, kind: str, named: str | None = None, *, sheet: str | None = None, filled: str | None = None
) -> dict[str, list]:
    """Return all columns of a file's content, as :func:`read_table` does.

    Parameters
    ----------
    data : bytes
        Content of the file.
    name : str
        Name of the file in messages.
    kind : str
        Name of the format.
    named : str, optional
        Sheet that the user named.
    sheet, filled : str, optional
        As for :func:`read_table`.

    Returns
    -------
    dict of str to list
        Cells by column.
    """

    def rank(rows: Rows) -> tuple:
        """Return whether a sheet has a filled cell in the column, and whether it is the usual sheet."""
        filled_in = filled in rows.names and any(cell_text(cell).strip() for cell in rows.cells(str(filled)))
        return filled_in, rows.sheet == sheet

    rows = read_whole(data, name, kind, sheet=named, rank=rank)
    columns = {column: rows.bare(column) for column in rows.names}
    # Tables of answers call this column true_label.
    if rows.tool and "label" in columns:  # the answers of people in another tool
        columns.setdefault("true_label", columns.pop("label"))
    return columns


def kind_of(path: str | Path, data: bytes, ending: str | None = None) -> str:
    """Return the name of a file's format.

    Parameters
    ----------
    path : str or Path
        File.
    data : bytes
        Content of the file.
    ending : str, optional
        Ending to use instead of the file's.

    Returns
    -------
    str

    Raises
    ------
    DataError
        No format has this ending.
    """
    format = format_of(path if ending is None else f"file{ending}")
    if format is not None:
        return format.name
    ending = table_ending(path)
    # Text files are documents of a folder, except files in fastText's format.
    if ending == ".txt" and data.startswith(FASTTEXT):
        return "fasttext"
    given = f"ends in {ending!r}" if ending else "has no ending"
    raise DataError(
        f"{Path(path).name} {given}; files that end in .csv, .tsv, .jsonl, .json, .parquet, .xlsx or .ft "
        "(fastText's lines) can be read, also with .gz, or a folder of text files.",
        code="unknown-format",
    )


def _read_bytes(path: Path) -> bytes:
    """Return the content of a file, or raise an error that names the reason."""
    try:
        return path.read_bytes()
    except OSError as error:
        if path.exists():
            raise DataError(
                f"{str(path)!r} cannot be read ({error.strerror}); check that you may read it.", code="unreadable-file"
            ) from None
        # A missing folder is a more useful message than a missing file.
        near = "" if path.parent.exists() else f" The folder {str(path.parent)!r} does not exist."
        raise DataError(f"There is no file {str(path)!r}; check the name.{near}", code="missing-file") from None


def to_collection(
    rows: Rows,
    name: str,
    *,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    want_labels: WantLabels = None,
) -> Collection:
    """Return the documents of a table.

    Parameters
    ----------
    rows : Rows
        The table.
    name : str
        Name of the file in messages.
    text, label, id : optional
        As for :func:`read_collection`.
    want_labels : bool or "some", optional
        As for :func:`read_collection`.

    Returns
    -------
    Collection

    Raises
    ------
    DataError
        The table has no rows, no labels or no texts.
    """
    if not len(rows):
        raise DataError(
            f"{name} has a header ({list_columns(rows.names)}) and no rows; at least one document is expected.",
            code="empty-file",
        )
    cells = rows.table()
    roles = resolve_columns(cells, name, text=text, label=label, id=id, want_labels=want_labels)
    labels = rows.labels(roles.label)
    # A column may have the right name and no label.
    if want_labels and all(value is None for value in labels):
        raise DataError(
            f"All {plural(len(labels), 'cell')} of the label column {roles.label!r} of {name} are empty; "
            "at least two classes of labelled documents are needed.",
            code="no-labels",
        )
    texts = rows.texts(roles.text)
    if want_labels and not any(text.strip() for text, value in zip(texts, labels, strict=True) if value is not None):
        raise DataError(
            f"All labelled documents of {name} are empty in the text column ({list_columns(roles.text)}), so there is "
            "nothing to learn from; name another column with text=COLUMN.",
            code="empty-vocabulary",
        )
    # The other columns remain available for breakdowns and output.
    used = {*roles.text, roles.label, roles.id}
    return Collection(
        ids=rows.texts([roles.id]) if roles.id else [str(i + 1) for i in range(len(rows))],
        texts=texts,
        labels=labels,
        columns={key: values for key, values in cells.items() if key not in used},
        name=name,
        notes=[*rows.notes, *roles.notes],
        encoding=rows.encoding,
        cells=cells,
    )


# -- A folder of text files


def _read_folder(folder: Path, *, want_labels: WantLabels) -> Collection:
    """Read a folder with one document per file; the first sub-folder in the path of a file is its label."""
    files = list_files(folder)
    name = shown_name(folder.name)
    # A folder of tables is probably a mistake: the user meant one of the tables.
    tables = [path for path in files if path.parent == folder and path.name != MANIFEST and format_of(path)]
    ids, texts, labels = [], [], []
    encodings: Counter = Counter()
    skipped: list[str] = []
    digest = hashlib.sha256()
    for done, path in enumerate(() if tables else files, 1):
        relative = path.relative_to(folder)
        data = _read_bytes(path)
        try:
            text, encoding, _ = decode(data, str(relative))
        except DataError:  # folders often contain images and other binary files
            skipped.append(str(relative))
            continue
        # Paths are part of the hash, because they determine ids and labels.
        digest.update(f"{relative.as_posix()}\0{hashlib.sha256(data).hexdigest()}\n".encode("utf-8", "surrogateescape"))
        ids.append(mend_surrogates(relative.as_posix()))
        texts.append(text)
        # Files outside sub-folders have no label.
        labels.append(mend_surrogates(relative.parts[0]) if len(relative.parts) > 1 else None)
        encodings[encoding] += 1
        progress("reading", done, len(files))
    if not texts:
        hint = "name a file, or a folder of text files with one sub-folder per label"
        if tables:
            hint = f"name one of the files in it, for example {str(tables[0])!r}"
        raise DataError(
            f"{str(folder)!r} is a folder, and no text files can be read from it; {hint}.", code="not-a-file"
        )
    if want_labels and not any(labels):
        raise DataError(
            f"The folder {folder.name!r} holds {plural(len(texts), 'text file')} and no sub-folders; put the files of "
            "each label into a sub-folder of that name.",
            code="no-label-column",
        )
    if want_labels is False:
        labels = [None] * len(texts)
    notes = []
    if any(labels):
        notes.append(f"{name}: the names of its {len(set(labels) - {None})} sub-folders are taken as the labels.")
    other = {encoding: count for encoding, count in encodings.items() if encoding not in ("utf-8", "utf-8-sig")}
    if other:
        notes.append(f"{name}: {sum(other.values())} of {len(texts)} files were read as {', '.join(other)}.")
    if skipped:
        notes.append(f"{name}: {plural(len(skipped), 'file')} that hold no text left out, first {skipped[0]!r}.")
    encoding = encodings.most_common(1)[0][0]
    return Collection(ids, texts, labels, name=name, notes=notes, encoding=encoding, sha256=digest.hexdigest())
