"""Compare methods on a user's own labelled files: ``isthmus bench --source FILE --target FILE --label COLUMN``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import isthmus
from isthmus.corpus import read_collection
from isthmus.evaluate import accuracy, macro_f1
from isthmus.exceptions import DataError, UsageError
from isthmus.methods import METHODS
from isthmus_bench.baselines import BASELINES, make_method
from isthmus_bench.engine.suite import TaskData
from isthmus_bench.significance import bootstrap_interval, mcnemar

DEFAULT_METHODS = ("nbc", "logistic", "self-training", "cocc", "projection", "strings", "auto")


def read_task(source: str | Path, target: str | Path, label: str, text: str | None = None) -> TaskData:
    """Read a labelled source and a labelled target; the target's labels serve only as truth.

    Parameters
    ----------
    source, target : path
        Files that :func:`isthmus.corpus.read_collection` reads.
    label : str
        Column of labels in both files.
    text : str, optional
        Column of texts; guessed if omitted.

    Returns
    -------
    TaskData

    Raises
    ------
    DataError
        With code ``labels-not-classes`` if no label of the target occurs in the source.
    """
    sides = [read_collection(path, text=text, label=label) for path in (source, target)]
    first, second = (
        [(one, str(name)) for one, name in zip(side.texts, side.labels, strict=True) if name is not None]
        for side in sides
    )
    if not {name for _, name in first} & {name for _, name in second}:
        raise DataError(
            f"No label of {target} occurs in {source}; give two files whose column {label!r} has the same classes.",
            code="labels-not-classes",
        )
    return TaskData.from_rows(first, second)


def predict(method: str, data: TaskData, seed: int) -> np.ndarray:
    """Label the target with a method of Isthmus, ``auto`` or a baseline.

    Parameters
    ----------
    method : str
    data : TaskData
    seed : int

    Returns
    -------
    ndarray of str, shape (n_target,)
    """
    if method in BASELINES:
        texts, labels, domain = data.joined()
        model = make_method(method, random_state=seed).fit(texts, labels, sample_domain=domain)
        return model.transduction_[domain < 0].astype(str)
    result = isthmus.label(data.source_texts, data.source_labels, data.target_texts, method=method, random_state=seed)
    return result.labels.astype(str)


def check_methods(methods: Sequence[str]) -> None:
    """Refuse unknown methods before any work begins.

    Parameters
    ----------
    methods : sequence of str

    Raises
    ------
    UsageError
        With code ``unknown-method``.
    """
    for name in methods:
        if name not in METHODS and name not in BASELINES and name != "auto":
            known = ", ".join(["auto", *METHODS, *BASELINES])
            raise UsageError(f"No method is called {name!r}; choose from: {known}.", code="unknown-method")


def compare_methods(
    data: TaskData,
    methods: Sequence[str] = DEFAULT_METHODS,
    seeds: Sequence[int] = (0,),
    report: Callable[[str], Any] = lambda line: None,
) -> list[dict]:
    """Measure accuracy and macro-F1 of several methods on one task, and test each against the best other method.

    Intervals are 95% percentile bootstrap intervals over documents; with several seeds, each draw averages the seeds.
    McNemar's exact test compares the labels of the first seed; Holm's method corrects the p-values for the number of
    methods.

    Parameters
    ----------
    data : TaskData
    methods : sequence of str
    seeds : sequence of int
    report : callable
        Receives one line of progress per fit.

    Returns
    -------
    list of dict
        One row per method, in the given order.
    """
    check_methods(methods)
    truth = np.array(data.target_labels, dtype=str)
    predictions: dict[str, np.ndarray] = {}
    seconds: dict[str, float] = {}
    for name in methods:
        began = time.perf_counter()
        labels = []
        for seed in seeds:
            labels.append(predict(name, data, seed))
            report(f"{name}  seed {seed}  accuracy {np.mean(labels[-1] == truth):.4f}")
        predictions[name] = np.array(labels).T  # one row per document, one column per seed
        seconds[name] = (time.perf_counter() - began) / len(seeds)
    right = {name: accuracy(truth, found[:, 0]) for name, found in predictions.items()}
    rows = []
    for name, found in predictions.items():
        row: dict[str, Any] = {"method": name, "documents": len(truth), "seeds": len(seeds)}
        # The rows of two label columns are drawn together, so documents are numbered and looked up in each draw.
        numbers = np.arange(len(truth))
        for metric, score in (("accuracy", accuracy), ("macro_f1", macro_f1)):
            mean = partial(_mean_over_seeds, score, truth, found)
            interval = bootstrap_interval(mean, numbers, numbers)
            row |= {metric: interval.estimate, f"{metric}_low": interval.low, f"{metric}_high": interval.high}
        others = [other for other in predictions if other != name]
        if others:
            best = max(others, key=right.__getitem__)
            row |= {"against": best, "p_value": mcnemar(truth, found[:, 0], predictions[best][:, 0]).p_value}
        rows.append(row)
    if len(rows) > 1:
        for row, value in zip(rows, holm([row["p_value"] for row in rows]), strict=True):
            row["p_holm"] = value
    return [{**row, "seconds": round(seconds[row["method"]], 2)} for row in rows]


def _mean_over_seeds(score: Callable, truth: np.ndarray, found: np.ndarray, rows: Any, _: Any) -> float:
    picked = np.asarray(rows, dtype=int)
    return float(np.mean([score(truth[picked], labels) for labels in found[picked].T]))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for several tests by Holm's step-down method.

    Parameters
    ----------
    p_values : sequence of float

    Returns
    -------
    list of float
        In the given order, at most 1.

    Examples
    --------
    >>> [round(value, 3) for value in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(np.argsort(p_values, kind="stable")):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def latex_table(rows: Sequence[dict]) -> str:
    """Return the comparison as a LaTeX table; the best method is bold.

    Parameters
    ----------
    rows : sequence of dict
        As :func:`compare_methods` returns them.

    Returns
    -------
    str
    """
    best = max(row["accuracy"] for row in rows)
    lines = [
        r"\begin{tabular}{lrrr}",
        r"\hline",
        r"Method & Accuracy (95\% interval) & Macro-F1 (95\% interval) & $p$ (Holm) \\",
        r"\hline",
    ]
    for row in rows:
        cells = [
            f"{row[metric]:.3f} ({row[f'{metric}_low']:.3f}--{row[f'{metric}_high']:.3f})"
            for metric in ("accuracy", "macro_f1")
        ]
        if row["accuracy"] == best:
            cells[0] = rf"\textbf{{{cells[0]}}}"
        p_value = "--" if "p_holm" not in row else "$<$0.001" if row["p_holm"] < 0.001 else f"{row['p_holm']:.3f}"
        name = row["method"].replace("_", r"\_")
        lines.append(" & ".join([name, *cells, p_value]) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])
