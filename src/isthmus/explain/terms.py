"""Contributions of terms to the score of each class, for methods without a module of their own in this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._math.rows import row_blocks, softmax
from isthmus.choose.model import Member
from isthmus.classify.rules import log_of
from isthmus.features.languages import UNSPACED, guess_language
from isthmus.features.term_rows import TermRows, UnitRows

MARKS = ".,;:!?…\"'()[]{}<>*_-–—"
BLOCK = 256  # variants of a document that are scored together


def contribution_rows(classes: np.ndarray, terms: Any, contributions: Any) -> list[dict]:
    """Return rows of ``class``, ``term`` and ``contribution`` from a table of terms × classes.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    terms : sequence of shape (n_terms,)
    contributions : sequence of shape (n_terms, n_classes)

    Returns
    -------
    list of dict
    """
    return [
        {"class": label, "term": str(term), "contribution": float(values[code])}
        for code, label in enumerate(classes.tolist())
        for term, values in zip(terms, contributions, strict=True)
    ]


def text_row(member: Member, text: str) -> sp.csr_matrix:
    """Return the row that the rule of a member reads.

    Parameters
    ----------
    member : Member
    text : str

    Returns
    -------
    csr_matrix of shape (1, n_columns)
    """
    return sp.csr_matrix(member.rows([text]))


def term_names(member: Member) -> Any:
    """Return the term of each column.

    Parameters
    ----------
    member : Member

    Returns
    -------
    ndarray of str of shape (n_columns,), or None
        None if columns are not terms of the text, for example after a reduction of dimensions, and if the rule reads
        texts.
    """
    names: Any = None
    for place, step in enumerate(member.steps):
        transformer = getattr(step, "transformer", None)
        if isinstance(step, TermRows):
            names = step.names
        elif transformer is not None:
            if not place and not (hasattr(transformer, "analyze") or hasattr(transformer, "build_analyzer")):
                return None
            try:
                found = transformer.get_feature_names_out(*([names] if place else []))
            except AttributeError:  # a step that has no names for its columns
                return None
            names = found if not place or set(found) <= set(names) else None
        elif not isinstance(step, UnitRows):
            return None
        if names is None:
            return None
    return names


# -- Linear classifiers: a score is a sum over terms


def linear_terms(member: Member, text: str) -> list[dict]:
    """Return rows by the weights of a linear classifier.

    For two classes the model's single row of weights is split into −w/2 and +w/2. Naive Bayes weights are centred over
    the classes: only differences between classes decide.

    Parameters
    ----------
    member : Member
        With a ``LinearRule``.
    text : str

    Returns
    -------
    list of dict
    """
    weights = member.rule.coef
    if member.rule.link == "bayes":
        weights = weights - weights.mean(axis=0, keepdims=True)
    elif len(weights) == 1:
        weights = np.vstack([-weights / 2, weights / 2])
    row, names = text_row(member, text), term_names(member)
    return contribution_rows(member.classes_, names[row.indices], (weights[:, row.indices] * row.data).T)


# -- Dual supervision: a document and its words are neighbours in the graph


def dual_terms(member: Member, text: str) -> list[dict]:
    """Return rows of class, term, contribution and ``labelled`` (by a person; else the method learned the score).

    The contribution is the weight of the edge times the word's score for the class, less its mean over the classes.

    Parameters
    ----------
    member : Member
        With a ``DualRule`` or ``GaussianDualRule``.
    text : str

    Returns
    -------
    list of dict
    """
    rule, row = member.rule, text_row(member, text)
    scores = rule.word_scores[row.indices]
    shares = row.data[:, None] / max(float(row.data.sum()), 1e-300)
    contributions = shares * (scores - scores.mean(axis=1, keepdims=True))
    rows = contribution_rows(member.classes_, term_names(member)[row.indices], contributions)
    labelled = np.isin(row.indices, rule.labelled_words).tolist()
    return [{**found, "labelled": known} for found, known in zip(rows, labelled * len(member.classes_), strict=True)]


# -- Any method: a contribution is the change of the log-probability when the term is left out


def left_out_terms(member: Member, text: str) -> list[dict]:
    """Return rows by log-probability with the term minus log-probability without it.

    A method that reads texts has words left out instead of columns. The rows need not add up: words with the same
    meaning can replace each other.

    Parameters
    ----------
    member : Member
    text : str

    Returns
    -------
    list of dict
    """
    row = member.rows([text]) if member.steps else None
    if not sp.issparse(row):
        return left_out_words(member, text)
    row = sp.csr_matrix(row)
    # Only stored terms are left out in turn.
    row.eliminate_zeros()

    def without(places: range) -> sp.csr_matrix:
        rows = sp.vstack([row] * len(places), format="csr")
        rows.data[np.arange(len(places)) * row.nnz + np.array(places)] = 0.0
        rows.eliminate_zeros()
        return rows

    return _losses(member, member.rule.scores, term_names(member)[row.indices], row, without)


def left_out_words(member: Member, text: str) -> list[dict]:
    """Return the same by words of the text, or by characters in scripts without blanks.

    Parameters
    ----------
    member : Member
    text : str

    Returns
    -------
    list of dict
    """
    # Without spaces there are no words to leave out.
    unspaced = guess_language([text]) in UNSPACED
    parts = [part for part in text if not part.isspace()] if unspaced else text.split()
    words = [part.strip(MARKS) or part for part in parts]
    names = list(dict.fromkeys(words))
    glue = "" if unspaced else " "

    def without(places: range) -> list[str]:
        return [
            glue.join(part for part, word in zip(parts, words, strict=True) if word != names[place]) for place in places
        ]

    def scores(texts: list[str]) -> np.ndarray:
        return member.rule.scores(member.rows(texts))

    return _losses(member, scores, names, [text], without)


def _losses(
    member: Member, scores: Callable[[Any], np.ndarray], names: Any, whole: Any, without: Callable[[range], Any]
) -> list[dict]:
    if not len(names):
        return []
    logs = log_of(softmax(scores(whole)))
    blocks = [range(part.start, part.stop) for part in row_blocks(len(names), BLOCK)]
    losses = np.vstack([logs - log_of(softmax(scores(without(places)))) for places in blocks])
    return contribution_rows(member.classes_, names, losses)
