"""Names of classes as a voter."""

import numpy as np
import pytest

from isthmus.choose import Evidence
from isthmus.choose.names import add_named_classes, add_names, why_names_stay_out
from isthmus.classify.names.settling import NameAgreement

TOPICS = ["sport", "business"]


def back(reverse):
    return Evidence(0.6, 0.6, reverse, 0.8)


@pytest.mark.parametrize(
    ("names", "documents", "may"),
    [(0.5, 0.6, True), (0.3, 0.3, True), (0.05, 0.0, False), (0.3, 0.9, False), (0.0, 0.0, False)],
)
def test_names_vote_where_they_tell_the_source_apart(names, documents, may):
    why = why_names_stay_out(TOPICS, NameAgreement(names, documents), back(0.7), back(0.7), 500)
    assert (why == "") is may


def test_their_labels_must_lead_back_to_the_source_unless_it_is_thin():
    agreement = NameAgreement(0.6, 0.6)
    assert "fewer of the source" in why_names_stay_out(TOPICS, agreement, back(0.6), back(0.8), 500)
    assert why_names_stay_out(TOPICS, agreement, back(0.78), back(0.8), 500) == ""
    assert why_names_stay_out(TOPICS, agreement, back(0.6), back(0.8), 40) == ""
    assert why_names_stay_out(TOPICS, agreement, None, None, 500) == ""


def test_verdicts_and_codes_stay_out():
    assert "verdicts" in why_names_stay_out(["positive", "negative"], NameAgreement(0.6, 0.6), None, None, 40)
    assert "two classes" in why_names_stay_out(["C13", "C14"], None, None, None, 40)


def test_names_count_a_third():
    vote, named = np.array([[0.6, 0.4]]), np.array([[0.2, 0.8]])
    odds = (0.6 / 0.4) ** (2 / 3) * (0.2 / 0.8) ** (1 / 3)
    np.testing.assert_allclose(add_names(vote, named), [[odds / (1 + odds), 1 / (1 + odds)]], rtol=1e-5, atol=1e-8)


def test_added_classes_take_their_part_and_the_vote_shares_out_the_rest():
    rng = np.random.default_rng(0)
    classes = np.array(["a", "b", "c", "d"])
    vote = rng.dirichlet(np.ones(2), size=20)
    named = rng.dirichlet(np.ones(4), size=20)
    found = add_named_classes(vote, classes[[0, 2]], named, classes)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found[:, [1, 3]], named[:, [1, 3]], rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found[:, 0] / found[:, 2], vote[:, 0] / vote[:, 1], rtol=1e-5, atol=1e-8)


def test_without_added_classes_the_vote_stays():
    vote = np.array([[0.25, 0.75]])
    classes = np.array(["a", "b"])
    np.testing.assert_allclose(
        add_named_classes(vote, classes, np.array([[0.9, 0.1]]), classes), vote, rtol=1e-5, atol=1e-8
    )
