"""The transfer tasks that several suites share: newsgroups, Reuters, Amazon reviews, Chinese topics, SRAA.

Every split here was fixed from the papers' lists or from document counts alone, before any method was run on it.
Nothing is cached on disk; the last files read stay in memory, so the tasks of one corpus read it once in a process.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.bench.engine.suite import Task, TaskData
from isthmus.corpus import load_dataset
from isthmus.corpus.datasets import DATASETS
from isthmus.features import TextVectorizer

NEWSGROUPS_FILE = "newsgroups20.jsonl.gz"
REUTERS_FILE = "reuters21578.jsonl.gz"
AMAZON_FILE = "amazon_reviews.jsonl.gz"
AMAZON_UNLABELLED_FILE = "amazon_unlabeled.jsonl.gz"
SRAA_FILE = "sraa.jsonl.gz"
AMAZON_DOMAINS = ("books", "dvd", "electronics", "kitchen")

# task -> class -> (source groups, target groups); Dai et al., KDD 2007, the table of newsgroup data sets.
NEWSGROUP_SPLITS: dict[str, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "rec-talk": {
        "rec": (("rec.autos", "rec.motorcycles"), ("rec.sport.baseball", "rec.sport.hockey")),
        "talk": (("talk.politics.guns", "talk.politics.misc"), ("talk.politics.mideast", "talk.religion.misc")),
    },
    "rec-sci": {
        "rec": (("rec.autos", "rec.sport.baseball"), ("rec.motorcycles", "rec.sport.hockey")),
        "sci": (("sci.med", "sci.space"), ("sci.crypt", "sci.electronics")),
    },
    "comp-talk": {
        "comp": (
            ("comp.graphics", "comp.sys.mac.hardware", "comp.windows.x"),
            ("comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware"),
        ),
        "talk": (("talk.politics.mideast", "talk.religion.misc"), ("talk.politics.guns", "talk.politics.misc")),
    },
    "comp-sci": {
        "comp": (
            ("comp.graphics", "comp.os.ms-windows.misc"),
            ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware", "comp.windows.x"),
        ),
        "sci": (("sci.crypt", "sci.electronics"), ("sci.med", "sci.space")),
    },
    "comp-rec": {
        "comp": (
            ("comp.graphics", "comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
            ("comp.os.ms-windows.misc", "comp.windows.x"),
        ),
        "rec": (("rec.motorcycles", "rec.sport.hockey"), ("rec.autos", "rec.sport.baseball")),
    },
    "sci-talk": {
        "sci": (("sci.electronics", "sci.med"), ("sci.crypt", "sci.space")),
        "talk": (("talk.politics.misc", "talk.religion.misc"), ("talk.politics.guns", "talk.politics.mideast")),
    },
}
# Four classes: the two tasks above that between them cover all four classes, put together.
NEWSGROUP_SPLITS["four-class"] = {**NEWSGROUP_SPLITS["comp-sci"], **NEWSGROUP_SPLITS["rec-talk"]}

CHINESE_FILES = {
    "fudan": "zh/fudan.jsonl.gz",
    "sogou": "zh/sogou.jsonl.gz",
    "csl": "zh/csl.jsonl.gz",
    "thucnews_full_small": "zh/thucnews_full_small.jsonl.gz",
    "thucnews_title": "zh/headlines.jsonl.gz",
    "toutiao": "zh/headlines.jsonl.gz",
    "nlpcc2017": "zh/headlines.jsonl.gz",
}
# Pairs the data description recommends, and the field that both sides share as a label; each is run both ways.
CHINESE_PAIRS = {
    ("fudan", "sogou"): "topic",
    ("fudan", "csl"): "topic20",
    ("thucnews_title", "toutiao"): "topic",
    ("thucnews_title", "nlpcc2017"): "topic",
    ("sogou", "thucnews_full_small"): "topic",
}


@functools.lru_cache(maxsize=3)
def read_records(path: Path) -> tuple[dict, ...]:
    """All records of a benchmark file (data folder / file name), each a dict; ``label`` is None where there is none."""
    data = next(data for data in DATASETS.values() if path.match(data.file))
    folder = path.parents[data.file.count("/")]
    read = load_dataset(data.name, folder)
    fields = {"id": read.ids, "text": read.texts, "label": read.labels, "domain": read.domain, **read.columns}
    return tuple(dict(zip(fields, row, strict=True)) for row in zip(*fields.values(), strict=True))


# ------------------------------------------------------------------------------------------------------- newsgroups


def message_text(message: str) -> str:
    """The From and Subject lines and the body of a newsgroup message; all other headers are dropped."""
    head, _, body = message.partition("\n\n")
    kept = [line for line in head.split("\n") if line.lower().startswith(("from:", "subject:"))]
    return "\n".join([*kept, body])


def newsgroup_task(name: str) -> Task:
    """One of ``NEWSGROUP_SPLITS``, both halves of the by-date version together."""
    split = NEWSGROUP_SPLITS[name]

    def load(folder: Path) -> TaskData:
        records = read_records(Path(folder) / NEWSGROUPS_FILE)
        sides = []
        for side in (0, 1):
            label_of = {group: label for label, groups in split.items() for group in groups[side]}
            rows = [record for record in records if record["label"] in label_of]
            sides.append(([message_text(r["text"]) for r in rows], [label_of[r["label"]] for r in rows]))
        return TaskData(*sides[0], *sides[1])

    return Task(name=name, load=load, files=(NEWSGROUPS_FILE,))


# ---------------------------------------------------------------------------------------------------------- Reuters


def halve_categories(sizes: Counter) -> tuple[frozenset[str], frozenset[str]]:
    """Sub-categories in two lots of about equal weight.

    From the largest down (ties by name), each goes to the lot with fewer documents so far; the first to the source.
    """
    lots: tuple[set[str], set[str]] = (set(), set())
    weight = [0, 0]
    for name, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        side = 0 if weight[0] <= weight[1] else 1
        lots[side].add(name)
        weight[side] += size
    return frozenset(lots[0]), frozenset(lots[1])


def spread(rows: list, size: int) -> list:
    """``size`` of ``rows``, evenly spaced."""
    return rows if len(rows) <= size else [rows[i * len(rows) // size] for i in range(size)]


def reuters_task(first: str, second: str, *, wide: bool = False) -> Task:
    """Two of orgs, people, places against each other, over disjoint sub-categories.

    A story belongs to a class when it has categories of that field and none of the other. ``usa`` is no place: the
    paper drops the stories about it. Sub-categories go to source or target by :func:`halve_categories`, per task and
    class; a story with sub-categories on both sides is left out. In each domain the larger class is thinned to
    the size of the smaller one, evenly over time, since the paper's sets are balanced.

    ``wide`` is the other reading of the paper, which gives sets of about its size: a story with categories of the
    first field belongs to the first class whatever else it has; the second class is the stories of the second field
    without the first. ``usa`` is then dropped as a category, not the stories about it.
    """

    def load(folder: Path) -> TaskData:
        records = read_records(Path(folder) / REUTERS_FILE)
        if wide:
            halves = {first: _wide_halves(records, first, None), second: _wide_halves(records, second, first)}
        else:
            pairs = ((first, second), (second, first))
            halves = {label: _reuters_halves(records, label, other) for label, other in pairs}
        sides = []
        for side in (0, 1):
            size = min(len(halves[label][side]) for label in halves)
            rows = [(row, label) for label in halves for row in spread(halves[label][side], size)]
            sides.append(([_reuters_text(row) for row, _ in rows], [label for _, label in rows]))
        return TaskData(*sides[0], *sides[1])

    return Task(name=f"{first}-{second}{'-wide' if wide else ''}", load=load, files=(REUTERS_FILE,))


def _wide_halves(records: Iterable[dict], field: str, without: str | None) -> tuple[list[dict], list[dict]]:
    def named(record: dict) -> set[str]:
        return set(record[field]) - {"usa"}

    stories = [r for r in records if named(r) and not (without and set(r[without]) - {"usa"})]
    lots = halve_categories(Counter(name for story in stories for name in named(story)))
    source, target = ([story for story in stories if named(story) <= lot] for lot in lots)
    return source, target


def _reuters_halves(records: Iterable[dict], field: str, other: str) -> tuple[list[dict], list[dict]]:
    def abroad(record: dict, name: str) -> set[str]:
        return set(record[name]) - {"usa"} if name == "places" else set(record[name])

    stories = [r for r in records if r[field] and "usa" not in r[field] and not abroad(r, other)]
    lots = halve_categories(Counter(name for story in stories for name in set(story[field])))
    source, target = ([story for story in stories if set(story[field]) <= lot] for lot in lots)
    return source, target


def _reuters_text(record: dict) -> str:
    return f"{record['title'] or ''}\n{record['text'] or ''}".strip()


# ----------------------------------------------------------------------------------------------------------- Amazon


def amazon_task(source: str | Iterable[str], target: str, *, title: bool = True, name: str | None = None) -> Task:
    """Reviews of one or several source domains → reviews of another; title + text, or the text only."""
    sources = (source,) if isinstance(source, str) else tuple(source)
    given = name or (f"{sources[0]}-{target}" if len(sources) == 1 else f"multi-{target}")

    def load(folder: Path) -> TaskData:
        records = read_records(Path(folder) / AMAZON_FILE)
        parts = {domain: [r for r in records if r["domain"] == domain] for domain in (*sources, target)}
        rows = [(row, number) for number, domain in enumerate(sources, 1) for row in parts[domain]]
        return TaskData(
            [_review_text(row, title) for row, _ in rows],
            [row["label"] for row, _ in rows],
            [_review_text(row, title) for row in parts[target]],
            [row["label"] for row in parts[target]],
            source_domain=np.array([number for _, number in rows]),
            extra={"source_domains": sources, "target_domain": target},
        )

    return Task(name=given, load=load, files=(AMAZON_FILE,))


def amazon_unlabelled(folder: Path, domain: str) -> list[str]:
    """Further reviews of a domain (title + text), without labels."""
    return [r["text"] for r in read_records(Path(folder) / AMAZON_UNLABELLED_FILE) if r["domain"] == domain]


def _review_text(record: dict, title: bool) -> str:
    return f"{record['title']} {record['text']}" if title and record.get("title") else record["text"]


# ---------------------------------------------------------------------------------------------------------- Chinese


def chinese_task(source: str, target: str, *, per_class: int | None = None, name: str | None = None) -> Task:
    """Documents of the classes that both sides have; ``per_class`` keeps at most so many a class and domain, evenly."""
    key = CHINESE_PAIRS.get((source, target)) or CHINESE_PAIRS[target, source]

    def load(folder: Path) -> TaskData:
        source_rows, target_rows = (_topic_rows(Path(folder), domain, key) for domain in (source, target))
        shared = {row[key] for row in source_rows} & {row[key] for row in target_rows}
        sides = []
        for rows in (source_rows, target_rows):
            rows = _at_most([row for row in rows if row[key] in shared], lambda row: row[key], per_class)
            sides.append(([row["text"] for row in rows], [row[key] for row in rows]))
        return TaskData(*sides[0], *sides[1], extra={"domains": (source, target)})

    files = tuple(dict.fromkeys((CHINESE_FILES[source], CHINESE_FILES[target])))
    return Task(name=name or f"{source}-{target}", load=load, files=files)


def _topic_rows(folder: Path, domain: str, key: str) -> list[dict]:
    file = CHINESE_FILES[domain]
    several = "headlines" in file  # the other files hold one domain each
    return [r for r in read_records(folder / file) if r.get(key) and (not several or r["domain"] == domain)]


def _at_most(rows: list[dict], label: Callable[[dict], str], per_class: int | None) -> list[dict]:
    if per_class is None:
        return rows
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(label(row), []).append(place)
    kept = sorted(place for group in places.values() for place in spread(group, per_class))
    return [rows[place] for place in kept]


# ------------------------------------------------------------------------------------------------------------- SRAA


def sraa_task(name: str) -> Task:
    """``real-simulated`` (aviation → auto) or ``auto-aviation`` (simulated → real), as the paper's table has them."""
    source, target = {
        "real-simulated": (("domain", "label", "aviation"), ("domain", "label", "auto")),
        "auto-aviation": (("label", "domain", "simulated"), ("label", "domain", "real")),
    }[name]

    def load(folder: Path) -> TaskData:
        records = read_records(Path(folder) / SRAA_FILE)
        sides = []
        for label, field, value in (source, target):
            rows = [r for r in records if r[field] == value]
            sides.append(([r["text"] for r in rows], [r[label] for r in rows]))
        return TaskData(*sides[0], *sides[1])

    return Task(name=name, load=load, files=(SRAA_FILE,), optional=True)


