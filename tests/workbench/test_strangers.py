"""Somebody who has not signed in sends much, slowly or without end: to a real server, through raw sockets."""

import asyncio
import re
import select
import socket
import time
from pathlib import Path

import httpx
import pytest

from isthmus.workbench import gate
from isthmus.workbench.app import make_app
from isthmus.workbench.settings import Settings
from isthmus.workspace import open_workspace

SMALL = 64 * 2**10
MIB = 2**20


@pytest.fixture(scope="module")
def running(tmp_path_factory, serve_process):
    """A server that demands accounts: process and address."""
    folder = tmp_path_factory.mktemp("strangers") / "w"
    with open_workspace(folder) as workspace:
        workspace.people.create("Kim", "hash")
    started = serve_process(folder, "--accounts")
    wait_for_languages(folder / "logs" / "serve.log")
    return started.process, started.address


@pytest.fixture(scope="module")
def impatient(tmp_path_factory, serve):
    """The address of one in this process whose patience with strangers is two and three seconds instead of ten."""
    assert max(Settings().head_seconds, gate._STRANGER_SECONDS) < 60
    with pytest.MonkeyPatch.context() as patch, open_workspace(tmp_path_factory.mktemp("impatient")) as workspace:
        workspace.people.create("Kim", "hash")
        patch.setattr(gate, "_STRANGER_SECONDS", 3.0)
        yield serve(workspace, accounts=True, head_seconds=2.0).address


def wait_for_languages(log):
    """A server that has just started loads the model of languages in the background, and its memory grows."""
    until = time.monotonic() + 120
    while "language model loaded" not in log.read_text(encoding="utf-8"):
        assert time.monotonic() < until, "the model of languages was not loaded"
        time.sleep(0.1)


def connect(address):
    host, _, port = address.removeprefix("http://").partition(":")
    found = socket.create_connection((host, int(port)), timeout=30)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32 * 2**10)
    return found


def head_of(address, path, *lines):
    """Headers of a change, with a session and its token as anybody can get them."""
    with httpx.Client(base_url=address) as client:
        token = client.get("/api/session").json()["csrf"]
        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    wanted = [f"POST {path} HTTP/1.1", f"Host: {address.removeprefix('http://')}", f"Cookie: {cookie}",
              f"X-CSRF-Token: {token}", *lines]  # fmt: skip
    return "\r\n".join([*wanted, "", ""]).encode()


def send_all(found, parts):
    """Send until the server cuts off: bytes that left, and what came back."""
    sent = 0
    try:
        for part in parts:
            found.sendall(part)
            sent += len(part)
    except OSError:
        pass
    try:
        return sent, found.recv(65_536)
    except OSError:
        return sent, b""


