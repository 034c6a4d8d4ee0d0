"""Suite "cocc": the tables and figures of Dai, Xue, Yang and Yu (KDD 2007), and what was built on top.

Six newsgroup tasks, three Reuters tasks, a four-class task, SRAA where its file is present. Methods come from the
recipes; the texts of a task are vectorised once per kind of features.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.svm import LinearSVC

from isthmus._math.information import domain_divergence
from isthmus._progress import progress
from isthmus.classify.cocc.blocks import Problem
from isthmus.classify.cocc.co_clustering import CoClustering, group_words, match_clusters
from isthmus.evaluate.labels import error_rate
from isthmus.exceptions import IsthmusWarning
from isthmus.features.blocks import Passes
from isthmus_bench.baselines import make_method
from isthmus_bench.engine.suite import Method, Study, Suite, Task, TaskData, pack_correct
from isthmus_bench.suites.choose import choice
from isthmus_bench.suites.tuning import tune
from isthmus_bench.tasks import (
    NEWSGROUP_SPLITS,
    NEWSGROUP_TASKS,
    NEWSGROUPS_FILE,
    REUTERS_FILE,
    REUTERS_TASKS,
    REUTERS_WIDE,
    SRAA_TASKS,
    message_text,
    read_records,
)

# -- Tables behind the figures of the suite "cocc". Each returns plain rows; errors on the target are results only


SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
TRADE_OFFS = (0.03125, 0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
WORD_CLUSTERS = (4, 8, 16, 32, 64, 128, 256, 512)


def count_rises(histories: Iterable[Sequence[float]], tolerance: float = 1e-12) -> int:
    """Steps, over all starts, after which the objective stood higher than before."""
    return int(sum(np.sum(np.diff(history) > tolerance) for history in histories))


def _matrix(data: TaskData, recipe: str) -> tuple[Any, np.ndarray, np.ndarray]:
    texts, labels, domain = data.joined()
    return make_method(recipe).steps[0][1].fit_transform(texts), labels, domain


def _fit_error(data: TaskData, name: str, X, labels, domain, **settings: Any) -> float:
    model = make_method(name, random_state=settings.pop("random_state", 0)).steps[-1][1].set_params(**settings)
    model.fit(X, labels, sample_domain=domain)
    return error_rate(data.target_labels, model.transduction_[domain < 0].tolist())


def sizes(folder: Path, tasks: Sequence[Task]) -> list[dict]:
    """The paper's table of data sets: divergence, sizes, SVM trained on the source and by ten folds in the target."""
    rows = []
    for task in tasks:
        data = task.load(folder)
        counts, labels, domain = _matrix(data, "nbc")
        tfidf = _matrix(data, "svm")[0]
        target = domain < 0
        accuracy = cross_val_score(LinearSVC(random_state=0), tfidf[target], data.target_labels, cv=10)
        rows.append(
            {
                "task": task.name,
                "divergence": _divergence(counts, domain),
                "source_documents": int(np.sum(~target)),
                "target_documents": int(np.sum(target)),
                "words": counts.shape[1],
                "svm_source_target": _fit_error(data, "svm", tfidf, labels, domain),
                "svm_target_ten_fold": float(1 - accuracy.mean()),
            }
        )
    return rows


def _divergence(counts, domain: np.ndarray) -> float:
    sums = [np.asarray(counts[side].sum(axis=0)).ravel() for side in (domain > 0, domain < 0)]
    return domain_divergence(*sums)


def source_share(data: TaskData, seeds: Sequence[int]) -> list[dict]:
    """Error when only a random share of the source's documents is there."""
    counts, labels, domain = _matrix(data, "nbc")
    source = np.flatnonzero(domain > 0)
    rows = []
    for share in SHARES:
        errors: dict[str, list[float]] = {"nbc": [], "cocc": [], "cocc-paper": []}
        for seed in seeds if share < 1 else seeds[:1]:
            kept = _stratified(labels[source], share, seed)
            index = np.concatenate([source[kept], np.flatnonzero(domain < 0)])
            for name, found in errors.items():
                extra = {} if name == "nbc" else {"random_state": seed}
                found.append(_fit_error(data, name, counts[index], labels[index], domain[index], **extra))
        for name, found in errors.items():
            rows.append({"share": share, "method": name, "error": float(np.mean(found)), "sd": float(np.std(found))})
    return rows


