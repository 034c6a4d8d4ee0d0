"""How commands write: checked before the work, all files or none, tables safe for spreadsheets."""

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

KEPT_CHARACTERS = 100_000_000  # of a target's columns that a saved labelling keeps
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
    """Refuse outputs that could not be written, or would replace an input, before any work is done."""
    output = str(output)
    for path in (output, report, save, questions):
        check_output_is_not_input(path, inputs)
    check_output(output, force=force)
    places = [] if output == "-" or is_device(Path(output)) else [Path(output).resolve()]
    for path in (report, save, questions):
        if path is not None:
            check_output(path, force=force, table=False)
            places += [] if is_device(path) else [path.resolve()]
    if len(set(places)) < len(places):
        raise UsageError("Two outputs have the same name; give each its own.")


def check_output_is_not_input(path: str | Path | None, inputs: Iterable[str | Path | None]) -> None:
    """Refuse an output that is one of the files read, under whatever name; --force does not change that."""
    if path is None or not os.path.isfile(path):  # nothing there, standard output, or a device: nothing to lose
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
    """The table and the other files of a run; names of the files written.

    ``output``: ``"-"`` is standard output, None nowhere. ``makers``: functions that write the file at their path (None
    is passed over), under temporary names first, so that an error leaves older files as they were.
    """
    wanted = {path: make for path, make in makers.items() if path is not None}
    ready: dict[Path, Path] = {}
    try:
        for path, make in wanted.items():
            ready[path] = _make_beside(path, make)
        if output is not None:
            write_table(output, table, force=force, exact=exact, layout=layout)
        for path, part in ready.items():
            if is_device(path):  # written to, never replaced
                with part.open("rb") as content, path.open("wb") as device:
                    shutil.copyfileobj(content, device)
            else:
                os.replace(part, path.resolve())
    finally:
        for part in ready.values():
            with suppress(OSError):
                part.unlink(missing_ok=True)
    return [*([] if output in (None, "-") else [str(output)]), *map(str, wanted)]


def _make_beside(path: Path, make: Callable[[Path], Any]) -> Path:
    """A part file that holds what is to be at ``path``; errors name that path, not the part."""
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
        if isinstance(error, DataError) and part is not None and str(part) in str(error):
            raise DataError(str(error).replace(str(part), str(path)), code=error.code) from None
        raise


@contextmanager
def keeping(added: Mapping[str, list], ids: list[str], output: str) -> Iterator[None]:
    """Where the outputs cannot be written, the columns found are kept in a file beside them, or a temporary one."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, BrokenPipeError):
        raise
    except BaseException as error:
        place = _keep_elsewhere({"id": ids, **added}, output)
        if place is None:
            raise
        reason = str(error).rstrip(".") if isinstance(error, DataError) else f"The outputs cannot be written: {error}"
        code = error.code if isinstance(error, DataError) else "output-unwritable"
        raise DataError(f"{reason}; what was found is kept in {str(place)!r}.", code=code) from error


def _keep_elsewhere(columns: Mapping[str, list], output: str) -> Path | None:
    stem = "isthmus" if output == "-" else Path(output).name.split(".")[0] or "isthmus"
    folders = [] if output == "-" or is_device(Path(output)) else [Path(output).resolve().parent]
    for folder in (*folders, Path(tempfile.gettempdir())):
        for number in range(1, 100):
            place = folder / f"{stem}.kept{'' if number == 1 else number}.csv"
            if os.path.lexists(place):
                continue
            try:
                write_rows(place, columns, spreadsheet_safe=True)
                return place
            except (DataError, OSError):
                break
    return None


def announced(phase: str, make: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """The same maker of a file, which tells of its phase when it begins and when it is done."""

    def make_and_tell(path: Path) -> None:
        progress(phase, 0, 1)
        make(path)
        progress(phase, 1, 1)

    return make_and_tell


def questions_file(table: Mapping[str, list], *, exact: bool) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with path.open("wb") as stream:
            note_guarded(write_rows("-", table, spreadsheet_safe=not exact, stdout=stream))

    return write


def report_and_model(
    result: Any, report: Path | None, save: Path | None, write_report: Callable[..., Any] | None = None, **facts: Any
) -> Makers:
    """What writes the report, where one is wanted, and the model; ``write_report`` if it is not of a labelling."""

    def write_page(path: Path) -> None:
        from isthmus.report import write_label_report  # here, for most runs write none

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
    if output in (None, "-") or not Path(str(output)).is_file():
        return written
    place = run_record_path(Path(str(output)))
    with replacing(place, force=True) as out:
        out.write(as_json_text(record).encode())
    return [*written, str(place)]


def file_records(paths: Iterable[str | Path | None]) -> list[dict[str, Any]]:
    return [{"path": str(path), "sha256": file_hash(path)} for path in paths if path is not None]


def write_table(
    output: str, table: dict[str, list], *, force: bool, exact: bool = False, layout: Layout | None = None
) -> None:
    """Write the table; a reader of standard output who has left is not an error."""
    stop_if_asked()
    try:
        note_guarded(write_rows(output, table, force=force, spreadsheet_safe=not exact, layout=layout))
    except BrokenPipeError:
        abandon(sys.stdout)


def describe_input(path: str, docs: Collection) -> dict[str, Any]:
    return {"path": path, "documents": len(docs), "sha256": file_hash(path, docs.sha256), "notes": docs.notes}


def remember_table(
    result: Any, source: Collection, target: Collection, text: Sequence[str] | None, *, half_labelled: bool = False
) -> None:
    """Keep the files' names and the target's columns with the labelling; of a large target only the names."""
    table = target.table()
    files = {"source": source.name, "target": target.name}
    record: dict[str, Any] = {"text": list(text) if text else None, "names": list(table), "cells": table, **files}
    record |= {"given": len(source)} if half_labelled else {}
    try:
        kept = json.dumps(record)
    except (TypeError, ValueError):  # cells that JSON has no word for, such as dates of a workbook
        kept = ""
    if not 0 < len(kept) <= KEPT_CHARACTERS:
        kept = json.dumps(record | {"cells": None})
    result.input_table = kept


def named_collections(result: Any) -> dict[str, Collection]:
    """Source and target of a saved labelling under the names of the files that they came from, for its report."""
    record = json.loads(result.input_table) if result.input_table else {}
    names = {side: record.get(side) or f"{side} texts" for side in ("source", "target")}
    return {
        "source": Collection.from_texts(result.source_texts, list(result.source_labels), name=names["source"]),
        "target": Collection.from_texts(result.texts, ids=result.ids, name=names["target"]),
    }


def target_table(result: Any, given: str | Path | None, quiet: bool) -> dict[str, list]:
    """The target's columns in order: those of the file given, those kept, or else ids and texts, which is said."""
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
            raise DataError("The saved labelling is damaged: its columns differ in length.", code="bad-model")
        return cells
    if not quiet:
        named = f" ({', '.join(record['names'][:8])})" if record.get("names") else ""
        say(f"The labelling lacks the other columns of the target{named}; --target FILE adds them.")
    return {"id": result.document_ids, "text": list(result.texts)}


def _read_again(result: Any, path: str, text: Sequence[str] | None) -> dict[str, list]:
    docs = read_collection(path, text=text, want_labels=False)
    if docs.texts != result.texts:
        raise DataError(
            f"--target {path!r} has {len(docs):,} documents that are not the {len(result.texts):,} of the labelling in "
            "their order; give the file that was labelled.",
            code="bad-parameter",
        )
    return docs.table()
