"""Tables of benchmark rows: tasks × methods for reading, as text or as Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_OWN = {"task", "method", "metric", "value", "seconds", "seed"}  # fields of every row; others tell variants apart
_WIDEST = 20  # columns; a table with more, and fewer tasks than that, is turned


@dataclass(frozen=True)
class Grid:
    """A table ready to be written: header, body, and which columns hold numbers."""

    title: str
    header: list[str]
    body: list[list[str]]

    def text(self) -> str:
        """Aligned columns for a terminal."""
        lines = [self.header, *self.body]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]
        numeric = [_looks_numeric([line[i] for line in self.body]) for i in range(len(self.header))]
        shown = [
            "  ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in zip(line, widths, numeric, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([self.title, *shown] if self.title else shown)

    def markdown(self) -> str:
        """A Markdown table."""
        numeric = [_looks_numeric([line[i] for line in self.body]) for i in range(len(self.header))]
        rule = ["---:" if right else "---" for right in numeric]
        lines = [
            "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in (self.header, *self.body)
        ]
        lines.insert(1, "|" + "|".join(rule) + "|")
        return "\n".join([f"**{self.title}**", "", *lines] if self.title else lines)

    def turned(self, corner: str) -> Grid:
        """Rows as columns; ``corner`` heads the first."""
        header, *body = map(list, zip(self.header, *self.body, strict=True))
        return Grid(title=self.title, header=[corner, *header[1:]], body=body)


def grids(
    rows: Sequence[dict],
    *,
    tasks: Iterable[str] = (),
    methods: Iterable[str] = (),
    not_run: Iterable[str] = (),
    means: Mapping[str, tuple[str, ...]] | None = None,
) -> list[Grid]:
    """One grid per metric (tasks × methods, mean ± standard deviation over seeds, mean row), and the speed table.

    Variants of a method have columns of their own, named by the settings in which they differ; a whole number that was
    measured beside the scores and differs along with a setting has a grid of its own. ``tasks`` and ``methods`` give
    the order; what they do not name comes after. Tasks ``not_run`` stand in every grid. ``means`` groups tasks;
    a group stands below the table where at least two of its tasks do, and says so if not all do.
    """
    timed = [row for row in rows if "ours_s" in row]
    scored = [row for row in rows if "ours_s" not in row]
    found = [_speed_grid(timed)] if timed else []
    task_order = _ordered(tasks, [row["task"] for row in scored])
    labelled, measures = _label_variants(scored)
    columns = _ordered_columns(methods, labelled)
    for metric in dict.fromkeys(row["metric"] for row in scored):
        chosen = [(row, label) for row, label in labelled if row["metric"] == metric]
        names = [label for label in columns if any(label == own for _, own in chosen)]
        grid = _metric_grid(metric, chosen, task_order, names, list(not_run), means or {})
        found.append(grid.turned("method") if len(names) > max(_WIDEST, len(grid.body)) else grid)
    return found + [_measure_grid(measure, labelled, task_order, columns) for measure in measures]


def _metric_grid(
    metric: str,
    rows: list[tuple[dict, str]],
    tasks: list[str],
    labels: list[str],
    not_run: list[str],
    means: Mapping[str, tuple[str, ...]],
) -> Grid:
    values: dict[tuple[str, str], list[float]] = {}
    for row, label in rows:
        values.setdefault((row["task"], label), []).append(np.nan if row["value"] is None else float(row["value"]))
    shown = [task for task in tasks if any((task, label) in values for label in labels)]
    body = [[task, *(_cell(values.get((task, label))) for label in labels)] for task in shown]
    groups = {f"mean {name}": list(own) for name, own in means.items()} or {"mean": shown}
    for name, members in groups.items():
        if sum(task in shown for task in members) > 1:
            body.append([name, *(_mean_cell([values.get((task, label)) for task in members]) for label in labels)])
    body += [[task, *("not run" for _ in labels)] for task in not_run]
    return Grid(title=metric, header=["task", *labels], body=body)


def _measure_grid(measure: str, rows: list[tuple[dict, str]], tasks: list[str], labels: list[str]) -> Grid:
    values = {(row["task"], label): row[measure] for row, label in rows if row.get(measure) is not None}
    there = [label for label in labels if any(label == own for _, own in values)]
    shown = [task for task in tasks if any(task == own for own, _ in values)]
    table = [{"task": task, **{label: values.get((task, label)) for label in there}} for task in shown]
    return table_grid(table, title=measure)


def _cell(values: list[float] | None) -> str:
    if not values:
        return "–"
    mean = f"{np.mean(values):.4f}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values, ddof=1):.4f}"


def _mean_cell(cells: list[list[float] | None]) -> str:
    there = [np.mean(cell) for cell in cells if cell]
    if not there:
        return "–"
    mean = f"{np.mean(there):.4f}"
    return mean if len(there) == len(cells) else f"{mean} ({len(there)} of {len(cells)})"


def _speed_grid(rows: list[dict]) -> Grid:
    fixed = ["task", "method", "ours_s", "peer", "peer_s", "ratio"]
    extra = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in _OWN and key not in fixed]
    return table_grid([{key: row.get(key) for key in (*fixed, *extra)} for row in rows], title="")


def table_grid(rows: Sequence[dict], title: str = "") -> Grid:
    """Any list of dicts as a grid; columns in order of first appearance."""
    header = list(dict.fromkeys(key for row in rows for key in row))
    return Grid(title=title, header=header, body=[[_show(row.get(key)) for key in header] for row in rows])


def to_csv(rows: Sequence[dict]) -> str:
    """A list of dicts as CSV with all digits."""
    header = list(dict.fromkeys(key for row in rows for key in row))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, header, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _show(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return " ".join(str(value).split())


def _looks_numeric(cells: list[str]) -> bool:
    return bool(cells) and all(cell in ("–", "not run") or cell[:1].isdigit() or cell[:1] == "-" for cell in cells)


def _ordered(first: Iterable[str], present: Iterable[str]) -> list[str]:
    there = dict.fromkeys(present)
    return list(dict.fromkeys([*(name for name in first if name in there), *there]))


def _label_variants(rows: Sequence[dict]) -> tuple[list[tuple[dict, str]], list[str]]:
    """Rows and the names of their columns (the method, and what tells several rows of one metric apart); measures."""
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        groups.setdefault((row["method"], row["task"], row["metric"], row.get("seed")), []).append(row)
    several: dict[str, list[list[dict]]] = {}
    for (method, *_), group in groups.items():
        if len(group) > 1:
            several.setdefault(method, []).append(group)
    same_as = {method: _repeated(found) for method, found in several.items()}
    labelled = []
    for (method, *_), group in groups.items():
        telling = [key for key in _telling(group) if key not in same_as[method]] if len(group) > 1 else []
        for row in group:
            parts = ", ".join(f"{key}={_show(row.get(key))}" for key in telling)
            labelled.append((row, f"{method} ({parts})" if parts else method))
    measures = [
        key
        for method, found in same_as.items()
        for key, kept in found.items()
        if any(row.get(key) != row.get(kept) for group in several[method] for row in group)
    ]
    return labelled, list(dict.fromkeys(measures))


def _telling(group: list[dict]) -> list[str]:
    fields = [key for key in dict.fromkeys(k for row in group for k in row) if key not in _OWN]
    return [key for key in fields if len({str(row.get(key)) for row in group}) > 1 and _is_name(group, key)]


def _repeated(groups: list[list[dict]]) -> dict[str, str]:
    """Fields that tell the same rows apart as another one in every group, and that other one.

    The one with the fewest values is kept: a setting recurs from task to task, what was measured under it does not.
    """
    alike: dict[tuple, list[str]] = {}
    for key in dict.fromkeys(key for group in groups for key in _telling(group)):
        columns = [[str(row.get(key)) for row in group] for group in groups]
        alike.setdefault(tuple(column.index(value) for column in columns for value in column), []).append(key)
    found = {}
    for keys in alike.values():
        kept = min(keys, key=lambda key: len({str(row.get(key)) for group in groups for row in group}))
        found.update({key: kept for key in keys if key != kept})
    return found


def _is_name(group: list[dict], key: str) -> bool:
    # A measured float differs from row to row as well; what names a variant is a word or a whole number.
    return all(not isinstance(row.get(key), float) for row in group)


def _ordered_columns(methods: Iterable[str], labelled: list[tuple[dict, str]]) -> list[str]:
    order = {name: place for place, name in enumerate(_ordered(methods, [row["method"] for row, _ in labelled]))}
    labels = dict.fromkeys((row["method"], label) for row, label in labelled)
    return [label for _, label in sorted(labels, key=lambda pair: order[pair[0]])]
