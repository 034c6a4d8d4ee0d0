"""How far to trust labels: the accuracy to expect, and which labels a person should look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isthmus.choose.evidence import Evidence, LabelScorer
from isthmus.exceptions import UsageError
from isthmus.shift.novelty import Novelty, Pair, compare_pair, find_novel_groups
from isthmus.shift.shares import MOVED, ShareShift, compare_shares, total_variation

CONFIDENCE_LEVEL = 0.9
# Log-odds of a right label from log-odds of five shares and from one likeness. Set by ridge regression on the tasks of
# the kinds of suite "trust" (plain, missing class, turned shares, noisy and thin source), 150 of them from eight groups
# of corpora; docs/guide/trust.md has the errors with each group left out.
VOTE = {
    "constant": -0.59,
    "repeated": 0.235,
    "confidence": 0.226,
    "source": 0.144,
    "witnesses": 0.155,
    "consensus": 0.563,
    "matched": 0.224,
}
# The same for the labels of one method, whose own confidence says less.
SINGLE = {
    "constant": -0.38,
    "repeated": -0.317,
    "confidence": 0.238,
    "source": 0.144,
    "witnesses": 0.767,
    "consensus": 0.597,
    "matched": -0.153,
}
# Half-width of the interval in log-odds: what is unknown of any pair, and what is added by what is seen in this one.
SPREAD = {"constant": 0.7, "moved": 0.25, "unmatched": 1.0, "disputed": 1.5}
NOISE = 0.12  # share of source labels that its own words contradict from which the source counts as noisy
WRONGLY_MARKED = 0.25  # share of documents in announced groups that do belong to a class (suite "trust")
THIN = 100  # labelled source documents below which it counts as thin


def review_mask(confidence, error_budget: float = 0.1) -> np.ndarray:
    """Documents to review so that the rest is expected to hold at most ``error_budget`` wrong labels.

    Documents are accepted from the surest down for as long as the mean of (1 − confidence) of the accepted ones stays
    within the budget. As good as the confidences are: under a strong shift they are too high.

    Examples
    --------
    >>> from isthmus.choose import review_mask
    >>> review_mask([0.99, 0.6, 0.95, 0.5], error_budget=0.16).tolist()
    [False, False, False, True]
    """
    if not 0 <= error_budget <= 1:
        raise UsageError(f"error_budget={error_budget!r}; give a share between 0 and 1.", code="bad-parameter")
    confidence = np.asarray(confidence, dtype=float)
    order = np.argsort(-confidence, kind="stable")
    doubt = 1.0 - confidence[order]
    within = np.cumsum(doubt) / np.arange(1, len(doubt) + 1) <= error_budget + 1e-12
    mask = np.ones(len(confidence), dtype=bool)
    mask[order[within]] = False
    return mask


def budget_curve(confidence: Any, steps: int = 20) -> list[dict]:
    """What an error budget costs: share of documents to review against the errors to expect among the others.

    Documents are reviewed from the least sure up.

    Parameters
    ----------
    confidence : sequence of float
        Calibrated: the mean of 1 − confidence is the share of wrong labels to expect.
    steps : int, default=20
        Rows of the table besides the first.

    Returns
    -------
    list of dict
        ``reviewed`` (share), ``documents`` (to review), ``expected_error`` (among those not reviewed; None where all
        are).

    Examples
    --------
    >>> from isthmus.choose import budget_curve
    >>> for row in budget_curve([0.9, 0.5, 0.8, 1.0], steps=2):
    ...     print(row["documents"], row["expected_error"])
    0 0.2
    2 0.05
    4 None
    """
    doubt = np.sort(1.0 - np.asarray(confidence, dtype=float))
    n = len(doubt)
    rows = []
    for step in range(steps + 1):
        reviewed = round(n * step / steps)
        error = round(float(doubt[: n - reviewed].mean()), 6) if reviewed < n else None
        rows.append({"reviewed": reviewed / max(1, n), "documents": reviewed, "expected_error": error})
    return rows


@dataclass(frozen=True)
class AccuracyEstimate:
    """The share of right labels to expect, with an interval that should hold it in ``confidence_level`` of all cases.

    ``estimate`` is None where nothing can be said; the interval is then 0 to 1 and ``reason`` says why. Otherwise
    ``reason`` names what makes the interval wider than usual, if anything does. ``outside_groups`` is the share to
    expect among documents of no new group, where there is such a group.
    """

    estimate: float | None
    low: float = 0.0
    high: float = 1.0
    confidence_level: float = CONFIDENCE_LEVEL
    reason: str = ""
    outside_groups: float | None = None

    @property
    def for_calibration(self) -> float | None:
        """What the confidence of documents outside new groups should be on average."""
        return self.estimate if self.outside_groups is None else self.outside_groups

    def __str__(self) -> str:
        if self.estimate is None:
            return f"not estimated: {self.reason or 'too few documents, or labels that cannot be learned from words'}"
        return f"{self.estimate:.0%} ({self.low:.0%} to {self.high:.0%} in {self.confidence_level:.0%} of cases)"


@dataclass(frozen=True)
class Assessment:
    """What is known about labels of one pair of collections without a true one.

    Attributes
    ----------
    accuracy : AccuracyEstimate
    novelty : Novelty or None
        Groups that belong to no class; rows are those of the scorer's sample.
    shares : ShareShift
    warnings : list of dict
        ``topic`` and ``message``: what a reader must know first.
    """

    accuracy: AccuracyEstimate
    novelty: Novelty | None
    shares: ShareShift
    warnings: list[dict] = field(default_factory=list)


def pair_of(judge: LabelScorer) -> Pair:
    """The scorer's two collections in one space; made once."""
    if "pair" not in judge.seen:
        view = judge.others.get("vectors")
        vectors = None if view is None else (view.source.rows, view.target.rows)
        rows = judge.words.source_rows, judge.source_labels, judge.words.target_rows
        judge.seen["pair"] = compare_pair(*rows, vectors=vectors)
    return judge.seen["pair"]


