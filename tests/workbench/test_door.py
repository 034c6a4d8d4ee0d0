"""The door by itself: sizes, tokens, origins, cookies, passwords, the brake, what is added to every answer."""

import asyncio
import io
import json
import logging
import stat
import threading
import time
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from itsdangerous import timed
from workbench_server import kept_loggers

from isthmus.exceptions import UsageError
from isthmus.workbench import gate, server
from isthmus.workbench.context import Bench
from isthmus.workbench.server import LineFormatter, LogFile, Worker, log_lines
from isthmus.workbench.sessions import LINK_SECONDS, Cookies, PasswordLinks, Passwords, RateLimiter
from isthmus.workbench.settings import Settings, is_every_address, is_loopback, load_secret

QUICK = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}


# ---- how much may be sent


def test_limits_are_those_of_the_manual():
    settings = Settings()
    assert (settings.max_upload, settings.max_unpacked, settings.max_body) == (200 * 2**20, 512 * 2**20, 2 * 2**20)
    assert settings.session_seconds == 14 * 86_400


# ---- origins, and what a request meets at the gate


def ask(
    settings, *, path="/api/x", method="POST", body=(b"",), headers=(), host="localhost", who=None, client="10.0.0.1"
):
    """What a gate answers whose application repeats what it receives."""
    sent, left = (
        [],
        [{"type": "http.request", "body": part, "more_body": i + 1 < len(body)} for i, part in enumerate(body)],
    )

    async def receive():
        return left.pop(0) if left else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    async def echo(scope, receive, send):
        said, more = b"", scope["method"] != "GET"
        while more:
            message = await receive()
            said, more = said + message["body"], message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": said})

    cookies = Cookies(settings)
    session = cookies.new("anna", "stamp") if who else cookies.new()
    cookie, token = cookies.header(session).partition(";")[0], cookies.csrf(session)
    given = {"host": host, "cookie": cookie, "x-csrf-token": token, **dict(headers)}
    door = gate.Gate(echo, settings, cookies, lambda session, path: (who, None))
    scope = {
        "type": "http", "method": method, "path": path, "scheme": "http", "server": ("127.0.0.1", 80),
        "query_string": b"", "client": (client, 1) if client else None, "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in given.items() if value],
    }  # fmt: skip
    asyncio.run(asyncio.wait_for(door(scope, receive, send), 60))
    return (
        sent[0]["status"],
        {key.decode(): value.decode() for key, value in sent[0]["headers"]},
        sent[-1]["body"],
        left,
    )


ACCOUNTS = Settings(accounts=True, max_stranger=10, max_body=20)
ANNA = SimpleNamespace(id="anna")


@pytest.mark.parametrize(
    ("headers", "ours"),
    [
        ({}, True),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"origin": "http://LocalHost"}, True),
        ({"origin": "http://localhost:80"}, True),
        ({"origin": "https://localhost"}, False),
        ({"origin": "http://localhost:2"}, False),
        ({"origin": "null"}, False),
        ({"origin": "http://[broken"}, False),
    ],
)
def test_where_a_change_comes_from(headers, ours):
    assert ask(ACCOUNTS, headers=headers, who=ANNA)[0] == (200 if ours else 403)


def test_behind_a_proxy_the_origin_speaks_https():
    settings = Settings(accounts=True, https=True)
    answers = [ask(settings, headers={"origin": f"{scheme}://localhost"})[0] for scheme in ("https", "http")]
    assert answers == [200, 403]


@pytest.mark.parametrize(
    ("who", "body", "status"),
    [
        (None, (b"1234567890",), 200),
        (None, (b"123456", b"78901"), 413),
        (ANNA, (b"1" * 10, b"2" * 10), 200),
        (ANNA, (b"1" * 10, b"2" * 11), 413),
    ],
)
@pytest.mark.parametrize("declared", [True, False])
def test_how_much_anybody_may_send(who, body, status, declared):
    size = {"content-length": str(sum(map(len, body)))} if declared else {}
    found, _, said, left = ask(ACCOUNTS, who=who, body=body, headers=size)
    assert found == status
    assert said == b"".join(body) if status == 200 else json.loads(said)["code"] == "refused"
    assert not left, "the rest was read, so that the client sees the answer"


