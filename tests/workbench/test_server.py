"""The server as a process: it starts, answers, writes its log as lines, and stops cleanly with its worker."""

import contextlib
import json
import os
import re
import socket
import time
from datetime import UTC, datetime
from types import SimpleNamespace
from unittest.mock import MagicMock

import httpx
import pytest
from workbench_server import kept_loggers

from isthmus.cli.app import run_command
from isthmus.exceptions import UsageError
from isthmus.workbench import server as server_module
from isthmus.workbench.sample import NAME
from isthmus.workbench.server import greet_owners, listen, prepare_sample, public_address, sample_owner
from isthmus.workbench.settings import Settings, check_proxies, load_secret
from isthmus.workspace import open_workspace


def test_it_starts_answers_and_stops(tmp_path, serve_process):
    server = serve_process(tmp_path / "w", "--sample")
    assert server.health.json()["status"] == "ok"
    assert httpx.get(server.address + "/projects").status_code == 200
    with open_workspace(tmp_path / "w") as workspace:
        (project,) = workspace.projects.list()
        (run,) = workspace.runs.list(project.id)
        assert run.state in ("queued", "running")  # the pages are open already
        until = time.monotonic() + 120
        while not workspace.worker_runs():
            assert time.monotonic() < until, "no worker came"
            time.sleep(0.05)
    out, err = server.stop()
    assert server.process.returncode == 0
    assert server.address in out + err
    assert "{" not in out + err  # words for people; the log goes elsewhere
    events = [json.loads(line) for line in (tmp_path / "w" / "logs" / "serve.log").read_text().splitlines()]
    assert {"started", "request", "stopped"} <= {event["event"] for event in events}
    assert any(event.get("path") == "/projects" and event["status"] == 200 for event in events)
    with open_workspace(tmp_path / "w") as workspace:
        assert not workspace.worker_runs()
    assert os.stat(tmp_path / "w" / "secret.key").st_mode & 0o077 == 0


def test_a_taken_port_is_refused_before_anything_is_said_or_made(tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert run_command(["serve", "--workspace", str(tmp_path / "w"), "--port", port, "--accounts"]) == 2
    said = capsys.readouterr()
    assert "is taken by another program" in said.err
    assert "http://" not in said.err + said.out
    with open_workspace(tmp_path / "w") as workspace:
        assert workspace.audit.events() == []  # no invitation was made


@pytest.fixture
def start(monkeypatch):
    """Start a server that stops at once, without a worker: what it says to the person at the door."""

    def start_(workspace, **options):
        said = []
        with monkeypatch.context() as patch, kept_loggers():
            patch.setattr(server_module.uvicorn.Server, "run", lambda self, sockets: None)
            patch.setattr(server_module, "Worker", lambda *more: contextlib.nullcontext())
            patch.setattr(server_module, "load_languages", lambda: None)
            server_module.serve(workspace, **{"port": 0, "say": said.append, **options})
        return "\n".join(said)

    return start_


@pytest.fixture
def new_workspace(tmp_path):
    with open_workspace(tmp_path / "w") as workspace:
        yield workspace


def test_the_log_can_go_to_standard_output(new_workspace, start, capsys):
    assert "{" not in start(new_workspace, log_file="-")
    events = [json.loads(line)["event"] for line in capsys.readouterr().out.splitlines()]
    assert events == ["started", "stopped"]
    assert not (new_workspace.folder / "logs").exists()


def test_behind_a_proxy_that_is_named_each_client_is_braked_alone(new_workspace, serve):
    client = serve(new_workspace, accounts=True, proxies=("127.0.0.1",)).client()

    def sign_in(address, name):
        sent = {"name": name, "password": "wrong password"}
        return client.post("/api/session", json=sent, headers={"x-forwarded-for": address}).status_code

    assert [sign_in("203.0.113.9", f"n{i}") for i in range(31)][-1] == 429
    assert sign_in("203.0.113.10", "n0") == 401  # one stranger keeps nobody else out


def test_a_proxy_is_an_address():
    with pytest.raises(UsageError, match="give the proxy's address"):
        check_proxies(["proxy.example"])


@pytest.mark.parametrize("options", [{"accounts": True}, {"host": "0.0.0.0"}])
def test_the_first_owner_joins_by_a_link_and_takes_over_what_was_there(new_workspace, start, serve, options):
    by = new_workspace.people.local().id
    for name in ("Survey", "Put away"):
        made = new_workspace.projects.create(name, by=by)
    new_workspace.projects.archive(made.id, by=by)
    token = re.search(r"/join/([\w-]{40,})", start(new_workspace, sample=True, **options))[1]
    client = serve(new_workspace, accounts=True).client()
    assert client.get("/projects").headers["location"].startswith("/sign-in")
    form = {"name": "First", "password": "correct horse battery"}
    assert client.post(f"/api/join/{token}", json=form).json()["role"] == "owner"
    assert sorted(row["name"][:6] for row in client.get("/api/projects").json()) == ["Sample", "Survey"]
    first = new_workspace.people.by_name("First")
    assert first.role == "owner"
    roles = [new_workspace.projects.role(row.id, first.id) for row in new_workspace.projects.list(archived=True)]
    assert roles == ["owner"] * 3
    client.renew()
    again = client.post(f"/api/join/{token}", json={**form, "name": "Second"})
    assert again.status_code == 404  # the link works once


def test_projects_that_no_account_can_see_are_named_at_the_start(new_workspace, start):
    new_workspace.projects.create("Survey", by=new_workspace.people.local().id)
    new_workspace.people.create("Kim", "hash")
    said = start(new_workspace, accounts=True)
    assert "1 project ('Survey')" in said
    assert "hand-over" in said


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        ({}, "http://127.0.0.1:8765"),
        ({"host": "0.0.0.0", "port": 80}, "http://localhost:80"),
        ({"host": "::1"}, "http://[::1]:8765"),
        ({"host": "0.0.0.0", "names": ("review.example",), "https": True}, "https://review.example"),
    ],
)
def test_the_address_to_type(settings, address):
    assert public_address(Settings(**settings)) == address


