"""``isthmus bench``: options, outputs, exit codes."""

import json

import pytest
import typer
from typer.testing import CliRunner

from isthmus.exceptions import DataError, UsageError
from isthmus_bench import command as bench_command
from isthmus_bench.command import register
from isthmus_bench.engine.workers import load_suite, run_job

pytest.importorskip("altair")


@pytest.fixture
def command(suite_file, folder, monkeypatch):
    """Run the command in this process, units too; workers have their own tests."""

    def run_here(reference, jobs, folder, **options):
        for job in jobs:
            yield from run_job(load_suite(reference), job, folder)

    monkeypatch.setattr("isthmus_bench.engine.harness.run_jobs", run_here)
    app = typer.Typer()
    register(app)
    app.command("other")(lambda: None)  # with one command only, typer would drop its name

    def run(*words, suite=str(suite_file), data=str(folder)):
        return CliRunner().invoke(app, ["bench", suite, "--data", data, *map(str, words)])

    return run


def test_table_on_stdout_talk_on_stderr_json_in_the_file(command, tmp_path):
    result = command(
        "--task", "two", "--method", "first,second", "--json", tmp_path / "out.json", "--csv", tmp_path / "out.csv"
    )
    assert result.exit_code == 0, result.output
    table = (tmp_path / "out.csv").read_text("utf-8").splitlines()
    assert table[0] == "metric,task,first,second"
    assert table[1].startswith("error,two,0.1667 ± 0.2357,"), "what is printed, as a table for a paper"
    assert result.stdout.splitlines()[0] == "error"
    assert "0.1667 ± 0.2357" in result.stdout
    assert "McNemar" in result.stdout
    assert "[1/3] two  first  seed 0  error 0.0000" in result.stderr
    content = json.loads((tmp_path / "out.json").read_text())
    assert set(content) == {"suite", "rows"}
    assert [row["method"] for row in content["rows"]] == ["first", "first", "second", "second"]


