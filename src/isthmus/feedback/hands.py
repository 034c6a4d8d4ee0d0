"""Combine answers of several annotators, people and machines, and measure how often each annotator is right.

The model is that of Dawid and Skene (Applied Statistics 1979): every annotator has a table of answers by true class,
and truth and tables are estimated alternately. A table is based on few answers, so it is shrunk towards the
one-parameter table of that annotator: right with one probability, otherwise wrong with equal probability for all
classes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from isthmus._math.fitted import fitted
from isthmus._math.rows import group_sums
from isthmus._math.samples import two_sided_z, wilson_ends
from isthmus._utils import plural

# Fitted constants; ``choose/trust.json`` states their units and origin.
ANNOTATORS = fitted("annotators")
_STEPS = 100  # iterations at most
_STILL = 1e-6  # largest change of a probability at convergence
_CONFIDENCE = 0.9  # probability that an interval contains the true value


@dataclass(frozen=True)
class HandSettings:
    """Prior about annotators before they are measured.

    Fitted by ``isthmus bench tune hands``: simulated annotators on collections that are split into two domains by their
    own labels; suite "hands" uses none of these collections.

    Attributes
    ----------
    drawn_to_one : float
        Weight of the one-parameter table in the table of an annotator, in answers per class.
    prior_right, prior_wrong : float
        Right and wrong answers with which an annotator begins.
    worth : float
        Weight of a weighted answer relative to an answer of a person when a model learns.
    """

    drawn_to_one: float = ANNOTATORS["drawn_to_one"]
    prior_right: float = ANNOTATORS["prior_right"]
    prior_wrong: float = ANNOTATORS["prior_wrong"]
    worth: float = ANNOTATORS["worth"]


DEFAULTS = HandSettings()


@dataclass(frozen=True)
class HandFit:
    """Combined answers of several annotators.

    Attributes
    ----------
    probabilities : ndarray of shape (n_documents, n_classes)
        Probabilities of the true class.
    tables : ndarray of shape (n_hands, n_classes, n_classes)
        Probabilities of an annotator's answer (last axis) by true class.
    right : ndarray of shape (n_hands,)
        Share of right answers.
    """

    probabilities: np.ndarray
    tables: np.ndarray
    right: np.ndarray


def dawid_skene(
    documents: np.ndarray,
    hands: np.ndarray,
    said: np.ndarray,
    n_classes: int,
    *,
    prior: np.ndarray | None = None,
    known: Mapping[int, int] | None = None,
    settings: HandSettings = DEFAULTS,
) -> HandFit:
    """Estimate the true classes of documents, and how often each annotator is right.

    Parameters
    ----------
    documents, hands, said : ndarray of int, shape (n_answers,)
        Document, annotator and class of each answer, numbered from 0.
    n_classes : int
    prior : ndarray of shape (n_documents, n_classes), optional
        Probabilities of each document before any answer. Without it, the class proportions are estimated, too.
    known : mapping of int to int, optional
        Class of documents whose truth is known.
    settings : HandSettings

    Returns
    -------
    HandFit

    Examples
    --------
    >>> documents, hands = np.repeat(np.arange(30), 3), np.tile([0, 1, 2], 30)
    >>> truth = np.repeat(np.arange(30) % 2, 3)
    >>> said = np.where(hands == 2, 0, truth)  # the third annotator always answers 0
    >>> found = dawid_skene(documents, hands, said, 2)
    >>> bool(np.array_equal(found.probabilities.argmax(axis=1), truth[::3])), found.right.round(1).tolist()
    (True, [0.9, 0.9, 0.6])
    """
    n_documents = int(documents.max(initial=-1)) + 1 if prior is None else len(prior)
    n_hands = int(hands.max(initial=-1)) + 1
    known = {} if known is None else known
    clamped = np.array(sorted(known), dtype=int)
    truths = np.eye(n_classes)[[known[place] for place in clamped.tolist()]]
    start = np.full((n_documents, n_classes), 1.0 / n_classes) if prior is None else prior
    votes = np.zeros((n_documents, n_classes))
    np.add.at(votes, (documents, said), 1.0)
    # Start with the answers themselves, smoothed by the prior.
    found = (votes + start) / (votes + start).sum(axis=1, keepdims=True)
    for _ in range(_STEPS):
        # Known classes are not estimated.
        found[clamped] = truths
        tables, right = _judge(found, documents, hands, said, n_hands, settings)
        shares = np.maximum(found.mean(axis=0) if prior is None else prior, 1e-12)
        logs = np.tile(np.log(shares), (n_documents, 1)) if prior is None else np.log(shares)
        np.add.at(logs, documents, np.log(tables[hands, :, said]))
        new = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
        new[clamped] = truths
        moved = float(np.abs(new - found).max(initial=0.0))
        found = new
        if moved < _STILL:
            break
    return HandFit(found, tables, right)


def _judge(
    found: np.ndarray,
    documents: np.ndarray,
    hands: np.ndarray,
    said: np.ndarray,
    n_hands: int,
    settings: HandSettings,
) -> tuple[np.ndarray, np.ndarray]:
    """Return each annotator's table and share of right answers, from probabilities of the truth."""
    n_classes = found.shape[1]
    counts = group_sums(found[documents], hands * n_classes + said, n_hands * n_classes).reshape(
        n_hands, n_classes, n_classes
    )
    counts = counts.transpose(0, 2, 1)  # annotator, truth, answer
    hits = np.trace(counts, axis1=1, axis2=2) + settings.prior_right
    right = hits / (counts.sum(axis=(1, 2)) + settings.prior_right + settings.prior_wrong)
    drawn = settings.drawn_to_one
    # Shrink each table towards the one-parameter table of its annotator.
    tables = (counts + drawn * _one_parameter(right, n_classes)) / (counts.sum(axis=2, keepdims=True) + drawn)
    return tables, right


