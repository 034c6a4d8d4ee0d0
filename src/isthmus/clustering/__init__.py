"""Cross-guided k-means and the alignment of clusters with source groups."""

from importlib import import_module
from typing import Any

_PUBLIC = {
    "CrossGuidedKMeans": "isthmus.clustering.guided",
    "GuidanceEstimate": "isthmus.clustering.guidance",
    "Match": "isthmus.clustering.alignment",
    "estimate_guidance_gain": "isthmus.clustering.guidance",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
