"""How far to trust labels: the accuracy to expect, and which labels a person should look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.naive_bayes import ComplementNB

from isthmus._math.confidence import AccuracyEstimate, clipped_logit
from isthmus._math.rows import unit_rows
from isthmus.choose.evidence import FOLDS, Evidence, LabelScorer, plain_learner
from isthmus.choose.voting import excess
from isthmus.classify.centroids import CentredRows
from isthmus.features.term_rows import TermRows
from isthmus.shift.novelty import shows_its_worth, simulated_sentence
from isthmus.shift.shares import MOVED, compare_shares, total_variation

# Log-odds of a right label, from log-odds of shares and from two differences. Set by ridge regression on pairs that are
# plain, lack a class, have turned shares or a noisy or thin source (``isthmus bench tune trust``); docs/measured/trust
# has the errors with each group of corpora left out.
VOTE = {
    "constant": -0.329,
    "repeated": 0.21,
    "agreement": 0.468,
    "confidence": 0.307,
    "source": 0.135,
    "excess": 0.242,
}
# The same for a vote that a thin source taught: all methods learned from the same few documents, so that their
# agreement says little. How far ridge regression in the space of the pair gives the same labels says more.
FEW = {
    "constant": -0.218,
    "ridge": 1.0,
    "excess": 0.214,
}
# The same for the labels of one method, which no other methods vouch for. Its own confidence is not asked: methods
# differ in how sure they are more than in how often they are right.
SINGLE = {
    "constant": -0.524,
    "agreement": 0.202,
    "source": 0.308,
    "excess": 0.331,
    "ridge": -0.16,
    "consensus": 0.656,
    "reverse": 0.241,
    "moved": 0.15,
}
AS_THEY_ARE = ("excess", "moved")  # of these no log-odds are taken
# Half-width of the interval in log-odds: what is unknown of any pair, and what is added by what is seen in this one.
SPREAD = {
    "constant": 0.852,
    "moved": 0.0,
    "thin": 0.0,
    "disputed": 0.0,
    "single": 0.252,
}
CARRIED = 0.8  # sureness in the target, as a share of that within the source, from which nothing need be adapted …
PROMISES_MORE = 0.03  # … and by how much source-only must then promise more than the vote to be taken alone
NOISE = 0.12  # share of source labels that its own words contradict from which the source counts as noisy
THIN = 100  # labelled source documents below which it counts as thin
# How far down towards the low end of its interval a vote keeps a budget: halfway; where all methods learned from the
# same few documents, twice as far as the end. How they were set is said in docs/measured/trust.md.
CAUTION, CAUTION_THIN = 0.5, 2.0


def outside_groups(scorer: LabelScorer | None, n_target: int) -> np.ndarray:
    """Target rows that belong to no new group, as far as they were looked at."""
    if scorer is None or not scorer.novelty.groups:
        return np.arange(n_target)
    return scorer.target[scorer.novelty.membership < 0]


def confidence_outside(scorer: LabelScorer | None, probabilities: np.ndarray) -> float:
    return float(probabilities[outside_groups(scorer, len(probabilities))].max(axis=1).mean())


def novel_names(scorer: LabelScorer | None, target_texts: Sequence[str]) -> np.ndarray:
    named = np.full(len(target_texts), "", dtype=object)
    if scorer is None or not scorer.novelty.groups:
        return named
    novelty = scorer.novelty
    others = np.setdiff1d(np.arange(len(target_texts)), scorer.target)
    numbers = np.full(len(target_texts), -1)
    numbers[scorer.target] = novelty.membership
    if len(others):
        numbers[others] = novelty.assign(scorer.words.vectorizer.transform([target_texts[i] for i in others]))
    for number, group in enumerate(novelty.groups):
        named[numbers == number] = group.name
    return named


@dataclass(frozen=True)
class NovelGroups:
    """Centres of the new groups and of the classes; a later text belongs to the nearest.

    Attributes
    ----------
    rows : TermRows
        Makes rows of texts.
    mean : ndarray
        Mean of the rows of the labelled texts.
    centres : ndarray of shape (n_centres, n_terms)
    names : sequence of str
        New group of each centre; '' for the centre of a class.
    """

    rows: TermRows
    mean: np.ndarray
    centres: np.ndarray
    names: Sequence[str]

    @classmethod
    def of(cls, rows: TermRows, X: Any, groups: np.ndarray, labels: np.ndarray) -> NovelGroups:
        """Compute the centres from the rows ``X`` of labelled texts, their groups ('' for none) and their labels."""
        marked = groups != ""
        kinds = np.where(marked, 1, 0), np.where(marked, groups, labels.astype(object))
        names, codes = np.unique([f"{kind} {name}" for kind, name in zip(*kinds, strict=True)], return_inverse=True)
        centred = CentredRows.about(X)
        centres = unit_rows(centred.sums(np.eye(len(names))[codes]))
        return cls(rows, centred.mean, centres, [name[2:] if name.startswith("1 ") else "" for name in names.tolist()])

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Return the name of the new group of each text, '' for none."""
        nearest = CentredRows.about(self.rows(texts), self.mean).dot(self.centres).argmax(axis=1)
        return np.array([self.names[place] for place in nearest], dtype=object)


