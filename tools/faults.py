"""Faults on purpose: a real server, four reviewers who answer without a pause, and something that goes wrong.

    python tools/faults.py [--only PART] [--json FILE]

Each fault ends with the same questions: is every acknowledged answer there, once and with its label? Is the workspace
whole (``isthmus workspace check``)? Did an answer name a path of the server? Does the server work afterwards? Faults
that need a small disk, another user or PostgreSQL are skipped, with the reason, where these are not to be had. The
exit status is 1 if one fault lost or broke something.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from isthmus.exceptions import IsthmusError
from isthmus.workbench.sample import add_sample
from isthmus.workspace import open_workspace, restore_workspace, work
from isthmus.workspace.store import DATABASE_VARIABLE

REVIEWERS = 4
SECONDS = 2.0  # of answers before a fault
PATIENCE = 120.0  # seconds until a server must be well again


class Server:
    """Run ``isthmus serve`` in another process."""

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


class Skipped(Exception):
    """The fault cannot be made here."""


@dataclass
class Told:
    """What the reviewers were told."""

    kept: dict[str, tuple[str, str]] = field(default_factory=dict)  # answer -> document, label
    refused: dict[int, int] = field(default_factory=dict)  # status -> how often
    leaks: list[str] = field(default_factory=list)


@dataclass
class Place:
    """A workspace with a finished run, in a folder of its own."""

    folder: Path
    url: str | None
    project: str
    run: str

    def server(self) -> Server:
        """A server over it."""
        os.environ.pop(DATABASE_VARIABLE, None)
        if self.url:
            os.environ[DATABASE_VARIABLE] = self.url
        return Server(str(self.folder))


def fill(folder: Path, url: str | None) -> Place:
    """The bundled sample, labelled once."""
    with open_workspace(folder, url) as workspace:
        project, run = add_sample(workspace, by=workspace.people.local().id, method="nbc")
        work(workspace, until_idle=True)
        return Place(folder, url, project.id, run.id)


# -- Reviewers


def review(address: str, place: Place, told: Told, stop: threading.Event, number: int) -> None:
    """Answer every document of one's share, over and over, until it is enough; remember what was acknowledged."""
    here = f"/api/projects/{place.project}/runs/{place.run}"
    try:
        with httpx.Client(base_url=address, timeout=20) as client:
            client.headers["x-csrf-token"] = client.get("/api/session").json()["csrf"]
            rows = client.get(f"{here}/predictions", params={"limit": 200}).json()[number::REVIEWERS]
            for turn in range(1_000):
                for row in rows:
                    if stop.is_set():
                        return
                    label = ("price", "product", "service", "staff")[(turn + number) % 4]
                    sent = client.post(f"{here}/answers", json={"document": row["document"], "label": label})
                    if sent.status_code == 200:
                        told.kept[sent.json()["id"]] = (row["document"], label)
                    else:
                        told.refused[sent.status_code] = told.refused.get(sent.status_code, 0) + 1
                        time.sleep(0.05)
                    if str(place.folder) in sent.text or "Traceback" in sent.text:
                        told.leaks.append(sent.text[:200])
    except (httpx.HTTPError, json.JSONDecodeError, KeyError):
        return  # the server is gone: that is the fault


@contextmanager
def reviewers(server: Server, place: Place, told: Told) -> Iterator[None]:
    """Reviewers at work while the block runs."""
    stop = threading.Event()
    threads = [
        threading.Thread(target=review, args=(server.address, place, told, stop, number)) for number in range(REVIEWERS)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)


def judge(place: Place, told: Told) -> list[str]:
    """What is wrong afterwards."""
    problems = [f"an answer told too much: {leak}" for leak in told.leaks[:3]]
    with open_workspace(place.folder, place.url, create=False) as workspace:
        kept, after = {}, None
        while rows := workspace.answers.list(place.project, after=after, limit=500):
            kept |= {row.id: row for row in rows}
            after = rows[-1].number
        lost = [answer for answer in told.kept if answer not in kept]
        if lost:
            problems.append(f"{len(lost)} of {len(told.kept)} acknowledged answers are lost")
        for answer, (document, label) in told.kept.items():
            row = kept.get(answer)
            if row is not None and (row.document, row.label) != (document, label):
                problems.append(f"answer {answer} says {row.label} instead of {label}")
                break
        problems += workspace.check()
    server = place.server()
    with server, httpx.Client(base_url=server.address, timeout=30) as client:
        client.headers["x-csrf-token"] = client.get("/api/session").json()["csrf"]
        here = f"/api/projects/{place.project}/runs/{place.run}"
        row = client.get(f"{here}/predictions", params={"limit": 1}).json()[0]
        again = client.post(f"{here}/answers", json={"document": row["document"], "label": "price"})
        if again.status_code != 200:
            problems.append(f"afterwards an answer gets {again.status_code}: {again.text[:150]}")
    return problems


