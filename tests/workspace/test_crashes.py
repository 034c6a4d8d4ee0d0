"""Killed in the middle: nothing that was acknowledged is lost, and work goes on."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from large_workspace import fill_large

from isthmus.exceptions import DataError
from isthmus.workspace import open_workspace, start_worker, stop_worker, work
from isthmus.workspace.database import AWAY
from isthmus.workspace.files import FolderLock, is_locked
from isthmus.workspace.store import DATABASE_VARIABLE
from isthmus.workspace.worker import Stopped, do_job

_PATIENCE = 300  # seconds; a busy machine is no failure


def wait_for(what, seconds=_PATIENCE):
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


# A server that answers 200 documents from 40 threads, and tells of each answer when it is acknowledged.
_SERVER = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from isthmus.workspace import open_workspace

with open_workspace(sys.argv[1], os.environ.get("ISTHMUS_DATABASE")) as ws:
    run = ws.runs.latest(ws.projects.list()[0].id)
    people = [ws.people.create(f"person {i}", None, "reviewer").id for i in range(40)]
    os.write(1, b"ready\\n")

    def review(person):
        for _ in range(5):
            question = ws.queue.next(run.id, person)[0]
            answer = ws.answers.give(question.document, f"said by {person[:6]}", by=person, run=run.id)
            os.write(1, f"{answer.id} {question.document}\\n".encode())

    with ThreadPoolExecutor(40) as pool:
        list(pool.map(review, people))
os.write(1, b"end\\n")
"""


