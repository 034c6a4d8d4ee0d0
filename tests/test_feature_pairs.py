"""Every feature beside every other: a table whose cells are a test, a refusal with its code, or why none is needed.

Two thirds of the cells are tested here, on a pair of thirty short texts each; the others name the test that does it.
"""

import csv
import json
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.cli.app import run_command
from isthmus.corpus import read_collection, write_rows
from isthmus.exceptions import IsthmusWarning, UsageError
from isthmus.options import LabelOptions
from isthmus.scale import label_files
from isthmus_bench.shifted import make_shifted_texts

ROOT = Path(__file__).parent

SOURCES = ("two files", "half-labelled file", "several sources")
EXTRAS = ("words", "answers", "vectors", "names")
ACTIONS = (
    "teach", "without", "rename", "merge", "check", "guarantee", "ask", "explain", "report", "save and load",
    "later texts",
)  # fmt: skip
BLOCKS = ("blocks", "dask")
FEATURES = (*SOURCES, "no source", *EXTRAS, *ACTIONS, *BLOCKS, "workbench", "exports")

HERE = "test_feature_pairs.py::"
FLOW, KEEPING, DECISIONS, HANDED_ON = (
    f"workspace/test_{name}.py::test_" for name in ("flow", "keeping", "decisions", "handed_on")
)
ONE_SOURCE = "a command line names its documents in one way"
IN_MEMORY = "a run of the workbench holds its texts in memory"
STORED = "an export writes what the run has stored, however it was made"

