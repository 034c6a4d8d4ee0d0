"""Cells that a spreadsheet would run: guarded in csv and tsv, text in xlsx, untouched elsewhere, and read back bare."""

import csv
import io
import json
import re
import zipfile

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.corpus import read_collection, with_columns, write_rows
from isthmus.corpus.cells import FormulaEscaper, unguard
from isthmus.corpus.shards import cut_shard, read_block
from isthmus.corpus.words import read_words

HOSTILE = ['=HYPERLINK("http://x","y")', "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "+49 30", "--", "="]
HARMLESS = ["-1", "+49", "-0.5", "-1,5", "1e-3", "-1E+9", "fine", "", "'tis", "a=b", " =1", "5-4"]
CELLS = st.text(st.sampled_from("=+-@\t\r'01.e ab\n\",;"), max_size=6)


def cells_of(path, delimiter=","):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter=delimiter))


@pytest.mark.parametrize(("name", "delimiter"), [("t.csv", ","), ("t.tsv", "\t")])
def test_cells_and_column_names_are_guarded_and_counted(tmp_path, name, delimiter):
    table = {"text": HOSTILE + HARMLESS, "=name()": [None] * len(HOSTILE + HARMLESS)}
    assert write_rows(tmp_path / name, table, spreadsheet_safe=True) == len(HOSTILE) + 1
    rows = cells_of(tmp_path / name, delimiter)
    assert rows[0] == ["text", "'=name()"]
    assert [row[0] for row in rows[1:]] == ["'" + cell for cell in HOSTILE] + HARMLESS


def test_numbers_of_any_kind_stay(tmp_path):
    assert write_rows(tmp_path / "t.csv", {"n": [-1, -0.5, -1e-9, True, None]}, spreadsheet_safe=True) == 0
    assert (tmp_path / "t.csv").read_text() == 'n\n-1\n-0.5\n-1e-09\nTrue\n""\n'


def test_standard_output():
    out = io.BytesIO()
    assert write_rows("-", {"text": ["=1+1", "-1"]}, spreadsheet_safe=True, stdout=out) == 1
    assert out.getvalue() == b"text\n'=1+1\n-1\n"


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_jsonl_and_parquet_are_never_altered(tmp_path, name):
    table = {"text": HOSTILE, "@label": HOSTILE}
    assert write_rows(tmp_path / name, table, spreadsheet_safe=True) == 0
    if name.endswith("jsonl"):
        with open(tmp_path / name, encoding="utf-8", newline="\n") as lines:
            assert [json.loads(line) for line in lines] == [{"text": t, "@label": t} for t in HOSTILE]
    else:
        assert pl.read_parquet(tmp_path / name).to_dict(as_series=False) == table
    docs = read_collection(tmp_path / name, text="text", label="@label")
    assert docs.texts == docs.labels == HOSTILE


def test_xlsx_holds_texts_and_no_formulas(tmp_path):
    hostile = [cell for cell in HOSTILE if not cell.startswith("\r")] + ["http://x.org", "{=1+1}", "<f>1</f>"]
    table = {"id": hostile, "=text()": hostile, "+label": hostile, "@confidence": [-0.5] * len(hostile)}
    assert write_rows(tmp_path / "t.xlsx", table, spreadsheet_safe=True) == 0
    with zipfile.ZipFile(tmp_path / "t.xlsx") as book:
        names = book.namelist()
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in sheet
    assert "<f " not in sheet
    assert "<hyperlink" not in sheet
    assert not [name for name in names if "calcChain" in name or "externalLink" in name]
    kinds = re.findall(r'<c r="([A-Z]+)\d+"(?: s="\d+")?(?: t="(\w+)")?>', sheet)
    assert {kind for column, kind in kinds if column in "ABC"} == {"s"}
    docs = read_collection(tmp_path / "t.xlsx", text="=text()", label="+label", id="id")
    assert docs.ids == docs.texts == docs.labels == hostile
    assert list(docs.table()) == list(table)


@given(texts=st.lists(CELLS, min_size=1, max_size=5))
@settings(max_examples=60)
def test_what_is_guarded_reads_back_and_a_second_writing_changes_nothing(texts, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    # An apostrophe that stood there before cannot be told from a guard.
    texts = [unguard(text) for text in texts]
    texts = ["x" if unguard(text) != text else text for text in texts]
    for name in ("g.csv", "g.tsv"):
        write_rows(folder / name, {"text": texts, "label": texts, "id": texts}, force=True, spreadsheet_safe=True)
        docs = read_collection(folder / name, text="text", label="label", id="id")
        assert docs.texts == docs.ids == texts
        assert docs.labels == [text if text.strip() else None for text in texts]
        for safe in (True, False):  # the cells stand as they were read, so exact or not gives the same file
            write_rows(folder / f"again-{name}", docs.table(), force=True, spreadsheet_safe=safe)
            assert (folder / f"again-{name}").read_bytes() == (folder / name).read_bytes()


def test_guard_and_unguard():
    guard = FormulaEscaper()
    for text in HOSTILE:
        assert unguard(guard(text)) == text
        assert guard(guard(text)) == "'" + text
    assert [unguard(text) for text in HARMLESS] == HARMLESS
    assert FormulaEscaper(on=False)("=1") == "=1"


def test_a_guarded_label_comes_out_bare_as_a_class_and_guarded_again(tmp_path):
    write_rows(tmp_path / "s.csv", {"text": ["kind", "dear"], "label": ["-staff", "=price"]}, spreadsheet_safe=True)
    labels = read_collection(tmp_path / "s.csv").labels
    assert labels == ["-staff", "=price"]
    table = with_columns({"text": ["rude"]}, {"label": labels[:1]})
    write_rows(tmp_path / "o.csv", table, spreadsheet_safe=True)
    assert (tmp_path / "o.csv").read_text() == "text,label\nrude,'-staff\n"


def test_guarded_column_names_are_found_by_their_names(tmp_path):
    write_rows(tmp_path / "s.csv", {"=text": ["kind"], "@label": ["staff"]}, spreadsheet_safe=True)
    docs = read_collection(tmp_path / "s.csv", text="=text", label="@label")
    assert (docs.texts, docs.labels) == (["kind"], ["staff"])


def test_labelled_words_are_read_bare(tmp_path):
    write_rows(tmp_path / "w.csv", {"word": ["superb"], "label": ["+good"]}, spreadsheet_safe=True)
    assert read_words(tmp_path / "w.csv") == {"superb": {"+good": 1.0}}


def test_blocks_are_read_bare(tmp_path):
    for name in ("b.csv", "b.tsv", "b.jsonl"):
        write_rows(tmp_path / name, {"text": ["=a", "b"], "label": ["-x", "'-y"]}, spreadsheet_safe=True)
        [rows] = [read_block(block) for block in cut_shard(str(tmp_path / name), 10)]
        assert rows.texts(["text"]) == ["=a", "b"]
        assert rows.labels("label") == ["-x", "'-y" if name == "b.jsonl" else "-y"]