NEWSGROUP_TASKS = {name: newsgroup_task(name) for name in NEWSGROUP_SPLITS}
REUTERS_TASKS = {
    task.name: task
    for task in (reuters_task("orgs", "people"), reuters_task("orgs", "places"), reuters_task("people", "places"))
}
REUTERS_WIDE = {
    task.name: task
    for task in (
        reuters_task("orgs", "people", wide=True),
        reuters_task("orgs", "places", wide=True),
        reuters_task("people", "places", wide=True),
    )
}
SRAA_TASKS = {name: sraa_task(name) for name in ("real-simulated", "auto-aviation")}
AMAZON_PAIRS = {f"{s}-{t}": amazon_task(s, t) for s in AMAZON_DOMAINS for t in AMAZON_DOMAINS if s != t}
AMAZON_MULTI = {
    f"multi-{target}": amazon_task([domain for domain in AMAZON_DOMAINS if domain != target], target)
    for target in AMAZON_DOMAINS
}
CHINESE_TASKS = {
    f"{source}-{target}": chinese_task(source, target)
    for pair in CHINESE_PAIRS
    for source, target in (pair, pair[::-1])
}


def homogeneous_task(name: str) -> Task:
    """One collection; every fifth document of a class, in file order, is to be labelled."""

    def load(folder: Path) -> TaskData:
        records = [r for r in read_records(Path(folder) / CHINESE_FILES[name]) if r["domain"] == name or name == "csl"]
        seen: dict[str, int] = {}
        sides: tuple[tuple[list, list], tuple[list, list]] = (([], []), ([], []))
        for record in records:
            place = seen[record["label"]] = seen.get(record["label"], -1) + 1
            texts, labels = sides[place % 5 == 0]
            texts.append(record["text"])
            labels.append(record["label"])
        return TaskData(*sides[0], *sides[1], extra={"homogeneous": True})

    return Task(name=name, load=load, files=(CHINESE_FILES[name],))


