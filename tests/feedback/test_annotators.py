"""Answers of several annotators: how far they agree, and which class a document gets."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import isthmus
from isthmus.cli.app import run_command
from isthmus.evaluate import count_labels, fleiss_kappa, krippendorff_alpha
from isthmus.exceptions import DataError, UsageError
from isthmus.feedback.tables import read_answers
from isthmus_bench.shifted import make_shifted_texts


def test_agreement_beyond_chance():
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


def test_answers_that_two_people_gave_do_not_find_themselves_in_a_check():
    data = make_shifted_texts(n_source=200, n_target=200, random_state=0, shared=0.1, length=5)
    result = isthmus.label(data.source_texts, data.source_labels, data.target_texts, method="nbc", embed=False)
    sample = table(range(60), data.target_labels[:60])
    read_twice = table([*range(60), *range(60)], [*sample["true_label"]] * 2) | {"by": ["kim"] * 60 + ["lee"] * 60}
    once, twice = result.teach(sample, drawn="random"), result.teach(read_twice, drawn="random")
    assert twice.check(sample).right == once.check(sample).right < 60, "two readers who agree are one answer"


def test_agreement_and_a_budget_are_separate_jobs(labelled, tmp_path, monkeypatch, capsys):
    result, truth = labelled
    monkeypatch.chdir(tmp_path)
    result.save("run.isthmus")
    (tmp_path / "both.csv").write_text(
        f"document,true_label,by\n1,{truth[0]},kim\n1,{truth[0]},gpt\n", encoding="utf-8"
    )
    assert run_command(["check", "run.isthmus", "both.csv", "--by-annotator", "--budget", "0.1"]) == 2
    assert "takes only RESULT and CHECKED" in capsys.readouterr().err


def test_a_document_that_one_annotator_left_blank_and_another_answered_is_not_blank():
    labelling = SimpleNamespace(
        texts=["kind staff", "fair price"], ids=None, classes=np.array(["price", "staff"]), in_current_names=list
    )
    table = {"document": [1, 1, 2], "true_label": [None, "staff", None], "by": ["Kim", "Lee", "Kim"]}
    found = read_answers(labelling, table)
    assert (found.rows, found.labels, found.by) == ([0], ["staff"], ["Lee"])
    assert found.blank == [1]


def test_the_class_that_most_annotators_gave_is_the_answer(labelled, tmp_path):
    result, truth = labelled
    other = machine_says(truth, 0.0)
    answers = {
        "document": [1, 1, 2, 2, 3, 4, 4, 4],
        "true_label": [truth[0], truth[0], truth[1], other[1], truth[2], truth[3], other[3], truth[3]],
        "by": ["kim", "lee", "kim", "lee", "kim", "kim", "lee", "max"],
    }
    taught = result.teach(answers)
    assert sorted(taught.answers.rows) == [0, 2, 3], "document 2 has a tie"
    assert taught.labels[[0, 2, 3]].tolist() == truth[[0, 2, 3]].tolist()
    asked = taught.ask(1, suggest=True)
    assert asked["document"] == [2]
    assert asked["reason"] == [f"annotators disagree: kim gave {truth[1]}, lee gave {other[1]}"]
    assert taught.ask(1)["reason"] == ["annotators disagree"], "without suggestions no class is named"
    taught.save(tmp_path / "run.isthmus")
    assert isthmus.load(tmp_path / "run.isthmus").answers == taught.answers
    found = taught.check_annotators()
    assert found.documents == 3
    assert [(row["annotator"], row["answers"], row["shared"]) for row in found.annotators] == [
        ("kim", 4, 3),
        ("lee", 3, 3),
        ("max", 1, 1),
        ("isthmus", 4, 3),
    ]
    pairs = {(row["first"], row["second"]): (row["documents"], row["agreed"]) for row in found.pairs}
    assert pairs["kim", "lee"] == (3, 1 / 3)
    assert pairs["lee", "max"] == (1, 0.0)
    answered = taught.teach(table([1], truth[1:2]), by="max")
    assert answered.answers.disputed == {}
    assert answered.teach(without=answered.answers.batches[0]).answers.rows == [1]


def test_only_a_tie_teaches_nothing_but_is_asked_about(labelled):
    result, truth = labelled
    answers = {"document": [7, 7], "true_label": sorted(set(truth))[:2], "by": ["kim", "lee"]}
    taught = result.teach(answers)
    np.testing.assert_array_equal(taught.labels, result.labels)
    assert taught.ask(1)["document"] == [7]


def test_a_later_annotator_replaces_an_earlier_one_and_is_compared(labelled):
    result, truth = labelled
    machine = result.teach(table(range(150), machine_says(truth, 0.8)[:150]), by="gpt")
    person = machine.teach(table(range(40), truth[:40]), by="kim")
    assert person.labels[:40].tolist() == truth[:40].tolist()
    found = person.check_annotators()
    pair = next(row for row in found.pairs if (row["first"], row["second"]) == ("gpt", "kim"))
    assert pair["documents"] == 40
    assert pair["agreed"] == pytest.approx(np.mean(machine.labels[:40] == truth[:40]))
    back = person.teach(without=person.answers.batches[-1])
    np.testing.assert_array_equal(back.labels, machine.labels, err_msg="undoing a table restores the answers before it")


def test_one_annotator_cannot_be_compared(labelled):
    result, truth = labelled
    with pytest.raises(DataError, match="one annotator"):
        result.check_annotators({"document": [1], "true_label": [truth[0]], "by": ["kim"]})
    with pytest.raises(DataError, match="by is needed"):
        result.check_annotators(table([0], truth[:1]))
    with pytest.raises(UsageError, match="name who gave the answers"):
        result.teach(table([0], truth[:1]), by=" ")


def test_the_command_names_and_compares_annotators(labelled, tmp_path, monkeypatch, capsys):
    result, truth = labelled
    monkeypatch.chdir(tmp_path)
    result.save("run.isthmus")
    answers = machine_says(truth, 0.8)
    rows = [f"{row + 1},{answers[row]},gpt\n{row + 1},{truth[row]},kim" for row in range(20)]
    (tmp_path / "both.csv").write_text("document,true_label,by\n" + "\n".join(rows) + "\n", encoding="utf-8")
    lines = "".join(f"{row + 1},{answers[row]}\n" for row in range(50))
    (tmp_path / "llm.csv").write_text("document,true_label\n" + lines, encoding="utf-8")
    command = ["teach", "run.isthmus", "llm.csv", "--by", "gpt", "-o", "out.csv", "--save", "taught.isthmus"]
    assert run_command(command) == 0
    assert "50 answers learned" in capsys.readouterr().err
    assert isthmus.load("taught.isthmus").answers.by == ["gpt"] * 50
    assert run_command(["check", "run.isthmus", "both.csv", "--by-annotator", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["annotator"] for row in found["annotators"]] == ["gpt", "kim", "isthmus"]
    assert found["documents"] == 20
    assert run_command(["check", "out.csv", "both.csv", "--by-annotator"]) == 0
    assert "gpt and kim: agree in" in capsys.readouterr().out
    assert run_command(["check", "run.isthmus", "--by-annotator"]) == 2
    assert run_command(["teach", "run.isthmus", "--by", "gpt", "--words", "llm.csv", "-o", "x.csv"]) == 2
