"""A failing test says what was expected: arrays are compared by numpy.testing, never by one bare truth value."""

import ast

import docs_pages as pages
import pytest

FILES = sorted(path for folder in ("tests", "benchmarks/tests") for path in (pages.ROOT / folder).rglob("*.py"))
BARE = ("allclose", "array_equal")


def bare(test):
    """Whether an asserted expression is one truth value about two arrays."""
    if not isinstance(test, ast.Call) or not isinstance(test.func, ast.Attribute):
        return False
    if test.func.attr in BARE and not any(keyword.arg == "equal_nan" for keyword in test.keywords):
        return True
    compared = test.func.value if not test.args else test.args[0]
    return test.func.attr == "all" and isinstance(compared, ast.Compare) and isinstance(compared.ops[0], ast.Eq)


@pytest.mark.parametrize("source", ["np.allclose(a, b)", "numpy.array_equal(a, b)", "(a == b).all()", "np.all(a == b)"])
def test_a_bare_comparison_is_found(source):
    assert bare(ast.parse(source, mode="eval").body)


@pytest.mark.parametrize("source", ["(a > b).all()", "np.all(a < b)", "a == b", "np.any(a)", "all(a == b for a in c)"])
def test_what_has_no_twin_in_numpy_testing_is_left(source):
    assert not bare(ast.parse(source, mode="eval").body)


def test_no_array_is_compared_by_a_bare_assertion():
    found = []
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        asserted = (node for node in ast.walk(tree) if isinstance(node, ast.Assert))
        found += [f"{path.relative_to(pages.ROOT)}:{node.lineno}" for node in asserted if bare(node.test)]
    assert found == []
