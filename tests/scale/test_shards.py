"""Reading many files in blocks: the same rows wherever the cuts are, and bad rows one by one."""

import glob
import gzip
import json
from itertools import accumulate
from pathlib import Path

import pytest

from isthmus.corpus import read_collection, shards
from isthmus.corpus.shards import choose_columns, cut_shard, find_shards, open_shard, read_block
from isthmus.exceptions import DataError


def all_rows(path, rows, unpacked=None):
    blocks = cut_shard(str(path), rows, unpacked)
    read = [read_block(block) for block in blocks]
    names = read[0].names
    return [tuple(row) for part in read for row in zip(*(part.cells(name) for name in names), strict=True)], blocks


@pytest.mark.parametrize("name", ["a.csv", "b.csv.gz", "c.jsonl", "d.parquet"])
def test_rows_do_not_depend_on_the_cuts(corpus, tmp_path, name):
    whole, blocks = all_rows(corpus / "target" / name, 10**6)
    assert len(blocks) == 1
    for rows in (1, 7, 64):
        cut, blocks = all_rows(corpus / "target" / name, rows, str(tmp_path / f"u{rows}"))
        assert cut == whole
        assert len(blocks) == -(-len(whole) // rows)
        assert sum(block.rows for block in blocks) == len(whole)


def test_line_breaks_and_quotes_inside_cells(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b'\xef\xbb\xbfid;text\r\n1;"a ""b""\r\n;c"\r\n\r\n2;5" pipe\r\n3;last')
    rows, _ = all_rows(path, 1)
    assert rows == [("1", 'a "b"\r\n;c'), ("2", '5" pipe'), ("3", "last")]
    assert open_shard(str(path)).columns == ("id", "text")


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
@pytest.mark.parametrize("chunk", [1, 7, 20])
def test_cells_go_on_where_a_chunk_of_the_file_ends(tmp_path, monkeypatch, name, chunk):
    monkeypatch.setattr(shards, "_CHUNK", chunk)
    content = b'id,text\n1,"one\ntwo, three\n\nfour"\n2,five\n'
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    rows, blocks = all_rows(tmp_path / name, 1, str(tmp_path / "unpacked"))
    assert rows == [("1", "one\ntwo, three\n\nfour"), ("2", "five")]
    assert [block.rows for block in blocks] == [1, 1]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b'text,label\n"one, two\nthree",x\nfour,y\n\nfive,x\nsix,y\n'),
        ("b.csv", "text;label\nçà et là;x\nquatre;y\ncinq;x\n".encode("utf-8-sig")),
        ("c.tsv", b'text\tlabel\na "lone quote\tx\nb\ty\nc\tx\n'),
        ("d.jsonl", '{"text": "one\u2028two", "label": "x"}\n\n{"text": "b", "label": "y"}\n'.encode()),
        ("e.csv", ("text,label\n" + "球队比赛胜利了，大家都很高兴,x\n股票市场今天上涨,y\n" * 20).encode("gb18030")),
        ("f.jsonl", "".join(f'{{"text":"w","label":{c}}}\n' for c in ('"A"', '"A "', 3, 3.0, "null", '" "')).encode()),
        ("g.jsonl", "".join(f'{{"text":{c},"label":"x"}}\n' for c in ('"A"', 3, 3.0, 0.5, "null", "true")).encode()),
    ],
    ids=["quoted csv", "csv with a mark", "tsv", "jsonl", "gb18030", "labels of many kinds", "texts of many kinds"],
)  # fmt: skip
def test_same_cells_as_read_whole(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    whole = read_collection(path, text="text", label="label")
    assert {type(text) for text in whole.texts} == {str}, "both go one way, so equal alone is not enough"
    for size in (1, 2, 100):
        read = [read_block(block) for block in cut_shard(str(path), size)]
        assert [text for rows in read for text in rows.texts(["text"])] == whole.texts
        assert [label for rows in read for label in rows.labels("label")] == whole.labels


def test_bad_rows_are_told_one_by_one_whatever_the_cuts(tmp_path):
    good = [f"{i},text number {i}\n".encode() for i in range(20)]
    good[4] = b"4,text \xff\xfe\n"
    good[9] = b"9,too,many\n"
    good[13] = b'13,"never closed\n'
    good[16] = b'16,"fine, quoted"\n'
    path = tmp_path / "x.csv"
    path.write_bytes(b"id,text\n" + b"".join(good))
    seen = []
    for rows in (1, 3, 100):
        read = [read_block(block) for block in cut_shard(str(path), rows)]
        ids = [cell for part in read for cell in part.cells("id")]
        seen.append((ids, [(row["row"], row["reason"]) for part in read for row in part.bad]))
    assert seen[0][0] == seen[1][0] == seen[2][0] == [str(i) for i in range(20) if i not in (4, 9, 13)]
    assert {reason for _, reason in seen[0][1]} == {
        "byte 0xff is not utf-8 text",
        "3 cells where the header has 2",
        "a quotation mark is not closed",
    }


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl"])
def test_a_row_with_a_nul_byte_is_set_aside(tmp_path, name, size):
    if name == "x.jsonl":
        rows = [b'{"id": "%d", "text": "text %d"}\n' % (i, i) for i in range(6)]
        above = b""
    else:
        mark = b"," if name == "x.csv" else b"\t"
        rows = [b"%d%stext %d\n" % (i, mark, i) for i in range(6)]
        above = b"id%stext\n" % mark
    rows[2] = rows[2].replace(b"text 2", b"te\0xt")
    path = tmp_path / name
    path.write_bytes(above + b"".join(rows))
    read = [read_block(block) for block in cut_shard(str(path), size)]
    assert [cell for part in read for cell in part.cells("id")] == ["0", "1", "3", "4", "5"]
    (bad,) = [row for part in read for row in part.bad]
    assert bad["row"] == 3
    if name != "x.jsonl":
        assert bad["reason"] == "a NUL byte, which text cannot hold"


def test_nul_bytes_in_the_header_are_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes("id,text\n1,one\n".encode("utf-16-le"))  # without a mark that says so
    with pytest.raises(DataError) as error:
        cut_shard(str(path), 10)
    assert error.value.code == "nul-bytes"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "titles.csv",
            b"Customer survey 2026\n\nticket;comment;category\nA-1;kind, polite staff;staff\nA-2;dear;price\n",
        ),
        ("excel.csv", b"sep=;\r\nticket;comment;category\r\nA-1;a, b;x\r\nA-2;c;y\r\n"),
        ("marks.tsv", b'ticket\tcomment\tcategory\nA-1\t"5 inch\tx\nA-2\tfine\ty\nA-3\t"7 inch" pipe\tx\n'),
        ("spare.csv", b"ticket,comment,category,,\nA-1,one two,x,,,\nA-2,three,y,,\n"),
        ("twice.csv", b"comment,category,category\nkind staff,x,1\ntoo dear,y,2\n"),
    ],
    ids=["titles", "line of Excel", "lone marks", "spare cells", "equal names"],
)
def test_blocks_and_whole_files_are_the_same_table(tmp_path, name, content):
    """Titles, the line of Excel, lone marks, spare cells and equal names: one reader, so one answer."""
    path = tmp_path / name
    path.write_bytes(content)
    whole = read_collection(path, want_labels=True)
    for size in (1, 2, 100):
        blocks = cut_shard(str(path), size)
        read = [read_block(block) for block in blocks]
        assert not any(part.bad for part in read)
        table = {column: [cell for part in read for cell in part.cells(column)] for column in read[0].names}
        assert table == whole.table()
        roles = choose_columns(blocks, text=None, label=None, want_labels=True)
        assert [text for part in read for text in part.texts(roles.text)] == whole.texts
        assert [label for part in read for label in part.labels(roles.label)] == whole.labels


