"""Parameters of a named method under "More choices": the command's settings, the command's labels and sentences."""

import csv
import io

import pytest

from isthmus.cli.app import run_command
from isthmus.workspace import work

SETTING = "n_word_clusters=3"
STAFF, BIKE = ("kind staff helped", "polite staff answered"), ("the bike is fast", "a great bike to ride")
SOURCE = "text,label\n" + "".join(f"{a},staff\n{b},product\n" for a, b in zip(STAFF * 8, BIKE * 8, strict=True))
TARGET = "text\n" + "".join(f"{text}\n" for text in ("rude staff", "slow bike", "the staff is kind", "a fast ride") * 5)


@pytest.fixture(scope="module")
def shop(workspace):
    """A project with a source and a target."""
    by = workspace.people.local().id
    project = workspace.projects.create("Shop", by=by)
    for name, text, kind in (("old.csv", SOURCE, "source"), ("new.csv", TARGET, "target")):
        docs = workspace.collections.add(project.id, name, io.BytesIO(text.encode()), kind=kind, by=by)
        labels = {"label": "label"} if kind == "source" else {}
        workspace.collections.map(docs.id, text=["text"], by=by, **labels)
    return project


def send(client, project, **fields):
    return client.post(f"/api/projects/{project.id}/runs", json={"method": "cocc", **fields})


def test_the_form_labels_as_the_command_does(client, workspace, shop, tmp_path, monkeypatch):
    assert '<textarea name="parameters" data-lines' in client.get(f"/projects/{shop.id}/runs").text
    assert send(client, shop, parameters=[SETTING, "max_iter=2"]).status_code == 200
    work(workspace, until_idle=True)
    run = workspace.runs.latest(shop.id)
    assert run.state == "done", run.error
    assert run.parameters["parameters"] == [SETTING, "max_iter=2"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "source.csv").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "target.csv").write_text(TARGET, encoding="utf-8")
    command = ["label", "source.csv", "target.csv", "--method", "cocc", "--set", SETTING, "--set", "max_iter=2"]
    assert run_command([*command, "-o", "out.csv", "--quiet"]) == 0
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as stream:
        labels = [row["label"] for row in csv.DictReader(stream)]
    assert [row.label for row in workspace.runs.predictions(run.id, limit=100)] == labels


@pytest.mark.parametrize(
    ("method", "setting", "sentence"),
    [
        ("cocc", "max_iter=0", "max_iter"),
        ("cocc", "max_itr=2", "did you mean max_iter?"),
        ("cocc", "max_iter", "give NAME=VALUE"),
        ("auto", "max_iter=2", "name it instead of auto"),
    ],
    ids=["not allowed", "unknown", "no value", "auto"],
)
def test_a_bad_value_is_refused_in_the_same_sentence(client, workspace, shop, method, setting, sentence):
    before = len(workspace.runs.list(shop.id))
    refused = send(client, shop, method=method, parameters=[setting])
    assert refused.status_code == 422, refused.text
    assert sentence in refused.json()["detail"]
    assert len(workspace.runs.list(shop.id)) == before, "a refused run was queued"
