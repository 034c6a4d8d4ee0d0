"""Several fitted pipelines as one: their pooled probabilities, brought to the accuracy that is expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import expit

from isthmus._math.confidence import sharpen
from isthmus._math.rows import softmax

LEXICON = "words alone"  # the labelled words, next to the vote
NAMES = "names"  # classes by their names, next to the vote
# Log-odds that a label is right, per unit of its log-odds against the next class ("isthmus bench tune trust").
SLOPE = 0.88
_SHARPNESS = (0.05, 20.0)
_MOST_SHIFT = 20.0
_AHEAD = 1e-6  # by how much a label stays ahead of the next class
_FLOOR = 1e-3  # no member can veto a class by calling it impossible


class CombinedModel:
    """Weighted vote of fitted pipelines of raw text.

    Parameters
    ----------
    members : dict of str to TransferPipeline
        Fitted on the same rows. A member may know fewer classes than others: labelled words can name further ones.
    weights : dict of str to float
        Need not sum to one.

    Attributes
    ----------
    classes_ : ndarray
        Those of the members, and classes that only a name describes.
    own_classes_ : ndarray
        Those of the members.
    sharpness : float
        Power to which probabilities are raised before they are made to sum to one again; see ``sharpness_for``.
    lexicon_model : TransferPipeline or None
        A model of labelled words alone, which knows nothing of the source's labels.
    lexicon_power : float
        Power that brings its probabilities to how often it is right.
    lexicon_weight : float
        How much it counts next to the vote; see ``isthmus.choose.lexicon.weigh_lexicon``.
    share_factors : ndarray or None
        By how much more frequent each class is in the target than in the source, where labels follow moved shares.
    names_model : TransferPipeline or None
        Classes by their names; see :meth:`add_names_model`.
    names_share : float
        Of the names in the vote, where they add no class.
    lexicon_sharpness, names_sharpness : float
        Powers that bring the vote with words, and with names, to the accuracy that is expected of it.
    shift : float or None
        Brings how sure the labels are to the accuracy that is expected; see ``by_margin``. None: nothing is.
    """

    shift: float | None = None

    def __init__(self, members: dict, weights: dict):
        self.members = dict(members)
        total = sum(weights[name] for name in members)
        self.weights = {name: float(weights[name] / total) for name in members}
        self.sharpness = 1.0
        self.share_factors: np.ndarray | None = None
        self.lexicon_model: Any = None
        self.lexicon_power = 1.0
        self.lexicon_offsets: np.ndarray | None = None
        self.lexicon_weight = 1.0
        self.names_model: Any = None
        self.names_share = 0.0
        self.names_sharpness = 1.0
        self.lexicon_sharpness = 1.0
        self.own_classes_ = joint_classes(self.members.values())
        self.classes_ = self.own_classes_

    def add_names_model(self, model: Any, share: float = 0.0) -> None:
        """Let names of classes join: they add the classes that no member knows, or have a share in the vote."""
        self.names_model = model
        self.names_share = share
        self.classes_ = joint_classes([*self.members.values(), model])

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
            own = lexicon_proba(*self._read_for_words(texts), self.lexicon_power, self.lexicon_offsets)
            opinions[LEXICON] = spread_columns(own, self.lexicon_model.classes_, self.classes_)
        if self.names_model is not None:
            own = self.names_model.predict_proba(texts)
            opinions[NAMES] = spread_columns(own, self.names_model.classes_, self.classes_)
        return opinions

    def _read_for_words(self, texts: Sequence[str]) -> tuple[Any, Any]:
        return self.lexicon_model.steps[-1][1], self.lexicon_model[:-1].transform(texts)

    def from_opinions(self, opinions: Mapping[str, np.ndarray]) -> np.ndarray:
        """Probabilities of the vote from those of its members."""
        known = np.searchsorted(self.classes_, self.own_classes_)
        own = sharpen(pool({name: opinions[name][:, known] for name in self.members}, self.weights), self.sharpness)
        own = to_shares(own, self.share_factors)
        if LEXICON in opinions:
            own = sharpen(agree(own, opinions[LEXICON][:, known], self.lexicon_weight), self.lexicon_sharpness)
        if NAMES in opinions:
            own = sharpen(self.with_names(own, opinions[NAMES]), self.names_sharpness)
        return by_margin(own, self.shift)

    def with_names(self, own: np.ndarray, named: np.ndarray) -> np.ndarray:
        """Probabilities over all classes, from those of the vote over its own and those by the names over all."""
        if len(self.classes_) > len(self.own_classes_):
            return add_named_classes(own, self.own_classes_, named, self.classes_)
        return add_names(own, named, self.names_share)


def joint_classes(models: Iterable) -> np.ndarray:
    found = [model.classes_ for model in models]
    return found[0] if all(np.array_equal(found[0], other) for other in found) else np.unique(np.concatenate(found))


def spread_columns(probabilities: np.ndarray, own: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Probabilities over all ``classes``; 0 for those that are not the model's own."""
    if len(own) == len(classes):
        return probabilities
    wide = np.zeros((len(probabilities), len(classes)))
    wide[:, np.searchsorted(classes, own)] = probabilities
    return wide


