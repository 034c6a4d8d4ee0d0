"""Score: metrics on labels and on pairs, intervals, calibration, significance tests. Pure functions on arrays."""

from isthmus.evaluate.agreement import count_labels, fleiss_kappa, krippendorff_alpha
from isthmus.evaluate.calibration import CalibrationBin, expected_calibration_error, reliability_table
from isthmus.evaluate.labels import (
    Contingency,
    PairScores,
    accuracy,
    adjusted_rand,
    contingency,
    error_rate,
    macro_f1,
    micro_f1,
    pair_scores,
)
from isthmus.evaluate.significance import (
    Interval,
    McNemarResult,
    PairedTResult,
    bootstrap_interval,
    mcnemar,
    paired_t_test,
    wilson_interval,
)

__all__ = [
    "CalibrationBin",
    "Contingency",
    "Interval",
    "McNemarResult",
    "PairScores",
    "PairedTResult",
    "accuracy",
    "adjusted_rand",
    "bootstrap_interval",
    "contingency",
    "count_labels",
    "error_rate",
    "expected_calibration_error",
    "fleiss_kappa",
    "krippendorff_alpha",
    "macro_f1",
    "mcnemar",
    "micro_f1",
    "pair_scores",
    "paired_t_test",
    "reliability_table",
    "wilson_interval",
]
