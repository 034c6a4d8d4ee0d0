"""Compute the top of a report: the figures of the first screen, warnings, and the candidates of the choice."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from isthmus._math.confidence import ExpectedErrors, explain_reason, without_text
from isthmus._utils import plural
from isthmus.wording import ClassShare, Outcome, Passing, Share, warning_title

_COLOURS = 8  # colours in the palette of the style sheet


def outcome_figures(result, *, target: str = "", source: str = "") -> Outcome:
    """Return the figures of the first screen.

    Parameters
    ----------
    result : LabelResult
        The result.
    target, source : str
        Names of the collections.

    Returns
    -------
    Outcome
    """
    expected, measured, learned = result.accuracy, result.measured, result.learned
    basis = "" if learned is None else learned.basis
    right = Share(None, basis=basis)
    if expected is not None:
        figures = expected.estimate, expected.low, expected.high, expected.confidence_level, expected.reason
        right = Share(*figures, basis=basis, checked=0 if measured is None else measured.n)
    found = None if result.checked is None else result.checked.guarantee
    passing = None
    if found is not None:
        more = found.next_step or {"read": 0, "documents": 0}
        sizes = found.documents, len(result.labels), found.unread, found.read
        passing = Passing(*sizes, found.budget, found.confidence_level, more["read"], more["documents"])
    # An empty document has a label, but it would distort the class proportions.
    counted = result.labels[~without_text(result.texts)]
    shares = result.class_shares()
    errors = ExpectedErrors.of(result.confidence, result.needs_review)
    return Outcome(
        documents=len(result.labels),
        review=int(result.needs_review.sum()),
        right=right,
        classes=tuple(
            ClassShare(
                str(row["class"]), int(np.sum(counted == row["class"])), row["estimate"], row["low"], row["high"]
            )
            for row in shares
        ),
        shares_basis=shares[0]["basis"],
        learned_from=len(result.source_labels),
        source=source,
        target=target,
        passing=passing,
        wrong_finished=errors.finished_file,
        wrong_unread=errors.unread,
        step=result.next_step(),
    )


def hero_facts(result, *, target: str = "", source: str = "") -> dict[str, Any]:
    """Return the data of the top of the page.

    Parameters
    ----------
    result : LabelResult
        The result.
    target, source : str
        Names of the collections.

    Returns
    -------
    dict of str to object
    """
    found = outcome_figures(result, source=source, target=target)
    right, passing = found.right, found.passing
    known = {} if right.estimate is None else {"low": right.low, "high": right.high}
    return {
        "verdict": found.headline,
        "about": found.about,
        "learnt": found.learned_from > 0,
        "right": {"estimate": right.estimate, **known, "note": right.note},
        "guaranteed": None if passing is None else {"n": passing.documents, "of": passing.of, "note": passing.note},
        "review": {
            "n": found.review,
            "of": found.documents,
            "share": found.review / max(1, found.documents),
            "note": found.review_note,
            "reasons": review_counts(result),
        },
        "classes": class_table(result),
        "shares_note": found.shares_note,
        "banners": banners(result),
        "next": found.next,
        "step": None if found.step is None else found.step._asdict(),
    }


def review_counts(result) -> list[dict[str, Any]]:
    """Count the documents by reason for review, the most frequent reason first.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    list of dict
    """
    found = Counter(reason for reason in result.review_reason.tolist() if reason)
    return [{"reason": reason, "meaning": explain_reason(reason), "documents": n} for reason, n in found.most_common()]


def class_table(result) -> list[dict[str, Any]]:
    """Return the number and share of documents per class in both collections.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    list of dict
        ``low`` and ``high`` are None without an interval.
    """
    shares = {row["class"]: row for row in result.class_shares()}
    source = np.array([name for name in result.source_labels if name is not None], dtype=object)
    rows = []
    # Empty documents have a label, but they would distort the class proportions.
    counted = ~without_text(result.texts)
    # Documents that a person has labelled do not count as accepted without review.
    read = np.isin(np.arange(len(result.texts)), result.known_answers.read.rows)
    for code, name in enumerate(result.classes.tolist()):
        chosen = (result.labels == name) & counted
        accepted = chosen & ~result.needs_review & ~read
        rows.append(
            {
                "class": str(name),
                "code": code,
                "colour": code % _COLOURS,
                "source": int(np.sum(source == name)),
                "source_share": float(np.mean(source == name)) if len(source) else 0.0,
                "target": int(chosen.sum()),
                "target_share": float(chosen.sum() / max(1, counted.sum())),
                "estimated_share": shares[name]["estimate"],
                "low": shares[name]["low"],
                "high": shares[name]["high"],
                "confidence": float(result.confidence[chosen].mean()) if chosen.any() else None,
                "accepted": int(accepted.sum()),
                "precision": float(result.confidence[accepted].mean()) if accepted.any() else None,
                "review": int(result.needs_review[chosen].sum()),
                "read": int((chosen & read).sum()),
            }
        )
    return rows


def banners(result) -> list[dict[str, str]]:
    """Return the warnings about the result, the most serious first.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    list of dict
        ``level`` ("stop" or "care"), ``title`` and ``text``.
    """
    found = [
        {
            "level": "stop",
            "title": f"A group the source does not know: {group['name']} ({plural(group['size'], 'document')}).",
            "text": "Its documents carry a label of the source because there was no other; they are among those to "
            "read.",
        }
        for group in novel_groups(result)
    ]
    warned = [row for row in result.warnings if row["topic"] != "new group"]
    unknown = result.accuracy is None or result.accuracy.estimate is None
    # The result may already contain this warning.
    if unknown and not any(row["topic"] == "not estimated" for row in warned):
        warned.append({"topic": "not estimated", "message": "Label a random sample by hand before using them."})
    return found + [{"level": "care", "title": warning_title(row["topic"]), "text": row["message"]} for row in warned]


def novel_groups(result) -> list[dict[str, Any]]:
    """Return the groups of the target that the source does not contain.

    A group is left out if people have given a class to at least half of its documents.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    list of dict
        ``name``, ``size`` and ``words``.
    """
    sizes = Counter(result.novel_group.tolist())
    return [
        {"name": str(row["group"]), "size": sizes[row["group"]], "words": str(row["words"])}
        for row in result.novel
        if 2 * sizes[row["group"]] > row["documents"]
    ]


# -- Reason for the method: a table of the candidates


# Columns of the decision that the table does not show as evidence.
_HIDDEN = ("method", "chosen", "why")
# Types that a cell of the table can show.
_SCALAR = (type(None), str, bool, int, float, np.number)
_NAMES = {
    "source_learnability": "source's learnability",
    "reverse_accuracy": "reverse accuracy",
    "accuracy": "expected accuracy",
    "spread": "± of the score",
}
# Explanation of each column, for the note below the table.
_MEANINGS = {
    "weight": "share in the vote; of words alone, how much their log-odds count next to the vote's",
    "score": "how well the labels are supported; only differences between methods mean something",
    "spread": "standard deviation of the score when the documents are drawn again",
    "learnability": "share of the labels' information that a classifier repeats on target documents it has not seen",
    "source_learnability": "the same for the true labels within the source",
    "reverse_accuracy": "accuracy on the source, averaged over classes, of a classifier trained on the labelled target",
    "accuracy": "share of right labels to expect",
    "agreement": "share of documents to which the method gives the final label",
    "seconds": "time to fit",
}


def decision_facts(decision: list[dict]) -> dict[str, Any]:
    """Return the candidates as a table.

    Parameters
    ----------
    decision : list of dict
        Candidates of the choice.

    Returns
    -------
    dict of str to object
        Rows, column titles and their explanations.
    """
    evidence = [
        name
        for name in dict.fromkeys(key for row in decision for key in row)
        if name not in _HIDDEN and all(isinstance(row.get(name), _SCALAR) for row in decision)
    ]
    rows = [
        {
            "method": row["method"],
            "taken": bool(row["chosen"]),
            "evidence": [_shown(row.get(name), 1 if name == "seconds" else 3) for name in evidence],
            "why": row.get("why", ""),
        }
        for row in decision
    ]
    meanings = [f"{_title(name)}: {_MEANINGS[name]}" for name in evidence if name in _MEANINGS]
    return {
        "decision": rows,
        "decision_columns": [_title(name) for name in evidence],
        "decision_meanings": "; ".join(meanings),
    }


def _title(name: str) -> str:
    return _NAMES.get(name, name.replace("_", " "))


def _shown(value: Any, digits: int) -> Any:
    """Return a cell as text, with a dash for a missing value."""
    if isinstance(value, (float, np.floating)) and np.isfinite(value):
        return f"{float(value):.{digits}f}"
    return "–" if value is None else value
