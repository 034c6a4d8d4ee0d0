"""The co-clustering paper's claims on one real task, small enough for every test run."""

import numpy as np
import pytest

from isthmus.evaluate.labels import error_rate
from isthmus.explain.cocc import cluster_table
from isthmus_bench.suites.cocc import BASELINES, SIX, SUITE, THREE, count_rises, fit_recipe
from isthmus_bench.tasks import NEWSGROUP_TASKS


@pytest.fixture(scope="module")
def task(data_dir):
    return NEWSGROUP_TASKS["rec-talk"].load(data_dir)


@pytest.mark.data
def test_naive_bayes_is_where_it_was_found_before(task):
    _, predicted, _ = fit_recipe(task, "nbc", 0)
    assert error_rate(task.target_labels, predicted.tolist()) == pytest.approx(0.224, abs=0.02)


@pytest.mark.data
def test_co_clustering_removes_nine_errors_of_ten(task):
    model, predicted, _ = fit_recipe(task, "cocc", 0, n_init=2)
    assert error_rate(task.target_labels, predicted.tolist()) < 0.025
    assert count_rises(model.restart_histories_) == 0
    assert model.termination_condition_ == "converged"
    # The class reaches words the source never used: most text of the target is in clusters that lean as in the source.
    table = cluster_table(model)
    assert sum(row["share"] for row in table if row["agree"]) > 0.5
    domain = task.joined()[2]
    clusters = model.classes_[model.document_clusters_[domain < 0]]
    assert error_rate(task.target_labels, clusters.tolist()) < 0.04


def test_the_suite_has_the_tasks_and_methods_of_the_table():
    assert {*SIX, *THREE, "four-class"} <= set(SUITE.tasks)
    settings = {"cocc", "cocc-no-finish", "cocc-paper", "cocc-paper-matched"}
    assert {*BASELINES, *settings} == set(SUITE.default_methods)
    assert len(SUITE.seeds) == 5
    assert SUITE.tasks["real-simulated"].optional


def test_rises_are_counted():
    assert count_rises([[3.0, 2.0, 2.0, 2.5, 1.0], [1.0, 1.0 + 1e-14], list(np.linspace(5, 0, 4))]) == 1
