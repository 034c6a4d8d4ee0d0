"""Handle the stages of answers and renames in a fitted model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from isthmus._math.fitted import fitted
from isthmus._math.rows import sharpen, softmax
from isthmus.choose.model import LabelModel
from isthmus.choose.stages.apply import Answers, Rename
from isthmus.exceptions import UsageError
from isthmus.features.embeddings import VectorTable
from isthmus.features.vector_rows import VectorRows
from isthmus.feedback.views import FLOOR

# Fitted constants; ``choose/trust.json`` states their units and origin.
BY_ANSWERS = fitted("accuracy_by_answers")


def without_answers(model: LabelModel) -> LabelModel:
    """Return the model as it was before any answer, with the present names of its classes.

    Parameters
    ----------
    model : LabelModel

    Returns
    -------
    LabelModel
    """
    if model.stage(Answers) is None:
        return model
    stages = [stage for stage in model.stages if not isinstance(stage, Answers)]
    return LabelModel(model.members, model.weights, stages)


def renamed_model(model: LabelModel, names: dict) -> LabelModel:
    """Return the model with renamed classes.

    Consecutive renames become one stage; a rename that restores the first names removes it.

    Parameters
    ----------
    model : LabelModel
    names : dict
        New name by present name.

    Returns
    -------
    LabelModel
    """
    stages = list(model.stages)
    if stages and isinstance(last := stages[-1], Rename):
        earlier = last.names
        del stages[-1]
        present = set(earlier.values())
        # Names before the earlier rename, with the names after the new one.
        composed = {old: names.get(new, new) for old, new in earlier.items()}
        composed |= {old: new for old, new in names.items() if old not in present and old not in earlier}
        names = {old: new for old, new in composed.items() if old != new}
    return LabelModel(model.members, model.weights, [*stages, *([Rename(dict(names))] if names else [])])


def renames_of(model: LabelModel) -> dict:
    """Return the present name of each class by its former names.

    Parameters
    ----------
    model : LabelModel

    Returns
    -------
    dict
    """
    names: dict = {}
    # From the last rename to the first, so that earlier names resolve to present names.
    for stage in reversed(model.stages):
        if isinstance(stage, Rename):
            names = {**names, **{old: names.get(new, new) for old, new in stage.names.items()}}
    return names


def vector_steps(model: Any) -> list[VectorRows]:
    """Return the steps that compute vectors of texts: the one that answers use, and those of the methods.

    Parameters
    ----------
    model : LabelModel

    Returns
    -------
    list of VectorRows
    """
    answers = model.stage(Answers)
    for_answers = [] if answers is None or answers.views.embedder is None else [answers.views.embedder]
    steps = [step for member in model.voters.values() for step in member.steps]
    return [*for_answers, *(step for step in steps if isinstance(step, VectorRows))]


def add_vectors(model: Any, texts: list[str], vectors: Any) -> None:
    """Add vectors of more texts to a model that uses given vectors.

    Parameters
    ----------
    model : LabelModel
    texts : list of str
    vectors : array-like of shape (n_texts, n_dimensions)

    Raises
    ------
    UsageError
        If the model does not use given vectors.
    """
    steps = vector_steps(model)
    tables = [step for step in steps if isinstance(step.model, VectorTable)]
    if not tables:
        what = "makes its own vectors" if steps else "uses no vectors"
        raise UsageError(f"The model {what}; leave vectors out.", code="bad-parameter")
    for step in tables:
        step.model = step.model.extended(texts, vectors)


def confidence_power(model: LabelModel, settings: Mapping[str, Any]) -> float:
    """Return the power that calibrates a model's probabilities to its expected accuracy.

    A vote has stages for the calibration, and so has a model with ten or more answers. For a single method, and for a
    model with few answers or only labelled words, the power was fitted when the accuracy was estimated.

    Parameters
    ----------
    model : LabelModel
    settings : mapping

    Returns
    -------
    float
    """
    answers = model.stage(Answers)
    if answers is not None and len(answers.correction.held_out) >= BY_ANSWERS["fewest_any"]:
        return 1.0
    return settings.get("sharpness", 1.0)


def calibrated_proba(
    model: Any, probabilities: np.ndarray, settings: Mapping[str, Any], vote: np.ndarray | None = None
) -> np.ndarray:
    """Return a model's probabilities, calibrated to its expected accuracy.

    Learning sets a lower limit for the vote's probability of a class, so that answers can overrule the vote. If a
    document keeps the label of the vote, the limit is removed again: a labelled word must not lower the confidence of
    documents that do not contain it.

    Parameters
    ----------
    model : LabelModel
    probabilities : ndarray of shape (n_texts, n_classes)
    settings : mapping
    vote : ndarray of shape (n_texts, n_vote_classes), optional
        Probabilities before the model learned answers.

    Returns
    -------
    ndarray of shape (n_texts, n_classes)
    """
    power = confidence_power(model, settings)
    if vote is None or power == 1.0:
        return sharpen(probabilities, power)
    indices = np.searchsorted(model.classes_, without_answers(model).classes_)
    raised = np.zeros(probabilities.shape)
    # By how much the floor increased the log-probabilities of the vote.
    raised[:, indices] = np.log(np.maximum(vote, FLOOR)) - np.log(np.maximum(vote, 1e-300))
    unchanged = probabilities.argmax(axis=1) == indices[vote.argmax(axis=1)]
    logs = np.log(np.maximum(probabilities, 1e-300)) - unchanged[:, None] * raised
    return sharpen(softmax(logs), power)
