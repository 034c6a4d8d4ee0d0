"""The loop as a person runs it: label, ask, answer, teach; and the files that people have."""

import json
import re
from functools import partial
from pathlib import Path

import pytest
from cli_tables import make_texts as make_any_texts
from cli_tables import read_csv as read
from cli_tables import write_csv

from isthmus.cli.app import run_command
from isthmus.cli.teach import read_group_names, read_renames
from isthmus.exceptions import DataError

STAFF = ["friendly", "rude", "helpful", "polite", "impatient", "kind"]
PRICE = ["expensive", "cheap", "costly", "bargain", "overpriced", "fair"]
PARKING = ["garage", "parking", "spaces", "lot", "barrier", "ticket"]

make_texts = partial(make_any_texts, visits=9)
TRUTH = ["staff"] * 30 + ["price"] * 30 + ["parking"] * 20


TEXTS = make_texts(STAFF[2:], 30, 2) + make_texts(PRICE[2:], 30, 3) + make_texts(PARKING, 20, 4)


def write_files():
    write_csv(
        "source.csv",
        {
            "comment": make_texts(STAFF[:4], 30, 0) + make_texts(PRICE[:4], 30, 1),
            "class": ["staff"] * 30 + ["price"] * 30,
        },
    )
    write_csv("target.csv", {"ticket": [f"A-{i}" for i in range(80)], "comment": TEXTS})


def label(*arguments):
    return run_command(["label", *arguments, "--method", "logistic", "--quiet"])


def label_files():
    write_files()
    assert label("source.csv", "target.csv", "-o", "out.csv", "--save", "run.isthmus") == 0


@pytest.fixture
def files(enter_copy):
    """A source, and a target with ids under another name."""
    enter_copy(write_files)


@pytest.fixture
def labelled(enter_copy):
    """The same, and a saved labelling of it."""
    enter_copy(label_files)


def fill_in(name, output):
    """Answer every question of a table rightly."""
    rows = read(name)
    for row in rows:
        row["true_label"] = TRUTH[int(row["document"]) - 1]
    write_csv(output, {key: [row[key] for row in rows] for key in rows[0]})


@pytest.mark.parametrize("saved", ["taught.isthmus", None])
def test_the_page_of_a_taught_labelling_names_the_file_that_knows_the_answers(labelled, saved):
    """Without --save it is the one that was taught."""
    write_csv("answers.csv", {"document": ["1"], "true_label": [TRUTH[0]]})
    options = ["--report", "page.html", *([] if saved is None else ["--save", saved])]
    assert run_command(["teach", "run.isthmus", "answers.csv", "-o", "taught.csv", *options]) == 0
    named = set(re.findall(r"isthmus (?:check|ask|teach) (\S+)", Path("page.html").read_text("utf-8")))
    assert named == {saved or "run.isthmus"}


def test_the_loop(labelled, capsys):
    assert run_command(["ask", "run.isthmus", "-n", "25", "-o", "ask.csv"]) == 0
    talk = capsys.readouterr().err
    assert "Fill in the column true_label of these 25 documents, then run isthmus teach run.isthmus ask.csv -o" in talk
    questions = read("ask.csv")
    assert list(questions[0]) == ["document", "id", "text", "true_label", "reason", "drawn"]
    assert questions[0]["id"].startswith("A-")
    fill_in("ask.csv", "answers.csv")
    assert run_command(["teach", "run.isthmus", "answers.csv", "-o", "taught.csv", "--save", "taught.isthmus"]) == 0
    talk = capsys.readouterr().err
    assert "25 answers learned, 25 in all" in talk
    assert "judged by the answers given so far" in talk
    rows = read("taught.csv")
    assert list(rows[0])[:2] == ["ticket", "comment"]
    answered = [row for row in rows if row["answered"] == "True"]
    assert len(answered) == 25
    assert {row["confidence"] for row in answered} == {"1.0"}
    before = sum(row["label"] == truth for row, truth in zip(read("out.csv"), TRUTH, strict=True))
    assert sum(row["label"] == truth for row, truth in zip(rows, TRUTH, strict=True)) > before
    record = json.loads(Path("taught.csv.run.json").read_text())
    assert record["learned"]["answers"] == 25
    # The next round never asks what was answered; and the answers can be taken back.
    assert run_command(["ask", "taught.isthmus", "-n", "25", "-o", "ask2.csv", "--quiet"]) == 0
    assert not {row["id"] for row in read("ask2.csv")} & {row["id"] for row in questions}
    assert run_command(["teach", "taught.isthmus", "--without", "answers.csv", "-o", "back.csv", "--quiet"]) == 0
    assert [row["label"] for row in read("back.csv")] == [row["label"] for row in read("out.csv")]


