"""Suite "names": classes given by their names, alone, beside a source, and where the source lacks a class or is spoilt.

Topic pairs are those of the other suites; the splits that are new here (stories by topic, German articles) were fixed
from the data descriptions alone. Chinese classes have Chinese names. ``names`` sees the target's texts and the names,
nothing else. On spoilt pairs (suite "trust") every class of the target is named, so that a class the source lacks is
given by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from isthmus._progress import progress
from isthmus.api.label import label
from isthmus.choose.candidates import Candidates, try_methods
from isthmus.choose.choice import decide
from isthmus.choose.names import BY_NAMES, names_share, way_back
from isthmus.choose.stages.apply import pool
from isthmus.choose.texts import TransferTexts
from isthmus.choose.trust import ACCURACY
from isthmus.classify.names import ClassNameClassifier
from isthmus.features.class_names import read_classes
from isthmus.features.counting import sharing
from isthmus.feedback.asking import ASKING
from isthmus.methods import make_method
from isthmus_bench.engine.suite import Method, Study, Suite, Task, TaskData, pack_correct
from isthmus_bench.suites.trust_tasks import LENGTH, SIZE, draw
from isthmus_bench.suites.trust_tasks import TASKS as SPOILT
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


def _sampled(task: Task) -> Task:
    def load(folder: Path) -> TaskData:
        data, rng = task.load(folder), np.random.default_rng(0)
        source, target = (
            [(text[:LENGTH], label) for text, label in draw(list(zip(texts, labels, strict=True)), SIZE, rng)]
            for texts, labels in ((data.source_texts, data.source_labels), (data.target_texts, data.target_labels))
        )
        return TaskData.from_rows(source, target)

    return Task(name=f"{task.name}-sampled", load=load, files=task.files)


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
# Only Chinese texts get Chinese names: an English class has its own name, even where a Chinese corpus shares it.
WRONG = {
    name: _in_chinese(task) if name.startswith("fudan") else task
    for name, task in SPOILT.items()
    if not name.startswith("books")
}
# Reviews in the size of the pairs above: a sentence model reads some fifteen documents a second.
REVIEWS = ("books-dvd", "dvd-electronics", "electronics-kitchen", "kitchen-books")
SAMPLED = {f"{name}-sampled": _sampled(AMAZON_PAIRS[name]) for name in REVIEWS}
TASKS: dict[str, Task] = {**ENGLISH, **CHINESE, **GERMAN, **ODD, **WRONG, **AMAZON_PAIRS, **SAMPLED}
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
        model = make_method("names", classes=classes, embed=embed, random_state=seed)
        model.steps[-1][1].set_params(**settings)
        with sharing():
            model.fit_rows(texts, labels, np.repeat([1, -1], [n_source, len(data.target_texts)]))
        method = model.steps[-1][1]
        rows = score(data, model.transduction_[n_source:])
        if source:
            rows[0]["name_weight"] = round(float(method.name_weight_), 3)
        return rows

    return run


def auto(data: TaskData, seed: int, *, embed: Any = None) -> list[dict]:
    """``isthmus.label`` as it comes, which knows the classes of the source and their names."""
    result = label(data.source_texts, data.source_labels, data.target_texts, random_state=seed, embed=embed)
    return score(data, result.labels)


def auto_named(data: TaskData, seed: int) -> list[dict]:
    """``isthmus.label`` with every class of the target named: those that the source lacks are added."""
    classes = sorted(set(data.target_labels))
    result = label(data.source_texts, data.source_labels, data.target_texts, random_state=seed, classes=classes)
    return score(data, result.labels)


def tried(data: TaskData, seed: int) -> Candidates:
    """All candidates of ``auto``, with names and with the lexicon that it finds."""
    labels = np.array(data.source_labels, dtype=object)
    return try_methods(TransferTexts.of(data.source_texts, labels, data.target_texts), random_state=seed, n_jobs=1)


def auto_without(part: str) -> Callable[[TaskData, int], list[dict]]:
    """``auto`` with and without a part of its vote ("names", "lexicon"); no row where the pair has none."""

    def run(data: TaskData, seed: int) -> list[dict]:
        candidates = tried(data, seed)
        found = getattr(candidates, part)
        if found is None:
            return []
        rows = score(data, decide(candidates).labels)
        nothing: dict[str, Any] = {part: None}
        without = decide(replace(candidates, **nothing))
        rows.append({"metric": "accuracy_without", "value": score(data, without.labels)[0]["value"]})
        if part == "lexicon":
            rows[0]["lexicon"] = found.found
        return rows

    return run


# ---------------------------------------------------------------------------------------------------------- studies


READ = (*ENGLISH, "fudan-sogou", "german")  # targets of the study "reading"
ANSWERS = 100
AT_MOST = 1_000  # documents of a target


def measure_reading(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Names alone, then a hundred answers: to documents drawn at random, as ``ask`` does, or to the doubtful ones."""
    table: list[dict] = []
    for name in READ:
        data = TASKS[name].load(folder)
        rng = np.random.default_rng(seeds[0])
        chosen = np.sort(rng.permutation(len(data.target_texts))[:AT_MOST])
        texts, truth = ([part[i] for i in chosen] for part in (data.target_texts, data.target_labels))
        named = label(None, None, texts, classes=sorted(set(truth)), random_state=seeds[0])
        for drawn, first in (("random", ANSWERS), ("asked", 0)):
            with patch.dict(ASKING, first_at_random=first):
                questions = named.ask(ANSWERS)
            taught = named.teach({**questions, "true_label": [truth[n - 1] for n in questions["document"]]})
            table.append({"task": name, "drawn": drawn, **_promises(taught, np.array(truth, dtype=object))})
        progress("reading", len(table), 2 * len(READ))
    for drawn in ("random", "asked"):
        rows = [row for row in table if row["drawn"] == drawn]
        means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0] if name not in ("task", "drawn")}
        table.append({"task": f"mean of {len(rows)}", "drawn": drawn, **means})
    return table


