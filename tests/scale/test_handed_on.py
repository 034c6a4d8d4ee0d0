"""What a run in blocks hands from step to step, seen from outside: named columns, shares that moved."""

import csv
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from isthmus._math.rows import softmax
from isthmus.choose import AccuracyEstimate
from isthmus.choose.model import LabelModel
from isthmus.choose.stages.apply import Batch, Temperature
from isthmus.cli.app import run_command
from isthmus.exceptions import DataError
from isthmus.options import LabelOptions
from isthmus.scale import label_files, trust, views
from isthmus.scale.label import LabelRun
from isthmus.scale.output import Output, open_work, work_folder
from isthmus.scale.trust import STEPS, Trust


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def two_columns(tmp_path):
    """A target whose column text speaks of sport throughout; what it is about stands in the column body."""
    words = {"sport": "match team goal", "money": "bank stock share"}
    with open(tmp_path / "s.csv", "w", encoding="utf-8") as file:
        file.writelines(["text,topic\n", *(f"{words[t]} {i % 7},{t}\n" for i in range(60) for t in words)])
    with open(tmp_path / "t.csv", "w", encoding="utf-8") as file:
        rows = [f"team goal,{words[t]} {i % 5},{t}\n" for i in range(40) for t in words]
        file.writelines(["text,body,topic\n", *rows])
    return str(tmp_path / "s.csv"), str(tmp_path / "t.csv")


@pytest.mark.parametrize("way", ["function", "blocks", "memory"])
def test_the_target_is_read_by_its_own_column(two_columns, tmp_path, way):
    out = tmp_path / "out.csv"
    if way == "function":
        label_files(*two_columns, out, method="nbc", text="text", target_text="body", label="topic", sample=60)
    else:
        command = ["label", *two_columns, "-o", str(out), "--method", "nbc", "--text", "text", "--label", "topic"]
        command += ["--target-text", "body", "--quiet", *(["--engine", "local"] if way == "blocks" else [])]
        assert run_command(command) == 0
    rows = rows_of(out)
    assert len(rows) == 80
    assert [row["label"] for row in rows] == [row["topic"] for row in rows]


def test_how_many_terms_had_no_room_is_said(two_columns, tmp_path, monkeypatch):
    monkeypatch.setattr(views, "MAX_TERMS", 4)
    result = label_files(*two_columns, tmp_path / "out.csv", method="nbc", text="text", label="topic", sample=60)
    assert "2 rarer terms beyond 4 are left out." in result.notes


def test_shares_that_moved_are_followed_as_the_sample_says(moved, tmp_path):
    """Where the sample is the whole target, the labels written are as sure on average as the expectation says."""
    result = label_files(*moved, tmp_path / "out.csv", text="text", label="topic", sample=1_000)
    (said,) = [row["message"] for row in result.warnings if row["topic"] == "class shares"]
    assert "Labels were brought to these shares." in said
    confidence = [float(row["confidence"]) for row in rows_of(tmp_path / "out.csv")]
    assert sum(confidence) / len(confidence) == pytest.approx(result.mean_confidence, abs=1e-4)
    assert result.mean_confidence == pytest.approx(result.expected_accuracy.estimate, abs=0.005)


def test_documents_that_need_review_anyway_use_nothing_of_the_budget():
    """Fifty documents with doubts of 0.4, all but three in a new group: the three make 1.2 errors in 50."""
    run = LabelRun(None, LabelOptions(method="nbc", error_budget=0.024), Output("out", "work"), None, {})
    run.n_target = 50
    counts, passable = np.zeros((2, 2, STEPS + 1), dtype=np.int64)
    counts[0, 6_000], passable[0, 6_000] = 50, 3
    trust = Trust(AccuracyEstimate(0.95, 0.95, 0.96), 0.0, 1.0, None, [])
    assert run._review_limits(trust, (counts, passable, np.array([25, 25]), np.zeros(0)), alone=True)[0] == 6_000


class Seen(Exception):
    pass


@pytest.fixture
def told_by(two_columns, tmp_path, monkeypatch):
    """Which texts of a target the language is told from: its rows are numbered."""

    def note(texts, **options):
        raise Seen([text for text in texts if text.startswith("file")])

    def told_by(*files, **options):
        (tmp_path / "many").mkdir()
        for number, rows in enumerate(files):
            texts = [f"file {number} row {row}\n" for row in range(rows)]
            (tmp_path / "many" / f"{number}.csv").write_text("text\n" + "".join(texts), encoding="utf-8")
        given = {"text": "text", "label": "topic", "method": "nbc", **options}
        with pytest.raises(Seen) as seen:
            label_files(two_columns[0], tmp_path / "many", tmp_path / "out", **given)
        return seen.value.args[0]

    monkeypatch.setattr("isthmus.scale.run.choose_reading", note)
    return told_by


