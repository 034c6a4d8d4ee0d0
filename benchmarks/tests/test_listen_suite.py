"""Suite listen: the person answers one half only, and the tables are checked by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus_bench.engine.suite import TaskData
from isthmus_bench.suites import listen, listen_sources, listen_tune
from isthmus_bench.suites.listen_person import Person, cut_data

WORDS = {"staff": ["friendly", "rude", "helpful", "polite"], "price": ["cheap", "costly", "dear", "fair"]}


def texts(labels, seed):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS[label], 3)) + f" visit {rng.integers(9)}" for label in labels]


@pytest.fixture(scope="module")
def data():
    given, truth = ["staff", "price"] * 30, ["staff", "price"] * 45
    found = cut_data(TaskData(texts(given, 0), given, texts(truth, 1), truth))
    found.extra["labelling"] = isthmus.label(found.source_texts, given, found.target_texts, method="nbc")
    return found


def test_the_person_answers_one_half(data):
    person = Person(data, 0)
    assert set(person.pool) | set(person.held_out) == set(range(90))
    assert not set(person.pool) & set(person.held_out)
    erring = Person(data, 0, 0.1)
    assert 0 < np.mean(erring.said != erring.truth) < 0.3


@pytest.mark.parametrize("kind", ["random", "asked"])
def test_answers_stay_in_the_half_that_may_be_answered(data, kind):
    found = listen.taught(data, 0, kind)
    assert list(found) == [20]  # there are 45 documents to answer
    answers = found[20].answers
    assert set(answers.rows) <= set(Person(data, 0).pool.tolist())
    assert set(answers.drawn) == {kind}


def rows_of(**values):
    return [
        {"task": "books-kitchen", "method": method.replace("_", "-"), "metric": "accuracy", "value": value, "seed": 0}
        for method, value in values.items()
    ]


def test_shares_of_the_gap_on_paper():
    rows = rows_of(auto=0.7, ceiling=0.8, random_100=0.75, asked_100=0.78)
    table = {(row["tasks"], row["answers"]): row["100"] for row in listen.share_closed(rows)}
    assert table["development", "random"] == pytest.approx(0.5)
    assert table["development", "asked"] == pytest.approx(0.8)
    assert table["reported", "random"] is None
    rows += [{**rows[0], "method": "source+answers-100", "value": 0.77}]
    assert listen.against_best(rows)[0]["difference"] == pytest.approx(-0.02)


def test_every_setting_that_is_compared_runs(data):
    few = {
        name: listen_tune.SETTINGS[name]
        for name in ("defaults", "nothing for classes that no answer names", "self-training 0", "words x0", "caution 2")
    }
    gains = listen_tune.gains_of(data, (0,), 20, few)
    assert list(gains) == list(few)
    assert all(-1 <= gain <= 1 for gain in gains.values())


def test_examples_of_a_class_alone(data):
    # A third class of the target, which "staff" has no word of.
    truth = [*data.target_labels[:60], *["parking"] * 30]
    found = cut_data(
        TaskData(data.source_texts, data.source_labels, data.target_texts[:60] + ["garage lot"] * 30, truth)
    )
    found.extra["labelling"] = isthmus.label(found.source_texts, found.source_labels, found.target_texts, method="nbc")
    row = listen.pick_examples(found, 10, (0,))
    assert (row["recall"], row["said"], row["share"]) == (1.0, 0.25, 0.25)
    assert row["after"] == pytest.approx(row["before"] + 0.25)


def test_a_useless_source_is_planted_in_the_place_of_the_first(data):
    several = replace(data, source_domain=np.array([1, 2] * 30), extra={})
    at_random = listen_sources.plant(several, "random labels", Path())
    turned = listen_sources.plant(several, "turned labels", Path())
    for planted in (at_random, turned):
        assert len(planted.source_texts) == 60
        assert sorted(set(planted.source_domain.tolist())) == ["2", "planted"]
        assert planted.source_labels[:30] == data.source_labels[1::2]
    was = data.source_labels[::2]
    assert all(a != b for a, b in zip(turned.source_labels[30:], was, strict=True))
    assert sorted(at_random.source_labels[30:]) == sorted(was)


def test_what_several_sources_bring_is_measured(data):
    several = replace(data, source_domain=np.array([1, 1, 2, 2] * 15), extra={})
    several.extra["labelling"] = replace(data.extra["labelling"], sources=[{"source": "1", "used": False}])
    several.extra["pooled"] = data.extra["labelling"]
    row = listen_sources.measure(several)
    assert row["several"] == row["pooled"] > 0.5
    assert row["left_out"] == "1"


def test_questions_about_a_class_that_the_source_lacks_are_counted(data):
    truth = np.array(data.target_labels, dtype=object)
    asked = np.array(data.extra["labelling"].ask(40)["document"]) - 1
    truth[asked[[0, 3, 30]]] = "parking"
    found = listen.first_questions(data.extra["labelling"], truth)
    assert (found["share"], found["among 20"], found["among 40"]) == (round(3 / 90, 3), 2, 3)
    assert found["any of 20 by chance"] == pytest.approx(1 - (70 * 69 * 68) / (90 * 89 * 88), abs=1e-3)


def test_promises_after_answers_on_paper():
    values = {"expected_accuracy": 0.8, "table_accuracy": 0.78, "covered": 1.0}
    values |= {"passed": 0.6, "passed_wrong": 0.115, "unread_wrong": 0.13}
    rows = [{"task": "t", "method": "random-100", "seed": 0, "metric": m, "value": v} for m, v in values.items()]
    rows.append({"task": "old", "method": "random-100", "seed": 0, "metric": "expected_accuracy", "value": 0.1})
    (found,) = listen.promised(rows)  # a case of which not everything was measured does not count
    expected = {"cases": 1, "error": 0.02, "bias": 0.02, "covered": 1.0, "passed": 0.6, "kept": 1.0, "kept unread": 0.0}
    assert {name: found[name] for name in expected} == pytest.approx(expected)
