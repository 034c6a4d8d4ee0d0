"""The door by itself: sizes, tokens, origins, cookies, passwords, the brake, what is added to every answer."""

import asyncio
import io
import json
import logging
import stat
import threading
import time
from collections import Counter
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from itsdangerous import timed
from workbench_server import kept_loggers

from isthmus.exceptions import DataError, UsageError
from isthmus.workbench import gate, server
from isthmus.workbench.context import Bench
from isthmus.workbench.gate import (
    TooLarge,
    _Answer,
    _cookie,
    _counted,
    _declared_size_fits,
    _Inlet,
    _same_origin,
    _token_in_form,
)
from isthmus.workbench.server import LineFormatter, LogFile, Worker, bounded_protocol, log_lines, server_config
from isthmus.workbench.sessions import LINK_SECONDS, Cookies, PasswordLinks, Passwords, RateLimiter
from isthmus.workbench.settings import Settings, is_every_address, is_loopback, load_secret
from isthmus.workspace.database import AWAY, AWAY_SENTENCE

QUICK = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}


def sender(*bodies):
    """A client that sends these parts and then hangs up."""
    left = [{"type": "http.request", "body": body, "more_body": i + 1 < len(bodies)} for i, body in enumerate(bodies)]

    async def receive():
        return left.pop(0) if left else {"type": "http.disconnect"}

    return receive


# ---- how much may be sent


@pytest.mark.parametrize(
    ("declared", "fits"),
    [
        ("100", True),
        ("101", False),
        ("0", True),
        ("-1", False),
        ("ten", False),
        ("", False),
        ("000000000000099", True),
        ("0000000000000099", False),  # sixteen digits: nobody sends so much
    ],
)
def test_a_declared_size_fits_up_to_the_limit(declared, fits):
    assert _declared_size_fits({b"content-length": declared.encode()}, 100) is fits
    assert _declared_size_fits({}, 100)


def test_what_comes_without_a_declared_size_is_counted_as_a_whole():
    whole = _counted(sender(b"123456", b"7890"), 10)
    assert [asyncio.run(whole())["body"] for _ in range(2)] == [b"123456", b"7890"]
    more = _counted(sender(b"123456", b"78901"), 10)
    asyncio.run(more())
    with pytest.raises(TooLarge) as refused:
        asyncio.run(more())
    assert refused.value.status_code == 413


def test_limits_are_those_of_the_manual():
    settings = Settings()
    assert (settings.max_upload, settings.max_unpacked, settings.max_body) == (200 * 2**20, 512 * 2**20, 2 * 2**20)
    assert settings.session_seconds == 14 * 86_400


# ---- tokens and origins


def test_a_form_is_read_for_its_token_and_can_be_read_again():
    kind = {b"content-type": b"Application/X-WWW-Form-Urlencoded; charset=utf-8"}
    token, again = asyncio.run(_token_in_form(kind, sender(b"a=1&cs", b"rf=secret&csrf=late")))
    assert token == "secret"
    assert asyncio.run(again()) == {"type": "http.request", "body": b"a=1&csrf=secret&csrf=late", "more_body": False}
    assert asyncio.run(again()) == {"type": "http.disconnect"}


def test_a_form_without_a_token_or_that_breaks_off_has_none():
    kind = {b"content-type": b"application/x-www-form-urlencoded"}
    many = b"&".join(b"x=1" for _ in range(1_001))
    for body in (b"a=1", b"csrf=", many + b"&csrf=secret"):
        assert asyncio.run(_token_in_form(kind, sender(body)))[0] == ""
    assert asyncio.run(_token_in_form(kind, sender()))[0] == ""  # hung up before anything came


def test_only_plain_forms_are_searched_for_a_token():
    receive = sender(b"csrf=secret")
    assert asyncio.run(_token_in_form({b"content-type": b"application/json"}, receive)) == ("", receive)


