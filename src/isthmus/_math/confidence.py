"""How sure labels are: powers of probabilities, an accuracy with its interval, what a budget of errors lets pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from isthmus.exceptions import UsageError

CONFIDENCE_LEVEL = 0.9
ALONE = 2.5  # how far above the mean, in log-odds, the confidence of one method's label is believed
WRONGLY_MARKED = 0.25  # share of documents in announced groups that do belong to a class (suite "trust")
_CLIP = 0.02  # beyond 2 % and 98 % a difference in log-odds says more about chance than about labels
_EDGE = 1e-6


@dataclass(frozen=True)
class AccuracyEstimate:
    """The share of right labels to expect, with an interval that should hold it in ``confidence_level`` of all cases.

    ``estimate`` is None where nothing can be said; the interval is then 0 to 1 and ``reason`` says why. Otherwise
    ``reason`` names what makes the interval wider than usual, if anything does. ``outside_groups`` is the share to
    expect among documents of no new group, where there is such a group.
    """

    estimate: float | None
    low: float = 0.0
    high: float = 1.0
    confidence_level: float = CONFIDENCE_LEVEL
    reason: str = ""
    outside_groups: float | None = None

    @property
    def for_calibration(self) -> float | None:
        """What the confidence of documents outside new groups should be on average."""
        return self.estimate if self.outside_groups is None else self.outside_groups

    @property
    def caution(self) -> float:
        """From the estimate down to the low end of the interval, in log-odds; 0 where nothing is estimated."""
        if self.estimate is None:
            return 0.0
        return max(0.0, float(clipped_logit(self.estimate) - clipped_logit(self.low)))

    @property
    def surest_alone(self) -> float:
        """What a document of a single method can count for at most: its own confidences say little beyond that."""
        return 1.0 if self.estimate is None else float(expit(clipped_logit(self.estimate) + ALONE))

    def raised(self, by: float, by_outside: float) -> AccuracyEstimate:
        """Return a higher estimate, for example after two confused classes were merged.

        Parameters
        ----------
        by : float
            Increase of the estimate and of its interval.
        by_outside : float
            Increase among documents outside new groups.

        Returns
        -------
        AccuracyEstimate
        """
        if self.estimate is None:
            return self
        outside = None if self.outside_groups is None else min(1.0, self.outside_groups + by_outside)
        return replace(
            self,
            estimate=min(1.0, self.estimate + by),
            low=min(1.0, self.low + by),
            high=min(1.0, self.high + by),
            outside_groups=outside,
        )

    def __str__(self) -> str:
        if self.estimate is None:
            return f"not estimated: {self.reason or 'too few documents, or labels that cannot be learned from words'}"
        return f"{self.estimate:.0%} ({self.low:.0%} to {self.high:.0%} in {self.confidence_level:.0%} of cases)"


def clipped_logit(share: Any) -> Any:
    """Log-odds of a share, or of an array of them, cut off near 0 and 1."""
    share = np.clip(share, _CLIP, 1 - _CLIP)
    return np.log(share / (1 - share))


def sharpen(probabilities: np.ndarray, power: float) -> np.ndarray:
    """Probabilities to a power, summing to one again: above 1 surer, below 1 less sure; the order stays."""
    logs = power * np.log(np.maximum(probabilities, 1e-300))
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def with_caution(confidence: Any, caution: float, surest: float = 1.0) -> np.ndarray:
    """Return confidences that are ``caution`` log-odds lower.

    The result corresponds to the low end of the expected accuracy's interval.

    Parameters
    ----------
    confidence : array-like of shape (n_documents,)
        Confidences.
    caution : float
        Log-odds to subtract.
    surest : float
        Upper limit of a confidence before the subtraction.

    Returns
    -------
    ndarray of shape (n_documents,)
    """
    return expit(logit(np.clip(np.asarray(confidence, dtype=float), _EDGE, min(surest, 1 - _EDGE))) - caution)


def lower_confidence_in_groups(confidence: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Confidence with that of documents in new groups cut to what is left for a wrong mark."""
    return np.where(groups != "", WRONGLY_MARKED * confidence, confidence)


def without_text(texts: Sequence[str]) -> np.ndarray:
    """Which documents hold nothing but blanks: they get labels, but count for no class."""
    return np.array([not text.strip() for text in texts], dtype=bool)


