"""Machine answers in the workbench: later runs learn an uploaded file, and people replace its answers."""

import pytest

from isthmus.exceptions import UsageError
from isthmus.workspace import work


def send(client, project, run, table, **form):
    files = {"file": ("llm.csv", table.encode(), "text/csv")}
    return client.post(f"/api/projects/{project.id}/runs/{run.id}/annotators", files=files, data=form)


def table_of(rows, labels, by=None):
    head = "document,true_label" + (",by" if by else "")
    return "\n".join([head, *(f"{row.position + 1},{label}" + (f",{by}" if by else "") for row, label in
                              zip(rows, labels, strict=True))])  # fmt: skip


def test_answers_of_a_machine_are_learned_and_a_person_replaces_them(client, workspace, untouched):
    project, run = untouched
    rows = workspace.runs.predictions(run.id, limit=200)[:40]
    classes = run.summary["classes"]
    other = {name: classes[(place + 1) % len(classes)] for place, name in enumerate(classes)}
    sent = send(client, project, run, table_of(rows, [other[row.label] for row in rows]), by="gpt")
    assert sent.status_code == 200, sent.text
    assert [(row["name"], row["answers"]) for row in sent.json()] == [("gpt", 40)]
    api = f"/api/projects/{project.id}/runs/{run.id}"
    for row in rows[:10]:
        assert client.post(f"{api}/answers", json={"document": row.document, "label": row.label}).status_code == 200
    taught = client.post(f"{api}/teach")
    work(workspace, until_idle=True)
    taught = workspace.runs.get(taught.json()["id"])
    assert taught.state == "done", taught.error
    found = {row.document: row.label for row in workspace.runs.predictions(taught.id, limit=500)}
    assert [found[row.document] for row in rows[:10]] == [row.label for row in rows[:10]]
    assert [found[row.document] for row in rows[10:]] == [other[row.label] for row in rows[10:]]
    for part in ("", "/data"):
        assert "gpt" in client.get(f"/projects/{project.id}{part}").text
    annotator = client.get(f"/api/projects/{project.id}/annotators").json()[0]
    assert client.delete(f"/api/projects/{project.id}/annotators/{annotator['id']}").json() == []
    later = client.post(f"/api/projects/{project.id}/runs/{taught.id}/teach").json()["id"]
    work(workspace, until_idle=True)
    assert workspace.runs.get(later).summary["answers"] == 10, "later runs do not use a removed file"


def test_a_column_names_the_annotators(client, workspace, project, run):
    rows = workspace.runs.predictions(run.id, limit=3)
    table = table_of(rows, [row.label for row in rows], by="rule")
    sent = send(client, project, run, table)
    assert sent.status_code == 200, sent.text
    found = [row for row in workspace.annotators.list(project.id) if row.name == "rule"]
    assert [(row.answers, row.file) for row in found] == [(3, "llm.csv")]
    client.delete(f"/api/projects/{project.id}/annotators/{found[0].id}").raise_for_status()
    assert not [row for row in workspace.annotators.list(project.id) if row.name == "rule"]
    kinds = [event.kind for event in workspace.audit.events(project.id, latest=True, limit=2)]
    assert kinds == ["annotator removed", "annotator added"]


@pytest.mark.parametrize(
    ("table", "form", "message"),
    [
        ("document,true_label\n99999,x\n", {"by": "gpt"}, "99"),
        ("text,label\na,b\n", {"by": "gpt"}, "true_label and id (or document) are needed"),
        ("document,true_label\n1,x\n", {}, "by is needed"),
        ("document,true_label,by\n1,x,\n", {}, "name no annotator"),
    ],
)
def test_what_is_refused(client, project, run, table, form, message):
    refused = send(client, project, run, table, **form)
    assert refused.status_code == 422, refused.text
    assert message in refused.json()["detail"]


def test_an_annotator_needs_a_name(workspace, run):
    with pytest.raises(UsageError, match="name no annotator"):
        workspace.annotators.add(
            run.id, [{"row": 0, "label": "x", "by": " "}], file="a.csv", by=workspace.people.local().id
        )
