"""Write tables by the ending of the file, whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import os
import platform
import re
import secrets
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

from isthmus._streams import StandardOutput, check_standard_output
from isthmus._utils import import_optional
from isthmus.corpus.cells import FORMULA_SIGNS, FormulaEscaper, as_text, is_structure, json_text, plain, whole_text
from isthmus.corpus.formats import is_packed, table_ending, written_format
from isthmus.corpus.sheets import Layout, write_sheets
from isthmus.exceptions import DataError, UsageError

# -- Hidden part files: what is being written, beside the place it will take
# The name says which process of which machine is writing, so that a part left behind by a process that was killed can
# be told from one that is still growing, and is removed the next time something is written into the folder.


_PART = re.compile(r"\..{0,20}\.(?P<host>[0-9a-f]{8})-(?P<pid>[0-9]+)-[0-9a-f]{8}\.isthmus-part")


def create_part(real: Path) -> Path:
    """An empty file beside ``real`` that only this process knows, with the mode that ``real`` has or would get."""
    remove_stale_parts(real.parent)
    name = f".{real.name[:20]}.{this_host()}-{os.getpid()}-{secrets.token_hex(4)}.isthmus-part"
    part = real.parent / name
    mode = _mode_of(real)
    # A new file gets what the user's mask leaves of 0666, as the system does it for every file. One that replaces
    # another stays private until it has the other's mode.
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600))
    if mode is not None:
        with suppress(OSError):
            os.chmod(part, stat.S_IMODE(mode))
    return part


def remove_stale_parts(folder: Path) -> int:
    """Remove parts whose process is gone; gives back how many."""
    removed = 0
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(folder)
    for found in filter(None, map(_PART.fullmatch, names)):
        if found["host"] == this_host() and not is_running(int(found["pid"])):
            with suppress(OSError):
                os.unlink(folder / found.string)
                removed += 1
    return removed


def is_device(path: Path) -> bool:
    """Whether it is a pipe, a socket or a device: written to, never replaced."""
    mode = _mode_of(path)
    return mode is not None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _mode_of(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except OSError:
        return None


def this_host() -> str:
    """A short name of this machine that gives nothing away."""
    return hashlib.sha256(platform.node().encode("utf-8", "replace")).hexdigest()[:8]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # somebody else's, or not to be asked: leave it
    return True


_ROW_GROUP = 100_000  # of parquet files that are joined
_XLSX_CELL, _XLSX_ROWS, _XLSX_COLUMNS = 32_767, 1_048_576, 16_384
_XLSX_EXACT = 2**53  # whole numbers beyond this lose digits in a spreadsheet, which knows floats only


def write_rows(
    path: str | Path,
    columns: Mapping[str, list],
    *,
    force: bool = False,
    spreadsheet_safe: bool = False,
    stdout: IO[bytes] | None = None,
    layout: Layout | None = None,
) -> int:
    """Write columns as csv, tsv, jsonl, parquet or xlsx (text formats also with .gz).

    The file appears whole or not at all: rows go to a temporary file beside it, which is renamed at the end.

    Parameters
    ----------
    path : str or Path
        The ending decides the format; ``"-"`` writes csv to standard output.
    columns : mapping of str to list
        All of one length. None is an empty cell; in csv, lists and objects become JSON.
    force : bool
        Replace a file that exists.
    spreadsheet_safe : bool
        csv and tsv: put ``'`` before cells and column names that begin with ``= + - @`` (also full-width), tab or a
        line break and are no numbers, so that a spreadsheet shows them instead of running them; readers take it off
        again. Off by default, because the file then no longer holds the texts exactly; the commands switch it on. In
        xlsx, texts are always written as text; jsonl and parquet are never changed.
    stdout : binary file, optional
        Written to instead of the process's standard output when ``path`` is ``"-"``.
    layout : Layout, optional
        xlsx: drop-down lists and a sheet for a person to fill in. Other formats have no place for them.

    Returns
    -------
    int
        How many cells were changed for the sake of spreadsheets.

    See Also
    --------
    isthmus.corpus.read_collection : Reads the file again.

    Examples
    --------
    >>> import tempfile
    >>> from isthmus.corpus import read_collection, write_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rows(f"{folder}/out.csv", {"text": ["one, two", "=1+1"], "label": ["a", None]})
    ...     write_rows(f"{folder}/safe.csv", {"text": ["one, two", "=1+1"]}, spreadsheet_safe=True)
    ...     read_collection(f"{folder}/out.csv").texts
    0
    1
    ['one, two', '=1+1']
    """
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(
            f"The columns to write differ in length: {lengths}; give one value per row.", code="length-mismatch"
        )
    guard = FormulaEscaper(spreadsheet_safe)
    if str(path) == "-":
        out = StandardOutput(stdout)
        write_body(out, "csv", columns, guard)
        out.flush()
        return guard.count
    path = Path(path)
    check_output(path, force=force)
    kind = output_kind(path)
    with replacing(path, force=force) as out:
        if kind == "parquet":
            _save_parquet(out, columns, path.name)
        elif kind == "xlsx":
            _save_xlsx(out, columns, path.name, layout or Layout())
        else:
            write_body(out, kind, columns, guard)
    return guard.count


def with_columns(table: Mapping[str, list], added: Mapping[str, list], only: Sequence[str] = ()) -> dict[str, list]:
    """All columns of ``table``, then the ``added`` ones; an input column of the same name is kept as ``NAME_input``.

    Of the added columns ``only`` those named are taken, or all where none is.

    Examples
    --------
    >>> from isthmus.corpus import with_columns
    >>> with_columns({"text": ["a"], "label": ["old"]}, {"label": ["new"]})
    {'text': ['a'], 'label_input': ['old'], 'label': ['new']}
    """
    added = only_columns(added, only)
    joined: dict[str, list] = {}
    for name, values in table.items():
        kept = f"{name}_input" if name in added else name
        while kept != name and (kept in table or kept in added):
            kept += "_"
        joined[kept] = values
    return joined | added


def only_columns(added: Mapping[str, Any], only: Sequence[str]) -> dict[str, Any]:
    return {name: cells for name, cells in added.items() if not only or name in only}


def write_records(path: str | Path, records: Iterable[Mapping[str, Any]], *, force: bool = False) -> int:
    """Write JSON lines (also .gz), one record at a time; gives back how many."""
    path = Path(path)
    check_output(path, force=force, table=False)
    with replacing(path, force=force) as out:
        return write_lines(out, records)


def check_output(path: str | Path, *, force: bool = False, table: bool = True) -> None:
    """Refuse an output that could not be written: call it before the work, not after.

    ``table=False`` leaves the ending alone, for outputs that are no tables (a report, a record of the run).
    """
    if str(path) == "-":
        check_standard_output()
        return
    path = Path(path)
    if path.is_dir():
        raise _unwritable(path, "it is a folder; name a file in it")
    if table:
        output_kind(path)
    if is_device(path):
        return
    if path.exists() and not force:
        raise DataError(f"{str(path)!r} exists; give another name, or force=True to replace it.", code="output-exists")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise _unwritable(path, f"there is no folder {str(path.parent)!r}; make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unwritable(path, f"you may not write into {str(path.parent)!r}; choose another folder")


def check_table(path: str | Path, columns: Mapping[str, list], *, added: int = 0) -> None:
    """Refuse a table that the format of ``path`` cannot hold: call it before the work, not after.

    ``added`` columns of short cells will be put beside those given.
    """
    if str(path) != "-" and output_kind(path) == "xlsx":
        _check_xlsx(Path(path).name, columns, added)


@contextmanager
def replacing(path: str | Path, *, force: bool = False):
    """A binary file that takes the place of ``path`` when the block ends well, and vanishes when it does not."""
    path = Path(path)
    if is_device(path):
        with path.open("wb") as out:
            yield out
        return
    real = path.resolve()  # a link stays a link
    part = None
    try:
        try:
            part = create_part(real)
        except OSError as error:
            raise _unwritable(path, f"{error.strerror}; choose another folder") from None
        with part.open("wb") as raw:
            if is_packed(path):
                # No name and no time in the header: the same rows give the same bytes.
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0, compresslevel=6) as out:
                    yield out
            else:
                yield raw
        if real.exists() and not force:
            raise DataError(f"{str(path)!r} appeared meanwhile; it was not replaced.", code="output-exists")
        os.replace(part, real)
        part = None
    except OSError as error:
        raise _unwritable(path, f"{error.strerror or error}") from None
    finally:
        if part is not None:
            with suppress(OSError):
                os.unlink(part)


def _unwritable(path: Path, why: str) -> DataError:
    return DataError(f"{str(path)!r} cannot be written: {why}.", code="output-unwritable")


def output_kind(path: str | Path) -> str:
    format = written_format(path)
    if format is not None:
        return format.name
    if is_device(Path(path)) and not table_ending(path):
        return "csv"
    raise UsageError(
        f"{Path(path).name!r} names no format that can be written; end it in .csv, .tsv or .jsonl (also with .gz), "
        ".parquet or .xlsx.",
        code="unknown-format",
    )


# -- text formats: what a whole file and a part of a large one are written by ------------------------------------------
# csv is written here rather than by the csv module, which does not quote a lone carriage return in every version.

_NEEDS_QUOTES = re.compile(r'[",;\t\r\n]|^\s|\s$')
_AT_ONCE = 20_000  # rows


def write_body(out: Any, kind: str, columns: Mapping[str, list], guard: FormulaEscaper, *, header: bool = True) -> None:
    """Write columns as csv, tsv or jsonl into a binary file."""
    if kind == "jsonl":
        write_lines(out, (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)))
        return
    delimiter = "\t" if kind == "tsv" else ","
    if header:
        names = [_csv_cell(str(name), guard) or '""' for name in columns]
        out.write((delimiter.join(names) + "\n").encode("utf-8", "replace"))
    # "" for an only cell that is empty: a blank line would be no row at all.
    empty = '""' if len(columns) == 1 else ""
    n_rows = len(next(iter(columns.values()), ()))
    for start in range(0, n_rows, _AT_ONCE):
        cells = [_csv_cells(values[start : start + _AT_ONCE], guard) for values in columns.values()]
        lines = map(delimiter.join, zip(*cells, strict=True))
        out.write("".join([(line or empty) + "\n" for line in lines]).encode("utf-8", "replace"))


def extend_records(records: Iterable[Mapping[str, Any]], added: Mapping[str, list]) -> Iterator[dict[str, Any]]:
    """Records with further columns; each keeps the fields it has, see :func:`with_columns`."""
    for record, *new in zip(records, *added.values(), strict=True):
        yield with_columns(record, dict(zip(added, new, strict=True)))


def write_lines(out: Any, records: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    for record in records:
        out.write(json_text(record).encode() + b"\n")
        count += 1
    return count


def _csv_cells(cells: list, guard: FormulaEscaper) -> list[str]:
    """Cells of a csv file. A column made here has few different values: each is looked at once."""
    kinds = {*map(type, cells)}
    if kinds == {str} and len(set(cells[:1_000])) > 100:
        if "".join(cells).isalnum():  # numbers of rows, say: no sign among them that changes a cell
            return cells
        return [_csv_text(cell, guard) for cell in cells]
    # 0.0 and -0.0 are one value to a counter and two in a file.
    if len(kinds) != 1 or not kinds <= {float, bool, str} or (kinds == {float} and 0.0 in cells):
        return [_csv_cell(cell, guard) for cell in cells]
    written = {}
    changed = guard.count
    for cell, times in Counter(cells).items():
        before = guard.count
        plain = type(cell) is float and 0.0 < cell < math.inf
        written[cell] = str(cell) if plain else _csv_cell(cell, guard)
        changed += (guard.count - before) * times
    guard.count = changed  # every cell counts, though each value is looked at once
    return [written[cell] for cell in cells]


def _csv_text(text: str, guard: FormulaEscaper) -> str:
    """What :func:`_csv_cell` makes of a text; one search a sign is several times quicker than one for all of them."""
    if "\0" in text or text.startswith(FORMULA_SIGNS):
        return _csv_cell(text, guard)
    if '"' in text:
        return '"' + text.replace('"', '""') + '"'
    if "," in text or ";" in text or "\t" in text or "\n" in text or "\r" in text:
        return '"' + text + '"'
    return '"' + text + '"' if text[:1].isspace() or text[-1:].isspace() else text


def _csv_cell(value: Any, guard: FormulaEscaper) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    text = json_text(value) if is_structure(value) else guard(value if isinstance(value, str) else as_text(value))
    # A NUL byte would make the file unreadable for us and others.
    text = text.replace("\0", "\ufffd") if "\0" in text else text
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


# -- parquet and workbooks ---------------------------------------------------------------------------------------------


def _save_parquet(out: IO[bytes], columns: Mapping[str, list], name: str) -> None:
    polars = import_optional("polars", f"Writing {name}")
    frame = {whole_text(str(key)): _parquet_column(polars, values) for key, values in columns.items()}
    buffer = io.BytesIO()
    polars.DataFrame(frame).write_parquet(buffer)
    out.write(buffer.getbuffer())


def join_parquet(parts: Sequence[str | os.PathLike], place: str | os.PathLike) -> None:
    """Several parquet files as one, block after block; the cuts between them leave no trace."""
    polars = import_optional("polars", f"Writing {Path(place).name}")
    frames = [polars.scan_parquet(part) for part in parts]
    polars.concat(frames, how="vertical_relaxed").sink_parquet(place, row_group_size=_ROW_GROUP, maintain_order=True)


def _parquet_column(polars, values: list):
    """Numbers, texts and dates as they are; what is mixed, structured or too large becomes text."""
    values = [whole_text(value) if isinstance(value, str) else plain(value) for value in values]
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return polars.Series(values, dtype=polars.String)
    if kinds == {int, float} and all(_is_exact(value) for value in values):
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1 or kinds & {list, dict} or (kinds == {int} and not all(map(_fits_in_64_bits, values))):
        return polars.Series([_as_cell_text(value) for value in values], dtype=polars.String)
    try:
        return polars.Series(values)
    except Exception:  # a kind that polars cannot hold
        return polars.Series([_as_cell_text(value) for value in values], dtype=polars.String)


def _is_exact(value: Any) -> bool:
    return not isinstance(value, int) or abs(value) <= _XLSX_EXACT


def _fits_in_64_bits(value: Any) -> bool:
    return value is None or -(2**63) <= value < 2**63


def _as_cell_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json_text(value) if is_structure(value) or isinstance(value, bool) else as_text(value)


def _save_xlsx(out: IO[bytes], columns: Mapping[str, list], name: str, layout: Layout) -> None:
    xlsxwriter = import_optional("xlsxwriter", f"Writing {name}")
    _check_xlsx(name, columns)
    columns = {whole_text(str(key)): values for key, values in columns.items()}
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True, "constant_memory": False}) as book:
        write_sheets(book, columns, layout, _write_xlsx_cell)
    out.write(buffer.getbuffer())


def _write_xlsx_cell(sheet: Any, row: int, column: int, value: Any) -> None:
    value = plain(value)
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, (int, float)) and _is_exact(value):
        sheet.write_number(row, column, value)
    else:  # never sheet.write(), which would run a text that begins with "=" as a formula
        sheet.write_string(row, column, whole_text(_as_cell_text(value) or ""))


def _check_xlsx(name: str, columns: Mapping[str, list], added: int = 0) -> None:
    rows, width = len(next(iter(columns.values()), [])), len(columns) + added
    what = ""
    if rows >= _XLSX_ROWS:
        what = f"{rows:,} rows"
    elif width > _XLSX_COLUMNS:
        what = f"{width:,} columns"
    else:
        longest = max(map(_sheet_length, chain(columns, *columns.values())), default=0)
        if longest > _XLSX_CELL:
            what = f"a cell of {longest:,} characters"
    if what:
        raise DataError(
            f"{name!r} cannot hold {what} (xlsx ends at {_XLSX_ROWS:,} rows, {_XLSX_COLUMNS:,} columns and "
            f"{_XLSX_CELL:,} characters a cell); write .csv, .jsonl or .parquet instead.",
            code="output-unwritable",
        )


def _sheet_length(value: Any) -> int:
    """Characters of a cell as spreadsheets count them: those beyond the first plane are two."""
    text = value if isinstance(value, str) else (_as_cell_text(value) or "") if is_structure(value) else ""
    if not text and isinstance(value, (bytes, int)):
        text = as_text(value)
    return len(text) if text.isascii() or len(text) > _XLSX_CELL else len(text.encode("utf-16-le", "replace")) // 2
