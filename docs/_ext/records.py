"""Figures on pages come from the benchmark records: a role names suite, task, method and metric.

``{measured}`strings books-dvd,books-kitchen strings accuracy` `` is the mean over these tasks, and over the seeds of
each, in per cent. A task may be a pattern, ``*`` or ``lexicon-*``; further words such as ``documents=20`` choose rows
by their other columns. ``{count}`choose auto` `` is the number of tasks recorded for a method. A row that is
missing stops the build.
"""

from __future__ import annotations

import json
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from docutils import nodes

RECORDS = Path(__file__).resolve().parents[2] / "benchmarks" / "records"


@cache
def rows_of(suite: str) -> list[dict]:
    """All rows that a suite recorded."""
    path = RECORDS / suite / "results.json"
    if not path.is_file():
        raise LookupError(f"there is no record of a suite {suite!r}")
    return json.loads(path.read_text(encoding="utf-8"))["rows"]


def find(text: str) -> dict[str, list[float]]:
    """Values by task for ``suite task method metric [column=value ...]``; every task that is named must be there."""
    suite, tasks, method, metric, *more = text.split()
    wanted = dict(part.split("=") for part in more)
    patterns = tasks.split(",")
    found: dict[str, list[float]] = {}
    for row in rows_of(suite):
        same = row["method"] == method and row["metric"] == metric
        if not same or any(str(row.get(column)) != value for column, value in wanted.items()):
            continue
        if any(fnmatch(row["task"], pattern) for pattern in patterns):
            found.setdefault(row["task"], []).append(row["value"])
    missing = [pattern for pattern in patterns if not any(fnmatch(task, pattern) for task in found)]
    if missing:
        raise LookupError(f"the record of {suite!r} has no row {method} {metric} for {', '.join(missing)}")
    return found


def figure(text: str) -> str:
    """The mean over tasks, in per cent."""
    means = [sum(values) / len(values) for values in find(text).values()]
    return f"{100 * sum(means) / len(means):.1f}\N{NO-BREAK SPACE}%"


def count(text: str) -> str:
    """How many tasks a suite recorded for a method, in any metric."""
    suite, method = text.split()
    tasks = {row["task"] for row in rows_of(suite) if row["method"] == method}
    if not tasks:
        raise LookupError(f"the record of {suite!r} has no method {method!r}")
    return str(len(tasks))


def _role(read):
    def role(name, rawtext, text, lineno, inliner, options=None, content=None):
        try:
            return [nodes.inline(rawtext, read(text), classes=["measured"])], []
        except (LookupError, ValueError) as problem:
            message = inliner.reporter.error(f"{rawtext}: {problem}", line=lineno)
            return [inliner.problematic(rawtext, rawtext, message)], [message]

    return role


def setup(app):
    """Called by Sphinx."""
    app.add_role("measured", _role(figure))
    app.add_role("count", _role(count))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
