"""Names of classes as a voter."""

import numpy as np
import pytest

from isthmus.choose import Evidence
from isthmus.choose.candidates import try_methods
from isthmus.choose.names import NamedClasses, check_names_alone, in_other_script, why_names_stay_out
from isthmus.choose.stages.apply import AddedClasses, Batch, NamesShare
from isthmus.choose.texts import TransferTexts
from isthmus.classify.names import NameAgreement
from isthmus.exceptions import DataError, UsageError
from isthmus.features.embeddings import FunctionEmbedder

TOPICS = ["sport", "business"]


def back(reverse):
    return Evidence(0.6, 0.6, reverse, 0.8)


@pytest.mark.parametrize(
    ("names", "documents", "may"),
    [(0.5, 0.6, True), (0.1, 0.9, True), (0.05, 0.0, False), (0.09, 0.9, False), (0.0, 0.0, False)],
)
def test_names_vote_where_they_tell_the_source_apart(names, documents, may):
    why = why_names_stay_out(TOPICS, NameAgreement(names, documents), back(0.7), back(0.7), 500)
    assert (why == "") is may


def test_their_labels_must_lead_back_to_the_source_unless_it_is_thin():
    agreement = NameAgreement(0.6, 0.6)
    assert "fewer of the source" in why_names_stay_out(TOPICS, agreement, back(0.6), back(0.8), 500)
    assert why_names_stay_out(TOPICS, agreement, back(0.78), back(0.8), 500) == ""
    assert why_names_stay_out(TOPICS, agreement, back(0.6), back(0.8), 40) == ""
    assert why_names_stay_out(TOPICS, agreement, None, None, 500) == ""


def test_verdicts_and_codes_stay_out():
    assert "verdicts" in why_names_stay_out(["positive", "negative"], NameAgreement(0.6, 0.6), None, None, 40)
    assert "two classes" in why_names_stay_out(["C13", "C14"], None, None, None, 40)


def test_a_share_of_a_third():
    vote, named = np.array([[0.6, 0.4]]), np.array([[0.2, 0.8]])
    odds = (0.6 / 0.4) ** (2 / 3) * (0.2 / 0.8) ** (1 / 3)
    classes = np.array(["a", "b"])
    joint, _ = NamesShare(1 / 3).apply(Batch({"names": named}, {"names": classes}), vote, classes)
    np.testing.assert_allclose(joint, [[odds / (1 + odds), 1 / (1 + odds)]], rtol=1e-5, atol=1e-8)


def test_added_classes_take_their_part_and_the_vote_shares_out_the_rest():
    rng = np.random.default_rng(0)
    classes = np.array(["a", "b", "c", "d"])
    vote = rng.dirichlet(np.ones(2), size=20)
    named = rng.dirichlet(np.ones(4), size=20)
    batch = Batch({"names": named}, {"names": classes})
    found, after = AddedClasses(classes).apply(batch, vote, classes[[0, 2]])
    assert after.tolist() == classes.tolist()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found[:, [1, 3]], named[:, [1, 3]], rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found[:, 0] / found[:, 2], vote[:, 0] / vote[:, 1], rtol=1e-5, atol=1e-8)


def test_without_added_classes_the_vote_stays():
    vote = np.array([[0.25, 0.75]])
    classes = np.array(["a", "b"])
    batch = Batch({"names": np.array([[0.9, 0.1]])}, {"names": classes})
    np.testing.assert_allclose(AddedClasses(classes).apply(batch, vote, classes)[0], vote, rtol=1e-5, atol=1e-8)


def test_named_classes_next_to_those_of_the_source():
    found = NamedClasses.of(["C13", "law: court", "sport"], ["law: court", "C13"])
    assert found.added == ["sport"]
    assert found.meaningless == ["C13"]
    assert "C13" in found.classes
    assert "goes by its labelled documents alone" in found.warnings()[0]["message"]
    assert "No word of the class 'sport'" in found.warnings(["sport"])[1]["message"]


def test_classes_that_are_numbers_are_described_and_none_is_added():
    """Numbers forbid a new class, not words about those that the source has."""
    found = NamedClasses.of({1: "court judge", 2: "goal team"}, [1, 2, 2])
    assert found.added == []
    assert found.descriptions == {1: "court judge", 2: "goal team"}
    with pytest.raises(DataError, match="'law' is a new class, and the source's classes are numbers"):
        NamedClasses.of({1: "court judge", "law": "crime"}, [1, 2, 2])


def test_words_of_added_classes_describe_them_and_the_others_stay_words():
    words = {"goal": "sport", "shares": {"business": 0.5, "sport": 0.5}, "court": {"sport": -1.0}}
    found = NamedClasses.of(["sport"], ["business"], words)
    assert found.descriptions == {"sport": "goal shares"}
    assert found.other_words(words) == {"shares": {"business": 0.5}}
    assert NamedClasses.of(["business"], ["business"]).other_words(words) == words
    assert found.other_words(None) is None


@pytest.mark.parametrize(
    ("names", "can"), [(["sport", "law"], True), (["C1", "C2"], False), (["sport"], False), (["good", "bad"], False)]
)
def test_names_that_can_vote(names, can):
    assert NamedClasses.of(None, names).can_vote is can


