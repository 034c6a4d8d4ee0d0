"""Weigh several sources: their use for the target, and the choice between sources that contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import confusion_matrix

from isthmus._math.content import content_order
from isthmus._math.fitted import fitted
from isthmus._math.samples import two_sided_z, wilson_ends
from isthmus._utils import warn
from isthmus.choose.evidence import class_accuracy, cross_validated, draw_rows, plain_learner
from isthmus.features.vectorizer import TextVectorizer

# Fitted constants; ``choose/trust.json`` states their units and origin.
SOURCES = fitted("sources")
EVIDENCE = fitted("evidence")

SAMPLE = 1_000  # documents of each source, and of the target, that are evaluated; larger collections are sampled
CANNOT_BE_LEARNED = "cannot be learned from its words"
CONTRADICTS = "do not follow those of the sources that are nearest to the target"


def weigh_sources(
    texts: Sequence[str],
    labels: Sequence,
    domain: Sequence[str],
    target_texts: Sequence[str],
    *,
    analyzer: str = "auto",
    min_df: int | str = "auto",
    language: str = "auto",
    random_state: int | None = 0,
    in_order: bool = False,
) -> list[dict[str, Any]]:
    """Decide which sources to use.

    A source counts fully or not at all. A source whose labels cannot be learned from its own words (for example random
    labels) is left out, with a warning. Two sources contradict each other if a linear classifier trained on either is
    significantly no better than chance on the other. Sources that do not contradict each other form a group. Only the
    group nearest to the target is used; the similarity of a group is the sum over its sources. A source with too few
    documents for a decision is used.

    Parameters
    ----------
    texts : sequence of str
    labels : sequence
    domain : sequence of str
        Name of the source of each text.
    target_texts : sequence of str
    analyzer, min_df, language
        See :class:`isthmus.features.TextVectorizer`.
    random_state : int or None
    in_order : bool
        Whether all texts are sorted by content already.

    Returns
    -------
    list of dict
        One row per source: ``source``, ``documents``, ``learned`` (share of its labels, averaged over classes, that a
        classifier repeats on held-out documents; None for too few documents), ``agreement`` (the same share for a
        classifier trained on the other used sources), ``likeness`` (cosine of the mean tf-idf rows of source and
        target), ``used``, ``why`` (reason if it is not used).
    """
    names, place = np.unique(np.asarray(domain, dtype=object).astype(str), return_inverse=True)
    rng = np.random.default_rng(random_state)
    # Samples and folds must not depend on the order of the rows.
    order = np.arange(len(texts)) if in_order else content_order(texts)
    target_order = np.arange(len(target_texts)) if in_order else content_order(target_texts)
    kept = [draw_rows(order[place[order] == number], SAMPLE, rng) for number in range(len(names))]
    target = [target_texts[i] for i in draw_rows(target_order, SAMPLE, rng)]
    vectorizer = TextVectorizer(analyzer=analyzer, min_df=min_df, language=language, weighting="tfidf", sublinear=True)
    matrix = vectorizer.fit_transform([*(texts[i] for rows in kept for i in rows), *target])
    given = np.array([str(labels[i]) for rows in kept for i in rows])
    own = np.repeat(np.arange(len(names)), [len(rows) for rows in kept])
    likeness = _likeness(matrix, own, len(names))
    within = [_enough(cross_validated(matrix[: len(own)][own == n], given[own == n])) for n in range(len(names))]
    learned = np.array([not _surely_nothing(table) for table in within])
    camp = _camps(matrix[: len(own)], given, own, len(names))
    # If no source can be learned, all stay, so that there is a source at all.
    usable = np.where(learned.any(), learned, True)
    worth = np.array([likeness[usable & (camp == number)].sum() for number in range(camp.max() + 1)])
    used = usable & (camp == worth.argmax())
    found = []
    for number, name in enumerate(names.tolist()):
        inside = own == number
        others = used[own] & ~inside
        table = _labelled_by(matrix[: len(own)], given, others, inside)
        why = CONTRADICTS if usable[number] else CANNOT_BE_LEARNED
        if used[number]:
            why = ""
        found.append(
            {
                "source": name,
                "documents": int(np.sum(place == number)),
                "learned": _share_right(within[number]),
                "agreement": _share_right(table),
                "likeness": round(float(likeness[number]), 4),
                "used": bool(used[number]),
                "why": why,
            }
        )
        if why:
            message = f"The labels of {name} {why}; it was left out."
            warn(message, code="data-checks")
    return found


def _likeness(matrix: Any, own: np.ndarray, n_sources: int) -> np.ndarray:
    sides = [matrix[: len(own)][own == number] for number in range(n_sources)]
    means = [np.asarray(rows.mean(axis=0)).ravel() for rows in [*sides, matrix[len(own) :]]]
    unit = [mean / max(float(np.sqrt(mean @ mean)), 1e-12) for mean in means]
    return np.array([mean @ unit[-1] for mean in unit[:-1]])


def _camps(rows: Any, labels: np.ndarray, own: np.ndarray, n_sources: int) -> np.ndarray:
    """Return the group of each source: within a group, sources are connected by pairs without contradiction."""
    at_peace = np.ones((n_sources, n_sources), dtype=bool)
    for one in range(n_sources):
        fitted: dict[tuple, Any] = {}  # most sources have the same classes, so one classifier serves all other sources
        for other in range(n_sources):
            if one != other:
                table = _labelled_by(rows, labels, own == one, own == other, fitted)
                at_peace[one, other] = not _surely_nothing(table)
    # Two sources agree if a classifier of either is better than chance on the other.
    at_peace |= at_peace.T
    return connected_components(at_peace, directed=False)[1]


def _labelled_by(
    rows: Any, labels: np.ndarray, teachers: np.ndarray, learners: np.ndarray, fitted: dict[tuple, Any] | None = None
) -> np.ndarray | None:
    """Return labels × predictions of a classifier trained elsewhere; None if too few documents share classes."""
    shared = np.intersect1d(labels[teachers], labels[learners])
    inside, outside = learners & np.isin(labels, shared), teachers & np.isin(labels, shared)
    if len(shared) < 2 or min(inside.sum(), outside.sum()) < EVIDENCE["fewest"]:
        return None
    fitted, classes = {} if fitted is None else fitted, tuple(shared.tolist())
    if classes not in fitted:
        fitted[classes] = plain_learner().fit(rows[outside], labels[outside])
    said = fitted[classes].predict(rows[inside])
    return confusion_matrix(labels[inside], said, labels=shared)


def _enough(table: np.ndarray) -> np.ndarray | None:
    return table if len(table) > 1 and table.sum() >= EVIDENCE["fewest"] else None


def _surely_nothing(table: np.ndarray | None) -> bool:
    """Decide whether predictions are significantly close to chance; False without a table."""
    if table is None:
        return False
    chance = 1 / len(table)
    high = wilson_ends(class_accuracy(table), int(table.sum()), two_sided_z(SOURCES["sure"]))[1]
    return (high - chance) / (1 - chance) < SOURCES["least"]


def _share_right(table: np.ndarray | None) -> float | None:
    return None if table is None else round(class_accuracy(table), 4)
