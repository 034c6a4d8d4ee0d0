"""A method's own record as tables: one per measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def convergence_tables(history: Sequence[Any]) -> dict[str, list[dict]]:
    """A method's record as one table per measure.

    Records are lists of numbers (the objective) or of dicts (several measures); steps where a measure is missing are
    left out, as are measures that are not numbers.

    Examples
    --------
    >>> from isthmus.report.tables import convergence_tables
    >>> convergence_tables([3.0, 2.5])
    {'objective': [{'step': 1, 'objective': 3.0}, {'step': 2, 'objective': 2.5}]}
    >>> list(convergence_tables([{"round": 1, "changed": None, "error": 0.2}, {"changed": 4, "error": 0.1}]))
    ['changed', 'error']
    """
    tables: dict[str, list[dict]] = {}
    for step, entry in enumerate(history, 1):
        measures = entry if isinstance(entry, dict) else {"objective": entry}
        for name, value in measures.items():
            number = not isinstance(value, (bool, np.bool_)) and isinstance(value, (int, float, np.number))
            if name in ("round", "step", "iteration", "time") or not (number or value is None):
                continue
            rows = tables.setdefault(name, [])
            if value is not None and np.isfinite(value):
                rows.append({"step": step, name: float(value)})
    return {name: rows for name, rows in tables.items() if rows}
