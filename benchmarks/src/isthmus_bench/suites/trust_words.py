"""Whether budgets hold where a lexicon is in the vote: the twelve pairs of review domains, with and without words."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

import isthmus
from isthmus._progress import progress
from isthmus_bench.engine.suite import TaskData
from isthmus_bench.suites.dual_data import NEGATIVE_FILE, POSITIVE_FILE, lexicon
from isthmus_bench.tasks import AMAZON_FILE, AMAZON_PAIRS

FILES = (AMAZON_FILE, POSITIVE_FILE, NEGATIVE_FILE)
KEPT = 0.12  # a budget of 10 %, and two points


def promised(pair: str, data: TaskData, words: dict[str, str] | Literal[False]) -> dict[str, Any]:
    """What was promised about a pair, and what came of it."""
    result = isthmus.label(data.source_texts, data.source_labels, data.target_texts, word_labels=words)
    right = result.labels.astype(str) == np.array(data.target_labels).astype(str)
    passed, expected = ~result.needs_review, result.expected_accuracy
    assert expected is not None
    wrong = float(np.mean(~right[passed])) if passed.any() else 0.0
    return {
        "pair": pair,
        "words": "lexicon" if words else "none",
        "right": round(float(right.mean()), 3),
        "expected": None if expected.estimate is None else round(expected.estimate, 3),
        "held": bool(expected.low <= right.mean() <= expected.high),
        "passed": round(float(passed.mean()), 3),
        "wrong": round(wrong, 3),
        "kept": wrong <= KEPT,
    }


def compare_all(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """All pairs without words and with the lexicon of Hu and Liu, then the means of both."""
    known = lexicon(folder)
    rows: list[dict] = []
    for step, (pair, task) in enumerate(AMAZON_PAIRS.items()):
        progress(f"pair {pair}", step, len(AMAZON_PAIRS))
        data = task.load(folder)
        rows += [promised(pair, data, words) for words in (False, known)]
    return [*rows, *(means(rows, words) for words in ("none", "lexicon"))]


def means(rows: list[dict], words: str) -> dict[str, Any]:
    """The means of all pairs, and on how many the interval held and the budget was kept."""
    own = [row for row in rows if row["words"] == words]
    average = {name: round(float(np.mean([row[name] for row in own])), 3) for name in ("right", "passed", "wrong")}
    known = [row["expected"] for row in own if row["expected"] is not None]
    return {
        "pair": "mean",
        "words": words,
        "expected": round(float(np.mean(known)), 3) if known else None,
        "held": f"{sum(row['held'] for row in own)} of {len(own)}",
        "kept": f"{sum(row['kept'] for row in own)} of {len(own)}",
    } | average
