"""The one door: every request passes here before any page sees it.

Checked in this order: is the request meant for this server; who speaks; does a change come from our own page (origin,
token); is it small enough. A page added later cannot forget any of it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from isthmus.workbench.sessions import Cookies, Session
from isthmus.workbench.settings import Settings

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
    403: "This change did not come from a page of this workbench. Load the page again and repeat it.",
    413: "What was sent is larger than this server takes.",
    421: "This server does not answer to that name.",
}
_DRAINED, _PATIENCE = 64 * 2**20, 5.0  # bytes and seconds for which a sender who is refused is still heard


class TooLarge(HTTPException):
    """More bytes came than are taken. An HTTPException, because the framework turns any other one into a 400."""

    def __init__(self) -> None:
        super().__init__(413, _WORDS[413])


class _Inlet:
    """What comes in, and whether more of it is under way."""

    def __init__(self, receive: Receive):
        self._receive, self.more = receive, True

    async def __call__(self) -> Message:
        message = await self._receive()
        self.more = message["type"] == "http.request" and message.get("more_body", False)
        return message

    async def drain(self) -> None:
        """Let a sender who is refused come to an end, within reason: cut off while sending, it would not hear why."""
        left = _DRAINED

        async def read() -> None:
            nonlocal left
            while self.more and left > 0:
                left -= len((await self()).get("body", b""))

        with suppress(TimeoutError):
            await asyncio.wait_for(read(), _PATIENCE)


class Gate:
    """ASGI middleware around the whole application.

    Parameters
    ----------
    app : the application
    settings : Settings
    cookies : Cookies
    who : callable
        Takes a session and an address; the person signed in, or None, and what they see of the address's project.
        Called in a thread.
    """

    def __init__(self, app: ASGIApp, settings: Settings, cookies: Cookies, who):
        self.app, self.settings, self.cookies, self.who = app, settings, cookies, who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it here."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # nothing here speaks anything else
        answer, inlet = _Answer(send, scope), _Inlet(receive)
        try:
            await self._pass(scope, inlet, answer)
        except TooLarge:
            await inlet.drain()
            await answer.refuse(413)
        finally:
            answer.note()

    async def _pass(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        headers = dict(scope["headers"])
        if not self.settings.answers_to(headers.get(b"host", b"").decode("latin-1")):
            await answer.refuse(421)
            return
        if scope["path"].startswith("/static/") or scope["path"] == "/health":
            await self.app(scope, receive, answer.send)
            return
        session = await self._enter(scope, headers, answer)
        if scope["method"] not in SAFE:
            if not _same_origin(scope, headers):
                await answer.refuse(403)
                return
            multipart = headers.get(b"content-type", b"").lower().startswith(b"multipart/")
            limit = self.settings.max_upload if multipart else self.settings.max_body
            if not _declared_size_fits(headers, limit):
                raise TooLarge
            receive = _counted(receive, limit)
            token = headers.get(HEADER, b"").decode("latin-1")
            if not token and not multipart:
                token, receive = await _token_in_form(headers, receive)
            if not self.cookies.csrf_holds(session, token):
                await answer.refuse(403)
                return
        await self.app(scope, receive, answer.send)

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

    def __init__(self, send: Send, scope: Scope):
        self._send, self.scope = send, scope
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
            spent = 1000 * (time.perf_counter() - self.started)
            headers.append((b"server-timing", f"app;dur={spent:.1f}".encode()))
            message = {**message, "headers": headers}
        await self._send(message)

    async def refuse(self, status: int) -> None:
        if self.status:
            return  # an answer is on its way already
        words = _WORDS[status]
        if self.scope["path"].startswith("/api"):
            body, kind = json.dumps({"detail": words, "code": "refused"}).encode(), b"application/json"
        else:
            body, kind = words.encode(), b"text/plain; charset=utf-8"
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
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
