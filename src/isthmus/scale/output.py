"""Write the output of a run in chunks: one part per chunk, the files that join them, and the folder of the run."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isthmus.corpus.cells import FormulaEscaper
from isthmus.corpus.formats import MANIFEST, written_format
from isthmus.corpus.tables import Rows
from isthmus.corpus.write import (
    extend_records,
    is_running,
    join_parquet,
    only_columns,
    replacing,
    this_host,
    with_columns,
    write_body,
    write_lines,
    write_rows,
)
from isthmus.exceptions import DataError, UsageError
from isthmus.scale.chunks import Chunk, by_shard
from isthmus.scale.store import trouble, whole_file


@dataclass(frozen=True)
class Output:
    """Place of the labelled rows: a folder with one file for each input file, or one file."""

    place: str
    work: str
    spreadsheet_safe: bool = False
    add: tuple[str, ...] = ()  # added columns that are written; all if empty

    @property
    def is_file(self) -> bool:
        """Whether the output is one file."""
        return names_file(self.place)

    def kind_of(self, chunk: Chunk) -> str:
        """Return the format in which the rows of a chunk are written."""
        format = written_format(self.place) if self.is_file else None
        return chunk.block.shard.kind if format is None else format.name

    def part(self, chunk: Chunk) -> Path:
        """Return the file for a chunk's rows until all chunks are written."""
        return Path(self.work, "parts", str(chunk.number))


def names_file(place: str) -> bool:
    """Return whether the output is one file: the ending of its name is a format."""
    format = written_format(place)
    return format is not None and format.blocks and not Path(place).is_dir()


