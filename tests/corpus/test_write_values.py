"""Whatever a reader gives can be written, whole; what a format would cut off is refused."""

import csv
import datetime
import decimal
import io
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.corpus import read_collection, with_columns, write_rows
from isthmus.corpus.cells import FormulaEscaper, cell_content, cell_text, json_text
from isthmus.corpus.sheets import typed_cells
from isthmus.corpus.write import check_table
from isthmus.exceptions import DataError

# Texts with many characters that csv and spreadsheets treat in a special way.
TEXTS = st.text(st.sampled_from("ab,;\"'=+-@\t\r\n\0 ä股") | st.characters(exclude_categories=["Cs"]), max_size=8)
DATES = [datetime.date(2024, 1, 2), datetime.date(2025, 3, 4)]
VALUES = {
    "dates": DATES,
    "lists of dates": [DATES, DATES[:1]],
    "structs": [{"a": 1, "when": DATES[0]}, {"a": 2, "when": None}],
    "bytes": [b"plain", b"\xff\x00"],
    "lists of bytes": [[b"a"], [b"\xff"]],
    "lone surrogate": ["a \ud800 b", "c"],
    "lists with a lone surrogate": [["a \ud800 b"], ["c"]],
    "a number of 401 digits": [10**400, 1],
    "a number of 5,001 digits": [10**5_000, 1],
    "series": [pl.Series([1, 2]), pl.Series(["a"])],
    "decimals": [decimal.Decimal("1.5"), None],
    "times": [datetime.timedelta(seconds=3), datetime.time(1, 2)],
    "mixed": ["a", 1],
    "arrays": [np.arange(3), np.float32(0.5)],
    "tuples and sets": [(1, 2), {3}],
    "nan in lists": [[float("nan")], [1.0]],
    "keys that are no text": [{1: "a"}, {DATES[0]: "b"}],
}


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "jsonl", "parquet", "xlsx"])
def test_every_kind_of_value_goes_into_every_format(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    write_rows(path, {"text": ["one", "two"], **VALUES}, spreadsheet_safe=True)
    docs = read_collection(path, text="text")
    assert docs.texts == ["one", "two"]
    assert {name: len(column) for name, column in docs.table().items()} == {"text": 2, **dict.fromkeys(VALUES, 2)}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "xlsx"])
def test_parquet_with_nested_columns_becomes_any_table(tmp_path, ending):
    frame = pl.DataFrame({"text": ["one", "two"], "when": [DATES, []], "raw": [b"\xff", b"b"]})
    frame.write_parquet(tmp_path / "a.parquet")
    docs = read_collection(tmp_path / "a.parquet", text="text")
    write_rows(tmp_path / f"b.{ending}", docs.table())
    again = read_collection(tmp_path / f"b.{ending}", text="text").table()
    first = again["when"][0]
    assert (json.loads(first) if isinstance(first, str) else first) == ["2024-01-02", "2025-03-04"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "xlsx", "parquet"])
def test_whole_numbers_keep_all_their_digits(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    numbers = {str(number): [number, 1] for number in (2**53 + 1, -(2**53) - 1, 10**18 + 7, 2**64 + 3)}
    write_rows(path, {"text": ["a", "b"], **numbers})
    read = read_collection(path, text="text").table()
    assert {name: int(read[name][0]) for name in numbers} == {name: int(name) for name in numbers}


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ({"text": ["a"], "tags": [["x" * 40_000]]}, "40,004 characters"),
        ({"text": ["a"], "x" * 40_000: ["b"]}, "40,000 characters"),
        ({"text": ["\U0001f600" * 20_000]}, "40,000 characters"),
        ({f"c{i}": ["1"] for i in range(16_385)}, "16,385 columns"),
    ],
    ids=["nested", "column name", "beyond the first plane", "columns"],
)
def test_what_a_sheet_would_cut_off_is_refused(tmp_path, columns, what):
    path = tmp_path / "out.xlsx"
    for write in (lambda: write_rows(path, columns), lambda: check_table(path, columns)):
        with pytest.raises(DataError, match=what) as caught:
            write()
        assert caught.value.code == "output-unwritable"
        assert len(str(caught.value)) < 400
    assert not path.exists()


