"""Several sources at once: what each is worth, and whether its labels mean what those of the others mean."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.svm import LinearSVC

from isthmus.choose.evidence import FEWEST, beyond_chance, class_accuracy
from isthmus.exceptions import IsthmusWarning
from isthmus.features.vectorizer import TextVectorizer

SAMPLE = 1_000  # documents of a source that are looked at


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
) -> list[dict[str, Any]]:
    """One row per source: how far the others would label it alike, and how near it is to the target.

    A source whose labels cannot be told from the others' labels, although there are at least two others, is marked as
    not used: its classes mean something else, and it would only confuse. Of two sources that contradict each other,
    nothing says which is right: both are used, with a warning.

    Parameters
    ----------
    texts, labels, domain : sequences
        Labelled source texts, and the name of the source of each.
    target_texts : sequence of str
    analyzer, min_df, language
        As for :class:`isthmus.features.TextVectorizer`.
    random_state : int or None
        For the sample of large sources.

    Returns
    -------
    list of dict
        ``source``, ``documents``, ``agreement`` (share of its labels, averaged over classes, that a plain classifier
        trained on the other sources gives too; None where there are too few documents), ``likeness`` (cosine of its
        mean tf-idf row and the target's), ``used``.
    """
    names, place = np.unique(np.asarray(domain, dtype=object).astype(str), return_inverse=True)
    rng = np.random.default_rng(random_state)
    rows_of = [np.flatnonzero(place == number) for number in range(len(names))]
    kept = [rows if len(rows) <= SAMPLE else np.sort(rng.choice(rows, SAMPLE, replace=False)) for rows in rows_of]
    target = list(target_texts[:: max(1, len(target_texts) // SAMPLE)])
    order = np.concatenate(kept)
    settings = {"analyzer": analyzer, "min_df": min_df, "language": language}
    vectorizer = TextVectorizer(**settings, weighting="tfidf", sublinear=True)
    matrix = vectorizer.fit_transform([*(texts[i] for i in order), *target])
    source, target_mean = matrix[: len(order)], np.asarray(matrix[len(order) :].mean(axis=0)).ravel()
    given, own = np.array([str(labels[i]) for i in order]), place[order]
    found = []
    for number, name in enumerate(names.tolist()):
        mean = np.asarray(source[own == number].mean(axis=0)).ravel()
        table = _labelled_by_others(source, given, own == number)
        agrees = table is None or beyond_chance(table)
        found.append(
            {
                "source": name,
                "documents": len(rows_of[number]),
                "agreement": None if table is None else round(class_accuracy(table), 4),
                "likeness": round(float(mean @ target_mean / max(_length(mean) * _length(target_mean), 1e-12)), 4),
                "used": agrees or len(names) < 3,
            }
        )
        if not agrees:
            _warn(name, left_out=len(names) >= 3)
    return found if any(row["used"] for row in found) else [row | {"used": True} for row in found]


def _labelled_by_others(rows: Any, labels: np.ndarray, own: np.ndarray) -> np.ndarray | None:
    shared = np.intersect1d(labels[own], labels[~own])
    inside, outside = own & np.isin(labels, shared), ~own & np.isin(labels, shared)
    if len(shared) < 2 or min(inside.sum(), outside.sum()) < FEWEST:
        return None
    said = LinearSVC(C=0.5, random_state=0).fit(rows[outside], labels[outside]).predict(rows[inside])
    return confusion_matrix(labels[inside], said, labels=shared)


def _length(vector: np.ndarray) -> float:
    return float(np.sqrt(vector @ vector))


def _warn(name: str, *, left_out: bool) -> None:
    end = "it was left out" if left_out else "it was used all the same"
    message = f"The labels of {name} do not follow those of the other source{'s' if left_out else ''}; {end}."
    warnings.warn(IsthmusWarning(message, code="data-checks"), stacklevel=3)