# -- Faults: each does its harm while reviewers answer, and leaves the server ended


def end(server: Server, how: int = signal.SIGKILL) -> None:
    """End the server's process; its worker notices and leaves."""
    server.process.send_signal(how)
    server.process.wait(60)


def worker_of(server: Server) -> int:
    """Process of the server's worker."""
    end_at = time.monotonic() + PATIENCE
    while time.monotonic() < end_at:
        found = subprocess.run(["pgrep", "-P", str(server.process.pid)], capture_output=True, text=True, check=False)
        if found.stdout.split():
            return int(found.stdout.split()[0])
        time.sleep(0.05)
    raise RuntimeError("the server has no worker")


def answer_for_a_while(rng: random.Random) -> None:
    time.sleep(SECONDS * (0.5 + rng.random()))


def kill_server(place: Place, told: Told, rng: random.Random) -> None:
    """kill -9 of the server."""
    with place.server() as server, reviewers(server, place, told):
        answer_for_a_while(rng)
        end(server)


def kill_both(place: Place, told: Told, rng: random.Random) -> None:
    """kill -9 of the worker, then of the server."""
    with place.server() as server, reviewers(server, place, told):
        answer_for_a_while(rng)
        os.kill(worker_of(server), signal.SIGKILL)
        end(server)


def kill_worker(place: Place, told: Told, rng: random.Random) -> None:
    """kill -9 of the worker while it labels; the run must end well after a new start."""
    here = f"/api/projects/{place.project}/runs"
    with place.server() as server, httpx.Client(base_url=server.address, timeout=30) as client:
        client.headers["x-csrf-token"] = client.get("/api/session").json()["csrf"]
        with reviewers(server, place, told):
            made = client.post(here, json={"method": rng.choice(("nbc", "projection", "cocc"))})
            made.raise_for_status()
            run = made.json()["id"]
            worker = worker_of(server)
            time.sleep(0.3 + rng.random())
            os.kill(worker, signal.SIGKILL)
            time.sleep(0.5)
        end(server)
    with place.server() as server, httpx.Client(base_url=server.address, timeout=30) as client:
        end_at = time.monotonic() + PATIENCE
        while (state := client.get(f"{here}/{run}").json()["state"]) != "done":
            if state == "failed" or time.monotonic() > end_at:
                raise AssertionError(f"the run is {state} after its worker was killed")
            time.sleep(0.2)
        end(server)


def fill_disk(place: Place, told: Told, rng: random.Random, *, then_kill: bool = False) -> None:
    """The disk fills up while people answer; later there is room again."""
    disk = place.folder.parent
    with place.server() as server, reviewers(server, place, told):
        answer_for_a_while(rng)
        filler = disk / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(64 * 1024))
            except OSError:
                pass
        answer_for_a_while(rng)
        if then_kill:
            end(server)
            filler.unlink()
            return
        if httpx.get(server.address + "/health", timeout=30).status_code != 503:
            raise AssertionError("/health is content with a full disk")
        filler.unlink()
        answer_for_a_while(rng)
        end(server)


def fill_disk_and_kill(place: Place, told: Told, rng: random.Random) -> None:
    """The disk fills up, and the server is killed before there is room again."""
    fill_disk(place, told, rng, then_kill=True)


def read_only(place: Place, told: Told, rng: random.Random) -> None:
    """A server is started on a disk that cannot be written: it says so, or reads and refuses every answer."""
    disk = place.folder.parent
    with place.server() as server:
        with reviewers(server, place, told):
            answer_for_a_while(rng)
        end(server, signal.SIGTERM)
    _mount("remount,ro", disk, forced=True)
    try:
        command = [sys.executable, "-m", "isthmus", "serve", "--workspace", str(place.folder), "--port", "0"]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=45, check=False)
        except subprocess.TimeoutExpired:
            before = len(told.kept)
            with place.server() as server, reviewers(server, place, told):
                answer_for_a_while(rng)
            if len(told.kept) > before:
                raise AssertionError("answers were acknowledged on a disk that cannot be written") from None
        else:
            if ran.returncode == 0 or "Traceback" in ran.stderr or len(ran.stderr.strip().splitlines()) > 3:
                raise AssertionError(f"not one sentence (exit status {ran.returncode}): {ran.stderr[-300:]}")
    finally:
        _mount("remount,rw", disk, forced=True)


# -- PostgreSQL


