"""Suite "scale": files larger than memory. Cost per document, memory, the same bytes on any number of workers.

The inputs are made of real texts (:mod:`isthmus_bench.suites.scale_data`) and kept in a folder for temporary files, or
in the one that the environment variable ``ISTHMUS_SCALE_WORK`` names. Every run is a process of its own, so that its
memory and processor time can be told.
"""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from isthmus import methods
from isthmus._progress import listen
from isthmus.scale import label_files
from isthmus_bench.engine.suite import Method, Study, Suite, Task, TaskData
from isthmus_bench.engine.workers import end_with_parent
from isthmus_bench.suites.scale_data import SHARD_ROWS, make_corpus
from isthmus_bench.tasks import AMAZON_FILE, HEADLINES_FILE

METHODS = [name for name, method in methods.METHODS.items() if method.chunks]  # that run in chunks
SIZES = {"100k": 100_000, "1m": 1_000_000, "2m": 2_000_000, "10m": 10_000_000}
LABELLED = 50  # documents to be labelled for each labelled one
_FILE_ROWS = 4_200_000  # reviews that make a file of two gigabytes
PEER, DASK_PEER = "hashing-sgd", "dask-ml"
_CLOCK = (("reviews", "1m", "auto"), ("headlines", "10m", "projection"), ("headlines", "10m", "nbc"))
_SMALL = 1_200  # documents of the study "identical"
# What the peers read: verdicts need pairs of words, topics do without, which is quicker.
_PEER_TERMS: dict[str, dict[str, Any]] = {
    "headlines": {"analyzer": "char", "ngram_range": (2, 2)},
    "reviews": {"ngram_range": (1, 2)},
    "stretches": {},
}
_FILES = {"headlines": HEADLINES_FILE, "reviews": AMAZON_FILE, "stretches": AMAZON_FILE}


def corpus_folder(
    data: Path, kind: str, n_target: int, n_source: int | None = None, shard_rows: int = SHARD_ROWS
) -> Path:
    """The made input of this size; made once."""
    place = Path(os.environ.get("ISTHMUS_SCALE_WORK") or Path(tempfile.gettempdir(), "isthmus-scale"))
    n_source = n_target // LABELLED if n_source is None else n_source
    folder = place / f"{kind}-{n_source}-{n_target}"
    if not (folder / "facts.json").is_file():
        shutil.rmtree(folder, ignore_errors=True)
        facts = make_corpus(data, folder, kind, n_source, n_target, shard_rows=shard_rows)
        (folder / "facts.json").write_text(json.dumps(facts))
    return folder


def accuracy(folder: Path, output: Path) -> float:
    """Share of right labels in an output folder."""
    import polars

    right = count = 0
    with open(folder / "target-truth.txt", encoding="utf-8") as truth:
        for path in sorted(output.glob("*.csv")):
            given = polars.read_csv(path, columns=["label"], infer_schema=False)["label"].to_list()
            right += sum(label == line.rstrip("\n") for label, line in zip(given, truth, strict=False))
            count += len(given)
    return right / max(1, count)


# -- one run in a process of its own -----------------------------------------------------------------------------------


