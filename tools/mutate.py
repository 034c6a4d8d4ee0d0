"""Small wrong changes to the code, one at a time, and whether the tests notice.

    python tools/mutate.py choose --number 20 --seed 0
    python tools/mutate.py all --number 72 --seed 0
    python tools/mutate.py all --kinds slips --quick 90 --number 40 --seed 0
    python tools/mutate.py --named --json replayed.json

A mutant is one change to one file of a room: a comparison, a sign, a constant, an axis, a dropped guard, two arguments
swapped; and what a tired developer forgets ("slips"): an argument not passed on, a step, an index or half a condition
left out, ``=`` for ``|=``, the other one of two names that are alike. For each mutant the tests of that room are run
against a copy of the package; a mutant that no test notices is a survivor and is printed as a diff line. Survivors are
read by a person: some change nothing that could be seen ("equivalent"), the others show what no test looks at.

Why not a mutation library: they rewrite the installed package in place or through import hooks, which numba's compiled
and cached functions do not follow, and run the whole suite per mutant, which takes hours on two cores. This is one file
that copies ``src``, changes one line and runs one folder of tests; or, after ``make coverage``, with ``--coverage
.coverage`` only the tests that reach the line, from the whole suite (compiled lines leave no trace there: for them the
folder is run). ``--quick 90`` needs no record: it asks for so many seconds the tests that speak of the changed function
or of one that calls it, then the room's others. A mutant they leave alive in that time counts as a survivor.

``all`` draws from every room, as many mutants as its size asks for.

A run that takes longer than ``--limit`` proves nothing on a busy machine: such a mutant is "limit" and not counted as
noticed, unless the same tests pass in half the time without it (it made a loop endless).

``--named`` draws nothing: it replays ``tools/mutants.toml``, wrong changes that went unnoticed once, each with the test
that notices it now. With ``--json`` it goes on where an earlier replay stopped.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "isthmus"
NAMED = ROOT / "tools" / "mutants.toml"
EVERYWHERE = "all"
# Room -> tests that should notice; rooms not listed here have a test folder of their own name.
TESTS = {
    "_math": ["tests/math", "tests/contract"],
    "base.py": ["tests/contract"],
    "pipeline.py": ["tests/contract"],
    "_validation.py": ["tests/contract"],
    "methods.py": ["tests/test_methods.py"],
    "_parameters.py": ["tests/contract"],
    "_streams.py": ["tests/cli/test_streams.py"],
    "_progress.py": ["tests/contract/test_gate.py", "tests/api/test_notebook.py"],
    "_utils.py": ["tests/contract"],
    "request.py": ["tests/test_request.py"],
    "estimator_checks.py": ["tests/contract"],
    "cli": ["tests/cli"],
    "classify": ["tests/classify", "tests/contract"],
    "clustering": ["tests/clustering", "tests/api/test_cluster.py"],
    "report": ["tests/report", "-k", "not browser"],
    "shift": ["tests/shift"],
    "api": ["tests/api", "tests/choose"],
}
_COMPARE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
_BINARY = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
_PAIRS = (("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all"), ("floor", "ceil"))
_NAMES = {name: other for pair in _PAIRS for name, other in (pair, pair[::-1])}
_SAID = ("progress", "warn", "IsthmusWarning", "Option", "Argument")  # calls whose arguments are sentences
_AXES = ("axis",)
SLIPS = ("guard", "not passed on", "step", "half", "assigned", "index", "order", "name")  # what a tired developer does
_PICKS = re.compile(r"rows|order|mask|keep|kept|chosen|known|columns|places|which|inside|sample|own|here|index|indices")
_ORDERING = ("sorted", "set", "frozenset", "unique")
_ALIKE = ({"source", "target"}, {"first", "last"}, {"low", "high"}, {"left", "right"}, {"before", "after"},
          {"old", "new"}, {"rows", "columns"}, {"start", "stop"}, {"first", "second"})  # fmt: skip
_COMMUTING = {*_NAMES, "clip", "array_equal", "isclose", "allclose", "union1d", "intersect1d"}  # either order
_ALL_TOGETHER = "tests/test_collection_order.py"  # about a whole run; fails where single tests are asked
_SLOW = ("browser", "postgresql", "crashes", "dask")  # tests asked last


@dataclass
class Mutant:
    """One change: where it is, what it is, and the source that results."""

    file: str
    line: int
    kind: str
    before: str
    after: str
    status: str = ""
    seconds: float = 0.0
    source: str = ""
    by: str = ""  # the test that noticed


@dataclass(frozen=True)
class Change:
    """A change that has not been written out: one node of a file, and what would stand in its place."""

    path: Path
    text: str
    node: ast.AST
    kind: str
    replacement: ast.AST

    def write(self) -> Mutant | None:
        """The mutant; None where the result is the same or does not parse."""
        written = _replace(self.text, self.node, self.replacement)
        if written is None:
            return None
        return Mutant(str(self.path.relative_to(ROOT)), self.node.lineno, self.kind, *written)


def changes_of(path: Path) -> Iterator[Change]:
    """Every single change that the operators below make to a file."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    skipped = _docstrings(tree)
    for node in ast.walk(tree):
        if id(node) in skipped or not hasattr(node, "lineno"):
            continue
        for kind, replacement in _changes(node):
            yield Change(path, text, node, kind, replacement)
    for guard in _guards(tree):
        yield Change(path, text, guard.test, "guard", ast.Constant(False))
    for node, other in _like_named(tree):
        if id(node) not in skipped:
            yield Change(path, text, node, "name", ast.Name(other))


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
        yield "comparison", _with(node, ops=[_COMPARE[type(node.ops[0])]()])
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY and not _is_text(node):
        yield "sign", _with(node, op=_BINARY[type(node.op)]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not, ast.Invert)):
        yield "sign", node.operand
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "constant", ast.Constant(node.value + 1 if isinstance(node.value, int) else node.value * 2 or 0.5)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant", ast.Constant(not node.value)
    if isinstance(node, ast.keyword) and node.arg in _AXES and getattr(node.value, "value", None) in (0, 1):
        yield "axis", ast.keyword(node.arg, ast.Constant(1 - node.value.value))
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", None))
        if name in _NAMES:
            changed = ast.parse(ast.unparse(node.func)).body[0].value
            setattr(changed, "attr" if isinstance(changed, ast.Attribute) else "id", _NAMES[name])
            yield "function", _with(node, func=changed)
        apart = len(node.args) >= 2 and not any(isinstance(a, ast.Starred) for a in node.args[:2])
        if apart and name not in _COMMUTING:
            yield "arguments", _with(node, args=[node.args[1], node.args[0], *node.args[2:]])
    if isinstance(node, ast.BoolOp):
        yield "logic", _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    if isinstance(node, ast.IfExp):
        yield "branch", _with(node, body=node.orelse, orelse=node.body)
    yield from _slips(node)