def joint_counts(data: TaskData) -> tuple[Any, Any]:
    """Counts of the source's and of the target's documents over all terms; made once per task."""
    if "counts" not in data.extra:
        X = TextVectorizer(min_df=1).fit_transform(data.joined()[0])
        n_source = len(data.source_texts)
        data.extra["counts"] = X[:n_source], X[n_source:]
    return data.extra["counts"]


# -- Topic tasks whose two sides differ in length or in kind of text: newsgroups and web pages, headlines and bodies
# Splits and class maps were fixed from the data descriptions alone, before any method was run on them.


DMOZ_FILE = "dmoz/dmoz_pages.jsonl.gz"
# Groups with one obvious counterpart among the directory's top categories; sci.crypt and sci.electronics have none.
DIRECTORY_CLASSES = {
    "computers": (
        "comp.graphics",
        "comp.os.ms-windows.misc",
        "comp.sys.ibm.pc.hardware",
        "comp.sys.mac.hardware",
        "comp.windows.x",
    ),
    "sports": ("rec.sport.baseball", "rec.sport.hockey"),
    "recreation": ("rec.autos", "rec.motorcycles"),
    "health": ("sci.med",),
    "science": ("sci.space",),
    "shopping": ("misc.forsale",),
    "society": (
        "alt.atheism",
        "soc.religion.christian",
        "talk.politics.guns",
        "talk.politics.mideast",
        "talk.politics.misc",
        "talk.religion.misc",
    ),
}
PER_CLASS = 200  # newsgroup messages a class against the directory's pages
PER_GROUP = 100  # subject lines, and bodies, of each of the twenty groups