def test_of_a_refused_body_no_more_is_read_than_the_limit():
    found, headers, _, left = ask(ACCOUNTS, body=(b"12345",) * 100, headers={"content-length": "500"})
    assert (found, headers["connection"]) == (413, "close")
    assert len(left) > 90


@pytest.mark.parametrize(("path", "kind"), [("/api/x", "application/json"), ("/projects", "text/plain; charset=utf-8")])
def test_a_refusal_says_why_in_the_form_of_the_asker(path, kind):
    status, headers, said, _ = ask(Settings(), path=path, host="evil.example")
    words = "This server does not answer to that name."
    assert (status, headers["content-type"], headers["x-frame-options"]) == (421, kind, "DENY")
    assert (json.loads(said)["detail"] if path == "/api/x" else said.decode()) == words


def test_every_answer_gets_the_headers_of_the_gate_and_newcomers_a_cookie():
    _, headers, *_ = ask(ACCOUNTS, method="GET", headers={"cookie": ""})
    assert headers["cache-control"] == "no-store"
    assert headers["server-timing"].startswith("app;dur=")
    assert Cookies(ACCOUNTS).read(headers["set-cookie"].partition("=")[2].partition(";")[0])
    assert "set-cookie" not in ask(ACCOUNTS, method="GET")[1]


@pytest.mark.parametrize(("limit", "path", "status"), [(1, "/x", 200), (0, "/x", 503), (0, "/health", 200)])
def test_so_many_requests_are_under_way_at_a_time_and_health_is_always_told(limit, path, status):
    found, headers, *_ = ask(Settings(max_requests=limit), path=path, method="GET", who=ANNA)
    assert (found, headers.get("retry-after")) == (status, "5" if status == 503 else None)


@pytest.mark.parametrize(("one", "every", "status"), [(1, 1, 200), (0, 1, 503), (1, 0, 503)])
def test_changes_of_strangers_are_few_at_a_time(one, every, status):
    settings = Settings(accounts=True, max_stranger_requests=one, max_strangers=every)
    assert ask(settings)[0] == ask(settings, client=None)[0] == status
    assert ask(settings, who=ANNA)[0] == 200


# ---- cookies and passwords


@pytest.mark.parametrize(("https", "name", "secure"), [(False, "isthmus_", 0), (True, "__Host-isthmus_", 1)])
def test_a_cookie_lives_as_long_as_a_sign_in(monkeypatch, https, name, secure):
    cookies = Cookies(Settings(https=https, session_seconds=60))
    session = cookies.new("anna", "stamp")
    header = cookies.header(session)
    assert header.startswith(name)
    assert "; Path=/; HttpOnly; SameSite=Lax; Max-Age=60" in header
    assert header.count("; Secure") == secure
    value = header.partition("=")[2].partition(";")[0]
    assert cookies.read(value) == session
    made = time.time()
    monkeypatch.setattr(timed, "time", SimpleNamespace(time=lambda: made + 58))
    assert cookies.read(value) == session
    monkeypatch.setattr(timed, "time", SimpleNamespace(time=lambda: made + 62))
    assert cookies.read(value) is None
    assert cookies.read("") is None


def test_two_workbenches_on_one_host_do_not_share_a_cookie():
    """A browser keeps cookies by host and sends them to every port."""
    one, other = Settings(secret=b"a" * 32), Settings(secret=b"b" * 32)
    assert Cookies(one).name != Cookies(other).name
    assert Cookies(one).name == Cookies(Settings(secret=b"a" * 32, port=1)).name  # a new port ends no session


def test_a_link_for_a_new_password_holds_for_one_open_account_and_one_stamp():
    links = PasswordLinks(Settings())
    kim = SimpleNamespace(id="kim", session_key="first", disabled=False)
    token = links.make(kim)
    assert links.holds(token, kim)
    for other in ({"disabled": True}, {"session_key": "second"}, {"id": "lee"}):
        assert not links.holds(token, SimpleNamespace(**{**vars(kim), **other})), other


