"""After the first answers: later texts, a second round, several kinds of answers, votes with words, saved files."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import isthmus
from isthmus.feedback import ask_documents, correction
from isthmus_bench.shifted import make_shifted_texts

ANSWERED = [*range(0, 60, 3)]


@pytest.fixture(scope="module")
def made():
    return make_shifted_texts(90, 120, n_classes=3, random_state=4)


@pytest.fixture(scope="module")
def labelling(made):
    return isthmus.label(made.source_texts, made.source_labels, made.target_texts, method="nbc")


@pytest.fixture(scope="module")
def later(made):
    """Later texts of the same kind and their classes."""
    more = make_shifted_texts(90, 200, n_classes=3, random_state=4)
    return more.target_texts[120:160], more.target_labels[120:160]


def answers(made, rows=ANSWERED, **more):
    return {"document": [row + 1 for row in rows], "true_label": [made.target_labels[row] for row in rows], **more}


@pytest.fixture(scope="module")
def taught(made, labelling):
    return labelling.teach(answers(made), word_labels={made.words_of("class 1", "target")[0]: "class 1"}, name="one")


def test_later_texts_know_nothing_of_the_answers_about_the_earlier_ones(taught, later):
    """An old answer lay on the text with the same number, at confidence 1."""
    result = taught.label_new(later[0])
    assert result.answers is None
    assert (result.learned, result.history, result.warnings, result.novel) == (None, [], [], [])
    assert result.expected_accuracy.estimate < taught.expected_accuracy.estimate, "answers count as right there"
    assert result.novel_group.tolist() == [""] * len(later[0])
    assert result.confidence.max() < 1
    asked = result.ask(len(later[0]))
    assert sorted(asked["document"]) == [*range(1, len(later[0]) + 1)]
    assert asked["text"] == [later[0][number - 1] for number in asked["document"]]


def test_groups_of_later_texts_are_told_by_the_reading_of_the_run():
    """Pieces of words tell what no whole word does."""
    source, target = ["kind staff", "fair price"] * 10, ["kindly staffed", "priced fairly", "parkings"] * 8
    result = isthmus.label(source, ["staff", "price"] * 10, target, method="nbc", analyzer="trigrams", min_df=1)
    result.novel_group = np.array(["", "", "group 1"] * 8, dtype=object)
    result.novel = [{"group": "group 1"}]
    later = result.label_new(["carparking", "unpriced", "overstaffed"])
    assert later.novel_group.tolist() == ["group 1", "", ""]
    assert [group["documents"] for group in later.novel] == [1]


def test_later_texts_are_taught_by_their_own_answers_alone(taught, later):
    texts, truth = later
    result = taught.label_new(texts)
    again = result.teach({"document": [2, 9], "true_label": [truth[1], "class 0"]}, name="two")
    assert again.answers.rows == [1, 8]
    assert np.flatnonzero(again.confidence == 1).tolist() == [1, 8]
    assert again.labels[[1, 8]].tolist() == [truth[1], "class 0"]
    assert (again.learned.answers, again.learned.total) == (2, 2)
    assert [row["name"] for row in again.history] == ["two"]
    assert np.mean(again.labels == result.labels) > 0.9
    np.testing.assert_array_equal(again.teach(without="two").labels, result.labels)


def test_a_saved_labelling_goes_on_as_if_it_had_never_been_saved(made, taught, tmp_path):
    """Load, teach, save, load, teach: the same as teaching without a file between."""
    second = answers(made, [61, 62, 70], drawn=["random"] * 3)
    direct = taught.teach(second, name="two", word_labels={"zebra": "class 2"})
    loaded = isthmus.load(taught.save(tmp_path / "1")).teach(second, name="two", word_labels={"zebra": "class 2"})
    back = isthmus.load(loaded.save(tmp_path / "2"))
    for result in (loaded, back):
        np.testing.assert_allclose(result.probabilities, direct.probabilities, rtol=1e-9)
        np.testing.assert_array_equal(result.needs_review, direct.needs_review)
        assert result.answers == direct.answers
        assert result.history == direct.history
        assert result.expected_accuracy == direct.expected_accuracy
    assert sorted(back.answers.words) == sorted([*taught.answers.words, "zebra"])
    first = back.teach(without="two")
    assert first.answers.rows == ANSWERED
    assert back.teach(without="one").teach(without="two").answers is None  # nothing is known any more


def test_the_later_answer_holds_and_the_draw_stays_random(made, labelling):
    first = labelling.teach(answers(made, [3, 4], drawn=["random", "picked"]), name="one")
    both = first.teach({"document": [4, 5], "true_label": ["class 2", "class 2"]}, name="two")
    assert dict(zip(both.answers.rows, both.answers.drawn, strict=True)) == {3: "random", 4: "picked"}
    assert both.labels[[3, 4]].tolist() == ["class 2", "class 2"]


# -- random beside picked ---------------------------------------------------------------------------------------------


def test_random_answers_alone_say_how_many_labels_are_right(made, labelling):
    """By hand: k of 40 random answers right while held out; answered documents count as right.

    Wilson's interval for the 63 others, whose own share is drawn, too, and two hundredths beyond chance.
    """
    random, picked = [*range(40)], [*range(60, 77)]
    table = answers(made, [*picked, *random], drawn=["picked"] * 17 + ["random"] * 40)
    table["true_label"][:17] = [f"class {(int(name[-1]) + 1) % 3}" for name in table["true_label"][:17]]  # all odd
    result = labelling.teach(table)
    assert result.learned.basis == "random"
    expected, n, population, others = result.expected_accuracy, 40, 120, 120 - 57
    share = (expected.estimate * population - 57) / others
    assert n * share == pytest.approx(round(n * share), abs=1e-9)  # a number of random answers, of no others
    assert share > np.mean(labelling.labels[:40] == made.target_labels[:40]) - 0.2  # those picked would all count wrong
    z = norm.ppf(0.95)
    n = n * others / (n + others)
    middle, reach = share + z**2 / (2 * n), z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    ends = [(middle + sign * reach) / (1 + z**2 / n) for sign in (-1, 1)]
    beyond = [np.sign(end - share) * np.sqrt((end - share) ** 2 + (0.02 * z) ** 2) for end in ends]
    low, high = ((57 + others * min(1, share + step)) / population for step in beyond)
    assert (expected.low, expected.high) == (pytest.approx(low), pytest.approx(high))


def test_fewer_than_thirty_random_answers_are_not_believed_alone(made, labelling):
    for n, basis in ((29, "weighted"), (30, "random")):
        kinds = ["random"] * n + ["asked"] * 10
        result = labelling.teach(answers(made, [*range(n + 10)], drawn=kinds))
        assert (n, result.learned.basis) == (n, basis)


# -- behind a number of answers ---------------------------------------------------------------------------------------


def test_a_part_of_many_answers_chooses_as_all_of_them_would(monkeypatch):
    """Documents that stand for a class which no answer names are handed on where a part of the answers chooses."""
    hard = make_shifted_texts(90, 120, n_classes=3, noise=0.3, random_state=2)
    vote = isthmus.label(hard.source_texts, hard.source_labels, hard.target_texts, method="nbc")
    rows = [row for row in range(120) if hard.target_labels[row] != "class 2"][:61]
    best = []
    for many in (10_000, 60):
        monkeypatch.setitem(correction.CORRECTION, "many", many)
        table = vote.teach(answers(hard, rows, drawn=["random"] * 61)).model.stages[-1].correction.table
        assert len(table) == (1 if many < 61 else 6)
        best.append(max((row["weight"], row["trust"], row["strength"]) for row in table)[1:])
    assert best[0] == best[1]


def test_all_answers_count_when_the_next_question_is_chosen():
    """700 answers, of which the first alone is like document 701: it is asked after a document like none of them."""
    meaning = np.zeros((702, 3))
    meaning[0, 0] = meaning[700, 0] = 1.0
    meaning[1:700, 1] = 1.0
    meaning[701, 2] = 1.0
    probabilities = np.full((702, 2), 0.5)
    probabilities[701] = [0.6, 0.4]  # less doubtful, and yet of more use
    for answered in (range(700), range(699, -1, -1)):
        asked = ask_documents(probabilities, np.array(["a", "b"]), {}, meaning, 2, answered=[*answered])
        assert [question.row for question in asked] == [701, 700]


# -- votes with words -------------------------------------------------------------------------------------------------


def test_a_vote_with_words_says_the_same_of_a_text_that_comes_later(tmp_path):
    hard = make_shifted_texts(90, 80, noise=0.4, shared=0.2, class_shares=[0.7, 0.3], random_state=4)
    words = {}
    for name in ("class 0", "class 1"):
        known = [*hard.words_of(name, "shared")[:4], *hard.words_of(name, "target")[:10]]
        words |= dict.fromkeys(known, name)
    vote = isthmus.label(hard.source_texts, hard.source_labels, hard.target_texts, word_labels=words, embed=False)
    assert next(row for row in vote.decision if row["method"] == "words alone")["chosen"]
    np.testing.assert_allclose(vote.predict_proba(hard.target_texts), vote.probabilities, atol=1e-9)
    back = isthmus.load(vote.save(tmp_path / "m"))
    np.testing.assert_allclose(back.predict_proba(hard.target_texts), vote.probabilities, atol=1e-9)
    again = [result.teach(answers(hard)).probabilities for result in (vote, back)]
    np.testing.assert_allclose(again[1], again[0], rtol=1e-9)


def test_where_the_name_of_a_new_class_stands_among_the_others_changes_nothing():
    """Classes stand in the order of their names, so that a new one moves the columns of those the vote knows."""
    made = make_shifted_texts(120, 160, n_classes=3, n_novel=1, shared=0.6, random_state=3, length=18)
    untaught = isthmus.label(made.source_texts, made.source_labels, made.target_texts, method="nbc")
    rows = np.random.default_rng(0).choice(160, 50, replace=False)

    def told(new):
        answers = [new if made.target_labels[row] == "class 3" else made.target_labels[row] for row in rows]
        table = {"document": (rows + 1).tolist(), "true_label": answers, "drawn": ["random"] * 50}
        taught = untaught.teach(table)
        later = taught.label_new(made.target_texts[:40])
        order = [*untaught.classes.tolist(), new]
        columns = [taught.classes.tolist().index(name) for name in order]
        shares = {
            row["class"]: [row["labels"], row["estimate"], row["low"], row["high"]] for row in taught.class_shares()
        }
        return [
            [order.index(label) for part in (taught, later) for label in part.labels],
            [*taught.needs_review, *later.needs_review],
            [*taught.confidence, *later.confidence],
            taught.predict_proba(made.target_texts[:40])[:, columns],
            [shares[name] for name in order],
            [taught.expected_accuracy.estimate, taught.forecast(30).then],
            taught.ask(20)["document"],
        ]

    for one, other in zip(told("a class that stands first"), told("that stands last"), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, err_msg="the same but for the place of the name")


def test_a_corrected_source_keeps_ids_and_columns_of_the_target(made, labelling):
    ids, columns = [f"d{row}" for row in range(120)], json.dumps({"cells": {"city": ["Bonn"] * 120}})
    known = replace(labelling, ids=ids, input_table=columns)
    other = next(name for name in made.source_labels if name != made.source_labels[0])
    again = known.teach(source_labels={"document": [1], "true_label": [other]})
    assert again.ids == ids
    assert again.input_table == columns, "the target's columns are gone after a correction of the source"
