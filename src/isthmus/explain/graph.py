"""Graph methods: a document's score is a mean over its nearest fitted documents, so shared words carry it exactly."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import normalize

from isthmus.classify.baselines.sgt import nearest
from isthmus.pipeline import TransferPipeline


def document_terms(pipeline: TransferPipeline, text: str) -> list[dict]:
    """Rows of class, term and contribution: what the words shared with the nearest fitted documents add up to."""
    model = pipeline.steps[-1][1]
    row = normalize(pipeline[:-1].transform([text]).tocsr())
    weights = nearest(row, model.rows_, model.n_neighbors)
    total = weights.sum()
    if not total:
        return []
    neighbours = model.rows_[weights.indices][:, row.indices]
    # cosine = Σ over shared words; a neighbour's scores enter the mean with that weight
    shares = np.asarray(neighbours.T @ model.node_scores_[weights.indices]) * row.data[:, None] / total
    names = pipeline[:-1].get_feature_names_out()[row.indices]
    return [
        {"class": label, "term": str(term), "contribution": float(shares[place, code])}
        for code, label in enumerate(model.classes_.tolist())
        for place, term in enumerate(names)
    ]
