"""Help, version and refusals that need no data load no heavy package; help is whole, with methods and an example."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import isthmus
from isthmus.cli.app import COMMANDS
from isthmus.methods import METHODS

HEAVY = ("numpy", "scipy", "sklearn", "numba", "pandas", "polars", "altair", "vl_convert", "jinja2")
# Runs lines as the command's entry point does, one after the other, and tells of each what had been loaded by then.
PROBE = """
import contextlib, io, json, sys
from isthmus.cli import main
for line in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as talk:
        try:
            main(line.split())
        except SystemExit as leave:
            code = leave.code
    loaded = sorted({name.partition(".")[0] for name in sys.modules})
    print(json.dumps([code, out.getvalue().strip(), talk.getvalue(), loaded]))
"""
HELP = ["--help", "label --help-all", *(f"{name} --help" for name in COMMANDS)]
REFUSALS = [
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
]
RUN = "label source.csv target.csv --method nbc"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Code, output, talk and heavy packages of every line, by line; one process ran them all, the heavy one last."""
    folder = tmp_path_factory.mktemp("lines")
    (folder / "source.csv").write_text("text,label\nkind staff,staff\nfast bike,product\n", encoding="utf-8")
    for name in ("target.csv", "there.csv"):
        (folder / name).write_text("text\nrude staff\na fast bike\n", encoding="utf-8")
    lines = [*HELP, "--version", *(line for line, _, _ in REFUSALS), RUN]
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *lines], cwd=folder, capture_output=True, text=True, encoding="utf-8", check=True
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    return {line: (*rest, set(HEAVY).intersection(loaded)) for line, (*rest, loaded) in zip(lines, told, strict=True)}


@pytest.mark.parametrize("line", HELP)
def test_help_loads_nothing_heavy(line, ran):
    code, out, _, heavy = ran[line]
    assert code == 0
    assert out.startswith("Usage: ")
    assert not heavy


def test_version_loads_nothing_heavy(ran):
    assert ran["--version"] == (0, f"isthmus {isthmus.__version__}", "", set())


@pytest.mark.parametrize(("line", "code", "says"), REFUSALS)
def test_refusals_that_need_no_data_load_nothing_heavy(line, code, says, ran):
    left, out, talk, heavy = ran[line]
    assert (left, out) == (code, "")
    assert says in talk
    assert len(talk.strip().splitlines()) == 1
    assert not heavy


def test_the_probe_sees_what_a_run_loads(ran):
    assert "numpy" in ran[RUN][3]


def test_help_lists_every_command_with_a_whole_line(ran):
    lines = " ".join(ran["--help"][1].split())
    for name, sentence in COMMANDS.items():
        assert f"{name} {sentence}" in lines
    assert "..." not in lines.replace("[ARGS]...", "")


def test_every_command_module_is_listed():
    files = (Path(isthmus.__file__).parent / "cli").glob("*.py")
    modules = {
        path.stem for path in files if re.search(r"^(?:def register\(|EXAMPLE = )", path.read_text("utf-8"), re.M)
    }
    assert modules == set(COMMANDS)


def test_help_of_label_names_auto_and_every_method_and_shows_an_example(ran):
    lines = " ".join(ran["label --help"][1].split())
    assert "auto" in lines
    everything = " ".join(ran["label --help-all"][1].split()).replace("- ", "-")
    for name in METHODS:
        assert re.search(rf"\b{name}\b", everything), name
    assert "Example: isthmus label motorcycles.csv" in lines


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "data"])
def test_every_command_shows_an_example(name, ran):
    assert f"Example: isthmus {name}" in ran[f"{name} --help"][1]
