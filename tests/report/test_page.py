"""The report: one file, no network, hostile content stays text, the answer first."""

import base64
import hashlib
import json
import re
from datetime import date
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from made_answers import made_answers

import isthmus
from isthmus.choose import AccuracyEstimate
from isthmus.choose.prevalence import time_periods
from isthmus.cli.app import run_command
from isthmus.corpus import Collection, write_rows
from isthmus.exceptions import DataError, UsageError
from isthmus.report import summary
from isthmus.report.cluster_page import about, cluster_cards, cluster_map, cluster_verdict
from isthmus.report.figures import lines_figure
from isthmus.report.hero import banners, class_table, hero_facts, outcome_figures, review_counts
from isthmus.report.listing import _fit, as_json, cap_note, list_data, listed_rows
from isthmus.report.page import points
from isthmus.report.summary import Words, by_facts, class_cards, quote, reliability_rows, taught_facts
from isthmus.wording import interval
from isthmus_bench.calibration import reliability_table
from isthmus_bench.shifted import make_shifted_texts

HOSTILE = "<script>alert('x')</script>"
SOURCE, LABELS = ["kind staff", "fast bike"] * 5, ["a", "b"] * 5


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    source = ["friendly staff", "high price", "rude staff", "fair price"] * 3
    labels = [HOSTILE, 'price "&" cost'] * 6
    target = [f"staff {HOSTILE}", "price </style><img src=x onerror=alert(1)>", ""]
    path = tmp_path_factory.mktemp("report") / "page.html"
    isthmus.label(source, labels, target, method="nbc").report(path)
    return path.read_text(encoding="utf-8")


def section(page, name):
    return page.partition(f'<section id="{name}">')[2].partition("</section>")[0]


def test_hostile_content_stays_text(page):
    assert page.count("<script") == 2  # the page's own, and the data
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    data = page.partition('id="data">')[2].partition("</script>")[0]
    assert not set("<>&") & set(data)
    assert HOSTILE in json.loads(data)["text"][0]


def test_the_policy_allows_the_pages_own_code_and_nothing_else(page):
    policy = page.partition('Security-Policy" content="')[2].partition('"')[0].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for tag, name in (("style", "style-src"), ("script", "script-src")):
        code = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.S).group(1)
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in policy
    assert not re.search(r"<[^>]* style=|<[^>]* on\w+=", page.partition("<body>")[2].partition('id="data">')[0])


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
    assert [link for link in Links(page).found if not link.startswith("#")] == []
    assert "url(" not in page.partition("</style>")[0]


def test_the_answer_comes_first_and_the_rest_in_order(page):
    order = ("answer", "classes", "review", "check", "pictures", "reasons", "more")
    places = [page.index(f'id="{name}"') for name in order]
    assert places == sorted(places)
    for figure in ("map", "shares", "curve", "confidence"):
        assert page.count(f'<figure id="{figure}">') == 1
    for name in ("shift", "decision", "data-read", "settings"):
        assert re.search(rf'<details class="fold"[^>]* id="{name}">', page)


def result_of(target=("staff bike", "bike")):
    return isthmus.label(SOURCE, LABELS, list(target), method="nbc")


def test_the_verdict_says_how_good_and_what_to_read():
    result = result_of(["staff bike", "bike", "kind"])
    result.needs_review[:] = [True, False, False]
    result.expected_accuracy = None
    assert (
        outcome_figures(result).headline
        == "3 documents labelled; how many are right was not estimated. Read this one first."
    )
    result.expected_accuracy = AccuracyEstimate(0.79, 0.7, 0.88)
    assert (
        outcome_figures(result).headline
        == "About 4 in 5 labels are right, if your classes cover the target. Read this one first."
    )
    result.needs_review[:] = False
    assert outcome_figures(result).headline.endswith("if your classes cover the target. None is marked for review.")
    result.needs_review[:] = True
    assert outcome_figures(result).headline.endswith("Read them all.")
    assert outcome_figures(result).review_note == "The method is not confident enough of any label."


