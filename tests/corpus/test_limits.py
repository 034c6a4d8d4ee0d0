"""Small files that unpack to much, reach far or hold many columns: a sentence, soon, and little memory."""

import gzip
import io
import json
import os
import subprocess
import sys
import time
import zipfile
import zlib
from pathlib import Path

import polars as pl
import pytest

from isthmus.corpus import limits, read_collection, write_rows
from isthmus.corpus.limits import VARIABLE, gunzip, read_size, sheet_paths, unpack_limit, unpacking_at_most
from isthmus.corpus.shards import cut_shard
from isthmus.corpus.tables import unique_names
from isthmus.exceptions import DataError, UsageError


def refusal(path, **options):
    with pytest.raises(DataError) as caught:
        read_collection(path, **options)
    assert len(str(caught.value)) < 1000
    return caught.value


def test_a_gzip_bomb_is_refused_before_it_fills_memory(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"text,label\n" + b"a" * 30_000_000))
    with unpacking_at_most(2**20):
        error = refusal(path)
    assert error.code == "too-large"
    assert VARIABLE in str(error)
    assert "--max-unpacked" in str(error)
    assert gunzip(gzip.compress(b"a") + gzip.compress(b"b") + b"\0\0", "two members") == b"ab"


def test_a_gzip_bomb_leaves_memory_as_it_was(tmp_path):
    """At the limit that stands without an option the file was unpacked once and copied: a gigabyte more in use."""
    path = tmp_path / "bomb.csv.gz"
    packer = zlib.compressobj(9, wbits=31)
    head = packer.compress(b"text,label\n") + packer.flush(zlib.Z_FULL_FLUSH)
    packer.compress(b"a" * 2**20)
    packer.flush(zlib.Z_FULL_FLUSH)  # what comes after it stands for itself and can be repeated
    path.write_bytes(head + (packer.compress(b"a" * 2**20) + packer.flush(zlib.Z_FULL_FLUSH)) * 600)
    code = (
        "import resource, sys; from isthmus.corpus import read_collection; from isthmus.exceptions import DataError\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "before = peak()\n"
        "try: read_collection(sys.argv[1])\n"
        "except DataError as error: print(error.code, peak() - before)\n"
    )
    clean = {key: value for key, value in os.environ.items() if key != VARIABLE}
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True, env=clean)
    refused, megabytes = done.stdout.split()
    assert refused == "too-large"
    assert float(megabytes) < 100