class Postgres:
    """A server of its own, which can be killed."""

    def __init__(self, folder: Path):
        tools = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not tools:
            raise Skipped("PostgreSQL is not installed")
        self.tool, self.folder, self.data = tools[-1].parent, folder, folder / "data"
        folder.chmod(0o755)
        self.data.mkdir()
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
            shutil.chown(self.data, "postgres")
        self.run(f"{self.tool}/initdb -A trust -U postgres -E UTF8 -D {self.data}")
        self.start()
        self.url = f"postgresql://postgres@/postgres?host={folder}"

    def run(self, command: str) -> None:
        by = ["su", "postgres", "-s", "/bin/sh", "-c", command] if os.geteuid() == 0 else ["sh", "-c", command]
        done = subprocess.run(by, capture_output=True, timeout=120, cwd="/", check=False)
        if done.returncode:
            raise Skipped(f"PostgreSQL refuses: {done.stderr.decode(errors='replace')[-200:]}")

    def start(self) -> None:
        options = f"\"-c listen_addresses='' -k {self.folder}\""
        self.run(f"{self.tool}/pg_ctl -D {self.data} -l {self.folder / 'log'} -w -o {options} start")

    def stop(self, mode: str) -> None:
        self.run(f"{self.tool}/pg_ctl -D {self.data} -m {mode} -w stop")

    def kill(self) -> None:
        """kill -9 of the first process; the others notice and end."""
        first = int((self.data / "postmaster.pid").read_text(encoding="ascii").splitlines()[0])
        os.kill(first, signal.SIGKILL)
        time.sleep(1.0)
        (self.data / "postmaster.pid").unlink(missing_ok=True)


def lose_database(how: str) -> Callable:
    """The database goes away while people answer, and comes back under the same server."""

    def fault(place: Place, told: Told, rng: random.Random, postgres: Postgres) -> None:
        with place.server() as server:
            with reviewers(server, place, told):
                answer_for_a_while(rng)
                postgres.kill() if how == "kill" else postgres.stop(how)
                answer_for_a_while(rng)
                health = httpx.get(server.address + "/health", timeout=60)
                postgres.start()
                answer_for_a_while(rng)
            if health.status_code != 503:
                raise AssertionError(f"/health says {health.status_code} while the database is away")
            end(server)

    fault.__doc__ = {
        "kill": "kill -9 of the database while people answer",
        "immediate": "the database is stopped at once while people answer",
        "fast": "the database is stopped in order while people answer",
    }[how]
    return fault


# -- Backups that somebody made up


def forge(saved: bytes, change: Callable[[tarfile.TarInfo, bytes], tuple[tarfile.TarInfo, bytes] | None]) -> bytes:
    """A backup with every member as ``change`` wants it; None leaves it out."""
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(saved)) as old, tarfile.open(fileobj=out, mode="w") as new:
        for member in old.getmembers():
            taken = old.extractfile(member)
            made = change(member, taken.read() if taken else b"")
            if made is not None:
                made[0].size = len(made[1]) if made[0].isfile() else 0
                new.addfile(made[0], io.BytesIO(made[1]))
    return out.getvalue()


