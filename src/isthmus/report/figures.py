"""Pictures of the pages as numbers: where each mark stands, and a method's own record. Templates draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

COLOURS = 8
_MOST_TICKS = 6
MAPPED = {"target": 700, "source": 400}  # documents drawn


def map_figure(places: np.ndarray, n_source: int, source: dict[str, Any], target: dict[str, Any]) -> dict[str, Any]:
    """Points in percent of the room; ``places`` lie between −1 and 1, sides have ``rows`` and ``codes``."""
    drawn = {}
    for side, start, facts in (("source", 0, source), ("target", n_source, target)):
        across, up = 2 + 48 * (places[start + facts["rows"]].T + 1)
        drawn[side] = [
            {"i": int(row), "x": round(float(x), 2), "y": round(float(100 - y), 2),
             "code": int(code), "colour": int(code) % COLOURS if code >= 0 else "none"}
            for row, code, x, y in zip(facts["rows"], facts["codes"], across, up, strict=True)
        ]  # fmt: skip
    return drawn


def line_figure(
    points: Sequence[tuple[float, float]],
    *,
    percent: bool = True,
    x_percent: bool | None = None,
    mark: tuple[float, float] | None = None,
    from_zero: bool = True,
) -> dict[str, Any]:
    """A line with ticks, placed in percent of its room; ``mark`` is a point to be pointed out."""
    xs, ys = [point[0] for point in points], [point[1] for point in points]
    low_x, span_x = min(xs), (max(xs) - min(xs)) or 1.0
    ticks_y = _ticks(0.0 if from_zero else min(ys), max(ys))
    low_y, span_y = ticks_y[0], (ticks_y[-1] - ticks_y[0]) or 1.0

    def x_of(value: float) -> float:
        return round(1 + 98 * (value - low_x) / span_x, 2)

    def y_of(value: float) -> float:
        return round(88 - 80 * (value - low_y) / span_y, 2)

    def said(value: float, share: bool) -> str:
        return f"{100 * value:.4g} %" if share else f"{value:.5g}"

    x_share = percent if x_percent is None else x_percent

    ticks_x = [value for value in _ticks(low_x, max(xs)) if value <= max(xs) + 1e-9]
    return {
        "path": "M" + "L".join(f"{x_of(x)} {y_of(y)}" for x, y in points),
        "x_ticks": [{"at": x_of(value), "text": said(value, x_share)} for value in ticks_x],
        "y_ticks": [{"at": y_of(value), "text": said(value, percent)} for value in ticks_y],
        "mark": None if mark is None else {"x": x_of(mark[0]), "y": y_of(mark[1])},
    }


def lines_figure(shares: np.ndarray, names: Sequence[str]) -> dict[str, Any]:
    """A line per class (a row of ``shares``) over periods in order, placed in percent of its room."""
    ticks_y = _ticks(0.0, float(shares.max()))
    xs = [round(1 + 98 * place / (len(names) - 1), 2) for place in range(len(names))]

    def y_of(value: float) -> float:
        return round(88 - 80 * value / ticks_y[-1], 2)

    every = -(-len(names) // _MOST_TICKS)
    return {
        "lines": [
            {"path": "M" + "L".join(f"{x} {y_of(y)}" for x, y in zip(xs, row, strict=True)), "colour": i % COLOURS}
            for i, row in enumerate(shares.tolist())
        ],
        "x_ticks": [{"at": xs[place], "text": names[place]} for place in range(0, len(names), every)],
        "y_ticks": [{"at": y_of(value), "text": f"{100 * value:.4g} %"} for value in ticks_y],
        "mark": None,
    }


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from ``low`` up to the first at or above ``high``."""
    span = (high - low) or abs(high) or 1.0
    raw = span / 4
    size = 10.0 ** np.floor(np.log10(raw))
    step = float(size * next(m for m in (1, 2, 2.5, 5, 10) if m * size >= raw))
    first = np.floor(low / step + 1e-9) * step
    last = int(np.ceil((high - first) / step - 1e-9))
    return [round(float(first + i * step), 10) for i in range(last + 1)]


# -- A method's own record: one table, and one line, per measure


FEWEST_STEPS = 3  # a line through two points says nothing
_MOST_CURVES = 3


def step_curves(model: Any, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """A line and its table for each measure along the iterations of a model; ``names`` are what measures are called."""
    curves = []
    for measure, table in convergence_tables(getattr(model, "history_", None) or []).items():
        if len(table) >= FEWEST_STEPS:
            points = [(row["step"], row[measure]) for row in table]
            curves.append(
                {
                    "measure": names.get(measure, measure.replace("_", " ")),
                    "rows": [{"step": step, "value": value} for step, value in points],
                    "figure": line_figure(points, percent=False, from_zero=False),
                }
            )
    return curves[:_MOST_CURVES]


def convergence_tables(history: Sequence[Any]) -> dict[str, list[dict]]:
    """A method's record as one table per measure.

    Records are lists of numbers (the objective) or of dicts (several measures); measures that are not numbers, and
    steps without the measure, are left out.
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