def test_answer_files_of_one_name_in_two_folders(labelled):
    for folder, name in (("kim", "A-70"), ("lee", "A-75")):
        Path(folder).mkdir()
        write_csv(f"{folder}/answers.csv", {"id": [name], "true_label": ["parking"]})
    assert (
        run_command(["teach", "run.isthmus", "kim/answers.csv", "-o", "1.csv", "--save", "1.isthmus", "--quiet"]) == 0
    )
    assert run_command(["teach", "1.isthmus", "lee/answers.csv", "-o", "2.csv", "--save", "2.isthmus", "--quiet"]) == 0
    assert run_command(["teach", "2.isthmus", "--without", "kim/answers.csv", "-o", "3.csv", "--quiet"]) == 0
    assert [row["ticket"] for row in read("3.csv") if row["answered"] == "True"] == ["A-75"]


def test_answers_at_once_and_answers_in_the_target(files, capsys):
    write_csv("answers.csv", {"id": ["A-0", "A-70"], "true_label": ["staff", "parking"]})
    assert label("source.csv", "target.csv", "--answers", "answers.csv", "-o", "out.csv") == 0
    assert read("out.csv")[70]["label"] == "parking"
    given = ["staff", *[""] * 69, "parking", *[""] * 9]
    write_csv("half.csv", {"id": range(80), "comment": TEXTS, "category": given})
    assert run_command(["label", "source.csv", "half.csv", "--method", "logistic", "-o", "noted.csv"]) == 0
    assert "'category' has 2 labels that were not used; --target-label category" in capsys.readouterr().err
    assert label("source.csv", "half.csv", "--target-label", "category", "-o", "taken.csv") == 0
    assert [row["label"] for row in read("taken.csv")] == [row["label"] for row in read("out.csv")]


def test_a_column_of_something_else_is_neither_proposed_nor_taken_as_answers(files, capsys):
    regions = ["north", "south", "east", "west"] * 20
    write_csv("more.csv", {"id": range(80), "comment": TEXTS, "type": regions, "sum": range(1000, 1080)})
    assert run_command(["label", "source.csv", "more.csv", "--method", "logistic", "-o", "out.csv"]) == 0
    assert "not used" not in capsys.readouterr().err
    assert label("source.csv", "more.csv", "--target-label", "type", "-o", "taken.csv") == 1
    assert "(north, south, east, west) name none of the classes" in capsys.readouterr().err
    assert label("source.csv", "more.csv", "--target-label", "sum", "-o", "taken.csv") == 1
    assert "The labels in the column 'sum' of more.csv hold 80 different numbers" in capsys.readouterr().err
    named = ["source.csv", "more.csv", "--target-label", "type", "--class", "north", "--method", "names"]
    assert run_command(["label", *named, "-o", "taken.csv", "--quiet"]) == 0


def test_one_half_labelled_file(files):
    labels = [truth if place % 3 == 0 and truth != "parking" else "" for place, truth in enumerate(TRUTH)]
    write_csv("one.csv", {"no": range(80), "comment": TEXTS, "category": labels})
    assert label("one.csv", "-o", "out.csv") == 0
    rows = read("out.csv")
    assert len(rows) == 80
    assert all(row["label"] == given for row, given in zip(rows, labels, strict=True) if given)
    assert all(row["label"] for row in rows)
    assert rows[0]["confidence"] == "1.0"


