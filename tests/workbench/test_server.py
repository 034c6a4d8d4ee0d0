"""The server as a process: it starts, answers, writes its log as lines, and stops cleanly with its worker."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest

from isthmus.workbench.server import public_address
from isthmus.workbench.settings import Settings
from isthmus.workspace import open_workspace


def start(folder, *options):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "isthmus", "serve", "--workspace", str(folder), "--port", str(port), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            return process, address, httpx.get(address + "/health")
        except httpx.HTTPError:
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.1)
    pytest.fail("the server does not start")


def test_it_starts_answers_and_stops(tmp_path):
    process, address, health = start(tmp_path / "w")
    try:
        assert health.json()["status"] == "ok"
        assert httpx.get(address + "/projects").status_code == 200
        with open_workspace(tmp_path / "w") as workspace:
            for _ in range(300):
                if workspace.worker_runs():
                    break
                time.sleep(0.1)
            assert workspace.worker_runs()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0
    assert address in out + err
    events = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert {"started", "request", "stopped"} <= {event["event"] for event in events}
    assert any(event.get("path") == "/projects" and event["status"] == 200 for event in events)
    with open_workspace(tmp_path / "w") as workspace:
        assert not workspace.worker_runs()
    assert os.stat(tmp_path / "w" / "secret.key").st_mode & 0o077 == 0


def test_accounts_begin_with_a_link_that_works_once(tmp_path):
    process, address, _ = start(tmp_path / "w", "--accounts")
    try:
        assert httpx.get(address + "/projects").headers["location"].startswith("/sign-in")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    token = re.search(r"/join/([\w-]{40,})", out + err)[1]
    with open_workspace(tmp_path / "w") as workspace:
        assert workspace.people.accept(token, "First", "hash").role == "owner"


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
