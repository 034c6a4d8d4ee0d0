"""The suite "projection": sizes of its curve, and its table of times."""

from isthmus.features.projection import WEIGHTINGS
from isthmus_bench.suites.projection import SUITE, _sizes_below, adaptation_cells, time_table


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


def test_the_study_of_adaptation_has_every_setting_beside_its_unadapted_one():
    cells = adaptation_cells()
    settings = [(cell["weighting"], cell["min_df"]) for cell in cells]
    for weighting in WEIGHTINGS:
        assert (weighting, 1) in settings, f"{weighting} is not in the study"
    assert any(min_df > 1 for _, min_df in settings), "rare terms are never left out"
    for setting in dict.fromkeys(settings):
        own = [cell["rounds"] for cell, other in zip(cells, settings, strict=True) if other == setting]
        assert own[0] == 0, f"{setting} begins with {own[0]} rounds; its gain needs the rule unadapted first"
        assert max(own) >= 8, f"{setting} ends at {max(own)} rounds"
