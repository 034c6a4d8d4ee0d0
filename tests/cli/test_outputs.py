"""What all commands share in writing and talking: inputs are never replaced, seeds are checked, notes are said once."""

import json
import os
import sys
import warnings
from pathlib import Path

import pytest
from made_texts import COMMENTS_CSV as SOURCE

from isthmus.cli import common, main
from isthmus.cli.app import run_command
from isthmus.cli.common import talking
from isthmus.cli.progress import ProgressLine
from isthmus.corpus import load_sample, write_rows
from isthmus.exceptions import IsthmusWarning

TARGET = "id,comment\n1,friendly staff at the desk\n2,the price of the sedan\n3,nothing known\n4,rude staff\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("source.csv").write_text(SOURCE)
    Path("target.csv").write_text(TARGET)
    Path("words.csv").write_text("word,label\nstaff,staff\n")
    os.symlink("source.csv", "link.csv")
    os.link("target.csv", "hard.csv")
    return tmp_path


LABEL = ["label", "source.csv", "target.csv", "--method", "nbc"]
CLUSTER = ["cluster", "source.csv", "target.csv"]


@pytest.mark.parametrize(
    "arguments",
    [
        [*LABEL, "-o", "source.csv"],
        [*LABEL, "-o", "./target.csv"],
        [*LABEL, "-o", "link.csv"],
        [*LABEL, "-o", "hard.csv"],
        [*LABEL, "-o", "out.csv", "--report", "source.csv"],
        [*LABEL, "-o", "out.csv", "--save", "target.csv"],
        [*LABEL, "-o", "words.csv", "--words", "words.csv"],
        ["label", "target.csv", "--model", "words.csv", "-o", "words.csv"],
        ["label", "target.csv", "--model", "words.csv", "-o", "target.csv"],
        [*CLUSTER, "-o", "source.csv"],
        [*CLUSTER, "-o", "out.csv", "--report", "target.csv"],
        [*CLUSTER, "-o", "out.csv", "--save", "source.csv"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("force", [["--force"], []], ids=["force", ""])
def test_no_output_takes_the_place_of_an_input(folder, capsys, arguments, force):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert run_command([*arguments, *force]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].endswith("is not replaced, with or without --force; give another name. [output-unwritable]")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_older_output_is_replaced_by_force(folder):
    Path("out.csv").write_text("old")
    assert run_command([*LABEL, "-o", "out.csv", "--force", "--quiet"]) == 0
    assert Path("out.csv").read_text() != "old"


@pytest.mark.parametrize("command", ["label", "cluster", "diagnose"])
@pytest.mark.parametrize("seed", ["-1", str(2**32)])
def test_a_seed_out_of_range_is_wrong_usage(folder, capsys, command, seed):
    assert run_command([command, "source.csv", "target.csv", "--seed", seed]) == 2
    said = capsys.readouterr().err
    assert "--seed" in said
    assert len(said.splitlines()) == 1


def test_ctrl_c_while_packages_load_is_no_traceback(monkeypatch, capsys):
    class Interrupted:
        @staticmethod
        def find_spec(name, *more):
            if name == "isthmus.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "isthmus.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Interrupted, *sys.meta_path])
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 130
    assert capsys.readouterr().err == "Stopped; no file was left half-written.\n"


def test_each_note_is_said_once(capsys):
    with talking(quiet=False):
        warnings.simplefilter("always")
        for _ in range(3):
            for text in ("one", "two"):
                warnings.warn(text, UserWarning, stacklevel=1)
            warnings.warn(IsthmusWarning("three", code="fallback"), stacklevel=1)
        for part in ("26 of 250", "12 of 1,100"):
            warnings.warn(f"{part} texts are short", UserWarning, stacklevel=1)
    notes = ["note: one", "note: two", "note: three [fallback]", "note: 26 of 250 texts are short"]
    assert capsys.readouterr().err.splitlines() == notes


def test_a_vote_is_called_a_vote(folder, capsys):
    source, target, _ = load_sample()
    write_rows("source.csv", {"text": source.texts[:200], "label": source.labels[:200]}, force=True)
    write_rows("target.csv", {"text": target.texts[:200]}, force=True)
    arguments = ["label", "source.csv", "target.csv", "-o", "out.csv", "--report", "page.html", "--json"]
    assert run_command(arguments) == 0
    talk = capsys.readouterr()
    summary = json.loads(talk.out)
    methods = summary["method"].split("+")
    assert len(methods) > 1, "choose another sample: this test is about votes"
    voters = [method for method in methods if method != "names"]  # names of classes are mentioned after the vote
    opening = f"{len(voters)} methods voted; {methods[0]} counts most ("
    assert summary["why"].startswith(opening)
    assert f"method: {summary['method']} ({opening}" in talk.err
    assert opening in Path("page.html").read_text(encoding="utf-8")


DIAGNOSE = ["diagnose", "source.csv", "target.csv"]
TEACH = ["teach", "run.isthmus", "answers.csv"]
CORRECT = ["teach", "run.isthmus", "--source-labels", "corrected.csv"]


@pytest.mark.parametrize("command", [LABEL, CLUSTER, DIAGNOSE, TEACH, CORRECT], ids=lambda command: " ".join(command))
def test_a_run_goes_through_all_stages_of_its_plan(folder, monkeypatch, command):
    """So the time left is that of the whole run, and writing the report and saving the model are stages of it."""
    if command[0] == "teach":
        Path("answers.csv").write_text("document,true_label\n1,price\n")
        Path("corrected.csv").write_text("document,label,true_label\n1,staff,price\n")
        assert run_command([*LABEL, "-o", "labels.csv", "--save", "run.isthmus", "--quiet"]) == 0
    lines, seen = [], []

    class Line(ProgressLine):
        def __call__(self, event):
            seen.append((event["phase"], event["done"]))
            super().__call__(event)

        def expect(self, stages):
            lines.append(self)
            super().expect(stages)

    monkeypatch.setattr(common, "ProgressLine", Line)
    extra = [] if command[0] == "diagnose" else ["-o", "out.csv", "--save", "m.isthmus"]
    assert run_command([*command, *extra, "--report", "page.html"]) == 0
    for phase in ("writing the report", *(["saving the model"] if extra else [])):
        assert [done for name, done in seen if name == phase] == [0, 1]
    (line,) = lines
    unknown = [
        name for name, seconds in zip(line.forecast.names, line.forecast.seconds, strict=True) if seconds is None
    ]
    assert not unknown, f"nobody knows how long these stages take: {unknown}"
    assert line.forecast.stage == line.forecast.names[-1], f"the run ended at {line.forecast.stage!r}"
    told = {name for name, _ in seen}
    assert told & set(line.forecast.names[1:]), f"no stage after the first is heard of: {sorted(told)}"


def test_a_run_of_seconds_tells_how_far_it_is_and_a_run_of_hours_does_not_flood_the_log(capsys):
    line = ProgressLine()
    for second in range(1, 31):
        line({"phase": "trying", "done": second, "total": 30, "time": line.began + second})
    short = capsys.readouterr().err.splitlines()
    assert 4 <= len(short) <= 6, f"a log should hear of half a minute's run about five times: {short}"
    assert short[0].startswith("trying: 5 of 30, about ")
    for second in range(31, 3600):
        line({"phase": "trying", "done": second, "total": None, "time": line.began + second})
    assert 50 <= len(capsys.readouterr().err.splitlines()) <= 80
