"""Which method for these collections: evidence about the candidates, and a weighted vote of those it supports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from isthmus._math.confidence import AccuracyEstimate, clipped_logit, sharpen
from isthmus._utils import one_blas_thread
from isthmus.choose.candidates import YARDSTICK, Candidates, FittedCandidate, FittedLexicon, try_methods
from isthmus.choose.combined import (
    LEXICON,
    NAMES,
    CombinedModel,
    agree,
    by_margin,
    pool,
    sharpness_for,
    shift_for,
    spread_columns,
    to_shares,
)
from isthmus.choose.evidence import Evidence, LabelScorer
from isthmus.choose.lexicon import shared_errors, weigh_lexicon
from isthmus.choose.names import NamedClasses, names_share, why_names_stay_out
from isthmus.choose.texts import TransferTexts
from isthmus.choose.trust import CARRIED, PROMISES_MORE, THIN, carried_over, moved_to, outside_groups, shares_moved
from isthmus.choose.voting import VotingRule, excess
from isthmus.pipeline import TransferPipeline
from isthmus.shift.shares import FOLLOW, compare_shares

FEWEST_OF_A_CLASS = 5  # documents that shares leave to a class, from which it is contradictory that none gets its label
AS_FAR = (1.0, 0.75, 0.5, 0.25)  # powers of the factors: how far labels follow moved shares, the whole way first
SURE_ALONE = "source-only is as sure in the target as within the source, and is taken alone"
_MUCH = 0.5  # log-odds from which the table calls labels noisy, or suspiciously easy


@dataclass
class Choice:
    """The outcome: the model, its answers for the target, the table of candidates, what accuracy to expect."""

    model: CombinedModel | TransferPipeline
    labels: np.ndarray
    probabilities: np.ndarray
    table: list[dict]
    accuracy: AccuracyEstimate
    opinions: dict[str, np.ndarray] = field(default_factory=dict)  # probabilities by each method that votes
    no_known_terms: np.ndarray | None = None  # target texts in which no voter finds anything it knows
    scorer: LabelScorer | None = None

    @property
    def name(self) -> str:
        return "+".join(row["method"] for row in self.table if row["chosen"])


def choose(
    source_texts: Sequence[str],
    source_labels: np.ndarray,
    target_texts: Sequence[str],
    *,
    word_labels: Mapping | Literal[False] | None = None,
    classes: NamedClasses | None = None,
    extra_texts: Sequence[str] = (),
    embed: Any = None,
    n_jobs: int | None = None,
    **options,
) -> Choice:
    """Fit the candidates, weigh their labels, and combine those that the evidence supports.

    Parameters
    ----------
    source_texts, target_texts : sequences of str
    source_labels : ndarray of object
        None where unknown.
    word_labels : mapping or False, optional
        Labelled words. They count as a model of their own next to the vote; where they cannot, dual supervision joins
        the candidates. If omitted, an installed lexicon is taken where classes are verdicts
        (``isthmus.choose.lexicons.find_lexicon``); False: none.
    classes : NamedClasses, optional
        Names and descriptions; the classes that the source lacks are added.
    extra_texts : sequence of str
        Unlabelled texts of either kind; they take part in the fit and get no label.
    embed : str, callable or VectorTable, optional
        Vectors of the texts, as ``isthmus.features.embeddings.resolve_embedder`` reads them. If omitted, the
        packaged static vectors are used where they are installed; False: none.
    n_jobs : int, optional
        Candidates fitted at a time; one per core if omitted.
    **options
        ``random_state``, ``analyzer``, ``min_df``, ``language``, as for a recipe.
    """
    texts = TransferTexts.of(source_texts, source_labels, target_texts, extra_texts)
    return decide(try_methods(texts, word_labels=word_labels, classes=classes, embed=embed, n_jobs=n_jobs, **options))


@one_blas_thread()
def decide(candidates: Candidates) -> Choice:
    """Weights from the evidence, one pooled answer, and the accuracy to expect of it."""
    rule = VotingRule()
    vote = Vote.of(candidates, vote_weights(candidates, rule))
    guarded = vote.below_source_only(candidates)
    if guarded:
        vote = Vote.of(candidates, {YARDSTICK: 1.0})
    model = vote.model
    labels = vote.labels
    opinions = vote.opinions
    accuracy = vote.accuracy
    # The figure speaks of the documents outside new groups; those inside would hide how sure the vote is.
    outside = outside_groups(candidates.scorer, len(labels))
    if accuracy.for_calibration is not None:
        model.sharpness = sharpness_for(vote.pooled[outside], accuracy.for_calibration)
    probabilities = sharpen(vote.pooled, model.sharpness)
    if accuracy.estimate is not None:
        model.share_factors = share_factors(candidates.scorer, probabilities[outside], labels[outside], model.classes_)
    gain = 0.0
    if model.share_factors is not None:
        probabilities = to_shares(probabilities, model.share_factors)
        labels = model.classes_[probabilities.argmax(axis=1)]
        before = accuracy
        accuracy = moved_to(before, float(probabilities[outside].max(axis=1).mean()), len(model.classes_))
        gain = clipped_logit(accuracy.for_calibration) - clipped_logit(before.for_calibration)
    table = [*decision_rows(candidates, vote.weights, labels, rule), *candidates.left_out]
    if candidates.lexicon is not None and accuracy.estimate is not None:
        own = add_lexicon(model, candidates, probabilities, accuracy)
        if own is not None:
            opinions = {**opinions, LEXICON: own}
            joint = agree(probabilities, own, model.lexicon_weight)
            labels = model.classes_[joint.argmax(axis=1)]
            accuracy, model.lexicon_sharpness = expect_anew(candidates, joint, labels, gain)
            probabilities = sharpen(joint, model.lexicon_sharpness)
        table.append(lexicon_row(candidates.lexicon, labels, model.lexicon_weight))
    if candidates.names is not None:
        joined = join_names(model, candidates, NamedVote(probabilities, labels, accuracy, gain, guarded))
        table.append(names_row(candidates, joined.labels, model, joined.why))
        if joined.named is not None:
            opinions = {name: spread_columns(own, model.own_classes_, model.classes_) for name, own in opinions.items()}
            opinions[NAMES] = joined.named
        candidates = replace(candidates, scorer=joined.scorer)
        probabilities, labels, accuracy = joined.probabilities, joined.labels, joined.accuracy
    if accuracy.for_calibration is not None:
        outside = outside_groups(candidates.scorer, len(labels))
        model.shift = shift_for(probabilities[outside], accuracy.for_calibration)
        probabilities = by_margin(probabilities, model.shift)
    voters = [candidate.no_known_terms for candidate in candidates.fitted if candidate.name in vote.weights]
    no_known_terms = np.all([found for found in voters if found is not None], axis=0)
    return Choice(model, labels, probabilities, table, accuracy, opinions, no_known_terms, candidates.scorer)


@dataclass(frozen=True)
class Vote:
    """The pooled answer of some candidates, and the accuracy to expect of it."""

    weights: dict[str, float]
    model: CombinedModel
    opinions: dict[str, np.ndarray]
    pooled: np.ndarray
    labels: np.ndarray
    accuracy: AccuracyEstimate

    @classmethod
    def of(cls, candidates: Candidates, weights: dict[str, float]) -> Vote:
        members = {candidate.name: candidate for candidate in candidates.fitted if candidate.name in weights}
        model = CombinedModel({name: candidate.model for name, candidate in members.items()}, weights)
        opinions = {
            name: spread_columns(candidate.probabilities, candidate.model.classes_, model.classes_)
            for name, candidate in members.items()
        }
        pooled = pool(opinions, weights)
        labels = model.classes_[pooled.argmax(axis=1)]
        return cls(weights, model, opinions, pooled, labels, candidates.estimate(labels, pooled))

    def below_source_only(self, candidates: Candidates) -> bool:
        """The guard: whether source-only promises more, where it is as sure in the target as within the source.

        It then suffers from no shift, and its accuracy within the source says what to expect. Not so where class shares
        moved, which sureness does not show, or where words name classes that the source lacks.
        """
        alone = {candidate.name: len(candidate.model.classes_) for candidate in candidates.fitted}.get(YARDSTICK)
        if candidates.scorer is None or self.accuracy.for_calibration is None or alone != len(self.model.classes_):
            return False
        carried = carried_over(candidates.scorer)
        if carried is None or list(self.weights) == [YARDSTICK]:
            return False
        sureness, expected = carried
        if shares_moved(candidates.scorer.source_labels, self.labels.astype(str)) >= FOLLOW:
            return False
        return sureness >= CARRIED and expected >= self.accuracy.for_calibration + PROMISES_MORE


def share_factors(
    scorer: LabelScorer | None, probabilities: np.ndarray, labels: np.ndarray, classes: np.ndarray
) -> np.ndarray | None:
    """How many times as frequent as in the source each class is, where labels should follow; None otherwise.

    They follow as far as no class to which the estimate leaves documents loses the label of every one of them.
    """
    if scorer is None or len(scorer.source_labels) < THIN:
        return None
    names = classes.astype(str)
    shift = compare_shares(scorer.source_labels, probabilities, labels.astype(str), names)
    if not shift.supported:
        return None
    expected = shift.cautious * len(labels) >= FEWEST_OF_A_CLASS
    for power in AS_FAR:
        factors = shift.factors**power
        given = np.bincount(to_shares(probabilities, factors).argmax(axis=1), minlength=len(names))
        if (given[expected] > 0).all():
            return factors
    return None


def add_lexicon(
    model: CombinedModel, candidates: Candidates, probabilities: np.ndarray, accuracy: AccuracyEstimate
) -> np.ndarray | None:
    """Give the labelled words to the vote; their probabilities for the target, or None where they add nothing."""
    lexicon = candidates.lexicon
    expected = accuracy.for_calibration
    assert lexicon is not None
    assert candidates.scorer is not None
    assert expected is not None
    own = spread_columns(lexicon.probabilities, lexicon.model.classes_, model.classes_)
    common = shared_errors(candidates.scorer, lexicon.source_proba)
    model.lexicon_weight = weigh_lexicon(probabilities, own, expected, lexicon.accuracy, common)
    if model.lexicon_weight == 0:
        return None
    model.lexicon_model = lexicon.model
    model.lexicon_power = lexicon.power
    model.lexicon_offsets = lexicon.offsets
    return own


@dataclass(frozen=True)
class NamedVote:
    """A vote before names of classes may join it, or after they did or stayed out."""

    probabilities: np.ndarray
    labels: np.ndarray
    accuracy: AccuracyEstimate
    gain: float = 0.0  # log-odds of a right label that were gained by following moved shares
    guarded: bool = False  # source-only was taken alone
    scorer: LabelScorer | None = None
    named: np.ndarray | None = None  # probabilities by the names, which joined
    why: str = ""  # they stayed out


def join_names(model: CombinedModel, candidates: Candidates, before: NamedVote) -> NamedVote:
    """Names of classes join the vote: classes that only they describe are added, or they have a share in the vote.

    New groups that added classes explain are no longer announced.
    """
    names, scorer = candidates.names, candidates.scorer
    assert names is not None
    if not candidates.added:
        why = SURE_ALONE if before.guarded else _why_without_names(candidates, before.labels)
        if why:
            return replace(before, scorer=scorer, why=why)
    agreement = names.model.agreement_
    model.add_names_model(names.model, 0.0 if agreement is None else names_share(agreement))
    named = spread_columns(names.probabilities, names.model.classes_, model.classes_)
    joint = model.with_names(before.probabilities, named)
    labels = model.classes_[joint.argmax(axis=1)]
    if not candidates.added:
        accuracy, model.names_sharpness = expect_anew(candidates, joint, labels, before.gain)
        return NamedVote(sharpen(joint, model.names_sharpness), labels, accuracy, scorer=scorer, named=named)
    if scorer is not None:
        scorer = scorer.without_groups_of(labels, candidates.added)
    accuracy = replace(candidates, scorer=scorer).estimate(labels, joint)
    return NamedVote(joint, labels, accuracy, scorer=scorer, named=named)


def expect_anew(
    candidates: Candidates, joint: np.ndarray, labels: np.ndarray, gain: float = 0.0
) -> tuple[AccuracyEstimate, float]:
    """Accuracy to expect of a vote that words or names joined, and the power that brings its confidence there.

    Two opinions that share errors are surer together than they are right. ``gain``: log-odds that the vote gained by
    following moved shares, which its figures do not show.
    """
    accuracy = candidates.estimate(labels, joint)
    if accuracy.for_calibration is None:
        return accuracy, 1.0
    if gain:
        followed = float(expit(clipped_logit(accuracy.for_calibration) + gain))
        accuracy = moved_to(accuracy, followed, joint.shape[1])
    expected = accuracy.for_calibration
    assert expected is not None
    outside = outside_groups(candidates.scorer, len(labels))
    return accuracy, sharpness_for(joint[outside], expected)


def _why_without_names(candidates: Candidates, labels: np.ndarray) -> str:
    """Why names have no share; the evidence about the vote is gathered only where nothing else decides."""
    names = candidates.names
    assert names is not None
    scorer = candidates.scorer
    if scorer is None:
        return "there are too few documents to weigh methods against each other"
    n_labelled = len(scorer.source_labels)
    about = names.model.classes_.tolist(), names.model.agreement_
    why = why_names_stay_out(*about, None, None, n_labelled)
    return why or why_names_stay_out(*about, names.evidence, scorer.score(labels), n_labelled)


def names_row(candidates: Candidates, labels: np.ndarray, model: CombinedModel, why: str) -> dict:
    names = candidates.names
    assert names is not None
    agreement = names.model.agreement_
    row: dict[str, Any] = {"method": NAMES, "chosen": not why}
    if not candidates.added:
        row["weight"] = 0.0 if why else round(model.names_share, 3)
    if why:
        said = f"not counted: {why}"
    elif candidates.added:
        said = f"adds classes that only their names describe: {', '.join(map(str, candidates.added))}"
    else:
        said = "the names of the classes mean what their documents are about"
    if agreement is not None:
        said += f"; names alone get {agreement.right:.0%} of the source's labels right"
    return row | _figures(names, labels) | {"why": said}


def _figures(candidate: FittedCandidate, labels: np.ndarray) -> dict[str, float]:
    agreement = round(float(np.mean(candidate.labels == labels)), 4)
    return {"agreement": agreement, "seconds": round(candidate.seconds, 1)}


def lexicon_row(lexicon: FittedLexicon, labels: np.ndarray, weight: float) -> dict:
    words = f"a general lexicon ({lexicon.found})" if lexicon.found else "the labelled words on their own"
    right = f"{words}, right about {lexicon.accuracy:.0%} of the source"
    why = f"{right}; counted for what they say beyond the vote" if weight else f"{right}, say nothing beyond the vote"
    row = {"method": lexicon.name, "chosen": weight > 0, "weight": round(weight, 3)}
    return row | _figures(lexicon, labels) | {"why": why}


def vote_weights(candidates: Candidates, rule: VotingRule) -> dict[str, float]:
    """Weights of those that vote. The guard: without evidence beyond chance, source-only alone."""
    if not candidates.evidence:
        return {candidates.fitted[0].name: 1.0}
    learned = {
        name: found
        for name, found in candidates.evidence.items()
        if found.learned and found.source_learned and found.leads_back
    }
    return rule.weights(learned, candidates.shared) if learned else {YARDSTICK: 1.0}


def decision_rows(
    candidates: Candidates, weights: Mapping[str, float], labels: np.ndarray, rule: VotingRule
) -> list[dict]:
    if not candidates.evidence:
        name = candidates.fitted[0].name
        kind = "source-only" if name == YARDSTICK else name
        why = f"{kind}, because there are too few documents to weigh methods against each other"
        return [{"method": name, "chosen": True, "weight": 1.0, "why": why}]
    rows: list[dict] = []
    shared = candidates.shared
    for candidate in candidates.fitted:
        name, found = candidate.name, candidates.evidence[candidate.name]
        row = {
            "method": name,
            "chosen": name in weights,
            "weight": round(weights.get(name, 0.0), 3),
            "score": round(rule.score(found, shared[name]), 4),
            "spread": round(rule.spread(found, shared[name]), 4),
        }
        measures = ("learnability", "source_learnability", "reverse_accuracy")
        row |= {measure: round(getattr(found, measure), 4) for measure in measures}
        rows.append(row | _figures(candidate, labels) | {"why": _why(name, found, weights)})
    return sorted(rows, key=lambda row: (-row["weight"], -row["score"]))


def _why(name: str, found: Evidence, weights: Mapping[str, float]) -> str:
    votes = name in weights
    if not found.source_learned:
        why = "a classifier cannot learn even the source's own labels from their words"
        return f"source-only, because {why}; trust no label" if votes else f"not judged: {why}"
    if not found.learned:
        why = "a classifier cannot learn its labels from the target's words"
        return "source-only, because no method gave labels that can be learned from words" if votes else why
    if not found.leads_back and not votes:
        return "trained on its labels, a classifier cannot tell the source's classes apart"
    if votes and list(weights) == [YARDSTICK]:
        return "source-only, because no method that adapts is better supported"
    if votes:
        return f"supported: trained on its labels, a classifier gets {found.reverse_accuracy:.0%} of the source right"
    if excess(found) > _MUCH:
        return "its labels are suspiciously easy to learn: they may follow another division of the target"
    if excess(found) < -_MUCH:
        return "its labels are harder to learn than the source's: many may be wrong"
    return "other methods are better supported"
