"""The server as a process: it starts, answers, writes its log as lines, and stops cleanly with its worker."""

import json
import os
import re
import socket
import subprocess
import sys
import time

import httpx
import pytest

from isthmus.exceptions import UsageError
from isthmus.workbench.server import public_address
from isthmus.workbench.settings import Settings, check_proxies
from isthmus.workspace import open_workspace


def test_it_starts_answers_and_stops(tmp_path, serve_process):
    server = serve_process(tmp_path / "w")
    assert server.health.json()["status"] == "ok"
    assert httpx.get(server.address + "/projects").status_code == 200
    with open_workspace(tmp_path / "w") as workspace:
        for _ in range(300):
            if workspace.worker_runs():
                break
            time.sleep(0.1)
        assert workspace.worker_runs()
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


def test_a_taken_port_is_refused_before_anything_is_said_or_made(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "isthmus", "serve", "--workspace", str(tmp_path / "w"), "--port", port]
        ended = subprocess.run([*command, "--accounts"], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2
    assert "is taken by another program" in ended.stderr
    assert "http://" not in ended.stderr + ended.stdout
    with open_workspace(tmp_path / "w") as workspace:
        assert workspace.audit.events() == []  # no invitation was made


def test_the_log_can_go_to_standard_output(tmp_path, serve_process):
    server = serve_process(tmp_path / "w", "--log", "-")
    out, err = server.stop()
    assert {"started", "stopped"} <= {json.loads(line)["event"] for line in out.splitlines()}
    assert "{" not in err
    assert not (tmp_path / "w" / "logs").exists()


def test_behind_a_proxy_that_is_named_each_client_is_braked_alone(tmp_path, serve_process):
    server = serve_process(tmp_path / "w", "--accounts", "--proxy", "127.0.0.1")
    with httpx.Client(base_url=server.address) as client:
        client.headers["x-csrf-token"] = client.get("/api/session").json()["csrf"]

        def sign_in(address, name):
            sent = {"name": name, "password": "wrong password"}
            return client.post("/api/session", json=sent, headers={"x-forwarded-for": address}).status_code

        assert [sign_in("203.0.113.9", f"n{i}") for i in range(31)][-1] == 429
        assert sign_in("203.0.113.10", "n0") == 401  # one stranger keeps nobody else out
    server.stop()


def test_a_proxy_is_an_address():
    with pytest.raises(UsageError, match="give the proxy's address"):
        check_proxies(["proxy.example"])


def test_accounts_begin_with_a_link_that_works_once(tmp_path, serve_process):
    server = serve_process(tmp_path / "w", "--accounts")
    assert httpx.get(server.address + "/projects").headers["location"].startswith("/sign-in")
    token = re.search(r"/join/([\w-]{40,})", "".join(server.stop()))[1]
    with open_workspace(tmp_path / "w") as workspace:
        assert workspace.people.accept(token, "First", "hash").role == "owner"


def join_as_owner(server):
    """Take the link that the server printed, as a browser would: the projects that the new owner sees."""
    token = re.search(r"/join/([\w-]{40,})", server.read_until("/join/"))[1]
    with httpx.Client(base_url=server.address) as client:
        client.headers["x-csrf-token"] = client.get("/api/session").json()["csrf"]
        form = {"name": "First", "password": "correct horse battery"}
        assert client.post(f"/join/{token}", data=form).status_code == 303
        return [row["name"] for row in client.get("/api/projects").json()]


@pytest.mark.parametrize("options", [["--accounts"], ["--host", "0.0.0.0"]])
def test_the_first_owner_takes_over_what_was_made_before_there_were_accounts(tmp_path, serve_process, options):
    folder = tmp_path / "w"
    with open_workspace(folder) as workspace:
        by = workspace.people.local().id
        for name in ("Survey", "Put away"):
            made = workspace.projects.create(name, by=by)
        workspace.projects.archive(made.id, by=by)
    server = serve_process(folder, *options)
    assert join_as_owner(server) == ["Survey"]
    server.stop()
    with open_workspace(folder) as workspace:
        first = workspace.people.by_name("First").id
        roles = [workspace.projects.role(row.id, first) for row in workspace.projects.list(archived=True)]
        assert roles == ["owner", "owner"]


def test_the_sample_belongs_to_the_owner_who_joins_and_is_labelled_meanwhile(tmp_path, serve_process):
    server = serve_process(tmp_path / "w", "--accounts", "--sample")
    with open_workspace(tmp_path / "w") as workspace:
        (job,) = workspace.jobs.list()
    assert job.state in ("queued", "running")  # the pages are open already
    assert [name[:6] for name in join_as_owner(server)] == ["Sample"]
    server.stop()


def test_projects_that_no_account_can_see_are_named_at_the_start(tmp_path, serve_process):
    folder = tmp_path / "w"
    with open_workspace(folder) as workspace:
        workspace.projects.create("Survey", by=workspace.people.local().id)
        workspace.people.create("Kim", "hash")
    server = serve_process(folder, "--accounts")
    assert "1 project ('Survey')" in server.read_until("hand-over")
    server.stop()


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
