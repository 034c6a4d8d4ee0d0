"""Suite "scale": files larger than memory. Cost per document, memory, the same bytes on any number of workers.

The inputs are made of real texts (:mod:`isthmus.bench.suites.scale_data`) and kept in a folder for temporary files, or
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
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from isthmus._progress import listen
from isthmus.bench.engine.suite import Method, Study, Suite, Task, TaskData
from isthmus.bench.suites.scale_data import HEADLINES, REVIEWS, make_corpus
from isthmus.scale import METHODS, label_files

SIZES = {"100k": 100_000, "1m": 1_000_000, "2m": 2_000_000, "10m": 10_000_000}
SOURCE = 200_000  # labelled documents of every task
PEER = "hashing-sgd"
_SMALL = 12_000  # documents of the study "identical"
_FILES = {"headlines": HEADLINES, "reviews": REVIEWS}


def corpus_folder(data: Path, kind: str, n_target: int, n_source: int = SOURCE) -> Path:
    """The made input of this size; made once."""
    place = Path(os.environ.get("ISTHMUS_SCALE_WORK") or Path(tempfile.gettempdir(), "isthmus-scale"))
    folder = place / f"{kind}-{n_source}-{n_target}"
    if not (folder / "facts.json").is_file():
        shutil.rmtree(folder, ignore_errors=True)
        facts = make_corpus(data, folder, kind, n_source, n_target)
        (folder / "facts.json").write_text(json.dumps(facts))
    return folder


def accuracy(folder: Path, output: Path) -> float:
    """Share of right labels in an output folder."""
    with ExitStack() as stack:
        truth = stack.enter_context(open(folder / "target-truth.txt", encoding="utf-8"))
        right = count = 0
        for path in sorted(output.glob("*.csv")):
            for row in csv.DictReader(stack.enter_context(open(path, newline="", encoding="utf-8"))):
                right += row["label"] == next(truth).rstrip("\n")
                count += 1
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
    wall, own = time.monotonic(), time.process_time()
    try:
        facts = function(*arguments)
    except BaseException as error:
        pipe.send(error)
        return
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, spent.ru_maxrss)
    facts |= {
        "seconds": time.monotonic() - wall,
        "cpu_s": time.process_time() - own + spent.ru_utime + spent.ru_stime,
        "peak_mb": peak / 1024,
    }
    pipe.send(facts)


def run_ours(folder: str, output: str, method: str, options: dict[str, Any]) -> dict[str, Any]:
    """Label a made input; seconds of the passes that read, count and number words are told apart."""
    spans: dict[str, list[float]] = {}

    def hear(event: dict) -> None:
        spans.setdefault(event["phase"].partition(",")[0], []).append(event["time"])

    with listen(hear):
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
    passes = ("reading", "counting words", "numbering words", "counting words per class")
    return {
        "method": result.method,
        "documents": result.source_documents + result.target_documents,
        "pass_s": sum(spans[name][-1] - spans[name][0] for name in passes if name in spans),
        "expected": result.expected_accuracy.estimate,
    }


def run_peer(folder: str, output: str, chinese: bool) -> dict[str, Any]:
    """scikit-learn on the same files: hashed n-grams and a linear model by stochastic gradients, one pass each."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    pieces = {"analyzer": "char", "ngram_range": (2, 2)} if chinese else {"ngram_range": (1, 2)}
    vectorizer = HashingVectorizer(n_features=2**20, alternate_sign=False, **pieces)
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


def _blocks(folder: Path, size: int = 50_000):
    for path in sorted(folder.glob("*.csv")):
        with open(path, newline="", encoding="utf-8") as file:
            rows: list[dict] = []
            for row in csv.DictReader(file):
                rows.append(row)
                if len(rows) == size:
                    yield rows
                    rows = []
            if rows:
                yield rows


# -- tasks and methods -------------------------------------------------------------------------------------------------


def _task(kind: str, size: str) -> Task:
    def load(data: Path) -> TaskData:
        return TaskData([], [], [], [], extra={"folder": corpus_folder(data, kind, SIZES[size]), "kind": kind})

    return Task(f"{kind}-{size}", load, (_FILES[kind],))


def _method(name: str) -> Method:
    def run(data: TaskData, seed: int) -> list[dict]:
        folder = data.extra["folder"]
        output = folder / f"out-{name}"
        shutil.rmtree(output, ignore_errors=True)
        if name == PEER:
            facts = measured(run_peer, str(folder), str(output), data.extra["kind"] == "headlines")
        else:
            facts = measured(run_ours, str(folder), str(output), name, {"random_state": seed})
        right = accuracy(folder, output)
        shutil.rmtree(output, ignore_errors=True)
        return rows_of(facts, right)

    return Method(name, run, seeded=False)


def rows_of(facts: dict[str, Any], right: float) -> list[dict]:
    """Rows of the record from what was measured."""
    cost = 1e6 * facts["cpu_s"] / facts["documents"]
    told = {"cpu_s": round(facts["cpu_s"], 1), "fitted": facts["method"]}
    values = {"accuracy": right, "us_per_document": cost, "peak_mb": facts["peak_mb"], "wall_s": facts["seconds"]}
    return [
        {"metric": metric, "value": round(value, 4), "seconds": round(facts["seconds"], 1), **told}
        for metric, value in values.items()
    ]


