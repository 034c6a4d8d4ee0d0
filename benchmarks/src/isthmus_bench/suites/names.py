"""Suite "names": classes given by their names, alone, beside a source, and where the source lacks a class or is spoilt.

Topic pairs are those of the other suites; the splits that are new here (stories by topic, German articles) were fixed
from the data descriptions alone. Chinese classes have Chinese names. ``names`` sees the target's texts and the names,
nothing else. On spoilt pairs (suite "trust") every class of the target is named, so that a class the source lacks is
given by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.api.label import label
from isthmus.choose.choice import decide, fit_lexicon, try_methods
from isthmus.choose.lexicons import find_lexicon
from isthmus.choose.texts import TransferTexts
from isthmus.classify.names.classifier import ClassNameClassifier
from isthmus.features.class_names import read_classes
from isthmus.features.counting import sharing
from isthmus.recipes import make_recipe
from isthmus_bench.engine.suite import Method, Study, Suite, Task, TaskData, pack_correct
from isthmus_bench.suites.trust import TASKS as SPOILT
from isthmus_bench.tasks import (
    AMAZON_PAIRS,
    NEWSGROUP_TASKS,
    REUTERS_FILE,
    REUTERS_TASKS,
    TOPIC_TASKS,
    chinese_task,
    read_records,
)

GERMAN_FILE = "de/gnad_test.jsonl.gz"
# Topics whose code is an ordinary word; "earn", "acq", "money-fx" and the like are not.
STORIES = ("coffee", "crude", "gold", "grain", "interest", "ship", "sugar", "trade")
CHINESE_NAMES = {
    "culture": "文化",
    "education": "教育",
    "entertainment": "娱乐",
    "finance": "财经",
    "game": "游戏",
    "health": "健康",
    "military": "军事",
    "politics": "政治",
    "realty": "房产",
    "society": "社会",
    "sports": "体育",
    "stocks": "股票",
    "tech": "科技",
}
PER_CLASS = 400  # Chinese documents a class and side
DAMAGED = ("missing", "noisy", "thin", "turned")


# ------------------------------------------------------------------------------------------------------------ tasks


def _load_stories(folder: Path) -> TaskData:
    """Titles of every other story against the bodies of the rest."""
    records = [
        r for r in read_records(Path(folder) / REUTERS_FILE) if r["label"] in STORIES and r["title"] and r["text"]
    ]
    source, target = records[::2], records[1::2]
    return TaskData(
        [r["title"] for r in source],
        [r["label"] for r in source],
        [r["text"] for r in target],
        [r["label"] for r in target],
    )


def _load_german(folder: Path) -> TaskData:
    """Articles of one half against the first sentences of the other."""
    records = read_records(Path(folder) / GERMAN_FILE)
    source, target = records[::2], records[1::2]
    return TaskData(
        [r["text"] for r in source],
        [r["label"] for r in source],
        [r["text"].partition(". ")[0] for r in target],
        [r["label"] for r in target],
    )


def _in_chinese(task: Task) -> Task:
    def load(folder: Path) -> TaskData:
        data = task.load(folder)
        data.source_labels = [CHINESE_NAMES.get(name, name) for name in data.source_labels]
        data.target_labels = [CHINESE_NAMES.get(name, name) for name in data.target_labels]
        return data

    return Task(name=task.name, load=load, files=task.files)


_CHINESE = (
    ("fudan", "sogou"),
    ("sogou", "thucnews_full_small"),
    ("thucnews_title", "toutiao"),
    ("thucnews_title", "nlpcc2017"),
)
ENGLISH = {
    **TOPIC_TASKS,
    "stories": Task(name="stories", load=_load_stories, files=(REUTERS_FILE,)),
    "webkb-plain": SPOILT["webkb-plain"],
    "newsgroups-plain": SPOILT["newsgroups-plain"],
}
CHINESE = {f"{a}-{b}": _in_chinese(chinese_task(a, b, per_class=PER_CLASS)) for a, b in _CHINESE}
GERMAN = {"german": Task(name="german", load=_load_german, files=(GERMAN_FILE,))}
# Names that are not what their documents are about, or not words.
ODD = {
    **{name: NEWSGROUP_TASKS[name] for name in ("rec-talk", "comp-sci", "sci-talk", "four-class")},
    **REUTERS_TASKS,
}
WRONG = {name: _in_chinese(task) for name, task in SPOILT.items() if not name.startswith("books")}
TASKS: dict[str, Task] = {**ENGLISH, **CHINESE, **GERMAN, **ODD, **WRONG, **AMAZON_PAIRS}
# Corpora that the defaults may be set on, each left out in turn.
CORPORA = {
    "newsgroups and pages": ("newsgroups-dmoz", "dmoz-newsgroups"),
    "pages": ("dmoz-halves", "dmoz-meta"),
    "newsgroup titles": ("titles-bodies",),
    "Reuters": ("stories",),
    "universities": ("webkb-plain",),
    "Chinese articles": ("fudan-sogou", "sogou-thucnews_full_small"),
    "Chinese headlines": ("thucnews_title-toutiao", "thucnews_title-nlpcc2017"),
}


# ---------------------------------------------------------------------------------------------------------- methods


def score(data: TaskData, labels: np.ndarray) -> list[dict]:
    """Accuracy, and recall of the classes that the source lacks."""
    truth = np.array(data.target_labels, dtype=object)
    right = labels.astype(object) == truth
    rows: list[dict] = [
        {"metric": "accuracy", "value": float(right.mean()), "correct": pack_correct(truth, labels.astype(object))}
    ]
    lost = ~np.isin(truth.astype(str), np.unique(data.source_labels))
    if lost.any():
        rows.append({"metric": "recall_of_missing", "value": float(right[lost].mean())})
    return rows


def by_names(*, source: bool, embed: Any = "static", **settings: Any) -> Callable[[TaskData, int], list[dict]]:
    """The recipe ``names``, with the source's texts and labels or without either."""

    def run(data: TaskData, seed: int) -> list[dict]:
        texts = [*(data.source_texts if source else ()), *data.target_texts]
        n_source = len(texts) - len(data.target_texts)
        labels = np.array([*data.source_labels[:n_source], *[None] * len(data.target_texts)], dtype=object)
        classes = sorted(set(data.target_labels))
        model = make_recipe("names", classes=classes, embed=embed, random_state=seed)
        model.steps[-1][1].set_params(**settings)
        with sharing():
            model.fit_rows(texts, labels, np.repeat([1, -1], [n_source, len(data.target_texts)]))
        method = model.steps[-1][1]
        rows = score(data, model.transduction_[n_source:])
        if source:
            rows[0]["name_weight"] = round(float(method.name_weight_), 3)
        return rows

    return run