def test_the_note_on_reading_says_what_is_promised_about_the_others():
    result = result_of(["staff bike", "bike", "kind"])
    result.expected_accuracy = AccuracyEstimate(None, None, None, reason="too few")
    result.needs_review[:] = [True, False, False]
    assert outcome_figures(result).review_note == "How many of the others are wrong is not known."
    result.needs_review[:] = True  # there are no others
    assert outcome_figures(result).review_note == "The method is not confident enough of any label."
    result.review_reason[:] = ["not sure enough", "not sure enough", "new group"]
    assert [row["documents"] for row in review_counts(result)] == [2, 1]
    result.expected_accuracy = AccuracyEstimate(0.79, 0.7, 0.88)
    result.needs_review[:] = [True, False, False]
    result.confidence[:] = [0.4, 0.9, 0.8]
    assert outcome_figures(result).review_note == "Expected errors: 10% of the finished file, 15% of the unread labels."


def test_an_excerpt_in_another_script_is_cut_to_the_same_bytes():
    # 400 characters of three bytes: 1.2 · 200 / 3 = 80 characters, the last of them the dots
    assert _fit("汽车" * 200, 200) == ("汽车" * 40)[:79] + "…"
    assert _fit("car " * 100, 200) == ("car " * 50)[:199] + "…"


def test_twenty_answers_are_enough_to_show_how_reliable_confidence_was():
    result = result_of(["kind staff", "fast bike"] * 20)
    for n, shown in ((19, False), (20, True)):
        answers = {"document": list(range(1, n + 1)), "true_label": (["a", "b"] * 20)[:n]}
        assert bool(reliability_rows(result.teach(answers))) is shown


def test_the_report_bins_confidences_as_the_benchmarks_do():
    made = make_shifted_texts(80, 60, shared=0.4, random_state=1)
    result = isthmus.label(made.source_texts, made.source_labels, made.target_texts, method="nbc", embed=False)
    answers = {"document": list(range(1, 51)), "true_label": made.target_labels[:50]}
    taught = result.teach(answers)
    found, before = reliability_rows(taught), np.asarray(taught.vote)[:50]
    table = reliability_table(
        made.target_labels[:50],
        np.asarray(taught.classes)[before.argmax(axis=1)],
        before.max(axis=1),
        n_bins=5,
        strategy="quantile",
    )
    assert [row["n"] for row in found] == [part.count for part in table]
    assert [row["confidence"] for row in found] == pytest.approx([part.confidence for part in table])
    assert [row["right"] for row in found] == pytest.approx([part.accuracy for part in table])


