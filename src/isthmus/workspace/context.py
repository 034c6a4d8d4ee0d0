"""Shared code of all parts of a workspace: database and folder, records, input checks and the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.orm import Session

from isthmus._utils import to_plain
from isthmus.exceptions import DataError, UsageError
from isthmus.workspace.database import Database, storable
from isthmus.workspace.schema import Base, Event

Row = TypeVar("Row", bound=Base)
# Longest name and longest class, in characters.
_NAME = 200
_LABEL = 200
MOST = 500  # most rows on one page


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


class Part:
    """Base class of the parts of a workspace."""

    def __init__(self, context: Context):
        self._db = context.db

    def _get(self, kind: type[Row], id: str) -> Row:
        """Return a row by its id, or raise an error if it does not exist."""
        with self._db.reading() as session:
            return find(session, kind, id)

    def _first(self, query: sa.Select) -> Any:
        """Return the first row that a query finds, or None."""
        with self._db.reading() as session:
            return session.scalars(query).first()

    def _all(self, query: sa.Select) -> list[Any]:
        """Return all rows that a query finds."""
        with self._db.reading() as session:
            return list(session.scalars(query))


def find(session: Session, kind: type[Row], id: Any, *, lock: bool = False) -> Row:
    """Return a row by its id.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    kind : type
        Class of the table.
    id : Any
        Id of the row, possibly from a client.
    lock : bool, default=False
        Whether to lock the row until the transaction ends.

    Returns
    -------
    Row
        The row.

    Raises
    ------
    DataError
        If no row has this id.
    """
    table: Any = kind
    query = sa.select(kind).where(table.id == storable(str(id)[:64]))
    found = session.scalars(query.with_for_update(key_share=True, of=kind) if lock else query).first()
    if found is None:
        raise missing(kind.__name__.lower())
    return found


def add(session: Session, row: Row) -> Row:
    """Insert a row, and return it with its id and its time.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    row : Row
        The new row.

    Returns
    -------
    Row
        The same row.
    """
    session.add(row)
    session.flush()
    return row


def change(session: Session, statement: Any) -> int:
    """Change or delete many rows.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
    statement : Any
        Statement that updates or deletes rows.

    Returns
    -------
    int
        Number of changed rows.
    """
    return cast(sa.CursorResult, session.execute(statement)).rowcount


def count_by(session: Session, column: Any, *where: Any) -> dict[Any, int]:
    """Count rows by the values of a column.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
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
    return {row[0]: row[1] for row in session.execute(query)}


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


def log_page(kind: Any, after: int | None, limit: int, *, latest: bool) -> sa.Select:
    """Return the query for a page of rows in the order of their numbers.

    Parameters
    ----------
    kind : type
        Class of a table with the column ``number``.
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
    query = sa.select(kind).order_by(kind.number.desc() if latest else kind.number).limit(limit)
    if after is not None:
        # Pages by number stay correct while new rows arrive; an offset would repeat rows.
        query = query.where(kind.number < after if latest else kind.number > after)
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
    session: Session, kind: str, *, by: str | None, project: str | None = None, subject: str = "", **detail: Any
) -> None:
    """Write a line of the audit log in the transaction of the change that it records.

    Parameters
    ----------
    session : Session
        Session with an open transaction.
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
    session.add(Event(by=by, project=project, kind=kind, subject=subject, detail=plain_detail(detail)))


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
        query = log_page(Event, after, limit, latest=latest)
        if project is not None:
            query = query.where(Event.project == project)
        return self._all(query)

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
        with self._db.writing() as session:
            note_event(session, kind, by=by, subject=subject, **detail)