def test_columns_are_guessed_alike_from_any_blocks(tmp_path):
    """Two rows say that "kind" repeats least; the first thousands say otherwise."""
    path = tmp_path / "x.csv"
    rows = "".join(f"r{i},remark number {i} about things,{'ab'[i % 2]},{'xyz'[i % 3]}\n" for i in range(60))
    path.write_text("respondent,remark,kind,mood\n" + rows)
    whole = read_collection(path, want_labels=True)
    for size in (2, 7, 1000):
        roles = choose_columns(cut_shard(str(path), size), text="remark", label=None, want_labels=True)
        assert (roles.label, roles.id) == ("kind", "respondent")
    assert whole.labels[:2] == ["a", "b"]
    joined = choose_columns(cut_shard(str(path), 7), text="kind, remark", label="mood", want_labels=True)
    assert joined.text == ("kind", "remark")


def test_bare_carriage_returns(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"id,text\r1,one\r2,two\r")
    with pytest.raises(DataError, match="carriage returns") as error:
        cut_shard(str(path), 10)
    assert error.value.code == "unreadable-file"
    path.write_bytes(b"id,text\n1,one\r2,two\n3,a,b\n4,four\n")
    for size in (1, 100):
        read = [read_block(block) for block in cut_shard(str(path), size)]
        assert [cell for rows in read for cell in rows.cells("id")] == ["1", "2", "4"]
        assert [row["reason"] for rows in read for row in rows.bad] == ["3 cells where the header has 2"]


def test_bad_json_lines(tmp_path):
    path = tmp_path / "x.jsonl"
    nested, digits = b'{"text": ' + b"[" * 200_000, b'{"text": ' + b"9" * 5_000 + b"}"
    path.write_bytes(
        b'{"text": "one"}\n{"text": \n[1]\n\n{"text": "\xff"}\n' + nested + b"\n" + digits + b'\n{"text": "two"}'
    )
    (rows,) = [read_block(block) for block in cut_shard(str(path), 100)]
    assert rows.texts(["text"]) == ["one", "two"]
    assert [row["row"] for row in rows.bad] == [2, 3, 5, 6, 7]


