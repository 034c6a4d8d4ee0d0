"""Passes on several processes of one machine. What runs in them must be importable there: parts of Python stand in."""

import os
import signal
import subprocess
import sys
from functools import partial
from operator import attrgetter, call
from pathlib import Path
from time import sleep
from warnings import warn

import pytest

from isthmus._progress import listen
from isthmus.exceptions import DataError, IsthmusWarning, UsageError
from isthmus.methods import get_method
from isthmus.options import LabelOptions
from isthmus.scale import label_files, settings
from isthmus.scale.engine import LocalEngine
from isthmus.scale.processes import ProcessEngine
from isthmus.scale.views import PartGroup

GROUPS = [PartGroup(first=place, last=place + 1, rows=10 * place) for place in range(9)]


def chunk(function, *args):
    """Something with rows that a worker can call."""
    made = partial(function, *args)
    made.rows = 1
    return made


def test_results_come_in_the_order_of_the_chunks_and_sums_are_whole(processes):
    assert processes.map(attrgetter("first"), GROUPS, phase="looking") == list(range(9))
    assert processes.sum(attrgetter("rows"), GROUPS, phase="counting") == 360
    assert processes.sum(attrgetter("first"), GROUPS, phase="taking the largest", add=max) == 8
    slow = chunk(eval, "__import__('time').sleep(0.3) or 'first'")
    assert processes.map(call, [slow, chunk(str, "second")], phase="waiting") == ["first", "second"]
    pids = set(processes.map(call, [chunk(os.getpid)] * 2 + [chunk(sleep, 0.05)] * 8, phase="asking")) - {None}
    assert os.getpid() not in pids
    assert processes.map(call, [chunk(os.getpid)], phase="asking") == [os.getpid()], "one chunk is not sent away"


def test_what_is_printed_in_a_worker_does_not_come_between_its_answers(processes):
    assert processes.map(call, [chunk(print, "noise")] * 4, phase="printing") == [None] * 4


def test_what_a_worker_warns_of_is_said_by_the_run(processes, capfd):
    odd = IsthmusWarning("An odd row.", code="bad-rows")
    with pytest.warns(IsthmusWarning, match="An odd row") as caught:
        processes.map(call, [chunk(warn, odd), chunk(len, "ab")], phase="warning")
    assert [caution.message.code for caution in caught] == ["bad-rows"]
    assert "odd" not in capfd.readouterr().err, "the worker itself says nothing"


@pytest.mark.parametrize(
    ("chunks", "kind", "code", "said"),
    [
        ([chunk(get_method, "nbc"), chunk(get_method, "nothing")], UsageError, "unknown-method", "nothing"),
        ([chunk(os._exit, 3)] * 2, DataError, "lost-cluster", r"ended by itself \(status 3\).*workers=1"),
    ],
    ids=["raises", "dies"],
)
def test_an_error_in_a_worker_is_an_error_here_and_ends_them_all(chunks, kind, code, said):
    engine = ProcessEngine(2)
    with pytest.raises(kind, match=said) as error:
        engine.map(call, chunks, phase="asking")
    assert error.value.code == code
    assert all(worker.poll() is not None for worker in engine._processes), "no worker outlives its run"
    engine.close()


def test_a_run_whose_worker_is_killed_ends_in_one_sentence_and_goes_on(corpus, tmp_path, monkeypatch):
    started = []

    def start(workers):
        started.append(ProcessEngine(workers))
        return started[-1]

    def kill(event):
        if event["phase"] == "labelling" and started:
            os.kill(started.pop()._processes[0].pid, signal.SIGKILL)

    monkeypatch.setattr(settings, "ProcessEngine", start)
    files = corpus / "source.csv", corpus / "target" / "a.csv"
    how = {"method": "nbc", "block_rows": 100, "sample": 60, "text": "text"}
    with listen(kill), pytest.raises(DataError, match=r"ended by itself \(status -9\).*resume=True") as error:
        label_files(*files, tmp_path / "o.csv", workers=2, **how)
    assert error.value.code == "lost-cluster"
    assert not (tmp_path / "o.csv").exists()
    label_files(*files, tmp_path / "o.csv", workers=1, resume=True, **how)
    label_files(*files, tmp_path / "whole.csv", workers=1, **how)
    assert (tmp_path / "o.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_of_several_errors_the_first_chunk_s_is_raised_whichever_worker_is_quicker():
    engine = ProcessEngine(2)
    slow = chunk(eval, "__import__('time').sleep(0.5) or int('first')")
    with pytest.raises(ValueError, match="first"):
        engine.map(call, [slow, chunk(int, "second"), *[chunk(len, "ab")] * 9], phase="asking")
    engine.close()


def test_large_files_use_every_core_and_small_ones_one(corpus, monkeypatch):
    paths = {"source": [str(corpus / "source.csv")], "target": [str(corpus / "target" / "a.csv")]}
    monkeypatch.setattr(settings, "ProcessEngine", lambda workers: workers)
    monkeypatch.setattr(settings, "_cores", lambda: 7)

    def start(**options):
        return settings.start_engine(LabelOptions(**options), Path("work"), paths)

    assert isinstance(start(), LocalEngine)
    assert start(workers=3) == 3, "asked for, whatever the size"
    size = sum(os.path.getsize(path) for own in paths.values() for path in own)
    monkeypatch.setattr(settings, "PARALLEL_BYTES", size + 1)
    assert isinstance(start(), LocalEngine)
    monkeypatch.setattr(settings, "PARALLEL_BYTES", size)
    assert start() == 7
    assert isinstance(start(workers=1), LocalEngine)
    assert isinstance(start(engine="memory"), LocalEngine), "what is kept in memory is seen by one process"
    with pytest.raises(UsageError, match="workers=2"):
        start(engine="memory", workers=2)
    monkeypatch.setattr(settings, "_cores", lambda: 1)
    assert isinstance(start(), LocalEngine)


def test_a_script_without_a_guard_is_not_run_again_by_workers(corpus, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nprint('once')\nfrom isthmus.scale import label_files\n"
        "label_files(*sys.argv[1:4], method='nbc', block_rows=200, workers=int(sys.argv[4]), sample=60, text='text')\n"
    )
    words = [script, corpus / "source.csv", corpus / "target" / "a.csv", tmp_path / "two.csv", 2]
    done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "once\n"
    label_files(*words[1:3], tmp_path / "one.csv", method="nbc", block_rows=200, workers=1, sample=60, text="text")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
