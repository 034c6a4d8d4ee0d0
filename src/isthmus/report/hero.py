"""Compute the top of a report: a summary in one line, three tiles, warnings, and the reason for the method."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from isthmus._math.confidence import ExpectedErrors, explain_reason, without_text
from isthmus._utils import plural
from isthmus.choose.stages.apply import LEXICON, NAMES

# Smallest share of right labels for each phrase. The limits lie between the fractions that the phrases name.
_FRACTIONS = (
    (0.97, "Nearly all of the"),
    (0.93, "About 19 in 20"),
    (0.87, "About 9 in 10"),
    (0.82, "About 5 in 6"),
    (0.775, "About 4 in 5"),
    (0.71, "About 3 in 4"),
    (0.635, "About 2 in 3"),
    (0.57, "About 3 in 5"),
    (0.45, "About half of the"),
    (0.3, "Fewer than half of the"),
)
_COLOURS = 8  # colours in the palette of the style sheet
LONG_LIST = 200  # documents; nobody reads a longer list before using the labels
# Titles of warnings by topic.
_TITLES = {
    "class shares": "The classes' shares moved.",
    "no text": "Some documents are empty.",
    "not estimated": "Nothing says how many labels are right.",
    "review": "Everything needs reading.",
    "thin source": "The source is thin.",
    "noisy source": "The source's labels are noisy.",
}


def in_words(share: float) -> str:
    """Return a share as a phrase before "labels".

    Parameters
    ----------
    share : float
        Share from 0 to 1.

    Returns
    -------
    str
    """
    return next((words for least, words in _FRACTIONS if share >= least), "Few")


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
    classes = class_table(result)
    review = int(result.needs_review.sum())
    return {
        "verdict": verdict(result),
        "about": about(result, source, target),
        "learnt": len(result.source_labels) > 0,
        "right": right_tile(result),
        "guaranteed": guaranteed_tile(result),
        "review": {
            "n": review,
            "of": len(result.labels),
            "share": review / max(1, len(result.labels)),
            "note": review_note(result),
            "reasons": review_counts(result),
        },
        "classes": classes,
        "shares_note": shares_note(result),
        "banners": banners(result),
        "next": str(result.next_step() or ""),
    }


def verdict(result) -> str:
    """Summarise the result in one line: the expected accuracy and the number of documents to read.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    str
    """
    expected, n = result.accuracy, len(result.labels)
    review = int(result.needs_review.sum())
    if expected is None or expected.estimate is None:
        first = f"{plural(n, 'document')} labelled; how many are right was not estimated."
    else:
        # A person who reads documents would notice a missing class, so the condition is unnecessary then.
        answered = result.measured is not None or (result.learned is not None and bool(result.learned.basis))
        cover = "" if answered else ", if your classes cover the target"
        first = f"{in_words(expected.estimate)} labels are right{cover}."
    if not review:
        return f"{first} None is marked for review."
    if review > LONG_LIST:
        return f"{first} {'All' if review == n else f'{review:,} of {n:,}'} need review."
    if review == n:
        return f"{first} Read {'it' if n == 1 else 'them all'}."
    return f"{first} Read {'this one' if review == 1 else f'these {review:,}'} first."


def about(result, source: str, target: str) -> str:
    """Return the line above the title: numbers of documents and classes.

    Parameters
    ----------
    result : LabelResult
        The result.
    source, target : str
        Names of the collections.

    Returns
    -------
    str
    """
    n, m = len(result.labels), len(result.source_labels)
    labelled = plural(n, "document") + (f" of {target}" if target else "")
    if not m:
        return f"{labelled}, labelled with {plural(len(result.classes), 'class', 'classes')} known by name alone."
    learned = plural(m, "document") + (f" of {source}" if source else "")
    return f"{labelled}, labelled with {plural(len(result.classes), 'class', 'classes')} learned from {learned}."


def right_tile(result) -> dict[str, Any]:
    """Return the measured or expected share of right labels.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    dict
        ``estimate`` is None if the share was not estimated.
    """
    expected = result.accuracy
    if expected is None or expected.estimate is None:
        why = "" if expected is None or not expected.reason else f" ({expected.reason})"
        return {"estimate": None, "note": f"Not estimated{why}. Check a sample to know."}
    ends = f"{100 * expected.low:.0f} to {100 * expected.high:.0f} %"
    cases = f"{100 * expected.confidence_level:.0f} of 100 cases"
    # "9 of 10 cases" is easier to read than "90 of 100 cases".
    if round(100 * expected.confidence_level) % 10 == 0:
        cases = f"{10 * expected.confidence_level:.0f} of 10 cases"
    return {
        "estimate": expected.estimate,
        "low": expected.low,
        "high": expected.high,
        "note": f"{ends} in {cases}; {_basis(result)}.",
    }


def guaranteed_tile(result) -> dict[str, Any] | None:
    """Return the number of labels that need no review by a guarantee.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    dict or None
        None if no sample was checked with an error budget.
    """
    found = None if result.checked is None else result.checked.guarantee
    if found is None:
        return None
    step = found.next_step
    more = "Reading more would change little."
    if step is not None:
        more = f"Read {step['read']:,} more, and about {step['documents']:,} should pass."
    read, budget = plural(found.read, "document"), f"{100 * found.budget:g} %"
    if found.documents:
        level = f"{100 * found.confidence_level:g} % confidence"
        shown = f"At most {budget} of the finished file are wrong, with {level}, by {read} read at random."
        if found.unread < found.documents:
            shown += f" Nobody read {found.unread:,} of them."
    else:
        shown = f"{read} read at random do not yet show that any label can pass with {budget} of the file wrong."
    return {"n": found.documents, "of": len(result.labels), "note": f"{shown} {more}"}


def _basis(result) -> str:
    """Describe the basis of the estimate."""
    if result.measured is not None:
        return f"measured on {plural(result.measured.n, 'document')} checked at random"
    basis = "" if result.learned is None else result.learned.basis
    if basis == "random":
        return "judged by answers to documents drawn at random"
    if basis:
        return "judged by the answers given so far"
    return "judged without true labels"


def review_note(result) -> str:
    """Explain what the review list leaves out.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    str
    """
    review, expected = int(result.needs_review.sum()), result.accuracy
    if guaranteed_tile(result) is not None:
        return "The others pass by the guarantee, or were read."
    if expected is not None and expected.estimate is None and review < len(result.needs_review):
        return "How many of the others are wrong is not known."
    if review == len(result.needs_review):
        return "The method is not sure enough of any label."
    errors = ExpectedErrors.of(result.confidence, result.needs_review)
    return (
        f"Expected errors: {errors.finished_file:.0%} of the finished file, {errors.unread:.0%} of the unread labels."
    )


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


def shares_note(result) -> str:
    """Explain the intervals of the class proportions.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    str
    """
    basis = result.class_shares()[0]["basis"]
    if basis == "check":
        return f"Shares with intervals that hold in 95 of 100 cases, {_basis(result)}."
    if basis == "sample":
        return "Shares with intervals that hold in 9 of 10 cases, corrected by answers to documents drawn at random."
    if basis == "expected":
        return f"Shares with intervals that hold in 9 of 10 cases, {_basis(result)}."
    return "Shares from the probabilities; how far off they may be is not known."


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
    return found + [
        {"level": "care", "title": _TITLES.get(row["topic"], f"{row['topic'].capitalize()}."), "text": row["message"]}
        for row in warned
    ]


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
# The weight of these members is no share of the vote, because they join after the methods have voted.
_JOINED = {LEXICON: "labelled words count, too", NAMES: "names of classes count, too"}
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


def why_this_method(decision: list[dict]) -> str:
    """Explain the origin of the labels: the method, or the number of voting methods and the most important one.

    Parameters
    ----------
    decision : list of dict
        Candidates of the choice.

    Returns
    -------
    str
    """
    chosen = [row for row in decision if row["chosen"]]
    if len(chosen) == 1:
        return str(chosen[0]["why"])
    # Without any voter the labels come from words or names of classes only.
    voters = [row for row in chosen if row["method"] not in _JOINED] or chosen[:1]
    first = max(voters, key=lambda row: row.get("weight", 0.0))
    voted = f"{len(voters)} methods voted; {first['method']} counts most ({first.get('weight', 0.0):.0%})"
    if len(voters) == 1:
        voted = f"{first['method']}: {first['why']}"
    return "; ".join([voted, *(_JOINED[row["method"]] for row in chosen if row not in voters)])


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
