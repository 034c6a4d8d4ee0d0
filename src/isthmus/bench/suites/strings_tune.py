"""How the recipe ``strings`` was set: shifts simulated inside each labelled domain of the reviews.

Each domain is cut in two halves, class by class, along the leading direction of its own kernel; settings carry labels
from one half to the other, both ways, scored by the labels of that domain. All four domains are targets of benchmark
tasks, so the rows "left out" say what a pair would choose by the two domains that are not in it.
"""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._progress import progress
from isthmus.bench.suites.tuning import choice_rows
from isthmus.bench.tasks import AMAZON_DOMAINS, AMAZON_FILE, amazon_task
from isthmus.classify.strings.classifier import TransductiveKernelClassifier
from isthmus.features.strings import StringKernel

FILES = (AMAZON_FILE,)
SETTINGS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "alpha 1e-4": {"alpha": 1e-4},
    "alpha 1e-3": {"alpha": 1e-3},
    **{
        f"{align}, alpha {alpha:g}, {rounds} rounds": {"align": align, "alpha": alpha, "max_iter": rounds}
        for align in ("mean", "domain")
        for alpha, rounds in ((1e-5, 2), (1e-4, 2), (1e-3, 2), (1e-4, 6), (1e-4, 11))
    },
}


def halves(K: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """0 or 1 for every document: its side of the leading direction of the centred kernel, half of each class each."""
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    direction = np.linalg.eigh(centred)[1][:, -1]
    side = np.zeros(len(codes), dtype=int)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        side[members] = direction[members] > np.median(direction[members])
    return side


def choose_settings(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Accuracy of every setting in every domain, means, and what each pair would choose without its two domains."""
    rows = []
    for place, domain in enumerate(AMAZON_DOMAINS):
        data = amazon_task(domain, AMAZON_DOMAINS[place - 1]).load(Path(folder))
        codes = np.unique(data.source_labels, return_inverse=True)[1]
        K = StringKernel("presence", ngram_range=(5, 8)).gram(data.source_texts, normalize=True)
        side = halves(K, codes)
        for setting, changes in SETTINGS.items():
            right = []
            for train in (0, 1):
                model = TransductiveKernelClassifier(kernel="precomputed", **changes)
                model.fit(K, np.where(side == train, codes, -1), np.where(side == train, 1, -1))
                right.append(float(np.mean(model.transduction_[side != train] == codes[side != train])))
            rows.append({"case": domain, "corpora": domain, "setting": setting, "accuracy": float(np.mean(right))})
        progress("domains", place + 1, len(AMAZON_DOMAINS))
    cases = {f"{source}-{target}": (source, target) for source, target in permutations(AMAZON_DOMAINS, 2)}
    return choice_rows(rows, "accuracy", cases, largest=True)