def test_lists_by_comma_or_repeated_and_seeds_by_count(command, tmp_path):
    result = command(
        "--task", "one", "--task", "two,one", "--method", "first", "--seeds", "3", "--json", "-", "--quiet"
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["rows"]
    assert [(row["task"], row["seed"]) for row in rows] == [(t, s) for t in ("one", "two") for s in range(3)]


def test_a_second_run_says_what_it_kept(command):
    command("--task", "two", "--method", "first")
    result = command("--task", "two", "--method", "first")
    assert "2 finished rows are kept" in result.stderr
    assert command("--task", "two", "--method", "first", "--quiet").stderr == ""


def test_a_failing_method_gives_exit_1_and_the_rest_of_the_table(command, tmp_path):
    result = command("--task", "two", "--method", "first,broken", "--seeds", "0,1", "--json", tmp_path / "o.json")
    assert result.exit_code == 1
    assert "no luck" in result.stderr
    assert "0.1667" in result.stdout
    content = json.loads((tmp_path / "o.json").read_text())
    assert len(content["rows"]) == 2
    assert [failure["seed"] for failure in content["failures"]] == [0, 1]


def test_record_and_study_write_pages_and_charts(command, tmp_path):
    result = command("--method", "first", "--seeds", "1", "--record", tmp_path / "rec")
    assert result.exit_code == 0, result.output
    assert "gone: not run, the corpus cannot be had" in result.stdout
    result = command("--study", "all", "--seeds", "1", "--record", tmp_path / "rec")
    assert result.exit_code == 0, result.output
    place = tmp_path / "rec" / "tiny"
    names = {path.name for path in place.iterdir()}
    derived = {"wrong.csv", "wrong.svg"}  # made from the rows, with its chart
    assert names == {"results.json", "results.md", "sweep.csv", "sweep.md", "sweep.svg", *derived}
    assert "![wrong](wrong.svg)" in (place / "results.md").read_text()
    assert (place / "sweep.svg").read_text().startswith("<svg")
    assert "isthmus bench tiny.py --study all --seeds 1" in (place / "results.md").read_text()
    assert str(tmp_path) not in (place / "results.json").read_text()


def test_tune_runs_the_studies_that_choose_defaults(suite_file, command, tmp_path, calls):
    result = command(suite_file, "--seeds", "1", "--record", tmp_path / "rec", suite="tune")
    assert result.exit_code == 0, result.output
    assert calls("sweep") == 1
    place = tmp_path / "rec" / "tiny"
    assert (place / "choice.csv").read_text().startswith("size,error")
    assert not (place / "sweep.csv").exists()
    assert "isthmus bench tune tiny" in (place / "results.md").read_text()
    assert command("--seeds", "1", suite="tune").exception.code == "bad-parameter"
    assert command("strings").exception.code == "bad-parameter"
    assert command("speed", suite="tune").exception.code == "unknown-name"


@pytest.mark.parametrize(
    ("words", "kind", "code"),
    [
        (("--task", "tow"), UsageError, "unknown-name"),
        (("--method", "fisrt"), UsageError, "unknown-method"),
        (("--study", "sweeps"), UsageError, "unknown-name"),
        (("--seeds", "a"), UsageError, "bad-parameter"),
        (("--seeds", "-1"), UsageError, "bad-parameter"),
        (("--quick",), UsageError, "bad-parameter"),
        (("--against", "records"), UsageError, "bad-parameter"),
        (("--task", "maybe"), DataError, "missing-data"),
    ],
)
def test_wrong_usage_is_told_apart_from_missing_data(command, words, kind, code):
    error = command(*words).exception
    assert isinstance(error, kind)
    assert error.code == code


def test_verify_fails_where_a_recorded_value_differs(command, tmp_path):
    words = ("--task", "two", "--method", "second", "--record", tmp_path / "records")
    assert command(*words).exit_code == 0
    assert "2 of 2 values are as recorded" in command(*words, "--verify").output
    path = tmp_path / "records" / "tiny" / "results.json"
    path.write_text(path.read_text().replace("0.6666666666666666", "0.5"))
    again = command(*words, "--verify")
    assert again.exit_code == 1
    assert "error was 0.5000 and is 0.6667" in again.output


def test_renew_writes_its_own_command_and_takes_the_seeds_of_the_record(command, tmp_path):
    words = ("--record", tmp_path / "records")
    assert command("--task", "two", "--method", "second", *words).exit_code == 0
    assert command("--renew", *words).exit_code == 0
    content = json.loads((tmp_path / "records" / "tiny" / "results.json").read_text())
    assert content["commands"][-1].endswith(" --renew"), "how the rows came to be as they are"
    refused = command("--renew", "--seeds", "2", *words).exception
    assert refused.code == "bad-parameter"
    assert "takes the seeds of the record" in str(refused)


def test_outputs_are_checked_before_the_work(command, tmp_path, calls):
    full, empty = tmp_path / "full.json", tmp_path / "empty.json"
    full.write_text("mine")
    empty.write_text("")
    words = ("--task", "two", "--method", "first", "--seeds", "1")
    assert command(*words, "--json", full).exception.code == "output-exists"
    assert command(*words, "--csv", full).exception.code == "output-exists"
    assert command(*words, "--json", tmp_path).exception.code == "output-unwritable"
    assert command(*words, "--json", tmp_path / "no" / "o.json").exception.code == "output-unwritable"
    assert calls("first") == 0
    assert full.read_text() == "mine"
    assert command(*words, "--json", empty).exit_code == 0
    assert command(*words, "--json", full, "--force").exit_code == 0
    assert json.loads(full.read_text())["suite"] == "tiny"
    assert calls("first") == 2  # --force computed it again


def test_lists_of_suites_and_of_what_a_suite_holds(command):
    app = typer.Typer()
    register(app)
    app.command("other")(lambda: None)
    result = CliRunner().invoke(app, ["bench"])
    assert "speed" in result.stdout
    result = command("--list")
    assert "methods: first, second, (broken)" in result.stdout
    assert "tasks: one, two, maybe, gone" in result.stdout


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_of_a_bench_overwrites_lines_on_a_terminal_only(monkeypatch, capsys, terminal):
    monkeypatch.setattr(bench_command, "_is_terminal", lambda: terminal)
    talk = bench_command._Talk(quiet=False)
    talk({"event": "plan", "kept": 0})
    talk({"event": "plan", "kept": 1})
    unit = {"task": "a-b", "method": "nbc", "study": None, "seed": 2}
    talk({"event": "begin", **unit})
    talk({"event": "step", "phase": "reading", "done": 3, "total": 8, **unit})
    rows = [{"metric": "accuracy", "value": 0.5}, {"other": 1}]
    done = {
        "event": "end",
        "done": 1,
        "total": 4,
        "rows": rows,
        "failure": "",
        "seconds": 1.26,
        "warnings": list("xyz"),
    }
    talk({**unit, **done})
    told, clear = capsys.readouterr().err, "\r\033[K"
    assert (clear in told) == terminal
    passing = f"{clear}    a-b  nbc …{clear}    a-b  reading 3 of 8 …" if terminal else ""
    lines = ["1 finished row is kept from an earlier run (--force computes them again)\n", passing,
             f"[1/4] a-b  nbc  seed 2  {bench_command._result(rows[0])}  1.3 s\n", "    x\n", "    y\n"]  # fmt: skip
    assert told == "".join(line if line == passing else (clear if terminal else "") + line for line in lines)
    assert talk.done == 1
    bench_command._Talk(quiet=True)({"event": "plan", "kept": 1})
    assert capsys.readouterr().err == ""
