"""A model of labelled words alone, next to the vote: how much it counts."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from isthmus.choose.evidence import LabelScorer

_FLOOR = 1e-3
_DISTANCES = np.linspace(0.0, 4.0, 401)


def shared_errors(scorer: LabelScorer, lexicon_proba: np.ndarray) -> float:
    """Correlation, within the source's classes, of the lexicon with a plain classifier's held-out decisions.

    Documents without a labelled word are left out.
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
    """How much the lexicon counts next to the vote, from 0 (it adds nothing) to 1 (independent of the vote).

    Vote and lexicon are read as scores with a spread of one about their class, the classes as far apart as their
    accuracy says, their errors correlated by ``common`` (:func:`shared_errors`). How alike the two are over the target
    then says how far apart the classes are for the lexicon there, at most as far as in the source
    (``lexicon_accuracy``). The answer is the weight that a linear discriminant gives to the lexicon's log-odds,
    relative to what it would have on its own. Documents without a labelled word are left out.
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
    between = float(np.mean(shares * (1 - shares)))  # of a class indicator: how much distances add to the spread
    scores = [_centred_logs(rows) for rows in (own, lexicon_proba)]
    likeness = _cosine(*(rows - rows.mean(axis=0) for rows in scores))
    common = float(np.clip(common, 0.0, 0.9))
    spreads = np.sqrt((1 + between * first**2) * (1 + between * _DISTANCES**2))
    enough = likeness * spreads - between * first * _DISTANCES <= common
    second = min(most, float(_DISTANCES[enough.argmax()]) if enough.any() else most)
    if second <= common * first:
        return 0.0
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
    """Distance between two classes, in spreads, at which a score is right that often; several as if they were two."""
    beyond_chance = (accuracy - 1 / n_classes) / (1 - 1 / n_classes)
    return float(2 * ndtri(np.clip(0.5 + 0.5 * beyond_chance, 0.5, 0.98)))
