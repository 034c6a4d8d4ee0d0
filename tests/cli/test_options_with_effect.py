"""An option that can do nothing is refused in one sentence; what was ignored before works."""

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cli_tables import make_texts, write_csv
from cli_tables import read_csv as read

import isthmus
from isthmus.cli.app import _Commands, run_command
from isthmus.options import LabelOptions

STAFF = ["friendly", "rude", "helpful", "polite"]
PRICE = ["expensive", "cheap", "costly", "bargain"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        place = tmp_path_factory.mktemp("options")
        patch.chdir(place)
        vectors = [f"[{i % 3}, {i % 5}, 1]" for i in range(30)]
        source = {
            "comment": make_texts(STAFF, 15, 0) + make_texts(PRICE, 15, 1),
            "class": ["staff"] * 15 + ["price"] * 15,
        }
        write_csv("source.csv", source | {"v": vectors})
        write_csv("more.csv", {"v": vectors, **source})
        target = make_texts(STAFF, 15, 2) + make_texts(PRICE, 15, 3)
        write_csv("target.csv", {"key": ["A", "A", *map(str, range(28))], "comment": target, "v": vectors})
        given = [name if i % 2 else "" for i, name in enumerate(source["class"])]
        write_csv("half.csv", {"comment": source["comment"], "class": given})
        options = ["--method", "logistic", "--id", "key", "-o", "out.csv", "--save", "run.isthmus", "--quiet"]
        assert run_command(["label", "source.csv", "target.csv", *options]) == 0
        yield place


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["half.csv", "--target-label", "class"], "--target-label 'class' names labels of TARGET"),
        (["target.csv", "--model", "run.isthmus", "--seed", "3"], "does not learn again; leave out --seed."),
        (
            ["target.csv", "--model", "run.isthmus", "--analyzer", "words"],
            "does not learn again; leave out --analyzer.",
        ),
        (["target.csv", "--model", "run.isthmus", "--language", "de"], "does not learn again; leave out --language."),
        (["target.csv", "--model", "run.isthmus", "--label", "key"], "does not learn again; leave out --label."),
        (
            ["target.csv", "--model", "run.isthmus", "--force-classes", "--trust-machine-labels"],
            "does not learn again; leave out --trust-machine-labels, --force-classes.",
        ),
        (["target.csv", "--model", "run.isthmus", "--sheet", "1"], "none of the files is a workbook"),
        (["target.csv", "--model", "run.isthmus", "--vectors", "v"], "The model uses no vectors"),
        (["source.csv", "target.csv", "--engine", "local", "--embed", "static"], "in memory; leave out --embed."),
        (["source.csv", "target.csv", "--engine", "local", "--id", "nonsense"], "leave out --id"),
    ],
)
def test_options_without_effect_are_refused(here, capsys, arguments, words):
    assert run_command(["label", *arguments, "-o", "never.csv"]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "[bad-parameter]" in error
    assert not Path("never.csv").exists()


# Every option that goes with --model, as it is given here; none as text stands for a value that is not the usual one.
WITH_MODEL = {
    "text": ["--text", "remark"],
    "target_text": ["--target-text", "remark"],
    "id": ["--id", "nr"],
    "sheet": ["--sheet", "second"],
    "vectors": ["--vectors", "w"],
    "by": ["--by", "region"],
    "error_budget": ["--error-budget", "0"],
    "add": ["--add", "label"],
    "output": ["-o", "-"],
    "report": ["--report", "page.html"],
    "model": ["--model", "vectors.isthmus", "--vectors", "v"],
    "exact": ["--exact"],
    "as_json": ["--json"],
    "force": ["--force"],
    "quiet": ["--quiet"],
}


@pytest.fixture(scope="module")
def later(folder):
    """A file with two columns for each purpose; a model of vectors."""
    rows = read("target.csv")
    kept = {name: [row[name] for row in rows] for name in ("key", "comment", "v")}
    other = {"nr": [f"n{i}" for i in range(30)], "remark": ["=cheap", *kept["comment"][:0:-1]], "w": kept["v"][::-1]}
    table = kept | other | {"region": ["north", "south"] * 15}
    write_csv("later.csv", table)
    learned = ["--method", "vectors", "--vectors", "v", "-o", "v.csv", "--save", "vectors.isthmus", "--quiet"]
    assert run_command(["label", "source.csv", "target.csv", *learned]) == 0


def outcome_of(capsys, arguments, there):
    """What a run prints, how it ends, and what it writes; of the record all but the time and the options given."""
    for path in Path().glob("later_out*"):
        path.unlink()
    for name in ("page.html", "run.json"):
        Path(name).unlink(missing_ok=True)
    if there:
        Path("later_out.csv").write_text("older\n", encoding="utf-8")
    code = run_command(["label", *arguments])
    written = {path.name: path.read_bytes() for path in Path().glob("later_out*")}
    record = json.loads(Path("run.json").read_text("utf-8")) if Path("run.json").exists() else {}
    told = {name: part for name, part in record.items() if name not in ("finished", "options")}
    return code, *capsys.readouterr(), written, told, Path("page.html").exists()


@pytest.mark.parametrize("name", WITH_MODEL)
def test_every_option_that_goes_with_a_model_has_an_effect(here, later, capsys, name):
    file = "later.csv"
    if name == "sheet":
        file = "later.xlsx"
        with pytest.importorskip("xlsxwriter").Workbook(file) as book:
            for sheet, text in (("first", "friendly"), ("second", "expensive")):
                book.add_worksheet(sheet).write_column(0, 0, ["comment", text, text])
    usual = {"--model": "run.isthmus", "-o": "later_out.csv", "--text": "comment"}
    if name == "vectors":
        usual |= {"--model": "vectors.isthmus", "--vectors": "v"}
    if name == "target_text":
        del usual["--text"]
    given = WITH_MODEL[name]
    changed = usual | {given[0]: given[1]} if len(given) > 1 else usual
    flat = [[part for pair in options.items() for part in pair] for options in (usual, changed)]
    without, with_it = [file, *flat[0]], [file, *flat[1], *(given if len(given) == 1 else given[2:])]
    first = outcome_of(capsys, without, name == "force")
    assert outcome_of(capsys, without, name == "force") == first, "nothing else differs between two runs"
    other = outcome_of(capsys, with_it, name == "force")
    assert other != first
    assert other[0] == 0, other[2]
    if name == "by":
        assert other[4]["class_shares_by"]["column"] == "region"


def test_the_table_of_options_that_go_with_a_model_is_whole():
    assert set(WITH_MODEL) == {spec.name for spec in LabelOptions.options().values() if spec.model and spec.flags}


def test_blocks_do_not_learn_from_labels_that_isthmus_gave(here, capsys):
    arguments = ["label", "out.csv", "target.csv", "--engine", "local", "--method", "nbc", "-o", "never.csv"]
    assert run_command(arguments) == 1
    assert "[machine-labels]" in capsys.readouterr().err
    assert not Path("never.csv").exists()


def test_options_reach_the_labelling(here):
    options = ["--language", "de", "--analyzer", "bigrams", "--seed", "3", "--error-budget", "0.2", "--quiet"]
    files = ["source.csv", "target.csv", "-o", "given.csv", "--save", "given.isthmus"]
    assert run_command(["label", *files, "--method", "nbc", *options]) == 0
    expected = {"language": "de", "analyzer": "bigrams", "random_state": 3, "error_budget": 0.2, "method": "nbc"}
    settings = isthmus.load("given.isthmus").settings
    assert {name: settings[name] for name in expected} == expected


def test_several_sources_bring_their_vectors(here):
    arguments = ["source.csv", "more.csv", "target.csv", "--vectors", "v", "--method", "vectors", "-o", "several.csv"]
    assert run_command(["label", *arguments, "--quiet"]) == 0
    assert len(read("several.csv")) == 30


def test_further_texts_bring_their_vectors_or_have_none(here):
    arguments = ["source.csv", "target.csv", "--vectors", "v", "--method", "vectors", "-o", "further.csv", "--quiet"]
    assert run_command(["label", *arguments, "--extra", "more.csv"]) == 0
    assert len(read("further.csv")) == 30
    write_csv("bare.csv", {"comment": ["the staff was kind", "a fair price"]})
    assert run_command(["label", *arguments, "--force"]) == 0
    without = read("further.csv")
    assert run_command(["label", *arguments, "--extra", "bare.csv", "--force"]) == 0
    assert read("further.csv") == without, "texts without vectors change nothing for a method that reads vectors"


def test_a_half_labelled_table_is_checked_on_what_was_found(here, capsys):
    options = ["-o", "halved.csv", "--save", "half.isthmus", "--method", "logistic", "--quiet", "--force"]
    assert run_command(["label", "half.csv", *options]) == 0
    given = [row["given"] for row in read("halved.csv")]
    assert given == ["False", "True"] * 15
    texts = []
    for result in ("halved.csv", "half.isthmus"):
        assert run_command(["check", result, "--sample", "8", "-o", "sample.csv", "--quiet", "--force"]) == 0
        rows = read("sample.csv")
        texts.append([row["text"] for row in rows])
    assert texts[0] == texts[1]
    budget = ["--sample", "8", "--budget", "0.4", "-o", "sample.csv", "--quiet", "--force"]
    assert run_command(["check", "halved.csv", *budget]) == 0
    drawn = [int(row["document"]) for row in read("sample.csv")]
    assert {given[number - 1] for number in drawn} == {"False"}, "labels that were given need no guarantee"
    assert run_command(["check", "halved.csv", "--sample", "15", "-o", "sample.csv", "--quiet", "--force"]) == 0
    rows = read("sample.csv")
    write_csv("checked.csv", {"document": [row["document"] for row in rows], "true_label": ["staff"] * 15})
    capsys.readouterr()
    assert run_command(["check", "halved.csv", "checked.csv", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["population"] == 15
    write_csv("other.csv", {"document": ["2"], "true_label": ["staff"]})
    assert run_command(["check", "halved.csv", "other.csv"]) == 1
    assert "The label of document 2 was given before" in capsys.readouterr().err


def test_two_columns_of_true_labels_are_refused(here, capsys):
    Path("two.csv").write_text("document,true_label,true_label\n1,staff,price\n")
    assert run_command(["teach", "run.isthmus", "two.csv", "-o", "never.csv"]) == 1
    assert (
        "two columns of true labels (true_label and true_label_2); keep one. [bad-answers]" in capsys.readouterr().err
    )


def test_documents_of_one_id_are_kept_apart(here, capsys):
    assert run_command(["explain", "run.isthmus", "--document", "A", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["document"] for row in rows} == {"A (document 1)", "A (document 2)"}


def test_words_given_to_label_are_not_asked_again():
    source = make_texts(STAFF, 30, 0) + make_texts(PRICE, 30, 1)
    target = make_texts(STAFF, 30, 2) + make_texts(PRICE, 30, 3)
    labels = ["staff"] * 30 + ["price"] * 30
    asked = isthmus.label(source, labels, target, method="dual-manifold").ask(20, words=True)["word"]
    words = {"rude": "staff", "cheap": "price"}
    assert set(words) <= set(asked)
    again = isthmus.label(source, labels, target, method="dual-manifold", word_labels=words).ask(20, words=True)
    assert not set(words) & set(again["word"])


# Two lines for every option of every command: without it (or with another value), and with it; where one line stands
# alone, the command's usual line is the other one.
# What follows the name of an option is another way to use the command, where it has a way of its own.
USUAL = {
    "label": "source.csv target.csv --text comment --method nbc -o out.csv",
    "ask": "m.isthmus -n 6 -o out.csv",
    "teach": "m.isthmus --rename names.csv -o out.csv",
    "check": "m.isthmus checked.csv -o out.csv",
    "convert": "labelled.csv out.jsonl --to doccano",
    "explain": "m.isthmus --document =k1 --top 3 -o out.csv",
    "diagnose": "source.csv target.csv --full",
    "cluster": "source.csv target.csv --clusters 3 -o out.csv",
}
WITHIN = "m.isthmus --within staff --clusters 2 -o out.csv"
LABEL = "source.csv target.csv --text comment --method nbc -o out.csv"
IN_BLOCKS = "source.csv target.csv --clusters 3 -o out.csv --engine local"
NAMES = "source.csv target.csv --text comment --method names --embed none -o out.csv"
EFFECTS = {
    "label": {  # those that go with --model stand above
        "label": f"{LABEL} --label other",
        "analyzer": f"{LABEL} --analyzer chars",
        "language": f"{LABEL} --language de",
        "save": f"{LABEL} --save new.isthmus",
        "read": f"{LABEL} --read 3",
        "answers": f"{LABEL} --answers answers.csv",
        "target_label": (LABEL.replace("target", "labelled"),
                         LABEL.replace("target", "labelled") + " --target-label said"),
        "trust_machine_labels": (LABEL.replace("source", "run"),
                                 LABEL.replace("source", "run") + " --trust-machine-labels"),
        "method": LABEL.replace("nbc", "logistic"),
        "parameters": (LABEL.replace("nbc", "projection"), LABEL.replace("nbc", "projection") + " --set n_terms=2"),
        "classes": (NAMES, f"{NAMES} --class again"),
        "class_table": (NAMES, f"{NAMES} --classes classes.csv"),
        "words": (LABEL.replace("nbc", "dual-factor"), LABEL.replace("nbc", "dual-factor") + " --words words.csv"),
        "extra": (LABEL.replace("nbc", "lsa"), LABEL.replace("nbc", "lsa") + " --extra wide.csv"),
        "engine": f"{LABEL} --engine local",
        "bad_rows": ("source.csv broken.csv --method nbc -o out.csv --engine local",
                     "source.csv broken.csv --method nbc -o out.csv --engine local --bad-rows bad.csv"),
    },
    "ask": {
        "number": "m.isthmus -n 3 -o out.csv",
        "words": "m.isthmus -n 6 -o out.csv --words",
        "suggest": "m.isthmus -n 6 -o out.csv --suggest",
        "output": "m.isthmus -n 6 -o -",
        "exact": "m.isthmus -n 6 -o out.csv --exact",
        "as_json": "m.isthmus -n 6 -o out.csv --json",
        "force": ("m.isthmus -n 6 -o there.csv", "m.isthmus -n 6 -o there.csv --force"),
        "quiet": "m.isthmus -n 6 -o out.csv --quiet",
        "number of words": ("m.isthmus --words -n 3 -o out.csv", "m.isthmus --words -n 4 -o out.csv"),
        "as_json of words": ("m.isthmus --words -o out.csv", "m.isthmus --words -o out.csv --json"),
    },
    "teach": {
        "answers": "m.isthmus answers.csv --rename names.csv -o out.csv",
        "by": ("m.isthmus answers.csv -o out.csv", "m.isthmus answers.csv -o out.csv --by machine"),
        "words": "m.isthmus --words words.csv --rename names.csv -o out.csv",
        "without": ("taught.isthmus --rename names.csv -o out.csv",
                    "taught.isthmus --rename names.csv -o out.csv --without answers.csv"),
        "rename": "m.isthmus --rename others.csv -o out.csv",
        "source_labels": "m.isthmus --rename names.csv -o out.csv --source-labels corrected.csv",
        "name_group": ("grouped.isthmus --rename names.csv -o out.csv",
                       "grouped.isthmus --rename names.csv -o out.csv --name-group 1=parking"),
        "target": "m.isthmus --rename names.csv -o out.csv --target wide.csv",
        "add": "m.isthmus --rename names.csv -o out.csv --add label",
        "output": "m.isthmus --rename names.csv -o -",
        "report": "m.isthmus --rename names.csv -o out.csv --report page.html",
        "save": "m.isthmus --rename names.csv -o out.csv --save new.isthmus",
        "exact": "m.isthmus --rename names.csv -o out.csv --exact",
        "as_json": "m.isthmus --rename names.csv -o out.csv --json",
        "force": ("m.isthmus --rename names.csv -o there.csv", "m.isthmus --rename names.csv -o there.csv --force"),
        "quiet": "m.isthmus --rename names.csv -o out.csv --quiet",
    },
    "check": {
        "checked": ("m.isthmus --sample 4 --budget 0.4 -o out.csv",
                    "m.isthmus read.csv --sample 4 --budget 0.4 -o out.csv"),
        "sample": ("m.isthmus --sample 5 -o out.csv", "m.isthmus --sample 6 -o out.csv"),
        "margin": ("m.isthmus --margin 0.3 -o out.csv", "m.isthmus --margin 0.2 -o out.csv"),
        "budget": "m.isthmus checked.csv -o out.csv --budget 0.5",
        "by_annotator": ("m.isthmus annotators.csv --json", "m.isthmus annotators.csv --json --by-annotator"),
        "label_column": "m.isthmus checked.csv -o out.csv --label verdict",
        "text": ("run.csv --sample 5 -o out.csv", "run.csv --sample 5 -o out.csv --text remark"),
        "output": "m.isthmus checked.csv -o -",
        "target": "m.isthmus checked.csv -o out.csv --target wide.csv",
        "add": "m.isthmus checked.csv -o out.csv --add label",
        "report": "m.isthmus checked.csv -o out.csv --report page.html",
        "save": "m.isthmus checked.csv -o out.csv --save new.isthmus",
        "seed": ("m.isthmus --sample 5 -o out.csv", "m.isthmus --sample 5 -o out.csv --seed 1"),
        "seed with a budget": ("m.isthmus --sample 5 --budget 0.4 -o out.csv",
                               "m.isthmus --sample 5 --budget 0.4 -o out.csv --seed 1"),
        "label_column by annotator": ("m.isthmus annotators.csv --by-annotator",
                                      "m.isthmus annotators.csv --by-annotator --label verdict"),
        "label_column by annotator, of a table": ("run.csv annotators.csv --by-annotator",
                                                  "run.csv annotators.csv --by-annotator --label verdict"),
        "as_json by annotator": ("m.isthmus annotators.csv --by-annotator",
                                 "m.isthmus annotators.csv --by-annotator --json"),
        "exact of a sample": ("m.isthmus --sample 5 -o out.csv", "m.isthmus --sample 5 -o out.csv --exact"),
        "force of a sample": ("m.isthmus --sample 5 -o there.csv", "m.isthmus --sample 5 -o there.csv --force"),
        "exact": "m.isthmus checked.csv -o out.csv --exact",
        "as_json": "m.isthmus checked.csv -o out.csv --json",
        "force": ("m.isthmus checked.csv -o there.csv", "m.isthmus checked.csv -o there.csv --force"),
        "quiet": "m.isthmus checked.csv -o out.csv --quiet",
    },
    "convert": {
        "to": "labelled.csv out.jsonl --to prodigy",
        "text": "labelled.csv out.jsonl --to doccano --text remark",
        "label_column": "labelled.csv out.jsonl --to doccano --label verdict",
        "id_column": "labelled.csv out.jsonl --to doccano --id nr",
        "by_people": "labelled.csv out.jsonl --to doccano --by-people",
        "review": "labelled.csv out.jsonl --to doccano --review",
        "exact": ("labelled.csv out.csv", "labelled.csv out.csv --exact"),
        "force": ("labelled.csv there.jsonl --to doccano", "labelled.csv there.jsonl --to doccano --force"),
        "quiet": "labelled.csv out.jsonl --to doccano --quiet",
        "force of a table": ("labelled.csv there.csv", "labelled.csv there.csv --force"),
        "review of a table": ("labelled.csv out.csv", "labelled.csv out.csv --review"),
        "text of lines": ("labelled.csv out.ft", "labelled.csv out.ft --text remark"),
    },
    "explain": {
        "document": "m.isthmus --document =k2 --top 3 -o out.csv",
        "text": "m.isthmus --document =k1 --top 3 -o out.csv --text cheap",
        "top": "m.isthmus --document =k1 --top 1 -o out.csv",
        "output": "m.isthmus --document =k1 --top 3 -o -",
        "exact": "m.isthmus --document =k1 --top 3 -o out.csv --exact",
        "as_json": ("m.isthmus --document =k1", "m.isthmus --document =k1 --json"),
        "force": ("m.isthmus --document =k1 -o there.csv", "m.isthmus --document =k1 -o there.csv --force"),
        "quiet": "m.isthmus --document =k1 --top 3 -o out.csv --quiet",
    },
    "diagnose": {
        "text": "source.csv target.csv --full --text remark",
        "label_column": "source.csv target.csv --full --label other",
        "target_text": "source.csv target.csv --full --target-text remark",
        "report": "source.csv target.csv --full --report page.html",
        "review_source": "source.csv target.csv --full --review-source doubt.csv",
        "full": ("source.csv target.csv", "source.csv target.csv --full"),
        "seed": "source.csv target.csv --full --seed 5",
        "language": "source.csv target.csv --full --language de",
        "as_json": "source.csv target.csv --full --json",
        "force": ("source.csv target.csv --report there.html", "source.csv target.csv --report there.html --force"),
        "force of doubtful labels": ("source.csv target.csv --review-source there.csv",
                                     "source.csv target.csv --review-source there.csv --force"),
        "quiet": "source.csv target.csv --full --quiet",
    },
    "cluster": {
        "text": "source.csv target.csv --clusters 3 -o out.csv --text remark",
        "label": "source.csv target.csv --clusters 3 -o out.csv --label other",
        "target_text": "source.csv target.csv --clusters 3 -o out.csv --target-text remark",
        "within": (WITHIN, WITHIN.replace("staff", "price")),
        "names": (WITHIN, f"{WITHIN} --name 1=manners"),
        "clusters": "source.csv target.csv --clusters 2 -o out.csv",
        "method": "source.csv target.csv --clusters 3 -o out.csv --method guided-paper",
        "guidance": "source.csv target.csv --clusters 3 -o out.csv --guidance 0",
        "pivots": "source.csv target.csv --clusters 3 -o out.csv --pivot rude=0 --pivot cheap=0",
        "seed": "source.csv target.csv --clusters 3 -o out.csv --seed 5",
        "analyzer": "source.csv target.csv --clusters 3 -o out.csv --analyzer chars",
        "language": "source.csv target.csv --clusters 3 -o out.csv --language de",
        "output": "source.csv target.csv --clusters 3 -o -",
        "report": "source.csv target.csv --clusters 3 -o out.csv --report page.html",
        "save": "source.csv target.csv --clusters 3 -o out.csv --save new.isthmus",
        "engine": IN_BLOCKS,
        "exact": "source.csv target.csv --clusters 3 -o out.csv --exact",
        "as_json": "source.csv target.csv --clusters 3 -o out.csv --json",
        "force": ("source.csv target.csv -o there.csv", "source.csv target.csv -o there.csv --force"),
        "quiet": "source.csv target.csv --clusters 3 -o out.csv --quiet",
        "quiet in blocks": (IN_BLOCKS, f"{IN_BLOCKS} --quiet"),
        "clusters in blocks": (IN_BLOCKS, IN_BLOCKS.replace("3", "2")),
        "clusters of a class": (WITHIN, WITHIN.replace("2", "3")),
        "output of a class": (WITHIN, WITHIN.replace("out.csv", "-")),
        "exact of a class": (WITHIN, f"{WITHIN} --exact"),
        "as_json of a class": (WITHIN, f"{WITHIN} --json"),
        "force of a class": (WITHIN.replace("out", "there"), WITHIN.replace("out", "there") + " --force"),
        "quiet of a class": (WITHIN, f"{WITHIN} --quiet"),
    },
}  # fmt: skip
# What a command refuses without the option.
NEEDED = ("force", "trust_machine_labels", "bad_rows")
# Of a run in blocks: how many processes, where they run and what they read at a time is not to change what is written;
# a labeller and vectors are candidates among several methods, which takes seconds; the seed moves nothing in so few
# texts, and labels that are forced to be classes stand in test_label.py.
BLOCKS = {"workers", "scheduler", "tls", "memory_limit", "block_rows", "sample", "resume"}
ELSEWHERE = {"cluster": BLOCKS, "label": {*BLOCKS, "labeller", "embed", "seed", "force_classes", *WITH_MODEL}}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """Every file that the lines above read, made once."""
    place = tmp_path_factory.mktemp("shelf")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        shared = {"other": ["north", "south", "east"] * 8, "remark": make_texts(["dull", "loud", "far", "wide"], 24, 7)}
        staff, price = make_texts(STAFF, 12, 0), make_texts(PRICE, 12, 1)
        write_csv("source.csv", {"comment": staff + price, "class": ["staff"] * 12 + ["price"] * 12} | shared)
        comments = [f"{text} again" for text in make_texts(STAFF, 12, 2) + make_texts(PRICE, 12, 3)]
        target = {"key": [f"=k{i}" for i in range(24)], "nr": [f"n{i}" for i in range(24)], "comment": comments}
        target["remark"] = make_texts(["dull", "loud", "far", "wide"], 24, 8)
        write_csv("target.csv", target)
        write_csv("wide.csv", target | {"width": list(range(24))})
        options = ["--text", "comment", "--method", "nbc", "-o", "run.csv", "--save", "m.isthmus", "--quiet", "--exact"]
        assert run_command(["label", "source.csv", "target.csv", *options]) == 0
        found = isthmus.load("m.isthmus")
        truth = ["staff"] * 12 + ["price"] * 12
        for name, options in (("checked", ["--sample", "12"]), ("read", ["--sample", "9", "--budget", "0.4"])):
            assert run_command(["check", "m.isthmus", *options, "-o", f"{name}.csv", "--quiet"]) == 0
            rows = [
                row | {"true_label": truth[int(row["document"]) - 1], "verdict": "price"} for row in read(f"{name}.csv")
            ]
            write_csv(f"{name}.csv", {key: [row[key] for row in rows] for key in rows[0]})
        votes = {"document": [1, 1, 2, 2, 3, 3], "verdict": ["price", "staff"] * 3, "true_label": ["staff"] * 6}
        write_csv("annotators.csv", votes | {"by": ["Kim", "Lee"] * 3})
        write_csv("answers.csv", {"document": range(1, 5), "true_label": ["price", "staff", "price", "price"]})
        write_csv("words.csv", {"word": ["rude"], "label": ["price"]})
        write_csv("names.csv", {"old": ["staff"], "new": ["people"]})
        write_csv("others.csv", {"old": ["staff"], "new": ["persons"]})
        write_csv("corrected.csv", {"document": range(1, 7), "label": ["staff"] * 6, "true_label": ["price"] * 6})
        label = {"label": found.labels.tolist(), "verdict": ["yes", "no"] * 12}
        sure = {"confidence": [0.5] * 24, "needs_review": [True, False] * 12}
        write_csv("labelled.csv", target | label | sure | {"said": ["price", ""] * 12})
        write_csv("classes.csv", {"class": ["again"], "words": ["visit again"]})
        Path("broken.csv").write_bytes(Path("target.csv").read_bytes() + b"=k24,n24,\xff kind,loud\n")
        found.teach("answers.csv").save("taught.isthmus")
        groups = np.array([""] * 18 + ["lot"] * 6, dtype=object)
        group = {"group": "lot", "words": "lot", "documents": 6, "share": 0.25, "low": 0.1, "high": 0.4}
        replace(found, novel_group=groups, novel=[group]).save("grouped.isthmus")
        for name in ("there.csv", "there.jsonl", "there.html"):
            Path(name).write_text("older\n", encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def shelf_runs():
    return {}


@pytest.fixture
def run_on_shelf(shelf, shelf_runs, tmp_path, monkeypatch, capsys):
    """Run a line in a copy of that folder: exit code, both outputs, and the files that are new or changed."""

    def run(command, line, *, again=False):
        if again or (command, line) not in shelf_runs:
            place = tmp_path / str(len(list(tmp_path.iterdir())))
            shutil.copytree(shelf, place)
            monkeypatch.chdir(place)
            capsys.readouterr()
            code = run_command([command, *line.split()])
            talk = capsys.readouterr()
            before = {path.name: path.read_bytes() for path in shelf.iterdir()}
            after = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
            files = {name: content_of(name, data) for name, data in after.items() if before.get(name) != data}
            shelf_runs[command, line] = code, talk.out, files, talk.err
        return shelf_runs[command, line]

    return run


def content_of(name, data):
    """What a file says of the outcome: a record names the time and the options, too; pages and models are there."""
    if name.endswith("run.json"):
        told = json.loads(data)
        return {key: part for key, part in told.items() if key not in ("finished", "options", "settings", "versions")}
    return data if name.endswith((".csv", ".jsonl", ".ft")) else "there"


@pytest.mark.parametrize(("command", "option"), [(name, option) for name in EFFECTS for option in EFFECTS[name]])
def test_every_option_of_a_command_has_an_effect(run_on_shelf, command, option):
    lines = EFFECTS[command][option]
    without, with_it = (USUAL[command], lines) if isinstance(lines, str) else lines
    first, other = run_on_shelf(command, without), run_on_shelf(command, with_it)
    named = option.split()[0]
    assert first[0] == (named in NEEDED), f"{command} {without}: {first[3]}"
    assert other[0] == 0, f"{command} {with_it}: {other[3]}"
    if named == "quiet":
        assert first[:3] == other[:3], "--quiet changes what is written"
        assert first[3]
        assert other[3] == "", "--quiet leaves something to be said"
    else:
        assert first[:3] != other[:3], f"{command} {with_it}: the same outputs and files as {command} {without}"


@pytest.mark.parametrize("command", EFFECTS)
def test_nothing_but_the_option_differs_between_two_runs(run_on_shelf, command):
    once = run_on_shelf(command, USUAL[command])
    assert run_on_shelf(command, USUAL[command], again=True)[:3] == once[:3]


@pytest.mark.parametrize("command", EFFECTS)
def test_the_table_of_effects_is_whole(command):
    known = {part.name for part in _Commands()[command].params if not part.required} - {"help", "help_all"}
    shown = {option.split()[0] for option in EFFECTS[command]}
    assert shown == known - ELSEWHERE.get(command, set()), "an option without two lines that show its effect"


def test_annotators_are_compared_by_the_named_column(run_on_shelf):
    """Lee says "staff" three times and Kim "price", wherever the column of another label stands."""
    told = [
        run_on_shelf("check", f"{result} annotators.csv --by-annotator --json --label verdict")[1]
        for result in ("m.isthmus", "run.csv")
    ]
    assert told[0] == told[1], "a saved result and its table give the same figures"
    for result in ("m.isthmus", "run.csv"):
        code, out, _, said = run_on_shelf("check", f"{result} annotators.csv --by-annotator --label nothing")
        assert (code, out) == (1, ""), "another column is not taken instead"
        assert "has the columns document, verdict, true_label, by; document, nothing and by are needed" in said


@pytest.mark.parametrize(
    ("command", "line", "file"),
    [
        ("check", "m.isthmus checked.csv -o out.csv --json", "checked.csv"),
        ("check", "run.csv --sample 5 -o out.csv --json", "run.csv"),
        ("cluster", "source.csv target.csv --clusters 3 -o out.csv", "source.csv"),
        ("cluster", "source.csv target.csv --clusters 3 -o out.csv", "target.csv"),
        ("convert", "labelled.csv out.jsonl --to doccano", "labelled.csv"),
        ("diagnose", "source.csv target.csv --full", "source.csv"),
        ("diagnose", "source.csv target.csv --full", "target.csv"),
    ],
)
def test_a_file_may_come_from_standard_input(run_on_shelf, shelf, monkeypatch, command, line, file):
    named = run_on_shelf(command, line)
    content = io.BytesIO((shelf / file).read_bytes())
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=content, isatty=lambda: False))
    code, out, files, said = run_on_shelf(command, line.replace(file, "-"))
    assert code == 0, said
    assert out == named[1]
    tables = [{name: data for name, data in one.items() if not name.endswith("run.json")} for one in (files, named[2])]
    assert tables[0] == tables[1], "the same rows, wherever they came from"


def test_names_of_subtopics_on_standard_output_are_learned_from_a_file_of_any_name(run_on_shelf):
    code, out, files, said = run_on_shelf("cluster", f"{WITHIN.replace('out.csv', '-')} --name 1=manners")
    assert (code, files) == (0, {})
    assert "manners" in out
    assert said.splitlines()[-1].startswith("next: Learn them: isthmus teach m.isthmus ANSWERS -o taught.csv --save ")
