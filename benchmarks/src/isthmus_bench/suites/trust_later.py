"""What is expected of later files, and whether files unlike the first one are reported.

Every plain pair of the suite is labelled once. Its model then labels batches: documents of the same collection
(``same``), the same cut to twelve words (``short``) or with reversed class proportions (``turned``), unread documents
of the source (``source``), and documents of other collections with the same classes. A batch loses if its labels are
right five points less often than those of the first file.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np

import isthmus
from isthmus._progress import progress
from isthmus_bench.engine.suite import TaskData
from isthmus_bench.suites.trust_tasks import BASES, LENGTH, TASKS
from isthmus_bench.tasks import AMAZON_FILE, Rows, read_records, topic_rows

SIZE, FEWEST, WORDS, LOSS = 250, 100, 12, 0.05
DRAWS, DRAWN = 10, 100  # random parts of the batch of the same collection, and their documents


def other_collections(base: str, folder: Path) -> dict[str, Rows]:
    """Rows of collections with the classes of the pair."""
    if base == "books-kitchen":
        records = read_records(folder / AMAZON_FILE)
        return {
            domain: [(f"{r['title']} {r['text']}", r["label"]) for r in records if r["domain"] == domain]
            for domain in ("dvd", "electronics")
        }
    if base == "fudan-sogou":
        return {"thucnews": topic_rows(folder, "thucnews_full_small")}
    return {"newsgroups": BASES["newsgroups-dmoz"][0](folder)[0]} if base == "dmoz-halves" else {}


def shorten(text: str) -> str:
    """The first words of a text, or its first characters where words are not separated."""
    words = text.split()
    return " ".join(words[:WORDS]) if len(words) > len(text) / 12 else text[:25]


def batches_of(base: str, folder: Path) -> tuple[TaskData, dict[str, Rows]]:
    """The pair, and the batches with at least ``FEWEST`` documents; the name of the pair fixes all draws."""
    data = TASKS[f"{base}-plain"].load(folder)
    sides, classes = BASES[base][0](folder), set(data.source_labels)
    rng = np.random.default_rng(zlib.crc32(base.encode()))

    def unread(rows: Rows, used: list[str]) -> Rows:
        rows = [(text[:LENGTH], label) for text, label in dict.fromkeys(rows) if label in classes]
        rows = [rows[i] for i in rng.permutation(len(rows))]
        return [row for row in rows if row[0] not in set(used)]

    rest = unread(list(sides[1]), data.target_texts)
    batches = {"same": rest[:SIZE], "short": [(shorten(text), label) for text, label in rest[:SIZE]]}
    counts = {name: sum(label == name for _, label in rest) for name in sorted(classes)}
    names = sorted(counts, key=lambda name: counts[name])  # the rarest class becomes the most frequent
    weights = np.maximum(0.4 ** np.arange(len(names)), 0.03)
    shares = dict(zip(names, weights / weights.sum(), strict=True))
    size = min(SIZE, *(counts[name] / share for name, share in shares.items()))
    batches["turned"] = [
        row for name, share in shares.items() for row in [r for r in rest if r[1] == name][: round(size * share)]
    ]
    batches["source"] = unread(list(sides[0]), data.source_texts)[:SIZE]
    batches |= {name: unread(rows, [])[:SIZE] for name, rows in other_collections(base, folder).items()}
    return data, {name: rows for name, rows in batches.items() if len(rows) >= FEWEST}


def measure(base: str, folder: Path) -> list[dict]:
    """One row for each batch."""
    data, batches = batches_of(base, folder)
    result = isthmus.label(data.source_texts, data.source_labels, data.target_texts)
    before = float(np.mean(result.labels.astype(str) == np.array(data.target_labels).astype(str)))
    table = []
    for name, rows in batches.items():
        later = result.label_new([text for text, _ in rows])
        right = float(np.mean(later.labels.astype(str) == np.array([label for _, label in rows]).astype(str)))
        expected = later.expected_accuracy
        if expected.estimate is None:
            continue
        alarms = [bool(later.warnings)]
        if name == "same":
            draws = (np.random.default_rng(seed).permutation(len(rows))[:DRAWN] for seed in range(DRAWS))
            alarms += [bool(result.label_new([rows[i][0] for i in draw]).warnings) for draw in draws]
        table.append(
            {
                "pair": base,
                "batch": name,
                "documents": len(rows),
                "lost": round(before - right, 3),
                "right": round(right, 3),
                "expected": round(expected.estimate, 3),
                "off": round(abs(expected.estimate - right), 3),
                "covered": bool(expected.low <= right <= expected.high),
                "unlike": round(float(np.mean(alarms)), 3),
                "passed": round(float(np.mean(~later.needs_review)), 3),
                "passed at the fit": round(float(np.mean(~result.needs_review)), 3),
            }
        )
    return table


def measure_all(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """All plain pairs, and the means over changed batches, over batches that lose, and over the same collection."""
    rows: list[dict] = []
    for step, base in enumerate(BASES):
        progress(f"pair {base}", step, len(BASES))
        rows += measure(base, folder)
    parts = {
        "same": [row for row in rows if row["batch"] == "same"],
        "changed": [row for row in rows if row["batch"] != "same"],
        "losing": [row for row in rows if row["batch"] != "same" and row["lost"] >= LOSS],
    }
    figures = ("lost", "right", "expected", "off", "covered", "unlike", "passed", "passed at the fit")
    means = [
        {"pair": "mean", "batch": name, "documents": sum(row["documents"] for row in part)}
        | {figure: round(float(np.mean([row[figure] for row in part])), 3) for figure in figures}
        for name, part in parts.items()
        if part
    ]
    return rows + means
