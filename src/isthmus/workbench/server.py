"""Starting and stopping: the server, its worker process, and what is said at the door."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from isthmus._utils import plural
from isthmus.exceptions import UsageError
from isthmus.features.languages import identify_language
from isthmus.workbench.app import make_app
from isthmus.workbench.service import add_sample, find_sample
from isthmus.workbench.settings import MIB, Settings, check_proxies, is_every_address, is_loopback, load_secret
from isthmus.workspace.worker import start_worker, stop_worker

log = logging.getLogger("isthmus.workbench")
_WATCH = 2.0  # seconds between two looks at the worker
_BACKLOG = 2_048  # connections that wait to be taken
_LOG_BYTES = 20 * MIB
_PATIENCE = 10  # seconds for requests under way when the server stops


def serve(
    workspace: Any,
    host: str = "127.0.0.1",
    port: int = 8765,
    *,
    accounts: bool = False,
    https: bool = False,
    names: Sequence[str] = (),
    max_upload: int = 200 * MIB,
    sample: bool = False,
    proxies: Sequence[str] = (),
    log_file: str | Path | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Open the workbench over a workspace, until it is asked to stop.

    Parameters
    ----------
    workspace : Workspace
        As :func:`isthmus.workspace.open_workspace` gives it.
    host, port : where to listen
        An address that other machines can reach demands accounts.
    accounts : bool, default=False
        Demand accounts on this machine's own address, too: for a server behind a proxy.
    https : bool, default=False
        The proxy in front speaks https; cookies are sent over nothing else.
    names : sequence of str, default=()
        Names under which the server is reached; others are not answered.
    max_upload : int, default=200 MiB
        Bytes of a file that is sent.
    sample : bool, default=False
        Have the bundled sample; it is labelled in the background.
    proxies : sequence of str, default=()
        Addresses (or networks) of proxies whose word about where a request came from is taken. With ``https`` and
        none named, a proxy on this machine.
    log_file : path, optional
        Where the log goes, a line of JSON an event; "-" is standard output. If omitted, ``logs/serve.log`` in the
        workspace.
    say : callable, default=print
        Takes the lines for the person who started the server.

    See Also
    --------
    make_app : The application alone, for a server of your own.
    isthmus.workspace.open_workspace : Opens the workspace.
    """
    settings = Settings(
        host=host,
        port=port,
        accounts=accounts or not is_loopback(host),
        secret=load_secret(workspace.folder),
        max_upload=max_upload,
        https=https,
        names=tuple(name.lower() for name in names),
        proxies=check_proxies(proxies),
    )
    address = public_address(settings)
    with ExitStack() as open_things:
        # Bound before anything is said or made: on a taken port somebody else would answer at the address.
        sockets = [open_things.enter_context(one) for one in listen(host, port)]
        place = Path(log_file or workspace.folder / "logs" / "serve.log")
        worker_log = open_things.enter_context(open_log(place, say))
        if sample:
            prepare_sample(workspace, settings)
        if settings.accounts:
            greet_owners(workspace, address, say)
        config = server_config(make_app(workspace, settings), settings)
        threading.Thread(target=load_languages, daemon=True).start()
        with Worker(workspace, worker_log):
            say(f"Isthmus workbench: {address}  (stop with Ctrl+C)")
            log.info("started", extra={"facts": {"address": address, "accounts": settings.accounts}})
            with staying_for_the_end():
                uvicorn.Server(config).run(sockets)
        log.info("stopped")


def server_config(app: Any, settings: Settings) -> uvicorn.Config:
    """How the server speaks: bounded heads and bodies, and the client's address from named proxies alone."""
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE,
        proxy_headers=settings.https or bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies) or None,
        http=bounded_protocol(settings),
        ws="none",
        h11_max_incomplete_event_size=MAX_HEAD,
    )


def load_languages() -> None:
    """Load the model of languages in the background: it takes a second or two."""
    identify_language("a text to warm up with")
    log.info("language model loaded")


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen on every address of the host, or a sentence that says why that cannot be."""
    found: list[socket.socket] = []
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, place in dict.fromkeys(places):
            found.append(socket.socket(family, kind, protocol))
            if os.name == "posix":
                found[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                found[-1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            found[-1].bind(place)
            found[-1].listen(_BACKLOG)
    except OSError as error:
        for one in found:
            one.close()
        if error.errno == errno.EADDRINUSE:
            reason = "is taken by another program, perhaps another workbench; choose another port with --port"
        else:
            reason = f"cannot be listened on ({error.strerror or error}); choose another with --host and --port"
        raise UsageError(f"{host}:{port} {reason}.") from None
    return found


@contextmanager
def staying_for_the_end() -> Iterator[None]:
    """The server hands on the signal that ended it; the process must live until the worker has ended, too."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


