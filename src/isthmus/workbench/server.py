"""Start and stop the server with its worker process, its log and its limits on connections."""

from __future__ import annotations

import errno
import json
import logging
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

import uvicorn

from isthmus._utils import plural
from isthmus.exceptions import UsageError
from isthmus.features.languages import identify_language
from isthmus.workbench.app import make_app
from isthmus.workbench.sample import NAME, add_sample
from isthmus.workbench.settings import MIB, Settings, check_proxies, is_every_address, is_loopback, load_secret
from isthmus.workspace.worker import start_worker, stop_worker

log = logging.getLogger("isthmus.workbench")
_WATCH = 2.0  # seconds between two checks whether the worker runs
_BACKLOG = 2_048  # connections that may wait to be accepted
# Size in bytes from which a log file is replaced by a new one.
_LOG_BYTES = 20 * MIB
_PATIENCE = 10  # seconds that running requests get when the server stops
MAX_HEAD = 32 * 2**10  # largest size of a request's headers in bytes


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
    """Serve the workbench of a workspace until the process is stopped.

    Parameters
    ----------
    workspace : Workspace
        Workspace that :func:`isthmus.workspace.open_workspace` returned.
    host : str, default="127.0.0.1"
        Address to listen on. An address that other machines can reach requires accounts.
    port : int, default=8765
        Port to listen on.
    accounts : bool, default=False
        Whether to require accounts on this machine's own address too, for a server behind a proxy.
    https : bool, default=False
        Whether the proxy in front speaks https; cookies are then sent only over https.
    names : sequence of str, default=()
        Names under which the server is reached; requests for other names are refused.
    max_upload : int, default=200 MiB
        Largest uploaded file in bytes.
    sample : bool, default=False
        Whether to add the bundled sample as a project; the worker labels it in the background.
    proxies : sequence of str, default=()
        Addresses or networks of proxies that are trusted to report a client's address. With ``https`` and no
        address, a proxy on this machine is trusted.
    log_file : path, optional
        File for the log, with one line of JSON per event; "-" is standard output. If omitted, ``logs/serve.log`` in
        the workspace.
    say : callable, default=print
        Receives the lines for the person who starts the server.

    See Also
    --------
    make_app : Build only the application, for another server.
    isthmus.workspace.open_workspace : Open the workspace.
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
        # Bind first: if another program uses the port, its page would answer at the printed address.
        sockets = [open_things.enter_context(one) for one in listen(host, port)]
        place = Path(log_file or workspace.folder / "logs" / "serve.log")
        worker_log = open_things.enter_context(open_log(place, say))
        if sample:
            prepare_sample(workspace, settings)
        if settings.accounts:
            greet_owners(workspace, address, say)
        server = make_server(make_app(workspace, settings), settings)
        threading.Thread(target=load_languages, daemon=True).start()
        with Worker(workspace, worker_log):
            say(f"Isthmus workbench: {address}  (stop with Ctrl+C)")
            log.info("started", extra={"facts": {"address": address, "accounts": settings.accounts}})
            with staying_for_the_end():
                server.run(sockets)
        log.info("stopped")


def make_server(app: Any, settings: Settings) -> uvicorn.Server:
    """Return uvicorn with limits on headers and connections; client addresses come only from trusted proxies.

    Parameters
    ----------
    app : Any
        The application.
    settings : Settings
        Settings of the workbench.

    Returns
    -------
    uvicorn.Server
        The server.
    """
    idle: set[tuple] = set()

    async def drop_idle() -> None:
        """Close connections on which no request has arrived since the last call."""
        # uvicorn limits the time between two requests, but not the time within which headers must arrive.
        connections: set[Any] = {*server.server_state.connections}
        found = {(one, one.cycle) for one in connections if not _is_answering(one)}
        for connection, _ in idle & found:
            connection.transport.abort()
        idle.clear()
        idle.update(found)

    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE,
        proxy_headers=settings.https or bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies) or None,
        http="h11",
        ws="none",
        h11_max_incomplete_event_size=MAX_HEAD,
        limit_concurrency=settings.max_connections,
        timeout_notify=round(settings.head_seconds),
        callback_notify=drop_idle,
    )
    server = uvicorn.Server(config)
    return server


def _is_answering(connection: Any) -> bool:
    """Return whether a request is under way on a connection."""
    return connection.cycle is not None and not connection.cycle.response_complete


def load_languages() -> None:
    """Load the language model in the background, because that takes one or two seconds."""
    identify_language("a text to warm up with")
    log.info("language model loaded")


def listen(host: str, port: int) -> list[socket.socket]:
    """Open sockets on every address of a host.

    Parameters
    ----------
    host : str
        Name or address.
    port : int
        Port.

    Returns
    -------
    list[socket.socket]
        Listening sockets.

    Raises
    ------
    UsageError
        If an address is taken or cannot be used.
    """
    found: list[socket.socket] = []
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, place in dict.fromkeys(places):
            # Two addresses of one name share a port, also if the system chooses it.
            taken = found[0].getsockname()[1] if found else port
            found.append(socket.create_server((place[0], taken), family=family, backlog=_BACKLOG))
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
    """Ignore the signal that uvicorn raises again, so that the process lives until the worker has ended.

    Yields
    ------
    None
        Nothing.
    """
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


def public_address(settings: Settings) -> str:
    """Return the address under which people reach the server.

    Parameters
    ----------
    settings : Settings
        Settings of the workbench.

    Returns
    -------
    str
        Address with its protocol.
    """
    host = "localhost" if is_every_address(settings.host) else settings.host
    if settings.names:
        host = settings.names[0]
    host = f"[{host}]" if ":" in host else host
    return f"https://{host}" if settings.https else f"http://{host}:{settings.port}"


def greet_owners(workspace: Any, address: str, say: Callable[[str], None]) -> None:
    """Print the link for the first account, or a warning about projects without an owner who can sign in.

    Parameters
    ----------
    workspace : Any
        Open workspace.
    address : str
        Address of the server.
    say : Callable[[str], None]
        Receives the lines.
    """
    # The first account cannot be invited by anybody, so the terminal shows its link.
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
    """Return the owner of the sample: the oldest owner with an account, else the local person.

    Parameters
    ----------
    workspace : Any
        Open workspace.
    settings : Settings
        Settings of the workbench.

    Returns
    -------
    Any
        The person.
    """
    if not settings.accounts:
        return workspace.people.local()
    owners = [row for row in workspace.people.list() if row.role == "owner" and row.password_hash and not row.disabled]
    return min(owners, key=lambda row: row.created_at, default=None) or workspace.people.local()


def prepare_sample(workspace: Any, settings: Settings) -> None:
    """Add the sample project, unless its owner has it already.

    Parameters
    ----------
    workspace : Any
        Open workspace.
    settings : Settings
        Settings of the workbench.
    """
    person = sample_owner(workspace, settings)
    if NAME not in [row.name for row in workspace.projects.list(person.id)]:
        add_sample(workspace, by=person.id)


class Worker:
    """Run the worker process and restart it if it dies."""

    def __init__(self, workspace: Any, log_file: Any = None):
        self._workspace, self._log_file, self._leaving = workspace, log_file, threading.Event()
        self._thread = threading.Thread(target=self._watch, name="worker-watch", daemon=True)

    def __enter__(self) -> Worker:
        """Start the worker."""
        self.process = start_worker(self._workspace, log_file=self._log_file)
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        """End the worker."""
        self._leaving.set()
        # The watch must end first, or it would restart the worker.
        self._thread.join()
        stop_worker(self.process)

    def _watch(self) -> None:
        """Restart the worker when it has ended."""
        while not self._leaving.wait(_WATCH):
            if self.process.poll() is not None:
                log.error("worker ended", extra={"facts": {"code": self.process.returncode}})
                self.process = start_worker(self._workspace, log_file=self._log_file)


# -- Logs as lines of JSON: one line per event, for log collectors


class LineFormatter(logging.Formatter):
    """Formats a log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line of JSON.

        Parameters
        ----------
        record : logging.LogRecord
            Record of the log.

        Returns
        -------
        str
            JSON in ASCII.
        """
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
    """A log file that writes a line to standard error if its disk is full."""

    def handleError(self, record: logging.LogRecord) -> None:  # logging prescribes this name
        """Write the line to standard error.

        Parameters
        ----------
        record : logging.LogRecord
            Record of the log.
        """
        with suppress(Exception):
            sys.stderr.write(self.format(record) + "\n")


@contextmanager
def open_log(place: Path, say: Callable[[str], None]) -> Iterator[Any]:
    """Send the server's log to a file, or to standard output for "-".

    Parameters
    ----------
    place : Path
        Path of the log.
    say : Callable[[str], None]
        Receives the line with the path.

    Yields
    ------
    Any
        File for the worker's log, or None.

    Raises
    ------
    UsageError
        If the log cannot be written.
    """
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
    """Send the log of the server to a handler.

    Parameters
    ----------
    handler : logging.Handler
        Handler of logging.
    """
    handler.setFormatter(LineFormatter())
    for name, least in (("isthmus", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(least)
        # Otherwise the root logger would print each line again.
        logger.propagate = False
