"""Starting and stopping: the server, its worker process, and what is said at the door."""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import uvicorn

from isthmus.features.languages import identify_language
from isthmus.workbench.app import make_app
from isthmus.workbench.sample import add_sample, find_sample
from isthmus.workbench.settings import MIB, Settings, is_every_address, is_loopback, load_secret
from isthmus.workspace.worker import start_worker, stop_worker, work

log = logging.getLogger("isthmus.workbench")
_WATCH = 2.0  # seconds between two looks at the worker
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
    say: Callable[[str], None] = print,
) -> None:
    """Open the workbench over a workspace, until it is told to stop.

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
        Have the bundled sample ready to review.
    say : callable, default=print
        Takes the lines for the person who started the server.

    See Also
    --------
    make_app : The application alone, for a server of your own.
    isthmus.workspace.open_workspace : Opens the workspace.
    """
    log_lines()
    settings = Settings(
        host=host,
        port=port,
        accounts=accounts or not is_loopback(host),
        secret=load_secret(workspace.folder),
        max_upload=max_upload,
        https=https,
        names=tuple(name.lower() for name in names),
    )
    address = public_address(settings)
    if sample:
        prepare_sample(workspace, settings, say)
    if settings.accounts and not workspace.people.has_accounts():
        token = workspace.people.invite("owner", by=workspace.people.local().id)
        say(f"Nobody has an account yet. Make the first one here (works once): {address}/join/{token}")
    config = uvicorn.Config(
        make_app(workspace, settings),
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_PATIENCE,
        proxy_headers=https,
    )
    # The first page must not wait for it; reading the model takes a second or two.
    threading.Thread(target=identify_language, args=("a text to warm up with",), daemon=True).start()
    with Worker(workspace):
        say(f"Isthmus workbench: {address}  (stop with Ctrl+C)")
        log.info("started", extra={"facts": {"address": address, "accounts": settings.accounts}})
        with staying_for_the_end():
            uvicorn.Server(config).run()
    log.info("stopped")


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
    """The address to type into a browser."""
    host = settings.names[0] if settings.names else "localhost" if is_every_address(settings.host) else settings.host
    host = f"[{host}]" if ":" in host else host
    return f"https://{host}" if settings.https else f"http://{host}:{settings.port}"


def prepare_sample(workspace: Any, settings: Settings, say: Callable[[str], None]) -> None:
    """The bundled sample, labelled before the first page is shown."""
    person = workspace.people.local()
    if find_sample(workspace, person.id) is None:
        say("Labelling the sample, some seconds …")
        add_sample(workspace, by=person.id)
        work(workspace, until_idle=True)


class Worker:
    """The worker process, started again if it dies, ended with the server."""

    def __init__(self, workspace: Any):
        self._workspace, self._leaving = workspace, threading.Event()
        self._thread = threading.Thread(target=self._watch, name="worker-watch", daemon=True)

    def __enter__(self) -> Worker:
        self.process = start_worker(self._workspace)
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
                self.process = start_worker(self._workspace)


# -- Logs as lines of JSON: one line an event, ready for any collector


class LineFormatter(logging.Formatter):
    """A record as one line of JSON.

    Examples
    --------
    >>> import logging
    >>> from isthmus.workbench.server import LineFormatter
    >>> record = logging.LogRecord("isthmus", logging.INFO, "", 0, "ready", None, None)
    >>> "ready" in LineFormatter().format(record)
    True
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        facts = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            facts["trace"] = self.formatException(record.exc_info)
        return json.dumps(facts, ensure_ascii=True, default=str)


def log_lines(stream=None, *, level: int = logging.INFO) -> None:
    """Send what the server has to say to standard error, as lines."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LineFormatter())
    for name, least in (("isthmus", level), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(least)
        logger.propagate = False
