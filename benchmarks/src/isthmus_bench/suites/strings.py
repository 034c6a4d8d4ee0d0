"""Suite "strings": Amazon reviews, 12 single-source pairs and 4 multi-source tasks, and one pair of Chinese headlines.

Ionescu and Butnaru, ICONIP 2018, section 4. Reviews are title + text; tasks ending in ``-text`` leave the title out.
The rows ``plain``, ``transductive`` and ``tkc`` come from ``isthmus.papers.strings``: n-gram lengths 5 to
8 are the paper's, α = 1e-5 and half of the target added in the second round are ours, since the stored text has lost
them. Chinese headlines are too short for 5 to 8 characters, so they are compared by 1 to 4 (no length was tuned on
target labels).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.base import softmax
from isthmus.classify.strings.classifier import TransductiveKernelClassifier
from isthmus.exceptions import IsthmusWarning
from isthmus.features.strings import StringKernel
from isthmus.papers.strings import (
    ADDED,
    ALPHA,
    dual_weights,
    most_confident,
    one_against_all,
    rbf_kernel,
    temperature,
    transductive_kernel,
    two_rounds,
)
from isthmus_bench.baselines import make_method
from isthmus_bench.engine.suite import Method, Study, Suite, Task, TaskData, pack_correct
from isthmus_bench.speed import gpu
from isthmus_bench.suites.choose import choice
from isthmus_bench.suites.cocc import fit_baseline
from isthmus_bench.suites.tuning import tune
from isthmus_bench.tasks import AMAZON_DOMAINS, AMAZON_FILE, AMAZON_MULTI, AMAZON_PAIRS, amazon_task, chinese_task

# -- How the recipe ``strings`` was set: shifts simulated inside each labelled domain of the reviews
# Each domain is cut in two halves, class by class, along the leading direction of its own kernel; settings carry
# labels from one half to the other, both ways, scored by the labels of that domain. All four domains are targets of
# benchmark tasks, so the rows "left out" say what a pair would choose by the two domains that are not in it.


FILES = (AMAZON_FILE,)
SETTINGS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "alpha 1e-4": {"alpha": 1e-4},
    "alpha 1e-3": {"alpha": 1e-3},
    **{
        f"{align}, alpha {alpha:g}, {rounds} rounds": {"align": align, "alpha": alpha, "max_iter": rounds}
        for align in ("mean", "domain")
        for alpha, rounds in ((1e-5, 2), (1e-4, 2), (1e-3, 2), (1e-4, 6), (1e-4, 11))
    },
}


# What the table chooses for a pair without its two domains; the suite's method "strings-left-out" uses it.
LEFT_OUT = {
    ("books", "dvd"): "domain, alpha 0.001, 2 rounds",
    ("books", "electronics"): "domain, alpha 0.0001, 2 rounds",
    ("books", "kitchen"): "mean, alpha 0.001, 2 rounds",
    ("dvd", "electronics"): "domain, alpha 0.0001, 6 rounds",
    ("dvd", "kitchen"): "mean, alpha 0.001, 2 rounds",
    ("electronics", "kitchen"): "mean, alpha 1e-05, 2 rounds",
}


def variant_labels(
    K: np.ndarray,
    codes: np.ndarray,
    source: np.ndarray,
    target: np.ndarray,
    *,
    align: str | None = None,
    alpha: float = ALPHA,
    max_iter: int = 2,
    transductive: bool = True,
    rbf: bool = True,
) -> np.ndarray:
    """Return class numbers of the target by a variant of the paper's classifier.

    Parameters
    ----------
    K : ndarray
        Normalised kernel between all documents of a source and a target.
    codes : ndarray of int
        Class numbers of the source.
    source, target : ndarray of int
        Row numbers.
    align : {None, "mean", "domain"}
        Subtract the mean row, or the mean row of each domain and scale rows to length one.
    alpha : float
    max_iter : int
        Rounds; the number of added documents grows evenly.
    transductive, rbf : bool
        False: without the steps of the paper of that name.
    """
    R = rbf_kernel(K) if rbf else K
    if align == "mean":
        R = R - R.mean(axis=0)
        R /= np.sqrt(np.mean(np.sum(R * R, axis=1)))
    elif align == "domain":
        R = R.copy()
        for rows in (source, target):
            R[rows] -= R[rows].mean(axis=0)
        R /= np.maximum(np.linalg.norm(R, axis=1, keepdims=True), 1e-300)
    kernel = transductive_kernel(R) if transductive else R
    n_classes, train, known = len(np.unique(codes)), source, codes
    for number in range(1, max_iter + 1):
        Y = one_against_all(known, n_classes)
        offset = Y.mean(axis=0) if align else 0.0
        scores = kernel[np.ix_(target, train)] @ dual_weights(kernel, train, Y - offset, alpha) + offset
        labels = scores.argmax(axis=1)
        if number < max_iter:
            chosen = most_confident(scores, max(1, round(round(ADDED * len(target)) * number / (max_iter - 1))))
            train, known = np.concatenate([source, target[chosen]]), np.concatenate([codes, labels[chosen]])
    return labels


def discriminant_labels(K: np.ndarray, codes: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return class numbers of the target by kernel discriminant analysis (Cai, He and Han 2007).

    Ridge regression on orthonormal class indicators gives the directions; the nearest class point wins.
    """
    n_classes = len(np.unique(codes))
    stacked = np.column_stack([np.ones(len(codes)), *(codes == c for c in range(n_classes))]).astype(float)
    responses = np.linalg.qr(stacked[:, : n_classes + 1])[0][:, 1:n_classes] * np.sqrt(len(codes))
    points = np.array([responses[codes == c][0] for c in range(n_classes)])
    places = K[np.ix_(target, source)] @ dual_weights(K, source, responses)
    return ((places[:, None, :] - points[None]) ** 2).sum(axis=2).argmin(axis=1)


