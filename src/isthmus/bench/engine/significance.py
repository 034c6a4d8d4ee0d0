"""Is a method better than another on a task, or was it chance? McNemar's test on the documents each got right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from isthmus.bench.engine.records import Key, Record
from isthmus.bench.engine.suite import Suite, unpack_correct
from isthmus.evaluate import mcnemar
from isthmus.exceptions import DataError


def compare(correct: Mapping[Key, str], task: str, method: str, other: str, *, seed: int | None = None) -> dict:
    """McNemar's exact test of two methods on one task.

    Parameters
    ----------
    correct : mapping
        Packed right-or-wrong answers by (task, method, seed), as a record keeps them in ``record.correct``.
    task, method, other : str
        What to compare.
    seed : int, optional
        Which run of a seeded method; if omitted, the first one. Runs are not pooled: they share their documents.

    Returns
    -------
    dict
        Accuracies, documents that only one of them got right, two-sided p-value.
    """
    first, second = (unpack_correct(_answers(correct, task, name, seed)) for name in (method, other))
    if len(first) != len(second):
        raise DataError(
            f"On {task}, {method} answered {len(first)} documents and {other} {len(second)}; use --force.",
            code="length-mismatch",
        )
    result = mcnemar(np.ones(len(first), dtype=int), first.astype(int), second.astype(int))
    return {
        "task": task,
        "method": method,
        "other": other,
        "accuracy": float(first.mean()),
        "other_accuracy": float(second.mean()),
        "only_method": result.only_a,
        "only_other": result.only_b,
        "p_value": result.p_value,
    }


def compare_best(correct: Mapping[Key, str], task: str, method: str, others: Iterable[str]) -> dict:
    """:func:`compare` with the most accurate of ``others`` (chosen after the fact, which favours the other side)."""
    named = [name for name in others if name != method and _has(correct, task, name)]
    if not named:
        raise DataError(f"On {task} no method to compare {method} with has kept its answers.", code="missing-data")
    best = max(named, key=lambda name: unpack_correct(_answers(correct, task, name, None)).mean())
    return compare(correct, task, method, best)


def contrasts(suite: Suite, record: Record) -> list[dict]:
    """One row per task and contrast the suite asks for, where both sides have kept their answers."""
    return [
        compare_best(record.correct, task, method, others)
        for method, others in suite.contrasts.items()
        for task in suite.tasks
        if _has(record.correct, task, method) and any(_has(record.correct, task, o) for o in others if o != method)
    ]


def _seeds(correct: Mapping[Key, str], task: str, method: str) -> list[int | None]:
    return sorted((k[2] for k in correct if k[:2] == (task, method)), key=lambda s: -1 if s is None else s)


def _has(correct: Mapping[Key, str], task: str, method: str) -> bool:
    return bool(_seeds(correct, task, method))


def _answers(correct: Mapping[Key, str], task: str, method: str, seed: int | None) -> str:
    seeds = _seeds(correct, task, method)
    if not seeds:
        raise DataError(
            f"{method} has kept no answers on {task}; use --force, and see that its rows carry 'correct'.",
            code="missing-data",
        )
    return correct[task, method, seed if seed in seeds else seeds[0]]
