"""Whether guaranteed labels keep to their budget, and what a guarantee costs in reading: many checks of known labels.

The budget is for the finished file: at most a tenth of all labels may be wrong after the other documents were read. The
last column reads the same labels with the algorithm of BARGAIN (Zeighami, Shankar and Parameswaran 2025, arXiv
2509.02896): thresholds from high to low, each tested by the betting martingale of Waudby-Smith and Ramdas (2024) for
documents drawn without replacement, at the accuracy that the same budget requires of the documents above it.

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
from isthmus._progress import progress
from isthmus.choose.guaranteed import (
    Ladder,
    Reading,
    allowed_errors,
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
THRESHOLDS = 20  # of BARGAIN, its default
FOLLOWED, PAGE = 20, STEP  # runs that follow the advice of each draw, and documents that they read at a time


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
        passed = climb(ladder, n * known_sets, found * known_sets)
        place = np.minimum(np.searchsorted(ladder.sizes, passed), len(ladder.sizes) - 1)[:, None]
        found_there = np.take_along_axis(found, place, axis=1)[:, 0]
        left = np.cumsum(wrong)[np.maximum(passed - 1, 0)] - found_there
        broken |= (passed > 0) & (left > ladder.allowed)
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
    ladder = ladder_of(known)
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
        passed = int(climb(ladder, reading.n, reading.wrong))
        known_now = passed + int(np.sum(rank[rows] >= passed))
        if known_now >= half or len(rows) >= len(order) or (read is not None and len(rows) == len(read[0])):
            return len(rows)
        read = rows, ~known.wrong[rows], among


def ladder_of(known: Known) -> Ladder:
    """The sets that are tested."""
    order, _ = rank_documents(known.confidence, known.may_pass)
    return make_ladder(len(order), allowed_errors(BUDGET, len(known.confidence)))


def log_capital(right: np.ndarray, size: int, least: float) -> float:
    """Logarithm of the most that a bettor ever had who bets that more than ``least`` of ``size`` labels are right.

    Bets by Waudby-Smith and Ramdas (2024) for draws without replacement, with the predictable plug-in of their section
    on betting and at most half of what a bet may risk.
    """
    capital = most = 0.0
    mean, variance = 0.5, 0.25
    total = squares = 0.0
    for step, value in enumerate(right.astype(float)):
        under = (size * least - total) / (size - step)  # mean of the rest if exactly ``least`` is right
        if under <= 0:
            return np.inf
        if under >= 1:
            return most
        bet = min(np.sqrt(2 * np.log(20) / (variance * (step + 1) * np.log(step + 2))), 0.5 / under)
        capital += np.log1p(bet * (value - under))
        most = max(most, capital)
        total += value
        mean = (0.5 + total) / (step + 2)
        squares += (value - mean) ** 2
        variance = (0.25 + squares) / (step + 2)
    return most


def read_by_thresholds(known: Known, seed: int) -> int:
    """Documents read by BARGAIN's algorithm until half of all labels passes or was read."""
    order, _ = rank_documents(known.confidence, known.may_pass)
    right, half = ~known.wrong[order], len(known.texts) / 2
    allowed = allowed_errors(BUDGET, len(known.confidence))
    position = np.random.default_rng(seed).permutation(len(order))  # the order in which documents are read
    until, passed = 0, 0
    for size in np.linspace(len(order) / THRESHOLDS, len(order), THRESHOLDS).round().astype(int).tolist():
        ranks = np.argsort(position[:size])  # documents above the threshold, in the order of reading
        places = np.sort(position[:size])
        while size > allowed:
            read = int(np.searchsorted(places, until))
            if log_capital(right[ranks[:read]], size, 1 - allowed / size) >= np.log(20):
                break
            if read == size or passed + int(np.sum(position[passed:size] < until)) >= half:
                return read
            until = int(places[min(read + STEP, size) - 1]) + 1
        passed = size
        if passed >= half:
            break
    return int(np.sum(position[:passed] < until))


def measure(name: str, known: Known) -> dict:
    """One row: what was kept, and what it cost."""
    order, _ = rank_documents(known.confidence, known.may_pass)
    wrong = known.wrong[order]
    ladder = ladder_of(known)
    frame = reading_frame(known.confidence, BUDGET, STEP, eligible=known.may_pass, expected=known.expected)
    broken, passed = many_runs(known, ladder, frame)
    possible = np.flatnonzero(np.cumsum(wrong) <= ladder.allowed)
    to_half = [read_to_half(known, seed) for seed in range(FOLLOWED)]
    return {
        "pair": name,
        "documents": len(wrong),
        "right": round(float(np.mean(~known.wrong)), 3),
        "could pass": round(float(possible.max(initial=-1) + 1) / len(wrong), 3),
        "broken": round(float(broken.mean()), 4),
        "passed at the end": round(float(passed.mean()) / len(wrong), 3),
        "read to half": int(np.median(to_half)),
        "read to half, BARGAIN": int(np.median([read_by_thresholds(known, seed) for seed in range(FOLLOWED)])),
    }


def simulate(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """All pairs."""
    rows = []
    for done, name in enumerate(PAIRS):
        progress("checking labels", done, len(PAIRS))
        rows.append(measure(name, label_pair(name, folder)))
    return rows
