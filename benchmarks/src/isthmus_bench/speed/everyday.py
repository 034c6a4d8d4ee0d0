"""What a user waits for: whole commands in processes of their own, against the limits that are set for them.

Processor seconds of both cores together, which other work on the machine changes least; the median of three runs.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from itertools import islice
from pathlib import Path

from isthmus_bench.engine.suite import SpeedCase
from isthmus_bench.tasks import AMAZON_FILE, AMAZON_UNLABELLED_FILE

REPEATS = 3
FIRST_RUN = 1.3  # times the second run, at most
_ISTHMUS = (sys.executable, "-m", "isthmus")
_WARM = """
import json, sys, time, warnings
import isthmus
warnings.simplefilter("ignore")
result, text = isthmus.load(sys.argv[1]), sys.argv[2]
for _ in range(3):
    result.label_new([text])
began = time.process_time()
for _ in range(20):
    result.label_new([text])
print(json.dumps((time.process_time() - began) / 20))
"""


@dataclass(frozen=True)
class Cost:
    """Of one process and its children."""

    cpu_s: float
    wall_s: float
    peak_mb: float


# A process of its own starts the command: memory is counted from the process on that starts it, and this one is large.
_STARTER = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, done.stderr[-300:], used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def run_process(command: Sequence[str], folder: Path, **environment: str) -> Cost:
    """Run a command to its end, with its byte code kept as an installer leaves it; an error says what it said."""
    starter = [sys.executable, "-S", "-c", _STARTER, *command]
    settings = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment}
    began = time.perf_counter()
    done = subprocess.run(starter, cwd=folder, env=settings, capture_output=True, text=True, check=True)
    wall = time.perf_counter() - began
    code, said, cpu, peak = json.loads(done.stdout)
    if code:
        raise RuntimeError(f"{' '.join(command[1:4])} ended with {code}: {said}")
    return Cost(cpu, wall, peak)


def median_cost(command: Sequence[str], folder: Path, **environment: str) -> Cost:
    """The middle of several runs, each figure for itself; one run before them leaves what is compiled in its cache."""
    run_process(command, folder, **environment)
    costs = [run_process(command, folder, **environment) for _ in range(REPEATS)]
    return Cost(*(statistics.median(getattr(cost, name) for cost in costs) for name in Cost.__dataclass_fields__))


def limit_row(cost: Cost, limit: float, *, clock: str = "cpu", **more: object) -> dict:
    """A row against a limit: the ratio is how many times the command would fit into it."""
    ours = cost.cpu_s if clock == "cpu" else cost.wall_s
    facts = {"wall_s": cost.wall_s, "cpu_s": cost.cpu_s, "peak_mb": cost.peak_mb}
    return {"ours_s": ours, "peer": f"limit of {limit:g} s", "peer_s": limit, "clock": clock, **facts, **more}


@contextmanager
def _files(folder: Path, n_source: int, n_target: int) -> Iterator[tuple[Path, Path, Path]]:
    """A folder with reviews as tables: labelled ones of several products, and others without labels."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        labelled = [row for row in _lines(folder / AMAZON_FILE) if row["domain"] == "books" or n_source > 2_000]
        _write(place / "source.csv", islice(labelled, n_source), ("id", "text", "label"))
        _write(place / "target.csv", islice(_lines(folder / AMAZON_UNLABELLED_FILE), n_target), ("id", "text"))
        yield place, place / "source.csv", place / "target.csv"


def _lines(path: Path) -> Iterator[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def _write(path: Path, rows: Iterator[dict], columns: tuple[str, ...]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows([row[name] for name in columns] for row in rows)


def _label(source: Path, target: Path, *more: str) -> list[str]:
    return [*_ISTHMUS, "label", str(source), str(target), "-o", "labelled.csv", "--force", *more]


def _first_run(folder: Path) -> dict:
    """The bundled sample with an empty cache of compiled code, and once more."""
    with tempfile.TemporaryDirectory() as name, resources.as_file(resources.files("isthmus.corpus.sample")) as sample:
        command = _label(sample / "motorcycles.csv", sample / "cars.csv", "--report", "report.html")
        first: list[float] = []
        second: list[float] = []
        for number in range(REPEATS):
            cache = Path(name, f"cache-{number}")
            cache.mkdir()
            for costs in (first, second):
                costs.append(run_process(command, Path(name), NUMBA_CACHE_DIR=str(cache)).cpu_s)
    return {
        "ours_s": statistics.median(first),
        "peer": "the second run",
        "peer_s": statistics.median(second),
        "clock": "cpu",
        "n": 600,
    }


def _labelling(n_source: int, n_target: int, limit: float, clock: str = "cpu"):
    def run(folder: Path) -> dict:
        with _files(folder, n_source, n_target) as (place, source, target):
            cost = median_cost(_label(source, target, "--report", "report.html"), place)
        return limit_row(cost, limit, clock=clock, n=n_source + n_target)

    return run


def _saved(n_texts: int, limit: float, warm: bool = False):
    """Later texts by a model that was saved after labelling 2,000 reviews."""

    def run(folder: Path) -> dict:
        with _files(folder, 2_000, 2_000) as (place, source, target):
            run_process(_label(source, target, "--save", "model.isthmus"), place)
            later = list(islice(_lines(folder / AMAZON_FILE), 5_000, 5_000 + n_texts))
            if warm:
                done = [_warm_seconds(place, later[0]["text"]) for _ in range(REPEATS)]
                return limit_row(Cost(statistics.median(done), 0.0, 0.0), limit, n=1)
            _write(place / "later.csv", iter(later), ("id", "text"))
            command = [*_ISTHMUS, "label", "later.csv", "--model", "model.isthmus", "-o", "later_out.csv", "--force"]
            return limit_row(median_cost(command, place), limit, n=n_texts)

    return run


def _warm_seconds(place: Path, text: str) -> float:
    command = [sys.executable, "-c", _WARM, "model.isthmus", text]
    return json.loads(subprocess.run(command, cwd=place, capture_output=True, text=True, check=True).stdout)


def _start_up(limit: float, *command: str):
    def run(folder: Path) -> dict:
        with tempfile.TemporaryDirectory() as name:
            return limit_row(median_cost([sys.executable, *command], Path(name)), limit)

    return run


_REVIEWS = (AMAZON_FILE, AMAZON_UNLABELLED_FILE)
CASES = (
    SpeedCase("first-run", "auto", _first_run, summary="the sample, nothing compiled", limit=1 / FIRST_RUN, quick=True),
    SpeedCase("import", "auto", _start_up(0.25, "-c", "import isthmus"), summary="import isthmus", limit=1, quick=True),
    SpeedCase(
        "help", "auto", _start_up(0.35, "-m", "isthmus", "--help"), summary="isthmus --help", limit=1, quick=True
    ),
    SpeedCase("label-2000-2000", "auto", _labelling(2_000, 2_000, 20), _REVIEWS, "with report", limit=1),
    SpeedCase("label-2000-20000", "auto", _labelling(2_000, 20_000, 40), _REVIEWS, "with report", limit=1),
    SpeedCase("label-6000-22390", "auto", _labelling(6_000, 22_390, 30, "wall"), _REVIEWS, "with report", limit=1),
    SpeedCase("one-text-cold", "auto", _saved(1, 2.5), _REVIEWS, "label --model, one text", limit=1),
    SpeedCase("one-text-warm", "auto", _saved(1, 1.0, warm=True), _REVIEWS, "label_new of one text", limit=1),
    SpeedCase("model-1000-texts", "auto", _saved(1_000, 3), _REVIEWS, "label --model, 1,000 texts", limit=1),
)
