"""The page about a diagnosis: one file, no network, hostile content stays text."""

import re
from types import SimpleNamespace

import pytest

import isthmus
from isthmus.corpus import Collection
from isthmus.exceptions import DataError
from isthmus.report.diagnosis import diagnosis_facts, doubtful_labels, repeats, write_diagnosis_report

HOSTILE = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def result():
    source = ["the friendly staff was kind", "a high price for the ride", "rude staff at the desk", "a fair price"] * 15
    labels = [HOSTILE, 'price "&" cost'] * 30
    target = [f"the staff {HOSTILE} was here", "the price of a kettle is high", ""] * 20 + source[:1]
    return isthmus.diagnose(source, labels, target), source, labels, target


@pytest.fixture(scope="module")
def page(result, tmp_path_factory):
    found, source, labels, target = result
    path = tmp_path_factory.mktemp("report") / "page.html"
    write_diagnosis_report(
        found,
        path,
        source=Collection.from_texts(source, labels, name=f"{HOSTILE}.csv"),
        target=Collection.from_texts(target, name="target"),
    )
    return path.read_text(encoding="utf-8")


def test_hostile_content_stays_text(page):
    assert page.count("<script") == 1  # the page's own
    assert "&lt;script&gt;" in page


def test_nothing_is_fetched(page):
    assert re.findall(r'(?:src|href|xlink:href|action|poster)="(?!#|data:)[^"]*"', page) == []
    assert "default-src 'none'" in page
    assert len(page.encode()) < 3_000_000


def test_every_section_and_finding_is_there(page, result):
    for section in ("findings", "words", "repeats", "more"):
        assert f'<section id="{section}">' in page
    for part in ("data-read", "settings"):
        assert f'<details class="fold" id="{part}">' in page
    assert f"<h1>{result[0].verdict}</h1>" in page
    for row in result[0]:
        assert f"<h3>{row['topic']} " in page


def test_what_is_fine_is_folded(page, result):
    shown, _, folded = page.partition('<section id="findings">')[2].partition("</section>")[0].partition("<details>")
    for row in result[0]:
        assert f"<h3>{row['topic']} " in (shown if row["severity"] else folded)


def test_a_new_group_is_said_first(result, tmp_path):
    found = result[0]
    found.tables["new_groups"] = [{"group": "tyres", "documents": 12, "words": "tyres, rims"}]
    head = found.report(tmp_path / "page.html").read_text("utf-8").partition("</header>")[0]
    assert "<bdi>tyres</bdi> (12 documents)" in head


def test_the_result_writes_its_page_and_does_not_overwrite(result, tmp_path):
    path = tmp_path / "page.html"
    assert result[0].report(path) == path
    with pytest.raises(DataError) as caught:
        result[0].report(path)
    assert caught.value.code == "output-exists"
    result[0].report(path, force=True)


def test_a_diagnosis_without_words_has_a_page(tmp_path):
    found = isthmus.diagnose(["12", "34"], ["a", "b"], ["56"])
    text = found.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "No words to show" in text
    assert "<figure" not in text


def test_the_first_twenty_of_every_list_are_shown_and_all_are_counted():
    """With ids and texts where the collections are at hand, and numbers from 1 where they are not."""
    rows = [{"document": i + 1, "label": "a"} for i in range(25)]
    pairs = [{"source": i, "target": 24 - i, "share": 0.9} for i in range(25)]
    words = [{"word": f"w{i}", "information": 0.5} for i in range(25)]
    tables = {"doubtful_labels": rows, "near_duplicates": pairs, "class_shifted_words": words, "pivots": words}
    result = SimpleNamespace(findings=[], verdict="fine", level="fine", tables=tables, settings={})
    texts = ["x" * 300, "y" * 301, *(f"text {i}" for i in range(23))]
    ids = [f"d{i}" for i in range(25)]
    source, nameless = (Collection.from_texts(texts, ids=ids, name=name) for name in ("s.csv", None))
    facts = diagnosis_facts(result, source, nameless)
    assert [len(facts[name]) for name in ("doubtful", "repeats", "company", "pivots")] == [20] * 4
    assert facts["n_doubtful"] == 25
    assert [row["document"] for row in facts["doubtful"][:2]] == ["d0", "d1"]
    assert [row["text"] for row in facts["doubtful"][:2]] == ["x" * 300, "y" * 300 + "…"]
    assert (facts["repeats"][0]["source"], facts["repeats"][0]["target"]) == ("d0", "d24")
    assert facts["repeats"][0]["text"] == "text 22"
    assert facts["about"] == "What separates the two collections", "one of them has no name"
    assert diagnosis_facts(result, source, source)["about"] == "s.csv and s.csv"
    assert doubtful_labels(rows[:1], None) == [{"document": "1", "label": "a", "text": ""}]
    assert repeats(pairs[:1], None, None) == [{"source": "1", "target": "25", "share": 0.9, "text": ""}]
