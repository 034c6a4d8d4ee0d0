"""Stages of a result: how the members' opinions become the probabilities of the classes.

A stage is a few fitted numbers and one method, ``apply(batch, proba, classes)``, which returns the new probabilities
and their classes. Labels of the target, of later texts and of a saved result all come from the same list of stages.
The other modules of this package fit the stages, one module per stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from isthmus._math.fitted import fitted
from isthmus._math.rows import sharpen, softmax

# Fitted constants; ``choose/trust.json`` states their units and origin.
BUDGET = fitted("budget")

LEXICON = "words alone"  # name of the member that knows only labelled words
NAMES = "names"  # name of the member that knows only the classes' names
_POWERS = (0.05, 20.0)  # range of the powers that a temperature may have
_MOST_SHIFT = 20.0  # log-odds; range of the shifts that are searched
_LEAST_LEAD = 1e-6  # probability by which a label stays ahead of the next class
_FLOOR = 1e-3  # probability; no member can veto a class by excluding it


@dataclass
class Batch:
    """Texts with the members' opinions.

    Parameters
    ----------
    opinions : dict of str to ndarray of shape (n_texts, n_classes of the member)
        Class probabilities by each member.
    columns : dict of str to ndarray
        Classes of each member, in the order of its columns.
    texts : sequence of str
        Empty if no stage reads the texts.
    """

    opinions: dict[str, np.ndarray]
    columns: dict[str, np.ndarray]
    texts: Sequence[str] = field(default=())

    def opinion(self, member: str, classes: np.ndarray) -> np.ndarray:
        """Return a member's probabilities with one column per class in ``classes``.

        Parameters
        ----------
        member : str
        classes : ndarray of shape (n_classes,)

        Returns
        -------
        ndarray of shape (n_texts, n_classes)
        """
        return match_columns(self.opinions[member], self.columns[member], classes)

    def spread(self, classes: np.ndarray) -> dict[str, np.ndarray]:
        """Return all members' probabilities with one column per class in ``classes``.

        Parameters
        ----------
        classes : ndarray of shape (n_classes,)

        Returns
        -------
        dict of str to ndarray of shape (n_texts, n_classes)
        """
        return {name: self.opinion(name, classes) for name in self.opinions}


class Stage:
    """Base of all stages.

    Attributes
    ----------
    changes_labels : bool
        False for stages that change confidences only.
    """

    changes_labels: ClassVar[bool] = True

    def output_classes(self, classes: np.ndarray) -> np.ndarray:
        """Return the classes after this stage, given those before it.

        Parameters
        ----------
        classes : ndarray

        Returns
        -------
        ndarray
        """
        return classes

    def apply(self, batch: Batch, proba: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities and the classes after this stage.

        Parameters
        ----------
        batch : Batch
            Texts with the members' opinions.
        proba : ndarray of shape (n_texts, n_classes)
            Probabilities before this stage.
        classes : ndarray of shape (n_classes,)

        Returns
        -------
        proba : ndarray of shape (n_texts, n_output_classes)
        classes : ndarray of shape (n_output_classes,)
        """
        raise NotImplementedError

    def explain(self, text: str, rows: list[dict]) -> list[dict]:
        """Return the contributions of a text's terms after this stage, given those before it.

        Parameters
        ----------
        text : str
        rows : list of dict
            ``class``, ``term`` and ``contribution``.

        Returns
        -------
        list of dict
        """
        return rows


@dataclass
class Temperature(Stage):
    """Raise probabilities to a power, so that their mean confidence equals the expected accuracy."""

    changes_labels: ClassVar[bool] = False
    power: float

    def apply(self, batch, proba, classes):
        """Return the probabilities raised to the power and normalised.

        Parameters
        ----------
        batch, proba, classes
            See :meth:`Stage.apply`.

        Returns
        -------
        proba, classes
            See :meth:`Stage.apply`.
        """
        return sharpen(proba, self.power), classes


@dataclass
class LabelShift(Stage):
    """Multiply each class by its frequency in the target relative to the source."""

    factors: np.ndarray

    def apply(self, batch, proba, classes):
        """Return the probabilities multiplied by the factors and normalised.

        Parameters
        ----------
        batch, proba, classes
            See :meth:`Stage.apply`.

        Returns
        -------
        proba, classes
            See :meth:`Stage.apply`.
        """
        return reweight_classes(proba, self.factors), classes


