"""The harness: what it runs, what it keeps, what it survives."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from isthmus._utils import to_plain
from isthmus.exceptions import DataError, UsageError
from isthmus_bench import SUITES, Method
from isthmus_bench.engine.harness import find_suite, run_suite
from isthmus_bench.engine.records import Record
from isthmus_bench.engine.stamps import hash_file
from isthmus_bench.engine.verify import verify_record


def test_rows_follow_tasks_methods_seeds_and_carry_the_contract(suite, folder):
    run = run_suite(suite, folder)
    assert [(r["task"], r["method"], r["seed"]) for r in run.rows if r["metric"] == "error"] == [
        ("one", "first", 0),
        ("one", "first", 1),
        ("one", "second", None),
        ("two", "first", 0),
        ("two", "first", 1),
        ("two", "second", None),
    ]
    content = json.loads(json.dumps(run.to_json(), allow_nan=False))
    assert content["suite"] == "tiny"
    assert all({"task", "method", "metric", "value", "seconds"} <= row.keys() for row in content["rows"])
    assert [row["value"] for row in content["rows"][:2]] == [0.0, pytest.approx(1 / 3)]
    assert content["rows"][2]["seconds"] == 9.0
    assert content["rows"][3]["value"] is None  # NaN is no JSON
    assert content["rows"][3]["note"] == "kept"
    assert not any("correct" in row for row in content["rows"])
    assert "failures" not in content
    assert content["not_run"] == [
        {"task": "gone", "reason": "the corpus cannot be had"},
        {"task": "maybe", "reason": "absent.txt is not in the data folder"},
    ]


def test_a_finished_row_is_not_computed_twice(suite, folder, calls):
    first = run_suite(suite, folder)
    again = run_suite(suite, folder)
    assert calls("first") == 4
    assert calls("second") == 2
    assert again.rows == first.rows
    assert (first.kept, again.kept) == (0, 6)


def test_more_seeds_compute_only_what_is_new(suite, folder, calls):
    run_suite(suite, folder, ["one"], ["first"], [0])
    run_suite(suite, folder, ["one"], ["first"], [0, 1, 2])
    assert calls("first") == 3


def test_force_other_data_and_other_version_compute_again(suite, folder, calls, monkeypatch):
    run_suite(suite, folder, ["one", "two"], ["first"], [0])
    run_suite(suite, folder, ["one"], ["first"], [0], force=True)
    assert calls("first") == 3
    (folder / "data.txt").write_text("other bytes")
    run_suite(suite, folder, ["one", "two"], ["first"], [0])
    assert calls("first") == 4  # task two reads no file: it still holds
    monkeypatch.setattr("isthmus_bench.engine.records.version", lambda name: "99")
    run_suite(suite, folder, ["one", "two"], ["first"], [0])
    assert calls("first") == 6


def test_a_method_that_raises_costs_its_row_only_and_is_tried_again(suite, folder):
    run = run_suite(suite, folder, ["two"], ["broken", "first"], [0])
    assert [row["method"] for row in run.rows] == ["first"]
    assert run.failures == [{"task": "two", "method": "broken", "seed": 0, "failure": "RuntimeError: no luck"}]
    events = []
    again = run_suite(suite, folder, ["two"], ["broken", "first"], [0], progress=events.append)
    assert again.failures == run.failures
    assert [(e["event"], e["method"]) for e in events if e["event"] != "plan"] == [
        ("begin", "broken"),
        ("failed", "broken"),
    ]


def test_a_row_without_metric_is_a_failure_that_says_so(suite, folder):
    suite.methods["first"] = Method("first", lambda data, seed: [{"value": 1}])
    run = run_suite(suite, folder, ["two"], ["first"], [0])
    assert "a row needs metric and value" in run.failures[0]["failure"]


def test_a_task_that_cannot_be_loaded_fails_with_all_its_units(suite_file, suite, folder):
    task = suite.tasks["two"]
    object.__setattr__(task, "load", lambda folder: 1 / 0)
    run = run_suite(suite, folder, ["two"], ["first"], [0, 1])
    assert len(run.failures) == 2
    assert "could not be loaded: ZeroDivisionError" in run.failures[0]["failure"]


def test_tasks_run_in_parallel_processes(suite_file, folder):
    run = run_suite(str(suite_file), folder, ["one", "two"], ["meet", "threads"], [0], jobs=2)
    assert not run.failures
    assert [row["value"] for row in run.rows if row["method"] == "threads"] == [1.0, 1.0]  # one thread each


def test_a_process_that_dies_costs_one_unit(suite_file, folder):
    run = run_suite(str(suite_file), folder, ["two"], ["first", "dies", "second"], [0], jobs=1)
    assert [row["method"] for row in run.rows] == ["first", "second", "second"]
    assert run.failures[0]["failure"] == "the process ended with code 3"


def test_what_a_method_reports_comes_home(suite_file, folder):
    events = []
    run_suite(str(suite_file), folder, ["two"], ["talks"], [0], progress=events.append)
    steps = [event for event in events if event["event"] == "step"]
    assert 1 <= len(steps) <= 3  # of some sixty calls; more than one where the machine is slow
    assert all(step == {"event": "step", "task": "two", "phase": "counting", "done": 3, "total": 7} for step in steps)


def test_parallel_and_sequential_runs_agree(suite_file, suite, folder, tmp_path):
    one = run_suite(suite, folder, record_dir=tmp_path / "a")
    two = run_suite(str(suite_file), folder, record_dir=tmp_path / "b", jobs=2)
    strip = [{k: v for k, v in row.items() if k != "seconds"} for row in one.rows]
    assert strip == [{k: v for k, v in row.items() if k != "seconds"} for row in two.rows]


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal to a process group")
@pytest.mark.parametrize("stop", ["ctrl-c", "killed"])
def test_a_stopped_run_keeps_finished_rows_and_leaves_no_worker(suite_file, folder, cache, stop):
    code = (
        "import sys\nfrom isthmus_bench.engine.harness import run_suite\n"
        "def tell(event): print(event['event'], flush=True)\n"
        "if __name__ == '__main__':\n"
        "    run_suite(sys.argv[1], sys.argv[2], ['two'], ['first', 'slow'], [0], progress=tell)"
    )
    script = suite_file.with_name("main.py")
    script.write_text(code)
    process = subprocess.Popen(
        [sys.executable, str(script), str(suite_file), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    with process:
        seen = [process.stdout.readline().strip() for _ in range(4)]
        assert seen == ["plan", "begin", "done", "begin"]  # the slow one has begun
        if stop == "killed":
            process.kill()  # it alone: its worker must notice
        else:
            os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=300) != 0, "it ran to its end"
    assert _group_ends(process.pid)
    kept = Record.open(cache, "tiny")
    assert [row["method"] for row in kept.rows()] == ["first"]
    assert not list((cache / "tiny").glob(".*"))


def _group_ends(group):
    """Whether no process of the group is left; the interpreter's own helper takes a moment to notice."""
    limit = time.monotonic() + 300
    while time.monotonic() < limit:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_studies_run_once_and_leave_their_table(suite, folder, calls):
    run = run_suite(suite, folder, seeds=[0], studies=["all"])
    assert run.rows == []
    assert run.studies["sweep"][1] == {"size": 2, "error": 0.5, "seed": 0, "metric": "f1"}
    run_suite(suite, folder, seeds=[0], studies=["sweep"])
    assert calls("sweep") == 1