def test_dangers_are_said():
    result = result_of()
    assert "Nothing says how many labels are right." in [banner["title"] for banner in banners(result)]
    thin, unknown = {"topic": "thin source", "message": "Few."}, {"topic": "not estimated", "message": "Too few."}
    for given, told in (
        ([], ["Label a random sample by hand before using them."]),
        ([thin], ["Few.", "Label a random sample by hand before using them."]),
        ([thin, unknown], ["Few.", "Too few."]),  # said once, in the words of the one who knows why
    ):
        result.warnings = given
        assert [banner["text"] for banner in banners(result)] == told
    result.expected_accuracy, result.warnings = AccuracyEstimate(0.9, 0.8, 1.0), []
    assert banners(result) == []
    result.warnings = [{"topic": "class shares", "message": "Class shares moved: a 50% in the source."}]
    n = len(result.labels)
    result.novel = [{"group": "tyres", "documents": n, "words": "tyres, rims"}]
    result.novel_group = np.array(["tyres"] * n, dtype=object)
    new, moved = banners(result)
    assert new == {"level": "stop", "title": f"A group the source does not know: tyres ({n} documents).", **new}
    assert moved["level"] == "care"
    result.novel_group[: n // 2] = ""
    assert banners(result) == [moved], "once half of its documents have a class, a group is not told of any more"
    assert moved["text"] == "Class shares moved: a 50% in the source."


def test_a_new_group_is_shown(tmp_path):
    result = result_of(["staff", "bike", "tyres rims", "tyres"])
    result.novel = [{"group": "tyres", "documents": 2, "words": "tyre, rim"}]
    result.novel_group = np.array(["", "", "tyres", "tyres"], dtype=object)
    text = result.report(tmp_path / "page.html").read_text("utf-8")
    assert "<h3>New: tyres</h3>" in section(text, "classes")
    assert "name_groups({&#39;1&#39;: &#39;tyres&#39;})" in text, "a word as it is written, no stem"
    assert all(f"<h3>{side}: {side} texts</h3>" in text for side in ("source", "target")), "what came from no file"
    assert json.loads(text.partition('id="data">')[2].partition("</script>")[0])["group"] == ["", "", "tyres", "tyres"]


def test_texts_without_any_word_have_a_page(tmp_path):
    glad, sad = [":-) :-) ;-)", ";-) :-) :-)"] * 4, [":-( :-( ;-(", ";-( :-( :-("] * 4
    target = [":-) ;-) ;-)", ":-( ;-( ;-("]
    result = isthmus.label([*glad, *sad], ["glad"] * 8 + ["sad"] * 8, target, method="strings")
    words = Words(result)
    assert (words.space, words.map()) == (None, None)
    assert words.marking() == words.marking(np.array([True, False])) == [[], []]
    page = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(text in page for text in target)


def test_no_plural_of_one(tmp_path):
    one = result_of(["bike"])
    one.needs_review[:] = True
    text = one.report(tmp_path / "one.html").read_text(encoding="utf-8").partition("<body>")[2].partition("<script")[0]
    assert not re.search(r"(?<![\d,.])1 (target )?(documents|words|labels|least)", text)


def test_class_shares_by_labels_and_by_probabilities():
    result = result_of(["staff bike", "kind", "bike"])
    rows = class_table(result)
    shares = [(row["estimate"], row["low"], row["high"]) for row in result.class_shares()]
    assert [(row["estimated_share"], row["low"], row["high"]) for row in rows] == shares
    assert {row["low"] for row in rows} == {None}, "of three documents nothing is expected"


def test_a_class_is_told_by_its_own_documents():
    """The mean over all documents instead of those of the class."""
    shares = [{"class": name, "estimate": 0.5, "low": 0.25, "high": 0.75} for name in "abc"]
    result = SimpleNamespace(
        texts=["x"] * 4,
        class_shares=lambda: shares,
        classes=np.array(["a", "b", "c"], dtype=object),
        labels=np.array(["a", "a", "a", "b"], dtype=object),
        confidence=np.array([0.9, 0.7, 0.2, 0.4]),
        needs_review=np.array([False, False, True, False]),
        probabilities=np.array([[0.9, 0.1, 0.0], [0.7, 0.3, 0.0], [0.5, 0.3, 0.2], [0.4, 0.5, 0.1]]),
        source_labels=["a", "b", None],
        known_answers=made_answers([1], ["a"], ["asked"], [""], ["answers"]),
    )
    a, b, c = class_table(result)
    assert [row["confidence"] for row in (a, b, c)] == [pytest.approx(0.6), pytest.approx(0.4), None]
    assert [row["precision"] for row in (a, b, c)] == [pytest.approx(0.9), pytest.approx(0.4), None]
    assert [(row["target"], row["accepted"], row["review"]) for row in (a, b, c)] == [(3, 1, 1), (1, 1, 0), (0, 0, 0)]
    assert [row["read"] for row in (a, b, c)] == [1, 0, 0], "what was read is not accepted unread"
    assert (c["estimated_share"], c["low"], c["high"]) == (0.5, 0.25, 0.75)


def test_invitation_to_check_and_teach(page, tmp_path):
    assert "Label all 3 documents by hand" in section(page, "check")
    result = result_of([f"staff number {i}" for i in range(500)])
    result.expected_accuracy = AccuracyEstimate(0.95, 0.93, 0.97)
    text = section(result.report(tmp_path / "page.html").read_text(encoding="utf-8"), "check")
    step = result.next_step()
    n = step.read if step is not None and step.at_random else 100
    assert f"Label {n} documents, drawn at random" in text
    assert f"result.sample({n})" in text
    assert "result.teach(" in text


def test_broken_down_by_a_column(tmp_path):
    result = result_of(["staff", "bike", "kind", "fast bike"])
    text = section(result.report(tmp_path / "page.html", by={"year": [2, 10, 2, None]}).read_text("utf-8"), "by")
    assert re.findall(r'<th scope="row">([^<]*)</th><td class="n">(\d)</td>', text) == [
        ("2", "2"),
        ("10", "1"),
        ("(blank)", "1"),
    ]
    with pytest.raises(UsageError) as caught:
        result.report(tmp_path / "other.html", by={"year": [1]})
    assert caught.value.code == "length-mismatch"


def test_of_two_days_there_is_no_line_and_of_three_there_is():
    result = result_of(["staff", "bike", "kind"])
    for days, drawn in (([1, 1, 2], False), ([1, 2, 3], True)):
        facts = by_facts(result, ("sent", [date(2024, 1, day) for day in days]))
        assert (facts["period"], facts["figure"] is not None, facts["undated"]) == ("day", drawn, 0)


def test_every_value_of_a_breakdown_is_told_by_its_own_documents():
    result = result_of(["staff", "bike", "kind", "fast bike"])
    result.needs_review[:] = [True, False, True, False]
    result.confidence[:] = [0.5, 0.9, 0.7, 0.9]
    rows = by_facts(result, ("year", [1, 2, 1, 2]))["rows"]
    assert [(row["review"], row["sure"]) for row in rows] == [(1.0, pytest.approx(0.6)), (0.0, pytest.approx(0.9))]
    assert [[part["share"] for part in row["shares"]] for row in rows] == [[1.0, 0.0], [0.0, 1.0]]


def test_dates_become_periods_in_order_and_a_line_for_each_class(tmp_path):
    days = [date(2024, 1, 5), date(2024, 2, 9), date(2024, 12, 30), None]
    result = result_of(["staff", "bike", "kind staff", "fast bike"])
    text = section(result.report(tmp_path / "page.html", by={"sent": days}).read_text("utf-8"), "by")
    assert re.findall(r'<th scope="row">([^<]*)</th>', text) == [str(day) for day in days[:3]]
    assert "1 document without a date is left out" in text
    # Class a holds all, none, all of the documents of the three days: at the top, at the bottom, at the top.
    assert re.findall(r'<path class="line f(\d)" d="([^"]*)"', text) == [
        ("0", "M1.0 8.0L50.0 88.0L99.0 8.0"),
        ("1", "M1.0 88.0L50.0 8.0L99.0 88.0"),
    ]


def test_of_many_periods_every_other_one_is_named():
    figure = lines_figure(np.array([[0.2] * 7, [0.8] * 7]), list("abcdefg"))
    assert [(tick["at"], tick["text"]) for tick in figure["x_ticks"]] == [
        (1.0, "a"), (33.67, "c"), (66.33, "e"), (99.0, "g")
    ]  # fmt: skip


def test_periods_grow_until_few_enough_and_numbers_are_no_dates():
    months = [f"{2000 + i // 12}-{i % 12 + 1:02}-15" for i in range(41)]
    assert time_periods(months)[0] == "quarter"
    assert time_periods(months)[1][:4] == ["2000 Q1"] * 3 + ["2000 Q2"]
    assert time_periods(months[:40])[0] == "day"
    assert time_periods([20240105, 20240106]) is None
    assert time_periods(["2024-01-05"] * 8 + ["soon"]) is None  # 8 of 9: fewer than nine of ten


def test_the_map_of_clusters_shows_every_document_in_its_clusters_colour(tmp_path):
    source = ["kind staff smiles", "rude staff frowns", "fast bike brakes", "slow bike wheels"] * 3
    target = ["staff smiles", "staff frowns kind", "bike brakes", "bike wheels slow"] * 2 + [HOSTILE + " bike"]
    result = isthmus.cluster(source, ["a", "a", "b", "b"] * 3, target, n_clusters=2)
    page = result.report(tmp_path / "page.html").read_text("utf-8")
    drawn = section(page, "picture")
    cards = dict(re.findall(r'<article class="card t(\d)"><h3><bdi>([^<]*)</bdi></h3>', page))
    shown = re.findall(r'<circle class="f(\d)"[^>]*><title>([^:<]*): ([^<]*)</title>', drawn)
    assert sorted(text for _, _, text in shown) == sorted(text.replace("<", "&lt;").replace(">", "&gt;")
                                                          .replace("'", "&#39;") for text in target)  # fmt: skip
    assert all(cards[colour] == name for colour, name, _ in shown)
    names = dict(zip(target, (result.names[i] for i in result.labels), strict=True))
    assert {text: name for _, name, text in shown if "script" not in text} == {
        text: name for text, name in names.items() if "script" not in text
    }


def test_clusters_of_two_documents_have_a_page_without_a_map(tmp_path):
    """Two documents span no plane."""
    result = isthmus.cluster(["kind staff", "fast bike"] * 6, ["a", "b"] * 6, ["rude staff", "slow bike"], n_clusters=2)
    page = result.report(tmp_path / "page.html").read_text("utf-8")
    assert "<circle" not in page
    assert all(name in page for name in result.names)


@pytest.mark.parametrize("read", [4_000, 8])
def test_near_documents_of_the_source_are_labelled_ones_of_like_words(monkeypatch, read):
    monkeypatch.setattr("isthmus.report.summary._READ", read)  # documents of each side whose words are counted
    source = ["late invoice"] * 6 + ["kind staff"] * 6 + ["fast bike"] * 6
    result = isthmus.label(source, [None] * 6 + ["a"] * 6 + ["b"] * 6, ["staff", "bike"] * 6, method="nbc")
    listed = list_data(result, Collection.from_texts(result.texts), Words(result).space, None)
    near = [listed["source"]["text"][found[0]] for found in listed["near"]]
    assert near == ["kind staff", "fast bike"] * 6


@pytest.mark.parametrize("read", [4_000, 10])
def test_words_that_mark_a_group_are_those_of_its_own_documents(monkeypatch, read):
    monkeypatch.setattr("isthmus.report.summary._READ", read)
    result = result_of(["kind staff", "dark lot", "dark lot"] * 14)
    outside, inside = Words(result).marking(np.arange(42) % 3 > 0)
    assert {"kind", "staff"} <= set(outside) - set(inside)
    assert {"dark", "lot"} <= set(inside) - set(outside)


@pytest.mark.parametrize("read", [4_000, 20])
def test_the_map_of_a_large_target_shows_documents_with_their_own_labels(monkeypatch, read):
    monkeypatch.setattr("isthmus.report.summary._READ", read)
    monkeypatch.setitem(summary.figures.MAPPED, "target", 7)
    result = result_of(["kind staff", "dark lot", "fast bike"] * 14)
    drawn = Words(result).map()["target"]
    assert len(drawn) == 7
    for point in drawn:
        assert result.classes[point["code"]] == result.labels[point["i"]], f"document {point['i']}"


def test_the_list_keeps_what_most_needs_reading():
    result = result_of(["staff", "bike", "kind", "fast bike"])
    result.confidence[:] = [0.9, 0.5, 0.6, 0.7]
    result.needs_review[:] = [True, False, False, True]
    assert listed_rows(result, 3).tolist() == [0, 1, 3]
    assert listed_rows(result).tolist() == [0, 1, 2, 3]


def test_a_list_of_some_documents_shows_their_own_next_best_classes(monkeypatch):
    result = result_of(["staff", "bike", "kind", "fast bike"])
    result.labels[:] = ["a", "a", "b", "b"]
    result.probabilities = np.array([[0.6, 0.3, 0.1], [0.6, 0.1, 0.3], [0.3, 0.6, 0.1], [0.1, 0.6, 0.3]])
    result.classes = np.array(["a", "b", "c"])
    monkeypatch.setattr("isthmus.report.listing.listed_rows", lambda result: np.array([1, 2]))
    data = list_data(result, Collection.from_texts(result.texts), None, None)
    assert (data["row"], data["label"], data["second"]) == ([2, 3], [0, 1], [2, 0])


def test_list_data_is_whole(page):

    result = result_of(["staff", "bike", "kind"])
    data = json.loads(as_json(list_data(result, Collection.from_texts(result.texts), None, None)))
    assert data["row"] == [1, 2, 3]
    assert [data["classes"][code] for code in data["label"]] == result.labels.tolist()
    assert all(a != b for a, b in zip(data["label"], data["second"], strict=True))
    assert data["near"] == [[], [], []]


def test_hero_facts_hold_a_row_per_class():
    facts = hero_facts(result_of(), source="s.csv", target="t.csv")
    assert facts["about"] == "2 documents of t.csv, labelled with 2 classes learned from 10 documents of s.csv."
    assert [row["class"] for row in facts["classes"]] == ["a", "b"]


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


def test_notebook_card(page):
    card = result_of()._repr_html_()
    assert card.startswith('<div class="isthmus-card"')
    assert "<h1>2 documents labelled" in card
    assert ":root" not in card  # its colours stay inside the card
    hostile = isthmus.label(["kind staff", "fast bike"] * 5, [HOSTILE, "b"] * 5, ["staff", "bike"], method="nbc")
    assert "<script" not in hostile._repr_html_()


def test_single_pictures():
    result = result_of([f"staff {word}" for word in ("kind", "bike", "fast", "bike fast", "kind kind")])
    for name in ("confidence", "map", "moved_words", "reading", "shares"):
        assert name in repr(result.plot)
        assert getattr(result.plot, name)().to_dict()["data"]


def test_what_answers_changed_is_shown(tmp_path):
    result = result_of(["kind staff", "fast bike"] * 20)
    assert 'id="taught"' not in result.report(tmp_path / "before.html").read_text("utf-8")
    answers = {"document": list(range(1, 31)), "true_label": ["a"] * 30}
    text = section(result.teach(answers, name="first").report(tmp_path / "after.html").read_text("utf-8"), "check")
    assert re.search(r'first</td><td class="n">30</td><td class="n">30</td>', text)
    assert 'id="reliability"' in text
    curve = text.partition('id="learning"')[2].partition("</figure>")[0]
    sizes = [int(size) for size in re.findall(r'<tr><td class="n">(\d+)</td><td class="n">[\d.]+', curve)]
    assert sizes[0] == 0
    assert sizes == sorted(sizes)
    assert sizes[-1] <= 30


def test_the_command_breaks_down_by_a_column_and_names_its_files(tmp_path):
    pairs = [(f"kind staff no {i}", f"fast bike no {i}") for i in range(20)]  # of thirty or more something is expected
    texts = [text for pair in pairs for text in pair]
    write_rows(tmp_path / "s.csv", {"text": texts, "label": LABELS * 4})
    write_rows(tmp_path / "t.csv", {"text": [f"{text} now" for text in texts], "year": [2019, 2020] * 20})
    page, out = tmp_path / "p.html", tmp_path / "out.csv"
    command = ["label", str(tmp_path / "s.csv"), str(tmp_path / "t.csv"), "--method", "nbc", "-o", str(out), "--quiet"]
    assert run_command([*command, "--report", str(page), "--by", "year"]) == 0
    text = page.read_text("utf-8")
    assert re.findall(r'<th scope="row">(\d{4})</th><td class="n">(\d+)</td>', section(text, "by")) == [
        ("2019", "20"),
        ("2020", "20"),
    ]
    assert f"isthmus check {out}" in section(text, "check")
    assert run_command([*command, "--force", "--report", str(page), "--by", "month"]) == 2
    assert run_command([*command, "--force", "--by", "year"]) == 0, "the record has the shares, without a report"
    record = json.loads((tmp_path / "run.json").read_text("utf-8"))
    rows = record["class_shares_by"]["rows"]
    assert [(row["value"], row["class"], row["labels"]) for row in rows] == [
        ("2019", "a", 1.0), ("2019", "b", 0.0), ("2020", "a", 0.0), ("2020", "b", 1.0)
    ]  # fmt: skip
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in [*rows, *record["class_shares"]])
    # the figure in the page is that of the record
    assert interval(rows[0]["estimate"], rows[0]["low"], rows[0]["high"]) in section(text, "by")


