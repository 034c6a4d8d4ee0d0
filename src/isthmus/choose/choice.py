"""Select and combine methods for two collections, without target labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from isthmus._math.confidence import AccuracyEstimate
from isthmus._math.fitted import fitted
from isthmus._utils import one_blas_thread
from isthmus.choose.candidates import SOURCE_ONLY, YARDSTICK, Candidates, try_methods
from isthmus.choose.decision import Decision, agreement_and_seconds
from isthmus.choose.evidence import Evidence, LabelScorer
from isthmus.choose.model import LabelModel
from isthmus.choose.names import NamedClasses
from isthmus.choose.stages import label_shift, lexicon, margin, names, temperature
from isthmus.choose.texts import TransferTexts
from isthmus.choose.trust import carried_over, shares_moved
from isthmus.choose.voting import VotingRule, excess

# Fitted constants; ``choose/trust.json`` states their units and origin.
SELECTION = fitted("selection")
GUARD = fitted("source_only")
LABEL_SHIFT = fitted("label_shift")

# The order in which stages are fitted and applied. To add one, write its class in ``stages/apply.py`` and its ``fit``
# in a module of its own.
STAGES = (temperature, label_shift, lexicon, names, margin)


@dataclass
class Choice:
    """Result of the selection: the model, its labels for the target, the decision table and the expected accuracy."""

    model: LabelModel
    labels: np.ndarray
    probabilities: np.ndarray
    table: list[dict]
    accuracy: AccuracyEstimate
    opinions: dict[str, np.ndarray] = field(default_factory=dict)  # probabilities by each voting method
    no_known_terms: np.ndarray | None = None  # target texts in which no voting method finds a known term
    scorer: LabelScorer | None = None
    single: bool = False  # whether the caller named the method

    @property
    def name(self) -> str:
        """Names of the chosen methods, joined by plus signs."""
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
    """Fit the candidates, weigh their labels, and combine the candidates that the evidence supports.

    Parameters
    ----------
    source_texts, target_texts : sequence of str
    source_labels : ndarray of object
        None for an unlabelled text.
    word_labels : mapping or False, optional
        Labelled words. They vote as a model of their own; if they cannot, dual supervision joins the candidates. If
        omitted, an installed lexicon is used where classes are verdicts (``isthmus.choose.lexicons.find_lexicon``);
        False uses none.
    classes : NamedClasses, optional
        Names and descriptions; classes that the source lacks are added.
    extra_texts : sequence of str
        Unlabelled texts of either collection. They take part in the fit and get no label.
    embed : str, callable or VectorTable, optional
        Text vectors, as accepted by ``isthmus.features.embeddings.resolve_embedder``. If omitted, the packaged static
        vectors are used if they are installed; False uses none.
    n_jobs : int, optional
        Candidates that are fitted in parallel; one per core if omitted.
    **options
        ``random_state``, ``analyzer``, ``min_df``, ``language``, as for a recipe.

    Returns
    -------
    Choice
    """
    texts = TransferTexts.of(source_texts, source_labels, target_texts, extra_texts)
    return decide(try_methods(texts, word_labels=word_labels, classes=classes, embed=embed, n_jobs=n_jobs, **options))


@one_blas_thread()
def decide(candidates: Candidates) -> Choice:
    """Weigh the candidates by the evidence, pool them, and fit the stages that follow the vote.

    Parameters
    ----------
    candidates : Candidates
        The fitted candidates with their evidence.

    Returns
    -------
    Choice
    """
    rule = VotingRule()
    decision = Decision.of_vote(candidates, vote_weights(candidates, rule))
    better = better_source_only(decision)
    if better is not None:
        decision = Decision.of_vote(candidates, {better: 1.0})
        decision.guarded = True
    for stage in STAGES:
        stage.fit(decision)
    model = decision.model
    table = decision_rows(candidates, model.weights, decision.vote_labels, rule)
    voters = [candidate.no_known_terms for candidate in candidates.fitted if candidate.name in model.weights]
    return Choice(
        model,
        decision.labels,
        decision.proba,
        [*table, *candidates.left_out, *decision.rows],
        decision.accuracy,
        decision.batch.spread(decision.classes),
        np.all([unknown for unknown in voters if unknown is not None], axis=0),
        decision.scorer,
    )


def better_source_only(decision: Decision) -> str | None:
    """Return the source-only method that replaces the vote, or None.

    A source-only method, of words or of vectors, replaces the vote if it is as confident in the target as within the
    source, and its accuracy within the source exceeds the expected accuracy of the vote. It then suffers from no shift.
    Two exceptions: class proportions differ, which confidence does not show, or words name classes that the source
    lacks.

    Parameters
    ----------
    decision : Decision

    Returns
    -------
    str or None
    """
    scorer, expected = decision.candidates.scorer, decision.accuracy.for_calibration
    if scorer is None or expected is None:
        return None
    promises: dict[str, float] = {}
    for rival in decision.candidates.fitted:
        chosen = list(decision.model.weights) == [rival.name]
        if chosen or rival.name not in SOURCE_ONLY or len(rival.model.classes_) != len(decision.classes):
            continue
        carried = carried_over(scorer, SOURCE_ONLY[rival.name])
        if carried is None or carried[0] < GUARD["carried"] or carried[1] < expected + GUARD["promises_more"]:
            continue
        own, given = (shares_moved(scorer.source_labels, said.astype(str)) for said in (rival.labels, decision.labels))
        supported = decision.candidates.estimate(rival.labels, rival.probabilities).for_calibration
        # A vote that shows a shift may be wrong about it, and a vote on the same vectors was adapted. The labels of the
        # method must then show no shift, and the target must support them as well as those of the vote.
        trusted = own < LABEL_SHIFT["follow"] and supported is not None and supported >= expected
        if trusted or (rival.name == YARDSTICK and given < LABEL_SHIFT["follow"]):
            promises[rival.name] = carried[1]
    return max(promises, key=lambda name: promises[name]) if promises else None


def vote_weights(candidates: Candidates, rule: VotingRule) -> dict[str, float]:
    """Return the weights of the candidates that vote.

    Parameters
    ----------
    candidates : Candidates
    rule : VotingRule

    Returns
    -------
    dict of str to float
        Only the source-only method if no candidate is supported beyond chance.
    """
    if not candidates.evidence:
        return {candidates.fitted[0].name: 1.0}
    learned = {
        name: found
        for name, found in candidates.evidence.items()
        if found.learned and found.source_learned and found.leads_back
    }
    return rule.weights(learned, candidates.shared, candidates.behind) if learned else {YARDSTICK: 1.0}


def decision_rows(
    candidates: Candidates, weights: Mapping[str, float], labels: np.ndarray, rule: VotingRule
) -> list[dict]:
    """Return the decision table, with one row per candidate and the reason for its weight.

    Parameters
    ----------
    candidates : Candidates
    weights : mapping of str to float
    labels : ndarray of shape (n_target,)
        Labels of the vote.
    rule : VotingRule

    Returns
    -------
    list of dict
        Sorted by weight.
    """
    if not candidates.evidence:
        name = candidates.fitted[0].name
        kind = "source-only" if name == YARDSTICK else name
        why = f"{kind}, because there are too few documents to weigh methods against each other"
        return [{"method": name, "chosen": True, "weight": 1.0, "why": why}]
    rows: list[dict] = []
    shared, behind = candidates.shared, candidates.behind
    for candidate in candidates.fitted:
        name, found = candidate.name, candidates.evidence[candidate.name]
        row = {
            "method": name,
            "chosen": name in weights,
            "weight": round(weights.get(name, 0.0), 3),
            "score": round(rule.score(found, shared[name], behind.get(name, 0.0)), 4),
            "spread": round(rule.spread(found, shared[name]), 4),
        }
        measures = ("learnability", "source_learnability", "reverse_accuracy")
        row |= {measure: round(getattr(found, measure), 4) for measure in measures}
        outclassed = behind.get(name, 0.0) > rule.far
        why = _why(name, found, weights, outclassed=outclassed)
        rows.append(row | agreement_and_seconds(candidate, labels) | {"why": why})
    return sorted(rows, key=lambda row: (-row["weight"], -row["score"]))


def _why(name: str, found: Evidence, weights: Mapping[str, float], *, outclassed: bool = False) -> str:
    votes = name in weights
    if not found.source_learned:
        why = "a classifier cannot learn even the source's own labels from their words"
        return f"source-only, because {why}; trust no label" if votes else f"not judged: {why}"
    if not found.learned:
        why = "a classifier cannot learn its labels from the target's words"
        return "source-only, because no method gave labels that can be learned from words" if votes else why
    if not found.leads_back and not votes:
        return "trained on its labels, a classifier cannot tell the source's classes apart"
    if votes and len(weights) == 1 and name in SOURCE_ONLY:
        return "source-only, because no method that adapts is better supported"
    if votes:
        return f"supported: trained on its labels, a classifier gets {found.reverse_accuracy:.0%} of the source right"
    if outclassed:
        return "the vectors separate the source's classes far better than words"
    if excess(found) > SELECTION["much_excess"]:
        return "its labels are suspiciously easy to learn: they may follow another division of the target"
    if excess(found) < -SELECTION["much_excess"]:
        return "its labels are harder to learn than the source's: many may be wrong"
    return "other methods are better supported"
