"""A tiny suite in a file, as a user would write one; nothing here reads a corpus."""

from pathlib import Path

import pytest

SUITE_TEXT = '''
import os, time
from pathlib import Path
from isthmus_bench import Method, Study, Suite, Task, TaskData
from isthmus_bench.engine.suite import pack_correct

LOG = Path(__file__).with_suffix(".log")


def note(text):
    with LOG.open("a") as stream:
        stream.write(f"{text} {os.getpid()}\\n")


def load(folder):
    return TaskData(["a", "b"], ["x", "y"], ["c", "d", "e"], ["x", "y", "y"])


def first(data, seed):
    note("first")
    answers = ["x", "y", "x"] if seed else ["x", "y", "y"]
    wrong = sum(a != b for a, b in zip(answers, data.target_labels))
    return [{"metric": "error", "value": wrong / 3, "correct": pack_correct(data.target_labels, answers)}]


def second(data, seed):
    note("second")
    answers = ["y", "x", "y"]
    return [
        {"metric": "error", "value": 2 / 3, "seconds": 9.0, "correct": pack_correct(data.target_labels, answers)},
        {"metric": "macro_f1", "value": float("nan"), "note": "kept"},
    ]


def broken(data, seed):
    raise RuntimeError("no luck")


def dies(data, seed):
    os._exit(3)


def talks(data, seed):
    from isthmus._progress import progress

    limit = time.monotonic() + 1.3  # a step is passed on once a second
    while time.monotonic() < limit:
        progress("counting", 3, 7)
        time.sleep(0.02)
    progress("counting", 3, 7)  # where the machine stood still for a while, this is the first after the second
    return [{"metric": "error", "value": 0.0}]


def slow(data, seed):
    time.sleep(3600)  # longer than any test waits for its end


def meet(data, seed):
    """Ends only when a second process has arrived: proves that two tasks run at once."""
    note("meet")
    limit = time.monotonic() + 300
    while time.monotonic() < limit:
        if len({line.split()[1] for line in LOG.read_text().splitlines() if line.startswith("meet")}) > 1:
            return [{"metric": "error", "value": 0.0}]
        time.sleep(0.02)
    raise RuntimeError("nobody came")


def threads(data, seed):
    return [{"metric": "error", "value": float(os.environ.get("OMP_NUM_THREADS", -1))}]


def sweep(folder, seeds):
    note("sweep")
    return [{"size": s, "error": 1 / s, "seed": seed, "metric": "f1"} for s in (1, 2, 4) for seed in seeds]


SUITE = Suite(
    name="tiny",
    summary="Nothing worth knowing.",
    tasks={
        "one": Task("one", load, files=("data.txt",)),
        "two": Task("two", load),
        "maybe": Task("maybe", load, files=("absent.txt",), optional=True),
    },
    methods={
        m.name: m
        for m in (
            Method("first", first),
            Method("second", second, seeded=False),
            Method("broken", broken),
            Method("dies", dies),
            Method("slow", slow),
            Method("talks", talks),
            Method("meet", meet),
            Method("threads", threads),
        )
    },
    seeds=(0, 1),
    default_methods=("first", "second"),
    studies={
        "sweep": Study("sweep", "Error by size.", sweep, chart={"kind": "line", "x": "size", "y": "error"}),
        "choice": Study("choice", "Which size to take.", sweep, tune=True),
    },
    derived={"wrong": lambda rows: [{"seed": r["seed"], "error": r["value"]} for r in rows if r["method"] == "first"]},
    charts={"wrong": {"kind": "line", "x": "seed", "y": "error"}},
    absent={"gone": "the corpus cannot be had"},
    contrasts={"first": ("second",)},
)
'''


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """A cache of its own for every test."""
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "bench"


@pytest.fixture
def folder(tmp_path) -> Path:
    place = tmp_path / "data"
    place.mkdir()
    (place / "data.txt").write_text("one")
    return place


@pytest.fixture
def suite_file(tmp_path, cache) -> Path:
    path = tmp_path / "tiny.py"
    path.write_text(SUITE_TEXT)
    return path


@pytest.fixture
def suite(suite_file):
    """The same suite as an object: runs in this process."""
    from isthmus_bench.engine.workers import load_suite

    return load_suite(str(suite_file))


@pytest.fixture
def calls(suite_file):
    """How often something was computed."""
    log = suite_file.with_suffix(".log")
    return lambda name: sum(line.startswith(name) for line in log.read_text().splitlines()) if log.exists() else 0
