"""The same bytes on a cluster, also when its workers are killed; a lost scheduler is one sentence."""

import os
import shutil
import signal
import subprocess
import time
from functools import partial
from operator import call
from pathlib import Path

import pytest

from isthmus._progress import listen
from isthmus.exceptions import DataError
from isthmus.scale import label_files
from isthmus.scale.engine import DaskEngine, connect, local_cluster

distributed = pytest.importorskip("distributed", reason="a cluster needs the extra 'scale'")
pytestmark = pytest.mark.filterwarnings("ignore")  # of sockets and loops that a cluster leaves to the collector

FAST = {"sample": 60, "text": "text"}


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.name != "manifest.json"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    engine = local_cluster(tmp_path_factory.mktemp("cluster"), 1, "2GB")
    yield engine.client.cluster, engine.client
    engine.close()


def test_workers_keep_the_memory_limit_that_was_asked_for(cluster):
    workers = cluster[1].scheduler_info(n_workers=-1)["workers"].values()
    assert {worker["memory_limit"] for worker in workers} == {2_000_000_000}


@pytest.mark.parametrize("workers", [1, 2])
def test_same_bytes_on_any_number_of_workers(corpus, tmp_path, cluster, workers):
    started, client = cluster
    started.scale(workers)
    client.wait_for_workers(workers)
    settings = {"method": "projection", **FAST}
    label_files(corpus / "source.csv", corpus / "target", tmp_path / "local", **settings)
    files = corpus / "source.csv", corpus / "target", tmp_path / "dask"
    label_files(*files, client=client, block_rows=400, **settings)
    assert contents(tmp_path / "dask") == contents(tmp_path / "local")


def test_same_bytes_when_workers_are_killed_twice(corpus, tmp_path, cluster):
    """The study "identical" of ``isthmus bench scale`` does it for every method."""
    started, client = cluster
    started.scale(2)
    client.wait_for_workers(2)
    target = corpus / "target" / "a.csv"
    label_files(corpus / "source.csv", target, tmp_path / "local.csv", method="cocc", **FAST)
    killed, steps = [], []

    def kill(event):
        steps.append(event["phase"])
        pids = {worker.pid for worker in started.workers.values() if worker.pid} - set(killed)
        if pids and len(killed) < 2 and len(steps) >= 8 * (len(killed) + 1):
            killed.append(min(pids))
            os.kill(min(pids), signal.SIGKILL)

    with listen(kill):
        label_files(
            corpus / "source.csv", target, tmp_path / "dask.csv", method="cocc", client=client, block_rows=150, **FAST
        )
    assert len(killed) == 2
    assert (tmp_path / "dask.csv").read_bytes() == (tmp_path / "local.csv").read_bytes()


def test_a_bad_row_on_a_worker_keeps_its_code(corpus, tmp_path, cluster):
    (tmp_path / "t.jsonl").write_text('{"text": "a team"}\n{"text": \n')
    with pytest.raises(DataError, match="row 2") as error:
        label_files(corpus / "source.csv", tmp_path / "t.jsonl", tmp_path / "out", method="nbc", client=cluster[1])
    assert error.value.code == "bad-rows"


def test_what_a_worker_warns_of_is_said_by_the_run(cluster, capfd):
    odd = partial(eval, "__import__('warnings').warn('An odd row.') or 1")
    odd.rows = 1
    engine = DaskEngine(cluster[1])
    with pytest.warns(UserWarning, match="An odd row"):
        assert engine.map(call, [odd] * 3, phase="warning") == [1, 1, 1]
    with pytest.warns(UserWarning, match="An odd row"):
        assert engine.sum(call, [odd] * 30, phase="warning") == 30
    assert "odd" not in capfd.readouterr().err, "the worker itself says nothing"


def test_a_pass_ends_although_nobody_tells_that_its_parts_are_done(cluster, monkeypatch):
    odd = partial(int, 1)
    odd.rows = 1
    asked, told = [], []

    def silent(futures, timeout, **rest):
        asked.append(timeout)
        time.sleep(0.01)
        raise TimeoutError

    monkeypatch.setattr(distributed, "wait", silent)
    with listen(told.append):
        assert DaskEngine(cluster[1]).sum(call, [odd] * 3, phase="silence") == 3
    assert 0 < max(asked, default=0) <= 5, "seconds, not for ever"
    assert [event["done"] for event in told] == [0, 1, 2, 3], "sums are no rows"


def test_a_lost_scheduler_is_one_sentence_and_the_run_goes_on(corpus, tmp_path, monkeypatch):
    from isthmus.scale import run

    settings = {"method": "nbc", "block_rows": 200, **FAST}
    arguments = corpus / "source.csv", corpus / "target", tmp_path / "out"
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None, silence_logs=50) as started,
        distributed.Client(started) as client,
    ):
        real = run.build_view

        def lose(*given):
            started.close()
            return real(*given)

        with monkeypatch.context() as patch:
            patch.setattr(run, "build_view", lose)
            with pytest.raises(DataError, match="resume=True") as error:
                label_files(*arguments, client=client, **settings)
    assert error.value.code == "lost-cluster"
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".isthmus-run"]
    label_files(*arguments, resume=True, **settings)
    assert (tmp_path / "out" / "manifest.json").is_file()


def test_no_scheduler_there(tmp_path):
    with pytest.raises(DataError, match="No dask scheduler answers") as error:
        connect("tcp://127.0.0.1:1", timeout=0.3)
    assert error.value.code == "lost-cluster"


@pytest.fixture
def certificate(tmp_path):
    """A certificate that vouches for itself, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the program openssl to make a certificate")
    cert, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


def files_of(certificate):
    return zip(("cert", "key"), certificate, strict=True)


def test_a_scheduler_that_speaks_tls(corpus, tmp_path, certificate):
    cert, key = certificate
    ours = {"tls_ca_file": cert, "tls_client_cert": cert, "tls_client_key": key}
    theirs = {f"tls_{who}_{what}": path for who in ("scheduler", "worker") for what, path in files_of(certificate)}
    security = distributed.Security(require_encryption=True, **ours, **theirs)
    files = corpus / "source.csv", corpus / "target" / "a.csv"
    label_files(*files, tmp_path / "local.csv", method="nbc", **FAST)
    with distributed.LocalCluster(
        n_workers=1, processes=False, protocol="tls://", security=security, dashboard_address=None, silence_logs=50
    ) as started:
        address = started.scheduler_address
        assert address.startswith("tls://")
        label_files(*files, tmp_path / "dask.csv", method="nbc", scheduler=address, tls=ours, **FAST)
        with pytest.raises(DataError, match="No dask scheduler answers") as error:
            connect(address, timeout=1.0)
    assert error.value.code == "lost-cluster"
    assert (tmp_path / "dask.csv").read_bytes() == (tmp_path / "local.csv").read_bytes()
