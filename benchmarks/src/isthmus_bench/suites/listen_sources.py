"""Several sources at once: what they bring beside one poured together, and whether a useless one among them hurts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._progress import progress
from isthmus.exceptions import IsthmusWarning
from isthmus_bench.engine.suite import Task, TaskData
from isthmus_bench.suites.listen_person import first_labelling, pooled_labelling
from isthmus_bench.tasks import NEWSGROUPS_FILE, message_text, read_records, spread

# Messages that are called by the classes of the task, one newsgroup for each: another subject altogether.
ANOTHER_SUBJECT = ("rec.autos", "talk.politics.guns")
PLANTED = ("nothing", "random labels", "another subject", "turned labels")


def compare(folder: Path, tasks: Mapping[str, Task]) -> list[dict[str, Any]]:
    """Accuracy of several files and of the pooled one, by task and by what was planted."""
    rows = []
    for step, (name, task) in enumerate(tasks.items()):
        data = task.load(folder)
        for place, planted in enumerate(PLANTED):
            progress("sources", step * len(PLANTED) + place, len(tasks) * len(PLANTED))
            rows.append({"task": name, "planted": planted, **measure(plant(data, planted, folder))})
    return rows


def measure(data: TaskData) -> dict[str, Any]:
    """What comes of a task by several files, and by one."""
    truth = np.array(data.target_labels, dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IsthmusWarning)  # what was left out stands in the row
        several, pooled = first_labelling(data), pooled_labelling(data)
    expected = several.expected_accuracy
    return {
        "several": round(float(np.mean(several.labels == truth)), 4),
        "pooled": round(float(np.mean(pooled.labels == truth)), 4),
        "expected": None if expected is None or expected.estimate is None else round(expected.estimate, 4),
        "left_out": ", ".join(row["source"] for row in several.sources if not row["used"]),
    }


def plant(data: TaskData, planted: str, folder: Path) -> TaskData:
    """The task with a useless source, of the same size, in the place of the first one."""
    assert data.source_domain is not None
    domain = np.array([str(number) for number in data.source_domain])
    first = np.flatnonzero(domain == domain[0])
    classes = sorted({str(label) for label in data.source_labels})
    if planted == "nothing":
        return replace(data, source_domain=domain, extra={})
    texts = [data.source_texts[i] for i in first]
    labels = [str(data.source_labels[i]) for i in first]
    if planted == "random labels":
        labels = np.random.default_rng(0).permutation(labels).tolist()
    elif planted == "turned labels":
        labels = [classes[(classes.index(label) + 1) % len(classes)] for label in labels]
    else:
        texts, labels = _another_subject(folder, classes, len(first))
    # The planted source takes the place of the first: the same texts with two labels would give it away.
    kept = np.flatnonzero(domain != domain[0])
    return replace(
        data,
        source_texts=[*(data.source_texts[i] for i in kept), *texts],
        source_labels=[*(str(data.source_labels[i]) for i in kept), *labels],
        source_domain=np.concatenate([domain[kept], np.full(len(texts), "planted")]),
        extra={},
    )


def _another_subject(folder: Path, classes: list[str], size: int) -> tuple[list[str], list[str]]:
    records = read_records(Path(folder) / NEWSGROUPS_FILE)
    texts: list[str] = []
    labels: list[str] = []
    for label, group in zip(classes, ANOTHER_SUBJECT, strict=False):
        rows = spread([row for row in records if row["label"] == group], size // len(classes))
        texts += [message_text(row["text"]) for row in rows]
        labels += [label] * len(rows)
    return texts, labels
