"""The workspace: everything in one place, opened by one call."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from isthmus.exceptions import DataError, UsageError
from isthmus.workspace.answers import Answers
from isthmus.workspace.audit import Audit
from isthmus.workspace.collections import Collections
from isthmus.workspace.context import Context
from isthmus.workspace.database import Database
from isthmus.workspace.documents import Documents
from isthmus.workspace.files import FileStore
from isthmus.workspace.jobs import Jobs
from isthmus.workspace.locks import is_locked
from isthmus.workspace.people import People
from isthmus.workspace.projects import Projects
from isthmus.workspace.queue import Queue
from isthmus.workspace.records import Job
from isthmus.workspace.runs import Runs

FOLDER_VARIABLE = "ISTHMUS_WORKSPACE"
DATABASE_VARIABLE = "ISTHMUS_DATABASE"
_DATABASE_FILE = "workspace.db"


class Workspace:
    """Projects that last; made by :func:`open_workspace`.

    Attributes
    ----------
    people, projects, collections, documents, runs, queue, answers, jobs, audit
        What can be done, by what it is done to. Calls give back plain records; calls that change something take ``by``,
        the id of the person who does it, and write a line of the audit log.
    folder : Path
        Where files and models lie, and the database, unless it is elsewhere.
    """

    def __init__(self, folder: Path, url: str):
        self.folder, self.database_url = folder, url
        self._context = Context(Database(url), folder)
        self._context.db.migrate()
        files = FileStore(folder / "files")
        self.files = files
        self.people = People(self._context)
        self.projects = Projects(self._context)
        self.collections = Collections(self._context, files)
        self.documents = Documents(self._context)
        self.runs = Runs(self._context)
        self.queue = Queue(self._context)
        self.answers = Answers(self._context)
        self.jobs = Jobs(self._context)
        self.audit = Audit(self._context)

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._context.db.close()

    def worker_runs(self) -> bool:
        """Whether a worker process is there to do the jobs."""
        return is_locked(self.folder / "worker.lock")

    def perform(self, job: Job) -> dict[str, Any] | None:
        """Do what a job asks for; the worker calls it."""
        if job.kind == "run":
            from isthmus.workspace.work import do_run  # loads the methods, which a server that only shows never needs

            return do_run(self._context, self.runs.get(str(job.run)))
        if job.kind == "import":
            return {"documents": self.collections.read_documents(job.payload["collection"])}
        raise DataError(f"There is no kind of job called {job.kind[:40]!r}.", code="bad-workspace")


def open_workspace(folder: str | os.PathLike | None = None, database: str | None = None) -> Workspace:
    """Open a workspace, or make a new one; its tables are brought to the form this version knows.

    Parameters
    ----------
    folder : path, optional
        Where files and models lie; the environment variable ``ISTHMUS_WORKSPACE``, or ``isthmus-workspace`` in the
        current folder, if omitted.
    database : str, optional
        Address of a PostgreSQL database (``postgresql://USER:PASSWORD@HOST/NAME``). If omitted, a SQLite file in the
        folder.

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
    place = Path(folder or os.environ.get(FOLDER_VARIABLE) or "isthmus-workspace").absolute()
    if place.exists() and not place.is_dir():
        raise UsageError(f"{str(place)!r} is a file; a workspace is a folder.", code="bad-parameter")
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    return Workspace(place, database or f"sqlite:///{place / _DATABASE_FILE}")
