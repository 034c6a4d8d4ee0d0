"""Rules of the command that no run would show: how often progress is told, and what counts as large."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from isthmus._streams import StandardOutput
from isthmus.cli import blocks
from isthmus.cli.cluster import cluster_large
from isthmus.cli.data import list_corpora
from isthmus.cli.progress import ProgressLine
from isthmus.corpus.formats import can_cut
from isthmus.exceptions import UsageError
from isthmus.options import ClusterOptions, LabelOptions


@pytest.mark.parametrize("began", [0.0, 700.0])
def test_a_log_hears_every_five_seconds_and_later_a_quarter_of_the_time_that_went_by(began, capsys):
    line = ProgressLine()
    line.began = line.spoke = began
    heard = []
    for now in (4.0, 5.5, 8.0, 100.0, 120.0, 135.0, 1000.0, 1059.0, 1061.0):
        line({"time": began + now, "phase": "reading", "done": 1, "total": 9})
        if capsys.readouterr().err:
            heard.append(now)
    assert heard == [5.5, 100.0, 135.0, 1000.0, 1061.0]


@pytest.mark.parametrize(("files", "large"), [(["one.csv", "parts"], True), (["one.csv", "two.csv"], False)])
def test_one_side_in_parts_makes_a_run_large(tmp_path, monkeypatch, files, large):
    monkeypatch.chdir(tmp_path)
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("id,text\n1,a\n")
    monkeypatch.setattr(blocks, "looks_sharded", lambda path: path == "parts")
    assert blocks.in_blocks(LabelOptions(files=tuple(files), method="nbc", output="out.csv")) is large


def test_a_file_that_is_not_there_makes_no_run_large(tmp_path, monkeypatch):
    """The reader says so in its own words."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(blocks, "STREAM_BYTES", 0)
    (tmp_path / "one.csv").write_text("id,text\n1,a\n")
    for files in (["one.csv", "gone.csv"], ["gone.csv", "one.csv"]):
        assert blocks.in_blocks(LabelOptions(files=tuple(files), method="nbc", output="out.csv")) is False


@pytest.mark.parametrize(("limit", "large"), [(23, True), (24, False)])
def test_files_to_group_are_large_beyond_the_limit(tmp_path, monkeypatch, limit, large):
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("id,text\n1,a\n", newline="\n")  # twelve bytes
    monkeypatch.setattr(blocks, "STREAM_BYTES", limit)
    files = tuple(str(tmp_path / name) for name in ("one.csv", "two.csv"))
    assert blocks.in_blocks(ClusterOptions(files=files, output="out.csv")) is large


def test_groups_in_blocks_refuse_what_needs_all_documents():
    outputs = {"output": "out.csv", "report": Path("page.html"), "save": Path("a.isthmus")}
    with pytest.raises(UsageError, match="leave out --report, --save"):
        cluster_large(ClusterOptions(files=("a.csv", "b.csv"), **outputs))


def test_tables_are_known_by_their_endings():
    names = ["a.csv", "a.tsv", "a.jsonl", "A.CSV.gz", "a.parquet", "a.PARQUET", "a.xlsx", "a.txt"]
    assert [name for name in names if not can_cut(name)] == ["a.xlsx", "a.txt"]


def test_the_list_of_corpora_stands_in_columns(tmp_path, capsys):
    """The width of the first column taken from the shortest name."""
    list_corpora(data=tmp_path)
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert len(lines) > 5
    assert len({line.index("missing") for line in lines}) == 1


def test_every_byte_is_written_though_the_reader_takes_few_at_a_time_or_none():
    taken = []

    def take(data):
        """Nothing at first, as a full pipe that does not block; then two bytes at most."""
        taken.append(bytes(data[:2]) if taken else b"")
        return len(taken[-1]) or None

    assert StandardOutput(SimpleNamespace(write=take)).write(b"a,b\n1") == 5
    assert taken == [b"", b"a,", b"b\n", b"1"]