@pytest.mark.parametrize(
    ("options", "code", "hint"),
    [
        ({"tasks": ["onee"]}, "unknown-name", "did you mean one or gone?"),
        ({"methods": ["frist"]}, "unknown-method", "did you mean first?"),
        ({"studies": ["sweeep"]}, "unknown-name", "did you mean sweep?"),
        ({"jobs": 0}, "bad-parameter", "at least one"),
    ],
)
def test_unknown_names_are_refused_with_near_ones(suite, folder, options, code, hint):
    with pytest.raises(UsageError, match=hint.replace("?", r"\?")) as caught:
        run_suite(suite, folder, **options)
    assert caught.value.code == code


def test_unknown_suite_is_refused():
    with pytest.raises(UsageError, match="did you mean speed"):
        find_suite("speeed")
    with pytest.raises(UsageError, match="no-such-file"):
        find_suite("no-such-file.py")


def test_missing_data_is_refused_before_anything_runs(suite, folder, calls, monkeypatch, tmp_path):
    monkeypatch.delenv("ISTHMUS_DATA", raising=False)
    with pytest.raises(DataError) as caught:
        run_suite(suite)
    assert caught.value.code == "missing-data"
    with pytest.raises(DataError, match="does not exist"):
        run_suite(suite, tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"maybe needs absent\.txt"):
        run_suite(suite, folder, ["maybe"])
    (folder / "data.txt").unlink()
    with pytest.raises(DataError, match=r"one needs data\.txt"):
        run_suite(suite, folder)
    assert calls("first") == 0


