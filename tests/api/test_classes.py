"""Classes that are given by their names: next to a source, without one, and what other features make of them."""

import random

import numpy as np
import pytest

import isthmus
from isthmus._math.fitted import fitted
from isthmus.choose import choice
from isthmus.choose.evidence import LabelScorer
from isthmus.choose.names import NamedClasses
from isthmus.exceptions import DataError, UsageError

WORDS = {
    "staff": ["friendly", "rude", "helpful", "polite", "impatient", "kind"],
    "price": ["expensive", "cheap", "costly", "bargain", "overpriced", "fair"],
    "parking": ["garage", "barrier", "spaces", "lot", "ticket", "car"],
}
COMMON = ["visit", "again", "today", "really", "quite", "shop", "week"]
NAMED = {"parking": "garage, barrier, ticket, lot"}


def make_texts(name, number, seed):
    rng = random.Random(f"{name}{seed}")
    return [" ".join(rng.sample(WORDS[name], 3) + rng.sample(COMMON, 2) + [f"nr{i}"]) for i in range(number)]


SOURCE = make_texts("staff", 40, 0) + make_texts("price", 40, 0)
LABELS = ["staff"] * 40 + ["price"] * 40
TARGET = make_texts("staff", 30, 1) + make_texts("price", 30, 1) + make_texts("parking", 20, 1)
TRUTH = np.array(["staff"] * 30 + ["price"] * 30 + ["parking"] * 20)


def right(result):
    return float(np.mean(result.labels == TRUTH))


@pytest.fixture(scope="module")
def added():
    """A source that lacks a class, which is named."""
    return isthmus.label(SOURCE, LABELS, TARGET, classes=NAMED, embed=False)


@pytest.fixture(scope="module")
def alone():
    """No source at all."""
    words = {name: " ".join(words[:4]) for name, words in WORDS.items()}
    return isthmus.label(None, None, TARGET, classes=words, embed=False)


def teach_some(result, number=20):
    questions = result.ask(number)
    return result.teach(questions | {"true_label": [TRUTH[n - 1] for n in questions["document"]]})


def test_without_a_source_reading_begins_with_a_random_sample(alone, added, monkeypatch):
    """Confidences that no label was compared with say nothing about the documents they call sure."""
    monkeypatch.setitem(fitted("asking"), "first_at_random", 40)
    asked = alone.ask(30)
    assert set(asked["drawn"]) == {"random"}
    assert asked["document"] == alone.ask(20)["document"] + asked["document"][20:], "a smaller list begins the larger"
    taught = alone.teach({**asked, "true_label": [TRUTH[n - 1] for n in asked["document"]]})
    assert taught.learned.basis == "random"
    more = taught.ask(20)
    assert more["drawn"] == ["random"] * 10 + ["asked"] * 10, "40 in all, then the doubtful ones"
    assert not set(more["document"]) & set(asked["document"])
    assert len(set(alone.ask(70)["document"])) == 70, "none is asked twice, at random and then as a doubtful one"
    shuffled = isthmus.label(None, None, TARGET[::-1], classes=alone.settings["classes"], embed=False)
    assert shuffled.ask(30)["text"] == asked["text"], "whatever the order of the file"
    assert set(added.ask(5)["drawn"]) == {"asked"}, "a labelled source says how sure labels are"


def test_a_class_that_the_source_lacks_is_added(added):
    assert added.classes.tolist() == ["parking", "price", "staff"]
    assert right(added) >= 0.9, f"expected at least 90% right, found {right(added):.0%}"
    row = next(row for row in added.decision if row["method"] == "names")
    assert row["chosen"]
    assert "adds classes that only their names describe: parking" in row["why"]
    assert added.method.endswith("+names")
    assert added.settings["classes"] == {"staff": "", "price": "", **NAMED}


def test_documents_of_an_added_class_are_no_new_group(added):
    assert set(added.novel_group[added.labels == "parking"]) == {""}


def test_its_accuracy_is_estimated_from_how_well_names_describe_the_source(added):
    expected = added.expected_accuracy
    assert expected.estimate is None or "added by their names" in expected.reason
    assert 0 <= expected.low <= (expected.estimate or 0.5) <= expected.high <= 1


def test_without_a_source_names_alone_decide(alone):
    assert alone.method == "names"
    assert right(alone) >= 0.9, f"expected at least 90% right, found {right(alone):.0%}"
    assert alone.expected_accuracy.estimate is None
    assert "answer about a hundred" in alone.expected_accuracy.reason
    assert alone.needs_review.all()
    assert "so all documents need review" in alone.warnings[0]["message"]
    assert alone.predict(["barrier and garage of the lot"]).tolist() == ["parking"]
    assert alone.label_new(TARGET[:5]).needs_review.all()
    assert alone.reasons(0, top=3)


