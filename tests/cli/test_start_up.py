"""Help, version and refusals that need no data load no heavy package; help is whole, with methods and an example."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import isthmus
from isthmus.cli.app import COMMANDS
from isthmus.recipes import RECIPES

HEAVY = ("numpy", "scipy", "sklearn", "numba", "pandas", "polars", "altair", "vl_convert", "jinja2", "skops")
# Runs the command as its entry point does, then tells what was loaded.
PROBE = """
import json, sys
from isthmus.cli import main
try:
    main(sys.argv[1:])
except SystemExit as leave:
    code = leave.code
loaded = sorted({name.partition(".")[0] for name in sys.modules})
print("\\n" + json.dumps({"code": code, "loaded": loaded}))
"""


def run(*arguments, cwd):
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], cwd=cwd, capture_output=True, text=True, encoding="utf-8"
    )
    out, _, told = done.stdout.strip().rpartition("\n")
    told = json.loads(told)
    return told["code"], out.strip(), done.stderr, set(told["loaded"]) & set(HEAVY)


@pytest.fixture
def folder(tmp_path):
    for name in ("source.csv", "target.csv", "there.csv"):
        (tmp_path / name).write_text("text,label\nkind staff,staff\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("arguments", [(), *((name,) for name in COMMANDS)], ids=lambda words: " ".join(words) or "-")
def test_help_loads_nothing_heavy(arguments, folder):
    code, out, _, heavy = run(*arguments, "--help", cwd=folder)
    assert code == 0
    assert out.startswith("Usage: ")
    assert not heavy


def test_version_loads_nothing_heavy(folder):
    assert run("--version", cwd=folder) == (0, f"isthmus {isthmus.__version__}", "", set())


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("label missing.csv target.csv", 1, "missing-file"),
        ("label source.csv missing.csv", 1, "missing-file"),
        ("label source.csv target.csv -o there.csv", 1, "output-exists"),
        ("label source.csv target.csv --report there.csv", 1, "output-exists"),
        ("label source.csv target.csv --method nosuch", 2, "unknown-method"),
        ("label source.csv target.csv --answers a.csv --target-label b", 2, "bad-parameter"),
        ("teach missing.isthmus", 2, "bad-parameter"),
        ("teach missing.isthmus answers.csv", 1, "missing-file"),
        ("ask missing.isthmus", 1, "missing-file"),
        ("label --model missing.isthmus target.csv", 1, "missing-file"),
        ("cluster missing.csv target.csv", 1, "missing-file"),
        ("diagnose missing.csv target.csv", 1, "missing-file"),
        ("explain missing.isthmus --document 1", 1, "missing-file"),
        ("check missing.csv --sample 10", 1, "missing-file"),
        ("demo --method nosuch", 2, "unknown-method"),
        ("nosuch", 2, "No such command"),
        ("label --nosuch", 2, "No such option"),
    ],
)
def test_refusals_that_need_no_data_load_nothing_heavy(line, code, says, folder):
    left, out, talk, heavy = run(*line.split(), cwd=folder)
    assert (left, out) == (code, "")
    assert says in talk
    assert len(talk.strip().splitlines()) == 1
    assert not heavy


def test_the_probe_sees_what_a_run_loads(folder):
    (folder / "target.csv").write_text("text\nrude staff\na fast bike\n", encoding="utf-8")
    (folder / "source.csv").write_text("text,label\nkind staff,staff\nfast bike,product\n", encoding="utf-8")
    assert "numpy" in run("label", "source.csv", "target.csv", "--method", "nbc", cwd=folder)[3]


def test_help_lists_every_command_with_a_whole_line(folder):
    out = run("--help", cwd=folder)[1]
    lines = " ".join(out.split())
    for name, sentence in COMMANDS.items():
        assert f"{name} {sentence}" in lines
    assert "..." not in lines.replace("[ARGS]...", "")


def test_every_command_module_is_listed():
    files = (Path(isthmus.__file__).parent / "cli").glob("*.py")
    modules = {path.stem for path in files if re.search(r"^def register\(", path.read_text("utf-8"), re.M)}
    assert modules == set(COMMANDS)


def test_help_of_label_names_auto_and_every_method_and_shows_an_example(folder):
    lines = " ".join(run("label", "--help", cwd=folder)[1].split())
    assert "auto" in lines
    for name in RECIPES:
        assert re.search(rf"\b{name}\b", lines.replace("- ", "-")), name
    assert "Example: isthmus label motorcycles.csv" in lines


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "data"])
def test_every_command_shows_an_example(name, folder):
    assert f"Example: isthmus {name}" in run(name, "--help", cwd=folder)[1]
