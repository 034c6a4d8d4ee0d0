"""A workspace with a small labelled project, made once; servers over copies of it; a browser."""

import io
import logging
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from functools import partial

import httpx
import pytest
from fastapi.routing import APIRoute

from isthmus.corpus.sample import sample_file
from isthmus.exceptions import IsthmusWarning
from isthmus.workbench import Settings, context, make_app
from isthmus.workbench.server import make_server
from isthmus.workbench.sessions import Passwords
from isthmus.workspace import open_workspace
from isthmus.workspace.worker import work

PASSWORD = "correct horse battery"
QUICK_HASHES = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}


def rows_of(name, n):
    return b"".join(sample_file(name).splitlines(keepends=True)[: n + 1])


def fill(workspace, person, *, name="Dealers", method="nbc", n=200):
    """A project with both files and one finished run."""
    project = workspace.projects.create(name, by=person)
    for file, kind, label in (("motorcycles.csv", "source", "category"), ("cars.csv", "target", None)):
        docs = workspace.collections.add(project.id, file, io.BytesIO(rows_of(file, n)), kind=kind, by=person)
        workspace.collections.map(docs.id, text=["comment"], label=label, id_column="id", by=person)
    run = workspace.runs.start(project.id, {"method": method}, by=person)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IsthmusWarning)
        work(workspace, until_idle=True)
    return project, workspace.runs.get(run.id)


@pytest.fixture(scope="session")
def filled_folder(tmp_path_factory):
    """A workspace on disk with one labelled project of the local person."""
    folder = tmp_path_factory.mktemp("workspace") / "w"
    with open_workspace(folder) as workspace:
        fill(workspace, workspace.people.local().id)
    return folder


@pytest.fixture(scope="module")
def workspace(filled_folder, tmp_path_factory):
    """A copy of it, for the tests of one file."""
    folder = tmp_path_factory.mktemp("copy") / "w"
    shutil.copytree(filled_folder, folder)
    with open_workspace(folder) as workspace:
        yield workspace


@pytest.fixture(scope="module")
def empty_workspace(tmp_path_factory):
    with open_workspace(tmp_path_factory.mktemp("empty")) as workspace:
        yield workspace


class Running:
    """A server in a thread, on a port of its own."""

    def __init__(self, workspace, **settings):
        self._socket = socket.socket()  # bound here and handed on: nobody else can take the port in between
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.workspace = workspace
        self.settings = Settings(port=self.port, **settings)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(context, "Passwords", partial(Passwords, **QUICK_HASHES))
            self.app = make_app(workspace, self.settings)
        bench = self.app.app.state.bench
        self.server = make_server(self.app, self.settings)
        self.address = f"http://127.0.0.1:{self.port}"
        self.bench = bench
        self._thread = threading.Thread(target=self.server.run, args=([self._socket],), daemon=True)
        self._clients = []

    def __enter__(self):
        self._thread.start()
        while not self.server.started:
            assert self._thread.is_alive(), "the server does not start"
            time.sleep(0.005)
        return self

    def __exit__(self, *error):
        for client in self._clients:
            client.close()
        self.server.should_exit = True
        self._thread.join(10)

    def client(self, **options):
        self._clients.append(Client(self.address, **options))
        return self._clients[-1]

    def routes(self, of=None):
        """Every route with its dependencies, the included ones too."""
        for route in self.app.app.routes if of is None else of:
            if isinstance(route, APIRoute):
                yield route
            elif hasattr(route, "original_router"):
                yield from self.routes(route.original_router.routes)

    def account(self, name, role="owner"):
        """Somebody with a password."""
        return self.workspace.people.create(name, self.bench.passwords.hash(PASSWORD), role)

    def signed_in(self, name):
        client = self.client()
        answer = client.post("/api/session", json={"name": name, "password": PASSWORD})
        assert answer.status_code == 200, answer.text
        client.renew()
        return client


class Client(httpx.Client):
    """A browser without a window: keeps cookies and sends the token of its session."""

    def __init__(self, address, **options):
        super().__init__(base_url=address, timeout=60, verify=False, **options)  # plain http: no certificates to load
        self.renew()

    def renew(self):
        self.headers.pop("x-csrf-token", None)
        self.headers["x-csrf-token"] = self.get("/api/session").json()["csrf"]


