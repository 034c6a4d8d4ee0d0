"""Tables that account for a co-clustering."""

from types import SimpleNamespace

import numpy as np
import pytest

import isthmus
from isthmus import CoClusteringClassifier
from isthmus._math.information import mutual_information
from isthmus.choose.model import Member
from isthmus.explain.cocc import (
    bridge_words,
    cluster_table,
    document_contributions,
    document_table,
    document_terms,
)
from isthmus.methods import make_method

SOURCE = ["engine wheel road", "wheel engine drive", "court judge law", "law court verdict"] * 3
TARGET = ["engine tyre road", "tyre drive wheel", "court jury law", "jury judge verdict"] * 3
NAMES = ["car", "car", "law", "law"] * 3


@pytest.fixture(scope="module")
def pipeline():
    labels = np.array([*NAMES, *[None] * len(TARGET)], dtype=object)
    made = make_method("cocc", min_df=1, random_state=0)
    return made.fit([*SOURCE, *TARGET], labels, sample_domain=np.repeat([1, -1], 12))


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
@pytest.mark.parametrize("method", ["cocc", "cocc-paper"])
def test_contributions_add_up_to_the_scores(method):
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (20, 12))
    y = np.array([*["a", "b"] * 5, *[None] * 10], dtype=object)
    model = make_method(method, random_state=0)[-1].fit(X, y)
    rows = model.weigh(X)
    scores = rows @ model.word_scores_
    if model.word_weights_ is not None:
        scores /= np.linalg.norm(rows.toarray() * model.word_weights_, axis=1, keepdims=True)
    centred = scores - scores.mean(axis=1, keepdims=True)
    sums = np.array([document_contributions(model, X[[i]]).sum(axis=0) for i in range(len(X))])
    np.testing.assert_allclose(sums, centred, rtol=1e-5, atol=1e-8)


def test_clusters_hold_every_word_once_and_lean_like_their_words(pipeline):
    model = pipeline.steps[-1][1]
    names = pipeline[:-1].get_feature_names_out()
    table = cluster_table(model, names, top=100)
    words = [word for row in table for word in row["words"]]
    assert sorted(words) == sorted(names)
    assert {row["class"] for row in table if "engin" in row["words"]} == {"car"}
    assert {row["class"] for row in table if "court" in row["words"]} == {"law"}
    for row in table:
        assert sum(row["source"].values()) == pytest.approx(1)
        assert sum(row["target"].values()) == pytest.approx(1)
        assert row["size"] == len(row["words"])
    assert len(cluster_table(model, names, clusters=2)) == 2


def test_a_document_is_decided_by_its_own_words(pipeline):
    vectorizer, model = pipeline[:-1], pipeline.steps[-1][1]
    rows = document_table(
        model, vectorizer.transform(["jury court"]), vectorizer.get_feature_names_out(), document="d7"
    )
    assert {row["word"] for row in rows} == {"juri", "court"}
    assert {row["document"] for row in rows} == {"d7"}
    assert all(row["contribution"] > 0 for row in rows if row["class"] == "law")
    assert {row["word"] for row in rows if row["target_only"]} == {"juri"}
    terms = document_terms(Member.of(pipeline), "jury court")
    assert {"class", "term", "contribution"} == set(terms[0])


def test_bridges_name_the_class_that_reached_words_the_source_never_saw(pipeline):
    vectorizer = pipeline[:-1]
    names = vectorizer.get_feature_names_out()
    labels = np.array([*NAMES, *[None] * len(TARGET)], dtype=object)
    model = CoClusteringClassifier(n_word_clusters=2, random_state=0).fit(
        vectorizer.transform([*SOURCE, *TARGET]), labels
    )
    rows = {row["word"]: row for row in bridge_words(model, names)}
    assert {word: row["class"] for word, row in rows.items()} == {"tyre": "car", "juri": "law"}
    assert "engin" in rows["tyre"]["companions"]
    assert "court" in rows["juri"]["companions"]


def test_terms_stand_as_the_text_writes_them():
    source = ["the days of the invoices", "friendly people helped", "an invoice a day", "people were friendly"] * 5
    result = isthmus.label(source, ["price", "staff"] * 10, ["Invoices every day"], method="nbc")
    assert {row["term"] for row in result.reasons(0)} == {"invoices", "day"}


def test_the_strength_of_clusters_adds_up_to_their_information_about_classes(pipeline):
    model = pipeline.steps[-1][1]
    source, target = mutual_information(model.source_table_), mutual_information(model.target_table_)
    total = sum(row["strength"] for row in cluster_table(model))
    assert total == pytest.approx(target + model.trade_off_ * source)


