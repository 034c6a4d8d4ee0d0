"""What the tests run but could not notice, found by one run of the suite (PYTEST_DONT_REWRITE).

    python tools/unseen.py run FOLDER            # the whole suite, two workers; FOLDER keeps what was seen
    python tools/unseen.py run FOLDER tests/api  # some tests
    python tools/unseen.py list FOLDER --room choose

A mutant asks whether one wrong change is noticed, and costs a run of tests. This asks, for every place at once,
whether any test is *able* to notice. The package is imported with small recorders in it; a place is blind where, over
all tests,

``default``   an argument was only ever passed the value it has by default, so that not passing it on changes nothing
``never``     a condition was never true, or never false
``half``      one operand of ``and`` / ``or`` never decided the outcome
``all``       an index, a mask or an order picked everything in its place
``sorted``    what is sorted came in order
``edge``      two whole numbers that are compared were never equal, so that ``<`` could as well be ``<=``
``unrun``     a function was never called

A place that is not listed may still go unnoticed (the tests may not look at the result); a place that is listed
certainly does. Compiled functions are left alone. Which tests enter a function is kept, too: ``tests_of`` names them.
"""

from __future__ import annotations

import argparse
import ast
import json
import marshal
import operator
import os
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from importlib.machinery import PathFinder, SourceFileLoader
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(os.environ.get("ISTHMUS_UNSEEN_PACKAGE", ROOT / "src" / "isthmus"))
KEPT = "ISTHMUS_UNSEEN"  # names the folder in the environment, also of child processes
NAME = "__seen__"
COMPARED = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
FLUSHED_EVERY = 1.0  # seconds

_test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]  # a child belongs to the test that started it


# -- while the tests run --------------------------------------------------------------------------------------------


class Recorder:
    """What was seen at the places of one module."""

    def __init__(self, module: str):
        self.module = module
        self.known: set[tuple] = set()

    def say(self, place: int, fact: str) -> None:
        if (place, fact) not in self.known:
            self.known.add((place, fact))
            _write(f"{self.module}\t{place}\t{fact}\n")

    def enter(self, place: int) -> None:
        if (place, _test) not in self.known:
            self.known.add((place, _test))
            _write(f"{self.module}\t{place}\t@{_test}\n")

    def passed(self, place: int, value, *defaults):
        if (place, "ok") not in self.known:
            same = any(value is one or (type(value) is type(one) and value == one) for one in defaults)
            self.say(place, "default" if same else "ok")
        return value

    def test(self, place: int, value):
        truth = bool(value)
        self.say(place, "true" if truth else "false")
        return truth

    def operand(self, place: int, value, decides: bool):
        if (place, "ok") not in self.known:
            try:
                self.say(place, "ok" if bool(value) is decides else "default")
            except (ValueError, TypeError):  # an array as the last operand
                self.say(place, "ok")
        return value

    def pick(self, place: int, values, index):
        if (place, "ok") not in self.known:
            self.say(place, "default" if _picks_all(values, index) else "ok")
        return values[index]

    def ordered(self, place: int, values):
        values = list(values)
        if (place, "ok") not in self.known:
            try:
                self.say(place, "ok" if any(b < a for a, b in pairwise(values)) else "default")
            except (TypeError, ValueError):
                self.say(place, "ok")
        return values

    def compared(self, place: int, left, right, how: str):
        if (place, "ok") not in self.known:
            whole = _is_whole(left) and _is_whole(right)
            self.say(place, "default" if whole and left != right else "ok")
        return getattr(operator, how)(left, right)


def _is_whole(value) -> bool:
    return type(value) is int or type(value).__name__ in ("int32", "int64", "intp", "uint32", "uint64")


def _picks_all(values, index) -> bool:
    try:
        n = len(values) if not hasattr(values, "shape") else values.shape[0]
        if isinstance(index, slice):
            return range(*index.indices(n)) == range(n)
        numpy = sys.modules.get("numpy")
        if numpy is None or not isinstance(index, (numpy.ndarray, list)):
            return False
        index = numpy.asarray(index)
        if index.ndim != 1:
            return False
        return bool(index.all()) if index.dtype == bool else numpy.array_equal(index, numpy.arange(n))
    except (TypeError, ValueError, IndexError, NotImplementedError):
        return False


