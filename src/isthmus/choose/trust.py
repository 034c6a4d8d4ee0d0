"""Estimate the accuracy of labels, and select the labels for review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.naive_bayes import ComplementNB

from isthmus._math.confidence import AccuracyEstimate, clipped_logit
from isthmus._math.fitted import fitted
from isthmus.choose.evidence import FOLDS, Evidence, LabelScorer, cross_validated, held_out_decisions, plain_learner
from isthmus.choose.voting import excess
from isthmus.shift.novelty import shows_its_worth, simulated_sentence
from isthmus.shift.shares import compare_shares, total_variation
from isthmus.wording import interval

# Fitted constants; ``choose/trust.json`` states their units and origin.
ACCURACY = fitted("expected_accuracy")
BUDGET = fitted("budget")
LABEL_SHIFT = fitted("label_shift")
SELECTION = fitted("selection")

PLANTED = 3  # times that wrong labels are planted in a source that looks noisy
AS_THEY_ARE = ("excess", "moved")  # features that enter without a logit


def outside_groups(scorer: LabelScorer | None, n_target: int) -> np.ndarray:
    """Return the indices of target documents that belong to no new group.

    Parameters
    ----------
    scorer : LabelScorer or None
    n_target : int

    Returns
    -------
    ndarray of int
        All documents if there are no new groups, otherwise documents of the scorer's sample.
    """
    if scorer is None or not scorer.novelty.groups:
        return np.arange(n_target)
    return scorer.target[scorer.novelty.membership < 0]


def confidence_outside(scorer: LabelScorer | None, probabilities: np.ndarray) -> float:
    """Return the mean confidence of documents that belong to no new group.

    Parameters
    ----------
    scorer : LabelScorer or None
    probabilities : ndarray of shape (n_target, n_classes)

    Returns
    -------
    float
    """
    return float(probabilities[outside_groups(scorer, len(probabilities))].max(axis=1).mean())


def novel_names(scorer: LabelScorer | None, target_texts: Sequence[str]) -> np.ndarray:
    """Return the name of the new group of each target document.

    Parameters
    ----------
    scorer : LabelScorer or None
    target_texts : sequence of str

    Returns
    -------
    ndarray of str, shape (n_target,)
        Empty for a document in no new group.
    """
    named = np.full(len(target_texts), "", dtype=object)
    if scorer is None or not scorer.novelty.groups:
        return named
    novelty = scorer.novelty
    # The search used a sample; a classifier assigns the other documents to the groups.
    others = np.setdiff1d(np.arange(len(target_texts)), scorer.target)
    numbers = np.full(len(target_texts), -1)
    numbers[scorer.target] = novelty.membership
    if len(others):
        numbers[others] = novelty.assign(scorer.words.vectorizer.transform([target_texts[i] for i in others]))
    for number, group in enumerate(novelty.groups):
        named[numbers == number] = group.name
    return named


def trust_features(
    scorer: LabelScorer,
    labels: Any,
    confidence: float,
    evidence: Evidence,
    others: Sequence = (),
    known: np.ndarray | None = None,
) -> dict[str, float]:
    """Return the features from which the accuracy of labels is estimated.

    Shares between 0 and 1: ``repeated`` (labels that a linear classifier repeats on held-out target documents),
    ``agreement`` (of the labels with those of the ``others``, or with four simple methods), ``confidence`` (mean
    probability of the labels), ``source`` (source labels that a linear classifier predicts out of fold), ``ridge``
    (agreement with the best simple method), ``consensus`` (agreement of all four with each other), ``reverse``
    (accuracy in the source of a classifier trained on the labels). In log-odds: ``excess`` (by how much labels are
    easier to learn than the source's). As a distance: ``moved`` (between the class proportions of the source and of the
    labels).

    ``repeated`` and ``source`` are measured with words, or with vectors if these separate the source's classes far
    better. Agreement and proportions cover documents outside new groups, which the estimate describes: methods disagree
    about documents that belong to no class, which is no evidence about other documents.

    Parameters
    ----------
    scorer : LabelScorer
    labels : sequence
        One per target text.
    confidence : float
        See :func:`confidence_outside`.
    evidence : Evidence
        Evidence about the labels.
    others : sequence of sequences
        Labels by other methods.
    known : ndarray of bool, shape (n_target,), optional
        Labels of the source's classes, if others were added: methods do not know added classes.

    Returns
    -------
    dict of str to float
    """
    outside = scorer.novelty.membership < 0
    if known is not None:
        outside &= known[scorer.target]
    given = np.asarray(labels).astype(str)[scorer.target][outside]
    plain = [said[outside] for said in scorer.plain_labels]
    rivals = [np.asarray(other).astype(str)[scorer.target][outside] for other in others] or plain
    strongest = evidence.strongest(SELECTION["far"])
    source = strongest.tables[1]
    views = evidence.views
    if not others:  # without other methods, the space of the pair is one more view
        in_space = scorer.space.tables(np.asarray(labels).astype(str)[scorer.target])
        views = [*views, Evidence.from_tables(*in_space)]
    return {
        "repeated": strongest.cv_accuracy,
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
    """Return the two classifiers that label documents outside the scorer's sample.

    Returns
    -------
    list of estimators
    """
    return [plain_learner(), ComplementNB()]


def disputed(scorer: LabelScorer, labels: Any, target_texts: Sequence[str]) -> np.ndarray:
    """Find the labels that one of the four simple methods contradicts.

    Only two of the methods label documents outside the scorer's sample.

    Parameters
    ----------
    scorer : LabelScorer
    labels : sequence
        One per target text.
    target_texts : sequence of str

    Returns
    -------
    ndarray of bool, shape (n_target,)
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
    """Estimate the accuracy of labels that nobody checked.

    The estimate weighs features that need no true label (``trust_features``). The weights were fitted on benchmark
    tasks, including tasks with a missing class, label shift or a noisy source. Documents in groups that belong to no
    class count as wrong. The interval is wider for one method than for a vote, and with groups that belong to no class.
    There is no estimate if labels cannot be learned at all, in source or target, or for fewer than 30 documents.

    Parameters
    ----------
    scorer : LabelScorer or None
    labels : sequence
        One per target text.
    confidence : float
        Mean probability of the labels, see ``confidence_outside``.
    others : sequence of sequences, optional
        Labels by other methods, including the voters; at least three. Without them four simple methods are used, which
        are weaker evidence.
    known : ndarray of bool, optional
        Labels of the source's classes, if others were added. The estimate covers these labels.

    Returns
    -------
    AccuracyEstimate
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
    # The agreement with one or two methods is weak evidence.
    others = others if len(others) > 2 else ()
    features = trust_features(scorer, labels, confidence, evidence, others, known)
    single, n_source = not others, len(scorer.source_labels)
    centre = log_odds(features, ACCURACY["single" if single else "few" if n_source < ACCURACY["thin"] else "vote"])
    width = sum(
        ACCURACY["spread"][name] * value for name, value in spread_terms(features, n_source, single=single).items()
    )
    return _with_groups(scorer, features, centre, width, len(labels))


def log_odds(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the weighted sum of the features.

    Parameters
    ----------
    features, weights : mapping of str to float

    Returns
    -------
    float
    """
    return weights["constant"] + sum(
        weight * (features[name] if name in AS_THEY_ARE else clipped_logit(features[name]))
        for name, weight in weights.items()
        if name != "constant"
    )