def test_only_the_first_words_of_a_document_where_so_many_are_asked_for(pipeline):
    model, rows = pipeline.steps[-1][1], pipeline[:-1].transform([TARGET[0]])
    everything = document_table(model, rows)
    assert len(everything) == 6  # three words, two classes
    assert document_table(model, rows, top=2) == everything[:2]


def test_bridge_words_are_the_commonest_of_the_unknown_and_name_known_companions():
    """``bridge_words`` in reverse order."""
    # words 0, 1 are the source's; 2, 3 (class a) and 4 (class b) are the target's own; 3 is commoner than 2
    X = np.array(
        [
            *([3, 0, 0, 0, 0], [2, 0, 0, 0, 0], [0, 3, 0, 0, 0], [0, 2, 0, 0, 0]),  # source
            *([2, 0, 1, 3, 0], [1, 0, 1, 3, 0], [0, 2, 0, 0, 2], [0, 1, 0, 0, 2]),
        ]
    )
    y = ["a", "a", "b", "b", None, None, None, None]
    model = CoClusteringClassifier(n_word_clusters=2, random_state=0).fit(X, y)
    rows = bridge_words(model, ["a0", "b0", "rare", "common", "other"])
    shares = [row["share"] for row in rows]
    assert {row["word"] for row in rows} == {"rare", "common", "other"}
    assert shares == sorted(shares, reverse=True)
    assert rows[0]["word"] == "common"
    assert {row["word"]: row["class"] for row in rows} == {"rare": "a", "common": "a", "other": "b"}
    assert {row["word"]: row["companions"] for row in rows}["common"] == ["a0"]


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
def test_a_printed_map_that_repeats_a_class_names_its_words_by_that_class(pipeline):
    """Columns were named one to one, so that words of a class's second cluster spoke for another class."""
    vectorizer = pipeline[:-1]
    model = make_method("cocc-paper", random_state=0)[-1]
    labels = np.array([*NAMES, *[None] * len(TARGET)], dtype=object)
    rows = vectorizer.transform([*SOURCE, *TARGET])
    model.fit(rows, labels, sample_domain=np.repeat([1, -1], 12))
    model.cluster_classes_ = np.array([0, 0])  # both clusters are nearest to cars
    names = vectorizer.get_feature_names_out()
    assert {row["class"] for row in document_table(model, rows[-1], names)} == {"car"}
    assert model.predict(rows[-1]).tolist() == ["car"]
    total = {row["word"]: row["contribution"] for row in document_table(model, rows[-1], names)}
    best = max(document_contributions(model, rows[-1]).sum(axis=0))
    assert sum(total.values()) == pytest.approx(best), "the cluster that decides is the one that is explained"
    assert all(row["target"]["law"] == 0 for row in cluster_table(model, names))
    assert {row["class"] for row in bridge_words(model, names)} == {"car"}


def test_of_several_rows_the_first_is_accounted_for(pipeline):
    vectorizer, model = pipeline[:-1], pipeline.steps[-1][1]
    names = vectorizer.get_feature_names_out()
    alone = document_table(model, vectorizer.transform(TARGET[:1]), names)
    assert document_table(model, vectorizer.transform(TARGET), names) == alone
    columns = {str(column): name for column, name in enumerate(names)}
    numbered = document_table(model, vectorizer.transform(TARGET[:1]), document="T1")
    assert {(columns[row["word"]], row["class"], row["contribution"]) for row in numbered} == {
        (row["word"], row["class"], row["contribution"]) for row in alone
    }, "without names words go by their columns"
    assert {row["document"] for row in numbered} == {"T1"}


def test_the_commonest_bridges_and_five_companions_are_told():
    """Words 0 to 6 are the source's, used for class a ever more often; 7, 8 and 9 are the target's own."""
    source = np.full((10, 2), 1e-6)
    source[:7, 0] = [0.01, 0.07, 0.03, 0.05, 0.02, 0.06, 0.04]
    model = SimpleNamespace(
        source_words_=source,
        target_words_=np.array([[0.05, 0]] * 7 + [[0.1, 0], [0.35, 0], [0.2, 0]]),
        word_clusters_=np.zeros(10, dtype=int),
        target_table_=np.array([[1.0, 0.0]]),
        cluster_classes_=np.array([0, 1]),
        classes_=np.array(["a", "b"]),
    )
    names = [f"w{i}" for i in range(10)]
    rows = bridge_words(model, names, top=2)
    assert [(row["word"], row["class"]) for row in rows] == [("w8", "a"), ("w9", "a")]
    assert [row["share"] for row in rows] == pytest.approx([0.35, 0.2])
    assert rows[0]["companions"] == ["w1", "w5", "w3", "w6", "w2"], "those that the source uses most for the class"
    assert [row["word"] for row in bridge_words(model, names)] == ["w8", "w9", "w7"]
