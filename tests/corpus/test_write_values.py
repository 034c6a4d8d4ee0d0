"""Whatever a reader gives can be written, whole; what a format would cut off is refused."""

import csv
import datetime
import decimal
import io
import json

import numpy as np
import polars as pl
import pytest

from isthmus.corpus import read_collection, write_rows
from isthmus.corpus.write import check_table
from isthmus.exceptions import DataError

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


@pytest.mark.parametrize("safe", [False, True])
def test_columns_of_many_values_are_written_as_cell_by_cell(tmp_path, safe):
    columns = {
        "id": [str(number) for number in range(300)],
        "odd": ["", "=1", " x", "a,b", *(f"text {number}" for number in range(296))],
        "sure": [number / 7 for number in range(1, 299)] + [float("inf"), float("nan")],
    }
    write_rows(tmp_path / "all.csv", columns, spreadsheet_safe=safe)
    parts = []
    for number in range(300):
        place = tmp_path / "one.csv"
        write_rows(
            place,
            {name: cells[number : number + 1] for name, cells in columns.items()},
            spreadsheet_safe=safe,
            force=True,
        )
        parts.append(place.read_text("utf-8").split("\n", 1)[1])
    found = (tmp_path / "all.csv").read_text("utf-8").split("\n", 1)[1]
    assert found == "".join(parts), "expected the cells that each row has by itself"