@pytest.mark.parametrize(
    ("headers", "ours"),
    [
        ({}, True),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"origin": "http://Here:1"}, True),
        ({"origin": "http://here:2"}, False),
        ({"origin": "null"}, False),
        ({"origin": "http://[broken"}, False),
    ],
)
def test_where_a_change_comes_from(headers, ours):
    sent = {name.encode(): value.encode() for name, value in {"host": "here:1", **headers}.items()}
    assert _same_origin({}, sent) is ours


@pytest.mark.parametrize(
    ("sent", "value"), [("a=1; b=2=3", "2=3"), ("ab=1", None), ("", None), ("b", ""), ("b=1; b=2", "1")]
)
def test_a_cookie_is_found_by_its_whole_name(sent, value):
    assert _cookie({b"cookie": sent.encode()}, "b") == value


# ---- what is added to every answer


def answered(message, *extra):
    """The headers that leave the door."""
    sent = []

    async def send(one):
        sent.append(one)

    out = _Answer(send, {"type": "http", "path": "/projects", "method": "GET", "headers": []}, _Inlet(sender()))
    out.extra += extra
    asyncio.run(out.send(message))
    return out, sent


def test_every_answer_gets_the_headers_it_does_not_bring():
    own = [(b"Cache-Control", b"no-cache"), (b"x-frame-options", b"SAMEORIGIN"), (b"set-cookie", b"mine=1")]
    _, [message] = answered({"type": "http.response.start", "status": 200, "headers": own}, (b"set-cookie", b"new=1"))
    names = [name.lower() for name, _ in message["headers"]]
    assert len(names) == len(set(names))
    assert message["headers"][:3] == own
    assert dict(message["headers"])[b"x-content-type-options"] == b"nosniff"
    _, [bare] = answered({"type": "http.response.start", "status": 200, "headers": []}, (b"set-cookie", b"new=1"))
    headers = dict(bare["headers"])
    assert headers[b"cache-control"] == b"no-store"
    assert headers[b"set-cookie"] == b"new=1"
    assert headers[b"x-frame-options"] == b"DENY"
    assert headers[b"server-timing"].startswith(b"app;dur=")


def test_the_time_an_answer_took_is_in_milliseconds(monkeypatch):
    now = iter([10.0, 10.25, 10.5])
    monkeypatch.setattr(gate, "time", SimpleNamespace(perf_counter=lambda: next(now)))
    out, [message] = answered({"type": "http.response.start", "status": 204, "headers": []})
    assert dict(message["headers"])[b"server-timing"] == b"app;dur=250.0"
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(LineFormatter())
    logger = logging.getLogger("isthmus.workbench")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    out.scope["state"] = {"person": SimpleNamespace(id="anna")}
    try:
        out.note()
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
    line = json.loads(lines.getvalue())
    assert {name: line[name] for name in ("event", "method", "path", "status", "ms", "person")} == {
        "event": "request", "method": "GET", "path": "/projects", "status": 204, "ms": 500.0, "person": "anna",
    }  # fmt: skip


def test_a_client_that_does_not_read_its_answer_is_left(monkeypatch):
    monkeypatch.setattr(gate, "_WRITE_SECONDS", 0.05)

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def never(message):
        await asyncio.Event().wait()

    door = gate.Gate(app, Settings(), Cookies(Settings()), None)
    scope = {"type": "http", "method": "GET", "path": "/health", "headers": [(b"host", b"localhost")]}
    asyncio.run(asyncio.wait_for(door(scope, sender(), never), 10))
    assert door._requests == 0


def test_nothing_is_refused_once_an_answer_is_on_its_way():
    out, sent = answered({"type": "http.response.start", "status": 200, "headers": []})
    asyncio.run(out.refuse(413))
    assert len(sent) == 1


@pytest.mark.parametrize(("path", "kind"), [("/api/projects", "application/json"), ("/projects", "text/plain")])
def test_a_refusal_says_why_in_the_form_of_the_asker(path, kind):
    sent = []

    async def send(one):
        sent.append(one)

    asyncio.run(_Answer(send, {"path": path, "headers": []}, _Inlet(sender())).refuse(421))
    start, body = sent
    headers = dict(start["headers"])
    assert start["status"] == 421
    assert headers[b"content-type"].decode().partition(";")[0] == kind
    assert int(headers[b"content-length"]) == len(body["body"])
    words = "This server does not answer to that name."
    text = body["body"].decode()
    assert (json.loads(text) == {"detail": words, "code": "refused"}) if path == "/api/projects" else text == words


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