def test_teach_says_which_rows_of_a_half_labelled_file_it_writes(files, capsys):
    labels = [truth if place % 3 == 0 and truth != "parking" else "" for place, truth in enumerate(TRUTH)]
    write_csv("one.csv", {"no": range(80), "comment": TEXTS, "category": labels})
    assert label("one.csv", "--method", "nbc", "-o", "out.csv", "--save", "one.isthmus") == 0
    write_csv("told.csv", {"document": [1], "true_label": [max(labels)]})
    capsys.readouterr()
    assert run_command(["teach", "one.isthmus", "told.csv", "-o", "taught.csv"]) == 0
    found, given = labels.count(""), 80 - labels.count("")
    assert len(read("taught.csv")) == found
    said = capsys.readouterr().err
    assert f"The table holds the {found} documents of one.csv that had no label" in said
    assert f"isthmus label one.csv --answers FILE keeps the {given} others" in said


@pytest.mark.parametrize(("other", "said"), [("region", "label."), ("type", "label; if 'type' is meant, name it with")])
def test_of_a_half_labelled_file_the_column_with_gaps_is_the_label(files, capsys, other, said):
    labels = [truth if place % 3 == 0 and truth != "parking" else "" for place, truth in enumerate(TRUTH)]
    write_csv("one.csv", {"no": range(80), "comment": TEXTS, other: ["north", "south"] * 40, "theme": labels})
    assert run_command(["label", "one.csv", "-o", "out.csv", "--method", "logistic"]) == 0
    assert f"'theme' is taken as the {said}" in capsys.readouterr().err
    assert [row["label"] for row in read("out.csv") if row["given"] == "True"] == [name for name in labels if name]


def test_a_file_with_every_label_has_nothing_to_label(files, capsys):
    assert label("source.csv", "-o", "out.csv") == 1
    said = capsys.readouterr().err
    assert "nothing to label" in said
    assert "name another column of labels with --label" in said, "a full column may have been taken for the labels"


def test_several_sources(files):
    write_csv(
        "more.csv",
        {
            "comment": make_texts(STAFF, 40, 5) + make_texts(PRICE, 40, 6),
            "class": ["staff"] * 40 + ["price"] * 40,
        },
    )
    assert label("source.csv", "more.csv", "target.csv", "-o", "out.csv", "--save", "run.isthmus") == 0
    from isthmus import load

    sources = load("run.isthmus").sources
    assert [row["source"] for row in sources] == ["more.csv", "source.csv"]
    assert all(row["used"] and row["agreement"] > 0.9 for row in sources)
    record = json.loads(Path("run.json").read_text())
    assert record["options"]["source"] == ["source.csv", "more.csv"]
    assert len(record["inputs"]) == 3


def test_a_table_labelled_by_isthmus_is_not_a_source(files, capsys):
    assert label("source.csv", "target.csv", "-o", "out.csv") == 0
    assert label("out.csv", "target.csv", "-o", "again.csv") == 1
    assert "[machine-labels]" in capsys.readouterr().err
    assert label("out.csv", "target.csv", "-o", "again.csv", "--trust-machine-labels") == 0