def _promises(result: Any, truth: np.ndarray) -> dict[str, float]:
    """Share right, how far the expectation is off, whether the interval holds, what passes and what of it is wrong."""
    right, passes, expected = result.labels == truth, ~result.needs_review, result.expected_accuracy
    share = float(right.mean())
    wrong = float(np.mean(~right[passes])) if passes.any() else 0.0
    return {
        "right": share,
        "off": abs(expected.estimate - share),
        "held": float(expected.low <= share <= expected.high),
        "passes": float(passes.mean()),
        "wrong": wrong,
        "kept": float(wrong <= result.error_budget + 0.02),
    }


# ------------------------------------------------------------------------------------------------------------ tuning


GRID = [*product((5.0, 10.0, 20.0, 40.0), (0.3, 0.5, 0.7))]


def tune(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Sharpness and weight of the anchor for names alone: best on the other corpora, and what they give on this one."""
    found = {
        name: np.mean([_grid(TASKS[task].load(folder)) for task in tasks], axis=0) for name, tasks in CORPORA.items()
    }
    return left_out(found, GRID)


VOTE_KINDS = ("plain", "thin")
VOTE_GRID = [*product((0.0, 0.25, 1 / 3), (-np.inf, -0.4, -0.2, 0.0))]
MOST_LOST = 0.011  # accuracy that a rule may cost on any pair it is chosen on


def tune_vote(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """When names may vote: least part in the source and least way back, chosen on all corpora but one."""
    gains: dict[str, list[np.ndarray]] = {}
    for name in sorted(WRONG):
        base, _, kind = name.rpartition("-")
        if kind in VOTE_KINDS:
            gains.setdefault(base, []).append(_vote_gains(WRONG[name].load(folder), seeds[0]))
    return choose_vote_rule({base: np.array(found) for base, found in gains.items()})


def choose_vote_rule(gains: dict[str, np.ndarray]) -> list[dict]:
    """For each corpus: the rule of the grid with the best mean on the others, of those that cost none of them much.

    ``gains``: by corpus, pairs × rules.
    """
    table = []
    for name in [*gains, "none"]:
        others = [found for base, found in gains.items() if base != name]
        mean = np.mean([found.mean(axis=0) for found in others], axis=0)
        worst = np.min([found.min(axis=0) for found in others], axis=0)
        best = int(np.argmax(np.where(worst >= -MOST_LOST, mean, -np.inf)))
        own = gains.get(name)
        seen = np.vstack(others) if own is None else own
        table.append(
            {
                "left out": name,
                "least part, way back": str(tuple(round(value, 3) for value in VOTE_GRID[best])),
                "gain": float(seen[:, best].mean()),
                "worst": float(seen[:, best].min()),
            }
        )
    return table


def _vote_gains(data: TaskData, seed: int) -> np.ndarray:
    """By rule of the grid, what the vote gains by names on a pair: 0 where the rule keeps them out."""
    candidates = tried(data, seed)
    named = candidates.names
    without = decide(replace(candidates, names=None))
    agreement = None if named is None else named.model.agreement_
    if named is None or agreement is None or agreement.names < BY_NAMES["least_agreement"]:
        return np.zeros(len(VOTE_GRID))
    share = names_share(agreement)
    opinions = {"vote": without.probabilities, "names": named.probabilities}
    joint = pool(opinions, {"vote": 1 - share, "names": share})
    truth = np.array(data.target_labels, dtype=object).astype(str)
    right = np.mean(without.model.classes_[joint.argmax(axis=1)].astype(str) == truth)
    gain = float(right - np.mean(without.labels.astype(str) == truth))
    back = 0.0
    if (
        candidates.scorer is not None
        and len(candidates.scorer.source_labels) >= ACCURACY["thin"]
        and named.evidence is not None
    ):
        back = way_back(named.evidence, candidates.scorer.score(without.labels))
    return np.array([gain * (agreement.weight >= part and back >= least) for part, least in VOTE_GRID])


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
    steps = make_method("names", classes=classes, random_state=0)[:-1]
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
    "sampled reviews": tuple(SAMPLED),
}
METHODS: dict[str, Callable[[TaskData, int], list[dict]]] = {
    "names": by_names(source=False),
    "names-words": by_names(source=False, embed=False),
    "names-source": by_names(source=True),
    "documents": by_names(source=True, name_weight=0.0),
    "names-minilm": by_names(source=False, embed="minilm"),
    "auto": auto,
    "auto-minilm": partial(auto, embed="minilm"),
    "auto-named": auto_named,
    "auto-names": auto_without("names"),
    "auto-lexicon": auto_without("lexicon"),
}
BY_SENTENCES = ("names", "names-minilm", "auto", "auto-minilm")


def fits(task: str, method: str) -> bool:
    """Whether a method is meant for a task."""
    if task in SAMPLED:
        return method in BY_SENTENCES
    if method.endswith("-minilm"):
        return task in WRONG and task.endswith("-plain")
    return method == "auto" or (method == "auto-lexicon") == (task in AMAZON_PAIRS)


SUITE = Suite(
    name="names",
    summary="Classes given by their names: alone, beside a source, for a class the source lacks; and general lexicons.",
    tasks=TASKS,
    methods={name: Method(name=name, run=run) for name, run in METHODS.items()},
    default_methods=("names", "names-words", "names-source", "documents", "auto"),
    pairs=frozenset((task, method) for task in TASKS for method in METHODS if fits(task, method)),
    means=MEANS,
    derived={"against": against},
    studies={
        "reading": Study(
            name="reading",
            summary="No source, a hundred answers: drawn at random, as ask does, or the doubtful documents.",
            run=measure_reading,
        ),
        "sharpness": Study(
            name="sharpness",
            summary="Sharpness of the sharing and weight of the anchor, set on all corpora but one.",
            run=tune,
            tune=True,
        ),
        "vote": Study(
            name="vote",
            summary="When names may vote in auto: the rule chosen on all corpora but one, and what it gives there.",
            run=tune_vote,
            tune=True,
        ),
    },
)