def test_a_document_that_was_left_blank_is_not_drawn_again(alone):
    asked = alone.ask(8)
    later = alone.teach(asked | {"true_label": [TRUTH[asked["document"][0] - 1], *[None] * 7]}).ask(40)
    assert set(later["drawn"]) == {"random"}
    assert not set(later["document"]) & set(asked["document"])


def test_teaching_makes_an_estimate_possible(alone):
    taught = teach_some(alone)
    assert taught.expected_accuracy.estimate is not None
    assert right(taught) >= 0.95
    assert teach_some(alone, 3).needs_review.sum() == len(TARGET) - 3


@pytest.mark.parametrize("given", ["added", "alone"])
def test_words_and_answers_teach(given, request):
    result = request.getfixturevalue(given)
    taught = teach_some(result).teach(word_labels={"spaces": "parking"})
    assert taught.classes.tolist() == ["parking", "price", "staff"]
    assert right(taught) >= 0.95


@pytest.mark.parametrize("given", ["added", "alone"])
def test_a_saved_one_is_the_same(given, request, tmp_path):
    result = request.getfixturevalue(given)
    loaded = isthmus.load(result.save(tmp_path / "saved.isthmus"))
    assert loaded.labels.tolist() == result.labels.tolist()
    assert loaded.descriptions == result.descriptions
    assert loaded.predict(TARGET[-3:]).tolist() == ["parking"] * 3
    np.testing.assert_allclose(loaded.predict_proba(TARGET), result.predict_proba(TARGET), atol=1e-9)


@pytest.mark.parametrize("given", ["added", "alone"])
def test_the_page_shows_the_descriptions(given, request, tmp_path):
    pytest.importorskip("jinja2")
    result = request.getfixturevalue(given)
    page = result.report(tmp_path / "page.html").read_text("utf-8")
    assert result.descriptions["parking"] in page
    assert ("known by name alone" in page) is (given == "alone")
    assert ("How far apart are the two collections" in page) is (given == "added")


@pytest.mark.parametrize("given", ["added", "alone"])
def test_classes_are_renamed_and_merged(given, request):
    result = request.getfixturevalue(given)
    renamed = result.rename_classes({"parking": "cars"})
    assert "cars" in renamed.descriptions
    assert renamed.predict(TARGET[-1:]).tolist() == ["cars"]
    merged = result.rename_classes({"parking": "price"})
    assert merged.classes.tolist() == ["price", "staff"]
    assert np.mean(merged.labels[60:] == "price") >= 0.9
    assert merged.needs_review.all() or given == "added"


@pytest.mark.parametrize("given", ["added", "alone"])
def test_a_sample_checks_it(given, request):
    result = request.getfixturevalue(given)
    sample = result.sample(40)
    found = result.check(sample | {"true_label": [TRUTH[n - 1] for n in sample["document"]]})
    assert found.estimate.estimate >= 0.85
    assert {row["class"] for row in result.class_shares()} == {"parking", "price", "staff"}


def test_labelled_words_of_an_added_class_describe_it():
    words = dict.fromkeys(WORDS["parking"][:4], "parking") | {"rude": "staff", "cheap": "price"}
    result = isthmus.label(SOURCE, LABELS, TARGET, classes=["parking"], word_labels=words, embed=False)
    assert result.descriptions == {"parking": "garage barrier spaces lot"}
    assert result.given_words == ["cheap", "rude"]
    assert np.mean(result.labels[60:] == "parking") >= 0.8


def test_known_classes_may_be_described_and_nothing_is_added():
    result = isthmus.label(SOURCE, LABELS, TARGET[:60], classes={"staff": "people who work there"}, embed=False)
    assert result.classes.tolist() == ["price", "staff"]
    assert result.descriptions == {"staff": "people who work there"}


def test_several_sources_and_a_class_by_name():
    domain = ["a", "b"] * 40
    result = isthmus.label(SOURCE, LABELS, TARGET, classes=NAMED, source_domain=domain, embed=False)
    assert [row["source"] for row in result.sources] == ["a", "b"]
    assert np.mean(result.labels[60:] == "parking") >= 0.8


def test_answers_with_the_target_and_further_texts():
    labels = [None] * 60 + ["parking"] * 2 + [None] * 18
    words = {name: " ".join(words[:4]) for name, words in WORDS.items()}
    extra = make_texts("parking", 10, 5)
    result = isthmus.label(None, None, TARGET, classes=words, target_labels=labels, extra_texts=extra, embed=False)
    assert len(result.answers) == 2
    assert len(result.labels) == len(TARGET)


