"""What a hundred answers leave of the review list, and whether the finished file then keeps to its budget.

Every plain pair of the suite is labelled. The documents that ``ask`` chooses are answered with their true labels, and
the answers are taught.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import isthmus
from isthmus._progress import progress
from isthmus_bench.engine.suite import TaskData
from isthmus_bench.suites.trust_tasks import BASES, TASKS

ANSWERS, BUDGET = 100, 0.1


def measure(name: str, data: TaskData) -> dict:
    """One row: what was expected and what passes after the answers."""
    truth = np.array(data.target_labels, dtype=object)
    result = isthmus.label(data.source_texts, data.source_labels, data.target_texts)
    questions = result.ask(ANSWERS)
    answers = {name: questions[name] for name in ("document", "drawn")}
    taught = result.teach(answers | {"true_label": [truth[number - 1] for number in questions["document"]]})
    right, passed = taught.labels.astype(str) == truth.astype(str), ~taught.needs_review
    expected = taught.expected_accuracy.estimate
    return {
        "pair": name,
        "right": round(float(right.mean()), 3),
        "expected": round(expected, 3),
        "off": round(abs(expected - float(right.mean())), 3),
        "passed": round(float(passed.mean()), 3),
        "wrong in file": round(float(np.mean(passed & ~right)), 3),
        "kept": bool(np.mean(passed & ~right) <= BUDGET),
    }


def measure_all(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """All plain pairs, and their means."""
    rows: list[dict] = []
    for base in BASES:
        progress(f"pair {base}", len(rows), len(BASES))
        rows.append(measure(base, TASKS[f"{base}-plain"].load(folder)))
    names = ("right", "expected", "off", "passed", "wrong in file", "kept")
    return [*rows, {"pair": "mean", **{name: round(float(np.mean([row[name] for row in rows])), 3) for name in names}}]
