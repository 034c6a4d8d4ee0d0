"""Source and target collections of the suite "guided": related topics on the two sides, no category on both.

All choices were made from the categories' names and document counts, before any clustering was run. Where a pair of
related categories had to be split, the larger one is the source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._progress import progress
from isthmus.clustering.alignment import Prepared, guided_kmeans, prepare
from isthmus.clustering.kmeans import initial_centers, metric_rows
from isthmus.evaluate import adjusted_rand, pair_scores
from isthmus.features.contexts import Contexts, context_words, window_contexts
from isthmus.features.vectorizer import TextVectorizer
from isthmus_bench.engine.suite import Task, TaskData
from isthmus_bench.suites.tuning import choice_rows
from isthmus_bench.tasks import (
    DMOZ_FILE,
    NEWSGROUPS_FILE,
    RCV1_FILE,
    REUTERS_FILE,
    WEBKB_FILE,
    read_records,
    story_text,
)

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


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        newsgroups_task("newsgroups", tuple(NEWSGROUP_PAIRS), tuple(NEWSGROUP_PAIRS.values())),
        collection_task("dmoz", DMOZ_FILE, _half("A"), _half("B"), _text),
        collection_task(
            "reuters", REUTERS_FILE, _if_in(tuple(REUTERS_PAIRS)), _if_in(tuple(REUTERS_PAIRS.values())), story_text
        ),
        collection_task(
            "rcv1", RCV1_FILE, _only_code(tuple(RCV1_PAIRS)), _only_code(tuple(RCV1_PAIRS.values())), _text
        ),
        collection_task("webkb", WEBKB_FILE, _pages(WEBKB_SOURCE), _pages(WEBKB_TARGET), _text),
    )
}


# -- Matrices, starts and scores that the methods of the suite "guided" share


# The paper's contexts: within a few tokens, all shared words as context.
PAPER_SIMILARITY = {"contexts": "window, every word"}
MIN_DF = 5  # the paper drops words that occur fewer than five times


class Collections:
    """tf-idf rows of one task, its source groups, and starts that every method gets alike.

    Stems, no stop words, idf over both collections. The number of clusters is the true one, as in the paper. Starts
    are rows of the target drawn at random; a seed names the same rows whatever the method.
    """

    def __init__(self, source_texts: Sequence[str], source_labels, target_texts: Sequence[str], n_clusters: int):
        self.vectorizer = TextVectorizer(weighting="tfidf", min_df=MIN_DF)
        texts = [*source_texts, *target_texts]
        rows = metric_rows(self.vectorizer.fit_transform(texts), True)
        self.texts = texts
        self.n_source = len(source_texts)
        self.source, self.target = rows[: self.n_source], rows[self.n_source :]
        self.groups, self.codes = np.unique(np.asarray(source_labels, dtype=object).astype(str), return_inverse=True)
        self.n_clusters = n_clusters
        self._prepared: dict[tuple, Prepared] = {}
        self._tokens: list[list[str]] | None = None

    def start(self, seed: int) -> np.ndarray:
        """First centres of this seed."""
        filled = np.flatnonzero(np.diff(self.target.indptr) > 0)
        return initial_centers(self.target[filled], self.n_clusters, "random", seed)

    def prepared(self, make: Callable[..., Prepared] = prepare, **settings) -> Prepared:
        """Return source groups and aligner for these settings of the similarity, computed once by ``make``."""
        key = make, *sorted(settings.items())
        if key not in self._prepared:
            ones = np.ones(len(self.codes), dtype=np.int64)
            self._prepared[key] = make(self.source, self.codes, ones, self.target, **self.resolve(settings))
        return self._prepared[key]

    def resolve(self, similarity: Mapping[str, Any], rows: np.ndarray | None = None) -> dict[str, Any]:
        """Settings of the similarity with the contexts themselves in the place of their names; of some source rows."""
        windows = {"window": 1_000, "window, every word": self.target.shape[1]}
        if similarity.get("contexts") not in windows:
            return dict(similarity)
        return {**similarity, "contexts": self.window(rows=rows, limit=windows[similarity["contexts"]])}

    def window(self, size: int = 5, rows: np.ndarray | None = None, limit: int = 1_000) -> Contexts:
        """Contexts within ``size`` tokens of the running text; of these source rows, or of all."""
        vocabulary = {word: column for column, word in enumerate(self.vectorizer.feature_names_)}
        if self._tokens is None:
            self._tokens = [self.vectorizer.analyze(text) for text in self.texts]
        chosen = range(self.n_source) if rows is None else rows
        source = [self._tokens[row] for row in chosen]
        columns = context_words(self.source if rows is None else self.source[rows], self.target, limit)
        return window_contexts(source, self._tokens[self.n_source :], vocabulary, columns, window=size)


def prepare_data(data: TaskData) -> Collections:
    """The task's matrices; kept with the task, so that 30 starts vectorise once."""
    if "collections" not in data.extra:
        n_clusters = len(set(data.target_labels))
        data.extra["collections"] = Collections(data.source_texts, data.source_labels, data.target_texts, n_clusters)
    return data.extra["collections"]


def score_rows(truth: Sequence[str], labels: np.ndarray) -> list[dict]:
    """Pairwise F1 and adjusted Rand index."""
    return [
        {"metric": "pair_f1", "value": pair_scores(truth, labels).f1},
        {"metric": "ari", "value": adjusted_rand(truth, labels)},
    ]


# -- How ``boost`` was set: by the value of equation (2) that guided runs end at, without any label of the target


BOOST_FILES = tuple(dict.fromkeys(file for task in TASKS.values() for file in task.files))
BOOSTS = (1.0, 2.0, 4.0, 8.0, 16.0)
STARTS = 5
# What the table chooses for each corpus without that corpus; the suite's method "guided-left-out" uses it.
LEFT_OUT = {"newsgroups": 4.0, "dmoz": 4.0, "reuters": 8.0, "rcv1": 4.0, "webkb": 4.0}


def choose_boost(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Mean final value of equation (2) by boost, relative to no boost, on every corpus; and each corpus left out."""
    rows: list[dict] = []
    for name, task in TASKS.items():
        ready = prepare_data(task.load(Path(folder)))
        ends = {}
        for boost in BOOSTS:
            runs = [
                guided_kmeans(ready.prepared(), ready.start(seed), max_iter=25, boost=boost) for seed in seeds[:STARTS]
            ]
            ends[boost] = float(np.mean([run.history[-1] for run in runs]))
        for boost, end in ends.items():
            row = {"case": name, "corpora": name, "setting": f"boost {boost:g}", "objective": end / ends[1.0]}
            rows.append(row)
        progress("corpora", len(rows) // len(BOOSTS), len(TASKS))
    return choice_rows(rows, "objective", {name: (name,) for name in TASKS}, largest=False)