def test_the_language_is_told_from_files_all_over_the_input(told_by, monkeypatch):
    monkeypatch.setattr("isthmus.scale.run._HEAD_SHARDS", 2)
    assert told_by(1, 1, 1, 1) == ["file 0 row 0", "file 2 row 0"]


@pytest.mark.parametrize("block_rows", [1, 2, 100])
def test_the_language_is_told_from_as_many_rows_whatever_the_blocks(told_by, monkeypatch, block_rows):
    monkeypatch.setattr("isthmus.scale.run._HEAD_ROWS", 3)
    expected = [*(f"file 0 row {row}" for row in range(3)), *(f"file 1 row {row}" for row in range(2))]
    assert told_by(5, 2, block_rows=block_rows) == expected


def test_the_confidence_of_one_method_is_set_by_documents_outside_new_groups(monkeypatch):
    """As in memory: the figure speaks of them alone."""
    given = []
    monkeypatch.setattr(trust, "make_scorer", lambda texts, options: None)
    monkeypatch.setattr(trust, "confidence_outside", lambda judge, probabilities: 0.8)
    monkeypatch.setattr(trust, "estimate_accuracy", lambda *_: AccuracyEstimate(0.8, 0.7, 0.9))
    monkeypatch.setattr(trust, "novel_names", lambda judge, texts: np.array(["", "new: tyres", ""], dtype=object))
    monkeypatch.setattr(trust, "find_power", lambda probabilities, accuracy: given.append(probabilities) or 1.0)
    classes = np.array(["price", "staff"])
    model = LabelModel({"nbc": SimpleNamespace(classes_=classes)}, {"nbc": 1.0})
    batch = Batch({"nbc": softmax(np.array([[0.0, 2.0], [0.0, 0.0], [1.0, 0.0]]))}, {"nbc": classes})
    source = ["kind", "dear"], ["staff", "price"]
    trust.fit_stages(model, batch, source, ["kind", "tyres", "dear"], None, {}, 2)
    assert model.stages == [Temperature(1.0)]
    (rows,) = given
    np.testing.assert_allclose(
        rows[:, 0], [1 / (1 + np.exp(2)), 1 / (1 + np.exp(-1))], err_msg="the first and the last"
    )


def test_a_stopped_run_says_in_what_another_one_differs(tmp_path):
    place = str(tmp_path / "out.csv")
    plan = {"inputs": ["a.csv"], "options": {"method": "nbc", "seed": 1, "sample": 60}}
    open_work(place, plan, resume=False, force=False)
    other = {"inputs": ["b.csv"], "options": {"method": "nbc", "seed": 2, "sample": 50}}
    with pytest.raises(DataError) as caught:
        open_work(place, other, resume=True, force=False)
    assert caught.value.code == "other-run"
    assert "differs from this one in: inputs, options (seed, sample). Give" in str(caught.value)
    assert open_work(place, plan, resume=True, force=False) == work_folder(place)


@pytest.mark.parametrize(("resume", "force", "kept"), [(True, False, True), (True, True, True), (False, True, False)])
def test_what_a_stopped_run_left_is_kept_where_it_goes_on(tmp_path, resume, force, kept):
    place, plan = str(tmp_path / "out"), {"inputs": ["a.csv"]}
    Path(place).mkdir()  # an empty folder may stand there
    work = open_work(place, plan, resume=False, force=False)
    (work / "rows").mkdir()
    (work / "rows" / "1.npy").write_bytes(b"numbers")
    open_work(place, plan, resume=resume, force=force)
    assert (work / "rows" / "1.npy").is_file() is kept, f"resume={resume}, force={force}"
    (work / "plan.json").unlink()
    (work / "left").write_bytes(b"")
    open_work(place, plan, resume=True, force=False)
    assert not (work / "left").exists(), "without its plan nobody knows whose it is"


@pytest.mark.parametrize("scorer", [None, SimpleNamespace(novelty=SimpleNamespace(groups=[]))])
def test_where_no_accuracy_is_expected_labels_are_not_compared(scorer):
    run = LabelRun(None, LabelOptions(method="nbc"), Output("out", "work"), None, {})
    unknown = AccuracyEstimate(None, reason="too few")
    assert run._classifiers(Trust(unknown, 0.0, 1.0, scorer, []), compare=True) is None
    assert run._classifiers(Trust(AccuracyEstimate(0.8, 0.7, 0.9), 0.0, 1.0, None, []), compare=True) is None
