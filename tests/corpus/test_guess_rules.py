"""What columns are taken for, rule by rule and each bound from both sides."""

import pytest

from isthmus.corpus.binary import find_sheet
from isthmus.corpus.formats import can_cut, sniff_format, written_format
from isthmus.corpus.guess import (
    by_name,
    check_label_kind,
    find_column,
    find_header,
    grade_distance,
    grade_order,
    guess_id,
    guess_label,
    guess_roles,
    guess_texts,
    label_kind,
    list_columns,
    shorten,
)
from isthmus.corpus.tables import note_titles
from isthmus.exceptions import DataError


def test_names_are_shortened_beyond_sixty_characters_and_ten_are_told():
    assert shorten("n" * 60) == "n" * 60
    assert shorten("n" * 61) == "n" * 59 + "…"
    names = [f"c{i}" for i in range(11)]
    assert list_columns(names[:10]) == ", ".join(names[:10])
    assert list_columns(names) == ", ".join(names[:10]) + " and 1 more"
    assert list_columns(["c"] * 2_010).endswith(" and 2,000 more")


def test_a_misspelt_column_is_named_however_it_is_written():
    with pytest.raises(DataError, match=r"its columns are: Comment , id\. Did you mean 'Comment '\?") as refused:
        find_column("coment", ["Comment ", "id"], "x.csv", "text")
    assert refused.value.code == "unknown-column"
    with pytest.raises(DataError, match="Name one of them as the text column"):
        find_column("zzz", ["Comment", "id"], "x.csv", "text")
    with pytest.raises(DataError, match="Name one of them"):  # a name of more than 100 letters is not compared
        find_column("a" * 101, ["b", "a" * 102], "x.csv", "text")
    with pytest.raises(DataError, match="Did you mean"):
        find_column("a" * 99, ["b", "a" * 100], "x.csv", "text")
    assert find_column("id", ["Comment", "id"], "x.csv", "text") == "id"


@pytest.mark.parametrize(
    ("columns", "names", "found"),
    [
        (["Categories"], ["category"], "Categories"),
        (["classes"], ["class"], "classes"),
        (["tagses"], ["tag"], None),
        (["texts"], ["text"], "texts"),
        (["yes"], ["y"], None),
        (["Y"], ["y"], "Y"),
        (["my y"], ["y"], None),  # one letter counts only by itself
        (["text_id", "text date"], ["text"], None),  # about the text, not the text
        (["text body"], ["text"], "text body"),
        (["customer comment"], ["comment"], "customer comment"),
        (["comment author", "old comment"], ["comment"], "old comment"),  # ending with it goes before beginning
        (["topic", "label"], ["label", "topic"], "label"),  # names in their order, then columns in theirs
        (["label 1", "label 2"], ["label"], "label 1"),
        (["___"], ["label"], None),
        (["an text id", "texts length"], ["text"], None),
    ],
)
def test_columns_are_known_by_their_names(columns, names, found):
    assert by_name(columns, names) == found


def test_only_whole_names_where_that_is_asked():
    assert by_name(["my text", "Text"], ["text"], exact=True) == "Text"
    assert by_name(["my text"], ["text"], exact=True) is None


LONG = ["a long article about many things"] * 2 + ["another one with many more words"]
TITLES = ["good news", "bad news", "no news today"]


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"Headline": TITLES, "Body text": LONG}, ["Body text", "Headline"]),
        ({"title": TITLES, "wording": LONG}, ["wording", "title"]),
        ({"title": TITLES, "label": ["x", "y", "z"]}, ["title"]),
        ({"title": ["news", "sports"]}, ["title"]),  # one word each, but nothing else is a text
        ({"text": TITLES, "wording": LONG}, ["text", "wording"]),  # its whole name decides
        ({"text": ["ok", "no", "yes"], "wording": LONG}, ["wording"]),  # unless it is much shorter
        ({"old comment": ["so kind of you"] * 3, "wording": LONG}, ["wording"]),  # a similar name needs half the length
        ({"old comment": [line[:20] for line in LONG], "wording": LONG}, ["old comment", "wording"]),
        (
            {"wording": [f"text number {i} about things" for i in range(30)], "other": ["xx " * 50_000] + [""] * 29},
            ["wording", "other"],
        ),  # one long cell does not decide
        ({"a": ["kind"], "b": ["x"]}, []),  # one word is no text
        ({"a": ["股票市场上涨", "足球比赛"]}, ["a"]),
        ({"a": ["2026-01-02 10:00", "https://a.b/c-d"]}, []),
        ({"text": [1, 2], "b": TITLES}, ["b"]),
        ({"text": ["12", "1,5"]}, ["text"]),
        ({"text": [12, 1.5]}, []),
        ({"document": ["12", "1,5"]}, []),
        ({"text": ["", None]}, ["text"]),  # empty, but so named
        ({"id": ["1", "2"], "truth": ["places", "people"]}, []),
        ({"id": ["1", "2"] * 9, "area": ["opening hours", "friendly staff"] * 9}, []),  # values that repeat are labels
        ({"label": LONG, "b": TITLES}, ["b"]),
    ],
)
def test_columns_that_look_like_text(columns, found):
    assert guess_texts(columns) == found


