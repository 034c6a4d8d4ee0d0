"""The suite "hands": machines that are right so often, and what is taught."""

import numpy as np
import pytest

import isthmus
from isthmus_bench.engine.suite import TaskData
from isthmus_bench.shifted import make_shifted_texts
from isthmus_bench.suites import hands


@pytest.mark.parametrize("right", [0.6, 0.9])
def test_a_machine_is_right_as_often_as_it_should(right):
    truth = np.array(["a", "b", "c"] * 1_000)
    said = hands.simulate(truth, right, 0)
    assert np.mean(said == truth) == pytest.approx(right, abs=0.03)
    assert not np.array_equal(said, hands.simulate(truth, right, 1)), "another seed, other errors"


def test_one_simulation(monkeypatch):
    monkeypatch.setattr(hands, "MACHINE", 60)
    monkeypatch.setattr(hands, "MORE", 30)
    texts = make_shifted_texts(n_source=60, n_target=80, random_state=0)
    data = TaskData(texts.source_texts, texts.source_labels, texts.target_texts, texts.target_labels)
    data.extra["result"] = isthmus.label(
        data.source_texts, data.source_labels, data.target_texts, method="nbc", language="en"
    )
    rows = {row["metric"]: row["value"] for row in hands.run(data, 0, hand="90", people=20)}
    assert set(rows) == {"accuracy", "unread", "right", "estimated_right", "interval_holds"}
    assert {row["metric"] for row in hands.run(data, 0, hand=None, people=0)} == {"accuracy", "unread"}