@pytest.mark.parametrize(
    ("settings", "host", "answered"),
    [
        ({}, "localhost:1", True),
        ({}, "[::1]:8765", True),
        ({}, "192.168.1.2:8765", False),
        ({"host": "0.0.0.0", "accounts": True}, "anything.example", True),
        ({"host": "0.0.0.0", "accounts": True, "names": ("review.example",)}, "anything.example", False),
        ({"host": "0.0.0.0", "accounts": True, "names": ("review.example",)}, "Review.Example:8765", True),
        ({"host": "10.0.0.7", "accounts": True}, "10.0.0.7:8765", True),
        ({"host": "10.0.0.7", "accounts": True}, "evil.example", False),
    ],
)
def test_which_names_are_answered(settings, host, answered):
    assert Settings(**settings).answers_to(host) is answered


def test_every_option_of_the_server_reaches_its_settings(new_workspace, start, monkeypatch):
    made = []
    monkeypatch.setattr(server_module, "make_app", lambda workspace, settings: made.append((workspace, settings)))
    said = start(
        new_workspace, host="localhost", accounts=True, https=True, names=["Review.Example"], proxies=["10.0.0.1"],
        max_upload=12_345,
    )  # fmt: skip
    assert "https://review.example/join/" in said
    ((workspace, settings),) = made
    assert workspace is new_workspace
    wanted = Settings(
        host="localhost", port=0, accounts=True, https=True, names=("review.example",), proxies=("10.0.0.1",),
        max_upload=12_345, secret=load_secret(new_workspace.folder),
    )  # fmt: skip
    assert settings == wanted


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ("", None),
        ("a", "1 project ('a')"),
        ("abc", "3 projects ('a', 'b', 'c')"),
        ("abcd", "4 projects ('a', 'b', 'c', …)"),
    ],
)
def test_three_of_the_projects_that_nobody_sees_are_named(names, shown):
    said, workspace = [], MagicMock()
    workspace.people.has_accounts.return_value = True
    workspace.projects.without_owner.return_value = [SimpleNamespace(name=name) for name in names]
    greet_owners(workspace, "http://localhost", said.append)
    assert len(said) == bool(shown), "nothing is said where there is nothing to say"
    assert shown is None or shown in said[0]
    workspace.people.invite.assert_not_called()


def test_the_sample_is_for_the_oldest_owner_who_can_sign_in_and_made_once(monkeypatch):
    def person(name, day, role="owner", password_hash="hash", disabled=False):
        made = datetime(2026, 1, day, tzinfo=UTC)
        return SimpleNamespace(id=name, created_at=made, role=role, password_hash=password_hash, disabled=disabled)

    workspace = MagicMock()
    workspace.people.local.return_value = person("local", 1, password_hash=None)
    closed, guest = person("closed", 2, disabled=True), person("guest", 3, role="reviewer")
    others = [workspace.people.local(), closed, guest]
    workspace.people.list.return_value = [person("later", 9), *others, person("first", 5)]
    assert sample_owner(workspace, Settings(accounts=True)).id == "first"
    assert sample_owner(workspace, Settings()).id == "local", "without accounts there is one person"
    workspace.people.list.return_value = others
    assert sample_owner(workspace, Settings(accounts=True)).id == "local", "until there is an owner's account"
    made = []
    monkeypatch.setattr(server_module, "add_sample", lambda workspace, by: made.append(by))
    for names in ([], [NAME]):
        workspace.projects.list.return_value = [SimpleNamespace(name=name) for name in names]
        prepare_sample(workspace, Settings())
    assert made == ["local"], "a sample that is there is not made again"


def test_an_address_that_cannot_be_listened_on_is_told_from_one_that_is_taken(monkeypatch):
    def nowhere(*given, **named):
        raise OSError(99, "Cannot assign requested address")

    monkeypatch.setattr(server_module.socket, "getaddrinfo", nowhere)
    with pytest.raises(UsageError) as refused:
        listen("192.0.2.1", 80)
    reason = "cannot be listened on (Cannot assign requested address); choose another with --host and --port"
    assert str(refused.value) == f"192.0.2.1:80 {reason}."
