"""What the studies behind ``isthmus bench tune`` share: means by setting, and choices that leave a corpus out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from isthmus._progress import progress


def tune(
    methods: Mapping[str, Mapping[str, dict[str, Any]]],
    cases: Iterable[tuple[str, Iterable[str], Any]],
    score: Callable[[Any, str, dict[str, Any]], float],
    column: str,
    left_out: Mapping[str, Iterable[str]],
    *,
    largest: bool,
) -> list[dict]:
    """Every setting of every method on every case, and for each method what :func:`choice_rows` makes of it.

    Parameters
    ----------
    methods : mapping
        Method to its settings by name, each a mapping of parameters.
    cases : iterable of (name, corpora, data)
        What settings are compared on, one after another; ``corpora`` are those whose labels are used.
    score : callable
        ``score(data, method, parameters)``.
    column : str
        Name of the score.
    left_out : mapping
        Benchmark task to the corpora that its choice may not use.
    largest : bool
        Whether more is better.
    """
    rows: dict[str, list[dict]] = {name: [] for name in methods}
    for place, (case, corpora, data) in enumerate(cases, 1):
        used = ", ".join(corpora)
        for name, settings in methods.items():
            for setting, changes in settings.items():
                value = score(data, name, changes)
                rows[name].append({"case": case, "corpora": used, "setting": setting, column: value})
        progress("cases", place)
    return [
        {"method": name, **row}
        for name, found in rows.items()
        for row in choice_rows(found, column, left_out, largest=largest)
    ]


def setting_means(rows: Iterable[Mapping], column: str, *, leave_out: Iterable[str] = ()) -> dict[str, float]:
    """Mean of ``column`` by setting, over the rows whose ``corpora`` share nothing with ``leave_out``."""
    out = set(leave_out)
    values: dict[str, list[float]] = {}
    for row in rows:
        if not out & set(row["corpora"].split(", ")):
            values.setdefault(row["setting"], []).append(row[column])
    return {setting: float(np.mean(found)) for setting, found in values.items()}


def choice_rows(rows: list[dict], column: str, cases: Mapping[str, Iterable[str]], *, largest: bool) -> list[dict]:
    """The whole table: the rows, the mean of each setting, and what each case would choose without its own corpora.

    Parameters
    ----------
    rows : list of dict
        With ``corpora`` (names joined by ", "), ``setting`` and ``column``.
    column : str
        What settings are compared by.
    cases : mapping
        Benchmark task (or corpus) to the corpora that its choice may not use.
    largest : bool
        Whether more is better.

    Returns
    -------
    list of dict
        ``part`` is "one" for the rows given, "mean" for the means, "left out" for the choices: there ``corpora`` names
        what was left out, and ``setting`` is what the rest chooses; its ``column`` is the mean it was chosen by.
    """
    pick = max if largest else min
    table = [{"part": "one", **row} for row in rows]
    means = setting_means(rows, column)
    table += [{"part": "mean", "case": "all", "corpora": "", "setting": s, column: v} for s, v in means.items()]
    for case, corpora in cases.items():
        left = setting_means(rows, column, leave_out=corpora)
        if left:
            best = pick(left, key=lambda setting: left[setting])
            chosen = {"case": case, "corpora": ", ".join(corpora), "setting": best, column: left[best]}
            table.append({"part": "left out", **chosen})
    return table
