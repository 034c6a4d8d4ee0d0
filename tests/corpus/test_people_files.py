"""Files as people have them: titles above the header, several sheets, ids under other names."""

import io

import pytest

from isthmus.corpus import binary, list_sheets, read_collection
from isthmus.corpus.filled import read_among, read_sample
from isthmus.corpus.guess import find_header, guess_id
from isthmus.corpus.read import read_table
from isthmus.exceptions import DataError, UsageError

xlsxwriter = pytest.importorskip("xlsxwriter")


def workbook(**sheets):
    """Bytes of a workbook: one list of rows per sheet."""
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for i, row in enumerate(rows):
                for j, cell in enumerate(row):
                    if cell is not None:
                        sheet.write(i, j, cell)
    return buffer.getvalue()


ROWS = [["ticket", "comment", "category"], ["A-1", "kind staff", "staff"], ["A-2", "too dear", "price"]]


def test_the_sheet_that_is_read_is_the_one_that_was_measured_and_tried(monkeypatch):
    """A reader that breaks down takes the whole process with it: each sheet is tried elsewhere before it is read."""
    tried = []
    monkeypatch.setattr(binary, "check_sheets", lambda data, name, paths: tried.append(paths))
    monkeypatch.setattr(binary, "try_reading", lambda data, kind, name, sheets: tried.append(sheets))
    data = workbook(notes=[["none"]], answers=ROWS)
    binary.read_xlsx(data, "survey.xlsx", "answers")
    binary.read_xlsx(data, "survey.xlsx")
    first, second = "xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml"
    assert tried == [[second], ["answers"], [first, second], ["notes", "answers"]]


def test_titles_above_the_header_of_a_workbook(tmp_path):
    path = tmp_path / "survey.xlsx"
    path.write_bytes(workbook(answers=[["Customer survey 2026"], ["printed on 3 May"], [], *ROWS]))
    docs = read_collection(path)
    assert docs.texts == ["kind staff", "too dear"]
    assert docs.labels == ["staff", "price"]
    assert docs.ids == ["A-1", "A-2"]
    assert any("2 rows above the header are taken for a title" in note for note in docs.notes)


def test_titles_above_the_header_of_a_csv_file():
    table = b"Customer survey 2026\n\nticket;comment;category\nA-1;kind, polite staff;staff\nA-2;too dear;price\n"
    docs = read_collection("-", stdin=io.BytesIO(table))
    assert docs.texts == ["kind, polite staff", "too dear"]
    assert docs.ids == ["A-1", "A-2"]
    assert any("a row above the header is taken for a title" in note for note in docs.notes)


def test_a_first_row_with_a_known_name_is_the_header():
    # One column of texts with a comma each: the second row is wider, and still not the header.
    assert find_header([["text"], ["Great", " nice"], ["Good", " comment"]]) == 0
    assert find_header([["text", "label"], ["id", "comment", "category"]]) == 0
    assert find_header([["Report"], ["1", "2"]], sure=True) == 0
    assert find_header([["Report"], ["was", "gefiel"], ["gut", "alles"]], sure=True) == 1
    assert find_header([["Report"], ["was", "gefiel"]]) == 0
    # A second title has two cells; the header is the row that none below it outdoes.
    rows = [["Report"], ["made by", "secret"], ["Nr", "Was", "Wann"], ["7", "gut", "heute"]]
    assert find_header(rows, sure=True) == 2
    assert find_header([]) == 0