def test_a_suite_without_files_needs_no_folder(suite, monkeypatch):
    monkeypatch.delenv("ISTHMUS_DATA", raising=False)
    assert run_suite(suite, None, ["two"], ["first"], [0]).rows[0]["value"] == 0.0


def test_two_runs_that_write_one_record_keep_each_others_rows(cache):
    mine, theirs = Record.open(cache, "tiny"), Record.open(cache, "tiny")
    mine.add(("one", "first", 0), "s", [{"task": "one", "method": "first", "seed": 0, "metric": "m", "value": 1}], None)
    theirs.add(
        ("one", "second", 0), "s", [{"task": "one", "method": "second", "seed": 0, "metric": "m", "value": 2}], None
    )
    mine.save()
    theirs.save()
    assert [row["value"] for row in Record.open(cache, "tiny").rows()] == [1, 2]


def test_a_spoilt_record_counts_as_none(cache, suite, folder):
    (cache / "tiny").mkdir(parents=True)
    (cache / "tiny" / "results.json").write_text("{half")
    assert len(run_suite(suite, folder, ["two"], ["first"], [0]).rows) == 1


def test_plain_unpacks_numpy_and_hash_is_sha256(tmp_path):
    import numpy as np

    assert to_plain({"a": np.float64(0.5), "b": np.arange(2), "c": float("inf"), 3: (None, True)}) == {
        "a": 0.5,
        "b": [0, 1],
        "c": None,
        "3": [None, True],
    }
    (tmp_path / "f").write_bytes(b"abc")
    assert hash_file(tmp_path / "f").startswith("ba7816bf")


def test_suites_lists_what_is_there():
    assert "speed" in SUITES
    assert "no-such" not in SUITES
    assert all(SUITES[name].name == name for name in SUITES)


# ---------------------------------------------------------------------------------------- which code, and whether again


def test_a_row_says_which_code_computed_it_and_when_it_is_stale(suite_file, folder, tmp_path, monkeypatch):
    run_suite(str(suite_file), folder, ["two"], ["second"], record_dir=tmp_path / "records")
    record = Record.open(tmp_path / "records", "tiny")
    key = ("two", "second", None)
    loaded = record.code[record.units[key]["code"]]
    assert {"isthmus", "isthmus_bench"} <= loaded.keys()
    assert not any(name.startswith("isthmus_bench.engine") for name in loaded), "it only runs and keeps"
    assert record.changed_code(key) == []
    assert record.code_sentence() == "Every row was computed by the code as it is."
    record.code[record.units[key]["code"]] = {**loaded, "isthmus.exceptions": "0" * 12, "isthmus.gone": "1" * 12}
    assert record.changed_code(key) == ["isthmus.exceptions", "isthmus.gone"]
    said = record.code_sentence()
    assert said.startswith("1 of 1 rows were computed before isthmus.exceptions, isthmus.gone changed. They are what")
    assert "of the figures here, all may have moved. `isthmus bench tiny --verify` computes" in said
    del record.units[key]["code"]
    assert record.changed_code(key) is None
    assert record.code_sentence() == "The record does not say which code computed its rows."


def _spoil_code(records, *, of):
    """As if a module had changed since ``of`` (a method or a study) was computed."""
    path = records / "tiny" / "results.json"
    content = json.loads(path.read_text())
    content["code"]["other"] = {"isthmus.exceptions": "0" * 12}
    entries = [unit for unit in content["units"] if unit["method"] == of]
    for entry in entries or [content["studies"][of]]:
        entry["code"] = "other"
    path.write_text(json.dumps(content))


def test_renew_computes_what_other_code_computed_and_nothing_else(suite, folder, calls, tmp_path):
    options = {"folder": folder, "record_dir": tmp_path}
    run_suite(suite, tasks=["one", "two"], methods=["first", "second"], seeds=[0, 1, 2], **options)
    run_suite(suite, studies=["sweep"], seeds=[4, 5], **options)
    whole = run_suite(suite, renew=True, **options)
    assert whole.kept == 9, "two tasks by three seeds and one method without, and a study"
    _spoil_code(tmp_path, of="second")
    _spoil_code(tmp_path, of="sweep")
    again = run_suite(suite, renew=True, **options)
    assert (calls("first"), calls("second"), calls("sweep")) == (6, 4, 2)
    values = [[(row["task"], row["method"], row["seed"], row["value"]) for row in run.rows] for run in (whole, again)]
    assert values[0] == values[1], "the tasks, methods and seeds of the record, not those of the suite"
    assert {row["seed"] for row in again.studies["sweep"]} == {4, 5}, "the seeds the study was recorded with"
    assert again.record.code_sentence() == "Every row was computed by the code as it is."