def _stratified(labels: np.ndarray, share: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    parts = []
    for label in sorted(set(labels)):
        rows = np.flatnonzero(labels == label)
        parts.append(rng.permutation(rows)[: max(1, round(share * len(rows)))])
    return np.sort(np.concatenate(parts))


class _Prepared:
    """A task ready for many runs of the plain search (log counts, no finish)."""

    def __init__(self, data: TaskData):
        counts, labels, domain = _matrix(data, "cocc")
        self.truth = data.target_labels
        self.classes, codes = np.unique(labels[domain > 0].astype(str), return_inverse=True)
        self.problem = Problem(Passes(counts[domain > 0], counts[domain < 0], codes, self.classes))
        self.start = self.problem.start()
        self.vectors = self.problem.sketch(np.random.default_rng(0))

    def run(self, k: int, trade_off: float, max_iter: int = 100) -> CoClustering:
        k = min(k, len(self.vectors))
        words = group_words(self.vectors, k, np.random.default_rng(0))
        search = CoClustering(self.problem, self.start, words, k, trade_off=trade_off, smoothing=0.3)
        return search.run(max_iter, 1e-4)

    def error(self, result: CoClustering) -> float:
        mapping, _ = match_clusters(result.target_table, result.source_table)
        return error_rate(self.truth, self.classes[mapping[result.documents.labels]].tolist())


def iterations(tasks: Sequence[Task], folder: Path, limit: int = 20) -> list[dict]:
    """Error and objective of one start after each iteration.

    Every iteration's clusters are matched with classes by that iteration's own tables. Iteration 0 is where the
    documents start: naive Bayes on log counts with its own labels, which is not the column ``nbc`` (plain counts).
    """
    rows = []
    for task in tasks:
        prepared = _Prepared(task.load(folder))
        whole = prepared.run(64, 0.25, max_iter=limit)
        start = error_rate(prepared.truth, prepared.classes[prepared.start.labels].tolist())
        rows.append({"task": task.name, "iteration": 0, "error": start, "objective": whole.history[0]})
        for iteration in range(1, whole.n_iter + 1):
            result = prepared.run(64, 0.25, max_iter=iteration)
            objective = whole.history[2 * iteration]
            rows.append(
                {"task": task.name, "iteration": iteration, "error": prepared.error(result), "objective": objective}
            )
    return rows


def trade_off(data: TaskData, ks: Sequence[int] = (16, 64, 256)) -> list[dict]:
    """Error of one start by λ."""
    prepared = _Prepared(data)
    return [
        {"trade_off": value, "word_clusters": str(k), "error": prepared.error(prepared.run(k, value))}
        for k in ks
        for value in TRADE_OFFS
    ]


def word_clusters(data: TaskData, values: Sequence[float] = (0.0625, 0.25, 1.0)) -> list[dict]:
    """Error of one start by number of word clusters."""
    prepared = _Prepared(data)
    return [
        {"word_clusters": k, "trade_off": f"λ = {value:g}", "error": prepared.error(prepared.run(k, value))}
        for value in values
        for k in WORD_CLUSTERS
    ]


PAPER_SEEDS = range(5)
PAPER_ITERATIONS = (1, 2, 3, 5, 7, 10, 15, 20)


def sweep_paper(data: TaskData, settings: Iterable[dict[str, Any]]) -> list[dict]:
    """Error of ``cocc-paper`` by its own settings: with the printed map, and with the same clusters matched one to one.

    Iterations here begin where the paper's do, with documents; the tables of every row are those it ends with.
    """
    counts, labels, domain = _matrix(data, "cocc-paper")
    target, rows = domain < 0, []
    for setting in settings:
        errors: dict[str, list[float]] = {"error": [], "matched": []}
        for seed in PAPER_SEEDS:
            model = make_method("cocc-paper", random_state=seed).steps[-1][1].set_params(**setting)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", IsthmusWarning)
                model.fit(counts, labels, sample_domain=domain)
            errors["error"].append(error_rate(data.target_labels, model.transduction_[target]))
            errors["matched"].append(error_rate(data.target_labels, model.classes_[model.document_clusters_[target]]))
        spread = {f"{name}_sd": float(np.std(values)) for name, values in errors.items()}
        rows.append({**setting, **{name: float(np.mean(values)) for name, values in errors.items()}, **spread})
        progress("settings", len(rows))
    return rows


def word_starts(tasks: Sequence[Task], folder: Path, n_starts: int = 20) -> list[dict]:
    """How often the printed map of ``cocc-paper`` gives every cluster one class, by the start of the word clusters.

    ``failures`` is the share of starts in which a class gets no cluster; ``error`` is that of the printed map, and
    ``matched`` that of the same clusters matched one to one, both as means over the starts.
    """
    rows = []
    for task in tasks:
        data = task.load(folder)
        for start in ("bisection", "profiles"):
            errors, matched, failures = [], [], 0
            for seed in range(n_starts):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", IsthmusWarning)
                    model, predicted, _ = fit_recipe(data, "cocc-paper", seed, word_start=start)
                failures += len(np.unique(model.cluster_classes_)) < len(model.classes_)
                errors.append(error_rate(data.target_labels, predicted.tolist()))
                matched.append(error_rate(data.target_labels, search_labels(data, model).tolist()))
                progress("starts", seed + 1, n_starts)
            rows.append(
                {
                    "task": task.name,
                    "start": start,
                    "starts": n_starts,
                    "failures": failures / n_starts,
                    "error": float(np.mean(errors)),
                    "error_sd": float(np.std(errors)),
                    "matched": float(np.mean(matched)),
                    "matched_sd": float(np.std(matched)),
                }
            )
    return rows


def gain(folder: Path, tasks: Sequence[Task], method: str = "cocc") -> list[dict]:
    """Errors of naive Bayes and of the SVM that CoCC removes (negative: adds), by divergence of the domains."""
    rows = []
    for task in tasks:
        data = task.load(folder)
        counts, labels, domain = _matrix(data, "nbc")
        tfidf = _matrix(data, "svm")[0]
        ours = _fit_error(data, method, counts, labels, domain)
        for name, X in (("nbc", counts), ("svm", tfidf)):
            theirs = _fit_error(data, name, X, labels, domain)
            removed = (theirs - ours) / theirs if theirs else 0.0
            distance = _divergence(counts, domain)
            rows.append({"task": task.name, "divergence": distance, "against": name, "gain": removed,
                         "error": theirs, "cocc_error": ours})  # fmt: skip
    return sorted(rows, key=lambda row: -row["divergence"])


def picture(data: TaskData, height: int = 40, width: int = 60) -> list[dict]:
    """Share of word occurrences in a grid of documents × words.

    Documents are ordered by domain and class, words by how much more often the first class uses them (true classes of
    both domains, as in the paper's picture); each cell is relative to its words' mean, so that 1 is average.
    """
    counts, _, domain = _matrix(data, "nbc")
    truth = np.array([*data.source_labels, *data.target_labels])
    first = sorted(set(truth))[0]
    order = np.lexsort((truth != first, domain < 0))
    positive = np.asarray(counts[truth == first].sum(axis=0)).ravel() + 1.0
    negative = np.asarray(counts[truth != first].sum(axis=0)).ravel() + 1.0
    words = np.argsort(-positive / negative, kind="stable")
    # Word bins of equal use, so that every column of the picture stands for as much text.
    use = np.cumsum(np.asarray(counts.sum(axis=0)).ravel()[words])
    bins = np.minimum((use * width / use[-1]).astype(int), width - 1)
    rows = []
    for place, part in enumerate(np.array_split(order, height)):
        totals = np.bincount(bins, weights=np.asarray(counts[part].sum(axis=0)).ravel()[words], minlength=width)
        side = "source" if domain[part[0]] > 0 else "target"
        for column, value in enumerate(totals):
            share = float(value * width / totals.sum()) if totals.sum() else 0.0
            rows.append({"documents": place, "words": column, "density": share, "domain": side})
    return rows


# -- How CoCC's defaults were set: pseudo-tasks made of source groups of the newsgroup tasks, and of Reuters' sources
# One sub-category of each class is the source, the others are the target, so that every label used belongs to the
# source side of a real task. A group that is source in one task is target in another: the rows "left out" say what
# would have been chosen for a task without any pseudo-task that holds one of its groups.


PSEUDO_FILES = (NEWSGROUPS_FILE,)
PSEUDO_TASKS = tuple(name for name in NEWSGROUP_SPLITS if name != "four-class")
# One parameter at a time, the rest as in the defaults.
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "smoothing 0.03": {"smoothing": 0.03},
    "smoothing 0.1": {"smoothing": 0.1},
    "trade-off 1": {"trade_off": 1.0},
    "trade-off 4": {"trade_off": 4.0},
    "32 word clusters": {"n_word_clusters": 32},
    "128 word clusters": {"n_word_clusters": 128},
    "no finish": {"settle": False},  # the labels of the search
}
# What the table chooses for each task without that task's groups; the suite's method "cocc-left-out" uses it.
LEFT_OUT = {
    "rec-talk": "32 word clusters",
    "rec-sci": "defaults",
    "comp-talk": "32 word clusters",
    "comp-sci": "smoothing 0.03",
    "comp-rec": "32 word clusters",
    "sci-talk": "smoothing 0.03",
}


