"""Labels broken down by a column of the target: a row per value, or per period where the column holds dates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np

from isthmus._utils import plural
from isthmus.exceptions import UsageError
from isthmus.report import figures

_ROWS = 40  # values, or periods, that have a row of their own
_DATED = 0.9  # share of the filled cells that must be dates
_FEWEST_PERIODS = 3  # a line through two points says nothing
BLANK = "(blank)"
# Coarser and coarser; the first that gives at most _ROWS periods is taken.
_PERIODS: dict[str, Callable[[date], str]] = {
    "day": lambda day: day.isoformat(),
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04} Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04}",
}


def by_facts(result, by: tuple[str, Sequence] | None) -> dict[str, Any] | None:
    """The breakdown as the page shows it; None where none was asked for."""
    if by is None:
        return None
    name, values = by
    if len(values) != len(result.labels):
        raise UsageError(
            f"The column to break down by has {len(values):,} values for {plural(len(result.labels), 'document')}; "
            "give one for each.",
            code="length-mismatch",
        )
    facts = {"name": name, "classes": [str(label) for label in result.classes.tolist()]}
    dated = time_periods(values)
    if dated is None:
        said = [BLANK if value is None or value == "" else str(value) for value in values]
        return {**facts, "rows": _value_rows(result, said), "period": None, "figure": None}
    period, said = dated
    rows = [row for row in _value_rows(result, said, all_rows=True) if row["value"] != BLANK]
    shares = [[part["share"] for part in row["shares"]] for row in rows]
    drawn = len(rows) >= _FEWEST_PERIODS
    figure = figures.lines_figure(np.array(shares).T, [row["value"] for row in rows]) if drawn else None
    return {**facts, "rows": rows, "period": period, "figure": figure, "undated": said.count(BLANK)}


def time_periods(values: Sequence) -> tuple[str, list[str]] | None:
    """The period of each value, in the finest unit that gives few enough; None where the column holds no dates."""
    days = [_as_day(value) for value in values]
    filled = sum(value is not None and value != "" for value in values)
    found = sum(day is not None for day in days)
    if not found or found < _DATED * filled:
        return None
    said = {name: [BLANK if day is None else period(day) for day in days] for name, period in _PERIODS.items()}
    fits = [name for name in said if len(set(said[name]) - {BLANK}) <= _ROWS]
    unit = fits[0] if fits else list(said)[-1]
    return unit, said[unit]


def _as_day(value: Any) -> date | None:
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    text = str(value).strip() if isinstance(value, str) else ""
    if len(text) < 8 or not text[:4].isdigit():  # a bare number is no date
        return None
    try:
        return datetime.fromisoformat(text.replace("/", "-")).date()
    except ValueError:
        return None


def _value_rows(result, said: list[str], *, all_rows: bool = False) -> list[dict[str, Any]]:
    """A row per value in order; beyond the commonest, the rest together."""
    counts = Counter(said)
    shown = sorted((value for value, _ in counts.most_common(None if all_rows else _ROWS)), key=_by_number)
    cells = np.array(said, dtype=object)
    rows = [_value_row(result, value, cells == value) for value in shown]
    rest = ~np.isin(cells, shown)
    if rest.any():
        rows.append(_value_row(result, f"{len(counts) - len(shown):,} other values", rest))
    return rows


def _by_number(value: str) -> tuple:
    try:
        return (0, float(value), value)
    except ValueError:
        return (1, 0.0, value)


def _value_row(result, value: str, mask: np.ndarray) -> dict[str, Any]:
    shares = [float(np.mean(result.labels[mask] == name)) for name in result.classes.tolist()]
    starts = np.concatenate([[0.0], np.cumsum(shares)[:-1]])
    return {
        "value": value,
        "documents": int(mask.sum()),
        "shares": [
            {"share": share, "start": float(start), "colour": i % figures.COLOURS}
            for i, (share, start) in enumerate(zip(shares, starts, strict=True))
        ],
        "review": float(result.needs_review[mask].mean()),
        "sure": float(result.confidence[mask].mean()),
    }
