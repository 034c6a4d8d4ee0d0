"""The record as pages to read: results.md, a table per study, significance tests."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from isthmus._utils import versions
from isthmus.bench.engine.records import Record, machine, write_text
from isthmus.bench.engine.significance import contrasts
from isthmus.bench.engine.suite import Suite
from isthmus.bench.engine.tables import Grid, grids, table_grid, to_csv


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
    if record.data:
        lines += ["", "| data file | SHA-256 |", "|---|---|"]
        lines += [f"| {name} | `{digest}` |" for name, digest in sorted(record.data.items())]
    return "\n".join(lines)


def _study_page(suite: Suite, name: str, entry: dict) -> str:
    study = suite.studies.get(name)
    parts = [f"# {name}", _summary(suite, name)]
    if study is not None and study.chart:
        parts.append(f"![{name}]({name}.svg)")
    parts.append(table_grid(entry["rows"]).markdown())
    parts.append(f"Computed in {entry['seconds']:.1f} s.")
    return "\n\n".join(parts) + "\n"


def _summary(suite: Suite, name: str) -> str:
    return suite.studies[name].summary if name in suite.studies else ""


def _write(path: Path, text: str) -> Path:
    write_text(path, text)
    return path