def auto(data: TaskData, seed: int) -> list[dict]:
    """``isthmus.label`` as it comes, which knows the classes of the source alone."""
    result = label(data.source_texts, data.source_labels, data.target_texts, random_state=seed)
    return score(data, result.labels)


def auto_lexicon(data: TaskData, seed: int) -> list[dict]:
    """``auto`` without and with the installed lexicon, where one fits the source; no row where none does."""
    found = find_lexicon(data.source_texts, data.source_labels)
    if found is None:
        return []
    labels = np.array(data.source_labels, dtype=object)
    texts = TransferTexts.of(data.source_texts, labels, data.target_texts)
    candidates = try_methods(texts, random_state=seed, n_jobs=1)
    before = decide(candidates)
    candidates.lexicon = fit_lexicon(texts, found.word_labels, {"random_state": seed})
    rows = score(data, decide(candidates).labels)
    rows[0] |= {"without": score(data, before.labels)[0]["value"], "lexicon": found.why}
    return rows


# ------------------------------------------------------------------------------------------------------------ tuning


GRID = [*product((5.0, 10.0, 20.0, 40.0), (0.3, 0.5, 0.7))]


def tune(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Sharpness and weight of the anchor for names alone: best on the other corpora, and what they give on this one."""
    found = {
        name: np.mean([_grid(TASKS[task].load(folder)) for task in tasks], axis=0) for name, tasks in CORPORA.items()
    }
    return left_out(found, GRID)


def left_out(found: dict[str, np.ndarray], grid: list) -> list[dict]:
    """For each corpus: the setting that is best on the others, and what it gives on the one left out."""
    table = []
    for name, values in found.items():
        others = np.mean([value for other, value in found.items() if other != name], axis=0)
        best = int(np.argmax(others))
        table.append(
            {"left out": name, "setting": str(grid[best]), "accuracy": float(values[best]), "best": float(values.max())}
        )
    mean = np.mean(list(found.values()), axis=0)
    table.append({"left out": "none", "setting": str(grid[int(np.argmax(mean))]), "accuracy": float(mean.max())})
    return table


def _grid(data: TaskData) -> np.ndarray:
    """Accuracy of names alone under every setting of the grid; rows are made once."""
    classes = sorted(set(data.target_labels))
    steps = make_recipe("names", classes=classes, random_state=0)[:-1]
    rows = steps.fit_transform(data.target_texts)
    texts = {name: one.text for name, one in read_classes(classes).items() if one.text}
    given = dict(zip(texts, steps.transform(list(texts.values())), strict=True))
    truth = np.array(data.target_labels, dtype=object)
    accuracies = []
    for sharpness, anchor_weight in GRID:
        model = ClassNameClassifier(given, sharpness=sharpness, anchor_weight=anchor_weight)
        model.fit(rows, [None] * len(truth))
        accuracies.append(float(np.mean(model.transduction_ == truth)))
    return np.array(accuracies)


def against(rows: Iterable[dict]) -> list[dict]:
    """Names against ``auto``, by kind of pair."""
    found = {(row["task"], row["method"]): row["value"] for row in rows if row["metric"] == "accuracy"}
    methods = sorted({method for _, method in found})
    table = []
    for name, tasks in MEANS.items():
        line: dict[str, Any] = {"pairs": name}
        for method in methods:
            values = [found[task, method] for task in tasks if (task, method) in found]
            if len(values) == len(tasks):
                line[method] = float(np.mean(values))
        table.append(line)
    return table


MEANS = {
    "English topics": tuple(ENGLISH),
    "Chinese topics": tuple(CHINESE),
    "odd names": tuple(ODD),
    **{kind: tuple(name for name in WRONG if name.endswith(f"-{kind}")) for kind in ("plain", *DAMAGED)},
    "reviews": tuple(AMAZON_PAIRS),
}
METHODS: dict[str, Callable[[TaskData, int], list[dict]]] = {
    "names": by_names(source=False),
    "names-words": by_names(source=False, embed=False),
    "names-source": by_names(source=True),
    "documents": by_names(source=True, name_weight=0.0),
    "auto": auto,
    "auto-lexicon": auto_lexicon,
}
SUITE = Suite(
    name="names",
    summary="Classes given by their names: alone, beside a source, for a class the source lacks; and general lexicons.",
    tasks=TASKS,
    methods={name: Method(name=name, run=run) for name, run in METHODS.items()},
    default_methods=("names", "names-words", "names-source", "documents", "auto"),
    pairs=frozenset(
        (task, method)
        for task in TASKS
        for method in METHODS
        if (method == "auto-lexicon") == (task in AMAZON_PAIRS) or method == "auto"
    ),
    means=MEANS,
    derived={"against": against},
    studies={
        "sharpness": Study(
            name="sharpness",
            summary="Sharpness of the sharing and weight of the anchor, set on all corpora but one.",
            run=tune,
            tune=True,
        )
    },
)
