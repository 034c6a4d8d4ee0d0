"""The command ``isthmus label``: outputs, refusals, exit codes, and nothing half-written."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from made_texts import COMMENTS_CSV as SOURCE

from isthmus.cli.app import run_command
from isthmus.corpus import load_sample
from isthmus.corpus.sample import sample_file

TARGET = "id,comment,extra\n1,friendly staff at the desk,007\n2,the price of the sedan,1.0\n3,nothing known,NA\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("source.csv").write_text(SOURCE)
    Path("target.csv").write_text(TARGET)
    return tmp_path


def rows_of(path):
    csv.field_size_limit(10_000_000)
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_labels_and_keeps_every_column(folder, capsys):
    code = run_command(["label", "source.csv", "target.csv", "--method", "nbc", "-o", "out.csv"])
    assert code == 0
    rows = rows_of("out.csv")
    added = ["label", "confidence", "needs_review", "novel_group", "review_reason"]
    assert list(rows[0]) == ["id", "comment", "extra", *added]
    assert [row["label"] for row in rows[:2]] == ["staff", "price"]
    assert [row["extra"] for row in rows] == ["007", "1.0", "NA"]
    talk = capsys.readouterr()
    assert talk.out == ""
    assert "'comment' is taken as the text" in talk.err
    assert "wrote out.csv" in talk.err


def test_run_record_says_how_to_repeat(folder):
    run_command(["label", "source.csv", "target.csv", "--method", "svm", "-o", "out.csv", "--seed", "3", "--quiet"])
    record = json.loads(Path("run.json").read_text())
    assert record["settings"]["random_state"] == 3
    assert record["method"] == "svm"
    assert {"isthmus", "numpy", "scikit-learn"} <= set(record["versions"])
    assert all(len(entry["sha256"]) == 64 for entry in record["inputs"])


def test_run_record_holds_the_columns_that_were_named(folder):
    options = ["--text", "comment", "--label", "category", "--method", "nbc", "-o", "out.csv", "--quiet"]
    assert run_command(["label", "source.csv", "target.csv", *options]) == 0
    record = json.loads(Path("run.json").read_text())
    assert record["options"]["text"] == "comment"
    assert record["options"]["label"] == "category"


def test_a_failed_run_leaves_an_older_report_alone(folder):
    Path("page.html").write_text("old")
    Path("target.csv").write_text(TARGET + f"9,{'word ' * 10_000},x\n")
    arguments = ["label", "source.csv", "target.csv", "--method", "nbc", "-o", "out.xlsx", "--report", "page.html"]
    assert run_command([*arguments, "--force", "--quiet"]) == 1  # a cell too long for xlsx
    assert Path("page.html").read_text() == "old"
    assert sorted(os.listdir(folder)) == ["page.html", "source.csv", "target.csv"]


def test_every_command_is_mounted(capsys):
    import isthmus.cli

    files = {path.stem for path in Path(isthmus.cli.__file__).parent.glob("[a-z]*.py")}
    commands = files - {"app", "blocks", "command", "common", "inputs", "label_run", "outputs", "progress"}
    run_command([])
    listed = capsys.readouterr().err
    assert commands
    assert [name for name in sorted(commands) if f"\n  {name}" not in listed] == []


def test_two_outputs_in_one_folder_keep_two_records(folder):
    for name in ("one.csv", "two.csv"):
        assert run_command(["label", "source.csv", "target.csv", "--method", "nbc", "-o", name, "--quiet"]) == 0
    assert json.loads(Path("run.json").read_text())["output"] == "one.csv"
    assert json.loads(Path("two.csv.run.json").read_text())["output"] == "two.csv"


def test_same_seed_same_bytes(folder):
    for name in ("one.csv", "two.csv"):
        run_command(["label", "source.csv", "target.csv", "--method", "self-training", "-o", name, "--quiet"])
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()


def test_without_output_rows_go_to_stdout_and_quiet_is_quiet(folder, capfdbinary):
    assert run_command(["label", "source.csv", "target.csv", "--method", "nbc", "--quiet"]) == 0
    out, err = capfdbinary.readouterr()
    assert out.decode().splitlines()[0] == "id,comment,extra,label,confidence,needs_review,novel_group,review_reason"
    assert err == b""
    assert not Path("run.json").exists()


def test_json_summary(folder, capsys):
    assert run_command(["label", "source.csv", "target.csv", "--method", "nbc", "-o", "out.jsonl", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["method"] == "nbc"
    written = [json.loads(line)["label"] for line in Path("out.jsonl").read_text().splitlines()]
    assert summary["labels"] == dict(Counter(written).most_common())
    assert len(Path("out.jsonl").read_text().splitlines()) == 3


def test_truth_of_the_sample_is_never_read(tmp_path, monkeypatch):
    for name in ("motorcycles.csv", "cars.csv", "cars_truth.csv"):
        (tmp_path / name).write_bytes(sample_file(name))
    opened = []
    plain = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: opened.append(self.name) or plain(self))
    source, target = str(tmp_path / "motorcycles.csv"), str(tmp_path / "cars.csv")
    assert run_command(["label", source, target, "--method", "nbc", "-o", str(tmp_path / "out.csv"), "--quiet"]) == 0
    assert "cars.csv" in opened
    assert "cars_truth.csv" not in opened


def test_source_only_is_right_on_65_to_85_percent_of_the_sample():
    import isthmus

    source, target, truth = load_sample()
    for method in ("nbc", "svm", "logistic"):
        result = isthmus.label(source.texts, source.labels, target.texts, method=method)
        right = sum(truth[number] == label for number, label in zip(target.ids, result.labels, strict=True))
        assert 0.65 <= right / len(target) <= 0.85, method


def with_source(text):
    def prepare():
        Path("bad.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
        return ["bad.csv", "target.csv"]

    return prepare


def both(*arguments):
    return lambda: ["source.csv", "target.csv", *arguments]


def existing_output():
    Path("out.csv").write_text("precious")
    return ["source.csv", "target.csv"]


def a_folder():
    Path("empty").mkdir()
    return ["empty", "target.csv"]


def foreign_target():
    Path("foreign.csv").write_text("id,comment\n1,ganz andere Wörter hier\n2,noch mehr davon\n")
    return ["source.csv", "foreign.csv"]


# name, arguments, exit code, error code, a part of the sentence
REFUSALS = [
    ("empty file", with_source(""), 1, "empty-file", "is empty"),
    ("header only", with_source("id,comment,category\n"), 1, "empty-file", "no rows"),
    ("missing file", lambda: ["no.csv", "target.csv"], 1, "missing-file", "no.csv"),
    ("folder instead of file", a_folder, 1, "empty-file|not-a-file", "empty"),
    ("wrong column", both("--text", "coment"), 1, "unknown-column", "Did you mean 'comment'"),
    ("no label column", with_source("id,comment\n1,one text here\n2,another text\n"), 1, "no-label-column", "--label"),
    ("one class", with_source("id,comment,category\n1,good,a\n2,bad,a\n"), 1, "one-class", "two classes"),
    ("all labels missing", with_source("id,comment,category\n1,good,\n2,bad,\n"), 1, "no-labels", "empty"),
    ("no shared words", foreign_target, 1, "no-shared-words", "shares 0 of its"),
    ("broken encoding", with_source(SOURCE.encode() * 3 + "ü€".encode() + b"\xff\xfe\xfa,x,staff\n"), 1,
     "bad-encoding|unreadable-file", "bad.csv"),
    ("NUL bytes", with_source(SOURCE.encode() + b"7,a\x00b,staff\n"), 1, "nul-bytes", "NUL"),
    ("output exists", existing_output, 1, "output-exists", "--force"),
    ("unwritable output folder", both("-o", "no/such/out.csv"), 1, "output-unwritable", "cannot be written"),
    ("unknown method", both("--method", "coc"), 2, "unknown-method", "Did you mean"),
    ("unknown format", both("-o", "out.docx"), 2, "unknown-format", ".csv"),
    ("two standard inputs", lambda: ["-", "-"], 2, "bad-parameter", "standard input"),
    ("one column twice", both("--text", "comment", "--label", "comment"), 2, "bad-parameter", "both as the text"),
    ("empty name", lambda: ["", "target.csv"], 2, "bad-parameter", "empty"),
    ("unknown analyser", both("--analyzer", "wrods"), 2, "bad-parameter", "words"),
    ("bad budget", both("--error-budget", "7"), 2, "bad-parameter", "between 0 and 1"),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS, ids=[case[0] for case in REFUSALS])
def test_refusals_are_one_sentence_and_leave_nothing(folder, capsys, case):
    _, prepare, exit_code, error_code, part = case
    arguments = prepare()
    before = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    output = [] if "-o" in arguments else ["-o", "out.csv"]
    assert run_command(["label", *arguments, *output, "--report", "page.html"]) == exit_code
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("isthmus: ")]
    assert len(lines) == 1
    assert part in lines[0]
    assert any(lines[0].endswith(f"[{code}]") for code in error_code.split("|"))
    assert {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_hard_but_good_input_is_labelled(folder, capsys):
    long = "friendly staff " * 70_000  # a million characters
    Path("source.csv").write_text(
        SOURCE + '7,"the price, they said","price, or\ncost"\n8,a price too,"price, or\ncost"\n'
    )
    Path("target.csv").write_text(TARGET + f"1,{long},twice\n9,,empty text\n")
    assert run_command(["label", "source.csv", "target.csv", "--method", "nbc", "-o", "out.csv"]) == 0
    rows = rows_of("out.csv")
    assert len(rows) == 5
    assert rows[3]["label"] == "staff"
    assert rows[4]["needs_review"].lower() == "true"
    assert {row["label"] for row in rows} <= {"staff", "price", "price, or\ncost"}
    talk = capsys.readouterr().err
    assert "id" in talk


def test_standard_input(folder, monkeypatch, capfdbinary):
    with open("target.csv", encoding="utf-8") as given:
        monkeypatch.setattr(sys, "stdin", given)
        assert run_command(["label", "source.csv", "-", "--method", "nbc", "--quiet"]) == 0
    assert capfdbinary.readouterr().out.count(b"\n") == 4


def test_survives_a_closed_pipe(folder):
    Path("target.csv").write_text(TARGET + "".join(f"{i},friendly staff {i},x\n" for i in range(2_000)))
    command = (
        f"{sys.executable} -m isthmus label source.csv target.csv --method nbc --quiet --report page.html | head -n 1"
    )
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("id,comment")
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    assert Path("page.html").stat().st_size > 1000


def test_ctrl_c_leaves_no_partial_output(folder):
    Path("target.csv").write_text(TARGET + "".join(f"{i},friendly staff number {i % 977},x\n" for i in range(150_000)))
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "isthmus", "label", "source.csv", "target.csv", "--method", "self-training",
         "-o", "out.csv", "--report", "page.html"],
        stderr=subprocess.PIPE, text=True,
        # A suite started in the background ignores Ctrl-C, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    for line in process.stderr:
        if line.startswith("target:"):
            break
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    talk = process.stderr.read()
    process.stderr.close()
    # Ended by its own exit code, or by the signal it was sent: a shell reports 130 for both.
    assert process.wait(timeout=300) in (130, -signal.SIGINT), talk
    assert "Stopped" in talk
    assert "Traceback" not in talk
    assert sorted(os.listdir(folder)) == ["source.csv", "target.csv"]


SWALLOWING = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)

class Swallow:
    def find_spec(self, name, *more):
        if name == PACKAGE:
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(5)
            except KeyboardInterrupt:
                print("swallowed", file=sys.stderr)

import isthmus.cli
sys.meta_path.insert(0, Swallow())
isthmus.cli.main(sys.argv[1:])
"""


