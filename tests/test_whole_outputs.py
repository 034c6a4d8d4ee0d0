"""Compare what Isthmus returns, prints and writes with recorded outputs.

The frozen runs of ``tests/helpers/frozen_runs.py`` cover every method, files in chunks, saved models and clusters;
``-k cocc`` selects runs by name. The scenes of this file cover printed text and written files; their lists are cut to
the first entries, and they use no vectors, because the extra ``embed`` is not installed everywhere.

``make record`` records everything again after an intended change; read the difference before you commit it.
"""

import contextlib
import csv
import dataclasses
import io
import json
import os
import re
import shlex
import tempfile
import warnings
from collections import Counter
from itertools import takewhile
from pathlib import Path

import frozen_runs
import numpy as np
import pytest

import isthmus
from isthmus.exceptions import IsthmusWarning
from isthmus_bench.shifted import make_shifted_texts

KEPT = Path(__file__).with_name("whole_outputs.json")
LEFT_OUT = {"versions", "made", "finished", "sha256"}  # of another machine or day; a hash tells one digit from another
NUMBER = re.compile(r"-?\d+\.\d+")
ENTRIES = 2  # so many of a list are kept
WIDTH = 160
NEAR = {"rel": 1e-3, "abs": 2e-3}  # another processor adds up in another order


def pair():
    """Three classes in uneven shares and one that the source lacks; two texts occur twice, one label is missing."""
    made = make_shifted_texts(
        120, 110, n_classes=3, n_novel=1, shared=0.5, class_shares=[0.5, 0.3, 0.2], random_state=5, length=16
    )
    source, labels = list(made.source_texts), list(made.source_labels)
    target = [*made.target_texts, *made.target_texts[:2]]
    labels[4] = None
    return source, labels, target, [*made.target_labels, *made.target_labels[:2]]


class Lines(list):
    """Lines of printed text, which are kept whole."""


def lines_of(shown):
    return Lines(line for line in str(shown).splitlines() if line.strip())


def without_texts(columns):
    return {name: values for name, values in columns.items() if name != "text"}


def labels_by_the_interface():
    """Label, ask, check and teach."""
    source, labels, target, truth = pair()
    result = isthmus.label(source, labels, target, method="nbc", embed=False)
    numbers = list(range(1, 40, 2))
    right = [truth[number - 1] for number in numbers]
    check = result.check(numbers, right)
    taught = result.teach({"document": numbers, "true_label": right}, name="answers.csv")
    return {
        "columns": without_texts(result.columns()),
        "labels": Counter(result.labels.tolist()),
        "expected": result.expected_accuracy,
        "novel": result.novel,
        "warnings": result.warnings,
        "curve": result.budget_curve(steps=6),
        "reasons": [result.reasons(i, top=3) for i in (0, 40)],
        "asked": without_texts(result.ask(5)),
        "words asked": result.ask(4, words=True),
        "summary": lines_of(result),
        "check": lines_of(check),
        "taught columns": without_texts(taught.columns()),
        "taught expected": taught.expected_accuracy,
        "taught summary": lines_of(taught),
    }


def summary_of_the_report():
    """The dictionary that the page, the workbench and the command draw."""
    from isthmus.corpus import Collection
    from isthmus.report.summary import label_summary

    source, labels, target, _ = pair()
    result = isthmus.label(source, labels, target, method="nbc", embed=False)
    sides = Collection.from_texts(source, labels, name="old"), Collection.from_texts(target, name="new")
    by = ("half", ["first"] * 40 + ["second"] * (len(target) - 40))
    facts = label_summary(result, *sides, files={"table": "out.csv"}, by=by)
    return {name: facts[name] for name in ("title", "hero", "curve", "bins", "check", "moved", "by", "shift")}


def groups_by_the_interface():
    source, labels, target, _ = pair()
    kept = [i for i, label in enumerate(labels) if label is not None]
    result = isthmus.cluster([source[i] for i in kept], [labels[i] for i in kept], target, n_clusters=4)
    return {"columns": without_texts(result.columns()), "summary": lines_of(result)}


