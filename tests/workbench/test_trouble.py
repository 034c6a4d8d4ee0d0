"""The disk is full or the database away: one sentence, no path, nothing lost."""

import errno
import json
import os
import shutil
import subprocess
from types import SimpleNamespace

import httpx
import pytest

from isthmus.exceptions import DataError
from isthmus.workbench import app
from isthmus.workspace import open_workspace
from isthmus.workspace.database import AWAY, AWAY_SENTENCE, Database


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of 24 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk can be mounted by root alone")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def fill_up(disk):
    """Leave 400 kB on the disk: enough for some answers."""
    filler = disk / "filler"
    free = shutil.disk_usage(disk).free
    filler.write_bytes(bytes(max(0, free - 400_000)))
    return filler


def test_every_answer_acknowledged_on_a_full_disk_is_there_afterwards(
    small_disk, filled_folder, tmp_path, serve_process
):
    folder = small_disk / "w"
    shutil.copytree(filled_folder, folder)
    server = serve_process(folder, "--log", str(tmp_path / "serve.log"))
    with httpx.Client(base_url=server.address, timeout=60) as client:
        client.headers["x-csrf-token"] = client.get("/api/session").json()["csrf"]
        project = client.get("/api/projects").json()[0]["id"]
        run = client.get(f"/api/projects/{project}/runs").json()[0]["id"]
        place = f"/api/projects/{project}/runs/{run}"
        rows = client.get(f"{place}/predictions", params={"limit": 150}).json()
        filler = fill_up(small_disk)
        said, refused = {}, []
        for row in rows:
            sent = client.post(f"{place}/answers", json={"document": row["document"], "label": "price"})
            if sent.status_code == 200:
                said[row["document"]] = sent.json()["id"]
            else:
                refused.append(sent)
                if len(refused) == 3:
                    break
        health = client.get("/health")
        filler.unlink()
        again = client.post(f"{place}/answers", json={"document": rows[-1]["document"], "label": "price"})
        said[rows[-1]["document"]] = again.json()["id"]
    assert len(said) > 1
    assert [one.status_code for one in refused] == [503] * 3
    for one in refused:
        assert one.headers["retry-after"] == "5"
        assert one.json()["code"] == "workspace-away"
        assert "disk is full" in one.json()["detail"]
        assert str(small_disk) not in one.text
    assert (health.status_code, health.json()["status"]) == (503, "disk full")
    assert again.status_code == 200
    server.process.kill()
    server.process.communicate()
    lines = [json.loads(line) for line in (tmp_path / "serve.log").read_text().splitlines()]
    assert len([line for line in lines if line["event"] == "workspace away"]) == 3
    assert not any("trace" in line for line in lines)
    with open_workspace(folder, create=False) as workspace:
        held = {row.document: row.id for row in workspace.answers.list(project, limit=500)}
        assert {document: held.get(document) for document in said} == said
        assert workspace.check() == []


@pytest.mark.parametrize("path", ["/projects", "/api/projects", "/health", "/api/session"])
def test_a_database_that_does_not_answer_is_a_503_that_says_so(server, workspace, monkeypatch, path):
    away = Database("sqlite:////nowhere/at/all/workspace.db")
    client = server.client()
    monkeypatch.setattr(workspace._context.db, "engine", away.engine)
    answers = [client.get(path), client.post("/api/projects", json={"name": "x"})]
    monkeypatch.undo()
    assert client.get(path).status_code == 200
    for one in answers:
        assert one.status_code == 503
        assert int(one.headers["retry-after"]) > 0
        assert "nowhere" not in one.text
        assert "Traceback" not in one.text


def test_no_answer_names_a_path_of_the_server(client, workspace, project, run):
    """A model that is gone, and a folder that cannot be written: the sentences do not say where they lie."""
    exports = workspace.folder / "exports"
    shutil.rmtree(exports, ignore_errors=True)
    exports.write_text("in the way")
    try:
        sent = client.post(f"/api/projects/{project.id}/exports", json={"run": run.id})
    finally:
        exports.unlink()
    assert sent.status_code >= 400
    assert os.fspath(workspace.folder) not in sent.text


def test_a_database_that_goes_away_between_two_questions_hides_no_project(server, workspace, project, monkeypatch):
    """The person was found, the project was not asked for in time: that is a 503, not a project that is not there."""
    projects = type(workspace.projects)
    monkeypatch.setattr(projects, "get", lambda self, id: raise_away())
    answer = server.client().get(f"/api/projects/{project.id}/runs")
    assert (answer.status_code, answer.json()["code"]) == (503, AWAY)


def raise_away():
    raise DataError(AWAY_SENTENCE, code=AWAY)


@pytest.mark.parametrize(("free", "status"), [(app.LEAST_FREE, 200), (app.LEAST_FREE - 1, 503)])
def test_a_disk_that_is_nearly_full_is_told_before_it_is_full(server, monkeypatch, free, status):
    monkeypatch.setattr(app.shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    answer = server.client().get("/health")
    assert answer.status_code == status
    assert answer.json()["status"] == ("ok" if status == 200 else "disk full")


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (DataError(AWAY_SENTENCE, code=AWAY), 503, AWAY),
        (OSError(errno.ENOSPC, "No space left on device"), 503, AWAY),
        (OSError(errno.EACCES, "Permission denied"), 500, "failed"),
        (DataError("'{folder}/models/1' is gone.", code="not-found"), 404, "not-found"),
    ],
    ids=["away", "full", "denied", "gone"],
)
def test_what_a_reader_can_wait_for_is_told_from_what_is_broken(
    server, workspace, project, monkeypatch, error, status, code
):
    def fail(*given, **named):
        if "{folder}" in str(error):
            raise DataError(str(error).format(folder=workspace.folder), code=error.code)
        raise error

    client = server.client()
    monkeypatch.setattr(type(workspace.runs), "list", fail)
    answer = client.get(f"/api/projects/{project.id}/runs")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert ("retry-after" in answer.headers) is (status == 503), "to ask again helps only where the trouble passes"
    assert str(workspace.folder) not in answer.text
    assert "denied" not in answer.text
