"""Outputs of commands: checked before the work, written all or none, with tables that are safe for spreadsheets."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from isthmus._progress import progress
from isthmus._streams import abandon, stop_if_asked
from isthmus._utils import plural, versions
from isthmus.cli.common import as_json_text, file_hash, note_guarded, run_record_path, say
from isthmus.corpus import Collection, check_output, read_collection, replacing, write_rows
from isthmus.corpus.formats import split_sheet
from isthmus.corpus.sheets import Layout
from isthmus.corpus.write import create_part, is_device
from isthmus.exceptions import DataError, UsageError

KEPT_CHARACTERS = 100_000_000  # largest number of characters in the target's columns that a saved result stores
Makers = Mapping[Path | None, Callable[[Path], Any]]


def check_outputs(
    output: str,
    report: Path | None,
    force: bool,
    save: Path | None = None,
    questions: Path | None = None,
    *,
    inputs: Iterable[str | Path | None] = (),
) -> None:
    """Raise an error, before any work, if an output cannot be written or would replace an input.

    Parameters
    ----------
    output : str
        Path of the table; "-" is standard output.
    report : Path or None
        Path of the report.
    force : bool
        Whether to overwrite an existing file.
    save : Path, optional
        Path of the saved result.
    questions : Path, optional
        Path of the documents to read.
    inputs : Iterable[str | Path | None], default=()
        Files that are read.

    Raises
    ------
    UsageError
        If two outputs have the same name, or one is an input.
    """
    output = str(output)
    for path in (output, report, save, questions):
        check_output_is_not_input(path, inputs)
    check_output(output, force=force)
    # Several outputs may share a device such as /dev/null.
    places = [] if output == "-" or is_device(Path(output)) else [Path(output).resolve()]
    for path in (report, save, questions):
        if path is not None:
            check_output(path, force=force, table=False)
            places += [] if is_device(path) else [path.resolve()]
    if len(set(places)) < len(places):
        raise UsageError("Two outputs have the same name; give each its own.")


def check_output_is_not_input(path: str | Path | None, inputs: Iterable[str | Path | None]) -> None:
    """Raise an error if an output is one of the files that are read, under any name, even with --force.

    Parameters
    ----------
    path : str | Path or None
        Path of the output.
    inputs : Iterable[str | Path | None]
        Files that are read.

    Raises
    ------
    UsageError
        If it is one of them.
    """
    if path is None or not os.path.isfile(path):  # a new file, standard output or a device cannot lose data
        return
    for given in inputs:
        file = None if given is None else split_sheet(given)[0]
        if file is not None and os.path.isfile(file) and os.path.samefile(path, file):
            raise UsageError(
                f"{str(path)!r} is an input of this run and is not replaced, with or without --force; "
                "give another name.",
                code="output-unwritable",
            )


def write_files(
    output: str | None,
    table: dict[str, list],
    makers: Makers,
    *,
    force: bool,
    exact: bool = False,
    layout: Layout | None = None,
) -> list[str]:
    """Write the table and the other files of a run.

    Parameters
    ----------
    output : str or None
        Path of the table; "-" is standard output, None writes no table.
    table : dict[str, list]
        Cells by column.
    makers : Makers
        Functions that write a file, by its path. They write temporary files first, so that an error leaves older files
        unchanged; entries without a path are skipped.
    force : bool
        Whether to overwrite an existing file.
    exact : bool, default=False
        Whether to write cells that look like formulas unchanged.
    layout : Layout, optional
        Worksheets of a workbook.

    Returns
    -------
    list[str]
        Names of the written files.
    """
    wanted = {path: make for path, make in makers.items() if path is not None}
    ready: dict[Path, Path] = {}
    try:
        for path, make in wanted.items():
            # All files are complete before the first one replaces an older file.
            ready[path] = _make_beside(path, make)
        if output is not None:
            write_table(output, table, force=force, exact=exact, layout=layout)
        for path, part in ready.items():
            if is_device(path):  # a device is written to, not replaced
                with part.open("rb") as content, path.open("wb") as device:
                    shutil.copyfileobj(content, device)
            else:
                # Replacing the target of a link keeps the link.
                os.replace(part, path.resolve())
    finally:
        for part in ready.values():
            with suppress(OSError):
                part.unlink(missing_ok=True)
    return [*([] if output in (None, "-") else [str(output)]), *map(str, wanted)]


def _make_beside(path: Path, make: Callable[[Path], Any]) -> Path:
    """Write a temporary file next to a path and return its name; errors name the path."""
    real = Path(tempfile.gettempdir(), "device") if is_device(path) else path.resolve()
    part = None
    try:
        part = create_part(real)
        make(part)
        return part
    except BaseException as error:
        if part is not None:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise DataError(f"{str(path)!r} cannot be written: {error.strerror}.", code="output-unwritable") from None
        # The user knows the path, not the temporary file.
        if isinstance(error, DataError) and part is not None and str(part) in str(error):
            raise DataError(str(error).replace(str(part), str(path)), code=error.code) from None
        raise


@contextmanager
def keeping(added: Mapping[str, list], ids: list[str], output: str) -> Iterator[None]:
    """Store the added columns in another file if the outputs cannot be written.

    Parameters
    ----------
    added : Mapping[str, list]
        Cells by column.
    ids : list[str]
        Ids of the documents.
    output : str
        Path of the output.

    Yields
    ------
    None
        Nothing.

    Raises
    ------
    DataError
        If the outputs cannot be written; the message names the other file.
    """
    try:
        yield
    # The user stopped the command, so nothing else is written.
    except (KeyboardInterrupt, SystemExit, BrokenPipeError):
        raise
    except BaseException as error:
        place = _keep_elsewhere({"id": ids, **added}, output)
        if place is None:
            raise
        reason = str(error).rstrip(".") if isinstance(error, DataError) else f"The outputs cannot be written: {error}"
        code = error.code if isinstance(error, DataError) else "output-unwritable"
        raise DataError(f"{reason}; the results are stored in {str(place)!r}.", code=code) from error


def _keep_elsewhere(columns: Mapping[str, list], output: str) -> Path | None:
    """Write columns next to the output or into the temporary folder, and return the path, or None if both fail."""
    stem = "isthmus" if output == "-" else Path(output).name.split(".")[0] or "isthmus"
    folders = [] if output == "-" or is_device(Path(output)) else [Path(output).resolve().parent]
    # The folder of the output may be full or read-only.
    for folder in (*folders, Path(tempfile.gettempdir())):
        for number in range(1, 100):
            place = folder / f"{stem}.kept{'' if number == 1 else number}.csv"
            # Never overwrite the result of an earlier failure.
            if os.path.lexists(place):
                continue
            try:
                write_rows(place, columns, spreadsheet_safe=True)
                return place
            except (DataError, OSError):
                break
    return None


def announced(phase: str, make: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Return a function that writes a file and reports its progress.

    Parameters
    ----------
    phase : str
        Name of the step.
    make : Callable[[Path], Any]
        Function that writes a file.

    Returns
    -------
    Callable[[Path], Any]
        The function.
    """

    def make_and_tell(path: Path) -> None:
        """Write the file and report the start and the end."""
        progress(phase, 0, 1)
        make(path)
        progress(phase, 1, 1)

    return make_and_tell


