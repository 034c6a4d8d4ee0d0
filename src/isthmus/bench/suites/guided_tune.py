"""How ``boost`` was set: by the value of equation (2) that guided runs end at, without any label of the target."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from isthmus._progress import progress
from isthmus.bench.suites.guided_prepare import prepare_data
from isthmus.bench.suites.guided_tasks import TASKS
from isthmus.bench.suites.tuning import choice_rows
from isthmus.clustering.run import guided_kmeans

FILES = tuple(dict.fromkeys(file for task in TASKS.values() for file in task.files))
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
                guided_kmeans(ready.prepared(), ready.start(seed), max_iter=25, boost=boost, boost_iter=5)
                for seed in seeds[:STARTS]
            ]
            ends[boost] = float(np.mean([run.history[-1] for run in runs]))
        for boost, end in ends.items():
            row = {"case": name, "corpora": name, "setting": f"boost {boost:g}", "objective": end / ends[1.0]}
            rows.append(row)
        progress("corpora", len(rows) // len(BOOSTS), len(TASKS))
    return choice_rows(rows, "objective", {name: (name,) for name in TASKS}, largest=False)