def test_a_token_holds_for_its_session_and_its_secret():
    cookies, others = Cookies(Settings()), Cookies(Settings())
    session = cookies.new()
    token = cookies.csrf(session)
    assert cookies.csrf_holds(session, token)
    assert not cookies.csrf_holds(cookies.new(), token)
    assert not others.csrf_holds(session, token)
    assert not cookies.csrf_holds(None, token)
    assert not cookies.csrf_holds(session, "")
    assert not cookies.csrf_holds(session, "\ud800")
    assert len(session.key) == 32  # 24 random bytes
    assert session.key != cookies.new().key


@pytest.mark.parametrize(("length", "taken"), [(9, False), (10, True), (1_000, True), (1_001, False)])
def test_passwords_have_ten_to_a_thousand_characters(length, taken):
    passwords, password = Passwords(**QUICK), "p" * length
    if taken:
        assert passwords.verify(passwords.hash(password), password)
    else:
        with pytest.raises(UsageError, match=f"The password has {length:,} characters; use 10 to 1,000") as refused:
            passwords.hash(password)
        assert refused.value.code == "bad-parameter"


def test_no_password_fits_nobody_a_damaged_hash_or_more_than_it_is():
    passwords, long = Passwords(**QUICK), "p" * 1_000
    kept = passwords.hash(long)
    assert not passwords.verify(kept, long + "q")
    assert not passwords.verify(kept, long[:-1])
    passwords._nobody = kept  # even the password that stands for nobody
    assert not passwords.verify(None, long)
    assert not passwords.verify("no hash", long)
    assert not passwords.verify(kept, "\ud800" * 10)
    with pytest.raises(UsageError, match="cannot be encoded"):
        passwords.hash("\ud800" * 10)


def test_a_brake_counts_failures_of_its_last_seconds():
    brake = RateLimiter(2, 10)
    brake.failed("a", now=0.0)
    assert brake.wait("a", now=1.0) == 0.0  # one more is free
    brake.failed("a", now=4.0)
    assert brake.wait("a", now=9.0) == 1.0
    assert brake.wait("b", now=9.0) == 0.0
    assert brake.wait("a", now=10.0) == 0.0  # the first is ten seconds old
    brake.failed("a", now=10.0)
    assert brake.wait("a", now=11.0) == 3.0
    brake.cleared("a")
    assert brake.wait("a", now=11.0) == 0.0
    brake.cleared("never failed")


def test_a_full_brake_forgets_who_failed_first():
    brake = RateLimiter(1, 100, keys=2)
    for now, key in enumerate("abc"):
        brake.failed(key, now=float(now))
    assert [brake.wait(key, now=3.0) for key in "abc"] == [0.0, 98.0, 99.0]


def test_five_wrong_passwords_for_a_name_and_thirty_for_an_address_within_fifteen_minutes(empty_workspace):
    bench = Bench(empty_workspace, Settings())
    assert [(brake.most, brake.seconds) for brake in (bench.by_name, bench.by_address)] == [(5, 900), (30, 900)]


# ---- addresses and the secret


@pytest.mark.parametrize(
    ("host", "loopback", "every"),
    [
        ("LocalHost", True, False),
        ("127.0.0.9", True, False),
        ("::1", True, False),
        ("0.0.0.0", False, True),
        ("::", False, True),
        ("10.0.0.1", False, False),
        ("shop.example", False, False),
    ],
)
def test_who_can_reach_an_address(host, loopback, every):
    assert (is_loopback(host), is_every_address(host)) == (loopback, every)


def test_a_secret_is_for_its_owner_alone_and_not_used_once_it_is_cut_off(tmp_path):
    made = load_secret(tmp_path)
    assert len(made) == 32
    assert load_secret(tmp_path) == made
    assert stat.S_IMODE((tmp_path / "secret.key").stat().st_mode) == 0o600
    (tmp_path / "secret.key").write_bytes(made[:31])
    with pytest.raises(UsageError, match="damaged") as refused:
        load_secret(tmp_path)
    assert refused.value.code == "unreadable-file"


