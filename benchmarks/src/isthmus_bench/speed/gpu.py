"""String kernels on a GPU: seconds by stage at 10,000, 30,000 and 100,000 documents, peers, and the device's ceilings.

The texts are real: 30,390 reviews (books and DVDs as source, electronics and kitchen as target) and 102,723 Chinese
headlines (THUCNews and NLPCC 2017 as source, Toutiao as target). Reviews beyond those 30,390 are repeated with noise:
each copy loses every fifth word, drawn at random. Target labels are read for the final score alone.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._progress import progress
from isthmus.exceptions import IsthmusWarning
from isthmus_bench.engine.suite import SpeedCase, Task, TaskData
from isthmus_bench.tasks import AMAZON_FILE, AMAZON_UNLABELLED_FILE, read_records

SIZES = (10_000, 30_000, 100_000)
HEADLINES_FILE = "zh/headlines.jsonl.gz"
LENGTHS = {"reviews": (5, 8), "headlines": (1, 4)}
DROPPED = 0.2  # share of the words that a repeated review loses
CHUNK = 16_384  # columns that the peer multiplies in one go …
PEER_ROWS = 16_384  # … and rows, since a second whole matrix would not fit beside the first at 100,000


# -- Texts


def reviews(folder: Path, n: int) -> TaskData:
    """n reviews, half of them source; repeated with noise where n is more than there are."""
    rng = np.random.RandomState(0)
    sides: dict[bool, list[tuple[str, str]]] = {True: [], False: []}
    for record in [*read_records(folder / AMAZON_FILE), *read_records(folder / AMAZON_UNLABELLED_FILE)]:
        text = f"{record.get('title') or ''} {record['text']}"
        sides[record["domain"] in ("books", "dvd")].append((text, record.get("true_label") or record["label"]))
    parts = []
    for side in (True, False):
        order = rng.permutation(len(sides[side]))
        chosen = [sides[side][order[i % len(order)]] for i in range(n // 2)]
        parts.append([(text if i < len(order) else _noisy(text, rng), label) for i, (text, label) in enumerate(chosen)])
    return _task_data(*parts)


def _noisy(text: str, rng: np.random.RandomState) -> str:
    words = text.split()
    return " ".join(word for word, kept in zip(words, rng.rand(len(words)) >= DROPPED, strict=True) if kept)


def headlines(folder: Path, n: int) -> TaskData:
    """n headlines, half of them target as far as there are so many."""
    rng = np.random.RandomState(0)
    records = [record for record in read_records(folder / HEADLINES_FILE) if record["topic"] is not None]
    source = [(record["text"], record["topic"]) for record in records if record["domain"] != "toutiao"]
    known = {label for _, label in source}
    target = [(r["text"], r["topic"]) for r in records if r["domain"] == "toutiao" and r["topic"] in known]
    n_target = min(n // 2, len(target))
    parts = [[source[i] for i in rng.permutation(len(source))[: n - n_target]]]
    parts.append([target[i] for i in rng.permutation(len(target))[:n_target]])
    return _task_data(*parts)


def _task_data(source: list, target: list) -> TaskData:
    return TaskData(
        [text for text, _ in source],
        [label for _, label in source],
        [text for text, _ in target],
        [label for _, label in target],
    )


CORPORA = {"reviews": reviews, "headlines": headlines}


# -- Seconds by stage


@contextmanager
def stage_clock(xp: Any) -> Iterator[dict[str, float]]:
    """Seconds of the steps of a fit, the device waited for; counts of what was done."""
    from isthmus.classify.strings import classifier
    from isthmus.features.gram_gpu import GramIndex
    from isthmus.features.strings import StringKernel

    spent: dict[str, float] = {}
    wrapped = [
        (StringKernel, "_encode", "read"),
        (GramIndex, "build", "sort"),
        (StringKernel, "gram_and_diagonal", "gram"),
        (classifier, "solve_ridge", "solve"),
        (classifier.TransductiveKernelClassifier, "_temperature", "calibrate"),
    ]
    before = [owner.__dict__[name] for owner, name, _ in wrapped]

    def timed(function: Any, stage: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            _wait(xp)
            start = time.perf_counter()
            result = function(*args, **kwargs)
            _wait(xp)
            spent[stage] = spent.get(stage, 0.0) + time.perf_counter() - start
            spent["held_gb"] = max(spent.get("held_gb", 0.0), _held(xp) / 1e9)
            if stage == "sort":
                spent["columns"] = result.dense.shape[1]
                spent["entries"] = len(result.docs)
            return result

        return call

    for (owner, name, stage), function in zip(wrapped, before, strict=True):
        plain = isinstance(function, classmethod)
        setattr(owner, name, classmethod(timed(function.__func__, stage)) if plain else timed(function, stage))
    try:
        yield spent
    finally:
        for (owner, name, _), function in zip(wrapped, before, strict=True):
            setattr(owner, name, function)


def _held(xp: Any) -> int:
    return 0 if xp is np else xp.get_default_memory_pool().total_bytes()


def _wait(xp: Any) -> None:
    if xp is not np:
        xp.cuda.runtime.deviceSynchronize()


def fit_seconds(data: TaskData, lengths: tuple[int, int], xp: Any, **settings: Any) -> dict[str, Any]:
    """From texts to labels, exact, both rounds, the kernel on the device: seconds in all and by stage, and accuracy."""
    from isthmus import TransductiveKernelClassifier

    texts, labels, domain = data.joined()
    model = TransductiveKernelClassifier(ngram_range=lengths, device="cuda", max_exact=len(texts), **settings)
    with stage_clock(xp) as spent, warnings.catch_warnings():
        warnings.simplefilter("ignore", IsthmusWarning)
        start = time.perf_counter()
        model.fit(texts, labels, domain)
        total = time.perf_counter() - start
        fitted = dict(spent)  # predicting reads and sorts as well
        start = time.perf_counter()
        model.predict(data.target_texts[:2_000])
        fitted["predict_2000"] = time.perf_counter() - start
    right = float(np.mean(model.transduction_[domain < 0] == np.asarray(data.target_labels)))
    return {"n": len(texts), "total_s": total, "solve_s": fitted["solve"], "accuracy": right, **fitted}


# -- Ceilings of the device, and a peer


def ceilings(xp: Any, size: int = 16_384) -> dict[str, float]:
    """Operations a second of the products that are used, on random numbers, and bytes a second of a copy."""
    from isthmus.features.gram_gpu import add_products

    found = {}
    for name, dtype, fast in (("int8", np.int8, False), ("tf32", np.float32, True), ("float64", np.float64, False)):
        drawn = xp.random.rand(size, size)
        a = (drawn > 0.95).astype(np.int8) if name == "int8" else drawn.astype(dtype)
        out = xp.zeros((size, size), np.int32 if name == "int8" else dtype)
        seconds = _best(xp, lambda a=a, out=out, fast=fast: add_products(xp, out, a, a, fast=fast))
        found[f"{name}_ops"] = 2 * size**3 / seconds
    a = xp.random.rand(2 * size, size)
    b = xp.empty_like(a)
    found["copy_bytes"] = 2 * a.nbytes / _best(xp, lambda: xp.copyto(b, a))
    return found


def _best(xp: Any, call: Any, times: int = 5) -> float:
    call()
    seconds = []
    for _ in range(times):
        _wait(xp)
        start = time.perf_counter()
        call()
        _wait(xp)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def torch_product(texts: list[str], lengths: tuple[int, int]) -> tuple[float, Any]:
    """Seconds of a plain X·Xᵀ in PyTorch (half precision in, single out, columns in dense chunks), X given."""
    import torch

    from isthmus.features.gram_gpu import ngram_lists, spans
    from isthmus.features.strings import StringKernel

    texts = [StringKernel().prepare(text) for text in texts]
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    documents, _, sizes, _ = ngram_lists(np, codes, offsets, *lengths, "presence", 0)
    n, n_columns = len(texts), len(sizes)
    rows = torch.from_numpy(documents.astype(np.int64)).cuda()
    pointer = torch.from_numpy(np.concatenate([[0], np.cumsum(sizes)])).cuda()
    column = torch.repeat_interleave(torch.arange(n_columns, device="cuda"), torch.diff(pointer))
    K = torch.zeros((n, n), dtype=torch.float32, device="cuda")
    torch.cuda.synchronize()
    start = time.perf_counter()
    for first in range(0, n_columns, CHUNK):
        last = min(first + CHUNK, n_columns)
        inside = slice(int(pointer[first]), int(pointer[last]))
        dense = torch.zeros((n, CHUNK), dtype=torch.float16, device="cuda")
        dense[rows[inside], column[inside] - first] = 1
        for a, b in spans(0, n, PEER_ROWS):
            K[a:b] += torch.mm(dense[a:b], dense.T, out_dtype=torch.float32)
    torch.cuda.synchronize()
    return time.perf_counter() - start, K


def _give_back() -> None:
    import torch

    torch.cuda.empty_cache()


def shares(row: dict[str, Any]) -> dict[str, float]:
    """Return the share of the time of the Gram matrix that the device would need at its measured ceilings."""
    n = row["n"]
    return {"gram_share": (n**2 * row["columns"] / row["int8_ops"] + 2 * n * n / row["copy_bytes"]) / row["gram"]}


def _case(corpus: str, n: int):
    def run(folder: Path) -> dict:
        from isthmus.features.gram_gpu import array_module, free_bytes

        xp = array_module("cuda", n)
        data = CORPORA[corpus](Path(folder), n)
        fit_seconds(CORPORA[corpus](Path(folder), 1_000), LENGTHS[corpus], xp)  # loads libraries, compiles
        row = {**fit_seconds(data, LENGTHS[corpus], xp), **ceilings(xp)}
        row |= shares(row)
        row["ours_s"] = row["gram"]
        free_bytes(xp)  # the peer finds the device as empty as we did
        row["peer"] = "PyTorch X·Xᵀ, X given"
        row["peer_s"] = torch_product(data.joined()[0], LENGTHS[corpus])[0]
        _give_back()
        return row

    return run


def sizes(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Accuracy and seconds by size: landmarks on the CPU, exact on a GPU where there is one."""
    from isthmus import TransductiveKernelClassifier
    from isthmus.features.gram_gpu import array_module

    rows = []
    xp = array_module("auto", max(SIZES))
    for corpus, read in CORPORA.items():
        for n in SIZES:
            data = read(Path(folder), n)
            texts, labels, domain = data.joined()
            row = {"corpus": corpus, "n": n}
            if xp is not None:
                found = fit_seconds(data, LENGTHS[corpus], xp)
                rows.append({**row, "method": "exact, GPU", "accuracy": found["accuracy"], "seconds": found["total_s"]})
            settings: dict[str, Any] = {
                "ngram_range": LENGTHS[corpus],
                "n_landmarks": 2_000,
                "random_state": 0,
                "n_jobs": -1,
            }
            start = time.perf_counter()
            model = TransductiveKernelClassifier(**settings, device="cpu").fit(texts, labels, domain)
            seconds = time.perf_counter() - start
            right = float(np.mean(model.transduction_[domain < 0] == np.asarray(data.target_labels)))
            rows.append({**row, "method": "2,000 landmarks, CPU", "accuracy": right, "seconds": seconds})
    return rows


