"""The server as a process: it starts, answers, writes its log as lines, and stops cleanly with its worker."""

import contextlib
import json
import os
import re
import socket
import time

import httpx
import pytest
from workbench_server import kept_loggers

from isthmus.cli.app import run_command
from isthmus.exceptions import UsageError
from isthmus.workbench import server as server_module
from isthmus.workbench.server import public_address
from isthmus.workbench.settings import Settings, check_proxies
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
    assert client.post(f"/join/{token}", data=form).status_code == 303
    assert sorted(row["name"][:6] for row in client.get("/api/projects").json()) == ["Sample", "Survey"]
    first = new_workspace.people.by_name("First")
    assert first.role == "owner"
    roles = [new_workspace.projects.role(row.id, first.id) for row in new_workspace.projects.list(archived=True)]
    assert roles == ["owner"] * 3
    client.renew()
    again = client.post(f"/join/{token}", data={**form, "name": "Second"})
    assert again.status_code != 303  # the link works once


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
