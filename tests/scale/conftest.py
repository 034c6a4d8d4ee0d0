"""A small problem in several files and formats: three topics, a source and a target with words of their own."""

import csv
import gzip
import json
import random

import numpy as np
import pytest

from isthmus.scale import settings
from isthmus.scale.processes import ProcessEngine

TOPICS = {
    "sport": ["match", "team", "goal", "player", "coach", "league", "season", "score", "striker", "referee"],
    "money": ["bank", "stock", "share", "profit", "market", "price", "bond", "loan", "budget", "investor"],
    "health": ["doctor", "patient", "drug", "hospital", "virus", "clinic", "nurse", "vaccine", "therapy", "surgeon"],
}
OWN = {
    "sport": ["stadium", "penalty", "fixture"],
    "money": ["startup", "token", "dividend"],
    "health": ["telehealth", "booster", "ward"],
}
COMMON = ["today", "report", "people", "year", "group", "first", "under", "plan", "local", "early", "state", "major"]


def documents(n, seed, *, target=False):
    """Texts and their topics."""
    rng = random.Random(seed)
    rows = []
    for number in range(n):
        topic = rng.choice(sorted(TOPICS))
        words = rng.choices(TOPICS[topic] + (OWN[topic] if target else []), k=4) + rng.choices(COMMON, k=4)
        rng.shuffle(words)
        text = " ".join(words)
        rows.append((f'Note, {number}\nwith "quotes" {text}' if number % 11 == 0 else text, topic))
    return rows


def write_csv(path, rows, header):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(header)
        out.writerows(rows)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """Folder with source.csv (1,200 rows) and the target as folder of csv, csv.gz, jsonl and parquet (1,300 rows)."""
    folder = tmp_path_factory.mktemp("large")
    write_csv(folder / "source.csv", documents(1_200, 1), ["text", "topic"])
    target = folder / "target"
    target.mkdir()
    rows = [(f"d{i}", text) for i, (text, _) in enumerate(documents(1_300, 2, target=True))]
    write_csv(target / "a.csv", rows[:500], ["id", "text"])
    write_csv(target / "b.csv.gz", rows[500:900], ["id", "text"])
    with open(target / "c.jsonl", "w", encoding="utf-8") as file:
        for name, text in rows[900:1_100]:
            file.write(json.dumps({"id": name, "text": text, "more": [1]}) + "\n")
    pl = pytest.importorskip("polars")
    pl.DataFrame(rows[1_100:], schema=["id", "text"], orient="row").write_parquet(target / "d.parquet")
    return folder


@pytest.fixture(scope="session")
def processes():
    """An engine of two processes, which take some seconds to start: one for all tests."""
    engine = ProcessEngine(2)
    yield engine
    engine.close()


@pytest.fixture
def two_processes(processes, monkeypatch):
    """Runs of two workers take those that are there, and leave them."""

    class Started(ProcessEngine):
        def __init__(self, workers):
            assert workers == 2
            self.__dict__.update(processes.__dict__)

        def close(self):
            pass

    monkeypatch.setattr(settings, "ProcessEngine", Started)


@pytest.fixture(scope="session")
def truth():
    return [topic for _, topic in documents(1_300, 2, target=True)]


def write_turned(folder, source, target):
    """Files of a source and a target with so many documents about sport and about money."""
    rows = {topic: [text for text, name in documents(4_000, 5) if name == topic] for topic in ("sport", "money")}
    sides = {"s.csv": [], "t.csv": []}
    for topic, learned, labelled in zip(("sport", "money"), source, target, strict=True):
        sides["s.csv"] += [(text, topic) for text in rows[topic][:learned]]
        sides["t.csv"] += [(text,) for text in rows[topic][learned : learned + labelled]]
    for name, header in (("s.csv", ["text", "topic"]), ("t.csv", ["text"])):
        write_csv(folder / name, sides[name], header)
    return folder / "s.csv", folder / "t.csv"


@pytest.fixture
def turned(tmp_path):
    """A source of which nine in ten are about sport, and a target of which one in ten is."""
    return write_turned(tmp_path, (900, 100), (50, 450))


@pytest.fixture
def moved(tmp_path):
    """A source of which three in four are about sport, and a target of which one in four is."""
    return write_turned(tmp_path, (300, 100), (60, 160))


@pytest.fixture
def with_new_topic(tmp_path):
    """A source without health, a target of which a third is about it, and the target's topics."""
    known = [row for row in documents(900, 5) if row[1] != "health"]
    rows = documents(1_200, 6, target=True)
    write_csv(tmp_path / "s.csv", known, ["text", "topic"])
    write_csv(tmp_path / "t.csv", [(text,) for text, _ in rows], ["text"])
    return tmp_path / "s.csv", tmp_path / "t.csv", np.array([topic for _, topic in rows])
