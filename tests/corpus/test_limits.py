"""Small files that unpack to much, reach far or hold many columns: a sentence, soon, and little memory."""

import csv
import gzip
import io
import json
import threading
import time
import zipfile
from pathlib import Path

import polars as pl
import pytest

from isthmus.corpus import read_collection, write_rows
from isthmus.corpus.limits import VARIABLE, gunzip, read_size, unpack_limit, unpacking_at_most
from isthmus.corpus.tables import _long_cells, _unique_names
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
    begin = time.monotonic()
    names, notes = _unique_names(["text"] * 30_000 + ["text_3"])
    assert time.monotonic() - begin < 5
    assert len(set(names)) == 30_001
    assert names[1] == "text_2"
    assert names[-1] == "text_3"
    assert len(notes) == 11
    assert "29,989 more" in notes[-1]


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


def test_the_csv_limit_holds_for_two_readers_at_once():
    before = csv.field_size_limit()
    inside, leave = threading.Event(), threading.Event()

    def long_reader():
        with _long_cells():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=long_reader)
    thread.start()
    inside.wait(10)
    with _long_cells():
        pass
    assert csv.field_size_limit() > before  # the other one is still reading
    leave.set()
    thread.join()
    assert csv.field_size_limit() == before
