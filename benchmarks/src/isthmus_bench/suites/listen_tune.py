"""How the constants of teaching were set: what a hundred random answers bring on the development tasks of "listen".

One thing is changed at a time, the rest stays as in the defaults. A row's ``gain`` is the accuracy on the half that is
never answered, less that of the labelling before any answer, averaged over draws. The rows "left out" say what would
have been chosen without one corpus.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._progress import progress
from isthmus.choose.stages.apply import pool
from isthmus.feedback import learn_correction, train_on_everything
from isthmus.feedback.correction import pseudo_answers
from isthmus_bench.engine.suite import Task, TaskData
from isthmus_bench.suites.listen_person import Person, first_labelling
from isthmus_bench.suites.tuning import choice_rows

ANSWERS = 100
VIEWS = ("words", "meaning", "vectors", "constant", "opinions")
# Factors of the views' weights, then the arguments of learn_correction and the share of the word model.
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    **{f"{view} x{factor:g}": {view: factor} for view in VIEWS for factor in (0.0, 0.5, 2.0)},
    "trust 1 alone": {"trusts": (1.0,)},
    "trust 0.7 alone": {"trusts": (0.7,)},
    "strength 4 alone": {"strengths": (4.0,)},
    "caution 0": {"caution": 0.0},
    "caution 2": {"caution": 2.0},
    "nothing for classes that no answer names": {"pseudo_answers": None},
    **{f"self-training {share:g}": {"share": share} for share in (0.0, 0.3, 0.5, 0.8, 1.0)},
}


def compare(
    folder: Path,
    tasks: Mapping[str, Task],
    seeds: tuple[int, ...],
) -> list[dict]:
    """Gain of every setting on every task, means, and choices that leave a corpus out."""
    rows: list[dict[str, Any]] = []
    known: set[str] = set()
    for step, (name, task) in enumerate(tasks.items()):
        progress("tasks", step, len(tasks))
        names = {file.split("/")[-1].split(".")[0] for file in task.files}
        known |= names
        corpora = ", ".join(sorted(names))
        data = task.load(folder)
        rows += [
            {"case": f"{name}, {ANSWERS} answers", "corpora": corpora, "setting": setting, "gain": gain}
            for setting, gain in gains_of(data, seeds).items()
        ]
    return choice_rows(rows, "gain", {corpus: (corpus,) for corpus in sorted(known)}, largest=True)


def gains_of(
    data: TaskData,
    seeds: tuple[int, ...],
    size: int = ANSWERS,
    settings: Mapping[str, Mapping[str, Any]] = SETTINGS,
) -> dict[str, float]:
    """Mean gain of each setting over draws of answers."""
    first = first_labelling(data)
    views = first.views
    rows = views.transform(first.texts, list((first.opinions or {"": first.probabilities}).values()))
    truth = np.array([str(name) for name in data.target_labels])
    usable = np.isin(truth, first.classes)
    codes = np.searchsorted(first.classes, np.where(usable, truth, first.classes[0]))
    source_codes = np.searchsorted(first.classes, first.source_labels.astype(str))
    found: dict[str, list[float]] = {}
    for seed in seeds:
        person = Person(data, seed)
        answered = person.pool[usable[person.pool]][:size]
        before = person.accuracy(first.labels)
        for setting, changes in settings.items():
            said = first.classes[_taught(first, views, rows, codes, answered, source_codes, changes).argmax(axis=1)]
            found.setdefault(setting, []).append(person.accuracy(said) - before)
    return {setting: round(float(np.mean(gains)), 5) for setting, gains in found.items()}


def _taught(
    first: Any,
    views: Any,
    rows: sp.csr_matrix,
    codes: np.ndarray,
    answered: np.ndarray,
    source_codes: np.ndarray,
    changes: Mapping[str, Any],
) -> np.ndarray:
    scale = np.ones(rows.shape[1])
    # The views are adjacent columns: words, meaning, vectors, a constant, and the opinions of the methods.
    ends = np.cumsum([views.n_words, len(views.components), len(views.vector_mean), 1]).tolist()
    names = ("words", "meaning", "vectors", "constant", "opinions")
    for view, start, end in zip(names, [0, *ends], [*ends, rows.shape[1]], strict=True):
        scale[start:end] = np.sqrt(changes.get(view, 1.0))
    scaled = rows @ sp.diags(scale, format="csr")
    tried = {name: changes[name] for name in ("trusts", "strengths", "caution") if name in changes}
    vote = first.probabilities
    standing = pseudo_answers(vote, first.texts, answered, codes[answered])
    if standing is not None and "pseudo_answers" not in changes:
        tried["unnamed"] = scaled[standing[0]], vote[standing[0]], standing[1]
    correction = learn_correction(scaled[answered], vote[answered], codes[answered], first.classes, 0, **tried)
    corrected = correction.probabilities(scaled, vote)
    if changes.get("share") == 0.0:
        return corrected
    known = corrected.copy()
    known[answered] = np.eye(len(first.classes))[codes[answered]]
    mask = np.zeros(len(vote), dtype=bool)
    mask[answered] = True
    words = views.words_of(rows)
    model = train_on_everything(views.source_words, source_codes, words, known, mask)
    share = changes.get("share", model.share)
    return pool({"answers": corrected, "words": model.probabilities(words)}, {"answers": 1 - share, "words": share})
