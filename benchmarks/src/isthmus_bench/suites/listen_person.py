"""The simulated person of suite "listen", the cut of its tasks, and the labelling that the person's answers go to."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from isthmus import __version__
from isthmus.api.label import label
from isthmus.api.result import LabelResult
from isthmus.corpus import replacing
from isthmus_bench.engine.records import cache_folder
from isthmus_bench.engine.suite import Task, TaskData

SIZE = 1_000


def cut(task: Task) -> Task:
    """The task with at most 1,000 documents a side, drawn at random once."""

    def load(folder: Path) -> TaskData:
        return cut_data(task.load(folder))

    return replace(task, load=load)


def cut_data(data: TaskData, size: int = SIZE) -> TaskData:
    """At most ``size`` documents a side."""
    rng = np.random.default_rng(7)
    source, target = (np.sort(rng.permutation(len(texts))[:size]) for texts in (data.source_texts, data.target_texts))
    return replace(
        data,
        source_texts=[data.source_texts[i] for i in source],
        source_labels=[data.source_labels[i] for i in source],
        target_texts=[data.target_texts[i] for i in target],
        target_labels=[data.target_labels[i] for i in target],
        source_domain=None if data.source_domain is None else np.asarray(data.source_domain)[source],
        extra={"missing": sorted(set(data.target_labels) - set(data.source_labels))},
    )


def first_labelling(data: TaskData) -> LabelResult:
    """What ``auto`` makes of the task without answers; once for all draws, and kept in the cache folder.

    Of a kept labelling the fitted methods are left out: teaching needs what they said, not themselves.
    """
    if "labelling" not in data.extra:
        place = cache_folder() / "listen" / f"{_key(data)}.pickle"
        if place.is_file():
            data.extra["labelling"] = pickle.loads(place.read_bytes())
            return data.extra["labelling"]
        domain = None if data.source_domain is None else [str(number) for number in data.source_domain]
        result = label(data.source_texts, list(data.source_labels), data.target_texts, source_domain=domain)
        data.extra["labelling"] = result
        keep_labelling(place, result)
    return data.extra["labelling"]


@dataclass
class Heard:
    """Stands for methods whose opinions are known."""

    classes_: np.ndarray


def keep_labelling(place: Path, result: LabelResult) -> None:
    """Write a labelling without its methods; the file appears whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with replacing(place, force=True) as file:
        heard: Any = Heard(result.classes)
        file.write(pickle.dumps(replace(result, model=heard)))


def _key(data: TaskData) -> str:
    """Changes with the version and with everything that the labelling is made of."""
    parts = [__version__, *data.source_texts, *map(str, data.source_labels), *data.target_texts]
    parts += [] if data.source_domain is None else [str(number) for number in data.source_domain]
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def pooled_labelling(data: TaskData) -> LabelResult:
    """The same, with several sources poured into one."""
    if "pooled" not in data.extra:
        data.extra["pooled"] = first_labelling(replace(data, source_domain=None, extra={}))
    return data.extra["pooled"]


class Person:
    """Answers documents of one half of the target; may err."""

    def __init__(self, data: TaskData, seed: int, errors: float = 0.0):
        self.truth = np.array(data.target_labels, dtype=object)
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(self.truth))
        self.pool, self.held_out = order[: len(order) // 2], np.sort(order[len(order) // 2 :])
        names = sorted(set(self.truth.tolist()))
        wrong = np.array([rng.choice([name for name in names if name != label_] or names) for label_ in self.truth])
        self.said = np.where(rng.random(len(self.truth)) < errors, wrong, self.truth)

    def answer(self, rows: Iterable[int], drawn: str) -> dict[str, list]:
        """A table of answers."""
        rows = [int(row) for row in rows]
        numbers, labels = [row + 1 for row in rows], [str(self.said[row]) for row in rows]
        return {"document": numbers, "true_label": labels, "drawn": [drawn] * len(rows)}

    def accuracy(self, labels: np.ndarray) -> float:
        """Share of right labels in the half that is never answered."""
        return float(np.mean(labels[self.held_out] == self.truth[self.held_out]))
