"""One table per paper from the records: the paper's figure, its setting run again, ours, the best baseline, the test.

Figures of the papers are those that stand in the papers' own text as we have it; where a table is lost there, the cell
is empty. A cell whose rows are not in the record is empty too: nothing here computes anything.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isthmus_bench.engine.tables import Grid

EMPTY = "–"
_SMALL = 1e-99


@dataclass(frozen=True)
class Cell:
    """What to read from a record: methods (the best of them counts) and the fields that tell rows apart."""

    methods: tuple[str, ...]
    fields: Mapping[str, Any]


class Records:
    """The rows of one suite, and its significance tests, as they stand in a folder of records."""

    def __init__(self, folder: Path, suite: str):
        self.folder = Path(folder) / suite
        path = self.folder / "results.json"
        content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        self.rows: list[dict] = content.get("rows", [])

    def mean(self, task: str, method: str, metric: str, **fields: Any) -> float | None:
        """Mean over seeds of a method on a task; None where the record has no such row."""
        found = [
            row["value"]
            for row in self.rows
            if (row["task"], row["method"], row["metric"]) == (task, method, metric)
            and all(row.get(key) == value for key, value in fields.items())
        ]
        return float(np.mean(found)) if found else None

    def best(self, task: str, cells: Iterable[Cell], metric: str, *, largest: bool) -> tuple[str, float] | None:
        """The best of several methods, by name and value."""
        values = {}
        for cell in cells:
            for method in cell.methods:
                value = self.mean(task, method, metric, **cell.fields)
                if value is not None:
                    values[f"{method} {cell.fields['cut']}" if "cut" in cell.fields else method] = value
        if not values:
            return None
        name = (max if largest else min)(values, key=lambda key: values[key])
        return name, values[name]

    def table(self, name: str) -> list[dict]:
        """A table of the suite's folder, or nothing."""
        path = self.folder / f"{name}.csv"
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        return list(csv.DictReader(text.splitlines()))


def paper_tables(folder: Path) -> dict[str, str]:
    """Markdown of every paper's table, by suite."""
    makers = {"cocc": _cocc, "projection": _projection, "dual": _dual, "strings": _strings, "guided": _guided}
    return {suite: make(Records(folder, suite)).markdown() for suite, make in makers.items()}


def _shown(value: float | None, digits: int = 3) -> str:
    return EMPTY if value is None else f"{value:.{digits}f}"


def _named(found: tuple[str, float] | None, digits: int = 3) -> str:
    return EMPTY if found is None else f"{found[1]:.{digits}f} ({found[0]})"


def _p_value(rows: Sequence[dict], **wanted: str | tuple[str, ...]) -> str:
    for row in rows:
        if all(row.get(key) in (value if isinstance(value, tuple) else (value,)) for key, value in wanted.items()):
            p = float(row["p_value"])
            return "below 1e-99" if p < _SMALL else f"{p:.1g}"
    return EMPTY


def _method(best: tuple[str, float] | None) -> str:
    """The method that stands in a row as best baseline: a test against another one has no place next to it."""
    return best[0].split()[0] if best else ""


def _cocc(records: Records) -> Grid:
    baselines = [Cell(("nbc", "svm", "tsvm", "sgt"), {})]
    six = ("rec-talk", "rec-sci", "comp-talk", "comp-sci", "comp-rec", "sci-talk")
    three = ("orgs-people", "orgs-places", "people-places")
    tests = records.table("significance")
    rows = []
    for task in (*six, *three, *(f"{name}-wide" for name in three), "four-class"):
        own = [records.mean(task, method, "error") for method in ("cocc-paper", "cocc-paper-matched", "cocc")]
        best = records.best(task, baselines, "error", largest=False)
        p = _p_value(tests, task=task, method="cocc", other=_method(best))
        rows.append([task, EMPTY, *map(_shown, own), _named(best), p])
    header = ["error", "paper", "its setting, map as printed", "its setting, matched", "ours", "best baseline", "p"]
    return Grid("", header, rows)


