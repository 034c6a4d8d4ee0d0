"""isthmus workspace: backup, restore, check."""

import io
import json

import pytest

pytest.importorskip("sqlalchemy", reason="a workspace needs the extra 'workbench'")

from argon2 import PasswordHasher

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


def test_a_file_that_was_changed_is_found_by_a_thorough_check_alone(folder, capsys):
    with open_workspace() as ws:
        project, by = ws.projects.list()[0].id, ws.people.local().id
        file = ws.collections.add(project, "a.csv", io.BytesIO(b"text\nkind staff\n"), kind="target", by=by)
        ws.files.path(file.sha256).write_bytes(b"text\nrude staff\n")
    assert run_command(["workspace", "check"]) == 0
    assert run_command(["workspace", "check", "--thorough"]) == 1
    assert "has changed since it was uploaded" in capsys.readouterr().out


def test_a_wrong_address_is_refused_in_a_sentence(folder, capsys):
    for url, code in (("mysql://x/y", "bad-parameter"), ("nonsense", "bad-parameter")):
        assert run_command(["workspace", "check", "--database", url]) == 2
        assert code in capsys.readouterr().err
    pytest.importorskip("psycopg", reason="needs the extra team")
    assert run_command(["workspace", "check", "--database", "postgresql://nobody@127.0.0.1:1/none"]) == 1
    said = capsys.readouterr().err
    assert "bad-workspace" in said
    assert len(said.strip().splitlines()) == 1


def test_projects_are_handed_over_by_name(folder, capsys):
    with open_workspace() as ws:
        ws.people.create("Kim", "hash")
    assert run_command(["workspace", "hand-over", "--to", "Nobody"]) == 2
    assert "Kim, local" in capsys.readouterr().err
    assert run_command(["workspace", "hand-over", "--to", "kim"]) == 0
    assert capsys.readouterr().out == "Dealers\n"
    with open_workspace() as ws:
        assert [row.name for row in ws.projects.list(ws.people.by_name("Kim").id)] == ["Dealers"]


