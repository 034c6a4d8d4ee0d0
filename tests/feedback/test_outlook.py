"""What more answers would bring: never more than is left to gain, by answers drawn at random if there are enough."""

from types import SimpleNamespace

import numpy as np
import pytest

from isthmus._math.confidence import AccuracyEstimate
from isthmus.feedback import teaching
from isthmus.feedback.accounting import Expectation, Outlook
from isthmus.feedback.whole import WholeGroups


@pytest.fixture
def account(monkeypatch):
    """What answers to a quarter of the documents promise by a curve that is given, and what that was drawn from."""

    def say(at_random, hits, drawn):
        n, seen = len(at_random), []
        monkeypatch.setattr(teaching, "expect_accuracy", lambda *given, **more: SimpleNamespace(estimate=0.8))
        monkeypatch.setattr(teaching, "right_by_size", lambda *given: hits)
        monkeypatch.setattr(teaching, "outlook", lambda *given: seen.append(given) or drawn)
        monkeypatch.setattr(teaching, "learning_curve", lambda *given: [])
        fit = teaching.AnswerFit(
            stage=SimpleNamespace(correction=SimpleNamespace(held_out=np.tile([0.9, 0.1], (n, 1)))),
            classes=np.array(["a", "b"]),
            rows=np.zeros((4 * n, 1)),
            vote=np.zeros((4 * n, 2)),
            indices=np.arange(n),
            codes=np.zeros(n, dtype=int),
            at_random=at_random,
        )
        nowhere = np.zeros(4 * n, dtype=bool)
        whole = WholeGroups(np.zeros(0, dtype=int), AccuracyEstimate(0.5, 0.0, 1.0))
        return teaching.account(fit, np.full(4 * n, 0.9), nowhere, nowhere[:n], 0, whole)[1], seen

    return say


@pytest.mark.parametrize(("drawn", "said"), [(0.9, 0.2), (0.1, 0.075)])
def test_the_gain_is_that_of_unanswered_documents_and_ends_where_all_labels_are_right(account, drawn, said):
    hits = {0: np.zeros(25), 25: np.ones(25)}
    ahead, _ = account(np.zeros(25, dtype=bool), hits, Outlook(50, drawn, 0.04))
    assert ahead["gain"] == pytest.approx(said)  # three quarters of the documents are not answered
    assert ahead["margin"] == pytest.approx(0.03)


@pytest.mark.parametrize(("n_random", "counted"), [(20, range(5, 25)), (19, range(25))])
def test_twenty_answers_drawn_at_random_speak_alone(account, n_random, counted):
    _, seen = account(np.arange(25) >= 25 - n_random, {0: np.arange(25)}, Outlook(50, 0.1, 0.1))
    ((hits, n_answers, _, weights),) = seen
    assert hits[0].tolist() == list(counted)
    assert n_answers == 25
    assert (weights is None) == (n_random == 20), "all kinds of answers together are weighed by bands"


def test_documents_of_whole_groups_are_no_evidence_and_leave_all_columns_alike(monkeypatch):
    """Twelve answers, of which two came with their whole group: everything about the others stays in one order."""
    given = {}

    def note(*columns, **more):
        given.update(more, columns=[np.asarray(column).tolist() for column in columns])
        return Expectation(0.5, 0.4, 0.6, "weighted", 10)

    monkeypatch.setattr(teaching, "expect_accuracy", note)
    rng = np.random.default_rng(0)
    held_out = rng.dirichlet([2, 2, 2], 12)  # the third class was named by answers alone
    codes = rng.integers(0, 3, 12)
    places = rng.permutation(30)[:12]
    documents = places[[3, 7]]
    at_random = np.arange(12) % 4 == 0
    in_group, from_group = np.zeros(30, dtype=bool), np.arange(12) % 2 == 0
    in_group[[row for row in range(30) if row not in places][:4]] = True
    fit = SimpleNamespace(
        stage=SimpleNamespace(correction=SimpleNamespace(held_out=held_out)),
        codes=codes, indices=places, at_random=at_random, vote=np.zeros((30, 2)),
        answered=np.isin(np.arange(30), places),
    )  # fmt: skip
    confidence = rng.random(30)
    whole = WholeGroups(documents, AccuracyEstimate(0.9, 0.7, 1.0))
    expected, ahead = teaching.account(fit, confidence, in_group, from_group, 0, whole)
    left = [place for place in range(12) if place not in (3, 7)]
    said = held_out.argmax(axis=1)
    right, drawn, sure, others, population = given["columns"]
    assert right == [bool(said[i] == codes[i]) for i in left]
    assert drawn == [bool(at_random[i]) for i in left]
    assert sure == pytest.approx([held_out[i].max() for i in left])
    unread = [row for row in range(30) if row not in places]
    assert others == pytest.approx([confidence[row] for row in unread if not in_group[row]])
    assert given["in_groups"].tolist() == pytest.approx([confidence[row] for row in unread if in_group[row]])
    assert population == 28, "the documents of the group are counted apart"
    assert given["answered_in_groups"].tolist() == [bool(from_group[i] and said[i] < 2) for i in left]
    assert expected.estimate == pytest.approx(2 / 30 * 0.9 + 28 / 30 * 0.5)
    assert ahead is None
    few = WholeGroups(places[:3], whole.right)
    assert teaching.account(fit, confidence, in_group, from_group, 0, few) == (None, None), "nine were read: too few"