CELLS = {
    **{frozenset(pair): ONE_SOURCE for pair in combinations((*SOURCES, "no source"), 2)},
    **{frozenset((name, extra)): f"{HERE}test_inputs_together" for name in SOURCES for extra in EXTRAS},
    **{frozenset((extra, "answers")): f"{HERE}test_inputs_together" for extra in ("words", "vectors", "names")},
    **{frozenset((extra, "names")): f"{HERE}test_the_vote_takes_names_and" for extra in ("words", "vectors")},
    frozenset(("words", "vectors")): f"{HERE}test_words_are_taught_where_vectors_label",
    **{
        frozenset((given, action)): f"{HERE}test_every_action_on_every_input"
        for given in (*SOURCES, *EXTRAS)
        for action in ACTIONS
    },
    **{frozenset(pair): f"{HERE}test_one_action_after_another" for pair in combinations(ACTIONS, 2)},
    **{frozenset(("no source", other)): "refused: no-label-column" for other in EXTRAS[:3]},
    frozenset(("no source", "names")): f"{HERE}test_every_action_on_names_alone",
    **{frozenset(("no source", action)): f"{HERE}test_every_action_on_names_alone" for action in ACTIONS},
    # runs in blocks, with and without a cluster
    **{frozenset(("two files", engine)): f"{HERE}test_all_routes_give_the_same_numbers" for engine in BLOCKS},
    **{frozenset(("several sources", engine)): f"{HERE}test_several_sources_in_blocks" for engine in BLOCKS},
    **{
        frozenset((name, engine)): "refused: bad-parameter"
        for name in ("half-labelled file", "no source", *EXTRAS, "report", "save and load", "later texts")
        for engine in BLOCKS
    },
    **{
        frozenset((name, engine)): "refused: bad-model"
        for name in ("teach", "without", "rename", "merge", "ask", "explain")
        for engine in BLOCKS
    },
    **{
        frozenset((name, engine)): f"{HERE}test_a_table_made_in_blocks_can_be_checked"
        for name in ("check", "guarantee")
        for engine in BLOCKS
    },
    frozenset(BLOCKS): "scale/test_dask.py::test_same_bytes_on_any_number_of_workers",
    # the workbench
    frozenset(("workbench", "two files")): f"{FLOW}a_run_labels_every_document_and_leaves_tables",
    frozenset(("workbench", "half-labelled file")): "the workbench takes source and target as two files",
    frozenset(("workbench", "several sources")): f"{HANDED_ON}files_further_texts_and_budget_reach_the_labelling",
    frozenset(("workbench", "no source")): f"{FLOW}a_run_without_a_target_is_refused",
    frozenset(("workbench", "words")): f"{DECISIONS}words_that_the_fit_used_can_be_taken_back",
    frozenset(("workbench", "answers")): f"{FLOW}answers_are_kept_taught_and_outlive_a_new_run",
    frozenset(("workbench", "names")): "workbench/test_names.py::test_classes_by_name_label_review_teach_and_export",
    frozenset(("workbench", "guarantee")): f"{DECISIONS}a_blind_sample_measures_the_accuracy",
    frozenset(("workbench", "vectors")): "its form has no field for vectors of one's own",
    frozenset(("workbench", "teach")): f"{FLOW}answers_are_kept_taught_and_outlive_a_new_run",
    frozenset(("workbench", "without")): f"{FLOW}an_answer_can_be_changed_and_taken_back_and_nothing_is_forgotten",
    frozenset(("workbench", "rename")): "classes are renamed in Python; the workbench renames groups",
    frozenset(("workbench", "merge")): f"{DECISIONS}groups_are_renamed_merged_and_made_a_class",
    frozenset(("workbench", "check")): f"{DECISIONS}a_blind_sample_measures_the_accuracy",
    frozenset(("workbench", "ask")): f"{FLOW}the_queue_hands_out_what_is_released_skipped_or_overdue",
    frozenset(("workbench", "explain")): "workbench/test_decisions.py::test_a_word_is_given_and_taken_back",
    frozenset(("workbench", "report")): f"{KEEPING}the_worker_makes_reports_and_models",
    frozenset(("workbench", "save and load")): f"{KEEPING}the_worker_makes_reports_and_models",
    frozenset(("workbench", "later texts")): f"{KEEPING}the_exported_model_knows_the_ids_of_the_exported_answers",
    frozenset(("workbench", "exports")): f"{KEEPING}labels_are_exported_with_who_decided",
    **{frozenset(("workbench", engine)): IN_MEMORY for engine in BLOCKS},
    # its exports
    frozenset(("exports", "names")): "workbench/test_names.py::test_classes_by_name_label_review_teach_and_export",
    frozenset(("exports", "answers")): f"{KEEPING}answers_and_the_audit_log_are_exported_whole",
    frozenset(("exports", "teach")): f"{KEEPING}the_exported_model_knows_the_ids_of_the_exported_answers",
    frozenset(("exports", "report")): f"{KEEPING}the_worker_makes_reports_and_models",
    frozenset(("exports", "save and load")): f"{KEEPING}the_worker_makes_reports_and_models",
    frozenset(("exports", "later texts")): f"{KEEPING}the_exported_model_knows_the_ids_of_the_exported_answers",
    **{
        frozenset(("exports", other)): STORED
        for other in (*SOURCES, "no source", "words", "vectors", *ACTIONS[1:8])
    },
    **{frozenset(("exports", engine)): IN_MEMORY for engine in BLOCKS},
}  # fmt: skip


def test_the_table_has_every_pair_once():
    wanted = {frozenset(pair) for pair in combinations(FEATURES, 2)}
    missing = sorted(sorted(pair) for pair in wanted - set(CELLS))
    assert not missing, f"these pairs have no cell: {missing}"
    assert set(CELLS) == wanted


