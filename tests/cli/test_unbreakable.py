"""Records of others, values that no sheet holds, targets without words, long names: refused early, nothing lost."""

import datetime
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from isthmus.cli.app import run_command
from isthmus.cli.common import run_record_path
from isthmus.corpus import write_rows

ROWS = [("the staff was friendly", "staff"), ("the price was high", "price"), ("rude staff there", "staff")] * 4
LABEL = ["label", "source.csv", "target.csv", "--method", "nbc"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows("source.csv", {"comment": [text for text, _ in ROWS], "category": [label for _, label in ROWS]})
    write_rows("target.csv", {"comment": [f"{text} today" for text, _ in ROWS]})
    return tmp_path


@pytest.mark.parametrize(
    "content",
    [
        '{"pipeline": "mine"}',
        "[1]",
        "not json",
        '{"output": "out.csv"}',
        '{"command": "isthmus label", "output": "b.csv"}',
    ],
    ids=["without the key", "a list", "no json", "another program's", "another output's"],
)
def test_a_record_of_others_is_left_alone(folder, content):
    Path("run.json").write_text(content)
    assert run_command([*LABEL, "-o", "out.csv", "--quiet"]) == 0
    assert Path("run.json").read_text() == content
    assert json.loads(Path("out.csv.run.json").read_text())["output"] == "out.csv"
    assert run_command([*LABEL, "-o", "out.csv", "--quiet", "--force"]) == 0  # our own is replaced
    assert sorted(path.name for path in folder.glob("*.json")) == ["out.csv.run.json", "run.json"]


def test_both_names_taken(folder):
    for name in ("run.json", "out.csv.run.json"):
        Path(name).write_text("{}")
    assert run_record_path(Path("out.csv")).name == "out.csv.run.2.json"


def test_what_a_sheet_cannot_hold_is_refused_before_the_work(folder, capsys):
    write_rows("wide.csv", {"comment": ["kind staff"], **{f"c{i}": ["1"] for i in range(16_383)}})
    for command in ("label", "cluster"):
        assert run_command([command, "source.csv", "wide.csv", "-o", "out.xlsx"]) == 1
        said = capsys.readouterr().err
        assert "columns" in said.splitlines()[-1]
        assert "trying" not in said
    assert not Path("out.xlsx").exists()


def test_nested_columns_of_parquet_are_labelled_into_csv(folder):
    frame = pl.DataFrame(
        {"comment": ["kind staff", "high price"], "when": [[datetime.date(2024, 1, 2)], []], "raw": [b"\xff", b""]}
    )
    frame.write_parquet("nested.parquet")
    assert run_command(["label", "source.csv", "nested.parquet", "--method", "nbc", "-o", "out.csv", "--quiet"]) == 0
    assert "2024-01-02" in Path("out.csv").read_text()


def test_a_target_without_words(folder, capsys):
    write_rows("empty.csv", {"comment": ["", " ", "…"], "n": ["1", "2", "3"]})
    assert run_command(["cluster", "source.csv", "empty.csv", "--text", "comment", "-o", "out.csv"]) == 1
    assert "[empty-vocabulary]" in capsys.readouterr().err.splitlines()[-1]


def test_names_of_labels_are_shortened_on_the_terminal(folder, capsys):
    long = "x" * 300_000
    write_rows("source.csv", {"comment": [text for text, _ in ROWS], "category": [long, "price", "b"] * 4}, force=True)
    assert run_command([*LABEL, "--label", "category", "-o", "out.csv"]) == 0
    assert max(map(len, capsys.readouterr().err.splitlines())) < 1_000
    assert long in Path("out.csv").read_text()
    assert run_command(["cluster", "source.csv", "target.csv", "--label", "category", "-o", "groups.csv"]) == 0
    assert max(map(len, capsys.readouterr().err.splitlines())) < 2_000


def test_the_part_file_is_not_named(folder, capsys, monkeypatch):
    import isthmus.report

    def fail(result, path, **options):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(isthmus.report, "write_label_report", fail)
    assert run_command([*LABEL, "-o", "out.csv", "--report", "page.html"]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert "'page.html' cannot be written: No space left on device" in said
    assert "-part" not in said
    assert "out.kept.csv" in said
    assert sorted(path.name for path in folder.iterdir()) == ["out.kept.csv", "source.csv", "target.csv"]


def test_the_limit_on_unpacking_is_an_option(folder, capsys):
    import gzip

    Path("big.csv.gz").write_bytes(gzip.compress(b"comment\n" + b"kind staff\n" * 200_000))
    assert run_command(["--max-unpacked", "1M", "label", "source.csv", "big.csv.gz", "--method", "nbc"]) == 1
    assert "[too-large]" in capsys.readouterr().err.splitlines()[-1]
    assert run_command(["--max-unpacked", "much", "label", "source.csv", "target.csv"]) == 2


def test_ctrl_c_while_the_command_is_loading(tmp_path):
    """Interrupted inside its own first import, as the fuzzer once managed."""
    code = (
        "import builtins, runpy, sys\n"
        "true_import = builtins.__import__\n"
        "def interrupted(name, *rest, **more):\n"
        "    if name == 'isthmus._streams': raise KeyboardInterrupt\n"
        "    return true_import(name, *rest, **more)\n"
        "builtins.__import__ = interrupted\n"
        "sys.argv = ['isthmus', '--version']\n"
        "runpy.run_module('isthmus', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "Stopped.\n")
