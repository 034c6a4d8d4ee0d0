"""The workspace: one object with all parts, opened by one call."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from isthmus.exceptions import DataError, UsageError
from isthmus.workspace.answers import Answers
from isthmus.workspace.backup import find_problems, known_files, read_backup, write_backup
from isthmus.workspace.checks import Checks
from isthmus.workspace.collections import Annotators, Collections
from isthmus.workspace.context import Audit, Context
from isthmus.workspace.database import Database, read_url
from isthmus.workspace.documents import Documents, LabelStore
from isthmus.workspace.exports import Exports
from isthmus.workspace.files import FileStore, is_locked
from isthmus.workspace.groups import Groups, Words
from isthmus.workspace.jobs import Jobs
from isthmus.workspace.people import People, Projects
from isthmus.workspace.queue import Queue
from isthmus.workspace.runs import Comparisons, Runs
from isthmus.workspace.schema import Job

# Environment variables with the defaults of :func:`open_workspace`.
FOLDER_VARIABLE = "ISTHMUS_WORKSPACE"
DATABASE_VARIABLE = "ISTHMUS_DATABASE"
_DATABASE_FILE = "workspace.db"


class Workspace:
    """Projects that are stored on disk; made by :func:`open_workspace`.

    Attributes
    ----------
    people, projects, collections, documents, runs, queue, answers, hands, words, groups, checks, compare, jobs
    exports, audit
        Parts with the available actions, named after the objects that they act on. Methods return plain records.
        Methods that change something take ``by``, the id of the person, and write a line of the audit log.
    folder : Path
        Folder with files and models, and the SQLite database if there is one.
    """

    def __init__(self, folder: Path, url: str):
        self.folder, self.database_url = folder, url
        self._context = Context(Database(url), folder)
        self._context.db.migrate()
        # Several parts share these two objects, so that their caches are shared too.
        files, labels = FileStore(folder / "files"), LabelStore(self._context.db)
        self.files, self._labels = files, labels
        self.people = People(self._context)
        self.projects = Projects(self._context)
        self.collections = Collections(self._context, files)
        self.documents = Documents(self._context)
        self.runs = Runs(self._context, labels)
        self.queue = Queue(self._context)
        self.answers = Answers(self._context)
        self.annotators = Annotators(self._context)
        self.jobs = Jobs(self._context)
        self.audit = Audit(self._context)
        self.words = Words(self._context, labels)
        self.groups = Groups(self._context, labels)
        self.checks = Checks(self._context, labels)
        self.compare = Comparisons(self._context, labels)
        self.exports = Exports(self._context, self.collections, self.jobs)

    def __enter__(self) -> Workspace:
        """Return the workspace itself."""
        return self

    def __exit__(self, *error: Any) -> None:
        """Close the database."""
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._context.db.close()

    def backup(self, path: str | os.PathLike, *, force: bool = False) -> dict[str, Any]:
        """Write the workspace into one file, while people continue to work.

        A backup can be restored into SQLite or PostgreSQL.

        Parameters
        ----------
        path : str | os.PathLike
            Path of the file.
        force : bool, default=False
            Whether to overwrite an existing file.

        Returns
        -------
        dict[str, Any]
            ``tables`` (rows by table), ``files`` (number of files) and ``made`` (time of the backup).
        """
        return write_backup(self._context, Path(path), force=force)

    def check(self, *, thorough: bool = False) -> list[str]:
        """Return sentences that describe what is wrong with the workspace.

        Parameters
        ----------
        thorough : bool, default=False
            Whether to read every file and compare it with its hash.

        Returns
        -------
        list[str]
            One sentence per problem; empty if there is none.
        """
        return find_problems(self._context, thorough=thorough)

    def sweep(self) -> None:
        """Delete files that interrupted or refused uploads left."""
        self.files.sweep(known_files(self._context))

    def worker_runs(self) -> bool:
        """Return whether a worker process is running.

        Returns
        -------
        bool
            True if a worker holds the lock of the folder.
        """
        return is_locked(self.folder / "worker.lock")

    def perform(self, job: Job) -> dict[str, Any] | None:
        """Do the work of a job; called by the worker.

        Parameters
        ----------
        job : Job
            Job to do.

        Returns
        -------
        dict[str, Any] or None
            Result of the job.

        Raises
        ------
        DataError
            If the kind of the job is unknown.
        """
        if job.kind == "run":
            # Imported here because it loads the methods, which a server that only shows results never needs.
            from isthmus.workspace.running import do_run

            return do_run(self._context, self.runs.get(str(job.run)))
        if job.kind == "import":
            return {"documents": self.collections.read_documents(job.payload["collection"])}
        if job.kind == "export":
            asked = job.payload
            made = self.exports.make(
                str(job.project), asked["kind"], by=asked["by"], run=asked["run"], ending=asked["ending"]
            )
            return {"export": made.id}
        raise DataError(f"There is no kind of job called {job.kind[:40]!r}.", code="bad-workspace")


def open_workspace(
    folder: str | os.PathLike | None = None, database: str | None = None, *, create: bool = True
) -> Workspace:
    """Open a workspace or create a new one, and bring its tables to the form of this version.

    Parameters
    ----------
    folder : path, optional
        Folder with files and models. If omitted, the environment variable ``ISTHMUS_WORKSPACE``, else
        ``isthmus-workspace`` in the current folder.
    database : str, optional
        Address of a PostgreSQL database (``postgresql://USER:PASSWORD@HOST/NAME``). If omitted, a SQLite file in the
        folder.
    create : bool, default=True
        Whether to create a missing workspace. If False, a missing workspace is an error with the code
        ``missing-file``, and nothing is written.

    Returns
    -------
    Workspace

    Examples
    --------
    >>> import tempfile
    >>> from isthmus.workspace import open_workspace
    >>> with tempfile.TemporaryDirectory() as folder, open_workspace(folder) as workspace:
    ...     kim = workspace.people.create("Kim", None)
    ...     project = workspace.projects.create("Dealers 2026", by=kim.id)
    ...     [found.name for found in workspace.projects.list(kim.id)]
    ['Dealers 2026']
    """
    place = _find_folder(folder)
    url = _find_url(place, database)
    if not create:
        _require_workspace(place, url)
    # The folder contains texts and password hashes: only its owner may read it.
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    return Workspace(place, url)


def _require_workspace(place: Path, url: str) -> None:
    """Raise an error if a folder and a database contain no workspace, without changing them."""
    address = read_url(url)
    is_there = place.is_dir()
    if is_there and address.get_backend_name() == "sqlite":
        is_there = Path(str(address.database)).is_file()
    if is_there:
        db = Database(url)
        # An empty database is no workspace.
        is_there = db.revision() is not None
        db.close()
    if not is_there:
        raise DataError(
            f"There is no workspace in {str(place)!r}; name another folder, or make one with isthmus workspace create.",
            code="missing-file",
        )


def restore_workspace(
    path: str | os.PathLike, folder: str | os.PathLike | None = None, database: str | None = None
) -> dict[str, Any]:
    """Fill a new workspace from a backup.

    Parameters
    ----------
    path : path
        Backup that :meth:`Workspace.backup` wrote.
    folder : path, optional
        Folder of the new workspace, as for :func:`open_workspace`; it must be empty.
    database : str, optional
        Address of the database, as for :func:`open_workspace`; it must be empty. A backup of a SQLite workspace can
        be restored into PostgreSQL, and the other way round.

    Returns
    -------
    dict
        ``tables`` (rows by table), ``files`` (number of files) and ``made`` (time of the backup).

    Examples
    --------
    >>> import tempfile
    >>> from isthmus.workspace import open_workspace, restore_workspace
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_workspace(f"{folder}/old") as workspace:
    ...         kim = workspace.people.create("Kim", None)
    ...         _ = workspace.backup(f"{folder}/saved.tar")
    ...     _ = restore_workspace(f"{folder}/saved.tar", f"{folder}/new")
    ...     with open_workspace(f"{folder}/new") as workspace:
    ...         workspace.people.list()[0].name, workspace.check()
    ('Kim', [])
    """
    place = _find_folder(folder)
    return read_backup(Path(path), place, _find_url(place, database))


def _find_folder(folder: str | os.PathLike | None) -> Path:
    """Return the folder of a workspace from the argument, the environment or the default."""
    place = Path(folder or os.environ.get(FOLDER_VARIABLE) or "isthmus-workspace").absolute()
    if place.exists() and not place.is_dir():
        raise UsageError(f"{str(place)!r} is a file; a workspace is a folder.")
    return place


def _find_url(folder: Path, database: str | None) -> str:
    """Return the address of the database; a SQLite file in the folder by default."""
    return database or f"sqlite:///{folder / _DATABASE_FILE}"
