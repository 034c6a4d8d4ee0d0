"""Fit the temperature of the pooled vote."""

from __future__ import annotations

from isthmus.choose.decision import Decision
from isthmus.choose.stages.apply import Temperature, find_power


def fit(decision: Decision) -> None:
    """Adjust the mean confidence outside new groups to the expected accuracy.

    Parameters
    ----------
    decision : Decision
    """
    expected = decision.accuracy.for_calibration
    if expected is not None:
        decision.add(Temperature(find_power(decision.proba[decision.outside], expected)))
