"""Suite "hands": what answers of a machine are worth beside a few of a person.

A machine is simulated that is right on 60, 75 or 90 % of the documents, whatever they are, or that is wrong on one
class only (it calls all of it by the next class). It answers 1,000 documents of the target drawn at random; a person,
who is always right, answers 50 of them or 100. Accuracy is counted on documents that the person did not answer, in all
(``accuracy``) and among those that the machine did not answer either (``unread``). ``believed``: the machine's answers
are taught as if a person had given them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

import isthmus
from isthmus_bench.engine.suite import Method, Study, Suite, Task, TaskData
from isthmus_bench.suites import hands_tune
from isthmus_bench.suites.listen import TASKS as LISTEN_TASKS

NAMES = ("books-kitchen", "four-class", "orgs-people", "thucnews_title-toutiao")
SOURCE, TARGET = 500, 1_200  # documents
MACHINE, PERSON, MORE = 1_000, 50, 100  # answers
HANDS = {"60": 0.6, "75": 0.75, "90": 0.9, "one-class": None}


def make_task(name: str) -> Task:
    """A task of suite "listen" with fewer documents, labelled once."""
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
    """What a machine says: right with one probability, or (None) wrong on the first class only.

    >>> simulate(np.array(["a", "b", "b"]), None, 0).tolist()
    ['b', 'b', 'b']
    """
    rng = np.random.default_rng(seed)
    classes, codes = np.unique(truth, return_inverse=True)
    if right is None:
        return classes[np.where(codes == 0, 1, codes)]
    others = (codes + rng.integers(1, len(classes), len(codes))) % len(classes)
    return classes[np.where(rng.random(len(codes)) < right, codes, others)]


def run(data: TaskData, seed: int, *, hand: str | None, people: int, believed: bool = False) -> list[dict]:
    """One simulation."""
    truth = np.array(data.target_labels)
    order = np.random.default_rng(1_000 + seed).permutation(len(truth))
    taught = data.extra["result"]
    rows = order[:people]
    person = {"document": (rows + 1).tolist(), "true_label": truth[rows].tolist()}
    said, found = None, []
    if people and not believed:
        taught = taught.teach(person, drawn="random")
    if hand is not None:
        said = simulate(truth, HANDS[hand], seed)
        answered = order[:MACHINE]
        machine = {"document": (answered + 1).tolist(), "true_label": said[answered].tolist()}
        taught = taught.teach(machine, by=None if believed else "machine", drawn="random")
    if people and believed:  # what a person says last stands
        taught = taught.teach(person, drawn="random")
    if hand is not None and not believed:
        estimate = next(row for row in taught.learned.hands if row["hand"] == "machine")
        actual = float(np.mean(said == truth))
        found = [
            {"metric": "right", "value": actual},
            {"metric": "estimated_right", "value": estimate["right"]},
            {"metric": "interval_holds", "value": float(estimate["low"] <= actual <= estimate["high"])},
        ]
    free, unread = order[MORE:], order[MACHINE:]
    right = taught.labels == truth
    if len(unread):
        found.append({"metric": "unread", "value": float(right[unread].mean())})
    return [{"metric": "accuracy", "value": float(right[free].mean())}, *found]


METHODS = {
    "none": Method("none", partial(run, hand=None, people=0)),
    "50": Method("50", partial(run, hand=None, people=PERSON)),
    "100": Method("100", partial(run, hand=None, people=MORE)),
    **{f"{hand}+50": Method(f"{hand}+50", partial(run, hand=hand, people=PERSON)) for hand in HANDS},
    "75-alone": Method("75-alone", partial(run, hand="75", people=0)),
    "75-believed+50": Method("75-believed+50", partial(run, hand="75", people=PERSON, believed=True)),
}
TASKS = {name: make_task(name) for name in NAMES}

SUITE = Suite(
    name="hands",
    summary="a machine's answers beside a few of a person: what they are worth",
    tasks=TASKS,
    methods=METHODS,
    seeds=(0, 1),
    studies={
        "tune": Study(
            "tune",
            "What is believed about hands before they are measured, by simulated hands on other, labelled collections.",
            lambda folder, seeds: hands_tune.compare(folder, seeds, simulate, HANDS),
            files=tuple(hands_tune.FILES.values()),
            tune=True,
        )
    },
)