@pytest.mark.parametrize("cell", sorted({cell for cell in CELLS.values() if "::" in cell}))
def test_the_test_that_a_cell_names_is_there(cell):
    file, _, name = cell.partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"^def {name or 'test_'}", text, re.M), f"{file} has no test {name!r}"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A pair in every shape: two files, one half-labelled, two sources; words, answers and vectors for it."""
    place = tmp_path_factory.mktemp("pairs")
    made = make_shifted_texts(60, 40, n_classes=3, shared=0.6, random_state=0)
    vectors = np.random.default_rng(0).normal(size=(100, 3)).round(3)
    cells = [str(row.tolist()) for row in vectors]
    source = {"text": made.source_texts, "label": made.source_labels, "v": cells[:60]}
    target = {"id": [f"t{i}" for i in range(40)], "text": made.target_texts, "v": cells[60:]}
    write_rows(place / "source.csv", source)
    write_rows(place / "first.csv", {name: column[::2] for name, column in source.items()})
    write_rows(place / "second.csv", {name: column[1::2] for name, column in source.items()})
    write_rows(place / "target.csv", target)
    half = {"text": [*made.source_texts, *made.target_texts], "label": [*made.source_labels, *[None] * 40], "v": cells}
    write_rows(place / "half.csv", half)
    words = made.words_of("class 0", "shared")[:2]
    write_rows(place / "words.csv", {"word": words, "label": ["class 0"] * 2})
    described = {f"class {code}": " ".join(made.words_of(f"class {code}", "shared")[:6]) for code in range(3)}
    write_rows(place / "classes.csv", {"class": list(described), "words": list(described.values())})
    truths = list(made.target_labels)
    write_rows(place / "answers.csv", {"document": [1, 2, 3], "true_label": truths[:3]})
    place.joinpath("truth.txt").write_text("\n".join(truths))
    return place


FILES = {
    "two files": ["source.csv", "target.csv"],
    "half-labelled file": ["half.csv"],
    "several sources": ["first.csv", "second.csv", "target.csv"],
}
OPTIONS = {
    "words": ["--words", "words.csv", "--method", "dual-factor"],
    "answers": ["--answers", "answers.csv"],
    "vectors": ["--vectors", "v", "--method", "vectors-logistic"],
    "names": ["--classes", "classes.csv", "--method", "names"],
}


def label(place, monkeypatch, *features):
    """The labelling that the command makes of these features, read back from its file."""
    monkeypatch.chdir(place)
    inputs = next((FILES[name] for name in features if name in FILES), FILES["two files"])
    inputs = ["target.csv"] if "no source" in features else inputs
    options = [part for name in features if name in OPTIONS for part in OPTIONS[name]]
    if "--method" not in options:
        options += ["--method", "nbc"]
    out = ["-o", "out.csv", "--save", "run.isthmus", "--quiet", "--force"]
    columns = ["--text", "text", *([] if "no source" in features else ["--label", "label"])]
    assert run_command(["label", *inputs, *columns, *options, *out]) == 0
    return isthmus.load("run.isthmus")


def assert_sound(result):
    """What holds of every labelling, whatever was done to it."""
    n = len(result.texts)
    assert {len(part) for part in (result.labels, result.confidence, result.needs_review, result.novel_group)} == {n}
    assert set(result.labels.tolist()) <= set(result.classes.tolist())
    assert result.probabilities.sum(axis=1) == pytest.approx(np.ones(n))
    assert ((result.confidence >= 0) & (result.confidence <= 1)).all()
    assert not result.needs_review[result.known_answers.rows].any(), "an answered document is not to be reviewed"
    assert result.labels[result.known_answers.rows].tolist() == result.known_answers.labels


def act(result, action, place):
    """The labelling after an action; actions that only tell something leave it as it is."""
    truths = result.in_current_names(place.joinpath("truth.txt").read_text().splitlines())
    if action in ("teach", "without"):
        first = 5 if action == "teach" else 15
        numbers = list(range(first, first + 6))
        answers = {"document": numbers, "true_label": [truths[number - 1] for number in numbers]}
        taught = result.teach(answers, name=action)
        if action == "teach":
            return taught
        back = taught.teach(without=action)
        np.testing.assert_allclose(back.probabilities, result.probabilities, atol=1e-9)
        return back
    if action in ("rename", "merge"):
        old = sorted(result.classes.tolist())[:2]
        names = {old[0]: f"{old[0]}'"} if action == "rename" else {old[0]: "both", old[1]: "both"}
        renamed = result.rename_classes(names)
        assert len(renamed.classes) == len(result.classes) - (action == "merge")
        return renamed
    if action == "check":
        found = result.check(truths)
        assert found.n == len(truths)
    elif action == "guarantee":
        sample = result.sample(12, budget=0.2)
        filled = [truths[number - 1] for number in sample["document"]]
        found = result.check({**sample, "true_label": filled}, budget=0.2)
        open_ = result.needs_review | found.guarantee.passes
        open_[[number - 1 for number in sample["document"]]] = True
        open_[result.known_answers.rows] = True
        assert open_.all(), "a label neither passes, nor was read, nor is to be reviewed"
    elif action == "ask":
        asked = result.ask(5)["document"]
        assert not {row + 1 for row in result.known_answers.rows} & set(asked), "an answered document was asked again"
    elif action == "explain":
        assert {row["class"] for row in result.reasons(0)} <= set(result.classes.tolist())
    elif action == "report":
        assert "</html>" in Path(result.report(place / "page.html", force=True)).read_text()
    elif action == "save and load":
        loaded = isthmus.load(result.save(place / "saved.isthmus", force=True))
        np.testing.assert_array_equal(loaded.labels, result.labels)
        np.testing.assert_allclose(loaded.probabilities, result.probabilities, atol=1e-9)
        return loaded
    else:
        vectors = np.zeros((2, 3)) if result.needs_vectors else None
        later = result.label_new(["a text that comes later", "and one more"], vectors=vectors)
        assert set(later.labels.tolist()) <= set(result.classes.tolist())
    return result


TOGETHER = [*((name, extra) for name in SOURCES for extra in EXTRAS), ("words", "answers"), ("answers", "vectors")]
TOGETHER += [("answers", "names")]


@pytest.mark.parametrize("features", TOGETHER, ids="-".join)
def test_inputs_together(files, monkeypatch, features):
    result = label(files, monkeypatch, *features)
    assert_sound(result)
    assert len(result.texts) == 40
    assert len(result.known_answers) == 3 * ("answers" in features)
    assert bool(result.given_words) == ("words" in features)
    assert result.needs_vectors == ("vectors" in features) or result.given_vectors is not None


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
@pytest.mark.parametrize("extra", ["words", "vectors"])
def test_the_vote_takes_names_and(files, monkeypatch, extra):
    """No single method takes both; the vote does."""
    both = [*OPTIONS[extra][:2], *OPTIONS["names"][:2], "--method", "auto"]
    monkeypatch.setitem(OPTIONS, extra, both)
    result = label(files, monkeypatch, extra)
    assert_sound(result)
    assert {row["method"] for row in result.decision} >= {"names"}
    assert bool(result.given_words) == (extra == "words")


def test_words_are_taught_where_vectors_label(files, labelled):
    """No single method takes both; words can be taught on top of any."""
    word, name = (files / "words.csv").read_text().splitlines()[1].split(",")
    taught = labelled["vectors"].teach(word_labels={word: name})
    assert_sound(taught)
    assert taught.answers.words == {word: {name: 1.0}}


@pytest.fixture(scope="module")
def labelled(files):
    """A labelling of each input by itself, made once."""
    with pytest.MonkeyPatch.context() as patch:
        return {name: label(files, patch, name) for name in (*SOURCES, *EXTRAS)}


@pytest.mark.filterwarnings("ignore:The model finds no term")
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("given", [*SOURCES, *EXTRAS])
def test_every_action_on_every_input(files, labelled, given, action):
    assert_sound(act(labelled[given], action, files))


@pytest.mark.filterwarnings("ignore:The model finds no term")
@pytest.mark.parametrize(("first", "second"), [pair for one in combinations(ACTIONS, 2) for pair in (one, one[::-1])])
def test_one_action_after_another(files, labelled, first, second):
    assert_sound(act(act(labelled["two files"], first, files), second, files))


@pytest.fixture(scope="module")
def by_names(files):
    """A labelling by names alone."""
    with pytest.MonkeyPatch.context() as patch:
        return label(files, patch, "no source", "names")


@pytest.mark.filterwarnings("ignore:The model finds no term")
@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_on_names_alone(files, by_names, action):
    assert_sound(act(by_names, action, files))


def test_names_do_not_let_a_spoilt_source_in(files):
    parts = [read_collection(files / f"{name}.csv", text="text", label="label") for name in ("first", "second")]
    target = read_collection(files / "target.csv", text="text").texts
    table = read_collection(files / "classes.csv", text="words", label="class")
    named = dict(zip(table.labels, table.texts, strict=True))
    spoilt = np.random.default_rng(0).permutation(parts[1].labels).tolist()
    domain = ["good"] * len(parts[0]) + ["spoilt"] * len(parts[1])
    texts, labels = parts[0].texts + parts[1].texts, parts[0].labels + spoilt
    with pytest.warns(IsthmusWarning, match="labels of spoilt cannot be learned from its words; it was left out"):
        both = isthmus.label(texts, labels, target, "names", classes=named, source_domain=domain)
    assert [row["source"] for row in both.sources if row["used"]] == ["good"]
    alone = isthmus.label(parts[0].texts, parts[0].labels, target, "names", classes=named)
    assert both.labels.tolist() == alone.labels.tolist()


def test_names_alone_are_broken_down_by_a_column(files, monkeypatch):
    monkeypatch.chdir(files)
    names = ["--text", "text", "--classes", "classes.csv", "-o", "by.csv", "--quiet", "--force"]
    write_rows("regions.csv", {"text": read_collection("target.csv", text="text").texts, "region": ["n", "s"] * 20})
    assert run_command(["label", "regions.csv", *names, "--by", "region"]) == 0
    (record,) = [json.loads(path.read_text()) for path in files.glob("*run.json") if "by.csv" in path.read_text()]
    rows = record["class_shares_by"]["rows"]
    for region in ("n", "s"):
        found = [row["estimate"] for row in rows if row["value"] == region]
        assert sum(found) == pytest.approx(1, abs=1e-3), f"the classes of region {region} make a whole"
    assert {row["low"] for row in rows} == {None}, "no source, no answers: nothing says how far off they are"


def test_names_and_a_file_that_has_labels_of_one_class(files, monkeypatch):
    """The given labels stay; what names decide is not said to be learned from them."""
    monkeypatch.chdir(files)
    texts = read_collection("target.csv", text="text").texts
    truths = files.joinpath("truth.txt").read_text().splitlines()
    given = [truth if truth == "class 0" and row % 2 else None for row, truth in enumerate(truths)]
    write_rows("one.csv", {"text": texts, "label": given}, force=True)
    names = ["--text", "text", "--classes", "classes.csv", "--quiet", "--force"]
    assert run_command(["label", "one.csv", *names, "-o", "one_out.csv", "--save", "one.isthmus"]) == 0
    saved = isthmus.load("one.isthmus")
    assert [row["topic"] for row in saved.warnings] == ["not estimated"]
    assert set(saved.ask(5)["drawn"]) == {"random"}
    with open("one_out.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows if row["given"] == "True"] == [label for label in given if label]


def test_classes_by_name_are_renamed_and_merged_in_either_order(files, by_names):
    first, second, third = sorted(by_names.classes.tolist())
    one = by_names.rename_classes({first: "alpha"}).rename_classes({second: "beta", third: "beta"})
    other = by_names.rename_classes({second: "beta", third: "beta"}).rename_classes({first: "alpha"})
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_allclose(one.confidence, other.confidence)
    words = by_names.descriptions
    assert one.descriptions == {"alpha": words[first], "beta": f"{words[second]}; {words[third]}"}
    asked = one.ask(12)
    assert set(asked["drawn"]) == {"random"}
    truths = files.joinpath("truth.txt").read_text().splitlines()
    taught = one.teach(asked | {"true_label": [truths[number - 1] for number in asked["document"]]})
    assert_sound(taught)
    assert taught.classes.tolist() == ["alpha", "beta"], "answers in the former names are understood"


@pytest.mark.parametrize("extra", [[], *list(OPTIONS.values())[:3]])
def test_no_source_is_refused(files, monkeypatch, capsys, extra):
    monkeypatch.chdir(files)
    assert run_command(["label", "target.csv", "--text", "text", *extra, "-o", "none.csv"]) == 1
    assert "[no-label-column]" in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["local", "dask"])
@pytest.mark.parametrize("given", ["words", "answers", "vectors", "class_table", "report", "save", "model"])
def test_blocks_refuse_what_needs_memory(engine, given):
    request = LabelOptions(files=("s.csv", "t.csv"), output="o.csv", engine=engine, **{given: "x"})
    with pytest.raises(UsageError, match=f"leave out --{given.replace('class_table', 'classes')}") as error:
        request.refuse_given("Runs in blocks hold no collection in memory", can="blocks")
    assert error.value.code == "bad-parameter"


def in_blocks(place, sources, **options):
    """Columns of the target, labelled in blocks of seventeen rows."""
    out = place / "blocks.csv"
    columns = {"text": "text", "label": "label", "block_rows": 17, "force": True}
    found = label_files(sources, place / "target.csv", out, method="nbc", **columns, **options)
    return found, read_collection(out, text="text").table()


def test_several_sources_in_blocks(files):
    whole = in_blocks(files, [files / "source.csv"])[1]
    parts = in_blocks(files, [files / "first.csv", files / "second.csv"])[1]
    assert parts == whole


def test_a_table_made_in_blocks_can_be_checked(files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    in_blocks(files, [files / "source.csv"])
    assert run_command(["check", "blocks.csv", "--sample", "10", "-o", "sample.csv", "--force"]) == 0
    assert "Label these 10 of 40 documents" in capsys.readouterr().err
    assert run_command(["label", "half.csv", "-o", "o.csv", "--engine", "local"]) == 2
    assert "needs SOURCE and TARGET" in capsys.readouterr().err
    commands = [
        ["ask", "blocks.csv", "-o", "none.csv"],
        ["teach", "blocks.csv", "answers.csv", "-o", "none.csv"],
        ["explain", "blocks.csv", "--document", "1"],
    ]
    for command in commands:
        assert run_command(command) == 1
        assert "[bad-model]" in capsys.readouterr().err, f"{command[0]} needs the model, which blocks do not keep"


def test_all_routes_give_the_same_numbers(files, monkeypatch, tmp_path):
    """Command, Python, blocks, a saved model and the workbench on one pair."""
    command = label(files, monkeypatch, "two files")
    source = read_collection(files / "source.csv", text="text", label="label")
    target = read_collection(files / "target.csv", text="text")
    python = isthmus.label(source.texts, source.labels, target.texts, method="nbc")
    routes = {
        "Python": (python.labels.tolist(), python.confidence.round(4).tolist(), python.needs_review.tolist()),
        "saved": (command.labels.tolist(), command.confidence.round(4).tolist(), command.needs_review.tolist()),
        "blocks": from_table(in_blocks(files, [files / "source.csv"])[1]),
        "workbench": from_workbench(files, tmp_path),
    }
    with open(files / "out.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    expected = from_table({name: [row[name] for row in rows] for name in rows[0]})
    for route, found in routes.items():
        for what, ours, theirs in zip(("labels", "confidences", "marks"), found, expected, strict=True):
            assert ours == theirs, f"{route} and the command give other {what}"


def from_table(table):
    confidence = [round(float(cell), 4) for cell in table["confidence"]]
    return table["label"], confidence, [cell == "True" for cell in table["needs_review"]]


def from_workbench(place, folder):
    pytest.importorskip("sqlalchemy", reason="a workspace needs the extra 'workbench'")
    workspace_room = pytest.importorskip("isthmus.workspace")
    with workspace_room.open_workspace(folder / "workspace", None) as workspace:
        by = workspace.people.local().id
        project = workspace.projects.create("Pair", by=by).id
        for kind in ("source", "target"):
            with open(place / f"{kind}.csv", "rb") as file:
                added = workspace.collections.add(project, f"{kind}.csv", file, kind=kind, by=by)
            workspace.collections.map(added.id, by=by, text=["text"], label="label" if kind == "source" else None)
        run = workspace.runs.start(project, {"method": "nbc", "vectors": False}, by=by)
        workspace_room.work(workspace, until_idle=True)
        export = workspace.exports.make(project, "labels", by=by, run=run.id, ending=".csv")
        table = read_collection(workspace.exports.path(export.id), text="text").table()
        return from_table(table)
