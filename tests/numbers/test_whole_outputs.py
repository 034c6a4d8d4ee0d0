"""Everything a run says, as a whole: any number, sentence or row that changes unasked is noticed.

What should come out was written down by ``python tests/numbers/test_whole_outputs.py``, which writes it anew after a
change that was meant; the difference is then read line by line before it is committed. Small hand calculations stand in
the other files; here it is enough that nothing moves. No vectors: what gives them is not installed everywhere.
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
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.corpus import make_shifted_texts
from isthmus.exceptions import IsthmusWarning

KEPT = Path(__file__).with_name("whole_outputs.json")
LEFT_OUT = {"versions", "made", "finished", "sha256"}  # of another machine or day; a hash tells one digit from another
NUMBER = re.compile(r"-?\d+\.\d+")
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


def diagnosis():
    source, labels, target, _ = pair()
    return isthmus.diagnose(source, labels, target)


def labelled():
    source, labels, target, _ = pair()
    return isthmus.label(source, labels, target, method="nbc", embed=False)


def parts_of_labels():
    result = labelled()
    return {
        "columns": {name: values for name, values in result.columns().items() if name != "text"},
        "expected": dataclasses.asdict(result.expected_accuracy),
        "novel": result.novel,
        "warnings": result.warnings,
        "curve": result.budget_curve(steps=6),
        "reasons": [result.reasons(i, top=4) for i in (0, 5, 40)],
        "asked": {name: values for name, values in result.ask(8).items() if name != "text"},
        "words asked": result.ask(6, words=True),
        "summary": str(result),
    }


def parts_of_a_check():
    result, truth = labelled(), pair()[3]
    numbers = list(range(1, 60, 2))
    check = result.check(numbers, [truth[number - 1] for number in numbers])
    return {"check": vars(check), "said": str(check)}


def parts_of_teaching():
    result, truth = labelled(), pair()[3]
    numbers = list(range(1, 24, 2))
    answers = {"document": numbers, "true_label": [truth[number - 1] for number in numbers]}
    taught = result.teach(answers, name="answers.csv")
    return {
        "columns": {name: values for name, values in taught.columns().items() if name != "text"},
        "expected": dataclasses.asdict(taught.expected_accuracy),
        "novel": taught.novel,
        "warnings": taught.warnings,
        "summary": str(taught),
    }


def parts_of_a_diagnosis():
    return diagnosis().to_dict()


def page_of_labels():
    from isthmus.corpus import Collection
    from isthmus.report.facts import label_facts

    result = labelled()
    source = Collection.from_texts(result.source_texts, list(result.source_labels), name="source texts")
    target = Collection.from_texts(result.texts, ids=result.ids, name="target texts")
    by = ("half", ["first"] * 40 + ["second"] * (len(result.texts) - 40))
    facts = label_facts(result, source, target, files={"table": "out.csv"}, by=by)
    return {**facts, "data": json.loads(str(facts["data"]))}


def page_of_a_diagnosis():
    from isthmus.report.diagnosis import diagnosis_facts

    return diagnosis_facts(diagnosis(), None, None)


def labels_of_other_methods():
    source, labels, target, _ = pair()
    found = {}
    for method in ("logistic", "projection", "cocc", "strings", "lsa"):
        result = isthmus.label(source, labels, target, method=method, embed=False)
        found[method] = {
            "labels": result.labels,
            "confidence": result.confidence[:10],
            "expected": dataclasses.asdict(result.expected_accuracy),
            "reasons": [result.reasons(i, top=3) for i in (1, 30)],
        }
    return found


def parts_of_a_grouping():
    from isthmus.report.cluster_page import cluster_facts

    source, labels, target, _ = pair()
    kept = [i for i, label in enumerate(labels) if label is not None]
    result = isthmus.cluster([source[i] for i in kept], [labels[i] for i in kept], target, n_clusters=4)
    columns = {name: values for name, values in result.columns().items() if name != "text"}
    return {"columns": columns, "summary": str(result), "page": cluster_facts(result)}


def dealers(n, m):
    """Real sentences of two dealers, of which the second has a few of the first one's and an empty one."""
    from isthmus.corpus import load_sample

    source, target, _ = load_sample()
    texts, labels = list(source.texts)[:n], list(source.labels)[:n]
    return texts, labels, [*list(target.texts)[:m], *texts[: m // 12], "", "12 34"]


def shifted(n, m, **how):
    made = make_shifted_texts(n, m, length=14, random_state=8, **how)
    return list(made.source_texts), list(made.source_labels), list(made.target_texts)


# Pairs on either side of what the findings, the estimate and the sentences distinguish.
PAIRS = {
    "dealers": lambda: dealers(150, 120),
    "no shift": lambda: shifted(120, 120, shared=1.0),
    "thin": lambda: shifted(24, 60, shared=0.6),
    "turned": lambda: shifted(120, 120, shared=0.6, class_shares=[0.8, 0.2], target_class_shares=[0.2, 0.8]),
    "five classes, some small": lambda: shifted(90, 80, n_classes=5, class_shares=[0.6, 0.2, 0.1, 0.06, 0.04]),
    "nothing shared": lambda: shifted(60, 60, shared=0.0, common=0.05),
    "handful": lambda: shifted(12, 9, shared=0.8),
}


def words_of(warned):
    return [str(row.message) for row in warned if issubclass(row.category, IsthmusWarning)]


def diagnoses_of_pairs():
    found = {}
    for name, make in PAIRS.items():
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", IsthmusWarning)
            told = isthmus.diagnose(*make())
        found[name] = {
            "verdict": told.verdict,
            "findings": told.findings,
            "said": str(told),
            "warned": words_of(warned),
        }
    return found


def labels_of_pairs():
    from isthmus.report.hero import hero_facts

    found = {}
    for name, make in PAIRS.items():
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", IsthmusWarning)
            result = isthmus.label(*make(), method="logistic", embed=False)
        numbers = range(1, len(result.texts) + 1, 7)
        found[name] = {
            "said": str(result),
            "warned": words_of(warned),
            "expected": dataclasses.asdict(result.expected_accuracy),
            "warnings": result.warnings,
            "novel": result.novel,
            "hero": hero_facts(result, source="a.csv", target="b.csv"),
            "curve": result.budget_curve(steps=4),
            "columns": {key: values[::6] for key, values in result.columns().items() if key != "text"},
            "asked": result.ask(3)["document"],
            "check": str(result.check(numbers, [result.labels[0]] * len(numbers))),
        }
    return found


def pages_of_pairs():
    """What the pages of some pairs show; of long tables the beginning."""
    from isthmus.corpus import Collection
    from isthmus.report.cluster_page import cluster_facts
    from isthmus.report.diagnosis import diagnosis_facts
    from isthmus.report.facts import label_facts

    found = {}
    for name in ("dealers", "five classes, some small", "handful"):
        source, labels, target = PAIRS[name]()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IsthmusWarning)
            result = isthmus.label(source, labels, target, method="nbc", embed=False)
            groups = isthmus.cluster(source, labels, target, n_clusters=3)
            told = isthmus.diagnose(source, labels, target)
        sides = Collection.from_texts(source, labels, name="old"), Collection.from_texts(target, name="new")
        facts = label_facts(result, *sides, by=("half", ["a", "b"] * (len(target) // 2) + ["c"] * (len(target) % 2)))
        facts = {**facts, "data": json.loads(str(facts["data"]))}
        pages = {"labels": facts, "groups": cluster_facts(groups), "diagnosis": diagnosis_facts(told, *sides)}
        found[name] = shortened(pages)
    return found


def shortened(value, most=6):
    """Lists cut to their beginning, and how long they were."""
    if isinstance(value, dict):
        return {name: shortened(part, most) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        cut = [shortened(part, most) for part in value[:most]]
        return [*cut, f"{len(value)} in all"] if len(value) > most else cut
    return value


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


def tables_here(every=1):
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
            found[str(path)] = [len(rows), *rows[::every]]
        elif path.suffix == ".json":
            found[str(path)] = json.loads(path.read_text(encoding="utf-8"))
    return found


def large_runs():
    from isthmus.scale import METHODS, cluster_files, label_files

    found = {}
    for method in sorted(set(METHODS) - {"vectors"}):
        with files_of_a_pair():
            result = label_files(
                "source.csv",
                "target.csv",
                "out.csv",
                method=method,
                block_rows=50,
                sample=60,
                engine="local",
                workers=1,
            )
            found[method] = {"result": dataclasses.asdict(result), "said": str(result), **tables_here(every=4)}
    for name in ("five classes, some small", "turned"):
        source, labels, target = PAIRS[name]()
        with files_of_a_pair():
            write_rows("source.csv", [("comment", "topic"), *zip(source, labels, strict=True)])
            write_rows("target.csv", [("comment", "shop"), *((text, "a") for text in target)])
            result = label_files("source.csv", "target.csv", "out.csv", method="logistic", block_rows=33, sample=60)
            found[name] = {"result": dataclasses.asdict(result), **tables_here(every=9)}
    with files_of_a_pair():
        result = cluster_files(
            "source.csv", "target.csv", "out.csv", n_clusters=4, block_rows=50, engine="local", workers=1
        )
        found["groups"] = {"result": dataclasses.asdict(result), **tables_here(every=4)}
    return found


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
    "explain kept.isthmus --document t5 --top 2 --json",
    "explain kept.isthmus --text gofogu --top 2",
    "check kept.isthmus answers.csv --json",
    "check kept.isthmus --margin 0.2 -o sample2.csv --json",
    "cluster source.csv target.csv --text comment --label topic -o groups2.csv --json --quiet",
    "teach kept.isthmus answers.csv -o taught2.csv --save taught.isthmus --report taught.html",
    "teach taught.isthmus -o renamed.csv --rename names.csv",
    "teach taught.isthmus -o without.csv --without answers.csv",
    "diagnose source.csv target.csv --text comment --label topic --report diagnosis.html --language other",
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
    "data list --json --data .",
    "workspace nothing",
    "--version --nothing",
)


def commands():
    """What the commands print and write, without the lines of progress, which go by the clock."""
    from isthmus.cli import common
    from isthmus.cli.app import run_command

    said = []
    with files_of_a_pair(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(common, "ProgressLine", lambda: None)
        for command in COMMANDS:
            out, talk = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline=""), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(talk):
                code = run_command(shlex.split(command))
            out.flush()
            printed = out.buffer.getvalue().decode()
            printed = json.loads(printed) if printed.startswith("{") else printed.splitlines()
            said.append({"command": command, "code": code, "out": printed, "talk": talk.getvalue().splitlines()})
        return {"said": said, "written": tables_here(every=4), "files": sorted(os.listdir())}


SCENES = {
    scene.__name__: scene
    for scene in (
        parts_of_a_diagnosis,
        parts_of_labels,
        parts_of_a_check,
        parts_of_teaching,
        page_of_labels,
        page_of_a_diagnosis,
        labels_of_other_methods,
        parts_of_a_grouping,
        diagnoses_of_pairs,
        labels_of_pairs,
        pages_of_pairs,
        large_runs,
        commands,
    )
}


def plain(value):
    """Only what JSON has; numbers as they are, other objects by their fields or their name."""
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items() if name not in LEFT_OUT}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(part) for part in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.6g}") if np.isfinite(value) else str(value)
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


if __name__ == "__main__":
    whole = {name: plain(scene()) for name, scene in SCENES.items()}
    KEPT.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
