"""Tasks of the suite "trust": base pairs of corpora, plain and spoilt."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from isthmus_bench.engine.suite import Task, TaskData
from isthmus_bench.suites import trust_tune
from isthmus_bench.tasks import (
    AMAZON_FILE,
    CHINESE_FILES,
    DMOZ_FILE,
    GERMAN_FILE,
    NEWSGROUPS_FILE,
    REUTERS_FILE,
    WEBKB_FILE,
    Rows,
    home_and_abroad,
    message_text,
    newsgroup_sides,
    read_records,
    topic_rows,
)

SIZE = 500  # documents of a side
LENGTH = 1_500  # characters of a document

GROUPS = {
    "comp": (("comp.sys.ibm.pc.hardware", "comp.windows.x"), ("comp.graphics", "comp.sys.mac.hardware")),
    "sport": (("rec.sport.baseball",), ("rec.sport.hockey",)),
    "vehicles": (("rec.autos",), ("rec.motorcycles",)),
    "religion": (("alt.atheism", "talk.religion.misc"), ("soc.religion.christian",)),
    "politics": (("talk.politics.guns", "talk.politics.misc"), ("talk.politics.mideast",)),
}
PAGES = ("computers", "sports", "science", "society", "business", "health")
# newsgroup -> category of the web directory
MAPPED = {
    "comp.graphics": "computers",
    "comp.windows.x": "computers",
    "rec.sport.baseball": "sports",
    "rec.sport.hockey": "sports",
    "sci.space": "science",
    "sci.electronics": "science",
    "sci.med": "health",
    "talk.politics.misc": "society",
    "soc.religion.christian": "society",
    "rec.autos": "recreation",
    "rec.motorcycles": "recreation",
    "misc.forsale": "shopping",
}


# ------------------------------------------------------------------------------------------------------------ bases


def _newsgroups(folder: Path) -> tuple[Rows, Rows]:
    return newsgroup_sides(folder, GROUPS)


def _reuters(folder: Path) -> tuple[Rows, Rows]:
    return home_and_abroad(folder, trust_tune.TOPICS)


def _fudan(folder: Path) -> tuple[Rows, Rows]:
    sides = [topic_rows(folder, name) for name in ("fudan", "sogou")]
    shared = {label for _, label in sides[0]} & {label for _, label in sides[1]}
    first, second = ([row for row in side if row[1] in shared] for side in sides)
    return first, second


def _amazon(folder: Path) -> tuple[Rows, Rows]:
    records = read_records(folder / AMAZON_FILE)
    first, second = (
        [(f"{r['title']} {r['text']}", r["label"]) for r in records if r["domain"] == domain]
        for domain in ("books", "kitchen")
    )
    return first, second


def _dmoz(folder: Path) -> tuple[Rows, Rows]:
    records = [r for r in read_records(folder / DMOZ_FILE) if r["label"] in PAGES]
    first, second = ([(r["text"], r["label"]) for r in records if r["half"] == half] for half in "AB")
    return first, second


def _mapped(folder: Path) -> tuple[Rows, Rows]:
    groups = [
        (message_text(r["text"]), MAPPED[r["label"]])
        for r in read_records(folder / NEWSGROUPS_FILE)
        if r["label"] in MAPPED
    ]
    pages = [(r["text"], r["label"]) for r in read_records(folder / DMOZ_FILE) if r["label"] in set(MAPPED.values())]
    return groups, pages


def _mapped_back(folder: Path) -> tuple[Rows, Rows]:
    groups, pages = _mapped(folder)
    return pages, groups


def _german(folder: Path) -> tuple[Rows, Rows]:
    """Articles of one half, and the first 300 characters of the others."""
    records = read_records(folder / GERMAN_FILE)
    rows = [(r["text"], r["label"]) for r in records]
    return rows[::2], [(text[:300], label) for text, label in rows[1::2]]


def _webkb(folder: Path) -> tuple[Rows, Rows]:
    kept = {"student", "faculty", "course", "project"}
    records = [r for r in read_records(folder / WEBKB_FILE) if r["label"] in kept]
    first, second = ([(r["text"], r["label"]) for r in records if (r["domain"] == "misc") == far] for far in (1, 0))
    return first, second


BASES: dict[str, tuple[Callable[[Path], tuple[Rows, Rows]], tuple[str, ...]]] = {
    "newsgroups": (_newsgroups, (NEWSGROUPS_FILE,)),
    "reuters": (_reuters, (REUTERS_FILE,)),
    "fudan-sogou": (_fudan, (CHINESE_FILES["fudan"], CHINESE_FILES["sogou"])),
    "books-kitchen": (_amazon, (AMAZON_FILE,)),
    "dmoz-halves": (_dmoz, (DMOZ_FILE,)),
    "newsgroups-dmoz": (_mapped, (NEWSGROUPS_FILE, DMOZ_FILE)),
    "dmoz-newsgroups": (_mapped_back, (NEWSGROUPS_FILE, DMOZ_FILE)),
    "german-halves": (_german, (GERMAN_FILE,)),
    "webkb": (_webkb, (WEBKB_FILE,)),
}
ALL_FILES = tuple(dict.fromkeys(file for _, files in BASES.values() for file in files))
HELD_BACK = ("dmoz-halves", "newsgroups-dmoz", "dmoz-newsgroups", "german-halves", "webkb")
KINDS = ("plain", "missing", "turned", "noisy", "thin")


# ---------------------------------------------------------------------------------------------------------- spoiling


def spoil(source: Rows, target: Rows, kind: str, seed: int) -> tuple[Rows, Rows]:
    """A pair of about ``SIZE`` documents a side, plain or spoilt in one way; the seed fixes all draws."""
    rng = np.random.default_rng(seed)
    source, target = list(dict.fromkeys(source)), list(dict.fromkeys(target))
    classes = sorted({label for _, label in source} & {label for _, label in target})
    source, target = ([row for row in side if row[1] in set(classes)] for side in (source, target))
    if kind == "missing":
        shares = {name: sum(label == name for _, label in target) / len(target) for name in classes}
        fitting = [name for name in classes if 0.1 <= shares[name] <= 0.4] or classes
        lost = fitting[seed % len(fitting)]
        return draw([row for row in source if row[1] != lost], SIZE, rng), draw(target, SIZE, rng)
    if kind == "turned":
        order = [classes[i] for i in rng.permutation(len(classes))]
        weights = np.maximum([0.55**place for place in range(len(order))], 0.04)
        weights = weights / weights.sum()
        return (
            draw_shares(source, dict(zip(order, weights, strict=True)), rng),
            draw_shares(target, dict(zip(order, weights[::-1], strict=True)), rng),
        )
    if kind == "thin":
        per_class = max(4, 40 // len(classes))
        few = [row for name in classes for row in draw([row for row in source if row[1] == name], per_class, rng)]
        return few, draw(target, SIZE, rng)
    first, second = draw(source, SIZE, rng), draw(target, SIZE, rng)
    if kind == "noisy":
        wrong = rng.random(len(first)) < 0.25
        first = [
            (text, str(rng.choice([name for name in classes if name != label])) if bad else label)
            for (text, label), bad in zip(first, wrong, strict=True)
        ]
    return first, second


def draw(rows: Rows, size: int, rng: np.random.Generator) -> Rows:
    """At most ``size`` rows at random, in their order."""
    return [rows[i] for i in np.sort(rng.permutation(len(rows))[:size])]


def draw_shares(rows: Rows, shares: dict[str, float], rng: np.random.Generator) -> Rows:
    """Rows with these class shares, as many as the classes allow (at most ``SIZE``, at least 150 are tried for)."""
    members = {name: [row for row in rows if row[1] == name] for name in shares}
    size = min([SIZE, *(max(150.0, len(members[name]) / share) for name, share in shares.items())])
    return [row for name, share in shares.items() for row in draw(members[name], max(6, round(size * share)), rng)]


def trust_task(base: str, kind: str) -> Task:
    """One base pair, plain or spoilt."""
    load_base, files = BASES[base]
    name = f"{base}-{kind}"

    def load(folder: Path) -> TaskData:
        source, target = spoil(*load_base(Path(folder)), kind, zlib.crc32(name.encode()))
        return TaskData(
            [text[:LENGTH] for text, _ in source],
            [label for _, label in source],
            [text[:LENGTH] for text, _ in target],
            [label for _, label in target],
        )

    return Task(name=name, load=load, files=files)


TASKS = {
    f"{base}-{kind}": trust_task(base, kind)
    for kind in KINDS
    for base in BASES
    if not (base == "books-kitchen" and kind == "missing")  # one class would be left
}
