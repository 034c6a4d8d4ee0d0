"""Subtopics in the workbench: a class is split, its parts are named, and their documents answered."""


def groups_page(project, run, **more):
    query = "&".join(f"{name}={value}" for name, value in {"run": run.id, **more}.items())
    return f"/projects/{project.id}/groups?{query}"


def test_a_class_is_split_and_made_classes(client, workspace, untouched):
    project, run = untouched
    address = f"/api/projects/{project.id}/runs/{run.id}/subtopics"
    label = max(run.summary["classes"], key=lambda name: len(workspace.runs.predictions(run.id, label=name, limit=200)))
    found = client.get(address, params={"within": label, "clusters": 2})
    assert found.status_code == 200, found.text
    groups = found.json()
    assert [row["number"] for row in groups] == [1, 2]
    page = client.get(groups_page(project, run, within=label, clusters=2)).text
    assert page.count("names.") == 2
    body = {"within": label, "clusters": 2, "names": {"1": "part one"}}
    assert client.post(address, json=body).json() == {"answered": groups[0]["size"]}
    said = [row for row in workspace.answers.list(project.id, limit=200) if row.label == "part one"]
    assert len(said) == groups[0]["size"]
    labels = {workspace.runs.prediction(run.id, row.document).label for row in said}
    assert labels == {label}, "documents of the class that was split are answered, and no others"
    body = {"within": label, "clusters": 2, "names": {"2": "part two"}}
    assert client.post(address, json=body).json() == {"answered": groups[1]["size"]}


def test_what_is_refused(client, project, run):
    address = f"/api/projects/{project.id}/runs/{run.id}/subtopics"
    assert client.get(address, params={"within": "no such class"}).status_code == 422
    assert client.get(address, params={"within": "price", "clusters": 1}).status_code == 422
    wrong = {"within": next(iter(run.summary["classes"])), "clusters": 2, "names": {"9": "x"}}
    assert client.post(address, json=wrong).status_code == 422
