"""What comes after a label keeps the user's columns, and never counts an answer by itself."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli_tables import make_texts, write_csv
from cli_tables import read_csv as read

import isthmus
from isthmus.cli.app import run_command
from isthmus.cli.outputs import remember_table
from isthmus.corpus import Collection

STAFF = ["friendly", "rude", "helpful", "polite"]
PRICE = ["expensive", "cheap", "costly", "bargain"]
TRUTH = ["staff" if i % 5 else "price" for i in range(30)] + ["price" if i % 5 else "staff" for i in range(30)]
COLUMNS = ["store", "comment", "stars"]
ADDED = ["label", "confidence", "needs_review", "novel_group", "review_reason"]


def label_and_check():
    source = make_texts(STAFF, 30, 0) + make_texts(PRICE, 30, 1)
    write_csv("source.csv", {"comment": source, "class": ["staff"] * 30 + ["price"] * 30})
    target = make_texts(STAFF, 30, 2) + make_texts(PRICE, 30, 3)
    write_csv("target.csv", {"store": ["north", "south"] * 30, "comment": target, "stars": ["007"] * 60})
    assert run("label", "source.csv", "target.csv", "-o", "out.csv", "--save", "run.isthmus") == 0
    assert run("check", "run.isthmus", "--sample", "40", "-o", "sample.csv") == 0
    rows = read("sample.csv")
    filled = {key: [row[key] for row in rows] for key in rows[0]}
    write_csv("checked.csv", filled | {"true_label": [TRUTH[int(row["document"]) - 1] for row in rows]})


@pytest.fixture
def files(enter_copy):
    enter_copy(label_and_check)


def run(command, *arguments):
    method = ["--method", "logistic"] if command == "label" else []
    return run_command([command, *arguments, *method, "--quiet"])


def test_taught_and_checked_tables_keep_every_column_in_its_order(files):
    assert run("teach", "run.isthmus", "checked.csv", "-o", "taught.csv") == 0
    assert run("check", "run.isthmus", "checked.csv", "-o", "corrected.csv") == 0
    before = read("target.csv")
    for name, more in (("taught.csv", "answered"), ("corrected.csv", "checked")):
        rows = read(name)
        assert list(rows[0]) == [*COLUMNS, *ADDED, more]
        assert [{key: row[key] for key in COLUMNS} for row in rows] == before


def test_only_the_columns_asked_for_are_added(files, capsys):
    """S6: the user's table with the label alone, by every command that writes labels."""
    assert run("label", "source.csv", "target.csv", "-o", "plain.csv", "--add", "label") == 0
    assert run_command(["label", "--model", "run.isthmus", "target.csv", "-o", "later.csv", "--add", "label"]) == 0
    assert run("teach", "run.isthmus", "checked.csv", "-o", "taught.csv", "--add", "label", "--add", "answered") == 0
    assert run("check", "run.isthmus", "checked.csv", "-o", "corrected.csv", "--add", "label") == 0
    assert run("check", "out.csv", "checked.csv", "-o", "again.csv", "--add", "label") == 0
    for name, more in (("plain", []), ("later", []), ("taught", ["answered"]), ("corrected", []), ("again", [])):
        assert list(read(f"{name}.csv")[0]) == [*COLUMNS, "label", *more], f"{name}.csv has other columns"
    assert [row["label"] for row in read("plain.csv")] == [row["label"] for row in read("out.csv")]
    capsys.readouterr()
    for command in (["label", "source.csv", "target.csv"], ["teach", "run.isthmus", "checked.csv"]):
        assert run(*command, "-o", "new.csv", "--add", "labl") == 2
        assert "--add 'labl'; use one of label, confidence," in capsys.readouterr().err
    assert run("check", "run.isthmus", "--sample", "5", "-o", "new.csv", "--add", "label") == 2
    assert "give CHECKED and -o OUT" in capsys.readouterr().err