def trust_features(
    scorer: LabelScorer,
    labels: Any,
    confidence: float,
    evidence: Evidence,
    others: Sequence = (),
    known: np.ndarray | None = None,
) -> dict[str, float]:
    """The figures that speak about the accuracy of labels.

    Shares between 0 and 1: ``repeated``, labels a plain classifier repeats on held-out target documents; ``agreement``
    of the labels with those of the ``others``, or with four plain methods; ``confidence``, mean probability of the
    labels; ``source``, labels of the source that a plain classifier gets right there; ``ridge``, agreement with the
    best plain method; ``consensus`` of all four with each other; ``reverse``, what a classifier trained on the labels
    gets right in the source. In log-odds: ``excess``, by how much labels are easier to learn than the source's. As a
    distance: ``moved``, between the class shares of the source and of the labels.

    Agreement, likeness and shares are those of documents outside new groups, of which the estimate speaks: about
    documents of no class methods disagree, which says nothing about the others. Nor do methods know classes that were
    added by name: ``known`` says which labels are of the source's classes.
    """
    outside = scorer.novelty.membership < 0
    if known is not None:
        outside &= known[scorer.target]
    given = np.asarray(labels).astype(str)[scorer.target][outside]
    plain = [said[outside] for said in scorer.plain_labels]
    rivals = [np.asarray(other).astype(str)[scorer.target][outside] for other in others] or plain
    source = evidence.tables[1]
    views = evidence.views
    if not others:  # there is no other view
        in_space = scorer.space.tables(np.asarray(labels).astype(str)[scorer.target])
        views = [*views, Evidence.from_tables(*in_space)]
    return {
        "repeated": evidence.cv_accuracy,
        "agreement": float(np.mean([np.mean(rival == given) for rival in rivals])),
        "confidence": float(confidence),
        "source": float(np.trace(source) / max(1, source.sum())),
        "excess": float(np.mean([excess(view) for view in views])),
        "ridge": float(np.mean(plain[-1] == given)),
        "consensus": float(np.mean([np.mean(a == b) for i, a in enumerate(plain) for b in plain[:i]])),
        "reverse": float(np.mean([view.reverse_accuracy for view in views])),
        "moved": shares_moved(scorer.source_labels, given),
    }


def plain_learners() -> list[Any]:
    """The two that label documents beyond a scorer's sample, by their words."""
    return [plain_learner(), ComplementNB()]


