"""Uploaded files as tables: parsed once, then read from what was kept of the parse."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from isthmus.corpus import replacing
from isthmus.corpus.read import kind_of, read_whole
from isthmus.corpus.tables import Rows
from isthmus.exceptions import DataError
from isthmus.workspace.files import FileStore

_FORMAT = 1  # raise it when the readers read the same bytes otherwise
_FIELDS = ("columns", "guarded", "encoding", "notes", "sheet", "sheets")


class ParsedFiles:
    """Tables of the files in a store.

    What is kept lies in ``folder`` and may be deleted at any time: the file is then parsed again.
    """

    def __init__(self, files: FileStore, folder: Path):
        self._files = files
        self._folder = folder

    def rows(self, sha256: str, ending: str, name: str, *, sheet: str | None = None, file: Path | None = None) -> Rows:
        """All rows of a file, or of a sheet of it; ``name`` is what people call it, in messages and notes.

        ``file`` says where its content lies while it is not part of the store.
        """
        rows = _load(self._place(sha256, ending, sheet), name)
        if rows is None:
            data = self._files.read(file or sha256)
            rows = read_whole(data, name, kind_of(name, ending, data), sheet=sheet)
            for known_as in {sheet, rows.sheet}:
                _save(self._place(sha256, ending, known_as), rows, name)
        return rows

    def _place(self, sha256: str, ending: str, sheet: str | None) -> Path:
        key = hashlib.sha256(json.dumps([_FORMAT, ending, sheet]).encode()).hexdigest()[:16]
        return self._folder / f"{self._files.path(sha256).name}-{key}.json"


def _save(place: Path, rows: Rows, name: str) -> None:
    kept: dict[str, Any] = {field: getattr(rows, field) for field in _FIELDS}
    try:
        text = json.dumps({"name": name, **kept}, ensure_ascii=False)
    except TypeError:  # dates and the like in a parquet file, which JSON cannot hold: the file itself is the table
        return
    with suppress(DataError), replacing(place, force=True) as out:  # a full disk costs the next reader time, no more
        out.write(text.encode("utf-8", "surrogatepass"))


def _load(place: Path, name: str) -> Rows | None:
    try:
        kept = json.loads(place.read_bytes().decode("utf-8", "surrogatepass"))
        notes = [name + note.removeprefix(kept["name"]) for note in kept["notes"]]
        rows = Rows(tuple(kept["columns"]), **{field: kept[field] for field in _FIELDS})
    except (OSError, ValueError, KeyError, TypeError):  # none, or one that was cut short
        return None
    rows.notes = notes
    rows.sheets = tuple(rows.sheets)
    return rows
