"""Compute the positions of marks in the figures of the pages, and tables of a method's iterations.

Templates draw the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

COLOURS = 8  # colours in the palette of the style sheet
_MOST_TICKS = 6  # most labels along an axis
MAPPED = {"target": 700, "source": 400}  # most documents on a map per collection


def map_figure(places: np.ndarray, n_source: int, source: dict[str, Any], target: dict[str, Any]) -> dict[str, Any]:
    """Return the points of a map in percent of its width and height.

    Parameters
    ----------
    places : ndarray of shape (n_source + n_target, 2)
        Coordinates between −1 and 1, source documents first.
    n_source : int
        Number of source documents.
    source, target : dict
        ``rows`` (row numbers within the collection) and ``codes`` (class codes, -1 for none).

    Returns
    -------
    dict of str to list of dict
        Points of "source" and "target".
    """
    drawn = {}
    for side, start, facts in (("source", 0, source), ("target", n_source, target)):
        # 2 to 98 percent: no point touches the edge of the map.
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
    """Return a line with ticks in percent of the figure's width and height.

    Parameters
    ----------
    points : sequence of (float, float)
        Points of the line.
    percent : bool
        Whether y values are shares, written in percent.
    x_percent : bool, optional
        Whether x values are shares; as ``percent`` if omitted.
    mark : (float, float), optional
        Point to highlight.
    from_zero : bool
        Whether the y axis starts at 0.

    Returns
    -------
    dict
        ``path``, ``x_ticks``, ``y_ticks`` and ``mark``.
    """
    xs, ys = [point[0] for point in points], [point[1] for point in points]
    low_x, span_x = min(xs), (max(xs) - min(xs)) or 1.0
    ticks_y = _ticks(0.0 if from_zero else min(ys), max(ys))
    low_y, span_y = ticks_y[0], (ticks_y[-1] - ticks_y[0]) or 1.0

    def x_of(value: float) -> float:
        """Return the horizontal position in percent.

        Parameters
        ----------
        value : float

        Returns
        -------
        float
        """
        return round(1 + 98 * (value - low_x) / span_x, 2)

    def y_of(value: float) -> float:
        """Return the vertical position in percent, from the top.

        Parameters
        ----------
        value : float

        Returns
        -------
        float
        """
        return round(88 - 80 * (value - low_y) / span_y, 2)

    def said(value: float, share: bool) -> str:
        """Return the text of a tick.

        Parameters
        ----------
        value : float
            Number or share.
        share : bool
            Whether to write it in percent.

        Returns
        -------
        str
        """
        return f"{100 * value:.4g}%" if share else f"{value:.5g}"

    x_share = percent if x_percent is None else x_percent

    ticks_x = [value for value in _ticks(low_x, max(xs)) if value <= max(xs) + 1e-9]
    return {
        "path": "M" + "L".join(f"{x_of(x)} {y_of(y)}" for x, y in points),
        "x_ticks": [{"at": x_of(value), "text": said(value, x_share)} for value in ticks_x],
        "y_ticks": [{"at": y_of(value), "text": said(value, percent)} for value in ticks_y],
        "mark": None if mark is None else {"x": x_of(mark[0]), "y": y_of(mark[1])},
    }


def lines_figure(shares: np.ndarray, names: Sequence[str]) -> dict[str, Any]:
    """Return one line per class over periods, in percent of the figure's width and height.

    Parameters
    ----------
    shares : ndarray of shape (n_classes, n_periods)
        Class proportions.
    names : sequence of str
        Names of the periods in order.

    Returns
    -------
    dict
        ``lines``, ``x_ticks``, ``y_ticks`` and ``mark``.
    """
    ticks_y = _ticks(0.0, float(shares.max()))
    xs = [round(1 + 98 * place / (len(names) - 1), 2) for place in range(len(names))]

    def y_of(value: float) -> float:
        """Return the vertical position in percent, from the top.

        Parameters
        ----------
        value : float

        Returns
        -------
        float
        """
        return round(88 - 80 * value / ticks_y[-1], 2)

    # Rounded up, so that the labels do not overlap.
    every = -(-len(names) // _MOST_TICKS)
    return {
        "lines": [
            {"path": "M" + "L".join(f"{x} {y_of(y)}" for x, y in zip(xs, row, strict=True)), "colour": i % COLOURS}
            for i, row in enumerate(shares.tolist())
        ],
        "x_ticks": [{"at": xs[place], "text": names[place]} for place in range(0, len(names), every)],
        "y_ticks": [{"at": y_of(value), "text": f"{100 * value:.4g}%"} for value in ticks_y],
        "mark": None,
    }


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers from at most ``low`` to at least ``high``."""
    span = (high - low) or abs(high) or 1.0
    raw = span / 4
    size = 10.0 ** np.floor(np.log10(raw))
    step = float(size * next(m for m in (1, 2, 2.5, 5, 10) if m * size >= raw))
    # The small constant absorbs rounding errors at exact multiples of the step.
    first = np.floor(low / step + 1e-9) * step
    last = int(np.ceil((high - first) / step - 1e-9))
    return [round(float(first + i * step), 10) for i in range(last + 1)]


# -- Record of a method's iterations: one table and one line per measure


FEWEST_STEPS = 3  # points of a line; fewer points show no trend
_MOST_CURVES = 3  # most curves on a page


def step_curves(history: Sequence[Any] | None, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a line and a table for each measure over the iterations of a model.

    Parameters
    ----------
    history : sequence of float or dict, or None
        One entry per iteration: the objective, or several measures.
    names : mapping of str to str
        Titles of measures.

    Returns
    -------
    list of dict
        At most three curves.
    """
    curves = []
    for measure, table in convergence_tables(history or []).items():
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
    """Return one table per measure over the iterations.

    Parameters
    ----------
    history : sequence of float or dict
        One entry per iteration: the objective, or several measures.

    Returns
    -------
    dict of str to list of dict
        Tables by measure, without values that are not finite numbers.
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
