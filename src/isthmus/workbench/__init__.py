"""Meet: the web pages over a workspace, where a team reviews, teaches and trusts."""

from typing import TYPE_CHECKING, Any

from isthmus._lazy import lazy_names
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

_get, __dir__ = lazy_names(__name__, _PUBLIC)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        for package in ("fastapi", "uvicorn"):
            import_optional(package, "The workbench", extra="workbench")
    return _get(name)