def test_the_shift_is_measured_once_for_the_same_texts_and_labels(monkeypatch):
    measured = []
    nothing = {"verdict": "none", "findings": []}
    monkeypatch.setattr(summary, "measure_shift", lambda *given, **named: measured.append(named) or nothing)
    source, target = [f"kind staff {i}" for i in range(20)], ["a text that no other test has"]
    for labels, times in (([0, 1] * 10, 1), ([0, 1] * 10, 1), ([False, True] * 10, 2), ([1, 0] * 10, 3)):
        result = SimpleNamespace(source_texts=source, source_labels=labels, texts=target, settings={})
        assert summary.shift_facts(result)["verdict"] == "none"
        assert len(measured) == times, f"labels {labels[:2]}"
    result.settings = {"language": "de"}
    summary.shift_facts(result)
    assert [given["language"] for given in measured] == ["auto"] * 3 + ["de"], "in the language that was named"


def test_one_document_is_spoken_of_as_one():
    result = result_of(["bike"])
    result.expected_accuracy, result.needs_review[:] = AccuracyEstimate(0.99, 0.9, 1.0), True
    assert (
        outcome_figures(result).headline
        == "Nearly all of the labels are right, if your classes cover the target. Read it."
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (0.004, "as in the source"),
        (0.006, "+1 point"),
        (-0.006, "−1 point"),
        (0.02, "+2 points"),
        (-0.02, "−2 points"),
    ],
)
def test_changes_are_told_in_points(change, said):
    assert points(change) == said