@pytest.mark.parametrize("sizes", [(1,), (70_000, 3), (5 * 2**20, 0, 2**20)])
def test_packed_files_are_unpacked_member_by_member(sizes):
    parts = [bytes(range(256)) * (size // 256 + 1) for size in sizes]
    packed = b"".join(map(gzip.compress, parts)) + b"\0" * 9
    assert gunzip(packed, "a.gz") == b"".join(parts)
    with pytest.raises(EOFError):
        gunzip(packed[:-30], "a.gz")


def test_two_hundred_thousand_columns_are_refused_soon(tmp_path):
    wide = ",".join(f"c{i}" for i in range(200_000)) + "\n" + ",".join(["word"] * 200_000) + "\n"
    keys = "".join(json.dumps({"text": "a", f"k{i}": 1}) + "\n" for i in range(20_000))
    for name, content in (("wide.csv", wide), ("wide.tsv", wide.replace(",", "\t")), ("keys.jsonl", keys)):
        path = tmp_path / name
        path.write_text(content)
        begin = time.process_time()
        error = refusal(path)
        # A fraction of a second on a quiet machine; minutes before.
        assert time.process_time() - begin < 5
        assert error.code == "too-large"
        assert "more than 16,384 columns" in str(error)
        if name != "keys.jsonl":  # whose blocks hold what each record holds, and no table
            with pytest.raises(DataError, match="more than 16,384 columns"):
                cut_shard(str(path), 100)


def test_as_many_columns_as_a_workbook_has_are_read(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(["text", *map(str, range(16_383))]) + "\n" + ",".join(["a b"] * 16_384) + "\n")
    assert len(read_collection(path).table()) == 16_384


def test_the_limit_is_set_by_the_environment(monkeypatch):
    monkeypatch.setenv(VARIABLE, "3M")
    assert unpack_limit() == 3 * 2**20
    assert (read_size("10"), read_size("2 GB"), read_size("1k")) == (10, 2**31, 1024)
    for wrong in ("", "many", "-1", "0", "1T"):
        with pytest.raises(UsageError, match="give a number of bytes"):
            read_size(wrong)


def workbook_with(cell, *, quote='"', count=1):
    cells = {"A1": "text", "B1": "label", "A2": "one", "B2": "a"}
    out = io.BytesIO()
    write_rows_to = io.BytesIO()
    import xlsxwriter

    with xlsxwriter.Workbook(write_rows_to, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        for place, value in cells.items():
            sheet.write_string(place, value)
    with zipfile.ZipFile(write_rows_to) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename == "xl/worksheets/sheet1.xml":
                row = "".join(filter(str.isdigit, cell))
                more = f"<row r={quote}{row}{quote}><c r={quote}{cell}{quote}><v>1</v></c></row></sheetData>" * count
                data = data.replace(b"</sheetData>", more.encode())
            new.writestr(entry, data)
    return out.getvalue()


@pytest.mark.parametrize("quote", ['"', "'"], ids=["double", "single"])
def test_one_cell_at_the_far_corner_of_a_sheet(tmp_path, quote):
    path = tmp_path / "corner.xlsx"
    path.write_bytes(workbook_with("XFD1048576", quote=quote))
    assert path.stat().st_size < 10_000
    error = refusal(path)
    assert error.code == "too-large"
    assert "stray cells" in str(error)


def test_a_sheet_of_ordinary_size_is_read(tmp_path):
    path = tmp_path / "a.xlsx"
    path.write_bytes(workbook_with("B3"))
    assert read_collection(path).texts == ["one", ""]
    with unpacking_at_most(500):
        assert refusal(path).code == "too-large"


@pytest.mark.parametrize("room", [0, -1])
def test_a_workbook_may_hold_as_much_as_the_limits_say(tmp_path, monkeypatch, room):
    """Unpacked bytes of all its parts, and cells between the first and the last."""
    path = tmp_path / "a.xlsx"
    path.write_bytes(workbook_with("B3"))
    with zipfile.ZipFile(path) as book:
        size = sum(entry.file_size for entry in book.infolist())
    with unpacking_at_most(size + room):
        assert read_collection(path).texts == ["one", ""] if room == 0 else refusal(path).code == "too-large"
    monkeypatch.setattr(limits, "MOST_CELLS", 6 + room)
    assert read_collection(path).texts == ["one", ""] if room == 0 else "stray cells" in str(refusal(path))


SEEDS = Path(__file__).parent.parent / "fuzz" / "seeds"


@pytest.mark.parametrize("name", ["parquet-panic.parquet", "parquet-abort.parquet"])
def test_damaged_parquet_neither_panics_nor_ends_the_process(name, capfd):
    """One made its reader panic, which is no Exception; the other made it ask for two exabytes and abort."""
    error = refusal(SEEDS / name)
    assert error.code == "unreadable-file"
    assert capfd.readouterr().err == ""


def test_a_small_parquet_file_of_many_rows(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"text": ["a long text that repeats itself"] * 200_000}).write_parquet(path)
    assert path.stat().st_size < 20_000
    with unpacking_at_most(2**20):
        assert refusal(path).code == "too-large"


def test_three_thousand_equal_column_names_take_no_time(tmp_path):
    begin = time.process_time()
    names, notes = unique_names(["text"] * 30_000 + ["text_3"])
    assert time.process_time() - begin < 5
    assert len(set(names)) == 30_001
    assert names[1] == "text_2"
    assert names[-1] == "text_3"
    assert len(notes) == 1


@pytest.mark.parametrize("kind", ["header only", "no text", "no labels", "wrong name"])
def test_sentences_list_ten_columns(tmp_path, kind):
    columns = [f"column {'x' * 500} {i}" for i in range(2_000)]
    path = tmp_path / "wide.csv"
    rows = "" if kind == "header only" else ",".join("1" for _ in columns) + "\n"
    path.write_text(",".join(columns) + "\n" + rows)
    options = {
        "header only": {},
        "no text": {},
        "no labels": {"text": columns[0], "want_labels": True},
        "wrong name": {"text": "y" * 10_000},
    }
    error = refusal(path, **options[kind])
    assert "and 1,990 more" in str(error)


def test_a_file_without_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "note.txt").write_text("not to be read")
    assert refusal("").code == "missing-file"


def test_bare_nan_in_json_is_a_missing_value_and_is_never_written(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"text": "one", "label": NaN, "v": [NaN, Infinity, 1]}\n{"text": "two", "label": "a", "v": -Infinity}\n'
    )
    docs = read_collection(path, label="label")
    assert docs.labels == [None, "a"]
    write_rows(tmp_path / "b.jsonl", docs.table())

    def refuse(name):
        raise AssertionError(f"bare {name}")

    lines = (tmp_path / "b.jsonl").read_text().splitlines()
    assert [json.loads(line, parse_constant=refuse)["v"] for line in lines] == [[None, None, 1], None]


@pytest.mark.parametrize("place", ["worksheets/two.xml", "/xl/worksheets/two.xml"], ids=["relative", "absolute"])
def test_sheets_are_found_in_the_order_of_the_workbook(place):
    out, space = io.BytesIO(), 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    with zipfile.ZipFile(out, "w") as book:
        sheets = '<sheet name="b" r:id="rId2"/><sheet name="a" r:id="rId1"/>'
        book.writestr("xl/workbook.xml", f"<workbook {space}><sheets>{sheets}</sheets></workbook>")
        parts = f'<Relationship Id="rId1" Target="worksheets/one.xml"/><Relationship Id="rId2" Target="{place}"/>'
        book.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{parts}</Relationships>")
    paths = {"b": "xl/worksheets/two.xml", "a": "xl/worksheets/one.xml"}
    assert list(sheet_paths(out.getvalue(), "a.xlsx").items()) == list(paths.items())


def test_what_a_workbook_holds_beside_its_sheet_counts_too(tmp_path):
    path = tmp_path / "a.xlsx"
    path.write_bytes(workbook_with("B3"))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/media/zeros.bin", bytes(2**21))
    assert path.stat().st_size < 20_000
    with unpacking_at_most(2**20):
        assert refusal(path).code == "too-large"


@pytest.mark.parametrize("room", [0, -1])
def test_what_unpacks_to_the_limit_is_read_and_one_byte_more_is_not(tmp_path, room):
    content = b"text\n" + b"kind staff\n" * 10_000
    packed = gzip.compress(content)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(packed)
    limit = len(content) + room
    with unpacking_at_most(limit):
        if room < 0:
            with pytest.raises(DataError) as whole:
                gunzip(packed, "a.csv.gz")
            with pytest.raises(DataError) as blocks:
                cut_shard(str(path), 5_000, limit=limit)
            assert (whole.value.code, blocks.value.code) == ("too-large", "too-large")
        else:
            assert gunzip(packed, "a.csv.gz") == content
            assert [block.rows for block in cut_shard(str(path), 5_000, limit=limit)] == [5_000, 5_000]