def _projection(records: Records) -> Grid:
    cuts = [Cell(("svm",), {}), *(Cell(("svm-selected",), {"cut": cut}) for cut in (2_000, 4_000, 10_000, 60_000))]
    rows = [
        ["CE → CWD, rule", ".644", EMPTY, EMPTY, ".64 (SVM, 60,000 terms)", EMPTY],
        ["CE → CWD, SVM", ".683", EMPTY, EMPTY, ".64 (SVM, 60,000 terms)", EMPTY],
        ["CE, 55 classes, rule", ".783", EMPTY, EMPTY, ".824 (SVM, 4,000 terms)", EMPTY],
        ["CE, 55 classes, SVM", ".824", EMPTY, EMPTY, ".824 (SVM, 4,000 terms)", EMPTY],
    ]
    pairs = (("fudan", "sogou"), ("thucnews_title", "toutiao"), ("fudan", "csl"))
    tasks = [f"{a}-{b}" for pair in pairs for a, b in (pair, pair[::-1])]
    tests = records.table("significance")
    for task in (*tasks, "csl", "nlpcc2017"):
        best = records.best(task, cuts, "micro_f1", largest=True)
        for kind in ("rule", "svm"):
            again = records.mean(task, "projection-paper", "micro_f1", cut=kind)
            ours = records.mean(task, f"projection-{kind}", "micro_f1")
            p = _p_value(tests, task=task, method=f"projection-{kind}", other=_method(best))
            rows.append([f"{task}, {kind}", EMPTY, _shown(again), _shown(ours), _named(best), p])
    return Grid("", ["micro-F1", "paper", "its setting", "ours", "best baseline", "p"], rows)


# Table 1 of the paper: labelled words → F in per cent of MR and MA on the unlabelled and on the test documents.
_TABLE_1 = {
    0: (64.7, 57.1, 60.4, 60.3),
    100: (72.3, 60.9, 59.6, 60.9),
    200: (77.0, 66.2, 69.2, 66.2),
    350: (78.6, 68.1, 75.1, 70.3),
    500: (79.3, 69.1, 77.1, 71.0),
}


def _dual(records: Records) -> Grid:
    rows = []
    for words, figures in _TABLE_1.items():
        cases = (("manifold", "MR"), ("factor", "MA"))
        for place, (method, short) in enumerate(cases):
            for side, part in enumerate(("unlabelled", "test")):
                fields = {"words": words, "part": part}
                found = [
                    records.mean("five-newsgroups", name, "pair_f1", **fields)
                    for name in (f"dual-{method}-paper", f"dual-{method}")
                ]
                own = Cell(("rls", "laprls", "bipartite", "nmf"), {"words": 0, "part": part})
                best = records.best("five-newsgroups", [own], "pair_f1", largest=True)
                printed = f"{figures[2 * place + side] / 100:.3f}"
                rows.append([f"{short}, {words} words, {part}", printed, *map(_shown, found), _named(best)])
    return Grid("", ["F on pairs", "paper", "its setting", "ours", "best baseline, no words"], rows)


def _strings(records: Records) -> Grid:
    domains = ("books", "dvd", "electronics", "kitchen")
    pairs = [f"{a}-{b}" for a in domains for b in domains if a != b]
    plain = ("plain-presence", "plain-intersection")
    words = ("svm", "logistic", "self-training", "sfa", "scl", "coral", "tradaboost")
    tests = records.table("significance")
    rows = []
    for task in (*pairs, *(f"multi-{domain}" for domain in domains)):
        own = [records.mean(task, method, "accuracy") for method in ("tkc-presence", "tkc-intersection", "strings")]
        best = records.best(task, [Cell((*plain, *words), {})], "accuracy", largest=True)
        against = {"tkc-presence": plain, "strings": ("tkc-presence", "tkc-intersection")}
        p = [_p_value(tests, task=task, method=method, other=others) for method, others in against.items()]
        rows.append([task, EMPTY, *map(_shown, own), _named(best), *p])
    header = ["accuracy", "paper", "its setting, presence", "its setting, intersection", "ours", "best baseline"]
    return Grid("", [*header, "p, presence against plain", "p, ours against its setting"], rows)


def _guided(records: Records) -> Grid:
    tests = records.table("paired")
    rows = []
    for task in ("newsgroups", "dmoz", "reuters", "rcv1", "webkb"):
        own = [records.mean(task, method, "pair_f1") for method in ("guided-paper", "guided")]
        best = records.best(task, [Cell(("km", "km-asd"), {})], "pair_f1", largest=True)
        p = [
            _p_value(tests, task=task, method=method, against=_method(best), metric="pair_f1")
            for method in ("guided-paper", "guided")
        ]
        rows.append([task, EMPTY, *map(_shown, own), _named(best), *p])
    return Grid("", ["F1", "paper", "its setting", "ours", "best baseline", "p, its setting", "p, ours"], rows)
