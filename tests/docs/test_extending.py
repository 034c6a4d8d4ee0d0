"""The estimator of docs/howto/own-estimator.md does all that a recipe does: labels, reasons, a report, a file."""

import importlib
import sys

import docs_pages as pages
import joblib
import numpy as np
import pytest

import isthmus
from isthmus.estimator_checks import example_texts, transfer_checks
from isthmus.exceptions import DataError

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


def test_it_is_stored_with_joblib(result, tmp_path):
    with pytest.raises(DataError, match=f"{NAME}.*joblib"):
        result.save(tmp_path / "cars.isthmus")
    joblib.dump(result, tmp_path / "cars.joblib")
    kept = joblib.load(tmp_path / "cars.joblib")
    assert kept.labels.tolist() == result.labels.tolist()
    assert kept.reasons(3) == result.reasons(3)
