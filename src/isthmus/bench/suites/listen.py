"""Suite "listen": what answers of a person are worth, with a simulated person who knows the true labels.

Every task is cut to 1,000 documents a side and labelled once by ``auto``. Half of the target may be answered; accuracy
is measured on the other half, which is never answered, so that answers chosen for being doubtful do not make the rest
look easy. Draws differ by seed. ``ceiling`` is a plain linear classifier, cross-validated on the target's true labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import LinearSVC

from isthmus.api.label import LabelResult, label
from isthmus.bench.engine.suite import Method, Suite, Task, TaskData
from isthmus.bench.tasks import AMAZON_MULTI, AMAZON_PAIRS, CHINESE_TASKS, NEWSGROUP_TASKS, REUTERS_TASKS
from isthmus.features.vectorizer import TextVectorizer

SIZE = 1_000
SIZES = (20, 50, 100, 200)
STEPS = (20, 50, 75, 100, 150, 200)  # asked answers come in batches
ERRORS = 0.1
GAP = 0.03  # below that there is nothing to close
WEIGHT = 10.0  # of an answer beside a source document in "source and answers"
# Strengths, weights of the views and the way of asking were set on these; the others were not looked at before.
DEVELOPMENT = (
    "books-kitchen",
    "electronics-books",
    "kitchen-dvd",
    "comp-sci",
    "rec-talk",
    "orgs-people",
    "four-class",
)
REPORTED = (
    "kitchen-books",
    "electronics-dvd",
    "dvd-kitchen",
    "books-electronics",
    "sci-talk",
    "rec-sci",
    "comp-talk",
    "people-places",
    "fudan-sogou",
    "thucnews_title-toutiao",
    "nlpcc2017-thucnews_title",
    *AMAZON_MULTI,
)
_ALL = {**AMAZON_PAIRS, **AMAZON_MULTI, **NEWSGROUP_TASKS, **REUTERS_TASKS, **CHINESE_TASKS}


def cut(task: Task) -> Task:
    """The task with at most 1,000 documents a side, drawn at random once."""

    def load(folder: Path) -> TaskData:
        return cut_data(task.load(folder))

    return replace(task, load=load)


def cut_data(data: TaskData, size: int = SIZE) -> TaskData:
    """At most ``size`` documents a side."""
    rng = np.random.default_rng(7)
    source, target = (np.sort(rng.permutation(len(texts))[:size]) for texts in (data.source_texts, data.target_texts))
    return replace(
        data,
        source_texts=[data.source_texts[i] for i in source],
        source_labels=[data.source_labels[i] for i in source],
        target_texts=[data.target_texts[i] for i in target],
        target_labels=[data.target_labels[i] for i in target],
        source_domain=None if data.source_domain is None else np.asarray(data.source_domain)[source],
        extra={},
    )


def missing_class(task: Task, name: str) -> Task:
    """The task with one class taken out of the source."""

    def load(folder: Path) -> TaskData:
        data = task.load(folder)
        kept = [i for i, label_ in enumerate(data.source_labels) if label_ != name]
        data = replace(
            data,
            source_texts=[data.source_texts[i] for i in kept],
            source_labels=[data.source_labels[i] for i in kept],
            source_domain=None,
        )
        return replace(cut_data(data), extra={"missing": name})

    return replace(task, name=f"missing-{task.name}", load=load)


def turned_shares(task: Task, share: float = 0.15) -> Task:
    """The task with the first class cut to ``share`` of the target."""

    def load(folder: Path) -> TaskData:
        data = cut_data(task.load(folder), 4 * SIZE)
        labels = np.array(data.target_labels, dtype=object)
        first = np.flatnonzero(labels == sorted(set(labels.tolist()))[0])
        others = np.flatnonzero(labels != labels[first[0]])
        n_first = min(len(first), round(share / (1 - share) * len(others)))
        kept = np.sort(np.concatenate([first[:n_first], others]))
        data = replace(
            data,
            target_texts=[data.target_texts[i] for i in kept],
            target_labels=[data.target_labels[i] for i in kept],
        )
        return cut_data(data)

    return replace(task, name=f"turned-{task.name}", load=load)


MISSING = (missing_class(NEWSGROUP_TASKS["four-class"], "talk"), missing_class(CHINESE_TASKS["fudan-sogou"], "sports"))
TURNED = tuple(turned_shares(_ALL[name]) for name in ("books-kitchen", "electronics-books", "comp-sci"))
TASKS: dict[str, Task] = {name: cut(_ALL[name]) for name in (*DEVELOPMENT, *REPORTED)}
TASKS |= {task.name: task for task in (*MISSING, *TURNED)}


# ------------------------------------------------------------------------------------------------------------- person


def first_labelling(data: TaskData) -> LabelResult:
    """What ``auto`` makes of the task without answers; once for all draws."""
    if "labelling" not in data.extra:
        start = process_time()
        domain = None if data.source_domain is None else [str(number) for number in data.source_domain]
        data.extra["labelling"] = label(
            data.source_texts, list(data.source_labels), data.target_texts, source_domain=domain
        )
        data.extra["cpu"] = process_time() - start
    return data.extra["labelling"]


class Person:
    """Answers documents of one half of the target; may err."""

    def __init__(self, data: TaskData, seed: int, errors: float = 0.0):
        self.truth = np.array(data.target_labels, dtype=object)
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(self.truth))
        self.pool, self.held_out = order[: len(order) // 2], np.sort(order[len(order) // 2 :])
        names = sorted(set(self.truth.tolist()))
        wrong = np.array([rng.choice([name for name in names if name != label_] or names) for label_ in self.truth])
        self.said = np.where(rng.random(len(self.truth)) < errors, wrong, self.truth)

    def answer(self, rows: Iterable[int], drawn: str) -> dict[str, list]:
        """A table of answers."""
        rows = [int(row) for row in rows]
        numbers, labels = [row + 1 for row in rows], [str(self.said[row]) for row in rows]
        return {"document": numbers, "true_label": labels, "drawn": [drawn] * len(rows)}

    def accuracy(self, labels: np.ndarray) -> float:
        """Share of right labels in the half that is never answered."""
        return float(np.mean(labels[self.held_out] == self.truth[self.held_out]))


def taught(data: TaskData, seed: int, kind: str) -> dict[int, LabelResult]:
    """The labelling after 20, 50, 100 and 200 answers: drawn at random, asked for, or at random with errors."""
    kept = data.extra.setdefault("taught", {})
    if (seed, kind) not in kept:
        person = Person(data, seed, ERRORS if kind == "erring" else 0.0)
        kept[seed, kind] = _ask(data, person) if kind == "asked" else _draw(data, person)
    return kept[seed, kind]


def _draw(data: TaskData, person: Person) -> dict[int, LabelResult]:
    result, done, found = first_labelling(data), 0, {}
    for size in SIZES:
        if size > len(person.pool):
            break
        result = result.teach(person.answer(person.pool[done:size], "random"))
        found[size], done = result, size
    return found


def _ask(data: TaskData, person: Person) -> dict[int, LabelResult]:
    result, done, found = first_labelling(data), 0, {}
    for size in STEPS:
        if size > len(person.pool):
            break
        # The other half is not to be answered, so it is not to be asked about: more is asked than can be taken.
        asked = [number - 1 for number in result.ask(len(person.truth))["document"]] if done == 0 else None
        if asked is None:
            asked = [number - 1 for number in result.ask(3 * (size - done) + 20)["document"]]
        mine = set(person.pool.tolist())
        rows = [row for row in asked if row in mine][: size - done]
        result = result.teach(person.answer(rows, "asked"))
        done = size
        if size in SIZES:
            found[size] = result
    return found


# ------------------------------------------------------------------------------------------------------------ methods


def _size(kind: str, size: int) -> Callable[[TaskData, int], list[dict]]:
    def run(data: TaskData, seed: int) -> list[dict]:
        person, found = Person(data, seed), taught(data, seed, kind)
        if size not in found:
            return []
        result = found[size]
        rows = [
            {"metric": "accuracy", "value": person.accuracy(result.labels)},
            {"metric": "table_accuracy", "value": float(np.mean(result.labels == person.truth))},
        ]
        if result.expected_accuracy is not None:
            rows.append({"metric": "expected_accuracy", "value": result.expected_accuracy.estimate})
        missing = data.extra.get("missing")
        if missing is not None:
            theirs = person.held_out[person.truth[person.held_out] == missing]
            rows.append({"metric": "missing_recall", "value": float(np.mean(result.labels[theirs] == missing))})
        return rows

    return run


def auto(data: TaskData, seed: int) -> list[dict]:
    """The labelling without answers."""
    result, person = first_labelling(data), Person(data, seed)
    rows = [
        {"metric": "accuracy", "value": person.accuracy(result.labels)},
        {"metric": "table_accuracy", "value": float(np.mean(result.labels == person.truth))},
    ]
    if result.expected_accuracy is not None and result.expected_accuracy.estimate is not None:
        rows.append({"metric": "expected_accuracy", "value": result.expected_accuracy.estimate})
    return rows


def ceiling(data: TaskData, seed: int) -> list[dict]:
    """A plain linear classifier, cross-validated on the target's true labels."""
    truth = np.array([str(name) for name in data.target_labels])
    rows = _rows(data.target_texts)
    names, counts = np.unique(truth, return_counts=True)
    usable = np.isin(truth, names[counts >= 5])
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    said = cross_val_predict(LinearSVC(C=0.5, random_state=0), rows[usable], truth[usable], cv=folds)
    return [{"metric": "accuracy", "value": float(np.mean(said == truth[usable]))}]


