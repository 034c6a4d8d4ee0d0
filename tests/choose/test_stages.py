"""Stages: the page that describes them, the example in CONTRIBUTING, and one path for all texts."""

import re
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.choose import choice
from isthmus.choose.stages import apply
from isthmus.corpus import load_sample

ROOT = Path(__file__).parents[2]


def test_the_page_names_every_stage():
    page = (ROOT / "docs" / "understand" / "labels.md").read_text(encoding="utf-8")
    names = {cls.__name__ for cls in apply.Stage.__subclasses__() if cls.__module__ == apply.__name__}
    assert names == set(re.findall(r"^(?:stages)? +([A-Z]\w+) {2,}\S", page, flags=re.MULTILINE))


@pytest.fixture
def example():
    """The names that the example of CONTRIBUTING defines."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## Add a stage")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    names = {}
    exec(compile(block, "CONTRIBUTING.md", "exec"), names)
    return names


def test_the_example_of_a_new_stage_applies_to_every_text(example, monkeypatch, tmp_path):
    monkeypatch.setattr(choice, "STAGES", (*choice.STAGES, example["smoothing"]))
    source, target, _ = load_sample()
    sides = source.texts[:120], source.labels[:120], target.texts[:90]
    result = isthmus.label(*sides, embed=False)
    stage = result.model.stages[-1]
    assert type(stage) is example["Smoothing"]
    assert result.probabilities.min() >= stage.share / len(result.classes)
    np.testing.assert_allclose(result.predict_proba(result.texts), result.probabilities, atol=1e-9)
    assert result.predict(result.texts).tolist() == result.labels.tolist()
    taught = result.teach({"document": [1, 2, 3], "true_label": [result.labels[0]] * 3})
    assert [type(part).__name__ for part in taught.model.stages[-2:]] == ["Smoothing", "Answers"]
    assert [type(part) for part in taught.teach(without="answers 1").model.stages] == [
        type(part) for part in result.model.stages
    ]
