"""An option that can do nothing is refused in one sentence; what was ignored before works."""

import json
from pathlib import Path

import pytest
from cli_tables import make_texts, write_csv
from cli_tables import read_csv as read

import isthmus
from isthmus.cli.app import run_command
from isthmus.request import LabelRequest

pytest.importorskip("skops")
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
    assert set(WITH_MODEL) == {spec.name for spec in LabelRequest.options().values() if spec.model and spec.flags}


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
