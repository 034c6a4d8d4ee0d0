"""Backup, restore and check. A backup is one file, which can be restored into SQLite or PostgreSQL."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import shutil
import stat
import tarfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.orm import Session

from isthmus._utils import plural, versions
from isthmus.corpus import check_output, replacing
from isthmus.exceptions import DataError, IsthmusError, UsageError
from isthmus.workspace.context import Context, count_by
from isthmus.workspace.database import Database, in_blocks, utc_now
from isthmus.workspace.files import FileStore, is_locked
from isthmus.workspace.schema import (
    ANSWERS,
    COLLECTIONS,
    DOCUMENTS,
    FILES,
    JOBS,
    METADATA,
    OF_GROUP,
    PREDICTIONS,
    RUNS,
    Collection,
    Export,
    File,
    Run,
)

# Version of the backup's layout; a higher one is refused.
FORMAT = 1
_MANIFEST = "manifest.json"
# Paths that a restore may write: a damaged or forged archive must not write anywhere else.
_PLACES = re.compile(
    r"files/[0-9a-f]{2}/[0-9a-f]{64}|models/[0-9a-f]{32}(\.base)?\.isthmus|exports/[0-9a-f]{32}\.[a-z]+"
)
# Rows that are read or inserted at a time.
_BLOCK = 2_000
_ALEMBIC = "alembic_version"
_KNOWN = sa.select(FILES.c.sha256)


# Backup


def write_backup(context: Context, path: str | Path, *, force: bool = False) -> dict[str, Any]:
    """Write a consistent state of the workspace into one tar file, while people continue to work.

    Parameters
    ----------
    context : Context
        Database and folder of the workspace.
    path : str | Path
        Path of the file.
    force : bool, default=False
        Whether to overwrite an existing file.

    Returns
    -------
    dict[str, Any]
        ``tables`` (rows by table), ``files`` (number of files) and ``made`` (time of the backup).
    """
    # Refuse an unusable path before reading the database.
    check_output(path, force=force, table=False)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "made": utc_now().isoformat(),
        "revision": context.db.revision(),
        "versions": versions(),
        "tables": {},
        "files": {},
    }
    with replacing(path, force=force) as out, tarfile.open(fileobj=out, mode="w|") as archive:
        _keep_for_owner(out)
        with _snapshot(context.db) as connection:
            # The hashes come from the same snapshot as the rows, so rows and files agree.
            known = set(connection.scalars(_KNOWN))
            for table in METADATA.sorted_tables:
                lines = list(_dump(connection, table))
                data = b"".join(lines)
                manifest["tables"][table.name] = {"rows": len(lines), "sha256": hashlib.sha256(data).hexdigest()}
                _add(archive, f"tables/{table.name}.jsonl", data)
        for place in _stored_files(context.folder, known):
            content = (context.folder / place).read_bytes()
            manifest["files"][place] = hashlib.sha256(content).hexdigest()
            _add(archive, place, content)
        # Written last, so a truncated backup has no manifest.
        _add(archive, _MANIFEST, json.dumps(manifest, indent=1).encode())
    return _outcome(manifest)


def _outcome(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a backup or a restore that its caller shows."""
    counts = {name: found["rows"] for name, found in manifest["tables"].items()}
    return {"tables": counts, "files": len(manifest["files"]), "made": manifest["made"]}


def _snapshot(db: Database) -> Any:
    """Return a connection that sees the database at one moment."""
    if db.is_sqlite:
        return db.engine.begin()
    return db.engine.execution_options(isolation_level="REPEATABLE READ").begin()