def test_a_list_that_holds_all_documents_needs_no_note(monkeypatch):
    monkeypatch.setattr("isthmus.report.listing.LIST_CAP", 3)
    assert cap_note(SimpleNamespace(texts=["x"] * 3)) == ""
    assert cap_note(SimpleNamespace(texts=["x"] * 4)).startswith("The list holds 3 of 4 documents")


def test_where_there_is_one_class_there_is_no_next_best():
    result = result_of(["staff", "bike"])
    result.classes, result.labels = np.array(["a"]), np.array(["a", "a"])
    result.probabilities = np.ones((2, 1))
    data = list_data(result, Collection.from_texts(result.texts), None, None)
    assert (data["label"], data["second"]) == ([0, 0], [-1, -1])
    shown = quote(result, SimpleNamespace(tinted=lambda i, size: []), Collection.from_texts(result.texts), 1)
    assert (shown["label"], shown["second"], shown["id"]) == ("a", "", "2")


def test_the_least_sure_documents_of_the_list_get_near_ones(monkeypatch):
    """Of the three in the list the two least sure; the fourth, less sure than all, is not in it."""
    monkeypatch.setattr("isthmus.report.listing._NEIGHBOURS", 2)
    monkeypatch.setattr("isthmus.report.listing.listed_rows", lambda result: np.array([1, 2, 3]))
    result = result_of(["kind bike", "kind staff", "fast bike", "kind staff"])
    result.confidence[:] = [0.1, 0.9, 0.4, 0.3]
    listed = list_data(result, Collection.from_texts(result.texts), Words(result).space, None)
    near = [{listed["source"]["text"][i] for i in found} for found in listed["near"]]
    assert listed["row"] == [2, 3, 4]
    assert near == [set(), {"fast bike"}, {"kind staff"}]