def novelty_of(judge: LabelScorer) -> Novelty:
    """Groups of the scorer's target that belong to no class; looked for once."""
    if "novelty" not in judge.seen:
        names = judge.words.vectorizer.get_feature_names_out()
        judge.seen["novelty"] = find_novel_groups(pair_of(judge), judge.words.target_rows, names)
    return judge.seen["novelty"]


def doubt_groups(confidence: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Confidence with that of documents in new groups cut to what is left for a wrong mark."""
    return np.where(groups != "", WRONGLY_MARKED * confidence, confidence)


def novel_names(judge: LabelScorer | None, target_texts: Sequence[str]) -> np.ndarray:
    """Name of the new group each target text belongs to; '' for none."""
    named = np.full(len(target_texts), "", dtype=object)
    if judge is None:
        return named
    novelty = novelty_of(judge)
    if not novelty.groups:
        return named
    others = np.setdiff1d(np.arange(len(target_texts)), judge.target)
    numbers = np.full(len(target_texts), -1)
    numbers[judge.target] = novelty.membership
    if len(others):
        numbers[others] = novelty.assign(judge.words.vectorizer.transform([target_texts[i] for i in others]))
    for number, group in enumerate(novelty.groups):
        named[numbers == number] = group.name
    return named


def trust_features(judge: LabelScorer, labels: Any, confidence: float, evidence: Evidence) -> dict[str, float]:
    """The figures that speak about the accuracy of labels, each a share between 0 and 1.

    ``repeated``: labels a plain classifier repeats on target documents it has not seen. ``confidence``: mean
    probability of the labels. ``source``: labels of the source that a plain classifier gets right there.
    ``witnesses``: agreement of the labels with three plain methods; ``consensus``: of these with each other.
    ``matched``: likeness of target groups to their own classes.
    """
    pair = pair_of(judge)
    given = np.asarray(labels).astype(str)[judge.target]
    codes = np.searchsorted(pair.classes, given)
    known = pair.classes[np.minimum(codes, len(pair.classes) - 1)] == given
    source = evidence.tables[1]
    return {
        "repeated": evidence.cv_accuracy,
        "confidence": float(confidence),
        "source": float(np.trace(source) / max(1, source.sum())),
        "witnesses": float(np.mean([(witness == codes) & known for witness in pair.witnesses])),
        "consensus": float(pair.consensus.mean()),
        "matched": pair.matched,
    }


def estimate_accuracy(
    judge: LabelScorer | None, labels: Any, confidence: float, *, single: bool = False
) -> AccuracyEstimate:
    """Accuracy to expect of labels that no one has checked.

    Five figures that need no true label (``trust_features``) are weighed by constants that were set on benchmark
    tasks, also on such as lack a class, have turned shares or a noisy source. Documents in groups that belong to no
    class count as wrong. The interval is wider where class shares moved, where classes and groups hardly match and
    where plain methods disagree. Nothing is estimated where labels cannot be learned at all, in source or target, or
    from fewer than 30 documents. ``single``: the labels come from one method, not from a vote.
    """
    if judge is None:
        return AccuracyEstimate(None, reason="fewer than 30 different documents in source or target")
    evidence = judge.score(labels)
    if not evidence.source_learned:
        return AccuracyEstimate(None, reason="the source's labels cannot be told apart by their words")
    if not evidence.learned:
        return AccuracyEstimate(None, reason="the labels cannot be told apart by the target's words")
    features = trust_features(judge, labels, confidence, evidence)
    groups = novelty_of(judge).groups
    novel = [sum(ends) for ends in zip(*((g.high, g.share, g.low) for g in groups), strict=True)] or [0.0, 0.0, 0.0]
    weights = SINGLE if single else VOTE
    centre = weights["constant"] + weights["matched"] * features["matched"]
    centre += sum(weights[name] * _logit(value) for name, value in features.items() if name != "matched")
    moved = _moved(judge, labels)
    width = SPREAD["constant"] + SPREAD["moved"] * (moved >= MOVED)
    width += SPREAD["unmatched"] * max(0.0, 0.6 - features["matched"])
    width += SPREAD["disputed"] * max(0.0, 0.6 - features["consensus"])
    ends = [_share(centre + sign * width) * (1 - share) for sign, share in zip((-1, 0, 1), novel, strict=True)]
    sampling = 1.645 * np.sqrt(max(ends[1] * (1 - ends[1]), 0.01) / len(labels))
    low = ends[1] - np.hypot(ends[1] - ends[0], sampling)
    high = ends[1] + np.hypot(ends[2] - ends[1], sampling)
    reasons = [
        text
        for text, holds in (
            ("class shares moved", moved >= MOVED),
            ("a group belongs to no class", bool(groups)),
            ("classes and groups hardly match", features["matched"] < 0.4),
            ("plain methods disagree", features["consensus"] < 0.5),
        )
        if holds
    ]
    return AccuracyEstimate(
        ends[1],
        max(0.0, float(low)),
        min(1.0, float(high)),
        reason=", ".join(reasons),
        outside_groups=_share(centre) if groups else None,
    )


def _moved(judge: LabelScorer, labels: Any) -> float:
    """Distance between the class shares of the source and those of the labels."""
    given = np.asarray(labels).astype(str)[judge.target]
    classes = np.unique(np.concatenate([judge.source_labels, given]))
    shares = [np.array([np.mean(side == name) for name in classes]) for side in (judge.source_labels, given)]
    return total_variation(*shares)


def assess(
    judge: LabelScorer | None,
    accuracy: AccuracyEstimate,
    source_labels: Any,
    labels: Any,
    probabilities: np.ndarray,
    classes: np.ndarray,
) -> Assessment:
    """What to say first about labels: expectation, new groups, moved shares, a thin or noisy source."""
    novelty = None if judge is None else novelty_of(judge)
    shares = compare_shares(source_labels, probabilities, labels, classes)
    warnings: list[dict] = []
    if novelty is not None and novelty.groups:
        for group in novelty.groups:
            message = (
                f"About {group.share:.0%} of the target ({group.low:.0%} to {group.high:.0%}) belong to no class of "
                f"the source: {', '.join(group.words[:5])}. They are marked in novel_group and need review."
            )
            warnings.append({"topic": "new group", "message": message})
    if shares.moved:
        gained = int(np.argmax(shares.by_probabilities - shares.source))
        lost = int(np.argmin(shares.by_probabilities - shares.source))
        message = (
            f"Class shares moved: {classes[gained]} {shares.source[gained]:.0%} in the source, about "
            f"{shares.by_probabilities[gained]:.0%} in the target; {classes[lost]} {shares.source[lost]:.0%}, about "
            f"{shares.by_probabilities[lost]:.0%}."
        )
        warnings.append({"topic": "class shares", "message": message})
    warnings += source_warnings(judge, source_labels)
    return Assessment(accuracy, novelty, shares, warnings)


def source_warnings(judge: LabelScorer | None, source_labels: Any) -> list[dict]:
    """What is wrong with the source: few documents, classes of few documents, labels its words contradict."""
    known = [str(label) for label in source_labels if label is not None]
    names, counts = np.unique(known, return_counts=True)
    rows: list[dict[str, Any]] = []
    few = [str(name) for name, count in zip(names, counts, strict=True) if count < 10]
    if len(known) < THIN:
        message = f"Only {len(known)} labelled source documents: what is learned from them may be chance."
        rows.append({"topic": "thin source", "message": message})
    elif few:
        shown = ", ".join(few[:5]) + (f" and {len(few) - 5} more" if len(few) > 5 else "")
        message = f"Fewer than ten source documents of {shown}: next to nothing is known of such a class."
        rows.append({"topic": "thin source", "message": message})
    if judge is not None and len(known) >= THIN:
        share = contradicted(judge.words.source_table)
        if share >= NOISE:
            message = (
                f"About {share:.0%} of the source's labels contradict its own words at random, as typing or sorting "
                "errors do; the expectation goes by the words."
            )
            rows.append({"topic": "noisy source", "message": message})
    return rows


def contradicted(table: np.ndarray) -> float:
    """Share of labels that look wrong at random, from held-out answers within the source.

    Confusions that follow from likeness go to few classes; those of random errors go to all. The smallest confusion of
    each class with another, times the number of others, is what every class gets alike. With two classes nothing can
    be told apart, and the share is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.choose.trust import contradicted
    >>> contradicted(np.array([[80, 10, 10], [10, 80, 10], [10, 10, 80]]))
    0.2
    >>> contradicted(np.array([[80, 20, 0], [20, 80, 0], [0, 0, 100]]))
    0.0
    """
    n = len(table)
    if n < 3:
        return 0.0
    off = np.where(np.eye(n, dtype=bool), np.inf, table).min(axis=1) * (n - 1)
    return float(off.sum() / max(1, table.sum()))


def _logit(share: float) -> float:
    share = min(max(share, 0.02), 0.98)
    return float(np.log(share / (1 - share)))


def _share(log_odds: float) -> float:
    return float(1 / (1 + np.exp(-log_odds)))
