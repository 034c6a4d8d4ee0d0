"""How the slope of confidences and the caution of budgets are set: fits with known answers, and the table."""

import numpy as np
import pytest

from isthmus._math.confidence import AccuracyEstimate
from isthmus.choose.stages.apply import BUDGET
from isthmus_bench.suites.trust_order import CAUTIONS, Margins, fit_slope, judge, order_table


def made(pair, slope, kind="plain", n=4_000, shift=0.5):
    rng = np.random.default_rng(len(pair))
    margins = rng.exponential(2.0, n)
    sure = 1 / (1 + np.exp(-shift - slope * margins))
    expected = AccuracyEstimate(float(sure.mean()), float(sure.mean()) - 0.1, 1.0)
    return Margins(pair, kind, margins, rng.random(n) < sure, np.full(n, "", dtype=object), expected)


def test_the_slope_that_made_the_labels_is_found():
    pairs = [made(name, 0.7) for name in ("ng4", "rcv1", "books-kitchen")]
    assert fit_slope(pairs) == pytest.approx(0.7, abs=0.05)


def test_groups_of_corpora_count_alike():
    many = [made(name, 0.4) for name in ("ng4", "ng5", "ng5r", "ngdate")]
    found = fit_slope([*many, made("rcv1", 1.2)])
    assert found == pytest.approx(fit_slope([many[0], made("rcv1", 1.2)]), abs=0.1)


def test_more_caution_lets_less_pass_and_a_sound_expectation_keeps_its_budget():
    passed, wrong = zip(*(judge(made("ng4", 0.7), 0.7, caution) for caution in CAUTIONS), strict=True)
    assert list(passed) == sorted(passed, reverse=True)
    assert wrong[0] == pytest.approx(0.1, abs=0.02)
    assert max(wrong[1:]) < 0.1


def test_the_table_has_slopes_and_cautions_for_both_kinds():
    pairs = [made("ng4", 0.7), made("rcv1", 0.7), made("ng4", 0.7, kind="thin40")]
    rows = order_table(pairs)
    assert [row["name"] for row in rows[:3]] == ["all", "without news", "without newsgroups"]
    assert {row["part"] for row in rows[3:]} == {"plain", "thin40"}
    assert 0.5 < BUDGET["slope"] < 1.5
