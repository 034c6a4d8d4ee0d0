"""The estimator of docs/howto/own-estimator.md does all that a recipe does: labels, reasons, a report, a file."""

import importlib
import subprocess
import sys

import docs_pages as pages
import numpy as np
import pytest

import isthmus
from isthmus.estimator_checks import example_texts, transfer_checks
from isthmus.exceptions import DataError, IsthmusWarning

BLOCKS = [
    block.text
    for block in pages.blocks((pages.DOCS / "howto" / "own-estimator.md").read_text(encoding="utf-8"))
    if block.info == "python"
]
NAME = "NearestCentroidTransfer"


@pytest.fixture
def cls(tmp_path, monkeypatch):
    """The page's class, in a module of its own, as a user would keep it."""
    written = next(text for text in BLOCKS if f"class {NAME}(" in text)
    (tmp_path / "my_methods.py").write_text(written, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_methods", raising=False)
    yield getattr(importlib.import_module("my_methods"), NAME)
    sys.modules.pop("my_methods", None)


@pytest.fixture
def result(cls):
    texts, labels, domain = example_texts()
    source, target = texts[: len(texts) // 2], texts[len(texts) // 2 :]
    return isthmus.label(source, labels[domain > 0], target, method=cls(weight=0.3))


def test_it_keeps_the_contract(cls):
    for check in transfer_checks(cls()):
        check(cls())


def test_it_labels(result):
    _, labels, domain = example_texts()
    assert result.method == NAME
    assert result.settings["method"] == NAME
    assert [row["method"] for row in result.decision] == [NAME]
    assert np.mean(result.labels == labels[domain < 0]) > 0.9
    assert result.predict(["rude manager at the desk"]).tolist() == ["staff"]


def test_it_is_explained(result):
    rows = result.reasons(0, top=None)
    words = set(result.texts[0].split())
    assert {row["class"] for row in rows} == {"price", "staff"}
    assert {row["term"] for row in rows} <= words
    best = max((row for row in rows if row["class"] == result.labels[0]), key=lambda row: row["contribution"])
    assert best["contribution"] > 0


def test_it_is_reported(result, tmp_path):
    pytest.importorskip("jinja2")
    page = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"Why this method? {NAME}" in page


def test_it_is_saved_and_loaded_by_those_who_trust_it(result, cls, tmp_path):
    pytest.importorskip("skops")
    with pytest.warns(IsthmusWarning, match=f"my_methods.{NAME}.*trusted=") as caught:
        path = result.save(tmp_path / "cars.isthmus")
    assert caught[0].message.code == "untrusted-type"
    with pytest.raises(DataError, match=f"my_methods.{NAME}.*trusted=") as refused:
        isthmus.load(path)
    assert refused.value.code == "bad-model"
    loaded = isthmus.load(path, trusted=[cls])
    assert loaded.method == NAME
    assert loaded.labels.tolist() == result.labels.tolist()
    assert loaded.reasons(3) == result.reasons(3)


def test_another_process_loads_it_by_name(result, tmp_path):
    pytest.importorskip("skops")
    with pytest.warns(IsthmusWarning):
        result.save(tmp_path / "cars.isthmus")
    code = f"""
import isthmus, sys
sys.path.insert(0, {str(tmp_path)!r})
kept = isthmus.load({str(tmp_path / "cars.isthmus")!r}, trusted=["my_methods.{NAME}"])
print(*kept.predict(["rude manager at the desk"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "staff"