@pytest.mark.parametrize(
    ("others", "listed"),
    [
        ({"empty": []}, []),
        ({"codes": [["code", "name"], ["1", "staff"], ["2", "price"], ["3", "place"]]}, []),
        ({"read me": [["How to read this"], ["The sheet contains comments."]]}, ["read me"]),
        ({"review": ROWS * 3}, []),  # a sheet that Isthmus adds
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_without_a_name_the_sheet_with_documents_is_read(tmp_path, others, listed, first):
    path = tmp_path / "book.xlsx"
    path.write_bytes(workbook(**({"Data": ROWS} | others if first else others | {"Data": ROWS})))
    docs = read_collection(path)
    assert docs.texts == ["kind staff", "too dear"]
    notes = [note for note in docs.notes if "'Data'" in note]
    assert len(notes) == ("review" not in others)  # the choice is reported
    assert [name for name in others if repr(name) in "".join(notes)] == listed
    assert list_sheets(path) == [
        name for name in (("Data", *others) if first else (*others, "Data")) if name != "review"
    ]


def test_the_sheet_with_the_columns_that_are_named_or_needed_is_read(tmp_path):
    path = tmp_path / "book.xlsx"
    path.write_bytes(workbook(all=[["text", "day"], *[["some words here", "1"]] * 9], Data=ROWS))
    assert len(read_collection(path)) == 9
    assert len(read_collection(path, want_labels=True)) == 2
    assert len(read_collection(path, text="comment")) == 2


def test_sheets_of_a_file_that_is_no_workbook(tmp_path):
    assert list_sheets(tmp_path / "none.xlsx") == []
    (tmp_path / "text.xlsx").write_text("text")
    assert list_sheets(tmp_path / "text.xlsx") == []


def test_a_sheet_is_read_by_name_or_number(tmp_path):
    path = tmp_path / "book.xlsx"
    path.write_bytes(workbook(notes=[["nothing here"], ["at all"]], Data=ROWS))
    assert read_collection(path, sheet="data").texts == ["kind staff", "too dear"]
    assert read_collection(path, sheet="2").texts == ["kind staff", "too dear"]
    with pytest.raises(DataError, match="has no sheet 'dates'; its sheets are: notes, Data") as caught:
        read_collection(path, sheet="dates")
    assert caught.value.code == "unknown-column"


def test_a_sheet_of_what_is_not_a_workbook_is_refused():
    with pytest.raises(UsageError, match="not a workbook"):
        read_collection("-", stdin=io.BytesIO(b"text\nkind staff\n"), sheet="Data")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"review_id": ["7", "8"], "text": ["a", "b"]}, "review_id"),
        ({"review_id": ["7", "7"], "text": ["a", "b"]}, None),
        ({"review_id": ["7", ""], "text": ["a", "b"]}, None),
        ({"Ticket no": ["7", "8"], "id": ["x", "x"]}, "id"),
        ({"idea": ["7", "8"]}, None),
        ({"respondent": ["r1", "r2"], "text": ["a", "b"]}, "respondent"),
        ({"respondent": ["r1", "r1"], "text": ["a", "b"]}, None),
        ({"Customer number": ["17", "18"], "text": ["a", "b"]}, "Customer number"),
        ({"customer comment": ["dear", "kind"]}, None),  # a text about a customer
        ({"ticket notes": ["dear", "kind"]}, None),
    ],
)
def test_the_id_is_guessed_by_name_and_by_being_different(columns, expected):
    assert guess_id(columns) == expected


def test_short_comments_of_customers_are_texts_not_ids():
    table = b"customer comment,category\nkind staff,staff\ntoo dear,price\n"
    docs = read_collection("-", stdin=io.BytesIO(table))
    assert docs.texts == ["kind staff", "too dear"]
    assert docs.ids == ["1", "2"]


def test_the_filled_sheet_is_found_behind_an_empty_one(tmp_path):
    path = tmp_path / "answers.xlsx"
    path.write_bytes(workbook(about=[["about"], ["who"]], empty=[], filled=[["id", "true_label"], ["7", "staff"]]))
    assert read_table(path, filled="true_label") == {"id": ["7"], "true_label": ["staff"]}


def test_the_number_of_the_surest_is_one_whole_number():
    assert read_among(["10", "", None, 10.0]) == 10
    assert read_among(["", None]) is None
    for cells in (["10", "12"], ["x"], ["0"], ["-3"], ["2.5"], ["inf"]):
        with pytest.raises(DataError, match="does not hold one number") as caught:
            read_among(cells)
        assert caught.value.code == "bad-check"


def test_ids_are_the_same_as_a_spreadsheet_writes_them_and_may_be_missing():
    table = {"document": ["1", "2", "3"], "true_label": ["a", "b", "c"]}
    ids = ["007", "a1", "9"]
    rows, labels = read_sample(table | {"id": ["7.0", "", "9"]}, ["x", "y", "z"], ids)
    assert (rows.tolist(), labels) == ([0, 1, 2], ["a", "b", "c"])
    for changed in (["8", "a1", "9"], ["007", "a2", "9"], ["007", "7", "9"]):
        with pytest.raises(DataError, match="the sample belongs to another one") as caught:
            read_sample(table | {"id": changed}, ["x", "y", "z"], ids)
        assert caught.value.code == "bad-check"