def test_a_guess_reports_other_columns_that_look_like_text():
    roles = guess_roles({"Headline": TITLES, "Body text": LONG, "label": ["x", "y", "z"]}, "a.csv")
    assert (roles.text, roles.label) == (("Body text",), "label")
    assert "'Headline'" in roles.notes[0]
    assert "text=COLUMN,COLUMN" in roles.notes[0]


def test_the_label_is_the_column_with_the_fewest_values_that_repeat():
    four = {"x": ["a", "b", "c", "c", "a", "b"], "z": ["p", "q", "p", "q", "p", "q"]}
    assert guess_label(four) == "z"
    assert guess_label({"v": ["p", "q"] * 3, "w": ["r", "s"] * 3}) == "v"  # the first of equals
    assert guess_label(four, by_cells=False) is None
    assert guess_label({"x": ["a", "a", "a", "a"]}) is None  # one value is no classes
    assert guess_label({"x": ["a", "b", "a", "b"]}) == "x"
    assert guess_label({"x": ["a", "b", "c", "a"]}) is None  # three values in four rows
    assert guess_label({"x": ["1", "2", "1", "2"]}) is None  # numbers without a name
    assert guess_label({"stars": ["1", "2", "1", "2"]}) == "stars"
    assert guess_label({"rating": ["1", "2", "3", "4"]}) is None
    assert guess_label({"x": ["a" * 60, "b"] * 2}) == "x"
    assert guess_label({"x": ["a" * 61, "b"] * 2}) is None
    assert guess_label({"x": ["a", "b", "", " "]}) is None  # blank cells are no values
    assert guess_label({"x": [f"v{i}" for i in range(100)] * 2}) == "x"
    assert guess_label({"x": [f"v{i}" for i in range(101)] * 2}) is None
    assert guess_label({"tag": ["a", "b", "c", "d"]}) is None  # called so, but no value comes twice
    assert guess_label({"tag": ["a", "b", "c"]}) is None
    assert guess_label({"tag": ["a", "b"]}) == guess_label({"tag": ["a", "b", "c"] * 2}) == "tag"
    assert guess_label({"tag": ["a", "b", "c", "c", "d"]}) is None
    assert guess_label({"label": ["a", "b", "c", "d"]}) == "label"  # called so plainly that it is one
    assert guess_label({"label": [["a"], ["b"]], "group": ["a", "a"]}) == "group"
    assert guess_label({"label": ["a", "b"]}, taken=["label"]) is None


def test_an_id_is_filled_short_and_different_in_every_row():
    assert guess_id({"case": ["1", "2"]}) == "case"
    assert guess_id({"case": ["1", "1"]}) is None
    assert guess_id({"case": ["1"]}) is None
    assert guess_id({"case": ["1", None]}) is None
    assert guess_id({"case": ["1", " "]}) is None
    assert guess_id({"case": ["1", "2" * 80]}) == "case"
    assert guess_id({"case": ["1", "2" * 81]}) is None
    assert guess_id({"case": ["1", "2"], "ID ": ["3", "3"]}) == "ID "  # its whole name decides
    assert guess_id({"no": ["1"], "id": ["2"]}) == "id"
    assert guess_id({"id": ["1", "2"], "ticket no": ["3", "4"]}, taken=["id"]) == "ticket no"
    assert guess_id({"idea": ["1", "2"]}) is None


