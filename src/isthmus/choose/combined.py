"""Several fitted pipelines as one: their pooled probabilities, brought to the accuracy that is expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq

from isthmus._math.confidence import sharpen
from isthmus.base import softmax

LEXICON = "words alone"  # the labelled words, next to the vote
_SHARPNESS = (0.05, 20.0)
_FLOOR = 1e-3  # no member can veto a class by calling it impossible


class CombinedModel:
    """Weighted vote of fitted pipelines of raw text.

    Parameters
    ----------
    members : dict of str to TransferPipeline
        Fitted on the same rows. A member may know fewer classes than others: labelled words can name further ones.
    weights : dict of str to float
        Need not sum to one.
    lexicon_model : TransferPipeline, optional
        A model of labelled words alone, which knows nothing of the source's labels.
    lexicon_power : float
        Power that brings its probabilities to how often it is right.

    Attributes
    ----------
    classes_ : ndarray
    sharpness : float
        Power to which probabilities are raised before they are made to sum to one again; see ``sharpness_for``.
    lexicon_weight : float
        How much it counts next to the vote; see ``isthmus.choose.lexicon.weigh_lexicon``.
    share_factors : ndarray or None
        By how much more frequent each class is in the target than in the source, where labels follow moved shares.
    """

    def __init__(
        self,
        members: dict,
        weights: dict,
        sharpness: float = 1.0,
        lexicon_model: Any = None,
        lexicon_power: float = 1.0,
    ):
        self.members = dict(members)
        total = sum(weights[name] for name in members)
        self.weights = {name: float(weights[name] / total) for name in members}
        self.sharpness = sharpness
        self.share_factors: np.ndarray | None = None
        self.lexicon_model = lexicon_model
        self.lexicon_power = lexicon_power
        self.lexicon_offsets: np.ndarray | None = None
        self.lexicon_weight = 1.0
        self.classes_ = joint_classes(self.members.values())

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        """Probability of each class for each text."""
        return self.from_opinions(self.opinions(texts))

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Class of each text."""
        return self.classes_[self.predict_proba(texts).argmax(axis=1)]

    def opinions(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """What each member says: its probabilities, with a column for every class of the vote."""
        opinions = {
            name: spread_columns(model.predict_proba(texts), model.classes_, self.classes_)
            for name, model in self.members.items()
        }
        if self.lexicon_model is not None:
            rows = self.lexicon_model[:-1].transform(texts)
            own = lexicon_proba(self.lexicon_model.steps[-1][1], rows, self.lexicon_power, self.lexicon_offsets)
            opinions[LEXICON] = spread_columns(own, self.lexicon_model.classes_, self.classes_)
        return opinions

    def from_opinions(self, opinions: Mapping[str, np.ndarray]) -> np.ndarray:
        """Probabilities of the vote from those of its members."""
        own = sharpen(pool({name: opinions[name] for name in self.members}, self.weights), self.sharpness)
        own = to_shares(own, self.share_factors)
        return agree(own, opinions[LEXICON], self.lexicon_weight) if LEXICON in opinions else own


def joint_classes(models: Iterable) -> np.ndarray:
    """All classes that any of the models knows, in order."""
    found = [model.classes_ for model in models]
    return found[0] if all(np.array_equal(found[0], other) for other in found) else np.unique(np.concatenate(found))


def spread_columns(probabilities: np.ndarray, own: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The probabilities with a column for every class; 0 for those the model does not know."""
    if len(own) == len(classes):
        return probabilities
    wide = np.zeros((len(probabilities), len(classes)))
    wide[:, np.searchsorted(classes, own)] = probabilities
    return wide


def pool(votes: Mapping[str, np.ndarray], weights: Mapping[str, float]) -> np.ndarray:
    """Weighted geometric mean of probabilities, summing to one: a class needs the support of all who vote.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.choose.combined import pool
    >>> pool({"a": np.array([[0.9, 0.1]]), "b": np.array([[0.4, 0.6]])}, {"a": 0.5, "b": 0.5}).round(2).tolist()
    [[0.71, 0.29]]
    """
    total = sum(weights[name] for name in votes)
    logs = sum(weights[name] / total * np.log(np.maximum(votes[name], _FLOOR)) for name in votes)
    return softmax(logs)


def calibrated(probabilities: np.ndarray, weight: float, offsets: np.ndarray | None) -> np.ndarray:
    """Probabilities to a power, with what is added to the log-odds of each class."""
    logs = weight * np.log(np.maximum(probabilities, 1e-12))
    return softmax(logs if offsets is None else logs + offsets)


def lexicon_proba(model: Any, rows: Any, power: float, offsets: np.ndarray | None) -> np.ndarray:
    """Probabilities of documents by a model of labelled words, at how often it is right.

    All classes are equally probable for documents that hold no labelled word: the model knows nothing about them.
    """
    probabilities = calibrated(model.predict_proba(rows), power, offsets)
    probabilities[np.diff(rows.tocsr()[:, model.labelled_words_].indptr) == 0] = 1 / probabilities.shape[1]
    return probabilities


def agree(own: np.ndarray, other: np.ndarray, weight: float = 1.0) -> np.ndarray:
    """Probabilities of two models together: their log-odds add up, those of the other times a weight.

    With weight 1 the two are independent of each other. A class unknown to one is its floor.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.choose.combined import agree
    >>> agree(np.array([[0.6, 0.4]]), np.array([[0.2, 0.8]])).round(2).tolist()
    [[0.27, 0.73]]
    """
    return softmax(np.log(np.maximum(own, _FLOOR)) + weight * np.log(np.maximum(other, _FLOOR)))


def to_shares(probabilities: np.ndarray, factors: np.ndarray | None) -> np.ndarray:
    """Probabilities with each class as many times as frequent as its factor says, summing to one again."""
    if factors is None:
        return probabilities
    rows = probabilities * factors
    return rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-300)


def sharpness_for(probabilities: np.ndarray, accuracy: float) -> float:
    """The power at which the mean confidence equals ``accuracy``, as far as powers from 1/20 to 20 reach.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus._math.confidence import sharpen
    >>> from isthmus.choose.combined import sharpness_for
    >>> votes = np.array([[0.9, 0.1], [0.6, 0.4]])
    >>> power = sharpness_for(votes, 0.8)
    >>> round(float(sharpen(votes, power).max(axis=1).mean()), 3)
    0.8
    """

    def gap(log_power: float) -> float:
        return float(sharpen(probabilities, np.exp(log_power)).max(axis=1).mean()) - accuracy

    low, high = np.log(_SHARPNESS[0]), np.log(_SHARPNESS[1])
    if gap(low) >= 0:
        return _SHARPNESS[0]
    if gap(high) <= 0:
        return _SHARPNESS[1]
    return float(np.exp(brentq(gap, low, high, xtol=1e-6)))