_lines: list[str] = []
_flushed = time.monotonic()
_file = None


def _write(line: str) -> None:
    global _flushed
    _lines.append(line)
    if time.monotonic() - _flushed > FLUSHED_EVERY:
        flush()


def flush() -> None:
    """Write what was seen to the file of this process; a process may be killed at any time."""
    global _flushed, _file
    name = Path(os.environ[KEPT]) / "facts" / f"{os.getpid()}.txt"
    if _file is None or _file.name != str(name):  # a forked process has a file of its own
        _file = open(name, "a", encoding="utf-8")  # noqa: SIM115
    lines, _lines[:] = "".join(_lines), []
    _file.write(lines)
    _file.flush()
    _flushed = time.monotonic()


class Loader(SourceFileLoader):
    """Compiles the module with recorders in it, once for all processes."""

    def get_code(self, fullname):
        kept = Path(os.environ[KEPT]) / "code" / fullname
        if not kept.exists():
            text = Path(self.path).read_text(encoding="utf-8")
            tree, places = transform(text, fullname)
            code = compile(tree, self.path, "exec", dont_inherit=True)
            kept.with_suffix(kept.suffix + ".json").write_text(
                json.dumps({"file": str(Path(self.path).relative_to(PACKAGE)), "places": places})
            )
            part = kept.with_name(f"{fullname}-{os.getpid()}")
            part.write_bytes(marshal.dumps(code))
            part.rename(kept)
        return marshal.loads(kept.read_bytes())


