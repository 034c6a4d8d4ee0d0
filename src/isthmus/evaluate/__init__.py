"""Score labels, groups and the agreement of annotators with functions on arrays."""

from isthmus._lazy import lazy_names

_MODULES = {
    "agreement": "count_labels fleiss_kappa krippendorff_alpha",
    "labels": "PairScores accuracy adjusted_rand error_rate macro_f1 micro_f1 pair_scores",
}
_PUBLIC = {name: f"isthmus.evaluate.{module}" for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_PUBLIC)

__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
