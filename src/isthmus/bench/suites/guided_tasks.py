"""Source and target collections of the suite "guided": related topics on the two sides, no category on both.

All choices were made from the categories' names and document counts, before any clustering was run. Where a pair of
related categories had to be split, the larger one is the source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from isthmus.bench.engine.suite import Task, TaskData
from isthmus.bench.tasks import NEWSGROUPS_FILE, REUTERS_FILE, read_records

DMOZ_FILE = "dmoz/dmoz_pages.jsonl.gz"
RCV1_FILE = "rcv1/rcv1_topics_subset.jsonl.gz"
WEBKB_FILE = "webkb/webkb.jsonl.gz"

# The paper's five pairs: source group -> target group.
NEWSGROUP_PAIRS = {
    "comp.windows.x": "comp.graphics",
    "rec.motorcycles": "rec.autos",
    "sci.electronics": "sci.crypt",
    "talk.politics.mideast": "talk.politics.misc",
    "alt.atheism": "talk.religion.misc",
}
# Soft commodities, metals, energy, money, growth, foreign trade, prices.
REUTERS_PAIRS = {
    "sugar": "coffee",
    "gold": "copper",
    "crude": "nat-gas",
    "money-fx": "interest",
    "gnp": "ipi",
    "trade": "bop",
    "cpi": "wpi",
}
# Earnings → forecasts, soft commodities → energy markets, interbank → foreign exchange, government borrowing → revenue,
# crime → war, domestic politics → diplomacy.
RCV1_PAIRS = {
    "C151": "C152",
    "M141": "M143",
    "M131": "M132",
    "E212": "E211",
    "GCRIM": "GVIO",
    "GPOL": "GDIP",
}
WEBKB_SOURCE = ("cornell", "texas", "washington")
WEBKB_TARGET = ("wisconsin", "misc")
WEBKB_TYPES = ("course", "faculty", "project", "student")

Keep = Callable[[Mapping], str | None]


def collection_task(name: str, file: str, source: Keep, target: Keep, text: Callable[[Mapping], str]) -> Task:
    """A task from two functions that give a record's source group and target group, or None."""

    def load(folder: Path) -> TaskData:
        sides: list[list] = [[], [], [], []]
        for record in read_records(Path(folder) / file):
            for offset, keep in ((0, source), (2, target)):
                group = keep(record)
                if group is not None:
                    sides[offset].append(text(record))
                    sides[offset + 1].append(group)
        source_texts, source_labels, target_texts, target_labels = sides
        return TaskData(source_texts, source_labels, target_texts, target_labels, extra={"task": name})

    return Task(name=name, load=load, files=(file,))


def newsgroups_task(name: str, source: Sequence[str], target: Sequence[str]) -> Task:
    """Whole newsgroups on both sides; subject and body, no other header (From and Organization give the group away)."""
    return collection_task(name, NEWSGROUPS_FILE, _if_in(source), _if_in(target), lambda r: subject_and_body(r["text"]))


def subject_and_body(message: str) -> str:
    """Subject line and body of a newsgroup message."""
    head, _, body = message.partition("\n\n")
    subjects = [line[8:].strip() for line in head.split("\n") if line.lower().startswith("subject:")]
    return "\n".join([*subjects, body])


def _if_in(labels: Sequence[str]) -> Keep:
    return lambda record: record["label"] if record["label"] in labels else None


def _only_code(codes: Sequence[str]) -> Keep:
    """The record's one topic code among these; None where it has several, so that no story is on two sides."""

    def keep(record: Mapping) -> str | None:
        found = set(record["labels"]) & _ALL_RCV1
        return next(iter(found)) if len(found) == 1 and found <= set(codes) else None

    return keep


_ALL_RCV1 = set(RCV1_PAIRS) | set(RCV1_PAIRS.values())


def _half(name: str) -> Keep:
    return lambda record: record["label"] if record["half"] == name else None


def _pages(universities: Sequence[str]) -> Keep:
    def keep(record: Mapping) -> str | None:
        return record["label"] if record["domain"] in universities and record["label"] in WEBKB_TYPES else None

    return keep


def _text(record: Mapping) -> str:
    return record["text"]


def _story(record: Mapping) -> str:
    return f"{record['title'] or ''}\n{record['text'] or ''}".strip()


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        newsgroups_task("newsgroups", tuple(NEWSGROUP_PAIRS), tuple(NEWSGROUP_PAIRS.values())),
        collection_task("dmoz", DMOZ_FILE, _half("A"), _half("B"), _text),
        collection_task(
            "reuters", REUTERS_FILE, _if_in(tuple(REUTERS_PAIRS)), _if_in(tuple(REUTERS_PAIRS.values())), _story
        ),
        collection_task(
            "rcv1", RCV1_FILE, _only_code(tuple(RCV1_PAIRS)), _only_code(tuple(RCV1_PAIRS.values())), _text
        ),
        collection_task("webkb", WEBKB_FILE, _pages(WEBKB_SOURCE), _pages(WEBKB_TARGET), _text),
    )
}
