"""Files of other labelling tools: what each reader makes of them, and what comes back after a round trip."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from isthmus.corpus import read_collection
from isthmus.corpus.exchange import TOOLS, Labelled, find_tool, flatten, write_tool_file
from isthmus.corpus.read import read_table
from isthmus.corpus.shards import cut_shard, read_block
from isthmus.exceptions import DataError

TEXTS = ["kind staff", "far too dear", 'a "quoted" line\nand another', "größer als 你好"]
LABELS = ["service", "price", None, "size & colour"]
TABLE = Labelled(
    ["a1", "a2", "a3", "a4"], TEXTS, LABELS, confidence=[0.9, 0.5, None, 0.25], others={"year": [1, 2, 3, 4]}
)


def _choice(label: str, **more) -> dict:
    return {"result": [{"type": "choices", "value": {"choices": [label]}}], **more}


ANSWERED = {
    "label-studio: the last annotation that was not cancelled counts, with who gave it": (
        {
            "id": 7,
            "data": {"text": "kind staff", "year": 2024},
            "annotations": [
                _choice("price", completed_by=1),
                _choice("service", completed_by={"id": 2, "email": "b@example.org"}),
                _choice("price", completed_by=3, was_cancelled=True),
            ],
            "predictions": [_choice("price", score=0.4)],
        },
        {
            "id": 7,
            "text": "kind staff",
            "year": 2024,
            "label": "service",
            "annotator": "b@example.org",
            "prediction": "price",
            "prediction_score": 0.4,
        },
    ),
    "label-studio: an id among the data is the user's own": (
        {"id": 7, "data": {"id": "a1", "text": "kind staff"}, "annotations": []},
        {"id": "a1", "text": "kind staff", "label": None},
    ),
    "label-studio: older exports call them completions, and a person may be a number": (
        {"id": 7, "data": {"text": "kind staff"}, "completions": [_choice("service", completed_by={"id": 2})]},
        {"id": 7, "text": "kind staff", "label": "service", "annotator": 2},
    ),
    "label-studio: what names no class is no answer and no guess": (
        {
            "id": 7,
            "data": {"text": "kind staff"},
            "annotations": [_choice("service", completed_by=1), {"result": [{"value": {"text": ["a remark"]}}]}, 12],
            "predictions": [_choice("price", score=0.4), {"result": [{"value": "odd"}, "odd"], "score": 0.9}, None],
        },
        {
            "id": 7,
            "text": "kind staff",
            "label": "service",
            "annotator": 1,
            "prediction": "price",
            "prediction_score": 0.4,
        },
    ),
    "no tool: data without annotations or predictions": (
        {"id": 7, "data": {"text": "kind staff"}},
        {"id": 7, "data": {"text": "kind staff"}},
    ),
    "no tool: fields without responses and suggestions": (
        {"fields": {"text": "kind staff"}, "id": 1},
        {"fields": {"text": "kind staff"}, "id": 1},
    ),
    "argilla: nested, the last response counts": (
        {
            "id": "r1",
            "fields": {"text": "kind staff"},
            "metadata": {"year": 2024},
            "suggestions": {"topic": {"value": "price", "score": 0.4, "agent": "m"}},
            "responses": {"topic": [{"value": "price", "user_id": "u"}, {"value": "service", "user_id": "v"}]},
        },
        {
            "id": "r1",
            "text": "kind staff",
            "year": 2024,
            "label": "service",
            "prediction": "price",
            "prediction_score": 0.4,
        },
    ),
    "argilla: one level deep, nobody has answered": (
        {"id": "r1", "text": "kind staff", "topic.responses": None, "topic.suggestion": "price", "_server_id": "x"},
        {"id": "r1", "text": "kind staff", "label": None, "prediction": "price", "prediction_score": None},
    ),
    "argilla: one level deep, drafts and discarded responses are no answers": (
        {
            "text": "kind staff",
            "topic.responses": ["service", "price", "size"],
            "topic.responses.status": ["submitted", "draft", "discarded"],
        },
        {"text": "kind staff", "label": "service"},
    ),
    "prodigy: one label, accepted": (
        {"text": "kind staff", "label": "service", "answer": "accept", "_task_hash": 1, "meta": {"id": "a1"}},
        {"text": "kind staff", "label": "service", "id": "a1"},
    ),
    "prodigy: a rejected label is not a label": (
        {"text": "kind staff", "label": "service", "answer": "reject"},
        {"text": "kind staff", "label": None},
    ),
    "prodigy: nor is one that was passed over": (
        {"text": "kind staff", "label": "service", "answer": "ignore"},
        {"text": "kind staff", "label": None},
    ),
    "prodigy: a choice": (
        {"text": "kind staff", "options": [{"id": "service"}], "accept": ["service"], "answer": "accept"},
        {"text": "kind staff", "label": "service"},
    ),
    "prodigy: a choice given as one text": (
        {"text": "kind staff", "options": [{"id": "service"}], "accept": "service", "answer": "accept"},
        {"text": "kind staff", "label": "service"},
    ),
    "prodigy: accepted, and nothing was chosen": (
        {"text": "kind staff", "options": [{"id": "service"}], "answer": "accept"},
        {"text": "kind staff", "label": None},
    ),
    "prodigy: a task that nobody has looked at": (
        {"text": "kind staff", "options": [{"id": "service"}], "accept": ["service"]},
        {"text": "kind staff", "label": None, "prediction": "service"},
    ),
    "doccano: the text is called data in newer exports": (
        {"id": 3, "data": "kind staff", "label": ["service"]},
        {"id": 3, "text": "kind staff", "label": "service"},
    ),
    "doccano: beside a text, data is a column like any other": (
        {"text": "kind staff", "data": "2024", "label": ["service"]},
        {"text": "kind staff", "data": "2024", "label": "service"},
    ),
    "no tool: labels of parts of a text": (
        {"text": "kind staff", "label": [[0, 4, "praise"]]},
        {"text": "kind staff", "label": [[0, 4, "praise"]]},
    ),
    "doccano: several labels stay several": (
        {"text": "kind staff", "labels": ["service", "price"]},
        {"text": "kind staff", "label": ["service", "price"]},
    ),
    "no tool: responses that are not by question": (
        {"fields": {"text": "kind staff"}, "responses": [{"values": {"topic": {"value": "service"}}}]},
        {"fields": {"text": "kind staff"}, "responses": [{"values": {"topic": {"value": "service"}}}]},
    ),
    "no tool: a table of its own": (
        {"text": "kind staff", "label": "service"},
        {"text": "kind staff", "label": "service"},
    ),
}


@pytest.mark.parametrize("case", ANSWERED)
def test_a_record_becomes_a_row(case):
    record, row = ANSWERED[case]
    tool = find_tool([record])
    assert tool == ("" if case.startswith("no tool") else case.split(":")[0])
    assert flatten([record], tool) == [row]


def test_a_file_in_which_one_record_is_unlike_the_tools_is_an_ordinary_table():
    records = [{"text": "kind staff", "label": ["service"]}, {"text": "far too dear", "label": "price"}]
    assert find_tool(records) == ""
    assert flatten(records, "") == records


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("guesses", [True, False])
def test_what_is_written_for_a_tool_is_read_back(tool, guesses, tmp_path):
    place = tmp_path / f"tasks.json{'' if TOOLS[tool].array else 'l'}"
    table = Labelled(TABLE.ids, TEXTS, LABELS, guesses=guesses, confidence=TABLE.confidence, others=TABLE.others)
    write_tool_file(place, tool, table)
    docs = read_collection(place)
    assert docs.texts == TEXTS
    assert docs.ids == TABLE.ids
    assert docs.table()["year"] == [1, 2, 3, 4]
    if guesses or tool == "argilla":  # which takes no answer of a user it does not know
        assert docs.labels == [None] * 4
        assert docs.table()["prediction"] == LABELS
    else:
        assert docs.labels == LABELS
    assert any(TOOLS[tool].title in note for note in docs.notes)


@pytest.mark.parametrize("tool", TOOLS)
def test_suggestions_that_nobody_looked_at_are_no_answers(tool, tmp_path):
    place = tmp_path / f"tasks.json{'' if TOOLS[tool].array else 'l'}"
    write_tool_file(place, tool, TABLE)
    table = read_table(place)
    assert table["true_label"] == [None] * 4
    assert table["prediction"] == LABELS


def test_fasttext_lines_come_back_with_blanks_as_it_cuts_them(tmp_path):
    for name in ("lines.ft", "lines.txt"):
        write_tool_file(tmp_path / name, "fasttext", TABLE)
        docs = read_collection(tmp_path / name)
        assert docs.labels == ["service", "price", None, "size-&-colour"]
        assert docs.texts == ["kind staff", "far too dear", 'a "quoted" line and another', "größer als 你好"]


def test_two_labels_that_fasttext_could_not_tell_apart_are_refused(tmp_path):
    table = Labelled(["1", "2"], ["good", "bad"], ["a b", "a-b"])
    with pytest.raises(DataError, match="'a b' and 'a-b' would both be 'a-b'"):
        write_tool_file(tmp_path / "lines.ft", "fasttext", table)
    assert not (tmp_path / "lines.ft").exists()


def test_blocks_of_a_tools_file_are_those_of_the_whole(tmp_path):
    place = tmp_path / "answers.jsonl"
    write_tool_file(place, "doccano", replace(TABLE, guesses=False))
    blocks = [read_block(block) for block in cut_shard(str(place), 2)]
    whole = read_collection(place)
    assert [text for block in blocks for text in block.texts(["text"])] == whole.texts
    assert [label for block in blocks for label in block.labels("label")] == whole.labels


def test_what_people_answered_in_a_tool_is_a_table_of_answers(tmp_path):
    task = {"id": 1, "data": {"id": "a1", "text": "kind staff"}, "annotations": [_choice("service", completed_by=1)]}
    (tmp_path / "export.json").write_text(json.dumps([task]))
    table = read_table(tmp_path / "export.json")
    assert (table["id"], table["true_label"]) == (["a1"], ["service"])
    assert "label" not in table


def test_a_later_record_of_another_shape_stays_as_it_is():
    """Tools are known by the first records; a line that somebody put behind them is a row of its own."""
    records = [{"text": "kind staff", "label": ["service"]}, {"text": "far too dear", "year": 2024}]
    assert flatten(records, "doccano") == [{"text": "kind staff", "label": "service"}, records[1]]


def test_a_label_without_a_confidence_is_a_prediction_without_a_score(tmp_path):
    write_tool_file(tmp_path / "tasks.json", "label-studio", Labelled(["a1"], ["kind staff"], ["service"]))
    (task,) = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    assert "score" not in task["predictions"][0]
    assert task["predictions"][0]["result"][0]["value"]["choices"] == ["service"]


def test_blank_lines_between_lines_of_fasttext_are_no_documents(tmp_path):
    (tmp_path / "lines.ft").write_text("__label__a kind staff\n\n  \n__label__b\n", encoding="utf-8")
    docs = read_collection(tmp_path / "lines.ft")
    assert (docs.labels, docs.texts) == (["a", "b"], ["kind staff", ""]), "a label without a text is one"
