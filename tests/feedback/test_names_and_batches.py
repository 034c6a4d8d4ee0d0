"""Renaming changes names alone, taking back restores what was there, and tables in former names are understood."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import isthmus
from isthmus._math.confidence import lower_confidence_in_groups
from isthmus.choose import AccuracyEstimate
from isthmus.choose.model import LabelModel
from isthmus.exceptions import UsageError
from isthmus.features.embeddings import VectorTable
from isthmus.feedback.model import add_vectors, renamed_model

WORDS = {
    "staff": ["friendly", "rude", "helpful", "polite", "kind"],
    "price": ["expensive", "cheap", "costly", "bargain", "fair"],
    "bikes": ["fast", "slow", "frame", "wheel", "brake"],
}


def make_texts(words, n, seed):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words, 2)) + f" visit {rng.choice(['one', 'cheap', 'rude', 'fast'])}" for _ in range(n)]


def make_pair():
    source = [text for seed, words in enumerate(WORDS.values()) for text in make_texts(words[:4], 40, seed)]
    target = [text for seed, words in enumerate(WORDS.values()) for text in make_texts(words[1:], 40, 9 + seed)]
    return source, [name for name in WORDS for _ in range(40)], target


@pytest.fixture(scope="module", params=["cocc", "logistic"])
def labelling(request):
    source, labels, target = make_pair()
    return isthmus.label(source, labels, target, method=request.param)


@pytest.fixture(scope="module")
def taught(labelling):
    rows = list(range(0, 120, 8))
    return labelling.teach(answers(rows), name="first")


def answers(rows, names=("staff", "price", "bikes")):
    return {"document": [row + 1 for row in rows], "true_label": [names[row // 40] for row in rows]}


NAMES = {"staff": "people", "bikes": "a bike"}
BACK = {new: old for old, new in NAMES.items()}


@pytest.mark.parametrize("after_answers", [False, True])
def test_a_rename_changes_names_alone_and_back_restores_everything(labelling, taught, after_answers):
    result = taught if after_answers else labelling
    renamed = result.rename_classes(NAMES)
    assert renamed.labels.tolist() == [NAMES.get(name, name) for name in result.labels.tolist()]
    np.testing.assert_array_equal(renamed.confidence, result.confidence)
    np.testing.assert_array_equal(renamed.needs_review, result.needs_review)
    assert renamed.expected_accuracy == result.expected_accuracy
    assert renamed.history == result.history
    assert bool(result.opinions) == after_answers, "one method alone is asked what others say once answers came"
    for method, part in (result.opinions or {}).items():
        said = [NAMES.get(name, name) for name in result.classes[part.argmax(axis=1)]]
        assert renamed.classes[renamed.opinions[method].argmax(axis=1)].tolist() == said, method
    back = renamed.rename_classes(BACK)
    assert back.labels.tolist() == result.labels.tolist()
    assert back.classes.tolist() == result.classes.tolist()
    np.testing.assert_array_equal(back.probabilities, result.probabilities)
    assert back.model.stages == result.model.stages
    later = ["rude kind visit", "slow wheel visit", "cheap fair visit"]
    np.testing.assert_allclose(renamed.label_new(later).confidence, result.label_new(later).confidence, rtol=1e-12)
    np.testing.assert_array_equal(renamed.label_new(later).needs_review, result.label_new(later).needs_review)


def test_a_renamed_labelling_learns_and_forgets_as_before(labelling, taught):
    renamed = taught.rename_classes(NAMES)
    gone = renamed.teach(without="first")
    assert gone.labels.tolist() == labelling.rename_classes(NAMES).labels.tolist()
    more = renamed.teach(answers([3, 43, 83]))  # in the former names
    assert more.classes.tolist() == ["a bike", "people", "price"]
    assert more.labels[[3, 43, 83]].tolist() == ["people", "price", "a bike"]
    assert len(more.ask(3)["document"]) == 3


def test_a_sample_drawn_before_a_rename_is_checked_alike(labelling):
    table = labelling.sample(40)
    filled = answers([number - 1 for number in table["document"]])
    before = labelling.check(filled)
    after = labelling.rename_classes(NAMES).check(filled)
    assert (after.right, after.new_classes) == (before.right, [])
    assert labelling.rename_classes(NAMES).checked.shares[0]["class"] == "a bike"


def test_numbers_as_classes_can_be_renamed():
    source, labels, target = make_pair()
    codes = [list(WORDS).index(name) + 1 for name in labels]
    result = isthmus.label(source, codes, target, method="logistic").teach({"document": [1], "true_label": [1]})
    renamed = result.rename_classes({"1": "people"})
    assert renamed.classes.tolist() == ["2", "3", "people"]
    assert renamed.labels[0] == "people"
    assert renamed.teach({"document": [41], "true_label": [2]}).labels[40] == "2"


def test_merging_never_lowers_confidence_and_moves_the_expectation(labelling):
    merged = labelling.rename_classes({"staff": "shop", "price": "shop"})
    assert (merged.confidence >= labelling.confidence).all()
    assert merged.expected_accuracy.estimate >= labelling.expected_accuracy.estimate
    assert merged.needs_review.sum() <= labelling.needs_review.sum()
    parts = [one.settings["caution"] / one.expected_accuracy.caution for one in (labelling, merged)]
    assert parts[1] == pytest.approx(parts[0]), "later texts are marked by the expectation as it is now"
    stays = labelling.labels != "bikes"
    np.testing.assert_array_equal(merged.labels[stays], "shop")


def test_names_that_differ_in_case_alone_are_refused(labelling):
    with pytest.raises(UsageError, match="'Price' and 'price' differ only in upper and lower case"):
        labelling.rename_classes({"staff": "Price"})


def test_words_and_blank_rows_can_be_taken_back(labelling, tmp_path):
    words = tmp_path / "words.csv"
    words.write_text("word,label\nkind,price\n")
    taught = labelling.teach(answers([3, 43]), name="a").teach(word_labels=words)
    assert taught.answers.words == {"kind": {"price": 1.0}}
    back = taught.teach(without=words)
    assert (back.answers.words, len(back.answers), back.learned.words_taken_back) == ({}, 2, 1)
    assert "1 word taken back" in str(back.learned)
    np.testing.assert_array_equal(back.probabilities, labelling.teach(answers([3, 43])).probabilities)
    left = labelling.teach({"document": [5, 6], "true_label": ["staff", None]}, name="b")
    assert left.answers.blank == [5]
    assert left.teach(answers([9]), name="c").teach(without="b").answers.blank == []


def test_words_of_the_fit_cannot_be_taken_back_and_that_is_said(labelling):
    with pytest.raises(UsageError, match="Words given to label belong to the fit; label again without them"):
        replace(labelling, given_words=["kind"]).teach(without="words.csv")


def test_answers_that_are_given_back_unchanged_keep_who_said_so(labelling):
    given = answers([3, 43]) | {"by": ["Kim", "Lee"], "drawn": ["random", "asked"]}
    taught = labelling.teach(given, name="people").teach(answers([3, 43]), name="workbook")
    assert taught.answers.by == ["Kim", "Lee"]
    assert taught.answers.drawn == ["random", "asked"]
    assert taught.answers.batch == ["people", "people"]


def test_tables_without_a_name_get_one_of_their_own(labelling):
    taught = labelling.teach(answers([3])).teach(answers([4])).teach(answers([5]))
    taught = taught.teach(without="answers 1").teach(answers([6]))
    assert sorted(taught.answers.batch) == ["answers 1", "answers 2", "answers 3"]


def test_a_class_that_words_name_first_is_announced(labelling):
    taught = labelling.teach(word_labels={"kind": "manners"})
    assert taught.learned.new_classes == {"manners": ""}


def test_given_vectors_are_saved_explained_and_found_again(tmp_path):
    source, labels, target = make_pair()
    rng = np.random.default_rng(0)
    vectors = [rng.normal(size=(len(side), 4)) for side in (source, target)]
    result = isthmus.label(source, labels, target, method="vectors", vectors=vectors)
    for name, one in {"plain": result, "taught": result.teach(answers([1, 41, 81]))}.items():
        one.save(tmp_path / name)
        back = isthmus.load(tmp_path / name)
        assert back.labels.tolist() == one.labels.tolist()
        assert isinstance(back.reasons(0), list)


def test_teach_uses_vectors_that_no_method_voted_with(labelling):
    texts = [*labelling.source_texts, *labelling.texts]
    table = VectorTable.of(texts, np.random.default_rng(0).normal(size=(len(texts), 4)))
    taught = replace(labelling, given_vectors=table).teach(answers([1, 41, 81]))
    assert len(taught.model.stages[-1].views.vector_mean) == 4
    assert taught.needs_vectors


def test_corrections_of_the_source_are_understood_in_former_names(labelling):
    renamed = labelling.rename_classes(NAMES)
    row = next(row for row, name in enumerate(labelling.source_labels) if name == "price")
    again = renamed.teach(source_labels={"document": [row + 1], "true_label": ["staff"]})
    assert again.source_labels[row] == "people"
    assert sorted(again.classes) == sorted(renamed.classes)


def test_names_that_change_nothing_change_nothing(labelling):
    assert labelling.rename_classes({"staff": "staff"}) is labelling
    for nothing, sentence in (({}, "There is nothing to rename"), ({"stuff": "x"}, "'stuff' is not a class")):
        with pytest.raises(UsageError, match=sentence):
            labelling.rename_classes(nothing)


def test_numbers_that_become_other_numbers_stay_numbers():
    source, labels, target = make_pair()
    codes = [list(WORDS).index(name) + 1 for name in labels]
    result = isthmus.label(source, codes, target, method="logistic")
    merged = result.rename_classes({1: 2})
    assert merged.classes.tolist() == [2, 3]
    assert set(merged.labels.tolist()) <= {2, 3}
    assert result.rename_classes({1: 4}).classes.tolist() == ["2", "3", "4"], "a name that no class has is a name"


@pytest.mark.parametrize("estimate", [None, AccuracyEstimate(None, reason="too few")])
def test_merging_where_nothing_is_expected_expects_nothing(labelling, estimate):
    unknown = replace(labelling, expected_accuracy=estimate)
    merged = unknown.rename_classes({"staff": "shop", "price": "shop"})
    assert merged.expected_accuracy == estimate
    assert merged.settings.get("caution") == unknown.settings.get("caution"), "later texts are marked as before"


def test_merging_where_all_are_in_a_new_group_moves_nothing_outside_it(labelling):
    """There is no document outside of which the mean could be taken."""
    groups = np.full(len(labelling.texts), "noise", dtype=object)
    unsure = labelling.probabilities / 2 + 1 / 6
    inside = replace(
        labelling,
        probabilities=unsure,
        novel_group=groups,
        settings=labelling.settings | {"sharpness": 1.0},
        confidence=lower_confidence_in_groups(unsure.max(axis=1), groups),
        novel=[{"group": "noise", "words": "noise"}, {"group": "old", "words": "old", "nearest_class": "price"}],
        expected_accuracy=AccuracyEstimate(0.5, 0.4, 0.6, outside_groups=0.7),
    )
    merged = inside.rename_classes({"staff": "shop", "price": "shop"})
    gain = float((merged.confidence - inside.confidence).mean())
    assert gain > 0.005, "what was doubtful between the two is surer"
    assert merged.expected_accuracy.outside_groups == 0.7
    assert merged.expected_accuracy.estimate == pytest.approx(0.5 + gain)
    assert merged.novel == [inside.novel[0], {**inside.novel[1], "nearest_class": "shop"}], "one without a class stays"


def test_names_given_one_after_the_other_are_composed():
    def names_after(names):
        return [stage.names for stage in renamed_model(first, names).stages]

    base = LabelModel({"one": SimpleNamespace(classes_=np.array(["a", "b", "c"]))}, {"one": 1.0})
    first = renamed_model(base, {"a": "x"})
    assert first.classes_.tolist() == ["b", "c", "x"]
    assert names_after({"x": "y"}) == [{"a": "y"}]
    assert names_after({"x": "b", "b": "x"}) == [{"a": "b", "b": "x"}]
    assert names_after({"x": "a"}) == [], "renaming back removes the stage"
    assert names_after({"a": "z"}) == [{"a": "x"}], "no class has this name any more"
    assert names_after({"c": "z"}) == [{"a": "x", "c": "z"}]


def test_vectors_are_for_models_that_were_given_some(labelling):
    def lengths(texts):
        return np.array([[len(text), 1.0] for text in texts])

    source, labels, target = make_pair()
    own = isthmus.label(source[::8], labels[::8], target[::8], method="vectors", embed=lengths)
    for result, said in ((own, "makes its own vectors"), (labelling, "uses no vectors")):
        with pytest.raises(UsageError, match=f"The model {said}; leave vectors out"):
            add_vectors(result.model, ["a text"], np.zeros((1, 2)))


def test_what_was_saved_before_groups_and_reasons_were_kept_gets_them(labelling):
    old = replace(labelling, novel_group=None, review_reason=None)
    assert old.novel_group.tolist() == [""] * len(old.texts)
    assert [bool(reason) for reason in old.review_reason] == labelling.needs_review.tolist()
    groups = np.where(np.arange(len(old.texts)) < 3, "noise", "").astype(object)
    marked = replace(labelling, novel_group=groups, review_reason=None, needs_review=np.ones(len(groups), dtype=bool))
    assert len(set(marked.review_reason[:3])) == len(set(marked.review_reason[3:])) == 1
    assert marked.review_reason[0] != marked.review_reason[3], "those of a group for their group"


@pytest.mark.parametrize(
    ("vectors", "there", "found"), [("static", True, True), ("static", False, False), ("none", True, False)]
)
def test_teaching_uses_the_packaged_vectors_where_the_run_could(labelling, monkeypatch, vectors, there, found):
    monkeypatch.setattr("isthmus.feedback.labelling.has_static_vectors", lambda: there)
    run = replace(labelling, settings={**labelling.settings, "vectors": vectors})
    embedder = run.find_embedder()
    assert (embedder is not None) is found
    if found:
        assert embedder == "static"
