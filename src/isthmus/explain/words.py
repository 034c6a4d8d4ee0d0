"""Describe classes by words: the words that distinguish each, and one list of word weights that repeats the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from isthmus.features.weights import document_frequency

_PRIOR = 500.0  # prior weight of the whole collection in each class, in documents
_CAUTION = 20.0  # prior weight of the whole collection in each word weight, in documents
# What splitting at the apostrophe leaves of "don't" and its like.
_FRAGMENTS = frozenset(
    {"ain", "aren", "couldn", "did", "didn", "does", "doesn", "don", "hadn", "hasn", "haven", "isn", "ll", "mustn"}
    | {"shan", "shouldn", "ve", "wasn", "weren", "won", "wouldn"}
)
_STEPS = 9  # grades of a weight
_STRONG = 2.0  # log-odds at which a weight has its highest grade


def marking_words(counts: sp.csr_matrix, codes: np.ndarray, names, n_classes: int, *, top: int = 10) -> list[list[str]]:
    """Return per class at most ``top`` words that distinguish it: log-odds with an informative prior, by their z-score.

    Every class starts from the word shares of the whole collection, so that a rare word needs more than chance to be
    listed [Monroe, Colaresi, Quinn 2008, eq. 16–22]. Words are counted once a document.

    Parameters
    ----------
    counts : csr_matrix of shape (n_documents, n_words)
    codes : ndarray of int of shape (n_documents,)
        Class of each document.
    names : sequence of str
        Words, in the order of the columns.
    n_classes : int
    top : int
        Number of words per class.

    Returns
    -------
    list of list of str

    Examples
    --------
    >>> counts = sp.csr_matrix([[1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1]])
    >>> marking_words(counts, np.array([0, 0, 1, 1]), ["staff", "price", "the"], 2, top=1)
    [['staff'], ['price']]
    """
    scores = log_odds(counts, codes, n_classes)
    scores[:, [str(name) in _FRAGMENTS for name in names]] = 0.0
    words = []
    for row in scores:
        order = np.argsort(-row, kind="stable")[:top]
        words.append([str(names[i]) for i in order if row[i] > 0])
    return words


def log_odds(counts: sp.csr_matrix, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the z-scores of the log-odds, classes × words.

    Parameters
    ----------
    counts : csr_matrix of shape (n_documents, n_words)
    codes : ndarray of int of shape (n_documents,)
        Class of each document.
    n_classes : int

    Returns
    -------
    ndarray of shape (n_classes, n_words)
    """
    inside = np.vstack([document_frequency(counts[codes == code]) for code in range(n_classes)]).astype(float)
    whole = inside.sum(axis=0)
    prior = _PRIOR * (whole + 0.5) / (whole + 0.5).sum()
    own, other = inside + prior, whole - inside + prior
    own_rest = own.sum(axis=1, keepdims=True) - own
    other_rest = other.sum(axis=1, keepdims=True) - other
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = np.log(own / own_rest) - np.log(other / other_rest)
    scores = difference / np.sqrt(1 / own + 1 / other)
    return np.where(np.isfinite(scores), scores, 0.0)


@dataclass(frozen=True)
class WordList:
    """Hold weights of words and their agreement with the labels."""

    words: dict[str, list[int]]  # per word, its weight for each class, −9 to 9; above 0 it supports the class
    agreement: float  # share of the documents to which the weights give the same label


def word_list(counts: sp.csr_matrix, codes: np.ndarray, names, n_classes: int, *, size: int = 4_000) -> WordList:
    """Return naive Bayes weights of the most informative words, fitted on the documents with their current labels.

    The weights have nine grades in each direction. They show in any text which words go with its label, for every
    method. They approximate the method; :func:`isthmus.explain.explain_document` explains its own computation.
    ``agreement`` measures the quality of the approximation.

    Parameters
    ----------
    counts : csr_matrix of shape (n_documents, n_words)
    codes : ndarray of int of shape (n_documents,)
        Class of each document.
    names : sequence of str
        Words, in the order of the columns.
    n_classes : int
    size : int
        Largest number of words.

    Returns
    -------
    WordList
    """
    used = np.flatnonzero(document_frequency(counts))
    counts = counts[:, used]
    frequency = np.vstack([document_frequency(counts[codes == code]) for code in range(n_classes)]).astype(float)
    documents = np.bincount(codes, minlength=n_classes)[:, None]
    # A word seen in a few documents only gets a weight near its share of the whole collection.
    overall = frequency.sum(axis=0) / documents.sum()
    weights = np.log((frequency + _CAUTION * overall) / (documents + _CAUTION))
    weights -= weights.mean(axis=0)
    prior = np.log((documents.ravel() + 0.5) / documents.sum())
    agreement = float(np.mean(np.argmax((counts > 0) @ weights.T + prior, axis=1) == codes))
    telling = np.abs(weights).max(axis=0) * np.sqrt(frequency.sum(axis=0))
    kept = np.sort(np.argsort(-telling, kind="stable")[:size])
    grades = np.clip(np.rint(weights[:, kept] * (_STEPS / _STRONG)), -_STEPS, _STEPS).astype(int)
    chosen = np.flatnonzero(np.abs(grades).max(axis=0) >= 1)
    return WordList({str(names[used[kept[i]]]): grades[:, i].tolist() for i in chosen}, agreement)


# -- Documents of the source that are nearest to a document of the target


_BLOCK = 2_000


def nearest_documents(target: np.ndarray, source: np.ndarray, *, top: int = 2) -> np.ndarray:
    """Return row numbers of the ``top`` rows of ``source`` nearest to each row of ``target``, nearest first.

    Rows have length one. A row of zeros has no neighbours: −1.

    Parameters
    ----------
    target : ndarray of shape (n_target, n_features)
    source : ndarray of shape (n_source, n_features)
    top : int
        Number of neighbours.

    Returns
    -------
    ndarray of int of shape (n_target, top)

    Examples
    --------
    >>> nearest_documents(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]), top=1).tolist()
    [[1], [-1]]
    """
    top = min(top, len(source))
    nearest = np.full((len(target), top), -1)
    for start in range(0, len(target), _BLOCK):
        likeness = target[start : start + _BLOCK] @ source.T
        order = np.argpartition(-likeness, top - 1, axis=1)[:, :top]
        order = np.take_along_axis(order, np.argsort(-np.take_along_axis(likeness, order, axis=1), axis=1), axis=1)
        close = np.take_along_axis(likeness, order, axis=1) > 1e-9
        nearest[start : start + _BLOCK] = np.where(close, order, -1)
    return nearest
