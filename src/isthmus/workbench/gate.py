"""Checks in front of the application: host, session, origin, token, and how much a client may send and how slowly."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from isthmus.exceptions import IsthmusError
from isthmus.workbench.sessions import Cookies
from isthmus.workbench.settings import Settings
from isthmus.workspace.database import AWAY

log = logging.getLogger("isthmus.workbench")
SAFE = ("GET", "HEAD", "OPTIONS")
HEADER = "x-csrf-token"  # where the token of a change is expected
# Pages load only files of this server, so that injected markup cannot load or send data elsewhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
# Sentence for each status with which the gate refuses requests.
_WORDS = {
    408: "The rest of the request did not arrive in time; send it again.",
    403: "This change did not come from a page of this workbench. Load the page again and repeat it.",
    413: "The request is larger than this server accepts.",
    421: "This server does not answer to that name.",
    503: "The server is busy; try again in a moment.",
}
_DRAINED, _PATIENCE = 64 * 2**20, 5.0  # bytes and seconds for which the body of a refused request is still read
_WRITE_SECONDS = 60.0  # seconds within which a client must accept one part of an answer
# Seconds: for the whole body of somebody not signed in, and between two parts of any other body.
_STRANGER_SECONDS, _IDLE_SECONDS = 10.0, 60.0
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Refused(HTTPException):
    """A request that the gate refuses; FastAPI also passes it on where it is raised while a body is read."""

    def __init__(self, status: int):
        super().__init__(status, _WORDS[status])


class Body:
    """The incoming body, called as an ASGI ``receive``: it has a largest size and must arrive in time.

    Parameters
    ----------
    receive : Receive
        Function of the server that returns the next part.
    """

    def __init__(self, receive: Receive):
        self._receive = receive
        self.more, self.size = True, 0
        # Largest size in bytes, and the time of the event loop at which the whole body must be there.
        self.limit, self.ends = math.inf, math.inf

    async def __call__(self) -> Message:
        """Receive the next part.

        Returns
        -------
        Message
            Message of the server.

        Raises
        ------
        Refused
            If the body is too large or too slow.
        """
        if not self.more:  # after the body, the next message is the disconnect, which may come at any time
            return await self._receive()
        try:
            async with asyncio.timeout_at(min(self.ends, asyncio.get_running_loop().time() + _IDLE_SECONDS)):
                message = await self._receive()
        except TimeoutError:
            raise Refused(408) from None
        self.more = message.get("more_body", False)
        self.size += len(message.get("body", b""))
        # A client can declare one size and send another, so received bytes are counted, too.
        if self.size > self.limit:
            raise Refused(413)
        return message

    async def drain(self, most: int) -> None:
        """Read the rest of a refused request: a client whose connection is cut while it sends sees no reason.

        Parameters
        ----------
        most : int
            Most bytes of the whole body to read.
        """
        self.limit, self.ends = most, asyncio.get_running_loop().time() + _PATIENCE
        with suppress(Refused):
            while self.more:
                await self()


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

    def __init__(
        self, app: ASGIApp, settings: Settings, cookies: Cookies, who: Callable, files: Sequence[re.Pattern] = ()
    ):
        self.app, self.settings, self.cookies, self.who, self.files = app, settings, cookies, who, files
        self._requests = 0
        # Simultaneous changes of people who have not signed in, by address.
        self._of_strangers: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, pass it to the application and log it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope.setdefault("state", {}).update(session=None, person=None, seen=None)
        request, body, facts, started = Request(scope), Body(receive), {"status": 0}, time.perf_counter()
        new_cookie: dict[str, str] = {}

        async def answer(message: Message) -> None:
            """Send a part of the answer; the first part gets the security headers."""
            if message["type"] == "http.response.start":
                facts["status"] = message["status"]
                message = {**message, "headers": list(message["headers"])}
                headers = MutableHeaders(scope=message)
                # A page that sets its own cookie, such as the sign-in, must not lose it to the cookie for newcomers.
                for name, value in {**_HEADERS, **new_cookie}.items():
                    headers.setdefault(name, value)
                headers["server-timing"] = f"app;dur={1000 * (time.perf_counter() - started):.1f}"
                # The rest of a body that the application has not read is read here, but not without end.
                await body.drain(self.settings.max_stranger if request.state.person is None else _DRAINED)
                if body.more:
                    headers["connection"] = "close"
            async with asyncio.timeout(_WRITE_SECONDS):
                await send(message)

        self._requests += 1
        try:
            # The health check must answer even when the server is busy.
            if self._requests > self.settings.max_requests and scope["path"] != "/health":
                raise Refused(503)
            new_cookie |= await self._enter(request)
            async with self._turn(request):
                await self.app(scope, self._checked(request, body), answer)
        except HTTPException as refusal:
            if not facts["status"]:
                await refuse(request, refusal.status_code, refusal.detail)(scope, body, answer)
        except IsthmusError as error:  # the database with the person is not available
            if error.code != AWAY:
                raise
            log.error("workspace away", extra={"facts": {"path": scope["path"], "reason": str(error.__cause__)[:300]}})
            await refuse(request, 503, str(error), AWAY)(scope, body, answer)
        except TimeoutError:
            log.warning("answer not read", extra={"facts": {"path": scope["path"]}})
        finally:
            self._requests -= 1
            about: dict[str, Any] = {"method": scope["method"], "path": scope["path"], "read": body.size, **facts}
            about |= {"ms": round(1000 * (time.perf_counter() - started), 1)}
            log.info("request", extra={"facts": about | {"person": getattr(request.state.person, "id", None)}})

    async def _enter(self, request: Request) -> dict[str, str]:
        """Find the session and the person for a request; return the header with a new session's cookie, if any."""
        if not self.settings.answers_to(request.headers.get("host", "")):
            raise Refused(421)
        # Style sheets and the health check need no session, so they cost no access to the database.
        if request.url.path.startswith("/static/") or request.url.path == "/health":
            return {}
        state, known = request.state, self.cookies.read(request.cookies.get(self.cookies.name))
        state.session = known or self.cookies.new()
        if state.session.person or not self.settings.accounts:
            # Pages find the person here and need not look them up again.
            state.person, state.seen = await run_in_threadpool(self.who, state.session, request.url.path)
            if state.person is None:  # the session was ended elsewhere, or the account is closed
                known, state.session = None, self.cookies.new()
        return {} if known else {"set-cookie": self.cookies.header(state.session)}

    @asynccontextmanager
    async def _turn(self, request: Request) -> AsyncIterator[None]:
        """Count a change by somebody who has not signed in: few at a time, and fewer from one address."""
        address, under_way = request.client.host if request.client else "", self._of_strangers
        if request.method in SAFE or request.state.person is not None:
            yield
            return
        under_way[address] += 1
        try:
            if (
                under_way[address] > self.settings.max_stranger_requests
                or under_way.total() > self.settings.max_strangers
            ):
                raise Refused(503)
            yield
        finally:
            under_way[address] -= 1
            # Forget finished addresses, so that the counter does not grow.
            under_way += Counter()

    def _checked(self, request: Request, body: Body) -> Body:
        """Check the origin, the size and the token of a change, and return its body."""
        if request.method in SAFE:
            return body
        if not same_origin(request, https=self.settings.https):
            raise Refused(403)
        body.limit = self._limit(request)
        if int(request.headers.get("content-length", 0)) > body.limit:
            raise Refused(413)
        if request.state.person is None:
            body.ends = asyncio.get_running_loop().time() + _STRANGER_SECONDS
        if not self.cookies.csrf_holds(request.state.session, request.headers.get(HEADER)):
            raise Refused(403)
        return body

    def _limit(self, request: Request) -> int:
        """Return the largest allowed body in bytes, by the person and the address."""
        if request.state.person is None:
            return self.settings.max_stranger
        # Only owners can upload files, so only they may send large bodies.
        may_upload = request.state.seen is not None and request.state.seen[1] == "owner"
        if may_upload and any(place.match(request.url.path) for place in self.files):
            return self.settings.max_upload
        return self.settings.max_body


