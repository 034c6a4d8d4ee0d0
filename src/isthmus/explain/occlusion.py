"""Any method: a term's contribution is what the score loses when the term is left out."""

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
_BLOCK = 256  # documents asked about in one go; each is a copy of the one that is explained


def document_terms(pipeline: TransferPipeline, text: str) -> list[dict]:
    """Rows by log-probability with the term minus log-probability without it.

    A method that reads texts has words left out instead of columns. The rows need not add up: words that say the same
    can stand in for each other.
    """
    if len(pipeline.steps) == 1:
        return word_terms(pipeline, text)
    row = pipeline[:-1].transform([text])
    if not sp.issparse(row):
        return word_terms(pipeline, text)
    row = sp.csr_matrix(row)
    row.eliminate_zeros()
    names = pipeline[:-1].get_feature_names_out()[row.indices]

    def without(places: range) -> sp.csr_matrix:
        rows = sp.vstack([row] * len(places), format="csr")
        rows.data[np.arange(len(places)) * row.nnz + np.array(places)] = 0.0
        rows.eliminate_zeros()
        return rows

    return _losses(pipeline.steps[-1][1], names, row, without)


def word_terms(pipeline: TransferPipeline, text: str) -> list[dict]:
    """The same by words of the text, each left out wherever it stands; characters in scripts without blanks."""
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
    blocks = [range(part.start, part.stop) for part in row_blocks(len(names), _BLOCK)]
    losses = np.vstack([scores - log_probability(model, without(places)) for places in blocks])
    return contribution_rows(model.classes_, names, losses)


def contribution_rows(classes: np.ndarray, terms: Any, contributions: Any) -> list[dict]:
    return [
        {"class": label, "term": str(term), "contribution": float(values[code])}
        for code, label in enumerate(classes.tolist())
        for term, values in zip(terms, contributions, strict=True)
    ]
