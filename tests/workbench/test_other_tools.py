"""Files of other labelling tools, sent to the workbench as they are: recognised, and read as their tables."""

import pytest

from isthmus.corpus.exchange import Labelled, write_tool_file

TEXTS = ["kind staff", "dear bike, not worth it", "polite staff", "fast bike"]
LABELS = ["service", "product", "service", "product"]
FILES = {
    "label-studio": ("export.json", "Label Studio"),
    "argilla": ("records.json", "Argilla"),
    "prodigy": ("answers.jsonl", "Prodigy"),
    "doccano": ("all.jsonl", "doccano"),
    "fasttext": ("train.txt", ""),
}


def write(tool, path):
    """A file of the tool with labels of people."""
    write_tool_file(path, tool, Labelled(["a", "b", "c", "d"], TEXTS, LABELS, guesses=False))
    if tool == "argilla":  # what a person says there is written by its server alone
        said = path.read_text(encoding="utf-8").replace('"responses": {}', '"responses": {"label": [{"value": "%s"}]}')
        path.write_text(said % tuple(LABELS), encoding="utf-8")
    return path.read_bytes()


@pytest.mark.parametrize("tool", FILES)
def test_a_tools_file_is_a_source(client, workspace, project, tmp_path, tool):
    name, title = FILES[tool]
    here = f"/api/projects/{project.id}/collections"
    sent = client.post(here, files={"file": (name, write(tool, tmp_path / name))}, data={"kind": "source"})
    assert sent.status_code == 200, sent.text
    docs = sent.json()["id"]
    seen = client.get(f"{here}/{docs}/preview").json()
    assert (seen["problem"], seen["guesses"]["text"], seen["guesses"]["label"]) == ("", ["text"], "label")
    assert not title or f"{name}: read as a file of {title}." in seen["notes"], seen["notes"]
    page = client.get(f"/projects/{project.id}/data/{docs}").text
    assert not title or f"read as a file of {title}" in page
    mapped = client.post(
        f"{here}/{docs}/mapping", json={"text": ["text"], "label": "label", "id_column": seen["guesses"]["id"]}
    )
    assert mapped.status_code == 200, mapped.text
    rows = client.get(f"{here}/{docs}/documents").json()
    assert [(row["text"], row["label"]) for row in rows] == list(zip(TEXTS, LABELS, strict=True))
    if tool != "fasttext":  # its lines have no ids
        assert [row["name"] for row in rows] == ["a", "b", "c", "d"]
    workspace.collections.remove(docs, by=workspace.people.local().id)


def test_text_that_is_not_fasttext_is_refused(client, project):
    sent = client.post(
        f"/api/projects/{project.id}/collections",
        files={"file": ("notes.txt", b"just a note")},
        data={"kind": "source"},
    )
    assert sent.status_code == 422
    assert "ends in '.txt'" in sent.json()["detail"]
