"""How CoCC's defaults were set: pseudo-tasks made of the source groups of the newsgroup tasks, and of Reuters' sources.

One sub-category of each class is the source, the others are the target, so that every label used belongs to the source
side of a real task. A group that is source in one task is target in another: the rows "left out" say what would have
been chosen for a task without any pseudo-task that holds one of its groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from isthmus._progress import progress
from isthmus.bench.engine.suite import TaskData
from isthmus.bench.suites.tuning import choice_rows
from isthmus.bench.tasks import NEWSGROUP_SPLITS, NEWSGROUPS_FILE, message_text, read_records
from isthmus.evaluate.labels import error_rate
from isthmus.recipes import make_recipe

FILES = (NEWSGROUPS_FILE,)
TASKS = tuple(name for name in NEWSGROUP_SPLITS if name != "four-class")
# One parameter at a time, the rest as in the defaults.
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "counts": {"weighting": "counts"},
    "smoothing 0.03": {"smoothing": 0.03},
    "smoothing 0.1": {"smoothing": 0.1},
    "trade-off 1": {"trade_off": 1.0},
    "trade-off 4": {"trade_off": 4.0},
    "32 word clusters": {"n_word_clusters": 32},
    "128 word clusters": {"n_word_clusters": 128},
    "no finish": {"refine": None},
}


def pseudo_splits() -> Iterator[tuple[str, dict[str, tuple[str, tuple[str, ...]]]]]:
    """Twelve splits: class → (its source group, its target groups), all of them source groups of one newsgroup task."""
    for task in TASKS:
        sources = {label: groups[0] for label, groups in NEWSGROUP_SPLITS[task].items()}
        for turn in range(2):
            yield (
                f"{task} {turn + 1}",
                {
                    label: (groups[turn], tuple(g for g in groups if g != groups[turn]))
                    for label, groups in sources.items()
                },
            )


def groups_of(task: str) -> tuple[str, ...]:
    """All groups of a newsgroup task, on either side."""
    return tuple(group for sides in NEWSGROUP_SPLITS[task].values() for side in sides for group in side)


def pseudo_data(folder: Path, split: dict[str, tuple[str, tuple[str, ...]]]) -> TaskData:
    """The documents of a pseudo-task."""
    records = read_records(Path(folder) / NEWSGROUPS_FILE)
    sides: list[list[str]] = [[], [], [], []]
    for record in records:
        for label, (source, target) in split.items():
            if record["label"] == source or record["label"] in target:
                offset = 0 if record["label"] == source else 2
                sides[offset].append(message_text(record["text"]))
                sides[offset + 1].append(label)
    source_texts, source_labels, target_texts, target_labels = sides
    return TaskData(source_texts, source_labels, target_texts, target_labels)


def choose_settings(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Error of every setting on every pseudo-task (one start each), means, and the choices that leave groups out."""
    rows = []
    for name, split in pseudo_splits():
        data = pseudo_data(folder, split)
        texts, labels, domain = data.joined()
        pipeline = make_recipe("cocc", random_state=0)
        X = pipeline.steps[0][1].fit_transform(texts)
        corpora = ", ".join(group for source, target in split.values() for group in (source, *target))
        for setting, changes in SETTINGS.items():
            model = make_recipe("cocc", random_state=0).steps[-1][1].set_params(n_init=1, **changes)
            model.fit(X, labels, sample_domain=domain)
            error = error_rate(data.target_labels, model.transduction_[domain < 0].tolist())
            rows.append({"case": name, "corpora": corpora, "setting": setting, "error": error})
        progress("pseudo-tasks", len(rows) // len(SETTINGS), 2 * len(TASKS))
    return choice_rows(rows, "error", {task: groups_of(task) for task in TASKS}, largest=False)
