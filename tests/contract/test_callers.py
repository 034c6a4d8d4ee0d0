"""Every public function, class and method has a caller, and every argument is used where it arrives.

A caller is in the package, in the benchmarks, or on a documented page.
"""

import ast
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Public and without a caller on purpose: file and name -> why.
ALLOWED = {
    ("workbench/app.py", "file_response"): "called by starlette",
    ("workbench/server.py", "connection_lost"): "called by asyncio",
    ("workbench/server.py", "connection_made"): "called by asyncio",
    ("workbench/server.py", "data_received"): "called by asyncio",
    ("workbench/server.py", "handleError"): "called by logging",
    ("workspace/schema.py", "process_bind_param"): "called by SQLAlchemy",
    ("workspace/schema.py", "process_result_value"): "called by SQLAlchemy",
    ("cli/app.py", "format_commands"): "called by click",
    ("features/term_rows.py", "SideBySide"): "a step that the format of saved models will store",
    ("features/term_rows.py", "UnitRows"): "a step that the format of saved models will store",
    ("workspace/groups.py", "rename_class"): "the workspace keeps new names of classes; no page offers it yet",
    ("workspace/groups.py", "undo_name"): "takes back what rename_class did",
    ("evaluate/labels.py", "contingency"): "the table behind the scores of pairs, for users",
}
# Arguments that are taken and not used, by file: what scikit-learn, numba, click, starlette, SQLAlchemy or a shared
# interface hands over.
IDLE = {
    "classify/baselines/aligned_features.py": "Z codes",
    "classify/cocc/blocks.py": "before values",
    "classify/labeller.py": "row",
    "classify/names/classifier.py": "extras",
    "classify/projection/classifier.py": "step",
    "classify/strings/classifier.py": "X",
    "cli/_exit.py": "frame number",
    "cli/app.py": "ctx",
    "cli/common.py": "category more where",
    "corpus/tables.py": "line",
    "features/blocks.py": "phase",
    "features/embeddings.py": "normalize y",
    "features/gram_kernels.py": "context i index j matrix n_words signature typingctx x",
    "features/latent.py": "y",
    "features/projection.py": "input_features",
    "features/vectorizer.py": "input_features y",
    "pipeline.py": "X",
    "report/summary.py": "kinds",
    "workbench/api.py": "bench person",
    "workbench/app.py": "app error",
    "workbench/gate.py": "scope",
    "workbench/pages/accounts.py": "bench person token",
    "workspace/database.py": "record",
    "workspace/exports.py": "project run",
    "workspace/schema.py": "dialect",
}
_REFERENCE = re.compile(r":(?:func|class|meth|attr):`~?[!\w.]*?(\w+)`")
_WORD = re.compile(r"\w+")

Place = tuple[str, int]  # file and line of a definition


def python_files(root: Path) -> list[Path]:
    files = [*root.glob("src/**/*.py"), *root.glob("benchmarks/src/**/*.py")]
    return [path for path in sorted(files) if "migrations" not in path.parts]


def documented_words(root: Path) -> set[str]:
    """Words of the pages, the examples and the templates of the workbench."""
    patterns = ("README.md", "docs/**/*.md", "docs/_ext/*.py", "examples/*.py", "src/**/*.html")
    pages = [path.read_text("utf-8") for pattern in patterns for path in root.glob(pattern)]
    return set(_WORD.findall("\n".join(pages)))


class Names(ast.NodeVisitor):
    """Definitions of one file, and every name it uses together with the definitions the use stands in."""

    def __init__(self, file: str):
        self.file = file
        self.inside: list[Place] = []
        self.kinds = [ast.Module]
        self.defined: dict[Place, str] = {}
        self.used: dict[str, list[tuple[Place, ...]]] = defaultdict(list)

    def use(self, *names: str) -> None:
        for name in names:
            self.used[name].append(tuple(self.inside))

    def visit_definition(self, node) -> None:
        place = (self.file, node.lineno)
        registered = any(isinstance(d, ast.Call) and isinstance(d.func, ast.Attribute) for d in node.decorator_list)
        nested = self.kinds[-1] not in (ast.Module, ast.ClassDef)
        if not (nested or registered or node.name.startswith("_") or node.name.endswith("_")):
            self.defined[place] = node.name
        self.inside.append(place)
        self.kinds.append(type(node))
        self.generic_visit(node)
        self.kinds.pop()
        self.inside.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_definition

    def visit_Name(self, node: ast.Name) -> None:
        self.use(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.use(node.attr)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Names in strings: alone (``getattr``, tables), in a line of code, or as a reference in a docstring."""
        if not isinstance(node.value, str):
            return
        if re.fullmatch(r"[\w.:]+", node.value) and not self.file.endswith("__init__.py"):
            self.use(*re.split(r"[.:]", node.value))
        elif "import " in node.value:
            self.use(*re.findall(r"import (\w+);", node.value))
        self.use(*_REFERENCE.findall(node.value))


def without_callers(files: dict[str, str], documented: set[str]) -> list[tuple[str, str]]:
    """File and name of each public definition that nothing but itself uses."""
    used: dict[str, list[tuple[Place, ...]]] = defaultdict(list)
    defined: dict[Place, str] = {}
    for file, text in files.items():
        names = Names(file)
        names.visit(ast.parse(text))
        defined |= names.defined
        for name, places in names.used.items():
            used[name] += places
    return [
        (place[0], name)
        for place, name in sorted(defined.items())
        if name not in documented and all(place in inside for inside in used[name])
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def lonely(): return lonely()", ["lonely"]),
        ("def asked(): pass\nasked()", []),
        ("class Box:\n    def open(self): pass\nBox()", ["open"]),
        ("class Box:\n    def open(self): pass\nBox().open()", []),
        ("def by_name(): pass\ngetattr(box, 'by_name')", []),
        ("@router.get('/')\ndef page(): pass", []),
        ("def _own(): pass", []),
    ],
)
def test_a_definition_is_found_where_nothing_but_itself_uses_it(text, found):
    assert [name for _, name in without_callers({"box.py": text}, set())] == found


def test_every_public_definition_has_a_caller():
    files = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in python_files(ROOT)}
    found = without_callers(files, documented_words(ROOT))
    short = {("/".join(file.split("/")[-2:]), name) for file, name in found}
    assert sorted(short - set(ALLOWED)) == []
    assert sorted(set(ALLOWED) - short) == [], "these have a caller now; take them off the list"


def test_an_argument_is_used_where_it_arrives():
    """One that a function takes and passes on no longer is lost without an error: its default is used instead."""
    package = ROOT / "src" / "isthmus"
    command = [sys.executable, "-m", "ruff", "check", "--select", "ARG001,ARG002", "--output-format", "json", package]
    found: dict[str, set[str]] = defaultdict(set)
    for row in json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout):
        found[Path(row["filename"]).relative_to(package).as_posix()].add(re.search("`(.*)`", row["message"])[1])
    lost = {file: sorted(names - set(IDLE.get(file, "").split())) for file, names in found.items()}
    assert {file: names for file, names in lost.items() if names} == {}, "taken and not used"
    assert {file: " ".join(sorted(names)) for file, names in found.items()} == IDLE, "used by now: take it off the list"
