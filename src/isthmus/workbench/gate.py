"""The one door: every request passes here before any page sees it.

Checked in this order: are there not too many requests already; is the request meant for this server; who speaks; does a
change come from our own page (origin, token); is it small enough for who sends it and where it goes, before it is read.
A page added later cannot forget any of it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from isthmus.exceptions import IsthmusError
from isthmus.workbench.sessions import Cookies, Session
from isthmus.workbench.settings import Settings
from isthmus.workspace.database import AWAY

log = logging.getLogger("isthmus.workbench")

SAFE = ("GET", "HEAD", "OPTIONS")
FORM_FIELD, HEADER = "csrf", b"x-csrf-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
]
_WORDS = {
    400: "The request cannot be read.",
    408: "The rest of the request did not arrive in time; send it again.",
    403: "This change did not come from a page of this workbench. Load the page again and repeat it.",
    413: "The request is larger than this server accepts.",
    421: "This server does not answer to that name.",
    503: "The server is busy; try again in a moment.",
}
_DRAINED, _PATIENCE = 64 * 2**20, 5.0  # bytes and seconds for which a sender who is refused is still read
_BUFFER = 64 * 2**10  # bytes of a body that the server below reads ahead
_WRITE_SECONDS = 60.0  # for a client to take one part of an answer
_STRANGER_SECONDS, _IDLE_SECONDS = 10.0, 60.0  # for a whole body of a stranger; between two parts of anybody else's


class TooLarge(HTTPException):
    """More bytes came than are taken. An HTTPException, because the framework turns any other one into a 400."""

    def __init__(self) -> None:
        super().__init__(413, _WORDS[413])


class TooSlow(HTTPException):
    """The body did not come in time."""

    def __init__(self) -> None:
        super().__init__(408, _WORDS[408])


class Unread(Exception):
    """The client does not take what it asked for; its place is needed."""


class _Inlet:
    """What comes in, how much of it was read, and whether more of it is under way."""

    def __init__(self, receive: Receive):
        self._receive = receive
        self.more = True
        self.read = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self.more = message["type"] == "http.request" and message.get("more_body", False)
        self.read += len(message.get("body", b""))
        return message

    async def drain(self, left: int = _DRAINED) -> None:
        """Let a sender who is refused come to an end, within reason: cut off while sending, it would not see why."""

        async def read() -> None:
            nonlocal left
            while self.more and left > 0:
                left -= len((await self()).get("body", b""))

        with suppress(TimeoutError):
            await asyncio.wait_for(read(), _PATIENCE)


class Gate:
    """ASGI middleware around the whole application.

    ``who`` takes a session and an address, and gives the person or None, and what they see of the address's project; it
    is called in a thread. ``files`` are the addresses that take a file: no other takes more than ``settings.max_body``.
    """

    def __init__(self, app: ASGIApp, settings: Settings, cookies: Cookies, who, files: Sequence[re.Pattern] = ()):
        self.app, self.settings, self.cookies, self.who, self.files = app, settings, cookies, who, files
        self._requests = 0
        self._of_strangers: Counter[str] = Counter()  # changes under way, by address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # nothing here speaks anything else
        inlet = _Inlet(receive)
        answer = _Answer(send, scope, inlet)
        self._requests += 1
        try:
            if self._requests > self.settings.max_requests and scope["path"] != "/health":
                await answer.refuse(503)
                return
            await self._pass(scope, inlet, answer)
        except TooLarge:
            await inlet.drain(self.settings.max_stranger if _is_stranger(scope) else _DRAINED)
            await answer.refuse(413)
        except TooSlow:
            await answer.refuse(408)
        except Unread:
            log.warning("answer not read", extra={"facts": {"path": scope["path"]}})
        except IsthmusError as error:  # the person could not be looked up
            if error.code != AWAY:
                raise
            log.error("workspace away", extra={"facts": {"path": scope["path"], "reason": str(error.__cause__)[:300]}})
            await answer.refuse(503, str(error), AWAY)
        finally:
            self._requests -= 1
            answer.note()

    async def _pass(self, scope: Scope, inlet: _Inlet, answer: _Answer) -> None:
        headers = dict(scope["headers"])
        if not self.settings.answers_to(headers.get(b"host", b"").decode("latin-1")):
            await answer.refuse(421)
            return
        if scope["path"].startswith("/static/") or scope["path"] == "/health":
            await self.app(scope, inlet, answer.send)
            return
        session = await self._enter(scope, headers, answer)
        if scope["method"] in SAFE:
            await self.app(scope, inlet, answer.send)
        elif _is_stranger(scope):
            await self._pass_stranger(scope, headers, session, inlet, answer)
        else:
            await self._pass_change(scope, headers, session, inlet, answer)

    async def _pass_stranger(
        self, scope: Scope, headers: dict, session: Session, inlet: _Inlet, answer: _Answer
    ) -> None:
        """A change by somebody who has not signed in: few at a time, and fewer from one address."""
        address = scope["client"][0] if scope.get("client") else ""
        under_way = self._of_strangers
        under_way[address] += 1
        try:
            one, all_ = under_way[address], under_way.total()
            if one > self.settings.max_stranger_requests or all_ > self.settings.max_strangers:
                await answer.refuse(503)
                return
            await self._pass_change(scope, headers, session, inlet, answer)
        finally:
            under_way[address] -= 1
            if not under_way[address]:
                del under_way[address]

    async def _pass_change(self, scope: Scope, headers: dict, session: Session, inlet: _Inlet, answer: _Answer) -> None:
        if not _same_origin(scope, headers):
            await answer.refuse(403)
            return
        limit = self._limit(scope)
        if not _declared_size_fits(headers, limit):
            raise TooLarge
        seconds = _STRANGER_SECONDS if _is_stranger(scope) else None
        receive = _counted(_timed(inlet, seconds), limit)
        token = headers.get(HEADER, b"").decode("latin-1")
        if not token:
            token, receive = await _token_in_form(headers, receive)
        if not self.cookies.csrf_holds(session, token):
            await answer.refuse(403)
            return
        await self.app(scope, receive, answer.send)

    def _limit(self, scope: Scope) -> int:
        """Bytes of a body, by who sends it and where it goes."""
        if _is_stranger(scope):
            return self.settings.max_stranger
        seen = scope["state"]["seen"]
        if seen is not None and seen[1] == "owner" and any(place.match(scope["path"]) for place in self.files):
            return self.settings.max_upload
        return self.settings.max_body

    async def _enter(self, scope: Scope, headers: dict[bytes, bytes], answer: _Answer) -> Session:
        """Find the session and the person; a browser without a session gets one."""
        session = self.cookies.read(_cookie(headers, self.cookies.name))
        known, person, seen = session is not None, None, None
        session = session or self.cookies.new()
        if session.person or not self.settings.accounts:
            person, seen = await run_in_threadpool(self.who, session, scope["path"])
            if person is None:  # signed out elsewhere, or the account is closed
                known, session = False, self.cookies.new()
        if not known:
            answer.extra.append((b"set-cookie", self.cookies.header(session).encode()))
        state = scope.setdefault("state", {})
        state["session"], state["person"], state["seen"] = session, person, seen
        return session


class _Answer:
    """The way out: adds headers, can refuse, and writes the line in the log."""

    def __init__(self, send: Send, scope: Scope, inlet: _Inlet):
        self._send, self.scope, self._inlet = send, scope, inlet
        self.extra: list[tuple[bytes, bytes]] = []
        self.status, self.started = 0, time.perf_counter()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = {name.lower() for name, _ in message["headers"]}
            headers = [*message["headers"], *(pair for pair in _HEADERS if pair[0] not in own)]
            if b"cache-control" not in own:
                headers.append((b"cache-control", b"no-store"))
            # A page that sets a cookie of its own (signing in) must not have it replaced by the one for newcomers.
            headers += [pair for pair in self.extra if pair[0] not in own]
            if self._inlet.more and _is_long(self.scope) and b"connection" not in own:
                if not _is_stranger(self.scope):
                    await self._inlet.drain()
                headers.append((b"connection", b"close"))  # or the server would go on reading a body nobody wants
            spent = 1000 * (time.perf_counter() - self.started)
            headers.append((b"server-timing", f"app;dur={spent:.1f}".encode()))
            message = {**message, "headers": headers}
        try:
            async with asyncio.timeout(_WRITE_SECONDS):
                await self._send(message)
        except TimeoutError:
            raise Unread from None

    async def refuse(self, status: int, words: str = "", code: str = "refused") -> None:
        if self.status:
            return  # an answer is on its way already
        words = words or _WORDS[status]
        if self.scope["path"].startswith("/api"):
            body, kind = json.dumps({"detail": words, "code": code}).encode(), b"application/json"
        else:
            body, kind = words.encode(), b"text/plain; charset=utf-8"
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
        if status == 503:
            headers.append((b"retry-after", b"5"))
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    def note(self) -> None:
        person = (self.scope.get("state") or {}).get("person")
        log.info(
            "request",
            extra={
                "facts": {
                    "method": self.scope["method"],
                    "path": self.scope["path"],
                    "status": self.status,
                    "read": self._inlet.read,
                    "ms": round(1000 * (time.perf_counter() - self.started), 1),
                    "person": getattr(person, "id", None),
                }
            },
        )


def _cookie(headers: dict[bytes, bytes], name: str) -> str | None:
    for part in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return None


def _same_origin(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    """Whether the browser says that the request comes from our own page; other clients say nothing."""
    if headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
        return False
    origin = headers.get(b"origin")
    if origin is None:
        return True
    try:
        return urlsplit(origin.decode("latin-1")).netloc.lower() == headers.get(b"host", b"").decode("latin-1").lower()
    except ValueError:
        return False


def _declared_size_fits(headers: dict[bytes, bytes], limit: int) -> bool:
    declared = headers.get(b"content-length", b"0")
    return declared.isdigit() and len(declared) < 16 and int(declared) <= limit


def _is_stranger(scope: Scope) -> bool:
    return (scope.get("state") or {}).get("person") is None


def _is_long(scope: Scope) -> bool:
    """Whether more of a body may be under way than one buffer holds."""
    headers = dict(scope["headers"])
    return b"transfer-encoding" in headers or not _declared_size_fits(headers, _BUFFER)


def _timed(inlet: _Inlet, seconds: float | None) -> Receive:
    """The same body, given up with an error where it does not come in time: all of it, or without ``seconds`` its next
    part."""
    ends = None if seconds is None else time.monotonic() + seconds

    async def timed() -> Message:
        if not inlet.more:  # what comes after the body is that the client left, which may take any time
            return await inlet()
        try:
            return await asyncio.wait_for(inlet(), _IDLE_SECONDS if ends is None else max(0.0, ends - time.monotonic()))
        except TimeoutError:
            raise TooSlow from None

    return timed


def _counted(receive: Receive, limit: int) -> Receive:
    """The same body, cut off with an error where it grows past the limit."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise TooLarge
        return message

    return counted


async def _token_in_form(headers: dict[bytes, bytes], receive: Receive) -> tuple[str, Receive]:
    """The token of a plain form, and a body that can be read again."""
    if not headers.get(b"content-type", b"").lower().startswith(b"application/x-www-form-urlencoded"):
        return "", receive
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        body += message.get("body", b"")
        more = message.get("more_body", False)
    try:
        fields = parse_qs(body.decode("latin-1"), max_num_fields=1_000)
    except ValueError:
        fields = {}
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return fields.get(FORM_FIELD, [""])[0], again
