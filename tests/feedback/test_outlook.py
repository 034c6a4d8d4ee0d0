"""What more answers would bring: never more than is left to gain, by answers drawn at random if there are enough."""

from types import SimpleNamespace

import numpy as np
import pytest

from isthmus.feedback import teaching
from isthmus.feedback.accounting import Outlook


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
            model=SimpleNamespace(correction=SimpleNamespace(held_out=np.tile([0.9, 0.1], (n, 1)))),
            rows=np.zeros((4 * n, 1)),
            vote=np.zeros((4 * n, 2)),
            places=np.arange(n),
            codes=np.zeros(n, dtype=int),
            at_random=at_random,
        )
        nowhere = np.zeros(4 * n, dtype=bool)
        return teaching.account(fit, np.full(4 * n, 0.9), nowhere, nowhere[:n], 0)[1], seen

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