# ---- the worker beside the server, and the log


def test_a_worker_that_died_is_started_again_and_the_last_one_is_ended(monkeypatch):
    started, ended, again = [], [], threading.Event()

    def start(workspace, log_file):
        code = 3 if not started else None  # the first one dies
        started.append(SimpleNamespace(poll=lambda: code, returncode=code, given=(workspace, log_file)))
        if len(started) == 2:
            again.set()
        return started[-1]

    monkeypatch.setattr(server, "start_worker", start)
    monkeypatch.setattr(server, "stop_worker", ended.append)
    monkeypatch.setattr(server, "_WATCH", 0.01)
    with Worker("the workspace", "the log"):
        assert again.wait(60)
        time.sleep(0.05)
    assert [row.given for row in started] == [("the workspace", "the log")] * 2, "the second writes to the log, too"
    assert ended == started[1:]


def test_the_log_is_lines_of_json_and_no_library_chats_in_it():
    lines = io.StringIO()
    with kept_loggers():
        log_lines(logging.StreamHandler(lines))
        logging.getLogger("isthmus.workbench").info("started", extra={"facts": {"port": 1}})
        logging.getLogger("isthmus.workbench").debug("not told")
        logging.getLogger("uvicorn.error").info("not told either")
        try:
            1 / 0  # noqa: B018
        except ZeroDivisionError as error:
            logging.getLogger("uvicorn.error").warning("broke é", exc_info=error)
    first, second = (json.loads(line) for line in lines.getvalue().splitlines())
    assert (first["event"], first["level"], first["port"], "trace" in first) == ("started", "info", 1, False)
    assert first["at"].endswith("+00:00")
    assert (second["event"], second["level"]) == ("broke é", "warning")
    assert "ZeroDivisionError" in second["trace"]
    assert lines.getvalue().isascii()


def test_a_link_for_a_new_password_holds_for_a_day(monkeypatch):
    links = PasswordLinks(Settings())
    kim = SimpleNamespace(id="kim", session_key="first", disabled=False)
    token, made = links.make(kim), time.time()
    for later, holds in ((LINK_SECONDS - 60, True), (LINK_SECONDS + 60, False)):
        monkeypatch.setattr(timed, "time", SimpleNamespace(time=lambda later=later: made + later))
        assert links.holds(token, kim) is holds, f"{later:,} seconds after it was made"


@pytest.mark.parametrize(
    ("settings", "believed", "whom"),
    [
        ({}, False, None),
        ({"https": True}, True, None),  # a proxy on this machine
        ({"proxies": ("10.0.0.1",)}, True, ["10.0.0.1"]),
        ({"https": True, "proxies": ("10.0.0.1",)}, True, ["10.0.0.1"]),
    ],
)
def test_which_proxy_is_believed(monkeypatch, settings, believed, whom):
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    config = server.make_server(None, Settings(**settings)).config
    assert config.proxy_headers is believed
    if whom:
        assert config.forwarded_allow_ips == whom
    else:
        assert all(map(is_loopback, config.forwarded_allow_ips.split(","))), "nobody is believed but this machine"


def test_a_brake_that_never_held_is_let_go():
    brake = RateLimiter(1, 10)
    brake.forgiven("never failed")
    brake.failed("a", now=0.0)
    brake.forgiven("a")
    assert brake.wait("a", now=1.0) == 0.0, "the try succeeded"


def test_a_line_that_the_disk_does_not_take_is_said_elsewhere(tmp_path, capsys):
    handler = LogFile(tmp_path / "serve.log")
    handler.setFormatter(LineFormatter())
    full = MagicMock()
    full.write.side_effect = OSError(28, "No space left on device")
    handler.stream.close()
    handler.stream = full
    handler.emit(logging.makeLogRecord({"msg": "started", "levelname": "INFO"}))
    handler.stream = None
    assert json.loads(capsys.readouterr().err)["event"] == "started"
