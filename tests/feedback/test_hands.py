"""Answers of several hands: how reliable each is, what they say together, and what teach makes of it."""

import json
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

import isthmus
from isthmus.cli.app import run_command
from isthmus.evaluate import count_labels, fleiss_kappa, krippendorff_alpha
from isthmus.exceptions import DataError, UsageError
from isthmus.feedback import dawid_skene, weigh_answers
from isthmus.feedback.hands import describe_hand
from isthmus.feedback.tables import read_answers
from isthmus_bench.shifted import make_shifted_texts


def simulated(rights, n=300, n_classes=3, seed=0):
    """Every document answered by hands that are right with these probabilities."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n)
    documents, hands = np.repeat(np.arange(n), len(rights)), np.tile(np.arange(len(rights)), n)
    wrong = (np.repeat(truth, len(rights)) + rng.integers(1, n_classes, len(hands))) % n_classes
    said = np.where(rng.random(len(hands)) < np.array(rights)[hands], np.repeat(truth, len(rights)), wrong)
    return truth, documents, hands, said


def test_hands_are_told_apart_without_any_truth():
    rights = [0.9, 0.75, 0.6]
    truth, documents, hands, said = simulated(rights)
    found = dawid_skene(documents, hands, said, 3)
    assert found.right == pytest.approx(rights, abs=0.07)
    accuracy = np.mean(found.probabilities.argmax(axis=1) == truth)
    best = np.mean(said[hands == 0] == truth)
    assert accuracy >= best, f"together right in {accuracy:.3f}, the best hand alone in {best:.3f}"


def test_a_hand_that_is_wrong_on_one_class_gets_a_table_that_says_so():
    truth, documents, hands, said = simulated([0.95, 0.95, 0.95])
    said = np.where((hands == 2) & (np.repeat(truth, 3) == 0), 1, said)
    found = dawid_skene(documents, hands, said, 3)
    assert found.tables[2, 0].argmax() == 1, "given class 0, the third hand says 1"
    assert found.tables[2, 2, 2] > 0.85
    np.testing.assert_allclose(found.tables.sum(axis=2), 1.0, err_msg="what a hand says given a class")


def test_known_documents_are_not_outvoted():
    found = dawid_skene(np.array([0, 0, 0]), np.array([0, 1, 2]), np.array([1, 1, 1]), 2, known={0: 0})
    assert found.probabilities.tolist() == [[1.0, 0.0]]
    assert (found.right < 0.7).all(), "all three were wrong about the one document that is known"


def test_a_guessing_hand_tells_nothing_and_unknown_classes_count_for_nothing():
    rng = np.random.default_rng(0)
    entries = [{"row": row, "label": "ab"[rng.integers(2)], "by": "coin"} for row in range(200)]
    entries += [{"row": 0, "label": "zebra", "by": "odd"}]
    vote = np.tile([0.7, 0.3], (200, 1))
    settled = {row: "ab"[row % 2] for row in range(60)}
    found = weigh_answers(entries, settled, ["a", "b"], vote)
    assert found.worth.max() < 0.1, "a coin is worth less than a tenth of an answer"
    assert [row["unknown"] for row in found.hands] == [0, 1]
    assert set(found.rows.tolist()) == set(range(60, 200)), "settled documents are not weighed"


def test_a_document_that_a_person_put_into_another_class_is_settled_for_hands_too():
    entries = [{"row": row, "label": "a", "by": "machine"} for row in range(3)]
    found = weigh_answers(entries, {0: "a", 1: "parking"}, ["a", "b"], np.full((3, 2), 0.5))
    assert found.rows.tolist() == [2], "no hand speaks about documents 0 and 1, which a person answered"
    assert found.hands[0]["measured"] == 1, "what is of no class here measures nobody"


def test_agreement_beyond_chance_by_hand():
    counts = count_labels([1, 1, 2, 2, 3, 3], ["a", "a", "a", "b", "b", "b"])
    assert counts.tolist() == [[2, 0], [1, 1], [0, 2]]
    assert fleiss_kappa(counts) == pytest.approx((2 / 3 - 1 / 2) / (1 / 2))
    assert krippendorff_alpha(counts) == pytest.approx(1 - (1 / 3) / (18 / 30))
    assert fleiss_kappa(np.array([[1, 0]])) is None
    assert krippendorff_alpha(np.array([[2, 0], [2, 0]])) is None
    assert krippendorff_alpha(np.array([[1, 0], [0, 1]])) is None, "nobody met"


@pytest.fixture(scope="module")
def labelled():
    data = make_shifted_texts(n_source=200, n_target=200, random_state=0)
    result = isthmus.label(data.source_texts, data.source_labels, data.target_texts, method="nbc")
    return result, np.array(data.target_labels)


def table(rows, labels):
    return {"document": [int(row) + 1 for row in rows], "true_label": list(labels)}


def machine_says(truth, right, seed=0):
    rng = np.random.default_rng(seed)
    classes = np.unique(truth)
    codes = np.searchsorted(classes, truth)
    other = classes[(codes + 1) % len(classes)]
    return np.where(rng.random(len(truth)) < right, truth, other)


def test_a_machine_is_measured_by_a_person_and_weighed(labelled, tmp_path):
    result, truth = labelled
    person = result.teach(table(range(40), truth[:40]), drawn="random")
    taught = person.teach(table(range(150), machine_says(truth, 0.8)[:150]), by="gpt")
    hand = taught.learned.hands[0]
    assert (hand["hand"], hand["answers"], hand["measured"]) == ("gpt", 150, 40)
    assert hand["low"] <= 0.8 <= hand["high"]
    assert len(taught.answers) == 40, "a machine's answers are not a person's"
    assert "gpt: 150 answers, right in about" in str(taught.learned)
    free = np.arange(40, 150)
    before, after = (np.mean(part.labels[free] == truth[free]) for part in (person, taught))
    assert after >= before, f"{before:.3f} right before, {after:.3f} with the machine's answers"
    assert (taught.confidence[free] < 1).all(), "no machine's answer is certain"
    taught.save(tmp_path / "run.isthmus")
    again = isthmus.load(tmp_path / "run.isthmus")
    assert again.answers.weighed == taught.answers.weighed
    back = taught.teach(without="answers 2")
    np.testing.assert_array_equal(back.labels, person.labels, err_msg="taking the table back restores what was")


def test_what_a_machine_said_does_not_depend_on_the_order_of_the_rows(labelled):
    """Its documents are parted for cross-fitting by their texts, not by their places."""
    data = make_shifted_texts(n_source=200, n_target=200, random_state=0)
    truth = np.array(data.target_labels)
    said = machine_says(truth, 0.8)
    order = np.random.default_rng(1).permutation(len(truth))
    place = np.argsort(order)
    result, _ = labelled
    shuffled = isthmus.label(data.source_texts, data.source_labels, [data.target_texts[i] for i in order], method="nbc")
    taught = result.teach(table(range(20), truth[:20])).teach(table(range(150), said[:150]), by="gpt")
    other = shuffled.teach(table(place[:20], truth[:20])).teach(table(place[:150], said[:150]), by="gpt")
    np.testing.assert_array_equal(other.labels, taught.labels[order], err_msg="labels by document")
    np.testing.assert_allclose(other.confidence, taught.confidence[order], atol=1e-6, err_msg="confidences by document")


def test_one_long_text_does_not_make_a_table_as_wide_as_itself():
    data = make_shifted_texts(n_source=200, n_target=200, random_state=0)
    texts = [*data.target_texts[:199], "word " * 40_000]
    result = isthmus.label(data.source_texts, data.source_labels, texts, method="nbc")
    person = result.teach(table(range(20), data.target_labels[:20]))
    tracemalloc.start()
    try:
        person.teach(table(range(200), data.target_labels), by="gpt")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50e6, f"{peak / 1e6:.0f} MB for 200 documents, one of them of 200,000 characters"


def test_what_a_machine_said_does_not_depend_on_where_a_new_class_stands(labelled):
    """A class that a person adds sorts before or after the others, and the machine's answers stay what they are."""
    result, truth = labelled
    machine = {"document": list(range(1, 61)), "true_label": list(truth[:60])}
    weighed = result.teach(machine, by="machine")
    found = {}
    for name in ("", "~"):
        new = f"{name}0 another class"
        person = {"document": [81, 82, 83], "true_label": [new, new, truth[82]]}
        taught = weighed.teach(person)
        assert (taught.classes.tolist().index(new) == 0) == (name == "")
        found[name] = np.where(taught.labels == new, "new", taught.labels)[:60].tolist()
    assert found[""] == found["~"]
    assert np.mean(found[""] == np.array(truth[:60])) > 0.9


