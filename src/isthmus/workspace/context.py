"""What every part of a workspace is handed: the database, the folder, and the few rules they share."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from isthmus._utils import to_plain
from isthmus.exceptions import DataError, UsageError
from isthmus.workspace.database import Database, storable, utc_now
from isthmus.workspace.records import Event
from isthmus.workspace.schema import EVENTS

Record = TypeVar("Record")
_NAME = 200
_LABEL = 200
MOST = 500  # rows a page may ask for
Many = list  # for annotations in classes that have a method called list
_EVENT = EVENTS.insert()


@dataclass(frozen=True)
class Context:
    """The database and the folder of a workspace."""

    db: Database
    folder: Path


def to_record(kind: type[Record], row: Any) -> Record:
    """A row of the database as a record; ``project_id`` becomes ``project`` and so on."""
    cells = row._mapping
    return kind(**{field: cells[column] for field, column in _columns(kind, row._fields)})  # type: ignore[arg-type]


@cache
def _columns(kind: type, found: tuple[str, ...]) -> list[tuple[str, str]]:
    """Fields of a record and the columns that fill them."""
    pairs = ((field.name, field.name if field.name in found else f"{field.name}_id") for field in fields(kind))
    return [(field, column) for field, column in pairs if column in found]


def find_row(connection: Connection, table: sa.Table, id: Any, what: str, *, lock: bool = False) -> Any:
    """The row with this id, or an error that says what there is none of."""
    row = connection.execute(_row_with_id(table, lock), {"wanted": storable(str(id)[:64])}).first()
    if row is None:
        raise missing(what)
    return row


@cache
def _row_with_id(table: sa.Table, lock: bool) -> sa.Select:
    # Made once: to build a statement takes longer than to run it.
    query = table.select().where(table.c.id == sa.bindparam("wanted"))
    return query.with_for_update(key_share=True) if lock else query


def missing(what: str) -> DataError:
    """Nothing has this id; the id itself is not repeated, for it came from outside."""
    return DataError(f"There is no such {what}; it may have been removed, or the address is wrong.", code="not-found")


def check_name(name: Any, what: str, longest: int = _NAME) -> str:
    """A name that a person gave: not empty, not endless, in one line."""
    if not isinstance(name, str):
        raise UsageError(f"The name of the {what} is {type(name).__name__}; give a text.", code="bad-parameter")
    name = " ".join(storable(name).split())
    if not name:
        raise UsageError(f"The name of the {what} is empty; give one.", code="bad-parameter")
    if len(name) > longest:
        raise UsageError(
            f"The name of the {what} has {len(name):,} characters; give at most {longest}.", code="bad-parameter"
        )
    return name


def check_label(label: Any) -> str:
    """The name of a class that a person gave."""
    return check_name(label, "class", _LABEL)


def check_page(after: Any, limit: Any) -> tuple[int | None, int]:
    """Where a page begins and how long it is."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
        raise UsageError(f"limit is {str(limit)[:40]!r}; give a number from 1 to {MOST}.", code="bad-parameter")
    if after is not None and (isinstance(after, bool) or not isinstance(after, int) or not -1 <= after < 2**31):
        raise UsageError(
            f"after is {str(after)[:40]!r}; give the last number of the page before.", code="bad-parameter"
        )
    return after, limit


def choose_one(value: Any, allowed: tuple[str, ...], what: str) -> str:
    """One of the allowed words."""
    if value not in allowed:
        raise UsageError(f"The {what} is {str(value)[:40]!r}; use one of {', '.join(allowed)}.", code="bad-parameter")
    return value


def note_event(
    connection: Connection, kind: str, *, by: str | None, project: str | None = None, subject: str = "", **detail: Any
) -> None:
    """Write a line of the audit log, in the transaction of what it tells of."""
    row = {"at": utc_now(), "by": by, "project_id": project, "kind": kind, "subject": subject}
    connection.execute(_EVENT, {**row, "detail": plain_detail(detail)})


def plain_detail(detail: Any) -> Any:
    """Values that JSON, and both databases, can hold."""
    return _clean(to_plain(detail))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value


# -- The audit log: what was done, when and by whom


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