def _slips(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What is left out or half done."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        for place, given in enumerate(node.keywords):
            if given.arg and (name == "replace" or given.arg in _defaults().get(name, ())):
                yield "not passed on", _with(node, keywords=node.keywords[:place] + node.keywords[place + 1 :])
        if name in _ORDERING and len(node.args) == 1:
            yield "order", ast.Call(ast.Name("list"), node.args, []) if name != "unique" else node.args[0]
    if isinstance(node, (ast.Continue, ast.Break)) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield "step", ast.Pass()
    if isinstance(node, ast.BoolOp):
        for place in range(len(node.values)):
            left = node.values[:place] + node.values[place + 1 :]
            yield "half", left[0] if len(left) == 1 else _with(node, values=left)
    if isinstance(node, ast.AugAssign):
        yield "assigned", ast.Assign([node.target], node.value)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        words = {part.id for part in ast.walk(node.slice) if isinstance(part, ast.Name)}
        picks = isinstance(node.slice, (ast.Slice, ast.Compare)) or any(_PICKS.search(word) for word in words)
        if picks and getattr(node.value, "attr", "") not in ("r_", "c_"):
            yield "index", node.value


@cache
def _defaults() -> dict[str, set[str]]:
    """Function or class of the package -> arguments that may be left out without an error."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                given = node.args
                late = given.args[len(given.args) - len(given.defaults) :]
                names = {part.arg for part in late}
                names |= {part.arg for part, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value}
                found.setdefault(node.name, set()).update(names)
            if isinstance(node, ast.ClassDef):
                inner = [part for part in node.body if isinstance(part, ast.AnnAssign) and part.value]
                names = {part.target.id for part in inner}
                for part in node.body:
                    if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                        names |= {argument.arg for argument in part.args.kwonlyargs + part.args.args}
                found.setdefault(node.name, set()).update(names)
    return found


def _like_named(tree: ast.AST) -> Iterator[tuple[ast.Name, str]]:
    """A name that is read in a function, and another argument or variable of it that differs by one word."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        known = {part.arg: 0 for part in ast.walk(function.args) if isinstance(part, ast.arg)}
        names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        for node in names:
            if isinstance(node.ctx, ast.Store):
                known[node.id] = min(node.lineno, known.get(node.id, node.lineno))
        for node in names:
            if isinstance(node.ctx, ast.Load) and node.id in known:
                for other, line in sorted(known.items()):
                    if line < node.lineno and _alike(node.id, other):
                        yield node, other


def _alike(one: str, other: str) -> bool:
    mine, theirs = set(one.split("_")), set(other.split("_"))
    return mine ^ theirs in _ALIKE or (mine != theirs and one != other and mine & theirs - {"n", ""} in (mine, theirs))


def _guards(tree: ast.AST) -> Iterator[ast.If]:
    """``if condition:`` without an else, to be written as if the condition were never true."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and not node.orelse and getattr(node.test, "id", "") != "TYPE_CHECKING":
            yield node


def _with(node: ast.AST, **fields) -> ast.AST:
    return type(node)(**{**dict(ast.iter_fields(node)), **fields})


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(part, (ast.JoinedStr, ast.List, ast.Tuple)) or isinstance(getattr(part, "value", None), str)
               for part in (node.left, node.right))  # fmt: skip


def _docstrings(tree: ast.AST) -> set[int]:
    """Nodes that no test can see: docstrings, annotations, messages of errors."""
    hidden: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        if isinstance(node, ast.Raise):
            parts = [node]
        elif isinstance(node, ast.arg) and node.annotation:
            parts = [node.annotation]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns:
            parts = [node.returns]
        elif isinstance(node, ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in _SAID
        ):
            parts = [node]
        for part in parts:
            hidden |= {id(child) for child in ast.walk(part)}
    return hidden


def _replace(text: str, node: ast.AST, replacement: ast.AST) -> tuple[str, ...] | None:
    """The file with the node written anew in its place; None where the result is the same or does not parse."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    data = text.encode()
    first = starts[node.lineno - 1] + node.col_offset
    last = starts[node.end_lineno - 1] + node.end_col_offset
    before, after = data[first:last].decode(), ast.unparse(ast.fix_missing_locations(replacement))
    if isinstance(replacement, (ast.BinOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.UnaryOp)):
        after = f"({after})"
    changed = (data[:first] + after.encode() + data[last:]).decode()
    try:
        if ast.dump(ast.parse(changed)) == ast.dump(ast.parse(text)):
            return None
    except SyntaxError:
        return None
    return before, after, "", 0.0, changed


def draw(room: str, number: int, seed: int, kinds: tuple[str, ...] = ()) -> list[Mutant]:
    """Mutants of a room at random: first a kind, then one of that kind, so that constants do not crowd out the rest."""
    place = PACKAGE / room
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    by_kind: dict[str, list[Change]] = {}
    for path in files:
        for change in changes_of(path):
            if kinds and change.kind not in kinds:
                continue
            by_kind.setdefault(change.kind, []).append(change)
    rng = random.Random(f"{room} {seed}")
    chosen: list[Mutant] = []
    while by_kind and len(chosen) < number:
        kind = rng.choice(sorted(by_kind))
        pool = by_kind[kind]
        mutant = pool.pop(rng.randrange(len(pool))).write()
        if mutant is not None:
            chosen.append(mutant)
        if not pool:
            del by_kind[kind]
    return chosen


def draw_everywhere(number: int, seed: int, kinds: tuple[str, ...] = ()) -> list[Mutant]:
    """Mutants of all rooms, each with as many as its part of the lines of code."""
    rooms = {
        path.name: sum(
            len(file.read_text("utf-8").splitlines()) for file in [path, *path.rglob("*.py")] if file.is_file()
        )
        for path in sorted(PACKAGE.iterdir())
        if (path.suffix == ".py" or path.is_dir()) and tests_for(path.name)
    }
    wanted = {room: number * lines / sum(rooms.values()) for room, lines in rooms.items()}
    counts = {room: int(share) for room, share in wanted.items()}
    for room in sorted(wanted, key=lambda room: counts[room] - wanted[room])[: number - sum(counts.values())]:
        counts[room] += 1
    return [mutant for room, count in counts.items() for mutant in draw(room, count, seed, kinds)]


def room_of(mutant: Mutant) -> str:
    """The folder or file below src/isthmus in which a mutant is."""
    return Path(mutant.file).parts[2]


def tests_for(room: str) -> list[str]:
    """The tests that should notice a change in a room; none where it has no tests of its own."""
    tests = TESTS.get(room, [f"tests/{room.removesuffix('.py')}"])
    return tests if (ROOT / tests[0]).exists() else []


def tests_of_lines(record: Path, most: int) -> Callable[[Mutant], list[list[str]]]:
    """Tests that run a mutant's line, from a coverage record kept with ``--cov-context=test``.

    Two lists: so many as are asked first, those of the room and the module's own examples before all others, and the
    rest, which a mutant must pass too before it counts as a survivor.
    """
    from coverage import CoverageData

    data = CoverageData(str(record))
    data.read()
    lines_of = cache(data.contexts_by_lineno)
    there = _collected()

    def find(mutant: Mutant) -> list[list[str]]:
        contexts = {context for path, line in _places(mutant) for context in lines_of(str(path)).get(line, [])}
        names = {_test_name(context) for context in contexts if context} & there
        own = f"tests/{room_of(mutant)}"  # tests of the room first: they notice soonest
        module = ".".join(Path(mutant.file).with_suffix("").parts[1:])
        examples = [name for name in sorted(names) if name.endswith(f"[{module}]")]
        names -= set(examples)
        slow = {name for name in names if any(sign in name for sign in _SLOW)}
        quick = sorted(names - slow)
        near, far = ([name for name in quick if name.startswith(own) == mine] for mine in (True, False))
        first = examples + _spread(near, most) + _spread(far, max(0, most - len(near)))
        rest = [name for name in near + far if name not in set(first)] + sorted(slow)
        return [first, rest] if first else [rest, []]

    return find


@cache
def _files_with(word: str) -> set[str]:
    paths = [path for path in PACKAGE.rglob("*.py") if re.search(rf"\b{word}\b", path.read_text(encoding="utf-8"))]
    return {path.relative_to(PACKAGE).as_posix() for path in paths}


def _function_at(path: Path, line: int) -> str:
    """The innermost function around a line, with the classes and functions around that; '' outside all functions."""
    found = ""

    def look(node: ast.AST, around: str) -> None:
        nonlocal found
        for part in ast.iter_child_nodes(node):
            name = around
            if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{around}.{part.name}".strip(".")
                if not isinstance(part, ast.ClassDef) and part.lineno <= line <= (part.end_lineno or 0):
                    found = name
            look(part, name)

    look(ast.parse(path.read_text(encoding="utf-8")), "")
    return found


def tests_by_name(mutant: Mutant, most: int) -> list[str]:
    """Tests that speak of the changed function, then of those that call it; rare names and near files first."""
    scores: dict[str, tuple[int, float]] = {}
    for name, steps in _callers(mutant).items():
        speaking = _tests_with().get(name, ())
        for test in speaking:
            near = Path(mutant.file).stem in test.partition("::")[0]
            near += any(test.startswith(own) for own in tests_for(room_of(mutant)))
            before = scores.get(test, (steps, 0.0))
            if steps <= before[0]:
                scores[test] = steps, before[1] - 3**near / len(speaking)
    module = ".".join(Path(mutant.file).with_suffix("").parts[1:])
    own = [f"tests/docs/test_docstrings.py::test_examples_in_docstrings_run[{module}]"]
    return (own if ">>> " in mutant.source else []) + sorted(scores, key=scores.__getitem__)[:most]


def _callers(mutant: Mutant) -> dict[str, int]:
    """The function and class around a change, and what calls them: name -> steps away, nearest first."""
    at = ROOT / mutant.file
    own = [name for name, _, lines in _read(at) if mutant.line in lines] or [name for name, *_ in _read(at)]
    found = dict.fromkeys(own, 0)
    for steps in (1, 2, 3):
        before = {*found}
        for path in sorted(PACKAGE.rglob("*.py")):
            known = before if path == at else before & _imported(path)
            for name, words, _ in _read(path) if known else ():
                if words & known:
                    found.setdefault(name, steps)
    return {name: steps for name, steps in found.items() if not name.startswith("__")}


@cache
def _tests_with() -> dict[str, list[str]]:
    """A word -> tests that hold it, or that name a function of their file which holds it."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        inside = {name: words for name, words, _ in _read(path)}
        for name, words in inside.items():
            test = f"{path.relative_to(ROOT)}::{name}"
            if name.startswith("test_") and not any(sign in test for sign in _SLOW):
                for word in words.union(*(inside[word] for word in words & inside.keys())):
                    found.setdefault(word, []).append(test)
    return found


@cache
def _read(path: Path) -> list[tuple[str, set[str], range]]:
    """Functions and classes of a file: the name, the words in it, and its lines."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    return [
        (
            part.name,
            {*re.findall(r"\w{4,}", "\n".join(lines[part.lineno : part.end_lineno]))},
            range(part.lineno, part.end_lineno + 1),
        )
        for part in ast.walk(ast.parse(text))
        if isinstance(part, (ast.FunctionDef, ast.ClassDef))
    ]


