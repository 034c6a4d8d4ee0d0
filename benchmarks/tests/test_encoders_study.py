"""The study of encoders: draws, figures of one pair, and means."""

import numpy as np
import pytest

from isthmus_bench.engine.suite import TaskData
from isthmus_bench.suites.encoders import compare_encoders, means_of, measure_pair


def test_figures_of_a_pair_are_those_of_its_labels():
    rng = np.random.default_rng(0)
    classes = np.repeat(["a", "b"], 40)
    texts = [f"{'kind staff' if name == 'a' else 'great bike'} number {i}" for i, name in enumerate(classes)]
    vectors = np.where(classes[:, None] == "a", 1.0, -1.0) * np.ones(4) + 0.1 * rng.standard_normal((80, 4))
    data = TaskData(texts, classes.tolist(), [f"{text} again" for text in texts], classes.tolist())
    row = measure_pair(data, (vectors, vectors + 0.01))
    assert row["logistic"] == 1.0
    assert row["auto"] == row["without"] == 1.0
    assert 0 <= row["wrong"] <= row["passed"] <= 1


def test_means_count_pairs_with_and_without_those_of_the_choice():
    figures = {"logistic": 0.8, "without": 0.7, "expected": 0.9, "passed": 0.5, "wrong": 0.2}
    rows = [
        {"encoder": "e", "pair": "books-dvd", "kind": "reviews", "auto": 0.9, **figures},
        {"encoder": "e", "pair": "books-kitchen", "kind": "reviews", "auto": 0.7, **figures, "wrong": 0.05},
    ]
    means = {(row["kind"], row["pair"]): row for row in means_of(rows)}
    assert means["reviews", "mean of all pairs"]["auto"] == pytest.approx(0.8)
    assert means["reviews", "mean of other pairs"]["pairs"] == 1
    every = means["all", "mean of all pairs"]
    assert (every["level"], every["kept"], every["off"]) == (0.5, 0.5, pytest.approx(0.1))
    assert ("topics", "mean of all pairs") not in means


def test_without_a_folder_of_vectors_nothing_is_measured(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("ISTHMUS_VECTORS", raising=False)
    assert compare_encoders(tmp_path, (0,)) == []
    assert "ISTHMUS_VECTORS" in capsys.readouterr().err
