"""Figures on pages come from the records, and a missing row stops the build."""

import importlib.util

import docs_pages as pages
import pytest

pytest.importorskip("docutils", reason="the documentation needs the extra 'docs'")


@pytest.fixture(scope="module")
def records():
    spec = importlib.util.spec_from_file_location("records", pages.DOCS / "_ext" / "records.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def toy(records, monkeypatch):
    rows = [
        {"task": "a-b", "method": "m", "metric": "accuracy", "value": 0.5, "seed": 0},
        {"task": "a-b", "method": "m", "metric": "accuracy", "value": 0.7, "seed": 1},
        {"task": "b-a", "method": "m", "metric": "accuracy", "value": 0.2, "seed": 0, "documents": 20},
        {"task": "b-a", "method": "other", "metric": "accuracy", "value": 0.9, "seed": 0},
    ]
    monkeypatch.setattr(records, "rows_of", lambda suite: rows)
    return records


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("toy a-b m accuracy", "60.0\N{NO-BREAK SPACE}%"),  # the mean over seeds
        ("toy * m accuracy", "40.0\N{NO-BREAK SPACE}%"),  # of the tasks' means
        ("toy a-b,b-a m accuracy", "40.0\N{NO-BREAK SPACE}%"),
        ("toy *-a m accuracy documents=20", "20.0\N{NO-BREAK SPACE}%"),
    ],
)
def test_a_figure_is_the_mean_over_tasks(toy, text, shown):
    assert toy.figure(text) == shown


@pytest.mark.parametrize(
    "text", ["toy a-c m accuracy", "toy a-b m error", "toy a-b,a-c m accuracy", "toy b-a m accuracy documents=3"]
)
def test_a_missing_row_is_refused(toy, text):
    with pytest.raises(LookupError, match="has no row"):
        toy.figure(text)


def test_tasks_are_counted(toy):
    assert toy.count("toy m") == "2"


def test_an_unknown_suite_is_named(records):
    with pytest.raises(LookupError, match="nowhere"):
        records.figure("nowhere a m accuracy")
