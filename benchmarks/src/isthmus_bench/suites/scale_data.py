"""Large inputs made of real texts: headlines joined from halves, reviews shuffled, stretches of reviews."""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from isthmus_bench.tasks import AMAZON_FILE, HEADLINES_FILE, read_records

SHARD_ROWS = 250_000
_CHUNK = 100_000
_STRETCH = 25  # words
_PARTS = re.compile(r"(?<=[，。！？：；、 ,!?:;])")
_SENTENCES = re.compile(r"(?<=[.!?])\s+")


def headline_pools(folder: Path, domain: str) -> dict[str, list[str]]:
    """Headlines of a domain by topic; topics that both domains have."""
    rows = read_records(folder / HEADLINES_FILE)
    topics = [{row["topic"] for row in rows if row["domain"] == name} for name in ("thucnews_title", "toutiao")]
    pools: dict[str, list[str]] = {topic: [] for topic in sorted(topics[0] & topics[1])}
    for row in rows:
        if row["domain"] == domain and row["topic"] in pools:
            pools[row["topic"]].append(row["text"])
    return {topic: texts for topic, texts in pools.items() if texts}


def make_headlines(pools: dict[str, list[str]], n: int, seed: int) -> Iterator[tuple[str, str]]:
    """Headlines and their topics: the beginning of one and the end of another of the same topic."""
    rng = np.random.default_rng(seed)
    names = list(pools)
    shares = np.array([len(pools[name]) for name in names], dtype=float)
    heads = [[text[: (len(text) + 1) // 2] for text in pools[name]] for name in names]
    tails = [["".join(parts[len(parts) // 2 :]) for parts in map(_PARTS.split, pools[name])] for name in names]
    sizes = shares.astype(np.int64)
    for start in range(0, n, _CHUNK):
        size = min(_CHUNK, n - start)
        topics = rng.choice(len(names), size=size, p=shares / shares.sum())
        first, second = (rng.random((2, size)) * sizes[topics]).astype(np.int64).tolist()
        for topic, a, b in zip(topics.tolist(), first, second, strict=True):
            yield heads[topic][a] + tails[topic][b], names[topic]


def review_pools(folder: Path, domain: str) -> dict[str, list[str]]:
    """Reviews of a kind of product by verdict."""
    pools: dict[str, list[str]] = {}
    for row in read_records(folder / AMAZON_FILE):
        if row["domain"] == domain:
            pools.setdefault(str(row["label"]), []).append(row["text"])
    return dict(sorted(pools.items()))


def make_reviews(pools: dict[str, list[str]], n: int, seed: int) -> Iterator[tuple[str, str]]:
    """Reviews and their verdicts: sentences of two reviews of one verdict, shuffled, about half of them kept."""
    rng = random.Random(seed)
    split = {name: [_SENTENCES.split(text) for text in texts] for name, texts in pools.items()}
    names = list(split)
    for _ in range(n):
        name = rng.choice(names)
        sentences = [*rng.choice(split[name]), *rng.choice(split[name])]
        yield " ".join(rng.sample(sentences, max(1, len(sentences) // 2))), name


def stretch_pools(folder: Path, half: str) -> dict[str, list[str]]:
    """Every other review, by the kind of product."""
    pools: dict[str, list[str]] = {}
    for place, row in enumerate(read_records(folder / AMAZON_FILE)):
        if place % 2 == (half == "second"):
            pools.setdefault(row["domain"], []).append(row["text"])
    return dict(sorted(pools.items()))


def make_stretches(pools: dict[str, list[str]], n: int, seed: int) -> Iterator[tuple[str, str]]:
    """Twenty-five words of a review, and what it is about."""
    rng = random.Random(seed)
    split = {name: [text.split() for text in texts] for name, texts in pools.items()}
    names = list(split)
    for _ in range(n):
        name = rng.choice(names)
        words = rng.choice(split[name])
        start = rng.randrange(max(1, len(words) - _STRETCH + 1))
        yield " ".join(words[start : start + _STRETCH]), name


def write_shards(
    folder: Path, rows: Iterator[tuple[str, str]], *, labelled: bool, shard_rows: int = SHARD_ROWS
) -> tuple[int, int]:
    """csv files of ``shard_rows`` rows each; the true labels go into a file beside the folder.

    Gives back rows and bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    header = ["id", "text", "label"] if labelled else ["id", "text"]
    total = 0
    with open(folder.parent / f"{folder.name}-truth.txt", "w", encoding="utf-8") as truth:
        while part := list(islice(rows, min(_CHUNK, shard_rows - total % shard_rows))):
            path = folder / f"part-{total // shard_rows:04d}.csv"
            texts, labels = zip(*part, strict=True)
            ids = range(total, total + len(part))
            with open(path, "a", newline="", encoding="utf-8") as out:
                writer = csv.writer(out)
                if total % shard_rows == 0:
                    writer.writerow(header)
                writer.writerows(zip(ids, texts, labels, strict=True) if labelled else zip(ids, texts, strict=True))
            truth.write("\n".join(labels) + "\n")
            total += len(part)
    return total, sum(path.stat().st_size for path in folder.iterdir())


MAKERS: dict[str, tuple[Callable, Callable, str, str]] = {
    "headlines": (headline_pools, make_headlines, "thucnews_title", "toutiao"),
    "reviews": (review_pools, make_reviews, "books", "kitchen"),
    "stretches": (stretch_pools, make_stretches, "first", "second"),
}


def make_corpus(
    data: Path, folder: Path, kind: str, n_source: int, n_target: int, *, seed: int = 0, shard_rows: int = SHARD_ROWS
) -> dict[str, int]:
    """A source and a target folder of csv files; rows and bytes of both."""
    pools, make, source, target = MAKERS[kind]
    facts = {}
    for side, domain, n in (("source", source, n_source), ("target", target, n_target)):
        rows = make(pools(data, domain), n, seed + (side == "target"))
        facts[f"{side}_rows"], facts[f"{side}_bytes"] = write_shards(
            folder / side, rows, labelled=side == "source", shard_rows=shard_rows
        )
    return facts
