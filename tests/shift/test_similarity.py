"""Similarity across domains over pivot words."""

import numpy as np
import scipy.sparse as sp

from isthmus.shift.similarity import cross_similarity


def test_contexts_are_counted_only_where_somebody_asks_for_them():
    source = sp.csr_matrix(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]))
    apart = sp.csr_matrix(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]]))
    alike = sp.csr_matrix(np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]))
    none = cross_similarity(source, apart)
    assert (len(none.pivots), len(none.weights), none.contexts) == (0, 0, None)
    plain = cross_similarity(source, alike, weighted=False, projected=False)
    assert plain.weights.tolist() == [1.0] * len(plain.pivots)
    assert len(plain.pivots) > 0
    assert plain.contexts is None
    assert cross_similarity(source, alike, projected=False).contexts is not None
