"""Score: metrics on labels and on pairs, intervals, calibration, significance tests. Pure functions on arrays."""

from isthmus._lazy import lazy_names

_MODULES = {
    "agreement": "count_labels fleiss_kappa krippendorff_alpha",
    "calibration": "CalibrationBin expected_calibration_error reliability_table",
    "labels": "Contingency PairScores accuracy adjusted_rand contingency error_rate macro_f1 micro_f1 pair_scores",
    "significance": "Interval McNemarResult PairedTResult bootstrap_interval mcnemar paired_t_test wilson_interval",
}
_PUBLIC = {name: f"isthmus.evaluate.{module}" for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_PUBLIC)

__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
