"""The command ``isthmus explain``, and ``label --save`` and ``--model`` around it."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from made_texts import COMMENTS_CSV as SOURCE

from isthmus.cli.app import run_command

TARGET = "id,comment,extra\nk1,friendly staff at the desk,007\nk2,=price of the sedan,1.0\nk1,nothing known,NA\n"


def label_once():
    Path("source.csv").write_text(SOURCE)
    Path("target.csv").write_text(TARGET)
    options = ["--method", "nbc", "-o", "out.csv", "--save", "m.isthmus", "--quiet"]
    assert run_command(["label", "source.csv", "target.csv", *options]) == 0


@pytest.fixture
def folder(enter_copy):
    return enter_copy(label_once)


def explained(capsys, *options):
    assert run_command(["explain", "m.isthmus", *options]) == 0
    talk = capsys.readouterr()
    return list(csv.DictReader(io.StringIO(talk.out))), talk.err


def test_table_of_one_document(folder, capsys):
    rows, talk = explained(capsys, "--document", "k2", "--top", "1")
    assert list(rows[0]) == ["document", "class", "term", "contribution"]
    assert [(row["document"], row["class"], row["term"]) for row in rows] == [
        ("k2", "price", "price"),
        ("k2", "staff", "price"),
    ]
    assert float(rows[0]["contribution"]) > 0 > float(rows[1]["contribution"])
    assert re.match(r"k2: price, confidence \d+%", talk)


def test_an_id_used_twice_gives_both_documents(folder, capsys):
    _, talk = explained(capsys, "--document", "k1")
    assert [line.partition(":")[0] for line in talk.splitlines()] == ["k1 (document 1)", "k1 (document 3)"]


def test_json_and_a_text_of_ones_own(folder, capsys):
    assert run_command(["explain", "m.isthmus", "--text", "rude staff", "--top", "2", "--json", "--quiet"]) == 0
    talk = capsys.readouterr()
    rows = json.loads(talk.out)
    assert {row["document"] for row in rows} == {"text 1"}
    assert {"rude", "staff"} == {row["term"] for row in rows}
    assert talk.err == ""


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
def test_a_vote_gives_as_many_words_as_asked_for_each_once(folder, capsys):
    rows = [
        f"{i},the {name} on day {i} was {word} again and nobody said why,{name}\n"
        for i, (name, word) in enumerate([("staff", "friendly"), ("price", "high")] * 40)
    ]
    Path("many.csv").write_text("id,comment,category\n" + "".join(rows))
    Path("new.csv").write_text("id,comment\n" + "".join(row.rpartition(",")[0] + " here\n" for row in rows))
    assert run_command(["label", "many.csv", "new.csv", "-o", "v.csv", "--save", "v.isthmus", "--quiet"]) == 0
    assert run_command(["explain", "v.isthmus", "--document", "4", "--top", "5"]) == 0
    talk = capsys.readouterr()
    assert "+" in talk.err.partition(" by ")[2].partition(":")[0]  # several methods voted
    found = list(csv.DictReader(io.StringIO(talk.out)))
    for name in ("price", "staff"):
        assert len({row["term"] for row in found if row["class"] == name}) == 5


def test_table_in_a_file(folder, capsys):
    assert run_command(["explain", "m.isthmus", "--document", "k2", "-o", "why.csv"]) == 0
    assert Path("why.csv").read_text().startswith("document,class,term,contribution\nk2,price,price,")
    assert capsys.readouterr().out == ""
    assert run_command(["explain", "m.isthmus", "--document", "k2", "-o", "why.csv"]) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["m.isthmus", "--document", "k9"], 1, "[unknown-name]"),
        (["m.isthmus"], 2, "[bad-parameter]"),
        (["out.csv", "--document", "k1"], 1, "[bad-model]"),
        (["none.isthmus", "--document", "k1"], 1, "[missing-file]"),
        (["m.isthmus", "--document", "k1", "--json", "-o", "x.csv"], 2, "[bad-parameter]"),
        (["m.isthmus", "--document", "k1", "--top", "0"], 2, "--top"),
    ],
)
def test_refusals(folder, capsys, arguments, code, words):
    assert run_command(["explain", *arguments]) == code
    talk = capsys.readouterr()
    assert words in talk.err
    assert talk.out == ""
    assert len(talk.err.splitlines()) == 1


def test_saved_model_labels_later_documents_as_the_first_run_did(folder, capsys):
    assert run_command(["label", "--model", "m.isthmus", "target.csv", "-o", "again.csv", "--report", "r.html"]) == 0
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()
    record = json.loads(Path("again.csv.run.json").read_text())
    assert [entry["path"] for entry in record["inputs"]] == ["m.isthmus", "target.csv"]
    assert all(len(entry["sha256"]) == 64 for entry in record["inputs"])
    assert "source of m.isthmus" in Path("r.html").read_text()
    assert "method: nbc" in capsys.readouterr().err


def test_a_saved_model_does_not_claim_to_have_been_chosen_on_later_documents(folder, capsys):
    Path("later.csv").write_text("comment\nfriendly staff there\nganz andere sprache\nnoch eine andere\n")
    assert run_command(["label", "--model", "m.isthmus", "later.csv", "-o", "a.csv"]) == 0
    talk = capsys.readouterr().err
    assert "method: nbc (chosen on the earlier target: named by the caller)" in talk
    assert talk.count("[weak-bridge]") == 1


def test_error_budget_is_the_saved_one_unless_given(folder):
    Path("later.csv").write_text("comment\nfriendly price\nhigh staff\n")
    assert run_command(["label", "--model", "m.isthmus", "later.csv", "-o", "a.csv", "--quiet"]) == 0
    options = ["-o", "b.csv", "--error-budget", "1", "--quiet"]
    assert run_command(["label", "--model", "m.isthmus", "later.csv", *options]) == 0
    reviews = [
        [row["needs_review"] for row in csv.DictReader(Path(name).read_text().splitlines())]
        for name in ("a.csv", "b.csv")
    ]
    assert reviews[0] != reviews[1]
    assert set(reviews[1]) == {"False"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 2),
        (["--model", "m.isthmus", "source.csv", "target.csv"], 2),
        (["--model", "m.isthmus", "target.csv", "--method", "svm"], 2),
        (["--model", "m.isthmus", "target.csv", "--save", "n.isthmus"], 2),
        (["--model", "source.csv", "target.csv"], 1),
        (["source.csv", "target.csv", "-o", "n.csv", "--save", "m.isthmus"], 1),
        (["source.csv", "target.csv", "-o", "n.csv", "--save", "n.csv"], 2),
        (["source.csv", "target.csv", "-o", "n.csv", "--report", "p", "--save", "p"], 2),
    ],
)
def test_refusals_of_label_leave_nothing_behind(folder, capsys, arguments, code):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert run_command(["label", *arguments]) == code
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_long_text_is_cut_and_unknown_ids_name_three(folder, capsys):
    for length in (200, 201):
        text = "staff " * 40
        assert run_command(["explain", "m.isthmus", "--text", text[:length].replace(" ", "_")]) == 0
        line = capsys.readouterr().err.splitlines()[-1]
        assert line.endswith("…") == (length > 200)
        assert len(line.rpartition(": ")[2]) == length
    Path("more.csv").write_text("id,comment\n" + "".join(f"n{i},price {i}\n" for i in range(5)))
    saved = ["label", "source.csv", "more.csv", "--method", "nbc", "-o", "more_out.csv", "--save", "more.isthmus"]
    assert run_command([*saved, "--quiet"]) == 0
    assert run_command(["explain", "more.isthmus", "--document", "x"]) == 1
    assert "it holds 5 ('n0', 'n1', 'n2', …)" in capsys.readouterr().err