def test_two_classes_are_needed():
    with pytest.raises(UsageError, match=r"1 class is described .* \(C13: the name means nothing\)"):
        check_names_alone(NamedClasses.of(["sport", "C13"], []))


@pytest.mark.parametrize(
    ("names", "texts", "other"),
    [
        (["finance", "sport"], ["股市大涨", "球队夺冠", "Shares rose"], True),
        (["finance", "sport"], ["Shares rose", "The team won", "股市大涨"], False),
        (["财经", "体育"], ["股市大涨"], False),
        ({"finance": "财经 股市", "sport": "体育 球队"}, ["股市大涨"], False),
        (["経済", "運動"], ["株が上がった", "駅に止まる"], False),
        (["спорт", "рынок"], ["The team won"], True),
        (["finance", "sport"], ["42", ""], False),
    ],
)
def test_names_in_another_script_than_most_documents(names, texts, other):
    assert in_other_script(NamedClasses.of(names, []), texts) == other


def model_of_vectors(name):
    model = FunctionEmbedder(lambda texts: np.array([[len(text), 1.0] for text in texts]))
    model.name = name
    return model


@pytest.mark.parametrize(
    ("embed", "classes", "tried"),
    [
        (None, None, False),
        (False, None, False),
        (model_of_vectors("static"), None, False),
        (model_of_vectors("minilm"), None, False),
        (model_of_vectors("of several languages"), None, True),
        (None, {"sport": "体育 球队", "money": "股市"}, True),
        (None, ["travel: 旅行"], True),
    ],
)
def test_names_that_documents_cannot_hold_are_not_tried(monkeypatch, embed, classes, tried):
    """Unless a model of one's own was chosen, which may read several languages, or a class goes by its name alone."""
    asked = []
    monkeypatch.setattr("isthmus.choose.candidates._run_all", lambda fit, names, n_jobs: asked.extend(names) or [])
    monkeypatch.setattr("isthmus.choose.candidates.has_static_vectors", lambda: False)
    texts = TransferTexts.of(["股市大涨", "球队夺冠"] * 3, np.array(["money", "sport"] * 3, dtype=object), ["股市"] * 4)
    found = try_methods(texts, embed=embed, classes=NamedClasses.of(classes, ["money", "sport"]))
    assert ("names" in asked) == tried
    rows = [row["why"] for row in found.left_out if row["method"] == "names"]
    assert bool(rows) == (not tried), "why they were not tried stands in the table"


LONG_NAME = "C" + "7" * 90
LONG_WORDS = "sport " * 20


@pytest.mark.parametrize("known", [True, False])
def test_warnings_cut_a_long_name(known):
    """Of the source a class goes by its documents, of the names given alone no label will be it."""
    found = NamedClasses.of([LONG_NAME, "sport", "law"], [LONG_NAME, "law"] if known else ["law"])
    (message,) = [row["message"] for row in found.warnings()]
    cut = LONG_NAME[:60]
    said = (
        "so the class goes by its labelled documents alone"
        if known
        else "and no document carries it, so no label will be it"
    )
    assert message == f"The name {cut!r} means nothing{',' if known else ''} {said}; describe it by words: '{cut}: …'."


def test_a_long_name_whose_words_no_document_knows_is_cut():
    name = LONG_WORDS.strip()
    found = NamedClasses.of([name, "law"], ["law"])
    (row,) = found.warnings([name, "law"])
    assert row == {
        "topic": "classes",
        "message": f"No word of the class {name[:60]!r} is known to the documents, so no label will be it; describe it "
        f"by words that its documents use: '{name[:60]}: …'.",
    }, "only classes that were added are said to get no label"


def test_a_source_of_a_hundred_documents_asks_names_for_the_way_back():
    agreement = NameAgreement(0.6, 0.6)
    assert why_names_stay_out(TOPICS, agreement, back(0.6), back(0.8), 99) == "", "a thin source does not ask"
    assert "fewer of the source" in why_names_stay_out(TOPICS, agreement, back(0.6), back(0.8), 100)
    assert why_names_stay_out(TOPICS, agreement, back(0.6), None, 100) == "", "nothing to compare with"


@pytest.mark.parametrize("added", [False, True])
def test_names_that_fail_are_left_out_unless_classes_are_made_of_them(monkeypatch, added):
    def fail(name, model, texts):
        raise UsageError("no words", code="bad-parameter")

    monkeypatch.setattr("isthmus.choose.candidates.fit_candidate", fail)
    monkeypatch.setattr("isthmus.choose.candidates._run_all", lambda fit, names, n_jobs: [fit("names"), fit("nbc")])
    texts = TransferTexts.of(["ball team", "market shares"] * 2, np.array(TOPICS * 2, dtype=object), ["a ball"])
    named = NamedClasses.of([*TOPICS, "law"] if added else TOPICS, TOPICS)
    if added:
        with pytest.raises(UsageError, match="no words"):
            try_methods(texts, classes=named, embed=False, n_jobs=1)
        return
    found = try_methods(texts, classes=named, embed=False, n_jobs=1)
    assert [(row["method"], row["why"]) for row in found.left_out] == [
        ("names", "not possible: no words"), ("nbc", "not possible: no words"),
    ]  # fmt: skip