@pytest.mark.parametrize(("package", "more"), [("scipy.stats", []), ("jinja2", ["--quiet"])])
def test_ctrl_c_that_a_package_swallows_while_it_loads_still_stops_the_command(folder, package, more):
    script = SWALLOWING.replace("PACKAGE", repr(package))
    run = subprocess.run(
        [sys.executable, "-c", script, "label", "source.csv", "target.csv", "--method", "nbc", "-o", "out.csv",
         "--report", "page.html", *more],
        capture_output=True, text=True,
    )  # fmt: skip
    assert "swallowed" in run.stderr
    assert run.returncode == 130, run.stderr
    assert "Stopped" in run.stderr
    assert "Traceback" not in run.stderr
    assert sorted(os.listdir(folder)) == ["source.csv", "target.csv"]


def test_wrong_usage_exits_with_2(capsys):
    assert run_command(["label"]) == 2
    assert run_command(["lable", "a", "b"]) == 2
    assert run_command(["label", "a", "b", "--no-such-option"]) == 2
    assert run_command([]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_version(capsys):
    assert run_command(["--version"]) == 0
    assert capsys.readouterr().out.startswith("isthmus ")


def test_labels_that_are_not_classes_are_refused_before_the_work(folder, capsys):
    rows = [f"comment {i} about staff,{label}" for i, label in enumerate(["staff;price", "staff", "price;staff"] * 10)]
    Path("tags.csv").write_text("comment,label\n" + "\n".join(rows) + "\n")
    command = ["label", "tags.csv", "target.csv", "--method", "nbc", "-o", "out.csv"]
    assert run_command(command) == 1
    said = capsys.readouterr().err
    assert "several labels in one cell ('staff;price')" in said
    assert "[labels-not-classes]" in said
    assert not Path("out.csv").exists()
    assert run_command([*command, "--force-classes"]) == 0
    assert {row["label"] for row in rows_of("out.csv")} <= {"staff;price", "staff", "price;staff"}


def test_grades_are_named_and_learned(folder, capsys):
    rows = [f"comment {i} about the staff and the price {grade},{grade}" for i, grade in enumerate([1, 2, 3, 4, 5] * 6)]
    Path("stars.csv").write_text("comment,label\n" + "\n".join(rows) + "\n")
    assert run_command(["label", "stars.csv", "target.csv", "--method", "nbc", "-o", "out.csv"]) == 0
    assert "grades from '1' to '5'" in capsys.readouterr().err
