"""The study of class shares: the reach that made the errors is found, and the table says what held."""

import numpy as np
import pytest

from isthmus._math.confidence import AccuracyEstimate
from isthmus.choose.prevalence import PROPORTIONS, ShareFacts
from isthmus_bench.suites import trust_shares
from isthmus_bench.suites.trust_shares import Miss, Shares, fit_reach, misses, shares_table


def made(pair, moved, kind="plain", n=400):
    """Two classes, labels right in 8 of 10 cases, and the share of the first off by ``moved``."""
    labels = np.where(np.arange(n) % 2 == 0, "a", "b").astype(object)
    probabilities = np.where(labels[:, None] == np.array(["a", "b"], dtype=object), 0.8, 0.2)
    facts = ShareFacts(["a", "b"], labels, probabilities, probabilities.max(axis=1), AccuracyEstimate(0.8, 0.7, 0.9))
    truth = labels.copy()
    wrong = np.flatnonzero(labels == "a")[: round(moved * n)]
    truth[wrong] = "b"
    return Shares(pair, kind, facts, truth, [np.arange(n) % 3 == part for part in range(3)])


def test_a_reach_is_what_the_error_needs_beyond_chance():
    miss = Miss(off=0.1, touched=0.2, chance=0.02)
    assert miss.needed == pytest.approx(np.sqrt(0.1**2 - (1.6449 * 0.02) ** 2) / 0.2, abs=1e-4)
    assert (miss.held(miss.needed + 1e-6), miss.held(miss.needed - 1e-3)) == (True, False)


def test_the_reach_holds_nine_labellings_in_ten():
    pairs = [made("ng4", 0.02)] * 9 + [made("ng4", 0.15)]
    assert fit_reach(pairs) == pytest.approx(misses(pairs[0])[0].needed)
    assert fit_reach([*pairs, made("ng4", 0.15)]) == pytest.approx(misses(pairs[-1])[0].needed)


def test_the_table_judges_each_group_by_the_reach_of_the_others(monkeypatch):
    monkeypatch.setattr(trust_shares, "DRAWS", 100)
    rows = shares_table([made("ng4", 0.12), made("rcv1", 0.02), made("rcv1", 0.12, kind="turned")])
    reach = {row["pair"]: row["reach"] for row in rows if "reach" in row}
    assert list(reach) == ["reach of all", "reach without news", "reach without newsgroups"]
    found = {(row["pair"], row.get("kind")): row for row in rows if "held" in row}
    assert found["rcv1", "plain"]["held"] == 1.0
    assert found["ng4", "plain"]["off"] == pytest.approx(0.12)
    assert found["ng4", "plain"]["answers: held"] >= 0.8
    assert found["mean of 1", "turned"]["off"] == pytest.approx(0.12)
    assert 0.2 < PROPORTIONS["reach"] < 1
