"""Suite "doubt": wrong labels planted in a source, and who finds them: ours and cleanlab side by side.

Labels of one corpus are put wrong in three ways, 5, 15 and 30 % of them: ``random`` (any document, any other class),
``class`` (documents of every second class four times as often) and ``confusion`` (towards the class whose words are
most alike). Found at the planted number: the k labels that are doubted most, of k planted ones, so precision and recall
are one figure. The corpora's own wrong labels count as right ones, for all alike.

The score was picked among variants on reviews and newsgroups. ``HELD_OUT`` names what took no part in it: reports of a
news agency, added when the score was settled.

cleanlab is no requirement: without it its rows stand as "not run". It gets what its documentation shows, out-of-fold
probabilities of a logistic regression, from the same tf-idf rows and as many folds.
"""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from isthmus._math.rows import group_means, unit_rows
from isthmus.features import TextVectorizer, weigh_tfidf
from isthmus.shift import doubt_labels
from isthmus_bench.engine.suite import Method, Suite, Task, TaskData
from isthmus_bench.tasks import AMAZON_FILE, NEWSGROUPS_FILE, RCV1_FILE, read_records

KINDS = ("random", "class", "confusion")
RATES = (0.05, 0.15, 0.3)
SIZE = 800  # documents of a corpus
FOUR = ("comp.graphics", "rec.autos", "sci.med", "talk.politics.guns")
EIGHT = (*FOUR, "comp.windows.x", "rec.motorcycles", "sci.space", "talk.politics.misc")
CORPORA = {
    "books": (AMAZON_FILE, "domain", ("books",)),
    "kitchen": (AMAZON_FILE, "domain", ("kitchen",)),
    "newsgroups-4": (NEWSGROUPS_FILE, "label", FOUR),
    "newsgroups-8": (NEWSGROUPS_FILE, "label", EIGHT),
    "rcv1": (RCV1_FILE, "label", ("CCAT", "ECAT", "GCAT", "MCAT")),
}
HELD_OUT = ("rcv1",)


def make_task(corpus: str, kind: str, rate: float) -> Task:
    """A corpus with labels put wrong; ``extra`` holds counts, true and given classes."""
    file = CORPORA[corpus][0]

    def load(folder: Path) -> TaskData:
        texts, labels = _read(Path(folder), corpus)
        counts, codes = _count(texts), np.unique(labels, return_inverse=True)[1]
        data = TaskData(texts, labels, [], [])
        data.extra |= {"counts": counts, "codes": codes, "kind": kind, "rate": rate}
        return data

    return Task(f"{corpus}-{kind}-{round(100 * rate)}", load, (file,))


@functools.lru_cache(maxsize=2)
def _read(folder: Path, corpus: str) -> tuple[list[str], list[str]]:
    file, field, wanted = CORPORA[corpus]
    rows = [row for row in read_records(folder / file) if row[field] in wanted]
    chosen = np.random.default_rng(0).permutation(len(rows))[:SIZE]
    return [rows[i]["text"] for i in chosen], [str(rows[i]["label"]) for i in chosen]


def _count(texts: list[str]) -> sp.csr_matrix:
    return TextVectorizer(language="en").fit_transform(texts)


def plant(codes: np.ndarray, kind: str, rate: float, seed: int, counts: sp.csr_matrix) -> np.ndarray:
    """Classes with ``rate`` of them put wrong.

    >>> codes = np.repeat([0, 1], 50)
    >>> int(np.sum(plant(codes, "random", 0.1, 0, sp.eye(100, format="csr")) != codes))
    10
    """
    rng = np.random.default_rng(seed)
    n_classes, size = int(codes.max()) + 1, round(rate * len(codes))
    chances = np.where((codes % 2 == 0) & (kind == "class"), 4.0, 1.0)
    rows = rng.choice(len(codes), size, replace=False, p=chances / chances.sum())
    given = codes.copy()
    given[rows] = (codes[rows] + rng.integers(1, n_classes, size)) % n_classes
    if kind == "confusion":
        centres = unit_rows(group_means(weigh_tfidf(counts), codes, n_classes))
        alike = centres @ centres.T
        np.fill_diagonal(alike, -1.0)
        given[rows] = alike.argmax(axis=1)[codes[rows]]
    return given


