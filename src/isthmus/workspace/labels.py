"""The labels of a run as arrays, read once: a run that is done never changes."""

from __future__ import annotations

import re
import zipfile
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np
import sqlalchemy as sa

from isthmus.corpus import replacing
from isthmus.exceptions import DataError
from isthmus.workspace.context import missing
from isthmus.workspace.database import Database
from isthmus.workspace.schema import PREDICTIONS

_KEPT = 8  # runs in memory
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class RunLabels:
    """What a run says of every document, by position; ``groups`` are the names of new groups, '' for none."""

    classes: list[str]
    codes: np.ndarray
    confidence: np.ndarray
    review: np.ndarray
    groups: np.ndarray

    def are(self, label: str) -> np.ndarray:
        """Which documents have this label."""
        code = self.classes.index(label) if label in self.classes else -1
        return self.codes == code

    @property
    def names(self) -> np.ndarray:
        """The label of every document."""
        return np.array(self.classes, dtype=object)[self.codes]


class LabelStore:
    """Labels of the runs that were asked for last; the others lie in small files, which may be deleted at any time."""

    def __init__(self, db: Database, folder: Path):
        self._db, self._folder, self._kept, self._lock = db, folder, OrderedDict[str, RunLabels](), Lock()
        folder.mkdir(exist_ok=True)

    def of(self, run: str) -> RunLabels:
        """Labels of a run that is done."""
        if not _ID.fullmatch(run):  # it becomes the name of a file
            raise missing("run")
        with self._lock:
            if run in self._kept:
                self._kept.move_to_end(run)
                return self._kept[run]
        labels = self._load(run) or self._read(run)
        with self._lock:
            self._kept[run] = labels
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return labels

    def _load(self, run: str) -> RunLabels | None:
        try:
            with np.load(self._folder / f"{run}.npz", allow_pickle=False) as file:
                parts = {name: file[name] for name in file.files}
            names = parts["group_names"].astype(object)
            return RunLabels(
                classes=parts["classes"].tolist(),
                codes=parts["codes"],
                confidence=parts["confidence"],
                review=parts["review"],
                groups=names[parts["groups"]],
            )
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # none, or one that was cut short
            return None

    def _read(self, run: str) -> RunLabels:
        """From the table; and into a file, for the next process that asks."""
        p = PREDICTIONS.c
        columns = (p.label, p.confidence, p.needs_review, p.novel_group)
        query = sa.select(*columns).where(p.run_id == run).order_by(p.position)
        with self._db.reading() as connection:
            rows = connection.execute(query).all()
        if not rows:
            raise missing("run")
        code: dict[str, int] = {}
        codes = np.array([code.setdefault(row[0], len(code)) for row in rows], dtype=np.int32)
        labels = RunLabels(
            classes=list(code),
            codes=codes,
            confidence=np.array([row[1] for row in rows], dtype=float),
            review=np.array([row[2] for row in rows], dtype=bool),
            groups=np.array([row[3] for row in rows], dtype=object),
        )
        names, groups = np.unique(labels.groups.astype(str), return_inverse=True)
        with suppress(OSError, DataError), replacing(self._folder / f"{run}.npz", force=True) as out:
            np.savez(
                out,
                classes=np.array(labels.classes, dtype=str),
                codes=labels.codes,
                confidence=labels.confidence,
                review=labels.review,
                group_names=names,
                groups=groups,
            )
        return labels
