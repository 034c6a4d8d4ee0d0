"""How the constants of weighing hands were set: simulated hands on labelled sources, none of them in suite "hands".

A labelled collection is split into a source and a target of its own: within each class, documents are ordered by their
first principal component; the lower half is the source, the upper half the target. So both have all classes and
different words. The hands of the suite are simulated there, beside fifty answers of a person. One constant is changed
at a time, the rest stays as in ``START``; a row's ``accuracy`` is that of documents which the person did not answer,
averaged over hands and draws. Each constant takes the value with the best mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD

import isthmus
from isthmus._progress import progress
from isthmus.features import TextVectorizer, weigh_tfidf
from isthmus.feedback import Answers, HandSettings
from isthmus.feedback.teaching import fit_answers
from isthmus_bench.engine.suite import TaskData
from isthmus_bench.suites.tuning import choice_rows
from isthmus_bench.tasks import DMOZ_FILE, RCV1_FILE, WEBKB_FILE, Rows, read_records

SOURCE, TARGET, LENGTH = 300, 600, 1_500  # documents, and characters of each
MACHINE, PERSON = 500, 50  # answers
FILES = {"rcv1": RCV1_FILE, "dmoz": DMOZ_FILE, "webkb": WEBKB_FILE}
KEPT = {  # classes; of the university pages those of many places alone
    "rcv1": ("CCAT", "ECAT", "GCAT", "MCAT"),
    "dmoz": ("sports", "computers", "science", "business", "reference", "society"),
    "webkb": ("student", "faculty", "course", "project"),
}
START = HandSettings(drawn_to_one=30.0, prior_right=7.0, prior_wrong=3.0, worth=1.0)
_PRIORS = {"1.4 right, 0.6 wrong": (1.4, 0.6), "9 right, 1 wrong": (9.0, 1.0), "35 right, 15 wrong": (35.0, 15.0)}
SETTINGS = {
    "start": START,
    **{f"drawn {n:g}": replace(START, drawn_to_one=n) for n in (3.0, 10.0, 100.0)},
    **{f"prior {name}": replace(START, prior_right=a, prior_wrong=b) for name, (a, b) in _PRIORS.items()},
    **{f"worth {factor:g}": replace(START, worth=factor) for factor in (0.5, 2.0)},
    "drawn 10, prior 9 right, 1 wrong, worth 2": HandSettings(10.0, 9.0, 1.0, 2.0),
}


def split_source(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Places of a collection's documents that play source and target: the halves of each class along its first axis.

    >>> source, target = split_source([("red cat", "a"), ("red dog", "a"), ("blue cat", "b"), ("blue bird", "b")])
    >>> len(source), len(target)
    (2, 2)
    """
    labels = np.array([label for _, label in rows])
    weights = weigh_tfidf(TextVectorizer(language="en").fit_transform([text for text, _ in rows]), sublinear=True)
    source, target = [], []
    for name in np.unique(labels):
        own = np.flatnonzero(labels == name)
        axis = TruncatedSVD(2, random_state=0).fit_transform(weights[own])[:, 1]  # the first one is length
        order = own[np.argsort(axis, kind="stable")]
        source.append(order[: len(order) // 2])
        target.append(order[len(order) // 2 :])
    return np.concatenate(source), np.concatenate(target)


def load(folder: Path, corpus: str) -> TaskData:
    """A collection split into a source and a target, cut to size."""
    records = [r for r in read_records(folder / FILES[corpus]) if r["label"] in KEPT[corpus]]
    records = [r for r in records if corpus != "webkb" or r["domain"] == "misc"]
    rows = [(r["text"][:LENGTH], r["label"]) for r in records]
    rng = np.random.default_rng(0)
    rows = [rows[i] for i in rng.permutation(len(rows))[: 4 * TARGET]]
    source, target = split_source(rows)
    return TaskData.from_rows(
        [rows[i] for i in rng.permutation(source)[:SOURCE]], [rows[i] for i in rng.permutation(target)[:TARGET]]
    )


def compare(
    folder: Path,
    seeds: tuple[int, ...],
    simulate: Callable[[np.ndarray, float | None, int], np.ndarray],
    hands: Mapping[str, float | None],
    settings: Mapping[str, HandSettings] = SETTINGS,
) -> list[dict]:
    """Accuracy of every setting on every collection, means, and choices that leave a collection out."""
    rows = []
    for step, corpus in enumerate(FILES):
        progress("collections", step, len(FILES))
        data = load(Path(folder), corpus)
        found = accuracies(data, seeds, simulate, hands, settings)
        rows += [
            {"case": corpus, "corpora": corpus, "setting": name, "accuracy": value} for name, value in found.items()
        ]
    return choice_rows(rows, "accuracy", {corpus: (corpus,) for corpus in FILES}, largest=True)


def accuracies(
    data: TaskData,
    seeds: tuple[int, ...],
    simulate: Callable[[np.ndarray, float | None, int], np.ndarray],
    hands: Mapping[str, float | None],
    settings: Mapping[str, HandSettings] = SETTINGS,
) -> dict[str, float]:
    """Mean accuracy of each setting over hands and draws."""
    first = isthmus.label(data.source_texts, data.source_labels, data.target_texts, method="logistic")
    rows = first.views.transform(first.texts, list(first.voters().values()))
    truth = np.array(data.target_labels)
    found: dict[str, list[float]] = {}
    for seed in seeds:
        order = np.random.default_rng(1_000 + seed).permutation(len(truth))
        answered, free = order[:PERSON], order[PERSON:]
        for right in hands.values():
            said = simulate(truth, right, seed)
            known = Answers(
                rows=answered.tolist(),
                labels=truth[answered].tolist(),
                drawn=["random"] * len(answered),
                batch=["person"] * len(answered),
                weighed=[{"row": int(i), "label": said[i], "by": "machine", "batch": "m"} for i in order[:MACHINE]],
            )
            for name, chosen in settings.items():
                fit = fit_answers(first, first.views, rows, known, chosen)
                assert fit.weighed is not None
                probabilities = fit.stage.from_rows(rows, fit.vote)
                probabilities[fit.weighed.rows] = fit.weighed.update(probabilities)
                best = fit.classes[probabilities.argmax(axis=1)]
                found.setdefault(name, []).append(float(np.mean(best[free] == truth[free])))
    return {name: round(float(np.mean(values)), 5) for name, values in found.items()}
