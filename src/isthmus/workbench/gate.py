"""The gate: ASGI middleware that checks every request before a page receives it.

It checks in this order: the number of simultaneous requests, the host, the session, the origin and the token of a
change, and the size of the body, before it is read. A new page cannot omit any of these checks.
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
# Where the token of a change is expected: in a form, or in a header.
FORM_FIELD, HEADER = "csrf", b"x-csrf-token"
# Pages load only files of this server, so that injected markup cannot load or send data elsewhere.
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
# Sentence for each status with which the gate refuses requests.
_WORDS = {
    400: "The request cannot be read.",
    408: "The rest of the request did not arrive in time; send it again.",
    403: "This change did not come from a page of this workbench. Load the page again and repeat it.",
    413: "The request is larger than this server accepts.",
    421: "This server does not answer to that name.",
    503: "The server is busy; try again in a moment.",
}
_DRAINED, _PATIENCE = 64 * 2**20, 5.0  # bytes and seconds for which the body of a refused request is still read
_BUFFER = 64 * 2**10  # bytes of a body that uvicorn reads ahead
_WRITE_SECONDS = 60.0  # seconds within which a client must accept one part of an answer
# Seconds: for the whole body of somebody not signed in, and between two parts of any other body.
_STRANGER_SECONDS, _IDLE_SECONDS = 10.0, 60.0


class TooLarge(HTTPException):
    """The body exceeds its limit. The framework turns other exceptions than HTTPException into a 400."""

    def __init__(self) -> None:
        super().__init__(413, _WORDS[413])


class TooSlow(HTTPException):
    """The body did not arrive in time."""

    def __init__(self) -> None:
        super().__init__(408, _WORDS[408])


class Unread(Exception):
    """The client does not accept its answer, so its connection is closed."""


class _Inlet:
    """The incoming body: counts its bytes and knows whether more will follow."""

    def __init__(self, receive: Receive):
        self._receive = receive
        self.more = True
        self.read = 0

    async def __call__(self) -> Message:
        """Receive the next part of the body."""
        message = await self._receive()
        self.more = message["type"] == "http.request" and message.get("more_body", False)
        self.read += len(message.get("body", b""))
        return message

    async def drain(self, left: int = _DRAINED) -> None:
        """Read the rest of a refused request, within limits.

        A client whose connection is cut while it sends would not see the reason.

        Parameters
        ----------
        left : int, default=_DRAINED
            Most bytes to read.
        """

        async def read() -> None:
            """Read until the body ends or the limit is reached."""
            nonlocal left
            while self.more and left > 0:
                left -= len((await self()).get("body", b""))

        with suppress(TimeoutError):
            await asyncio.wait_for(read(), _PATIENCE)


class Gate:
    """ASGI middleware around the whole application.

    Parameters
    ----------
    app : ASGIApp
        The application.
    settings : Settings
        Limits and addresses.
    cookies : Cookies
        Reads and writes sessions.
    who : callable
        Takes a session and an address; returns the person or None, and the address's project with the person's role.
        It is called in a thread.
    files : sequence of re.Pattern
        Addresses that accept a file; all others accept at most ``settings.max_body``.
    """

    def __init__(self, app: ASGIApp, settings: Settings, cookies: Cookies, who, files: Sequence[re.Pattern] = ()):
        self.app, self.settings, self.cookies, self.who, self.files = app, settings, cookies, who, files
        self._requests = 0
        # Simultaneous changes of people who have not signed in, by address.
        self._of_strangers: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request and pass it to the application."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # the application uses no other protocol, such as websockets
        inlet = _Inlet(receive)
        answer = _Answer(send, scope, inlet)
        self._requests += 1
        try:
            # The health check must answer even when the server is busy.
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
        except IsthmusError as error:  # the database with the person is not available
            if error.code != AWAY:
                raise
            log.error("workspace away", extra={"facts": {"path": scope["path"], "reason": str(error.__cause__)[:300]}})
            await answer.refuse(503, str(error), AWAY)
        finally:
            self._requests -= 1
            answer.note()

    async def _pass(self, scope: Scope, inlet: _Inlet, answer: _Answer) -> None:
        """Check host and session, and pass on a request according to its method and person."""
        headers = dict(scope["headers"])
        if not self.settings.answers_to(headers.get(b"host", b"").decode("latin-1")):
            await answer.refuse(421)
            return
        # Style sheets and the health check need no session, so they cost no access to the database.
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
        """Pass on a change by somebody who has not signed in: few at a time, and fewer from one address."""
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
            # Forget finished addresses, so that the counter does not grow.
            if not under_way[address]:
                del under_way[address]

    async def _pass_change(self, scope: Scope, headers: dict, session: Session, inlet: _Inlet, answer: _Answer) -> None:
        """Check the origin, the size and the token of a change, and pass it on."""
        if not _same_origin(scope, headers):
            await answer.refuse(403)
            return
        limit = self._limit(scope)
        if not _declared_size_fits(headers, limit):
            raise TooLarge
        seconds = _STRANGER_SECONDS if _is_stranger(scope) else None
        # A client can declare one size and send another, so received bytes are counted too.
        receive = _counted(_timed(inlet, seconds), limit)
        token = headers.get(HEADER, b"").decode("latin-1")
        # Forms without a script carry the token in the body, which is read only now.
        if not token:
            token, receive = await _token_in_form(headers, receive)
        if not self.cookies.csrf_holds(session, token):
            await answer.refuse(403)
            return
        await self.app(scope, receive, answer.send)

    def _limit(self, scope: Scope) -> int:
        """Return the largest allowed body in bytes, by the person and the address."""
        if _is_stranger(scope):
            return self.settings.max_stranger
        seen = scope["state"]["seen"]
        # Only owners can upload files, so only they may send large bodies.
        if seen is not None and seen[1] == "owner" and any(place.match(scope["path"]) for place in self.files):
            return self.settings.max_upload
        return self.settings.max_body

    async def _enter(self, scope: Scope, headers: dict[bytes, bytes], answer: _Answer) -> Session:
        """Find the session and the person, or start a session."""
        session = self.cookies.read(_cookie(headers, self.cookies.name))
        known, person, seen = session is not None, None, None
        session = session or self.cookies.new()
        if session.person or not self.settings.accounts:
            person, seen = await run_in_threadpool(self.who, session, scope["path"])
            if person is None:  # the session was ended elsewhere, or the account is closed
                known, session = False, self.cookies.new()
        if not known:
            answer.extra.append((b"set-cookie", self.cookies.header(session).encode()))
        state = scope.setdefault("state", {})
        # Pages find the person here and need not look them up again.
        state["session"], state["person"], state["seen"] = session, person, seen
        return session


class _Answer:
    """The outgoing answer: adds headers, can refuse the request, and writes its line in the log."""

    def __init__(self, send: Send, scope: Scope, inlet: _Inlet):
        self._send, self.scope, self._inlet = send, scope, inlet
        self.extra: list[tuple[bytes, bytes]] = []
        self.status, self.started = 0, time.perf_counter()

    async def send(self, message: Message) -> None:
        """Send a part of the answer; the first part gets the security headers."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = {name.lower() for name, _ in message["headers"]}
            headers = [*message["headers"], *(pair for pair in _HEADERS if pair[0] not in own)]
            if b"cache-control" not in own:
                headers.append((b"cache-control", b"no-store"))
            # A page that sets its own cookie, such as the sign-in, must not lose it to the cookie for newcomers.
            headers += [pair for pair in self.extra if pair[0] not in own]
            if self._inlet.more and _is_long(self.scope) and b"connection" not in own:
                # Only for people who have signed in is it worth reading the rest.
                if not _is_stranger(self.scope):
                    await self._inlet.drain()
                # Otherwise the server would continue to read the refused body.
                headers.append((b"connection", b"close"))
            spent = 1000 * (time.perf_counter() - self.started)
            headers.append((b"server-timing", f"app;dur={spent:.1f}".encode()))
            message = {**message, "headers": headers}
        try:
            async with asyncio.timeout(_WRITE_SECONDS):
                await self._send(message)
        except TimeoutError:
            raise Unread from None

    async def refuse(self, status: int, words: str = "", code: str = "refused") -> None:
        """Answer with an error, unless an answer has begun."""
        if self.status:
            return  # the application has begun its answer
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
        """Write the request into the log."""
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
    """Return the value of a cookie, or None."""
    for part in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return None


