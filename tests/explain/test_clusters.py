from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus import CrossGuidedKMeans
from isthmus.explain.clusters import cluster_table, match_pivots, pivot_table, representative_documents

WORDS = ["staff", "kind", "bike", "engine", "the", "car", "invoice"]
SOURCE = [[2, 1, 0, 0, 1, 0, 0], [1, 1, 0, 0, 1, 0, 0], [0, 0, 2, 1, 1, 0, 0], [0, 0, 1, 2, 1, 0, 0]]
TARGET = [[1, 2, 0, 0, 1, 0, 0], [2, 0, 0, 0, 1, 0, 0], [0, 0, 0, 2, 1, 2, 0], [0, 0, 0, 1, 1, 1, 0]]
TARGET += [[0, 0, 0, 0, 1, 0, 3]]


@pytest.fixture(scope="module")
def fitted():
    X = np.array(SOURCE + TARGET, dtype=float)
    groups = np.array(["staff", "staff", "bikes", "bikes", *[None] * 5], dtype=object)
    return CrossGuidedKMeans(n_clusters=3, random_state=0).fit(X, groups), X[4:]


def test_clusters_have_words_sizes_and_names(fitted):
    model, _ = fitted
    rows = {row["name"]: row for row in cluster_table(model, WORDS, top=2)}
    assert set(rows) >= {"staff", "bikes"}
    assert rows["bikes"]["words"][0] in {"car", "engine"}
    assert rows["bikes"]["size"] == 2
    new = next(row for row in rows.values() if row["aligned_to"] is None)
    assert new["words"][0] == "invoice"
    assert new["strength"] == 0


def test_typical_documents_belong_to_their_cluster(fitted):
    model, target = fitted
    labels = model.predict(target)
    for row in representative_documents(model, target, top=1):
        assert labels[row["row"]] == row["cluster"]
        assert 0 < row["similarity"] <= 1.0 + 1e-12


def test_pivots_explain_the_match(fitted):
    model, _ = fitted
    rows = match_pivots(model, WORDS, top=7)
    for group in ("staff", "bikes"):
        shares = [row["share"] for row in rows if row["aligned_to"] == group]
        assert sum(shares) == pytest.approx(1.0)
    best = next(row for row in rows if row["aligned_to"] == "bikes")
    assert best["word"] in {"engine", "the"}


def test_pivot_table_lists_contexts_of_both_domains(fitted):
    model, _ = fitted
    rows = {row["word"]: row for row in pivot_table(model, WORDS)}
    assert set(rows) == {"staff", "kind", "engine", "the"}  # "bike" is in the source only
    assert "staff" in rows["kind"]["source"]
    assert 0 < rows["the"]["weight"] <= 1


def test_without_source_there_is_no_pivot():
    model = CrossGuidedKMeans(2, random_state=0).fit(np.array(TARGET, dtype=float))
    assert pivot_table(model, WORDS) == []
    assert match_pivots(model, WORDS) == []
    assert len(cluster_table(model, WORDS)) == 2


def test_the_heaviest_pivots_come_first_with_their_strongest_contexts():
    """Weights are by the place of a pivot, contexts by its column."""
    pair = {"source": sp.csr_matrix((6, 3)).tolil(), "target": sp.csr_matrix((6, 3)).tolil()}
    pair["source"][5] = [0.2, 0.9, 0.5]
    pair["target"][5] = [0.0, 0.1, 0.4]
    found = SimpleNamespace(columns=np.array([2, 0, 4]), **{side: rows.tocsr() for side, rows in pair.items()})
    similarity = SimpleNamespace(weights=np.array([0.2, 0.9, 0.5]), pivots=np.array([1, 5, 3]), contexts=found)
    model = SimpleNamespace(_aligner=SimpleNamespace(similarity=similarity))
    words = ["w0", "w1", "w2", "w3", "w4", "w5"]
    rows = pivot_table(model, words, top=2, contexts=2)
    assert rows == [
        {"word": "w5", "weight": 0.9, "source": ["w0", "w4"], "target": ["w4", "w0"]},
        {"word": "w3", "weight": 0.5, "source": [], "target": []},
    ]
    similarity.contexts = None
    assert pivot_table(model, words, top=1) == [{"word": "w5", "weight": 0.9, "source": [], "target": []}]
    assert [row["word"] for row in pivot_table(model, words)] == ["w5", "w3", "w1"]
