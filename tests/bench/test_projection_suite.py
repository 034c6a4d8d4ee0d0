"""The suite "projection": the paper's own projection by hand, and its table of times."""

import numpy as np
import pytest

from isthmus._math.chi2 import count_terms
from isthmus.bench.suites.projection import SUITE, _sizes_below, paper_projection, time_table


def test_the_paper_s_projection_by_hand():
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.random((3, 8)).repeat(10, axis=0) * 2)
    codes = np.repeat([0, 1, 2], 10)
    found = paper_projection(count_terms(X, codes, 3))
    N = X.sum()
    for term in range(8):
        chi, ratios = [], []
        for c in range(3):
            a, b = X[codes == c, term].sum(), X[codes != c, term].sum()
            inside, outside = X[codes == c].sum() - a, X[codes != c].sum() - b
            chi.append(
                N * (a * outside - b * inside) ** 2 / ((a + inside) * (b + outside) * (a + b) * (inside + outside))
            )
            own, rest = (X[codes == c, term] > 0).sum(), (X[codes != c, term] > 0).sum()
            ratios.append((own + 0.5) / (10 + 1) / ((rest + 0.5) / (20 + 1)))
        kept = max(chi) >= 0.5 * sum(chi) - 1e-9
        assert found.term_class[term] == (int(np.argmax(chi)) if kept else -1)
        assert found.weight[term] == pytest.approx(max(ratios))


def test_terms_curve_never_shows_more_terms_than_there_are():
    assert _sizes_below(196_076)[-2:] == [60_000, 196_076]
    assert _sizes_below(200_001)[-2:] == [200_000, 200_001]


def test_times_stand_beside_the_best_traditional_svm():
    def row(method, value, train, predict, **more):
        facts = {"train_s": train, "predict_s": predict, "terms": 9}
        return {"task": "t", "method": method, "metric": "micro_f1", "value": value, **facts, **more}

    rows = [
        row("svm-selected", 0.6, 4.0, 2.0, cut=10),
        row("svm-selected", 0.7, 8.0, 4.0, cut=20),
        row("projection-paper", 0.65, 2.0, 1.0, cut="rule"),
        {**row("projection-paper", 0.6, 2.0, 1.0), "metric": "macro_f1"},
    ]
    table = time_table(rows)
    assert [r["method"] for r in table] == ["svm-selected 20", "projection-paper rule"]
    assert (table[1]["of_svm_training"], table[1]["of_svm_labelling"]) == (0.25, 0.25)
    assert time_table(rows[2:]) == []


def test_the_paper_s_setting_is_in_the_table():
    assert "projection-paper" in SUITE.default_methods