def refuse(request: Request, status: int, detail: str, code: str = "refused") -> Response:
    """Return the answer to a refused request: JSON for programs, else one sentence.

    Parameters
    ----------
    request : Request
        The request.
    status : int
        Status of the answer.
    detail : str
        Sentence with the reason.
    code : str, default="refused"
        Stable code of the error.

    Returns
    -------
    Response
        The answer.
    """
    headers = {"connection": "close"} | ({"retry-after": "5"} if status == 503 else {})
    if request.url.path.startswith("/api"):
        content = json.dumps({"detail": detail, "code": code})
        return Response(content, status, headers, media_type="application/json")
    return Response(detail, status, headers, media_type="text/plain")


def same_origin(request: Request, *, https: bool = False) -> bool:
    """Return whether the browser states that a request comes from our own page; other clients state nothing.

    Parameters
    ----------
    request : Request
        The request.
    https : bool, default=False
        Whether a proxy speaks https to the browser and http to this server.

    Returns
    -------
    bool
        False if the request comes from a page of another scheme, host or port.
    """
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin, scheme = request.headers.get("origin"), "https" if https else request.url.scheme
    # Clients other than browsers send no origin; their token is checked afterwards.
    return origin is None or _place(origin) == _place(f"{scheme}://{request.headers.get('host', '')}")


def _place(address: str) -> tuple | None:
    """Return the scheme, host and port of an address, or None if it has none."""
    try:
        parts = urlsplit(address.lower())
        return (parts.scheme, parts.hostname, parts.port or _DEFAULT_PORTS[parts.scheme])
    except (KeyError, ValueError):
        return None