def pseudo_splits() -> Iterator[tuple[str, dict[str, tuple[str, tuple[str, ...]]]]]:
    """Twelve splits: class → (its source group, its target groups), all of them source groups of one newsgroup task."""
    for task in PSEUDO_TASKS:
        sources = {label: groups[0] for label, groups in NEWSGROUP_SPLITS[task].items()}
        for turn in range(2):
            yield (
                f"{task} {turn + 1}",
                {
                    label: (groups[turn], tuple(g for g in groups if g != groups[turn]))
                    for label, groups in sources.items()
                },
            )


def groups_of(task: str) -> tuple[str, ...]:
    """All groups of a newsgroup task, on either side."""
    return tuple(group for sides in NEWSGROUP_SPLITS[task].values() for side in sides for group in side)


def pseudo_data(folder: Path, split: dict[str, tuple[str, tuple[str, ...]]]) -> TaskData:
    """The documents of a pseudo-task."""
    records = read_records(Path(folder) / NEWSGROUPS_FILE)
    sides: list[list[str]] = [[], [], [], []]
    for record in records:
        for label, (source, target) in split.items():
            if record["label"] == source or record["label"] in target:
                offset = 0 if record["label"] == source else 2
                sides[offset].append(message_text(record["text"]))
                sides[offset + 1].append(label)
    source_texts, source_labels, target_texts, target_labels = sides
    return TaskData(source_texts, source_labels, target_texts, target_labels)


