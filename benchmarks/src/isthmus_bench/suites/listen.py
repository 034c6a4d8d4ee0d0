"""Suite "listen": what answers of a person are worth, with a simulated person who knows the true labels.

Every task is cut to 1,000 documents a side (those of suite trust have 500) and labelled once by ``auto``; three draws
of answers are then taught on top. Half of the target may be answered; accuracy is measured on the other half, which is
never answered, so that answers chosen for being doubtful do not make the rest look easy. ``table_accuracy`` is that of
the whole table as its owner gets it, answers included. ``ceiling`` is a plain linear classifier, cross-validated on the
target's true labels. Study ``cost`` measures time, and ten thousand answers; study ``sources`` plants useless sources
beside real ones; ``isthmus bench tune listen`` compares the constants on the development tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import LinearSVC

from isthmus.api.label import label
from isthmus.api.result import LabelResult
from isthmus.features.vectorizer import TextVectorizer
from isthmus.feedback import Answers
from isthmus_bench.engine.suite import Method, Study, Suite, Task, TaskData
from isthmus_bench.suites import listen_sources, listen_tune, trust
from isthmus_bench.suites.listen_person import Person, cut, first_labelling, pooled_labelling
from isthmus_bench.tasks import (
    AMAZON_FILE,
    AMAZON_MULTI,
    AMAZON_PAIRS,
    AMAZON_UNLABELLED_FILE,
    CHINESE_TASKS,
    NEWSGROUP_TASKS,
    NEWSGROUPS_FILE,
    REUTERS_TASKS,
    read_records,
)

SIZES = (20, 50, 100, 200)
STEPS = (20, 50, 75, 100, 150, 200)  # asked answers come in batches
KINDS = ("random", "picked", "asked", "erring")  # picked: at random too, but nothing says so
ERRORS = 0.1
PROMISES = ("expected_accuracy", "table_accuracy", "covered", "passed", "passed_wrong", "unread_wrong")
KEPT = 0.12  # a budget of 10 %, and two points
GAP = 0.03  # below that there is nothing to close
MANY_ANSWERS, MANY_DOCUMENTS = 10_000, 11_000
WEIGHT = 10.0  # of an answer beside a source document in "source and answers"
# Weights of the views, strengths and the way of asking were set on these; the others were not looked at before.
DEVELOPMENT = (
    "books-kitchen",
    "electronics-books",
    "kitchen-dvd",
    "comp-sci",
    "orgs-people",
    "four-class",
    "webkb-plain",
    "newsgroups-dmoz-plain",
)
REPORTED = (
    "kitchen-books",
    "electronics-dvd",
    "dvd-kitchen",
    "sci-talk",
    "people-places",
    "thucnews_title-toutiao",
    "nlpcc2017-thucnews_title",
    "dmoz-halves-plain",
    "german-halves-plain",
    *AMAZON_MULTI,
)
MISSING = ("newsgroups-missing", "dmoz-halves-missing", "webkb-missing", "reuters-missing")
LACKING = {name: task for name, task in trust.TASKS.items() if name.endswith("-missing")}
TURNED = ("newsgroups-turned", "webkb-turned", "books-kitchen-turned")
EXAMPLES = ("german-halves-missing", "newsgroups-dmoz-missing")
_ALL = {**trust.TASKS, **AMAZON_PAIRS, **AMAZON_MULTI, **NEWSGROUP_TASKS, **REUTERS_TASKS, **CHINESE_TASKS}


TASKS: dict[str, Task] = {name: cut(_ALL[name]) for name in (*DEVELOPMENT, *REPORTED, *MISSING, *TURNED)}


# ------------------------------------------------------------------------------------------------------------- person


def taught(data: TaskData, seed: int, kind: str) -> dict[int, LabelResult]:
    """The labelling after 20, 50, 100 and 200 answers of one of ``KINDS``."""
    kept = data.extra.setdefault("taught", {})
    if (seed, kind) not in kept:
        person = Person(data, seed, ERRORS if kind == "erring" else 0.0)
        kept[seed, kind] = _ask(data, person) if kind == "asked" else _draw(data, person, kind)
    return kept[seed, kind]


def _draw(data: TaskData, person: Person, kind: str) -> dict[int, LabelResult]:
    result, done, found = first_labelling(data), 0, {}
    for size in SIZES:
        if size > len(person.pool):
            break
        result = result.teach(person.answer(person.pool[done:size], "picked" if kind == "picked" else "random"))
        found[size], done = result, size
    return found


def _ask(data: TaskData, person: Person) -> dict[int, LabelResult]:
    # The other half is not to be answered: it counts as asked and left blank.
    first = first_labelling(data)
    result = replace(first, answers=Answers(blank_in={"held out": person.held_out.tolist()}))
    result.views = first.views  # texts are read once for all draws
    done, found = 0, {}
    for size in STEPS:
        if size > len(person.pool):
            break
        asked = [number - 1 for number in result.ask(size - done)["document"]]
        result = result.teach(person.answer(asked, "asked"))
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
        rows += kept_promises(result, person.truth)
        theirs = person.held_out[np.isin(person.truth[person.held_out], data.extra.get("missing", []))]
        if len(theirs):
            recall = float(np.mean(result.labels[theirs] == person.truth[theirs]))
            rows.append({"metric": "missing_recall", "value": recall})
        return rows

    return run


def auto(data: TaskData, seed: int) -> list[dict]:
    """The labelling without answers."""
    result, person = first_labelling(data), Person(data, seed)
    rows = [
        {"metric": "accuracy", "value": person.accuracy(result.labels)},
        {"metric": "table_accuracy", "value": float(np.mean(result.labels == person.truth))},
    ]
    return rows + kept_promises(result, person.truth)


def kept_promises(result: LabelResult, truth: np.ndarray) -> list[dict]:
    """What was expected of the whole table and what came of it; nothing where nothing was expected.

    ``covered``: whether the interval holds the true share; ``passed``, of all documents, answered ones among them;
    ``passed_wrong``, of what passed; ``unread_wrong``, of what passed and nobody had answered.
    """
    expected = result.expected_accuracy
    if expected is None or expected.estimate is None:
        return []
    right, passed = result.labels == truth, ~result.needs_review
    unread = passed.copy()
    unread[result.known_answers.rows] = False
    facts = {
        "expected_accuracy": expected.estimate,
        "covered": float(expected.low <= right.mean() <= expected.high),
        "passed": float(passed.mean()),
        "passed_wrong": float(np.mean(~right[passed])) if passed.any() else 0.0,
        "unread_wrong": float(np.mean(~right[unread])) if unread.any() else 0.0,
    }
    return [{"metric": name, "value": value} for name, value in facts.items()]


def pooled(data: TaskData, seed: int) -> list[dict]:
    """The labelling without answers, several sources poured into one."""
    if data.source_domain is None or len(np.unique(data.source_domain)) < 2:
        return []
    return [{"metric": "accuracy", "value": Person(data, seed).accuracy(pooled_labelling(data).labels)}]


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
        if "rows" not in data.extra:
            data.extra["rows"] = _rows([*data.source_texts, *data.target_texts])
        matrix = data.extra["rows"]
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
    for group, tasks in {"development": DEVELOPMENT, "reported": REPORTED, "turned": TURNED}.items():
        for kind in KINDS:
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


def promised(rows: list[dict]) -> list[dict]:
    """What was promised about the whole table and what came of it, over tasks and draws.

    ``error`` and ``bias`` of the expected accuracy, ``covered`` by its interval, ``passed``, and the share of cases in
    which a budget of 10 % was ``kept`` within two points, by all that passed and by the ``unread`` among it.
    """
    cases: dict[tuple, dict[str, float]] = {}
    for row in rows:
        if row["metric"] in PROMISES and row.get("value") is not None:
            cases.setdefault((row["method"], row["task"], row["seed"]), {})[row["metric"]] = row["value"]
    found: dict[str, list[dict[str, float]]] = {}
    for (method, *_), case in cases.items():
        if len(case) == len(PROMISES):
            found.setdefault(method, []).append(case)
    table = []
    for method, own in found.items():
        values = {name: np.array([case[name] for case in own]) for name in PROMISES}
        errors = values["expected_accuracy"] - values["table_accuracy"]
        means = {
            "error": np.abs(errors),
            "bias": errors,
            "covered": values["covered"],
            "passed": values["passed"],
            "kept": values["passed_wrong"] <= KEPT,
            "kept unread": values["unread_wrong"] <= KEPT,
        }
        rounded = {name: round(float(np.mean(part)), 4) for name, part in means.items()}
        table.append({"method": method, "cases": len(own), **rounded})
    return table


def new_class(rows: list[dict]) -> list[dict]:
    """Recall of the class that the source lacks, by the number of answers; mean over draws."""
    values = _means(rows, "missing_recall")
    return [
        {"task": task, "answers": kind}
        | {f"{size}": round(values[task, f"{kind}-{size}"], 3) for size in SIZES if (task, f"{kind}-{size}") in values}
        for task in MISSING
        for kind in KINDS
        if (task, f"{kind}-{SIZES[0]}") in values
    ]


def _means(rows: list[dict], metric: str = "accuracy") -> dict[tuple[str, str], float]:
    values: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row["metric"] == metric and row.get("value") is not None:
            values.setdefault((row["task"], row["method"]), []).append(row["value"])
    return {key: float(np.mean(found)) for key, found in values.items()}


def _gap(values: dict[tuple[str, str], float], task: str) -> float:
    if (task, "auto") not in values or (task, "ceiling") not in values:
        return 0.0
    return values[task, "ceiling"] - values[task, "auto"]


def _methods() -> dict[str, Method]:
    methods = {
        "auto": Method("auto", auto),
        "pooled": Method("pooled", pooled),
        "ceiling": Method("ceiling", ceiling, seeded=False),
    }
    for size in SIZES:
        name = f"source+answers-{size}"
        methods[name] = Method(name, _source_and_answers(size))
        for kind in KINDS:
            name = f"{kind}-{size}"
            methods[name] = Method(name, _size(kind, size))
    return methods


# --------------------------------------------------------------------------------------------------------------- cost


def cost(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """CPU seconds of the first labelling and of teaching on 2,000 + 2,000 reviews; then 10,000 answers at once."""
    records = read_records(folder / AMAZON_FILE)
    sides = [[r for r in records if r["domain"] == name] for name in ("books", "dvd")]
    texts, labels = ([[make(r) for r in side] for side in sides] for make in (_headline_and_text, itemgetter("label")))
    drawn = np.random.default_rng(seeds[0]).permutation(len(texts[1]))[:100].tolist()
    answers = {"document": [i + 1 for i in drawn], "true_label": [labels[1][i] for i in drawn]}
    few = _timed(texts[0], labels[0], texts[1], answers, "auto")[0]
    more = [r for r in read_records(folder / AMAZON_UNLABELLED_FILE) if r["domain"] in ("dvd", "books")][
        :MANY_DOCUMENTS
    ]
    truth = np.array([r["true_label"] for r in more])
    answers = {"document": [*range(1, MANY_ANSWERS + 1)], "true_label": truth[:MANY_ANSWERS].tolist()}
    many, result, taught = _timed(texts[0], labels[0], [r["text"] for r in more], answers, "nbc")
    rest = slice(MANY_ANSWERS, None)
    before, after = (float(np.mean(each.labels[rest] == truth[rest])) for each in (result, taught))
    return [few, many | {"accuracy_before": before, "accuracy_after": after}]


def surfacing(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """How soon the questions of ``ask`` meet a class that the source lacks."""
    rows = []
    for name, task in LACKING.items():
        data = cut(task).load(folder)
        rows.append({"task": name, **first_questions(first_labelling(data), data.target_labels)})
    return rows


def first_questions(result: LabelResult, truth: Sequence) -> dict[str, float]:
    """Documents of a missing class among the first 20 and 40 questions, and how likely a random draw of 20 has one."""
    missing = ~np.isin(np.array(truth, dtype=str), np.unique(result.source_labels.astype(str)))
    asked = np.array(result.ask(40)["document"]) - 1
    chance = 1 - np.prod([1 - missing.sum() / (len(missing) - drawn) for drawn in range(20)])
    return {
        "share": round(float(missing.mean()), 3),
        "among 20": int(missing[asked[:20]].sum()),
        "among 40": int(missing[asked].sum()),
        "any of 20 by chance": round(float(chance), 3),
    }


def examples(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """A person picks documents of a class that the source lacks, and no others."""
    return [
        {"task": name, "examples": size, **pick_examples(cut(_ALL[name]).load(folder), size, seeds)}
        for name in EXAMPLES
        for size in (6, 15, 30)
    ]


def pick_examples(data: TaskData, size: int, seeds: tuple[int, ...]) -> dict[str, float]:
    """Accuracy on the other documents before and after; recall of the class, how often it is said, how common it is."""
    first, truth = first_labelling(data), np.array(data.target_labels, dtype=object)
    own, found = truth == data.extra["missing"][0], []
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(truth))
        picked = order[own[order]][:size]
        rest = np.setdiff1d(order, picked)
        taught = first.teach({"document": (picked + 1).tolist(), "true_label": truth[picked].tolist()})
        new = taught.labels[rest] == truth[picked[0]]
        before, after = (float(np.mean(each.labels[rest] == truth[rest])) for each in (first, taught))
        found.append([before, after, new[own[rest]].mean(), new.mean(), own[rest].mean()])
    names = ("before", "after", "recall", "said", "share")
    return {name: round(float(value), 3) for name, value in zip(names, np.mean(found, axis=0), strict=True)}


def _headline_and_text(record: dict) -> str:
    return f"{record['title']} {record['text']}"


def _timed(
    source: list[str], labels: list[str], target: list[str], answers: dict[str, list], method: str
) -> tuple[dict[str, Any], LabelResult, LabelResult]:
    start = process_time()
    result = label(source, labels, target, method=method)
    between = process_time()
    taught = result.teach(answers)
    times = {"label_cpu": round(between - start, 2), "teach_cpu": round(process_time() - between, 2)}
    row = {"method": method, "documents": len(target), "answers": len(answers["document"]), **times}
    return row | {"ratio": round(times["teach_cpu"] / times["label_cpu"], 3)}, result, taught


SUITE = Suite(
    name="listen",
    summary="Answers of a simulated person: how much of the gap to a supervised classifier 20 to 200 of them close.",
    tasks=TASKS,
    methods=_methods(),
    seeds=(0, 1, 2),
    means={"development": DEVELOPMENT, "reported": REPORTED, "missing": MISSING, "turned": TURNED},
    hidden=("missing_recall", *PROMISES),
    derived={
        "share-closed": share_closed,
        "against-best": against_best,
        "new-class": new_class,
        "promised": promised,
    },
    studies={
        "cost": Study(
            "cost",
            "CPU time of teaching beside that of the first labelling, and ten thousand answers.",
            cost,
            files=(AMAZON_FILE, AMAZON_UNLABELLED_FILE),
        ),
        "sources": Study(
            "sources",
            "Several files at once against one poured together: as they are, and with one that is useless.",
            lambda folder, seeds: listen_sources.compare(folder, {name: TASKS[name] for name in AMAZON_MULTI}),
            files=(AMAZON_FILE, NEWSGROUPS_FILE),
        ),
        "surfacing": Study(
            "surfacing",
            "How soon the questions of ask meet a class that the source lacks.",
            surfacing,
            files=tuple(sorted({file for task in LACKING.values() for file in task.files})),
        ),
        "examples": Study(
            "examples",
            "Examples of a class that the source lacks, and no other answers.",
            examples,
            files=tuple(sorted({file for name in EXAMPLES for file in _ALL[name].files})),
        ),
        "tune": Study(
            "tune",
            "Weights of the views, trust, strength and self-training, by what 100 answers bring on development tasks.",
            lambda folder, seeds: listen_tune.compare(folder, {name: TASKS[name] for name in DEVELOPMENT}, seeds),
            files=tuple(sorted({file for name in DEVELOPMENT for file in TASKS[name].files})),
            tune=True,
        ),
    },
)
