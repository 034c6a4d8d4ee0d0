"""The same bytes on a cluster, also when its workers are killed; a lost scheduler is one sentence."""

import os
import signal
import threading
from pathlib import Path

import pytest

from isthmus.exceptions import DataError
from isthmus.scale import label_files

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of sockets and loops that a cluster leaves to the collector

FAST = {"sample": 60, "text": "text"}


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.name != "manifest.json"}


@pytest.fixture(scope="module")
def cluster():
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50, memory_limit="2GB"
        ) as started,
        distributed.Client(started) as client,
    ):
        yield started, client


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_same_bytes_on_any_number_of_workers(corpus, tmp_path, cluster, workers):
    started, client = cluster
    started.scale(workers)
    client.wait_for_workers(workers)
    label_files(corpus / "source.csv", corpus / "target", tmp_path / "local", method="projection", **FAST)
    label_files(
        corpus / "source.csv",
        corpus / "target",
        tmp_path / "dask",
        method="projection",
        client=client,
        block_rows=150,
        **FAST,
    )
    assert contents(tmp_path / "dask") == contents(tmp_path / "local")


def test_same_bytes_when_workers_are_killed_twice(corpus, tmp_path, cluster):
    started, client = cluster
    started.scale(2)
    client.wait_for_workers(2)
    label_files(corpus / "source.csv", corpus / "target", tmp_path / "local", method="projection", **FAST)
    killed, done = [], threading.Event()

    def kill():
        while len(killed) < 2 and not done.wait(0.4):
            pids = {worker.pid for worker in started.workers.values() if worker.pid} - set(killed)
            if pids:
                os.kill(min(pids), signal.SIGKILL)
                killed.append(min(pids))

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        label_files(
            corpus / "source.csv",
            corpus / "target",
            tmp_path / "dask",
            method="projection",
            client=client,
            block_rows=40,
            **FAST,
        )
    finally:
        done.set()
        killer.join()
    assert len(killed) == 2
    assert contents(tmp_path / "dask") == contents(tmp_path / "local")


def test_a_bad_row_on_a_worker_keeps_its_code(corpus, tmp_path, cluster):
    (tmp_path / "t.jsonl").write_text('{"text": "a team"}\n{"text": \n')
    with pytest.raises(DataError, match="row 2") as error:
        label_files(corpus / "source.csv", tmp_path / "t.jsonl", tmp_path / "out", method="nbc", client=cluster[1])
    assert error.value.code == "bad-rows"


def test_a_lost_scheduler_is_one_sentence_and_the_run_goes_on(corpus, tmp_path, monkeypatch):
    import isthmus.scale.run as run

    settings = {"method": "nbc", "block_rows": 200, **FAST}
    arguments = corpus / "source.csv", corpus / "target", tmp_path / "out"
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50) as started,
        distributed.Client(started) as client,
    ):
        real = run.build_view

        def lose(*given):
            started.close()
            return real(*given)

        with monkeypatch.context() as patch:
            patch.setattr(run, "build_view", lose)
            with pytest.raises(DataError, match="--resume") as error:
                label_files(*arguments, client=client, **settings)
    assert error.value.code == "lost-cluster"
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".isthmus-run"]
    label_files(*arguments, resume=True, **settings)
    assert (tmp_path / "out" / "manifest.json").is_file()


def test_no_scheduler_there(corpus, tmp_path):
    from isthmus.scale.engine import connect

    with pytest.raises(DataError, match="No dask scheduler answers") as error:
        connect(tmp_path, "tcp://127.0.0.1:1", timeout=0.3)
    assert error.value.code == "lost-cluster"
