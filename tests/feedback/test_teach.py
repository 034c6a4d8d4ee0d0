"""Teach and ask on a whole labelling: answers come in by one door, change what they should, and can be taken back."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from made_answers import made_answers
from made_texts import PARKING, PRICE, STAFF, visit_texts

import isthmus
from isthmus.choose.stages.apply import Answers as AnswersStage
from isthmus.exceptions import DataError, UsageError
from isthmus.feedback import Learned
from isthmus.feedback.teaching import _remaining_groups, extend_classes, labels_without_own_answer

TRUTH = np.array(["staff"] * 40 + ["price"] * 40 + ["parking"] * 30)
ANSWERED = [*range(0, 40, 5), *range(40, 80, 5), *range(80, 110, 3)]
REST = np.setdiff1d(np.arange(110), ANSWERED)


@pytest.fixture(scope="module")
def labelling():
    source = visit_texts(STAFF[:4], 40, 0) + visit_texts(PRICE[:4], 40, 1)
    target = visit_texts(STAFF[2:], 40, 2) + visit_texts(PRICE[2:], 40, 3) + visit_texts(PARKING, 30, 4)
    result = isthmus.label(source, ["staff"] * 40 + ["price"] * 40, target, method="logistic")
    result.ids = [f"T{i}" for i in range(len(target))]
    return result


def answers(rows=ANSWERED, **more):
    return {"document": [row + 1 for row in rows], "true_label": TRUTH[rows].tolist(), **more}


def fill_in(table):
    return table | {"true_label": [TRUTH[number - 1] for number in table["document"]]}


def test_answers_hold_and_teach_a_new_class(labelling):
    before = labelling.labels.copy()
    taught = labelling.teach(answers())
    np.testing.assert_array_equal(taught.labels[ANSWERED], TRUTH[ANSWERED])
    np.testing.assert_array_equal(taught.confidence[ANSWERED], 1.0)
    assert not taught.needs_review[ANSWERED].any()
    assert taught.classes.tolist() == ["parking", "price", "staff"]
    assert (taught.labels[REST[REST >= 80]] == "parking").mean() >= 0.9
    assert (taught.labels[REST] == TRUTH[REST]).mean() > (before[REST] == TRUTH[REST]).mean()
    assert taught.learned.changed == int(np.sum(taught.labels != before))
    # The labelling that was taught is as it was, and later texts are labelled by what was learned.
    np.testing.assert_array_equal(labelling.labels, before)
    assert labelling.answers is None
    assert taught.predict(["garage parking barrier"]).tolist() == ["parking"]


@pytest.mark.parametrize(("count", "recall"), [(6, 0.6), (15, 0.9)])
def test_examples_of_a_new_class_alone_do_not_make_everything_new(labelling, count, recall):
    if count == 6:
        pytest.importorskip("wordllama", reason="so few examples reach the others by word vectors, the extra 'embed'")
    taught = labelling.teach(answers([*range(80, 80 + count)]))
    assert (taught.labels[80 + count :] == "parking").mean() >= recall
    assert (taught.labels[:80] != "parking").all()


def test_one_answer_changes_nothing_that_is_unlike_it(labelling):
    taught = labelling.teach(answers([45]))
    alike = np.array([bool(set(text.split()[:3]) & set(labelling.texts[45].split()[:3])) for text in labelling.texts])
    assert (taught.labels == labelling.labels)[~alike].all()
    # Nothing but the answer speaks: self-training alone would change labels too, and has no say yet.
    assert taught.model.stages[-1].word_model.share == 0.0
    np.testing.assert_allclose(taught.probabilities[~alike], labelling.probabilities[~alike], atol=0.02)


def test_the_order_of_answers_changes_nothing(labelling):
    there, back = labelling.teach(answers()), labelling.teach(answers(ANSWERED[::-1]))
    np.testing.assert_allclose(there.probabilities, back.probabilities, atol=1e-8)


def test_target_labels_are_answers_and_no_method_sees_them(labelling):
    given = [TRUTH[row] if row in ANSWERED else None for row in range(110)]
    parts = labelling.source_texts, labelling.source_labels.tolist(), labelling.texts
    direct = isthmus.label(*parts, "logistic", target_labels=given)
    np.testing.assert_allclose(direct.probabilities, labelling.teach(answers()).probabilities, atol=1e-8)
    np.testing.assert_array_equal(direct.vote, labelling.probabilities)
    assert isthmus.label(*parts, "logistic", target_labels=[None] * 110).answers is None


@pytest.mark.parametrize(
    "table",
    [
        {"id": ["T3", "T50"], "true_label": ["price", "Staff "]},
        [{"id": "T3", "true_label": "price"}, {"id": "T50", "true_label": "staff"}, {"id": "T9", "true_label": ""}],
        {"T3": "price", "T50": "staff"},
        {"document": ["4", "51", ""], "true_label": ["price", "staff", ""]},
    ],
)
def test_answers_come_in_several_forms(labelling, table):
    taught = labelling.teach(table)
    assert taught.labels[[3, 50]].tolist() == ["price", "staff"]
    assert sorted(taught.answers.rows) == [3, 50]


@pytest.mark.parametrize(
    ("table", "message", "code"),
    [
        ({"id": ["nobody"], "true_label": ["price"]}, "'nobody' is not among the documents", "bad-answers"),
        ({"id": [], "true_label": []}, "The table has no answers", "bad-answers"),
        (
            {"id": ["T2", "nobody", "none"], "true_label": ["price"] * 3},
            "'nobody' and 1 more are not among the documents",
            "bad-answers",
        ),
        ({"id": ["T1", "T1"], "true_label": ["price", "staff"]}, r"\(id 'T1'\) is answered twice", "bad-answers"),
        ({"id": ["T1"], "true_label": [" "]}, "None of the 1 documents has a true label", "bad-answers"),
        ({"text": ["x"], "true_label": ["price"]}, "true_label and id .or document. are needed", "bad-answers"),
        (
            {"id": ["T1"], "true_label_2": ["price"]},
            "have the columns id, true_label_2; true_label and id",
            "bad-answers",
        ),
        ({"document": [999], "true_label": ["price"]}, "110 documents", "bad-answers"),
        (["price"], "1 answers and 110 texts", "length-mismatch"),
    ],
)
def test_tables_that_cannot_be_answers_are_refused(labelling, table, message, code):
    with pytest.raises(DataError, match=message) as caught:
        labelling.teach(table)
    assert caught.value.code == code


def test_answers_add_up_and_can_be_taken_back(labelling):
    first = labelling.teach(answers(ANSWERED[:10]), name="monday.csv")
    both = first.teach(answers(ANSWERED[10:]), name="tuesday.csv")
    assert [row["total"] for row in both.history] == [10, len(ANSWERED)]
    np.testing.assert_allclose(both.probabilities, labelling.teach(answers()).probabilities, atol=1e-8)
    back = both.teach(without="tuesday.csv")
    np.testing.assert_allclose(back.probabilities, first.probabilities, atol=1e-8)
    np.testing.assert_array_equal(back.teach(without="monday.csv").labels, labelling.labels)
    with pytest.raises(UsageError, match=r"those that did: 'monday.csv'"):
        back.teach(without="friday.csv")
    with pytest.raises(UsageError, match="nothing to learn"):
        back.teach()


def test_two_answer_files_of_one_name(labelling, tmp_path):
    for folder, row in (("monday", 90), ("tuesday", 95)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "answers.csv").write_text(f"document,true_label\n{row + 1},parking\n")
    monday, tuesday = (tmp_path / folder / "answers.csv" for folder in ("monday", "tuesday"))
    both = labelling.teach(monday).teach(tuesday)
    assert [row["name"] for row in both.history] == ["answers.csv", "tuesday/answers.csv"]
    assert both.teach(without=monday).answers.rows == [95]
    assert both.teach(without=tuesday).answers.rows == [90]
    # The same file again, mended, is the same table.
    monday.write_text("document,true_label\n91,price\n92,parking\n")
    again = both.teach(monday)
    assert again.teach(without=monday).answers.rows == [95]


def test_taking_back_and_a_misspelt_class_are_told(labelling):
    taught = labelling.teach(answers(), name="first").teach(answers([1, 2]), name="second")
    back = taught.teach(without="second")
    assert str(back.learned).startswith(f"2 answers taken back, {len(ANSWERED)} in all;")
    assert "towards" not in str(back.learned).splitlines()[0]
    odd = labelling.teach({"document": [3, 90], "true_label": ["stafff", "parking"]})
    assert odd.learned.new_classes == {"stafff": "staff", "parking": ""}
    lines = str(odd.learned).splitlines()
    assert "warning: new class: stafff (did you mean staff? Correct the table and run teach again)" in lines
    assert "new class: parking; answers to documents drawn at random will tell how common it is" in lines
    assert not any("more answers" in line for line in lines), "the answers so far cannot tell what more would bring"


def test_answers_that_were_asked_are_not_counted_as_random(labelling):
    taught = labelling.teach(fill_in(labelling.ask(20)))
    assert set(taught.answers.drawn) == {"asked"}
    assert taught.learned.basis == "weighted"
    counted = labelling.teach(fill_in(labelling.sample(40)))
    assert set(counted.answers.drawn) == {"random"}
    assert counted.learned.basis == "random"
    assert counted.expected_accuracy.low <= np.mean(counted.labels == TRUTH) <= counted.expected_accuracy.high
    assert counted.learned.outlook["answers"] == 50


def test_ask_never_asks_what_was_answered(labelling):
    first = fill_in(labelling.ask(15))
    second = labelling.teach(first).ask(15)
    assert not set(first["document"]) & set(second["document"])
    assert all(second["reason"])
    assert "label" not in second
    assert "label" in labelling.ask(3, suggest=True)
    with pytest.raises(UsageError, match="n=0"):
        labelling.ask(0)


def test_what_was_left_blank_is_asked_again_last(labelling):
    asked = labelling.ask(6)
    answered = labelling.teach(asked | {"true_label": ["staff", *[None] * 5]})
    assert not set(asked["document"]) & set(answered.ask(20)["document"])
    everything = answered.ask(len(labelling.texts))["document"]
    assert set(everything[-5:]) == set(asked["document"][1:]), "what was left blank comes after all others"


def test_words_can_be_asked_and_taught(labelling):
    words = labelling.ask(5, words=True)
    assert list(words) == ["word", "label", "suggestion", "documents", "settles"]
    taught = labelling.teach(word_labels={"garage": "price", "parking": "price", "lot": "price"})
    assert str(taught.learned).startswith("3 words learned, 0 answers in all; ")
    held = [i for i, text in enumerate(labelling.texts) if "garage" in text or "parking" in text]
    price = taught.classes.tolist().index("price")
    assert taught.probabilities[held, price].mean() > labelling.probabilities[held, price].mean()
    assert len(taught.ask(2, words=True)["word"]) == 2, "as many as were asked for, whatever is known already"


def test_words_that_are_labelled_leave_room_for_others(labelling):
    words = labelling.ask(5, words=True)["word"]
    again = labelling.teach(word_labels=dict.fromkeys(words, "price")).ask(5, words=True)["word"]
    assert len(again) == 5
    assert not set(again) & set(words)


def test_classes_are_renamed_and_merged(labelling):
    taught = labelling.teach(answers()).rename_classes({"parking": "price"})
    assert taught.classes.tolist() == ["price", "staff"]
    np.testing.assert_array_equal(taught.labels[ANSWERED], np.where(TRUTH == "parking", "price", TRUTH)[ANSWERED])
    renamed = labelling.rename_classes({"staff": "people"})
    assert renamed.classes.tolist() == ["people", "price"]
    assert renamed.predict(["kind polite"]).tolist() == ["people"]
    with pytest.raises(UsageError, match="'no' is not a class; the classes are price, staff"):
        labelling.rename_classes({"no": "yes"})


def test_of_merged_classes_the_probabilities_are_added_up():
    source = ["kind staff", "low price", "free parking", "polite staff", "high price", "full parking"]
    target = ["kind price", "free staff", "full price", "polite"]
    three = isthmus.label(source, ["staff", "price", "parking"] * 2, target, method="nbc")
    two = three.rename_classes({"parking": "place", "price": "place"})
    place, staff = three.probabilities[:, 0] + three.probabilities[:, 1], three.probabilities[:, 2]
    np.testing.assert_allclose(two.probabilities, np.column_stack([place, staff]))
    np.testing.assert_allclose(two.confidence, np.maximum(place, staff))
    assert two.labels.tolist() == np.where(place > staff, "place", "staff").tolist()


def test_a_saved_labelling_keeps_its_answers(labelling, tmp_path):
    taught = labelling.teach(answers(by=["Kim"] * len(ANSWERED)), name="answers.csv")
    loaded = isthmus.load(taught.save(tmp_path / "taught.isthmus"))
    assert loaded.answers.by[0] == "Kim"
    assert loaded.history == taught.history
    np.testing.assert_allclose(loaded.probabilities, taught.probabilities)
    again = loaded.teach({"T1": "staff"}, name="more")
    assert [row["name"] for row in again.history] == ["answers.csv", "more"]
    assert loaded.reasons(0, top=2)


def test_words_stay_known_when_answers_follow(labelling):
    nothing = {"document": [], "true_label": []}
    taught = labelling.teach(nothing, word_labels={"impatient": "staff"}).teach(answers())
    assert list(taught.answers.words) == ["impatient"]


def test_vectors_are_learned_from_and_needed_for_later_texts():
    rng = np.random.default_rng(0)
    vectors = [rng.normal(size=(n, 4)) for n in (40, 60)]
    truth = np.where(vectors[1][:, 0] > 0, "up", "down")  # the words say nothing, one direction says all
    words = [visit_texts(STAFF, n, n) for n in (40, 60)]
    result = isthmus.label(words[0], ["up", "down"] * 20, words[1], method="vectors-logistic", vectors=vectors)
    taught = result.teach({"document": [*range(1, 41)], "true_label": truth[:40].tolist()})
    model, later = taught.model, {"up": [3.0, 0, 0, 0], "down": [-3.0, 0, 0, 0]}
    stage = model.stage(AnswersStage)
    rows = stage.views.transform(words[1], [result.probabilities])
    corrected = stage.correction.probabilities(rows, result.probabilities)
    assert np.mean(result.classes[corrected.argmax(axis=1)][40:] == truth[40:]) >= 0.85
    with pytest.raises(UsageError, match="no vectors"):
        taught.label_new(list(later))
    assert len(taught.label_new(list(later), vectors=np.array(list(later.values()))).labels) == 2


def test_a_vote_is_taught_too(labelling):
    """Names that mean nothing stay out of the vote; without them later texts get the same to the last digit."""
    codes = {"staff": "C1", "price": "C2", "parking": "C3"}
    target = labelling.texts
    truth = np.array([codes[name] for name in TRUTH])
    result = isthmus.label(labelling.source_texts, [codes[name] for name in labelling.source_labels], target)
    assert "names" not in result.method
    taught = result.teach(answers() | {"true_label": truth[ANSWERED].tolist()})
    assert (taught.labels == truth).mean() > (result.labels == truth).mean()
    np.testing.assert_allclose(taught.model.predict_proba(target)[REST], taught.probabilities[REST], atol=1e-6)


def test_a_vote_with_names_is_taught_too(labelling):
    """Names judge the documents they learned from out of fold, so only the labels of later texts are the same."""
    pytest.importorskip("wordllama", reason="names have a vote here by word vectors, the extra 'embed'")
    target = labelling.texts
    result = isthmus.label(labelling.source_texts, labelling.source_labels.tolist(), target)
    assert "names" in result.method
    taught = result.teach(answers())
    assert (taught.labels == TRUTH).mean() > (result.labels == TRUTH).mean()
    np.testing.assert_array_equal(taught.model.predict(target)[REST], taught.labels[REST])


def test_taking_everything_back_restores_all_that_teaching_changed(labelling, tmp_path):
    group = np.where(np.arange(110) >= 80, "garage lot", "").astype(object)
    novel = [{"group": "garage lot", "words": ["garage"], "documents": 30}]
    warnings = [
        {"topic": "new group", "message": "About 27% of the target belong to no class."},
        {"topic": "review", "message": "All documents need review."},
        {"topic": "thin source", "message": "Only 80 labelled source documents."},
    ]
    first = replace(labelling, novel_group=group, novel=novel, warnings=warnings)
    once = first.teach(answers(), name="one")
    assert once.novel == []
    assert [row["topic"] for row in once.warnings] == ["thin source"]
    twice = isthmus.load(once.save(tmp_path / "once.isthmus")).teach({"T1": "price"}, name="two")
    half = twice.teach(without="two")
    back = half.teach(without="one")
    assert back.answers is None
    for name in ("labels", "confidence", "needs_review", "novel_group", "probabilities", "classes"):
        np.testing.assert_array_equal(getattr(back, name), getattr(first, name), err_msg=name)
    assert back.expected_accuracy == first.expected_accuracy
    assert (back.novel, back.warnings) == (first.novel, first.warnings)
    with pytest.raises(UsageError, match="those that did: none"):
        back.teach(without="one")


def test_a_row_added_by_hand_is_found_by_its_id(labelling):
    table = {"document": [1, None], "id": ["T0", "T5"], "true_label": ["staff", "price"], "drawn": ["asked", None]}
    taught = labelling.teach(table)
    assert taught.answers.rows == [0, 5]
    assert taught.answers.drawn == ["asked", "picked"]


def test_ids_are_found_as_spreadsheets_write_them(labelling):
    numbered = replace(labelling, ids=[f"{number:05d}" for number in range(len(labelling.texts))])
    assert numbered.teach({"id": [7, 8.0, "00009"], "true_label": ["staff"] * 3}).answers.rows == [7, 8, 9]
    both = replace(labelling, ids=["7", "007", *map(str, range(1000, 1108))])
    assert both.teach({"id": ["007"], "true_label": ["staff"]}).answers.rows == [1]
    with pytest.raises(DataError, match="stands for 2 documents"):
        both.teach({"id": ["7.0"], "true_label": ["staff"]})


def test_names_change_at_once_and_never_to_nothing(labelling):
    swapped = labelling.rename_classes({"staff": "price", "price": "staff"})
    assert (swapped.labels != labelling.labels).all()
    np.testing.assert_array_equal(swapped.confidence, labelling.confidence)
    chain = labelling.rename_classes({"staff": "price", "price": "cost"})
    assert chain.classes.tolist() == ["cost", "price"]
    one = labelling.rename_classes({"staff": "all", "price": "all"})
    assert set(one.labels.tolist()) == {"all"}
    assert one.ask(2)["reason"][-1].startswith("for a second look")
    assert one.teach({"T1": "parking"}).labels[1] == "parking"
    for nothing in (None, " "):
        with pytest.raises(UsageError, match="has no new name"):
            labelling.rename_classes({"staff": nothing})


def test_renaming_after_answers_changes_names_alone(labelling):
    taught = labelling.teach(answers(), name="one")
    renamed = taught.rename_classes({"staff": "people"})
    assert (renamed.learned.changed, renamed.learned.total) == (0, len(ANSWERED))
    np.testing.assert_array_equal(renamed.labels, np.where(taught.labels == "staff", "people", taught.labels))
    back = renamed.teach(without="one")
    assert back.expected_accuracy == labelling.expected_accuracy
    np.testing.assert_array_equal(back.confidence, labelling.confidence)


def test_what_was_learned_is_told_without_zeros():
    told = Learned(name="", answers=0, total=12, changed=5, towards=0, before={"a": 3}, after={"b": 3}, outlook=None)
    assert str(told).splitlines() == [
        "no new answers, 12 in all; 5 labels changed", "  a: 3 before, 0 now", "  b: 0 before, 3 now"
    ]  # fmt: skip
    told = replace(told, answers=1, towards=4)
    assert str(told).startswith("1 answer learned, 12 in all; 5 labels changed, 4 towards the answered classes\n")


def test_the_model_itself_gives_one_class_a_text(labelling):
    texts = ["kind polite staff", "dear price bill", "parking space car park", "kind polite clerk"]
    taught = labelling.teach(answers())
    renamed = taught.rename_classes({"parking": "place"})
    for result in (taught, renamed, labelling.rename_classes({"price": "cost"})):
        model = result.model
        told = model.predict(texts)
        assert told.tolist() == [model.classes_[row.argmax()] for row in model.predict_proba(texts)]
        assert told[0] == "staff"


class Sheet:
    """A table of a library that nobody has heard of."""

    def __init__(self, columns):
        self._columns, self.columns = columns, list(columns)

    def __getitem__(self, name):
        return iter(self._columns[name])


def test_a_table_of_any_library_is_read_by_its_columns(labelling):
    taught = labelling.teach(Sheet({"id": ["T3", "T50"], "true_label": ["price", "staff"]}))
    assert sorted(zip(taught.answers.rows, taught.answers.labels, strict=True)) == [(3, "price"), (50, "staff")]


def test_one_answer_given_twice_is_one_answer(labelling):
    taught = labelling.teach({"id": ["T3", "T3"], "true_label": ["price", "price"]})
    assert (taught.answers.rows, taught.answers.labels) == ([3], ["price"])
    named = replace(labelling, ids=["T" * 80, *labelling.ids[1:]])
    with pytest.raises(DataError, match=rf"\(id '{'T' * 40}'\) is answered twice"):
        named.teach({"id": ["T" * 80] * 2, "true_label": ["price", "staff"]})
    nameless = replace(labelling, ids=None)
    with pytest.raises(DataError, match="Document 4 is answered twice, as 'price' and as 'staff'"):
        nameless.teach({"document": [4, 4], "true_label": ["price", "staff"]})


def test_what_cannot_be_taught_is_refused(labelling):
    with pytest.raises(UsageError, match="drawn='drawn'; use one of random, asked, picked, group"):
        labelling.teach({"T3": "price"}, drawn="drawn")
    with pytest.raises(DataError, match="The word 'kind' has no label; name a class"):
        labelling.teach(word_labels={"kind": None})
    for table in ({"document": [1]}, {"true_label": ["staff"]}, {"id": ["T1"], "label": ["staff"]}):
        with pytest.raises(DataError, match=r"document \(numbered from 1\) and true_label are needed"):
            labelling.teach(source_labels={**table, "text": [""]})


def test_columns_of_uneven_length_are_named_as_what_they_were_given_for(labelling):
    uneven = {"document": [1, 2], "id": ["T0"], "true_label": ["staff", "price"]}
    short = {"document": [1, 2], "true_label": ["staff"]}
    for work, what in (
        (lambda: labelling.teach(uneven), "answers"),
        (lambda: labelling.teach(short), "answers"),
        (lambda: labelling.check(uneven), "checked sample"),
        (lambda: labelling.teach(source_labels=short), "source's labels"),
    ):
        with pytest.raises(DataError, match=f"The columns of the {what} are not of one length") as caught:
            work()
        assert caught.value.code == "length-mismatch"


def test_the_column_of_ids_is_found_by_what_it_holds(labelling):
    """Every cell names a document, and no two the same one; empty cells name none."""
    right = {"nr": ["T3", "T50", ""], "true_label": ["price", "staff", None]}
    assert sorted(labelling.teach(right).answers.rows) == [3, 50]
    for other in (["T3", "T3", "T50"], ["", "", ""], ["T3", "other", "T50"]):
        with pytest.raises(DataError, match=r"The answers have the columns nr, true_label; true_label and id"):
            labelling.teach({"nr": other, "true_label": ["price", "price", "staff"]})
    classes = replace(labelling, ids=["staff", "price", *labelling.ids[2:]])
    table = {"nr": ["T3", "T50"], "true_label": ["price", "staff"]}
    assert sorted(classes.teach({"true_label": table["true_label"], "nr": table["nr"]}).answers.rows) == [3, 50], (
        "true labels that are ids, too, are no column of ids"
    )


def test_a_row_without_a_number_and_without_an_id_is_passed_over(labelling):
    table = {"document": [1, None, None], "id": ["T0", "T5", None], "true_label": ["staff", "price", None]}
    assert labelling.teach(table).answers.rows == [0, 5]


def test_rows_left_blank_are_kept_when_all_answers_are_taken_back(labelling):
    blank = labelling.teach({"T3": "price"}, name="one").teach(
        {"document": [8, 12], "true_label": ["staff", None]}, name="two"
    )
    rest = blank.teach(without="one")
    assert (rest.answers.rows, rest.answers.blank) == ([7], [11])
    both = replace(rest, answers=replace(rest.answers, blank_in={"two": [11], "three": [30]}))
    left = both.teach(without="two")
    assert (left.answers.rows, left.answers.blank) == ([], [30])
    assert (left.learned, left.checked) == (None, None)
    np.testing.assert_array_equal(left.labels, labelling.labels, err_msg="nothing is learned any more")
    assert rest.teach(without="two").answers is None, "nothing was left blank anywhere else"


def test_files_of_answers_and_of_words_go_by_the_name_that_was_given(labelling, tmp_path):
    table, words = tmp_path / "monday.csv", tmp_path / "words.csv"
    table.write_text("id,true_label\nT3,price\n", encoding="utf-8")
    words.write_text("word,label\nkind,price\n", encoding="utf-8")
    taught = labelling.teach(table, word_labels=words, name="own")
    assert taught.answers.batch == ["own"]
    assert taught.answers.word_log == [("kind", {"price": 1.0}, "own")]
    assert taught.answers.origins == {}, "it lies wherever it is called so"
    plain = labelling.teach(table, word_labels=words)
    assert plain.answers.batch == ["monday.csv"]
    assert [batch for _, _, batch in plain.answers.word_log] == ["words.csv"]
    assert plain.teach(without=words).answers.rows == [3]


def test_a_class_that_random_answers_name_needs_no_hint():
    told = Learned(
        name="", answers=3, total=30, changed=2, towards=2, before={"a": 3}, after={"a": 1, "b": 2}, basis="random",
        new_classes={"b": ""},
    )  # fmt: skip
    assert str(told).splitlines()[1] == "new class: b", "how common it is, the random answers say"
    other = replace(told, basis="weighted")
    assert str(other).splitlines()[1].endswith("answers to documents drawn at random will tell how common it is")


def test_numbers_take_no_new_class():
    assert extend_classes(np.array([1, 2]), [2, 1]).tolist() == [1, 2]
    with pytest.raises(DataError, match="'parking' is a new class, and the classes are numbers"):
        extend_classes(np.array([1, 2]), [1, "parking"])
    assert extend_classes(np.array(["b", "a"]), ["z", "a", "c"]).tolist() == ["b", "a", "c", "z"]


def test_without_another_answer_a_label_is_that_of_the_methods(labelling):
    """The only answer there is, or all answers to one text: nothing is left to learn from."""
    taught = labelling.teach({"T3": "price"})
    assert taught.labels[3] == "price"
    assert labels_without_own_answer(taught, [3]) == [labelling.labels[3]]


@pytest.mark.parametrize(("n_known", "stays"), [(3, True), (4, False)])
def test_a_group_goes_where_most_of_its_answers_name_a_known_class(n_known, stays):
    """Half of six are not most."""
    untaught = SimpleNamespace(
        classes=np.array(["price", "staff"]),
        novel_group=np.array(["g"] * 8 + [""], dtype=object),
        novel=[{"group": "g"}],
        warnings=[{"topic": "new group"}, {"topic": "class shares"}, {"topic": "review"}],
    )
    known = made_answers(
        list(range(6)), ["staff"] * n_known + ["parking"] * (6 - n_known), ["asked"] * 6, [""] * 6, ["a"] * 6
    )
    found = _remaining_groups(untaught, np.array(["staff"] * 9), known)
    assert found["novel_group"].tolist() == [""] * 6 + ["g" if stays else ""] * 2 + [""]
    assert [group["group"] for group in found["novel"]] == (["g"] if stays else [])
    assert [row["topic"] for row in found["warnings"]] == (["new group"] if stays else []) + ["class shares"]
