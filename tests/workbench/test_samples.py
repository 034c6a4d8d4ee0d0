"""Samples through the interface: how their answers are kept, and what is accepted above a threshold."""

import csv
import io

import pytest

from isthmus.workspace import answers, checks


def test_a_sample_above_a_threshold_is_not_a_random_one(client, untouched):
    """Its answers speak of the surest labels alone, so they are kept as picked ones."""
    project, run = (found.id for found in untouched)
    told = {}
    for threshold in (None, 0.3):
        body = {"size": 5} if threshold is None else {"size": 5, "threshold": threshold}
        sample = client.post(f"/api/projects/{project}/runs/{run}/checks", json=body).json()["id"]
        address = f"/api/projects/{project}/checks/{sample}"
        document = client.post(f"{address}/next").json()
        answer = {"document": document["id"], "label": "price"}
        answered = client.post(f"{address}/answers", json=answer).json()["answered"]
        assert 1 <= answered <= 1 + len(told)  # the second sample may hold the document of the first
        told[document["name"]] = "random" if threshold is None else "picked"
    export = client.post(f"/api/projects/{project}/exports", json={"run": run, "kind": "answers", "format": "csv"})
    rows = list(csv.DictReader(io.StringIO(export.text)))
    assert {row["id"]: row["drawn"] for row in rows} == told


@pytest.mark.parametrize("block", [5_000, 7])
def test_all_labels_above_the_threshold_are_accepted_and_counted(client, workspace, untouched, monkeypatch, block):
    """The same on both sides of what a database takes in one statement; what somebody has answered stays theirs."""
    for module, name in ((checks, "_BLOCK"), (checks, "_NAMED"), (answers, "_BLOCK")):
        monkeypatch.setattr(module, name, block)
    project, run = (found.id for found in untouched)
    rows = workspace.runs.predictions(run, limit=200)
    sure = [row for row in rows if row.confidence >= 0.3]
    read = next(row for row in rows if row.confidence >= 0.3)
    body = {"document": read.document, "label": "my own"}
    assert client.post(f"/api/projects/{project}/runs/{run}/answers", json=body).status_code == 200
    draw = {"size": 25, "threshold": 0.3}
    sample = client.post(f"/api/projects/{project}/runs/{run}/checks", json=draw).json()
    address = f"/api/projects/{project}/checks/{sample['id']}"
    assert sample["size"] == 25
    while document := client.post(f"{address}/next").json():
        client.post(f"{address}/answers", json={"document": document["id"], "label": "price"})
    held = client.get(f"/api/projects/{project}/runs/{run}/queue").json()["done"]
    accepted = client.post(f"{address}/accept").json()["accepted"]
    assert 25 <= held <= 26  # the sample, and the document that was read before it
    assert accepted == len(sure) - held > 7
    assert client.get(f"/api/projects/{project}/runs/{run}/queue").json()["done"] == len(sure)
    after = {row.document: row.answer for row in workspace.runs.predictions(run, limit=200)}
    assert after[read.document] == "my own"
