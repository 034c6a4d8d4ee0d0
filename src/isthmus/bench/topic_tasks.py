"""Topic tasks whose two sides differ in length or in kind of text: newsgroups and web pages, headlines and bodies.

Splits and class maps were fixed from the data descriptions alone, before any method was run on them.
"""

from __future__ import annotations

from pathlib import Path

from isthmus.bench.engine.suite import Task, TaskData
from isthmus.bench.tasks import NEWSGROUPS_FILE, read_records, spread

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