@pytest.mark.parametrize(("n", "quotes"), [(8, 2), (9, 1)])
def test_of_many_classes_one_document_each_is_quoted(n, quotes):
    names = [f"class {i}" for i in range(n)]
    source = [f"{sign * 4} {sign * 5} {sign * 6}" for sign in "bcdfghjkl"[:n] for _ in range(4)]
    labels = [name for name in names for _ in range(4)]
    result = isthmus.label(source, labels, [f"{text} now" for text in source], method="nbc")
    result.needs_review[:] = np.arange(len(result.texts)) % 4 > 1
    result.descriptions = {"class 1": "what was said of it"}
    target = Collection.from_texts(result.texts)
    cards = class_cards(result, Words(result), class_table(result), target)
    said = {card["class"]: card["description"] for card in cards}
    assert said == dict.fromkeys(names, "") | result.descriptions
    assert {(len(card["sure"]), len(card["doubtful"])) for card in cards} == {(quotes, quotes)}
    for card in cards:
        assert {shown["label"] for shown in card["sure"] + card["doubtful"]} == {card["class"]}


def test_answers_without_what_was_learned_have_no_outlook():
    """A file of an earlier version has answers, and nothing about what they bring."""
    result = result_of(["kind staff", "fast bike"] * 20)
    assert taught_facts(result) is None
    taught = result.teach({"document": [1, 2], "true_label": ["a", "b"]})
    assert taught_facts(taught)["outlook"] == taught.learned.outlook
    taught.learned = None
    facts = taught_facts(taught)
    assert (facts["outlook"], facts["curve"], len(facts["history"])) == (None, None, 1)