def disputed(scorer: LabelScorer, labels: Any, target_texts: Sequence[str]) -> np.ndarray:
    """Target texts about which one of the four plain methods contradicts the label.

    Of documents beyond the scorer's sample two of them are asked.
    """
    given = np.asarray(labels).astype(str)
    found = np.zeros(len(given), dtype=bool)
    found[scorer.target] = np.any([said != given[scorer.target] for said in scorer.plain_labels], axis=0)
    others = np.setdiff1d(np.arange(len(given)), scorer.target)
    if len(others):
        rows = scorer.words.vectorizer.transform([target_texts[i] for i in others])
        for learner in plain_learners():
            found[others] |= learner.fit(scorer.words.source_rows, scorer.source_labels).predict(rows) != given[others]
    return found


def estimate_accuracy(
    scorer: LabelScorer | None,
    labels: Any,
    confidence: float,
    *,
    others: Sequence = (),
    known: np.ndarray | None = None,
) -> AccuracyEstimate:
    """Accuracy to expect of labels that no one has checked.

    Figures that need no true label (``trust_features``) are weighed by constants that were set on benchmark tasks, also
    on such as lack a class, have turned shares or a noisy source. Documents in groups that belong to no class count as
    wrong. The interval is wider for one method than for a vote, and with groups that belong to no class. Nothing is
    estimated where labels cannot be learned at all, in source or target, or from fewer than 30 documents.

    Parameters
    ----------
    scorer : LabelScorer or None
    labels : sequence
        One per target text.
    confidence : float
        Mean probability of the labels, see ``confidence_outside``.
    others : sequence of sequences
        Labels by other methods, the voters among them; at least three. Without them four plain methods are asked,
        which know less.
    known : ndarray of bool, optional
        Which labels are of the source's classes, where others were added; the estimate is about these labels.
    """
    if scorer is None:
        return AccuracyEstimate(None, reason="fewer than 30 different documents in source or target")
    if known is not None and not known[scorer.target].any():
        return AccuracyEstimate(None, reason="no document got a class of the source")
    evidence = scorer.score(labels)
    if not evidence.source_learned:
        return AccuracyEstimate(None, reason="the source's labels cannot be told apart by their words")
    if not evidence.learned:
        return AccuracyEstimate(None, reason="the labels cannot be told apart by the target's words")
    others = others if len(others) > 2 else ()
    features = trust_features(scorer, labels, confidence, evidence, others, known)
    single, n_source = not others, len(scorer.source_labels)
    centre = log_odds(features, SINGLE if single else FEW if n_source < THIN else VOTE)
    width = sum(SPREAD[name] * value for name, value in spread_terms(features, n_source, single=single).items())
    return _with_groups(scorer, features, centre, width, len(labels))


