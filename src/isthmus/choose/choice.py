"""Which method for this pair of collections: candidates, evidence, a weighted vote of those it supports."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from isthmus._progress import progress
from isthmus.choose.combined import CombinedModel, pool, sharpen, sharpness_for, spread_columns
from isthmus.choose.evidence import Evidence, LabelScorer
from isthmus.choose.trust import AccuracyEstimate, estimate_accuracy
from isthmus.choose.voting import VotingRule, excess
from isthmus.exceptions import DataError, IsthmusError
from isthmus.pipeline import TransferPipeline
from isthmus.recipes import RECIPES

YARDSTICK = "logistic"
CANDIDATES = (YARDSTICK, "self-training", "cocc", "projection", "strings")
WITH_WORDS = "dual-manifold"
MOST_STRINGS = 60_000  # documents; beyond that string kernels cost minutes
MOST_CHARACTERS = 30_000_000
_MUCH = 0.5  # log-odds from which the table calls labels noisy, or suspiciously easy


@dataclass
class FittedCandidate:
    """One method, fitted on both collections: its answers for the target and what speaks for them."""

    name: str
    model: TransferPipeline
    labels: np.ndarray
    probabilities: np.ndarray
    seconds: float
    evidence: Evidence | None = None


@dataclass
class Candidates:
    """All methods tried on a pair of collections, and why others were not."""

    trials: list[FittedCandidate]
    judge: LabelScorer | None
    left_out: list[dict] = field(default_factory=list)

    @property
    def evidence(self) -> dict[str, Evidence]:
        return {trial.name: trial.evidence for trial in self.trials if trial.evidence is not None}


@dataclass
class Choice:
    """The outcome: the model, its answers for the target, the table of candidates, what accuracy to expect."""

    model: CombinedModel
    labels: np.ndarray
    probabilities: np.ndarray
    table: list[dict]
    accuracy: AccuracyEstimate
    opinions: dict[str, np.ndarray] = field(default_factory=dict)  # probabilities by each method that votes

    @property
    def name(self) -> str:
        return "+".join(row["method"] for row in self.table if row["chosen"])


def choose(
    source_texts: Sequence[str],
    source_labels: np.ndarray,
    target_texts: Sequence[str],
    *,
    word_labels: Mapping | None = None,
    **options,
) -> Choice:
    """Fit the candidates, weigh their labels, and combine those that the evidence supports.

    Parameters
    ----------
    source_texts, target_texts : sequences of str
    source_labels : ndarray of object
        None where unknown.
    word_labels : mapping, optional
        Adds dual supervision to the candidates.
    **options
        ``random_state``, ``analyzer``, ``min_df``, ``language``, as for a recipe.
    """
    return decide(try_methods(source_texts, source_labels, target_texts, word_labels=word_labels, **options))


def try_methods(
    source_texts: Sequence[str],
    source_labels: np.ndarray,
    target_texts: Sequence[str],
    *,
    word_labels: Mapping | None = None,
    **options,
) -> Candidates:
    """Fit every candidate and gather the evidence; parameters as for :func:`choose`."""
    texts = [*source_texts, *target_texts]
    joint = np.concatenate([source_labels, np.full(len(target_texts), None, dtype=object)])
    domain = np.concatenate([np.ones(len(source_texts), dtype=int), np.full(len(target_texts), -1)])
    names, left_out = candidates_for(texts, word_labels)
    known = [i for i, label in enumerate(source_labels) if label is not None]
    judge = _judge([source_texts[i] for i in known], [source_labels[i] for i in known], target_texts, options)
    if judge is None:
        names = [*([WITH_WORDS] if word_labels else []), YARDSTICK]
    trials = []
    for step, name in enumerate(names):
        progress(f"trying {name}", step, len(names))
        start = time.monotonic()
        words = word_labels if RECIPES[name].takes_words else None
        try:
            model = RECIPES[name].build_with(word_labels=words, **options).fit(texts, joint, sample_domain=domain)
        except IsthmusError as error:
            if name == YARDSTICK:
                raise
            left_out.append({"method": name, "chosen": False, "why": f"not possible: {error}"})
            continue
        labels = model.transduction_[len(source_texts) :]
        trial = FittedCandidate(name, model, labels, model.predict_proba(target_texts), time.monotonic() - start)
        trial.evidence = judge.score(labels) if judge is not None else None
        trials.append(trial)
    progress("trying methods", len(names), len(names))
    return Candidates(trials, judge, left_out)


def candidates_for(texts: Sequence[str], word_labels: Mapping | None) -> tuple[list[str], list[dict]]:
    """Methods worth trying on these texts, and rows for those left out with the reason."""
    chosen, left_out = list(CANDIDATES), []
    characters = sum(map(len, texts))
    if len(texts) > MOST_STRINGS or characters > MOST_CHARACTERS:
        chosen.remove("strings")
        why = f"not tried: {len(texts):,} documents with {characters:,} characters would take minutes"
        left_out.append({"method": "strings", "chosen": False, "why": why})
    if word_labels:
        chosen.append(WITH_WORDS)
    return chosen, left_out


def _judge(source_texts, source_labels, target_texts, options) -> LabelScorer | None:
    settings = {name: options[name] for name in ("analyzer", "min_df", "language", "random_state") if name in options}
    try:
        return LabelScorer(source_texts, source_labels, target_texts, **settings)
    except DataError as error:
        if error.code != "no-rows":
            raise
        return None


def decide(contest: Candidates, rule: VotingRule | None = None) -> Choice:
    """Weights from the evidence, one pooled answer, and the accuracy to expect of it."""
    rule = rule or VotingRule()
    weights = vote_weights(contest, rule)
    members = {trial.name: trial for trial in contest.trials if trial.name in weights}
    model = CombinedModel({name: trial.model for name, trial in members.items()}, weights)
    spread = {
        name: spread_columns(trial.probabilities, trial.model.classes_, model.classes_)
        for name, trial in members.items()
    }
    votes = pool(spread, weights)
    labels = model.classes_[votes.argmax(axis=1)]
    accuracy = estimate_accuracy(contest.judge, labels, float(votes.max(axis=1).mean()))
    if accuracy.estimate is not None:
        model.sharpness = sharpness_for(votes, accuracy.estimate)
    table = [*decision_rows(contest, weights, labels, rule), *contest.left_out]
    return Choice(model, labels, sharpen(votes, model.sharpness), table, accuracy, spread)


def vote_weights(contest: Candidates, rule: VotingRule) -> dict[str, float]:
    """Who votes, and how much it counts. The guard: without evidence beyond chance, source-only alone."""
    if not contest.evidence:
        return {contest.trials[0].name: 1.0}
    learned = {name: found for name, found in contest.evidence.items() if found.learned and found.source_learned}
    return rule.weights(learned) if learned else {YARDSTICK: 1.0}


def decision_rows(
    contest: Candidates, weights: Mapping[str, float], labels: np.ndarray, rule: VotingRule
) -> list[dict]:
    """The ranked table: evidence with its uncertainty, weight in the vote, and why."""
    if not contest.evidence:
        name = contest.trials[0].name
        kind = "source-only" if name == YARDSTICK else name
        why = f"{kind}, because there are too few documents to weigh methods against each other"
        return [{"method": name, "chosen": True, "weight": 1.0, "why": why}]
    rows = []
    for trial in contest.trials:
        found = contest.evidence[trial.name]
        rows.append(
            {
                "method": trial.name,
                "chosen": trial.name in weights,
                "weight": round(weights.get(trial.name, 0.0), 3),
                "score": round(rule.score(found), 4),
                "spread": round(rule.spread(found), 4),
                "learnability": round(found.learnability, 4),
                "source_learnability": round(found.source_learnability, 4),
                "reverse_accuracy": round(found.reverse_accuracy, 4),
                "agreement": round(float(np.mean(trial.labels == labels)), 4),
                "seconds": round(trial.seconds, 1),
                "why": _why(trial.name, found, weights),
            }
        )
    return sorted(rows, key=lambda row: (-row["weight"], -row["score"]))


def _why(name: str, found: Evidence, weights: Mapping[str, float]) -> str:
    """One sentence for people; the figures behind it stand beside it in the row."""
    votes = name in weights
    if not found.source_learned:
        why = "a classifier cannot learn even the source's own labels from their words"
        return f"source-only, because {why}; trust no label" if votes else f"not judged: {why}"
    if not found.learned:
        why = "a classifier cannot learn its labels from the target's words"
        return "source-only, because no method gave labels that can be learned from words" if votes else why
    if votes and list(weights) == [YARDSTICK]:
        return "source-only, because no method that adapts is better supported"
    if votes:
        return f"supported: trained on its labels, a classifier gets {found.reverse_accuracy:.0%} of the source right"
    if excess(found) > _MUCH:
        return "its labels are suspiciously easy to learn: they may follow another division of the target"
    if excess(found) < -_MUCH:
        return "its labels are harder to learn than the source's: many may be wrong"
    return "other methods are better supported"
