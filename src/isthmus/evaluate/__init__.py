"""Score: metrics on labels and on pairs, intervals, calibration, significance tests. Pure functions on arrays."""

from isthmus.evaluate.calibration import CalibrationBin, expected_calibration_error, reliability_table
from isthmus.evaluate.intervals import Interval, bootstrap_interval, wilson_interval
from isthmus.evaluate.labels import accuracy, error_rate, macro_f1, micro_f1
from isthmus.evaluate.pairs import Contingency, PairScores, adjusted_rand, contingency, pair_scores
from isthmus.evaluate.significance import McNemarResult, PairedTResult, mcnemar, paired_t_test

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
    "error_rate",
    "expected_calibration_error",
    "macro_f1",
    "mcnemar",
    "micro_f1",
    "pair_scores",
    "paired_t_test",
    "reliability_table",
    "wilson_interval",
]
