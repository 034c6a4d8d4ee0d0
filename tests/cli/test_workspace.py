"""isthmus workspace: backup, restore, check."""

import json

import pytest

pytest.importorskip("sqlalchemy", reason="a workspace needs the extra 'workbench'")

from isthmus.cli.app import run_command
from isthmus.workspace import open_workspace


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("ISTHMUS_DATABASE", raising=False)
    monkeypatch.setenv("ISTHMUS_WORKSPACE", str(tmp_path / "workspace"))
    with open_workspace() as ws:
        ws.projects.create("Dealers", by=ws.people.local().id)
    return tmp_path


def test_a_workspace_is_backed_up_restored_and_checked(folder, capsys):
    assert run_command(["workspace", "backup", str(folder / "saved.tar")]) == 0
    assert "1 project, 0 documents" in capsys.readouterr().err
    assert run_command(["workspace", "backup", str(folder / "saved.tar")]) == 1
    assert "output-exists" in capsys.readouterr().err
    new = ["--workspace", str(folder / "new")]
    assert run_command(["workspace", "restore", str(folder / "saved.tar"), *new, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"]["projects"] == 1
    assert run_command(["workspace", "restore", str(folder / "saved.tar"), *new]) == 2
    assert "not empty" in capsys.readouterr().err
    assert run_command(["workspace", "check", *new, "--thorough"]) == 0
    assert "sound" in capsys.readouterr().err


def test_a_check_that_finds_something_says_so_and_fails(folder, capsys):
    with open_workspace() as ws:
        ws.jobs.enqueue("run", {}, by=None)
        ws.jobs.claim()
    assert run_command(["workspace", "check"]) == 1
    assert "1 job running and no worker" in capsys.readouterr().out
    assert run_command(["workspace", "check", "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["problems"]) == 1


def test_a_wrong_address_is_refused_in_a_sentence(folder, capsys):
    for url, code in (("mysql://x/y", "bad-parameter"), ("nonsense", "bad-parameter")):
        assert run_command(["workspace", "check", "--database", url]) == 2
        assert code in capsys.readouterr().err
    assert run_command(["workspace", "check", "--database", "postgresql://nobody@127.0.0.1:1/none"]) == 1
    said = capsys.readouterr().err
    assert "bad-workspace" in said
    assert len(said.strip().splitlines()) == 1
