"""Shared code of all parts of a workspace: database and folder, records, input checks and the audit log."""

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
# Longest name and longest class, in characters.
_NAME = 200
_LABEL = 200
MOST = 500  # most rows on one page
_EVENT = EVENTS.insert()
_SINGULAR = {"people": "person", "class_names": "name"}  # singular of table names that do not only lose an s


@dataclass(frozen=True)
class Context:
    """Database and folder of a workspace."""

    db: Database
    folder: Path

    def model_path(self, run: str, *, base: bool = False) -> Path:
        """Return the path of a run's model.

        Parameters
        ----------
        run : str
            Id of the run.
        base : bool, default=False
            Whether to return the model from before it learned from answers.

        Returns
        -------
        Path
            Path of the model; the file need not exist.
        """
        return self.folder / "models" / f"{run}{'.base' if base else ''}.isthmus"

    def find_model(self, run: str, *, base: bool = False) -> Path:
        """Return the path of a finished run's model, and check that it exists.

        Parameters
        ----------
        run : str
            Id of the run.
        base : bool, default=False
            Whether to return the model from before it learned from answers. A run without answers has only one model.

        Returns
        -------
        Path
            Path of the model.

        Raises
        ------
        DataError
            If the model is missing.
        """
        # A run without answers stores only one file.
        for path in (self.model_path(run, base=base), self.model_path(run)):
            if path.exists():
                return path
        raise DataError("The model of this run is missing from the workspace; run it again.", code="bad-workspace")


def to_record(kind: type[Record], row: Any) -> Record:
    """Return a row of the database as a record; the column ``project_id`` fills the field ``project`` and so on.

    Parameters
    ----------
    kind : type[Record]
        Dataclass of the record.
    row : Any
        Row that a query returned.

    Returns
    -------
    Record
        The record.
    """
    cells = row._mapping
    return kind(**{field: cells[column] for field, column in _columns(kind, row._fields)})  # type: ignore[arg-type]


