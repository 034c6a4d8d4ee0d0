"""A project without labelled texts: classes by name, from the first file to the exports."""

import io

import pytest

from isthmus.corpus import read_table
from isthmus.workspace import work

TARGET = "id,comment\n" + "".join(
    f"t{i},{text} {extra}\n"
    for i, (text, extra) in enumerate(
        (text, extra)
        for extra in ("today", "again", "as always", "in town", "last week")
        for text in ("the match ended with a goal", "a goal in the last match", "profit and shares rose", "shares lost")
    )
)
CLASSES = "sport: match, goal\nbusiness: profit, shares"


@pytest.fixture(scope="module")
def nameless(workspace):
    """A project with a target alone."""
    by = workspace.people.local().id
    project = workspace.projects.create("No labels", by=by)
    docs = workspace.collections.add(project.id, "new.csv", io.BytesIO(TARGET.encode()), kind="target", by=by)
    workspace.collections.map(docs.id, text=["comment"], id_column="id", by=by)
    return project


def test_a_target_alone_is_told_how_to_go_on(client, nameless):
    page = client.get(f"/projects/{nameless.id}/runs").text
    assert '<textarea name="classes"' in page
    assert "required></textarea>" in page, "without a source a run needs the names"
    refused = client.post(f"/api/projects/{nameless.id}/runs", json={"method": "auto"})
    assert refused.status_code == 422, refused.text
    assert "or name the classes" in refused.json()["detail"]


def test_classes_by_name_label_review_teach_and_export(client, workspace, nameless, tmp_path):
    here = f"/projects/{nameless.id}"
    sent = client.post(f"/api{here}/runs", json={"classes": CLASSES.splitlines(), "method": "auto"})
    assert sent.status_code in (200, 303), sent.text
    work(workspace, until_idle=True)
    run = workspace.runs.latest(nameless.id)
    assert run.state == "done", run.error
    assert run.parameters["classes"] == ["sport: match, goal", "business: profit, shares"]
    rows = workspace.runs.predictions(run.id, limit=100)
    truth = ["sport" if "goal" in row.text else "business" for row in rows]
    assert [row.label for row in rows] == truth
    for part in ("", "/runs", f"/runs/{run.id}", "/review", "/documents", "/groups", "/check", "/export", "/diagnosis"):
        assert client.get(here + part).status_code == 200, f"the page {part or 'overview'} needs a source"
    desk = client.get(f"{here}/review").text
    assert "match, goal" in desk, "the description of a class stands beside its key"

    api = f"/api/projects/{nameless.id}/runs/{run.id}"
    drawn = []
    for row in sorted(rows, key=lambda row: row.rank)[:3]:
        given = client.post(f"{api}/answers", json={"document": row.document, "label": "sport"})
        assert given.status_code == 200, given.text
        drawn.append(given.json()["drawn"])
    assert drawn[0] == "random", "the first on the desk were drawn from all, since nothing measured the labels"
    assert drawn[-1] == "picked", "the desk had not offered it"
    said = "id,true_label\n" + "".join(f"{row.name},{name}\n" for row, name in zip(rows, truth, strict=True))
    sent = client.post(f"{api}/annotators", files={"file": ("said.csv", said.encode())}, data={"by": "a machine"})
    assert sent.status_code == 200, sent.text
    client.post(f"{api}/teach").raise_for_status()
    work(workspace, until_idle=True)
    taught = workspace.runs.latest(nameless.id)
    assert (taught.number, taught.state) == (run.number + 1, "done"), taught.error

    made = workspace.exports.make(nameless.id, "codebook", by=workspace.people.local().id, run=taught.id)
    table = read_table(workspace.exports.path(made.id))
    assert table["class"] == ["business", "sport"]
    assert table["description"] == ["profit, shares", "match, goal"]
    assert sum(int(n) for n in table["documents"]) == len(rows)


def test_a_class_that_the_source_lacks_is_added(client, workspace, project):
    sent = client.post(
        f"/api/projects/{project.id}/runs", json={"method": "auto", "classes": ["tyres: tyre, tyres, wheel"]}
    )
    assert sent.status_code == 200, sent.text
    work(workspace, until_idle=True)
    run = workspace.runs.get(sent.json()["id"])
    assert run.state == "done", run.error
    assert "tyres" in run.summary["classes"]
    assert len(run.summary["classes"]) > 2, "the classes of the source stay"