Side = tuple[list[str], list[str]]


def split_message(message: str) -> tuple[str, str]:
    """Subject line (without "Re:") and body of a newsgroup message."""
    head, _, body = message.partition("\n\n")
    subject = next((line[8:].strip() for line in head.split("\n") if line.lower().startswith("subject:")), "")
    while subject.lower().startswith("re:"):
        subject = subject[3:].strip()
    return subject, body.strip()


def _newsgroup_side(folder: Path) -> Side:
    records = read_records(Path(folder) / NEWSGROUPS_FILE)
    texts: list[str] = []
    labels: list[str] = []
    for name, groups in DIRECTORY_CLASSES.items():
        rows = spread([record for record in records if record["label"] in groups], PER_CLASS)
        texts += ["\n".join(split_message(record["text"])) for record in rows]
        labels += [name] * len(rows)
    return texts, labels


def _directory_side(folder: Path) -> Side:
    rows = [record for record in read_records(Path(folder) / DMOZ_FILE) if record["label"] in DIRECTORY_CLASSES]
    return [record["text"] for record in rows], [record["label"] for record in rows]


def directory_task(name: str) -> Task:
    """``newsgroups-dmoz`` or ``dmoz-newsgroups``: seven topics that both have."""

    def load(folder: Path) -> TaskData:
        sides = {"newsgroups": _newsgroup_side(folder), "dmoz": _directory_side(folder)}
        source, target = name.split("-")
        return TaskData(*sides[source], *sides[target])

    return Task(name=name, load=load, files=(NEWSGROUPS_FILE, DMOZ_FILE))