# -- studies -----------------------------------------------------------------------------------------------------------


def identical(data: Path, seeds: tuple[int, ...]) -> list[dict]:
    """One digest of all output bytes per method and way of running: they must be the same."""
    folder = corpus_folder(data, "headlines", _SMALL, _SMALL // 2)
    ways: dict[str, dict[str, Any]] = {"in memory": {"engine": "memory", "block_rows": 10**6}}
    ways |= {f"blocks of {rows:,}": {"engine": "local", "block_rows": rows} for rows in (1_000, 3_333, 50_000)}
    ways |= {f"dask, {n} workers": {"engine": "dask", "workers": n, "block_rows": 2_000} for n in (1, 2, 3)}
    table = []
    for method in METHODS:
        digests = {}
        for name, options in ways.items():
            digests[name] = measured(run_digest, str(folder), method, {"sample": 500, **options}, 0)["digest"]
        digests["dask, 2 workers, killed twice"] = measured(
            run_digest, str(folder), method, {"sample": 500, "workers": 2, "block_rows": 500}, 2
        )["digest"]
        first = digests["in memory"]
        table += [
            {"method": method, "run": name, "sha256": digest[:16], "same": digest == first}
            for name, digest in digests.items()
        ]
    return table


def run_digest(folder: str, method: str, options: dict[str, Any], kills: int) -> dict[str, Any]:
    """Label, and give back one digest of the files written; ``kills`` workers are killed on the way."""
    with tempfile.TemporaryDirectory() as place:
        options = {"method": method, "text": "text", "label": "label", **options}
        arguments = f"{folder}/source", f"{folder}/target", f"{place}/out"
        if not kills:
            result = label_files(*arguments, **options)
        else:
            result = _label_while_killing(arguments, options, kills)
    return {"digest": "".join(row["sha256"] for row in result.files)}


def _label_while_killing(arguments: tuple, options: dict[str, Any], kills: int) -> Any:
    import dask
    import distributed

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        distributed.LocalCluster(
            n_workers=options.pop("workers"), threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        done, killed = threading.Event(), set[int]()

        def kill() -> None:
            while len(killed) < kills and not done.wait(1.0):
                alive = {worker.pid for worker in cluster.workers.values() if worker.pid} - killed
                if alive:
                    killed.add(min(alive))
                    os.kill(min(alive), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            result = label_files(*arguments, client=client, **options)
        finally:
            done.set()
            killer.join()
        if len(killed) < kills:
            raise RuntimeError(f"the run ended before {kills} workers were killed")
        return result


def growth(data: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Processor time per document by the number of documents."""
    table = []
    for size in ("100k", "1m", "10m"):
        folder = corpus_folder(data, "headlines", SIZES[size])
        for method in ("nbc", "projection"):
            output = folder / f"grow-{method}"
            facts = measured(run_ours, str(folder), str(output), method, {})
            shutil.rmtree(output, ignore_errors=True)
            table.append(
                {
                    "method": method,
                    "documents": facts["documents"],
                    "us_per_document": round(1e6 * facts["cpu_s"] / facts["documents"], 1),
                    "peak_mb": round(facts["peak_mb"]),
                    "seconds": round(facts["seconds"], 1),
                }
            )
    return table


def workers(data: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Seconds of the passes that read and count, on one and on two workers of a local cluster."""
    folder = corpus_folder(data, "headlines", SIZES["1m"])
    table: list[dict] = []
    for n in (1, 2):
        output = folder / f"workers-{n}"
        facts = measured(run_ours, str(folder), str(output), "projection", {"engine": "dask", "workers": n})
        shutil.rmtree(output, ignore_errors=True)
        row = {"workers": n, "pass_s": round(facts["pass_s"], 1), "seconds": round(facts["seconds"], 1)}
        row["ratio"] = round(table[0]["pass_s"] / row["pass_s"], 2) if table else 1.0
        table.append(row)
    return table


TASKS = {f"{kind}-{size}": _task(kind, size) for kind in ("headlines", "reviews") for size in SIZES}
SUITE = Suite(
    name="scale",
    summary="Files larger than memory: cost per document, memory, accuracy, and the same bytes on any workers.",
    tasks=TASKS,
    methods={name: _method(name) for name in (*METHODS, "auto", PEER)},
    default_tasks=("headlines-100k",),
    default_methods=("nbc", "projection", "logistic", "svm", "cocc", PEER),
    studies={
        study.name: study
        for study in (
            Study(
                "identical",
                "Digests of the output: in memory, streamed, on workers.",
                identical,
                (HEADLINES,),
            ),
            Study(
                "growth",
                "Processor time per document by size.",
                growth,
                (HEADLINES,),
                {"kind": "line", "x": "documents", "y": "us_per_document", "color": "method", "log_x": True},
            ),
            Study("workers", "One worker against two.", workers, (HEADLINES,)),
        )
    },
    parallel=False,
    means={},
)
