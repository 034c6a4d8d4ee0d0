"""What a result shows of itself: one line, and a card for notebooks."""

import isthmus
from isthmus._cards import card_style
from isthmus.exceptions import MissingExtraError

SOURCE = ["kind staff", "great bike", "polite staff", "fast bike"]
LABELS = ["<b>staff</b>", "product"] * 2
TARGET = ["rude staff", "slow bike", "old bike"]


def test_a_labelling_is_one_line_and_a_card():
    result = isthmus.label(SOURCE, LABELS, TARGET, method="nbc")
    line = repr(result)
    assert "\n" not in line
    assert line.startswith("LabelResult(3 texts, 2 classes, method='nbc'")
    card = result._repr_html_()
    assert "&lt;b&gt;staff&lt;/b&gt;" in card
    assert "<b>staff" not in card
    assert f">{int(result.needs_review.sum())} " in card
    share = next(row["estimate"] for row in result.class_shares() if row["class"] == "product")
    assert f"<bdi>product</bdi> {100 * share:.0f}%" in card, "the share is the estimate, not the count of labels"


def test_a_grouping_is_one_line_and_a_card():
    result = isthmus.cluster(SOURCE, LABELS, [*TARGET, "kind staff"], n_clusters=2, min_df=1)
    assert repr(result) == "GroupingResult(4 texts, 2 clusters, 0 of them new)"
    card = result._repr_html_()
    assert "2 clusters, and each follows a group of the source." in card
    assert "<bdi>product</bdi> 50%" in card
    assert "<b>staff" not in card


def test_without_the_extra_a_grouping_shows_the_same_facts_plainly(monkeypatch):
    def missing(result):
        raise MissingExtraError("A card needs jinja2.", code="missing-extra")

    monkeypatch.setattr("isthmus.report.cluster_card", missing)
    card = isthmus.cluster(SOURCE, LABELS, [*TARGET, "kind staff"], n_clusters=2, min_df=1)._repr_html_()
    assert "2 clusters of 4 texts" in card
    assert card.count("</bdi> 50%<") == 2


def test_a_diagnosis_is_one_line_and_its_card_leaves_out_what_is_fine():
    result = isthmus.diagnose(SOURCE * 20, LABELS * 20, ["la moto es muy buena", "el personal fue amable"] * 30)
    assert repr(result).startswith("Diagnosis('no-transfer', ")
    card = result._repr_html_()
    assert "do not transfer: languages" in card
    fine = [row["topic"] for row in result.findings if row["severity"] == 0]
    assert fine
    assert not any(f": {topic}<" in card for topic in fine)


def test_probabilities_of_later_texts_follow_the_classes():
    result = isthmus.label(SOURCE, LABELS, TARGET, method="nbc")
    chances = result.predict_proba(["a fast bike", "the staff"])
    assert chances.shape == (2, 2)
    assert [result.classes[i] for i in chances.argmax(axis=1)] == ["product", "<b>staff</b>"]


def test_what_was_taught_has_a_card():
    result = isthmus.label(SOURCE * 5, LABELS * 5, TARGET * 5, method="nbc")
    taught = result.teach({"document": [1, 2], "true_label": ["<i>new</i>", "product"]})
    card = taught.learned._repr_html_()
    assert '<p class="eyebrow">Taught</p><h1>2 answers learned' in card
    assert "&lt;i&gt;new&lt;/i&gt;" in card
    assert "<i>" not in card


def test_all_results_have_cards_in_one_style():
    result = isthmus.label(SOURCE * 5, LABELS * 5, TARGET * 5, method="nbc")
    said = {"document": [1, 1, 2], "true_label": ["product", "product", "product"], "by": ["kim", "lee", "kim"]}
    shown = [
        result,
        result.teach({"document": [1], "true_label": ["product"]}).learned,
        result.check({"document": [1, 2], "true_label": ["product", "product"]}),
        result.check_annotators(said),
        result.split("product", 2),
        isthmus.cluster(SOURCE * 5, LABELS * 5, TARGET * 5, n_clusters=2, min_df=1),
        isthmus.diagnose(SOURCE * 5, LABELS * 5, TARGET * 5),
    ]
    for one in shown:
        card = one._repr_html_()
        name = type(one).__name__
        assert card.startswith(f'<div class="isthmus-card" dir="auto"><style>{card_style()}</style>'), name
        assert card.count('<p class="eyebrow">') == 1, name
        assert card.count("<h1>") == 1, name