# Why a document needs review; of several reasons the first counts.
REVIEW_REASONS = {
    "found wrong": "read in a check: the label is wrong",
    "new group": "belongs to a group that fits no class of the source",
    "no known words": "the methods find nothing in it that they know",
    "methods disagree": "plain methods contradict the label",
    "not sure enough": "less sure than the error budget allows",
    "not estimated": "nothing says how often such labels are right",
    "too few are sure": "so few labels would pass the budget that none does",
    "not guaranteed": "outside the set that a checked sample guarantees",
}


def review_reasons(size: int, *, error_budget: float | None = None, **found: Any) -> np.ndarray:
    """Why each document needs review, '' where it does not; masks by reason, written with _ for blanks."""
    reasons = np.full(size, "", dtype=object)
    masks = {name.replace("_", " "): np.asarray(mask, dtype=bool) for name, mask in found.items()}
    if error_budget == 1:  # any share of wrong labels will do, so that nothing need be known about it
        masks.pop("not estimated", None)
    for name in REVIEW_REASONS:
        if name in masks:
            reasons[masks.pop(name) & (reasons == "")] = name
    assert not masks, f"{masks} are not among the reasons"
    if error_budget is not None:
        reasons[reasons == "not sure enough"] = f"not sure enough for {100 * error_budget:g} % errors"
    return reasons


def explain_reason(reason: str) -> str:
    return REVIEW_REASONS.get(reason.partition(" for ")[0], reason)


def review_later(
    probabilities: np.ndarray,
    codes: np.ndarray,
    groups: np.ndarray,
    unknown: np.ndarray,
    settings: Mapping[str, Any],
    *,
    unverified: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """How sure the labels of later documents are, and why each needs review, '' where it does not.

    ``probabilities`` are calibrated, ``groups`` are '' for none, ``unknown`` marks documents without a known term.
    ``unverified``: nothing says how often these labels are right.
    """
    confidence = lower_confidence_in_groups(probabilities[np.arange(len(codes)), codes], groups)
    cautious = confidence
    if "caution" in settings:  # an accuracy was estimated
        cautious = with_caution(confidence, settings["caution"], settings["surest"])
    budget = settings.get("error_budget", 0.1)
    reasons = review_reasons(
        len(codes),
        error_budget=budget,
        new_group=groups != "",
        no_known_words=unknown,
        not_sure_enough=review_mask(cautious, budget),
        not_estimated=np.full(len(codes), unverified),
    )
    return confidence, reasons


def review_mask(confidence, error_budget: float = 0.1, *, among_equals=None) -> np.ndarray:
    """Mark the documents to review, so that the expected share of wrong labels among the others is within the budget.

    The function accepts documents in order of decreasing confidence while the mean of (1 − confidence) of the accepted
    documents is within the budget. Documents that agree in confidence and in ``among_equals`` are accepted together or
    not at all. The result is only as good as the confidences, which are too high under a strong shift.

    Parameters
    ----------
    confidence : array-like of shape (n_documents,)
        Probability that the label is right.
    error_budget : float
        Accepted share of wrong labels, from 0 to 1.
    among_equals : array-like of shape (n_documents,), optional
        Documents of equal confidence with larger values are accepted first.

    Returns
    -------
    ndarray of bool of shape (n_documents,)
        True for documents to review.

    Raises
    ------
    UsageError
        The budget is not a share.

    Examples
    --------
    >>> from isthmus.choose import review_mask
    >>> review_mask([0.99, 0.6, 0.95, 0.5], error_budget=0.16).tolist()
    [False, False, False, True]
    """
    if not 0 <= error_budget <= 1:
        raise UsageError(f"error_budget={error_budget!r}; give a share between 0 and 1.", code="bad-parameter")
    confidence = np.asarray(confidence, dtype=float)
    second = confidence if among_equals is None else np.asarray(among_equals, dtype=float)
    order = np.lexsort((-second, -confidence))
    doubt = 1.0 - confidence[order]
    within = np.cumsum(doubt) / np.arange(1, len(doubt) + 1) <= error_budget + 1e-12
    accepted = int(within.sum())  # doubts rise, so that these come first
    alike = (confidence[order[1:]] == confidence[order[:-1]]) & (second[order[1:]] == second[order[:-1]])
    while 0 < accepted < len(order) and alike[accepted - 1]:
        accepted -= 1
    mask = np.ones(len(confidence), dtype=bool)
    mask[order[:accepted]] = False
    return mask
