"""A fitted model: members, their weights, and the stages that follow the pooled vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from isthmus._math.rows import rows_are_empty, softmax, unknown_texts
from isthmus.choose.stages.apply import Batch, Stage, joint_classes, pool
from isthmus.classify.rules import EstimatorRule
from isthmus.features.term_rows import FittedTransformer, SideBySide, UnitRows, run_steps

AnyStage = TypeVar("AnyStage", bound=Stage)


@dataclass(eq=False)
class LabelModel:
    """Members that vote with weights, followed by a list of stages.

    Attributes
    ----------
    members : dict of str to fitted model
        Each has ``predict_proba(texts)`` and ``classes_``. A member may know fewer classes than others. Members
        without a weight do not vote; a stage of their own uses their opinion.
    weights : dict of str to float
        Weights of the members that vote; they need not sum to one.
    stages : list of Stage
        Applied in this order to the pooled vote.
    """

    members: dict[str, Any]
    weights: dict[str, float]
    stages: list[Stage] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Copy the parts and scale the weights to sum to one."""
        total = sum(self.weights.values())
        self.members, self.stages = dict(self.members), list(self.stages)
        self.weights = {name: float(weight / total) for name, weight in self.weights.items()}

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

    def as_data(self) -> LabelModel:
        """Return the model with every fitted pipeline replaced by its rule.

        Returns
        -------
        LabelModel
        """
        members = {name: Member.of(member) for name, member in self.members.items()}
        return LabelModel(members, self.weights, self.stages)

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

    def lacks_terms(self, texts: Sequence[str]) -> np.ndarray:
        """Return, for each text, whether no member that votes finds a known term in it.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of bool of shape (n_texts,)
        """
        # Methods that read raw texts know every word, so they come first and leave few texts to the others.
        members = sorted(self.voters.values(), key=lambda member: bool(member.steps))
        return unknown_texts([member.lacks_terms for member in members], texts)

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


@dataclass
class Member:
    """A fitted method as data: the steps from texts to rows, and the rule that scores the rows.

    Attributes
    ----------
    kind : str
        Class of the estimator.
    classes_ : ndarray of shape (n_classes,)
    steps : list
        Functions, in order; empty if the rule reads texts. See ``isthmus.features.term_rows``.
    rule : object
        See ``isthmus.classify.rules``.
    fit : dict
        ``n_iter``, ``history``, ``measure`` and ``termination`` of the fit, for charts.
    """

    kind: str
    classes_: np.ndarray
    steps: list
    rule: Any
    fit: dict = field(default_factory=dict)

    @classmethod
    def of(cls, pipeline: Any) -> Any:
        """Return a fitted pipeline as a member.

        Parameters
        ----------
        pipeline : TransferPipeline, Member or LexiconMember

        Returns
        -------
        Member or LexiconMember
        """
        if not hasattr(pipeline, "steps") or isinstance(pipeline, cls):
            return pipeline
        method = pipeline.steps[-1][1]
        # A class of the user's own may predict in another way than the rule that it inherits.
        known = type(method).__module__.startswith("isthmus.") and hasattr(method, "prediction_rule")
        rule = method.prediction_rule() if known else None
        fit = {
            "n_iter": getattr(method, "n_iter_", None),
            "history": getattr(method, "history_", None),
            "measure": getattr(method, "history_measure", "objective"),
            "termination": str(getattr(method, "termination_condition_", "")),
        }
        steps = [row_step(step) for _, step in pipeline.steps[:-1]]
        return cls(type(method).__name__, method.classes_, steps, rule or EstimatorRule(method), fit)

    def rows(self, texts: Sequence[str]) -> Any:
        """Return what the rule reads.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        matrix, or the texts
        """
        return run_steps(self.steps, texts)

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of shape (n_texts, n_classes)
        """
        return softmax(self.rule.scores(self.rows(texts)))

    def lacks_terms(self, texts: Sequence[str]) -> np.ndarray:
        """Return, for each text, whether the method finds no known term in it.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of bool of shape (n_texts,)
        """
        if not self.steps:  # reads raw texts
            return np.array([not text.strip() for text in texts], dtype=bool)
        return rows_are_empty(self.rows(texts))


def row_step(step: Any) -> Any:
    """Return a fitted step of a pipeline as data.

    Parameters
    ----------
    step : fitted transformer

    Returns
    -------
    callable
        Takes and returns rows.
    """
    if hasattr(step, "row_step"):
        return step.row_step()
    kind = f"{type(step).__module__.partition('.')[0]}.{type(step).__name__}"
    if kind == "sklearn.Normalizer" and step.norm == "l2":
        return UnitRows()
    if kind == "sklearn.FeatureUnion":
        parts = [getattr(part, "steps", [("", part)]) for _, part in step.transformer_list]
        return SideBySide([[row_step(one) for _, one in part] for part in parts])
    return FittedTransformer(step)


@dataclass
class LexiconMember:
    """Labelled words without the source's documents, calibrated on the source.

    Attributes
    ----------
    member : Member
        Dual supervision that was fitted on labelled words and on no labelled document.
    power : float
        Power that calibrates its probabilities.
    offsets : ndarray or None
        Log-odds of each class that calibrate its class proportions.
    """

    member: Member
    power: float
    offsets: np.ndarray | None

    @property
    def classes_(self) -> np.ndarray:
        """Classes of the labelled words."""
        return self.member.classes_

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
        return lexicon_proba(self.member.rule, self.member.rows(texts), self.power, self.offsets)


def lexicon_proba(rule: Any, rows: Any, power: float, offsets: np.ndarray | None) -> np.ndarray:
    """Return calibrated probabilities by labelled words.

    Parameters
    ----------
    rule : DualRule
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
    logs = power * np.log(np.maximum(softmax(rule.scores(rows)), 1e-12))
    probabilities = softmax(logs if offsets is None else logs + offsets)
    # For a row without a labelled word, the offsets alone would favour a class.
    probabilities[np.diff(rows.tocsr()[:, rule.labelled_words].indptr) == 0] = 1 / probabilities.shape[1]
    return probabilities
