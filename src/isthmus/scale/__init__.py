"""Files larger than memory, and clusters: the same statistics of blocks, on one machine or on many."""

from importlib import import_module
from typing import Any

# Public name -> module that is loaded at the first use.
_PUBLIC = {
    "LargeClusters": "isthmus.scale.cluster",
    "LargeResult": "isthmus.scale.label",
    "cluster_files": "isthmus.scale.cluster",
    "label_files": "isthmus.scale.label",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
