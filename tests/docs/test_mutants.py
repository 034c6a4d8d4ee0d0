"""The table of named wrong changes fits the code: what it changes is there, once, and so are the tests it names."""

import ast
import tomllib
from functools import cache

import docs_pages as pages
import pytest

TABLE = tomllib.loads((pages.ROOT / "tools" / "mutants.toml").read_text(encoding="utf-8"))["mutant"]


@cache
def functions(path) -> set[str]:
    """Names of the functions of a file of tests."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_no_two_have_one_name():
    names = [row["name"] for row in TABLE]
    assert len(set(names)) == len(names) > 0


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["name"])
def test_a_named_change_can_be_made_and_its_test_is_there(row):
    assert set(row) == {"name", "file", "before", "after", "test"}
    text = (pages.ROOT / "src" / "isthmus" / row["file"]).read_text(encoding="utf-8")
    assert text.count(row["before"]) == 1
    assert row["after"] != row["before"]
    ast.parse(text.replace(row["before"], row["after"]))
    file, _, name = row["test"].partition("::")
    assert name.partition("[")[0] in functions(pages.ROOT / file)