def test_columns_yet_to_come_are_counted():
    columns = {f"c{i}": ["1"] for i in range(16_382)}
    check_table("out.xlsx", columns, added=2)
    check_table("out.csv", columns, added=10_000)
    with pytest.raises(DataError, match="16,385 columns"):
        check_table("out.xlsx", columns, added=3)


@pytest.mark.parametrize("text", ["\n=1+1", "＝1+1", "＋1", "－a", "＠a"], ids=["line feed", "＝", "＋", "－", "＠"])
def test_more_cells_that_a_spreadsheet_might_run(tmp_path, text):
    path = tmp_path / "safe.csv"
    assert write_rows(path, {"text": [text, "fine"]}, spreadsheet_safe=True) == 1
    cells = list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))
    assert cells[1] == ["'" + text]
    assert read_collection(path, text="text").texts == [text, "fine"]


def test_a_cell_as_long_as_a_sheet_takes_is_written():
    for text in ("x" * 32_767, "\U0001f600" * 16_383 + "x"):  # a face counts as two
        check_table("out.xlsx", {"text": [text]})
        with pytest.raises(DataError, match="a cell of 32,768 characters"):
            check_table("out.xlsx", {"text": [text + "y"]})


def test_no_row_is_lost_where_a_table_is_written_in_several_pieces(tmp_path):
    write_rows(tmp_path / "many.csv", {"nr": list(range(20_001)), "twice": list(range(0, 40_002, 2))})
    lines = (tmp_path / "many.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 20_002
    assert lines[1] == "0,0"
    assert lines[20_000:] == ["19999,39998", "20000,40000"]


@settings(max_examples=60)
@given(rows=st.lists(st.tuples(TEXTS, TEXTS | st.floats() | st.booleans() | st.none()), min_size=1), safe=st.booleans())
def test_csv_files_read_the_same_in_other_programs_and_here(rows, safe):
    """Cells are quoted where the csv module needs it, and an apostrophe is the only change."""
    columns = {"text": [row[0] for row in rows], "other": [row[1] for row in rows]}
    guard = FormulaEscaper(safe)
    expected = [
        ["" if cell is None or cell != cell else guard(str(cell)).replace("\0", "\ufffd") for cell in row]
        for row in rows
    ]
    out = io.BytesIO()
    assert write_rows("-", columns, spreadsheet_safe=safe, stdout=out) == guard.count
    lines = io.StringIO(out.getvalue().decode(), newline="")
    assert list(csv.reader(lines, strict=True))[1:] == expected


def test_whole_numbers_among_others_are_numbers_in_parquet_unless_digits_would_be_lost(tmp_path):
    columns = {
        "text": ["a", "b", "c"], "both": [1, 2.5, None], "edge": [2**53, 0.5, 1], "beyond": [2**53 + 1, 0.5, 1],
        "largest": [2**63 - 1, None, -(2**63)], "larger": [2**63, None, 1],
    }  # fmt: skip
    write_rows(tmp_path / "out.parquet", columns)
    frame = pl.read_parquet(tmp_path / "out.parquet")
    kinds = {"both": pl.Float64, "edge": pl.Float64, "beyond": pl.String, "largest": pl.Int64, "larger": pl.String}
    assert {name: frame[name].dtype for name in kinds} == kinds
    assert frame["both"].to_list() == [1.0, 2.5, None]
    assert frame["beyond"].to_list() == ["9007199254740993", "0.5", "1"]
    assert frame["largest"].to_list() == columns["largest"]


def test_a_column_gives_way_to_added_ones_of_either_name():
    kept = with_columns({"label": ["old"], "nr": [1]}, {"label": ["new"], "label_input": ["mine"]})
    assert kept == {"label_input_": ["old"], "nr": [1], "label": ["new"], "label_input": ["mine"]}


def test_cells_as_text():
    pandas = pytest.importorskip("pandas")
    assert cell_content(pandas.NA) == ""
    assert cell_text(3.0) == "3"
    assert cell_text(1e300) == "1e+300", "a float has no 301 digits"
    assert json_text(10**5_000).startswith('"0x')
    assert json_text([pl.Series([1, 2])]) == "[[1, 2]]"


def test_numbers_among_texts_stay_where_the_texts_become_numbers():
    assert typed_cells([3, "12", None, ""]) == [3, 12, None, None]
    assert typed_cells([3, "twelve"]) == [3, "twelve"]
