"""Choices of defaults: what a choice may not use, it does not use."""

import csv
from pathlib import Path

import numpy as np
import pytest

from isthmus_bench import SUITES
from isthmus_bench.suites import cocc, dual, guided_tasks, projection, strings
from isthmus_bench.suites.cocc import PSEUDO_TASKS, groups_of, pseudo_splits
from isthmus_bench.suites.projection import weighting_means, weightings_left_out
from isthmus_bench.suites.strings import halves
from isthmus_bench.suites.tuning import choice_rows, setting_means, tune
from isthmus_bench.tasks import NEWSGROUP_SPLITS

ROWS = [
    {"case": "1", "corpora": "a, b", "setting": "x", "error": 0.1},
    {"case": "1", "corpora": "a, b", "setting": "y", "error": 0.2},
    {"case": "2", "corpora": "c", "setting": "x", "error": 0.5},
    {"case": "2", "corpora": "c", "setting": "y", "error": 0.3},
]


def test_means_leave_out_what_shares_a_corpus():
    assert setting_means(ROWS, "error") == pytest.approx({"x": 0.3, "y": 0.25})
    assert setting_means(ROWS, "error", leave_out=("b", "z")) == pytest.approx({"x": 0.5, "y": 0.3})


def test_choices_of_every_case():
    table = choice_rows(ROWS, "error", {"first": ("c",), "second": ("a",), "none": ("a", "c")}, largest=False)
    assert [row["setting"] for row in table if row["part"] == "mean"] == ["x", "y"]
    left = {row["case"]: (row["setting"], row["error"]) for row in table if row["part"] == "left out"}
    assert left == {"first": ("x", 0.1), "second": ("y", 0.3)}  # nothing is left for the third
    assert [
        r["setting"] for r in choice_rows(ROWS, "error", {"q": ("c",)}, largest=True) if r["part"] == "left out"
    ] == ["y"]


def test_pseudo_tasks_are_made_of_source_groups_only():
    splits = dict(pseudo_splits())
    assert len(splits) == 12
    for name, split in splits.items():
        task = name.split()[0]
        for label, (source, target) in split.items():
            own = NEWSGROUP_SPLITS[task][label][0]
            assert {source, *target} == set(own)
            assert source not in target
    for task in PSEUDO_TASKS:  # every task keeps pseudo-tasks that share no group with it
        assert any(
            not set(groups_of(task)) & {g for s, t in split.values() for g in (s, *t)} for split in splits.values()
        )


@pytest.mark.parametrize(
    ("suite", "method", "used"),
    [
        (
            "dual/recipe-defaults",
            "dual-manifold",
            {"-".join(order): setting for pair, setting in dual.LEFT_OUT.items() for order in (pair, pair[::-1])},
        ),
        (
            "strings",
            "strings",
            {"-".join(order): setting for pair, setting in strings.LEFT_OUT.items() for order in (pair, pair[::-1])},
        ),
        ("projection", "projection", projection.LEFT_OUT),
        ("guided", "guided", {corpus: f"boost {boost:g}" for corpus, boost in guided_tasks.LEFT_OUT.items()}),
    ],
)
def test_methods_with_a_corpus_left_out_use_what_the_recorded_table_chose(suite, method, used):
    folder, _, name = suite.partition("/")
    table = Path(__file__).parents[1] / "records" / folder / f"{name or 'defaults'}.csv"
    with table.open(encoding="utf-8", newline="") as file:
        table_rows = [row for row in csv.DictReader(file) if row.get("method", method) == method]
    chosen = {row["case"]: row["setting"] for row in table_rows if row["part"] == "left out"}
    assert chosen == used


def test_co_clustering_with_a_corpus_left_out_uses_what_the_recorded_rows_choose():
    """Among the settings that the estimator still has; the record also compares some that it has lost."""
    table = Path(__file__).parents[1] / "records" / "cocc" / "defaults.csv"
    with table.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["part"] == "one" and row["setting"] in cocc.SETTINGS]
    measured = [row | {"error": float(row["error"])} for row in rows]
    found = choice_rows(measured, "error", {task: groups_of(task) for task in PSEUDO_TASKS}, largest=False)
    assert {row["case"]: row["setting"] for row in found if row["part"] == "left out"} == cocc.LEFT_OUT


@pytest.mark.parametrize("suite", [cocc, projection, strings])
def test_tuned_baselines_use_what_the_recorded_table_chose(suite):
    table = Path(__file__).parents[1] / "records" / suite.SUITE.name / "baseline-defaults.csv"
    with table.open(encoding="utf-8", newline="") as file:
        chosen = [row for row in csv.DictReader(file) if row["part"] == "left out"]
    assert {row["method"] for row in chosen} == set(suite.TUNED) == set(suite.BASELINE_SETTINGS)
    for row in chosen:
        tuned = suite.TUNED[row["method"]]
        assert tuned.get(row["case"], tuned["others"]) == row["setting"], row


def test_every_setting_of_every_method_is_tried_on_every_case():
    settings = {"a": {"zero": {"x": 0}, "one": {"x": 1}}, "b": {"two": {"x": 2}}}
    cases = [("first", ("p", "q"), 10), ("second", ("r",), 20)]
    table = tune(
        settings, iter(cases), lambda data, name, changes: data + changes["x"], "score", {"t": ("r",)}, largest=True
    )
    ones = [
        (row["method"], row["case"], row["corpora"], row["setting"], row["score"])
        for row in table
        if row["part"] == "one"
    ]
    assert ones == [
        ("a", "first", "p, q", "zero", 10),
        ("a", "first", "p, q", "one", 11),
        ("a", "second", "r", "zero", 20),
        ("a", "second", "r", "one", 21),
        ("b", "first", "p, q", "two", 12),
        ("b", "second", "r", "two", 22),
    ]
    left = {row["method"]: (row["setting"], row["score"]) for row in table if row["part"] == "left out"}
    assert left == {"a": ("one", 11), "b": ("two", 12)}


def test_halves_of_a_domain_hold_half_of_each_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5)) + 4.0 * np.repeat([[0.0], [1.0]], 20, axis=0) * np.array([1, 0, 0, 0, 0])
    codes = np.tile([0, 1], 20)
    side = halves(X @ X.T, codes)
    assert [int(side[codes == c].sum()) for c in (0, 1)] == [10, 10]
    assert abs(X[side == 1, 0].mean() - X[side == 0, 0].mean()) > 2.0  # along the direction of most variance


def test_weightings_are_chosen_without_the_pair():
    names = ("sogou", "fudan", "csl", "thucnews_title", "toutiao")
    table = [
        {"source": name, "weighting": weighting, "max_iter": rounds, "micro_f1": value + 0.1 * (name == "csl") * place}
        for name in names
        for rounds in (0, 8)
        for place, (weighting, value) in enumerate((("tf", 0.5), ("tf-pr", 0.45)))
    ]
    assert weighting_means(table)[0]["micro_f1"] == pytest.approx(0.5)
    left = {(row["source"], row["max_iter"]): row["weighting"] for row in weightings_left_out(table)}
    assert left["mean without fudan, csl", 0] == "tf"
    assert left["mean without fudan, sogou", 8] == "tf"
    assert len(left) == 6


@pytest.mark.parametrize("name", ["cocc", "projection", "dual", "guided", "strings"])
def test_suites_can_choose_their_defaults_again(name):
    assert any(study.tune for study in SUITES[name].studies.values())
