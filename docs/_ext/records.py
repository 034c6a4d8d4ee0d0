"""Figures on pages come from the benchmark records: a role names the row, and a row that is missing stops the build.

``{measured}`strings books-dvd,books-kitchen strings accuracy` `` names suite, task, method and metric: the mean over
these tasks, and over the seeds of each, in per cent. A task may be a pattern, ``*`` or ``lexicon-*``; further words
such as ``documents=20`` choose rows by their other columns.
``{studied}`trust/shares held pair="mean of 19" kind=plain` `` names a table next to a record, a column and the rows.
Both take ``as=points``, ``as=decimal`` or ``as=number`` at the end, where per cent is not what a reader expects.
``{count}`choose auto` `` is the number of tasks recorded for a method.

``stale_records = "fail"`` (``make docs STALE=fail``) also stops the build where the code that computed a row has
changed since, or is not known; ``"say"``, the default, leaves that to the sentence below the record.
"""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

from docutils import nodes

RECORDS = Path(__file__).resolve().parents[2] / "benchmarks" / "records"
STALE = ("say", "fail")
FORMS = {
    "percent": lambda value: f"{100 * value:.1f}\N{NO-BREAK SPACE}%",
    "points": lambda value: f"{100 * value:.1f}",
    "decimal": lambda value: f"{value:.3f}",
    "number": lambda value: f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}",
}


class Found(NamedTuple):
    """What a role shows, and the suite and units (or the study) that it rests on."""

    shown: str
    suite: str
    rests_on: Iterable[tuple | str]


@cache
def rows_of(suite: str) -> list[dict]:
    """All rows that a suite recorded."""
    path = RECORDS / suite / "results.json"
    if not path.is_file():
        raise LookupError(f"there is no record of a suite {suite!r}")
    return json.loads(path.read_text(encoding="utf-8"))["rows"]


@cache
def table_of(name: str) -> list[dict]:
    """All rows of a table next to a record, ``suite/table``."""
    path = RECORDS / f"{name}.csv"
    if not path.is_file():
        raise LookupError(f"there is no recorded table {name!r}")
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _read(text: str, n_words: int) -> tuple[list[str], dict[str, str], str]:
    """The first words of a role, the columns that choose rows, and the form."""
    words = shlex.split(text)
    wanted = dict(word.split("=", 1) for word in words[n_words:])
    form = wanted.pop("as", "percent")
    if len(words) < n_words or form not in FORMS:
        raise ValueError(f"{text!r} needs {n_words} words, and as= one of {', '.join(FORMS)}")
    return words[:n_words], wanted, form


def _fits(row: dict, wanted: dict[str, str]) -> bool:
    return all(str(row.get(column)) == value for column, value in wanted.items())


def figure(text: str) -> Found:
    """The mean over tasks for ``suite task method metric [column=value ...]``; every task named must be there."""
    (suite, tasks, method, metric), wanted, form = _read(text, 4)
    patterns = tasks.split(",")
    values: dict[str, list[float]] = {}
    units = set()
    for row in rows_of(suite):
        if (row["method"], row["metric"]) != (method, metric) or not _fits(row, wanted):
            continue
        if any(fnmatch(row["task"], pattern) for pattern in patterns):
            values.setdefault(row["task"], []).append(row["value"])
            units.add((row["task"], method, row["seed"]))
    missing = [pattern for pattern in patterns if not any(fnmatch(task, pattern) for task in values)]
    if missing:
        raise LookupError(f"the record of {suite!r} has no row {method} {metric} for {', '.join(missing)}")
    means = [sum(found) / len(found) for found in values.values()]
    return Found(FORMS[form](sum(means) / len(means)), suite, units)


def cell(text: str) -> Found:
    """The mean of a column over the rows of a table that ``suite/table column [column=value ...]`` chooses."""
    (name, column), wanted, form = _read(text, 2)
    values = [_number(row[column]) for row in table_of(name) if _fits(row, wanted) and row.get(column)]
    if not values:
        raise LookupError(f"the table {name!r} has no row {column} for {wanted}")
    suite, _, study = name.rpartition("/")
    return Found(FORMS[form](sum(values) / len(values)), suite, [study])


def _number(text: str) -> float:
    return float({"True": "1", "False": "0"}.get(text, text))


def count(text: str) -> Found:
    """How many tasks a suite recorded for a method, in any metric."""
    suite, method = text.split()
    units = {(row["task"], method, row["seed"]) for row in rows_of(suite) if row["method"] == method}
    if not units:
        raise LookupError(f"the record of {suite!r} has no method {method!r}")
    return Found(str(len({task for task, *_ in units})), suite, units)


@cache
def _record(suite: str):
    from isthmus_bench.engine.records import Record

    folder, _, name = suite.rpartition("/")
    return Record.open(RECORDS / folder, name)


def staleness(found: Found) -> str | None:
    """Why what a role shows is not known to be of the code as it is; None where it is."""
    record = _record(found.suite)
    # A table that is not a study was made of the rows of all units.
    studies = [name for name in found.rests_on if name in record.studies]
    keys = [key for key in found.rests_on if key in record.units] or ([] if studies else list(record.units))
    codes = [record.changed_code(key) for key in keys] + [record.changed_study(name) for name in studies]
    if not codes or any(names is None for names in codes):
        return f"the record of {found.suite!r} does not say which code computed it"
    changed = sorted({name for names in codes for name in names})
    return f"{', '.join(changed[:3])} changed since the row of {found.suite!r} was recorded" if changed else None


def _role(read):
    def role(name, rawtext, text, lineno, inliner, options=None, content=None):
        problem, found = None, None
        try:
            found = read(text)
            settings = inliner.document.settings
            if settings.env.config.stale_records == "fail":
                problem = staleness(found)
        except (LookupError, ValueError) as missing:
            problem = str(missing)
        if problem is None:
            return [nodes.inline(rawtext, found.shown, classes=["measured"])], []
        message = inliner.reporter.error(f"{rawtext}: {problem}", line=lineno)
        return [inliner.problematic(rawtext, rawtext, message)], [message]

    return role


def setup(app):
    """Called by Sphinx."""
    from sphinx.config import ENUM

    app.add_config_value("stale_records", "say", "env", ENUM(*STALE))
    for name, read in (("measured", figure), ("studied", cell), ("count", count)):
        app.add_role(name, _role(read))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