def _load_halves(folder: Path) -> TaskData:
    records = read_records(Path(folder) / DMOZ_FILE)
    source, target = ([record for record in records if record["half"] == half] for half in "AB")
    return TaskData(
        [record["text"] for record in source],
        [record["label"] for record in source],
        [record["text"] for record in target],
        [record["label"] for record in target],
    )


def _load_meta(folder: Path) -> TaskData:
    records = read_records(Path(folder) / DMOZ_FILE)
    source = [record for record in records[::2] if (record["meta_text"] or "").strip()]
    target = records[1::2]
    return TaskData(
        [record["meta_text"] for record in source],
        [record["label"] for record in source],
        [record["text"] for record in target],
        [record["label"] for record in target],
    )


def _load_titles(folder: Path) -> TaskData:
    records = read_records(Path(folder) / NEWSGROUPS_FILE)
    sides: tuple[Side, Side] = (([], []), ([], []))
    for group in sorted({record["label"] for record in records}):
        rows = [record for record in records if record["label"] == group]
        for side, (texts, labels) in enumerate(sides):
            parts = [split_message(record["text"])[side] for record in rows[side::2]]
            parts = spread([part for part in parts if part], PER_GROUP)
            texts += parts
            labels += [group] * len(parts)
    return TaskData(*sides[0], *sides[1])


TOPIC_TASKS = {
    task.name: task
    for task in (
        directory_task("newsgroups-dmoz"),
        directory_task("dmoz-newsgroups"),
        Task(name="dmoz-halves", load=_load_halves, files=(DMOZ_FILE,)),
        Task(name="dmoz-meta", load=_load_meta, files=(DMOZ_FILE,)),
        Task(name="titles-bodies", load=_load_titles, files=(NEWSGROUPS_FILE,)),
    )
}
