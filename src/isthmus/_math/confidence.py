"""Compute the confidence of labels: calibration, accuracy with its interval, and review within an error budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from isthmus.exceptions import UsageError
from isthmus.wording import exact_percent, interval

CONFIDENCE_LEVEL = 0.9
ALONE = 2.5  # how far above the mean, in log-odds, the confidence of one method's label is believed
LEAST = 0.5  # confidence; a label below is more likely wrong than right, so its document never passes unread
WRONGLY_MARKED = 0.25  # share of documents in announced groups that do belong to a class (suite "trust")
_CLIP = 0.02  # beyond 2% and 98%, a difference in log-odds reflects chance more than labels
_EDGE = 1e-6


@dataclass(frozen=True)
class AccuracyEstimate:
    """Expected share of correct labels, with an interval.

    Attributes
    ----------
    estimate : float or None
        None if no estimate is possible; the interval is then 0 to 1.
    low, high : float
        Ends of the interval.
    confidence_level : float
        Probability that the interval contains the true share.
    reason : str
        Reason why there is no estimate, or why the interval is wider than usual.
    outside_groups : float or None
        Expected share among documents outside new groups, if there are new groups.
    """

    estimate: float | None
    low: float = 0.0
    high: float = 1.0
    confidence_level: float = CONFIDENCE_LEVEL
    reason: str = ""
    outside_groups: float | None = None

    @property
    def for_calibration(self) -> float | None:
        """Mean confidence that documents outside new groups should have; None without an estimate."""
        return self.estimate if self.outside_groups is None else self.outside_groups

    @property
    def caution(self) -> float:
        """Distance from the estimate to the low end of the interval, in log-odds; 0 without an estimate."""
        if self.estimate is None:
            return 0.0
        return max(0.0, float(clipped_logit(self.estimate) - clipped_logit(self.low)))

    @property
    def surest_alone(self) -> float:
        """Largest confidence of a document labelled by one method; higher values of one method are not reliable."""
        return 1.0 if self.estimate is None else float(expit(clipped_logit(self.estimate) + ALONE))

    def raised(self, by: float, by_outside: float) -> AccuracyEstimate:
        """Return the estimate and its interval, raised by a difference, as after a merge of confused classes.

        Parameters
        ----------
        by : float
        by_outside : float
            Rise among documents outside new groups.

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
        """Return the estimate with its interval, or the reason why there is none."""
        if self.estimate is None:
            return f"not estimated: {self.reason or 'too few documents, or labels that cannot be learned from words'}"
        return interval(self.estimate, self.low, self.high)


def clipped_logit(share: Any) -> Any:
    """Return the log-odds of a share, clipped near 0 and 1.

    Parameters
    ----------
    share : float or ndarray

    Returns
    -------
    float or ndarray
    """
    share = np.clip(share, _CLIP, 1 - _CLIP)
    return np.log(share / (1 - share))


def with_caution(confidence: Any, caution: float, surest: float = 1.0) -> np.ndarray:
    """Lower confidences by ``caution`` log-odds, as if the accuracy were at the low end of its interval.

    Parameters
    ----------
    confidence : array-like
    caution : float
    surest : float, default=1.0
        Largest confidence before the correction.

    Returns
    -------
    ndarray
    """
    return expit(logit(np.clip(np.asarray(confidence, dtype=float), _EDGE, min(surest, 1 - _EDGE))) - caution)


def shift_to_mean(shares: np.ndarray, mean: float) -> np.ndarray:
    """Shift the log-odds of shares by one number, such that their mean has the given value.

    Parameters
    ----------
    shares : ndarray of shape (n,)
    mean : float
        Clipped to 0.001–0.999.

    Returns
    -------
    ndarray of shape (n,)
    """
    from scipy.optimize import brentq

    log_odds, wanted = logit(np.clip(shares, _EDGE, 1 - _EDGE)), min(max(mean, 1e-3), 1 - 1e-3)
    return expit(log_odds + brentq(lambda shift: float(expit(log_odds + shift).mean()) - wanted, -30, 30))


