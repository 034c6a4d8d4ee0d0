"""One table: what each command line returns, with which code it refuses, and which files it writes."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest

from isthmus.cli.app import run_command
from isthmus.corpus import load_sample, write_rows

pytest.importorskip("polars")

# Command line, exit code, code of the refusal ("" if it is the library's of the command line), files written.
TABLE = [
    ("", 2, "", ""),
    ("--version", 0, "", ""),
    ("--help", 0, "", ""),
    ("nonsense", 2, "", ""),
    ("--nonsense", 2, "", ""),
    ("label", 2, "", ""),
    ("label --help", 0, "", ""),
    ("label --help-all", 0, "", ""),
    ("--max-unpacked x label s.csv t.csv", 2, "bad-parameter", ""),
    ("--max-unpacked 1K label s.xlsx t.csv --method nbc -o o.csv", 1, "too-large", ""),
    ("label s.csv t.csv --method nbc", 0, "", ""),
    ("label s.csv t.csv --method nbc -o o.csv", 0, "", "o.csv run.json"),
    ("label s.csv t.csv --method nbc --output=o.jsonl", 0, "", "o.jsonl run.json"),
    (
        "label s.csv t.csv --method nbc -o o.xlsx --report r.html --save o.isthmus",
        0,
        "",
        "o.isthmus o.xlsx r.html run.json",
    ),
    ("label s.csv t.csv --method nbc -o none/o.csv", 1, "output-unwritable", ""),
    ("label s.csv t.csv --method nbc -o taken.csv", 1, "output-exists", ""),
    ("label s.csv t.csv --method nbc -o taken.csv --force", 0, "", "run.json taken.csv"),
    ("label s.csv t.csv --method nbc -o s.csv --force", 2, "output-unwritable", ""),
    ("label s.csv t.csv --method nbc -o o.doc", 2, "unknown-format", ""),
    ("label s.csv t.csv --method nbc -o folder", 1, "output-unwritable", ""),
    ("label s.csv t.csv --method nbc -o o.csv --report o.csv", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method nbc --json", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method nbc -o o.csv --json --quiet", 0, "", "o.csv run.json"),
    ("label s.csv t.csv --method nbc --seed -1", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method nbc --seed 1.5", 2, "", ""),
    ("label s.csv t.csv --analyzer foo", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method foo", 2, "unknown-method", ""),
    ("label s.csv t.csv --language Klingon", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method nbc --text nope", 1, "unknown-column", ""),
    ("label s.csv t.csv --method nbc --label nope", 1, "unknown-column", ""),
    ("label s.csv t.csv --method nbc --id nope", 1, "unknown-column", ""),
    ("label s.csv t.csv --method nbc --sheet x", 2, "bad-parameter", ""),
    ("label odd.csv t.csv --method nbc --text body --label topic --target-text text -o o.csv", 0, "", "o.csv run.json"),
    ("label s.csv t.csv --method nbc --answers answers.csv -o o.csv", 0, "", "o.csv run.json"),
    ("label s.csv t.csv --method nbc --answers stranger.csv -o o.csv", 1, "bad-answers", ""),
    ("label s.csv t.csv --method nbc --answers answers.csv --target-label region", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method nbc --target-label region -o o.csv", 1, "labels-not-classes", ""),
    ("label s.csv t.csv --method cocc --set n_word_clusters=8 -o o.csv", 0, "", "o.csv run.json"),
    ("label s.csv t.csv --method nbc --set n=1", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method nbc --class parking", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method nbc --words words.csv -o o.csv", 2, "bad-word-labels", ""),
    ("label s.csv t.csv --method nbc --words none.csv", 1, "missing-file", ""),
    ("label s.csv t.csv --method nbc --extra extra.csv --extra t.csv -o o.csv", 0, "", "o.csv run.json"),
    ("label s.csv t.csv --embed static --vectors vec", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method nbc --vectors nope -o o.csv", 2, "unknown-column", ""),
    ("label vs.csv vt.csv --method vectors --vectors vec -o o.csv", 0, "", "o.csv run.json"),
    ("label s.csv t.csv --method nbc --error-budget 2", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method nbc --read 5", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method nbc --read 5 -o o.csv", 0, "", "o-to_read.csv o.csv run.json"),
    ("label s.csv t.csv --method nbc --by nope -o o.csv", 2, "unknown-column", ""),
    ("label s.csv t.csv --method nbc --by region --add label -o o.csv", 0, "", "o.csv run.json"),
    ("label s.csv t.csv --method nbc --add nope", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method nbc --engine foo", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method nbc --engine local", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method nbc --engine memory -o o.csv --save o.isthmus", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method nbc --engine local --tls ca=x -o o.csv", 2, "bad-parameter", ""),
    ("label s.csv t.csv --method nbc --workers 0", 2, "bad-parameter", ""),
    ("label s.csv t.csv --nope", 2, "", ""),
    ("label s.csv t.csv --text", 2, "", ""),
    ("label s.csv none.csv", 1, "missing-file", ""),
    ("label s.csv", 1, "no-target", ""),
    ("label '' t.csv", 2, "bad-parameter", ""),
    ("label - -", 2, "bad-parameter", ""),
    ("label one.csv t.csv --method nbc", 1, "one-class", ""),
    ("label dates.csv t.csv --method nbc", 1, "labels-not-classes", ""),
    ("label empty.csv t.csv", 1, "empty-file", ""),
    ("label notes.doc t.csv", 1, "unknown-format", ""),
    ("label machine.csv t.csv --method nbc", 1, "machine-labels", ""),
    ("label machine.csv t.csv --method nbc --trust-machine-labels -o o.csv", 0, "", "o.csv run.json"),
    ("label s.csv s.jsonl t.csv --method nbc -o o.csv", 0, "", "o.csv run.json"),
    ("label s.xlsx t.xlsx --method nbc -o o.csv", 0, "", "o.csv run.json"),
    ("label s.xlsx::nope t.csv --method nbc", 1, "unknown-column", ""),
    ("label half.csv --method nbc -o o.csv", 0, "", "o.csv run.json"),
    ("label half.csv --target-label label", 2, "bad-parameter", ""),
    ("label t.csv --class north --class south --embed none -o o.csv", 1, "empty-class", ""),
    ("label s.csv formula.csv --method nbc --exact -o o.csv", 0, "", "o.csv run.json"),
    ("label t.csv --model m.isthmus -o o.csv", 0, "", "o.csv run.json"),
    ("label t.csv --model m.isthmus --method nbc", 2, "bad-parameter", ""),
    ("label s.csv t.csv --model m.isthmus", 2, "bad-parameter", ""),
    ("label t.csv --model s.csv", 1, "bad-model", ""),
    ("ask", 2, "", ""),
    ("ask m.isthmus -n 5 -o o.csv", 0, "", "o.csv"),
    ("ask m.isthmus -n 0", 2, "", ""),
    ("ask m.isthmus --words --suggest", 2, "bad-parameter", ""),
    ("ask m.isthmus --words -n 5 -o o.xlsx", 0, "", "o.xlsx"),
    ("ask m.isthmus --json", 2, "bad-parameter", ""),
    ("ask m.isthmus -n 2 -o taken.csv", 1, "output-exists", ""),
    ("ask s.csv", 1, "bad-model", ""),
    ("teach m.isthmus", 2, "bad-parameter", ""),
    ("teach m.isthmus answers.csv", 0, "", ""),
    ("teach m.isthmus answers.csv -o o.csv --save o.isthmus --report r.html", 0, "", "o.csv o.isthmus r.html run.json"),
    ("teach m.isthmus stranger.csv -o o.csv", 1, "bad-answers", ""),
    ("teach m.isthmus --words words.csv -o o.csv", 0, "", "o.csv run.json"),
    ("teach m.isthmus --rename rename.csv -o o.csv", 0, "", "o.csv run.json"),
    ("teach m.isthmus --rename answers.csv", 1, "unknown-column", ""),
    ("teach m.isthmus --without none.csv", 2, "bad-parameter", ""),
    ("teach m.isthmus --name-group 1=", 2, "bad-parameter", ""),
    ("teach m.isthmus answers.csv --target s.csv -o o.csv", 1, "bad-parameter", ""),
    ("teach m.isthmus answers.csv -o m.isthmus", 2, "output-unwritable", ""),
    ("check m.isthmus", 2, "bad-parameter", ""),
    ("check m.isthmus --sample 10 -o o.csv", 0, "", "o.csv"),
    ("check m.isthmus --margin 0.2 --sample 5", 2, "bad-parameter", ""),
    ("check m.isthmus --sample 10 --json", 2, "bad-parameter", ""),
    ("check m.isthmus --sample 0", 2, "bad-parameter", ""),
    ("check m.isthmus filled.csv", 0, "", ""),
    ("check m.isthmus filled.csv --report r.html --save o.isthmus -o o.csv", 0, "", "o.csv o.isthmus r.html run.json"),
    ("check m.isthmus drawn.csv", 1, "bad-check", ""),
    ("check m.isthmus filled.csv --label nope", 1, "unknown-column", ""),
    ("check m.isthmus --sample 5 --report r.html", 2, "bad-parameter", ""),
    ("check base.csv --sample 10 -o o.csv", 0, "", "o.csv"),
    ("check base.csv filled.csv --save o.isthmus", 2, "bad-parameter", ""),
    ("check t.csv --sample 5", 1, "unknown-column", ""),
    ("check - -", 2, "bad-parameter", ""),
    ("cluster s.csv", 2, "bad-parameter", ""),
    ("cluster s.csv t.csv -o o.csv --report r.html --save o.isthmus", 0, "", "o.csv o.isthmus r.html run.json"),
    ("cluster s.csv t.csv --clusters 0", 2, "bad-parameter", ""),
    ("cluster s.csv t.csv --method foo", 2, "bad-parameter", ""),
    ("cluster s.csv t.csv --guidance 2", 2, "bad-parameter", ""),
    ("cluster s.csv t.csv --pivot bike", 2, "bad-parameter", ""),
    ("cluster s.csv t.csv --name 1=x", 2, "bad-parameter", ""),
    ("cluster m.isthmus --within nope", 2, "bad-parameter", ""),
    ("explain m.isthmus", 2, "bad-parameter", ""),
    ("explain m.isthmus --document t0 --top 2 -o o.csv", 0, "", "o.csv"),
    ("explain m.isthmus --document nope", 1, "unknown-name", ""),
    ("explain m.isthmus --document t0 --json -o o.csv", 2, "bad-parameter", ""),
    ("diagnose s.csv", 2, "", ""),
    ("diagnose s.csv t.csv --report r.html --review-source o.csv", 0, "", "o.csv r.html"),
    ("diagnose s.csv t.csv --review-source -", 2, "bad-parameter", ""),
    ("convert base.csv o.json --to label-studio", 0, "", "o.json"),
    ("convert base.csv o.json", 2, "bad-parameter", ""),
    ("convert base.csv o.csv --to prodigy", 2, "bad-parameter", ""),
    ("convert base.csv o.json --to foo", 2, "bad-parameter", ""),
    ("convert s.csv o.jsonl --review --to doccano", 1, "unknown-column", ""),
    ("workspace nope", 2, "", ""),
    ("workspace people", 1, "missing-file", ""),
    ("data sample -o out", 0, "", "out/cars.csv out/later.csv out/motorcycles.csv"),
    ("data nope", 2, "", ""),
    ("models nope", 2, "", ""),
    ("demo --method foo", 2, "unknown-method", ""),
]


def make_files():
    """Write the files of the table: 60 labelled and 40 unlabelled comments, in several formats and with flaws."""
    source, target, _ = load_sample()
    texts, labels = source.texts[:60], source.labels[:60]
    ids = [f"s{i}" for i in range(60)]
    rows = {"id": ids, "text": texts, "label": labels}
    others = {
        "id": [f"t{i}" for i in range(40)],
        "text": target.texts[:40],
        "region": ["north", "south"] * 20,
    }
    names = sorted(set(labels))
    for name, table in {
        "s.csv": rows,
        "s.jsonl": rows,
        "s.xlsx": rows,
        "t.csv": others,
        "t.xlsx": others,
        "half.csv": rows | {"label": [name if i < 40 else "" for i, name in enumerate(labels)]},
        "one.csv": rows | {"label": ["same"] * 60},
        "dates.csv": rows | {"label": [f"2024-01-{i % 28 + 1:02d}" for i in range(60)]},
        "machine.csv": rows | {"confidence": [0.9] * 60, "needs_review": [False] * 60},
        "odd.csv": {"nr": ids, "body": texts, "topic": labels},
        "formula.csv": {"id": ["a", "b"], "text": ["=1+1 staff", "price"]},
        "answers.csv": {"id": [f"t{i}" for i in range(12)], "true_label": [names[i % len(names)] for i in range(12)]},
        "stranger.csv": {"id": ["zz"], "true_label": [names[0]]},
        "words.csv": {"word": ["excellent", "broken"], "label": [names[0], names[-1]]},
        "classes.csv": {"class": [*names, "parking"], "words": [*names, "parking garage space"]},
        "rename.csv": {"old": [names[0]], "new": ["renamed"]},
        "extra.csv": {"text": target.texts[40:60]},
        "vs.csv": rows | {"vec": [f"[{i % 3}, {i % 5}, 1]" for i in range(60)]},
        "vt.csv": others | {"vec": [f"[{i % 3}, {i % 5}, 1]" for i in range(40)]},
        "taken.csv": {"a": [1]},
    }.items():
        write_rows(name, table)
    Path("empty.csv").write_text("id,text,label\n", encoding="utf-8")
    Path("notes.doc").write_bytes(b"\xd0\xcf\x11\xe0abc")
    Path("folder").mkdir()
    for line in (
        "label s.csv t.csv --method nbc -o base.csv --save m.isthmus --quiet",
        "check m.isthmus --sample 20 -o drawn.csv --quiet",
    ):
        assert run_command(line.split()) == 0
    with Path("drawn.csv").open(newline="", encoding="utf-8") as file:
        drawn = list(csv.DictReader(file))
    given = {name: [row[name] for row in drawn] for name in drawn[0]}
    write_rows("filled.csv", given | {"true_label": [names[i % len(names)] for i in range(20)]})
    Path("run.json").unlink()


def files_here():
    return {str(path): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}


def outcome(line, capsys):
    """Exit code, code of the refusal and names of the files that a command line has written or changed."""
    before = files_here()
    try:
        code = run_command(shlex.split(line))
    finally:
        said = capsys.readouterr().err.strip()
    found = re.search(r"\[([a-z]+(?:-[a-z]+)*)\]$", said)
    written = [name for name, content in files_here().items() if before.get(name) != content]
    assert before.keys() <= files_here().keys(), "nothing is deleted"
    return code, found.group(1) if code and found else "", " ".join(written)


@pytest.mark.parametrize(("line", "code", "refusal", "written"), TABLE, ids=[row[0] for row in TABLE])
def test_exit_code_refusal_and_files(enter_copy, capsys, line, code, refusal, written):
    enter_copy(make_files)
    assert outcome(line, capsys) == (code, refusal, written)


def read_rows(name):
    with Path(name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_from_two_files_to_taught_and_checked_labels(enter_copy, capsys):
    """Label, run the next step as printed, teach, check: the figures agree with labels that only the test knows."""
    enter_copy(make_files)
    _, target, truth = load_sample()
    right = {f"t{i}": truth[number] for i, number in enumerate(target.ids[:40])}

    def run(line):
        """Run a command line and return the command of its next step, if it names one."""
        assert run_command(shlex.split(line)) == 0
        step = capsys.readouterr().err.strip().splitlines()[-1]
        assert step.startswith("next: ")
        found = re.search(r"isthmus ((?:ask|teach|check) .*?)(?:: the accuracy.*)?$", step)
        return found and found.group(1)

    def answer(name):
        """Give the true labels, as a person would, and return the answered ids."""
        rows = read_rows(name)
        filled = {column: [row[column] for row in rows] for column in rows[0]}
        write_rows(name, filled | {"true_label": [right[row["id"]] for row in rows]}, force=True)
        return [row["id"] for row in rows]

    def count_right(name):
        return sum(row["label"] == right[row["id"]] for row in read_rows(name))

    draw = run("label s.csv t.csv --method nbc -o out.csv --save run.isthmus --report page.html")
    learn = run(draw)
    answered = answer(shlex.split(draw)[-1])
    taught, saved = shlex.split(learn)[4], shlex.split(learn)[6]
    run(learn)
    labels = {row["id"]: row["label"] for row in read_rows(taught)}
    assert answered
    assert all(labels[name] == right[name] for name in answered)
    assert count_right(taught) > count_right("out.csv")
    check = run(f"check {saved} --sample 40 -o sample.csv")
    answer("sample.csv")
    capsys.readouterr()
    assert run_command([*shlex.split(check), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n"], found["population"]) == (40, 40)
    assert found["low"] == found["high"] == found["accuracy"], "all documents were read"
