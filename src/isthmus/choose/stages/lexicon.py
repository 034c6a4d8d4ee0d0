"""Fit the weight of the labelled words next to the vote."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from isthmus.choose.candidates import FittedLexicon
from isthmus.choose.decision import Decision, agreement_and_seconds
from isthmus.choose.evidence import LabelScorer
from isthmus.choose.model import LexiconMember, Member
from isthmus.choose.stages.apply import LEXICON, Lexicon, match_columns

_FLOOR = 1e-3  # smallest probability before the logarithm
# Distances between two classes that are tried, in standard deviations of a score.
_DISTANCES = np.linspace(0.0, 4.0, 401)


def fit(decision: Decision) -> None:
    """Add the labelled words if they contain evidence that the vote does not contain.

    Parameters
    ----------
    decision : Decision
    """
    lexicon, expected = decision.candidates.lexicon, decision.accuracy.for_calibration
    if lexicon is None or expected is None:
        return
    assert decision.scorer is not None
    own = match_columns(lexicon.probabilities, lexicon.model.classes_, decision.classes)
    common = shared_errors(decision.scorer, lexicon.source_proba)
    weight = weigh_lexicon(decision.proba, own, expected, lexicon.accuracy, common)
    if weight:
        member = LexiconMember(Member.of(lexicon.model), lexicon.power, lexicon.offsets)
        decision.join(LEXICON, member, lexicon.probabilities)
        decision.add(Lexicon(weight))
        decision.estimate_again()
    decision.rows.append(table_row(lexicon, decision.labels, weight))


def table_row(lexicon: FittedLexicon, labels: np.ndarray, weight: float) -> dict:
    """Return the row of the decision table about the labelled words.

    Parameters
    ----------
    lexicon : FittedLexicon
    labels : ndarray of shape (n_target,)
    weight : float

    Returns
    -------
    dict
    """
    words = f"a general lexicon ({lexicon.found})" if lexicon.found else "the labelled words on their own"
    right = f"{words}, right about {lexicon.accuracy:.0%} of the source"
    why = f"{right}; counted for what they say beyond the vote" if weight else f"{right}, say nothing beyond the vote"
    row = {"method": lexicon.name, "chosen": weight > 0, "weight": round(weight, 3)}
    return row | agreement_and_seconds(lexicon, labels) | {"why": why}


def shared_errors(scorer: LabelScorer, lexicon_proba: np.ndarray) -> float:
    """Return the correlation of the lexicon's errors with those of a linear classifier in the source.

    Scores are compared within classes, so that common successes do not count. Documents without a labelled word are
    left out.

    Parameters
    ----------
    scorer : LabelScorer
    lexicon_proba : ndarray of shape (n_labelled, n_classes)
        Probabilities of the labelled source texts.

    Returns
    -------
    float
    """
    own = lexicon_proba[scorer.source]
    answers = scorer.words.source_decisions
    if answers is None:
        return 0.0
    if answers.ndim == 1:
        answers = np.column_stack([-answers, answers])
    has_words = np.ptp(own, axis=1) > 0
    labels = scorer.source_labels[has_words]
    scores = [_residuals(values[has_words], labels) for values in (answers, _centred_logs(own))]
    return _cosine(*scores)


def weigh_lexicon(
    own: np.ndarray, lexicon_proba: np.ndarray, accuracy: float, lexicon_accuracy: float, common: float
) -> float:
    """Return the weight of the lexicon next to the vote.

    Vote and lexicon are modelled as scores with standard deviation one within each class. Their accuracies determine
    the distance between the classes, and their errors have the correlation ``common`` (:func:`shared_errors`). The
    similarity of both scores over the target then determines how far apart the classes are for the lexicon there. This
    distance is at most the distance in the source (``lexicon_accuracy``). The result is the weight that a linear
    discriminant gives to the lexicon's log-odds, relative to its weight without the vote. Documents without a labelled
    word are left out.

    Parameters
    ----------
    own : ndarray of shape (n_target, n_classes)
        Probabilities by the vote.
    lexicon_proba : ndarray of shape (n_target, n_classes)
    accuracy : float
        Expected accuracy of the vote.
    lexicon_accuracy : float
        Accuracy of the lexicon in the source.
    common : float
        Correlation of the errors.

    Returns
    -------
    float
        From 0 (the lexicon adds nothing) to 1 (it is independent of the vote).
    """
    has_words = np.ptp(lexicon_proba, axis=1) > 0
    n_classes = own.shape[1]
    first = _distance(accuracy, n_classes)
    most = _distance(lexicon_accuracy, n_classes)
    if not has_words.any() or min(first, most) <= 0:
        return 0.0
    own = own[has_words]
    lexicon_proba = lexicon_proba[has_words]
    shares = np.bincount(own.argmax(axis=1), minlength=n_classes) / len(own)
    # Variance of a class indicator: by how much distances between classes increase the variance of a score.
    between = float(np.mean(shares * (1 - shares)))
    scores = [_centred_logs(rows) for rows in (own, lexicon_proba)]
    likeness = _cosine(*(rows - rows.mean(axis=0) for rows in scores))
    common = float(np.clip(common, 0.0, 0.9))
    spreads = np.sqrt((1 + between * first**2) * (1 + between * _DISTANCES**2))
    # For each distance, subtract the part of the similarity that the classes explain. The smallest distance at which
    # the rest is at most the common errors is the estimate.
    enough = likeness * spreads - between * first * _DISTANCES <= common
    second = min(most, float(_DISTANCES[enough.argmax()]) if enough.any() else most)
    # The vote already contains all evidence of the lexicon.
    if second <= common * first:
        return 0.0
    # Ratio of the weights in a linear discriminant of two correlated scores.
    beyond = (second - common * first) / max(first - common * second, 1e-9)
    return float(np.clip(beyond * first / second, 0.0, 1.0))


def _centred_logs(probabilities: np.ndarray) -> np.ndarray:
    logs = np.log(np.maximum(probabilities, _FLOOR))
    return logs - logs.mean(axis=1, keepdims=True)


def _residuals(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    rest = scores - scores.mean(axis=1, keepdims=True)
    for label in np.unique(labels):
        rest[labels == label] -= rest[labels == label].mean(axis=0)
    return rest


def _cosine(first: np.ndarray, second: np.ndarray) -> float:
    size = np.sqrt(np.sum(first**2) * np.sum(second**2))
    return float(np.sum(first * second) / size) if size > 0 else 0.0


def _distance(accuracy: float, n_classes: int) -> float:
    """Return the distance between two classes, in standard deviations, at which a score has this accuracy.

    More than two classes are treated as two with the same accuracy beyond chance.
    """
    beyond_chance = (accuracy - 1 / n_classes) / (1 - 1 / n_classes)
    return float(2 * ndtri(np.clip(0.5 + 0.5 * beyond_chance, 0.5, 0.98)))
