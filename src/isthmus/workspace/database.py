"""The connection to SQLite or PostgreSQL: transactions, migrations and the differences between the two."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection
from sqlalchemy.orm import Session

from isthmus._utils import import_optional
from isthmus.corpus.decode import mend_surrogates
from isthmus.exceptions import DataError, UsageError

_WRITE, _DURABLE = "isthmus_write", "isthmus_durable"
_BLOCK = 5_000  # rows per transaction; between two transactions, other writers get their turn
PROGRESS_ROWS = 2_000  # rows between two progress reports; the job can be cancelled at each of them
_MIGRATIONS = resources.files("isthmus.workspace") / "migrations"
_MIGRATING = 8765_0001  # arbitrary key of PostgreSQL's advisory lock during migrations
# Error code and sentence for a database that does not answer, or a full disk.
AWAY = "workspace-away"
AWAY_SENTENCE = (
    "The database does not answer, or the disk is full; nothing was changed. Try again in a moment, and look at the "
    "server's log if it lasts."
)
READ_ONLY_SENTENCE = (
    "The workspace is on a read-only disk, or its files cannot be written; nothing was changed. Make its folder "
    "writable, or copy it to another disk."
)
_WAIT = 30  # seconds that a writer waits for another process before SQLite reports an error


def new_id() -> str:
    """Return a random id for a row; random ids cannot be guessed from other ids.

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return uuid.uuid4().hex


def utc_now() -> datetime:
    """Return the current time in UTC.

    Returns
    -------
    datetime
        Time with its time zone.
    """
    return datetime.now(UTC)


def storable(text: str) -> str:
    r"""Return a text without the characters that a database refuses: NUL and halves of surrogate pairs.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        The text with replacement characters.

    Examples
    --------
    >>> storable("a\x00b")
    'a�b'
    """
    return mend_surrogates(text.replace("\x00", "\ufffd"))


def in_blocks(rows: Iterable[Any], size: int) -> Iterator[list]:
    """Split rows into lists of a fixed size, because a database limits the values in one statement.

    Parameters
    ----------
    rows : Iterable[Any]
        Rows of any kind.
    size : int
        Rows per list; the last list may be shorter.

    Yields
    ------
    list
        The next rows.
    """
    rows = iter(rows)
    while block := list(islice(rows, size)):
        yield block


class Database:
    """An open database, given by an address for SQLAlchemy.

    Parameters
    ----------
    url : str
        ``sqlite:///FILE`` or ``postgresql://USER@HOST/NAME``.
    """

    def __init__(self, url: str):
        self.url = read_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        if self.is_sqlite:
            self.url = _readable(self.url)
        settings: dict[str, Any] = {"pool_size": 20, "max_overflow": 20, "pool_use_lifo": True}
        if self.is_sqlite:
            settings["connect_args"] = {"timeout": _WAIT, "check_same_thread": False}
        else:
            # Test a pooled connection first, because the server may have been restarted.
            settings["pool_pre_ping"] = True
            import_optional("psycopg", "A workspace in PostgreSQL", extra="team")
        self.engine = sa.create_engine(self.url, **settings)
        # SQLite lets one connection write at a time and makes the others poll. A lock lets the threads of this
        # process wait without polling.
        self._turn: Any = threading.Lock() if self.is_sqlite else nullcontext()
        if self.is_sqlite:
            sa.event.listen(self.engine, "connect", _prepare_sqlite)
            sa.event.listen(self.engine, "begin", _begin_sqlite)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open a session for reading and translate database errors.

        Yields
        ------
        Session
            A session in a read transaction.
        """
        with _translated_errors(), Session(self.engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[Session]:
        """Open a transaction: commit it when the block ends, roll it back if the block fails.

        Parameters
        ----------
        durable : bool, default=True
            Whether the changes must survive a power cut. If False, a power cut may undo the last transactions, each of
            them completely. That suffices for leases of documents, but not for answers.

        Yields
        ------
        Session
            A session in a write transaction.
        """
        engine = self.engine.execution_options(**{_WRITE: True, _DURABLE: durable})
        # Objects stay readable after the transaction.
        with self._turn, _translated_errors(), Session(engine, expire_on_commit=False) as session, session.begin():
            session.connection()  # begins the transaction now, so that a writer takes its lock before it reads
            if not (durable or self.is_sqlite):
                session.execute(sa.text("SET LOCAL synchronous_commit TO off"))
            yield session

    def insert_many(self, table: sa.Table, rows: Iterable[Mapping[str, Any]]) -> int:
        """Insert rows in blocks, with one transaction per block, so that other writers do not wait long.

        Parameters
        ----------
        table : sa.Table
            Table to insert into.
        rows : Iterable[Mapping[str, Any]]
            Values by column.

        Returns
        -------
        int
            Number of rows.
        """
        count = 0
        for block in in_blocks(rows, _BLOCK):
            with self.writing() as session:
                session.execute(table.insert(), block)
            count += len(block)
        return count

    # Migrations

    def migrate(self, to: str = "head") -> None:
        """Bring the tables to the form of this version; refuse a database of a newer version.

        Parameters
        ----------
        to : str, default="head"
            Revision to migrate to; an earlier one before restoring a backup of that form.

        Raises
        ------
        DataError
            If a newer version has written the database.
        """
        scripts = ScriptDirectory.from_config(self._alembic(None))
        found = self.revision()
        if found == (scripts.get_current_head() if to == "head" else to):
            return
        known = {script.revision for script in scripts.walk_revisions()}
        if not {found, to} <= known | {None, "head"}:
            self.close()
            raise DataError(
                f"The workspace was written by a newer version of isthmus (tables at {found or to!r}); update isthmus.",
                code="bad-workspace",
            )
        with self.writing() as session:
            connection = session.connection()
            if not self.is_sqlite:  # one process migrates while the others wait
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATING})")
            command.upgrade(self._alembic(connection), to)

    def revision(self) -> str | None:
        """Return the revision of the tables.

        Returns
        -------
        str or None
            The revision, or None for an empty database.

        Raises
        ------
        DataError
            If the database cannot be opened.
        """
        try:
            with self.engine.connect() as connection:
                return MigrationContext.configure(connection).get_current_revision()
        except sa.exc.DBAPIError as error:
            reason = " ".join(str(error.orig).split())[:200]
            raise DataError(
                f"The database cannot be opened ({reason}); check its address, and that it runs.", code="bad-workspace"
            ) from None

    def _alembic(self, connection: Connection | None) -> Config:
        """Return the configuration of Alembic for a connection."""
        config = Config()
        config.set_main_option("script_location", str(_MIGRATIONS))
        config.set_main_option("path_separator", "os")
        config.attributes["connection"] = connection
        return config

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Raise database errors that users can cause or must wait for as errors of this package."""
    try:
        yield
    except (UnicodeEncodeError, sa.exc.DataError) as error:
        # No row can have an id that the database refuses (NUL, half of a surrogate pair): report it as unknown.
        if isinstance(error, sa.exc.DataError) and "NUL" not in str(error.orig):
            raise
        raise DataError("Nothing has this name; the address is wrong.", code="not-found") from None
    except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError) as error:
        is_read_only = "readonly" in str(error) or "read-only" in str(error)
        raise DataError(READ_ONLY_SENTENCE if is_read_only else AWAY_SENTENCE, code=AWAY) from error


