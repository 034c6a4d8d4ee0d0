"""What more answers would bring: never more than is left to gain."""

from types import SimpleNamespace

import numpy as np
import pytest

from isthmus.feedback import teaching
from isthmus.feedback.accounting import Outlook


@pytest.mark.parametrize(("drawn", "said"), [(0.9, 0.2), (0.1, 0.075)])
def test_the_gain_is_that_of_unanswered_documents_and_ends_where_all_labels_are_right(monkeypatch, drawn, said):
    n = 25
    monkeypatch.setattr(teaching, "expect_accuracy", lambda *given, **more: SimpleNamespace(estimate=0.8))
    monkeypatch.setattr(teaching, "right_by_size", lambda *given: {0: np.zeros(n), n: np.ones(n)})
    monkeypatch.setattr(teaching, "outlook", lambda *given: Outlook(50, drawn, 0.04))
    monkeypatch.setattr(teaching, "learning_curve", lambda *given: [])
    fit = teaching.AnswerFit(
        model=SimpleNamespace(correction=SimpleNamespace(held_out=np.tile([0.9, 0.1], (n, 1)))),
        rows=np.zeros((4 * n, 1)),
        vote=np.zeros((4 * n, 2)),
        places=np.arange(n),
        codes=np.zeros(n, dtype=int),
        at_random=np.zeros(n, dtype=bool),
    )
    _, ahead = teaching.account(fit, np.full(4 * n, 0.9), np.zeros(4 * n, dtype=bool), np.zeros(n, dtype=bool), 0)
    assert ahead["gain"] == pytest.approx(said)  # three quarters of the documents are not answered
    assert ahead["margin"] == pytest.approx(0.03)
