"""The same result in the command, the card and the report: the same figures and next step (workbench: its folder)."""

import re
from html import unescape

import numpy as np
import pytest

import isthmus
from isthmus.cli.app import run_command
from isthmus.corpus import load_sample, write_rows
from isthmus.report import write_label_report
from isthmus.report.hero import outcome_figures
from isthmus.wording import ClassShare, Outcome, Passing, Share, Step, exact_percent, interval, percent

pytest.importorskip("jinja2")


def plain(markup: str) -> str:
    """Text of a page without its markup, scripts and style."""
    text = re.sub(r"<(style|script).*?</\1>", " ", markup, flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("places")
    source, target, _ = load_sample()
    write_rows(str(folder / "s.csv"), {"text": source.texts[:150], "label": source.labels[:150]})
    write_rows(str(folder / "t.csv"), {"text": target.texts[:90]})
    return folder


@pytest.fixture(scope="module")
def result(files):
    source, target, _ = load_sample()
    return isthmus.label(source.texts[:150], source.labels[:150], target.texts[:90], method="nbc")


@pytest.fixture(scope="module")
def command(files, result):
    """Messages of ``isthmus label`` on the same texts."""
    from contextlib import redirect_stderr
    from io import StringIO

    stream = StringIO()
    with redirect_stderr(stream):
        paths = [str(files / name) for name in ("s.csv", "t.csv", "o.csv")]
        assert run_command(["label", *paths[:2], "--method", "nbc", "-o", paths[2]]) == 0
    return " ".join(stream.getvalue().split())


def places(result, command, files):
    page = write_label_report(result, files / "page.html", force=True).read_text(encoding="utf-8")
    return {"command": command, "card": plain(result._repr_html_()), "report": plain(page)}


def test_four_places_show_the_same_figures_and_the_same_next_step(result, command, files):
    found = outcome_figures(result)
    assert found.step is not None
    accuracy = interval(found.right.estimate, found.right.low, found.right.high)
    for place, text in places(result, command, files).items():
        assert found.headline in text, place
        assert accuracy in text, place
        assert str(found.step).removesuffix(".") in text, place
        for row in found.classes:
            assert str(row) in text, (place, row.name)


def test_one_sample_size_is_recommended(result, command, files):
    step = outcome_figures(result).step
    report = places(result, command, files)["report"]
    n = step.read if step.at_random else min(100, len(result.texts))
    assert f"result.sample({n})" in report
    assert {int(number) for number in re.findall(r"result\.sample\((\d+)\)", report)} == {n}


def test_no_percent_sign_stands_after_a_space(result, command, files):
    for place, text in places(result, command, files).items():
        assert not re.search(r"\d %", text), place


def test_a_class_has_one_proportion(result, command, files):
    """The tile, the card of the class and the table showed the counted and the estimated proportion side by side."""
    report = places(result, command, files)["report"]
    for row in outcome_figures(result).classes:
        shown = re.findall(rf"(?:{re.escape(row.name)}|estimated proportion) (\d+% \(\d+–\d+%\))", report)
        assert str(row) in shown


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        ((0.882, 0.75, 0.95), "88% (75–95%)"),
        ((0.5,), "50%"),
        ((None,), "not known"),
        ((1.0, 0.84, 1.0), "100% (84–100%)"),
    ],
)
def test_one_format_for_a_share_with_its_interval(figures, text):
    assert interval(*figures) == text


def test_percent_rounds_and_a_budget_does_not():
    assert (percent(0.126), percent(0.126, 1), exact_percent(0.025)) == ("13%", "12.6%", "2.5%")


def outcome(**more):
    usual = {
        "documents": 60, "review": 23, "right": Share(0.88, 0.75, 0.95), "shares_basis": "expected", "learned_from": 90,
        "classes": (ClassShare("staff", 40, 0.66, 0.6, 0.7), ClassShare("price", 20, 0.34, 0.3, 0.4)),
        "wrong_finished": 0.04, "wrong_unread": 0.06,
    }  # fmt: skip
    return Outcome(**(usual | more))