def lower_confidence_in_groups(confidence: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Multiply confidences in new groups by the probability that the mark is wrong.

    Parameters
    ----------
    confidence : ndarray of shape (n_documents,)
    groups : ndarray of str of shape (n_documents,)
        '' outside new groups.

    Returns
    -------
    ndarray of shape (n_documents,)
    """
    return np.where(groups != "", WRONGLY_MARKED * confidence, confidence)


def without_text(texts: Sequence[str]) -> np.ndarray:
    """Mark texts that are blank: they get labels but count for no class.

    Parameters
    ----------
    texts : sequence of str

    Returns
    -------
    ndarray of bool of shape (n_texts,)
    """
    return np.array([not text.strip() for text in texts], dtype=bool)


# Why a document needs review; of several reasons the first counts.
REVIEW_REASONS = {
    "found wrong": "read in a check: the label is wrong",
    "new group": "belongs to a group that fits no class of the source",
    "no known words": "the methods find nothing in it that they know",
    "methods disagree": "plain methods contradict the label",
    "not sure enough": "less sure than the error budget of the finished file allows",
    "not estimated": "nothing says how often such labels are right",
    "not guaranteed": "outside the set that a checked sample guarantees",
}


def review_reasons(size: int, *, error_budget: float | None = None, **found: Any) -> np.ndarray:
    """Return the reason why each document needs review, '' for none; of several reasons the first in the table counts.

    Parameters
    ----------
    size : int
    error_budget : float, optional
        Completes the reason "not sure enough".
    **found : array-like of bool
        One mask per reason; the name has _ for blanks.

    Returns
    -------
    ndarray of str of shape (size,)
    """
    reasons = np.full(size, "", dtype=object)
    masks = {name.replace("_", " "): np.asarray(mask, dtype=bool) for name, mask in found.items()}
    if error_budget == 1:  # any share of wrong labels will do, so that nothing need be known about it
        masks.pop("not estimated", None)
    for name in REVIEW_REASONS:
        if name in masks:
            reasons[masks.pop(name) & (reasons == "")] = name
    assert not masks, f"{masks} are not among the reasons"
    if error_budget is not None:
        reasons[reasons == "not sure enough"] = f"not sure enough for {exact_percent(error_budget)} errors"
    return reasons


def explain_reason(reason: str) -> str:
    """Return the explanation of a review reason.

    Parameters
    ----------
    reason : str

    Returns
    -------
    str
        The reason itself if it is not in the table.
    """
    return REVIEW_REASONS.get(reason.partition(" for ")[0], reason)


def review_later(
    confidence: np.ndarray,
    groups: np.ndarray,
    unknown: np.ndarray,
    settings: Mapping[str, Any],
    *,
    unverified: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the confidences of later documents and the reasons for their review.

    Parameters
    ----------
    confidence : ndarray of shape (n_documents,)
        Calibrated.
    groups : ndarray of str of shape (n_documents,)
        New group of each document, '' for none.
    unknown : ndarray of bool of shape (n_documents,)
        Documents without a known term.
    settings : mapping
        Settings of the result.
    unverified : bool, default=False
        Whether no estimate of the accuracy of these labels exists.

    Returns
    -------
    confidence : ndarray of shape (n_documents,)
    reasons : ndarray of str of shape (n_documents,)
        '' for a document that needs no review.
    """
    confidence = lower_confidence_in_groups(confidence, groups)
    cautious = confidence
    if "caution" in settings:  # an accuracy was estimated
        cautious = with_caution(confidence, settings["caution"], settings["surest"])
    budget = settings.get("error_budget", 0.1)
    reasons = review_reasons(
        len(confidence),
        error_budget=budget,
        new_group=groups != "",
        no_known_words=unknown,
        not_sure_enough=review_mask(cautious, budget, must_read=(groups != "") | unknown),
        not_estimated=np.full(len(confidence), unverified),
    )
    return confidence, reasons


def review_mask(
    confidence: Any, error_budget: float = 0.1, *, among_equals: Any = None, must_read: Any = None
) -> np.ndarray:
    """Mark documents to review, so that the finished file should contain at most ``error_budget`` wrong labels.

    The finished file contains all documents, with corrected labels where a person read the document. Documents pass by
    falling confidence, as long as the sum of (1 − confidence) of the passing documents, divided by the number of all
    documents, stays within the budget. A document whose label is more likely wrong than right (confidence below 0.5)
    never passes, unless the budget is 1. Documents with equal values pass together or not at all. The result is only as
    good as the confidences: under a strong shift they are too high.

    Parameters
    ----------
    confidence : array-like of shape (n_documents,)
    error_budget : float, default=0.1
    among_equals : array-like of shape (n_documents,), optional
        Orders documents of equal confidence, larger values first.
    must_read : array-like of bool, shape (n_documents,), optional
        Documents that are read in any case; their wrong labels do not count.

    Returns
    -------
    ndarray of bool of shape (n_documents,)

    Raises
    ------
    UsageError
        With code ``bad-parameter`` if the budget is not between 0 and 1.

    Examples
    --------
    >>> from isthmus.choose import review_mask
    >>> review_mask([0.99, 0.6, 0.95, 0.7], error_budget=0.1).tolist()  # (0.01 + 0.05 + 0.3) / 4 = 0.09
    [False, True, False, False]
    """
    if not 0 <= error_budget <= 1:
        raise UsageError(f"error_budget={error_budget!r}; give a share between 0 and 1.", code="bad-parameter")
    confidence = np.asarray(confidence, dtype=float)
    second = confidence if among_equals is None else np.asarray(among_equals, dtype=float)
    may_pass = confidence >= (0.0 if error_budget == 1 else LEAST)
    if must_read is not None:
        may_pass &= ~np.asarray(must_read, dtype=bool)
    order = np.lexsort((-second, -confidence))
    order = order[may_pass[order]]
    within = np.cumsum(1.0 - confidence[order]) <= (error_budget + 1e-12) * len(confidence)
    accepted = int(within.sum())  # the sum rises, so that these documents come first
    alike = (confidence[order[1:]] == confidence[order[:-1]]) & (second[order[1:]] == second[order[:-1]])
    while 0 < accepted < len(order) and alike[accepted - 1]:
        accepted -= 1
    mask = np.ones(len(confidence), dtype=bool)
    mask[order[:accepted]] = False
    return mask


@dataclass(frozen=True)
class ExpectedErrors:
    """Expected shares of wrong labels, after the marked documents were read and corrected.

    Attributes
    ----------
    finished_file : float
        Wrong labels among all documents.
    unread : float or None
        Wrong labels among the unread documents; None if all documents are read.
    """

    finished_file: float
    unread: float | None

    @classmethod
    def of(cls, confidence: Any, needs_review: Any) -> ExpectedErrors:
        """Compute both shares from calibrated confidences.

        Parameters
        ----------
        confidence : array-like of shape (n_documents,)
        needs_review : array-like of bool, shape (n_documents,)

        Returns
        -------
        ExpectedErrors

        Examples
        --------
        >>> from isthmus.choose import ExpectedErrors
        >>> ExpectedErrors.of([0.9, 0.7, 0.6, 0.4], [False, False, True, True])
        ExpectedErrors(finished_file=0.1, unread=0.2)
        """
        unread = ~np.asarray(needs_review, dtype=bool)
        wrong = float(np.sum(1.0 - np.asarray(confidence, dtype=float)[unread]))
        n = int(unread.sum())
        return cls(round(wrong / max(1, len(unread)), 6), round(wrong / n, 6) if n else None)