def test_how_reliable_confidence_was_is_not_told_where_an_answer_named_a_new_class():
    read = made_answers(list(range(20)), ["a"] * 15 + ["b"] * 5, ["asked"] * 20, [""] * 20, ["answers"] * 20)
    result = SimpleNamespace(known_answers=SimpleNamespace(read=read), vote=np.array([[0.75, 0.25]] * 20))
    result.classes = np.array(["a", "b"])
    (row,) = reliability_rows(result)
    assert (row["n"], row["confidence"], row["right"]) == (20, pytest.approx(0.75), pytest.approx(0.75))
    result.classes = np.array(["a", "b", "parking"])
    assert reliability_rows(result) == []
    result.vote = None  # a file of an earlier version
    assert reliability_rows(result) == []


# Groupings


def test_the_line_on_a_grouping_names_two_new_clusters_and_counts_the_others():
    known = {"aligned_to": "staff", "name": "staff", "size": 9}
    new = [{"aligned_to": None, "name": name, "size": size} for name, size in (("a", 3), ("b", 2), ("c", 1))]
    named = "“a” (3 documents), “b” (2 documents)"
    for clusters, said in (
        ([known, known], "2 clusters, and each follows a group of the source."),
        ([known, *new[:1]], "2 clusters, one of them new: “a” (3 documents)."),
        ([known, *new[:2]], f"3 clusters, 2 of them new: {named}."),
        ([known, *new], f"4 clusters, 3 of them new: {named} and 1 more."),
        (new, f"3 clusters, all new: {named} and 1 more."),
        (new[2:], "1 cluster, new: “c” (1 document)."),
    ):
        assert cluster_verdict(clusters) == said