def _dump(connection: Connection, table: sa.Table) -> Iterator[bytes]:
    """Yield the rows of a table as lines of JSON."""
    # In the order of creation, so that restored rows can refer to earlier rows.
    order = [table.c[name] for name in ("number", "created_at") if name in table.c] or list(table.primary_key.columns)
    for row in connection.execution_options(yield_per=_BLOCK).execute(table.select().order_by(*order)):
        cells = {column.name: _to_json(row[place]) for place, column in enumerate(table.columns)}
        yield json.dumps(cells, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _to_json(value: Any) -> Any:
    """Return a value of a database as a value of JSON."""
    if isinstance(value, datetime):
        return value.isoformat()
    # JSON has no bytes; psycopg returns them as memoryview.
    if isinstance(value, (bytes, memoryview)):
        return base64.b64encode(bytes(value)).decode()
    return value


def _keep_for_owner(out: Any) -> None:
    """Make the backup readable only by its owner, because it contains every text and all password hashes."""
    # Windows may lack fchmod, and a device as output must keep its own permissions.
    if hasattr(os, "fchmod") and stat.S_ISREG(os.fstat(out.fileno()).st_mode):
        os.fchmod(out.fileno(), 0o600)


def _stored_files(folder: Path, known: set[str]) -> list[str]:
    """Return the paths of files that belong to the workspace, without the remains of refused uploads."""
    found = (path.relative_to(folder).as_posix() for path in folder.glob("*/**/*") if path.is_file())
    places = [place for place in found if _PLACES.fullmatch(place)]
    return sorted(place for place in places if not place.startswith("files/") or place.rpartition("/")[2] in known)


def known_files(context: Context) -> set[str]:
    """Return the hashes of all files that collections refer to.

    Parameters
    ----------
    context : Context
        Database and folder of the workspace.

    Returns
    -------
    set[str]
        SHA-256 hashes in hexadecimal digits.
    """
    with context.db.reading() as session:
        return set(session.scalars(_KNOWN))


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    """Add bytes to the archive as a file that only its owner can read."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), 0o600
    archive.addfile(entry, io.BytesIO(data))


# Restore


def read_backup(path: str | Path, folder: Path, url: str) -> dict[str, Any]:
    """Fill an empty folder and an empty database from a backup.

    A damaged backup is refused before anything is written. A failure later removes what was written.

    Parameters
    ----------
    path : str | Path
        Path of the backup.
    folder : Path
        Folder of the new workspace; it must be empty or missing.
    url : str
        Address of the empty database.

    Returns
    -------
    dict[str, Any]
        The figures of :func:`write_backup`.

    Raises
    ------
    DataError
        If the backup is missing, damaged or newer than this version.
    UsageError
        If the folder or the database is not empty.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}; name a backup.", code="missing-file")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{str(folder)!r} is not empty; restore into a new folder.")
    # The whole archive is read and checked before anything is written.
    manifest = _check_backup(path)
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    db = Database(url)
    try:
        with db.engine.connect() as connection:
            if sa.inspect(connection).get_table_names():
                raise UsageError("The database is not empty; restore into a new one.")
        try:
            return _fill(db, folder, path, manifest)
        # Ctrl-C too must not leave half a workspace.
        except BaseException as error:
            _undo(db, folder)
            if _is_bad_row(error):
                raise _bad(path, "has rows that do not fit the tables of a workspace") from error
            raise
    finally:
        db.close()
        # Only a folder that this call has made may be removed.
        if is_new and not any(folder.iterdir()):
            folder.rmdir()


