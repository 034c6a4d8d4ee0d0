"""What a benchmark suite is: tasks, methods, seeds, and studies beside the main table.

A suite is a module that exposes ``SUITE``. The harness (:mod:`isthmus_bench.engine.harness`) runs it; a suite
neither writes files nor prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


@dataclass
class TaskData:
    """One transfer task in memory. ``target_labels`` are for the scorer alone; no method may read them.

    ``source_domain`` numbers the source domains (1, 2, …) where there are several. ``extra`` holds what a suite needs
    beyond that (word labels, halves, titles), and may hold what the methods of a task share: all units of a task run
    one after another in one process on one ``TaskData``.
    """

    source_texts: list[str]
    source_labels: list[str]
    target_texts: list[str]
    target_labels: list[str]
    source_domain: np.ndarray | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_rows(
        cls, source: Iterable[tuple], target: Iterable[tuple], extra: dict[str, Any] | None = None
    ) -> TaskData:
        """A task from pairs of text and label."""
        source, target = list(source), list(target)
        return cls(
            [text for text, _ in source],
            [label for _, label in source],
            [text for text, _ in target],
            [label for _, label in target],
            extra={} if extra is None else extra,
        )

    def joined(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Texts, labels (None for target) and ``sample_domain`` of all rows, source first."""
        texts = [*self.source_texts, *self.target_texts]
        labels = np.array([*self.source_labels, *([None] * len(self.target_texts))], dtype=object)
        source = np.ones(len(self.source_texts), dtype=int) if self.source_domain is None else self.source_domain
        return texts, labels, np.concatenate([source, np.full(len(self.target_texts), -1)])


@dataclass(frozen=True)
class Task:
    """A named task; ``load`` gets the data folder, ``files`` are hashed into the record.

    ``optional``: the files cannot be had by everyone; without them the task stands as "not run" and nothing is refused.
    """

    name: str
    load: Callable[[Path], TaskData]
    files: tuple[str, ...] = ()
    optional: bool = False


def pack_correct(truth: Any, predicted: Any) -> str:
    """Which predictions are right, as a short text: the number of documents, a colon, the bits in hexadecimal."""
    right = np.asarray(truth) == np.asarray(predicted)
    return f"{len(right)}:{np.packbits(right).tobytes().hex()}"


def unpack_correct(packed: str) -> np.ndarray:
    """The array of booleans behind :func:`pack_correct`."""
    size, _, bits = packed.partition(":")
    return np.unpackbits(np.frombuffer(bytes.fromhex(bits), dtype=np.uint8))[: int(size)].astype(bool)


@dataclass(frozen=True)
class Method:
    """A named method.

    ``run(data, seed)`` returns rows: dicts with at least ``metric`` and ``value``; the harness adds task, method, seed
    and, where a row has none, ``seconds`` of the whole call. ``seeded=False``: the seed changes nothing, so it runs
    once, and its rows carry no seed. Several rows of one metric differ in further fields (``part``, ``words``), which
    are kept. A row may carry ``correct`` (which target documents are right, made by :func:`pack_correct`): it is kept
    beside the record, so that two methods can be compared document by document.
    """

    name: str
    run: Callable[[TaskData, int], Iterable[dict]]
    seeded: bool = True


@dataclass(frozen=True)
class Study:
    """A table beside the main one (a figure of the paper, sizes, a sweep).

    ``run(folder, seeds)`` returns the table as a list of dicts. ``chart`` says how to draw it: ``kind`` (line, scatter,
    bar, heatmap), ``x``, ``y``, and optionally ``color``, ``facet``, ``title``, ``x_title``, ``y_title``, ``log_x``;
    all options are in :func:`isthmus.report.charts.draw`. ``tune``: the table by which defaults were chosen;
    ``isthmus bench tune SUITE`` runs those, ``--study all`` leaves them out.
    """

    name: str
    summary: str
    run: Callable[[Path, tuple[int, ...]], list[dict]]
    files: tuple[str, ...] = ()
    chart: Mapping[str, Any] | None = None
    tune: bool = False


@dataclass(frozen=True)
class Suite:
    """Everything ``isthmus bench NAME`` can run. ``tasks`` and ``methods`` not in the defaults run only when named.

    ``pairs``, where given, are the (task, method) pairs that make sense; others are skipped. ``absent`` names tasks
    that cannot be run and says why; they stand in the table as "not run". ``parallel=False``: one after another, for
    timings. ``contrasts`` asks for McNemar's test, task by task, of a method against the best of others:
    ``{"cocc": ("nbc", "svm")}``; the methods' rows must carry ``correct``. ``means`` names groups of tasks whose means
    stand below the table (``{"newsgroups": ("rec-talk", …)}``); if omitted, one mean over all. ``derived`` names tables
    that are made from all rows of the record, ``charts`` says how to draw one (as for a study); metrics in ``hidden``
    serve only those and are not shown themselves.
    """

    name: str
    summary: str
    tasks: Mapping[str, Task]
    methods: Mapping[str, Method]
    seeds: tuple[int, ...] = (0,)
    default_tasks: tuple[str, ...] | None = None
    default_methods: tuple[str, ...] | None = None
    studies: Mapping[str, Study] = field(default_factory=dict)
    pairs: frozenset[tuple[str, str]] | None = None
    absent: Mapping[str, str] = field(default_factory=dict)
    parallel: bool = True
    contrasts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    means: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    derived: Mapping[str, Callable[[list[dict]], list[dict]]] = field(default_factory=dict)
    charts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class SpeedCase:
    """One timing of ours against a peer, both measured in the same call.

    ``name`` is the row's task (what is computed and at which size: ``gram-presence-4000``), ``method`` the row's method
    (``tkc-presence``, ``cocc``, …). ``run(folder)`` gets the data folder and returns one dict with ``ours_s``, ``peer``
    (the peer's name), ``peer_s`` and ``ratio`` (peer_s / ours_s; filled in if omitted), and any further fields
    (``n``, ``peak_mb``, ``difference`` between the two answers). ``operations`` and ``moved_bytes``, what the loop has
    to do at least, set it against what a core of the machine can do. Compile before the clock starts: a first call on
    tiny data.
    A module of ``isthmus_bench.speed`` lists its cases in ``CASES``; the suite "speed" collects them. ``on_demand``:
    the case needs a machine that not everyone has, and runs only when it is named. ``limit``: the ratio that it should
    reach. ``quick``: among those that take two minutes together.
    """

    name: str
    method: str
    run: Callable[[Path], dict]
    files: tuple[str, ...] = ()
    summary: str = ""
    on_demand: bool = False
    limit: float | None = None
    quick: bool = False
