"""Blocks of a file that changes meanwhile, and which files of a folder are read in blocks."""

import gzip
from pathlib import Path

import polars as pl
import pytest

from isthmus.corpus.frames import convert_frame, holds_categories, read_frame
from isthmus.corpus.shards import cut_shard, find_shards, open_shard, read_block
from isthmus.exceptions import DataError

TABLE = b"text,label\nkind staff,a\nrude staff,b\nhigh price,c\nfair price,d\n"


def test_a_file_that_became_shorter_is_not_read_as_if_it_were_whole(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(TABLE)
    first, second = cut_shard(str(path), 2)
    path.write_bytes(TABLE[:-3])
    assert read_block(first).cells("label") == ["a", "b"]
    with pytest.raises(DataError, match="shorter than it was when the run began") as caught:
        read_block(second)
    assert caught.value.code == "unreadable-file"


def test_a_packed_file_is_read_again_where_what_it_unpacked_to_is_gone(tmp_path):
    path, unpacked = tmp_path / "a.csv.gz", tmp_path / "unpacked"
    path.write_bytes(gzip.compress(TABLE))
    blocks = cut_shard(str(path), 2, str(unpacked))
    assert unpacked.read_bytes() == TABLE
    unpacked.write_bytes(TABLE.upper())
    assert read_block(blocks[1]).cells("text") == ["HIGH PRICE", "FAIR PRICE"], "what is kept is read"
    unpacked.unlink()
    assert read_block(blocks[1]).cells("text") == ["high price", "fair price"]


def test_of_a_folder_the_tables_are_read_and_a_name_with_brackets_is_a_name(tmp_path):
    for name in ("a.csv", "b[1].csv", "notes.txt", "book.xlsx", ".hidden.csv", "c.parquet.gz"):
        (tmp_path / name).write_bytes(TABLE)
    assert [Path(path).name for path in find_shards(tmp_path)] == ["a.csv", "b[1].csv"]
    assert find_shards(str(tmp_path / "b[1].csv")) == [str(tmp_path / "b[1].csv")]
    assert find_shards(str(tmp_path / "[a-z].csv")) == [str(tmp_path / "a.csv")]
    with pytest.raises(DataError, match="No file matches"):
        find_shards(str(tmp_path / "[0-9].csv"))


@pytest.mark.parametrize("content", ["", " \n\n"])
def test_a_file_of_no_rows_is_refused_before_it_is_cut(tmp_path, content):
    (tmp_path / "a.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match="holds no rows") as caught:
        open_shard(str(tmp_path / "a.jsonl"))
    assert caught.value.code == "empty-file"


def test_missing_labels_of_a_frame_stay_missing_and_others_keep_their_type():
    table = {"text": ["kind staff", "high price", None], "label": [1, None, 2]}
    for frame in (pl.DataFrame(table), pl.LazyFrame(table)):
        docs = read_frame(frame, "frame", want_labels=True)
        assert docs.labels == [1, None, 2]
        assert docs.texts == ["kind staff", "high price", ""]


def test_a_frame_of_the_same_kind_is_itself():
    frame = pl.DataFrame({"text": ["kind staff"], "kind": pl.Series(["a"], dtype=pl.Categorical)})
    assert convert_frame(frame, "polars") is frame
    assert holds_categories(frame, "kind")
    assert not holds_categories(frame, "text")
    assert not holds_categories(frame, None)