def test_a_labelling_without_columns_says_so_and_takes_the_file(files, capsys):
    saved = isthmus.load("run.isthmus")
    saved.input_table = None
    saved.save("bare.isthmus")
    assert run_command(["teach", "bare.isthmus", "checked.csv", "-o", "bare.csv"]) == 0
    assert "lacks the other columns of the target; --target FILE adds them." in capsys.readouterr().err
    assert list(read("bare.csv")[0]) == ["id", "text", *ADDED, "answered"]
    arguments = ["bare.isthmus", "checked.csv", "--target", "target.csv"]
    assert run("teach", *arguments, "-o", "taught.csv") == 0
    assert run("check", *arguments, "-o", "corrected.csv") == 0
    assert list(read("taught.csv")[0]) == [*COLUMNS, *ADDED, "answered"]
    assert list(read("corrected.csv")[0]) == [*COLUMNS, *ADDED, "checked"]
    assert run("teach", "bare.isthmus", "checked.csv", "--target", "source.csv", "-o", "other.csv") == 1
    assert "give the file that was labelled" in capsys.readouterr().err


def test_check_after_teach_does_not_find_its_own_answers(files, capsys):
    assert run("teach", "run.isthmus", "checked.csv", "-o", "taught.csv", "--save", "taught.isthmus") == 0
    capsys.readouterr()
    assert run_command(["check", "taught.isthmus", "checked.csv", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["learned"] == found["n"] == 40
    assert found["right"] < 40
    assert found["accuracy"] == pytest.approx((40 + 20 * found["right"] / 40) / 60)
    # The table alone cannot tell what its labels would be without the answers, by either way to it.
    assert run("label", "source.csv", "target.csv", "--answers", "checked.csv", "-o", "at_once.csv") == 0
    for table in ("taught.csv", "at_once.csv"):
        capsys.readouterr()
        assert run("check", table, "checked.csv") == 1
        error = capsys.readouterr().err
        assert "40 of the checked documents carry an answer that was learned from" in error
        assert "[bad-check]" in error


def test_the_outcome_of_a_check_is_recorded_reported_and_saved(files, capsys):
    places = ["-o", "corrected.csv", "--report", "report.html", "--save", "checked.isthmus"]
    assert run("check", "run.isthmus", "checked.csv", *places) == 0
    found = isthmus.load("checked.isthmus").checked
    record = json.loads(Path("corrected.csv.run.json").read_text())
    assert record["expected_accuracy"]["estimate"] == pytest.approx(found.accuracy)
    assert record["check"]["n"] == 40
    page = Path("report.html").read_text()
    assert "measured on 40 documents checked at random" in page
    assert "judged without true labels" not in page
    assert "documents of target.csv" in page, "the page names the files, as that of label does"
    assert run("check", "out.csv", "checked.csv", "--report", "other.html") == 2
    assert run("check", "run.isthmus", "--sample", "5", "--save", "other.isthmus") == 2


OWN_TARGET = "The target holds the same texts as the source", "./source.csv is both source and target"
TWICE = ("source.csv was given twice as a source",)


@pytest.mark.parametrize("way", [[], ["--engine", "local"]], ids=["memory", "blocks"])
@pytest.mark.parametrize(
    ("given", "words"),
    [(["source.csv", "./source.csv"], OWN_TARGET), (["source.csv", "source.csv", "target.csv"], TWICE)],
)
def test_a_file_given_twice_is_said_as_what_it_was_given(files, capsys, given, words, way):
    assert run_command(["label", *given, "--method", "logistic", "-o", "twice.csv", *way]) == 0
    said = capsys.readouterr().err
    assert [any(word in said for word in kind) for kind in (OWN_TARGET, TWICE)] == [words == OWN_TARGET, words == TWICE]


def test_of_a_large_target_the_names_are_kept(monkeypatch):
    monkeypatch.setattr("isthmus.cli.outputs.KEPT_CHARACTERS", 10)
    result = SimpleNamespace()
    sides = Collection.from_texts(["kind staff"], ["a"], name="s.csv"), Collection.from_texts(["bike"], name="t.csv")
    remember_table(result, *sides, ["comment"])
    kept = json.loads(result.input_table)
    assert kept.pop("names")
    assert kept == {"text": ["comment"], "cells": None, "source": "s.csv", "target": "t.csv"}
