"""What every part of a workspace is handed: the database, the folder, and the few rules they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from isthmus._utils import to_plain
from isthmus.exceptions import DataError, UsageError
from isthmus.workspace.database import Database, new_id, storable, utc_now
from isthmus.workspace.schema import EVENTS, TABLES, Event

Record = TypeVar("Record")
_NAME = 200
_LABEL = 200
MOST = 500  # rows a page may ask for
_EVENT = EVENTS.insert()
_SINGULAR = {"people": "person", "class_names": "name"}  # of other tables, without the s


@dataclass(frozen=True)
class Context:
    db: Database
    folder: Path

    def model_path(self, run: str, *, base: bool = False) -> Path:
        """Where the model of a run lies; ``base``: before it learned from answers."""
        return self.folder / "models" / f"{run}{'.base' if base else ''}.isthmus"

    def find_model(self, run: str, *, base: bool = False) -> Path:
        """The model of a run that is done; of one that learned from nothing, ``base`` is the same."""
        for path in (self.model_path(run, base=base), self.model_path(run)):
            if path.exists():
                return path
        raise DataError("The model of this run is missing from the workspace; run it again.", code="bad-workspace")


def to_record(kind: type[Record], row: Any) -> Record:
    """A row of the database as a record; ``project_id`` becomes ``project`` and so on."""
    cells = row._mapping
    return kind(**{field: cells[column] for field, column in _columns(kind, row._fields)})  # type: ignore[arg-type]


@cache
def _columns(kind: type, found: tuple[str, ...]) -> list[tuple[str, str]]:
    """Fields of a record and the columns that fill them."""
    pairs = ((field.name, field.name if field.name in found else f"{field.name}_id") for field in fields(kind))
    return [(field, column) for field, column in pairs if column in found]


class Part:
    def __init__(self, context: Context):
        self._db = context.db

    def _row(self, table: sa.Table, id: Any) -> Any:
        with self._db.reading() as connection:
            return find_row(connection, table, id)

    def _get(self, kind: type[Record], id: str) -> Record:
        return to_record(kind, self._row(TABLES[kind], id))

    def _first(self, kind: type[Record], query: sa.Select, values: Mapping[str, Any] | None = None) -> Record | None:
        with self._db.reading() as connection:
            row = connection.execute(query, values).first()
        return None if row is None else to_record(kind, row)

    def _all(self, kind: type[Record], query: sa.Select) -> list[Record]:
        with self._db.reading() as connection:
            return [to_record(kind, row) for row in connection.execute(query)]

    def _dicts(self, query: sa.Select) -> list[dict[str, Any]]:
        with self._db.reading() as connection:
            return [dict(row._mapping) for row in connection.execute(query)]


def find_row(connection: Connection, table: sa.Table, id: Any, *, lock: bool = False) -> Any:
    row = connection.execute(_row_with_id(table, lock), {"wanted": storable(str(id)[:64])}).first()
    if row is None:
        raise missing(_SINGULAR.get(table.name) or table.name.removesuffix("s"))
    return row


@cache
def _row_with_id(table: sa.Table, lock: bool) -> sa.Select:
    # Made once: to build a statement takes longer than to run it.
    query = table.select().where(table.c.id == sa.bindparam("wanted"))
    return query.with_for_update(key_share=True) if lock else query


def add_row(connection: Connection, table: sa.Table, **values: Any) -> str:
    """Insert a row; gives back its id, which is made here, like the time, where the table has one."""
    if "id" in table.c and "id" not in values:
        values["id"] = new_id()
    times = {name: utc_now() for name in ("created_at", "at", "since") if name in table.c}
    connection.execute(table.insert().values(**{**times, **values}))
    return values.get("id", "")


def count_by(connection: Connection, column: Any, *where: Any) -> dict[Any, int]:
    query = sa.select(column, sa.func.count()).where(*where).group_by(column)
    return dict(connection.execute(query).all())


def set_row(connection: Connection, table: sa.Table, id: str, **values: Any) -> None:
    connection.execute(table.update().where(table.c.id == id).values(**values))


def missing(what: str) -> DataError:
    """Nothing has this id, which is not repeated, for it came from outside."""
    return DataError(f"There is no such {what}; it may have been removed, or the address is wrong.", code="not-found")


def check_name(name: Any, what: str, longest: int = _NAME) -> str:
    """A name that a person gave: not empty, not endless, in one line."""
    if not isinstance(name, str):
        raise UsageError(f"The name of the {what} is {type(name).__name__}; give a text.")
    name = " ".join(storable(name).split())
    if not name:
        raise UsageError(f"The name of the {what} is empty; give one.")
    if len(name) > longest:
        raise UsageError(f"The name of the {what} has {len(name):,} characters; give at most {longest}.")
    return name


def check_label(label: Any) -> str:
    return check_name(label, "class", _LABEL)


def check_page(after: Any, limit: Any) -> tuple[int | None, int]:
    check_count(limit, "limit", MOST)
    if after is not None and (isinstance(after, bool) or not isinstance(after, int) or not -1 <= after < 2**31):
        raise UsageError(f"after is {str(after)[:40]!r}; give the last number of the page before.")
    return after, limit


def check_count(value: Any, name: str, most: int | None = None) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or (most is not None and value > most):
        wanted = "of at least 1" if most is None else f"from 1 to {most}"
        raise UsageError(f"{name} is {str(value)[:40]!r}; give a number {wanted}.")
    return value


def log_page(table: sa.Table, after: int | None, limit: int, *, latest: bool) -> sa.Select:
    """A page of rows by number: those after number ``after``; latest first, those before it."""
    after, limit = check_page(after, limit)
    number = table.c.number
    query = table.select().order_by(number.desc() if latest else number).limit(limit)
    if after is not None:
        query = query.where(number < after if latest else number > after)
    return query


def choose_one(value: Any, allowed: tuple[str, ...], what: str) -> str:
    if value not in allowed:
        raise UsageError(f"The {what} is {str(value)[:40]!r}; use one of {', '.join(allowed)}.")
    return value


def note_event(
    connection: Connection, kind: str, *, by: str | None, project: str | None = None, subject: str = "", **detail: Any
) -> None:
    """Write a line of the audit log, in the transaction of what it tells."""
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


class Audit(Part):
    """Events, in the order in which they happened. Nothing ever changes or deletes one."""

    def events(
        self, project: str | None = None, *, after: int | None = None, limit: int = 100, latest: bool = False
    ) -> list[Event]:
        """Events of a project, or all, a page at a time: those after number ``after``; latest first, those before."""
        query = log_page(EVENTS, after, limit, latest=latest)
        if project is not None:
            query = query.where(EVENTS.c.project_id == project)
        return self._all(Event, query)

    def note(self, kind: str, *, by: str | None, subject: str = "", **detail) -> None:
        with self._db.writing() as connection:
            note_event(connection, kind, by=by, subject=subject, **detail)