@pytest.mark.parametrize(
    ("more", "headline"),
    [
        ({}, "About 9 in 10 labels are right, if your classes cover the target. Read these 23 first."),
        ({"review": 0}, "About 9 in 10 labels are right, if your classes cover the target. None is marked for review."),
        ({"review": 60}, "About 9 in 10 labels are right, if your classes cover the target. Read them all."),
        ({"review": 1}, "About 9 in 10 labels are right, if your classes cover the target. Read this one first."),
        ({"right": Share(0.2, 0.1, 0.3, checked=50)}, "Few labels are right. Read these 23 first."),
        ({"right": Share(None)}, "60 documents labelled; how many are right was not estimated. Read these 23 first."),
        ({"documents": 900, "review": 300, "right": Share(0.97, basis="random")},
         "Nearly all of the labels are right. 300 of 900 need review."),
    ],
)  # fmt: skip
def test_the_headline_states_the_accuracy_and_the_reading(more, headline):
    assert outcome(**more).headline == headline


@pytest.mark.parametrize("share", np.linspace(0, 1, 21))
def test_shares_in_words_are_near_the_truth(share):
    numbers = [int(number) for number in re.findall(r"\d+", outcome(right=Share(share), review=0).headline)]
    if numbers:
        assert abs(numbers[0] / numbers[1] - share) < 0.06


@pytest.mark.parametrize(
    ("right", "note"),
    [
        (Share(None), "Not estimated. Check a sample to know."),
        (Share(None, reason="too few"), "Not estimated (too few). Check a sample to know."),
        (Share(0.8, 0.7, 0.9), "The interval holds in 9 of 10 cases; judged without true labels."),
        (Share(0.8, 0.7, 0.9, 0.95, checked=40),
         "The interval holds in 95 of 100 cases; measured on 40 documents checked at random."),
    ],
)  # fmt: skip
def test_the_note_of_the_accuracy_names_its_basis(right, note):
    assert right.note == note


@pytest.mark.parametrize(
    ("basis", "words"),
    [
        ("check", "95 of 100 cases, judged without true labels"),
        ("sample", "9 of 10 cases, corrected by answers to documents drawn at random"),
        ("expected", "9 of 10 cases, judged without true labels"),
        ("none", "their error is not known"),
    ],
)
def test_the_note_on_proportions_names_their_basis(basis, words):
    assert outcome(shares_basis=basis).shares_note.endswith(f"{words}.")


def test_the_note_about_the_others_names_both_errors_or_the_guarantee():
    assert "4% of the finished file, 6% of the unread labels" in outcome().review_note
    passing = Passing(30, 60, 20, 40, 0.05, 0.95, more=25, then=45)
    assert "guarantee" in outcome(passing=passing).review_note
    assert {"5%", "95%"} <= set(re.findall(r"\d+%", passing.note))
    assert all(number in passing.note for number in ("40 documents", "20 of them", "25 more", "45"))
    assert "not known" in outcome(right=Share(None, reason="too few")).review_note


@pytest.mark.parametrize(
    ("step", "figures"),
    [
        (Step(100, 0, 0, 9), ["100", "9 minutes"]),
        (Step(50, 200, 80, 5), ["50", "200", "80"]),
        (Step(23, 23, 0, 3, at_random=False, why="so that the rest can pass unread"), ["23", "3 minutes", "unread"]),
    ],
)
def test_a_step_names_its_figures(step, figures):
    assert all(figure in str(step) for figure in figures)


def test_an_empty_document_does_not_count_in_the_proportions():
    source = ["kind staff", "great bike", "polite staff", "fast bike"] * 10
    result = isthmus.label(
        source, ["staff", "product"] * 20, ["rude staff", "slow bike", "", "kind staff"], method="nbc"
    )
    found = outcome_figures(result)
    assert sum(row.labels for row in found.classes) == 3
    assert np.isclose(sum(row.estimate for row in found.classes), 1)