def test_a_workbook_goes_out_and_comes_back(files):
    pytest.importorskip("xlsxwriter")
    fastexcel = pytest.importorskip("fastexcel")
    import polars
    import xlsxwriter

    assert label("source.csv", "target.csv", "-o", "out.xlsx", "--save", "run.isthmus") == 0
    book = fastexcel.read_excel("out.xlsx")
    assert book.sheet_names == ["labels", "review", "isthmus_choices"]  # the last one is hidden
    assert label("source.csv", "target.csv", "-o", "plain.xlsx", "--add", "label") == 0
    assert fastexcel.read_excel("plain.xlsx").sheet_names == ["labels"]
    review = book.load_sheet("review").to_polars()
    assert review.columns == [
        "document",
        "id",
        "text",
        "label",
        "confidence",
        "needs_review",
        "review_reason",
        "true_label",
    ]
    assert review["confidence"].dtype == polars.Float64
    first = review["confidence"].to_list()
    assert first[0] == min(first)
    # A person fills in the first twenty rows.
    with xlsxwriter.Workbook("filled.xlsx") as filled:
        filled.add_worksheet("Sheet1").write(0, 0, "nothing")
        sheet = filled.add_worksheet("review")
        for j, name in enumerate(review.columns):
            sheet.write(0, j, name)
            for i, value in enumerate(review[name].to_list()[:20], 1):
                cell = TRUTH[int(review["document"][i - 1]) - 1] if name == "true_label" else value
                sheet.write(i, j, cell)
    assert run_command(["teach", "run.isthmus", "filled.xlsx", "-o", "taught.csv", "--quiet"]) == 0
    assert sum(row["answered"] == "True" for row in read("taught.csv")) == 20
    # Another one renames the sheet, or writes into the first one; a sheet without answers stands before it.
    with xlsxwriter.Workbook("renamed.xlsx") as renamed:
        for title, told in (("review", ""), ("my answers", "staff")):
            sheet = renamed.add_worksheet(title)
            for i, row in enumerate([("id", "true_label"), ("A-0", told), ("A-1", "")]):
                sheet.write_row(i, 0, row)
    from isthmus import load

    taught = load("run.isthmus").teach("renamed.xlsx")
    assert (taught.answers.rows, taught.answers.batch) == ([0], ["renamed.xlsx"])
    assert run_command(["ask", "run.isthmus", "-n", "5", "-o", "ask.xlsx", "--quiet"]) == 0
    assert len(fastexcel.read_excel("ask.xlsx").load_sheet(0).to_polars()) == 5


def test_words_and_names_of_classes(labelled):
    assert run_command(["ask", "run.isthmus", "--words", "-n", "5", "-o", "words.csv", "--quiet"]) == 0
    rows = read("words.csv")
    rows[0]["label"] = "parking"
    write_csv("said.csv", {"word": [row["word"] for row in rows], "label": [row["label"] for row in rows]})
    assert run_command(["teach", "run.isthmus", "--words", "said.csv", "-o", "taught.csv", "--quiet"]) == 0
    write_csv("names.csv", {"old": ["staff", "price"], "new": ["people", ""]})
    assert run_command(["teach", "run.isthmus", "--rename", "names.csv", "-o", "named.csv", "--quiet"]) == 0
    assert {row["label"] for row in read("named.csv")} == {"people", "price"}


def test_teach_without_anything_is_refused(labelled, capsys):
    assert run_command(["teach", "run.isthmus"]) == 2
    assert "nothing to learn" in capsys.readouterr().err
    assert run_command(["teach", "run.isthmus", "out.csv", "-o", "taught.csv"]) == 1
    assert "true_label and id (or document) are needed" in capsys.readouterr().err


def test_a_column_of_answers_in_the_labelled_table_is_enough(labelled):
    rows = read("out.csv")
    answers = {"ticket": [row["ticket"] for row in rows], "true_label": ["staff", *[""] * 78, "parking"]}
    write_csv("answers.csv", answers)
    assert run_command(["teach", "run.isthmus", "answers.csv", "-o", "taught.csv", "--quiet"]) == 0
    assert [row["label"] for row in read("taught.csv") if row["answered"] == "True"] == ["staff", "parking"]


def test_a_table_of_names_that_says_two_things_is_refused(labelled, capsys):
    write_csv("names.csv", {"old": ["staff", "staff"], "new": ["people", "team"]})
    assert run_command(["teach", "run.isthmus", "--rename", "names.csv", "-o", "again.csv"]) == 1
    assert "renames 'staff' twice" in capsys.readouterr().err
    assert not Path("again.csv").exists()


def test_answers_to_everything_leave_nothing_to_ask(labelled, capsys):
    write_csv("all.csv", {"ticket": [f"A-{i}" for i in range(80)], "true_label": TRUTH})
    assert run_command(["teach", "run.isthmus", "all.csv", "-o", "taught.csv", "--save", "all.isthmus"]) == 0
    assert [row["label"] for row in read("taught.csv")] == TRUTH
    assert run_command(["ask", "all.isthmus", "-o", "more.csv"]) == 0
    assert "No document is left to ask about" in capsys.readouterr().err


