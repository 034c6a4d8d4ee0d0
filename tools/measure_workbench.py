"""Measure the workbench: every page with many documents, and many reviewers at once.

    python tools/measure_workbench.py pages [--documents 100000] [--repeat 20]
    python tools/measure_workbench.py load  [--documents 20000] [--reviewers 30] [--rate 2] [--seconds 120]

The server runs in a process of its own, on this machine's loopback address. ``pages`` prints what the server says it
spent (the header Server-Timing); ``load`` what a reviewer waits, from the answer to the next document.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
import numpy as np
from measure_workspace import fill_large

from isthmus.workbench.sample import add_sample
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
    print(f"{'page':<36}{'first':>9}{'median':>9}{'p95':>9}  ms of the server's time")
    with httpx.Client(base_url=server.address, timeout=60) as client:
        for name, address in pages.items():
            times = []
            for _ in range(repeat + 1):
                answer = client.get(address)
                answer.raise_for_status()
                times.append(float(re.search(r"dur=([\d.]+)", answer.headers["server-timing"])[1]))
            p95 = float(np.percentile(times[1:], 95))
            worst = max(worst, p95)
            print(f"{name:<36}{times[0]:9.1f}{np.median(times[1:]):9.1f}{p95:9.1f}", flush=True)
    return worst


def review(
    server: Server, made: dict[str, str], name: str, rate: float, until: float, times: list, errors: list
) -> None:
    """One reviewer: sign in, then answer at a steady pace; what lies on the desk is the next document."""
    here = f"/projects/{made['project']}/review"
    with httpx.Client(base_url=server.address, timeout=60, follow_redirects=True) as client:
        client.headers["x-csrf-token"] = client.get("/api/session").json()["csrf"]
        client.post("/sign-in", data={"name": name, "password": PASSWORD}).raise_for_status()
        client.headers["x-csrf-token"] = client.get("/api/session").json()["csrf"]
        page = client.get(here).text
        due = time.monotonic() + np.random.default_rng(hash(name) % 2**32).random() / rate
        while due < until:
            time.sleep(max(0.0, due - time.monotonic()))
            document = re.search(r'data-document="(\w+)"', page)[1]
            began = time.perf_counter()
            answer = client.post(here + "/answers", data={"document": document, "run": made["run2"], "label": "price"})
            times.append(time.perf_counter() - began)
            if answer.status_code != 200:
                errors.append((answer.status_code, answer.text[:200]))
                page = client.get(here).text
            else:
                page = answer.text
            due += 1 / rate


def measure_load(server: Server, made: dict[str, str], reviewers: int, rate: float, seconds: float) -> float:
    """Print what reviewers wait; the 95th percentile in milliseconds."""
    times: list[float] = []
    errors: list = []
    until = time.monotonic() + 10 + seconds  # everybody signs in first
    threads = [
        threading.Thread(target=review, args=(server, made, f"reviewer {i}", rate, until, times, errors))
        for i in range(reviewers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    p50, p95, p99 = (1000 * float(np.percentile(times, part)) for part in (50, 95, 99))
    print(f"{len(times):,} answers of {reviewers} reviewers in {seconds:.0f} s ({len(times) / seconds:.0f} a second);")
    most = 1000 * max(times)
    print(f"median {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms, most {most:.0f} ms; {len(errors)} refused")
    for error in errors[:5]:
        print(error)
    return p95


def main() -> None:
    """Prepare, serve, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["pages", "load"])
    parser.add_argument("--documents", type=int)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--reviewers", type=int, default=30)
    parser.add_argument("--rate", type=float, default=2.0)
    parser.add_argument("--seconds", type=float, default=120.0)
    options = parser.parse_args()
    documents = options.documents or (100_000 if options.what == "pages" else 20_000)
    with tempfile.TemporaryDirectory() as folder:
        made = prepare(folder, documents, options.reviewers if options.what == "load" else 0)
        made["half"] = str(documents // 2)
        print(f"{documents:,} documents, SQLite; {os.cpu_count()} cores, {platform.machine()}, "
              f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}")  # fmt: skip
        if options.what == "pages":
            with Server(folder) as server:
                print(f"largest p95: {measure_pages(server, made, options.repeat):.0f} ms")
        else:
            with Server(folder, "--accounts") as server:
                measure_load(server, made, options.reviewers, options.rate, options.seconds)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