def pseudo_tasks(folder: Path) -> Iterator[tuple[str, tuple[str, ...], TaskData]]:
    """Every pseudo-task, with the groups that it is made of."""
    for name, split in pseudo_splits():
        groups = tuple(group for source, target in split.values() for group in (source, *target))
        yield name, groups, pseudo_data(folder, split)


def choose_settings(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Error of every setting on every pseudo-task (one start each), means, and the choices that leave groups out."""

    def score(data: TaskData, name: str, changes: dict[str, Any]) -> float:
        model, predicted, _ = fit_recipe(data, "cocc", 0, n_init=1, **changes)
        return error_rate(
            data.target_labels, (search_labels(data, model) if name == "no finish" else predicted).tolist()
        )

    cases = {task: groups_of(task) for task in PSEUDO_TASKS}
    return tune({"cocc": SETTINGS}, pseudo_tasks(folder), score, "error", cases, largest=False)


# The baselines get the same tuning on the same pseudo-tasks.
BASELINE_SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "nbc": {"counts": {}, "log counts": {"log_counts": True}},
    "svm": {f"C {value:g}": {"estimator__C": value} for value in (0.01, 0.1, 1.0, 10.0, 100.0)},
    "tsvm": {f"C {value:g}": {"C": value, "target_C": value} for value in (0.01, 0.1, 1.0, 10.0)},
    "sgt": {f"{number} neighbours": {"n_neighbors": number} for number in (10, 30, 100, 300, 600)},
}
BASELINES = tuple(BASELINE_SETTINGS)
# What the study "baseline-defaults" chooses, without a task's groups or, for tasks that take no part, over all.
TUNED: dict[str, dict[str, str]] = {
    "nbc": {"others": "log counts"},
    "svm": {"others": "C 10", "rec-talk": "C 100", "comp-sci": "C 1", "comp-rec": "C 1", "sci-talk": "C 100"},
    "tsvm": {"others": "C 0.01", "comp-sci": "C 0.1", "comp-rec": "C 0.1"},
    "sgt": {
        "others": "300 neighbours",
        "rec-talk": "10 neighbours",
        "comp-talk": "600 neighbours",
        "comp-sci": "30 neighbours",
        "comp-rec": "10 neighbours",
    },
}


def fit_baseline(data: TaskData, name: str, changes: dict[str, Any], seed: int) -> tuple[np.ndarray, float]:
    """A baseline's labels of the target with other settings, and the seconds of features and fit."""
    changes = dict(changes)
    pipeline = make_method(name, random_state=seed)
    X, seconds = features(data, pipeline.steps[0][1])
    if changes.pop("log_counts", False):
        X = X.log1p()
    _, labels, domain = data.joined()
    began = time.perf_counter()
    model = pipeline.steps[-1][1].set_params(**changes).fit(X, labels, sample_domain=domain)
    return model.transduction_[domain < 0], seconds + time.perf_counter() - began


def choose_baselines(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """As :func:`choose_settings`, for every baseline."""

    def score(data: TaskData, name: str, changes: dict[str, Any]) -> float:
        return error_rate(data.target_labels, fit_baseline(data, name, changes, 0)[0].tolist())

    cases = {task: groups_of(task) for task in PSEUDO_TASKS} | {"others": ()}
    return tune(BASELINE_SETTINGS, pseudo_tasks(folder), score, "error", cases, largest=False)


SIX = ("rec-talk", "rec-sci", "comp-talk", "comp-sci", "comp-rec", "sci-talk")
THREE = ("orgs-people", "orgs-places", "people-places")
# Variants of CoCC beside the recipe: what each addition to the paper's method is worth.
VARIANTS: dict[str, dict[str, Any]] = {
    "cocc": {},
    "cocc-no-finish": {"settle": False},  # the labels of the search
    "cocc-one-start": {"n_init": 1},
    "cocc-auto": {"n_word_clusters": "auto", "trade_off": "auto"},
}


def features(data: TaskData, vectorizer) -> tuple[Any, float]:
    """The task's rows, source first, and the seconds it took to make them; made once per vectoriser."""
    store = data.extra.setdefault("features", {})
    key = repr(vectorizer)
    if key not in store:
        began = time.perf_counter()
        store[key] = clone(vectorizer).fit_transform(data.joined()[0]), time.perf_counter() - began
    return store[key]


def fit_recipe(data: TaskData, name: str, seed: int, **settings: Any) -> tuple[Any, np.ndarray, float]:
    """A recipe's fitted last step, its labels of the target, and the seconds of features and fit."""
    pipeline = make_method(name, random_state=seed)
    X, seconds = features(data, pipeline.steps[0][1])
    _, labels, domain = data.joined()
    model = pipeline.steps[-1][1].set_params(**settings)
    began = time.perf_counter()
    model.fit(X, labels, sample_domain=domain)
    return model, model.transduction_[domain < 0], seconds + time.perf_counter() - began


def _error_row(data: TaskData, predicted: np.ndarray, seconds: float) -> dict:
    truth = np.array(data.target_labels, dtype=object)
    return {
        "metric": "error",
        "value": error_rate(data.target_labels, predicted.tolist()),
        "seconds": seconds,
        "correct": pack_correct(truth, predicted),
    }


def _baseline(name: str) -> Method:
    def run(data: TaskData, seed: int) -> list[dict]:
        _, predicted, seconds = fit_recipe(data, name, seed)
        return [_error_row(data, predicted, seconds)]

    return Method(name=name, run=run, seeded=False)


def _tuned(name: str) -> Method:
    """A baseline with the setting that the pseudo-tasks without any group of this task choose."""

    def run(data: TaskData, seed: int) -> list[dict]:
        chosen = TUNED[name].get("-".join(sorted(set(data.source_labels))), TUNED[name]["others"])
        return [_error_row(data, *fit_baseline(data, name, BASELINE_SETTINGS[name][chosen], seed))]

    return Method(name=f"{name}-tuned", run=run, seeded=False)


def _variant(name: str) -> Method:
    def run(data: TaskData, seed: int) -> list[dict]:
        model, predicted, seconds = _fitted(data, seed, VARIANTS[name])
        rises = count_rises(model.restart_histories_)
        return [_error_row(data, predicted, seconds), {"metric": "objective_rises", "value": rises, "seconds": seconds}]

    return Method(name=name, run=run)


def _left_out(data: TaskData, seed: int) -> list[dict]:
    """CoCC with the setting that the pseudo-tasks without any group of this task choose.

    Reuters took no part in the choice, so its tasks have the defaults.
    """
    chosen = LEFT_OUT.get("-".join(sorted(set(data.source_labels))), "defaults")
    settings = SETTINGS[chosen]
    _, predicted, seconds = fit_recipe(data, "cocc", seed, **settings)
    return [_error_row(data, predicted, seconds)]


def _fitted(data: TaskData, seed: int, settings: dict[str, Any]) -> tuple[Any, np.ndarray, float]:
    """A variant of CoCC, fitted once per task; without ``settle`` the labels are those of the search."""
    settings = dict(settings)
    settle = settings.pop("settle", True)
    kept = data.extra.setdefault("fitted", {})
    key = seed, repr(settings)
    if key not in kept:
        kept[key] = fit_recipe(data, "cocc", seed, **settings)
    model, predicted, seconds = kept[key]
    return model, predicted if settle else search_labels(data, model), seconds


def search_labels(data: TaskData, model: Any) -> np.ndarray:
    """Labels of the target by the document clusters, matched with the classes one to one."""
    return model.classes_[model.document_clusters_[data.joined()[2] < 0]]


def _paper(matched: bool) -> Callable[[TaskData, int], list[dict]]:
    """The recipe ``cocc-paper``: with the printed map of clusters to classes, or the same clusters one to one."""

    def run(data: TaskData, seed: int) -> list[dict]:
        kept = data.extra.setdefault("paper", {})
        if seed not in kept:
            kept[seed] = fit_recipe(data, "cocc-paper", seed)
        model, predicted, seconds = kept[seed]
        if matched:
            predicted = search_labels(data, model)
        rises = count_rises(model.restart_histories_)
        return [_error_row(data, predicted, seconds), {"metric": "objective_rises", "value": rises, "seconds": seconds}]

    return run


def _auto(data: TaskData, seed: int) -> list[dict]:
    began = time.perf_counter()
    labels = choice(data, seed).labels
    return [_error_row(data, labels, time.perf_counter() - began)]


def _study(name: str, summary: str, run, chart: dict | None, *, reuters: bool = False) -> Study:
    files = (NEWSGROUPS_FILE, REUTERS_FILE) if reuters else (NEWSGROUPS_FILE,)
    return Study(name=name, summary=summary, run=run, files=files, chart=chart)


TASKS = {**NEWSGROUP_TASKS, **REUTERS_TASKS, **REUTERS_WIDE, **SRAA_TASKS}
_ERROR = {"y": "error", "y_title": "error on the target"}
STUDIES = {
    study.name: study
    for study in (
        _study(
            "sizes",
            "Sizes, divergence of the domains, SVM across and within",
            lambda folder, seeds: sizes(folder, [TASKS[t] for t in (*SIX, *THREE)]),
            {"kind": "bar", "x": "task", "y": "divergence", "y_title": "D(source ‖ target)", "title": "Distance"},
            reuters=True,
        ),
        _study(
            "source-share",
            "Error by share of the source that is used (the paper's second figure), sci-talk",
            lambda folder, seeds: source_share(TASKS["sci-talk"].load(folder), seeds),
            {
                "kind": "line",
                "x": "share",
                "color": "method",
                "title": "Less source data",
                "x_title": "share",
                **_ERROR,
            },
        ),
        _study(
            "iterations",
            "Error and objective after each iteration",
            lambda folder, seeds: iterations([TASKS[t] for t in ("rec-sci", "comp-sci", "orgs-places")], folder),
            {"kind": "line", "x": "iteration", "color": "task", "title": "Convergence", **_ERROR},
            reuters=True,
        ),
        _study(
            "trade-off",
            "Error by λ for three numbers of word clusters, sci-talk",
            lambda folder, seeds: trade_off(TASKS["sci-talk"].load(folder)),
            {"kind": "line", "x": "trade_off", "color": "word_clusters", "log_x": True, "x_title": "λ", **_ERROR},
        ),
        _study(
            "word-clusters",
            "Error by number of word clusters for three λ, sci-talk",
            lambda folder, seeds: word_clusters(TASKS["sci-talk"].load(folder)),
            {"kind": "line", "x": "word_clusters", "color": "trade_off", "log_x": True, "x_title": "k", **_ERROR},
        ),
        _study(
            "gain",
            "Share of the baseline's errors that CoCC removes, against the divergence of the domains",
            lambda folder, seeds: gain(folder, [TASKS[t] for t in (*SIX, *THREE)]),
            {
                "kind": "scatter",
                "x": "divergence",
                "y": "gain",
                "color": "against",
                "label": "task",
                "x_title": "D(source ‖ target)",
                "y_title": "errors removed",
                "title": "Gain against divergence",
            },
            reuters=True,
        ),
        _study(
            "gain-paper",
            "Share of the baseline's errors that CoCC removes in the paper's setting, against the divergence",
            lambda folder, seeds: gain(folder, [TASKS[t] for t in (*SIX, *THREE)], "cocc-paper"),
            None,
            reuters=True,
        ),
        _study(
            "iterations-paper",
            "Error after each number of iterations, in the paper's setting",
            lambda folder, seeds: [
                {"task": name, **row}
                for name in ("rec-sci", "comp-sci", "orgs-places")
                for row in sweep_paper(TASKS[name].load(folder), ({"max_iter": i} for i in PAPER_ITERATIONS))
            ],
            {"kind": "line", "x": "max_iter", "color": "task", "title": "Convergence", **_ERROR},
            reuters=True,
        ),
        _study(
            "settings-paper",
            "Error by λ and number of word clusters in the paper's setting, sci-talk",
            lambda folder, seeds: sweep_paper(
                TASKS["sci-talk"].load(folder),
                ({"trade_off": value, "n_word_clusters": k} for k in (16, 64, 256) for value in TRADE_OFFS[::2]),
            ),
            None,
        ),
        _study(
            "starts-paper",
            "How often the printed map fails in the paper's setting, by the start of the word clusters",
            lambda folder, seeds: word_starts([TASKS[t] for t in SIX], folder),
            None,
        ),
        _study(
            "picture",
            "Documents by words: how far the classes' words agree in source and target, sci-talk",
            lambda folder, seeds: picture(TASKS["sci-talk"].load(folder)),
            {
                "kind": "heatmap",
                "x": "words",
                "y": "documents",
                "value": "density",
                "title": "Documents and words",
                "x_title": "words, by leaning to the first class",
                "y_title": "documents",
            },
        ),
        Study(
            "defaults",
            "Settings of CoCC on pseudo-tasks made of source groups, one parameter at a time",
            choose_settings,
            files=PSEUDO_FILES,
            tune=True,
        ),
        Study(
            "baseline-defaults",
            "Settings of the baselines on the same pseudo-tasks",
            choose_baselines,
            files=PSEUDO_FILES,
            tune=True,
        ),
    )
}

SUITE = Suite(
    name="cocc",
    summary="Co-clustering based classification on newsgroup and Reuters tasks.",
    tasks=TASKS,
    methods={
        **{name: _baseline(name) for name in BASELINES},
        **{f"{name}-tuned": _tuned(name) for name in BASELINES},
        **{name: _variant(name) for name in VARIANTS},
        "cocc-paper": Method("cocc-paper", _paper(matched=False)),
        "cocc-paper-matched": Method("cocc-paper-matched", _paper(matched=True)),
        "cocc-left-out": Method("cocc-left-out", _left_out),
        "logistic": _baseline("logistic"),
        "self-training": _baseline("self-training"),
        "auto": Method("auto", _auto),
    },
    seeds=(0, 1, 2, 3, 4),
    default_tasks=(*SIX, *THREE, *REUTERS_WIDE, "four-class", *SRAA_TASKS),
    default_methods=(*BASELINES, "cocc-paper", "cocc-paper-matched", "cocc-no-finish", "cocc"),
    studies=STUDIES,
    contrasts={"cocc": BASELINES, "cocc-paper-matched": BASELINES},
    means={
        "six newsgroup tasks": SIX,
        "three Reuters tasks": THREE,
        "all nine": (*SIX, *THREE),
        "three Reuters tasks, the other reading": tuple(REUTERS_WIDE),
    },
)