def questions_file(table: Mapping[str, list], *, exact: bool) -> Callable[[Path], None]:
    """Return a function that writes the documents to read.

    Parameters
    ----------
    table : Mapping[str, list]
        Cells by column.
    exact : bool
        Whether to write cells that look like formulas unchanged.

    Returns
    -------
    Callable[[Path], None]
        The function.
    """

    def write(path: Path) -> None:
        """Write the table."""
        with path.open("wb") as stream:
            note_guarded(write_rows("-", table, spreadsheet_safe=not exact, stdout=stream))

    return write


def report_and_model(
    result: Any, report: Path | None, save: Path | None, write_report: Callable[..., Any] | None = None, **facts: Any
) -> Makers:
    """Return the functions that write the report and the saved result.

    Parameters
    ----------
    result : Any
        Result of the run.
    report : Path or None
        Path of the report, or None.
    save : Path or None
        Path of the saved result, or None.
    write_report : Callable[..., Any], optional
        Function for reports of other kinds than labels.
    **facts : Any
        More arguments of the label report.

    Returns
    -------
    Makers
        Functions by path.
    """

    def write_page(path: Path) -> None:
        """Write the report."""
        from isthmus.report import write_label_report  # imported here, because most runs write no report

        if write_report is None:
            write_label_report(result, path, force=True, **(named_collections(result) | facts))
        else:
            write_report(result, path, force=True)

    return {
        report: announced("writing the report", write_page),
        save: announced("saving the model", lambda path: result.save(path, force=True)),
    }


def run_record(
    command: str, output: str, inputs: list[dict], *, options: dict[str, Any] | None = None, **outcome: Any
) -> dict[str, Any]:
    """Return the content of ``run.json``.

    Parameters
    ----------
    command : str
        Name of the command.
    output : str
        Path of the output.
    inputs : list[dict]
        Records of the files that were read.
    options : dict[str, Any], optional
        Options of the command.
    **outcome : Any
        Figures of the outcome.

    Returns
    -------
    dict[str, Any]
        The record.
    """
    return {
        "command": f"isthmus {command}",
        **({} if options is None else {"options": options}),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "output": Path(output).name,
        "inputs": inputs,
        **outcome,
        "versions": versions(),
    }


def write_record(output: str | None, record: dict[str, Any], written: list[str]) -> list[str]:
    """Write ``run.json`` next to an output that is a file.

    Parameters
    ----------
    output : str or None
        Path of the output.
    record : dict[str, Any]
        Content of the record.
    written : list[str]
        Names of the files written so far.

    Returns
    -------
    list[str]
        Names of all written files.
    """
    if output in (None, "-") or not Path(str(output)).is_file():
        return written
    place = run_record_path(Path(str(output)))
    with replacing(place, force=True) as out:
        out.write(as_json_text(record).encode())
    return [*written, str(place)]


