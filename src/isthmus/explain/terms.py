"""Contributions of terms to the score of each class, for methods without a module of their own in this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus.base import row_blocks
from isthmus.classify.source_only import log_probability
from isthmus.features.languages import UNSPACED, guess_language
from isthmus.pipeline import TransferPipeline

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


def text_row(pipeline: TransferPipeline, text: str) -> tuple[sp.csr_matrix, Any]:
    """Return the row that the method at the end of a pipeline reads, and the names of all columns.

    Parameters
    ----------
    pipeline : TransferPipeline
        Fitted.
    text : str

    Returns
    -------
    row : csr_matrix of shape (1, n_columns)
    names : ndarray of str of shape (n_columns,)
    """
    return sp.csr_matrix(pipeline[:-1].transform([text])), pipeline[:-1].get_feature_names_out()


# -- Linear classifiers: a score is a sum over terms


def class_weights(estimator: Any) -> np.ndarray | None:
    """Return one weight per class and column; None for a classifier without such weights.

    For two classes a linear model's single row is split into −w/2 and +w/2. Naive Bayes weights are centred over the
    classes: only differences between classes decide.

    Parameters
    ----------
    estimator : fitted classifier

    Returns
    -------
    ndarray of shape (n_classes, n_columns), or None
    """
    if hasattr(estimator, "feature_log_prob_"):
        weights = estimator.feature_log_prob_
        return weights - weights.mean(axis=0, keepdims=True)
    if hasattr(estimator, "coef_") and not hasattr(estimator, "dual_coef_"):  # a kernel machine has pairs of classes
        weights = np.asarray(estimator.coef_)
        return np.vstack([-weights / 2, weights / 2]) if len(weights) == 1 else weights
    return None


def linear_terms(pipeline: TransferPipeline, text: str) -> list[dict]:
    """Return rows by the weights of a linear classifier; for any other, terms are left out in turn.

    Parameters
    ----------
    pipeline : TransferPipeline
        Fitted.
    text : str

    Returns
    -------
    list of dict
    """
    model = pipeline.steps[-1][1]
    weights = class_weights(model.estimator_)
    if weights is None:
        return left_out_terms(pipeline, text)
    row, names = text_row(pipeline, text)
    return contribution_rows(model.classes_, names[row.indices], (weights[:, row.indices] * row.data).T)


# -- Dual supervision: a document and its words are neighbours in the graph


def dual_terms(pipeline: TransferPipeline, text: str) -> list[dict]:
    """Return rows of class, term, contribution and ``labelled`` (by a person; else the method learned the score).

    The contribution is the weight of the edge times the word's score for the class, less its mean over the classes.

    Parameters
    ----------
    pipeline : TransferPipeline
        Fitted.
    text : str

    Returns
    -------
    list of dict
    """
    model, row = pipeline.steps[-1][1], text_row(pipeline, text)[0]
    scores = model.word_scores_
    scores = scores[row.indices]
    shares = row.data[:, None] / max(float(row.data.sum()), 1e-300)
    contributions = shares * (scores - scores.mean(axis=1, keepdims=True))
    rows = contribution_rows(model.classes_, model.word_names_[row.indices], contributions)
    labelled = np.isin(row.indices, model.labelled_words_).tolist()
    return [{**found, "labelled": known} for found, known in zip(rows, labelled * len(model.classes_), strict=True)]


# -- Any method: a contribution is the change of the log-probability when the term is left out


def left_out_terms(pipeline: TransferPipeline, text: str) -> list[dict]:
    """Return rows by log-probability with the term minus log-probability without it.

    A method that reads texts has words left out instead of columns. The rows need not add up: words with the same
    meaning can replace each other.

    Parameters
    ----------
    pipeline : TransferPipeline
        Fitted.
    text : str

    Returns
    -------
    list of dict
    """
    row = None if len(pipeline.steps) == 1 else pipeline[:-1].transform([text])
    if not sp.issparse(row):
        return left_out_words(pipeline, text)
    row = sp.csr_matrix(row)
    row.eliminate_zeros()

    def without(places: range) -> sp.csr_matrix:
        rows = sp.vstack([row] * len(places), format="csr")
        rows.data[np.arange(len(places)) * row.nnz + np.array(places)] = 0.0
        rows.eliminate_zeros()
        return rows

    return _losses(pipeline.steps[-1][1], pipeline[:-1].get_feature_names_out()[row.indices], row, without)


def left_out_words(pipeline: TransferPipeline, text: str) -> list[dict]:
    """Return the same by words of the text, or by characters in scripts without blanks.

    Parameters
    ----------
    pipeline : TransferPipeline
        Fitted.
    text : str

    Returns
    -------
    list of dict
    """
    unspaced = guess_language([text]) in UNSPACED
    parts = [part for part in text if not part.isspace()] if unspaced else text.split()
    words = [part.strip(MARKS) or part for part in parts]
    names = list(dict.fromkeys(words))
    glue = "" if unspaced else " "

    def without(places: range) -> list[str]:
        return [
            glue.join(part for part, word in zip(parts, words, strict=True) if word != names[place]) for place in places
        ]

    return _losses(pipeline, names, [text], without)


def _losses(model: Any, names: Any, whole: Any, without: Callable[[range], Any]) -> list[dict]:
    if not len(names):
        return []
    scores = log_probability(model, whole)
    blocks = [range(part.start, part.stop) for part in row_blocks(len(names), BLOCK)]
    losses = np.vstack([scores - log_probability(model, without(places)) for places in blocks])
    return contribution_rows(model.classes_, names, losses)