def test_contradictions_are_asked_first(labelled):
    result, truth = labelled
    wrong = machine_says(truth, 0.0)
    taught = result.teach(table(range(30), np.where(np.arange(30) < 5, wrong[:30], result.labels[:30])), by="gpt")
    asked = taught.ask(5, suggest=True)
    disputed = {row + 1 for row in range(30) if taught.answers.weighed[row]["label"] != result.labels[row]}
    assert set(asked["document"]) & disputed
    assert asked["reason"][0].startswith("hands disagree: gpt says ")
    assert taught.ask(5)["reason"][0] == "hands disagree", "without suggestions no class is named"


def test_several_hands_in_one_table(labelled):
    result, truth = labelled
    other = machine_says(truth, 0.0)
    answers = {
        "document": [1, 1, 2, 2, 3],
        "true_label": [truth[0], truth[0], truth[1], other[1], truth[2]],
        "by": ["kim", "lee", "kim", "lee", "kim"],
    }
    taught = result.teach(answers)
    assert sorted(taught.answers.rows) == [0, 2], "hands that agree are one answer, and one hand alone is believed"
    assert {entry["row"] for entry in taught.answers.weighed} == {0, 1}
    assert "hands disagree: kim says" in " ".join(taught.ask(1, suggest=True)["reason"])
    found = taught.check_hands(answers)
    assert found.documents == 2
    assert {row["hand"] for row in found.hands} == {"kim", "lee", "isthmus"}
    with pytest.raises(DataError, match="one hand"):
        result.check_hands({"document": [1], "true_label": [truth[0]], "by": ["kim"]})
    with pytest.raises(DataError, match="by is needed"):
        result.check_hands(table([0], truth[:1]))
    with pytest.raises(UsageError, match="name who gave the answers"):
        result.teach(table([0], truth[:1]), by=" ")


