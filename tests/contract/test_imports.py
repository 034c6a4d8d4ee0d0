"""The import graph of the package and its benchmarks: no circle between files, no upward import, however it is written.

import-linter reads plain import statements. Imports inside functions and module names in strings (``import_module``,
lazy tables of public names) are read here as well.
"""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (ROOT / "src/isthmus", ROOT / "benchmarks/src/isthmus_bench")
_MODULE_NAME = re.compile(r"isthmus(_bench)?(\.\w+)*\.?")


@cache
def tree_of(path: Path) -> ast.AST:
    return ast.parse(path.read_text("utf-8"))


def modules(*folders: Path) -> dict[str, Path]:
    """Dotted name of every file of some packages."""
    named = {}
    for folder in folders:
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
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _MODULE_NAME.fullmatch(node.value):
            names |= {name for name in [node.value.rstrip(".")] if name in known and not own.startswith(node.value)}
    return names


def nearest_module(name: str, known) -> str | None:
    """The file that an imported name stands for: the module itself, or the one that defines the name."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name or None


@cache
def import_graph(*folders: Path) -> dict[str, set[str]]:
    named = modules(*folders)
    graph = {}
    for name, path in named.items():
        # The table of saved classes is looked up only while a file is read, when the caller has loaded the result.
        strings = {} if name == "isthmus.saving" else named
        names = imported_names(tree_of(path), name, strings)
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


def room(name: str) -> str:
    """What stands in the contract for a module: its room, or the benchmarks as a whole."""
    parts = name.split(".")
    return parts[0] if parts[0] == "isthmus_bench" else ".".join(parts[:2])


def upward_imports(graph: dict[str, set[str]], layers: dict[str, int]) -> list[str]:
    found = []
    for name, others in graph.items():
        for other in others:
            above, below = layers.get(room(other)), layers.get(room(name))
            if above is not None and below is not None and above <= below and room(name) != room(other):
                found.append(f"{name} -> {other}")
    return sorted(found)


def private_imports(*folders: Path) -> list[str]:
    """Names with a leading underscore that one file takes from another file of these packages.

    Files whose own name begins with one (``_math``) may be imported; what is private in them may not.
    """
    named = modules(*folders)
    files = set(named)
    found = []
    for own, path in named.items():
        taken: dict[str, str] = {}  # local name of every module of the packages that the file imports
        for node in ast.walk(tree_of(path)):
            if (
                isinstance(node, ast.ImportFrom)
                and node.module
                and node.module.split(".")[0] in {f.name for f in folders}
            ):
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    if whole in files:
                        taken[alias.asname or alias.name] = whole
                    elif alias.name.startswith("_") and not alias.name.startswith("__"):
                        found.append(f"{own}: {whole}")
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in taken:
                private = node.attr.startswith("_") and not node.attr.startswith("__")
                if private and f"{taken[node.value.id]}.{node.attr}" not in files:
                    found.append(f"{own}: {taken[node.value.id]}.{node.attr}")
    return sorted(found)


def test_every_module_has_a_layer():
    assert {room(name) for name in modules(*PACKAGES) if name != "isthmus"} == set(layer_of_modules())
    assert layer_of_modules()["isthmus_bench"] == 0


def test_no_circle_between_files():
    assert circles(import_graph(*PACKAGES)) == []


def test_no_upward_import_in_functions_or_strings():
    assert upward_imports(import_graph(*PACKAGES), layer_of_modules()) == []


def test_no_private_name_is_taken_from_another_file():
    assert private_imports(*PACKAGES) == []


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


def test_a_private_name_of_another_file_is_seen(crooked):
    (crooked / "low/d.py").write_text(
        "from isthmus.low import a\nfrom isthmus.low.b import _h, g\n\nx = a._f, a.f, g, _h\n"
    )
    assert private_imports(crooked) == ["isthmus.low.d: isthmus.low.a._f", "isthmus.low.d: isthmus.low.b._h"]
