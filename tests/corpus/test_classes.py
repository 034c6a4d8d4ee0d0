"""Tables of classes."""

import json

import pytest

from isthmus.corpus.words import read_class_table
from isthmus.exceptions import DataError


def test_columns_are_found_whatever_their_case_and_rows_are_joined(tmp_path):
    file = tmp_path / "classes.csv"
    file.write_text("Class,Words,Description\nsport,ball,games\nsport,match,\nnews,,\n,,\n")
    assert read_class_table(file) == {"sport": "ball games match", "news": ""}


def test_json_is_read(tmp_path):
    file = tmp_path / "classes.json"
    file.write_text(json.dumps([{"class": "sport", "description": "Games and athletes."}, {"class": "news"}]))
    assert read_class_table(file) == {"sport": "Games and athletes.", "news": ""}


def test_xlsx_is_read(tmp_path):
    polars = pytest.importorskip("polars")
    pytest.importorskip("xlsxwriter")
    file = tmp_path / "classes.xlsx"
    polars.DataFrame({"class": ["sport", "news"], "words": ["ball", None]}).write_excel(file)
    assert read_class_table(file) == {"sport": "ball", "news": ""}


@pytest.mark.parametrize(
    ("text", "code"),
    [("id,words\n1,a\n", "unknown-column"), ("class,words\n,ball\n", "bad-rows"), ("class,words\n,\n", "empty-file")],
)
def test_tables_without_classes_are_refused(tmp_path, text, code):
    file = tmp_path / "classes.csv"
    file.write_text(text)
    with pytest.raises(DataError) as caught:
        read_class_table(file)
    assert caught.value.code == code
