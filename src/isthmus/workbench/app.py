"""The application: security checks, pages, JSON interface, and the answers to errors."""

from __future__ import annotations

import errno
import json
import logging
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources
from typing import Any
from urllib.parse import quote

import anyio.to_thread
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.params import File
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

import isthmus
from isthmus._utils import to_plain
from isthmus.exceptions import IsthmusError
from isthmus.report.page import report_style
from isthmus.workbench.context import Bench, SignInNeeded, known_fields
from isthmus.workbench.gate import Gate
from isthmus.workbench.render import go, page, wants_part
from isthmus.workbench.routes import accounts, data, groups, projects, review, runs
from isthmus.workbench.settings import Settings
from isthmus.workspace.database import AWAY, AWAY_SENTENCE

log = logging.getLogger("isthmus.workbench")
SUBJECTS = (accounts, projects, data, runs, review, groups)
# Threads that answer requests.
THREADS = 4
# Seconds after which a client should repeat a request that failed for lack of a database or disk space.
RETRY = {"Retry-After": "5"}
LEAST_FREE = 2**20  # bytes of free disk space below which the next answers would fail
# HTTP status by error code; every other error of the package is a 422.
_STATUS = {"not-found": 404, "conflict": 409, "too-large": 413, AWAY: 503}
# Errors of the disk, for which the request is not responsible.
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
_TITLES = {403: "Not allowed", 404: "Not found", 409: "Already changed", 413: "Too large", 429: "Too many attempts",
           503: "Not available"}  # fmt: skip


