"""The report: one file, no network, hostile content stays text."""

import re
from html.parser import HTMLParser

import pytest

import isthmus
from isthmus.exceptions import DataError
from isthmus.report.page import class_table, moved_share, review_sentence

HOSTILE = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    source = ["friendly staff", "high price", "rude staff", "fair price"] * 3
    labels = [HOSTILE, 'price "&" cost'] * 6
    target = [f"staff {HOSTILE}", "price </style><img src=x onerror=alert(1)>", ""]
    path = tmp_path_factory.mktemp("report") / "page.html"
    isthmus.label(source, labels, target, method="nbc").report(path)
    return path.read_text(encoding="utf-8")


def test_hostile_content_stays_text(page):
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page


class Links(HTMLParser):
    """Everything a browser would fetch."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        names = ("src", "href", "xlink:href", "data", "action", "poster", "srcset")
        self.found += [value for name, value in attrs if name in names or "url(" in (value or "")]


def test_nothing_is_fetched(page):
    assert [link for link in Links(page).found if not link.startswith(("#", "data:", "url(#"))] == []
    assert "url(" not in page.partition("</style>")[0]
    assert "default-src 'none'" in page


def test_every_section_is_there(page):
    sections = ("summary", "data", "shift", "results", "check", "decision", "reasons", "doubtful", "convergence")
    for section in (*sections, "settings"):
        assert f'<section id="{section}">' in page
        assert f'href="#{section}"' in page
    for figure in ("domain-map", "shifted-words", "shares", "confidence"):
        assert f'<figure id="{figure}">' in page
    assert page.count("<svg") == page.count("show the table") == page.count("<figure") == 4


def test_summary_has_five_sentences(page):
    summary = page.partition('<section id="summary">')[2].partition("</section>")[0]
    assert summary.count("<li>") == 5


def test_sentences_are_whole(tmp_path):
    result = isthmus.label(["kind staff", "fast bike"] * 5, ["a", "b"] * 5, ["staff bike", "bike"], method="nbc")
    result.needs_review[:] = [True, False]
    text = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "1 document should be read by a person" in text
    assert "2 documents of target texts were labelled with the 2 classes of 10 documents of source texts." in text
    assert "Nothing odd" in section(text, "data") or "count twice" in section(text, "data")
    assert "nbc: 1 iteration; one fit is all it takes." in section(text, "convergence")


def test_reading_everything_is_called_that(tmp_path):
    result = isthmus.label(["kind staff", "fast bike"] * 5, ["a", "b"] * 5, ["staff bike", "bike"], method="nbc")
    result.needs_review[:] = True
    assert review_sentence(result).startswith("All 2 documents should be read by a person")
    assert "of the others" not in review_sentence(result)
    one = isthmus.label(["kind staff", "fast bike"] * 5, ["a", "b"] * 5, ["bike"], method="nbc")
    one.needs_review[:] = True
    assert review_sentence(one).startswith("The document should be read by a person")
    text = one.report(tmp_path / "one.html").read_text(encoding="utf-8")
    assert not re.search(r"(?<![\d,.])1 (target )?(documents|words|labels|least)", text), text


def test_shares_that_stayed_are_not_said_to_have_moved():
    def share(before, after):
        return moved_share([{"class": "a", "source_share": before, "target_share": after}])

    assert share(0.041, 0.044) == "all shares are about the same as in the source"
    assert share(0.04, 0.06) == "the share that moved most is that of a, from 4 % in the source to 6 % in the target"


def section(page, name):
    return page.partition(f'<section id="{name}">')[2].partition("</section>")[0]


def test_class_shares_by_labels_and_by_probabilities():
    result = isthmus.label(
        ["kind staff", "fast bike"] * 5, ["a", "b"] * 5, ["staff bike", "kind", "bike"], method="nbc"
    )
    rows = class_table(result)
    assert [row["target_share"] for row in rows] != [row["estimated_share"] for row in rows]
    assert sum(row["estimated_share"] for row in rows) == pytest.approx(1)
    assert [row["estimated_share"] for row in rows] == [row["estimate"] for row in result.class_shares()]


def test_invitation_to_check(page, tmp_path):
    assert "label all 3 of them by hand" in section(page, "check")
    target = [f"staff number {i}" for i in range(500)]
    result = isthmus.label(["kind staff", "fast bike"] * 5, ["a", "b"] * 5, target, method="nbc")
    text = section(result.report(tmp_path / "page.html").read_text(encoding="utf-8"), "check")
    n = len(result.sample(margin=0.05)["document"])
    assert f"Label {n} documents, drawn at random" in text
    assert f"isthmus check LABELLED --sample {n} -o to_check.csv" in text


def test_refuses_to_overwrite(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("precious")
    result = isthmus.label(["kind staff", "fast bike"], ["a", "b"], ["staff bike"], method="nbc")
    with pytest.raises(DataError) as caught:
        result.report(path)
    assert caught.value.code == "output-exists"
    assert path.read_text() == "precious"
    result.report(path, force=True)
    assert "precious" not in path.read_text()