def check_places(output: str, inputs: Sequence[str]) -> None:
    """Refuse an output that would replace an input or that has no known format."""
    for path in inputs:
        # Links and different spellings of a path can name the same file.
        if os.path.exists(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise UsageError(f"{output!r} is an input of this run; give another name.", code="output-unwritable")
        if not names_file(output) and Path(output).resolve() == Path(path).resolve().parent:
            raise UsageError(f"The folder {output!r} holds inputs of this run; name another.", code="output-unwritable")
    if not names_file(output) and Path(output).suffix and not Path(output).is_dir():
        raise UsageError(
            f"{output!r} names neither a folder nor a file that can be written in blocks; end it in .csv, .tsv, .jsonl "
            "(also .gz) or .parquet, or name a folder.",
            code="unknown-format",
        )


# -- parts -------------------------------------------------------------------------------------------------------------


def write_part(output: Output, chunk: Chunk, rows: Rows, added: Mapping[str, list]) -> int:
    """Write the labelled rows of a chunk without a header, and return the number of guarded cells."""
    kind = output.kind_of(chunk)
    added = only_columns(added, output.add)
    guard = FormulaEscaper(output.spreadsheet_safe)
    # A part exists only when it is complete, so a resumed run can skip it.
    with whole_file(output.part(chunk)) as path:
        if kind == "parquet":
            # The writer takes the format from the ending of the name.
            write_rows(path.with_suffix(".parquet"), with_columns(rows.table(), added))
            os.replace(path.with_suffix(".parquet"), path)
            return 0
        with open(path, "wb") as out:
            # Records keep values that a table of cells would turn into text.
            if kind == "jsonl" and rows.records is not None:
                write_lines(out, extend_records(rows.records, added))
            else:
                write_body(out, kind, with_columns(rows.table(), added), guard, header=False)
    return guard.count


# -- whole files -------------------------------------------------------------------------------------------------------


def assemble(output: Output, chunks: Sequence[Chunk], added: Sequence[str], force: bool) -> list[dict[str, Any]]:
    """Join the parts to one file, or one for each input file, and return a row of the manifest for each."""
    if output.is_file:
        # JSON lines may have other keys in every line; other formats have one header.
        n_sets = len({chunk.block.shard.columns for chunk in chunks})
        if n_sets > 1 and output.kind_of(chunks[0]) != "jsonl":
            raise DataError(
                f"The target's files have {n_sets} different sets of columns, which one file cannot hold; name a "
                "folder for the output.",
                code="length-mismatch",
            )
        place = Path(output.place)
        return [{"output": str(place), **_join(output, place, chunks, added, force)}]
    Path(output.place).mkdir(parents=True, exist_ok=True)
    shards = by_shard(chunks)
    names = output_names(list(shards))
    made = []
    for path, own in shards.items():
        row = _join(output, Path(output.place, names[path]), own, added, True)
        made.append({"input": path, "output": names[path], **row})
    return made


def output_names(paths: Sequence[str]) -> dict[str, str]:
    """Return a name in the output folder for each input file; a duplicate also gets the name of its folder."""
    names: dict[str, str] = {}
    for path in paths:
        name, parent = Path(path).name, Path(path).resolve().parent
        # Files of the same name in other folders get the names of their folders in front.
        while name in names.values():
            name, parent = f"{parent.name}-{name}", parent.parent
        names[path] = name
    return names


def _join(output: Output, place: Path, chunks: Sequence[Chunk], added: Sequence[str], force: bool) -> dict[str, Any]:
    kind = output.kind_of(chunks[0])
    guard = FormulaEscaper(output.spreadsheet_safe)
    if kind == "parquet":
        with whole_file(place) as path:
            join_parquet([output.part(chunk) for chunk in chunks], path)
    else:
        try:
            with replacing(place, force=force) as out:
                own = chunks[0].block.shard.columns
                header = with_columns({name: [] for name in own}, {name: [] for name in added}, output.add)
                write_body(out, kind, header, guard)
                for chunk in chunks:
                    with open(output.part(chunk), "rb") as part:
                        shutil.copyfileobj(part, out, 1 << 20)
        except OSError as error:
            raise trouble(place, error) from None
    # The manifest has the hash of the complete file.
    with open(place, "rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "guarded": guard.count}


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file that appears only when it is complete."""
    with whole_file(path) as part:
        part.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


# -- the run's own folder ----------------------------------------------------------------------------------------------


def work_folder(place: str) -> Path:
    """Return the folder of the run: next to the output file, or inside the output folder."""
    path = Path(place)
    return path.parent / f".{path.name}.isthmus-run" if names_file(place) else path / ".isthmus-run"


def open_work(place: str, plan: dict[str, Any], *, resume: bool, force: bool) -> Path:
    """Open the folder of a run, empty or with the files of the same run, for this process only.

    Raises
    ------
    DataError
        The output exists and ``force`` is not set, a stopped run exists and neither ``resume`` nor ``force`` is set,
        or the stopped run has other inputs or options.
    """
    work, path = work_folder(place), Path(place)
    # The manifest of a folder is written last.
    finished = path.is_file() if names_file(place) else (path / MANIFEST).is_file()
    if finished and not force:
        raise DataError(f"{place!r} exists; give another name, or force=True to replace it.", code="output-exists")
    if not names_file(place) and path.is_dir() and not finished and not work.is_dir() and any(path.iterdir()):
        raise DataError(f"The folder {place!r} is not empty; give an empty or a new one.", code="output-exists")
    held: dict[str, Any] | None = None
    # A plan that cannot be read belongs to no run that could be continued.
    with suppress(OSError, ValueError):
        held = json.loads((work / "plan.json").read_text(encoding="utf-8"))
    if held is not None and not resume and not force:
        raise DataError(
            f"A stopped run lies in {str(work)!r}; resume=True continues it, force=True starts again.", code="other-run"
        )
    if held is not None and resume and held != plan:
        other = ", ".join(
            _difference(name, held.get(name), plan[name]) for name in plan if held.get(name) != plan[name]
        )
        raise DataError(
            f"The stopped run in {str(work)!r} differs from this one in: {other}. Give the same inputs and options, or "
            "start again with force=True.",
            code="other-run",
        )
    _take(work)
    if not resume or held is None:
        for child in work.iterdir():
            # The lock belongs to this process.
            if child.name != "lock":
                shutil.rmtree(child) if child.is_dir() else child.unlink()
        write_json(work / "plan.json", plan)
    return work


def _difference(name: str, before: Any, now: Any) -> str:
    if not isinstance(before, dict) or not isinstance(now, dict):
        return name
    return f"{name} ({', '.join(key for key in now if before.get(key) != now[key])})"


def _take(work: Path) -> None:
    """Lock the folder for this process."""
    lock = work / "lock"
    try:
        work.mkdir(parents=True, exist_ok=True)
        host, pid = "", 0
        with suppress(OSError, ValueError):
            host, number = lock.read_text().split()
            pid = int(number)
        # A lock of another host or of a process that ended is taken over.
        if host == this_host() and pid not in (0, os.getpid()) and is_running(pid):
            raise DataError(f"Another run (process {pid}) works on the same output; wait for it.", code="other-run")
        lock.write_text(f"{this_host()} {os.getpid()}")
    except OSError as error:
        raise DataError(f"{str(work)!r} cannot be written: {error.strerror}.", code="output-unwritable") from None
