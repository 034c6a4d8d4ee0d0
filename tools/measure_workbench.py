"""Measure the workbench: every page with many documents, and many reviewers at once.

    python tools/measure_workbench.py pages [--documents 100000] [--repeat 20]
    python tools/measure_workbench.py load  [--documents 20000] [--reviewers 30] [--rate 2] [--seconds 120]

The server runs in a process of its own, on this machine's loopback address. ``pages`` prints what the server says it
spent (the header Server-Timing); ``load`` what a reviewer waits, from the answer to the next document.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import httpx
import numpy as np
from measure_workspace import fill_large

from isthmus.workbench.service import add_sample
from isthmus.workbench.sessions import Passwords
from isthmus.workspace import open_workspace, work
from isthmus.workspace.schema import RUN_TABLES, RUNS

PASSWORD = "a password for measuring"


def prepare(folder: str, documents: int, reviewers: int = 0) -> dict[str, str]:
    """A workspace with a large project, whose runs have the tables of a small real one; ids of what was made."""
    with open_workspace(folder) as workspace:
        _, small = add_sample(workspace, by=workspace.people.local().id, method="nbc")
        work(workspace, until_idle=True)
        made = fill_large(workspace, documents, runs=2)
        tables = {name: table for name, table in workspace.runs.tables(small.id).items() if name != "novel"}
        with workspace._context.db.writing() as connection:
            for run in ("run1", "run2"):
                rows = [{"run_id": made[run], "name": name, "content": table} for name, table in tables.items()]
                connection.execute(RUN_TABLES.insert(), rows)
                summary = {"documents": documents, "classes": ["price", "product", "service", "staff"], "review": 0,
                           "expected": 0.8, "low": 0.7, "high": 0.9, "answers": 0, "groups": 0}  # fmt: skip
                connection.execute(RUNS.update().where(RUNS.c.id == made[run]).values(summary=summary))
        kept = Passwords().hash(PASSWORD)
        for i in range(reviewers):
            person = workspace.people.create(f"reviewer {i}", kept, "reviewer")
            workspace.projects.add_member(made["project"], person.id, "reviewer", by=made["by"])
    return made


class Server:
    """``isthmus serve`` in a process of its own."""

    def __init__(self, folder: str, *options: str):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "isthmus", "serve", "--workspace", folder, "--port", str(port), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self) -> Server:
        for _ in range(600):
            try:
                if httpx.get(self.address + "/health").status_code == 200:
                    return self
            except httpx.HTTPError:
                time.sleep(0.1)
        raise RuntimeError("the server does not start")

    def cpu(self) -> float:
        """Seconds of processor time the server's process has taken so far (Linux)."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __exit__(self, *error: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def measure_pages(server: Server, made: dict[str, str], repeat: int) -> float:
    """Print what each page takes; the largest 95th percentile in milliseconds."""
    here, run = f"/projects/{made['project']}", made["run2"]
    half = f"after={made['half']}"
    pages = {
        "projects": "/projects", "overview": here, "data": here + "/data", "diagnosis": here + "/diagnosis",
        "runs": here + "/runs", "result": f"{here}/runs/{run}", "documents": here + "/documents",
        "documents, in the middle": f"{here}/documents?{half}",
        "documents, least sure of a class": f"{here}/documents?order=confidence&label=price&{half}",
        "documents, searched": f"{here}/documents?q=bababababa", "review": here + "/review",
        "accept many": here + "/review/accept", "words": here + "/words?q=bab&word=bababababa",
        "groups": here + "/groups", "check": here + "/check",
        "compare": f"{here}/compare?a={made['run1']}&b={run}&{half}", "export": here + "/export",
        "history": here + "/history",
    }  # fmt: skip
    worst = 0.0
    print(f"{'page':<36}{'first':>9}{'median':>9}{'p95':>9}{'CPU':>9}  ms of the server's time")
    with httpx.Client(base_url=server.address, timeout=60) as client:
        for name, address in pages.items():
            times = []
            before = 0.0
            for i in range(repeat + 1):
                answer = client.get(address)
                answer.raise_for_status()
                times.append(float(re.search(r"dur=([\d.]+)", answer.headers["server-timing"])[1]))
                before = before if i else server.cpu()  # without the first, which fills what is kept
            cpu = 1000 * (server.cpu() - before) / repeat
            p95 = float(np.percentile(times[1:], 95))
            worst = max(worst, p95)
            print(f"{name:<36}{times[0]:9.1f}{np.median(times[1:]):9.1f}{p95:9.1f}{cpu:9.1f}", flush=True)
    return worst


