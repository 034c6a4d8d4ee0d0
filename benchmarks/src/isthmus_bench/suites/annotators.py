"""Suite "annotators": what wrong answers of a machine cost if they are learned like answers of a person.

A simulated machine is right on 60, 75 or 90% of the documents, whatever they are, or it is wrong on one class only
(it assigns all of its documents to the next class). It answers 1,000 random documents of the target. A person, who is
always right, answers 50 or 100 of them later and replaces the machine's answers. Accuracy is measured on documents that
the person did not answer: on all of them (``accuracy``), and on those without an answer of the machine (``unread``).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

import isthmus
from isthmus_bench.engine.suite import Method, Suite, Task, TaskData
from isthmus_bench.suites.listen import TASKS as LISTEN_TASKS

NAMES = ("books-kitchen", "four-class", "orgs-people", "thucnews_title-toutiao")
SOURCE, TARGET = 500, 1_200  # documents
MACHINE, PERSON, MORE = 1_000, 50, 100  # answers
MACHINES = {"60": 0.6, "75": 0.75, "90": 0.9, "one-class": None}


def make_task(name: str) -> Task:
    """Return a task of suite "listen" with fewer documents, labelled once."""
    task = LISTEN_TASKS[name]

    def load(folder: Path) -> TaskData:
        data = task.load(folder)
        rng = np.random.default_rng(0)
        source = rng.permutation(len(data.source_texts))[:SOURCE]
        target = rng.permutation(len(data.target_texts))[:TARGET]
        small = TaskData.from_rows(
            [(data.source_texts[i], str(data.source_labels[i])) for i in source],
            [(data.target_texts[i], str(data.target_labels[i])) for i in target],
        )
        small.extra["result"] = isthmus.label(
            small.source_texts, small.source_labels, small.target_texts, method="logistic"
        )
        return small

    return Task(name, load, task.files)


def simulate(truth: np.ndarray, right: float | None, seed: int) -> np.ndarray:
    """Return a machine's answers: right with one probability, or (None) wrong on the first class only.

    >>> simulate(np.array(["a", "b", "b"]), None, 0).tolist()
    ['b', 'b', 'b']
    """
    rng = np.random.default_rng(seed)
    classes, codes = np.unique(truth, return_inverse=True)
    if right is None:
        return classes[np.where(codes == 0, 1, codes)]
    others = (codes + rng.integers(1, len(classes), len(codes))) % len(classes)
    return classes[np.where(rng.random(len(codes)) < right, codes, others)]


def run(data: TaskData, seed: int, *, machine: str | None, people: int) -> list[dict]:
    """Return the accuracies of one simulation."""
    truth = np.array(data.target_labels)
    order = np.random.default_rng(1_000 + seed).permutation(len(truth))
    taught = data.extra["result"]
    if machine is not None:
        rows = order[:MACHINE]
        answers = simulate(truth, MACHINES[machine], seed)[rows].tolist()
        taught = taught.teach({"document": (rows + 1).tolist(), "true_label": answers}, by="machine", drawn="random")
    if people:
        rows = order[:people]
        person = {"document": (rows + 1).tolist(), "true_label": truth[rows].tolist()}
        taught = taught.teach(person, by="person", drawn="random")
    right = taught.labels == truth
    free, unread = order[MORE:], order[MACHINE:]
    found = [{"metric": "accuracy", "value": float(right[free].mean())}]
    if len(unread):
        found.append({"metric": "unread", "value": float(right[unread].mean())})
    return found


METHODS = {
    "none": Method("none", partial(run, machine=None, people=0)),
    "50": Method("50", partial(run, machine=None, people=PERSON)),
    "100": Method("100", partial(run, machine=None, people=MORE)),
    **{f"{name}+50": Method(f"{name}+50", partial(run, machine=name, people=PERSON)) for name in MACHINES},
    "75-alone": Method("75-alone", partial(run, machine="75", people=0)),
}

SUITE = Suite(
    name="annotators",
    summary="answers of a machine that is sometimes wrong, next to a few of a person",
    tasks={name: make_task(name) for name in NAMES},
    methods=METHODS,
    seeds=(0, 1),
)