def test_a_grouping_says_whose_documents_it_is_about_where_they_have_a_name():
    result = SimpleNamespace(model=SimpleNamespace(classes_=["a"]), texts=["x", "y"])
    rest = ", guided by 1 group of the source."
    for target, name in ((None, ""), (Collection.from_texts(["x"], name=None), ""),
                         (Collection.from_texts(["x"], name="t.csv"), " of t.csv")):  # fmt: skip
        assert about(result, target) == f"2 documents{name}{rest}"


def test_the_map_of_a_large_grouping_shows_some_documents_in_their_own_clusters(monkeypatch):
    monkeypatch.setitem(summary.figures.MAPPED, "target", 7)
    monkeypatch.setattr("isthmus.report.cluster_page._LISTED", 3)
    source = ["kind staff smiles", "rude staff frowns", "fast bike brakes", "slow bike wheels"] * 3
    target = [f"{text} {i}" for i in range(5) for text in ("staff smiles", "bike brakes", "staff frowns kind", "bike")]
    result = isthmus.cluster(source, ["a", "a", "b", "b"] * 3, target, n_clusters=2)
    cards = cluster_cards(result)
    drawn = cluster_map(result, cards)
    assert (len(drawn["points"]), drawn["left_out"]) == (7, 13)
    assert drawn["table"] == drawn["points"][:3]
    own = dict(zip(target, (result.names[i] for i in result.labels), strict=True))
    colour = {card["name"]: card["colour"] for card in cards}
    for point in drawn["points"]:
        assert point["cluster"] == own[point["text"]], point["text"]
        assert point["colour"] == colour[point["cluster"]], point["text"]