def run_ours(data: TaskData, seed: int) -> list[dict]:
    """Support by :func:`isthmus.shift.doubt_labels`, and its estimate of the noise."""
    given, wrong = _planted(data, seed)
    found = doubt_labels(data.extra["counts"], given, int(given.max()) + 1)
    listed = wrong[found.rows]
    return [
        *_at_number(found.support, wrong),
        {"metric": "listed_precision", "value": float(listed.mean()) if len(listed) else 0.0},
        {"metric": "listed_recall", "value": float(listed.sum() / wrong.sum())},
        {"metric": "noise", "value": found.noise},
        {"metric": "low", "value": found.low},
        {"metric": "high", "value": found.high},
        {"metric": "interval_holds", "value": float(found.low <= wrong.mean() <= found.high)},
    ]


def run_cleanlab(data: TaskData, seed: int, score: str) -> list[dict]:
    """Quality of labels by cleanlab, and the issues that it lists."""
    from cleanlab.filter import find_label_issues  # type: ignore[import-not-found]
    from cleanlab.rank import get_label_quality_scores  # type: ignore[import-not-found]

    given, wrong = _planted(data, seed)
    rows = weigh_tfidf(data.extra["counts"], sublinear=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    proba = cross_val_predict(LogisticRegression(max_iter=200), rows, given, cv=folds, method="predict_proba")
    quality = get_label_quality_scores(given, proba, method=score)
    issues = find_label_issues(given, proba, n_jobs=1)
    return [
        *_at_number(quality, wrong),
        {"metric": "listed_precision", "value": float(wrong[issues].mean()) if issues.any() else 0.0},
        {"metric": "listed_recall", "value": float(wrong[issues].sum() / wrong.sum())},
    ]


def _planted(data: TaskData, seed: int) -> tuple[np.ndarray, np.ndarray]:
    codes = data.extra["codes"]
    given = plant(codes, data.extra["kind"], data.extra["rate"], seed, data.extra["counts"])
    return given, given != codes


def _at_number(quality: np.ndarray, wrong: np.ndarray) -> list[dict]:
    """Share of planted labels among as many that are doubted most."""
    first = np.argsort(quality, kind="stable")[: int(wrong.sum())]
    return [{"metric": "found", "value": float(wrong[first].mean())}]


def against_cleanlab(rows: list[dict]) -> list[dict]:
    """Found at the planted number: means over seeds and corpora, apart for those on which the score was picked."""
    found: dict[tuple, dict[str, list[float]]] = {}
    for row in rows:
        if row["metric"] == "found":
            corpus, kind, rate = row["task"].rsplit("-", 2)
            found.setdefault((corpus, "all"), {}).setdefault(row["method"], []).append(row["value"])
            part = "held out" if corpus in HELD_OUT else "picked on"
            found.setdefault((part, "all"), {}).setdefault(row["method"], []).append(row["value"])
            found.setdefault((f"{kind}, {part}", int(rate)), {}).setdefault(row["method"], []).append(row["value"])
    return [
        {"noise": kind, "percent": rate} | {name: round(float(np.mean(values)), 3) for name, values in by.items()}
        for (kind, rate), by in found.items()
    ]


TASKS = {
    task.name: task
    for task in (make_task(corpus, kind, rate) for corpus in CORPORA for kind in KINDS for rate in RATES)
}
SCORES = ("self_confidence", "normalized_margin")
METHODS = {"isthmus": Method("isthmus", run_ours)}
if importlib.util.find_spec("cleanlab") is not None:
    METHODS |= {
        f"cleanlab-{score}": Method(f"cleanlab-{score}", functools.partial(run_cleanlab, score=score))
        for score in SCORES
    }

SUITE = Suite(
    name="doubt",
    summary="wrong source labels: planted ones found, against cleanlab",
    tasks=TASKS,
    methods=METHODS,
    seeds=(0, 1),
    means={
        f"{kind} {round(100 * rate)} %{part}": tuple(f"{c}-{kind}-{round(100 * rate)}" for c in corpora)
        for part, corpora in (("", [c for c in CORPORA if c not in HELD_OUT]), (", held out", HELD_OUT))
        for kind in KINDS
        for rate in RATES
    },
    derived={"against-cleanlab": against_cleanlab},
)