def _manifest(edit: Callable[[dict], None]) -> Callable:
    def change(member: tarfile.TarInfo, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
        if member.name == "manifest.json":
            manifest = json.loads(content)
            edit(manifest)
            content = json.dumps(manifest).encode()
        return member, content

    return change


def _link(member: tarfile.TarInfo, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    if member.name != "manifest.json" and not member.name.endswith(".jsonl"):
        member.type = tarfile.SYMTYPE
        member.linkname = "/etc/passwd"
    return member, content


def _outside(prefix: str) -> Callable:
    def change(member: tarfile.TarInfo, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
        if member.name != "manifest.json" and not member.name.endswith(".jsonl"):
            member.name = prefix + member.name
        return member, content

    return change


FORGERIES: dict[str, Callable] = {
    "a file outside the folder": _outside("../../"),
    "a file at an absolute place": _outside("/tmp/"),
    "a link instead of a file": _link,
    "a form from the future": _manifest(lambda manifest: manifest.update(format=999)),
    "tables of an unknown version": _manifest(lambda manifest: manifest.update(revision="ffff")),
    "a table nobody knows": _manifest(lambda manifest: manifest["tables"].update(strangers=3)),
    "no manifest": lambda member, content: None if member.name == "manifest.json" else (member, content),
    "rows that were changed": lambda member, content: (member, content.replace(b"staff", b"stuff")),
}


def forged(name: str) -> Callable:
    """A forged backup must be refused in a sentence and leave nothing."""

    def fault(place: Place, told: Told, rng: random.Random) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            saved, target = Path(scratch) / "saved.tar", Path(scratch) / "restored"
            with open_workspace(place.folder, place.url, create=False) as workspace:
                workspace.backup(saved)
            saved.write_bytes(forge(saved.read_bytes(), FORGERIES[name]))
            before = sorted(Path(scratch).rglob("*"))
            try:
                restore_workspace(saved, target)
            except IsthmusError as error:
                if "Traceback" in str(error) or not error.code:
                    raise AssertionError(f"refused without a sentence: {error}") from error
            else:
                raise AssertionError("it was restored")
            if sorted(Path(scratch).rglob("*")) != before:
                raise AssertionError("something was written")

    fault.__doc__ = f"a backup with {name}"
    return fault


# -- All of them


def _mount(options: str, disk: Path, *, forced: bool = False) -> None:
    done = subprocess.run(["mount", "-o", options, "-t", "tmpfs", "tmpfs", disk], capture_output=True, check=False)
    if done.returncode:
        kind = AssertionError if forced else Skipped
        raise kind(f"a small disk can be mounted by root alone: {done.stderr.decode(errors='replace').strip()}")


@contextmanager
def a_place(kind: str, template: Path) -> Iterator[tuple[Place, Postgres | None]]:
    """A workspace of its own: a copy on the usual disk or on a small one, or a new one in PostgreSQL."""
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="isthmus-faults-")))
        if kind == "postgres":
            home = scratch / "pg"
            home.mkdir()
            scratch.chmod(0o755)
            postgres = Postgres(home)
            stack.callback(lambda: postgres.stop("immediate"))
            yield fill(scratch / "w", postgres.url), postgres
            return
        if kind == "small disk":
            _mount("size=40m", scratch)
            stack.callback(lambda: subprocess.run(["umount", "-l", str(scratch)], check=False))
        shutil.copytree(template, scratch / "w")
        known = json.loads((template.parent / "ids.json").read_text(encoding="utf-8"))
        yield Place(scratch / "w", None, **known), None


FAULTS: list[tuple[str, str, Callable, int]] = [  # part, kind of place, fault, how often
    ("server", "plain", kill_server, 6),
    ("server", "plain", kill_both, 2),
    ("server", "postgres", kill_server, 3),
    ("worker", "plain", kill_worker, 4),
    ("database", "postgres", lose_database("kill"), 3),
    ("database", "postgres", lose_database("immediate"), 2),
    ("database", "postgres", lose_database("fast"), 1),
    ("disk", "small disk", fill_disk, 3),
    ("disk", "small disk", fill_disk_and_kill, 2),
    ("disk", "small disk", read_only, 2),
    *(("backup", "plain", forged(name), 1) for name in FORGERIES),
]


def run_one(kind: str, fault: Callable, template: Path, seed: int) -> dict:
    """One fault, and what is so afterwards."""
    told = Told()
    row = {"fault": fault.__doc__.strip().rstrip("."), "place": kind, "seed": seed}
    try:
        with a_place(kind, template) as (place, postgres):
            more = {} if postgres is None or fault is kill_server else {"postgres": postgres}
            try:
                fault(place, told, random.Random(seed), **more)
                problems = judge(place, told)
            except AssertionError as error:
                problems = [str(error)]
    except Skipped as reason:
        return {**row, "skipped": str(reason)}
    return {**row, "acknowledged": len(told.kept), "refused": told.refused, "problems": problems}


def main() -> int:
    """Run the faults and say what they did."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=sorted({part for part, *_ in FAULTS}))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        template = Path(scratch) / "w"
        made = fill(template, None)
        ids = json.dumps({"project": made.project, "run": made.run})
        (Path(scratch) / "ids.json").write_text(ids, encoding="utf-8")
        for part, kind, fault, times in FAULTS:
            for seed in range(times if options.only in (None, part) else 0):
                rows.append({"part": part, **run_one(kind, fault, template, seed)})
                print(describe(rows[-1]), flush=True)
    done = [row for row in rows if "skipped" not in row]
    broken = [row for row in done if row["problems"]]
    told = sum(row["acknowledged"] for row in done)
    print(f"{len(done)} faults, {told:,} acknowledged answers, {len(broken)} with something lost or broken;", end=" ")
    print(f"{len(rows) - len(done)} skipped.")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 1 if broken else 0


def describe(row: dict) -> str:
    """One line about one fault."""
    if "skipped" in row:
        return f"skipped  {row['fault']}: {row['skipped']}"
    refused = ", ".join(f"{count} × {status}" for status, count in sorted(row["refused"].items())) or "none"
    good = "; ".join(row["problems"]) or "all there"
    return f"{good:<10} {row['fault']} ({row['place']}): {row['acknowledged']} acknowledged, refused: {refused}"


if __name__ == "__main__":
    sys.exit(main())