@cache
def _imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {name.name for part in ast.walk(tree) if isinstance(part, ast.ImportFrom) for name in part.names}


def _collected() -> set[str]:
    """Tests that exist now: a record may name some that are gone since."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {line for line in found.stdout.splitlines() if "::" in line and not line.startswith(_ALL_TOGETHER)}


def _places(mutant: Mutant) -> Iterator[tuple[Path, int]]:
    """Lines whose tests should notice: the changed one; of a constant of the module, also those that name it."""
    path = ROOT / mutant.file
    yield path, mutant.line
    named = re.match(r"([A-Za-z_]\w*)\s*(?::[^=]+)?=", path.read_text(encoding="utf-8").splitlines()[mutant.line - 1])
    if named is None:
        return
    word = re.compile(rf"\b{named[1]}\b")
    for other in [path] if named[1].startswith("_") else PACKAGE.rglob("*.py"):
        for line, text in enumerate(other.read_text(encoding="utf-8").splitlines(), 1):
            if word.search(text):
                yield other, line


def _test_name(context: str) -> str:
    """A test as pytest takes it: without the phase, and without the group that pytest-xdist writes behind it."""
    name = context.rpartition("|")[0]
    head, at, group = name.rpartition("@")
    return head if at and group.isidentifier() else name


def _spread(names: list[str], number: int) -> list[str]:
    """At most so many of them, from first to last: many tests in a row often ask the same."""
    return names if len(names) <= number else [names[i * len(names) // number] for i in range(number)]


def try_mutant(mutant: Mutant, copy: Path, tests: list[str], limit: float, endless: bool = True) -> None:
    """Run the tests against the copy with the change in it; sets ``status``.

    Tests that run into the limit say nothing by themselves: the machine may be busy. With ``endless`` they are run
    again without the change, and the change is noticed where they pass in half the time: it made a loop endless.
    """
    path = copy / Path(mutant.file).relative_to("src")
    original, times = path.read_text(encoding="utf-8"), path.stat()
    began = time.monotonic()
    path.write_text(mutant.source, encoding="utf-8")
    try:
        mutant.status, mutant.by = _run(copy, tests, limit)
    finally:
        path.write_text(original, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        kept = ROOT / Path(mutant.file).parent / "__pycache__"
        if "@compiled" in original and kept.exists():  # functions compiled from the original, not from the mutant
            shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
            shutil.copytree(kept, path.parent / "__pycache__")
    if endless and mutant.status == "limit" and _run(copy, tests, limit / 2)[0] == "survived":
        mutant.status, mutant.by = "killed", "an endless loop"
    mutant.seconds = round(mutant.seconds + time.monotonic() - began, 1)
    if mutant.by in tests and _run(copy, [mutant.by], limit)[0] != "survived":  # it fails without the change, too
        try_mutant(mutant, copy, [test for test in tests if test != mutant.by], limit, endless)


def _run(copy: Path, tests: list[str], limit: float) -> tuple[str, str]:
    """What the tests say of the copy as it is: "survived", "killed", "not run" or "limit"; and which of them failed."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *tests]
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return "limit", ""
    if any(sign in done.stdout + done.stderr for sign in ("while loading conftest", "ERROR collecting")):
        return "killed", "loading"  # the package cannot be loaded any more; 4 is what pytest says of that, too
    # 4 and 5: pytest has found no such test, which says nothing about the mutant.
    status = {0: "survived", 4: "not run", 5: "not run"}.get(done.returncode, "killed")
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", done.stdout, flags=re.MULTILINE)
    return status, failed[1] if failed and status == "killed" else ""


