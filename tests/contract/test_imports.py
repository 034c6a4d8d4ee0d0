"""The import graph of the whole package: no circle between files, no upward import, however it is written.

import-linter reads plain import statements. Imports inside functions and module names in strings (``import_module``,
lazy tables of public names) are read here as well.
"""

import ast
import re
import tomllib
from pathlib import Path

import pytest

import isthmus

PACKAGE = Path(isthmus.__file__).parent
ROOT = PACKAGE.parent.parent
_MODULE_NAME = re.compile(r"isthmus(\.\w+)+\.?")


def modules(folder: Path = PACKAGE) -> dict[str, Path]:
    """Dotted name of every file of a package."""
    named = {}
    for path in sorted(folder.rglob("*.py")):
        parts = [folder.name, *path.relative_to(folder).with_suffix("").parts]
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


def imported_names(tree: ast.AST, own: str, known) -> set[str]:
    """Everything a file may load: import statements at any depth, and strings that are the name of a module.

    A string that names the package of the file itself (to find its templates, say) loads nothing.
    """
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and _MODULE_NAME.fullmatch(str(node.value)):
            names |= {node.value.rstrip(".")} & set(known) if not own.startswith(node.value) else set()
    return names


def nearest_module(name: str, known) -> str | None:
    """The file that an imported name stands for: the module itself, or the one that defines the name."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name or None


def import_graph(folder: Path = PACKAGE) -> dict[str, set[str]]:
    named = modules(folder)
    graph = {}
    for name, path in named.items():
        names = imported_names(ast.parse(path.read_text("utf-8")), name, named)
        graph[name] = {nearest_module(other, named) for other in names} - {None, name}
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected groups of more than one file (Tarjan)."""
    order, low, stack, groups = {}, {}, [], []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            group = [stack.pop()]
            while group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                groups.append(sorted(group))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return groups


def layer_of_modules() -> dict[str, int]:
    """Layer number of every top-level module in the contract; 0 is the top."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return {name.strip(): place for place, layer in enumerate(layers) for name in re.split(r"[|:]", layer)}


def upward_imports(graph: dict[str, set[str]], layers: dict[str, int]) -> list[str]:
    def layer(name: str) -> int | None:
        return layers.get(".".join(name.split(".")[:2]))

    found = []
    for name, others in graph.items():
        for other in others:
            above, below = layer(other), layer(name)
            same_room = name.split(".")[:2] == other.split(".")[:2]
            if above is not None and below is not None and above <= below and not same_room:
                found.append(f"{name} -> {other}")
    return sorted(found)


def test_every_module_has_a_layer():
    top = {".".join(name.split(".")[:2]) for name in modules() if name != "isthmus"}
    assert top == set(layer_of_modules())


def test_no_circle_between_files():
    assert circles(import_graph()) == []


def test_no_upward_import_in_functions_or_strings():
    assert upward_imports(import_graph(), layer_of_modules()) == []


@pytest.fixture
def crooked(tmp_path):
    """A package with a circle through a function and an upward import in a string."""
    package = tmp_path / "isthmus"
    for room in ("low", "high"):
        (package / room).mkdir(parents=True)
        (package / room / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "low/a.py").write_text("def f():\n    from isthmus.low.b import g\n    return g\n")
    (package / "low/b.py").write_text("from isthmus.low.a import f\n\ng = f\n")
    (package / "low/c.py").write_text("import importlib\n\nx = importlib.import_module(f'isthmus.high.{1}')\n")
    (package / "high/top.py").write_text("import isthmus.low.c\n")
    return package


def test_a_hidden_circle_and_a_hidden_upward_import_are_seen(crooked):
    graph = import_graph(crooked)
    assert circles(graph) == [["isthmus.low.a", "isthmus.low.b"]]
    assert upward_imports(graph, {"isthmus.high": 0, "isthmus.low": 1}) == ["isthmus.low.c -> isthmus.high"]