def spread_terms(features: Mapping[str, float], n_source: int, *, single: bool) -> dict[str, float]:
    """Return the features that widen the interval; each is 0 if it does not.

    Parameters
    ----------
    features : mapping of str to float
    n_source : int
    single : bool
        Whether one method gave the labels, without a vote.

    Returns
    -------
    dict of str to float
    """
    return {
        "constant": 1.0,
        "moved": float(features["moved"] >= LABEL_SHIFT["moved"]),
        "thin": float(n_source < ACCURACY["thin"]),
        "disputed": max(0.0, 0.8 - features["agreement"]),
        "single": float(single),
    }


def _with_groups(
    scorer: LabelScorer, features: Mapping[str, float], centre: float, width: float, n_labels: int
) -> AccuracyEstimate:
    """Return the estimate with its interval; documents in new groups count as wrong.

    If the test for new groups is unreliable on the source, the high end assumes that there is no such group.
    """
    groups = scorer.novelty.groups
    # The accuracy is lowest if the groups are largest, hence the order high, share, low.
    novel = [sum(ends) for ends in zip(*((g.high, g.share, g.low) for g in groups), strict=True)] or [0.0, 0.0, 0.0]
    if groups and not shows_its_worth(scorer.simulated_recall):
        novel[-1] = 0.0
    ends = [_share(centre + sign * width) * (1 - share) for sign, share in zip((-1, 0, 1), novel, strict=True)]
    # 1.645 standard errors on either side cover 90%.
    sampling = 1.645 * np.sqrt(max(ends[1] * (1 - ends[1]), 0.01) / n_labels)
    low = ends[1] - np.hypot(ends[1] - ends[0], sampling)
    high = ends[1] + np.hypot(ends[2] - ends[1], sampling)
    reasons = {
        "class shares moved": features["moved"] >= LABEL_SHIFT["moved"],
        "a group belongs to no class": groups,
        "the source is thin": len(scorer.source_labels) < ACCURACY["thin"],
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
    """Return the estimate for labels of which a share are classes that were added by their names.

    Only the source shows how well names describe classes. Perhaps only one class is added, so the interval is twice as
    wide as for a method.

    Parameters
    ----------
    accuracy : AccuracyEstimate
        Estimate for the labels of the source's classes.
    share : float
        Share of labels of added classes.
    right : float or None
        Share of the source's labels that names predict correctly.

    Returns
    -------
    AccuracyEstimate
    """
    if accuracy.estimate is None:
        return accuracy
    if right is None:
        why = "nothing shows how well names describe the classes that were added; answer about a hundred (isthmus ask)"
        return AccuracyEstimate(None, reason=why)
    width = 2 * (ACCURACY["spread"]["constant"] + ACCURACY["spread"]["single"])
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
    """Return by how much confidences are lowered, in log-odds, before a budget is applied.

    Parameters
    ----------
    accuracy : AccuracyEstimate
    n_source : int
    single : bool
        Whether one method gave the labels, without a vote.

    Returns
    -------
    float
    """
    if single:
        return accuracy.caution
    return BUDGET["caution_thin" if n_source < ACCURACY["thin"] else "caution"] * accuracy.caution


def moved_to(accuracy: AccuracyEstimate, outside: float, n_classes: int) -> AccuracyEstimate:
    """Return the estimate after the labels were corrected for label shift.

    The interval is shifted by the same log-odds as the estimate. With two classes, one takes documents from the other,
    and the vote becomes more confident whether it is right or not; the estimate then does not rise.

    Parameters
    ----------
    accuracy : AccuracyEstimate
    outside : float
        Share of right labels outside new groups.
    n_classes : int

    Returns
    -------
    AccuracyEstimate
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


def carried_over(scorer: LabelScorer, view: str = "words") -> tuple[float, float] | None:
    """Return a linear classifier's confidence in the target relative to the source, and its expected accuracy there.

    The expected accuracy is correct if documents of equal confidence are right equally often in source and target.

    Parameters
    ----------
    scorer : LabelScorer
    view : str
        View in which the classifier reads the documents: "words", or the name of a view of vectors.

    Returns
    -------
    tuple of (float, float) or None
        None for a small source.
    """
    _, codes, counts = np.unique(scorer.source_labels, return_inverse=True, return_counts=True)
    # A class with fewer documents cannot be held out. Its documents count as wrong, because few of them are right.
    usable = counts[codes] >= FOLDS
    codes = np.unique(codes[usable], return_inverse=True)[1]
    if len(usable) < ACCURACY["thin"] or np.sum(counts >= FOLDS) < 2:
        return None
    source, target, within = scorer.words.source_rows, scorer.words.target_rows, scorer.words.source_decisions
    if view != "words":
        (source, target), within = scorer.others[view].plain, None
    if within is None:
        within = held_out_decisions(source[usable], codes)
    across = plain_learner().fit(source[usable], codes).decision_function(target)
    (sure, said), (sure_there, _) = _sureness(within), _sureness(across)
    # Accuracy as an increasing function of confidence, learned on held-out source documents.
    expected = IsotonicRegression(out_of_bounds="clip").fit(sure, said == codes).predict(sure_there)
    return float(sure_there.mean() / max(float(sure.mean()), 1e-9)), float(expected.mean() * usable.mean())


def _sureness(decisions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if decisions.ndim == 1:
        return 2 * np.abs(decisions), (decisions > 0).astype(int)
    ordered = np.sort(decisions, axis=1)
    return ordered[:, -1] - ordered[:, -2], decisions.argmax(axis=1)


def shares_moved(source_labels: np.ndarray, given: np.ndarray) -> float:
    """Return the total variation distance between the class proportions of the source and of labels.

    Parameters
    ----------
    source_labels, given : ndarray of str

    Returns
    -------
    float
    """
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
    """Return warnings about new groups, label shift, and a small or noisy source.

    Parameters
    ----------
    scorer : LabelScorer or None
    source_labels : sequence
        None for an unlabelled text.
    labels : sequence
        Labels of the target.
    probabilities : ndarray of shape (n_target, n_classes)
    classes : ndarray of shape (n_classes,)
    followed : bool
        Whether labels and probabilities were corrected for label shift.

    Returns
    -------
    list of dict
        With ``topic`` and ``message``.
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
        proven = shows_its_worth(scorer.simulated_recall)
        belong = "belong" if proven else "may belong"
        share = interval(group.share, group.low if proven else 0.0, group.high)
        message = (
            f"About {share} of the target {belong} to no class of "
            f"the source: {', '.join(group.words[:5])}. They are marked in novel_group and need review. "
            f"{simulated_sentence(scorer.simulated_recall)}"
        )
        warnings.append({"topic": "new group", "message": message.rstrip()})
    return warnings


def source_warnings(scorer: LabelScorer | None, source_labels: Any) -> list[dict]:
    """Return warnings about a small or noisy source.

    Parameters
    ----------
    scorer : LabelScorer or None
    source_labels : sequence
        None for an unlabelled text.

    Returns
    -------
    list of dict
    """
    known = [str(label) for label in source_labels if label is not None]
    if len(set(known)) < 2:  # the names of the classes decide, and nothing is learned from the source
        return []
    names, counts = np.unique(known, return_counts=True)
    rows: list[dict[str, Any]] = []
    few = [str(name) for name, count in zip(names, counts, strict=True) if count < 10]
    if len(known) < ACCURACY["thin"]:
        message = f"Only {len(known)} labelled source documents: what is learned from them may be chance."
        rows.append({"topic": "thin source", "message": message})
    elif few:
        shown = ", ".join(few[:5]) + (f" and {len(few) - 5} more" if len(few) > 5 else "")
        message = f"Fewer than ten source documents of {shown}: next to nothing is known of such a class."
        rows.append({"topic": "thin source", "message": message})
    if scorer is not None and len(known) >= ACCURACY["thin"]:
        share = contradicted(scorer.words.source_table)
        if share >= ACCURACY["noise"] and detected_noise(scorer, share) >= ACCURACY["detected"]:
            message = (
                f"About {share:.0%} of the source's labels contradict its own words at random, as typing or sorting "
                "errors do; the expectation goes by the words. isthmus diagnose lists these documents."
            )
            rows.append({"topic": "noisy source", "message": message})
    return rows


def detected_noise(scorer: LabelScorer, share: float) -> float:
    """Plant wrong labels in the source and return the part of them by which the contradictions rise.

    Weak texts contradict clean labels as often as strong texts contradict wrong ones. Only strong texts show wrong
    labels that are added.

    Parameters
    ----------
    scorer : LabelScorer
    share : float
        Share of the labels that are replaced by another class.

    Returns
    -------
    float
        About 1 if the words show all planted labels, and 0 if they show none.
    """
    classes, codes = np.unique(scorer.source_labels, return_inverse=True)
    before, rises = contradicted(scorer.words.source_table), []
    for seed in range(PLANTED):
        rng = np.random.default_rng(seed)
        wrong = rng.random(len(codes)) < share
        planted = np.where(wrong, (codes + rng.integers(1, len(classes), len(codes))) % len(classes), codes)
        after = contradicted(cross_validated(scorer.words.source_rows, planted))
        rises.append((after - before) / max(float(wrong.mean()), 1e-9))
    return float(np.mean(rises))


def contradicted(table: np.ndarray) -> float:
    """Return the share of labels that look wrong at random, from out-of-fold predictions within the source.

    Confusions between similar classes affect few classes, random errors affect all. The smallest confusion of each
    class with another class, times the number of other classes, therefore estimates its random errors. With two classes
    the two kinds cannot be distinguished, and the share is 0.

    Parameters
    ----------
    table : ndarray of shape (n_classes, n_classes)
        Labels × predictions.

    Returns
    -------
    float
    """
    n = len(table)
    if n < 3:
        return 0.0
    off = np.where(np.eye(n, dtype=bool), np.inf, table).min(axis=1) * (n - 1)
    return float(off.sum() / max(1, table.sum()))


def _share(log_odds: float) -> float:
    return float(expit(log_odds))
