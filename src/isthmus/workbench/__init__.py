"""Meet: the web pages over a workspace, where a team reviews, teaches and trusts."""

from typing import TYPE_CHECKING

from isthmus._lazy import lazy_names

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

__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
