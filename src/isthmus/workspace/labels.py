"""The labels of a run as arrays, read once: a run that is done never changes."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

import numpy as np
import sqlalchemy as sa

from isthmus.workspace.database import Database
from isthmus.workspace.schema import PREDICTIONS

_KEPT = 8  # runs in memory


@dataclass(frozen=True)
class RunLabels:
    """What a run says of every document, by position; ``groups`` are the names of new groups, '' for none."""

    classes: list[str]
    codes: np.ndarray
    confidence: np.ndarray
    review: np.ndarray
    groups: np.ndarray

    @property
    def names(self) -> np.ndarray:
        """The label of every document."""
        return np.array(self.classes, dtype=object)[self.codes]


class LabelStore:
    """Labels of the runs that were asked for last."""

    def __init__(self, db: Database):
        self._db, self._kept, self._lock = db, OrderedDict[str, RunLabels](), Lock()

    def forget(self, run: str) -> None:
        """Read a run again the next time."""
        with self._lock:
            self._kept.pop(run, None)

    def of(self, run: str) -> RunLabels:
        """Labels of a run that is done."""
        with self._lock:
            if run in self._kept:
                self._kept.move_to_end(run)
                return self._kept[run]
        p = PREDICTIONS.c
        columns = (p.label, p.confidence, p.needs_review, p.novel_group)
        query = sa.select(*columns).where(p.run_id == run).order_by(p.position)
        with self._db.reading() as connection:
            rows = connection.execute(query).all()
        code: dict[str, int] = {}
        codes = np.array([code.setdefault(row[0], len(code)) for row in rows], dtype=np.int32)
        labels = RunLabels(
            classes=list(code),
            codes=codes,
            confidence=np.array([row[1] for row in rows], dtype=float),
            review=np.array([row[2] for row in rows], dtype=bool),
            groups=np.array([row[3] for row in rows], dtype=object),
        )
        with self._lock:
            self._kept[run] = labels
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return labels
