"""Score labels, groups and the agreement of annotators with functions on arrays."""

from importlib import import_module
from typing import Any

_MODULES = {
    "agreement": "count_labels fleiss_kappa krippendorff_alpha",
    "labels": "PairScores accuracy adjusted_rand error_rate macro_f1 micro_f1 pair_scores",
}
_PUBLIC = {name: f"isthmus.evaluate.{module}" for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