@cache
def _columns(kind: type, found: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the fields of a record with the columns that fill them."""
    # A query may omit columns; their fields then keep their defaults.
    pairs = ((field.name, field.name if field.name in found else f"{field.name}_id") for field in fields(kind))
    return [(field, column) for field, column in pairs if column in found]


class Part:
    """Base class of the parts of a workspace: reads rows and returns them as records."""

    def __init__(self, context: Context):
        self._db = context.db

    def _row(self, table: sa.Table, id: Any) -> Any:
        """Return a row by its id, or raise an error if it does not exist."""
        with self._db.reading() as connection:
            return find_row(connection, table, id)

    def _get(self, kind: type[Record], id: str) -> Record:
        """Return a record by its id, or raise an error if it does not exist."""
        return to_record(kind, self._row(TABLES[kind], id))

    def _first(self, kind: type[Record], query: sa.Select, values: Mapping[str, Any] | None = None) -> Record | None:
        """Return the first record that a query finds, or None."""
        with self._db.reading() as connection:
            row = connection.execute(query, values).first()
        return None if row is None else to_record(kind, row)

    def _all(self, kind: type[Record], query: sa.Select) -> list[Record]:
        """Return all records that a query finds."""
        with self._db.reading() as connection:
            return [to_record(kind, row) for row in connection.execute(query)]

    def _dicts(self, query: sa.Select) -> list[dict[str, Any]]:
        """Return all rows that a query finds as dicts."""
        with self._db.reading() as connection:
            return [dict(row._mapping) for row in connection.execute(query)]


def find_row(connection: Connection, table: sa.Table, id: Any, *, lock: bool = False) -> Any:
    """Return a row by its id.

    Parameters
    ----------
    connection : Connection
        Connection with an open transaction.
    table : sa.Table
        Table that contains the row.
    id : Any
        Id of the row, possibly from a client.
    lock : bool, default=False
        Whether to lock the row until the transaction ends.

    Returns
    -------
    Any
        The row.

    Raises
    ------
    DataError
        If no row has this id.
    """
    row = connection.execute(_row_with_id(table, lock), {"wanted": storable(str(id)[:64])}).first()
    if row is None:
        raise missing(_SINGULAR.get(table.name) or table.name.removesuffix("s"))
    return row


@cache
def _row_with_id(table: sa.Table, lock: bool) -> sa.Select:
    """Return the statement that selects a row by its id."""
    # Built once per table: building a statement takes longer than running it.
    query = table.select().where(table.c.id == sa.bindparam("wanted"))
    return query.with_for_update(key_share=True) if lock else query


def add_row(connection: Connection, table: sa.Table, **values: Any) -> str:
    """Insert a row and fill in its id and its time, if the table has these columns.

    Parameters
    ----------
    connection : Connection
        Connection with an open transaction.
    table : sa.Table
        Table to insert into.
    **values : Any
        Values of the other columns.

    Returns
    -------
    str
        Id of the new row, or "" if the table has no ids.
    """
    if "id" in table.c and "id" not in values:
        values["id"] = new_id()
    # The process sets times, not the database, so that both databases behave alike.
    times = {name: utc_now() for name in ("created_at", "at", "since") if name in table.c}
    connection.execute(table.insert().values(**{**times, **values}))
    return values.get("id", "")


def count_by(connection: Connection, column: Any, *where: Any) -> dict[Any, int]:
    """Count rows by the values of a column.

    Parameters
    ----------
    connection : Connection
        Connection with an open transaction.
    column : Any
        Column to group by.
    *where : Any
        Conditions that the counted rows satisfy.

    Returns
    -------
    dict[Any, int]
        Number of rows by value.
    """
    query = sa.select(column, sa.func.count()).where(*where).group_by(column)
    return dict(connection.execute(query).all())


def set_row(connection: Connection, table: sa.Table, id: str, **values: Any) -> None:
    """Change columns of a row.

    Parameters
    ----------
    connection : Connection
        Connection with an open transaction.
    table : sa.Table
        Table that contains the row.
    id : str
        Id of the row.
    **values : Any
        New values by column.
    """
    connection.execute(table.update().where(table.c.id == id).values(**values))


def missing(what: str) -> DataError:
    """Return the error for an unknown id. The id came from a client, so the sentence does not repeat it.

    Parameters
    ----------
    what : str
        Kind of the object, such as "run".

    Returns
    -------
    DataError
        The error to raise.
    """
    return DataError(f"There is no such {what}; it may have been removed, or the address is wrong.", code="not-found")


def check_name(name: Any, what: str, longest: int = _NAME) -> str:
    """Return a name in one line without surplus blanks.

    Parameters
    ----------
    name : Any
        Name that a person gave.
    what : str
        Kind of the named object, for error messages.
    longest : int, default=_NAME
        Maximum length in characters.

    Returns
    -------
    str
        The cleaned name.

    Raises
    ------
    UsageError
        If the name is no text, empty or too long.
    """
    if not isinstance(name, str):
        raise UsageError(f"The name of the {what} is {type(name).__name__}; give a text.")
    name = " ".join(storable(name).split())
    if not name:
        raise UsageError(f"The name of the {what} is empty; give one.")
    if len(name) > longest:
        raise UsageError(f"The name of the {what} has {len(name):,} characters; give at most {longest}.")
    return name


def check_label(label: Any) -> str:
    """Return a class name in one line, or raise an error if it is empty or too long.

    Parameters
    ----------
    label : Any
        Class that a person gave.

    Returns
    -------
    str
        The cleaned class name.
    """
    return check_name(label, "class", _LABEL)


def check_page(after: Any, limit: Any) -> tuple[int | None, int]:
    """Check the position and the size of a page.

    Parameters
    ----------
    after : Any
        Number of the last row on the previous page, or None for the first page.
    limit : Any
        Maximum number of rows, at most 500.

    Returns
    -------
    tuple[int or None, int]
        ``after`` and ``limit``.

    Raises
    ------
    UsageError
        If a value is no whole number, or out of range.
    """
    check_count(limit, "limit", MOST)
    if after is not None and (isinstance(after, bool) or not isinstance(after, int) or not -1 <= after < 2**31):
        raise UsageError(f"after is {str(after)[:40]!r}; give the last number of the page before.")
    return after, limit


def check_count(value: Any, name: str, most: int | None = None) -> int:
    """Return a whole number of at least 1.

    Parameters
    ----------
    value : Any
        Number that a person gave.
    name : str
        Name of the parameter, for error messages.
    most : int, optional
        Largest allowed value; no limit if omitted.

    Returns
    -------
    int
        The number.

    Raises
    ------
    UsageError
        If the value is no whole number, or out of range.
    """
    # A bool is an int in Python, but True is no number that a person gives.
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or (most is not None and value > most):
        wanted = "of at least 1" if most is None else f"from 1 to {most}"
        raise UsageError(f"{name} is {str(value)[:40]!r}; give a number {wanted}.")
    return value


def log_page(table: sa.Table, after: int | None, limit: int, *, latest: bool) -> sa.Select:
    """Return the query for a page of rows in the order of their numbers.

    Parameters
    ----------
    table : sa.Table
        Table with the column ``number``.
    after : int or None
        Number of the last row on the previous page.
    limit : int
        Maximum number of rows on the page.
    latest : bool
        Whether to start with the highest number.

    Returns
    -------
    sa.Select
        The query.
    """
    after, limit = check_page(after, limit)
    number = table.c.number
    query = table.select().order_by(number.desc() if latest else number).limit(limit)
    if after is not None:
        # Pages by number stay correct while new rows arrive; an offset would repeat rows.
        query = query.where(number < after if latest else number > after)
    return query


def choose_one(value: Any, allowed: tuple[str, ...], what: str) -> str:
    """Return a value if it is allowed.

    Parameters
    ----------
    value : Any
        Value that a person gave.
    allowed : tuple[str, ...]
        Allowed values.
    what : str
        Kind of the value, for error messages.

    Returns
    -------
    str
        The value.

    Raises
    ------
    UsageError
        If the value is not allowed.
    """
    if value not in allowed:
        raise UsageError(f"The {what} is {str(value)[:40]!r}; use one of {', '.join(allowed)}.")
    return value


def note_event(
    connection: Connection, kind: str, *, by: str | None, project: str | None = None, subject: str = "", **detail: Any
) -> None:
    """Write a line of the audit log in the transaction of the change that it records.

    Parameters
    ----------
    connection : Connection
        Connection with an open transaction.
    kind : str
        What happened, such as "answer given".
    by : str or None
        Id of the person, or None for the command line and the worker.
    project : str, optional
        Id of the project.
    subject : str, default=""
        Id of the changed object.
    **detail : Any
        More facts, by name.
    """
    row = {"at": utc_now(), "by": by, "project_id": project, "kind": kind, "subject": subject}
    connection.execute(_EVENT, {**row, "detail": plain_detail(detail)})


def plain_detail(detail: Any) -> Any:
    """Return values in a form that JSON and both databases can store.

    Parameters
    ----------
    detail : Any
        Any combination of dicts, lists, numbers and texts.

    Returns
    -------
    Any
        The same values with storable texts.
    """
    return _clean(to_plain(detail))


def _clean(value: Any) -> Any:
    """Replace the characters of all texts that a database cannot store."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value


# -- The audit log: what was done, when and by whom


class Audit(Part):
    """Events in the order in which they happened. No event is ever changed or deleted."""

    def events(
        self, project: str | None = None, *, after: int | None = None, limit: int = 100, latest: bool = False
    ) -> list[Event]:
        """Return one page of the events of a project, or of all projects.

        Parameters
        ----------
        project : str, optional
            Id of the project.
        after : int, optional
            Number of the last event on the previous page.
        limit : int, default=100
            Maximum number of rows on the page.
        latest : bool, default=False
            Whether to start with the newest event.

        Returns
        -------
        list[Event]
            Events by number; newest first if ``latest``.
        """
        query = log_page(EVENTS, after, limit, latest=latest)
        if project is not None:
            query = query.where(EVENTS.c.project_id == project)
        return self._all(Event, query)

    def note(self, kind: str, *, by: str | None, subject: str = "", **detail) -> None:
        """Write an event that no other part of the workspace records, such as a download.

        Parameters
        ----------
        kind : str
            What happened.
        by : str or None
            Id of the person, or None.
        subject : str, default=""
            Id of the object.
        **detail
            More facts, by name.
        """
        with self._db.writing() as connection:
            note_event(connection, kind, by=by, subject=subject, **detail)