@dataclass
class Lexicon(Stage):
    """Add the log-odds of the labelled words, times ``weight`` (1: independent of the vote)."""

    weight: float

    def apply(self, batch, proba, classes):
        """Return the probabilities with the log-odds of the labelled words added.

        Parameters
        ----------
        batch, proba, classes
            See :meth:`Stage.apply`.

        Returns
        -------
        proba, classes
            See :meth:`Stage.apply`.
        """
        return add_log_odds(proba, batch.opinion(LEXICON, classes), self.weight), classes


@dataclass
class NamesShare(Stage):
    """Give the member that knows the classes' names a share of the vote."""

    share: float

    def apply(self, batch, proba, classes):
        """Return the weighted mean of the vote and the member of the classes' names.

        Parameters
        ----------
        batch, proba, classes
            See :meth:`Stage.apply`.

        Returns
        -------
        proba, classes
            See :meth:`Stage.apply`.
        """
        opinions = {"vote": proba, NAMES: batch.opinion(NAMES, classes)}
        return pool(opinions, {"vote": 1 - self.share, NAMES: self.share}), classes


@dataclass
class AddedClasses(Stage):
    """Add classes that only their names describe.

    An added class gets the probability that its name gives it. The vote divides the rest among the other classes,
    because a member that does not know a class is no evidence against it.
    """

    named: np.ndarray

    def output_classes(self, classes):
        """Return the classes before this stage and those that the names describe.

        Parameters
        ----------
        classes : ndarray
            Classes before this stage.

        Returns
        -------
        ndarray
        """
        return np.unique(np.concatenate([classes, self.named]))

    def apply(self, batch, proba, classes):
        """Return the probabilities with columns for the added classes.

        Parameters
        ----------
        batch, proba, classes
            See :meth:`Stage.apply`.

        Returns
        -------
        proba, classes
            See :meth:`Stage.apply`.
        """
        all_classes = self.output_classes(classes)
        named = batch.opinion(NAMES, all_classes)
        added = ~np.isin(all_classes, classes)
        rest = 1 - named[:, added].sum(axis=1, keepdims=True)
        return np.where(added, named, rest * match_columns(proba, classes, all_classes)), all_classes


@dataclass
class Margin(Stage):
    """Set each label's confidence from its margin over the next class."""

    changes_labels: ClassVar[bool] = False
    shift: float

    def apply(self, batch, proba, classes):
        """Return the probabilities with confidences from the margins.

        Parameters
        ----------
        batch, proba, classes
            See :meth:`Stage.apply`.

        Returns
        -------
        proba, classes
            See :meth:`Stage.apply`.
        """
        return confidence_from_margin(proba, self.shift), classes


@dataclass
class Answers(Stage):
    """Add the effect of annotators' answers; ``isthmus.feedback`` fits this stage.

    Parameters
    ----------
    views : DocumentViews
        Turns texts and opinions into the rows that the correction reads.
    correction : Correction
        Corrects the vote by these rows.
    word_model : WordModel
        A linear model of words that was trained on the corrected probabilities of all documents.
    """

    views: Any
    correction: Any
    word_model: Any

    def output_classes(self, classes):
        """Return the classes that the correction knows.

        Parameters
        ----------
        classes : ndarray
            Classes before this stage.

        Returns
        -------
        ndarray
        """
        return np.sort(self.correction.classes)

    def apply(self, batch, proba, classes):
        """Return the mean of the corrected vote and the model of words.

        Parameters
        ----------
        batch, proba, classes
            See :meth:`Stage.apply`.

        Returns
        -------
        proba, classes
            See :meth:`Stage.apply`.
        """
        rows = self.views.transform(batch.texts, list(batch.spread(classes).values()))
        return self.from_rows(rows, proba), self.output_classes(classes)

    def from_rows(self, rows: Any, vote: np.ndarray) -> np.ndarray:
        """Return the probabilities after this stage.

        Parameters
        ----------
        rows : CSR matrix of shape (n_texts, n_features)
            Rows of the views.
        vote : ndarray of shape (n_texts, n_vote_classes)
            Probabilities before this stage.

        Returns
        -------
        ndarray of shape (n_texts, n_classes)
        """
        parts = self.correction.probabilities(rows, vote), self.word_model.probabilities(self.views.words_of(rows))
        share = self.word_model.share
        logs = [np.log(np.maximum(part, _FLOOR)) for part in parts]
        return softmax((1 - share) * logs[0] + share * logs[1])[:, np.argsort(self.correction.classes, kind="stable")]

    def explain(self, text, rows):
        """Return the contributions to the vote, plus those that the answers taught.

        Parameters
        ----------
        text : str
        rows : list of dict
            See :meth:`Stage.explain`.

        Returns
        -------
        list of dict
        """
        order = np.argsort(self.correction.classes, kind="stable")
        n_words, share = self.views.n_words, self.word_model.share
        effects = (1 - share) * self.correction.sharpness * self.views.word_scale * self.correction.coef[:n_words]
        effects = effects + share * self.word_model.power * self.word_model.coef[:n_words]
        learned = self.views.word_contributions(text, effects[:, order], self.correction.classes[order])
        # Both parts are scaled to sum to one; the vote's part counts as much as the correction trusts the vote.
        parts = (rows, self.correction.trust), (learned, 1.0)
        return add_contributions((self.views.as_written(text, part), weight) for part, weight in parts)