def test_source_texts_without_a_single_label_count_as_further_texts():
    words = {name: " ".join(words[:4]) for name, words in WORDS.items()}
    result = isthmus.label(SOURCE, [None] * 80, TARGET, classes=words, embed=False)
    assert result.method == "names"
    assert right(result) >= 0.9


def test_names_that_mean_nothing_are_said_and_left_out(alone):
    words = {name: " ".join(words[:4]) for name, words in WORDS.items()}
    result = isthmus.label(None, None, TARGET, classes=words | {"C13": ""}, embed=False)
    assert "C13" not in result.classes.tolist()
    assert any("'C13' means nothing and no document carries it" in row["message"] for row in result.warnings)
    assert result.labels.tolist() == alone.labels.tolist()


def test_vectors_given_for_documents_leave_names_to_the_words():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(80, 4)), rng.normal(size=(80, 4))
    result = isthmus.label(SOURCE, LABELS, TARGET, classes=NAMED, vectors=vectors)
    assert np.mean(result.labels[60:] == "parking") >= 0.8


@pytest.mark.parametrize(
    ("arguments", "settings", "code", "sentence"),
    [
        ((None, None, TARGET), {}, "not-text", "is of type NoneType"),
        ((None, None, TARGET), {"classes": ["C13", "M14"]}, "empty-class", "name at least two"),
        ((None, None, TARGET), {"classes": ["sport"]}, "empty-class", "name at least two"),
        ((None, None, TARGET), {"classes": "sport"}, "bad-parameter", "classes is 'sport'"),
        ((None, None, TARGET), {"classes": ["a b", "c d"], "method": "nbc"}, "bad-parameter", "use auto or names"),
        ((SOURCE, LABELS, TARGET), {"classes": NAMED, "method": "nbc"}, "bad-parameter", "does not read names"),
        ((SOURCE, [1, 2] * 40, TARGET), {"classes": NAMED}, "bad-labels", "the source's classes are numbers"),
    ],
)
def test_what_cannot_work_is_refused(arguments, settings, code, sentence):
    with pytest.raises((DataError, UsageError), match=sentence) as caught:
        isthmus.label(*arguments, embed=False, **settings)
    assert caught.value.code == code


@pytest.fixture(scope="module")
def voted():
    """Names that describe the documents of a thin source: they vote."""
    rng = random.Random(4)
    texts, labels = [], []
    for name, words in WORDS.items():
        texts += [" ".join([name, *rng.sample(words, 2), *rng.sample(COMMON, 2), f"nr{i}"]) for i in range(12)]
        labels += [name] * 12
    return isthmus.label(
        texts, labels, [f"{text} {name}" for text, name in zip(TARGET, TRUTH, strict=True)], embed=False
    )


def test_names_of_the_source_vote_where_they_describe_its_documents(voted):
    row = next(row for row in voted.decision if row["method"] == "names")
    assert row["chosen"], row["why"]
    assert 0.2 <= row["weight"] <= 0.334
    assert "names alone get" in row["why"]
    assert right(voted) >= 0.95
    assert "names" in voted.opinions


def test_later_texts_are_labelled_with_names_too(voted, tmp_path):
    loaded = isthmus.load(voted.save(tmp_path / "voted.isthmus"))
    model = loaded.model
    assert "names" in model.members
    np.testing.assert_allclose(model.from_opinions(voted.opinions), voted.probabilities, atol=1e-9)
    np.testing.assert_allclose(loaded.predict_proba(TARGET[:4]), voted.predict_proba(TARGET[:4]), atol=1e-9)


def test_verdicts_are_no_names_that_vote():
    labels = ["positive" if name == "staff" else "negative" for name in LABELS]
    result = isthmus.label(SOURCE, labels, TARGET[:60], embed=False, word_labels=False)
    assert "names" not in {row["method"] for row in result.decision}


def test_what_judges_the_labels_knows_which_groups_added_classes_explain(monkeypatch):
    made, whole = [], LabelScorer.without_groups_of

    def noted(scorer, *given):
        made.append(whole(scorer, *given))
        return made[-1]

    monkeypatch.setattr(LabelScorer, "without_groups_of", noted)
    classes = NamedClasses.of(NAMED, LABELS)
    found = choice.choose(SOURCE, np.array(LABELS, dtype=object), TARGET, classes=classes, embed=False)
    assert found.scorer is made[0], "groups that the added class explains would be announced all the same"


def test_picked_answers_do_not_stand_for_those_drawn_at_random(alone, monkeypatch):
    monkeypatch.setitem(fitted("asking"), "first_at_random", 40)
    taught = alone.teach({"document": [*range(1, 11)], "true_label": TRUTH[:10].tolist()}, drawn="picked")
    assert taught.ask(60)["drawn"].count("random") == 40