def test_nobody_is_measured_by_their_own_word(labelled):
    result, truth = labelled
    other = machine_says(truth, 0.0)
    rows = [row for row in range(40) for _ in range(2)]
    said = [name for row in range(40) for name in (truth[row], other[row] if row < 10 else truth[row])]
    together = result.teach(table(rows, said) | {"by": ["kim", "lee"] * 40})
    kim = together.learned.hands[0]
    assert (kim["hand"], kim["measured"], kim["together"]) == ("kim", 0, 30), "where they agree, they are the answer"
    assert "by the other hands and the methods' labels; answer some of these documents yourself" in str(
        together.learned
    )
    read = together.teach(table(range(20), truth[:20]), drawn="random")
    kim, lee = read.learned.hands
    assert (kim["measured"], kim["agreed"], kim["together"]) == (20, 20, 20)
    assert (lee["measured"], lee["agreed"]) == (20, 10)


def test_answers_that_two_people_gave_do_not_find_themselves_in_a_check():
    data = make_shifted_texts(n_source=200, n_target=200, random_state=0, shared=0.1, length=5)
    result = isthmus.label(data.source_texts, data.source_labels, data.target_texts, method="nbc", embed=False)
    sample = table(range(60), data.target_labels[:60])
    read_twice = table([*range(60), *range(60)], [*sample["true_label"]] * 2) | {"by": ["kim"] * 60 + ["lee"] * 60}
    once, twice = result.teach(sample, drawn="random"), result.teach(read_twice, drawn="random")
    assert twice.check(sample).right == once.check(sample).right < 60, "two readers who agree are one answer"


