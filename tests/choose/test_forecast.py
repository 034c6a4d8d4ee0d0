"""What answers are forecast to bring: by hand at the ends, and against what teaching then does."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.choose import AccuracyEstimate
from isthmus.choose.forecast import forecast_answers
from isthmus.cli.app import run_command
from isthmus.corpus import read_table, write_rows
from isthmus_bench.shifted import make_shifted_texts

SURE = np.linspace(0.99, 0.5, 400)
TEXTS = ["four words of text"] * 400


def test_nothing_answered_changes_nothing_and_all_answered_leaves_nothing():
    none = forecast_answers(SURE, SURE < 0.8, [], 0.1, TEXTS)
    assert (none.answers, none.minutes, none.now, none.then) == (0, 0, none.now, none.now)
    assert none.right == pytest.approx(SURE.mean())
    every = forecast_answers(SURE, SURE < 0.8, range(400), 0.1, TEXTS)
    assert (every.then, every.right) == (0, 1.0)


def test_more_answers_leave_less_to_review_and_more_right():
    found = [forecast_answers(SURE, SURE < 0.8, range(400 - n, 400), 0.1, TEXTS) for n in (20, 50, 100, 200)]
    assert [row.then for row in found] == sorted((row.then for row in found), reverse=True)
    assert [row.right for row in found] == sorted(row.right for row in found)
    # the hundred least sure were right in 56 of 100 cases: alone they raise the mean by eleven points
    raised = np.where(np.arange(400) >= 300, 1.0, SURE).mean()
    assert raised < found[2].right < raised + 0.3 * (1 - raised), "what is learned comes on top, and is bounded"


def test_a_stricter_budget_leaves_more():
    lax, strict = (forecast_answers(SURE, SURE < 0.8, range(300, 400), budget, TEXTS).then for budget in (0.2, 0.02))
    assert strict > lax


@pytest.mark.parametrize(
    ("now", "then", "said"),
    [(300, 40, "should shrink from 300 to about 40"), (3, 9, "should change from 3 to about 9"), (0, 0, "Nothing is")],
)
def test_the_sentence(now, then, said):
    found = forecast_answers(SURE, SURE < 0.8, [1], 0.1, TEXTS)._replace(now=now, then=then, right=0.876)
    assert said in str(found)
    assert str(found).endswith("after 1 answer (about 1 minute), and about 88% of all labels should be right then.")


@pytest.fixture(scope="module")
def labelled():
    texts = make_shifted_texts(150, 150, shared=0.3, noise=0.25, random_state=2)
    return isthmus.label(texts.source_texts, texts.source_labels, texts.target_texts, method="nbc"), texts


def test_what_was_forecast_comes_about(labelled):
    result, texts = labelled
    table = result.ask(60)
    found = result.forecast(table)
    table["true_label"] = [texts.target_labels[number - 1] for number in table["document"]]
    taught = result.teach(table)
    right = np.mean(taught.labels == np.array(texts.target_labels, dtype=object))
    assert found.answers == 60
    assert found.right == pytest.approx(right, abs=0.12)
    assert abs(found.then - int(taught.needs_review.sum())) <= 0.3 * len(result.texts)


def test_so_many_as_one_can_read_are_the_least_sure_that_nobody_answered(labelled):
    result, _ = labelled
    by_number = result.forecast(20)
    least = np.argsort(result.confidence, kind="stable")[:20]
    assert by_number == result.forecast({"document": (least + 1).tolist()})
    assert result.forecast(10_000).right == 1.0


def test_the_command_says_what_answers_will_bring(labelled, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result, _ = labelled
    result.save("run.isthmus")
    assert run_command(["ask", "run.isthmus", "--read", "30", "-o", "questions.csv"]) == 0
    assert str(result.forecast(result.ask(30))) in " ".join(capsys.readouterr().err.split())


def test_answers_that_were_given_but_not_learned_count_as_right_and_are_not_read_again():
    both = forecast_answers(SURE, SURE < 0.8, range(300, 400), 0.1, TEXTS)
    later = forecast_answers(SURE, SURE < 0.8, range(350, 400), 0.1, TEXTS, given=range(300, 350))
    assert (later.then, later.right) == (both.then, both.right)
    assert (later.answers, later.now) == (50, both.now - 50)
    assert later.minutes < both.minutes


def test_nothing_is_forecast_where_nothing_is_expected(labelled):
    result, _ = labelled
    assert replace(result, expected_accuracy=AccuracyEstimate(None)).forecast(20) is None


@pytest.mark.parametrize("save", [True, False])
def test_label_writes_what_you_can_read_and_says_what_it_brings(labelled, tmp_path, capsys, monkeypatch, save):
    monkeypatch.chdir(tmp_path)
    _, texts = labelled
    write_rows("s.csv", {"text": texts.source_texts, "label": texts.source_labels})
    write_rows("t.csv", {"text": texts.target_texts})
    saved = ["--save", "run.isthmus"] if save else []
    line = ["label", "s.csv", "t.csv", "--method", "nbc", "-o", "out.csv", "--read", "30", *saved]
    assert run_command(line) == 0
    said = " ".join(capsys.readouterr().err.split())
    questions = read_table("out-to_read.csv")
    assert len(questions["document"]) == 30
    record = json.loads(Path("out.run.json" if Path("out.run.json").exists() else "run.json").read_text())
    wanted = labelled[0].forecast(labelled[0].ask(30))
    assert record["forecast"] == pytest.approx(wanted._asdict())
    assert str(wanted) in said
    then = "isthmus teach run.isthmus out-to_read.csv" if save else "the same line with --answers out-to_read.csv"
    assert then in said
    assert run_command([*line[:5], "--read", "30", "-o", "-"]) == 2
    assert "name a file" in capsys.readouterr().err


def test_teach_says_the_forecast_again(labelled, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result, texts = labelled
    result.save("run.isthmus")
    table = result.ask(20)
    table["true_label"] = [texts.target_labels[number - 1] for number in table["document"]]
    write_rows("answers.csv", table)
    assert run_command(["teach", "run.isthmus", "answers.csv", "-o", "taught.csv", "--json"]) == 0
    out = capsys.readouterr()
    said = json.loads(out.out)["forecast"]
    forecast = result.teach("answers.csv").forecast(said["answers"])
    assert said == pytest.approx(forecast._asdict())
