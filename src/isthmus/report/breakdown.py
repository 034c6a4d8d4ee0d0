"""Labels broken down by a column of the target: a row per value, or per period where the column holds dates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.choose.prevalence import BLANK, time_periods, value_masks
from isthmus.report import figures

_FEWEST_PERIODS = 3  # a line through two points says nothing


def by_facts(result, by: tuple[str, Sequence] | None) -> dict[str, Any] | None:
    """The breakdown as the page shows it; None where none was asked for."""
    if by is None:
        return None
    name, values = by
    period, masks = value_masks(values, len(result.labels))
    shares: dict[str, list[dict]] = {}
    for row in result.class_shares(by=values):
        shares.setdefault(row["value"], []).append(row)
    rows = [_value_row(result, value, mask, shares[value]) for value, mask in masks]
    facts = {"name": name, "classes": [str(label) for label in result.classes.tolist()], "rows": rows}
    if period is None:
        return {**facts, "period": None, "figure": None}
    drawn = len(rows) >= _FEWEST_PERIODS
    table = np.array([[part["share"] for part in row["shares"]] for row in rows]).T
    figure = figures.lines_figure(table, [row["value"] for row in rows]) if drawn else None
    dated = time_periods(values)
    return {**facts, "period": period, "figure": figure, "undated": 0 if dated is None else dated[1].count(BLANK)}


def _value_row(result, value: str, mask: np.ndarray, shares: list[dict]) -> dict[str, Any]:
    """One value: shares by the labels for the bars, estimates with their intervals for the figures."""
    given = [row["labels"] for row in shares[: len(result.classes)]]
    starts = np.concatenate([[0.0], np.cumsum(given)[:-1]])
    return {
        "value": value,
        "documents": int(mask.sum()),
        "shares": [
            {"share": row["labels"], "start": float(start), "colour": i % figures.COLOURS}
            | {name: row[name] for name in ("estimate", "low", "high", "basis")}
            for i, (row, start) in enumerate(zip(shares, starts, strict=False))
        ],
        "review": float(result.needs_review[mask].mean()),
        "sure": float(result.confidence[mask].mean()),
    }
