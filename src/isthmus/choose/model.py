"""A fitted model: members, their weights, and the stages that follow the pooled vote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from isthmus._math.rows import softmax
from isthmus.choose.stages.apply import Batch, Stage, joint_classes, pool

AnyStage = TypeVar("AnyStage", bound=Stage)


class LabelModel:
    """Members that vote with weights, followed by a list of stages.

    Parameters
    ----------
    members : dict of str to fitted model
        Each has ``predict_proba(texts)`` and ``classes_``. A member may know fewer classes than others. Members
        without a weight do not vote; a stage of their own uses their opinion.
    weights : dict of str to float
        Weights of the members that vote; they need not sum to one.
    stages : iterable of Stage
        Applied in this order to the pooled vote.

    Attributes
    ----------
    classes_ : ndarray
        The classes after the last stage.
    """

    def __init__(self, members: Mapping[str, Any], weights: Mapping[str, float], stages: Iterable[Stage] = ()):
        self.members = dict(members)
        total = sum(weights.values())
        self.weights = {name: float(weight / total) for name, weight in weights.items()}
        self.stages = list(stages)

    @property
    def voters(self) -> dict[str, Any]:
        """Members that have a weight in the vote."""
        return {name: self.members[name] for name in self.weights}

    @property
    def own_classes_(self) -> np.ndarray:
        """Classes of the members that vote."""
        return joint_classes(member.classes_ for member in self.voters.values())

    @property
    def classes_(self) -> np.ndarray:
        """Classes after the last stage."""
        classes = self.own_classes_
        for stage in self.stages:
            classes = stage.output_classes(classes)
        return classes

    def stage(self, kind: type[AnyStage]) -> AnyStage | None:
        """Return the first stage of a kind, or None.

        Parameters
        ----------
        kind : type of Stage

        Returns
        -------
        Stage or None
        """
        return next((stage for stage in self.stages if isinstance(stage, kind)), None)

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        """Return the probability of each class for each text.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of shape (n_texts, n_classes)
        """
        return self.apply(self.batch(texts))

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Return the label of each text.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of shape (n_texts,)
        """
        return self.classes_[self.predict_proba(texts).argmax(axis=1)]

    def batch(self, texts: Sequence[str]) -> Batch:
        """Return the members' opinions about texts.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        Batch
        """
        opinions = {name: member.predict_proba(texts) for name, member in self.members.items()}
        return Batch(opinions, {name: member.classes_ for name, member in self.members.items()}, texts)

    def apply(self, batch: Batch) -> np.ndarray:
        """Return the probabilities after the last stage; no other code computes the probabilities of a result.

        A single member is not pooled: its opinion is the vote.

        Parameters
        ----------
        batch : Batch

        Returns
        -------
        ndarray of shape (n_texts, n_classes)
        """
        classes = self.own_classes_
        opinions = {name: batch.opinion(name, classes) for name in self.weights}
        proba = pool(opinions, self.weights) if len(opinions) > 1 else next(iter(opinions.values()))
        for stage in self.stages:
            proba, classes = stage.apply(batch, proba, classes)
        return proba

    def opinions(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """Return each member's probabilities with one column per class of the model.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        dict of str to ndarray of shape (n_texts, n_classes)
        """
        batch = self.batch(texts)
        self.apply(batch)  # a stage may rename the opinions' columns
        return batch.spread(self.classes_)

    def from_opinions(self, opinions: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the probabilities of the model, given the members' opinions.

        Parameters
        ----------
        opinions : mapping of str to ndarray of shape (n_texts, n_classes)
            With one column per class of the model.

        Returns
        -------
        ndarray of shape (n_texts, n_classes)
        """
        return self.apply(Batch(dict(opinions), dict.fromkeys(opinions, self.classes_)))


class LexiconMember:
    """Labelled words without the source's documents, calibrated on the source.

    Parameters
    ----------
    model : TransferPipeline
        Dual supervision that was fitted on labelled words and on no labelled document.
    power : float
        Power that calibrates its probabilities.
    offsets : ndarray or None
        Log-odds of each class that calibrate its class proportions.
    """

    def __init__(self, model: Any, power: float, offsets: np.ndarray | None):
        self.model = model
        self.power = power
        self.offsets = offsets

    @property
    def classes_(self) -> np.ndarray:
        """Classes of the labelled words."""
        return self.model.classes_

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of shape (n_texts, n_classes)
            Equal for all classes if a text has no labelled word.
        """
        return lexicon_proba(self.model.steps[-1][1], self.model[:-1].transform(texts), self.power, self.offsets)


def lexicon_proba(method: Any, rows: Any, power: float, offsets: np.ndarray | None) -> np.ndarray:
    """Return calibrated probabilities by labelled words.

    Parameters
    ----------
    method : fitted dual supervision
    rows : CSR matrix of shape (n_texts, n_words)
    power : float
        Power that calibrates the probabilities.
    offsets : ndarray of shape (n_classes,) or None
        Log-odds of each class that calibrate its class proportions.

    Returns
    -------
    ndarray of shape (n_texts, n_classes)
        Equal for all classes if a row has no labelled word.
    """
    logs = power * np.log(np.maximum(method.predict_proba(rows), 1e-12))
    probabilities = softmax(logs if offsets is None else logs + offsets)
    # For a row without a labelled word, the offsets alone would favour a class.
    probabilities[np.diff(rows.tocsr()[:, method.labelled_words_].indptr) == 0] = 1 / probabilities.shape[1]
    return probabilities
