"""The web application over a workspace: pages and a JSON interface for reviewing, teaching and checking labels."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from isthmus._utils import import_optional

_PUBLIC = {
    "Settings": "isthmus.workbench.settings",
    "make_app": "isthmus.workbench.app",
    "serve": "isthmus.workbench.server",
}

__all__ = sorted(_PUBLIC)

if TYPE_CHECKING:  # for editors and type checkers; at run time __getattr__ does this
    from isthmus.workbench.app import make_app
    from isthmus.workbench.server import serve
    from isthmus.workbench.settings import Settings


def __getattr__(name: str) -> Any:
    """Import a public name on first use and name the extra to install when a library is missing."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for package in ("fastapi", "uvicorn"):
        import_optional(package, "The workbench", extra="workbench")
    return getattr(import_module(_PUBLIC[name]), name)
