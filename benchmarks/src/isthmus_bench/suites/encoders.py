"""Study "encoders" of the suite choose: ``auto`` with vectors of a sentence encoder, without them, and plain baselines.

The vectors are read from the folder in the environment variable ``ISTHMUS_VECTORS``, as for
:func:`isthmus_bench.suites.trust_tune.measure_encoders`. The constants of the vote for vectors were chosen on the pairs
in ``TUNING``; the table has means with and without these pairs. Encoders may have seen the public texts of the corpora.
"""

from __future__ import annotations

import hashlib
import os
import sys
import zlib
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

import isthmus
from isthmus._progress import progress
from isthmus_bench.engine.suite import TaskData
from isthmus_bench.suites.trust_tasks import BASES, LENGTH
from isthmus_bench.suites.trust_tune import VECTORS, read_vectors
from isthmus_bench.tasks import AMAZON_PAIRS, NEWSGROUP_TASKS, REUTERS_TASKS

SIZE = 500  # documents of each side
PAIRS = {**AMAZON_PAIRS, **NEWSGROUP_TASKS, **REUTERS_TASKS}
BASE_PAIRS = ("newsgroups", "reuters", "dmoz-halves", "newsgroups-dmoz", "dmoz-newsgroups", "webkb")
TUNING = (
    *(name for name in AMAZON_PAIRS if name.endswith(("-books", "-dvd"))),
    *("rec-talk", "comp-sci", "comp-talk", "four-class", "orgs-people", "newsgroups"),
)
FIGURES = ("logistic", "auto", "without", "expected", "passed", "wrong")


def draw_pair(name: str, folder: Path) -> TaskData:
    """At most ``SIZE`` different documents of each side whose class both sides have; the name fixes the draw."""
    if name in PAIRS:
        data = PAIRS[name].load(folder)
        sides = [
            list(zip(data.source_texts, data.source_labels, strict=True)),
            list(zip(data.target_texts, data.target_labels, strict=True)),
        ]
    else:
        sides = list(BASES[name][0](folder))
    sides = [list(dict.fromkeys((text[:LENGTH], str(label)) for text, label in side)) for side in sides]
    shared = {label for _, label in sides[0]} & {label for _, label in sides[1]}
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    drawn = []
    for side in sides:
        rows = [row for row in side if row[1] in shared]
        drawn.append([rows[i] for i in rng.permutation(len(rows))[:SIZE]])
    return TaskData.from_rows(drawn[0], drawn[1])


def measure_pair(data: TaskData, vectors: tuple[np.ndarray, np.ndarray]) -> dict[str, float]:
    """Accuracy of logistic regression on the vectors and of ``auto`` with and without them; figures of the first."""
    truth = np.array(data.target_labels)
    source, target = (normalize(side) for side in vectors)
    logistic = LogisticRegression(C=10, max_iter=1_000).fit(source, data.source_labels).predict(target)
    texts = data.source_texts, data.source_labels, data.target_texts
    found, without = isthmus.label(*texts, vectors=vectors), isthmus.label(*texts, embed=False)
    right, passed = found.labels.astype(str) == truth, ~np.asarray(found.needs_review)
    expected = found.expected_accuracy.estimate
    return {
        "logistic": float(np.mean(logistic == truth)),
        "auto": float(right.mean()),
        "without": float(np.mean(without.labels.astype(str) == truth)),
        "expected": float("nan") if expected is None else expected,
        "passed": float(passed.mean()),
        "wrong": float(np.mean(passed & ~right)),
    }


def compare_encoders(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """One row per encoder and pair, then means over reviews, topics and all pairs, with and without tuning pairs."""
    place = os.environ.get(VECTORS)
    if not place:
        print(f"No vectors of encoders: set {VECTORS} to a folder of vectors.", file=sys.stderr)
        return []
    rows: list[dict] = []
    names = [*PAIRS, *BASE_PAIRS]
    for encoder in sorted(path for path in Path(place).iterdir() if path.is_dir()):
        stored = read_vectors(encoder)
        for step, name in enumerate(names):
            progress(f"{encoder.name} {name}", step, len(names))
            data = draw_pair(name, Path(folder))
            sides = data.source_texts, data.target_texts
            keys = [[hashlib.sha1(text.encode()).hexdigest().encode() for text in side] for side in sides]
            if not all(key in stored for side in keys for key in side):
                print(f"{encoder.name}: not every text of {name} has a vector.", file=sys.stderr)
                continue
            vectors = [np.array([stored[key] for key in side], dtype=np.float32) for side in keys]
            kind = "reviews" if name in AMAZON_PAIRS else "topics"
            rows.append(
                {"encoder": encoder.name, "pair": name, "kind": kind} | measure_pair(data, (vectors[0], vectors[1]))
            )
    return [*rows, *means_of(rows)]


def means_of(rows: list[dict]) -> list[dict]:
    """Means of the rows by encoder and kind, over all pairs and over those that are not in ``TUNING``."""
    means = []
    for encoder in dict.fromkeys(row["encoder"] for row in rows):
        for kind in ("reviews", "topics", "all"):
            for pairs in ("all pairs", "other pairs"):
                own = [
                    row
                    for row in rows
                    if row["encoder"] == encoder
                    and kind in ("all", row["kind"])
                    and (pairs == "all pairs" or row["pair"] not in TUNING)
                ]
                if not own:
                    continue
                mean = {name: float(np.nanmean([row[name] for row in own])) for name in FIGURES}
                off = float(np.nanmean([abs(row["expected"] - row["auto"]) for row in own]))
                best = [max(row["logistic"], row["without"]) for row in own]
                level = [row["auto"] >= one - 0.005 for row, one in zip(own, best, strict=True)]
                kept = [row["wrong"] <= 0.1 for row in own]
                means.append(
                    {"encoder": encoder, "pair": f"mean of {pairs}", "kind": kind, "pairs": len(own)}
                    | mean
                    | {"off": off, "level": float(np.mean(level)), "kept": float(np.mean(kept))}
                )
    return means