def _one_parameter(right: np.ndarray, n_classes: int) -> np.ndarray:
    """Return tables of annotators with equal accuracy in all classes and equally probable errors."""
    same = np.eye(n_classes, dtype=bool)
    return np.where(same, right[:, None, None], ((1 - right) / max(1, n_classes - 1))[:, None, None])


@dataclass(frozen=True)
class WeighedAnswers:
    """Weighted answers about documents whose class no person decided.

    Attributes
    ----------
    rows : ndarray of int, shape (n_rows,)
    likelihood : ndarray of shape (n_rows, n_classes)
        Probability of the answers given each class.
    hands : list of dict
        ``hand`` (annotator), ``answers``, ``measured`` (answers to documents that somebody else decided), ``agreed``
        (right answers among these),
        ``right`` with ``low`` and ``high`` (90%), ``together`` (answers that count as a person's because all annotators
        of the table gave them; they measure nobody), ``unknown`` (answers that name no class).
    worth : ndarray of shape (n_rows,)
        Information in the answers to a document, relative to an annotator who is always right; 0 for an annotator who
        guesses.
    """

    rows: np.ndarray
    likelihood: np.ndarray
    hands: list[dict[str, Any]]
    worth: np.ndarray

    def update(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the probabilities of the answered documents, given the answers.

        Parameters
        ----------
        probabilities : ndarray of shape (n_documents, n_classes)
            Probabilities of all documents.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        joint = probabilities[self.rows] * self.likelihood
        return joint / joint.sum(axis=1, keepdims=True)


def weigh_answers(
    entries: Sequence[Mapping[str, Any]],
    settled: Mapping[int, Any],
    classes: Sequence,
    vote: np.ndarray,
    settings: HandSettings = DEFAULTS,
    *,
    together: Collection[int] = (),
) -> WeighedAnswers:
    """Weight answers of annotators by their reliability.

    Parameters
    ----------
    entries : sequence of mapping
        ``row``, ``label`` and ``by``. Labels that are none of ``classes`` are ignored: a machine cannot add classes.
    settled : mapping of int to object
        Known classes of documents, by which annotators are measured.
    classes : sequence
    vote : ndarray of shape (n_documents, n_classes)
        Probabilities of all documents before the answers.
    settings : HandSettings
    together : collection of int
        Documents whose class the annotators themselves agreed on. They measure no annotator.

    Returns
    -------
    WeighedAnswers
    """
    codes = {name: code for code, name in enumerate(classes)}
    names = sorted({entry["by"] for entry in entries})
    usable = [entry for entry in entries if entry["label"] in codes]
    documents = np.array([entry["row"] for entry in usable], dtype=int)
    hands = np.array([names.index(entry["by"]) for entry in usable], dtype=int)
    said = np.array([codes[entry["label"]] for entry in usable], dtype=int)
    places, own = np.unique(documents, return_inverse=True)
    # Only documents with a known class measure annotators.
    known = {place: codes[settled[row]] for place, row in enumerate(places.tolist()) if settled.get(row) in codes}
    fit = dawid_skene(own, hands, said, len(classes), prior=vote[places], known=known, settings=settings)
    logs = np.zeros((len(places), len(classes)))
    np.add.at(logs, own, np.log(fit.tables[hands, :, said]))
    told = np.zeros(len(places))
    np.add.at(told, own, _information(fit.tables)[hands])
    is_known = np.isin(np.arange(len(places)), list(known))
    # Annotators must not be measured by their own agreement.
    own_word = np.isin(places, list(together))
    free = ~np.isin(places, list(settled))
    table = [
        _describe(name, hand, fit, own[hands == hand], said[hands == hand], is_known, own_word, entries)
        for hand, name in enumerate(names)
    ]
    return WeighedAnswers(
        rows=places[free],
        likelihood=np.exp(logs[free] - logs[free].max(axis=1, keepdims=True)) if free.any() else logs[free],
        hands=table,
        worth=np.minimum(settings.worth * told[free], 1.0),
    )


def _information(tables: np.ndarray) -> np.ndarray:
    """Return the information in an answer about the truth, relative to an annotator who is always right."""
    joint = tables / tables.shape[1]
    expected = joint.sum(axis=1, keepdims=True) / tables.shape[1]
    return np.sum(joint * np.log(joint / expected), axis=(1, 2)) / np.log(max(2, tables.shape[1]))


def contradictions(
    entries: Sequence[Mapping[str, Any]], settled: Mapping[int, Any], labels: Sequence
) -> dict[int, str]:
    """Find documents about which annotators disagree with each other or with the methods.

    Parameters
    ----------
    entries : sequence of mapping
        ``row``, ``label`` and ``by``.
    settled : mapping of int to object
        Documents whose class is known; they are left out.
    labels : sequence
        Labels of all documents by the methods.

    Returns
    -------
    dict of int to str
        Explanation by document.
    """
    said: dict[int, dict[str, Any]] = {}
    for entry in entries:
        if entry["row"] not in settled:
            said.setdefault(entry["row"], {})[entry["by"]] = entry["label"]
    found = {}
    for row, votes in said.items():
        if len({*votes.values(), labels[row]}) > 1:
            words = ", ".join(f"{hand} says {label}" for hand, label in votes.items())
            found[row] = f"hands disagree: {words}, the methods {labels[row]}"
    return found


def _describe(
    name: str,
    hand: int,
    fit: HandFit,
    own: np.ndarray,
    said: np.ndarray,
    is_known: np.ndarray,
    own_word: np.ndarray,
    entries: Sequence,
) -> dict[str, Any]:
    """Return a row of ``WeighedAnswers.hands``; the interval uses documents that somebody else decided."""
    measured = is_known[own] & ~own_word[own]
    agreed = int(np.sum(fit.probabilities[own[measured]].argmax(axis=1) == said[measured]))
    n = int(measured.sum())
    right = float(fit.right[hand]) if len(own) and hand < len(fit.right) else None
    low, high = wilson_ends(agreed / n, n, two_sided_z(_CONFIDENCE)) if n else (0.0, 1.0)
    total = sum(entry["by"] == name for entry in entries)
    return {
        "hand": name,
        "answers": total,
        "measured": n,
        "agreed": agreed,
        "right": right,
        "low": low,
        "high": high,
        "together": int(own_word[own].sum()),
        "unknown": total - len(own),
    }


def describe_hand(row: Mapping[str, Any]) -> str:
    """Describe the reliability of an annotator in one sentence.

    Parameters
    ----------
    row : mapping
        Row of ``WeighedAnswers.hands``.

    Returns
    -------
    str
    """
    sentence = f"{row['hand']}: {plural(row['answers'], 'answer')}"
    if row["right"] is not None:
        sentence += f", right in about {100 * row['right']:.0f} %"
        if row["measured"]:
            where = plural(row["measured"], "document")
            sentence += f" ({100 * row['low']:.0f} to {100 * row['high']:.0f} by {where} that a person answered)"
        else:
            judges = "the other hands and the methods' labels" if row.get("together") else "the methods' labels alone"
            sentence += f" by {judges}; answer some of these documents yourself to measure it"
    if row["unknown"]:
        sentence += f"; {row['unknown']:,} name no class and count for nothing"
    return sentence
