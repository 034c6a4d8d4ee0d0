"""Learn from answers, and report their effect on a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._math.confidence import (
    AccuracyEstimate,
    lower_confidence_in_groups,
    review_mask,
    review_reasons,
    shift_to_mean,
    with_caution,
    without_text,
)
from isthmus._math.fitted import fitted
from isthmus._math.rows import rows_are_empty
from isthmus._utils import plural
from isthmus.choose.model import LabelModel
from isthmus.choose.stages.apply import Answers as AnswersStage
from isthmus.corpus.filled import find_new_classes, match_classes
from isthmus.corpus.words import read_words
from isthmus.exceptions import DataError, UsageError
from isthmus.feedback.accounting import (
    Expectation,
    band_weights,
    expect_accuracy,
    learning_curve,
    outlook,
    right_by_size,
)
from isthmus.feedback.answers import GROUP, PICKED, Answers, origin_of, propose_names
from isthmus.feedback.correction import learn_correction, make_folds, order_answers, pseudo_answers
from isthmus.feedback.labelling import AnyLabelling, Labelling, Learned, class_codes
from isthmus.feedback.model import calibrated_proba
from isthmus.feedback.self_training import train_on_everything
from isthmus.feedback.tables import read_answers
from isthmus.feedback.views import DocumentViews
from isthmus.feedback.whole import WholeGroups, whole_groups

# Fitted constants; ``choose/trust.json`` states their units and origin.
BY_ANSWERS = fitted("accuracy_by_answers")
CORRECTION = fitted("correction")

MORE = 50  # answers in the forecast
# Attributes that teaching changes and undoing restores, in addition to model and probabilities.
BEFORE = (
    *("labels", "confidence", "needs_review", "review_reason", "expected_accuracy", "settings"),
    *("novel_group", "novel", "warnings"),
)
HISTORY = ("name", "answers", "total", "changed", "towards")  # attributes of Learned that are stored for each round
ABOUT_THE_VOTE = ("review", "not estimated")  # topics of warnings that answers make invalid


def teach(
    labelling: AnyLabelling,
    answers: Any = None,
    *,
    drawn: str | None = None,
    word_labels: Mapping | str | PathLike | None = None,
    name: str | None = None,
    without: str | PathLike | None = None,
    by: str | None = None,
) -> AnyLabelling:
    """Learn answers and labelled words; see :meth:`isthmus.api.result.LabelResult.teach`.

    Parameters
    ----------
    labelling : Labelling
    answers, drawn, word_labels, name, without, by
        See :meth:`isthmus.api.result.LabelResult.teach`.

    Returns
    -------
    Labelling

    Raises
    ------
    UsageError
        If there is nothing to learn or to undo.
    DataError
        If the table contains no answers.
    """
    known = labelling.known_answers
    before = known
    batch: str | None = None
    if without is not None:
        # The table is undone before new answers are added, so both can happen in one call.
        batch = known.find_batch(without)
        if batch is None:
            names = ", ".join(map(repr, known.batches)) or "none"
            fitted = (
                " Words given to label belong to the fit; label again without them." if labelling.given_words else ""
            )
            raise UsageError(
                f"No answers came in a table called {str(without)!r}; those that did: {names}.{fitted}",
                code="bad-parameter",
            )
        known = known.without(batch)
    if answers is None and without is None and not word_labels:
        raise UsageError("There is nothing to learn; give answers, word_labels or without.", code="bad-parameter")
    if by is not None and not by.strip():
        raise UsageError(f"by={by!r}; name who gave the answers, such as by='gpt'.", code="bad-parameter")
    given = _read_given(labelling, known, answers, word_labels, drawn=drawn, name=name, by=by)
    if not (given.given or given.word_log) and without is None:
        raise DataError("The table has no answers; fill in true_label for at least one document.", code="bad-answers")
    # Answers without new information are ignored.
    given = known.news(given)
    known = known.plus(given)
    untaught = labelling.untaught()
    if not known.learnable:
        stored = known if known.blank or known.given else None
        return replace(untaught, answers=stored, learned=None, checked=None)
    taught = learn_answers(untaught, labelling, known, given)
    if batch is None:
        return taught
    answers_back = before.batch.count(batch)
    words_back = sum(name == batch for _, _, name in before.word_log)
    assert taught.learned is not None
    return replace(taught, learned=replace(taught.learned, taken_back=answers_back, words_taken_back=words_back))


def name_groups(labelling: AnyLabelling, names: Mapping[str, str | None]) -> AnyLabelling:
    """Give new groups a class; see :meth:`isthmus.api.result.LabelResult.name_groups`.

    Parameters
    ----------
    labelling : Labelling
    names : mapping of str to str or None
        Class by group; None takes the most typical word.

    Returns
    -------
    Labelling

    Raises
    ------
    UsageError
        If a group is not known or has no name.
    """
    if not isinstance(names, Mapping):
        raise UsageError(f"names is {type(names).__name__}; give {{group: class}}.", code="bad-parameter")
    words = {group["group"]: str(group["words"]) for group in labelling.novel}
    known = list(words)
    for given, name in names.items():
        # A group is given by its number in the list or by its name.
        group = known[int(given) - 1] if given.isdecimal() and 0 < int(given) <= len(known) else given
        if group not in known:
            groups = ", ".join(f"{number} ({group})" for number, group in enumerate(known, 1)) or "none"
            raise UsageError(f"There is no group {given[:60]!r}; the groups are: {groups}.", code="bad-parameter")
        if name is None:
            name = next(iter(propose_names(words[group], labelling.classes)), "")
        if not name.strip():
            raise UsageError(f"The group {group!r} needs a name; give one.", code="bad-parameter")
        # Every document of the group gets the class, unread.
        rows = np.flatnonzero(labelling.novel_group == group)
        answers = {"document": (rows + 1).tolist(), "true_label": [name.strip()] * len(rows)}
        labelling = teach(labelling, answers, drawn=GROUP, name=group)
    return labelling


def _read_given(
    labelling: Labelling,
    known: Answers,
    answers: Any,
    word_labels: Any,
    *,
    drawn: str | None,
    name: str | None,
    by: str | None,
) -> Answers:
    """Return the given answers and words, each under the name of its table."""
    origins = {}
    unnamed = next(f"answers {n}" for n in count(1) if f"answers {n}" not in known.batches)
    batch = name or unnamed
    if isinstance(answers, str | PathLike) and name is None:
        batch = known.name_of(answers)
        origins[batch] = origin_of(answers)
    given = read_answers(labelling, answers, drawn=drawn, name=batch, by=by)
    if not word_labels:
        return replace(given, origins=origins)
    word_batch = name or unnamed
    if isinstance(word_labels, str | PathLike):
        if name is None:
            word_batch = known.name_of(word_labels)
            origins[word_batch] = origin_of(word_labels)
        word_labels = read_words(Path(word_labels), blanks=True)
    words = _check_words(word_labels, labelling)
    log = [(word, label, word_batch) for word, label in words.items()]
    return replace(given, origins=origins, word_log=log)


def learn_answers(untaught: AnyLabelling, earlier: Labelling, known: Answers, given: Answers) -> AnyLabelling:
    """Learn all answers and label the texts again.

    Parameters
    ----------
    untaught : Labelling
        The result before any answer.
    earlier : Labelling
        The result before the latest answers.
    known, given : Answers
        All answers, and the latest answers.

    Returns
    -------
    Labelling
    """
    opinions = untaught.voters()
    rows = earlier.views.transform(untaught.texts, list(opinions.values()))
    fit = fit_answers(untaught, earlier.views, rows, known)
    stage = fit.stage
    # Only the stage of answers is new; the members and the earlier stages stay as they are.
    model = LabelModel(untaught.model.members, untaught.model.weights, [*untaught.model.stages, stage])
    probabilities = stage.from_rows(rows, fit.vote)
    # An answered document has its answer, whatever the model predicts.
    probabilities[known.rows] = np.eye(len(fit.classes))[class_codes(fit.classes, known.labels)]
    best = probabilities.argmax(axis=1)
    labels = fit.classes[best]
    groups = _remaining_groups(untaught, labels, known)
    calibrated = calibrated_proba(model, probabilities, untaught.settings, fit.vote)
    confidence = calibrated[np.arange(len(best)), best]
    confidence[known.rows] = 1.0
    whole = whole_groups(untaught, known)
    # Nobody read these documents, so their class is uncertain.
    confidence[whole.documents] = whole.right.estimate
    confidence = lower_confidence_in_groups(confidence, groups["novel_group"])
    in_group = groups["novel_group"] != ""
    left = np.isin(untaught.novel_group, [group["group"] for group in groups["novel"]])
    expected, ahead = account(fit, confidence, in_group, left[fit.indices], untaught.seed, whole)
    if expected is not None:
        # The held-out answers measured the accuracy; the confidences of the other documents follow it.
        open_ = ~in_group & ~np.isin(np.arange(len(labels)), [*known.rows, *whole.documents])
        right = expected.open_outside
        if open_.any() and right is not None:
            confidence[open_] = shift_to_mean(confidence[open_], right)
    learned = _compare(earlier, labels, known, given, expected, ahead)
    no_known_terms = rows_are_empty(earlier.views.words_of(rows))
    accuracy, cautious_confidence = _accuracy_after(expected, confidence, untaught.settings, whole)
    unread = ~fit.answered
    unread[whole.documents] = True
    must_read = (in_group | no_known_terms) & unread
    low = review_mask(cautious_confidence, untaught.error_budget, must_read=must_read)
    reasons = review_reasons(
        len(labels),
        error_budget=untaught.error_budget,
        new_group=in_group & unread,
        no_known_words=no_known_terms & unread,
        not_sure_enough=low & unread,
        not_estimated=unread & (untaught.unverified and len(known) < BY_ANSWERS["fewest_any"]),
    )
    settings = untaught.settings
    if accuracy.estimate is not None:  # later texts get the same caution
        settings = settings | {"caution": BY_ANSWERS["caution"] * accuracy.caution, "surest": 1.0}
    return replace(
        untaught,
        labels=labels,
        confidence=confidence,
        needs_review=np.asarray(reasons != "", dtype=bool),
        review_reason=reasons,
        settings=settings,
        classes=fit.classes,
        probabilities=probabilities,
        model=model,
        expected_accuracy=accuracy,
        opinions=opinions,
        vote=fit.vote,
        answers=known,
        learned=learned,
        before={name: getattr(untaught, name) for name in BEFORE},
        checked=None,
        **groups,
        history=[*earlier.history, {name: getattr(learned, name) for name in HISTORY}],
    )


def _accuracy_after(
    expected: Expectation | None, confidence: np.ndarray, settings: Mapping[str, Any], whole: WholeGroups
) -> tuple[AccuracyEstimate, np.ndarray]:
    """Return the expected accuracy after answers, and the confidences at its low end."""
    if expected is None:
        reason = f"people gave fewer than {BY_ANSWERS['fewest_any']} answers"
        if len(whole.documents):
            reason = (
                f"{plural(len(whole.documents), 'document')} got a class as a group, and fewer than "
                f"{BY_ANSWERS['fewest_any']} documents were read one by one; check a sample"
            )
        accuracy = AccuracyEstimate(None, reason=reason)
        return accuracy, with_caution(confidence, settings.get("caution", 0.0), settings.get("surest", 1.0))
    accuracy = AccuracyEstimate(expected.estimate, expected.low, expected.high, outside_groups=expected.outside_groups)
    return accuracy, with_caution(confidence, BY_ANSWERS["caution"] * accuracy.caution)


@dataclass(frozen=True)
class AnswerFit:
    """A fitted stage of answers, with the data on which it was fitted."""

    stage: AnswersStage
    classes: np.ndarray  # after this stage
    rows: sp.csr_matrix
    vote: np.ndarray
    indices: np.ndarray  # answered documents, in the order of training
    codes: np.ndarray  # their answers
    at_random: np.ndarray  # whether they were drawn at random

    @property
    def answered(self) -> np.ndarray:
        """Mask of the answered documents."""
        return np.isin(np.arange(len(self.vote)), self.indices)


def fit_answers(untaught: Labelling, views: DocumentViews, rows: sp.csr_matrix, known: Answers) -> AnswerFit:
    """Fit the stage of answers on a model that has not learned them.

    Parameters
    ----------
    untaught : Labelling
        The result before any answer.
    views : DocumentViews
    rows : CSR matrix of shape (n_texts, n_columns)
        Rows of the views.
    known : Answers

    Returns
    -------
    AnswerFit
    """
    vote = untaught.probabilities
    classes = extend_classes(untaught.classes, [*known.labels, *_word_classes(known.words)])
    codes = class_codes(classes, known.labels)
    # Sorted, because the order of the answers must not affect the fit.
    order = order_answers([untaught.texts[row] for row in known.rows], codes)
    indices = np.array(known.rows, dtype=int)[order]
    codes = codes[order]
    extra = _word_rows(views, known.words, classes, rows.shape[1])
    picked = np.array([kind in (PICKED, GROUP) for kind in known.drawn], dtype=bool)[order]
    pseudo = pseudo_answers(vote, untaught.texts, indices, codes, picked)
    unnamed = None if pseudo is None else (rows[pseudo[0]], vote[pseudo[0]], pseudo[1])
    correction = learn_correction(
        rows[indices], vote[indices], codes, classes, untaught.seed, extra=extra, unnamed=unnamed, picked=picked
    )
    corrected = correction.probabilities(rows, vote)
    corrected[indices] = np.eye(len(classes))[codes]
    # Unlabelled source documents only contribute their words.
    source_codes = class_codes(classes, [label for label in untaught.source_labels.tolist() if label is not None])
    n_words = 0 if extra is None else len(extra[1])
    answered = np.isin(np.arange(len(vote)), indices)
    word_model = train_on_everything(
        views.source_words, source_codes, views.words_of(rows), corrected, answered, len(known) + n_words
    )
    at_random = known.at_random[order]
    stage = AnswersStage(views, correction, word_model)
    return AnswerFit(stage, stage.output_classes(untaught.classes), rows, vote, indices, codes, at_random)


def _remaining_groups(untaught: Labelling, labels: np.ndarray, known: Answers) -> dict[str, Any]:
    """Return the groups that fit no class, without documents that answers resolved.

    Answers resolve three kinds of documents: answered documents, documents with a class that answers introduced, and
    groups with at least five answers most of which name a class of the source. Such a group was a false alarm. Warnings
    about groups without remaining documents, and warnings about the vote only, are removed, too.
    """
    classes = set(untaught.classes.tolist())
    groups = np.array(untaught.novel_group, dtype=object)
    known_class: dict[str, list[bool]] = {group["group"]: [] for group in untaught.novel}
    for row, label in zip(known.rows, known.labels, strict=True):
        known_class.setdefault(groups[row], []).append(label in classes)
    wrong = [
        name
        for name, found in known_class.items()
        if len(found) >= BY_ANSWERS["settles"] and 2 * sum(found) > len(found)
    ]
    groups[np.isin(groups, wrong) | ~np.isin(labels, untaught.classes)] = ""
    groups[known.rows] = ""
    left = set(groups.tolist())
    remain = [group["group"] in left for group in untaught.novel]
    stays = iter(remain)  # one warning per group, in the same order
    return {
        "novel_group": groups,
        "novel": [group for group, kept in zip(untaught.novel, remain, strict=True) if kept],
        "warnings": [
            row
            for row in untaught.warnings
            if row["topic"] not in ABOUT_THE_VOTE and (row["topic"] != "new group" or next(stays, True))
        ],
    }


def account(
    fit: AnswerFit,
    confidence: np.ndarray,
    in_group: np.ndarray,
    from_group: np.ndarray,
    seed: int | None,
    whole: WholeGroups,
) -> tuple[Expectation | None, dict | None]:
    """Estimate the accuracy, and forecast the effect of more answers.

    Documents of a group that got its class as a whole are learned, but they are no evidence, because nobody read them.

    Parameters
    ----------
    fit : AnswerFit
    confidence : ndarray of shape (n_texts,)
    in_group : ndarray of bool, shape (n_texts,)
        Documents in a new group.
    from_group : ndarray of bool, shape (n_answers,)
        Answered documents whose group still exists.
    seed : int or None
    whole : WholeGroups

    Returns
    -------
    expected : Expectation or None
    ahead : dict or None
        None if there are too few answers.
    """
    correction = fit.stage.correction
    n_answers = len(fit.codes)
    read = ~np.isin(fit.indices, whole.documents)
    if read.sum() < BY_ANSWERS["fewest_any"]:
        return None, None
    predicted = correction.held_out.argmax(axis=1)
    right = predicted == fit.codes
    held_out = correction.held_out.max(axis=1)
    answered = fit.answered
    expected = expect_accuracy(
        right[read],
        fit.at_random[read],
        held_out[read],
        confidence[~answered & ~in_group],
        len(answered) - len(whole.documents),
        in_groups=confidence[in_group],
        # A document with a class that answers introduced is no longer in a group.
        answered_in_groups=(from_group & (predicted < fit.vote.shape[1]))[read],
    )
    if len(whole.documents):
        expected = whole.joined_to(expected, len(answered))
    # Too few answers for a forecast, or no need for more answers.
    if not BY_ANSWERS["fewest_for_outlook"] <= n_answers <= 2 * CORRECTION["many"] or answered.all():
        return expected, None
    hits = right_by_size(fit.rows[fit.indices], fit.vote[fit.indices], fit.codes, correction, seed)
    weights = None
    if fit.at_random.sum() >= BY_ANSWERS["fewest_for_outlook"]:
        # Enough answers drawn at random represent all documents, so they need no weights.
        hits = {size: part[fit.at_random] for size, part in hits.items()}
    else:
        weights = band_weights(held_out, confidence[~answered])
    ahead = outlook(hits, n_answers, MORE, weights)
    # More answers improve only the documents without an answer.
    rest = float(np.mean(~answered))
    room = 1.0 - expected.estimate  # the extrapolated curve could exceed 100% of right labels
    return expected, {
        "answers": MORE,
        "gain": min(ahead.gain * rest, room),
        "margin": ahead.margin * rest,
        "curve": learning_curve(hits, weights),
    }


def labels_without_own_answer(labelling: Labelling, rows: Sequence[int]) -> list:
    """Return the labels that documents get from the answers to other documents, by cross-fitting.

    Documents with the same text are in one fold. All parts of the model that depend on answers are fitted again without
    that fold.

    Parameters
    ----------
    labelling : Labelling
    rows : sequence of int
        Answered documents.

    Returns
    -------
    list
    """
    known = labelling.known_answers
    untaught = labelling.untaught()
    opinions = untaught.voters()
    own_rows = labelling.views.transform(untaught.texts, list(opinions.values()))
    codes = class_codes(extend_classes(untaught.classes, known.labels), known.labels)
    order = order_answers([untaught.texts[row] for row in known.rows], codes)
    by_text: dict[str, int] = {}
    for index, fold in zip(order.tolist(), make_folds(codes[order], untaught.seed).tolist(), strict=True):
        by_text.setdefault(untaught.texts[known.rows[index]], fold)
    folds = {row: by_text[untaught.texts[row]] for row in known.rows}
    labels = {}
    for fold in sorted({folds[row] for row in rows}):
        others = known.keep(row for row in known.rows if folds[row] != fold)
        held_out = [row for row in rows if folds[row] == fold]
        if not others.learnable:
            labels.update({row: untaught.labels[row] for row in held_out})
            continue
        fit = fit_answers(untaught, labelling.views, own_rows, others)
        best = fit.stage.from_rows(own_rows[held_out], untaught.probabilities[held_out]).argmax(axis=1)
        labels.update(zip(held_out, fit.classes[best].tolist(), strict=True))
    return [labels[row] for row in rows]


def _compare(
    earlier: Labelling,
    labels: np.ndarray,
    known: Answers,
    given: Answers,
    expected: Expectation | None,
    ahead: dict | None,
) -> Learned:
    old = earlier.labels.tolist()
    new = labels.tolist()
    moved = [now for was, now in zip(old, new, strict=True) if was != now]
    # Changes towards these classes are an effect of the latest table.
    named = set(given.labels)
    counted = ~without_text(earlier.texts)
    return Learned(
        name=next(iter(given.batches), ""),
        answers=len(given),
        total=len(known),
        changed=len(moved),
        towards=sum(label in named for label in moved),
        before=_counts(earlier.labels[counted]),
        after=_counts(labels[counted]),
        outlook=ahead,
        basis="" if expected is None else expected.basis,
        new_classes=find_new_classes([*given.labels, *_word_classes(given.words)], earlier.classes.tolist()),
        words=len(given.words),
    )


def _counts(labels: np.ndarray) -> dict:
    names, counts = np.unique(labels.astype(str), return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def extend_classes(classes: np.ndarray, names: Sequence) -> np.ndarray:
    """Return the classes with new names added at the end.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    names : sequence

    Returns
    -------
    ndarray

    Raises
    ------
    DataError
        If a name is new and the classes are numbers.
    """
    classes = np.asarray(classes)
    known = set(classes.tolist())
    new = sorted({name for name in names if name not in known}, key=str)
    if not new:
        return classes
    if classes.dtype.kind in "iufb":
        raise DataError(
            f"{str(new[0])[:40]!r} is a new class, and the classes are numbers; use names for all classes to add one.",
            code="bad-labels",
        )
    return np.array([*classes.tolist(), *new])


def _check_words(word_labels: Mapping, labelling: Labelling) -> dict[str, Any]:
    if not isinstance(word_labels, Mapping):
        raise DataError(
            f"word_labels is {type(word_labels).__name__}; give {{word: label}}, or a file with the columns word and "
            "label.",
            code="bad-word-labels",
        )
    words = {}
    for word, label in word_labels.items():
        weights = label if isinstance(label, Mapping) else {label: 1.0}
        matched = match_classes(labelling.in_current_names(list(weights)), labelling.classes.tolist())
        if any(name is None for name in matched):
            raise DataError(f"The word {str(word)[:40]!r} has no label; name a class.", code="bad-word-labels")
        words[str(word)] = dict(zip(matched, map(float, weights.values()), strict=True))
    return words


def _word_classes(words: Mapping[str, dict]) -> list:
    return [name for weights in words.values() for name in weights]


def _word_rows(
    views: DocumentViews, words: Mapping[str, dict], classes: np.ndarray, n_columns: int
) -> tuple[sp.csr_matrix, np.ndarray] | None:
    """Return a row for each labelled word, as a document with this word only.

    Words that occur in no document are left out.
    """
    pairs = [(word, name) for word, weights in sorted(words.items()) for name, weight in weights.items() if weight > 0]
    if not pairs:
        return None
    rows = views.words([word for word, _ in pairs], n_columns)
    filled = np.flatnonzero(~rows_are_empty(rows))
    codes = class_codes(classes, [name for _, name in pairs])
    return (rows[filled], codes[filled]) if len(filled) else None
