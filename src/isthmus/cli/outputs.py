"""How commands write: checked before the work, all files or none, tables safe for spreadsheets."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from isthmus._progress import progress
from isthmus.cli.common import file_hash, note_guarded
from isthmus.corpus import Collection, check_output, write_rows
from isthmus.corpus.sheets import Layout
from isthmus.exceptions import UsageError

Makers = Mapping[Path | None, Callable[[Path], Any]]


def check_outputs(
    output: str,
    report: Path | None,
    force: bool,
    save: Path | None = None,
    *,
    inputs: Iterable[str | Path | None] = (),
) -> None:
    """Refuse outputs that could not be written, or would replace an input, before any work is done."""
    for path in (output, report, save):
        check_output_is_not_input(path, inputs)
    check_output(output, force=force)
    places = [] if output == "-" else [Path(output).resolve()]
    for path in (report, save):
        if path is not None:
            check_output(path, force=force, table=False)
            places.append(path.resolve())
    if len(set(places)) < len(places):
        raise UsageError("Two outputs have the same name; give each its own.", code="bad-parameter")


def check_output_is_not_input(path: str | Path | None, inputs: Iterable[str | Path | None]) -> None:
    """Refuse an output that is one of the files read, under whatever name; --force does not change that."""
    if path is None or not os.path.isfile(path):  # nothing there, standard output, or a device: nothing to lose
        return
    for given in inputs:
        if given is not None and os.path.isfile(given) and os.path.samefile(path, given):
            raise UsageError(
                f"{str(path)!r} is an input of this run and is not replaced, with or without --force; "
                "give another name.",
                code="output-unwritable",
            )


def write_files(
    output: str,
    table: dict[str, list],
    makers: Makers,
    *,
    force: bool,
    exact: bool = False,
    layout: Layout | None = None,
) -> list[str]:
    """The table and the other files of a run; names of the files written.

    Parameters
    ----------
    output : str
        Where the table goes; ``"-"`` is standard output.
    table : dict
        Its columns.
    makers : mapping of Path to function
        The other files: each function writes the file whose path it is given. None as a path is passed over.
    force : bool
        Replace files that exist.
    exact : bool
        Write csv and tsv as they are, also cells that a spreadsheet would run.
    layout : Layout, optional
        What a workbook gets beside its cells.

    Notes
    -----
    The other files are made under temporary names first, so that an error leaves older files as they were.
    """
    wanted = {path: make for path, make in makers.items() if path is not None}
    ready: dict[Path, Path] = {}
    try:
        for path, make in wanted.items():
            handle, temporary = tempfile.mkstemp(prefix=".", suffix=path.suffix, dir=path.resolve().parent)
            os.close(handle)
            ready[path] = Path(temporary)
            os.chmod(temporary, 0o644)
            make(ready[path])
        write_table(output, table, force=force, exact=exact, layout=layout)
        for path, temporary_path in ready.items():
            os.replace(temporary_path, path.resolve())
    finally:
        for temporary_path in ready.values():
            temporary_path.unlink(missing_ok=True)
    return [*([output] if output != "-" else []), *map(str, wanted)]


def announced(phase: str, make: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """The same maker of a file, which tells of its phase when it begins and when it is done."""

    def make_and_tell(path: Path) -> None:
        progress(phase, 0, 1)
        make(path)
        progress(phase, 1, 1)

    return make_and_tell


def write_table(
    output: str, table: dict[str, list], *, force: bool, exact: bool = False, layout: Layout | None = None
) -> None:
    """Write the table; a reader of standard output who has left is not an error."""
    try:
        note_guarded(write_rows(output, table, force=force, spreadsheet_safe=not exact, layout=layout))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def describe_input(path: str, docs: Collection) -> dict[str, Any]:
    """What the record says about an input."""
    return {"path": path, "documents": len(docs), "sha256": file_hash(path, docs.sha256), "notes": docs.notes}
