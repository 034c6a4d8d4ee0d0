"""Compare later documents with the collection on which a model was fitted, and estimate the accuracy of their labels.

The model gives its confidence in later documents, and its members agree about them more or less often. A batch like the
collection has the accuracy of the collection. Of an unlike batch, the log-odds of a right label differ from those of
the collection as the log-odds of the mean confidence do (a difference of confidences: Guillory and others, ICCV 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logit

from isthmus._math.confidence import AccuracyEstimate, clipped_logit
from isthmus._math.fitted import fitted
from isthmus._math.samples import two_sided_z
from isthmus.exceptions import DataError

# Fitted constants; ``choose/trust.json`` states their units and origin.
LATER = fitted("later")

_EDGE = 1e-6  # smallest distance of a share from 0 and 1, so that its log-odds are finite
READ = 1_000  # documents of each side whose words are compared


@dataclass
class Collection:
    """Figures of documents, one entry per document, and figures of their words.

    Attributes
    ----------
    confidence : ndarray of shape (n_documents,)
        Calibrated confidence before documents in new groups are lowered.
    codes : ndarray of int, shape (n_documents,)
        Class of each document.
    agreement : ndarray of shape (n_documents,) or None
        Share of pairs of methods that agree; None for a single method.
    outside : ndarray of bool, shape (n_documents,)
        Documents that belong to no new group.
    """

    confidence: np.ndarray
    codes: np.ndarray
    agreement: np.ndarray | None
    outside: np.ndarray


def pair_agreement(opinions: dict[str, np.ndarray], names: Sequence[str]) -> np.ndarray | None:
    """Return the share of pairs of methods that give a document the same label.

    Parameters
    ----------
    opinions : dict of str to ndarray of shape (n_documents, n_classes)
    names : sequence of str
        Methods to compare.

    Returns
    -------
    ndarray of shape (n_documents,) or None
        None for fewer than two methods.
    """
    labels = [opinions[name].argmax(axis=1) for name in names]
    pairs = [first == second for place, first in enumerate(labels) for second in labels[:place]]
    return np.mean(pairs, axis=0) if pairs else None


def compare_words(earlier: Sequence[str], later: Sequence[str], language: str) -> tuple[list[dict], list[dict]]:
    """Compare the words of later documents with those of the collection.

    Parameters
    ----------
    earlier, later : sequence of str
    language : str

    Returns
    -------
    rows : list of dict
        Measures "familiar words" and "length", as in :func:`compare_documents`; empty without a word.
    words : list of dict
        Words whose frequency differs most; see :func:`isthmus.shift.space.shifted_words`.
    """
    # Imported here, because a saved model labels a few documents without scikit-learn.
    from isthmus.features.vectorizer import TextVectorizer
    from isthmus.shift.space import shifted_words, spread

    earlier, later = ([texts[i] for i in spread(len(texts), READ)] for texts in (earlier, later))
    vectorizer = TextVectorizer(stem=False, language=language, min_df=1)
    try:
        counts = sp.csr_matrix(vectorizer.fit_transform([*earlier, *later]))
    except DataError:  # no text contains a word
        return [], []
    n = len(earlier)
    present = (counts > 0).astype(float)
    frequency = np.asarray(present[:n].sum(axis=0)).ravel()
    size = np.asarray(present.sum(axis=1)).ravel()
    # A document of the collection knows its own words, so only words of other documents count.
    familiar = np.r_[present[:n] @ (frequency > 1), present[n:] @ (frequency > 0)] / np.maximum(size, 1)
    filled = size > 0
    sides = np.arange(n)[filled[:n]], np.arange(n, len(size))[filled[n:]]
    if min(map(len, sides)) < 2:
        return [], []
    rows = [_row("familiar words", familiar[sides[0]], familiar[sides[1]])]
    lengths = np.log(size[sides[0]]), np.log(size[sides[1]])
    difference, error = lengths[1].mean() - lengths[0].mean(), sqrt(sum(part.var() / len(part) for part in lengths))
    unlike = abs(difference) > LATER["length"] + LATER["z"] * error
    there, here = (float(np.exp(part.mean())) for part in lengths)
    rows.append(_entry("length", there, here, difference, unlike))
    return rows, shifted_words(counts, vectorizer.get_feature_names_out(), n)


def compare_documents(earlier: Collection, later: Collection, n_classes: int) -> list[dict[str, Any]]:
    """Compare class proportions, confidence and agreement of later documents with those of the collection.

    Parameters
    ----------
    earlier, later : Collection
    n_classes : int

    Returns
    -------
    list of dict
        ``measure``, ``collection`` and ``later`` (the two values), ``difference`` and ``unlike``: whether the
        difference is larger than chance and than differences between batches of one collection.
    """
    counts = [np.bincount(side.codes, minlength=n_classes) for side in (earlier, later)]
    shares = [count / count.sum() for count in counts]
    pooled, sizes = sum(counts) / sum(map(np.sum, counts)), sum(1 / count.sum() for count in counts)
    # Mean of the distance for two samples from the same distribution: each class deviates by √(2 / π) standard errors.
    chance = 0.5 * float(np.sum(np.sqrt(pooled * (1 - pooled) * sizes))) * sqrt(2 / np.pi)
    distance = 0.5 * float(np.abs(shares[1] - shares[0]).sum())
    unlike = distance > LATER["shares"] + LATER["z"] * chance
    rows = [_entry("class proportions", 0.0, distance, distance, unlike)]
    rows.append(_row("confidence", earlier.confidence[earlier.outside], later.confidence[later.outside]))
    if earlier.agreement is not None and later.agreement is not None:
        rows.append(_row("agreement", earlier.agreement, later.agreement))
    return rows


def _row(measure: str, earlier: np.ndarray, later: np.ndarray) -> dict[str, Any]:
    """Compare the means of shares in log-odds; only a lower mean is unlike."""
    means = [float(part.mean()) if len(part) else 0.5 for part in (earlier, later)]
    difference = float(clipped_logit(means[1]) - clipped_logit(means[0]))
    if measure == "confidence":
        difference += LATER["offset"]
    slopes = [max(mean * (1 - mean), 0.02) for mean in means]
    parts = zip((earlier, later), slopes, strict=True)
    error = sqrt(sum(float(part.var()) / max(len(part), 1) / slope**2 for part, slope in parts))
    margin = {"familiar words": LATER["familiar"], "confidence": LATER["confidence"], "agreement": LATER["agreement"]}
    unlike = difference < -(margin[measure] + LATER["z"] * error)
    return _entry(measure, means[0], means[1], difference, unlike)


def _entry(measure: str, earlier: float, later: float, difference: float, unlike: Any) -> dict[str, Any]:
    row = {"measure": measure, "collection": round(float(earlier), 4), "later": round(float(later), 4)}
    return row | {"difference": round(float(difference), 4), "unlike": bool(unlike)}


def expect_later(base: AccuracyEstimate, rows: Sequence[dict], n_documents: int, in_groups: float) -> AccuracyEstimate:
    """Return the expected accuracy of later labels.

    Parameters
    ----------
    base : AccuracyEstimate
        Accuracy in the collection.
    rows : sequence of dict
        Result of :func:`compare_documents` and :func:`compare_words`.
    n_documents : int
        Later documents.
    in_groups : float
        Share of later documents in new groups; their labels count as wrong.

    Returns
    -------
    AccuracyEstimate
    """
    if base.estimate is None or base.for_calibration is None:
        return AccuracyEstimate(None, reason="no accuracy was estimated for the collection of the model")
    unlike = any(row["unlike"] for row in rows)
    difference = next(row["difference"] for row in rows if row["measure"] == "confidence")
    low, middle, outside, high = logit(
        np.clip([base.low, base.estimate, base.for_calibration, base.high], _EDGE, 1 - _EDGE)
    ).tolist()
    centre = outside + (LATER["slope"] * difference if unlike else 0.0)
    widths = [hypot(width, LATER["spread"] if unlike else 0.0) for width in (middle - low, high - middle)]
    outside = float(expit(centre))
    estimate = outside * (1 - in_groups)
    sampling = two_sided_z(base.confidence_level) * sqrt(max(estimate * (1 - estimate), 0.01) / n_documents)
    low, high = (
        float(expit(centre + sign * width)) * (1 - in_groups) for sign, width in zip((-1, 1), widths, strict=True)
    )
    return AccuracyEstimate(
        estimate,
        max(0.0, estimate - hypot(estimate - low, sampling)),
        min(1.0, estimate + hypot(high - estimate, sampling)),
        base.confidence_level,
        reason="the documents are unlike the collection of the model" if unlike else "",
        outside_groups=outside if in_groups else None,
    )


def unlike_warning(
    rows: Sequence[dict], words: Sequence[dict], expected: AccuracyEstimate, base: AccuracyEstimate | None, name: str
) -> list[dict[str, str]]:
    """Return a warning if later documents are unlike the collection, with the words that show it and the remedy.

    Parameters
    ----------
    rows, words : sequence of dict
        See :func:`compare_words`.
    expected, base : AccuracyEstimate
        Of the later labels, and of the collection.
    name : str
        Name of the collection.

    Returns
    -------
    list of dict
        Empty if the documents are like the collection.
    """
    found = [row for row in rows if row["unlike"]]
    if not found:
        return []
    differ = "; ".join(
        f"{row['measure']} {_shown(row, 'collection')} there, {_shown(row, 'later')} here" for row in found
    )
    more = [row["word"] for row in words if row["target"] > row["source"]][-5:][::-1]
    fewer = [row["word"] for row in words if row["target"] < row["source"]][:5]
    message = f"These documents are unlike {name}: {differ}."
    if more and fewer:
        message += f" More frequent here: {', '.join(more)}; there: {', '.join(fewer)}."
    lost = 0.0
    if expected.estimate is not None and base is not None and base.estimate is not None:
        lost = base.estimate - expected.estimate
        message += f" About {expected.estimate:.0%} of the labels are expected to be right, {base.estimate:.0%} there."
    remedy = "Answer about 100 of them and teach the answers"
    if lost >= LATER["refit"]:
        remedy = "Label them from the source again, so that the methods adapt to them, or answer about 100 of them"
    return [{"topic": "unlike", "message": f"{message} {remedy}."}]


def _shown(row: dict, side: str) -> str:
    return f"{row[side]:.0f}" if row["measure"] == "length" else f"{row[side]:.0%}"
