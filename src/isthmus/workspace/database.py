"""The connection to SQLite or PostgreSQL: transactions, migrations, the little in which the two differ."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from importlib import resources
from itertools import islice
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

from isthmus._utils import import_optional
from isthmus.corpus.decode import mend_surrogates
from isthmus.exceptions import DataError, UsageError

_WRITE, _DURABLE = "isthmus_write", "isthmus_durable"
_BLOCK = 5_000  # rows inserted before others may write again
PROGRESS_ROWS = 2_000  # rows between two notes of progress, when somebody may also cancel
_MIGRATIONS = resources.files("isthmus.workspace") / "migrations"
_MIGRATING = 8765_0001  # a number for PostgreSQL's lock
AWAY = "workspace-away"
AWAY_SENTENCE = (
    "The database does not answer, or the disk is full; nothing was changed. Try again in a moment, and look at the "
    "server's log if it lasts."
)
_WAIT = 30  # seconds a writer waits for another process


def new_id() -> str:
    """A random name for a row: nobody can guess the next one."""
    return uuid.uuid4().hex


def utc_now() -> datetime:
    return datetime.now(UTC)


def storable(text: str) -> str:
    """A text that both databases can hold: no NUL, which PostgreSQL refuses, and no half of a surrogate pair.

    >>> storable("a\\x00b")
    'a\ufffdb'
    """
    return mend_surrogates(text.replace("\x00", "\ufffd"))


def in_blocks(rows: Iterable[Any], size: int) -> Iterator[list]:
    """So many rows at a time: a database takes only so many values in one statement."""
    rows = iter(rows)
    while block := list(islice(rows, size)):
        yield block


class Database:
    """An open database, by its address for SQLAlchemy: ``sqlite:///FILE`` or ``postgresql://USER@HOST/NAME``."""

    def __init__(self, url: str):
        self.url = read_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        settings: dict[str, Any] = {"pool_size": 20, "max_overflow": 20, "pool_use_lifo": True}
        if self.is_sqlite:
            settings["connect_args"] = {"timeout": _WAIT, "check_same_thread": False}
        else:
            settings["pool_pre_ping"] = True  # a server that was restarted meanwhile
            import_optional("psycopg", "A workspace in PostgreSQL", extra="team")
        self.engine = sa.create_engine(self.url, **settings)
        # SQLite lets one connection write at a time and makes the others poll; threads of one process wait in line
        # here instead.
        self._turn: Any = threading.Lock() if self.is_sqlite else nullcontext()
        if self.is_sqlite:
            sa.event.listen(self.engine, "connect", _prepare_sqlite)
            sa.event.listen(self.engine, "begin", _begin_sqlite)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with _translated_errors(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[Connection]:
        """A transaction that writes: kept whole when the block ends, taken back whole when it fails.

        ``durable``: what it wrote is on the disk then. Without it a power cut may undo the last moments, though never a
        part of them: enough for who holds a document, not for what they said about it.
        """
        with self._turn, _translated_errors(), self.engine.connect() as connection:
            connection = connection.execution_options(**{_WRITE: True, _DURABLE: durable})
            with connection.begin():
                if not (durable or self.is_sqlite):
                    connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")
                yield connection

    def insert_many(self, table: sa.Table, rows: Iterable[Mapping[str, Any]]) -> int:
        """Insert rows in blocks, a transaction each, so that a large table keeps nobody waiting."""
        count = 0
        for block in in_blocks(rows, _BLOCK):
            with self.writing() as connection:
                connection.execute(table.insert(), block)
            count += len(block)
        return count

    # Migrations

    def migrate(self, to: str = "head") -> None:
        """Bring the tables to the form this version knows; refuse a database that a newer one has changed.

        ``to``: an earlier form, for a backup that was made in it.
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
        with self.writing() as connection:
            if not self.is_sqlite:  # one process migrates, the others wait
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATING})")
            command.upgrade(self._alembic(connection), to)

    def revision(self) -> str | None:
        try:
            with self.engine.connect() as connection:
                return MigrationContext.configure(connection).get_current_revision()
        except sa.exc.DBAPIError as error:
            reason = " ".join(str(error.orig).split())[:200]
            raise DataError(
                f"The database cannot be opened ({reason}); check its address, and that it runs.", code="bad-workspace"
            ) from None

    def _alembic(self, connection: Connection | None) -> Config:
        config = Config()
        config.set_main_option("script_location", str(_MIGRATIONS))
        config.set_main_option("path_separator", "os")
        config.attributes["connection"] = connection
        return config

    def close(self) -> None:
        self.engine.dispose()


@contextmanager
def _translated_errors() -> Iterator[None]:
    """What a database may say, as errors of this package."""
    try:
        yield
    except (UnicodeEncodeError, sa.exc.DataError) as error:
        # An id from an address that no database can hold (NUL, half of a surrogate pair) is the id of nothing.
        if isinstance(error, sa.exc.DataError) and "NUL" not in str(error.orig):
            raise
        raise DataError("Nothing has this name; the address is wrong.", code="not-found") from None
    except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError) as error:
        raise DataError(AWAY_SENTENCE, code=AWAY) from error


def read_url(url: str) -> sa.URL:
    """The address of a database; PostgreSQL is spoken to through psycopg."""
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


def _prepare_sqlite(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute("PRAGMA cache_size=-65536")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A writer asks for the lock at once: two that read first and write later would refuse each other.
    options = connection.get_execution_options()
    driver: Any = connection.connection.driver_connection  # past SQLAlchemy: it happens with every request, some times
    if not options.get(_WRITE):
        driver.execute("BEGIN")
        return
    # FULL: on the disk, also after a power cut; before the transaction, for inside it this has no effect.
    driver.execute(f"PRAGMA synchronous={'FULL' if options[_DURABLE] else 'NORMAL'}")
    driver.execute("BEGIN IMMEDIATE")