def test_which_files(corpus, tmp_path):
    names = [path.rsplit("/", 1)[1] for path in find_shards(corpus / "target")]
    assert names == ["a.csv", "b.csv.gz", "c.jsonl", "d.parquet"]
    assert len(find_shards([str(corpus / "target" / "*.csv*"), corpus / "target" / "a.csv"])) == 2
    for what, code in ((tmp_path, "missing-file"), (tmp_path / "*.csv", "missing-file"), ("x.txt", "unknown-format")):
        with pytest.raises(DataError) as error:
            find_shards(what)
        assert error.value.code == code


def test_damaged_and_missing_files(tmp_path, corpus):
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(gzip.compress(b"text\n" + b"some words\n" * 400_000)[:-2_000])
    with pytest.raises(DataError, match="cut short") as error:
        cut_shard(str(path), 100, str(tmp_path / "u"))
    assert error.value.code == "unreadable-file"
    (tmp_path / "x.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(DataError) as error:
        cut_shard(str(tmp_path / "x.parquet"), 100)
    assert error.value.code == "unreadable-file"
    with pytest.raises(DataError) as error:
        cut_shard(str(tmp_path / "gone.csv"), 100)
    assert error.value.code == "missing-file"


def test_every_file_must_have_the_columns(tmp_path):
    (tmp_path / "a.csv").write_text("text,topic\na long enough text,x\n")
    (tmp_path / "b.jsonl").write_text(json.dumps({"body": "a text"}) + "\n")
    blocks = [block for name in ("a.csv", "b.jsonl") for block in cut_shard(str(tmp_path / name), 10)]
    with pytest.raises(DataError, match="has no column 'text'") as error:
        choose_columns(blocks, text="text", label=None, want_labels=False)
    assert error.value.code == "unknown-column"


@pytest.mark.parametrize("source", ["", "*.csv"], ids=["folder", "pattern"])
def test_files_come_in_the_order_of_their_names_however_the_disk_lists_them(tmp_path, monkeypatch, source):
    for name in "bac":
        (tmp_path / f"{name}.csv").write_text("text\nkind staff\n", encoding="utf-8")
    for place, name, listed in ((glob, "glob", glob.glob), (Path, "rglob", Path.rglob)):

        def backwards(*given, listed=listed, **more):
            return sorted(listed(*given, **more), reverse=True)

        monkeypatch.setattr(place, name, backwards)
    assert [Path(path).stem for path in find_shards(tmp_path / source)] == ["a", "b", "c"]


def test_labels_are_read_where_they_are_wanted_and_only_there(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nkind staff,staff\nfast bike,product\n")
    blocks = cut_shard(str(tmp_path / "a.csv"), 100)
    named = choose_columns(blocks, text="text", label="label", want_labels=True)
    assert (named.text, named.label) == (("text",), "label")
    assert choose_columns(blocks, text="text", label="label", want_labels=False).label is None


def test_what_is_hidden_in_a_folder_is_not_read(tmp_path):
    """Copies that tools keep beside the data: a hidden file, a file in a hidden folder, a hidden file further down."""
    for name in ("a.csv", "more/b.csv", ".c.csv", ".cache/d.csv", "more/.e.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text\nkind staff\n", encoding="utf-8")
    assert find_shards(str(tmp_path)) == [str(tmp_path / "a.csv"), str(tmp_path / "more" / "b.csv")]


@pytest.mark.parametrize("name", ["a.csv", "b.csv.gz", "c.jsonl"])
@pytest.mark.parametrize("rows", [1_000, 7])
def test_a_block_holds_so_many_bytes_whatever_its_rows(corpus, tmp_path, monkeypatch, name, rows):
    whole, _ = all_rows(corpus / "target" / name, 10**6, str(tmp_path / "whole"))
    monkeypatch.setattr(shards, "MOST_BYTES", 400)
    monkeypatch.setattr(shards, "_CHUNK", 900)
    cut, blocks = all_rows(corpus / "target" / name, rows, str(tmp_path / "cut"))
    assert cut == whole, "the rows are those of one block"
    firsts = [0, *accumulate(block.rows for block in blocks)]
    assert [block.first for block in blocks] == firsts[:-1], "each begins with the row behind the one before"
    assert firsts[-1] == len(whole), "rows that wait from the chunk before are counted"
    assert max(block.rows for block in blocks) <= rows
    lengths = [block.stop - block.start for block in blocks]
    longest = max(length for length, block in zip(lengths, blocks, strict=True))
    assert longest <= 400 + 300, f"{longest} bytes where 400 and one more row are allowed"
    assert len(blocks) > 10