def _source_and_answers(size: int) -> Callable[[TaskData, int], list[dict]]:
    """A plain linear classifier on the source and the answers, each answer counting as ten source documents."""

    def run(data: TaskData, seed: int) -> list[dict]:
        person = Person(data, seed)
        if size > len(person.pool):
            return []
        answered = person.pool[:size]
        matrix = _rows([*data.source_texts, *data.target_texts])
        n_source = len(data.source_texts)
        rows = sp.vstack([matrix[:n_source], matrix[n_source:][answered]])
        names = [*map(str, data.source_labels), *(str(person.said[row]) for row in answered)]
        weights = np.r_[np.ones(n_source), np.full(size, WEIGHT)]
        model = LogisticRegression(C=3.0, max_iter=300).fit(rows, names, sample_weight=weights)
        return [{"metric": "accuracy", "value": person.accuracy(model.predict(matrix[n_source:]))}]

    return run


def _rows(texts: Iterable[str]) -> sp.csr_matrix:
    return TextVectorizer(min_df=2, weighting="tfidf", sublinear=True).fit_transform(list(texts))


# ------------------------------------------------------------------------------------------------------------- tables


def share_closed(rows: list[dict]) -> list[dict]:
    """Share of the gap between ``auto`` and the ceiling that answers close, over the tasks where it is 3 points."""
    values = _means(rows)
    tables = []
    for group, tasks in {"development": DEVELOPMENT, "reported": REPORTED, "turned": [t.name for t in TURNED]}.items():
        for kind in ("random", "asked", "erring"):
            row: dict[str, Any] = {"tasks": group, "answers": kind, "gap_tasks": 0}
            for size in SIZES:
                shares = [
                    (values[task, f"{kind}-{size}"] - values[task, "auto"]) / gap
                    for task in tasks
                    if (gap := _gap(values, task)) >= GAP and (task, f"{kind}-{size}") in values
                ]
                row["gap_tasks"] = max(row["gap_tasks"], len(shares))
                row[f"{size}"] = round(float(np.mean(shares)), 3) if shares else None
            tables.append(row)
    return tables