HEADER, ROW = ["id", "comment"], ["1", "kind staff"]


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        ([HEADER, ROW], 0),
        ([], 0),
        ([[], HEADER, ROW], 1),
        ([["Survey"], HEADER, ROW], 1),
        ([["Survey"]] * 10 + [HEADER], 10),
        ([["Survey"]] * 11 + [HEADER], 0),
        ([[], ["Survey"], [None, " "], HEADER], 3),
        ([["a", "b"], HEADER, ROW], 0),  # no more cells than the row above it
        ([["a", "b"], ["c"], ["id", "comment", "x"]], 2),
        ([["a"], ["x", "comment", "comment"]], 0),  # two cells alike
        ([["a"], ["x", "comment" * 6]], 0),  # too long for a name
        ([["remarks"], HEADER], 0),  # the first row has a known name itself
        ([["Survey"], ["x", "z"], ROW], 0),
    ],
)
def test_where_the_header_stands(rows, place):
    assert find_header(rows) == place


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        ([["Survey"], ["x", "z"], ["1", "2"]], 1),  # in a workbook without a known name too
        ([["Survey"], ["x", "z"], ["1", "2", "3"]], 0),  # a row below has more
        ([["Survey"], ["x", "7"], ["1", "2"]], 0),  # a number is no name
        ([["Survey", "2026"], ["x", "y1", "z"], ["1", "2", "3"]], 0),  # two cells may be a header themselves
    ],
)
def test_where_the_header_of_a_sheet_stands(rows, place):
    assert find_header(rows, sure=True) == place


def test_titles_that_are_left_out_are_told():
    assert note_titles([[None, " "], []]) == []
    assert note_titles([[None, " Survey "]]) == [
        "a row above the header is taken for a title and left out, first 'Survey'."
    ]
    assert note_titles([["Survey"], [""], ["May"]]) == [
        "2 rows above the header are taken for a title and left out, first 'Survey'."
    ]


def test_a_sheet_by_name_before_number():
    names = ["Old", " 1 ", "new"]
    assert [find_sheet(names, wanted, "x") for wanted in ("OLD", "1", "2", "3", "New ")] == [0, 1, 1, 2, 2]
    for wanted in ("0", "4", "²", "other"):
        with pytest.raises(DataError, match="its sheets are"):
            find_sheet(names, wanted, "x")


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        ("PAR1", "parquet"),
        ("PK\x03\x04", "xlsx"),
        ("PK", "csv"),
        ('\ufeff\n {"a": 1}', "jsonl"),
        (" [1]", "json"),
        ("a,b", "csv"),
        ("__label__a kind", "fasttext"),
        ("", "csv"),
    ],
)
def test_bytes_without_a_name(head, kind):
    assert sniff_format(head.encode()) == kind


# ---- are these labels classes?


