"""Labelled words as a witness beside the vote: when they are heard, and how much they count.

The words know nothing of the source's labels, so the source can say how often they are right; and they are judged on
what they say beyond the vote, because both go by the texts' words and share part of their errors.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from isthmus.choose.evidence import FOLDS, LabelScorer, plain_learner

_FLOOR = 1e-3
_DISTANCES = np.linspace(0.0, 4.0, 401)


def shared_errors(judge: LabelScorer, said: np.ndarray) -> float:
    """Correlation, within the source's classes, of a witness with a plain classifier that has not seen the document.

    Parameters
    ----------
    judge : LabelScorer
    said : ndarray of shape (n_source, n_classes)
        The witness's probabilities for the labelled source texts; documents it is silent about are left out.
    """
    heard = said[judge.source]
    counts = np.unique(judge.source_labels, return_counts=True)[1]
    if counts.min() < FOLDS:
        return 0.0
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    rows = judge.words.source_rows
    answers = cross_val_predict(plain_learner(), rows, judge.source_labels, cv=folds, method="decision_function")
    if answers.ndim == 1:
        answers = np.column_stack([-answers, answers])
    spoken = np.ptp(heard, axis=1) > 0
    scores = [_residuals(values[spoken], judge.source_labels[spoken]) for values in (answers, _centred_logs(heard))]
    return _cosine(*scores)


def weigh_witness(
    own: np.ndarray, witness: np.ndarray, accuracy: float, witness_accuracy: float, common: float
) -> float:
    """How much a witness counts beside the vote, from 0 (it says nothing beyond it) to 1 (independent of it).

    Vote and witness are read as scores with a spread of one about their class, the classes as far apart as their
    accuracy says, their errors correlated by ``common``. How alike the two are over the target then says how far apart
    the classes are for the witness there; the source is an upper limit. The answer is the weight that a linear
    discriminant gives to the witness's log-odds, relative to what it would have on its own.

    Parameters
    ----------
    own, witness : ndarray of shape (n_documents, n_classes)
        Probabilities for the target; documents the witness is silent about are left out.
    accuracy : float
        Expected of the vote.
    witness_accuracy : float
        Of the witness in the source, where it speaks.
    common : float
        As :func:`shared_errors` finds it in the source.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.choose.witness import weigh_witness
    >>> own = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.2, 0.8]])
    >>> other = np.array([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4], [0.2, 0.8]])
    >>> weigh_witness(own, other, 0.8, 0.5, 0.3), weigh_witness(own, other, 0.8, 0.8, 0.0)
    (0.0, 1.0)
    """
    spoken = np.ptp(witness, axis=1) > 0
    n_classes = own.shape[1]
    first, most = _distance(accuracy, n_classes), _distance(witness_accuracy, n_classes)
    if not spoken.any() or min(first, most) <= 0:
        return 0.0
    own, witness = own[spoken], witness[spoken]
    shares = np.bincount(own.argmax(axis=1), minlength=n_classes) / len(own)
    between = float(np.mean(shares * (1 - shares)))  # of a class indicator: how much distances add to the spread
    scores = [_centred_logs(rows) for rows in (own, witness)]
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
    """Scores about the mean of their class."""
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
