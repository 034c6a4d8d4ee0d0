"""Whether guaranteed labels keep to their budget, and what a guarantee costs in reading: many checks of known labels.

Every pair is labelled once; a check needs the confidences, and which labels are right. A run reads ten documents at a
time, looks at every claim, and is broken if any of them was ever false: people look while they read. It draws from the
frame that the confidences suggest and takes one twice as large once all of it passes.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

import isthmus
from isthmus._math.confidence import AccuracyEstimate
from isthmus._math.samples import budget_evidence
from isthmus._progress import progress
from isthmus.choose.guaranteed import (
    Belief,
    Ladder,
    Reading,
    climb,
    count_reading,
    draw_to_decide,
    make_ladder,
    rank_documents,
    reading_frame,
)
from isthmus_bench.suites import trust_tune

PAIRS = (
    *("ng4", "ng5", "ngdate", "rec-sci"),
    *("books-kitchen", "electronics-dvd", "sogou-thucf", "thuct-toutiao"),
    *("people-places", "reuters-usa", "rcv1"),
)
BUDGET, RUNS, STEP, MOST = 0.1, 2_000, 10, 200
FOLLOWED, PAGE = 20, 30  # runs that follow the advice of each draw, and documents that they read at a time


class Known(NamedTuple):
    """A labelling whose truth is known."""

    confidence: np.ndarray
    wrong: np.ndarray
    may_pass: np.ndarray
    expected: AccuracyEstimate | None
    texts: list[str]


def label_pair(name: str, folder: Path, method: str = "auto") -> Known:
    """One fit."""
    data = trust_tune.draw_task(f"{name}/plain", folder)
    result = isthmus.label(data.source_texts, data.source_labels, data.target_texts, method=method)
    wrong = result.labels.astype(object) != np.array(data.target_labels, dtype=object)
    return Known(result.confidence, wrong, result.may_pass, result.expected_accuracy, result.texts)


def many_runs(known: Known, ladder: Ladder, frame: int, runs: int = RUNS) -> tuple[np.ndarray, np.ndarray]:
    """Per run, whether any claim was false, and how many labels passed at its end."""
    order, _ = rank_documents(known.confidence, known.may_pass)
    wrong, size = known.wrong[order], len(order)
    rng = np.random.default_rng(0)
    drawn = np.array([rng.permutation(size) for _ in range(runs)])  # ranks, in the order in which they are read
    rung = np.searchsorted(ladder.sizes, np.arange(size), side="right")
    frames, until = np.full(runs, frame), np.zeros(runs, dtype=int)
    broken, passed = np.zeros(runs, dtype=bool), np.zeros(runs, dtype=int)
    for _ in range(MOST // STEP):
        # A wider frame is read as far as the narrower one was, and then on: what was read stays a random sample.
        inside = np.cumsum(drawn < frames[:, None], axis=1)
        so_far = np.where(until > 0, np.take_along_axis(inside, np.maximum(until - 1, 0)[:, None], axis=1)[:, 0], 0)
        until = (inside < np.minimum(so_far + STEP, frames)[:, None]).sum(axis=1) + 1
        read = (np.arange(size) < until[:, None]) & (drawn < frames[:, None])
        n, found = (_by_rung(part, rung[drawn], len(ladder.sizes)) for part in (read, read & wrong[drawn]))
        known_sets = ladder.sizes <= frames[:, None]
        evidence = budget_evidence(found * known_sets, n * known_sets, ladder.sizes, BUDGET)
        passed = climb(ladder, evidence)
        place = np.searchsorted(ladder.sizes, passed)[:, None]
        found_there = np.take_along_axis(found, place, axis=1)[:, 0]
        left = np.cumsum(wrong)[np.maximum(passed - 1, 0)] - found_there
        broken |= (passed > 0) & (left > BUDGET * (passed - found_there))
        frames = np.where(passed >= frames, np.minimum(size, 2 * frames), frames)
    return broken, passed


def _by_rung(mask: np.ndarray, rung: np.ndarray, n_rungs: int) -> np.ndarray:
    """Per run, how many documents of each set the mask holds."""
    runs = np.arange(len(mask))[:, None] * (n_rungs + 1)
    counts = np.bincount((runs + rung).ravel(), mask.ravel(), len(mask) * (n_rungs + 1))
    return np.cumsum(counts.reshape(len(mask), -1)[:, :n_rungs], axis=1).astype(int)


def read_to_half(known: Known, seed: int) -> int:
    """Documents read, as each draw advises, until half of all labels passes or was read."""
    read: tuple | None = None
    half = len(known.texts) / 2
    order, rank = rank_documents(known.confidence, known.may_pass)
    ladder = make_ladder(Belief.of(known.confidence[order], known.expected), BUDGET)
    while True:
        rows, among = draw_to_decide(
            known.confidence,
            known.texts,
            BUDGET,
            min(PAGE, len(order) - (0 if read is None else len(read[0]))),
            random_state=seed,
            eligible=known.may_pass,
            expected=known.expected,
            read=read,
        )
        reading: Reading = count_reading(ladder, rank[rows], ~known.wrong[rows], among)
        passed = int(climb(ladder, budget_evidence(reading.wrong, reading.n, ladder.sizes, BUDGET)))
        known_now = passed + int(np.sum(rank[rows] >= passed))
        if known_now >= half or len(rows) >= len(order) or (read is not None and len(rows) == len(read[0])):
            return len(rows)
        read = rows, ~known.wrong[rows], among


def measure(name: str, known: Known) -> dict:
    """One row: what was kept, and what it cost."""
    order, _ = rank_documents(known.confidence, known.may_pass)
    wrong = known.wrong[order]
    ladder = make_ladder(Belief.of(known.confidence[order], known.expected), BUDGET)
    frame = reading_frame(known.confidence, BUDGET, STEP, eligible=known.may_pass, expected=known.expected)
    broken, passed = many_runs(known, ladder, frame)
    possible = np.flatnonzero(np.cumsum(wrong) <= BUDGET * np.arange(1, len(wrong) + 1))
    to_half = [read_to_half(known, seed) for seed in range(FOLLOWED)]
    return {
        "pair": name,
        "documents": len(wrong),
        "right": round(float(np.mean(~known.wrong)), 3),
        "could pass": round(float(possible.max(initial=-1) + 1) / len(wrong), 3),
        "broken": round(float(broken.mean()), 4),
        "passed at the end": round(float(passed.mean()) / len(wrong), 3),
        "read to half": int(np.median(to_half)),
    }


def simulate(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """All pairs."""
    rows = []
    for done, name in enumerate(PAIRS):
        progress("checking labels", done, len(PAIRS))
        rows.append(measure(name, label_pair(name, folder)))
    return rows
