"""The command ``isthmus check``: a sample goes out, true labels come back, the arithmetic is done."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from cli_tables import write_csv

import isthmus
from isthmus.choose import guaranteed
from isthmus.cli.app import run_command
from isthmus.corpus.read import read_table

SOURCE = "id,comment,category\n" + "".join(
    f"{i},{text},{label}\n"
    for i, (text, label) in enumerate([("the staff was friendly", "staff"), ("the price was high", "price")] * 6)
)
# Every fifth comment about staff is really about parking: the model cannot know.
COMMENTS = [f"the {'price' if i % 3 == 0 else 'staff'} of visit {i}" for i in range(60)]
TRUTH = ["price" if i % 3 == 0 else "parking" if i % 5 == 1 else "staff" for i in range(60)]
# Ids that a spreadsheet would run: they are written with an apostrophe before them, and must be known again.
TARGET = "id,comment,extra\n" + "".join(f"=k{i:02},{text},=1+{i}\n" for i, text in enumerate(COMMENTS))


def label_once():
    Path("source.csv").write_text(SOURCE)
    Path("target.csv").write_text(TARGET)
    options = ["--method", "nbc", "-o", "out.csv", "--save", "m.isthmus", "--quiet"]
    assert run_command(["label", "source.csv", "target.csv", *options]) == 0


@pytest.fixture
def folder(enter_copy):
    return enter_copy(label_once)


def read(name):
    return list(csv.DictReader(io.StringIO(Path(name).read_text())))


def fill_in(name, into, truth=lambda row: TRUTH[int(row["document"]) - 1]):
    rows = read(name)
    with Path(into).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"true_label": truth(row)} for row in rows)


@pytest.fixture
def checked(folder, capsys):
    assert run_command(["check", "out.csv", "--sample", "30", "-o", "to_check.csv"]) == 0
    fill_in("to_check.csv", "checked.csv")
    return capsys.readouterr()


def test_sample_says_what_to_do_and_does_not_lead(checked):
    rows = read("to_check.csv")
    assert list(rows[0]) == ["document", "id", "text", "true_label", "drawn"]
    assert len(rows) == 30
    assert all(row["id"] == f"'=k{int(row['document']) - 1:02}" for row in rows)
    assert all(row["text"] == COMMENTS[int(row["document"]) - 1] for row in rows)
    assert {row["true_label"] for row in rows} == {""}
    guarded, wrote, sentence = checked.err.splitlines()
    assert guarded.startswith("note: 30 cells")
    assert sentence.startswith(
        "next: Label these 30 of 60 documents in the column true_label, then run isthmus check out.csv"
    )
    assert sentence.endswith("the accuracy will be known to about ± 13 points.")
    assert wrote == "wrote to_check.csv"
    assert checked.out == ""


def test_same_seed_same_sample_from_either_file(folder, capsys):
    for result in ("out.csv", "m.isthmus"):
        assert run_command(["check", result, "--sample", "12", "--quiet"]) == 0
    assert run_command(["check", "out.csv", "--sample", "12", "--seed", "1", "--quiet"]) == 0
    talk = capsys.readouterr()
    lines = talk.out.splitlines()
    assert lines[:13] == lines[13:26] != lines[26:]
    assert talk.err == ""


@pytest.mark.parametrize("result", ["out.csv", "m.isthmus"])
def test_arithmetic_is_done_when_they_come_back(checked, capsys, result):
    truths = [TRUTH[int(row["document"]) - 1] for row in read("checked.csv")]
    right = sum(truth != "parking" for truth in truths)
    assert 0 < right < 30
    assert run_command(["check", result, "checked.csv"]) == 0
    talk = capsys.readouterr()
    assert talk.out.startswith(f"accuracy {right / 30:.0%} (")
    assert f"in 95 of 100 cases: {right} of 30 checked documents are right, 60 in all" in talk.out
    assert "parking: proportion" in talk.out
    advice = "Use the labels with" if result == "out.csv" else "Let the 30 answers improve the labels"
    assert talk.err.startswith(f"next: {advice}")
    assert run_command(["check", result, "checked.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["right"], found["n"], found["population"]) == (right, 30, 60)
    assert found["new_classes"] == ["parking"]
    assert (found["expected"] is None) == (result == "out.csv")  # a table keeps no expectation, a saved result does
    assert [row["class"] for row in found["shares"]] == ["price", "staff", "parking"]
    assert found["low"] < found["accuracy"] < found["high"]


@pytest.mark.parametrize("result", ["out.csv", "m.isthmus"])
def test_the_budget_of_a_check_is_the_one_that_was_typed(checked, capsys, result):
    for budget in (0.3, 0.05):
        options = ["--budget", str(budget), "--json", "--quiet"]
        assert run_command(["check", result, "checked.csv", *options]) == 0
        assert json.loads(capsys.readouterr().out)["guarantee"]["budget"] == budget


def test_a_sample_of_a_half_labelled_table_does_not_follow_the_order_of_its_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    drawn = []
    for name, order in (("one.csv", range(30)), ("other.csv", range(29, -1, -1))):
        texts, given = [f"comment {i}" for i in order], [i % 3 == 0 for i in order]
        write_csv(name, {"id": list(order), "text": texts, "label": ["a"] * 30, "given": given})
        assert run_command(["check", name, "--sample", "5", "-o", "-", "--quiet"]) == 0
        drawn.append([row["text"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))])
    assert drawn[0] == drawn[1], "the same documents, whatever their order"
    assert not {f"comment {i}" for i in range(0, 30, 3)} & set(drawn[0]), "given labels are not checked"


def test_margin_decides_how_many(folder, capsys):
    assert run_command(["check", "m.isthmus", "--margin", "0.1", "-o", "s.jsonl", "--json", "--quiet"]) == 0
    talk = capsys.readouterr()
    drawn = json.loads(talk.out)
    assert drawn["sample"] == 38 == len(Path("s.jsonl").read_text().splitlines())
    assert drawn["margin"] <= 0.1
    assert talk.err == ""


@pytest.mark.parametrize("ending", ["xlsx", "tsv", "parquet", "jsonl"])
def test_other_formats_go_out_and_come_back(folder, capsys, ending):
    polars = pytest.importorskip("polars")
    name = f"sample.{ending}"
    assert run_command(["check", "out.csv", "--sample", "10", "-o", name, "--quiet"]) == 0
    reader = {"xlsx": polars.read_excel, "parquet": polars.read_parquet, "jsonl": polars.read_ndjson}
    frame = reader.get(ending, lambda path: polars.read_csv(path, separator="\t"))(name)
    truths = [TRUTH[number - 1] for number in frame["document"].to_list()]
    frame = frame.with_columns(polars.Series("true_label", truths))
    if ending == "xlsx":
        frame.write_excel(name)
    elif ending == "tsv":
        frame.write_csv(name, separator="\t")
    else:
        (frame.write_parquet if ending == "parquet" else frame.write_ndjson)(name)
    assert run_command(["check", "m.isthmus", name, "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n"], found["right"]) == (10, 10 - truths.count("parking"))


def test_corrections_are_written(checked, capsys):
    assert run_command(["check", "out.csv", "checked.csv", "-o", "corrected.csv"]) == 0
    wrote, step = capsys.readouterr().err.splitlines()  # cells that are safe already are not made safer
    assert wrote == "wrote corrected.csv, corrected.csv.run.json"
    assert step.startswith("next: ")
    before, after = read("out.csv"), read("corrected.csv")
    assert list(after[0]) == [*before[0], "checked"]
    done = {int(row["document"]) - 1 for row in read("checked.csv")}
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        if i in done:
            assert (new["label"], new["confidence"], new["needs_review"]) == (TRUTH[i], "1.0", "False")
        else:
            assert new == old | {"checked": "False"}
    assert sum(row["checked"] == "True" for row in after) == 30


@pytest.mark.parametrize("task", [["checked.csv"], ["--sample", "5"]])
def test_a_corrected_table_is_no_labelling_to_check(checked, capsys, task):
    assert run_command(["check", "out.csv", "checked.csv", "-o", "corrected.csv", "--quiet"]) == 0
    capsys.readouterr()
    assert run_command(["check", "corrected.csv", *task]) == 1
    talk = capsys.readouterr()
    assert talk.out == ""
    assert "'corrected.csv' has the column 'checked'" in talk.err
    assert "[bad-check]" in talk.err
    assert len(talk.err.splitlines()) == 1


def test_corrections_of_a_saved_labelling_on_stdout_leave_the_outcome_to_stderr(checked, capsys):
    assert run_command(["check", "m.isthmus", "checked.csv", "-o", "-", "--exact"]) == 0
    talk = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(talk.out)))
    added = ["label", "confidence", "needs_review", "novel_group", "review_reason", "checked"]
    assert list(rows[0]) == ["id", "comment", "extra", *added]
    assert {row["label"] for row in rows} == {"price", "staff", "parking"}
    assert re.match(r"accuracy \d+% \(", talk.err)


def test_another_column_of_true_labels_and_no_texts(checked, capsys):
    rows = read("checked.csv")
    lines = ["document;verdict", *(f"{row['document']};{row['true_label'].upper()}" for row in rows[:7]), "9;", ";"]
    Path("mine.csv").write_text("\n".join(lines) + "\n")
    assert run_command(["check", "out.csv", "mine.csv", "--label", "verdict", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n"], found["blank"]) == (7, 1)


def test_expectation_of_auto_is_put_to_the_test(folder, capsys):
    # No two texts alike: copies are no evidence, and without evidence nothing is expected.
    many = "id,comment,category\n" + "".join(
        f"{i},the {name} of day {i} was {word},{name}\n"
        for i, (name, word) in enumerate([("staff", "friendly"), ("price", "high")] * 30)
    )
    Path("many.csv").write_text(many)
    assert run_command(["label", "many.csv", "target.csv", "-o", "a.csv", "--save", "a.isthmus", "--quiet"]) == 0
    assert run_command(["check", "a.isthmus", "--sample", "40", "-o", "s.csv", "--quiet"]) == 0
    fill_in("s.csv", "wrong.csv", lambda row: "parking")
    capsys.readouterr()
    assert run_command(["check", "a.isthmus", "wrong.csv"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("accuracy 0% (")
    assert out.splitlines()[1].startswith("expected ")
    assert out.splitlines()[1].endswith("too high, fewer labels are right")


def test_hostile_labels_stay_on_their_line(checked, capsys):
    fill_in("to_check.csv", "checked.csv", lambda row: "\x1b[31mred\nline")
    assert run_command(["check", "out.csv", "checked.csv"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert [line.split()[0] for line in out.splitlines()] == ["accuracy", "price:", "staff:", "[31mred"]


@pytest.mark.parametrize(
    ("output", "code"),
    [("out.csv", "output-unwritable"), ("checked.csv", "output-unwritable"), ("m.isthmus", "unknown-format")],
)
def test_an_output_never_replaces_what_was_read(checked, capsys, output, code):
    result = "m.isthmus" if output == "m.isthmus" else "out.csv"
    before = Path(output).read_bytes()
    assert run_command(["check", result, "checked.csv", "-o", output, "--force"]) == 2
    assert code in capsys.readouterr().err
    assert Path(output).read_bytes() == before


def test_a_budget_draws_among_the_surest_and_says_what_passes(folder, capsys):
    assert run_command(["check", "m.isthmus", "--sample", "30", "--budget", "0.1", "-o", "few.csv"]) == 0
    assert "isthmus check m.isthmus few.csv --budget 0.1" in capsys.readouterr().err
    among = {row["among"] for row in read("few.csv")}
    assert len(among) == 1
    fill_in("few.csv", "read.csv", truth=lambda row: ["staff", "price"][(int(row["document"]) - 1) % 3 == 0])
    assert run_command(["check", "m.isthmus", "read.csv", "--sample", "20", "--budget", "0.1", "-o", "more.csv"]) == 0
    rows = read("more.csv")
    assert [bool(row["true_label"]) for row in rows] == [True] * 30 + [False] * 20
    fill_in("more.csv", "all.csv", truth=lambda row: ["staff", "price"][(int(row["document"]) - 1) % 3 == 0])
    for result in ("m.isthmus", "out.csv"):
        capsys.readouterr()
        assert run_command(["check", result, "all.csv", "--budget", "0.1", "-o", "kept.csv", "--force"]) == 0
        line = capsys.readouterr().out.splitlines()[0]
        passing = json.loads(Path("kept.csv.run.json").read_text())["check"]["guarantee"]
        assert line.startswith(
            f"guaranteed: {passing['documents']} of 60 labels can pass ({passing['unread']} unread), "
        ), result
        review = [row["needs_review"].lower() for row in read("kept.csv")]
        assert review.count("false") >= passing["documents"] > 40, result
        recorded = json.loads(Path("kept.csv.run.json").read_text())["expected_accuracy"]["estimate"]
        known = isthmus.load(result).expected_accuracy.estimate if result == "m.isthmus" else None
        assert recorded == known, "what was found among the surest is not what is expected of all"


def test_a_draw_for_a_budget_goes_by_what_the_saved_labelling_expects(folder, monkeypatch):
    drawn, draw = [], guaranteed.draw_to_decide
    monkeypatch.setattr(guaranteed, "draw_to_decide", lambda *given, **more: drawn.append(more) or draw(*given, **more))
    for result in ("m.isthmus", "out.csv"):
        assert run_command(["check", result, "--sample", "30", "--budget", "0.1", "-o", "few.csv", "--force"]) == 0
    saved = isthmus.load("m.isthmus")
    assert [more["expected"] for more in drawn] == [saved.expected_accuracy, None], "a table says nothing of it"
    for more in drawn:
        np.testing.assert_array_equal(more["eligible"], saved.may_pass)


def test_documents_that_were_asked_for_are_no_sample(folder, capsys):
    """They are the doubtful ones: their accuracy is not that of all."""
    assert run_command(["ask", "m.isthmus", "-n", "6", "-o", "asked.csv"]) == 0
    fill_in("asked.csv", "answers.csv", truth=lambda row: "staff")
    for result in ("m.isthmus", "out.csv"):
        capsys.readouterr()
        assert run_command(["check", result, "answers.csv"]) == 1
        said = capsys.readouterr().err
        assert "6 of the 6 checked documents were not drawn at random (the column drawn says 'asked')" in said, result
        assert "[bad-check]" in said


def test_answered_documents_need_no_review_after_a_guarantee(folder, capsys):
    """They were read; the guarantee is about the others."""
    assert run_command(["ask", "m.isthmus", "-n", "6", "-o", "asked.csv"]) == 0
    fill_in("asked.csv", "answers.csv", truth=lambda row: ["staff", "price"][(int(row["document"]) - 1) % 3 == 0])
    assert run_command(["teach", "m.isthmus", "answers.csv", "-o", "t.csv", "--save", "t.isthmus"]) == 0
    assert run_command(["check", "t.isthmus", "--sample", "4", "--budget", "0.1", "-o", "few.csv"]) == 0
    fill_in("few.csv", "read.csv", truth=lambda row: "neither")
    answered = {int(row["document"]) - 1 for row in read("answers.csv")}
    for result in ("t.isthmus", "t.csv"):
        capsys.readouterr()
        assert run_command(["check", result, "read.csv", "--budget", "0.1", "-o", "kept.csv", "--force"]) == 0
        first = capsys.readouterr().out.partition("\n")[0]
        assert first.startswith("guaranteed: 7 of 54 labels can pass (6 unread), at most 10% of the finished file")
        unread = {row for row, cells in enumerate(read("kept.csv")) if cells["needs_review"].lower() == "true"}
        read_now = {int(row["document"]) - 1 for row in read("read.csv")}
        assert unread < set(range(60)) - answered - read_now, result
        assert len(unread) == 60 - 6 - 4 - 6, "six pass unread"


@pytest.mark.parametrize(
    "options",
    [
        ["--margin", "0.1", "--budget", "0.1"],
        ["checked.csv", "--margin", "0.1", "--budget", "0.1"],
        ["--budget", "0.1"],
    ],
)
def test_a_budget_goes_with_a_number_of_documents_or_a_sample(folder, options, capsys):
    assert run_command(["check", "m.isthmus", *options]) == 2
    assert "--sample N" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_sample_drawn_for_a_budget_is_judged_by_the_usual_one_unless_told(folder, ending):
    """By a table as by a saved labelling; review marks stay words in a csv file and booleans elsewhere."""
    table, corrected = f"out.{ending}", f"kept.{ending}"
    assert run_command(["label", "target.csv", "--model", "m.isthmus", "-o", table, "--force", "--quiet"]) == 0
    assert run_command(["check", table, "--sample", "30", "--budget", "0.1", "-o", "few.csv", "--quiet"]) == 0
    fill_in("few.csv", "read.csv", truth=lambda row: "staff" if "staff" in row["text"] else "price")
    assert run_command(["check", table, "read.csv", "-o", corrected, "--quiet"]) == 0
    passing = json.loads(Path(f"{corrected}.run.json").read_text())["check"]["guarantee"]
    assert passing["budget"] == 0.1
    before, after = (read_table(Path(name))["needs_review"] for name in (table, corrected))
    assert {type(cell) for cell in after} == {type(cell) for cell in before} == {str if ending == "csv" else bool}
    assert sum(str(cell) == "False" for cell in after) >= passing["documents"] > 0


def test_documents_in_new_groups_cannot_pass_by_a_labelled_table(folder):
    rows = read("out.csv")
    for row in rows[::2]:
        row["novel_group"] = "parking"
    write_csv("grouped.csv", {name: [row[name] for row in rows] for name in rows[0]})
    budget = ["--budget", "0.3", "--quiet"]
    assert run_command(["check", "grouped.csv", "--sample", "20", "-o", "few.csv", *budget]) == 0
    fill_in("few.csv", "read.csv", truth=lambda row: rows[int(row["document"]) - 1]["label"])
    assert run_command(["check", "grouped.csv", "read.csv", "-o", "kept.csv", *budget]) == 0
    found = json.loads(Path("kept.csv.run.json").read_text())["check"]["guarantee"]
    assert found["eligible"] == 30, "30 of the 60 documents are in a new group"


def test_labels_that_were_given_are_right_labels_of_the_finished_file(tmp_path, monkeypatch, capsys):
    """A half-labelled table lets no fewer pass than its other rows alone: the given labels are part of the file."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"k{number}", "text": f"comment {number * 37 % 60}", "label": "ab"[number % 2],
         "confidence": round(0.5 + 0.008 * (number * 23 % 60), 3), "needs_review": True, "given": number % 3 == 0}
        for number in range(60)
    ]  # fmt: skip
    tables = {"half.csv": rows, "rest.csv": [row for row in rows if not row["given"]]}
    for name, table in tables.items():
        write_csv(name, {key: [row[key] for row in table] for key in rows[0]})
    budget = ["--budget", "0.1", "--quiet"]
    assert run_command(["check", "rest.csv", "--sample", "30", "-o", "few.csv", *budget]) == 0
    drawn = read("few.csv")
    outcomes = []
    for name, table in tables.items():
        place = {row["id"]: number for number, row in enumerate(table, 1)}
        known = {row["id"]: row for row in table}
        # The least sure are wrong: what passes hangs on whose confidence is whose.
        truths = [known[row["id"]]["label"] if known[row["id"]]["confidence"] > 0.8 else "c" for row in drawn]
        told = {key: [row[key] for row in drawn] for key in ("id", "text", "among")}
        write_csv("read.csv", {"document": [place[row["id"]] for row in drawn], "true_label": truths} | told)
        capsys.readouterr()
        assert run_command(["check", name, "read.csv", "-o", f"kept_{name}", "--json", *budget]) == 0
        outcome = json.loads(capsys.readouterr().out)
        unread = {row["id"] for row in read(f"kept_{name}") if row["needs_review"].lower() == "false"}
        outcomes.append(
            (outcome["guarantee"], outcome["right"], outcome["n"], unread & {r["id"] for r in tables["rest.csv"]})
        )
    (half, *checked, _), (rest, *checked_alone, _) = outcomes
    assert checked == checked_alone
    assert half["eligible"] == rest["eligible"] == 40
    assert half["documents"] >= rest["documents"]
    passing = outcomes[0][3] - {row["id"] for row in drawn}
    unread = {row["id"]: row["confidence"] for row in tables["rest.csv"]}
    for row in drawn:
        del unread[row["id"]]
    sure = sorted(unread, key=unread.get, reverse=True)
    assert 0 < len(passing) < len(sure)
    assert set(sure[: len(passing)]) == passing, "the surest pass"
