"""Methods without a sum over words: a term's contribution is what the score loses when the term is taken out."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from isthmus.pipeline import TransferPipeline


def document_terms(pipeline: TransferPipeline, text: str) -> list[dict]:
    """Rows of class, term and contribution: log-probability with the term minus log-probability without it.

    Unlike the accounts of linear methods these need not add up: words that say the same can stand in for each other.
    """
    model = pipeline.steps[-1][1]
    row = sp.csr_matrix(pipeline[:-1].transform([text]))
    if not row.nnz:
        return []
    without = sp.vstack([row] * row.nnz, format="csr")
    without.data[np.arange(row.nnz) * (row.nnz + 1)] = 0.0  # row i lacks its i-th term
    scores = np.log(np.maximum(model.predict_proba(sp.vstack([row, without], format="csr")), 1e-300))
    losses = scores[0] - scores[1:]
    names = pipeline[:-1].get_feature_names_out()[row.indices]
    return [
        {"class": label, "term": str(term), "contribution": float(losses[place, code])}
        for code, label in enumerate(model.classes_.tolist())
        for place, term in enumerate(names)
    ]