def log_odds(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return weights["constant"] + sum(
        weight * (features[name] if name in AS_THEY_ARE else clipped_logit(features[name]))
        for name, weight in weights.items()
        if name != "constant"
    )


def spread_terms(features: Mapping[str, float], n_source: int, *, single: bool) -> dict[str, float]:
    """What makes an interval wide, each 0 where it does not."""
    return {
        "constant": 1.0,
        "moved": float(features["moved"] >= MOVED),
        "thin": float(n_source < THIN),
        "disputed": max(0.0, 0.8 - features["agreement"]),
        "single": float(single),
    }


def _with_groups(
    scorer: LabelScorer, features: Mapping[str, float], centre: float, width: float, n_labels: int
) -> AccuracyEstimate:
    """The estimate with its interval, documents in new groups counted as wrong.

    Where the test for new groups has not shown its worth on the source, there may be no such group at all.
    """
    groups = scorer.novelty.groups
    novel = [sum(ends) for ends in zip(*((g.high, g.share, g.low) for g in groups), strict=True)] or [0.0, 0.0, 0.0]
    if groups and not shows_its_worth(scorer.simulated_recall):
        novel[-1] = 0.0
    ends = [_share(centre + sign * width) * (1 - share) for sign, share in zip((-1, 0, 1), novel, strict=True)]
    sampling = 1.645 * np.sqrt(max(ends[1] * (1 - ends[1]), 0.01) / n_labels)
    low = ends[1] - np.hypot(ends[1] - ends[0], sampling)
    high = ends[1] + np.hypot(ends[2] - ends[1], sampling)
    reasons = {
        "class shares moved": features["moved"] >= MOVED,
        "a group belongs to no class": groups,
        "the source is thin": len(scorer.source_labels) < THIN,
        "methods disagree": features["agreement"] < 0.6,
    }
    return AccuracyEstimate(
        ends[1],
        max(0.0, float(low)),
        min(1.0, float(high)),
        reason=", ".join(text for text, holds in reasons.items() if holds),
        outside_groups=_share(centre) if groups else None,
    )


def with_added(accuracy: AccuracyEstimate, share: float, right: float | None) -> AccuracyEstimate:
    """The estimate for labels of which a share are classes that were added by their names.

    Nothing but the source says how well names describe classes: ``right``, the share of its labels that names alone get
    right. As few as one class may be added, so the interval about it is twice as wide as about a method's.
    """
    if accuracy.estimate is None:
        return accuracy
    if right is None:
        why = "nothing shows how well names describe the classes that were added; answer about a hundred (isthmus ask)"
        return AccuracyEstimate(None, reason=why)
    width = 2 * (SPREAD["constant"] + SPREAD["single"])
    low, centre, high = (_share(clipped_logit(right) + sign * width) for sign in (-1, 0, 1))
    outside = accuracy.outside_groups
    return replace(
        accuracy,
        estimate=(1 - share) * accuracy.estimate + share * centre,
        low=(1 - share) * accuracy.low + share * low,
        high=(1 - share) * accuracy.high + share * high,
        reason=", ".join(part for part in (accuracy.reason, "classes were added by their names") if part),
        outside_groups=None if outside is None else (1 - share) * outside + share * centre,
    )


def budget_caution(accuracy: AccuracyEstimate, n_source: int, *, single: bool) -> float:
    """By how much confidences are lowered, in log-odds, before a budget is kept; ``single``: one method, no vote."""
    if single:
        return accuracy.caution
    return (CAUTION_THIN if n_source < THIN else CAUTION) * accuracy.caution


def moved_to(accuracy: AccuracyEstimate, outside: float, n_classes: int) -> AccuracyEstimate:
    """The estimate after labels followed moved shares: as much right outside new groups, the interval shifted along.

    Of two classes one takes documents from the other, and the vote gets surer whether it is right or not: there the
    estimate does not rise.
    """
    assert accuracy.estimate is not None
    before = accuracy.for_calibration
    assert before is not None
    if n_classes == 2:
        outside = min(outside, before)
    estimate = accuracy.estimate / max(before, 1e-9) * outside
    shift = clipped_logit(estimate) - clipped_logit(accuracy.estimate)
    low, high = (_share(clipped_logit(end) + shift) for end in (accuracy.low, accuracy.high))
    return replace(
        accuracy,
        estimate=estimate,
        low=min(low, estimate),
        high=max(high, estimate),
        outside_groups=None if accuracy.outside_groups is None else outside,
    )


def carried_over(scorer: LabelScorer) -> tuple[float, float] | None:
    """A plain classifier's sureness in the target, relative to held-out source documents, and its accuracy there.

    The accuracy is right if documents of equal sureness are right equally often. None for a thin source.
    """
    labels = scorer.source_labels
    counts = np.unique(labels, return_counts=True)[1]
    if len(labels) < THIN or counts.min() < FOLDS:
        return None
    within = scorer.words.source_decisions
    if within is None:
        return None
    across = plain_learner().fit(scorer.words.source_rows, labels).decision_function(scorer.words.target_rows)
    (sure, said), (sure_there, _) = _sureness(within), _sureness(across)
    right = np.unique(labels)[said] == labels
    expected = IsotonicRegression(out_of_bounds="clip").fit(sure, right).predict(sure_there)
    return float(sure_there.mean() / max(float(sure.mean()), 1e-9)), float(expected.mean())


def _sureness(decisions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if decisions.ndim == 1:
        return 2 * np.abs(decisions), (decisions > 0).astype(int)
    ordered = np.sort(decisions, axis=1)
    return ordered[:, -1] - ordered[:, -2], decisions.argmax(axis=1)


def shares_moved(source_labels: np.ndarray, given: np.ndarray) -> float:
    classes = np.unique(np.concatenate([source_labels, given]))
    shares = [np.array([np.mean(side == name) for name in classes]) for side in (source_labels, given)]
    return total_variation(*shares)


def assess(
    scorer: LabelScorer | None,
    source_labels: Any,
    labels: Any,
    probabilities: np.ndarray,
    classes: np.ndarray,
    *,
    followed: bool = False,
) -> list[dict]:
    """Warnings (``topic`` and ``message``) about new groups, moved shares, a thin or noisy source.

    ``followed``: labels and probabilities were brought to the target's shares.
    """
    shares = compare_shares(source_labels, probabilities, labels, classes)
    warnings = [] if scorer is None else _group_warnings(scorer)
    known = np.isin(classes, [label for label in source_labels if label is not None])
    if known.sum() > 1 and (shares.moved or followed):  # the source has shares
        gained = int(np.argmax(shares.by_probabilities - shares.source))
        lost = int(np.argmin(shares.by_probabilities - shares.source))
        message = (
            f"Class shares moved: {classes[gained]} {shares.source[gained]:.0%} in the source, about "
            f"{shares.by_probabilities[gained]:.0%} in the target; {classes[lost]} {shares.source[lost]:.0%}, about "
            f"{shares.by_probabilities[lost]:.0%}."
        ) + (" Labels were brought to these shares." if followed else "")
        warnings.append({"topic": "class shares", "message": message})
    return warnings + source_warnings(scorer, source_labels)


def _group_warnings(scorer: LabelScorer) -> list[dict]:
    warnings = []
    for group in scorer.novelty.groups:
        belong = "belong" if shows_its_worth(scorer.simulated_recall) else "may belong"
        message = (
            f"About {group.share:.0%} of the target ({group.low:.0%} to {group.high:.0%}) {belong} to no class of "
            f"the source: {', '.join(group.words[:5])}. They are marked in novel_group and need review. "
            f"{simulated_sentence(scorer.simulated_recall)}"
        )
        warnings.append({"topic": "new group", "message": message.rstrip()})
    return warnings


def source_warnings(scorer: LabelScorer | None, source_labels: Any) -> list[dict]:
    known = [str(label) for label in source_labels if label is not None]
    if len(set(known)) < 2:  # names of the classes decide, and nothing is learned from it
        return []
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
    if scorer is not None and len(known) >= THIN:
        share = contradicted(scorer.words.source_table)
        if share >= NOISE:
            message = (
                f"About {share:.0%} of the source's labels contradict its own words at random, as typing or sorting "
                "errors do; the expectation goes by the words."
            )
            rows.append({"topic": "noisy source", "message": message})
    return rows


def contradicted(table: np.ndarray) -> float:
    """Share of labels that look wrong at random, from held-out answers within the source.

    Confusions that follow from likeness go to few classes, random errors to all. So the smallest confusion of each
    class with another, times the number of others, is what every class gets alike. With two classes nothing can be told
    apart, and the share is 0.
    """
    n = len(table)
    if n < 3:
        return 0.0
    off = np.where(np.eye(n, dtype=bool), np.inf, table).min(axis=1) * (n - 1)
    return float(off.sum() / max(1, table.sum()))


def _share(log_odds: float) -> float:
    return float(expit(log_odds))
