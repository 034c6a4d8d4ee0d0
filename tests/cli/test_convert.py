"""``isthmus convert``, from a labelled table to a tool's file and on to ``teach``."""

from __future__ import annotations

import json

import pytest

from isthmus.cli.app import run_command

HEAD = "id,text,label,confidence,needs_review\n"
ROWS = "a1,kind staff,service,0.91,false\na2,far too dear,price,0.55,true\na3,dear but good,price,0.6,true\n"


def run(*options) -> int:
    return run_command(["convert", *map(str, options)])


@pytest.fixture
def table(tmp_path):
    place = tmp_path / "labelled.csv"
    place.write_text(HEAD + ROWS)
    return place


def test_a_models_labels_become_predictions_and_only_those_to_review(table, tmp_path):
    code = run(table, tmp_path / "tasks.json", "--to", "label-studio", "--review")
    assert code == 0
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert [task["data"]["id"] for task in tasks] == ["a2", "a3"]
    assert [task["predictions"][0]["score"] for task in tasks] == [0.55, 0.6]
    assert tasks[0]["annotations"] == []


def test_a_table_is_written_byte_for_byte_where_that_is_asked_for(tmp_path, capsys):
    """The note on guarded cells names the option."""
    source = tmp_path / "formulas.jsonl"
    source.write_text('{"id": "a1", "text": "=1+1", "label": "sum"}\n')
    assert run(source, tmp_path / "guarded.csv") == 0
    assert "--exact" in capsys.readouterr().err
    assert run(source, tmp_path / "exact.csv", "--exact") == 0
    assert (tmp_path / "exact.csv").read_text().splitlines()[1] == "a1,=1+1,sum"


def test_labels_of_people_become_annotations(table, tmp_path):
    code = run(table, tmp_path / "tasks.json", "--to", "label-studio", "--by-people")
    assert code == 0
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert [task["annotations"][0]["result"][0]["value"]["choices"] for task in tasks] == [
        ["service"],
        ["price"],
        ["price"],
    ]


def test_a_tools_file_becomes_a_table_again(table, tmp_path):
    run(table, tmp_path / "tasks.jsonl", "--to", "doccano")
    code = run(tmp_path / "tasks.jsonl", tmp_path / "back.csv")
    assert code == 0
    assert (tmp_path / "back.csv").read_text().splitlines()[:2] == [
        "id,text,label,prediction,prediction_score,needs_review",
        "a1,kind staff,,service,0.91,false",
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["out.json"], "add --to TOOL"),
        (["out.json", "--to", "spreadsheet"], "use one of label-studio"),
        (["out.csv", "--to", "prodigy"], "end in .jsonl"),
    ],
)
def test_a_tool_that_cannot_be_meant_is_refused_before_anything_is_read(tmp_path, options, said, capsys):
    code = run(tmp_path / "nothing.csv", *[tmp_path / options[0], *options[1:]])
    assert code == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / options[0]).exists()


def test_review_needs_its_column(tmp_path, capsys):
    (tmp_path / "plain.csv").write_text("text,label\nkind staff,service\nfar too dear,price\n")
    code = run(tmp_path / "plain.csv", tmp_path / "out.ft", "--review")
    assert code == 1
    assert "has no column 'needs_review'" in capsys.readouterr().err


def test_labels_without_a_confidence_are_those_of_people(tmp_path):
    (tmp_path / "plain.csv").write_text("text,label\nkind staff,service\nfar too dear,price\n", encoding="utf-8")
    for options, people in ((["--to", "label-studio"], True), (["--to", "label-studio", "--by-model"], False)):
        assert run(tmp_path / "plain.csv", tmp_path / "tasks.json", *options, "--force") == 0
        tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
        assert [bool(task["annotations"]) for task in tasks] == [people] * 2
        assert [bool(task["predictions"]) for task in tasks] == [not people] * 2


@pytest.mark.parametrize(
    ("cell", "kept"), [("True", True), ("1", True), (" yes ", True), ("false", False), ("", False)]
)
def test_only_rows_that_need_review_are_kept_however_that_is_written(tmp_path, cell, kept):
    rows = [{"id": "a1", "text": "kind staff", "label": "x", "needs_review": cell}]
    rows.append({"id": "a2", "text": "far too dear", "label": "y", "needs_review": True})
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert run(tmp_path / "in.jsonl", tmp_path / "out.jsonl", "--to", "doccano", "--review") == 0
    found = [json.loads(line)["id"] for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert found == ["a1", "a2"] if kept else found == ["a2"]
