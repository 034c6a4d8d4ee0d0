"""Estimate from answers how many labels are right now, and how much more answers would improve them."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, log, sqrt
from typing import Any

import numpy as np

from isthmus._math.fitted import fitted
from isthmus._math.samples import two_sided_z, wilson_ends
from isthmus.feedback.correction import Correction, make_folds, widen_vote
from isthmus.feedback.softmax_ridge import fit_softmax_ridge, span_rows
from isthmus.feedback.views import centred_logs

# Fitted constants; ``choose/trust.json`` states their units and origin.
BY_ANSWERS = fitted("accuracy_by_answers")

RATE = 0.9  # probability that an interval contains the true value


@dataclass(frozen=True)
class Expectation:
    """Expected share of right labels.

    Attributes
    ----------
    estimate : float
    low, high : float
        Interval that should contain the true share in ``rate`` of all cases.
    basis : str
        Evidence: "random" (held-out answers drawn at random) or "weighted" (held-out answers of any kind, weighted so
        that uncertain documents count as often as they occur).
    answers : int
        Number of answers behind the estimate.
    rate : float
    outside_groups : float or None
        Share of right labels among documents of no new group, if there are new groups.
    open_outside : float or None
        Share of right labels among documents without an answer and outside new groups.
    """

    estimate: float
    low: float
    high: float
    basis: str
    answers: int
    rate: float = RATE
    outside_groups: float | None = None
    open_outside: float | None = None


def expect_accuracy(
    right: np.ndarray,
    drawn_at_random: np.ndarray,
    held_out_confidence: np.ndarray,
    confidence: np.ndarray,
    population: int,
    *,
    in_groups: np.ndarray | None = None,
    answered_in_groups: np.ndarray | None = None,
) -> Expectation:
    """Estimate the accuracy of all labels after answers were learned.

    Answered documents count as right. For the other documents, the estimate uses held-out answers, which the correction
    had not learned. With at least 30 answers drawn at random, it is their share of right labels. Otherwise answers of
    every kind are divided into five bands of confidence. The accuracy of a band is its share of right answers, with the
    band's mean confidence as five more answers. Bands are weighted by the number of documents in them. Answers to
    uncertain documents therefore do not lower the estimate for confident documents.

    Parameters
    ----------
    right : ndarray of bool, shape (n_answers,)
        Whether the held-out label of each answered document is right.
    drawn_at_random : ndarray of bool, shape (n_answers,)
    held_out_confidence : ndarray of shape (n_answers,)
    confidence : ndarray of shape (n_open,)
        Confidences of the documents without an answer that are in no new group.
    population : int
        Number of all documents.
    in_groups : ndarray of shape (n_open_in_groups,), optional
        Confidences of the documents without an answer in new groups; they are one band of their own.
    answered_in_groups : ndarray of bool, shape (n_answers,), optional
        Answered documents of that band.

    Returns
    -------
    Expectation

    Examples
    --------
    >>> right = np.array([True] * 45 + [False] * 15)
    >>> found = expect_accuracy(right, np.ones(60, dtype=bool), np.full(60, 0.9), np.full(940, 0.9), 1000)
    >>> found.basis, round(found.estimate, 3)  # (60 + 0.75 * 940) / 1000
    ('random', 0.765)
    """
    z = two_sided_z(RATE)
    grouped = np.zeros(0) if in_groups is None else in_groups
    open_ = len(confidence) + len(grouped)
    if drawn_at_random.sum() >= BY_ANSWERS["fewest"]:
        counted = right[drawn_at_random]
        basis, share, n = "random", float(counted.mean()), len(counted)
        outside = share
        # If few documents are open, their own share varies by chance, too; hence the smaller effective sample. OFF
        # covers errors that do not decrease with the number of answers.
        low, high = wilson_ends(share, 1 / (1 / n + 1 / max(1, open_)), z)
        low = max(0.0, share - hypot(share - low, z * BY_ANSWERS["off"]))
        high = min(1.0, share + hypot(high - share, z * BY_ANSWERS["off"]))
    else:
        basis, n = "weighted", len(right)
        own = np.zeros(n, dtype=bool) if answered_in_groups is None else answered_in_groups
        outside, spread = _weighted_share(right[~own], held_out_confidence[~own], confidence)
        inside, group_spread = _weighted_share(right[own], held_out_confidence[own], grouped, bands=1)
        part = len(grouped) / max(1, open_)
        share = (1 - part) * outside + part * inside
        reach = z * sqrt(((1 - part) * spread) ** 2 + (part * group_spread) ** 2 + BY_ANSWERS["off"] ** 2)
        low, high = max(0.0, share - reach), min(1.0, share + reach)

    def of_all(value: float) -> float:
        return (population - open_ + value * open_) / population

    found = of_all(share), of_all(low), of_all(high)
    return Expectation(*found, basis, n, outside_groups=outside if len(grouped) else None, open_outside=outside)


def _weighted_share(
    right: np.ndarray, held_out: np.ndarray, confidence: np.ndarray, bands: int = BY_ANSWERS["bands"]
) -> tuple[float, float]:
    """Return the post-stratified accuracy and its standard error."""
    if not len(confidence):
        return 1.0, 0.0
    band, own = _in_bands(held_out, confidence, bands)
    share = variance = 0.0
    for number in np.unique(band):
        part, mean = float(np.mean(band == number)), float(confidence[band == number].mean())
        counted = right[own == number]
        estimate = (float(counted.sum()) + BY_ANSWERS["belief"] * mean) / (len(counted) + BY_ANSWERS["belief"])
        share += part * estimate
        variance += part**2 * max(estimate * (1 - estimate), 0.01) / (len(counted) + BY_ANSWERS["belief"])
    return share, sqrt(variance)


def _in_bands(
    held_out: np.ndarray, confidence: np.ndarray, bands: int = BY_ANSWERS["bands"]
) -> tuple[np.ndarray, np.ndarray]:
    # Bands contain equal numbers of documents.
    edges = np.unique(np.quantile(confidence, np.linspace(0, 1, bands + 1)[1:-1]))
    return np.digitize(confidence, edges), np.digitize(held_out, edges)


@dataclass(frozen=True)
class Outlook:
    """Expected gain of accuracy from more answers, in shares of all labels."""

    answers: int
    gain: float
    margin: float

    def __str__(self) -> str:
        """Return the forecast as a sentence."""
        return f"{self.answers} more answers: {100 * self.gain:+.0f} ± {100 * self.margin:.0f} points"


def right_by_size(
    rows: Any, vote: np.ndarray, codes: np.ndarray, correction: Correction, random_state: int | None = 0
) -> dict[int, np.ndarray]:
    """Measure held-out answers after training on different numbers of answers.

    Parameters
    ----------
    rows : CSR matrix or ndarray of shape (n_answers, n_features)
    vote : ndarray of shape (n_answers, n_vote_classes)
    codes : ndarray of int, shape (n_answers,)
        The answers.
    correction : Correction
        Provides the settings of the fits.
    random_state : int or None

    Returns
    -------
    dict of int to ndarray of shape (n_answers,)
        1 for a right held-out label, by number of training answers. Entry 0 measures the vote. For every other entry,
        each answer is predicted once by a correction that was trained on a part of the other answers.
    """
    offset = centred_logs(widen_vote(vote, correction.new_shares, correction.doubt))
    # All sizes use the same setting, so that the curve shows only the effect of more answers.
    best = max(correction.table, key=lambda row: row["weight"])
    rng = np.random.default_rng(random_state)
    right = {0: (offset.argmax(axis=1) == codes).astype(float)}
    folds = make_folds(codes, random_state)
    # With fewer answers than columns, the fits are faster in the span of the rows.
    if len(codes) < rows.shape[1]:
        rows = span_rows(rows)[0]
    for share in (0.25, 0.5, 1.0):
        hits, size = np.zeros(len(codes)), 0
        for fold in np.unique(folds):
            kept, out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            size = max(1, round(share * len(kept)))
            part = np.sort(rng.permutation(kept)[:size])
            coef = fit_softmax_ridge(rows[part], codes[part], best["trust"] * offset[part], best["strength"])
            hits[out] = (best["trust"] * offset[out] + rows[out] @ coef).argmax(axis=1) == codes[out]
        right[size] = hits
    return right


def band_weights(held_out: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Return the weight of each answer: its band's share of all documents, divided by the band's number of answers.

    Bands without an answer have no weight, because nothing is known about them.

    Parameters
    ----------
    held_out : ndarray of shape (n_answers,)
        Held-out confidence of each answer.
    confidence : ndarray of shape (n_documents,)

    Returns
    -------
    ndarray of shape (n_answers,)
    """
    band, own = _in_bands(held_out, confidence)
    return np.array([np.mean(band == number) / np.sum(own == number) for number in own])


