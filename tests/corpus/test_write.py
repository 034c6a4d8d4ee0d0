"""Writing tables: what is written reads back the same, and nothing is ever half-written."""

import gzip
import io
import os
import re
import stat
import sys
import zipfile

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.corpus import check_output, read_collection, write_records, write_rows
from isthmus.corpus.cells import unguard
from isthmus.corpus.sheets import CHOICES_SHEET, Layout
from isthmus.corpus.write import check_table
from isthmus.exceptions import DataError, UsageError

# Every character but NUL and halves of surrogate pairs.
CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


def tables(rows):
    return st.integers(1, rows).flatmap(
        lambda n: st.fixed_dictionaries(
            {name: st.lists(CELLS, min_size=n, max_size=n) for name in ("text", "label", "beside")}
        )
    )


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.csv.gz"])
@given(table=tables(5))
@settings(max_examples=60)
def test_round_trip(name, table, tmp_path_factory):
    check_round_trip(tmp_path_factory.getbasetemp() / name, table)


@given(table=tables(60))
@settings(max_examples=4)  # a parquet file is read in a process of its own first: few tables, large ones
def test_round_trip_of_parquet(table, tmp_path_factory):
    check_round_trip(tmp_path_factory.getbasetemp() / "t.parquet", table)


def check_round_trip(path, table):
    write_rows(path, table, force=True)
    docs = read_collection(path, text="text")
    bare = unguard if "csv" in path.name or "tsv" in path.name else str
    assert docs.table() == table
    assert docs.texts == [bare(text) for text in table["text"]]
    assert docs.labels == [bare(label) if bare(label).strip() else None for label in table["label"]]


@given(cells=st.lists(CELLS, min_size=1, max_size=5))
@settings(max_examples=60)
def test_round_trip_of_one_column(cells, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "one.csv"
    write_rows(path, {"text": cells}, force=True)
    assert read_collection(path).texts == [unguard(cell) for cell in cells]


def test_round_trip_of_xlsx(tmp_path):
    table = {
        "text": ["=SUM(A1)", "+49 30", "@home", "a,b\nc", "http://x.org", "{=1}"],
        "label": ["-1", "x", "y", "1", "z", "2"],
    }
    write_rows(tmp_path / "t.xlsx", table)
    assert read_collection(tmp_path / "t.xlsx").table() == table


def test_kinds_of_cells(tmp_path):
    table = {
        "text": ["a", "b"],
        "p": [0.25, float("nan")],
        "yes": [True, False],
        "tags": [["x"], None],
        "mixed": [1, "z"],
    }
    write_rows(tmp_path / "t.csv", table)
    assert (tmp_path / "t.csv").read_text() == 'text,p,yes,tags,mixed\na,0.25,True,"[""x""]",1\nb,,False,,z\n'
    write_rows(tmp_path / "t.jsonl", table)
    docs = read_collection(tmp_path / "t.jsonl")
    assert docs.columns == {"p": [0.25, None], "yes": [True, False], "tags": [["x"], None], "mixed": [1, "z"]}
    write_rows(tmp_path / "t.parquet", table)
    frame = pl.read_parquet(tmp_path / "t.parquet")
    assert frame["p"].to_list() == [0.25, None]
    assert frame["mixed"].to_list() == ["1", "z"]
    write_rows(tmp_path / "t.xlsx", table)
    assert read_collection(tmp_path / "t.xlsx").columns["p"] == ["0.25", None]


def test_no_overwriting_unless_forced(tmp_path):
    path = tmp_path / "t.csv"
    write_rows(path, {"text": ["old"]})
    with pytest.raises(DataError, match="force=True") as error:
        write_rows(path, {"text": ["new"]})
    assert error.value.code == "output-exists"
    assert path.read_text() == "text\nold\n"
    write_rows(path, {"text": ["new"]}, force=True)
    assert path.read_text() == "text\nnew\n"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_nothing_half_written(tmp_path, stop):
    path = tmp_path / "t.csv"
    write_rows(path, {"text": ["old"]})

    def records():
        yield {"text": "new"}
        raise stop

    for target in (path.with_suffix(".jsonl"), path):
        with pytest.raises(stop):
            write_records(target, records(), force=True)
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]
    assert path.read_text() == "text\nold\n"


