"""Two runs side by side: which labels flipped, and towards whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import sqlalchemy as sa

from isthmus.exceptions import UsageError
from isthmus.workspace.context import Context, check_page, find_row
from isthmus.workspace.database import Database
from isthmus.workspace.labels import LabelStore
from isthmus.workspace.records import DONE
from isthmus.workspace.schema import ANSWERS, DOCUMENTS, RUNS


class Comparisons:
    """What changed between two runs about the same documents."""

    def __init__(self, context: Context, labels: LabelStore):
        self._db, self._labels = context.db, labels

    def of(self, earlier: str, later: str) -> dict[str, Any]:
        """Counts: ``documents``, ``changed``, ``flips`` (``old``, ``new``, ``documents``; most frequent first), and
        ``classes`` (``class``, ``before``, ``after``, ``gained``, ``lost``).

        ``answers`` says how many answers by people there are, and how many of them each run agrees with.
        """
        target, renamed = self._check(earlier, later)
        names, before, after = self._codes(earlier, later)
        moved = before != after
        pairs, counts = np.unique(before[moved].astype(np.int64) * len(names) + after[moved], return_counts=True)
        flips = [
            {"old": names[pair // len(names)], "new": names[pair % len(names)], "documents": int(count)}
            for pair, count in zip(pairs.tolist(), counts, strict=True)
        ]
        flips.sort(key=lambda row: (-row["documents"], row["old"], row["new"]))
        tally = [
            np.bincount(codes, minlength=len(names)).tolist() for codes in (before, after, after[moved], before[moved])
        ]
        columns = ("before", "after", "gained", "lost")
        return {
            "documents": len(before),
            "changed": int(moved.sum()),
            "flips": flips,
            "classes": [
                {"class": name, **dict(zip(columns, row, strict=True))}
                for name, *row in sorted(zip(names, *tally, strict=True))
            ],
            "answers": self._answers(target, renamed, names, before, after),
        }

    def flips(
        self,
        earlier: str,
        later: str,
        *,
        old: str | None = None,
        new: str | None = None,
        after: int | None = None,
        limit: int = 50,
    ) -> list[dict[str, Any]]:
        """Documents whose label changed, in the order of the file: ``document``, ``position``, ``name``, ``text``,
        ``old``, ``new``, ``old_confidence``, ``new_confidence``; a page of them."""
        after, limit = check_page(after, limit)
        target, _ = self._check(earlier, later)
        names, before, now = self._codes(earlier, later)
        mask = before != now
        for wanted, codes in ((old, before), (new, now)):
            if wanted is not None:
                mask &= codes == (names.index(wanted) if wanted in names else -1)
        flipped = np.flatnonzero(mask)
        start = 0 if after is None else int(np.searchsorted(flipped, after, side="right"))
        positions = flipped[start : start + limit].tolist()
        sure = self._labels.of(earlier).confidence, self._labels.of(later).confidence
        d = DOCUMENTS.c
        query = sa.select(d.id, d.position, d.name, d.text).where(d.collection_id == target, d.position.in_(positions))
        with self._db.reading() as connection:
            rows = connection.execute(query.order_by(d.position)).all()
        return [
            {
                "document": row.id,
                "position": row.position,
                "name": row.name,
                "text": row.text,
                "old": names[before[row.position]],
                "new": names[now[row.position]],
                "old_confidence": float(sure[0][row.position]),
                "new_confidence": float(sure[1][row.position]),
            }
            for row in rows
        ]

    def _check(self, earlier: str, later: str) -> tuple[str, list[dict[str, str]]]:
        """What both runs label, and how each of them calls classes that were renamed."""
        with self._db.reading() as connection:
            rows = [find_row(connection, RUNS, run, "run") for run in (earlier, later)]
        if rows[0].target_id != rows[1].target_id or any(row.state != DONE or row.kind != "label" for row in rows):
            raise UsageError(
                "Only two labellings of the same documents that are done can be compared.", code="bad-parameter"
            )
        return rows[0].target_id, [row.record.get("class_names", {}) for row in rows]

    def _codes(self, earlier: str, later: str) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Names of the classes of both runs, and the label of every document in each, as places among them."""
        old, new = self._labels.of(earlier), self._labels.of(later)
        names = list(dict.fromkeys([*old.classes, *new.classes]))
        place = {name: i for i, name in enumerate(names)}
        before, after = (np.array([place[name] for name in found.classes])[found.codes] for found in (old, new))
        return names, before, after

    def _answers(
        self, target: str, renamed: list[dict[str, str]], names: list[str], before: np.ndarray, after: np.ndarray
    ) -> dict[str, int]:
        said = answers_at(self._db, target)
        right = [
            sum(names[codes[place]] == called.get(label, label) for place, label in said.items())
            for codes, called in zip((before, after), renamed, strict=True)
        ]
        return {"documents": len(said), "before": right[0], "after": right[1]}


def answers_at(db: Database, target: str) -> dict[int, str]:
    """Answers of people that hold now, by position; what was accepted unread is not among them."""
    query = (
        sa.select(DOCUMENTS.c.position, ANSWERS.c.label)
        .join(ANSWERS, ANSWERS.c.document_id == DOCUMENTS.c.id)
        .where(DOCUMENTS.c.collection_id == target, ANSWERS.c.current == sa.true(), ANSWERS.c.kind != "accept")
    )
    with db.reading() as connection:
        return {row.position: row.label for row in connection.execute(query)}
