"""Projects, collections, runs, answers and jobs in SQL. SQLite is the default; an address selects PostgreSQL."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from isthmus._utils import import_optional

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


def __getattr__(name: str) -> Any:
    """Import a public name on first use and name the extra to install when a library is missing."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Check both libraries first, so that the error names the extra instead of a module deep inside SQLAlchemy.
    for package in ("sqlalchemy", "alembic"):
        import_optional(package, "A workspace", extra="workbench")
    return getattr(import_module(_PUBLIC[name]), name)
