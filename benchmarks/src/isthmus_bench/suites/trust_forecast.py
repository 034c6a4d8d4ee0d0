"""Whether forecasts of what answers bring come true: development pairs are labelled, asked, answered and taught."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import isthmus
from isthmus._progress import progress
from isthmus_bench.suites import trust_tune

PAIRS = (
    *("ng4", "ng5", "ngdate", "books-kitchen", "dvd-books", "thuct-toutiao", "toutiao-nlpcc"),
    *("orgs-people", "people-places", "reuters-usa", "rcv1"),
)
ANSWERS = (50, 100, 200)


def compare(name: str, result, truth: list) -> Iterator[dict]:
    """What was forecast and what came of it, after each number of answers to what ``ask`` chose."""
    names = dict(enumerate(truth, 1))
    for n in ANSWERS:
        table = result.ask(n)
        forecast = result.forecast(table)
        table["true_label"] = [names[number] for number in table["document"]]
        taught = result.teach(table)
        right = float(np.mean(taught.labels.astype(object) == np.array(truth, dtype=object)))
        then, size = int(taught.needs_review.sum()), len(truth)
        yield {
            "pair": name,
            "answers": n,
            "now": forecast.now,
            "forecast": forecast.then,
            "then": then,
            "off": round(abs(forecast.then - then) / size, 3),
            "right, forecast": round(forecast.right, 3),
            "right": round(right, 3),
        }


def compare_all(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """All pairs, and the means."""
    rows: list[dict] = []
    for step, name in enumerate(PAIRS):
        progress(f"pair {name}", step, len(PAIRS))
        data = trust_tune.draw_task(f"{name}/plain", folder)
        result = isthmus.label(data.source_texts, data.source_labels, data.target_texts)
        rows += compare(name, result, data.target_labels)
    return rows