def learning_curve(right_by_size: dict[int, np.ndarray], weights: np.ndarray | None = None) -> list[dict[str, float]]:
    """Return the share of right held-out answers by number of training answers.

    Parameters
    ----------
    right_by_size : dict of int to ndarray of shape (n_answers,)
    weights : ndarray of shape (n_answers,), optional

    Returns
    -------
    list of dict
        ``answers``, ``right``, ``margin`` (half the width of the interval).
    """
    rows = []
    for size, hits in sorted(right_by_size.items()):
        part = np.full(len(hits), 1 / len(hits)) if weights is None else weights / max(float(weights.sum()), 1e-12)
        right = float(part @ hits)
        margin = two_sided_z(RATE) * sqrt(float(part**2 @ (np.asarray(hits, dtype=float) - right) ** 2))
        rows.append({"answers": int(size), "right": right, "margin": margin})
    return rows


def outlook(
    right_by_size: dict[int, np.ndarray], n_answers: int, more: int, weights: np.ndarray | None = None
) -> Outlook:
    """Forecast the gain of ``more`` answers by a curve accuracy = a + b · log(1 + answers / 25).

    b is fitted for each answer, which was right or wrong at every size, and averaged (or summed with ``weights``). Its
    standard error therefore comes from the answers themselves. A falling curve is due to chance or too few answers: the
    gain is then 0.

    Parameters
    ----------
    right_by_size : dict of int to ndarray of shape (n_answers,)
        Result of :func:`right_by_size`.
    n_answers, more : int
        Present and additional answers.
    weights : ndarray of shape (n_answers,), optional
        Result of :func:`band_weights`.

    Returns
    -------
    Outlook

    Examples
    --------
    >>> right = {0: np.zeros(50), 25: np.ones(50)}  # b = 1 / log 2
    >>> round(outlook(right, 25, 25).gain, 3)  # log(75 / 50) / log 2
    0.585
    """
    sizes = np.array(list(right_by_size), dtype=float)
    steps = np.log1p(sizes / BY_ANSWERS["half"])
    centred = steps - steps.mean()
    hits = np.array([np.asarray(right_by_size[int(size)], dtype=float) for size in sizes])
    slopes = centred @ hits / float(centred @ centred)
    weights = np.full(len(slopes), 1 / len(slopes)) if weights is None else weights
    slope = float(weights @ slopes)
    middle = slope / max(float(weights.sum()), 1e-12)
    spread = sqrt(float(weights**2 @ (slopes - middle) ** 2))
    rise = log((BY_ANSWERS["half"] + n_answers + more) / (BY_ANSWERS["half"] + n_answers))
    return Outlook(more, max(0.0, slope * rise), two_sided_z(RATE) * spread * rise)
