"""``isthmus bench``: found through an entry point, or one sentence that says how to install it."""

import importlib.metadata

import pytest

from isthmus.cli import bench
from isthmus.cli.app import run_command


@pytest.fixture
def offered(monkeypatch):
    """Let these entry points, and no others, be the installed ones."""

    def offer(*entries):
        monkeypatch.setattr(bench, "entry_points", lambda group: [entry for entry in entries if entry.group == group])

    return offer


def test_without_the_package_one_sentence_says_how_to_install_it(offered, capsys):
    offered()
    assert run_command(["bench", "cocc", "--task", "rec-talk", "--method=nbc"]) == 1
    assert capsys.readouterr().err == f"isthmus: {bench.MISSING} [missing-extra]\n"
    assert run_command(["data", "import", "sraa", "sraa.tar.gz"]) == 1
    assert capsys.readouterr().err == f"isthmus: {bench.MISSING} [missing-extra]\n"
    assert run_command(["bench", "--help"]) == 0
    assert "pip install ./benchmarks" in " ".join(capsys.readouterr().out.split())


def test_an_entry_point_brings_the_command(offered, capsys):
    offered(
        importlib.metadata.EntryPoint("label", "isthmus_bench.nothing:register", "isthmus.other"),
        importlib.metadata.EntryPoint("bench", "isthmus_bench.command:register", bench.GROUP),
    )
    assert run_command(["bench"]) == 0
    assert "cocc" in capsys.readouterr().out
    assert run_command(["bench", "--help"]) == 0
    assert "--record" in capsys.readouterr().out