# ---- how many at a time


def ask(door, *, path="/sign-in", method="POST", client=("198.51.100.7", 1)):
    """The start of what a door answers to a request without a session."""
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": [(b"host", b"localhost")], "client": client}
    asyncio.run(door(scope, sender(b""), send))
    return sent[0]


async def fine(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})


@pytest.mark.parametrize(
    ("under_way", "refused"),
    [
        ({}, False),
        ({"198.51.100.7": 1}, False),  # the second of one address
        ({"198.51.100.7": 2}, True),
        ({"a": 2}, False),  # the third of all
        ({"a": 2, "b": 1}, True),
    ],
)
def test_changes_of_strangers_are_few_at_a_time(under_way, refused):
    settings = Settings(accounts=True, max_stranger_requests=2, max_strangers=3)
    door = gate.Gate(fine, settings, Cookies(settings), None)
    door._of_strangers = Counter(under_way)
    answer = ask(door)
    # Let in, it is told that the token is missing.
    assert answer["status"] == (503 if refused else 403), f"with {under_way} under way"
    assert dict(answer["headers"]).get(b"retry-after") == (b"5" if refused else None)
    assert door._of_strangers == under_way, "it is counted no longer than it takes"
    assert ask(gate.Gate(fine, settings, Cookies(settings), None), client=None)["status"] == 403, "from a socket's file"


@pytest.mark.parametrize(
    ("before", "path", "status"), [(0, "/projects", 200), (1, "/projects", 503), (9, "/health", 200)]
)
def test_so_many_requests_are_under_way_at_a_time_and_health_is_always_told(before, path, status):
    settings = Settings(accounts=True, max_requests=1)
    door = gate.Gate(fine, settings, Cookies(settings), None)
    door._requests = before
    assert ask(door, path=path, method="GET")["status"] == status
    assert door._requests == before


def test_only_a_database_that_is_away_is_waited_for():
    def who(session, path):
        raise found

    door = gate.Gate(fine, Settings(), Cookies(Settings()), who)
    found = DataError(AWAY_SENTENCE, code=AWAY)
    assert ask(door, method="GET")["status"] == 503
    found = DataError("The hash of the file is damaged.", code="bad-workspace")
    with pytest.raises(DataError, match="damaged"):
        ask(door, method="GET")


@pytest.mark.parametrize("person", [None, "anna"])
def test_the_rest_of_a_long_body_is_heard_of_members_alone(person):
    heard, sent = [], []

    async def receive():
        heard.append(1)
        return {"type": "http.request", "body": b"x", "more_body": len(heard) < 3}

    async def send(message):
        sent.append(message)

    scope = {"path": "/projects", "headers": [(b"transfer-encoding", b"chunked")], "state": {"person": person}}
    out = _Answer(send, scope, _Inlet(receive))
    asyncio.run(out.send({"type": "http.response.start", "status": 413, "headers": []}))
    assert dict(sent[0]["headers"])[b"connection"] == b"close"
    assert len(heard) == (3 if person else 0)


def test_one_connection_more_than_allowed_is_cut_off():
    settings = Settings(max_connections=2)
    config = server_config(fine, settings)
    state = SimpleNamespace(connections=set(), tasks=set(), default_headers=[])
    ends = [MagicMock(**{"get_extra_info.return_value": None}) for _ in range(3)]

    async def connect():
        made = [bounded_protocol(settings)(config, state, {}, asyncio.get_running_loop()) for _ in ends]
        for one, end in zip(made, ends, strict=True):
            one.connection_made(end)
        for one in made:
            one.connection_lost(None)

    asyncio.run(connect())
    assert [end.abort.called for end in ends] == [False, False, True]


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
    config = server_config(fine, Settings(**settings))
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
