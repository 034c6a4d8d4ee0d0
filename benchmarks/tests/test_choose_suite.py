"""The suite "choose": tables made from rows, and one small task on real data."""

import numpy as np
import pytest

from isthmus.choose.candidates import CANDIDATES
from isthmus_bench import SUITES
from isthmus_bench.engine.harness import run_suite
from isthmus_bench.engine.suite import TaskData
from isthmus_bench.shifted import make_shifted_texts
from isthmus_bench.suites.choose import (
    CORPORA,
    SETTINGS,
    TASKS,
    accuracy_of,
    auto_further,
    auto_lexicon,
    average,
    interval,
    kappa_of,
    left_out,
    lexicon_alone,
    promises,
)


def rows_for(good_setting):
    """Rows in which one setting is right on all corpora but the last, where it is wrong."""
    rows = []
    for corpus, tasks in CORPORA.items():
        last = corpus == list(CORPORA)[-1]
        for task in tasks:
            values = np.full(len(SETTINGS), 0.7)
            values[good_setting] = 0.5 if last else 0.9
            rows += [{"task": task, "method": name, "metric": "accuracy", "value": 0.7} for name in CANDIDATES]
            rows.append({"task": task, "method": "auto", "metric": "accuracy", "value": 0.8})
            rows.append({"task": task, "method": "auto-sweep", "metric": "sweep", "value": 0.9, "accuracies": values})
    return rows


def test_a_corpus_left_out_does_not_choose_its_own_setting():
    table = left_out(rows_for(5))
    assert [row["left out"] for row in table] == list(CORPORA)
    # The last corpus vetoes the setting for the others (it falls far below source-only there) …
    assert all(row["auto, set on the others"] == pytest.approx(0.7) for row in table[:-1])
    # … and has no say in its own.
    assert table[-1]["auto, set on the others"] == pytest.approx(0.5)
    assert table[-1]["lowest gain over source-only"] == pytest.approx(-0.2)
    assert all(row["auto, as shipped"] == pytest.approx(0.8) for row in table)


def test_left_out_needs_two_corpora():
    rows = [row for row in rows_for(0) if row["task"] in CORPORA["Reuters"]]
    assert left_out(rows) == []


def test_the_interval_is_tried_with_a_margin_from_the_other_corpora():
    def row(task, error):
        return {"task": task, "method": "auto", "metric": "expected_error", "value": error}

    far = [row(task, 0.2) for task in CORPORA["Reuters"]]
    near = [row(task, 0.01) for task in CORPORA["Amazon reviews"]]
    table = {line["corpus"]: line for line in interval([*far, *near])}
    assert table["Reuters"]["within that"] == 0
    assert table["Amazon reviews"]["within that"] == 12
    assert table["all"]["tasks"] == 15
    assert table["all"]["within that"] == 12
    assert interval(near) == []


def test_promises_stand_beside_what_came_of_them():
    rows = [
        {"task": "orgs-places", "method": "auto", "metric": "accuracy", "value": 0.8, "chosen": "cocc"},
        {"task": "orgs-places", "method": "auto", "metric": "expected_accuracy", "value": 0.9},
        {"task": "orgs-places", "method": "cocc", "metric": "accuracy", "value": 0.1},
    ]
    table = promises(rows)
    assert len(table) == 1
    assert table[0]["accuracy"] == 0.8
    assert table[0]["expected_accuracy"] == 0.9
    assert table[0]["chosen"] == "cocc"


def test_measures_of_the_sweep():
    counts = np.array([[40, 10], [10, 40]])
    assert accuracy_of(counts) == pytest.approx(0.8)
    assert kappa_of(counts) == pytest.approx(0.6)
    assert kappa_of(np.array([[7]])) == 0.0
    votes = {"a": np.array([[1.0, 0.0]]), "b": np.array([[0.0, 1.0]])}
    assert average(votes, {"a": 3.0, "b": 1.0}).tolist() == [[0.75, 0.25]]


@pytest.mark.parametrize("suite", ["cocc", "strings", "projection", "choose"])
def test_auto_is_a_method_of_every_suite_it_stands_in(suite):
    assert "auto" in SUITES[suite].methods


def test_one_small_task(data_dir, tmp_path):
    run = run_suite("choose", data_dir, tasks=["orgs-places"], record_dir=tmp_path, jobs=1)
    assert not run.failures
    accuracy = {row["method"]: row["value"] for row in run.rows if row["metric"] == "accuracy"}
    assert {*CANDIDATES, "auto"} <= set(accuracy)  # and, with word vectors installed, the peers on them
    assert accuracy["auto"] > accuracy["logistic"]
    swept = next(row for row in run.rows if row["metric"] == "sweep")
    assert len(swept["accuracies"]) == len(SETTINGS)
    assert "orgs-places" in TASKS


def test_labelled_words_and_further_texts_are_heard_where_a_task_has_them():
    made = make_shifted_texts(40, 40, random_state=1)
    helps = {
        "lexicon": {row["word"]: row["class"] for row in made.words if row["class"]},
        "further": make_shifted_texts(40, 20, random_state=1).target_texts,
    }
    data = TaskData(made.source_texts, made.source_labels, made.target_texts, made.target_labels, extra=helps)
    bare = TaskData(made.source_texts, made.source_labels, made.target_texts, made.target_labels)
    for run in (lexicon_alone, auto_lexicon, auto_further):
        assert run(bare, 0) == []
        assert run(data, 0)[0]["value"] > 0.8