def test_a_workbook_of_later_documents_names_them_by_their_ids(labelled):
    pytest.importorskip("xlsxwriter")
    fastexcel = pytest.importorskip("fastexcel")
    options = ["--model", "run.isthmus", "--id", "ticket", "-o", "later.xlsx", "--quiet"]
    assert run_command(["label", "target.csv", *options]) == 0
    review = fastexcel.read_excel("later.xlsx").load_sheet("review").to_polars()
    assert sorted(review["id"].to_list()) == sorted(f"A-{number}" for number in range(80))


def test_a_half_labelled_table_of_isthmus_is_no_source_either(files, capsys):
    assert label("source.csv", "target.csv", "-o", "out.csv") == 0
    rows = read("out.csv")
    for row in rows[::3]:
        row["label"] = ""
    write_csv("half.csv", {name: [row[name] for row in rows] for name in rows[0]})
    assert label("half.csv", "-o", "again.csv") == 1
    assert "[machine-labels]" in capsys.readouterr().err
    assert label("half.csv", "-o", "again.csv", "--trust-machine-labels") == 0


def test_a_taught_workbook_has_the_answers_and_the_most_doubtful_first(labelled):
    pytest.importorskip("xlsxwriter")
    fastexcel = pytest.importorskip("fastexcel")
    write_csv("answers.csv", {"document": ["3", "80"], "true_label": ["price", "parking"]})
    names = ["--add", "label", "--add", "needs_review"]
    assert run_command(["teach", "run.isthmus", "answers.csv", "-o", "taught.xlsx", *names, "--quiet"]) == 0
    book = fastexcel.read_excel("taught.xlsx")
    assert book.sheet_names == ["labels", "review", "isthmus_choices"]
    rows = book.load_sheet("review").to_polars().to_dicts()
    answered = {int(row["document"]): row["true_label"] for row in rows if row["true_label"]}
    assert answered == {3: "price", 80: "parking"}
    order = [(not row["needs_review"], row["confidence"]) for row in rows]
    assert order == sorted(order), "those that need review come first, the most doubtful before the others"
    assert {row["id"] for row in rows if row["true_label"]} == {"A-2", "A-79"}
    assert run_command(["teach", "run.isthmus", "answers.csv", "-o", "one.xlsx", "--add", "label", "--quiet"]) == 0
    assert fastexcel.read_excel("one.xlsx").sheet_names == ["labels"]


def test_answers_that_were_taken_back_are_told_where_none_is_left(labelled, capsys):
    for number, label_of in (("1", "price"), ("2", "staff")):
        write_csv(f"a{number}.csv", {"document": [number], "true_label": [label_of]})
    one, two = ["-o", "1.csv", "--save", "1.isthmus"], ["-o", "2.csv", "--save", "2.isthmus"]
    assert run_command(["teach", "run.isthmus", "a1.csv", *one, "--quiet"]) == 0
    assert run_command(["teach", "1.isthmus", "a2.csv", *two, "--quiet"]) == 0
    for model, left in (("1.isthmus", False), ("2.isthmus", True)):
        assert run_command(["teach", model, "--without", "a1.csv", "-o", "back.csv", "--force"]) == 0
        assert ("taken back and none is left" in capsys.readouterr().err) != left


def test_what_is_typed_and_written_about_names_of_classes(tmp_path):
    assert read_group_names(["1", " lot = parking ", "a=b=c"]) == {"1": None, "lot": "parking", "a=b": "c"}
    path = tmp_path / "names.csv"
    path.write_text("old,new\nstaff,people\n,team\nprice,\nstaff,people\n", encoding="utf-8")
    assert read_renames(path) == {"staff": "people"}
    path.write_text("former,new\nstaff,people\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"has the columns former, new; old and new are needed") as caught:
        read_renames(path)
    assert caught.value.code == "unknown-column"