# -- The same numbers as on the CPU


FITS: dict[str, dict[str, Any]] = {
    "the method's": {},
    "intersection": {"kernel": "intersection"},
}


def agreement(tasks: Mapping[str, Task]) -> Callable[[Path, tuple[int, ...]], list[dict]]:
    """Study: each CUDA function against its twin, then integers, labels and scores of every task against the CPU's."""

    def run(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
        from isthmus.features.gram_gpu import array_module

        xp = array_module("cuda", max(SIZES))
        rows = twins(xp)
        for name, task in tasks.items():
            data = task.load(Path(folder))
            lengths = LENGTHS["headlines" if data.extra.get("chinese") else "reviews"]
            rows += [{"task": name, **row} for row in same_integers(data, lengths)]
            rows += [{"task": name, **row} for row in same_fits(data, lengths)]
            progress("compared", len(rows), None, what=name)
        return rows

    return run


def _difference(found: Any, expected: Any) -> dict[str, Any]:
    """How many entries differ, and the largest difference relative to the largest entry."""
    found, expected = np.asarray(found), np.asarray(expected)
    gap = np.abs(found.astype(float) - expected.astype(float)).max(initial=0.0)
    largest = np.abs(expected.astype(float)).max(initial=0.0)
    return {
        "compared": found.size,
        "differ": int((found != expected).sum()),
        "largest": float(gap / largest) if largest else float(gap),
    }


def twins(xp: Any, n: int = 300) -> list[dict]:
    """The two functions of the Gram matrix with CUDA code on random input, against the same functions with numpy."""
    from isthmus.features import gram_gpu

    rng = np.random.RandomState(0)
    rows = []
    for kind, dtype, fast in (
        ("int8", np.int8, False),
        ("float64", np.float64, False),
        ("float32", np.float32, False),
        ("tf32", np.float32, True),
    ):
        a, b = ((5 * rng.randn(64, 320)).astype(dtype) for _ in range(2))
        results = []
        for module in (xp, np):
            out = module.ones((64, 64), np.int32 if dtype is np.int8 else dtype)
            gram_gpu.add_products(module, out, module.asarray(a), module.asarray(b), fast=fast)
            results.append(gram_gpu.to_host(out))
        rows.append({"task": "random numbers", "what": f"add_products, {kind}", **_difference(*results)})
    lengths = rng.randint(0, 60, n)
    codes = rng.randint(97, 102, lengths.sum()).astype(np.uint32)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    for kind in ("presence", "intersection", "spectrum"):
        for split in (0, n // 3):
            built = [gram_gpu.GramIndex.build(module, codes, offsets, 3, 5, kind, split) for module in (xp, np)]
            tiles = [gram_gpu.to_host(index.tile(split, n)) for index in built]
            below = [np.tril(tile, -1) if not split else tile for tile in tiles]
            rows.append({"task": "random texts", "what": f"add_lists, {kind}, split {split}", **_difference(*below)})
    return rows


def same_integers(data: TaskData, lengths: tuple[int, int]) -> list[dict]:
    """Entries of the raw kernel of some documents, square and between the domains."""
    from isthmus.features.strings import StringKernel

    source, target = data.source_texts[:400], data.target_texts[:400]
    rows = []
    for kind in ("presence", "intersection", "spectrum"):
        on, off = (StringKernel(kind, lengths, device=device) for device in ("cuda", "cpu"))
        square = _difference(on.gram([*source, *target]), off.gram([*source, *target]))
        rows.append({"what": f"integers, {kind}", **square})
        rows.append(
            {"what": f"integers, {kind}, across", **_difference(on.cross(target, source), off.cross(target, source))}
        )
    return rows


def same_fits(data: TaskData, lengths: tuple[int, int]) -> list[dict]:
    """Labels of all documents (both rounds) and scores of the target, exact on both sides."""
    from isthmus import TransductiveKernelClassifier

    texts, labels, domain = data.joined()
    rows = []
    for what, settings in FITS.items():
        on, off = (
            TransductiveKernelClassifier(
                ngram_range=lengths, device=device, max_exact=len(texts), n_jobs=-1, **settings
            )
            for device in ("cuda", "cpu")
        )
        for model in (on, off):
            model.fit(texts, labels, domain)
        other = int((on.transduction_ != off.transduction_).sum())
        rows.append({"what": f"labels, {what}", "compared": len(texts), "differ": other, "largest": None})
        rows.append({"what": f"scores, {what}", **_difference(on.target_scores_, off.target_scores_)})
    return rows


FILES = (AMAZON_FILE, AMAZON_UNLABELLED_FILE, HEADLINES_FILE)
CASES = tuple(
    SpeedCase(
        f"gpu-{corpus}-{n}",
        "tkc-presence",
        _case(corpus, n),
        (HEADLINES_FILE,) if corpus == "headlines" else (AMAZON_FILE, AMAZON_UNLABELLED_FILE),
        "Exact string kernel, both rounds, on a GPU",
        on_demand=True,
    )
    for corpus in CORPORA
    for n in SIZES
)