def file_records(paths: Iterable[str | Path | None]) -> list[dict[str, Any]]:
    """Return the paths and hashes of files.

    Parameters
    ----------
    paths : Iterable[str | Path | None]
        Paths; None is skipped.

    Returns
    -------
    list[dict[str, Any]]
        Dicts with ``path`` and ``sha256``.
    """
    return [{"path": str(path), "sha256": file_hash(path)} for path in paths if path is not None]


def write_table(
    output: str, table: dict[str, list], *, force: bool, exact: bool = False, layout: Layout | None = None
) -> None:
    """Write a table. A program that stops reading standard output causes no error.

    Parameters
    ----------
    output : str
        Path of the table; "-" is standard output.
    table : dict[str, list]
        Cells by column.
    force : bool
        Whether to overwrite an existing file.
    exact : bool, default=False
        Whether to write cells that look like formulas unchanged.
    layout : Layout, optional
        Worksheets of a workbook.
    """
    stop_if_asked()
    try:
        note_guarded(write_rows(output, table, force=force, spreadsheet_safe=not exact, layout=layout))
    except BrokenPipeError:
        abandon(sys.stdout)


def describe_input(path: str, docs: Collection) -> dict[str, Any]:
    """Return the record of a file that was read.

    Parameters
    ----------
    path : str
        Path of the file.
    docs : Collection
        Its documents.

    Returns
    -------
    dict[str, Any]
        ``path``, ``documents``, ``sha256`` and ``notes``.
    """
    return {"path": path, "documents": len(docs), "sha256": file_hash(path, docs.sha256), "notes": docs.notes}


def remember_table(
    result: Any, source: Collection, target: Collection, text: Sequence[str] | None, *, half_labelled: bool = False
) -> None:
    """Store the files' names and the target's columns in a result; of a large target only the names.

    Parameters
    ----------
    result : Any
        The result.
    source : Collection
        Documents to learn from.
    target : Collection
        Labelled documents.
    text : Sequence[str] or None
        Names of the text columns.
    half_labelled : bool, default=False
        Whether both came from one file.
    """
    table = target.table()
    files = {"source": source.name, "target": target.name}
    record: dict[str, Any] = {"text": list(text) if text else None, "names": list(table), "cells": table, **files}
    record |= {"given": len(source)} if half_labelled else {}
    try:
        kept = json.dumps(record)
    except (TypeError, ValueError):  # JSON cannot store some cells, such as dates of a workbook
        kept = ""
    if not 0 < len(kept) <= KEPT_CHARACTERS:
        kept = json.dumps(record | {"cells": None})
    result.input_table = kept


def named_collections(result: Any) -> dict[str, Collection]:
    """Return source and target of a saved result under the names of their files, for its report.

    Parameters
    ----------
    result : Any
        Saved result.

    Returns
    -------
    dict[str, Collection]
        ``source`` and ``target``.
    """
    record = json.loads(result.input_table) if result.input_table else {}
    names = {side: record.get(side) or f"{side} texts" for side in ("source", "target")}
    return {
        "source": Collection.from_texts(result.source_texts, list(result.source_labels), name=names["source"]),
        "target": Collection.from_texts(result.texts, ids=result.ids, name=names["target"]),
    }


def target_table(result: Any, given: str | Path | None, quiet: bool) -> dict[str, list]:
    """Return the target's columns in order.

    They come from the given file, else from the saved result. If that lacks them, only ids and texts are returned,
    and a message reports it.

    Parameters
    ----------
    result : Any
        Saved result.
    given : str | Path or None
        Path of the target, or None.
    quiet : bool
        Whether to omit messages.

    Returns
    -------
    dict[str, list]
        Cells by column.

    Raises
    ------
    DataError
        If the file or the saved columns do not fit the result.
    """
    record = json.loads(result.input_table) if result.input_table else {}
    if record.get("given") and not quiet:
        say(
            f"The table holds the {plural(len(result.texts), 'document')} of {record['source']} that had no label; "
            f"isthmus label {record['source']} --answers FILE keeps the {record['given']:,} others, too."
        )
    if given is not None:
        return _read_again(result, str(given), record.get("text"))
    cells = record.get("cells")
    if cells is not None:
        if any(len(column) != len(result.texts) for column in cells.values()):
            raise DataError("The saved result is damaged: its columns differ in length.", code="bad-model")
        return cells
    if not quiet:
        named = f" ({', '.join(record['names'][:8])})" if record.get("names") else ""
        say(f"The result lacks the other columns of the target{named}; --target FILE adds them.")
    return {"id": result.document_ids, "text": list(result.texts)}


def _read_again(result: Any, path: str, text: Sequence[str] | None) -> dict[str, list]:
    """Read the target again and check that its texts are those of the result."""
    docs = read_collection(path, text=text, want_labels=False)
    # Labels belong to rows, so another order would mix them up.
    if docs.texts != result.texts:
        raise DataError(
            f"--target {path!r} has {len(docs):,} documents that are not the {len(result.texts):,} of the result in "
            "their order; give the file that was labelled.",
            code="bad-parameter",
        )
    return docs.table()