def spread(*parts):
    """Labels with how often each stands there."""
    return [label for label, n in parts for _ in range(n)]


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        pytest.param([f"v{i}" for i in range(19)], "classes", id="19 values of which none comes twice"),
        pytest.param([f"v{i}" for i in range(20)], "ids", id="20 of them"),
        pytest.param([f"v{i % 10}" for i in range(20)], "classes", id="two a value"),
        pytest.param([f"v{i % 11}" for i in range(20)], "ids", id="fewer than two a value"),
        pytest.param([f"one two {i}" for i in range(20)], "free-text", id="three words each"),
        pytest.param([f"one {i}" for i in range(20)], "ids", id="two words each"),
        pytest.param(["2026-01-02"] * 10 + ["3.4.26"] * 6 + ["a"] * 4, "dates", id="four fifths dates"),
        pytest.param(["2026-01-02"] * 10 + ["3.4.26"] * 5 + ["a"] * 5, "classes", id="three quarters dates"),
        pytest.param(["2026年3月4日", "2026/1/2 10:00"] * 10, "dates", id="other dates"),
        pytest.param([f"{i % 12}.5" for i in range(59)], "measurements", id="12 numbers, fewer than five each"),
        pytest.param([f"{i % 12}.5" for i in range(60)], "classes", id="12 numbers, five each"),
        pytest.param([f"{i % 11}.5" for i in range(30)], "classes", id="11 numbers"),
        pytest.param([f"{i % 16}.5" for i in range(32)] + ["x"] * 8, "measurements", id="four fifths numbers"),
        pytest.param([f"{i % 16}.5" for i in range(31)] + ["x"] * 9, "classes", id="fewer"),
        pytest.param([None, float("nan")] * 30 + ["a", "b"] * 5, "classes", id="mostly unknown"),
        pytest.param(["a"] * 50, "classes", id="one value"),
        pytest.param(spread(("a;b", 2), ("b;a", 1), ("a", 30), ("b", 27)), "several", id="a twentieth with several"),
        pytest.param(spread(("a;b", 1), ("b;a", 1), ("a", 30), ("b", 28)), "classes", id="fewer with several"),
        pytest.param(spread(("a;b", 5), ("a", 30), ("b", 25)), "classes", id="one cell alone"),
        pytest.param(spread(("hard/a", 20), ("hard/b", 20), ("soft/c", 20)), "classes", id="paths"),
        pytest.param(spread(("a/b", 20), ("b/a", 20), ("b", 20)), "several", id="parts in any place"),
        pytest.param(spread(("['a', 'b']", 9), ("['b', 'c']", 9), ("['a']", 9)), "several", id="lists as text"),
        pytest.param(spread(("a;", 20), ("b;", 20)), "classes", id="a separator at the end"),
        pytest.param(spread(("a;b", 20), ("a;c", 20)), "classes", id="most parts in one cell alone"),
        pytest.param(spread(("a;b", 20), ("a;b;c;d", 20)), "several", id="half of the parts in two cells"),
    ],
)
def test_kinds_of_labels(labels, kind):
    assert label_kind(labels).kind == kind


def test_what_is_said_about_labels_that_are_no_classes():
    said = label_kind(spread(("a;b", 9), ("b;c", 9), ("c", 9))).message
    assert said.startswith("hold several labels in one cell ('a;b'): 3 combinations of 3 labels, not classes;")
    with pytest.raises(DataError, match=r"The labels hold 20 different values for 20 documents, as ids have \('v0'\)"):
        check_label_kind([f"v{i}" for i in range(20)])
    assert check_label_kind([f"v{i}" for i in range(20)], force_classes=True).kind == "ids"
    grades = check_label_kind([1, 2, 3] * 10)
    assert grades.are_classes
    assert grades.message.startswith("are grades from 1 to 3: they are learned as 3 classes")


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        ([1, 2], ()),
        ([3, 1, 2], (1, 2, 3)),
        (["3", 1.0, "2"], (1.0, "2", "3")),
        (list(range(11)), tuple(range(11))),
        (list(range(12)), ()),
        ([0, 5, 10], (0, 5, 10)),
        ([0, 5, 11], ()),
        ([True, 2, 3], ()),
        ([1.5, 2, 3], ()),
        ([10**6, 10**6 + 1, 10**6 + 2], ()),
        ([1, None, 2, float("nan"), 3], (1, 2, 3)),
        (["Very_Good", "poor", " fair "], ("poor", " fair ", "Very_Good")),
        (["low", "medium", "red"], ()),
    ],
)
def test_grades(labels, order):
    assert grade_order(labels) == order


def test_steps_between_grades():
    assert grade_distance(["1", "x", "3"], [3, 1, "3"], (1, 2, "3"))[0] == 1.0
    assert grade_distance(["x"], ["1"], ("1", "2")) is None


@pytest.mark.parametrize(
    ("name", "cut", "written"),
    [
        ("a.csv", True, "csv"),
        ("a.CSV.gz", True, "csv"),
        ("a.parquet", True, "parquet"),
        ("a.parquet.gz", False, None),
        ("a.xlsx", False, "xlsx"),
        ("a.xlsx.gz", False, None),
        ("a.json", False, None),
        ("a.ft", False, None),
        ("a", False, None),
    ],
)
def test_what_can_be_cut_and_what_can_be_written(name, cut, written):
    assert can_cut(name) == cut
    format = written_format(name)
    assert (format and format.name) == written
