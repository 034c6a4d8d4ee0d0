"""Studies and speed cases of the suite on data small enough to need no corpus."""

import numpy as np
import pytest

from isthmus.methods import make_method
from isthmus.report.charts import draw
from isthmus_bench.engine.suite import Task, TaskData
from isthmus_bench.speed import cocc as speed_cocc
from isthmus_bench.suites import cocc as studies
from isthmus_bench.suites.cocc import STUDIES, SUITE, features

WORDS = {"car": "engine wheel road drive tyre brake gear", "law": "court judge verdict jury appeal statute trial"}


def texts(label, start, n, seed):
    rng = np.random.default_rng(seed)
    own, other = WORDS[label].split()[start : start + 4], ["day", "year", "people", "time", "week", "place"]
    return [" ".join([*rng.choice(own, 6), *rng.choice(other, 4)]) for _ in range(n)]


@pytest.fixture(scope="module")
def data():
    labels = ["car"] * 15 + ["law"] * 15
    source = [*texts("car", 0, 15, 0), *texts("law", 0, 15, 1)]
    target = [*texts("car", 3, 15, 2), *texts("law", 3, 15, 3)]
    return TaskData(source, labels, target, labels)


def test_every_iteration_is_labelled_by_its_own_map(data, tmp_path):
    rows = studies.iterations([Task("tiny", lambda folder: data)], tmp_path, limit=3)
    prepared = studies._Prepared(data)
    truth = np.array(data.target_labels)
    assert [row["iteration"] for row in rows] == list(range(len(rows)))
    assert rows[0]["error"] == np.mean(prepared.classes[prepared.start.labels] != truth)
    for row in rows[1:]:
        result = prepared.run(64, 0.25, max_iter=row["iteration"])
        assert row["objective"] == pytest.approx(result.history[-1])
        either = [
            np.mean(names[result.documents.labels] != truth) for names in (prepared.classes, prepared.classes[::-1])
        ]
        assert row["error"] == min(either)  # the map of an easy task is the better of the two


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
def test_the_paper_s_setting_is_the_recipe(data):
    rows = {row["metric"]: row["value"] for row in SUITE.methods["cocc-paper"].run(data, 0)}
    assert rows["objective_rises"] == 0
    texts_, labels, domain = data.joined()
    model = make_method("cocc-paper").fit(texts_, labels, sample_domain=domain)[-1]
    wrong = 0
    for cluster, truth in zip(model.document_clusters_[domain < 0], data.target_labels, strict=True):
        wrong += model.classes_[model.match_divergence_[:, cluster].argmin()] != truth
    assert rows["error"] == pytest.approx(wrong / 30)


def test_sizes_and_gain(data, tmp_path):
    task = Task("tiny", lambda folder: data)
    row = studies.sizes(tmp_path, [task])[0]
    assert (row["source_documents"], row["target_documents"]) == (30, 30)
    assert row["divergence"] > 0
    assert row["svm_target_ten_fold"] == 0
    gains = studies.gain(tmp_path, [task])
    assert [row["against"] for row in gains] == ["nbc", "svm"]
    assert all(row["gain"] <= 1 for row in gains)


def test_iterations_begin_with_naive_bayes_and_never_raise_the_objective(data, tmp_path):
    rows = studies.iterations([Task("tiny", lambda folder: data)], tmp_path, limit=5)
    assert [row["iteration"] for row in rows] == list(range(len(rows)))
    assert np.all(np.diff([row["objective"] for row in rows]) <= 1e-12)
    assert rows[-1]["error"] <= rows[0]["error"]


def test_share_and_sweeps(data, monkeypatch):
    monkeypatch.setattr(studies, "SHARES", (0.2, 1.0))
    rows = studies.source_share(data, (0,))
    methods = ("nbc", "cocc", "cocc-paper")
    assert {(row["share"], row["method"]) for row in rows} == {(s, m) for s in (0.2, 1.0) for m in methods}
    monkeypatch.setattr(studies, "TRADE_OFFS", (0.25, 1.0))
    monkeypatch.setattr(studies, "WORD_CLUSTERS", (2, 4))
    assert len(studies.trade_off(data, ks=(4,))) == 2
    assert len(studies.word_clusters(data, values=(0.25,))) == 2


def test_the_papers_setting_is_swept_with_both_maps(data):
    rows = studies.sweep_paper(data, ({"max_iter": number} for number in (1, 5)))
    assert [row["max_iter"] for row in rows] == [1, 5]
    assert all(0 <= row["matched"] <= row["error"] <= 1 for row in rows), rows  # one class for both is never better


def test_the_picture_is_brightest_where_classes_meet_their_words(data):
    rows = studies.picture(data, height=4, width=4)
    grid = np.zeros((4, 4))
    for row in rows:
        grid[row["documents"], row["words"]] = row["density"]
    assert grid[0, 0] > 1 > grid[1, 0]
    assert grid[3, 3] > 1 > grid[2, 3]
    assert draw(rows, STUDIES["picture"].chart) is not None


def test_features_are_made_once(data):
    vectorizer = make_method("cocc").steps[0][1]
    assert features(data, vectorizer)[0] is features(data, vectorizer)[0]


@pytest.mark.parametrize("peer", [speed_cocc.PerCluster, speed_cocc.Products, speed_cocc.Dense])
def test_the_peers_give_our_answer(peer):
    row = speed_cocc._compare(peer, "peer", 120, 90, 12, 8, 6, whole=peer is speed_cocc.Dense)
    assert row["difference"] < 1e-9
    assert row["iterations"] > 1
    assert row["ours_s"] > 0