def measured(function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """What a function gives back, with seconds, processor seconds and the largest memory of its process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_report, args=(theirs, function, arguments))
    process.start()
    theirs.close()
    try:
        facts = ours.recv()
    except EOFError:
        raise RuntimeError("the measured process ended without a result") from None
    finally:
        process.join()
    if isinstance(facts, BaseException):
        raise facts
    return facts


def _report(pipe: Any, function: Callable[..., Any], arguments: tuple) -> None:
    end_with_parent()
    wall, own = time.monotonic(), time.process_time()
    try:
        facts = function(*arguments)
    except BaseException as error:
        pipe.send(error)
        return
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, spent.ru_maxrss)
    facts |= {
        "seconds": time.monotonic() - wall - facts.get("warm_s", 0.0),
        "cpu_s": time.process_time() - own + spent.ru_utime + spent.ru_stime - facts.get("warm_cpu_s", 0.0),
        "peak_mb": peak / 1024,
    }
    pipe.send(facts)


def run_ours(folder: str, output: str, method: str, options: dict[str, Any]) -> dict[str, Any]:
    """Label a made input; what passes over documents took is told apart from what is done once.

    A small run goes before, which loads what is compiled; its time is not counted.
    """
    began = time.process_time(), time.monotonic()
    _warm_up(folder, method)
    warm = {"warm_cpu_s": time.process_time() - began[0], "warm_s": time.monotonic() - began[1]}
    spans = Spans()
    with listen(spans):
        result = label_files(
            f"{folder}/source",
            f"{folder}/target",
            output,
            method=method,
            text="text",
            label="label",
            force=True,
            **options,
        )
    return {
        "method": result.method,
        "documents": result.source_documents + result.target_documents,
        "terms": result.terms,
        "pass_s": sum(spans.seconds.get(name, 0.0) for name in _READING),
        "pass_cpu_s": sum(spans.processor.values()),
        "phases": spans.processor,
        "expected": result.expected_accuracy.estimate,
        **warm,
    }


def _warm_up(folder: str, method: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        for side in ("source", "target"):
            with (
                open(Path(folder, side, "part-0000.csv"), encoding="utf-8", newline="") as file,
                open(Path(place, f"{side}.csv"), "w", encoding="utf-8", newline="") as out,
            ):
                csv.writer(out).writerows(islice(csv.reader(file), 401))
        files = f"{place}/source.csv", f"{place}/target.csv", f"{place}/out"
        label_files(*files, method="nbc" if method == "auto" else method, text="text", label="label", sample=100)


_READING = ("reading", "counting words", "numbering words", "counting words per class")


class Spans:
    """Seconds, and processor seconds of this process, of every pass over documents: between the first and the last
    word of its progress. What lies between two passes is done once for all documents.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.processor: dict[str, float] = {}
        self._last: tuple[str, float, float] = ("", 0.0, 0.0)

    def __call__(self, event: dict) -> None:
        name, wall, own = event["phase"].partition(",")[0], event["time"], time.process_time()
        if self._last[0] == event["phase"] and event["done"]:
            self.seconds[name] = self.seconds.get(name, 0.0) + wall - self._last[1]
            self.processor[name] = self.processor.get(name, 0.0) + own - self._last[2]
        self._last = event["phase"], wall, own


def run_peer(folder: str, output: str, kind: str) -> dict[str, Any]:
    """scikit-learn on the same files: hashed n-grams and a linear model by stochastic gradients, one pass each."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    vectorizer = HashingVectorizer(n_features=2**20, alternate_sign=False, **_PEER_TERMS[kind])
    model = SGDClassifier(loss="log_loss", random_state=0)
    classes = sorted({row["label"] for rows in _blocks(Path(folder, "source")) for row in rows})
    count = 0
    for rows in _blocks(Path(folder, "source")):
        count += len(rows)
        texts = vectorizer.transform([row["text"] for row in rows])
        model.partial_fit(texts, [row["label"] for row in rows], classes=classes)
    Path(output).mkdir(parents=True, exist_ok=True)
    with open(Path(output, "all.csv"), "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["id", "text", "label"])
        for rows in _blocks(Path(folder, "target")):
            count += len(rows)
            labels = model.predict(vectorizer.transform([row["text"] for row in rows]))
            writer.writerows([row["id"], row["text"], label] for row, label in zip(rows, labels, strict=True))
    return {"documents": count, "method": PEER}


def _blocks(folder: Path):
    for path in sorted(folder.glob("*.csv")):
        yield from _blocks_of(path)


def run_dask_ml(folder: str, output: str, kind: str) -> dict[str, Any]:
    """dask-ml on the same files, a file a block, one after another in this process: the same features and model."""
    import dask
    from dask_ml.feature_extraction.text import HashingVectorizer
    from dask_ml.wrappers import Incremental
    from sklearn.linear_model import SGDClassifier

    vectorizer = HashingVectorizer(n_features=2**20, alternate_sign=False, **_PEER_TERMS[kind])
    model = Incremental(SGDClassifier(loss="log_loss", random_state=0), assume_equal_chunks=True)
    with dask.config.set(scheduler="synchronous"):
        texts, labels, count = _dask_columns(Path(folder, "source"), labelled=True)
        model.fit(vectorizer.transform(texts), labels, classes=sorted(set(labels.compute().tolist())))
        Path(output).mkdir(parents=True, exist_ok=True)
        with open(Path(output, "all.csv"), "w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out)
            writer.writerow(["id", "text", "label"])
            for path in sorted(Path(folder, "target").glob("*.csv")):
                rows = [row for block in _blocks_of(path) for row in block]
                own, _, n = _dask_columns(path, labelled=False)
                found = model.predict(vectorizer.transform(own)).compute()
                writer.writerows([row["id"], row["text"], label] for row, label in zip(rows, found, strict=True))
                count += n
    return {"documents": count, "method": DASK_PEER}


def _dask_columns(place: Path, *, labelled: bool) -> tuple[Any, Any, int]:
    """Texts as a bag and labels as an array, a file a block; and how many documents there are."""
    import dask
    import dask.array
    import dask.bag

    paths = sorted(place.glob("*.csv")) if place.is_dir() else [place]
    sizes = [sum(len(rows) for rows in _blocks_of(path)) for path in paths]
    read = dask.delayed(lambda path, name: [row[name] for rows in _blocks_of(path) for row in rows])
    texts = dask.bag.from_delayed([read(path, "text") for path in paths])
    if not labelled:
        return texts, None, sum(sizes)
    parts = [
        dask.array.from_delayed(dask.delayed(np.array)(read(path, "label")), (size,), dtype="<U64")
        for path, size in zip(paths, sizes, strict=True)
    ]
    return texts, dask.array.concatenate(parts), sum(sizes)


def _blocks_of(path: Path):
    with open(path, newline="", encoding="utf-8") as file:
        lines = csv.DictReader(file)
        while rows := list(islice(lines, 50_000)):
            yield rows


# -- tasks and methods -------------------------------------------------------------------------------------------------


def _task(name: str, kind: str, n_target: int, shard_rows: int = SHARD_ROWS) -> Task:
    def load(data: Path) -> TaskData:
        folder = corpus_folder(data, kind, n_target, shard_rows=shard_rows)
        return TaskData([], [], [], [], extra={"folder": folder, "kind": kind})

    return Task(name, load, (_FILES[kind],))


_PEERS = {PEER: run_peer, DASK_PEER: run_dask_ml}


def _method(name: str) -> Method:
    def run(data: TaskData, seed: int) -> list[dict]:
        folder = data.extra["folder"]
        output = folder / f"out-{name}"
        shutil.rmtree(output, ignore_errors=True)
        if name in _PEERS:
            facts = measured(_PEERS[name], str(folder), str(output), data.extra["kind"])
        else:
            # One process, as the peers: what a document costs. The study "workers" has what more of them bring.
            facts = measured(run_ours, str(folder), str(output), name, {"random_state": seed, "workers": 1})
        right = accuracy(folder, output)
        shutil.rmtree(output, ignore_errors=True)
        return rows_of(facts, right)

    return Method(name, run, seeded=False)


def rows_of(facts: dict[str, Any], right: float) -> list[dict]:
    """Rows of the record from what was measured."""
    each = 1e6 / facts["documents"]
    told = {"seconds": round(facts["seconds"], 1), "fitted": facts["method"], "documents": facts["documents"]}
    values = {
        "accuracy": right,
        "wall_s": facts["seconds"],
        "cpu_s": facts["cpu_s"],
        "peak_mb": facts["peak_mb"],
        "us_per_document": each * facts["cpu_s"],
    }
    if "pass_cpu_s" in facts:
        values |= {"pass_us": each * facts["pass_cpu_s"], "terms": facts["terms"]}
    if facts.get("expected") is not None:
        values["expected"] = facts["expected"]
    rows = [{"metric": metric, "value": round(value, 4), **told} for metric, value in values.items()]
    phases = facts.get("phases", {})
    return rows + [
        {"metric": "phase_us", "phase": p, "value": round(each * cpu, 2), **told} for p, cpu in phases.items()
    ]


def growth(rows: list[dict]) -> list[dict]:
    """Processor time per document by the number of documents: all of it, and that of the passes over documents."""
    told = ("wall_s", "cpu_s", "peak_mb", "us_per_document", "pass_us", "terms")
    found: dict[tuple[str, int], dict] = {}
    for row in rows:
        if row["task"].startswith("headlines-") and row["method"] in ("nbc", "projection") and row["metric"] in told:
            found.setdefault((row["method"], row["documents"]), {})[row["metric"]] = round(row["value"], 1)
    return [{"method": name, "documents": n, **values} for (name, n), values in sorted(found.items())]


def passes(rows: list[dict]) -> list[dict]:
    """Processor microseconds per document of each pass."""
    return [
        {"task": row["task"], "method": row["method"], "pass": row["phase"], "us_per_document": row["value"]}
        for row in rows
        if row["metric"] == "phase_us"
    ]


# -- studies -----------------------------------------------------------------------------------------------------------


def identical(data: Path, seeds: tuple[int, ...]) -> list[dict]:
    """One digest of all output bytes per method and way of running: they must be the same."""
    folder = str(corpus_folder(data, "headlines", _SMALL, _SMALL // 2))
    found = measured(run_in_blocks, folder)["digests"] + measured(run_on_workers, folder)["digests"]
    first = {method: digest for method, way, digest in found if way == "in memory"}
    return [
        {"method": method, "run": way, "sha256": digest[:16], "same": digest == first[method]}
        for method, way, digest in sorted(found, key=lambda row: list(METHODS).index(row[0]))
    ]


def _digest(folder: str, method: str, **options: Any) -> str:
    """Label, and give back one digest of the files written."""
    with tempfile.TemporaryDirectory() as place:
        arguments = f"{folder}/source", f"{folder}/target", f"{place}/out"
        result = label_files(*arguments, method=method, text="text", label="label", sample=300, **options)
    return "".join(row["sha256"] for row in result.files)


def run_in_blocks(folder: str) -> dict[str, Any]:
    ways: dict[str, dict[str, Any]] = {"in memory": {"engine": "memory", "block_rows": 10**6}}
    ways |= {f"blocks of {rows:,}": {"engine": "local", "block_rows": rows} for rows in (150, 411, 50_000)}
    ways["two processes"] = {"engine": "local", "block_rows": 300, "workers": 2}
    return {
        "digests": [
            (method, way, _digest(folder, method, **options)) for method in METHODS for way, options in ways.items()
        ]
    }


def run_on_workers(folder: str) -> dict[str, Any]:
    """On 1, 2 and 3 workers, and on two of which two are killed: after a third and after two thirds of the steps."""
    digests = []
    steps = dict.fromkeys(METHODS, 0)
    for n in (1, 2, 3):
        with _cluster(n) as (cluster, client):
            for method in METHODS:
                killer = Killer(cluster, ())
                with listen(killer):
                    digest = _digest(folder, method, client=client, block_rows=300)
                digests.append((method, f"dask, {n} worker{'s' if n > 1 else ''}", digest))
                steps[method] = killer.steps
    for method in METHODS:
        with _cluster(2) as (cluster, client):  # a new one each time: a worker killed as it starts is not replaced
            killer = Killer(cluster, (steps[method] // 3, 2 * steps[method] // 3))
            with listen(killer):
                digest = _digest(folder, method, client=client, block_rows=300)
        if len(killer.killed) < 2:
            raise RuntimeError(f"{method}: {len(killer.killed)} workers were killed, not 2")
        digests.append((method, "dask, 2 workers, killed twice", digest))
    return {"digests": digests}


@contextmanager
def _cluster(n: int) -> Iterator[tuple[Any, Any]]:
    import dask
    import distributed

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        distributed.LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield cluster, client


class Killer:
    """Hears progress and kills a worker at the given steps."""

    def __init__(self, cluster: Any, at: tuple[int, ...]):
        self.cluster, self.at, self.steps = cluster, at, 0
        self.killed: set[int] = set()

    def __call__(self, event: dict) -> None:
        self.steps += 1
        if len(self.killed) < len(self.at) and self.steps >= self.at[len(self.killed)]:
            alive = {worker.pid for worker in self.cluster.workers.values() if worker.pid} - self.killed
            if alive:
                self.killed.add(min(alive))
                os.kill(min(alive), signal.SIGKILL)


def workers(data: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Seconds of the passes that read and count, and of the whole run, by one process and by two."""
    folder = corpus_folder(data, "headlines", SIZES["1m"])
    table: list[dict] = []
    for n in (1, 2):
        output = folder / f"workers-{n}"
        facts = measured(run_ours, str(folder), str(output), "projection", {"workers": n})
        shutil.rmtree(output, ignore_errors=True)
        row = {"workers": n, "pass_s": round(facts["pass_s"], 1), "seconds": round(facts["seconds"], 1)}
        for ratio, seconds in (("ratio", "pass_s"), ("whole", "seconds")):
            row[ratio] = round(table[0][seconds] / row[seconds], 2) if table else 1.0
        table.append(row)
    return table


def clock(data: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Large inputs as anybody runs them, by as many processes as there are cores: seconds on the clock."""
    table = []
    for kind, size, method in _CLOCK:
        folder = corpus_folder(data, kind, SIZES[size])
        output = folder / f"clock-{method}"
        facts = measured(run_ours, str(folder), str(output), method, {"random_state": 0})
        row = {"task": f"{kind}-{size}", "method": method, "cores": len(os.sched_getaffinity(0))}
        row |= {name: round(facts[name], 1) for name in ("seconds", "cpu_s", "peak_mb")}
        table.append({**row, "accuracy": round(accuracy(folder, output), 4)})
        shutil.rmtree(output, ignore_errors=True)
    return table


TASKS = {
    name: _task(name, kind, n) for kind in _FILES for name, n in ((f"{kind}-{size}", n) for size, n in SIZES.items())
}
TASKS["file-2gb"] = _task("file-2gb", "reviews", _FILE_ROWS, shard_rows=_FILE_ROWS)
SUITE = Suite(
    name="scale",
    summary="Files larger than memory: cost per document, memory, accuracy, and the same bytes on any workers.",
    tasks=TASKS,
    methods={name: _method(name) for name in (*METHODS, "auto", *_PEERS)},
    default_tasks=("headlines-100k",),
    default_methods=("nbc", "projection", "logistic", "svm", "cocc", PEER),
    studies={
        study.name: study
        for study in (
            Study(
                "identical",
                "Digests of the output: in memory, streamed, on workers.",
                identical,
                (HEADLINES_FILE,),
            ),
            Study("workers", "One process against two.", workers, (HEADLINES_FILE,)),
            Study("clock", "Seconds on the clock on every core.", clock, (HEADLINES_FILE, AMAZON_FILE)),
        )
    },
    parallel=False,
    means={},
    derived={"growth": growth, "passes": passes},
    charts={"growth": {"kind": "line", "x": "documents", "y": "pass_us", "color": "method", "log_x": True}},
    hidden=("phase_us", "pass_us", "terms", "expected"),
)