def pool(votes: Mapping[str, np.ndarray], weights: Mapping[str, float]) -> np.ndarray:
    """Weighted geometric mean: a class needs the support of all who vote."""
    total = sum(weights[name] for name in votes)
    logs = sum(weights[name] / total * np.log(np.maximum(votes[name], _FLOOR)) for name in votes)
    return softmax(logs)


def lexicon_proba(model: Any, rows: Any, power: float, offsets: np.ndarray | None) -> np.ndarray:
    logs = power * np.log(np.maximum(model.predict_proba(rows), 1e-12))
    probabilities = softmax(logs if offsets is None else logs + offsets)
    probabilities[np.diff(rows.tocsr()[:, model.labelled_words_].indptr) == 0] = 1 / probabilities.shape[1]
    return probabilities


def agree(own: np.ndarray, other: np.ndarray, weight: float = 1.0) -> np.ndarray:
    """The log-odds of two models added up, the other's times ``weight`` (1: independent of each other)."""
    return softmax(np.log(np.maximum(own, _FLOOR)) + weight * np.log(np.maximum(other, _FLOOR)))


def add_names(vote: np.ndarray, named: np.ndarray, share: float) -> np.ndarray:
    return pool({"vote": vote, "names": named}, {"vote": 1 - share, "names": share})


def add_named_classes(vote: np.ndarray, known: np.ndarray, named: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Probabilities of a vote over the ``known`` classes, with those added that only have a name.

    An added class has the probability that names give it, and the vote shares out the rest: a method that does not know
    a class says nothing against it.
    """
    own = spread_columns(vote, known, classes)
    added = ~np.isin(classes, known)
    rest = 1 - named[:, added].sum(axis=1, keepdims=True)
    return np.where(added, named, rest * own)


def to_shares(probabilities: np.ndarray, factors: np.ndarray | None) -> np.ndarray:
    """Probabilities with each class as many times as frequent as its factor says."""
    if factors is None:
        return probabilities
    rows = probabilities * factors
    return rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-300)


def by_margin(own: np.ndarray, shift: float | None) -> np.ndarray:
    """Probabilities whose largest goes by its margin over the next class; labels and the order of the rest stay.

    The log-odds of a label are ``shift`` plus a constant times its log-odds against the next class. A power that brings
    the mean to an accuracy makes the surest too sure wherever it has to raise the others.
    """
    if shift is None or own.shape[1] < 2:
        return own
    at = np.arange(len(own)), own.argmax(axis=1)
    largest, rest = own[at], own.copy()
    rest[at] = 0.0
    second, others = rest.max(axis=1), rest.sum(axis=1)
    margin = np.log(np.maximum(largest, _FLOOR)) - np.log(np.maximum(second, _FLOOR))
    least = second / np.maximum(others + second, 1e-300) + _AHEAD  # below that the next class would overtake
    sure = np.where(others > 0, np.clip(expit(shift + SLOPE * margin), least, 1.0), 1.0)
    rest *= ((1 - sure) / np.maximum(others, 1e-300))[:, None]
    rest[at] = sure
    return rest


def shift_for(own: np.ndarray, accuracy: float) -> float:
    """The shift at which the mean confidence of :func:`by_margin` comes nearest to ``accuracy``."""
    return _match(lambda shift: by_margin(own, shift), accuracy, -_MOST_SHIFT, _MOST_SHIFT)


def sharpness_for(probabilities: np.ndarray, accuracy: float) -> float:
    """The power, from 1/20 to 20, at which the mean confidence comes nearest to ``accuracy``."""
    found = _match(lambda log_power: sharpen(probabilities, np.exp(log_power)), accuracy, *np.log(_SHARPNESS))
    return float(np.clip(np.exp(found), *_SHARPNESS))


def _match(probabilities: Callable[[float], np.ndarray], accuracy: float, low: float, high: float) -> float:
    def gap(number: float) -> float:
        return float(probabilities(number).max(axis=1).mean()) - accuracy

    if gap(low) >= 0:
        return low
    if gap(high) <= 0:
        return high
    from scipy.optimize import brentq  # here, for a vote on a text needs none of it

    return float(brentq(gap, low, high, xtol=1e-6))
