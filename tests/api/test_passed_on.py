"""What the functions hand on: each side's vectors to its own texts, the mean confidence to the expectation."""

import re
from dataclasses import replace

import numpy as np
import pytest

import isthmus
from isthmus.api import steps as module
from isthmus_bench.shifted import make_shifted_texts


def test_vectors_belong_to_the_texts_of_their_side():
    """Source and target swapped on the way: with sides of unequal size, and the vectors alone telling the classes."""
    source, target = [f"paper {i}" for i in range(12)], [f"sheet {i}" for i in range(7)]
    labels = ["near", "far"] * 6
    rng = np.random.default_rng(0)

    def place(names):
        corners = np.array([[1.0, 0.0] if name == "near" else [0.0, 1.0] for name in names])
        return corners + rng.normal(0, 0.05, corners.shape)

    truth = ["near", "near", "far", "far", "near", "far", "far"]
    result = isthmus.label(source, labels, target, method="vectors", vectors=(place(labels), place(truth)), min_df=1)
    assert result.labels.tolist() == truth


def test_a_named_method_is_judged_by_the_mean_of_its_confidences(monkeypatch):
    """The mean over classes instead of documents."""
    given = []
    estimate = module.estimate_accuracy

    def note(scorer, labels, confidence, *rest, **options):
        given.append(confidence)
        return estimate(scorer, labels, confidence, *rest, **options)

    monkeypatch.setattr(module, "estimate_accuracy", note)
    monkeypatch.setattr(module, "find_power", lambda probabilities, accuracy: 1.0)
    made = make_shifted_texts(60, 45, n_classes=3, random_state=2)
    result = isthmus.label(made.source_texts, made.source_labels, made.target_texts, method="nbc")
    assert given[0] == pytest.approx(result.probabilities.max(axis=1).mean(), abs=1e-9)


@pytest.mark.parametrize("n_novel", [0, 2])
def test_the_card_of_a_grouping_names_what_is_new(n_novel):
    """By name and size in its headline; without new groups it says that each follows the source."""
    made = make_shifted_texts(90, 120, n_classes=3, n_novel=n_novel, random_state=1)
    result = isthmus.cluster(made.source_texts, made.source_labels, made.target_texts, 3 + n_novel)
    new = [name for name, match in zip(result.names, result.alignment, strict=True) if match.group is None]
    assert bool(new) == (n_novel > 0)
    headline = re.search(r"<h1>(.*?)</h1>", result._repr_html_())[1]
    assert ("each follows a group of the source" in headline) == (n_novel == 0)
    for name in new:
        size = int((np.asarray(result.labels) == result.names.index(name)).sum())
        assert f"“{name}” ({size} documents)" in headline, f"the headline says {headline}"


def test_documents_of_a_new_group_are_neither_promised_nor_drawn_nor_passed():
    """400 of 600 documents, the surest, are in a new group: the next step, a draw and a check leave them out."""
    made = make_shifted_texts(60, 600, n_classes=2, random_state=0)
    result = isthmus.label(made.source_texts, made.source_labels, made.target_texts, method="nbc", language="en")
    inside = np.arange(600) < 400
    result.novel_group = np.where(inside, "1", "").astype(object)
    result.confidence = np.where(inside, 0.99, np.linspace(0.8, 0.98, 600))
    result.needs_review = np.ones(600, dtype=bool)
    step = result.next_step()
    assert 400 <= step.then < step.now == 600, f"forecast {step}"
    drawn = np.array(result.sample(100, budget=0.1)["document"]) - 1
    assert len(drawn) == 100
    assert not inside[drawn].any()
    found = result.check(drawn + 1, result.labels[drawn], budget=0.1)
    assert found.guarantee.eligible == 200
    assert found.guarantee.passes.any()
    assert not (found.guarantee.passes & inside).any()
    assert result.needs_review[inside].all()


def test_the_language_that_was_named_is_that_of_teaching_and_of_new_groups():
    """Short texts without small words look English, where "häuser" is no form of "haus"."""
    source, target = ["auto motor", "haus garten"] * 6, ["haus dach", "auto rad"] * 4
    result = isthmus.label(source, ["car", "home"] * 6, target, "nbc", language="de", min_df=1, embed=False)
    assert "haus" in result.views.term_rows.analyze("Häuser"), "read as German for teaching"
    result = replace(result, novel=[{"group": "1"}], novel_group=np.array(["1", ""] * 4, dtype=object))
    assert result.groups(["Häuser", "Autos"]).tolist() == ["1", ""], "read as German for groups of later texts"


def test_documents_without_a_label_do_not_count_as_learned_when_caution_is_set(monkeypatch):
    """Of 120 documents of the source 60 have a label: so many were learned from."""
    given = []
    caution = module.budget_caution

    def note(expected, n_source, **options):
        given.append(n_source)
        return caution(expected, n_source, **options)

    monkeypatch.setattr(module, "budget_caution", note)
    made = make_shifted_texts(120, 45, n_classes=2, random_state=2)
    labels = [label if i % 2 else None for i, label in enumerate(made.source_labels)]
    isthmus.label(made.source_texts, labels, made.target_texts, method="nbc", language="en")
    assert given == [60]
