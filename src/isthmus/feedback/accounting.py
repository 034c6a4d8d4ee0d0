"""What answers say about accuracy: how many labels are right now, and what more answers would bring."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, log, sqrt
from typing import Any

import numpy as np

from isthmus._math.samples import two_sided_z, wilson_ends
from isthmus.feedback.correction import Correction, make_folds, widen_vote
from isthmus.feedback.softmax_ridge import fit_softmax_ridge, span_rows
from isthmus.feedback.views import centred_logs

RATE = 0.9
FEWEST = 30  # answers drawn at random from which they alone are believed
BANDS = 5  # of confidence, for answers that were not drawn at random
BELIEF = 5.0  # a band's mean confidence counts as much as so many answers
OFF = 0.02  # standard error of answers of any kind beyond chance; how it was set: docs/measured/listen.md
HALF = 25.0  # answers at which the curve log(1 + n / HALF) has risen by log 2


@dataclass(frozen=True)
class Expectation:
    """Share of right labels to expect; ``low`` to ``high`` should hold it in ``rate`` of all cases.

    ``basis`` says what it rests on: "random" (answers drawn at random, held out) or "weighted" (answers of any kind,
    held out and weighted so that doubtful documents count as often as they occur). ``answers`` says how many.
    ``outside_groups`` is the share among documents of no new group, where there is such a group.
    """

    estimate: float
    low: float
    high: float
    basis: str
    answers: int
    rate: float = RATE
    outside_groups: float | None = None


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
    """Accuracy of all labels after answers were learned from.

    Answered documents count as right. For the others: the share of answers drawn at random that a correction which had
    not seen them got right, if there are at least 30 of those. Else answers of every kind are put into five bands of
    confidence; a band's accuracy is its share of right ones (with its mean confidence thrown in as five answers), and
    bands count by how many documents lie in them: answers to doubtful documents alone teach nothing wrong about the
    sure ones.

    ``right`` is about held-out labels. ``confidence`` and ``in_groups`` are of documents that were not answered: those
    in no new group, and those in one that no answer settled, which are a band of their own. ``population`` counts all
    documents.

    >>> right = np.array([True] * 45 + [False] * 15)
    >>> found = expect_accuracy(right, np.ones(60, dtype=bool), np.full(60, 0.9), np.full(940, 0.9), 1000)
    >>> found.basis, round(found.estimate, 3)  # (60 + 0.75 * 940) / 1000
    ('random', 0.765)
    """
    z = two_sided_z(RATE)
    grouped = np.zeros(0) if in_groups is None else in_groups
    open_ = len(confidence) + len(grouped)
    if drawn_at_random.sum() >= FEWEST:
        counted = right[drawn_at_random]
        basis, share, n = "random", float(counted.mean()), len(counted)
        outside = share
        # The others are few, too: their own share is off by chance, and by what goes beyond chance.
        low, high = wilson_ends(share, 1 / (1 / n + 1 / max(1, open_)), z)
        low = max(0.0, share - hypot(share - low, z * OFF))
        high = min(1.0, share + hypot(high - share, z * OFF))
    else:
        basis, n = "weighted", len(right)
        own = np.zeros(n, dtype=bool) if answered_in_groups is None else answered_in_groups
        outside, spread = _weighted_share(right[~own], held_out_confidence[~own], confidence)
        inside, group_spread = _weighted_share(right[own], held_out_confidence[own], grouped, bands=1)
        part = len(grouped) / max(1, open_)
        share = (1 - part) * outside + part * inside
        reach = z * sqrt(((1 - part) * spread) ** 2 + (part * group_spread) ** 2 + OFF**2)
        low, high = max(0.0, share - reach), min(1.0, share + reach)

    def of_all(value: float) -> float:
        return (population - open_ + value * open_) / population

    found = of_all(share), of_all(low), of_all(high)
    return Expectation(*found, basis, n, outside_groups=outside if len(grouped) else None)


def _weighted_share(
    right: np.ndarray, held_out: np.ndarray, confidence: np.ndarray, bands: int = BANDS
) -> tuple[float, float]:
    """Post-stratified accuracy and its standard error."""
    if not len(confidence):
        return 1.0, 0.0
    band, own = _in_bands(held_out, confidence, bands)
    share = variance = 0.0
    for number in np.unique(band):
        part, mean = float(np.mean(band == number)), float(confidence[band == number].mean())
        counted = right[own == number]
        estimate = (float(counted.sum()) + BELIEF * mean) / (len(counted) + BELIEF)
        share += part * estimate
        variance += part**2 * max(estimate * (1 - estimate), 0.01) / (len(counted) + BELIEF)
    return share, sqrt(variance)


def _in_bands(held_out: np.ndarray, confidence: np.ndarray, bands: int = BANDS) -> tuple[np.ndarray, np.ndarray]:
    edges = np.unique(np.quantile(confidence, np.linspace(0, 1, bands + 1)[1:-1]))
    return np.digitize(confidence, edges), np.digitize(held_out, edges)


@dataclass(frozen=True)
class Outlook:
    """What more answers would bring: ``gain`` ± ``margin`` points of accuracy for ``answers`` more."""

    answers: int
    gain: float
    margin: float

    def __str__(self) -> str:
        return f"{self.answers} more answers: {100 * self.gain:+.0f} ± {100 * self.margin:.0f} points"


def right_by_size(
    rows: Any, vote: np.ndarray, codes: np.ndarray, correction: Correction, random_state: int | None = 0
) -> dict[int, np.ndarray]:
    """Whether each answer was right while it was held out (1 or 0), by the number of answers learned from.

    The vote alone is the entry at 0. Each further one measures every answer once, by a correction that learned from a
    part of the others.
    """
    offset = centred_logs(widen_vote(vote, correction.new_shares, correction.doubt))
    best = max(correction.table, key=lambda row: row["weight"])
    rng = np.random.default_rng(random_state)
    right = {0: (offset.argmax(axis=1) == codes).astype(float)}
    folds = make_folds(codes, random_state)
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
    """What each answer stands for: its band's share of all documents, divided among the answers of the band.

    Nothing is known of bands without an answer: they count for nothing.
    """
    band, own = _in_bands(held_out, confidence)
    return np.array([np.mean(band == number) / np.sum(own == number) for number in own])


def learning_curve(right_by_size: dict[int, np.ndarray], weights: np.ndarray | None = None) -> list[dict[str, float]]:
    """Share right while held out, by the number of answers learned from: ``answers``, ``right``, ``margin``."""
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
    """Gain to expect of ``more`` answers, from a curve accuracy = a + b · log(1 + answers / 25).

    b is fitted answer by answer (each was right or wrong at every size) and averaged, or summed up with ``weights``
    (:func:`band_weights`), so its standard error comes from the answers themselves. A falling curve is chance, or too
    few answers: the gain is then 0.

    >>> right = {0: np.zeros(50), 25: np.ones(50)}  # b = 1 / log 2
    >>> round(outlook(right, 25, 25).gain, 3)  # log(75 / 50) / log 2
    0.585
    """
    sizes = np.array(list(right_by_size), dtype=float)
    steps = np.log1p(sizes / HALF)
    centred = steps - steps.mean()
    hits = np.array([np.asarray(right_by_size[int(size)], dtype=float) for size in sizes])
    slopes = centred @ hits / float(centred @ centred)
    weights = np.full(len(slopes), 1 / len(slopes)) if weights is None else weights
    slope = float(weights @ slopes)
    middle = slope / max(float(weights.sum()), 1e-12)
    spread = sqrt(float(weights**2 @ (slopes - middle) ** 2))
    rise = log((HALF + n_answers + more) / (HALF + n_answers))
    return Outlook(more, max(0.0, slope * rise), two_sided_z(RATE) * spread * rise)
