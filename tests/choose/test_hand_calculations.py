"""Figures that a person can work out with pencil and paper, from what a user gives to what a user is shown."""

import csv
import math

import numpy as np
import pytest

import isthmus
from isthmus.choose.stages.apply import LabelShift, Margin, Temperature
from isthmus.scale import label_files
from isthmus_bench.shifted import make_shifted_texts


def log_odds(share):
    return math.log(share / (1 - share))


def test_precision_of_a_class_with_its_interval():
    """Of 60 labels "staff" 20 were checked and 15 are right; Wilson, for the 60 documents with that label."""
    labels = np.array(["staff"] * 60 + ["price"] * 340)
    truth = ["staff"] * 15 + ["price"] * 5 + ["price"] * 30
    found = isthmus.choose.check_labels(labels, [*range(20), *range(60, 90)], truth)
    rows = {row["class"]: row for row in found.precision}
    n, z = 20 * 59 / 40, 1.959964  # as many as were worth 20 × (60 − 1) / (60 − 20) of an endless collection
    middle = 0.75 + z**2 / (2 * n)
    reach = z * math.sqrt(0.75 * 0.25 / n + z**2 / (4 * n**2))
    assert (rows["staff"]["checked"], rows["staff"]["right"], rows["staff"]["precision"]) == (20, 15, 0.75)
    assert rows["staff"]["low"] == pytest.approx((middle - reach) / (1 + z**2 / n), abs=1e-5)
    assert rows["staff"]["high"] == pytest.approx((middle + reach) / (1 + z**2 / n), abs=1e-5)
    assert (rows["price"]["precision"], rows["price"]["high"]) == (1.0, 1.0)


@pytest.fixture(scope="module")
def turned():
    """A source of which four in five are of class 0, a target of which one in five is."""
    return make_shifted_texts(
        200, 120, shared=0.8, class_shares=[0.8, 0.2], target_class_shares=[0.2, 0.8], random_state=0
    )


@pytest.mark.slow
def test_shares_that_moved_are_applied_once(turned):
    """Weighted geometric mean of the opinions, to a power, times the shares' factors; of these the margins."""
    result = isthmus.label(turned.source_texts, turned.source_labels, turned.target_texts, embed=False)
    model = result.model
    kinds = [type(stage) for stage in model.stages]
    assert kinds == [Temperature, LabelShift, Margin]
    power, factors, shift = model.stages[0].power, model.stages[1].factors, model.stages[2].shift
    logs = sum(model.weights[name] * np.log(np.maximum(result.opinions[name], 1e-3)) for name in model.weights)
    pooled = np.exp(logs)
    raised = (pooled / pooled.sum(axis=1, keepdims=True)) ** power
    raised /= raised.sum(axis=1, keepdims=True)
    moved = raised * factors
    moved /= moved.sum(axis=1, keepdims=True)
    margin = np.abs(np.log(np.maximum(moved[:, 0], 1e-3)) - np.log(np.maximum(moved[:, 1], 1e-3)))
    sure = np.maximum(1 / (1 + np.exp(-shift - 0.88 * margin)), 0.5 + 1e-6)
    expected = np.where(moved == moved.max(axis=1, keepdims=True), sure[:, None], 1 - sure[:, None])
    np.testing.assert_allclose(result.probabilities, expected, atol=1e-9)
    np.testing.assert_allclose(result.predict_proba(turned.target_texts), expected, atol=1e-9)
    np.testing.assert_allclose(result.label_new(turned.target_texts).probabilities, expected, atol=1e-9)


def test_the_review_of_a_large_run_keeps_to_the_budget_at_the_low_end(turned, tmp_path, monkeypatch):
    """Accepted from the surest down while the doubts stay within the budget of all, confidences as at the low end."""
    # Who is in dispute is asked elsewhere.
    nothing = np.full(len(turned.target_texts), -1), np.zeros(len(turned.target_texts), dtype=bool)
    monkeypatch.setattr("isthmus.scale.trust.SampleClassifiers.examine", lambda *given: nothing)
    with open(tmp_path / "s.csv", "w", encoding="utf-8") as file:
        rows = zip(turned.source_texts, turned.source_labels, strict=True)
        file.writelines(["text,topic\n", *(f"{text},{label}\n" for text, label in rows)])
    with open(tmp_path / "t.csv", "w", encoding="utf-8") as file:
        file.writelines(["text\n", *(f"{text}\n" for text in turned.target_texts)])
    budget = 0.2
    result = label_files(
        tmp_path / "s.csv", tmp_path / "t.csv", tmp_path / "out.csv", method="nbc", text="text", label="topic",
        sample=200, error_budget=budget,
    )  # fmt: skip
    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as file:
        written = [(float(row["confidence"]), row["needs_review"] == "True") for row in csv.DictReader(file)]
    expected = result.expected_accuracy
    down = log_odds(expected.estimate) - log_odds(expected.low)
    most = min(expected.surest_alone, 1 - 1e-6)
    doubts, passed = [], 0
    for number, (confidence, _) in enumerate(sorted(written, reverse=True), 1):
        doubts.append(1 - 1 / (1 + math.exp(down - log_odds(min(max(confidence, 1e-6), most)))))
        passed = number if doubts[-1] <= 0.5 and sum(doubts) <= budget * len(written) else passed
    assert 0 < passed < len(written)
    assert sum(not review for _, review in written) == pytest.approx(passed, abs=2)  # doubts are counted in 1/10,000
    assert result.needs_review == sum(review for _, review in written)
