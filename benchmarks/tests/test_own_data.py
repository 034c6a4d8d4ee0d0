"""Methods compared on a user's own files, and experiments as TOML files."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from isthmus.corpus import load_sample
from isthmus.exceptions import DataError, UsageError
from isthmus_bench.experiments import read_experiment
from isthmus_bench.own_data import compare_methods, holm, latex_table, predict, read_task
from isthmus_bench.significance import mcnemar

EXPERIMENTS = sorted((Path(__file__).parents[1] / "experiments").glob("*.toml"))
RECORDS = Path(__file__).parents[1] / "records"


def write(path, texts, labels):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([("comment", "topic"), *zip(texts, labels, strict=True)])
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    source, target, truth = load_sample()
    labels = [truth[name] for name in target.ids] if isinstance(truth, dict) else list(truth)
    first = write(folder / "a.csv", source.texts[:150], source.labels[:150])
    return first, write(folder / "b.csv", target.texts[:100], labels[:100])


def test_a_task_has_the_texts_and_labels_of_both_files(files):
    data = read_task(*files, "topic")
    assert (len(data.source_texts), len(data.target_texts)) == (150, 100)
    assert set(data.target_labels) <= set(data.source_labels)


def test_files_without_a_common_class_are_refused(files, tmp_path):
    other = write(tmp_path / "c.csv", ["one text here", "another text there"] * 20, ["x", "y"] * 20)
    with pytest.raises(DataError) as refused:
        read_task(files[0], other, "topic")
    assert refused.value.code == "labels-not-classes"


def test_rows_have_the_accuracy_of_the_methods_and_the_test_against_the_best_other(files):
    data = read_task(*files, "topic")
    rows = compare_methods(data, ("nbc", "logistic", "tsvm"))
    truth = np.array(data.target_labels)
    found = {name: predict(name, data, 0) for name in ("nbc", "logistic", "tsvm")}
    for row in rows:
        assert row["accuracy"] == pytest.approx(np.mean(found[row["method"]] == truth))
        assert row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"]
        others = {name: np.mean(labels == truth) for name, labels in found.items() if name != row["method"]}
        assert others[row["against"]] == max(others.values())
        assert row["p_value"] == mcnemar(truth, found[row["method"]], found[row["against"]]).p_value
    assert [row["p_holm"] for row in rows] == holm([row["p_value"] for row in rows])


def test_an_unknown_method_is_refused_before_any_fit(files):
    with pytest.raises(UsageError) as refused:
        compare_methods(read_task(*files, "topic"), ("nbc", "nothing"))
    assert refused.value.code == "unknown-method"


def test_the_latex_table_has_a_line_per_method_with_its_figures():
    row = {"accuracy": 0.8, "accuracy_low": 0.7, "accuracy_high": 0.9}
    row |= {name.replace("accuracy", "macro_f1"): value for name, value in row.items()}
    rows = [{"method": "a_b", **row, "p_holm": 0.04}, {"method": "c", **row, "accuracy": 0.6, "p_holm": 1.0}]
    lines = latex_table(rows).splitlines()
    assert lines[4] == r"a\_b & \textbf{0.800 (0.700--0.900)} & 0.800 (0.700--0.900) & 0.040 \\"
    assert lines[5] == r"c & 0.600 (0.700--0.900) & 0.800 (0.700--0.900) & 1.000 \\"


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_experiments_name_tasks_and_methods_of_their_suite(path):
    suite, wanted = read_experiment(path)
    assert set(wanted["tasks"]) <= set(suite.tasks)
    assert set(wanted["methods"]) <= set(suite.methods)


@pytest.mark.parametrize(
    "text",
    ["suite = 'cocc'\nmethod = 'nbc'\n", "title = 'x'\n", "suite = [\n", "suite = 'cocc'\n[settings.x]\nk = 1\n"],
)
def test_a_faulty_experiment_is_refused(tmp_path, text):
    path = tmp_path / "experiment.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        read_experiment(path)
    assert refused.value.code == "bad-parameter"


@pytest.mark.data
def test_an_experiment_gives_the_recorded_rows_again(data_dir):
    from isthmus_bench.engine.harness import run_suite

    suite, wanted = read_experiment(next(path for path in EXPERIMENTS if path.stem == "cocc-newsgroups"))
    run = run_suite(suite, data_dir, ["comp-talk"], ["nbc", "cocc-paper"], wanted["seeds"][:1], 1, force=True)
    recorded = json.loads((RECORDS / "cocc" / "results.json").read_text(encoding="utf-8"))["rows"]
    for row in run.rows:
        same = [
            other["value"]
            for other in recorded
            if all(other.get(key) == row.get(key) for key in ("task", "method", "metric", "seed"))
        ]
        if row["metric"] == "error":
            assert same == [pytest.approx(row["value"], abs=1e-12)]
