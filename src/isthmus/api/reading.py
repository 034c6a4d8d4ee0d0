"""Functions on a result about the documents that a person reads: shares of classes, forecasts, samples and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import logit

from isthmus._math.confidence import with_caution, without_text
from isthmus.choose.checking import LabelCheck, check_sample
from isthmus.choose.forecast import forecast_answers
from isthmus.choose.guaranteed import draw_to_decide, look_at_random, next_step, read_list
from isthmus.choose.prevalence import ShareFacts, value_masks, with_source
from isthmus.choose.sampling import sample_table
from isthmus.exceptions import UsageError
from isthmus.features.embeddings import STATIC, has_static_vectors
from isthmus.features.languages import languages_in_use
from isthmus.features.lexicons import read_polarity
from isthmus.feedback.model import calibrated_proba, without_answers
from isthmus.feedback.teaching import labels_without_own_answer
from isthmus.wording import LOOK, AnswerForecast, Step

# Characters; with a smaller median on one side, words alone say little about a text (benchmarks/notes/names.md).
SHORT_TEXT = 200


def class_shares(result: Any, by: Sequence | None = None) -> list[dict]:
    """Return the share of each class; see :meth:`isthmus.api.result.LabelResult.class_shares`.

    Parameters
    ----------
    result : LabelResult
    by : sequence, optional
        One value per text.

    Returns
    -------
    list of dict
    """
    if by is None:
        return _shares(result)
    _, masks = value_masks(list(by), len(result.texts))
    return [
        {"value": value, "documents": int(mask.sum())} | row for value, mask in masks for row in _shares(result, mask)
    ]


def accuracy_by(result: Any, by: Sequence) -> list[dict]:
    """Return the expected accuracy by the values of a column; see :meth:`isthmus.api.result.LabelResult.accuracy_by`.

    Parameters
    ----------
    result : LabelResult
    by : sequence
        One value per text.

    Returns
    -------
    list of dict
    """
    _, masks = value_masks(list(by), len(result.texts))
    expected = result.accuracy
    known = expected is not None and expected.estimate is not None
    ends = [result.confidence] * 3
    if known:
        middle, *others = logit(np.clip([expected.estimate, expected.low, expected.high], 1e-6, 1 - 1e-6))
        cautions = (middle - end for end in others)
        ends[1:] = (with_caution(result.confidence, float(caution)) for caution in cautions)
        for part in ends[1:]:
            part[result.known_answers.read.rows] = 1.0
    return [
        {
            "value": value,
            "documents": int(mask.sum()),
            "needs_review": int(result.needs_review[mask].sum()),
            **{
                name: float(part[mask].mean()) if known and mask.any() else None
                for name, part in zip(("estimate", "low", "high"), ends, strict=True)
            },
        }
        for value, mask in masks
    ]


def _shares(result: Any, within: np.ndarray | None = None) -> list[dict]:
    measured = result.measured
    if measured is None:
        return with_source(share_facts(result).shares(within), result.source_labels)
    rows = measured.shares if within is None else share_facts(result).shares(within)
    basis = {"sample": "check", None: "check"}
    rows = [row | {"basis": basis.get(row.get("basis"), row.get("basis"))} for row in rows]
    return with_source(rows, result.source_labels)


def share_facts(result: Any) -> ShareFacts:
    """Collect the known and estimated classes of all documents, from which shares are computed.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    ShareFacts
    """
    answers, measured = result.known_answers.read, result.measured
    known = dict(zip(answers.rows, answers.labels, strict=True))
    drawn = [row for row, at_random in zip(answers.rows, answers.at_random, strict=True) if at_random]
    level: dict[str, float] = {}
    before = None
    if result.vote is not None:  # answers can add classes, so the vote may have fewer columns
        before = np.zeros(result.probabilities.shape)
        before[:, np.searchsorted(result.classes, without_answers(result.model).classes_)] = result.vote
    if measured is not None:
        drawn, level = measured.rows, {"level": measured.confidence_level}
        known |= dict(zip(measured.rows, measured.true_labels, strict=True))
    return ShareFacts(
        result.classes.tolist(),
        result.labels,
        calibrated_proba(result.model, result.probabilities, result.settings, result.vote),
        result.confidence,
        result.accuracy,
        known,
        drawn,
        before,
        **level,
        counted=~without_text(result.texts),
    )


def suggest_reading(result: Any) -> Step | None:
    """Return the next step; see :meth:`isthmus.api.result.LabelResult.next_step`.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    Step or None
    """
    expected, budget = result.expected_accuracy, result.error_budget
    if without_text(result.texts).all():
        return None
    guaranteed = result.checked is not None and result.checked.guarantee is not None
    if not result.needs_review.any():
        all_read = len(result.known_answers.read.rows) == len(result.texts)
        return None if result.checked is not None or all_read else look_at_random(result.texts)
    if guaranteed or expected is None or result.comparison is not None:  # later texts
        return None
    step = None
    if expected.estimate is not None and 0 < budget < 1:
        step = next_step(
            result.confidence, result.needs_review, budget, result.texts, eligible=result.may_pass, expected=expected
        )
    if step is not None:
        return step
    is_long = np.count_nonzero(result.needs_review) > LOOK
    return read_list(result.needs_review, result.texts, forecast(result, LOOK) if is_long else None)


def advise_encoder(result: Any) -> dict[str, str] | None:
    """Return advice to use a sentence encoder; see :attr:`isthmus.api.result.LabelResult.advice`.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    dict of str to str or None
        ``code`` and ``message``.
    """
    settings = result.settings
    used = settings.get("vectors", "none")
    # Without vectors although the packaged ones are installed, the caller wants none.
    if used not in ("none", STATIC) or (used == "none" and has_static_vectors()):
        return None
    if settings.get("method") != "auto" or not result.source_texts:
        return None
    if read_polarity(result.classes) is not None:
        reason = "The classes are verdicts"
    elif min(np.median([len(text) for text in side]) for side in (result.source_texts, result.texts)) <= SHORT_TEXT:
        reason = "The texts are short"
    else:
        return None
    if languages_in_use(result.texts) == ("en",):
        name = "bge-small-en-v1.5"
        steps = f"Install isthmus[onnx], run 'isthmus models get {name}', and label again with embed='{name}'."
    else:  # measured in docs/measured/languages.md
        steps = "Install isthmus[multilingual] and label again with embed='use'."
    message = (
        f"{reason}, and no sentence encoder was used; an encoder would probably label more texts correctly. {steps}"
    )
    return {"code": "no-encoder", "message": message}


def forecast(result: Any, answers: int | Mapping | Any) -> AnswerForecast | None:
    """Forecast the effect of answers; see :meth:`isthmus.api.result.LabelResult.forecast`.

    Parameters
    ----------
    result : LabelResult
    answers : int or table

    Returns
    -------
    AnswerForecast or None
    """
    table: Any = answers
    if not isinstance(table, Integral) and not (hasattr(table, "__getitem__") and "document" in table):
        raise UsageError(
            f"{type(answers).__name__} was given; give a number of documents, or the questions that ask gave.",
            code="bad-parameter",
        )
    if result.expected_accuracy is None or result.expected_accuracy.estimate is None:
        return None
    if isinstance(table, Integral):
        open_ = np.ones(len(result.texts), dtype=bool)
        open_[result.known_answers.read.rows] = False
        order = np.argsort(result.confidence, kind="stable")
        rows = order[open_[order]][: max(0, int(table))].tolist()
    else:
        rows = [int(number) - 1 for number in table["document"]]
    return forecast_answers(result.confidence, result.needs_review, rows, result.error_budget, result.texts)


def sample_to_decide(result: Any, n: int, budget: float, random_state: int | None) -> dict[str, list]:
    """Draw the documents whose labels decide most about a guarantee; those of an earlier check come first.

    Parameters
    ----------
    result : LabelResult
    n : int
        Number of new documents.
    budget : float
    random_state : int or None

    Returns
    -------
    dict of str to list
    """
    found, read, known = result.checked, None, {}
    if found is not None and found.guarantee is not None:
        right = result.labels[found.rows] == np.array(found.true_labels, dtype=object)
        read = found.rows, right, found.guarantee.among
        known = dict(zip(found.rows, found.true_labels, strict=True))
    rows, among = draw_to_decide(
        result.confidence,
        result.texts,
        budget,
        n,
        random_state=random_state,
        eligible=result.may_pass,
        expected=result.expected_accuracy,
        read=read,
    )
    return sample_table(rows, result.texts, result.ids, among=among, known=known)


def check_documents(result: Any, rows: list[int], truths: list, budget: float | None, among: int | None) -> LabelCheck:
    """Check the labels of documents against true labels.

    Documents whose answer the model learned are checked by the label that they get without it.

    Parameters
    ----------
    result : LabelResult
    rows : list of int
    truths : list
        True label of each of these rows.
    budget : float or None
    among : int or None
        Number of documents from which the sample was drawn; None for all.

    Returns
    -------
    LabelCheck
    """
    known = result.known_answers.read
    answers = dict(zip(known.rows, known.labels, strict=True))
    checked = {row: truth for row, truth in zip(rows, truths, strict=True) if truth is not None}
    learned = sorted(set(checked) & set(answers))
    labels = result.labels.astype(object)
    if learned:
        labels[learned] = labels_without_own_answer(result, learned)
    found = check_sample(
        labels,
        result.confidence,
        rows,
        truths,
        budget=budget,
        among=among,
        eligible=result.may_pass,
        classes=result.classes,
        expected=result.expected_accuracy,
        counted=~without_text(result.texts),
    )
    if not learned:
        return found
    wrong = sum(checked[row] != answers[row] for row in learned)
    return found.with_answered(wrong, len(known), len(learned))