class Reviewer:
    """A browser without a window: one connection, kept open. Thirty of them cost less than the server they ask.

    A full client would take more of a shared machine than the server does; thirty people bring machines of their own.
    """

    def __init__(self, server: Server, made: dict[str, str], name: str):
        self.port, self.made, self.name = int(server.address.rpartition(":")[2]), made, name
        self.here, self.cookie, self.token = f"/projects/{made['project']}/review", "", ""
        self.times: list[float] = []
        self.errors: list[tuple[int, bytes]] = []

    async def enter(self) -> None:
        """Sign in."""
        await self.connect()
        await self._take_token()
        status, _ = await self.ask("POST", "/sign-in", {"name": self.name, "password": PASSWORD})
        if status != 303:
            raise RuntimeError(f"{self.name} may not come in: {status}")
        await self._take_token()
        self.writer.close()

    async def connect(self) -> None:
        """A new connection: the server closes one that nobody uses for some seconds."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def _take_token(self) -> None:
        self.token = json.loads((await self.ask("GET", "/api/session"))[1])["csrf"]

    async def answer(self, start: float, until: float, rate: float) -> None:
        """Answer at a steady pace, on the clock: who had to wait once does not ask less often for it."""
        loop = asyncio.get_running_loop()
        await self.connect()
        _, self.page = await self.ask("GET", self.here)
        due = start + np.random.default_rng(zlib.crc32(self.name.encode())).random() / rate
        while due < until:
            await asyncio.sleep(max(0.0, due - loop.time()))
            document = re.search(rb'data-document="(\w+)"', self.page)[1].decode()
            fields = {"document": document, "run": self.made["run2"], "label": "price"}
            began = time.perf_counter()
            status, self.page = await self.ask("POST", self.here + "/answers", fields)
            self.times.append(time.perf_counter() - began)
            if status != 200:
                self.errors.append((status, self.page[:200]))
                _, self.page = await self.ask("GET", self.here)
            due += 1 / rate

    async def ask(self, method: str, path: str, fields: dict[str, str] | None = None) -> tuple[int, bytes]:
        """One request and its answer."""
        body = urlencode(fields or {}).encode() if method == "POST" else b""
        self.writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nCookie: {self.cookie}\r\n"
            f"X-CSRF-Token: {self.token}\r\nHX-Request: true\r\nContent-Length: {len(body)}\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\n\r\n".encode()
            + body
        )
        head = await self.reader.readuntil(b"\r\n\r\n")
        cookie = re.search(rb"(?i)set-cookie: ([^;\r]+)", head)
        if cookie:
            self.cookie = cookie[1].decode()
        length = re.search(rb"(?i)content-length: (\d+)", head)
        content = await self.reader.readexactly(int(length[1])) if length else b""
        return int(head[9:12]), content


async def measure_load(server: Server, made: dict[str, str], reviewers: int, rate: float, seconds: float) -> float:
    """Print what reviewers wait and what the server spends; the 95th percentile in milliseconds."""
    people = [Reviewer(server, made, f"reviewer {i}") for i in range(reviewers)]
    for person in people:
        await person.enter()
    before, own = server.cpu(), time.process_time()
    start = asyncio.get_running_loop().time() + 2  # everybody lays the first document on the desk
    await asyncio.gather(*(person.answer(start, start + seconds, rate) for person in people))
    spent, own = server.cpu() - before, time.process_time() - own
    times = [t for person in people for t in person.times]
    errors = [error for person in people for error in person.errors]
    p50, p95, p99 = (1000 * float(np.percentile(times, part)) for part in (50, 95, 99))
    print(f"{len(times):,} answers of {reviewers} reviewers in {seconds:.0f} s ({len(times) / seconds:.0f} a second);")
    most = 1000 * max(times)
    print(f"median {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms, most {most:.0f} ms; {len(errors)} refused")
    print(f"CPU an answer: server {1000 * spent / len(times):.1f} ms, these clients {1000 * own / len(times):.1f} ms; "
          f"load {os.getloadavg()[0]:.1f}")  # fmt: skip
    for error in errors[:5]:
        print(error)
    return p95


@contextmanager
def prepared(options: argparse.Namespace, documents: int):
    """A folder with a filled workspace, and the ids in it; a copy of the one that was kept, if there is one."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "workspace"
        kept = options.keep and Path(options.keep)
        if kept and (kept / "made.json").exists():
            shutil.copytree(kept, place)
        else:
            made = prepare(str(place), documents, options.reviewers if options.what == "load" else 0)
            (place / "made.json").write_text(json.dumps(made | {"half": str(documents // 2)}))
            if kept:
                shutil.copytree(place, kept)
        yield str(place), json.loads((place / "made.json").read_text())


def main() -> None:
    """Prepare, serve, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["pages", "load"])
    parser.add_argument("--documents", type=int)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--reviewers", type=int, default=30)
    parser.add_argument("--rate", type=float, default=2.0)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--keep", help="folder for the filled workspace, to measure again without filling it again")
    options = parser.parse_args()
    documents = options.documents or (100_000 if options.what == "pages" else 20_000)
    with prepared(options, documents) as (folder, made):
        print(f"{documents:,} documents, SQLite; {os.cpu_count()} cores, {platform.machine()}, "
              f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}")  # fmt: skip
        if options.what == "pages":
            with Server(folder) as server:
                print(f"largest p95: {measure_pages(server, made, options.repeat):.0f} ms")
        else:
            with Server(folder, "--accounts") as server:
                asyncio.run(measure_load(server, made, options.reviewers, options.rate, options.seconds))


if __name__ == "__main__":
    main()