def try_in_turn(mutant: Mutant, copy: Path, stages: list[list[str]], limit: float) -> None:
    """Some tests after others, until one notices; "limit" where any stage was cut off and none noticed."""
    found = []
    for tests in filter(None, stages):
        try_mutant(mutant, copy, tests, limit, endless=not found)
        if mutant.status == "killed":
            return
        found.append(mutant.status)
    mutant.status = next((status for status in ("limit", "survived") if status in found), "not run")


Row = TypeVar("Row")


def in_copies(rows: list[Row], ask: Callable[[Row, Path], None], workers: int) -> Iterator[Row]:
    """Ask each row with a copy of the package of its own, so many at a time; the rows come in their order."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for worker in range(workers):
            copies.put(Path(shutil.copytree(ROOT / "src", Path(folder) / str(worker) / "src")))

        def one(row: Row) -> Row:
            copy = copies.get()
            try:
                ask(row, copy)
            finally:
                copies.put(copy)
            return row

        yield from pool.map(one, rows)


def named_mutants(table: Path = NAMED) -> list[tuple[str, Mutant, str]]:
    """The table of wrong changes that have a name: the name, the change written out, and the test that notices it."""
    found = []
    for row in tomllib.loads(table.read_text(encoding="utf-8"))["mutant"]:
        path = PACKAGE / row["file"]
        text = path.read_text(encoding="utf-8")
        if text.count(row["before"]) != 1:
            raise ValueError(f"{row['name']}: {row['before']!r} stands {text.count(row['before'])} times in {path}.")
        line = text[: text.index(row["before"])].count("\n") + 1
        mutant = Mutant(str(path.relative_to(ROOT)), line, "named", row["before"], row["after"])
        mutant.source = text.replace(row["before"], row["after"])
        found.append((row["name"], mutant, row.get("test", "")))
    return found


def replay_named(limit: float, workers: int = 1, record: Path | None = None) -> int:
    """Each change of the table against its own test; 1 where one goes unnoticed, 2 where a test fails without any.

    ``record`` holds what was noticed so far, so that a replay can be stopped and goes on there.
    """
    table = named_mutants()
    noticed = set(json.loads(record.read_text(encoding="utf-8")) if record and record.exists() else ())
    left = [row for row in table if _as_key(*row) not in noticed]
    if left and not _pass_unchanged(sorted({test for *_, test in left}), limit):
        print(f"The tests of {NAMED.name} fail without any change, or are not there; mend them first.", file=sys.stderr)
        return 2
    done = in_copies(left, lambda row, copy: try_mutant(row[1], copy, [row[2]], limit), workers)
    for place, (name, mutant, test) in enumerate(done, 1):
        print(f"{place:3d} {mutant.status:8} {mutant.file}:{mutant.line} {name} ({test})", flush=True)
        if mutant.status == "killed":
            noticed.add(_as_key(name, mutant, test))
        if record:
            record.write_text(json.dumps(sorted(noticed), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    killed = sum(_as_key(*row) in noticed for row in table)
    print(f"named: {killed} of {len(table)} noticed")
    return 0 if killed == len(table) else 1


def _as_key(name: str, mutant: Mutant, test: str) -> str:
    return f"{name} | {mutant.before} | {mutant.after} | {test}"


def _pass_unchanged(tests: list[str], limit: float) -> bool:
    """Whether the tests pass, or are still at it, without any change."""
    return _run(ROOT / "src", tests, limit)[0] in ("survived", "limit")


def try_quickly(mutant: Mutant, copy: Path, tests: list[str], seconds: float, most: int) -> None:
    """The likeliest tests, then the others of the room, for so many seconds together; sets ``status``."""
    for some in (tests_by_name(mutant, most), tests):
        left = seconds - mutant.seconds
        if some and left > 0 and mutant.status != "killed":
            try_mutant(mutant, copy, some, left, endless=False)
    mutant.status = {"limit": "survived"}.get(mutant.status, mutant.status)


def _line(place: int, mutant: Mutant) -> str:
    change = f"[{mutant.kind}] {mutant.before!r} -> {mutant.after!r}"
    return f"{place:3d} {mutant.status:8} {mutant.seconds:5.0f} s {mutant.file}:{mutant.line} {change}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("room", nargs="?", help=f"a folder or file below src/isthmus, or {EVERYWHERE!r}")
    parser.add_argument("--named", action="store_true", help="replay the table of named changes instead of a room")
    parser.add_argument("--batch", type=Path, help="changes of a table that names no tests, instead of a room")
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default="", help='kinds of changes, with commas between them; "slips": all of these')
    parser.add_argument("--quick", type=float, help="seconds for a mutant, for the tests that are likeliest to notice")
    parser.add_argument("--show", action="store_true", help="print the mutants and run nothing")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds a run may take")
    parser.add_argument("--coverage", type=Path, help="record of `make coverage`: run only tests that reach the line")
    parser.add_argument("--most", type=int, default=100, help="tests asked first when they are chosen by line")
    parser.add_argument("--workers", type=int, default=1, help="so many mutants at a time")
    parser.add_argument("--also", nargs="*", default=[], help="tests a survivor must pass too: newer than the record")
    parser.add_argument(
        "--json", type=Path, help="write all mutants with their fate; of named ones, those noticed so far"
    )
    options = parser.parse_args()
    if sum((options.named, options.room is not None, options.batch is not None)) != 1:
        parser.error("give a room, --batch or --named, one of the three")
    if options.named:
        return replay_named(options.limit, options.workers, options.json)
    kinds = SLIPS if options.kinds == "slips" else tuple(filter(None, options.kinds.split(",")))
    if options.batch:
        chosen = [mutant for _, mutant, _ in named_mutants(options.batch)]
    elif options.room == EVERYWHERE:
        chosen = draw_everywhere(options.number, options.seed, kinds)
    else:
        chosen = draw(options.room, options.number, options.seed, kinds)
    if options.show:
        for place, mutant in enumerate(chosen, 1):
            print(f"{place:3d} {mutant.file}:{mutant.line} [{mutant.kind}] {mutant.before!r} -> {mutant.after!r}")
        return 0
    tests = list(dict.fromkeys(test for mutant in chosen for test in tests_for(room_of(mutant))))
    by_line = None
    if options.coverage:
        by_line = tests_of_lines(options.coverage, options.most)
    elif options.quick is None and not _pass_unchanged(tests, options.limit):
        print(f"The tests {' '.join(tests)} fail without any change; mend them first.", file=sys.stderr)
        return 2

    def ask(mutant: Mutant, copy: Path) -> None:
        own = tests_for(room_of(mutant))
        if options.quick:
            try_quickly(mutant, copy, own, options.quick, options.most)
        else:
            first, rest = by_line(mutant) if by_line else (own, [])
            near, far = rest[: 3 * options.most], rest[3 * options.most :]  # longest files begin, whatever is asked
            # The room's own tests last: a line that is run once and kept leaves its trace with one test only.
            try_in_turn(mutant, copy, [first, options.also, near, far, own if by_line else []], options.limit)

    for place, mutant in enumerate(in_copies(chosen, ask, options.workers), 1):
        print(_line(place, mutant), flush=True)
    killed = sum(mutant.status == "killed" for mutant in chosen)
    cut = sum(mutant.status == "limit" for mutant in chosen)
    unfinished = f"; {cut} ran into the limit" if cut else ""
    print(f"{options.room or options.batch}: {killed} of {len(chosen)} noticed{unfinished} (seed {options.seed})")
    if options.json:
        rows = [{name: value for name, value in asdict(mutant).items() if name != "source"} for mutant in chosen]
        options.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