def test_renew_keeps_rows_of_a_method_that_cannot_run_here(suite, folder, tmp_path):
    options = {"folder": folder, "record_dir": tmp_path}
    measured = run_suite(suite, tasks=["two"], methods=["second"], **options).rows
    _spoil_code(tmp_path, of="second")
    absent = replace(suite, methods={**suite.methods, "second": replace(suite.methods["second"], run=lambda *_: [])})
    again = run_suite(absent, renew=True, **options)
    assert again.rows == measured
    assert "computed before isthmus.exceptions changed" in again.record.code_sentence(), "and says that it is old"


def test_renew_keeps_to_what_is_named_and_to_what_is_recorded(suite, folder, calls, tmp_path):
    options = {"folder": folder, "record_dir": tmp_path, "renew": True}
    with pytest.raises(DataError, match="holds no such row"):
        run_suite(suite, **options)
    run_suite(suite, folder, ["one", "two"], ["second"], record_dir=tmp_path)
    run_suite(suite, folder, studies=["sweep"], seeds=[0], record_dir=tmp_path)
    _spoil_code(tmp_path, of="second")
    _spoil_code(tmp_path, of="sweep")
    run_suite(suite, tasks=["one"], **options)
    assert (calls("second"), calls("sweep")) == (3, 1)
    run_suite(suite, studies=["sweep"], **options)
    assert (calls("second"), calls("sweep")) == (3, 2)
    with pytest.raises(DataError, match="holds no such row"):
        run_suite(suite, methods=["first"], **options)


def test_recorded_rows_are_run_again_and_compared(suite_file, folder, tmp_path):
    records = tmp_path / "records"
    run_suite(str(suite_file), folder, ["one", "two"], record_dir=records)
    verified = verify_record(str(suite_file), records, folder)
    assert verified.different == []
    assert verified.compared == 8, "one error of the first by seed, error and F1 of the second, on two tasks"
    assert verified.sentences == ["8 of 8 values are as recorded, by the same code."]
    path = records / "tiny" / "results.json"
    content = json.loads(path.read_text())
    row = next(row for row in content["rows"] if row["task"] == "two" and row["method"] == "second")
    row["value"] += 0.002
    content["units"] = [{k: v for k, v in unit.items() if k != "code"} for unit in content["units"]]
    path.write_text(json.dumps(content))
    verified = verify_record(str(suite_file), records, folder, ["two"], ["second"])
    assert verified.different == ["two, second: error was 0.6687 and is 0.6667"]
    assert verified.unstamped == verified.units == 1
    row["words"] = "lexicon"  # now it is about something that the method no longer does
    path.write_text(json.dumps(content))
    (said,) = verify_record(str(suite_file), records, folder, ["two"], ["second"]).different
    assert said == "two, second: error words=lexicon was 0.6687 and is nothing", "not compared with another row"
    with pytest.raises(DataError, match="There is no such row"):
        verify_record(str(suite_file), tmp_path / "none", folder)
    with pytest.raises(UsageError, match="differ from run to run"):
        verify_record("speed", records, folder)


def test_rows_that_came_out_again_are_marked_where_that_is_asked_for(suite_file, folder, tmp_path):
    records = tmp_path / "records"
    run_suite(str(suite_file), folder, ["one", "two"], ["second"], record_dir=records)
    _spoil_code(records, of="second")
    path = records / "tiny" / "results.json"
    before = path.read_bytes()
    verify_record(str(suite_file), records, folder, ["one"])
    assert path.read_bytes() == before, "a look at the records changes nothing"
    verified = verify_record(str(suite_file), records, folder, ["one"], note=True)
    assert (verified.stale, verified.different) == (1, []), "what it found, before it was marked"
    record = Record.open(records, "tiny")
    assert record.changed_code(("one", "second", None)) == []
    assert record.changed_code(("two", "second", None)) == ["isthmus.exceptions"]
    said = record.code_sentence()
    assert said.startswith("1 of 2 rows were computed before isthmus.exceptions changed.")
    assert said.endswith("Verified (computed again by the code as it is, with the recorded values): 1.")
    content = json.loads(path.read_text())
    next(row for row in content["rows"] if row["task"] == "two")["value"] += 0.002
    path.write_text(json.dumps(content))
    assert verify_record(str(suite_file), records, folder, ["two"], note=True).different
    assert Record.open(records, "tiny").changed_code(("two", "second", None)) == ["isthmus.exceptions"]