@pytest.mark.parametrize(
    "command", [["backup", "saved.tar"], ["check"], ["check", "--thorough"], ["hand-over", "--to", "Kim"]]
)
@pytest.mark.parametrize("place", ["nowhere", "empty", "half"])
def test_only_create_and_serve_make_a_workspace(tmp_path, monkeypatch, capsys, command, place):
    monkeypatch.delenv("ISTHMUS_DATABASE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "workspace.db").touch()
    before = sorted(tmp_path.rglob("*"))
    assert run_command(["workspace", *command, "--workspace", place]) == 1
    said = capsys.readouterr()
    assert "missing-file" in said.err
    assert "isthmus workspace create" in said.err
    assert said.out == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_a_workspace_is_made_on_request_and_only_once(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("ISTHMUS_DATABASE", raising=False)
    place = ["--workspace", str(tmp_path / "new")]
    assert run_command(["workspace", "create", *place]) == 0
    assert run_command(["workspace", "check", *place]) == 0
    capsys.readouterr()
    assert run_command(["workspace", "create", *place]) == 2
    said = capsys.readouterr().err
    assert "new' is a workspace already; name another folder" in said
    assert "output-exists" in said


def test_accounts_and_projects_are_managed_by_name(folder, capsys, monkeypatch):
    with open_workspace() as ws:
        for name in ("Kim", "Lee"):
            ws.people.create(name, "hash")
        ws.projects.create("Kept", by=ws.people.by_name("Kim").id)
    assert run_command(["workspace", "close", "kim"]) == 2
    assert "'Kept'; choose who takes over" in capsys.readouterr().err
    assert run_command(["workspace", "close", "kim", "--hand-over-to", "Lee"]) == 0
    assert run_command(["workspace", "role", "Lee", "viewer"]) == 2
    assert "last owner" in capsys.readouterr().err
    assert run_command(["workspace", "reopen", "Kim"]) == 0
    assert run_command(["workspace", "role", "Lee", "viewer"]) == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse battery\n"))
    assert run_command(["workspace", "password", "Kim"]) == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    assert run_command(["workspace", "password", "Kim"]) == 2
    capsys.readouterr()
    assert run_command(["workspace", "people"]) == 0
    assert capsys.readouterr().out.splitlines() == ["Kim\towner\topen", "Lee\tviewer\topen", "local\towner\topen"]
    assert run_command(["workspace", "archive", "Kept"]) == 0
    assert run_command(["workspace", "archive", "Nothing"]) == 2
    assert "No project is called 'Nothing'" in capsys.readouterr().err
    assert run_command(["workspace", "password", "Nobody"]) == 2
    assert "No account is called 'Nobody'; the accounts are: Kim, Lee" in capsys.readouterr().err
    assert run_command(["workspace", "projects", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["projects"]
    assert {row["name"]: (row["owners"], row["archived"]) for row in found} == {
        "Kept": (["Kim", "Lee"], True), "Dealers": (["local"], False),
    }  # fmt: skip
    assert run_command(["workspace", "unarchive", "Kept"]) == 0
    with open_workspace() as ws:
        assert PasswordHasher().verify(ws.people.by_name("Kim").password_hash, "correct horse battery")
        assert all(row.archived_at is None for row in ws.projects.list(archived=True))


def test_a_backup_that_exists_is_replaced_by_force(folder, capsys):
    (folder / "saved.tar").write_text("old")
    assert run_command(["workspace", "backup", str(folder / "saved.tar"), "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"]["projects"] == 1
    assert (folder / "saved.tar").read_bytes() != b"old"


def test_the_projects_of_a_person_are_handed_over_and_no_others(folder, capsys):
    with open_workspace() as ws:
        kim, _ = ws.people.create("Kim", "hash"), ws.people.create("Lee", "hash")
        made = ws.projects.create("Kims", by=kim.id)
    moving = ["workspace", "hand-over", "--to", "Lee", "--from", "Kim", "--json"]
    assert run_command(moving) == 0
    assert json.loads(capsys.readouterr().out) == {"projects": [{"id": made.id, "name": "Kims"}]}
    with open_workspace() as ws:
        assert [row.name for row in ws.projects.list(ws.people.by_name("Lee").id)] == ["Kims"]
    assert run_command(["workspace", "hand-over", "--to", "Lee", "--from", "Nobody"]) == 2
    assert "No account is called 'Nobody'" in capsys.readouterr().err


def test_accounts_and_projects_are_listed(folder, capsys):
    with open_workspace() as ws:
        kim = ws.people.create("Kim", "hash")
        ws.people.create("Lee", "hash")
        ws.people.disable(kim.id, by=None)
        put_away = ws.projects.create("Cars", by=ws.people.by_name("Lee").id)
        ws.projects.archive(put_away.id, by=None, archived=True)
    assert run_command(["workspace", "people"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "Kim\towner\tclosed"
    assert run_command(["workspace", "people", "--json"]) == 0
    people = {row.pop("name"): row for row in json.loads(capsys.readouterr().out)["people"]}
    assert people["Kim"] == {"role": "owner", "closed": True}
    assert people["Lee"] == {"role": "owner", "closed": False}
    assert run_command(["workspace", "projects"]) == 0
    assert sorted(capsys.readouterr().out.splitlines()) == ["Cars\tLee\tarchived", "Dealers\tlocal\topen"]


def test_of_projects_of_one_name_the_id_is_asked_for(folder, capsys):
    with open_workspace() as ws:
        second = ws.projects.create("Dealers", by=ws.people.local().id)
        ws.projects.create("Others", by=ws.people.local().id)
    assert run_command(["workspace", "archive", "Dealers"]) == 2
    said = capsys.readouterr().err
    assert "Several projects are called 'Dealers'; give the id of one: " in said
    assert f"'Dealers' ({second.id})" in said
    assert "Others" not in said
    assert run_command(["workspace", "archive", second.id]) == 0
    assert run_command(["workspace", "archive", "None such"]) == 2
    assert "Others" in capsys.readouterr().err


def test_names_that_are_listed_are_ten_at_most(folder, capsys):
    with open_workspace() as ws:
        for number in range(12):
            ws.people.create(f"P{number:02}", "hash")
            ws.projects.create(f"Q{number:02}", by=ws.people.local().id)
    assert run_command(["workspace", "role", "Nobody", "viewer"]) == 2
    assert capsys.readouterr().err.count(",") == 9, "ten accounts have nine commas between them"
    assert run_command(["workspace", "archive", "Nothing"]) == 2
    assert capsys.readouterr().err.count(" (") == 10


def test_a_group_of_commands_alone_shows_its_help(capsys):
    assert run_command(["workspace"]) == 2
    said = "".join(capsys.readouterr())
    assert "hand-over" in said
    assert "restore" in said


def test_a_password_is_asked_for_on_a_terminal_and_is_empty_without_input(monkeypatch):
    from isthmus.cli import workspace

    asked = []
    terminal = io.StringIO("typed\n")
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stdin", terminal)
    monkeypatch.setattr(workspace.typer, "prompt", lambda text, **how: asked.append((text, how)) or "secret words")
    assert workspace._read_password("Kim") == "secret words"
    ((text, how),) = asked
    assert text == "New password of Kim"
    assert how == {"hide_input": True, "confirmation_prompt": True, "err": True}
    monkeypatch.setattr("sys.stdin", None)
    assert workspace._read_password("Kim") == ""
