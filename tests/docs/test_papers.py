"""The page that leads from the papers to the code names only what exists."""

import importlib
import re

import docs_pages as pages
import pytest

TEXT = (pages.DOCS / "reference" / "papers.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`(isthmus(?:_bench)?\.[\w.]+)`", TEXT)))
TESTS = sorted(set(re.findall(r"`((?:benchmarks/)?tests/[\w/]+\.py(?:::\w+)?)`", TEXT)))


@pytest.mark.parametrize("name", NAMES)
def test_functions_exist(name):
    module, _, attribute = name.rpartition(".")
    assert callable(getattr(importlib.import_module(module), attribute))


@pytest.mark.parametrize("name", TESTS)
def test_tests_exist(name):
    path, _, function = name.partition("::")
    source = (pages.ROOT / path).read_text(encoding="utf-8")
    assert not function or f"\ndef {function}(" in source


def test_every_paper_has_rows():
    assert len(NAMES) > 35
    assert len(TESTS) > 30
    assert len(re.findall(r"^## .*\d{4}$", TEXT, flags=re.M)) == 5