def halves(K: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """0 or 1 for every document: its side of the leading direction of the centred kernel, half of each class each."""
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    direction = np.linalg.eigh(centred)[1][:, -1]
    side = np.zeros(len(codes), dtype=int)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        side[members] = direction[members] > np.median(direction[members])
    return side


@dataclass(frozen=True)
class Halves:
    """A labelled domain in halves: kernel, class numbers and sides, and the tasks from each half to the other."""

    K: np.ndarray
    codes: np.ndarray
    side: np.ndarray
    tasks: tuple[TaskData, TaskData]

    def kernel_accuracy(self, **settings: Any) -> float:
        """Mean accuracy on either half of a kernel classifier that has learned on the other."""
        right = []
        for train in (0, 1):
            source, target = np.flatnonzero(self.side == train), np.flatnonzero(self.side != train)
            found = variant_labels(self.K, self.codes[source], source, target, **settings)
            right.append(float(np.mean(found == self.codes[target])))
        return float(np.mean(right))


def halved_domains(folder: Path) -> Iterator[tuple[str, tuple[str, ...], Halves]]:
    """Every domain of the reviews, cut in two."""
    for place, domain in enumerate(AMAZON_DOMAINS):
        data = amazon_task(domain, AMAZON_DOMAINS[place - 1]).load(Path(folder))
        codes = np.unique(data.source_labels, return_inverse=True)[1]
        K = StringKernel("presence", ngram_range=(5, 8)).gram(data.source_texts, normalize=True)
        side = halves(K, codes)
        reviews = list(zip(data.source_texts, data.source_labels, strict=True))
        parts = [[reviews[row] for row in np.flatnonzero(side == half)] for half in (0, 1)]
        tasks = TaskData.from_rows(parts[0], parts[1]), TaskData.from_rows(parts[1], parts[0])
        yield domain, (domain,), Halves(K, codes, side, tasks)


_PAIR_CASES = {f"{source}-{target}": (source, target) for source, target in permutations(AMAZON_DOMAINS, 2)}


def choose_settings(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Accuracy of every setting in every domain, means, and what each pair would choose without its two domains."""
    score = lambda halved, name, changes: halved.kernel_accuracy(**changes)  # noqa: E731
    return tune({"strings": SETTINGS}, halved_domains(folder), score, "accuracy", _PAIR_CASES, largest=True)


# The baselines get the same tuning on the same halves.
PLAIN = {"transductive": False, "rbf": False, "max_iter": 1}
BASELINE_SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "plain-presence": {f"alpha {value:g}": {"alpha": value} for value in (1e-5, 1e-3, 1e-2, 0.1, 1.0)},
    "svm": {f"C {value:g}": {"estimator__C": value} for value in (0.01, 0.1, 1.0, 10.0)},
    "logistic": {f"C {value:g}": {"estimator__C": value} for value in (1.0, 10.0, 100.0, 1000.0)},
}


# What the study "baseline-defaults" chooses for a pair without its two domains, or over all four.
TUNED: dict[str, dict[str, str]] = {
    "plain-presence": {
        "others": "alpha 0.01",
        "books-dvd": "alpha 1e-05",
        "books-kitchen": "alpha 1e-05",
        "dvd-books": "alpha 1e-05",
        "dvd-kitchen": "alpha 1e-05",
        "kitchen-books": "alpha 1e-05",
        "kitchen-dvd": "alpha 1e-05",
    },
    "svm": {
        "others": "C 0.1",
        "books-dvd": "C 1",
        "books-electronics": "C 1",
        "dvd-books": "C 1",
        "dvd-electronics": "C 1",
        "electronics-books": "C 1",
        "electronics-dvd": "C 1",
    },
    "logistic": {
        "others": "C 10",
        "books-dvd": "C 1000",
        "books-kitchen": "C 100",
        "dvd-books": "C 1000",
        "dvd-kitchen": "C 100",
        "kitchen-books": "C 100",
        "kitchen-dvd": "C 100",
    },
}


def choose_baselines(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """As :func:`choose_settings`, for the plain kernel and the linear classifiers of words."""

    def score(halved: Halves, name: str, changes: dict[str, Any]) -> float:
        if name == "plain-presence":
            return halved.kernel_accuracy(**PLAIN, **changes)
        labels = [(task, fit_baseline(task, name, changes, 0)[0]) for task in halved.tasks]
        return float(np.mean([np.mean(found == np.array(task.target_labels)) for task, found in labels]))

    cases = _PAIR_CASES | {"others": ()}
    return tune(BASELINE_SETTINGS, halved_domains(folder), score, "accuracy", cases, largest=True)


CHINESE = "thucnews_title-toutiao"
KINDS = ("presence", "intersection")
WORD_METHODS = ("svm", "logistic", "self-training", "sfa", "scl", "coral", "tradaboost")


def _accuracy(data: TaskData, labels) -> dict:
    truth = np.asarray(data.target_labels)
    value = float(np.mean(truth == np.asarray(labels)))
    return {"metric": "accuracy", "value": value, "correct": pack_correct(truth, labels)}


def _kernel(data: TaskData, kind: str) -> np.ndarray:
    """Normalised kernel between all reviews of a task; kept for the methods that follow on the same task."""
    kept = data.extra.setdefault("kernels", {})
    if kind not in kept:
        kept.clear()  # one at a time: a multi-source task's matrix takes half a gigabyte
        lengths = (1, 4) if data.extra.get("chinese") else (5, 8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IsthmusWarning)
            kept[kind] = StringKernel(kind, ngram_range=lengths).gram(data.joined()[0], normalize=True)
    return kept[kind]


def _parts(data: TaskData) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the classes, class numbers of the source, and row numbers of source and target."""
    classes, codes = np.unique(np.asarray(data.source_labels), return_inverse=True)
    domain = data.joined()[2]
    return classes, codes, np.flatnonzero(domain > 0), np.flatnonzero(domain < 0)


def _variant(data: TaskData, kind: str, **settings: Any) -> list[dict]:
    classes, codes, source, target = _parts(data)
    return [_accuracy(data, classes[variant_labels(_kernel(data, kind), codes, source, target, **settings)])]


def _plain(kind: str, **settings) -> Callable[[TaskData, int], list[dict]]:
    return lambda data, seed: _variant(data, kind, **PLAIN, **settings)


def _discriminant(kind: str) -> Callable[[TaskData, int], list[dict]]:
    def run(data: TaskData, seed: int) -> list[dict]:
        classes, *parts = _parts(data)
        return [_accuracy(data, classes[discriminant_labels(_kernel(data, kind), *parts)])]

    return run


def _transductive(kind: str) -> Callable[[TaskData, int], list[dict]]:
    """The first round of TKC is the transductive kernel with ridge: one fit serves both methods."""

    def run(data: TaskData, seed: int) -> list[dict]:
        return [_accuracy(data, _parts(data)[0][_both_rounds(data, kind)[0].argmax(axis=1)])]

    return run


def _tkc(kind: str) -> Callable[[TaskData, int], list[dict]]:
    def run(data: TaskData, seed: int) -> list[dict]:
        classes = _parts(data)[0]
        _, scores, power = _both_rounds(data, kind)
        truth = np.searchsorted(classes, data.target_labels)
        brier = float(np.mean(((softmax(scores * power) - np.eye(len(classes))[truth]) ** 2).sum(axis=1)))
        return [_accuracy(data, classes[scores.argmax(axis=1)]), {"metric": "brier", "value": brier}]

    return run


def _both_rounds(data: TaskData, kind: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Return scores after each round and the temperature; kept for the methods that follow on the same task."""
    fitted = data.extra.setdefault("fitted", {})
    if kind not in fitted:
        fitted.clear()
        classes, codes, source, target = _parts(data)
        kernel = transductive_kernel(rbf_kernel(_kernel(data, kind)))
        first, second, _, _ = two_rounds(kernel, source, codes, target, len(classes))
        fitted[kind] = first, second, temperature(kernel, source, codes, len(classes))
    return fitted[kind]


def _aligned(data: TaskData, seed: int) -> list[dict]:
    """The method ``strings``, on the kept matrix."""
    _, labels, domain = data.joined()
    model = TransductiveKernelClassifier(kernel="precomputed").fit(_kernel(data, "presence"), labels, domain)
    return [_accuracy(data, model.transduction_[len(data.source_labels) :])]


def _left_out(data: TaskData, seed: int) -> list[dict]:
    """The setting that the two domains chose that are not in this pair (``isthmus bench tune strings``)."""
    first, second = sorted((*data.extra["source_domains"], data.extra["target_domain"]))
    return _variant(data, "presence", **SETTINGS[LEFT_OUT[first, second]])


def _tuned(name: str) -> Callable[[TaskData, int], list[dict]]:
    """A baseline with the setting that domains outside the task choose; with several sources, that all choose."""

    def run(data: TaskData, seed: int) -> list[dict]:
        sources = data.extra.get("source_domains", ())
        domains = "-".join((*sources, data.extra["target_domain"])) if len(sources) == 1 else "others"
        changes = BASELINE_SETTINGS[name][TUNED[name].get(domains, TUNED[name]["others"])]
        if name == "plain-presence":
            return _plain("presence", **changes)(data, seed)
        return [_accuracy(data, fit_baseline(data, name, changes, seed)[0])]

    return run


def _words(name: str) -> Callable[[TaskData, int], list[dict]]:
    def run(data: TaskData, seed: int) -> list[dict]:
        texts, labels, domain = data.joined()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IsthmusWarning)
            pipeline = make_method(name).fit(texts, labels, sample_domain=domain)
        return [_accuracy(data, pipeline.transduction_[len(data.source_labels) :])]

    return run


def _auto(data: TaskData, seed: int) -> list[dict]:
    return [_accuracy(data, choice(data, seed).labels)]


def _landmarks(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """The classifier with landmarks against the whole kernel, on one near and one far pair."""
    rows = []
    for name in ("books-kitchen", "electronics-kitchen"):
        data = AMAZON_PAIRS[name].load(folder)
        texts, labels, domain = data.joined()
        truth = np.asarray(data.target_labels)
        for count in (250, 500, 1000, 2000, None):
            for seed in seeds if count else seeds[:1]:
                began = time.perf_counter()
                model = TransductiveKernelClassifier(n_landmarks=count, random_state=seed).fit(texts, labels, domain)
                accuracy = float(np.mean(model.transduction_[domain < 0] == truth))
                seconds = time.perf_counter() - began
                size = count or len(texts)
                rows.append({"task": name, "landmarks": size, "seed": seed, "accuracy": accuracy, "seconds": seconds})
    return rows


def _chinese() -> Task:
    task = chinese_task("thucnews_title", "toutiao", per_class=500, name=CHINESE)

    def load(folder):
        data = task.load(folder)
        data.extra["chinese"] = True
        return data

    return Task(name=CHINESE, load=load, files=task.files)


def _text_only() -> dict[str, Task]:
    tasks = {}
    for target in AMAZON_DOMAINS:
        others = [domain for domain in AMAZON_DOMAINS if domain != target]
        for source in others:
            tasks[f"{source}-{target}-text"] = amazon_task(source, target, title=False, name=f"{source}-{target}-text")
        tasks[f"multi-{target}-text"] = amazon_task(others, target, title=False, name=f"multi-{target}-text")
    return tasks


def _methods() -> dict[str, Method]:
    runs: dict[str, Callable] = {}
    for kind in KINDS[::-1]:  # kind by kind, so that the methods of one kind share its matrix
        runs[f"plain-{kind}"] = _plain(kind)
        runs[f"plain-{kind}-kda"] = _discriminant(kind)
        runs[f"transductive-{kind}"] = _transductive(kind)
        runs[f"tkc-{kind}"] = _tkc(kind)
    runs["plain-spectrum"] = _plain("spectrum")  # the paper names it and uses the other two
    runs["strings"] = _aligned
    runs["strings-left-out"] = _left_out
    runs |= {name: _words(name) for name in WORD_METHODS}
    runs |= {f"{name}-tuned": _tuned(name) for name in BASELINE_SETTINGS}
    runs["auto"] = _auto
    return {name: Method(name, run, seeded=False) for name, run in runs.items()}


_PLAINS = tuple(f"plain-{kind}" for kind in KINDS)
_DEFAULT = {**AMAZON_PAIRS, **AMAZON_MULTI, CHINESE: _chinese()}

SUITE = Suite(
    name="strings",
    summary="Transductive string kernels on Amazon reviews and Chinese headlines.",
    tasks={**_DEFAULT, **_text_only()},
    methods=_methods(),
    default_tasks=tuple(_DEFAULT),
    default_methods=tuple(
        name
        for name in _methods()
        if name not in ("auto", "plain-spectrum", "strings-left-out") and not name.endswith("-tuned")
    ),  # suite "choose" has "auto", beside its candidates
    contrasts={
        **{f"{method}-{kind}": _PLAINS for method in ("transductive", "tkc") for kind in KINDS},
        "strings": ("tkc-presence", "tkc-intersection"),
    },
    studies={
        "landmarks": Study(
            "landmarks",
            "Accuracy by number of landmarks; the last row of a task is the whole kernel.",
            _landmarks,
            files=(AMAZON_FILE,),
            chart={"kind": "line", "x": "landmarks", "y": "accuracy", "color": "task"},
        ),
        "sizes": Study(
            "sizes",
            "Exact on a GPU and landmarks on the CPU, by number of documents",
            gpu.sizes,
            files=gpu.FILES,
            chart={"kind": "line", "x": "n", "y": "accuracy", "color": "method", "facet": "corpus", "log_x": True},
        ),
        "agreement": Study(
            "agreement",
            "On a GPU against the CPU: CUDA functions and their twins, integers, labels and scores",
            gpu.agreement(_DEFAULT),
            files=gpu.FILES,
        ),
        "defaults": Study(
            "defaults",
            "Settings of the recipe on shifts simulated inside each labelled domain",
            choose_settings,
            files=FILES,
            tune=True,
        ),
        "baseline-defaults": Study(
            "baseline-defaults",
            "Settings of the plain kernel and of linear classifiers of words on the same shifts",
            choose_baselines,
            files=FILES,
            tune=True,
        ),
    },
    means={
        "single-source": tuple(AMAZON_PAIRS),
        "multi-source": tuple(AMAZON_MULTI),
        "single-source, text only": tuple(f"{name}-text" for name in AMAZON_PAIRS),
        "multi-source, text only": tuple(f"{name}-text" for name in AMAZON_MULTI),
    },
)
