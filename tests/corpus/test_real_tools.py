"""Files of other tools, checked by the tools' own packages: what is written fits them, what they write is read."""

import json

import pytest

from isthmus.corpus import read_collection, read_table
from isthmus.corpus.exchange import Labelled, write_tool_file

TEXTS = ["kind staff", "far too dear", "größer als 你好"]
LABELS = ["service", "price", "product"]
CONFIG = """<View><Text name="text" value="$text"/>
<Choices name="label" toName="text"><Choice value="service"/><Choice value="price"/><Choice value="product"/></Choices>
</View>"""


@pytest.fixture
def written(tmp_path):
    """A file of each tool, with labels that a model gave."""

    def write(tool, name, **more):
        table = Labelled(["a", "b", "c"], TEXTS, LABELS, confidence=[0.9, 0.8, 0.7], **more)
        write_tool_file(tmp_path / name, tool, table)
        return tmp_path / name

    return write


def test_label_studio_takes_tasks_and_its_export_is_read(written, tmp_path):
    interface = pytest.importorskip("label_studio_sdk.label_interface", reason="no label-studio-sdk")
    labels = interface.LabelInterface(CONFIG)
    labels.validate()
    tasks = json.loads(written("label-studio", "tasks.json").read_text(encoding="utf-8"))
    for task in tasks:
        data = {"data": task["data"]}  # with annotations this version of the package calls itself without them
        assert labels.validate_task(data), f"not a task of this interface: {data}"
        assert labels.validate_prediction(task["predictions"][0]), task["predictions"]
    for task in tasks[:2]:  # people confirm what was predicted
        task["annotations"] = [{"result": task["predictions"][0]["result"], "completed_by": 1}]
        assert labels.validate_annotation(task["annotations"][0])
    (tmp_path / "export.json").write_text(json.dumps(tasks), encoding="utf-8")
    table = read_table(tmp_path / "export.json")
    assert (table["id"], table["true_label"]) == (["a", "b", "c"], ["service", "price", None])


def test_argilla_takes_records_and_its_own_are_read(written, tmp_path):
    rg = pytest.importorskip("argilla", reason="no argilla")
    records = [rg.Record.from_dict(row) for row in json.loads(written("argilla", "records.json").read_text("utf-8"))]
    assert [record.fields["text"] for record in records] == TEXTS
    assert [record.suggestions["label"].value for record in records] == LABELS
    assert records[0].suggestions["label"].score == pytest.approx(0.9)
    said = {"label": [{"value": "price", "user_id": "00000000-0000-0000-0000-000000000001"}]}
    rows = [record.to_dict() for record in records]
    rows[0]["responses"] = rg.Record.from_dict(rows[0] | {"responses": said}).to_dict()["responses"]
    (tmp_path / "export.json").write_text(json.dumps(rows, default=str), encoding="utf-8")
    table = read_table(tmp_path / "export.json")
    assert (table["id"], table["true_label"]) == (["a", "b", "c"], ["price", None, None])


@pytest.mark.parametrize(("tool", "name"), [("prodigy", "a.jsonl"), ("doccano", "a.jsonl"), ("argilla", "a.json")])
def test_datasets_reads_the_same_lines(written, tmp_path, tool, name):
    datasets = pytest.importorskip("datasets", reason="no datasets")
    path = written(tool, name, guesses=False)
    found = datasets.Dataset.from_json(str(path), cache_dir=str(tmp_path / "cache"))
    assert len(found) == 3
    texts = [row["fields"]["text"] for row in found] if tool == "argilla" else found["text"]
    assert list(texts) == TEXTS == read_collection(path).texts
