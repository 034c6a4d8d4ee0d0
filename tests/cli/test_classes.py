"""``isthmus label --class`` and ``--classes``: next to a source, without one, and with the other options."""

import json
from functools import partial
from pathlib import Path

import pytest
from cli_tables import make_texts as make_any_texts
from cli_tables import read_csv, write_csv

from isthmus.cli.app import run_command

make_texts = partial(make_any_texts, visits=9)
STAFF = ["friendly", "rude", "helpful", "polite", "impatient", "kind"]
PRICE = ["expensive", "cheap", "costly", "bargain", "overpriced", "fair"]
PARKING = ["garage", "barrier", "spaces", "lot", "ticket", "car"]
CLASSES = ("--class", "staff: friendly, rude", "--class", "price: cheap, costly", "--class", "parking: garage, ticket")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = ["staff"] * 40 + ["price"] * 40
    write_csv("source.csv", {"comment": make_texts(STAFF, 40, 0) + make_texts(PRICE, 40, 1), "class": labels})
    texts = make_texts(STAFF, 30, 2) + make_texts(PRICE, 30, 3) + make_texts(PARKING, 20, 4)
    write_csv("target.csv", {"id": [f"A-{i}" for i in range(80)], "comment": texts})
    half = ["staff"] * 10 + [""] * 20 + ["price"] * 10 + [""] * 40
    write_csv("half.csv", {"id": [f"A-{i}" for i in range(80)], "comment": texts, "class": half})
    return texts


def label(*arguments):
    return run_command(["label", *arguments, "--embed", "none"])


def count(name, which):
    return [row["label"] for row in read_csv(name)].count(which)


def test_without_a_source(files, capsys):
    assert label("target.csv", *CLASSES, "--class", "C13", "-o", "out.csv", "--save", "m.isthmus") == 0
    talk = capsys.readouterr().err
    assert (
        "warning: The accuracy is not estimated (no two classes have labelled documents; answer about a hundred" in talk
    )
    assert "'C13' means nothing" in talk
    assert "Read them all." in talk
    assert (count("out.csv", "staff"), count("out.csv", "parking")) == (30, 20)
    record = json.loads(Path("run.json").read_text("utf-8"))
    assert record["options"]["classes"][0] == "staff: friendly, rude"
    assert record["settings"]["classes"]["parking"] == "garage, ticket"
    assert record["expected_accuracy"]["estimate"] is None
    assert record["method"] == "names"


def test_the_loop_without_a_source(files, capsys):
    assert label("target.csv", *CLASSES, "-o", "out.csv", "--save", "m.isthmus") == 0
    assert run_command(["ask", "m.isthmus", "-n", "20", "-o", "ask.csv"]) == 0
    rows = read_csv("ask.csv")
    truth = ["staff"] * 30 + ["price"] * 30 + ["parking"] * 20
    answers = {"document": [row["document"] for row in rows]}
    answers["true_label"] = [truth[int(row["document"]) - 1] for row in rows]
    write_csv("answers.csv", answers)
    assert run_command(["teach", "m.isthmus", "answers.csv", "-o", "taught.csv", "--save", "t.isthmus"]) == 0
    assert count("taught.csv", "parking") == 20
    capsys.readouterr()
    assert run_command(["label", "--model", "t.isthmus", "target.csv", "-o", "later.csv"]) == 0
    assert count("later.csv", "parking") == 20
    assert run_command(["explain", "m.isthmus", "--document", "A-79"]) == 0


def test_a_class_is_added_to_those_of_the_source(files, capsys):
    write_csv("classes.csv", {"class": ["parking", "staff"], "description": ["garage, ticket, lot", "people"]})
    named = "--classes", "classes.csv", "--class", "parking"  # the name alone leaves its words to the table
    assert label("source.csv", "target.csv", *named, "-o", "out.csv", "--report", "r.html") == 0
    assert 15 <= count("out.csv", "parking") <= 25
    assert "+names (" in capsys.readouterr().err
    record = json.loads(Path("run.json").read_text("utf-8"))
    assert any("only their names describe: parking" in row["why"] for row in record["decision"])
    assert any(row["path"] == "classes.csv" for row in record["inputs"])
    assert "garage, ticket, lot" in Path("r.html").read_text("utf-8")


def test_a_half_labelled_file_and_a_class_by_name(files):
    assert label("half.csv", "--label", "class", "--class", "parking: garage, ticket, lot", "-o", "out.csv") == 0
    rows = read_csv("out.csv")
    assert [row["given"] for row in rows].count("True") == 20
    assert 15 <= [row["label"] for row in rows].count("parking") <= 25


def test_one_class_of_the_source_and_one_by_name(files):
    write_csv("one.csv", {"comment": make_texts(STAFF, 40, 0), "class": ["staff"] * 40})
    assert label("one.csv", "target.csv", "--class", "price: cheap, costly, fair", "-o", "out.csv") == 0
    assert count("out.csv", "price") > 20


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("target.csv", "--class", ": words"), "has no name before the colon"),
        (("target.csv", "--class", "C13", "--class", "M2"), "name at least two"),
        (("source.csv", "target.csv", "--class", "sport", "--method", "nbc"), "does not read names of classes"),
        (("source.csv", "target.csv", "--class", "sport", "--engine", "local"), "leave out --class"),
        (("--model", "m.isthmus", "target.csv", "--class", "sport"), "leave out --class"),
        (("source.csv", "target.csv", "--classes", "source.csv", "--class", "staff: x"), "give them in one place"),
    ],
)
def test_what_cannot_work_is_refused(files, capsys, arguments, sentence):
    write_csv("source.csv", {"comment": ["a b c", "d e f"], "class": ["staff", "price"], "words": ["y", "z"]})
    assert label(*arguments, "-o", "out.csv") != 0
    assert sentence in capsys.readouterr().err


def test_words_none_is_an_option_that_is_switched_off(files):
    assert label("source.csv", "target.csv", "--words", "none", "-o", "out.csv") == 0
    record = json.loads(Path("run.json").read_text("utf-8"))
    assert record["options"]["words"] == "none"
    assert [row["path"] for row in record["inputs"]] == ["source.csv", "target.csv"]


@pytest.mark.parametrize("pair", [" ", "=parking", "1="])
def test_a_group_and_its_class_are_typed_with_a_sign_between(files, capsys, pair):
    Path("m.isthmus").write_bytes(b"")
    assert run_command(["teach", "m.isthmus", "--name-group", pair, "-o", "out.csv"]) == 2
    assert "give GROUP=CLASS, such as --name-group 1=parking" in capsys.readouterr().err
