"""Tables read block by block give the same cells as tables read whole."""

import json

import pytest

from isthmus.corpus import read_collection
from isthmus.corpus.blocks import BlockReader, can_stream
from isthmus.exceptions import DataError


def rows_of(reader):
    texts, labels = [], []
    for block in reader:
        texts += reader.texts(block)
        labels += reader.labels(block)
    return texts, labels


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b'text,label\n"one, two\nthree",x\nfour,y\n\nfive,x\nsix,y\n'),
        ("b.csv", "text;label\nçà et là;x\nquatre;y\ncinq;x\n".encode("utf-8-sig")),
        ("c.tsv", b'text\tlabel\na "lone quote\tx\nb\ty\nc\tx\n'),
        ("d.jsonl", '{"text": "one\u2028two", "label": "x"}\n\n{"text": "b", "label": "y"}\n'.encode()),
        (
            "e.csv",
            "text,label\n".encode("gb18030")
            + "球队比赛胜利了，大家都很高兴,x\n股票市场今天上涨,y\n".encode("gb18030") * 20,
        ),
    ],
    ids=["quoted csv", "csv with a mark", "tsv", "jsonl", "gb18030"],
)
def test_same_cells_as_read_whole(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    whole = read_collection(path, text="text", label="label")
    for size in (1, 2, 100):
        texts, labels = rows_of(BlockReader(path, text="text", label="label", want_labels=True, rows=size))
        assert texts == whole.texts
        assert labels == whole.labels


def test_several_text_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("title,body,label\nhead,long text,x\n,only body,y\n")
    reader = BlockReader(path, text="title,body", label="label", want_labels=True)
    assert rows_of(reader)[0] == ["head long text", "only body"]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.csv", "text,label\n", "empty-file"),
        ("a.csv", "text,label\na,b,c\n", "unreadable-file"),
        ("a.jsonl", '{"text": "a"}\nnot json\n', "unreadable-file"),
        ("a.jsonl", "[1, 2]\n", "unreadable-file"),
        pytest.param("a.jsonl", '{"text": "a"}\n{"text": ' + "[" * 200_000, "unreadable-file", id="nested deeply"),
        pytest.param("a.jsonl", '{"text": "a"}\n{"text": ' + "9" * 5_000 + "}", "unreadable-file", id="many digits"),
        ("a.xlsx", "", "unknown-format"),
        ("a.csv", "n,m\n1,2\n3,4\n", "no-label-column"),
    ],
)
def test_refusals(tmp_path, name, content, code):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DataError) as error:
        rows_of(BlockReader(path, want_labels=True))
    assert error.value.code == code


def test_missing_file_and_column(tmp_path):
    with pytest.raises(DataError) as error:
        BlockReader(tmp_path / "none.csv", want_labels=True)
    assert error.value.code == "missing-file"
    path = tmp_path / "a.csv"
    path.write_text("text,label\na,b\n")
    with pytest.raises(DataError) as error:
        BlockReader(path, text="texts", want_labels=True)
    assert error.value.code == "unknown-column"
    assert can_stream("x.csv.gz")
    assert not can_stream("x.parquet")


def test_labels_are_read_as_the_ordinary_reader_reads_them(tmp_path):
    path = tmp_path / "labels.jsonl"
    cells = ["A", "A ", 3, 3.0, None, "  "]
    path.write_text("".join(json.dumps({"text": "some words", "label": cell}) + "\n" for cell in cells))
    reader = BlockReader(path, text="text", label="label", want_labels=True)
    found = [label for block in reader for label in reader.labels(block)]
    assert found == read_collection(path, text="text", label="label").labels == ["A", "A ", "3", "3", None, None]
