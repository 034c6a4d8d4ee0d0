"""Select the documents and words about which an annotator should be asked next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._math.content import content_order
from isthmus._math.fitted import fitted
from isthmus.exceptions import UsageError
from isthmus.features.tokens import surface_forms
from isthmus.feedback.answers import ASKED, RANDOM
from isthmus.feedback.labelling import Labelling
from isthmus.feedback.model import without_answers
from isthmus.feedback.tables import TRUTH

# Fitted constants; ``choose/trust.json`` states their units and origin.
ASKING = fitted("asking")

DRAWN_FIRST = "drawn at random, to measure labels by names alone"
_TIED = 1e-12  # worth; sums in another order of the rows differ by less than this
_LAST = 4.0  # larger than any worth: documents that were left blank come last, after near-copies


@dataclass(frozen=True)
class Question:
    """A document that an annotator should be asked about.

    Attributes
    ----------
    row : int
    doubt : float
        0 if one class has all the probability, 1 if the two most probable classes are equally probable.
    dispute : float
        Share of the methods that disagree with the label.
    reason : str
    """

    row: int
    doubt: float
    dispute: float
    reason: str


def doubt_of(probabilities: np.ndarray) -> np.ndarray:
    """Return one minus the difference of the two largest probabilities.

    Parameters
    ----------
    probabilities : ndarray of shape (n_documents, n_classes)

    Returns
    -------
    ndarray of shape (n_documents,)
    """
    if probabilities.shape[1] < 2:
        return np.zeros(len(probabilities))
    ordered = np.sort(probabilities, axis=1)
    return 1.0 - (ordered[:, -1] - ordered[:, -2])


def ask_documents(
    probabilities: np.ndarray,
    classes: np.ndarray,
    opinions: dict[str, np.ndarray],
    meaning: np.ndarray,
    n: int,
    *,
    answered: Sequence[int] = (),
    passed_over: Sequence[int] = (),
    groups: Sequence[str] | None = None,
    disputed: Mapping[int, str] | None = None,
    blind: bool = False,
    ranks: np.ndarray | None = None,
) -> list[Question]:
    """Select documents to ask about, the most useful first.

    A document is useful if it is uncertain, if methods disagree about it, and if no similar document was answered or
    selected: worth = doubt · (0.5 + dispute) · (1 − similarity to the nearest such document). Documents about which
    annotators disagree come first, the most uncertain first. Then comes the middle document of each group that fits no
    class.

    Parameters
    ----------
    probabilities : ndarray of shape (n_documents, n_classes)
    classes : ndarray of shape (n_classes,)
    opinions : dict of str to ndarray of shape (n_documents,)
        Labels by each method.
    meaning : ndarray of shape (n_documents, n_directions)
        Unit rows.
    n : int
        Number of documents to select.
    answered : sequence of int
        Answered documents.
    passed_over : sequence of int
        Documents that were left blank. They are selected only if nothing else is left.
    groups : sequence of str, optional
        Suspected new group of each document, or ''.
    disputed : mapping of int to str, optional
        Documents about which annotators disagree, with the reason.
    blind : bool
        Whether reasons name no class, so that they do not influence the annotator.
    ranks : ndarray of int, shape (n_documents,), optional
        Order of equally useful documents: the lowest first.

    Returns
    -------
    list of Question

    Examples
    --------
    >>> sure, unsure = [0.9, 0.1], [0.5, 0.5]
    >>> probabilities = np.array([sure, unsure, unsure, [0.6, 0.4]])
    >>> meaning = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # 1 and 2 are copies of each other
    >>> [question.row for question in ask_documents(probabilities, np.array(["a", "b"]), {}, meaning, 2)]
    [1, 3]
    """
    labels = np.asarray(classes)[probabilities.argmax(axis=1)]
    doubt, dispute = doubt_of(probabilities), np.zeros(len(labels))
    if opinions:
        # Share of the methods that disagree with the label.
        dispute = np.mean([np.asarray(opinion) != labels for opinion in opinions.values()], axis=0)
    # The constant gives documents without a dispute some worth.
    worth = doubt * (ASKING["dispute"] + dispute)
    # Answered documents are never asked about again.
    free = np.ones(len(worth), dtype=bool)
    free[list(answered)] = False
    penalty = np.zeros(len(worth))
    penalty[list(passed_over)] = -_LAST
    nearest = _similarity(meaning, list(answered))
    ranks = np.arange(len(worth)) if ranks is None else ranks
    chosen: list[Question] = []

    def take(row: int, reason: str) -> None:
        free[row] = False
        # Documents similar to a selected document become less useful.
        np.maximum(nearest, np.clip(meaning @ meaning[row], 0.0, 1.0), out=nearest)
        chosen.append(Question(int(row), float(doubt[row]), float(dispute[row]), reason))

    for row in sorted(disputed or (), key=lambda row: (-doubt[row].round(9), ranks[row])):
        if len(chosen) < n and free[row] and nearest[row] <= ASKING["near_copy"]:
            said = (disputed or {})[row]
            take(row, said.partition(":")[0] if blind else said)
    # A document that was left blank cannot represent its group.
    unseen = free & (penalty == 0)
    for row, name in _group_heads(groups, meaning, unseen, list(answered), ranks)[: max(1, n // ASKING["group_share"])]:
        if len(chosen) < n:
            take(row, f"in the middle of {name}, a group that fits no class")
    while len(chosen) < n and free.any():
        gain = np.where(free, worth * (1.0 - nearest) + penalty, -np.inf)
        # Near-copies of selected documents come only if nothing else is left.
        gain = np.where(free & (nearest > ASKING["near_copy"]), gain - 1.0, gain)
        row = _largest(gain, ranks)
        unlike = bool(len(answered)) and nearest[row] < ASKING["unlike"]
        take(row, _reason(row, probabilities, classes, doubt, dispute, opinions, labels, unlike, blind))
    return chosen


def _similarity(meaning: np.ndarray, rows: list[int]) -> np.ndarray:
    nearest = np.zeros(len(meaning))
    # Blocks of 500 rows bound the memory of the products.
    for start in range(0, len(rows), 500):
        found = (meaning @ meaning[rows[start : start + 500]].T).max(axis=1)
        np.maximum(nearest, np.clip(found, 0.0, 1.0), out=nearest)
    return nearest


def _largest(values: np.ndarray, ranks: np.ndarray) -> int:
    """Return the row of the largest value; of equal values, the one with the lowest rank."""
    tied = np.flatnonzero(values >= values.max() - _TIED)
    return int(tied[ranks[tied].argmin()])


def _group_heads(
    groups: Sequence[str] | None, meaning: np.ndarray, free: np.ndarray, answered: list[int], ranks: np.ndarray
) -> list[tuple[int, str]]:
    """Return the middle document of each suspected group without an answer, the largest group first."""
    if groups is None:
        return []
    names = np.asarray(groups, dtype=object)
    heads = []
    for name in dict.fromkeys(name for name in names.tolist() if name):
        rows = np.flatnonzero(names == name)
        if np.isin(rows, answered).any() or not free[rows].any():
            continue
        rows = rows[free[rows]]
        middle = _largest(meaning[rows] @ meaning[rows].mean(axis=0), ranks[rows])
        heads.append((len(rows), int(rows[middle]), str(name)))
    return [(row, name) for _, row, name in sorted(heads, key=lambda head: (-head[0], head[1]))]


def _reason(
    row: int,
    probabilities: np.ndarray,
    classes: np.ndarray,
    doubt: np.ndarray,
    dispute: np.ndarray,
    opinions: dict[str, np.ndarray],
    labels: np.ndarray,
    unlike: bool,
    blind: bool = False,
) -> str:
    best = np.argsort(-probabilities[row], kind="stable")[:2]
    parts = []
    if doubt[row] >= 0.5:
        close = " or ".join(f"{classes[code]} ({probabilities[row, code]:.2f})" for code in best)
        parts.append("two classes are about as likely" if blind else close)
    others = [f"{name} says {said[row]}" for name, said in opinions.items() if said[row] != labels[row]]
    if dispute[row] > 0:
        parts.append("methods disagree" if blind else "methods disagree: " + ", ".join(others[:3]))
    if unlike:
        parts.append("unlike the documents answered so far")
    return "; ".join(parts) or "for a second look: nothing more doubtful is left"


def ask_words(
    words: Any, terms: Sequence[str], probabilities: np.ndarray, n: int, *, fewest: int = 3
) -> list[dict[str, Any]]:
    """Select words to ask about: words that occur in many uncertain documents and are associated with one class.

    Parameters
    ----------
    words : CSR matrix of shape (n_documents, n_words)
        tf-idf rows.
    terms : sequence of str
    probabilities : ndarray of shape (n_documents, n_classes)
    n : int
        Number of words to select.
    fewest : int
        Documents that must contain a word.

    Returns
    -------
    list of dict
        ``column``, ``word``, ``code`` (class), ``lean`` (strength of the association, 0 to 1), ``documents``, and
        ``settles``. The last estimates how many uncertain documents the word would resolve: the sum, over its
        documents, of doubt times the word's share of the document, times ``lean``.
    """
    words = words.tocsr()
    present = words.copy()
    present.data = np.ones_like(present.data)
    frequency = np.asarray(present.sum(axis=0)).ravel()
    average = probabilities.mean(axis=0)
    shares = np.asarray(present.T @ probabilities) / np.maximum(frequency, 1.0)[:, None]
    # A word in three documents is associated with some class by chance, so two documents of the average class are
    # added.
    shares = (shares * frequency[:, None] + 2.0 * average) / (frequency[:, None] + 2.0)
    # A frequent class is no association, so its proportion is subtracted.
    lift = shares - average
    code, lean = lift.argmax(axis=1), np.clip(lift.max(axis=1), 0.0, 1.0)
    totals = np.asarray(words.sum(axis=1)).ravel()
    weight = doubt_of(probabilities) / np.maximum(totals, 1e-12)
    settles = np.asarray(words.T @ weight).ravel() * lean
    settles[frequency < fewest] = 0.0
    order = np.argsort(-settles, kind="stable")[:n]
    return [
        {
            "column": int(column),
            "word": str(terms[column]),
            "code": int(code[column]),
            "lean": float(lean[column]),
            "documents": int(frequency[column]),
            "settles": float(settles[column]),
        }
        for column in order
        if settles[column] > 0
    ]


def ask(labelling: Labelling, n: int = 50, *, suggest: bool = False) -> dict[str, list]:
    """Return a table of documents to answer; see :meth:`isthmus.api.result.LabelResult.ask`.

    Parameters
    ----------
    labelling : Labelling
    n : int
        Number of documents.
    suggest : bool
        Whether the table shows the present labels.

    Returns
    -------
    dict of str to list
    """
    _check_count(n)
    known = labelling.known_answers
    views = labelling.views
    # A single method cannot disagree with itself, so it has no opinions below.
    opinions = labelling.voters()
    base = without_answers(labelling.model)
    first = _drawn_first(labelling, n)
    said = {name: base.classes_[part.argmax(axis=1)] for name, part in opinions.items()} if len(opinions) > 1 else {}
    questions = ask_documents(
        labelling.probabilities,
        labelling.classes,
        said,
        views.meaning(labelling.texts),
        n - len(first),
        answered=[*known.read.rows, *first],
        passed_over=known.blank,
        groups=getattr(labelling, "novel_group", None),
        disputed={
            row: "annotators disagree: " + ", ".join(f"{vote['by']} gave {vote['label']}" for vote in votes)
            for row, votes in known.disputed.items()
        },
        blind=not suggest,
        ranks=content_order(labelling.texts).argsort(),
    )
    rows = [*first, *(question.row for question in questions)]
    table: dict[str, list] = {
        "document": [row + 1 for row in rows],
        "id": [labelling.document_ids[row] for row in rows],
        "text": [labelling.texts[row] for row in rows],
        TRUTH: [None] * len(rows),
    }
    if suggest:
        table["label"] = [labelling.labels[row] for row in rows]
        table["confidence"] = [round(float(labelling.confidence[row]), 4) for row in rows]
    return table | {
        "reason": [DRAWN_FIRST] * len(first) + [question.reason for question in questions],
        "drawn": [RANDOM] * len(first) + [ASKED] * len(questions),
    }


def _drawn_first(labelling: Labelling, n: int) -> list[int]:
    """Return documents drawn at random, which come first if no labelled source shows how reliable the labels are."""
    known = labelling.known_answers
    wanted = min(n, ASKING["first_at_random"] - int(known.read.at_random.sum()))
    if not labelling.by_names_alone or len(labelling.classes) < 2 or wanted <= 0:
        return []
    # The draw depends on seed and content, not on the order of the rows.
    order = np.random.default_rng(labelling.seed).permutation(len(labelling.texts))
    seen = {*known.read.rows, *known.blank}
    return [row for row in content_order(labelling.texts)[order].tolist() if row not in seen][:wanted]


def ask_about_words(labelling: Labelling, n: int = 20) -> dict[str, list]:
    """Return a table of words to answer; see :meth:`isthmus.api.result.LabelResult.ask`.

    Parameters
    ----------
    labelling : Labelling
    n : int
        Number of words.

    Returns
    -------
    dict of str to list
    """
    _check_count(n)
    reader = labelling.views.term_rows
    rows = reader(labelling.texts)
    given = [*labelling.known_answers.words, *labelling.given_words]
    known = {term for word in given for term in reader.analyze(word)}
    # Known words are removed below, so that many more words are requested.
    found = ask_words(rows, reader.names.tolist(), labelling.probabilities, n + len(known))
    found = [row for row in found if row["word"] not in known][:n]
    forms = surface_forms(reader, labelling.texts)
    return {
        "word": [forms.get(row["word"], row["word"]) for row in found],
        "label": [None] * len(found),
        "suggestion": [labelling.classes[row["code"]] for row in found],
        "documents": [row["documents"] for row in found],
        "settles": [round(row["settles"], 2) for row in found],
    }


def _check_count(n: int) -> None:
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise UsageError(f"n={n!r}; give a number of at least 1.", code="bad-parameter")
