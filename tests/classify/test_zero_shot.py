"""The zero-shot labeller of the documentation, with a tiny model for entailment."""

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_onnx import write_entailment

import isthmus
from isthmus.classify.labeller import CommandLabeller, LabellerClassifier

pytest.importorskip("onnxruntime", reason="extra onnx is not installed")
SCRIPT = Path(__file__).parents[2] / "docs" / "howto" / "zero_shot.py"
TOPICS = {"staff": 0, "clerk": 0, "polite": 0, "rude": 0, "bike": 1, "product": 1, "brakes": 1, "engine": 1}


@pytest.fixture
def labeller(tmp_path):
    write_entailment(tmp_path, TOPICS)
    (tmp_path / "config.json").write_text(
        json.dumps({"id2label": {"0": "entailment", "1": "neutral", "2": "contradiction"}})
    )
    sentences = ["staff: The text is about staff .", "product: The text is about a product ."]
    return CommandLabeller(shlex.join([sys.executable, str(SCRIPT), str(tmp_path), *sentences]))


def test_each_text_gets_probabilities(labeller):
    answers = labeller(["a polite clerk", "the brakes of this bike", "nothing known"])
    staff = [answer["probabilities"]["staff"] for answer in answers]
    assert staff[0] > 0.8
    assert staff[1] < 0.2
    assert staff[2] == pytest.approx(0.5)
    assert all(sum(answer["probabilities"].values()) == pytest.approx(1) for answer in answers)


def test_its_answers_are_calibrated_on_the_source(labeller):
    # The source shows that the model is right in three of four texts, so its confidence decreases.
    source = ["polite clerk", "new brakes", "polite clerk", "engine", "rude clerk", "bike", "polite", "brakes"] * 5
    labels = ["staff", "product", "product", "product", "staff", "product", "staff", "staff"] * 5
    target = ["rude staff", "engine and brakes"] * 10
    raw = np.array([list(answer["probabilities"].values()) for answer in labeller(target)])
    model = LabellerClassifier(labeller)
    model.fit([*source, *target], [*labels, *[None] * len(target)])
    assert model.right_ == pytest.approx(0.75)
    assert model.answered_ == 1
    assert model.transduction_[len(source) :].tolist() == ["staff", "product"] * 10
    calibrated = model.predict_proba(target)
    assert calibrated.max(axis=1).mean() < raw.max(axis=1).mean()


def test_auto_judges_it_like_other_methods(labeller):
    source = ["polite clerk at the desk", "new brakes for the bike", "rude staff here", "the engine is loud"] * 12
    target = ["the clerk was rude", "brakes and engine", "polite staff", "a fast bike"] * 12
    result = isthmus.label(source, ["staff", "product"] * 24, target, method=labeller, embed=False, language="en")
    row = next(row for row in result.decision if row["method"] == "labeller")
    assert "not possible" not in row["why"]
    assert result.labels.tolist() == ["staff", "product"] * 24
