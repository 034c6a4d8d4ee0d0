"""Wrong changes: what the tool makes of code, and that the table of named ones still fits the code and the tests."""

import ast
import importlib.util
import sys
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


@pytest.fixture(scope="module")
def mutate():
    spec = importlib.util.spec_from_file_location("mutate", pages.ROOT / "tools" / "mutate.py")
    module = sys.modules["mutate"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["mutate"]


@pytest.mark.parametrize(
    ("kind", "line", "expected"),
    [
        ("not passed on", "step(a, small=1, must=2)", ["step(a, must=2)"]),
        ("not passed on", "Kept(a, b=3)", ["Kept(a)"]),
        ("not passed on", "replace(a, b=1)", ["replace(a)"]),
        ("not passed on", "print(a, end=1)", []),
        ("guard", "if a:\n    raise ValueError(a)", ["if False:\n    raise ValueError(a)"]),
        ("step", "a.sort()", ["pass"]),
        ("step", "for b in a:\n    continue", ["for b in a:\n    pass"]),
        ("half", "b = a and c", ["b = c", "b = a"]),
        ("assigned", "a |= 2", ["a = 2"]),
        ("index", "b = a[order]", ["b = a"]),
        ("index", "b = a[:3] + a['name']", ["b = a + a['name']"]),
        ("order", "b = sorted(a, key=str)", ["b = list(a)"]),
        ("name", "b = source_rows + a", ["b = target_rows + a"]),
    ],
)
def test_a_slip_leaves_one_thing_out_and_the_rest_as_it_is(mutate, tmp_path, monkeypatch, kind, line, expected):
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    monkeypatch.setattr(mutate, "_defaults", lambda: {"step": {"small"}, "Kept": {"b"}})
    frame = "def work(a, c, order, source_rows, target_rows):\n    {}\n"
    file = tmp_path / "code.py"
    file.write_text(frame.format(line.replace("\n", "\n    ")), encoding="utf-8")
    made = [change.write() for change in mutate.changes_of(file) if change.kind == kind]
    wanted = [frame.format(one.replace("\n", "\n    ")) for one in expected]
    assert [ast.unparse(ast.parse(one.source)) for one in made if one] == [
        ast.unparse(ast.parse(one)) for one in wanted
    ]


def test_what_may_be_left_out_and_who_speaks_of_it_is_read_from_the_code(mutate, tmp_path, monkeypatch):
    """A private helper is reached through the function that calls it, here from another file."""
    package = tmp_path / "src" / "isthmus"
    files = {
        "src/isthmus/room/part.py": "def _inner(x, much=1):\n    return x\n\ndef outer(y):\n    return _inner(y)\n",
        "src/isthmus/door.py": "from part import outer\n\n@dataclass\nclass Kept:\n    must: int\n    may: int = 0\n\n"
        "    def through(self):\n        return outer(self.may)\n",
        "tests/room/test_part.py": "def helper():\n    outer()\n\ndef test_near():\n    helper()\n",
        "tests/test_door.py": "def test_far():\n    Kept().through()\n\ndef test_other():\n    pass\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    monkeypatch.setattr(mutate, "PACKAGE", package)
    assert mutate._defaults() == {"_inner": {"much"}, "outer": set(), "Kept": {"may"}, "through": set()}
    mutant = mutate.Mutant("src/isthmus/room/part.py", 2, "half", "", "")
    found = ["tests/room/test_part.py::test_near", "tests/test_door.py::test_far"]
    assert mutate.tests_by_name(mutant, 10) == found
    assert mutate.tests_by_name(mutant, 1) == found[:1]


@pytest.fixture
def project(mutate, tmp_path, monkeypatch):
    """A project of one file; what its tests say of it in turn stands in a list, and what was asked in another."""
    file = tmp_path / "src" / "isthmus" / "part.py"
    file.parent.mkdir(parents=True)
    file.write_text("right = 1\n", encoding="utf-8")
    answers, asked = [], []

    def run(copy, tests, limit):
        asked.append(((copy / "isthmus" / "part.py").read_text(encoding="utf-8"), tests, limit))
        answer = answers.pop(0)
        return answer, tests[0] if answer == "killed" else ""

    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    monkeypatch.setattr(mutate, "_run", run)
    mutant = mutate.Mutant("src/isthmus/part.py", 1, "constant", "1", "2", source="right = 2\n")
    return mutant, answers, asked


@pytest.mark.parametrize(
    ("said", "status", "files"),
    [
        (["killed", "survived"], "killed", "21"),  # the test that noticed passes without the change
        (["survived", "killed", "survived"], "killed", "221"),
        (["killed", "killed", "survived", "survived"], "survived", "2122"),  # the test fails anyhow
        (["survived", "not run"], "survived", "22"),
        (["not run", "not run"], "not run", "22"),
        (["limit", "survived"], "killed", "21"),  # quick without the change: an endless loop
        (["limit", "limit", "survived"], "limit", "212"),  # slow without it, too: nothing is known
        (["limit", "limit", "killed", "survived"], "killed", "2121"),
        (["survived", "limit"], "limit", "22"),
    ],
)
def test_tests_that_were_cut_off_do_not_count_as_having_noticed(mutate, project, said, status, files):
    mutant, answers, asked = project
    answers += said
    copy = mutate.ROOT / "src"
    mutate.try_in_turn(mutant, copy, [["first", "second"], [], ["rest"]], 60.0)
    assert mutant.status == status
    assert "".join(text[-2] for text, *_ in asked) == files
    alone = [limit for text, tests, limit in asked if text[-2] == "1" and len(tests) > 1]
    assert alone == [30.0] * len(alone), "the tests that were cut off have half the time without the change"
    assert (copy / "isthmus" / "part.py").read_text(encoding="utf-8") == "right = 1\n"
    assert answers == []


@pytest.mark.parametrize("workers", [1, 3])
def test_several_at_a_time_have_a_copy_each_and_come_in_their_order(mutate, project, workers):
    used = []

    def ask(row, copy):
        assert (copy / "isthmus" / "part.py").exists()
        used.append(copy)

    assert list(mutate.in_copies(list(range(7)), ask, workers)) == list(range(7))
    assert len(used) == 7
    assert 1 <= len({*used}) <= workers
    assert not any(copy.exists() for copy in used)
