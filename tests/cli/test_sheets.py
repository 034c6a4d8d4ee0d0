"""``FILE.xlsx::SHEET`` wherever a command takes a file."""

import csv
import io
import json

import pytest

from isthmus.cli.app import run_command
from isthmus.corpus import write_rows
from isthmus_bench.shifted import make_shifted_texts

xlsxwriter = pytest.importorskip("xlsxwriter")


def write_book(path, **sheets):
    """A workbook with one table per sheet."""
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        for name, columns in sheets.items():
            sheet = book.add_worksheet(name.replace("_", " "))
            for j, (column, cells) in enumerate(columns.items()):
                sheet.write_column(0, j, [column, *cells])
    path.write_bytes(buffer.getvalue())


@pytest.fixture(scope="module")
def made():
    return make_shifted_texts(60, 40, random_state=0)


@pytest.fixture
def book(tmp_path, monkeypatch, made):
    """Source, target, answers and words of one labelling, each on a sheet of its own."""
    monkeypatch.chdir(tmp_path)
    target = {"respondent": [f"r{i}" for i in range(40)], "text": made.target_texts}
    write_book(
        tmp_path / "survey.xlsx",
        Notes={"nothing": ["at all"]},
        last_year={"text": made.source_texts, "label": made.source_labels},
        This_year=target,
        answers={"id": ["r0", "r1"], "true_label": made.target_labels[:2]},
        words={"word": [made.words_of("class 0", "shared")[0]], "label": ["class 0"]},
    )
    write_rows(tmp_path / "source.csv", {"text": made.source_texts, "label": made.source_labels})
    write_rows(tmp_path / "target.csv", target)
    return tmp_path


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def record_of(folder, output):
    records = [json.loads(path.read_text()) for path in folder.glob("*run.json")]
    return next(record for record in records if record["output"] == output)


def test_two_sheets_of_one_workbook_are_source_and_target(book):
    options = ["--method", "nbc", "--quiet"]
    assert run_command(["label", "survey.xlsx::last year", "survey.xlsx::3", "-o", "a.csv", *options]) == 0
    assert run_command(["label", "source.csv", "target.csv", "-o", "b.csv", *options]) == 0
    assert rows_of("a.csv") == rows_of("b.csv")
    inputs = record_of(book, "a.csv")["inputs"]
    assert [row["path"] for row in inputs] == ["survey.xlsx::last year", "survey.xlsx::3"]


def test_answers_and_words_stand_on_sheets_too(book):
    arguments = ["label", "source.csv", "target.csv", "--method", "dual-factor", "--quiet"]
    arguments += ["--save", "m.isthmus", "-o", "a.csv"]
    assert run_command([*arguments, "--words", "survey.xlsx::words", "--answers", "survey.xlsx::answers"]) == 0
    assert [row["confidence"] for row in rows_of("a.csv")[:2]] == ["1.0", "1.0"]
    assert run_command(["teach", "m.isthmus", "survey.xlsx::answers", "-o", "t.csv", "--quiet"]) == 0
    assert [row["answered"] for row in rows_of("t.csv")[:3]] == ["True", "True", "False"]
    inputs = record_of(book, "t.csv")["inputs"]
    assert len({row["sha256"] for row in inputs}) == 2


def test_the_ids_of_respondents_are_recognised(book):
    assert run_command(["label", "source.csv", "target.csv", "--method", "nbc", "--quiet", "--save", "m.isthmus"]) == 0
    assert run_command(["ask", "m.isthmus", "-n", "3", "-o", "ask.csv", "--quiet"]) == 0
    assert all(row["id"].startswith("r") for row in rows_of("ask.csv"))


def test_diagnose_and_cluster_take_sheets(book, capsys):
    assert run_command(["diagnose", "survey.xlsx::last year", "survey.xlsx::This year", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["source"] == "survey.xlsx::last year"
    arguments = ["cluster", "survey.xlsx::last year", "survey.xlsx::This year", "-o", "g.csv", "--quiet"]
    assert run_command(arguments) == 0
    assert len(rows_of("g.csv")) == 40


@pytest.mark.parametrize(
    ("files", "code", "sentence"),
    [
        (["source.csv", "survey.xlsx::May"], 1, "no sheet 'May'; its sheets are: Notes, last year, This year"),
        (["source.csv::x", "target.csv"], 2, "'source.csv' is not a workbook; leave ::x out"),
        (["source.csv", "gone.xlsx::x"], 1, "There is no file 'gone.xlsx'"),
        (["source.csv", "survey.xlsx::a [1] *"], 1, "no sheet 'a [1] *'"),
    ],
)
def test_what_names_no_sheet_is_refused(book, capsys, files, code, sentence):
    assert run_command(["label", *files, "--method", "nbc", "-o", "o.csv", "--quiet"]) == code
    assert sentence in capsys.readouterr().err
    assert not (book / "o.csv").exists()


def test_a_workbook_that_is_read_is_not_replaced(book, capsys):
    before = (book / "survey.xlsx").read_bytes()
    arguments = ["label", "survey.xlsx::last year", "survey.xlsx::This year", "--method", "nbc", "--quiet"]
    assert run_command([*arguments, "-o", "survey.xlsx", "--force"]) == 2
    assert "is an input of this run" in capsys.readouterr().err
    assert (book / "survey.xlsx").read_bytes() == before


def test_a_file_whose_name_holds_two_colons_is_that_file(book):
    (book / "a::b.csv").write_bytes((book / "target.csv").read_bytes())
    assert run_command(["label", "source.csv", "a::b.csv", "--method", "nbc", "-o", "o.csv", "--quiet"]) == 0


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["survey.xlsx::last year", "survey.xlsx::last year", "target.csv"], "given twice as a source"),
        (["survey.xlsx::last year", "survey.xlsx::last year"], "labelled from themselves"),
        (["survey.xlsx::last year", "survey.xlsx::This year"], ""),
    ],
)
def test_a_sheet_given_twice_is_said(book, capsys, files, said):
    assert run_command(["label", *files, "--method", "nbc", "-o", "o.csv"]) == 0
    told = capsys.readouterr().err
    assert said in told
    assert said or not ("twice" in told or "themselves" in told), "two sheets are two collections"


def test_a_sheet_that_only_one_workbook_has_is_named_for_both(book, made, capsys):
    write_book(
        book / "labelled.xlsx",
        Codes={"code": ["a", "b"]},
        Articles={"text": made.source_texts, "label": made.source_labels},
    )
    files = ["labelled.xlsx", "survey.xlsx"]
    assert run_command(["label", *files, "--sheet", "this year", "--method", "nbc", "-o", "o.csv"]) == 0
    assert len(rows_of("o.csv")) == 40
    told = capsys.readouterr().err
    assert "labelled.xlsx has no sheet 'this year'" in told
    assert "'Articles' was read" in told
    assert run_command(["label", *files, "--sheet", "May", "--method", "nbc", "-o", "p.csv"]) == 1
    assert "labelled.xlsx: Codes, Articles" in capsys.readouterr().err


def test_files_in_the_wrong_order_are_asked_about(book, capsys):
    assert run_command(["label", "target.csv", "source.csv", "--method", "nbc", "-o", "o.csv", "--quiet"]) == 1
    assert "swapped" in capsys.readouterr().err
    assert run_command(["label", "target.csv", "target.csv", "--method", "nbc", "-o", "o.csv", "--quiet"]) == 1
    assert "swapped" not in capsys.readouterr().err
