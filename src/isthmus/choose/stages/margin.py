"""Fit the confidence of labels from their margins."""

from __future__ import annotations

from isthmus.choose.decision import Decision
from isthmus.choose.stages.apply import Margin, find_shift


def fit(decision: Decision) -> None:
    """Set confidences from margins, with the expected accuracy as their mean outside new groups.

    Parameters
    ----------
    decision : Decision
    """
    expected = decision.accuracy.for_calibration
    if expected is not None:
        decision.add(Margin(find_shift(decision.proba[decision.outside], expected)))
