"""The suite "names": its tasks and the table by which defaults were set."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from isthmus_bench import SUITES
from isthmus_bench.engine.suite import TaskData
from isthmus_bench.suites import names
from isthmus_bench.suites.names import (
    BY_SENTENCES,
    CORPORA,
    MEANS,
    METHODS,
    SAMPLED,
    TASKS,
    VOTE_GRID,
    WRONG,
    against,
    choose_vote_rule,
    left_out,
    score,
)
from isthmus_bench.suites.trust_tasks import TASKS as SPOILT


def test_every_task_that_is_named_is_there():
    assert SUITES["names"].tasks is TASKS
    for tasks in (*CORPORA.values(), *MEANS.values()):
        assert set(tasks) <= set(TASKS)


def test_sentence_models_are_tried_on_pairs_of_one_size():
    """They are slow, so whole corpora and spoilt pairs are left to the methods without them."""
    pairs = SUITES["names"].pairs
    tried = {task for task, method in pairs if method == "auto-minilm"}
    assert tried == {*SAMPLED, *(name for name in WRONG if name.endswith("-plain"))}
    assert {method for task, method in pairs if task in SAMPLED} == set(BY_SENTENCES)
    for task in tried:
        assert {(task, method) for method in BY_SENTENCES} <= pairs


def test_only_chinese_texts_have_chinese_names():
    changed = {name for name, task in WRONG.items() if task is not SPOILT[name]}
    assert changed == {name for name in SPOILT if name.startswith("fudan-sogou-")}


def test_settings_are_chosen_on_the_other_corpora():
    found = {"a": np.array([0.9, 0.1]), "b": np.array([0.2, 0.6]), "c": np.array([0.3, 0.5])}
    table = {row["left out"]: row for row in left_out(found, ["first", "second"])}
    assert table["a"]["setting"] == "second"
    assert table["a"]["accuracy"] == 0.1
    assert table["b"]["setting"] == "first"
    assert table["none"]["setting"] == "first"


def test_recall_of_a_class_that_the_source_lacks():
    data = TaskData(["x"], ["a"], ["x", "y", "z"], ["a", "b", "b"])
    rows = {row["metric"]: row["value"] for row in score(data, np.array(["a", "b", "a"], dtype=object))}
    assert rows == {"accuracy": 2 / 3, "recall_of_missing": 0.5}


def test_means_need_every_task_of_their_kind():
    rows = [{"task": task, "method": "names", "metric": "accuracy", "value": 0.5} for task in MEANS["Chinese topics"]]
    table = {row["pairs"]: row for row in against(rows)}
    assert table["Chinese topics"]["names"] == 0.5
    assert "names" not in table["reviews"]


def test_names_alone_see_no_source():
    texts = ["sport ball", "ball match", "match sport"] * 5 + [
        "business shares",
        "shares profit",
        "profit business",
    ] * 5
    truth = ["sport"] * 15 + ["business"] * 15
    data = TaskData(["nothing of use"], ["sport"], texts, truth)
    assert METHODS["names-words"](data, 0)[0]["value"] == 1.0


def test_a_rule_for_the_vote_costs_no_corpus_much_that_it_is_chosen_on():
    one, other = np.zeros(len(VOTE_GRID)), np.zeros(len(VOTE_GRID))
    one[:3] = 0.04, 0.03, 0.02
    other[:3] = -0.05, 0.01, 0.02
    table = {row["left out"]: row for row in choose_vote_rule({"a": one[None], "b": other[None]})}
    assert table["a"]["gain"] == 0.02, "the third rule is best on b, and 0.02 is what it gives on a"
    assert table["b"]["worst"] == -0.05, "on a alone nothing speaks against the first"
    assert table["none"]["gain"] == 0.02


def test_a_part_of_the_vote_is_taken_out_and_both_are_scored(monkeypatch):
    @dataclass
    class Tried:
        names: str | None = "named"
        lexicon: str | None = None

    data = TaskData(["x"], ["a"], ["x", "y"], ["a", "b"])
    monkeypatch.setattr(names, "tried", lambda data, seed: Tried())
    labels = {"named": np.array(["a", "b"]), None: np.array(["a", "a"])}
    monkeypatch.setattr(names, "decide", lambda found: SimpleNamespace(labels=labels[found.names]))
    found = {row["metric"]: row["value"] for row in METHODS["auto-names"](data, 0)}
    assert (found["accuracy"], found["accuracy_without"]) == (1.0, 0.5)
    assert METHODS["auto-lexicon"](data, 0) == [], "no row where nothing can be taken out"
