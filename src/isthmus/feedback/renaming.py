"""Rename and merge the classes of a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from isthmus._math.confidence import lower_confidence_in_groups, review_mask, with_caution
from isthmus._math.rows import sharpen
from isthmus.choose.stages.apply import Answers as AnswersStage
from isthmus.choose.stages.apply import merge_columns
from isthmus.corpus.cells import cell_content
from isthmus.exceptions import UsageError
from isthmus.feedback.answers import Answers
from isthmus.feedback.labelling import AnyLabelling, Labelling, class_codes
from isthmus.feedback.model import confidence_power, renamed_model, without_answers
from isthmus.feedback.teaching import learn_answers


def rename_classes(labelling: AnyLabelling, names: Mapping) -> AnyLabelling:
    """Rename classes; see :meth:`isthmus.api.result.LabelResult.rename_classes`.

    Parameters
    ----------
    labelling : Labelling
    names : mapping
        New name by old name. Classes with the same new name are merged.

    Returns
    -------
    Labelling

    Raises
    ------
    UsageError
        If a name is not a class, or a new name is empty or differs from another only in case.
    """
    renames = _check_renames(labelling, names)
    if not renames:
        return labelling
    present = {renames.get(name, name) for name in labelling.classes.tolist()}
    merged = len(present) < len(labelling.classes)
    if not merged:
        return _renamed(labelling, renames)
    untaught = _merged(labelling.untaught(), renames)
    if labelling.model.stage(AnswersStage) is None:
        return untaught
    # A merge changes which documents are uncertain, so the answers are learned again.
    known = labelling.known_answers.renamed(renames)
    labels = np.array([renames.get(label, label) for label in labelling.labels.tolist()])
    earlier = replace(untaught, labels=labels, classes=np.unique(labels), history=labelling.history)
    return replace(learn_answers(untaught, earlier, known, Answers()), history=labelling.history)


def _check_renames(labelling: Labelling, names: Mapping) -> dict:
    """Return the new name of each class that changes, in the type of the other classes."""
    known = {cell_content(name): name for name in labelling.classes.tolist()}
    unknown = [name for name in names if cell_content(name) not in known]
    if unknown or not names:
        raise UsageError(
            f"{str(unknown[0])!r} is not a class; the classes are {', '.join(known)}."
            if unknown
            else "There is nothing to rename; give {old name: new name}.",
            code="bad-parameter",
        )
    blank = [old for old, new in names.items() if not cell_content(new)]
    if blank:
        raise UsageError(f"The class {str(blank[0])!r} has no new name; give one.", code="bad-parameter")
    renames = {known[cell_content(old)]: new for old, new in names.items()}
    if labelling.classes.dtype.kind in "iufb":  # a number and a name cannot be in one array
        renames = {name: cell_content(renames.get(name, name)) for name in labelling.classes.tolist()}
        # If all new names are classes, they keep the type of the classes.
        if all(new in known for new in renames.values()):
            renames = {old: known[new] for old, new in renames.items()}
    present = {cell_content(renames.get(name, name)) for name in labelling.classes.tolist()}
    for new in map(cell_content, renames.values()):
        other = [name for name in present if name != new and name.casefold() == new.casefold()]
        if other:
            raise UsageError(
                f"{new[:40]!r} and {other[0][:40]!r} differ only in upper and lower case; use one spelling for both.",
                code="bad-parameter",
            )
    return {old: new for old, new in renames.items() if old != new}


def _renamed(labelling: AnyLabelling, names: dict) -> AnyLabelling:
    base = without_answers(labelling.model).classes_
    probabilities, classes = merge_columns(labelling.probabilities, labelling.classes, names)
    before = labelling.before
    # The attributes that undoing restores need the new names, too.
    if before is not None:
        before = before | {
            "labels": _rename(before["labels"], names),
            "novel": _rename_nearest(before.get("novel", []), names),
        }
    return replace(
        labelling,
        labels=_rename(labelling.labels, names),
        classes=classes,
        probabilities=probabilities,
        model=renamed_model(labelling.model, names),
        source_labels=_rename(labelling.source_labels, names, dtype=object),
        opinions=_merge_opinions(labelling.opinions, base, names),
        vote=None if labelling.vote is None else merge_columns(labelling.vote, base, names)[0],
        answers=None if labelling.answers is None else labelling.known_answers.renamed(names),
        learned=None if labelling.learned is None else labelling.learned.renamed(names),
        novel=_rename_nearest(labelling.novel, names),
        descriptions=_rename_descriptions(labelling.descriptions, names),
        before=before,
        checked=None if labelling.checked is None else labelling.checked.renamed(names),
    )


def _merged(untaught: AnyLabelling, names: dict) -> AnyLabelling:
    """Return the result with merged classes: documents that were uncertain between them become confident.

    A label changes only if a merged class overtakes it. A document that was marked for review passes only if its
    confidence increased.
    """
    settings = untaught.settings
    power = confidence_power(untaught.model, settings)
    probabilities, classes = merge_columns(untaught.probabilities, untaught.classes, names)
    sharp, _ = merge_columns(sharpen(untaught.probabilities, power), untaught.classes, names)
    present = [names.get(name, name) for name in untaught.classes.tolist()]
    grown = np.array([present.count(name) > 1 for name in classes.tolist()])
    codes = class_codes(classes, _rename(untaught.labels, names).tolist())
    best = sharp.argmax(axis=1)
    at = np.arange(len(codes))
    # Only a class that grew by the merge can overtake a label.
    codes = np.where(grown[best] & (sharp[at, best] > sharp[at, codes]), best, codes)
    confidence = lower_confidence_in_groups(sharp[at, codes], untaught.novel_group)
    # Merging classes cannot make a label less certain.
    confidence = np.maximum(confidence, untaught.confidence)
    expected = untaught.expected_accuracy
    if expected is not None and expected.estimate is not None:
        before = expected
        gain, outside = confidence - untaught.confidence, untaught.novel_group == ""
        expected = expected.raised(float(gain.mean()), float(gain[outside].mean()) if outside.any() else 0.0)
        # The caution of the budget keeps its ratio to the width of the interval.
        share = settings.get("caution", 0.0) / max(before.caution, 1e-9)
        settings = settings | {"caution": share * expected.caution}
    cautious_confidence = with_caution(confidence, settings.get("caution", 0.0), settings.get("surest", 1.0))
    rose = confidence > untaught.confidence + 1e-9
    # The reasons that do not depend on the confidence stay.
    must_read = np.isin(untaught.review_reason, ("new group", "no known words"))
    review = review_mask(cautious_confidence, untaught.error_budget, must_read=must_read)
    needs_review = untaught.needs_review & (review | ~rose | untaught.unverified)
    return replace(
        untaught,
        labels=classes[codes],
        confidence=confidence,
        needs_review=needs_review,
        review_reason=np.where(needs_review, untaught.review_reason, ""),
        expected_accuracy=expected,
        settings=settings,
        classes=classes,
        probabilities=probabilities,
        model=renamed_model(untaught.model, names),
        source_labels=_rename(untaught.source_labels, names, dtype=object),
        opinions=_merge_opinions(untaught.opinions, untaught.classes, names),
        vote=None,
        novel=_rename_nearest(untaught.novel, names),
        # The warning that all documents need review may no longer be true.
        warnings=[row for row in untaught.warnings if row["topic"] != "review" or needs_review.all()],
        descriptions=_rename_descriptions(untaught.descriptions, names),
        checked=None,
    )


def _rename(labels: np.ndarray, names: dict, dtype: Any = None) -> np.ndarray:
    return np.array([names.get(label, label) for label in labels.tolist()], dtype=dtype)


def _rename_descriptions(descriptions: dict, names: dict) -> dict:
    joined: dict[Any, str] = {}
    for name, text in descriptions.items():
        new = names.get(name, name)
        joined[new] = f"{joined[new]}; {text}" if new in joined else text
    return joined


def _rename_nearest(groups: list[dict], names: dict) -> list[dict]:
    return [
        group | {"nearest_class": names.get(group["nearest_class"], group["nearest_class"])}
        if "nearest_class" in group
        else group
        for group in groups
    ]


def _merge_opinions(opinions: dict | None, classes: np.ndarray, names: dict) -> dict | None:
    if opinions is None:
        return None
    return {name: merge_columns(part, classes, names)[0] for name, part in opinions.items()}
