"""Which method for this pair of collections: candidates, evidence, a weighted vote of those it supports."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from isthmus.base import progress
from isthmus.choose.combined import CombinedModel
from isthmus.choose.evidence import Evidence, Judge
from isthmus.choose.trust import AccuracyEstimate, estimate_accuracy
from isthmus.exceptions import DataError, IsthmusError
from isthmus.recipes import RECIPES

YARDSTICK = "logistic"
CANDIDATES = (YARDSTICK, "self-training", "cocc", "projection", "strings")
WITH_WORDS = "dual-manifold"
# Set together with WAY_BACK_WEIGHT on the benchmark tasks; docs/guide/choosing.md has the sweep and the test on corpora
# that were left out.
NEAR = 0.03  # scores this close to the best take part in the vote
SCALE = 0.02  # a score that is lower by this counts 1/e
MOST_STRINGS = 6_000  # documents; beyond that string kernels cost minutes
MOST_CHARACTERS = 15_000_000


@dataclass
class Choice:
    """The outcome: the model, the table of candidates, and what accuracy to expect."""

    model: CombinedModel
    table: list[dict]
    accuracy: AccuracyEstimate

    @property
    def name(self) -> str:
        return "+".join(row["method"] for row in self.table if row["chosen"])


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
        ``random_state``, ``analyzer``, ``min_df``, as for a recipe.
    """
    texts = [*source_texts, *target_texts]
    joint = np.concatenate([source_labels, np.full(len(target_texts), None, dtype=object)])
    domain = np.concatenate([np.ones(len(source_texts), dtype=int), np.full(len(target_texts), -1)])
    names, table = candidates_for(texts, word_labels)
    known = [i for i, label in enumerate(source_labels) if label is not None]
    judge = _judge([source_texts[i] for i in known], [source_labels[i] for i in known], target_texts, options)
    if judge is None:
        names = [WITH_WORDS if word_labels else YARDSTICK]
    models, evidence, seconds = {}, {}, {}
    for step, name in enumerate(names):
        progress(f"trying {name}", step, len(names))
        start = time.monotonic()
        words = word_labels if RECIPES[name].takes_words else None
        try:
            model = RECIPES[name].build_with(word_labels=words, **options).fit(texts, joint, sample_domain=domain)
        except IsthmusError as error:
            if name == YARDSTICK:
                raise
            table.append({"method": name, "chosen": False, "why": f"not possible: {error}"})
            continue
        models[name] = model
        seconds[name] = time.monotonic() - start
        if judge is not None:
            evidence[name] = judge.weigh(model.transduction_[len(source_texts) :])
    progress("trying methods", len(names), len(names))
    weights = vote_weights(evidence) if evidence else {names[0]: 1.0}
    model = CombinedModel({name: models[name] for name in weights}, weights)
    accuracy = estimate_accuracy(judge, model.predict(target_texts), len(target_texts))
    if accuracy.estimate is not None:
        model.calibrate(target_texts, accuracy.estimate)
    rows = decision_rows(models, evidence, model.weights, seconds)
    return Choice(model, [*rows, *table], accuracy)


def _judge(source_texts, source_labels, target_texts, options) -> Judge | None:
    settings = {name: options[name] for name in ("analyzer", "min_df", "random_state") if name in options}
    try:
        return Judge(source_texts, source_labels, target_texts, **settings)
    except DataError as error:
        if error.code != "no-rows":
            raise
        return None


def vote_weights(evidence: Mapping[str, Evidence]) -> dict[str, float]:
    """Methods whose score is near the best, weighted by how near.

    Examples
    --------
    >>> from isthmus.choose.evidence import Evidence
    >>> from isthmus.choose.choice import vote_weights
    >>> found = {"logistic": Evidence(0.80, 0.82, 0.75), "cocc": Evidence(0.95, 0.82, 0.55)}
    >>> list(vote_weights(found))
    ['logistic']
    """
    best = max(item.score for item in evidence.values())
    return {
        name: float(np.exp((item.score - best) / SCALE)) for name, item in evidence.items() if item.score >= best - NEAR
    }


def decision_rows(models, evidence, weights, seconds) -> list[dict]:
    """The ranked table: evidence, weight in the vote, and why."""
    if not evidence:
        name = next(iter(models))
        kind = "source-only" if name == YARDSTICK else name
        why = f"{kind}, because there are too few documents to weigh methods against each other"
        return [{"method": name, "chosen": True, "weight": 1.0, "why": why}]
    rows = [
        {
            "method": name,
            "chosen": name in weights,
            "weight": round(weights.get(name, 0.0), 3),
            "score": round(found.score, 4),
            "learnability": round(found.learnability, 4),
            "source_learnability": round(found.source_learnability, 4),
            "way_back": round(found.way_back, 4),
            "seconds": round(seconds[name], 1),
            "why": _why(name, found, weights),
        }
        for name, found in evidence.items()
    ]
    return sorted(rows, key=lambda row: (-row["weight"], -row["score"]))


def _why(name: str, found: Evidence, weights: Mapping[str, float]) -> str:
    facts = f"labels learnable to {found.learnability:.2f}, the source's to {found.source_learnability:.2f}"
    if name in weights:
        if list(weights) == [YARDSTICK]:
            return f"source-only, because the evidence supports no adaptation ({facts})"
        return f"supported by the evidence ({facts}; {found.way_back:.2f} right on the way back)"
    if found.excess > NEAR:
        return f"its labels are suspiciously easy ({facts}): they follow another division of the target"
    if found.excess < -NEAR:
        return f"its labels are noisier than others' ({facts})"
    return f"others are better supported ({facts}; {found.way_back:.2f} right on the way back)"