def _fill(db: Database, folder: Path, path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Write the files and tables of a checked backup, then bring the tables to the current form."""
    # Rows must go into tables of the form that they were read from; the last step brings both up to date.
    db.migrate(manifest["revision"])
    with tarfile.open(path) as archive:
        for name in manifest["files"]:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(_read(archive, name))
        _load_tables(db, archive, manifest)
    db.migrate()
    return _outcome(manifest)


def _undo(db: Database, folder: Path) -> None:
    """Remove everything from the folder and the database; both were empty before the restore."""
    with db.engine.begin() as connection:
        # The tables may have an older form than the present schema, so they are read from the database.
        there = sa.MetaData()
        there.reflect(connection)
        there.drop_all(connection)
    db.close()
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _is_bad_row(error: BaseException) -> bool:
    """Return whether a row that does not fit its table caused the error, rather than the disk or the database."""
    # These errors already explain themselves, or come from the database itself.
    if isinstance(error, (IsthmusError, sa.exc.OperationalError)):
        return False
    return isinstance(error, (sa.exc.SQLAlchemyError, AttributeError, LookupError, TypeError, ValueError))


def _check_backup(path: Path) -> dict[str, Any]:
    """Return the manifest of a backup after comparing every file with its hash."""
    try:
        with tarfile.open(path) as archive:
            manifest = json.loads(_read(archive, _MANIFEST))
            if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
                raise ValueError("no manifest")
            # A later version may store something that this version would lose.
            if manifest["format"] > FORMAT:
                raise _bad(path, "was written by a newer version of isthmus; update isthmus")
            wanted = {f"tables/{name}.jsonl": found["sha256"] for name, found in manifest["tables"].items()}
            wanted |= manifest["files"]
            for name, digest in wanted.items():
                if name in manifest["files"] and not _PLACES.fullmatch(name):
                    raise _bad(path, f"contains the path {name[:80]!r}, which is not part of a workspace")
                if hashlib.sha256(_read(archive, name)).hexdigest() != digest:
                    raise _bad(path, f"is damaged: the content of {name!r} has changed")
            return manifest
    except DataError:
        raise
    except Exception as error:  # a damaged archive can raise almost any error in its readers
        raise _bad(path, "is not a backup of a workspace, or it was cut short") from error


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    """Return the bytes of one file in the archive."""
    entry = archive.extractfile(name)
    if entry is None:
        raise ValueError(name)
    return entry.read()


def _load_tables(db: Database, archive: tarfile.TarFile, manifest: dict[str, Any]) -> None:
    """Insert all rows in one transaction into tables of the form that they had when the backup was made."""
    metadata = sa.MetaData()
    with db.writing() as session:
        connection = session.connection()
        metadata.reflect(connection)
        for column in (column for table in metadata.tables.values() for column in table.columns):
            if column.nullable and isinstance(column.type, sa.JSON):
                column.type = sa.JSON(none_as_null=True)  # store SQL NULL instead of the JSON word null
        for table in metadata.sorted_tables:
            if table.name == _ALEMBIC or table.name not in manifest["tables"]:
                continue
            for lines in in_blocks(_read(archive, f"tables/{table.name}.jsonl").splitlines(), _BLOCK):
                connection.execute(table.insert(), [_from_json(table, json.loads(line)) for line in lines])
            _set_counter(db, connection, table)


def _from_json(table: sa.Table, cells: dict[str, Any]) -> dict[str, Any]:
    """Return a row of a table from its JSON form: times, bytes and truth values get their types back."""
    row = {}
    for name, value in cells.items():
        kind = table.c[name].type
        if value is not None and isinstance(kind, sa.DateTime):
            value = datetime.fromisoformat(value)
            # A column without time zone (SQLite) stores UTC without saying so.
            value = value if getattr(kind, "timezone", False) else value.replace(tzinfo=None)
        elif value is not None and isinstance(kind, sa.LargeBinary):
            value = base64.b64decode(value)
        elif isinstance(kind, sa.Boolean) and value is not None:
            value = bool(value)
        row[name] = value
    return row


def _set_counter(db: Database, connection: Connection, table: sa.Table) -> None:
    """Move PostgreSQL's counter of row numbers behind the restored rows, so that new rows get unused numbers."""
    if not db.is_sqlite and "number" in table.primary_key.columns:
        connection.exec_driver_sql(
            f"SELECT setval(pg_get_serial_sequence('{table.name}', 'number'), "
            f"COALESCE((SELECT MAX(number) FROM {table.name}), 0) + 1, false)"
        )


def _bad(path: Path, what: str) -> DataError:
    """Return the error for a backup that cannot be restored."""
    return DataError(f"{str(path)!r} {what}.", code="bad-workspace")


# Check


def find_problems(context: Context, *, thorough: bool = False) -> list[str]:
    """Return sentences that describe what is wrong with a workspace.

    Parameters
    ----------
    context : Context
        Database and folder of the workspace.
    thorough : bool, default=False
        Whether to read every file and compare it with its hash.

    Returns
    -------
    list[str]
        One sentence per problem; empty if there is none.
    """
    problems: list[str] = []
    with context.db.reading() as session:
        # PostgreSQL checks its own files and enforces foreign keys on every write.
        if context.db.is_sqlite:
            problems += _sqlite_problems(session)
        problems += _file_problems(session, context, thorough)
        problems += _count_problems(session, context)
        problems += _answer_problems(session)
        running = session.scalar(sa.select(sa.func.count()).where(JOBS.c.state == "running"))
    if running and not is_locked(context.folder / "worker.lock"):
        problems.append(f"{plural(running, 'job')} running and no worker; they continue when isthmus serve starts.")
    return problems


def _sqlite_problems(session: Session) -> list[str]:
    """Return the problems that SQLite's own checks report."""
    found = [row[0] for row in session.execute(sa.text("PRAGMA integrity_check")) if row[0] != "ok"]
    broken = session.execute(sa.text("PRAGMA foreign_key_check")).all()
    problems = [f"The database is damaged: {line}." for line in found[:10]]
    return problems + [f"A row of {row[0]} refers to a missing row of {row[2]}." for row in broken[:10]]


def _file_problems(session: Session, context: Context, thorough: bool) -> list[str]:
    """Return missing, changed and unused files, and missing exports."""
    store = FileStore(context.folder / "files")
    problems = []
    known = set()
    for row in session.scalars(sa.select(File)):
        known.add(row.sha256)
        path = store.path(row.sha256)
        if not path.exists():
            problems.append(f"The file {row.sha256[:12]}… is missing.")
        elif path.stat().st_size != row.size or (thorough and store.hash_of(path) != row.sha256):
            problems.append(f"The file {row.sha256[:12]}… has changed since it was uploaded.")
    orphans = store.orphans(known)
    if orphans:
        size = sum(path.stat().st_size for path in orphans) / 2**20
        problems.append(
            f"{plural(len(orphans), 'file')} of uploads that were refused or interrupted ({size:,.1f} MiB); they are "
            "removed when isthmus serve starts."
        )
    for export in session.scalars(sa.select(Export)):
        if not (context.folder / "exports" / f"{export.id}{export.ending}").exists():
            problems.append(f"The export {export.name!r} is missing; it can be made again.")
    return problems


def _count_problems(session: Session, context: Context) -> list[str]:
    """Return collections and runs whose number of rows differs from the stored count, and missing models."""
    problems = []
    documents = count_by(session, DOCUMENTS.c.collection_id)
    for row in session.scalars(sa.select(Collection).where(COLLECTIONS.c.state == "ready")):
        if documents.get(row.id, 0) != row.documents:
            problems.append(
                f"{row.name!r} should have {row.documents:,} documents and has {documents.get(row.id, 0):,}."
            )
    predictions = count_by(session, PREDICTIONS.c.run_id)
    # A diagnosis has no predictions and no model.
    for run in session.scalars(sa.select(Run).where(RUNS.c.state == "done", RUNS.c.kind == "label")):
        wanted = documents.get(run.target, 0)
        if predictions.get(run.id, 0) != wanted:
            problems.append(f"{run.name!r} labels {predictions.get(run.id, 0):,} of {wanted:,} documents.")
        if not context.model_path(run.id).exists():
            problems.append(f"The model of {run.name!r} is missing; run it again to teach or export it.")
    return problems


def _answer_problems(session: Session) -> list[str]:
    """Return the documents whose queue state contradicts their answers.

    A document leaves every queue exactly when it has a current answer; an answer for a whole group is the exception.
    """
    a, p = ANSWERS.c, PREDICTIONS.c
    joined = PREDICTIONS.outerjoin(ANSWERS, sa.and_(a.document_id == p.document_id, a.current))
    wrong = sa.or_(sa.and_(p.state == "done", a.number.is_(None)), sa.and_(p.state != "done", a.kind != OF_GROUP))
    # Runs that are not done have no queue yet.
    done = sa.select(RUNS.c.id).where(RUNS.c.state == "done")
    count = session.scalar(sa.select(sa.func.count()).select_from(joined).where(wrong, p.run_id.in_(done)))
    problems = [f"{plural(count, 'document')} in a queue and answered, or neither."] if count else []
    both = sa.select(sa.func.count()).where(a.current, a.undone_at.is_not(None))
    count = session.scalar(both)
    return problems + ([f"{plural(count, 'answer')} taken back and holding at once."] if count else [])