@contextmanager
def kept_loggers():
    """The loggers that a server sends to its own log, as they were afterwards."""
    loggers = [logging.getLogger(name) for name in ("isthmus", "uvicorn")]
    before = [(logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    try:
        yield
    finally:
        for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
            logger.handlers[:] = handlers
            logger.setLevel(level)
            logger.propagate = propagate


@pytest.fixture(scope="module")
def serve():
    """Start servers: ``serve(workspace, accounts=True)``."""
    running = []

    def start(workspace, **settings):
        server = Running(workspace, **settings)
        server.__enter__()
        running.append(server)
        return server

    yield start
    for server in running:
        server.__exit__()


class ServeProcess:
    """``isthmus serve`` as a process of its own."""

    def __init__(self, folder, *options):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        command = [sys.executable, "-m", "isthmus", "serve", "--workspace", str(folder), "--port", str(self.port)]
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.health = self._wait()

    def _wait(self):
        until = time.monotonic() + 300
        while time.monotonic() < until:
            try:
                return httpx.get(self.address + "/health", verify=False)
            except httpx.HTTPError:
                assert self.process.poll() is None, self.process.communicate()[1]
                time.sleep(0.1)
        return pytest.fail("the server does not start")

    def read_until(self, words):
        """What the server says to people, up to a line that holds these words."""
        said = ""
        while words not in said:
            line = self.process.stderr.readline()
            assert line, said
            said += line
        return said

    def stop(self):
        """End the server as a system would; what it wrote on its two outputs since."""
        if self.process.stdout.closed:
            return "", ""
        try:
            self.process.send_signal(signal.SIGTERM)
            return self.process.communicate(timeout=60)
        finally:
            self.process.kill()
            self.process.communicate()


@pytest.fixture(scope="module")
def serve_process():
    """Start processes: ``serve_process(folder, "--accounts")``."""
    running = []

    def start(folder, *options):
        running.append(ServeProcess(folder, *options))
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture(scope="module")
def server(serve, workspace):
    """One person on this machine, with the labelled project. Making an application takes a second: one per file."""
    return serve(workspace)


@pytest.fixture
def client(server):
    return server.client()


@pytest.fixture(scope="module")
def project(workspace):
    """The labelled project."""
    return min(workspace.projects.list(workspace.people.local().id), key=lambda row: row.created_at)


@pytest.fixture(scope="module")
def run(workspace, project):
    """Its run."""
    return workspace.runs.list(project.id)[-1]  # the first: tests may have started others by now


@pytest.fixture
def untouched(workspace):
    """A project of its own with its run, for a test that counts on what nobody has read."""
    return fill(workspace, workspace.people.local().id, name="Untouched", n=60)


def marked(html, pattern):
    """The first group of a pattern in a page."""
    found = re.search(pattern, html)
    assert found, pattern
    return found.group(1)


@pytest.fixture
def worker(workspace):
    """A worker in a thread."""
    leaving = threading.Event()
    thread = threading.Thread(target=work, args=(workspace,), kwargs={"stopping": leaving.is_set}, daemon=True)
    thread.start()
    yield
    leaving.set()
    thread.join(60)


class Tab:
    """A tab in a browser of its own, with everything it asked for or complained about."""

    def __init__(self, browser, server, *, width=1280, height=900, dark=False):
        self.context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            base_url=server.address,
            accept_downloads=True,
        )
        self.context.set_default_timeout(60_000)  # a busy machine is no failure
        self.page = self.context.new_page()
        self.complaints, self.requests, self.address = [], [], server.address
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def check(self):
        """Nothing was complained about, nothing was asked of anybody else."""
        assert self.complaints == []
        assert [url for url in self.requests if not url.startswith(self.address)] == []

    def fits(self):
        """The page itself never moves sideways; wide things scroll inside their own box."""
        return self.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.fixture
def open_tab(chromium):
    tabs = []

    def open_(server, **look):
        tabs.append(Tab(chromium, server, **look))
        return tabs[-1]

    yield open_
    for tab in tabs:
        tab.context.close()