def public_address(settings: Settings) -> str:
    host = "localhost" if is_every_address(settings.host) else settings.host
    if settings.names:
        host = settings.names[0]
    host = f"[{host}]" if ":" in host else host
    return f"https://{host}" if settings.https else f"http://{host}:{settings.port}"


def greet_owners(workspace: Any, address: str, say: Callable[[str], None]) -> None:
    """The link for the first account; or, where there are accounts, which projects none of them can see."""
    if not workspace.people.has_accounts():
        token = workspace.people.invite("owner", by=workspace.people.local().id)
        say(f"There are no accounts yet. Create the first one here (the link works once): {address}/join/{token}")
        return
    hidden = workspace.projects.without_owner()
    if hidden:
        names = ", ".join(repr(row.name) for row in hidden[:3]) + (", …" if len(hidden) > 3 else "")
        say(
            f"warning: nobody who can sign in owns {plural(len(hidden), 'project')} ({names}). To hand them over: "
            "isthmus workspace hand-over --to NAME"
        )


def sample_owner(workspace: Any, settings: Settings) -> Any:
    """Who gets the sample: the oldest owner's account; before there is one, `local`."""
    if not settings.accounts:
        return workspace.people.local()
    owners = [row for row in workspace.people.list() if row.role == "owner" and row.password_hash and not row.disabled]
    return min(owners, key=lambda row: row.created_at, default=None) or workspace.people.local()


def prepare_sample(workspace: Any, settings: Settings) -> None:
    person = sample_owner(workspace, settings)
    if find_sample(workspace, person.id) is None:
        add_sample(workspace, by=person.id)


class Worker:
    """The worker process, started again if it dies, ended with the server."""

    def __init__(self, workspace: Any, log_file: Any = None):
        self._workspace, self._log_file, self._leaving = workspace, log_file, threading.Event()
        self._thread = threading.Thread(target=self._watch, name="worker-watch", daemon=True)

    def __enter__(self) -> Worker:
        self.process = start_worker(self._workspace, log_file=self._log_file)
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._leaving.set()
        self._thread.join()
        stop_worker(self.process)

    def _watch(self) -> None:
        while not self._leaving.wait(_WATCH):
            if self.process.poll() is not None:
                log.error("worker ended", extra={"facts": {"code": self.process.returncode}})
                self.process = start_worker(self._workspace, log_file=self._log_file)


# -- Logs as lines of JSON: one line an event, ready for any collector


class LineFormatter(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        facts = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            facts["trace"] = self.formatException(record.exc_info)
        return json.dumps(facts, ensure_ascii=True, default=str)


class LogFile(RotatingFileHandler):
    """A log that turns to standard error for a line that its disk does not take."""

    def handleError(self, record: logging.LogRecord) -> None:  # the name that logging calls
        """Say the line elsewhere."""
        with suppress(Exception):
            sys.stderr.write(self.format(record) + "\n")


@contextmanager
def open_log(place: Path, say: Callable[[str], None]) -> Iterator[Any]:
    """Send the server's log to a file (or, for "-", standard output), and give one for the worker's."""
    if str(place) == "-":
        log_lines(logging.StreamHandler(sys.stdout))
        yield None
        return
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        handler = LogFile(place, maxBytes=_LOG_BYTES, backupCount=3, encoding="utf-8")
        worker_log = place.with_name("worker.log").open("ab")
    except OSError as error:
        raise UsageError(f"The log {str(place)!r} cannot be written ({error.strerror}); name another with --log.",
                         code="output-unwritable") from None  # fmt: skip
    with worker_log:
        say(f"Log: {place}")
        log_lines(handler)
        try:
            yield worker_log
        finally:
            handler.close()


def log_lines(handler: logging.Handler) -> None:
    """Send what the server notes to a handler, as lines."""
    handler.setFormatter(LineFormatter())
    for name, least in (("isthmus", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(least)
        logger.propagate = False


# -- Connections below the application: how many there may be, and how long the headers of a request may take


MAX_HEAD = 32 * 2**10  # bytes of a request's headers


def bounded_protocol(settings: Settings) -> type[asyncio.Protocol]:
    """uvicorn's HTTP protocol with the limits of the settings, for ``uvicorn.Config(http=…)``."""

    class BoundedProtocol(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > settings.max_connections:
                transport.abort()
                return
            self._watch_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget_deadline()
            super().connection_lost(exc)

        def _watch_head(self) -> None:
            if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
                self._forget_deadline()
            elif self._deadline is None:
                self._deadline = self.loop.call_later(settings.head_seconds, self.transport.abort)

        def _forget_deadline(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return BoundedProtocol
