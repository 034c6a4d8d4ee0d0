"""Tables of benchmark rows, as text or as Markdown, and the pages beside a record."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._utils import versions
from isthmus_bench.engine.records import Record, contrasts, machine, write_text
from isthmus_bench.engine.suite import Suite

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
    fixed += [key for key in ("limit", "of_ceiling", "bound") if any(key in row for row in rows)]
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


# -- The record as pages to read: results.md, a table per study, significance tests


def write_pages(suite: Suite, record: Record, not_run: dict[str, str]) -> list[Path]:
    """Write ``results.md``, ``significance.csv`` and the studies' tables beside ``results.json``, and list them."""
    folder = record.path.parent
    written = [record.path]
    tests = with_earlier(contrasts(suite, record), folder / "significance.csv", suite, record)
    if tests:
        written.append(_write(folder / "significance.csv", to_csv(tests)))
    for name, rows in derived_tables(suite, record).items():
        written.append(_write(folder / f"{name}.csv", to_csv(rows)))
    for name, entry in record.studies.items():
        if entry.get("rows"):
            written.append(_write(folder / f"{name}.csv", to_csv(entry["rows"])))
            written.append(_write(folder / f"{name}.md", _study_page(suite, name, entry)))
    written.append(_write(folder / "results.md", results_page(suite, record, not_run, tests)))
    return written


def with_earlier(tests: list[dict], path: Path, suite: Suite, record: Record) -> list[dict]:
    """These tests, and the recorded ones of other tasks that still hold: both accuracies are those of the record.

    Which documents were right is kept in the cache alone, so a run of a few tasks cannot test the others again.
    """
    if not path.is_file():
        return tests
    fresh = {(test["task"], test["method"]) for test in tests}
    kept = list(tests)
    with path.open(encoding="utf-8", newline="") as stream:
        for line in csv.DictReader(stream):
            earlier: dict = {key: _number(value) for key, value in line.items()}
            if (earlier["task"], earlier["method"]) in fresh or earlier["task"] not in suite.tasks:
                continue
            sides = ((earlier["method"], earlier["accuracy"]), (earlier["other"], earlier["other_accuracy"]))
            if all(_has_accuracy(record, earlier["task"], method, value) for method, value in sides):
                kept.append(earlier)
    order = {name: place for place, name in enumerate(suite.tasks)}
    methods = {name: place for place, name in enumerate(suite.contrasts)}
    return sorted(kept, key=lambda test: (methods.get(test["method"], len(methods)), order[test["task"]]))


def _has_accuracy(record: Record, task: str, method: str, accuracy: float) -> bool:
    """Whether this method's first run has this accuracy, as an accuracy, micro-F1 or error."""
    seeds = [seed for own_task, own_method, seed in record.units if (own_task, own_method) == (task, method)]
    first = min(seeds, key=lambda seed: -1 if seed is None else seed, default=None)
    rows = record.units.get((task, method, first), {}).get("rows", ())
    values = [
        1.0 - row["value"] if row["metric"] == "error" else row["value"]
        for row in rows
        if row["metric"] in ("error", "accuracy", "micro_f1")
    ]
    return any(abs(value - accuracy) < 1e-9 for value in values)


def _number(text: str) -> str | float:
    try:
        return float(text) if "." in text or "e" in text.lower() else int(text)
    except ValueError:
        return text


def results_page(suite: Suite, record: Record, not_run: dict[str, str], tests: list[dict]) -> str:
    """The whole record as Markdown: tables, what failed, tests, and what the figures were made with."""
    absent = {**suite.absent, **not_run}
    parts = [f"# Suite {suite.name}", suite.summary]
    tables = suite_grids(suite, record.rows(), absent)
    parts += [grid.markdown() for grid in tables]
    for name, rows in derived_tables(suite, record).items():
        picture = [f"![{name}]({name}.svg)"] if name in suite.charts else []
        parts += [f"## {name}", *picture, table_grid(rows).markdown()]
    if tables and any(row.get("seed") is not None for row in record.rows()):
        parts.append("Mean ± standard deviation over seeds; no ± where one run is enough.")
    remarks = [f"- {task}: not run, {reason}" for task, reason in absent.items()]
    remarks += [f"- {f['task']}, {f['method']}: failed, {f['failure']}" for f in record.failures()]
    if remarks:
        parts.append("\n".join(dict.fromkeys(remarks)))
    if tests:
        parts += ["## McNemar's exact test against the best of the others", significance_grid(tests).markdown()]
    if record.studies:
        parts.append("## Studies\n\n" + "\n".join(f"- [{n}]({n}.md): {_summary(suite, n)}" for n in record.studies))
    parts.append(_made_with(record))
    return "\n\n".join(parts) + "\n"


def suite_grids(suite: Suite, rows: list[dict], not_run: Iterable[str]) -> list[Grid]:
    """The suite's rows as tables, in the suite's order."""
    shown = [row for row in rows if row.get("metric") not in suite.hidden]
    return grids(shown, tasks=suite.tasks, methods=suite.methods, not_run=not_run, means=suite.means)


def derived_tables(suite: Suite, record: Record) -> dict[str, list[dict]]:
    """Tables that the suite makes from all rows of the record; those without a row are left away."""
    tables = {name: make(record.rows()) for name, make in suite.derived.items()}
    return {name: rows for name, rows in tables.items() if rows}


def significance_grid(tests: list[dict]) -> Grid:
    """Tests as a table for reading."""
    return table_grid([{**test, "p_value": f"{test['p_value']:.2g}"} for test in tests])


def _made_with(record: Record) -> str:
    lines = ["## Made with", "", "```", *record.commands, "```", ""]
    lines.append(
        "Machine: " + machine() + ". " + ", ".join(f"{name} {number}" for name, number in versions().items()) + "."
    )
    if record.busy_sentence():
        lines += ["", record.busy_sentence()]
    if record.data:
        lines += ["", "| data file | SHA-256 |", "|---|---|"]
        lines += [f"| {name} | `{digest}` |" for name, digest in sorted(record.data.items())]
    return "\n".join(lines)


MOST_ROWS = 300  # of a table beside its chart; more are points, which nobody reads


def _study_page(suite: Suite, name: str, entry: dict) -> str:
    study, rows = suite.studies.get(name), entry["rows"]
    parts = [f"# {name}", _summary(suite, name)]
    charted = study is not None and study.chart
    if charted:
        parts.append(f"![{name}]({name}.svg)")
    if charted and len(rows) > MOST_ROWS:
        parts.append(f"The {len(rows):,} points are in `{name}.csv`.")
    else:
        parts.append(table_grid(rows).markdown())
    parts.append(f"Computed in {entry['seconds']:.1f} s.")
    return "\n\n".join(parts) + "\n"


def _summary(suite: Suite, name: str) -> str:
    return suite.studies[name].summary if name in suite.studies else ""


def _write(path: Path, text: str) -> Path:
    write_text(path, text)
    return path
