"""The state of a decision while its stages are fitted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

from isthmus._math.confidence import AccuracyEstimate, clipped_logit
from isthmus.choose.candidates import Candidates, FittedCandidate
from isthmus.choose.evidence import LabelScorer
from isthmus.choose.model import LabelModel
from isthmus.choose.stages.apply import Batch, Stage, Temperature, find_power
from isthmus.choose.trust import moved_to, outside_groups


@dataclass
class Decision:
    """The vote about the target, and the result of the stages fitted so far.

    Attributes
    ----------
    candidates : Candidates
        All methods that were tried.
    model : LabelModel
        The members, their weights and the stages fitted so far.
    batch : Batch
        The members' opinions about the target.
    proba, classes, labels : ndarray
        The outcome of the stages so far.
    vote_labels : ndarray
        Labels of the vote before the labelled words and the names join.
    accuracy : AccuracyEstimate
        Expected accuracy of ``labels``.
    guarded : bool
        Whether the guard replaced the vote by the source-only method.
    gain : float
        Log-odds of a right label gained by the correction for label shift, which the evidence does not show.
    rows : list of dict
        Rows of the decision table about members with a stage of their own.
    """

    candidates: Candidates
    model: LabelModel
    batch: Batch
    proba: np.ndarray
    classes: np.ndarray
    accuracy: AccuracyEstimate
    guarded: bool = False
    gain: float = 0.0
    rows: list[dict] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Set the labels from the probabilities."""
        self.labels = self.vote_labels = self.classes[self.proba.argmax(axis=1)]

    @classmethod
    def of_vote(cls, candidates: Candidates, weights: dict[str, float]) -> Decision:
        """Return the pooled vote of the candidates that have a weight.

        Parameters
        ----------
        candidates : Candidates
        weights : dict of str to float
            By method.

        Returns
        -------
        Decision
        """
        voters = {candidate.name: candidate for candidate in candidates.fitted if candidate.name in weights}
        model = LabelModel(
            {name: voter.model for name, voter in voters.items()}, {name: weights[name] for name in voters}
        )
        # The members' opinions about the target are known from the fit, so the texts are not read again.
        opinions = {name: voter.probabilities for name, voter in voters.items()}
        batch = Batch(opinions, {name: voter.model.classes_ for name, voter in voters.items()})
        proba, classes = model.apply(batch), model.classes_
        accuracy = candidates.estimate(classes[proba.argmax(axis=1)], proba)
        return cls(candidates, model, batch, proba, classes, accuracy)

    @property
    def scorer(self) -> LabelScorer | None:
        """Source of the evidence, or None if there are too few documents."""
        return self.candidates.scorer

    @property
    def outside(self) -> np.ndarray:
        """Indices of the target documents that belong to no new group.

        The accuracy is estimated for these documents, because documents in new groups would hide how confident the vote
        is.
        """
        return outside_groups(self.scorer, len(self.proba))

    def join(self, name: str, member: Any, proba: np.ndarray) -> None:
        """Add a member that has a stage of its own, with its opinion about the target.

        Parameters
        ----------
        name : str
        member : fitted model
        proba : ndarray of shape (n_target, n_member_classes)
        """
        self.model.members[name] = member
        self.batch.opinions[name] = proba
        self.batch.columns[name] = member.classes_

    def add(self, stage: Stage) -> None:
        """Append a stage to the model and apply it.

        Parameters
        ----------
        stage : Stage
        """
        self.model.stages.append(stage)
        self.proba, self.classes = stage.apply(self.batch, self.proba, self.classes)
        if stage.changes_labels:
            self.labels = self.classes[self.proba.argmax(axis=1)]

    def estimate_again(self) -> None:
        """Estimate the accuracy after another member joined, and adjust the confidence to it.

        Two opinions with common errors are more confident together than they are right.
        """
        self.accuracy = self.candidates.estimate(self.labels, self.proba)
        if self.accuracy.for_calibration is None:
            return
        # The evidence does not show the gain of the correction for label shift, so it is added again.
        if self.gain:
            followed = float(expit(clipped_logit(self.accuracy.for_calibration) + self.gain))
            self.accuracy = moved_to(self.accuracy, followed, self.proba.shape[1])
        expected = self.accuracy.for_calibration
        assert expected is not None
        self.add(Temperature(find_power(self.proba[self.outside], expected)))


def agreement_and_seconds(candidate: FittedCandidate, labels: np.ndarray) -> dict[str, float]:
    """Return the columns that every method has in the decision table.

    Parameters
    ----------
    candidate : FittedCandidate
    labels : ndarray of shape (n_target,)
        Labels of the vote.

    Returns
    -------
    dict of str to float
    """
    agreement = round(float(np.mean(candidate.labels == labels)), 4)
    return {"agreement": agreement, "seconds": round(candidate.seconds, 1)}