def peak_memory(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024


def multipart(mebibytes, *, file):
    """A form of fields of one mebibyte each, or one endless file."""
    name = b'name="file"; filename="a.csv"' if file else b'name="f%d"'
    for i in range(mebibytes):
        head = b"--b\r\nContent-Disposition: form-data; " + (name if file else name % i) + b"\r\n\r\n"
        yield (head if i == 0 or not file else b"") + b"x" * MIB + (b"" if file else b"\r\n")


@pytest.mark.parametrize("path", ["/sign-in", "/api/projects/1/collections", "/nowhere", "/api/session"])
@pytest.mark.parametrize("declared", [True, False])
def test_a_large_body_of_a_stranger_is_not_read(running, path, declared):
    process, address = running
    size = "Content-Length: 199229440" if declared else "Transfer-Encoding: chunked"
    head = head_of(address, path, "Content-Type: multipart/form-data; boundary=b", size)
    before = peak_memory(process)
    found = [connect(address) for _ in range(4)]
    for one in found:
        one.sendall(head)
        parts = multipart(190, file=path != "/sign-in")
        if not declared:
            parts = (b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
        sent, answer = send_all(one, parts)
        # What left the client lies in the buffers of the system's sockets; the server has not read it.
        assert sent < 16 * MIB, path
        assert answer == b"" or re.match(rb"HTTP/1.1 (413|401|404|405|503)", answer), answer[:80]
    for one in found:
        one.close()
    assert peak_memory(process) - before < 8 * MIB


def test_no_more_of_a_strangers_body_is_read_than_the_small_limit(tmp_path):
    """Counted where the application reads it: the limit, and one buffer that is thrown away."""
    with open_workspace(tmp_path) as workspace:
        app = make_app(workspace, Settings(accounts=True))
        for path in ("/api/session", "/nowhere", "/api/projects/1/collections"):
            for declared in (True, False):
                assert read_by(app, path, declared) <= 2 * SMALL


def read_by(app, path, declared):
    """Bytes of an endless body that the application takes."""
    session = app.cookies.new()
    token = app.cookies.csrf(session)
    cookie = app.cookies.header(session).partition(";")[0]
    taken = 0

    async def receive():
        nonlocal taken
        opening = b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\n' if taken == 0 else b""
        taken += 16_384
        return {"type": "http.request", "body": opening.ljust(16_384, b"x"), "more_body": True}

    async def send(message):
        if message["type"] == "http.response.start":
            assert message["status"] in (401, 404, 405, 413), message

    headers = [(b"host", b"127.0.0.1"), (b"cookie", cookie.encode()), (b"x-csrf-token", token.encode()),
               (b"content-type", b"multipart/form-data; boundary=b")]  # fmt: skip
    if declared:
        headers.append((b"content-length", b"100000000"))
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "headers": headers,
             "query_string": b"", "root_path": "", "scheme": "http", "server": ("127.0.0.1", 80),
             "client": ("10.0.0.1", 1), "http_version": "1.1"}  # fmt: skip
    asyncio.run(app(scope, receive, send))
    return taken


def closed_after(found, drip, seconds):
    """Seconds until the server closes a connection on which a byte comes now and then."""
    began = time.monotonic()
    found.settimeout(0.5)
    while time.monotonic() - began < seconds:
        try:
            if drip:
                found.sendall(drip)
            if found.recv(4096) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - began


def test_headers_that_never_end_are_dropped(impatient):
    address = impatient
    with connect(address) as silent, connect(address) as slow, connect(address) as used:
        slow.sendall(b"GET /sign-in HTTP/1.1\r\nHost: x\r\n")
        used.sendall(f"GET /health HTTP/1.1\r\nHost: {address.removeprefix('http://')}\r\n\r\n".encode())
        assert used.recv(4096).startswith(b"HTTP/1.1 200")
        used.sendall(b"G")  # from now on this one is not idle
        began = time.monotonic()
        for other, drip in ((slow, b"a"), (silent, b""), (used, b"")):
            closed_after(other, drip, 120)
        assert time.monotonic() - began < 120


def test_endless_headers_are_cut_off(running):
    _, address = running
    with connect(address) as found:
        found.sendall(b"GET / HTTP/1.1\r\n")
        sent, answer = send_all(found, (b"x-header-%d: " % i + b"y" * 1000 + b"\r\n" for i in range(20_000)))
    assert sent < 16 * MIB
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400")


def answers_of(connections, number):
    """What came back on the first so many connections that were answered."""
    answers = {}
    until = time.monotonic() + 120
    while len(answers) < number:
        assert time.monotonic() < until, f"{len(answers)} of {number} were answered"
        waiting = [one for one in connections if one not in answers]
        for one in select.select(waiting, [], [], 1.0)[0]:
            answers[one] = one.recv(4096)
    return answers


def test_a_body_that_does_not_come_and_many_at_a_time_block_nobody(impatient):
    address = impatient
    head = head_of(address, "/api/session", "Content-Type: application/json", "Content-Length: 1000")
    found = [connect(address) for _ in range(40)]
    try:
        for one in found:
            one.sendall(head + b"n")
        answers = answers_of(found, 30)
        assert sum(answer.startswith(b"HTTP/1.1 503") for answer in answers.values()) == 30
        assert httpx.get(address + "/health").json()["status"] == "ok"
        assert httpx.get(address + "/sign-in").status_code == 200
        with httpx.Client(base_url=address, transport=httpx.HTTPTransport(local_address="127.0.0.2")) as other:
            other.headers["x-csrf-token"] = other.get("/api/session").json()["csrf"]
            wrong = {"name": "Kim", "password": "wrong password"}
            assert other.post("/api/session", json=wrong).status_code == 401  # another address is not kept out
        late = answers_of([one for one in found if one not in answers], 10)
        assert all(answer.startswith(b"HTTP/1.1 408") for answer in late.values())
    finally:
        for one in found:
            one.close()


def test_headers_and_many_idle_connections_leave_room_for_others(impatient):
    """400 sockets that send half of their headers; the server still answers everybody else."""
    found = [connect(impatient) for _ in range(400)]
    try:
        for one in found:
            one.sendall(b"GET /sign-in HTTP/1.1\r\nHost: x\r\n")
        assert [httpx.get(impatient + "/sign-in").status_code for _ in range(20)] == [200] * 20
        assert sum(closed_after(one, b"", 60) < 60 for one in found[:5]) == 5
    finally:
        for one in found:
            one.close()