def test_no_acknowledged_answer_is_lost_when_the_server_is_killed(ws):
    made = fill_large(ws, 300, words=5)
    environment = {**os.environ, DATABASE_VARIABLE: ws.database_url}
    command = [sys.executable, "-c", textwrap.dedent(_SERVER), str(ws.folder)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as server:
        assert server.stdout.readline() == b"ready\n"
        lines = [server.stdout.readline() for _ in range(60)]
        server.kill()
        lines += server.stdout.readlines()
    acknowledged = [line.decode().split() for line in lines if line.endswith(b"\n")]
    assert ["end"] not in acknowledged, "the server was done before it was killed"
    with open_workspace(ws.folder, ws.database_url) as left:
        kept = {answer.id: answer for answer in left.answers.list(made["project"], limit=500)}
        for answer, document in acknowledged:
            assert kept[answer].document == document
            assert kept[answer].current
        # The large project has neither a file nor a model; nothing else is wrong.
        assert [problem.partition(" is missing")[1] for problem in left.check()] == [" is missing"] * 2
        assert left.queue.counts(made["run1"])["done"] == len(kept)
        (question,) = left.queue.next(made["run1"], made["by"])
        left.answers.give(question.document, "price", by=made["by"], run=made["run1"])


_STUCK = """
import sys, time, types
from isthmus.workspace import worker

sys.modules["isthmus.workspace.running"] = types.SimpleNamespace(do_run=lambda *given: time.sleep(600))
worker.main([sys.argv[1]])
"""


def test_a_job_goes_on_when_its_worker_is_killed(done):
    run = done.runs.start(done.project.id, {"method": "nbc", "vectors": False}, by=done.by)
    # A worker that never comes to the end of its job, so that it is killed in the middle on any machine.
    environment = {**os.environ, DATABASE_VARIABLE: done.database_url}
    with subprocess.Popen([sys.executable, "-c", _STUCK, str(done.folder)], env=environment) as worker:
        wait_for(lambda: done.runs.job(run.id).state == "running")
        worker.send_signal(signal.SIGKILL)
    assert done.runs.get(run.id).state == "running"
    assert not done.worker_runs()
    assert done.check() == ["1 job running and no worker; they continue when isthmus serve starts."]
    work(done, until_idle=True)
    job = done.runs.job(run.id)
    assert (job.state, job.attempts) == ("done", 2), job.error
    assert len(done.runs.predictions(run.id, limit=100)) == 24
    assert "job interrupted" in [event.kind for event in done.audit.events(done.project.id)]
    assert done.check() == []


@pytest.mark.parametrize("ready", ["sqlite"], indirect=True)
def test_a_worker_that_is_told_to_end_puts_its_job_back(done):
    run = done.runs.start(done.project.id, {"method": "nbc", "vectors": False}, by=done.by)
    worker = start_worker(done)
    wait_for(lambda: done.runs.job(run.id).state != "queued")
    stop_worker(worker, patience=120)  # on a busy machine it is killed after ten seconds, and that is another test
    job = done.runs.job(run.id)
    assert (job.state, job.attempts) in (("queued", 0), ("done", 1))
    work(done, until_idle=True)
    assert done.runs.job(run.id).state == "done"


@pytest.mark.parametrize("ready", ["sqlite"], indirect=True)
def test_a_worker_ends_with_the_process_that_started_it(ready):
    program = (
        "import os, sys; from isthmus.workspace import open_workspace, start_worker\n"
        "ws = open_workspace(sys.argv[1], os.environ.get('ISTHMUS_DATABASE'))\n"
        "start_worker(ws); sys.stdin.read()"
    )
    folder, url = ready
    environment = {key: value for key, value in os.environ.items() if key != DATABASE_VARIABLE}
    environment |= {DATABASE_VARIABLE: url} if url else {}
    command, pipe = [sys.executable, "-c", program, str(folder)], subprocess.PIPE
    with (
        open_workspace(folder, url) as ws,
        subprocess.Popen(command, env=environment, stdin=pipe, stdout=subprocess.DEVNULL) as parent,
    ):
        wait_for(ws.worker_runs)
        parent.kill()
        wait_for(lambda: not ws.worker_runs())


def test_a_job_that_brings_the_worker_down_twice_waits_for_a_person(done):
    run = done.runs.start(done.project.id, {"method": "nbc", "vectors": False}, by=done.by)
    for state in ("queued", "interrupted"):
        assert done.jobs.claim() is not None
        assert [job.state for job in done.jobs.recover()] == [state]
    assert done.runs.get(run.id).state == "interrupted"
    assert done.jobs.claim() is None
    done.jobs.resume(done.runs.job(run.id).id, by=done.by)
    work(done, until_idle=True)
    assert done.runs.get(run.id).state == "done"


def test_a_run_that_was_interrupted_while_storing_does_not_label_again(done, monkeypatch):
    run = done.runs.start(done.project.id, {"method": "nbc", "vectors": False}, by=done.by)
    job = done.jobs.claim()

    class Killed(BaseException):
        pass

    def killed(*anything):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("isthmus.workspace.running._store_tables", killed)
        with pytest.raises(Killed):
            do_job(done, job)
    done.jobs.recover()
    monkeypatch.setattr("isthmus.workspace.running.label", killed)
    work(done, until_idle=True)
    assert done.runs.get(run.id).state == "done"
    assert len(done.runs.predictions(run.id, limit=100)) == 24
    assert done.check() == []


def test_cancelling_ends_a_job_that_waits_and_one_that_runs(done):
    first = done.runs.start(done.project.id, {"method": "nbc", "vectors": False}, by=done.by)
    second = done.runs.start(done.project.id, {"method": "nbc", "vectors": False}, by=done.by)
    done.jobs.cancel(done.runs.job(second.id).id, by=done.by)
    assert done.runs.get(second.id).state == "cancelled"
    job = done.jobs.claim()
    done.jobs.cancel(job.id, by=done.by)
    assert do_job(done, job).state == "cancelled"
    assert done.runs.get(first.id).state == "cancelled"
    assert work(done, until_idle=True) == 0


def test_a_job_that_was_cancelled_does_not_go_on_when_its_worker_dies(done):
    run = done.runs.start(done.project.id, {"method": "nbc", "vectors": False}, by=done.by)
    done.jobs.cancel(done.jobs.claim().id, by=done.by)
    assert [job.state for job in done.jobs.recover()] == ["cancelled"]
    assert done.runs.get(run.id).state == "cancelled"
    assert work(done, until_idle=True) == 0


def test_a_failure_is_told_in_a_sentence(done, add_file, caplog):
    caplog.set_level("INFO", "isthmus.worker")
    one_class = add_file(done, done.project.id, "one.csv", "text,label\nkind staff,a\nfast bike,a\n", "source", done.by)
    run = done.runs.start(done.project.id, {"method": "nbc", "sources": [one_class.id]}, by=done.by)
    work(done, until_idle=True)
    job = done.runs.job(run.id)
    assert (job.state, job.error_code) == ("failed", "one-class")
    assert done.runs.get(run.id).error == job.error
    assert f"job {job.id} run is failed after " in caplog.text


def test_a_run_without_a_side_is_refused_by_the_side_that_is_missing(done):
    for side, code in (("sources", "no-labels"), ("target", "no-target")):
        with pytest.raises(DataError) as caught:
            done.runs.start(done.project.id, {"method": "nbc", side: []}, by=done.by)
        assert caught.value.code == code


# Many at once


def test_no_two_reviewers_ever_get_the_same_document(ws):
    made = fill_large(ws, 60, words=5)
    given, errors, start = [], [], threading.Barrier(6)

    def review(number):
        try:
            with open_workspace(ws.folder, ws.database_url) as mine:  # its own connections, as another process has
                person = mine.people.create(f"person {number}", None, "reviewer").id
                start.wait(_PATIENCE)
                page = mine.queue.next(made["run1"], person, 2)
                start.wait(_PATIENCE)  # everybody holds a page before the first answer: one thread cannot take all
                while page:
                    for row in page:
                        given.append((row.document, person))
                        mine.answers.give(row.document, "price", by=person, run=made["run1"])
                    page = mine.queue.next(made["run1"], person, 2)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=review, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(given) == 60
    assert len({document for document, _ in given}) == 60
    assert len({person for _, person in given}) == 6
    assert ws.queue.counts(made["run1"])["done"] == 60


def test_many_answers_to_one_document_leave_one_that_holds(ws):
    made = fill_large(ws, 5, words=5)
    document = ws.documents.page(made["target"], limit=1)[0].id
    errors, start = [], threading.Barrier(5)

    def quarrel(number):
        try:
            with open_workspace(ws.folder, ws.database_url) as mine:
                person = mine.people.create(f"person {number}", None, "reviewer").id
                start.wait(_PATIENCE)
                for turn in range(5):
                    mine.answers.give(document, f"class {number}", by=person)
                    if turn % 2:
                        mine.answers.undo(by=person)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=quarrel, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    history = ws.answers.history(document)
    assert len(history) == 25
    assert sum(answer.current for answer in history) == 1
    assert next(answer for answer in history if answer.current).undone_at is None


def test_a_job_goes_on_when_the_database_is_back(done, monkeypatch):
    run = done.runs.start(done.project.id, {"method": "nbc", "vectors": False}, by=done.by)
    perform, met = type(done).perform, []

    def away_once(self, job):
        met.append(job.attempts)
        if len(met) == 1:
            raise DataError("away", code=AWAY)
        return perform(self, job)

    monkeypatch.setattr(type(done), "perform", away_once)
    work(done, until_idle=True)
    assert met == [1, 2]
    assert done.runs.get(run.id).state == "done"


def test_a_job_for_which_the_disk_is_too_small_waits_for_a_person(done, monkeypatch):
    job = done.jobs.enqueue("run", {}, by=done.by)

    def full(self, job):
        raise DataError("away", code=AWAY)

    monkeypatch.setattr(type(done), "perform", full)
    assert work(done, until_idle=True) == 3
    assert (done.jobs.get(job.id).state, done.jobs.get(job.id).error_code) == ("failed", AWAY)


def test_the_worker_waits_while_the_database_is_away(done, monkeypatch):
    job = done.jobs.enqueue("export", {"kind": "audit", "by": done.by, "run": None, "ending": ".csv"}, by=done.by,
                            project=done.project.id)  # fmt: skip
    claim, met = type(done.jobs).claim, []

    def away_twice(self):
        met.append(1)
        if len(met) < 3:
            raise DataError("away", code=AWAY)
        return claim(self)

    monkeypatch.setattr(type(done.jobs), "claim", away_twice)
    monkeypatch.setattr("isthmus.workspace.worker._AWAY_PAUSE", 0.01)
    work(done, until_idle=True)
    assert done.jobs.get(job.id).state == "done"


def test_a_job_under_a_worker_that_is_to_end_waits_as_if_it_had_not_begun(done):
    run = done.runs.start(done.project.id, {"method": "nbc", "vectors": False}, by=done.by)
    job = done.jobs.claim()
    assert (job.state, job.attempts) == ("running", 1)
    with pytest.raises(Stopped):
        do_job(done, job, lambda: True)
    left = done.jobs.get(job.id)
    assert (left.state, left.attempts, left.ended) == ("queued", 0, False)
    assert done.runs.get(run.id).state == "queued"
    again = done.jobs.claim()
    assert done.jobs.put_back(again.id, counted=True).attempts == 1, "an attempt that failed counts"
    assert not replace(left, state="running").ended
    for state in ("done", "failed", "cancelled", "interrupted"):
        assert replace(left, state=state).ended, f"nothing more happens by itself to a job that is {state}"


def test_beside_a_worker_another_one_does_nothing(done):
    """It waits for the lock until it is told to end; what runs under the first is not called abandoned."""
    job = done.jobs.enqueue("export", {"kind": "audit", "by": done.by, "run": None, "ending": ".csv"}, by=done.by,
                            project=done.project.id)  # fmt: skip
    lock = done.folder / "worker.lock"
    asked = iter([False, True, True])
    with FolderLock(lock) as first:
        assert first.held
        assert work(done, until_idle=True, stopping=lambda: next(asked)) == 0
        assert done.jobs.get(job.id).state == "queued"
        with FolderLock(lock, stopping=lambda: True) as second:
            assert not second.held
        done.jobs.claim()
        assert is_locked(lock)
        assert done.check() == []
    assert not is_locked(lock)
    assert done.check() == ["1 job running and no worker; they continue when isthmus serve starts."]


def test_a_job_that_nobody_knows_fails_by_its_name(done):
    job = done.jobs.enqueue("nonsense", {}, by=done.by)
    assert work(done, until_idle=True) == 1
    found = done.jobs.get(job.id)
    assert (found.state, found.error_code) == ("failed", "bad-workspace")
    assert found.error == "There is no kind of job called 'nonsense'."


@pytest.mark.parametrize(
    ("listens", "told"), [(True, ["terminate", 7.0]), (False, ["terminate", 7.0, "kill", None]), (None, [])]
)
def test_a_worker_is_asked_to_end_and_killed_if_it_does_not_listen(listens, told):
    """None: it has ended by itself, and its number may be somebody else's by now."""
    said = []

    def wait(patience=None):
        said.append(patience)
        if not listens and patience is not None:
            raise subprocess.TimeoutExpired("worker", patience)

    stop_worker(
        SimpleNamespace(
            poll=lambda: 0 if listens is None else None,
            terminate=lambda: said.append("terminate"),
            kill=lambda: said.append("kill"),
            wait=wait,
        ),
        patience=7.0,
    )
    assert said == told


def test_a_worker_writes_to_the_log_and_its_database_stands_in_no_command(monkeypatch, tmp_path):
    """A command can be read by every user of a machine, and an address may hold a password."""
    started = []
    monkeypatch.setattr(
        "isthmus.workspace.worker.subprocess.Popen", lambda *given, **named: started.append((given, named))
    )
    ws = SimpleNamespace(folder=tmp_path, database_url="postgresql://kim:secret@host/name")
    for log in ("the log", None):
        start_worker(ws, log_file=log)
        ((command,), named) = started[-1]
        assert (named["stdout"], named["stderr"]) == (log, log)
        assert named["env"][DATABASE_VARIABLE] == ws.database_url
        assert "secret" not in " ".join(command)
        assert str(tmp_path) in command
        assert command[command.index("--parent") + 1] == str(os.getpid()), "it ends with who started it"