def test_an_output_that_appears_meanwhile_is_kept(tmp_path):
    path = tmp_path / "t.csv"

    def late():
        yield {"text": "mine"}
        path.write_text("theirs")

    with pytest.raises(DataError, match="meanwhile"):
        write_records(path, late())
    assert path.read_text() == "theirs"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["no/such/folder/t.csv", "file.txt/t.csv", "."])
def test_unwritable_places(tmp_path, name):
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(DataError) as error:
        write_rows(tmp_path / name, {"text": ["a"]})
    assert error.value.code == "output-unwritable"


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="the administrator may write anywhere")
def test_folder_without_permission(tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(DataError, match="may not write") as error:
            check_output(tmp_path / "t.csv")
        assert error.value.code == "output-unwritable"
    finally:
        tmp_path.chmod(stat.S_IRWXU)


def test_no_permission_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(DataError, match="may not write"):
        check_output(tmp_path / "t.csv")


@pytest.mark.parametrize("name", ["t.doc", "t", "t.xlsx.gz"])
def test_unknown_endings(tmp_path, name):
    with pytest.raises(UsageError) as error:
        write_rows(tmp_path / name, {"text": ["a"]})
    assert error.value.code == "unknown-format"


def test_columns_must_agree(tmp_path):
    with pytest.raises(DataError) as error:
        write_rows(tmp_path / "t.csv", {"a": [1], "b": [1, 2]})
    assert error.value.code == "length-mismatch"


def test_xlsx_has_limits(tmp_path):
    with pytest.raises(DataError, match="40,000 characters"):
        write_rows(tmp_path / "t.xlsx", {"text": ["x" * 40_000]})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("sign", "most"), [("x", 32_767), ("é", 32_767), ("🚲", 16_383)])
def test_a_cell_of_a_workbook_is_as_long_as_a_spreadsheet_reads_it(tmp_path, sign, most):
    """A sign beyond the first plane counts as two there."""
    path = tmp_path / "t.xlsx"
    with pytest.raises(DataError, match="32,767 characters a cell"):
        write_rows(path, {"text": [sign * (most + 1)]})
    write_rows(path, {"text": [sign * most]})
    assert read_collection(path, text="text").texts == [sign * most]


def test_standard_output():
    out = io.BytesIO()
    write_rows("-", {"text": ["é"]}, stdout=out)
    assert out.getvalue() == "text\né\n".encode()


def test_gzip_is_the_same_every_time(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        write_rows(tmp_path / name, {"text": ["x"] * 100})
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"text\nx\n")


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links are POSIX")
def test_mode_and_links_are_kept(tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    write_rows(real, {"text": ["a"]})
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(real.stat().st_mode) == 0o666 & ~mask
    real.chmod(0o640)
    link.symlink_to(real)
    write_rows(link, {"text": ["b"]}, force=True)
    assert link.is_symlink()
    assert real.read_text() == "text\nb\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no such device")
def test_devices_are_written_to_not_replaced():
    write_rows("/dev/null", {"text": ["a"]})
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_sheet_has_room_for_the_names_of_its_columns(monkeypatch):
    monkeypatch.setattr("isthmus.corpus.write._XLSX_ROWS", 3)
    check_table("t.xlsx", {"text": ["a"] * 2})
    with pytest.raises(DataError, match="cannot hold 3 rows"):
        check_table("t.xlsx", {"text": ["a"] * 3})


def test_a_drop_down_list_offers_every_class_on_every_row(tmp_path):
    """Three classes below their heading, for three documents below theirs."""
    table = {"id": ["1", "2", "3"], "true_label": [None] * 3}
    write_rows(tmp_path / "t.xlsx", table, layout=Layout(choices={"other": ["x"], "true_label": ["a", "b", "c"]}))
    with zipfile.ZipFile(tmp_path / "t.xlsx") as book:
        page = book.read("xl/worksheets/sheet1.xml").decode()
        lists = book.read("xl/worksheets/sheet2.xml").decode()
    assert re.findall(r'<dataValidation [^>]*sqref="([^"]*)"', page) == ["B2:B4"], "the column of the three documents"
    assert re.findall(r"<formula1>(.*?)</formula1>", page) == [f"{CHOICES_SHEET}!$B$2:$B$4"], "its three entries"
    assert re.findall(r'<c r="(B\d)"', lists) == ["B1", "B2", "B3", "B4"]