def read_url(url: str) -> sa.URL:
    """Parse the address of a database; PostgreSQL is accessed through psycopg.

    Parameters
    ----------
    url : str
        Address in the form that SQLAlchemy reads.

    Returns
    -------
    sa.URL
        The parsed address.

    Raises
    ------
    UsageError
        If the address cannot be read or names another database.
    """
    try:
        found = sa.make_url(url)
    except sa.exc.ArgumentError:
        raise UsageError(
            "The database's address cannot be read; give postgresql://USER:PASSWORD@HOST/NAME or sqlite:///FILE."
        ) from None
    backend = found.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return found.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise UsageError(f"{backend!r} is not supported; give a postgresql:// or a sqlite:/// address.")
    return found


def _readable(url: sa.URL) -> sa.URL:
    """Return an address with which SQLite also reads a file on a read-only disk, so that it can be backed up."""
    file = Path(str(url.database))
    if not file.is_file() or os.access(file, os.W_OK):
        return url
    log = Path(f"{file}-wal")
    # The last transactions are still in the write-ahead log, which a read-only disk cannot add to the file.
    if log.is_file() and log.stat().st_size:
        raise DataError(READ_ONLY_SENTENCE, code=AWAY)
    return url.set(database=f"file:{file}", query={"immutable": "1", "uri": "true"})


def _prepare_sqlite(connection: Any, record: Any) -> None:
    """Set the options of a new SQLite connection."""
    connection.isolation_level = None  # _begin_sqlite starts transactions, not the driver
    cursor = connection.cursor()
    # With a write-ahead log, readers do not wait for the writer.
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    # A negative size is in KiB: 64 MiB per connection.
    cursor.execute("PRAGMA cache_size=-65536")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    """Start a transaction: a writer takes the lock immediately."""
    # A writer takes the lock at its start: two transactions that read first and write later would block each other.
    options = connection.get_execution_options()
    # Bypasses SQLAlchemy's overhead, because every request comes here several times.
    driver: Any = connection.connection.driver_connection
    if not options.get(_WRITE):
        driver.execute("BEGIN")
        return
    # FULL survives a power cut. The pragma has no effect inside a transaction, so it comes first.
    driver.execute(f"PRAGMA synchronous={'FULL' if options[_DURABLE] else 'NORMAL'}")
    driver.execute("BEGIN IMMEDIATE")
