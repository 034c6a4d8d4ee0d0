"""Two runs side by side: which labels flipped, and towards whom."""

from __future__ import annotations

from collections import Counter
from typing import Any

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
        target = self._check(earlier, later)
        old, new = self._labels.of(earlier), self._labels.of(later)
        before, after = old.names, new.names
        pairs = Counter(zip(before.tolist(), after.tolist(), strict=True))
        flips = [{"old": was, "new": now, "documents": n} for (was, now), n in pairs.most_common() if was != now]
        names = sorted({*old.classes, *new.classes})
        counts = Counter(before.tolist()), Counter(after.tolist())
        return {
            "documents": len(before),
            "changed": sum(row["documents"] for row in flips),
            "flips": flips,
            "classes": [
                {
                    "class": name,
                    "before": counts[0][name],
                    "after": counts[1][name],
                    "gained": sum(row["documents"] for row in flips if row["new"] == name),
                    "lost": sum(row["documents"] for row in flips if row["old"] == name),
                }
                for name in names
            ],
            "answers": self._answers(target, before, after),
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
        target = self._check(earlier, later)
        first, second = self._labels.of(earlier), self._labels.of(later)
        before, now = first.names, second.names
        mask = before != now
        if old is not None:
            mask &= before == old
        if new is not None:
            mask &= now == new
        positions = [int(i) for i in mask.nonzero()[0] if after is None or i > after][:limit]
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
                "old": before[row.position],
                "new": now[row.position],
                "old_confidence": float(first.confidence[row.position]),
                "new_confidence": float(second.confidence[row.position]),
            }
            for row in rows
        ]

    def _check(self, earlier: str, later: str) -> str:
        with self._db.reading() as connection:
            rows = [find_row(connection, RUNS, run, "run") for run in (earlier, later)]
        if rows[0].target_id != rows[1].target_id or any(row.state != DONE or row.kind != "label" for row in rows):
            raise UsageError(
                "Only two labellings of the same documents that are done can be compared.", code="bad-parameter"
            )
        return rows[0].target_id

    def _answers(self, target: str, before: Any, after: Any) -> dict[str, int]:
        said = answers_at(self._db, target)
        return {
            "documents": len(said),
            "before": sum(before[place] == label for place, label in said.items()),
            "after": sum(after[place] == label for place, label in said.items()),
        }


def answers_at(db: Database, target: str) -> dict[int, str]:
    """Answers of people that hold now, by position; what was accepted unread is not among them."""
    query = (
        sa.select(DOCUMENTS.c.position, ANSWERS.c.label)
        .join(ANSWERS, ANSWERS.c.document_id == DOCUMENTS.c.id)
        .where(DOCUMENTS.c.collection_id == target, ANSWERS.c.current == sa.true(), ANSWERS.c.kind != "accept")
    )
    with db.reading() as connection:
        return {row.position: row.label for row in connection.execute(query)}
