"""The suite "annotators": simulated machines, and the accuracy after teaching."""

import numpy as np
import pytest

import isthmus
from isthmus_bench.engine.suite import TaskData
from isthmus_bench.shifted import make_shifted_texts
from isthmus_bench.suites import annotators


@pytest.mark.parametrize("right", [0.6, 0.9])
def test_a_machine_is_right_as_often_as_it_should(right):
    truth = np.array(["a", "b", "c"] * 1_000)
    said = annotators.simulate(truth, right, 0)
    assert np.mean(said == truth) == pytest.approx(right, abs=0.03)
    assert not np.array_equal(said, annotators.simulate(truth, right, 1)), "another seed, other errors"


def test_one_simulation(monkeypatch):
    monkeypatch.setattr(annotators, "MACHINE", 60)
    monkeypatch.setattr(annotators, "MORE", 30)
    texts = make_shifted_texts(n_source=60, n_target=80, random_state=0)
    data = TaskData(texts.source_texts, texts.source_labels, texts.target_texts, texts.target_labels)
    data.extra["result"] = isthmus.label(
        data.source_texts, data.source_labels, data.target_texts, method="nbc", language="en"
    )
    for machine, people in ((None, 0), ("90", 20)):
        rows = {row["metric"]: row["value"] for row in annotators.run(data, 0, machine=machine, people=people)}
        assert set(rows) == {"accuracy", "unread"}
    rows = annotators.run(data, 0, machine="one-class", people=80)
    assert rows[0]["value"] == 1.0, "a person's answers replace those of the machine"
