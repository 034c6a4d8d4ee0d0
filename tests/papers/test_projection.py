"""Small checks of the paper's claims on real data."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from isthmus import TermProjectionClassifier
from isthmus.features import TextVectorizer, chi2, tf_chi2
from isthmus_bench.engine.suite import TaskData
from isthmus_bench.suites.projection import SUITE, rows, simulated_shift, traditional
from isthmus_bench.tasks import chinese_task, read_records

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def headlines(data_dir):
    """A few headlines of each of the eight classes, both sides."""
    return chinese_task("thucnews_title", "toutiao", per_class=400).load(data_dir)


def test_occurrences_beat_documents_at_100_terms(data_dir):
    records = read_records(data_dir / "zh/csl.jsonl.gz")
    labels = np.array([record["label"] for record in records])
    X = TextVectorizer(min_df=2).fit_transform([record["text"] for record in records])
    test = np.arange(len(labels)) % 5 == 0
    scores = {}
    for name, score in (("documents", chi2), ("occurrences", tf_chi2)):
        best = np.argsort(-score(X[~test], labels[~test]), kind="stable")[:100]
        model = LinearSVC().fit(np.log1p(X[~test][:, best]), labels[~test])
        scores[name] = model.score(np.log1p(X[test][:, best]), labels[test])
    assert scores["occurrences"] > scores["documents"] + 0.005


def test_adapted_projection_beats_the_traditional_svm(headlines):
    texts, labels, domain = headlines.joined()
    X = TextVectorizer(min_df=1).fit_transform(texts)
    truth = np.array(headlines.target_labels)
    adapted = TermProjectionClassifier().fit(X, labels, sample_domain=domain)
    plain = TermProjectionClassifier(max_iter=0).fit(X, labels, sample_domain=domain)
    right = {name: np.mean(m.transduction_[domain < 0] == truth) for name, m in (("yes", adapted), ("no", plain))}
    svm = max(row["value"] for k in (2000, None) for row in traditional(headlines, k) if row["metric"] == "micro_f1")
    assert right["yes"] > right["no"] + 0.05
    assert right["yes"] > svm + 0.05


def test_simulated_shift_cuts_every_class(headlines):
    X = TextVectorizer(min_df=2).fit_transform(headlines.source_texts)
    codes = np.unique(headlines.source_labels, return_inverse=True)[1]
    half = simulated_shift(X, codes)
    for code in np.unique(codes):
        assert 0 < half[codes == code].mean() < 1


def test_suite_names_what_the_tables_need():
    assert {"fudan-sogou", "csl-fudan", "thucnews_title-toutiao", "csl", "nlpcc2017"} <= set(SUITE.tasks)
    assert {"projection-rule", "projection-svm", "svm", "svm-selected", "lsa"} <= set(SUITE.methods)
    assert ("csl", "projection-rule-source") not in SUITE.pairs
    data = TaskData(["a"], ["x"], ["b", "c"], ["x", "y"])
    micro, macro = rows(data, ["x", "x"], train_s=1.0, predict_s=0.5)
    assert (micro["value"], micro["seconds"]) == (0.5, 1.5)
    assert macro["value"] == pytest.approx(1 / 3)