def dealers(n, m):
    """Real sentences of two dealers, of which the second has a few of the first one's and an empty one."""
    from isthmus.corpus import load_sample

    source, target, _ = load_sample()
    texts, labels = list(source.texts)[:n], list(source.labels)[:n]
    return texts, labels, [*list(target.texts)[:m], *texts[: m // 12], "", "12 34"]


def strangers():
    """Two domains that share a few words which say nothing."""
    made = make_shifted_texts(60, 60, shared=0.0, common=0.05, length=14, random_state=8)
    return list(made.source_texts), list(made.source_labels), list(made.target_texts)


def sentences_of_pairs():
    """Diagnosis and labels in words; what is fine stands there once."""
    found = {}
    for name, sides in {"two dealers": dealers(150, 120), "strangers": strangers()}.items():
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", IsthmusWarning)
            diagnosis = isthmus.diagnose(*sides)
            result = isthmus.label(*sides, method="logistic", embed=False)
        told = lines_of(diagnosis)
        if found:
            told = Lines(takewhile(lambda line: not line.startswith("[fine]"), told))
        found[name] = {
            "diagnosis": told,
            "labels": lines_of(result),
            "expected": result.expected_accuracy,
            "warned": [str(row.message) for row in warned if issubclass(row.category, IsthmusWarning)],
        }
    return found


@contextlib.contextmanager
def files_of_a_pair():
    """The pair as source.csv and target.csv in an empty folder, which is the working folder for so long."""
    source, labels, target, truth = pair()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        rows = [
            ("id", "comment", "topic"),
            *((f"s{i}", *row) for i, row in enumerate(zip(source, labels, strict=True))),
        ]
        write_rows("source.csv", rows)
        rows = [("id", "comment", "shop"), *((f"t{i}", text, "ab"[i % 2]) for i, text in enumerate(target))]
        write_rows("target.csv", rows)
        rows = [("document", "true_label"), *((i + 1, truth[i]) for i in range(0, 30, 2))]
        write_rows("answers.csv", rows)
        write_rows("extra.csv", [("comment",), *((text,) for text in target[:9])])
        write_rows("names.csv", [("old", "new"), ("class 0", "first"), ("class 3", "first")])
        yield


def write_rows(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def number_or(cell):
    return float(cell) if NUMBER.fullmatch(cell) else cell


def tables_here():
    """Rows of the csv files that were written, and what is in the json files."""
    found = {}
    for path in sorted(Path().rglob("*")):
        if path.name in ("source.csv", "target.csv", "answers.csv", "names.csv", "extra.csv"):
            continue
        if path.suffix == ".csv":
            with path.open(newline="", encoding="utf-8-sig") as file:
                rows = [
                    {name: number_or(cell) for name, cell in row.items() if name != "comment"}
                    for row in csv.DictReader(file)
                ]
            found[str(path)] = rows
        elif path.suffix == ".json":
            found[str(path)] = json.loads(path.read_text(encoding="utf-8"))
    return found


def labels_in_blocks():
    from isthmus.scale import label_files

    with files_of_a_pair():
        how = {"method": "nbc", "block_rows": 50, "sample": 60, "engine": "local", "workers": 1}
        result = label_files("source.csv", "target.csv", "out.csv", **how)
        return {"result": result, "summary": lines_of(result), **tables_here()}


COMMANDS = (
    "diagnose source.csv target.csv --text comment --label topic --json",
    "label source.csv target.csv --text comment --label topic --method nbc --embed none -o out.csv --save kept.isthmus "
    "--by shop --report page.html --seed 2",
    "label target.csv --model kept.isthmus -o again.csv --json",
    "ask kept.isthmus -n 6 -o ask.csv",
    "ask kept.isthmus -n 5 --words -o words.csv",
    "explain kept.isthmus --document t3 --top 4 -o reasons.csv",
    "check kept.isthmus --sample 9 -o sample.csv --seed 1",
    "check kept.isthmus answers.csv",
    "teach kept.isthmus answers.csv -o taught.csv --json",
    "cluster source.csv target.csv --text comment --label topic --clusters 4 -o groups.csv",
    "label source.csv target.csv --text comment --label topic --method nbc --embed none -o out.csv",
    "label source.csv nowhere.csv",
    # as JSON, and on standard output
    "ask kept.isthmus -n 2 -o ask2.csv --json",
    "ask kept.isthmus -n 2 --words -o words2.csv --json",
    "ask kept.isthmus -n 2 --suggest",
    "ask kept.isthmus -n 2 --json",
    "explain kept.isthmus --text gofogu --top 2",
    "check kept.isthmus answers.csv --json",
    "check kept.isthmus --margin 0.2 -o sample2.csv --json",
    "cluster source.csv target.csv --text comment --label topic -o groups2.csv --json --quiet",
    "teach kept.isthmus answers.csv -o taught2.csv --save taught.isthmus --report taught.html",
    "teach taught.isthmus -o renamed.csv --rename names.csv",
    "teach taught.isthmus -o without.csv --without answers.csv",
    "label source.csv target.csv --text comment --label topic --method logistic --embed none -o wide.csv --json "
    "--error-budget 0.3 --exact --quiet",
    "label source.csv target.csv --text comment --label topic --method nbc --embed none -o told.csv "
    "--answers answers.csv --extra extra.csv",
    # refused
    "label source.csv target.csv --text nothing -o x.csv",
    "label source.csv target.csv --text comment --label shop -o x.csv",
    "label source.csv target.csv --text comment --label topic --error-budget 2 -o x.csv",
    "label source.csv target.csv --text comment --label topic --method magic -o x.csv",
    "label source.csv target.csv --text comment --label topic --engine local --report p.html -o x.csv",
    "label source.csv target.csv --text comment --label topic -o source.csv --force",
    "ask kept.isthmus -n 0 -o x.csv",
    "ask kept.isthmus --words --suggest -o x.csv",
    "check kept.isthmus target.csv",
    "check kept.isthmus",
    "cluster source.csv target.csv --clusters 0 -o x.csv",
    "explain kept.isthmus",
    "teach kept.isthmus",
    "teach out.csv answers.csv -o x.csv",
    "bench nothing",
    "bench cocc --seeds x",
    "workspace nothing",
    "--version --nothing",
)


def commands():
    """What the commands print and write, without the lines of progress, which go by the clock."""
    from isthmus.cli import common
    from isthmus.cli.app import run_command

    said = {}
    with files_of_a_pair(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(common.ProgressLine, "__call__", lambda line, event: None)
        for command in COMMANDS:
            out, talk = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline=""), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(talk):
                code = run_command(shlex.split(command))
            out.flush()
            printed = out.buffer.getvalue().decode()
            printed = json.loads(printed) if printed.startswith("{") else lines_of(printed)
            said[command] = {"code": code, "out": printed, "talk": lines_of(talk.getvalue())}
        written = {name: rows for name, rows in tables_here().items() if name.endswith(".csv") and "2" not in name}
        return {"said": said, "written": written, "files": sorted(os.listdir())}


SCENES = {
    scene.__name__: scene
    for scene in (
        labels_by_the_interface,
        summary_of_the_report,
        groups_by_the_interface,
        sentences_of_pairs,
        labels_in_blocks,
        commands,
    )
}


def plain(value):
    """Only what JSON has: the first entries of lists, numbers with four digits, other objects by their fields."""
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items() if name not in LEFT_OUT}
    if isinstance(value, (list, tuple, np.ndarray)):
        most = len(value) if isinstance(value, Lines) else ENTRIES
        cut = [plain(part) for part in value[:most]]
        return [*cut, f"{len(value)} in all"] if len(value) > most else cut
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.4g}") if np.isfinite(value) else str(value)
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    return plain(dataclasses.asdict(value)) if dataclasses.is_dataclass(value) else type(value).__name__


def differences(found, kept, path=""):
    """Where two nested values differ, each with what was found and what was kept."""
    if isinstance(found, dict) and isinstance(kept, dict):
        for name in [*kept, *(name for name in found if name not in kept)]:
            yield from differences(found.get(name, "nothing"), kept.get(name, "nothing"), f"{path}/{name}")
    elif isinstance(found, list) and isinstance(kept, list) and len(found) == len(kept):
        for place, (one, other) in enumerate(zip(found, kept, strict=True)):
            yield from differences(one, other, f"{path}/{place}")
    elif isinstance(kept, float) and isinstance(found, (int, float)) and not isinstance(found, bool):
        if found != pytest.approx(kept, **NEAR):
            yield f"{path}: {found}, kept {kept}"
    elif found != kept or isinstance(found, bool) != isinstance(kept, bool):
        yield f"{path}: {found!r}, kept {kept!r}"


@pytest.mark.parametrize("name", SCENES)
def test_nothing_that_is_said_has_changed(name):
    kept = json.loads(KEPT.read_text(encoding="utf-8"))[name]
    found = list(differences(plain(SCENES[name]()), kept))
    assert found == [], "\n".join(found[:20])


def test_a_difference_is_seen_wherever_it_stands():
    kept = {"a": [1, {"b": 0.5}], "c": "x", "d": True}
    assert list(differences(kept, kept)) == []
    for other in (
        {"a": [1, {"b": 0.51}], "c": "x", "d": True},
        {"a": [2, {"b": 0.5}], "c": "x", "d": True},
        {"a": [1], "c": "x", "d": True},
        {"a": [1, {"b": 0.5}], "c": "y", "d": True},
        {"a": [1, {"b": 0.5}], "c": "x", "d": 1},
        {"a": [1, {"b": 0.5}], "c": "x", "d": True, "e": 0},
        {"a": [1, {"b": 0.5}], "c": "x"},
    ):
        assert len(list(differences(other, kept))) == 1


@pytest.mark.parametrize("name", frozen_runs.RUNS)
def test_frozen_run_is_unchanged(name):
    if reason := frozen_runs.reason_to_skip(name):
        pytest.skip(reason)
    recorded = frozen_runs.read_recorded(frozen_runs.RUNS_FILE)[name]
    found = list(frozen_runs.differences(frozen_runs.run(name), recorded, name))
    assert found == [], "\n".join(found[:20])


def test_every_recorded_run_is_compared():
    assert set(frozen_runs.read_recorded(frozen_runs.RUNS_FILE)) == set(frozen_runs.RUNS)
    assert set(frozen_runs.read_recorded(frozen_runs.PAIRS_FILE)) == set(frozen_runs.PAIR_NAMES)


def test_difference_between_runs_names_run_and_document():
    recorded = {
        "labels": frozen_runs.coded(["a", "b", "a"]),
        "needs_review": "010",
        "confidence": [0.5],
        "expected_accuracy": [0.8, 0.7, None],
        "method": "nbc",
    }
    assert list(frozen_runs.differences(recorded, recorded, "run")) == []
    within = recorded | {"confidence": [0.502], "expected_accuracy": [0.801, 0.7, None]}
    assert list(frozen_runs.differences(within, recorded, "run")) == []
    for changed, line in (
        ({"labels": frozen_runs.coded(["a", "c", "a"])}, "run: labels: document 1: 'c', recorded 'b'"),
        ({"needs_review": "011"}, "run: needs_review: document 2: '1', recorded '0'"),
        ({"confidence": [0.503]}, "run: confidence: value 0 (document 0): 0.503, recorded 0.5"),
        ({"confidence": []}, "run: confidence: [], recorded [0.5]"),
        ({"expected_accuracy": [0.8, 0.7, 0.9]}, "run: expected_accuracy: high: 0.9, recorded None"),
        ({"expected_accuracy": [0.8, 0.69, None]}, "run: expected_accuracy: low: 0.69, recorded 0.7"),
        ({"labels": frozen_runs.coded(["a", "b"])}, "run: labels: 2 documents, recorded 3"),
        ({"later": "x"}, "run: later: 'x', recorded 'absent'"),
    ):
        assert list(frozen_runs.differences(recorded | changed, recorded, "run")) == [line]


def written(value, indent=0):
    """JSON with every value on one line that fits there."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= WIDTH or not isinstance(value, (dict, list)):
        return line
    pad = " " * (indent + 1)
    if isinstance(value, list):
        parts = [pad + written(part, indent + 1) for part in value]
    else:
        parts = [f"{pad}{json.dumps(name)}: {written(part, indent + 1)}" for name, part in value.items()]
    left, right = "[]" if isinstance(value, list) else "{}"
    return "\n".join([left, ",\n".join(parts), " " * indent + right])


if __name__ == "__main__":  # the frozen runs are recorded by tests/helpers/frozen_runs.py
    whole = {name: plain(scene()) for name, scene in SCENES.items()}
    KEPT.write_text(written(whole) + "\n", encoding="utf-8")
