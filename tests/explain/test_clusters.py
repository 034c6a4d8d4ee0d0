import numpy as np
import pytest

from isthmus import CrossGuidedKMeans
from isthmus.explain.clusters import cluster_table, match_pivots, representative_documents

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


def test_without_source_there_is_no_pivot():
    model = CrossGuidedKMeans(2, random_state=0).fit(np.array(TARGET, dtype=float))
    assert match_pivots(model, WORDS) == []
    assert len(cluster_table(model, WORDS)) == 2