def test_the_command_weighs_and_compares(labelled, tmp_path, monkeypatch, capsys):
    result, truth = labelled
    monkeypatch.chdir(tmp_path)
    result.save("run.isthmus")
    said = machine_says(truth, 0.8)
    rows = [f"{row + 1},{said[row]},gpt\n{row + 1},{truth[row]},kim" for row in range(20)]
    (tmp_path / "both.csv").write_text("document,true_label,by\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "llm.csv").write_text(
        "document,true_label\n" + "".join(f"{row + 1},{said[row]}\n" for row in range(50)), encoding="utf-8"
    )
    assert run_command(["teach", "run.isthmus", "llm.csv", "--by", "gpt", "-o", "out.csv"]) == 0
    assert "50 answers weighed" in capsys.readouterr().err
    assert run_command(["check", "run.isthmus", "both.csv", "--by-hand", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["hand"] for row in found["hands"]] == ["gpt", "kim", "isthmus"]
    assert found["documents"] == 20
    assert run_command(["check", "out.csv", "both.csv", "--by-hand"]) == 0
    assert "gpt and kim: agree in" in capsys.readouterr().out
    assert run_command(["check", "run.isthmus", "--by-hand"]) == 2
    assert run_command(["teach", "run.isthmus", "--by", "gpt", "--words", "llm.csv", "-o", "x.csv"]) == 2


def test_a_guarantee_after_machine_answers_rests_on_the_person_alone(labelled):
    result, truth = labelled
    taught = result.teach(table(range(len(truth)), machine_says(truth, 0.8)), by="gpt")
    assert taught.may_pass.all(), "what a machine answered is still unread"
    sample = taught.sample(60, budget=0.3)
    rows = [number - 1 for number in sample["document"]]
    sample["true_label"] = [truth[row] for row in rows]
    checked = taught.check(sample, budget=0.3)
    right = int(np.sum(taught.labels[rows] == truth[rows]))
    assert (checked.n, checked.right) == (len(rows), right), "the machine's answers are no part of the sample"
    assert checked.guarantee is not None
    renamed = taught.rename_classes({truth[0]: "renamed"})
    assert renamed.learned.hands == taught.learned.hands, "another name for a class says nothing about a hand"


def test_by_hand_and_a_budget_are_two_questions(labelled, tmp_path, monkeypatch, capsys):
    result, truth = labelled
    monkeypatch.chdir(tmp_path)
    result.save("run.isthmus")
    (tmp_path / "both.csv").write_text(
        f"document,true_label,by\n1,{truth[0]},kim\n1,{truth[0]},gpt\n", encoding="utf-8"
    )
    assert run_command(["check", "run.isthmus", "both.csv", "--by-hand", "--budget", "0.1"]) == 2
    assert "takes RESULT and CHECKED alone" in capsys.readouterr().err


def test_a_document_that_one_hand_left_blank_and_another_answered_is_not_blank():
    labelling = SimpleNamespace(
        texts=["kind staff", "fair price"], ids=None, classes=np.array(["price", "staff"]), in_current_names=list
    )
    table = {"document": [1, 1, 2], "true_label": [None, "staff", None], "by": ["Kim", "Lee", "Kim"]}
    found = read_answers(labelling, table)
    assert (found.rows, found.labels, found.by) == ([0], ["staff"], ["Lee"])
    assert found.blank == [1]


def test_hands_are_told_in_the_order_of_their_names():
    """Each with what it said itself; nobody knows how often a hand of unknown classes is right."""
    entries = [{"row": row, "label": "ab"[row % 2], "by": "Zoe"} for row in range(12)]
    entries += [{"row": row, "label": "ab"[row % 3 == 0], "by": "Ann"} for row in range(9)]
    entries += [{"row": 0, "label": "zebra", "by": "Mia"}]
    settled = {row: "ab"[row % 2] for row in range(6)}
    found = weigh_answers(entries, settled, ["a", "b"], np.full((12, 2), 0.5))
    told = [(row["hand"], row["answers"], row["measured"], row["agreed"], row["unknown"]) for row in found.hands]
    # To documents 0 to 5 Ann said b a a b a a, and a b a b a b are settled: she is right about 2, 3 and 4.
    assert told == [("Ann", 9, 6, 3, 0), ("Mia", 1, 0, 0, 1), ("Zoe", 12, 6, 6, 0)]
    assert found.hands[1]["right"] is None
    assert describe_hand(found.hands[1]) == "Mia: 1 answer; 1 name no class and count for nothing"
    assert describe_hand(found.hands[2]).startswith("Zoe: 12 answers, right in about ")
    assert describe_hand(found.hands[2]).endswith("by 6 documents that a person answered)")


def test_each_hand_is_told_of_its_own_documents_that_hands_agreed_on():
    entries = [{"row": row, "label": "a", "by": by} for row, by in ((0, "kim"), (0, "lee"), (1, "lee"), (2, "max"))]
    found = weigh_answers(entries, {0: "a", 1: "a"}, ["a", "b"], np.full((3, 2), 0.5), together=[0])
    told = {row["hand"]: (row["answers"], row["measured"], row["together"]) for row in found.hands}
    assert told == {"kim": (1, 0, 1), "lee": (2, 1, 1), "max": (1, 0, 0)}