def against_best(rows: list[dict]) -> list[dict]:
    """By how much taught labels fall behind the better of ``auto`` and source and answers; the worst task of each."""
    values = _means(rows)
    found = []
    for kind in ("random", "asked"):
        for size in SIZES:
            behind = {
                task: values[task, f"{kind}-{size}"]
                - max(values[task, "auto"], values.get((task, f"source+answers-{size}"), 0.0))
                for task in TASKS
                if (task, f"{kind}-{size}") in values and (task, "auto") in values
            }
            if behind:
                worst = min(behind, key=behind.__getitem__)
                found.append({"answers": f"{kind}-{size}", "worst_task": worst, "difference": round(behind[worst], 4)})
    return found


def _means(rows: list[dict]) -> dict[tuple[str, str], float]:
    values: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row["metric"] == "accuracy" and row.get("value") is not None:
            values.setdefault((row["task"], row["method"]), []).append(row["value"])
    return {key: float(np.mean(found)) for key, found in values.items()}


def _gap(values: dict[tuple[str, str], float], task: str) -> float:
    if (task, "auto") not in values or (task, "ceiling") not in values:
        return 0.0
    return values[task, "ceiling"] - values[task, "auto"]


def _methods() -> dict[str, Method]:
    methods = {"auto": Method("auto", auto), "ceiling": Method("ceiling", ceiling, seeded=False)}
    for size in SIZES:
        name = f"source+answers-{size}"
        methods[name] = Method(name, _source_and_answers(size))
        for kind in ("random", "asked", "erring"):
            name = f"{kind}-{size}"
            methods[name] = Method(name, _size(kind, size))
    return methods


SUITE = Suite(
    name="listen",
    summary="Answers of a simulated person: how much of the gap to a supervised classifier 20 to 200 of them close.",
    tasks=TASKS,
    methods=_methods(),
    seeds=(0, 1, 2),
    means={"development": DEVELOPMENT, "reported": REPORTED},
    hidden=("expected_accuracy",),
    derived={"share-closed": share_closed, "against-best": against_best},
)
