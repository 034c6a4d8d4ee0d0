"""Answers of other hands: files of a language model, a rule or a person without an account. They are weighed."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from isthmus.exceptions import UsageError
from isthmus.workspace.collections import check_filename
from isthmus.workspace.context import Part, add_row, check_label, check_name, find_row, note_event, set_row
from isthmus.workspace.database import utc_now
from isthmus.workspace.schema import HANDS, RUNS, Hand


class Hands(Part):
    """What hands other than the project's people said about documents."""

    def add(self, run: str, entries: Sequence[Mapping[str, Any]], *, file: str, by: str) -> builtins.list[Hand]:
        """Keep answers about the documents of a run: ``row`` (from 0), ``label`` and ``by``, the name of the hand.

        Later runs weigh them. A hand that answers a document again has changed its mind: the later file counts.
        """
        said: dict[str, dict[int, str]] = {}
        for entry in entries:
            if not str(entry["by"]).strip():
                raise UsageError(
                    "Some answers name nobody; name the hand that gave them, or fill in the column by.",
                    code="bad-answers",
                )
            hand = check_name(entry["by"], "hand")
            said.setdefault(hand, {})[int(entry["row"])] = check_label(str(entry["label"]))
        with self._db.writing() as connection:
            found = find_row(connection, RUNS, run, "run")
            for hand, answers in said.items():
                id = add_row(
                    connection, HANDS, project_id=found.project_id, target_id=found.target_id, name=hand,
                    file=check_filename(file), answers=len(answers), created_by=by,
                    said=[list(answer) for answer in sorted(answers.items())],
                )  # fmt: skip
                note_event(
                    connection, "hand added", by=by, project=found.project_id, subject=id, name=hand,
                    answers=len(answers), file=file,
                )  # fmt: skip
        return self.list(found.project_id)

    def list(self, project: str) -> builtins.list[Hand]:
        """Hands of a project, in the order in which their files came."""
        query = HANDS.select().where(HANDS.c.project_id == project, HANDS.c.removed_at.is_(None))
        return self._all(Hand, query.order_by(HANDS.c.created_at, HANDS.c.id))

    def get(self, id: str) -> Hand:
        """One file of a hand."""
        return self._get(Hand, id)

    def remove(self, id: str, *, by: str) -> None:
        """Take a file of answers back; later runs do without it."""
        with self._db.writing() as connection:
            row = find_row(connection, HANDS, id, "hand", lock=True)
            set_row(connection, HANDS, id, removed_at=utc_now(), removed_by=by)
            note_event(connection, "hand removed", by=by, project=row.project_id, subject=id, name=row.name)


def hand_snapshot(connection: Connection, target: str) -> list[list]:
    """What hands say now about the documents of a target: position, label, name of the hand."""
    h = HANDS.c
    query = sa.select(h.name, h.said).where(h.target_id == target, h.removed_at.is_(None))
    said: dict[tuple[str, int], str] = {}
    for hand, answers in connection.execute(query.order_by(h.created_at, h.id)):
        said |= {(hand, position): label for position, label in answers}
    return [[position, label, hand] for (hand, position), label in said.items()]