def _same_origin(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    """Return whether the browser states that a request comes from our own page; other clients state nothing."""
    if headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
        return False
    origin = headers.get(b"origin")
    # Clients other than browsers send no origin; their token is checked afterwards.
    if origin is None:
        return True
    try:
        return urlsplit(origin.decode("latin-1")).netloc.lower() == headers.get(b"host", b"").decode("latin-1").lower()
    except ValueError:
        return False


def _declared_size_fits(headers: dict[bytes, bytes], limit: int) -> bool:
    """Return whether the declared length of the body is within a limit."""
    declared = headers.get(b"content-length", b"0")
    # More than 15 digits cannot be a size; int() of very many digits would be slow.
    return declared.isdigit() and len(declared) < 16 and int(declared) <= limit


def _is_stranger(scope: Scope) -> bool:
    """Return whether nobody has signed in for a request."""
    return (scope.get("state") or {}).get("person") is None


def _is_long(scope: Scope) -> bool:
    """Return whether the body may be longer than the server's buffer."""
    headers = dict(scope["headers"])
    return b"transfer-encoding" in headers or not _declared_size_fits(headers, _BUFFER)


def _timed(inlet: _Inlet, seconds: float | None) -> Receive:
    """Return the same body, which raises an error if it arrives too slowly.

    The limit applies to the whole body with ``seconds``, else to each part of it.
    """
    ends = None if seconds is None else time.monotonic() + seconds

    async def timed() -> Message:
        """Receive the next part in time."""
        if not inlet.more:  # after the body, the next message is the disconnect, which may come at any time
            return await inlet()
        try:
            return await asyncio.wait_for(inlet(), _IDLE_SECONDS if ends is None else max(0.0, ends - time.monotonic()))
        except TimeoutError:
            raise TooSlow from None

    return timed


def _counted(receive: Receive, limit: int) -> Receive:
    """Return the same body, which raises an error if it exceeds the limit."""
    seen = 0

    async def counted() -> Message:
        """Receive the next part and add up its length."""
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise TooLarge
        return message

    return counted


async def _token_in_form(headers: dict[bytes, bytes], receive: Receive) -> tuple[str, Receive]:
    """Return the token of a form, and a body that can be read again."""
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
        """Return the body that has been read, then further messages."""
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return fields.get(FORM_FIELD, [""])[0], again
