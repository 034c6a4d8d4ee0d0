"""The suite "dual": its data, its rows, and what it must show on real data."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus_bench.baselines.least_squares import KernelLeastSquares
from isthmus_bench.speed.dual import CASES, compare, make_problem
from isthmus_bench.suites.dual import METHODS, ROW_LABELS, SUITE, TASKS, _drawn, _score, _split, toy_curves
from isthmus_bench.suites.dual_data import FIVE_GROUPS, TUNING_GROUPS, lexicon, newsgroup_data, toy_data, word_scores
from isthmus_bench.suites.dual_gaussian import GaussianFactor, GaussianManifold


def test_toy_data_is_the_paper_s():
    data = toy_data(0)
    X = data.X.toarray()
    assert X.shape == (400, 100)
    gap = X[:200].mean(axis=0) - X[200:].mean(axis=0)
    assert abs(gap[data.columns == 0].mean() - 0.2) < 0.03
    assert abs(gap[data.columns == 1].mean() + 0.2) < 0.03
    # One u for both halves, as printed: but for the few entries cut off at zero, the halves differ by 0.2 everywhere.
    gap = X[:, 50:] - X[:, :50]
    whole = np.minimum(X[:, 50:], X[:, :50]) > 0
    shift = np.repeat(np.where(data.rows == 0, 0.2, -0.2)[:, None], 50, axis=1)
    np.testing.assert_allclose(gap[whole], shift[whole])


def test_halves_drawn_apart_are_almost_separable():
    data = toy_data(0, apart=True)
    X = data.X.toarray()
    halves = X[:, data.columns == 0].mean(axis=1) - X[:, data.columns == 1].mean(axis=1)
    assert 0.92 < np.mean((halves > 0) == (data.rows == 0)) < 1.0


def test_word_scores_sum_to_mutual_information():
    rng = np.random.RandomState(0)
    rows = rng.randint(3, size=60)
    present = rng.rand(60, 4) < np.array([0.1, 0.5, 0.9, 0.3])
    scores = word_scores(sp.csr_matrix(present.astype(float)), rows)
    for w in range(4):
        information = 0.0
        for value in (False, True):
            for c in range(3):
                joint = np.mean((present[:, w] == value) & (rows == c))
                if joint:
                    information += joint * np.log(joint / np.mean(present[:, w] == value) / np.mean(rows == c))
        assert scores[w].sum() == pytest.approx(information)


def test_parameters_were_set_on_other_newsgroups():
    assert not set(FIVE_GROUPS) & set(TUNING_GROUPS)


def test_toy_rows_and_what_labelled_columns_do():
    data, labelled, few = toy_data(1), {}, []
    train, test, columns = _split(data, "toy", 1)
    for n_words in (0, 50):
        labelled = {int(j): int(data.columns[j]) for j in columns[:n_words]}
        model = GaussianManifold(width=2.1, word_width=4.1, gamma=0.001, mu=10.0, power=1)
        rows = _score(data, model, train, test, 5, labelled)
        assert [row["part"] for row in rows] == ["unlabelled"]
        few.append(rows[0]["value"])
    assert few[1] > few[0]
    groups = METHODS["nmf"].run(TASKS["toy"].load(None), 0)
    assert {row["documents"] for row in groups} == {5, 10, 15, 20, 25}


def test_supervised_baselines_ignore_words():
    data = toy_data(2)
    train, test, _ = _split(data, "toy", 2)
    plain = _score(data, KernelLeastSquares(width=4.0), train, test, 15, {})
    worded = _score(data, KernelLeastSquares(width=4.0), train, test, 15, {0: 1})
    assert plain[0]["value"] == worded[0]["value"]


def test_drawn_documents_are_balanced_and_as_many_as_asked():
    labels = ["a"] * 30 + ["b"] * 50
    hidden = _drawn(labels, 20, seed=3)
    left = np.setdiff1d(np.arange(80), hidden)
    assert len(left) == 20
    assert np.sum(left < 30) == 10
    assert len(_drawn(labels, 0, seed=3)) == 80


def test_every_pair_of_the_suite_exists():
    assert all(task in SUITE.tasks and method in SUITE.methods for task, method in SUITE.pairs)
    assert {"toy", "five-newsgroups", "lexicon-books-dvd"} <= set(SUITE.tasks)
    assert sum(task.startswith("lexicon-") for task in SUITE.tasks) == 12


def test_speed_cases_compare_equal_answers():
    measured = compare(60, 80)
    assert measured["difference"] < 1e-6
    assert measured["ours_s"] > 0
    assert ("manifold-5000x10000", "dual-manifold") in {(case.name, case.method) for case in CASES}
    assert make_problem(20, 30)[1].shape == (50, 2)


@pytest.mark.parametrize("kind", [GaussianManifold, GaussianFactor])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_other_losses_fall_and_label(kind, loss):
    rng = np.random.RandomState(0)
    classes = np.tile([0, 1], 30)
    X = rng.poisson(np.where(classes[:, None] == np.repeat([0, 1], 8), 1.8, 0.3)).astype(float)
    model = kind(loss=loss, word_labels={0: 0, 8: 1}).fit(X, np.where(np.arange(60) < 20, classes, -1))
    assert np.mean(model.transduction_[20:] == classes[20:]) > 0.85
    assert np.all(np.diff(model.history_) <= 1e-9 * abs(model.history_[0]))


@pytest.mark.data
def test_five_newsgroups_with_many_labelled_words(data_dir):
    data = newsgroup_data(data_dir)
    assert data.X.shape == (2000, 631)
    assert np.bincount(data.columns).argmax() == FIVE_GROUPS.index("talk.politics.mideast")
    train, test, columns = _split(data, "five-newsgroups", 0)
    words = {int(j): int(data.columns[j]) for j in columns[:500]}
    unlabelled, new = _score(data, GaussianManifold(random_state=0), train, test, ROW_LABELS, words)
    assert unlabelled["value"] > 0.81
    assert new["value"] > 0.74


@pytest.mark.data
def test_lexicon_has_no_word_in_both_lists(data_dir):
    words = lexicon(data_dir)
    assert "envious" not in words
    assert words["superb"] == "positive"
    assert words["awful"] == "negative"
    assert len(words) > 6700


def test_toy_curves_are_means_over_the_draws():
    def row(method, seed, value, words=5, **more):
        fields = {"task": "toy", "metric": "pair_f1", "part": "unlabelled", "documents": 10}
        return {**fields, "method": method, "seed": seed, "value": value, "words": words, **more}

    table = toy_curves(
        [
            row("dual-manifold", 0, 0.8),
            row("dual-manifold", 1, 0.6),
            row("nmf", 0, 0.5, words=0),
            row("nmf", 0, 0.9, words=0, task="five-newsgroups"),
            row("dual-factor", 0, 7.0, metric="outer_iterations"),
        ]
    )
    assert [(r["curve"], r["words"], r["draws"]) for r in table] == [
        ("toy: dual-manifold", "5 columns", 2),
        ("toy: nmf", "no columns", 1),
    ]
    assert table[0]["pair_f1"] == pytest.approx(0.7)