@dataclass
class Rename(Stage):
    """Rename classes; the probabilities of classes that get the same name are added.

    Parameters
    ----------
    names : dict
        New name by old name. Classes without an entry keep their name.
    """

    names: dict

    def output_classes(self, classes):
        """Return the new names of the classes.

        Parameters
        ----------
        classes : ndarray
            Classes before this stage.

        Returns
        -------
        ndarray
        """
        return np.unique([self.names.get(name, name) for name in np.asarray(classes).tolist()])

    def apply(self, batch, proba, classes):
        """Return the probabilities of the renamed classes, and rename the members' opinions, too.

        Parameters
        ----------
        batch, proba, classes
            See :meth:`Stage.apply`.

        Returns
        -------
        proba, classes
            See :meth:`Stage.apply`.
        """
        for member, columns in batch.columns.items():
            merged = merge_columns(batch.opinions[member], columns, self.names)
            batch.opinions[member], batch.columns[member] = merged
        return merge_columns(proba, classes, self.names)

    def explain(self, text, rows):
        """Return the contributions under the new names.

        Parameters
        ----------
        text : str
        rows : list of dict
            See :meth:`Stage.explain`.

        Returns
        -------
        list of dict
        """
        renamed = [row | {"class": self.names.get(row["class"], row["class"])} for row in rows]
        return add_contributions([(renamed, None)])


def add_contributions(parts: Iterable[tuple[list[dict], float | None]]) -> list[dict]:
    """Return one row per class and term, with the weighted sum of the contributions in several lists.

    Parameters
    ----------
    parts : iterable of (list of dict, float or None)
        Rows with ``class``, ``term`` and ``contribution``, and the sum to which a list's absolute contributions are
        scaled; None leaves them unscaled.

    Returns
    -------
    list of dict
    """
    sums: dict[tuple, float] = {}
    for rows, weight in parts:
        scale = 1.0 if weight is None else weight / (sum(abs(row["contribution"]) for row in rows) or 1.0)
        for row in rows:
            key = row["class"], row["term"]
            sums[key] = sums.get(key, 0.0) + scale * float(row["contribution"])
    return [{"class": label, "term": term, "contribution": value} for (label, term), value in sums.items()]


def merge_columns(proba: np.ndarray, classes: np.ndarray, names: Mapping) -> tuple[np.ndarray, np.ndarray]:
    """Rename classes, and add the columns of classes with the same new name.

    Parameters
    ----------
    proba : ndarray of shape (n_texts, n_classes)
    classes : ndarray of shape (n_classes,)
    names : mapping
        New name by old name.

    Returns
    -------
    proba : ndarray of shape (n_texts, n_merged)
    classes : ndarray of shape (n_merged,)
    """
    renamed = np.array([names.get(name, name) for name in np.asarray(classes).tolist()])
    merged, positions = np.unique(renamed, return_inverse=True)
    sums = np.zeros((len(proba), len(merged)))
    for column, position in enumerate(positions):
        sums[:, position] += proba[:, column]
    return sums, merged


def joint_classes(classes: Iterable[np.ndarray]) -> np.ndarray:
    """Return the sorted union of several arrays of classes.

    Parameters
    ----------
    classes : iterable of ndarray

    Returns
    -------
    ndarray
    """
    arrays = list(classes)
    same = all(np.array_equal(arrays[0], other) for other in arrays)
    return arrays[0] if same else np.unique(np.concatenate(arrays))


