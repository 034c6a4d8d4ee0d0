"""The audit log: what was done, when and by whom."""

from __future__ import annotations

from isthmus.workspace.context import Context, check_page, note_event, to_record
from isthmus.workspace.records import Event
from isthmus.workspace.schema import EVENTS


class Audit:
    """Events, in the order in which they happened. Nothing ever changes or deletes one."""

    def __init__(self, context: Context):
        self._db = context.db

    def events(
        self, project: str | None = None, *, after: int | None = None, limit: int = 100, latest: bool = False
    ) -> list[Event]:
        """Events of a project, or all, a page at a time: those after number ``after``; latest first, those before."""
        after, limit = check_page(after, limit)
        query = EVENTS.select().order_by(EVENTS.c.number.desc() if latest else EVENTS.c.number).limit(limit)
        if project is not None:
            query = query.where(EVENTS.c.project_id == project)
        if after is not None:
            query = query.where(EVENTS.c.number < after if latest else EVENTS.c.number > after)
        with self._db.reading() as connection:
            return [to_record(Event, row) for row in connection.execute(query)]

    def note(self, kind: str, *, by: str | None, project: str | None = None, subject: str = "", **detail) -> None:
        """Write a line: a sign-in, a refusal, a download."""
        with self._db.writing() as connection:
            note_event(connection, kind, by=by, project=project, subject=subject, **detail)