class Finder:
    """Finds the package's modules as Python does and loads them by the loader above."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] != "isthmus":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and str(spec.origin).startswith(str(PACKAGE)) and str(spec.origin).endswith(".py"):
            spec.loader = Loader(name, spec.origin)
        return spec


def install() -> None:
    """Called at the start of every process of the tests."""
    if KEPT in os.environ and not any(one is Finder for one in sys.meta_path):
        import atexit
        from multiprocessing import util

        sys.meta_path.insert(0, Finder)
        atexit.register(flush)
        util.Finalize(None, flush, exitpriority=0)


def pytest_runtest_logstart(nodeid, location):
    global _test
    _test = nodeid
    _write(f"\t\t@{nodeid}\n")


# -- what is written into the package -------------------------------------------------------------------------------


def transform(text: str, module: str) -> tuple[ast.Module, list]:
    """The module with recorders, and its places: line, column, kind, the text there, the function around it."""
    tree = ast.parse(text)
    written = Written(text)
    tree = written.visit(tree)
    # By the module itself, not by its loader: a program (python -m) is loaded without it.
    recorder = ast.parse(f"import unseen\n{NAME} = unseen.Recorder({module!r})\ndel unseen").body
    tree.body[_opening(tree) : _opening(tree)] = recorder
    return ast.fix_missing_locations(tree), written.places


def _opening(tree: ast.Module) -> int:
    """How many statements must stay first: what the module says of itself, and what it takes from the future."""
    documented = ast.get_docstring(tree, clean=False) is not None
    return documented + sum(isinstance(part, ast.ImportFrom) and part.module == "__future__" for part in tree.body)


class Written(ast.NodeTransformer):
    def __init__(self, text: str):
        self.text, self.places, self.around = text, [], [""]

    def place(self, node: ast.AST, kind: str, detail: str = "") -> ast.Constant:
        said = detail or ast.get_source_segment(self.text, node) or ""
        self.places.append([node.lineno, node.col_offset, kind, " ".join(said.split())[:160], self.around[-1]])
        return ast.Constant(len(self.places) - 1)

    def record(self, method: str, *arguments: ast.AST) -> ast.Call:
        return ast.Call(ast.Attribute(ast.Name(NAME, ast.Load()), method, ast.Load()), list(arguments), [])

    def _function(self, node):
        if any("compiled" in ast.unparse(one) or "intrinsic" in ast.unparse(one) or "jit" in ast.unparse(one)
               for one in node.decorator_list):  # fmt: skip
            return node
        self.around.append(f"{self.around[-1]}.{node.name}".strip("."))
        entered = ast.Expr(self.record("enter", self.place(node, "unrun", node.name)))
        node.body = [self.visit(part) for part in node.body]
        documented = ast.get_docstring(node, clean=False) is not None
        node.body.insert(int(documented), ast.copy_location(entered, node.body[0]))
        self.around.pop()
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    def visit_ClassDef(self, node):
        self.around.append(f"{self.around[-1]}.{node.name}".strip("."))
        node.body = [self.visit(part) for part in node.body]
        self.around.pop()
        return node

    def visit_Raise(self, node):
        return node

    def visit_Assert(self, node):
        return node

    def visit_Match(self, node):
        return node

    def visit_AnnAssign(self, node):
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def _test(self, node):
        if "TYPE_CHECKING" in ast.dump(node.test) or isinstance(node.test, ast.Constant):
            return self.generic_visit(node)
        place = self.place(node.test, "never")
        self.generic_visit(node)
        node.test = ast.copy_location(self.record("test", place, node.test), node.test)
        return node

    visit_If = visit_IfExp = _test

    def visit_BoolOp(self, node):
        decides = ast.Constant(isinstance(node.op, ast.Or))
        values = []
        for number, value in enumerate(node.values):
            last = number == len(node.values) - 1
            if isinstance(value, ast.Constant) or (last and isinstance(node.op, ast.Or) and not _is_question(value)):
                values.append(self.visit(value))
                continue
            place = self.place(value, "half", f"{ast.unparse(value)}  IN  {ast.unparse(node)}")
            values.append(ast.copy_location(self.record("operand", place, self.visit(value), decides), value))
        node.values = values
        return node

    def visit_Call(self, node):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        known = constant_defaults().get(name, {})
        places = [
            self.place(one.value, "default", f"{one.arg}={ast.unparse(one.value)}  TO  {name}()")
            if one.arg in known and not isinstance(one.value, ast.Constant)
            else None
            for one in node.keywords
        ]
        sorts = self.place(node, "sorted") if name == "sorted" and isinstance(node.func, ast.Name) else None
        self.generic_visit(node)
        for one, place in zip(node.keywords, places, strict=True):
            if place is not None:
                defaults = [ast.Constant(value) for value in known[one.arg]]
                one.value = ast.copy_location(self.record("passed", place, one.value, *defaults), one.value)
        if sorts is not None:
            node.args[0] = self.record("ordered", sorts, node.args[0])
        return node

    def visit_Compare(self, node):
        simple = len(node.ops) == 1 and type(node.ops[0]) in COMPARED
        place = self.place(node, "edge") if simple else None
        self.generic_visit(node)
        if not simple:
            return node
        how = ast.Constant(COMPARED[type(node.ops[0])])
        return ast.copy_location(self.record("compared", place, node.left, node.comparators[0], how), node)

    def visit_Subscript(self, node):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        slices = isinstance(node.slice, ast.Slice)
        names = isinstance(node.slice, (ast.Name, ast.Attribute, ast.Compare, ast.UnaryOp, ast.BinOp))
        if not isinstance(node.ctx, ast.Load) or len(parts) != 1 or not (slices or names):
            return self.generic_visit(node)
        place = self.place(node, "all")
        self.generic_visit(node)
        index = node.slice
        if slices:
            ends = [end or ast.Constant(None) for end in (index.lower, index.upper, index.step)]
            index = ast.Call(ast.Name("slice", ast.Load()), ends, [])
        return ast.copy_location(self.record("pick", place, node.value, index), node)


def _is_question(node: ast.AST) -> bool:
    """Whether the value is true or false, not something that stands in for what is missing (``x or []``)."""
    return isinstance(node, (ast.Compare, ast.BoolOp)) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


_found: dict[str, dict[str, list]] = {}


def constant_defaults() -> dict[str, dict[str, list]]:
    """Function or class of the package -> argument -> its constant defaults (several, where a name stands twice)."""
    if _found:
        return _found
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                _add(node.name, _may_be_left_out(node))
            if isinstance(node, ast.ClassDef):
                fields = [part for part in node.body if isinstance(part, ast.AnnAssign)]
                _add(node.name, [(part.target.id, part.value) for part in fields if isinstance(part.target, ast.Name)])
                for part in node.body:
                    if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                        _add(node.name, _may_be_left_out(part))
    return _found


def _may_be_left_out(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[tuple[str, ast.AST | None]]:
    given = function.args
    late = list(zip(given.args[len(given.args) - len(given.defaults) :], given.defaults, strict=True))
    late += list(zip(given.kwonlyargs, given.kw_defaults, strict=True))
    return [(part.arg, value) for part, value in late]


def _add(name: str, arguments: list) -> None:
    for argument, value in arguments:
        if isinstance(value, ast.Constant):
            _found.setdefault(name, {}).setdefault(argument, []).append(value.value)
        elif value is not None:  # an expression: whether a value differs from it is not known
            _found.setdefault(name, {}).setdefault(argument, [])
    for argument in [one for one, values in _found.get(name, {}).items() if not values]:
        del _found[name][argument]


# -- afterwards -------------------------------------------------------------------------------------------------------


def run(folder: Path, tests: list[str], workers: str) -> int:
    """The tests with recorders in the package."""
    for name in ("facts", "code", "start"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "start" / "sitecustomize.py").write_text(
        f"import sys\nsys.path.append({str(Path(__file__).parent)!r})\nimport unseen\nunseen.install()\n"
    )
    paths = [str(folder / "start"), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {KEPT: str(folder), "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", "pytest", "-p", "unseen", "-n", workers, "--dist", "loadgroup"]
    return subprocess.run([*command, "--no-loadscope-reorder", "-q", "--tb=line", *tests], env=env, cwd=ROOT).returncode


def read(folder: Path) -> tuple[dict, dict, dict, set]:
    """Places by module, facts by place, tests by function, and all tests that ran."""
    modules = {path.name[:-5]: json.loads(path.read_text()) for path in (folder / "code").glob("*.json")}
    facts, tests, ran = defaultdict(set), defaultdict(set), set()
    for path in (folder / "facts").glob("*.txt"):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            module, _, rest = line.partition("\t")
            place, _, fact = rest.partition("\t")
            if fact.startswith("@"):
                test = re.sub(r"@[\w/]+$", "", fact[1:])  # without the group that xdist writes behind it
                ran.add(test)
                if place:
                    facts[module, int(place)].add("ok")
                    tests[module, int(place)].add(test)
            elif place:
                facts[module, int(place)].add(fact)
    return modules, facts, tests, ran


def blind(folder: Path) -> list[tuple]:
    """(file, line, kind, text, function, what was seen) of each blind place."""
    modules, facts, *_ = read(folder)
    found = []
    for module, known in sorted(modules.items()):
        for number, (line, _, kind, text, around) in enumerate(known["places"]):
            seen = facts.get((module, number), set())
            if kind == "never":
                lacks = {"true", "false"} - seen
                if lacks and seen:
                    found.append((known["file"], line, kind, f"{text}  NEVER {' '.join(lacks).upper()}", around))
            elif kind == "unrun":
                if not seen:
                    found.append((known["file"], line, kind, text, around))
            elif seen and "ok" not in seen:
                found.append((known["file"], line, kind, text, around))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "list"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--workers", default="2")
    parser.add_argument("--room", default="", help="list: only files whose name begins so")
    parser.add_argument("--kinds", default="", help="list: only these kinds, with commas between them")
    options = parser.parse_args()
    if options.what == "run":
        return run(options.folder.resolve(), options.tests, options.workers)
    places = [one for one in blind(options.folder) if one[0].startswith(options.room)]
    if options.kinds:
        places = [one for one in places if one[2] in options.kinds.split(",")]
    for file, line, kind, text, around in places:
        print(f"{file}:{line} [{kind}] {text}  ({around})")
    print(dict(Counter(one[2] for one in places)), file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
