"""Dual supervision: the labelled and learned words behind a document's label, and the words of each class."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from isthmus.pipeline import TransferPipeline


def document_terms(pipeline: TransferPipeline, text: str) -> list[dict]:
    """Rows of class, term, contribution and ``labelled`` (by a person; else the method learned the word's score).

    A document and its words are neighbours in the graph: the contribution is the edge's weight times the word's score
    for the class, less its mean over the classes.
    """
    row = pipeline[:-1].transform([text])
    return row_terms(pipeline.steps[-1][1], row)


def row_terms(model, row) -> list[dict]:
    """As :func:`document_terms`, for one row of the matrix."""
    row = sp.csr_matrix(row)
    scores = _class_scores(model)[row.indices]
    shares = row.data[:, None] / max(float(row.data.sum()), 1e-300)
    contributions = shares * (scores - scores.mean(axis=1, keepdims=True))
    labelled = set(model.labelled_words_.tolist())
    return [
        {
            "class": label,
            "term": str(model.word_names_[column]),
            "contribution": float(contributions[place, code]),
            "labelled": column in labelled,
        }
        for code, label in enumerate(model.classes_.tolist())
        for place, column in enumerate(row.indices.tolist())
    ]


def top_words(model, n_words: int = 15, *, labelled: bool = False) -> list[dict]:
    """Words with the highest score of each class, as in the paper's Figure 2; labelled ones if ``labelled``."""
    scores = model.word_scores_
    documents = np.bincount(model.fitted_rows_.indices, minlength=len(scores))
    allowed = documents > 0
    if not labelled:
        allowed[model.labelled_words_] = False
    best = scores.argmax(axis=1)
    names = getattr(model, "word_classes_", model.classes_).tolist()
    rows = []
    for code, label in enumerate(names):
        columns = np.flatnonzero(allowed & (best == code))
        order = columns[np.argsort(-scores[columns, code], kind="stable")[:n_words]]
        rows += [
            {
                "class": label,
                "rank": rank + 1,
                "term": str(model.word_names_[column]),
                "score": float(scores[column, code]),
                "documents": int(documents[column]),
            }
            for rank, column in enumerate(order)
        ]
    return rows


def _class_scores(model) -> np.ndarray:
    """Word scores per document class; ``Q`` carries over a factorisation's word classes."""
    scores = model.word_scores_
    if scores.shape[1] != len(model.classes_) or getattr(model, "word_classes", None) is not None:
        return scores @ model.Q_.T
    return scores
