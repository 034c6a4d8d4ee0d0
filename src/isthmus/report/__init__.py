"""Draw charts and self-contained HTML pages from tables that other packages compute."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Public name -> module. Modules load on first use, so that text output loads no chart library.
_PUBLIC = {
    "cluster_card": "isthmus.report.cluster_page",
    "label_card": "isthmus.report.page",
    "write_cluster_report": "isthmus.report.cluster_page",
    "write_label_report": "isthmus.report.page",
}

__all__ = sorted(_PUBLIC)

if TYPE_CHECKING:  # for editors and type checkers; at run time __getattr__ does this
    from isthmus.report.cluster_page import cluster_card, write_cluster_report
    from isthmus.report.page import label_card, write_label_report


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