def match_columns(proba: np.ndarray, own: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the columns of ``classes`` from those of ``own``; a class that ``own`` lacks gets 0.

    Parameters
    ----------
    proba : ndarray of shape (n_texts, n_own)
    own : ndarray of shape (n_own,)
    classes : ndarray of shape (n_classes,)
        A superset of ``own``.

    Returns
    -------
    ndarray of shape (n_texts, n_classes)
    """
    if len(own) == len(classes):
        return proba
    columns = np.zeros((len(proba), len(classes)))
    _, source, destination = np.intersect1d(own, classes, return_indices=True)
    columns[:, destination] = proba[:, source]
    return columns


def pool(votes: Mapping[str, np.ndarray], weights: Mapping[str, float]) -> np.ndarray:
    """Return the weighted geometric mean: a class needs the support of all members.

    Parameters
    ----------
    votes : mapping of str to ndarray of shape (n_texts, n_classes)
    weights : mapping of str to float

    Returns
    -------
    ndarray of shape (n_texts, n_classes)
    """
    total = sum(weights[name] for name in votes)
    logs = sum(weights[name] / total * np.log(np.maximum(votes[name], _FLOOR)) for name in votes)
    return softmax(logs)


def add_log_odds(proba: np.ndarray, other: np.ndarray, weight: float = 1.0) -> np.ndarray:
    """Return the sum of two opinions' log-odds, the second one times ``weight``.

    Parameters
    ----------
    proba, other : ndarray of shape (n_texts, n_classes)
    weight : float

    Returns
    -------
    ndarray of shape (n_texts, n_classes)
    """
    return softmax(np.log(np.maximum(proba, _FLOOR)) + weight * np.log(np.maximum(other, _FLOOR)))


def reweight_classes(proba: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return the probabilities multiplied by one factor per class and normalised.

    Parameters
    ----------
    proba : ndarray of shape (n_texts, n_classes)
    factors : ndarray of shape (n_classes,)
        Frequency of each class relative to its frequency in the source.

    Returns
    -------
    ndarray of shape (n_texts, n_classes)
    """
    rows = proba * factors
    return rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-300)


def confidence_from_margin(proba: np.ndarray, shift: float | None) -> np.ndarray:
    """Return probabilities whose largest depends on its margin over the next class.

    Labels and the order of the other classes do not change. The log-odds of a label are ``shift`` plus ``slope`` times
    its log-odds against the next class. A power that moves the mean confidence to an accuracy would make the most
    confident labels overconfident wherever it has to raise the others.

    Parameters
    ----------
    proba : ndarray of shape (n_texts, n_classes)
    shift : float or None
        None leaves the probabilities unchanged.

    Returns
    -------
    ndarray of shape (n_texts, n_classes)
    """
    if shift is None or proba.shape[1] < 2:
        return proba
    at = np.arange(len(proba)), proba.argmax(axis=1)
    largest, rest = proba[at], proba.copy()
    rest[at] = 0.0
    second, others = rest.max(axis=1), rest.sum(axis=1)
    margin = np.log(np.maximum(largest, _FLOOR)) - np.log(np.maximum(second, _FLOOR))
    least = second / np.maximum(others + second, 1e-300) + _LEAST_LEAD  # below that the next class would overtake
    confident = np.where(others > 0, np.clip(expit(shift + BUDGET["slope"] * margin), least, 1.0), 1.0)
    rest *= ((1 - confident) / np.maximum(others, 1e-300))[:, None]
    rest[at] = confident
    return rest


def find_shift(proba: np.ndarray, accuracy: float) -> float:
    """Return the shift at which :func:`confidence_from_margin` has a mean confidence nearest to ``accuracy``.

    Parameters
    ----------
    proba : ndarray of shape (n_texts, n_classes)
    accuracy : float

    Returns
    -------
    float
    """
    return _match_mean(lambda shift: confidence_from_margin(proba, shift), accuracy, -_MOST_SHIFT, _MOST_SHIFT)


def find_power(proba: np.ndarray, accuracy: float) -> float:
    """Return the power, from 1/20 to 20, at which the mean confidence is nearest to ``accuracy``.

    Parameters
    ----------
    proba : ndarray of shape (n_texts, n_classes)
    accuracy : float

    Returns
    -------
    float
    """
    log_power = _match_mean(lambda log_power: sharpen(proba, np.exp(log_power)), accuracy, *np.log(_POWERS))
    return float(np.clip(np.exp(log_power), *_POWERS))


def _match_mean(probabilities: Callable[[float], np.ndarray], accuracy: float, low: float, high: float) -> float:
    def gap(number: float) -> float:
        return float(probabilities(number).max(axis=1).mean()) - accuracy

    if gap(low) >= 0:
        return low
    if gap(high) <= 0:
        return high
    from scipy.optimize import brentq  # imported here, because applying the stages does not need it

    return float(brentq(gap, low, high, xtol=1e-6))
