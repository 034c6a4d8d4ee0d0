"""Last: projects, collections, runs, answers and jobs in SQL. SQLite by default, PostgreSQL by its address; no web."""

from typing import TYPE_CHECKING

from isthmus._lazy import lazy_names

_PUBLIC = {
    "Workspace": "isthmus.workspace.store",
    "open_workspace": "isthmus.workspace.store",
    "restore_workspace": "isthmus.workspace.store",
    "start_worker": "isthmus.workspace.worker",
    "stop_worker": "isthmus.workspace.worker",
    "work": "isthmus.workspace.worker",
}

__all__ = sorted(_PUBLIC)

if TYPE_CHECKING:  # for editors and type checkers; at run time __getattr__ does this
    from isthmus.workspace.store import Workspace, open_workspace, restore_workspace
    from isthmus.workspace.worker import start_worker, stop_worker, work

__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
