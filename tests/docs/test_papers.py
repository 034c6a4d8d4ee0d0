"""The page that leads from the papers to the code names only what exists."""

import importlib
import re

import docs_pages as pages
import pytest

TEXT = (pages.DOCS / "reference" / "papers.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`(isthmus(?:_bench)?\.[\w.]+)`", TEXT)))
FAITHFUL = (pages.DOCS / "measured" / "faithful.md").read_text(encoding="utf-8")
TESTS = sorted(set(re.findall(r"`((?:benchmarks/)?tests/[\w/]+\.py(?:::\w+)?)`", TEXT + FAITHFUL)))


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


# -- the page that says how faithful the methods are


def table_rows(heading):
    """The cells of the table below a heading of that page, without its head."""
    part = FAITHFUL.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_every_point_of_the_audit_has_an_answer():
    rows = table_rows("An audit, point by point")
    assert {row[0] for row in rows} == {*(f"D{n}" for n in range(1, 8)), "Fairness", "Missing", "Sentences", "Users"}
    for point, found, now in rows:
        verdict = re.match(r"✔ .{10}|(half|not met): .{10}", now)
        assert verdict, f"{point}, {found}: {now!r} neither shows it nor gives the reason"
    assert len(rows) >= 28


def test_shipped_figures_stand_next_to_left_out_ones_and_come_from_records():
    rows = table_rows("Shipped and left out")
    assert {re.match(r"`([\w-]+)`", row[0])[1] for row in rows} == {
        *("cocc", "projection", "strings", "dual-manifold", "guided", "auto")
    }
    for name, shipped, left_out, *others in rows:
        assert re.fullmatch(r"\{(measured|studied)\}`[^`]+`", shipped), name
        assert left_out == "the same" or re.fullmatch(r"\{(measured|studied)\}`[^`]+`", left_out), name
        assert len(others) == 2, name


def test_methods_and_studies_named_there_exist():
    suites = importlib.import_module("isthmus_bench").SUITES
    known = {*importlib.import_module("isthmus.methods").METHODS, "auto", "guided-paper", *suites}
    for name in ("cocc", "projection", "strings", "dual", "guided"):
        known |= {*suites[name].methods, *suites[name].studies, *suites[name].derived, *suites[name].tasks}
    cells = [row[2] for row in table_rows("An audit, point by point")]
    named = {name for cell in cells for name in re.findall(r"`([a-z]+(?:-[a-z]+)*)`", cell)}
    assert named <= known, named - known
    assert len(named) > 20