class PlainJson(JSONResponse):
    """JSON in ASCII, without NaN and infinity, which browsers cannot read."""

    def render(self, content: Any) -> bytes:
        """Return content as compact JSON.

        Parameters
        ----------
        content : Any
            Any combination of dicts, lists, numbers and texts.

        Returns
        -------
        bytes
            JSON in ASCII.
        """
        return json.dumps(to_plain(content), ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def make_app(workspace: Any, settings: Settings | None = None) -> Gate:
    """Build the web application over a workspace.

    Parameters
    ----------
    workspace : Workspace
        Workspace that :func:`isthmus.workspace.open_workspace` returned.
    settings : Settings, optional
        Settings of the server. By default, one person uses it on this machine without signing in.

    Returns
    -------
    Gate
        ASGI application for any ASGI server.

    See Also
    --------
    serve : Run the application with a server and a worker.

    Examples
    --------
    >>> import tempfile
    >>> from isthmus.workbench import make_app
    >>> from isthmus.workspace import open_workspace
    >>> with tempfile.TemporaryDirectory() as folder, open_workspace(folder) as workspace:
    ...     app = make_app(workspace)
    ...     app.settings.accounts
    False
    """
    settings = settings or Settings()
    bench = Bench(workspace, settings)
    app = FastAPI(
        title="Isthmus workbench",
        version=isthmus.__version__,
        description="Everything the pages do. Get /api/session first: it hands out the cookie and the token that every "
        "change must carry in the header X-CSRF-Token.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # the documentation page loads scripts from another server
        redoc_url=None,
        default_response_class=PlainJson,
        lifespan=few_threads,
    )
    app.state.bench = bench
    for subject in SUBJECTS:
        app.include_router(subject.api, dependencies=[Depends(known_fields)])
        app.include_router(subject.pages)
    add_static(app)
    add_health(app)
    add_errors(app)
    return Gate(app, settings, bench.cookies, bench.enter, file_addresses())


def file_addresses() -> list[re.Pattern]:
    """Return the addresses that accept a file, as their routes declare it.

    Returns
    -------
    list[re.Pattern]
        Patterns of the addresses.
    """
    routes = [route for subject in SUBJECTS for route in subject.api.routes if isinstance(route, APIRoute)]
    return [
        route.path_regex
        for route in routes
        if any(isinstance(part.field_info, File) for part in route.dependant.body_params)
    ]


@asynccontextmanager
async def few_threads(app: FastAPI) -> AsyncIterator[None]:
    """Limit the threads that answer requests.

    More threads would not be faster, because the interpreter runs one at a time.

    Parameters
    ----------
    app : FastAPI
        The application.

    Yields
    ------
    AsyncIterator[None]
        Nothing; the limit applies until the application ends.
    """
    anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
    yield


def add_static(app: FastAPI) -> None:
    """Serve style sheets and scripts; the report's style sheet comes from the report's package.

    Parameters
    ----------
    app : FastAPI
        The application.
    """

    @app.get("/static/report.css", include_in_schema=False)
    def report_sheet() -> Response:
        """Return the style sheet of the report."""
        return Response(report_style(), media_type="text/css", headers={"cache-control": "no-cache"})

    app.mount("/static", Static(directory=str(resources.files("isthmus.workbench") / "static")), name="static")


def add_health(app: FastAPI) -> None:
    """Add the address ``/health`` for monitoring.

    Parameters
    ----------
    app : FastAPI
        The application.
    """

    @app.get("/health", include_in_schema=False)
    def health() -> Response:
        """Report whether the database answers, the worker runs and the disk has space."""
        workspace = app.state.bench.workspace
        facts: dict[str, Any] = {"status": "ok", "version": isthmus.__version__}
        try:
            workspace.people.has_accounts()  # raises an error if the database does not answer
            facts["worker"] = workspace.worker_runs()
            if shutil.disk_usage(workspace.folder).free < LEAST_FREE:
                return PlainJson({**facts, "status": "disk full"}, status_code=503, headers=RETRY)
            return PlainJson(facts)
        except (IsthmusError, OSError) as error:
            log.error("workspace away", extra={"facts": {"path": "/health", "reason": reason_of(error)}})
            return PlainJson({**facts, "status": "workspace away"}, status_code=503, headers=RETRY)


class Static(StaticFiles):
    """Static files that browsers cache but check for changes on each request."""

    def file_response(self, *args: Any, **options: Any) -> Response:
        """Return a file with the header that makes browsers check for changes.

        Parameters
        ----------
        *args : Any
            Arguments of the base class.
        **options : Any
            Options of the base class.

        Returns
        -------
        Response
            The response.
        """
        response = super().file_response(*args, **options)
        response.headers["cache-control"] = "no-cache"
        return response


def add_errors(app: FastAPI) -> None:
    """Answer each kind of error with one sentence: JSON for the API, plain text for parts of pages, else a page.

    Parameters
    ----------
    app : FastAPI
        The application.
    """

    @app.exception_handler(SignInNeeded)
    def to_sign_in(request: Request, error: SignInNeeded) -> Response:
        """Redirect to the sign-in page."""
        if request.url.path.startswith("/api"):
            return answer(request, 401, "Sign in first: POST /api/session.", "sign-in-needed")
        return go(request, "/sign-in?next=" + quote(request.url.path, safe="/"))

    @app.exception_handler(HTTPException)
    def refused(request: Request, error: HTTPException) -> Response:
        """Answer a refused request."""
        detail = "There is no page at this address." if error.detail == "Not Found" else str(error.detail)
        return answer(request, error.status_code, detail, "refused", error.headers)

    @app.exception_handler(RequestValidationError)
    def unreadable(request: Request, error: RequestValidationError) -> Response:
        """Answer a request with invalid parameters."""
        said = "; ".join(f"{'.'.join(str(part) for part in row['loc'][1:])}: {row['msg']}" for row in error.errors())
        # Each invalid field adds a part, so the length of the sentence is limited.
        return answer(request, 422, said[:2_000] or "The request cannot be read.", "bad-parameter")

    @app.exception_handler(IsthmusError)
    def wrong(request: Request, error: IsthmusError) -> Response:
        """Answer an error of the package."""
        # A writer reports a full disk as an error of its own; the disk's error is its context.
        if error.code == AWAY or getattr(error.__context__, "errno", None) in _DISK:
            return away(request, error)
        # Messages must not reveal where the workspace is stored.
        detail = str(error).replace(str(app.state.bench.workspace.folder), "the workspace")
        return answer(request, _STATUS.get(error.code, 422), detail, error.code)

    @app.exception_handler(OSError)
    def no_room(request: Request, error: OSError) -> Response:
        """Answer an error of the operating system, such as a full disk."""
        return away(request, error) if error.errno in _DISK else broken(request, error)

    def away(request: Request, error: Exception) -> Response:
        """Answer a request while the database or the disk is not available."""
        log.error("workspace away", extra={"facts": {"path": request.url.path, "reason": reason_of(error)}})
        sentence = str(error) if getattr(error, "code", "") == AWAY else AWAY_SENTENCE
        return answer(request, 503, sentence, AWAY, RETRY)

    @app.exception_handler(Exception)
    def broken(request: Request, error: Exception) -> Response:
        """Answer an unexpected error, with details only in the log."""
        log.error("failed", exc_info=error, extra={"facts": {"path": request.url.path}})
        return answer(request, 500, "An internal error occurred; see the server's log for details.", "failed")


def reason_of(error: BaseException) -> str:
    """Return the cause of an error in one line for the log.

    Parameters
    ----------
    error : BaseException
        The error.

    Returns
    -------
    str
        At most 300 characters.
    """
    # SQLAlchemy stores the database's own error as ``orig``.
    found = error.__cause__ or error
    return " ".join(str(getattr(found, "orig", None) or found).split())[:300]


def answer(request: Request, status: int, detail: str, code: str, headers: Any = None) -> Response:
    """Return an error in the form that the client can read.

    Parameters
    ----------
    request : Request
        Request of the browser or client.
    status : int
        HTTP status.
    detail : str
        Sentence for people.
    code : str
        Stable code for scripts.
    headers : Any, optional
        Additional headers.

    Returns
    -------
    Response
        JSON, plain text or a page.
    """
    if request.url.path.startswith("/api"):
        return PlainJson({"detail": detail, "code": code}, status_code=status, headers=headers)
    if wants_part(request) or request.state.session is None:
        return PlainTextResponse(detail.encode("utf-8", "replace"), status_code=status, headers=headers)
    response = page(request, "error", status=status, title=_TITLES.get(status, "Request failed"), detail=detail)
    response.headers.update(headers or {})
    return response
