"""The CoCC estimator: labels carried across, refusals, blocks, probabilities."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from isthmus import CoClusteringClassifier
from isthmus._progress import listen
from isthmus.classify.cocc.blocks import Documents, Problem
from isthmus.classify.cocc.classifier import settle
from isthmus.classify.cocc.co_clustering import group_words
from isthmus.exceptions import DataError, UsageError
from isthmus.features.blocks import Passes
from isthmus_bench.shifted import make_shifted_texts


def two_domains(seed=0, n=120, n_classes=2, shared=0.25):
    """Counts of texts whose classes share some words in both domains and have others in one only."""
    made = make_shifted_texts(
        n * n_classes, n * n_classes, n_classes=n_classes, shared=shared, noise=0.1, length=25, random_state=seed
    )
    return CountVectorizer().fit_transform(made.texts), made.true_labels, made.sample_domain


@pytest.mark.parametrize("n_classes", [2, 4])
def test_labels_are_carried_across(n_classes):
    X, y, domain = two_domains(n_classes=n_classes)
    model = CoClusteringClassifier(n_word_clusters=12, random_state=0).fit(X, y, sample_domain=domain)
    target = domain < 0
    assert np.mean(model.transduction_[target] == y[target]) > 0.97
    np.testing.assert_array_equal(model.transduction_[~target], y[~target])
    assert np.mean(model.predict(X[target]) == y[target]) > 0.97
    np.testing.assert_array_equal(np.unique(model.document_clusters_[~target]), [-1])
    assert np.mean(model.classes_[model.document_clusters_[target]] == y[target]) > 0.97
    assert len(model.word_clusters_) == X.shape[1]
    for history in model.restart_histories_:
        assert np.all(np.diff(history) <= 1e-12)
    assert model.objective_ == min(history[-1] for history in model.restart_histories_)


def test_same_seed_same_answer_and_other_seed_other_start():
    X, y, domain = two_domains()
    fits = [CoClusteringClassifier(n_init=2, random_state=s).fit(X, y, domain) for s in (3, 3, 4)]
    assert fits[0].history_ == fits[1].history_
    np.testing.assert_array_equal(fits[0].word_clusters_, fits[1].word_clusters_)
    assert fits[0].history_[0] != fits[2].history_[0]


def test_the_start_that_is_kept_goes_on_until_nothing_moves():
    X, y, domain = two_domains(shared=0.8)
    for seed in range(4):
        loose = CoClusteringClassifier(tol=0.5, n_init=4, random_state=seed).fit(X, y, domain)
        assert loose.termination_condition_ == "converged"
        assert loose.n_iter_ == (len(loose.history_) - 1) / 2
        assert sum(history is loose.history_ for history in loose.restart_histories_) == 1
        assert min(len(history) for history in loose.restart_histories_) < len(loose.history_)


def test_the_start_that_goes_on_keeps_to_the_iterations_that_were_asked_for():
    counts = np.random.default_rng(0).poisson(0.3, size=(160, 80))
    y = np.array([0, 1] * 40 + [-1] * 80)
    model = CoClusteringClassifier(tol=0.9, max_iter=3, n_init=1, random_state=0).fit(counts, y)
    assert (model.termination_condition_, model.n_iter_) == ("max_iter", 3)


def test_several_source_domains_are_pooled():
    X, y, domain = two_domains()
    split = domain.copy()
    split[np.flatnonzero(domain > 0)[::2]] = 2
    one = CoClusteringClassifier(random_state=0).fit(X, y, domain)
    two = CoClusteringClassifier(random_state=0).fit(X, y, split)
    np.testing.assert_array_equal(one.transduction_, two.transduction_)


def test_no_shared_words_is_refused():
    X = sp.block_diag([np.ones((4, 3)), np.ones((4, 3))]).tocsr()
    with pytest.raises(DataError, match="shares 0 of its 3 words") as caught:
        CoClusteringClassifier(random_state=0).fit(X, ["a", "a", "b", "b", None, None, None, None])
    assert caught.value.code == "no-shared-words"


def test_a_class_without_words_is_refused():
    X = np.array([[1, 2], [0, 0], [1, 1]])
    with pytest.raises(DataError, match="'b' has 1 source documents and no word") as caught:
        CoClusteringClassifier(random_state=0).fit(X, ["a", "b", None])
    assert caught.value.code == "empty-class"


def test_more_word_clusters_than_words_are_refused():
    X, y, domain = two_domains(n=10)
    with pytest.raises(DataError, match=f"vocabulary of {X.shape[1]} words") as caught:
        CoClusteringClassifier(n_word_clusters=X.shape[1] + 1, random_state=0).fit(X, y, domain)
    assert caught.value.code == "bad-parameter"
    CoClusteringClassifier(n_word_clusters=X.shape[1], n_init=1, random_state=0).fit(X, y, domain)


def test_an_empty_target_is_refused():
    X, y, domain = two_domains(n=10)
    with pytest.raises(DataError) as caught:
        CoClusteringClassifier(random_state=0).fit(X, y, np.abs(domain))
    assert caught.value.code == "no-target"


@pytest.mark.parametrize(
    "wrong",
    [{"n_word_clusters": 0}, {"n_word_clusters": "many"}, {"trade_off": -1}, {"trade_off": "x"}, {"n_init": 0},
     {"max_iter": 0}, {"smoothing": 1.0}, {"tol": -1}],
    ids=str,
)  # fmt: skip
def test_wrong_parameters_are_refused(wrong):
    X, y, domain = two_domains(n=10)
    with pytest.raises(UsageError, match=next(iter(wrong))) as caught:
        CoClusteringClassifier(**wrong).fit(X, y, domain)
    assert caught.value.code == "bad-parameter"


def test_auto_takes_the_most_compact_classes_and_says_what_it_compared():
    X, y, domain = two_domains()
    model = CoClusteringClassifier(n_word_clusters="auto", trade_off="auto", n_init=1, random_state=0).fit(X, y, domain)
    chosen = [row for row in model.choice_ if row["chosen"]]
    assert len(chosen) == 1
    assert chosen[0]["compactness"] == max(row["compactness"] for row in model.choice_)
    assert (model.n_word_clusters_, model.trade_off_) == (chosen[0]["n_word_clusters"], chosen[0]["trade_off"])
    assert np.mean(model.transduction_[domain < 0] == y[domain < 0]) > 0.95
    shuffled = y.copy()
    shuffled[domain < 0] = y[domain < 0][::-1]
    again = CoClusteringClassifier(n_word_clusters="auto", trade_off="auto", n_init=1, random_state=0)
    assert again.fit(X, shuffled, domain).choice_ == model.choice_


def test_labels_are_those_of_the_centroids_that_new_documents_meet():
    X, y, domain = two_domains(shared=0.6)
    target = domain < 0
    model = CoClusteringClassifier(random_state=0).fit(X, y, domain)
    assert model.predict(X[target]).tolist() == model.transduction_[target].tolist()
    assert np.all(np.diff(model.refine_history_) >= -1e-12)
    assert model.refine_condition_ == "converged"


def settled(X, labels):
    """Documents in clusters, before they move to centroids."""
    problem = Problem(Passes(X[:0], X, np.zeros(0, dtype=np.int32), np.arange(2)))
    documents = Documents(problem, problem.placed(labels).name, idf=problem.passes.idf)
    documents.move(None, counted=False)
    return documents


def test_settling_is_reverted_when_a_class_melts_away():
    # Three of the four documents of class 0 are those of class 1; only the first is its own.
    X = sp.csr_matrix(np.array([[1.0, 0.0]] + [[0.0, 1.0]] * 9))
    documents = settled(X, np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1]))
    assert documents.idf[0] > documents.idf[1]
    assert settle(documents)[2] == "reverted"
    easy = settled(X, np.array([0, 0, 1, 1, 1, 1, 1, 1, 1, 1]))
    assert settle(easy)[2] == "converged"
    assert easy.labels.tolist() == [0] + [1] * 9


def test_the_tables_label_where_settling_is_reverted(monkeypatch):
    X, y, domain = two_domains(shared=0.6)
    target = domain < 0
    plain = CoClusteringClassifier(random_state=0).fit(X, y, domain)
    monkeypatch.setattr("isthmus.classify.cocc.classifier.settle", lambda documents: (None, [], "reverted"))
    model = CoClusteringClassifier(random_state=0).fit(X, y, domain)
    np.testing.assert_array_equal(model.document_clusters_, plain.document_clusters_)
    assert model.classes_[model.document_clusters_[target]].tolist() == model.transduction_[target].tolist()
    assert model.predict(X[target]).tolist() == model.transduction_[target].tolist()
    proba = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))


def test_probabilities_are_softened_and_agree_with_the_labels():
    X, y, domain = two_domains(shared=0.6)
    model = CoClusteringClassifier(random_state=0).fit(X, y, domain)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-5, atol=1e-8)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    # Confidence on the source matches the labels; the multinomial's own posterior is certain of everything.
    error = np.mean(model.predict(X[domain > 0]) != y[domain > 0])
    assert abs((1 - proba[domain > 0].max(axis=1).mean()) - error) < 0.05


def test_documents_without_words_get_the_commonest_class():
    X, y, domain = two_domains(n=20)
    source, last = np.flatnonzero(domain > 0), np.unique(y)[-1]
    kept = np.concatenate([source[y[source] == last], source[y[source] != last][:8], np.flatnonzero(domain < 0)])
    X, y, domain = X[kept], y[kept], domain[kept]
    X = sp.vstack([X, sp.csr_matrix((2, X.shape[1]))]).tocsr()
    model = CoClusteringClassifier(random_state=0).fit(X, np.append(y, [None, None]), np.append(domain, [-1, -1]))
    assert model.transduction_[-2:].tolist() == model.predict(X[-2:]).tolist() == [last, last]
    np.testing.assert_allclose(model.predict_proba(X[-1:])[0], model.prior_)


def test_progress_is_reported_per_start():
    X, y, domain = two_domains(n=20)
    events = []
    with listen(events.append):
        CoClusteringClassifier(n_init=3, random_state=0).fit(X, y, domain)
    assert [e["done"] for e in events if e["phase"] == "grouping documents and words"] == [1, 2, 3]


def test_sketches_bring_words_of_the_same_documents_together():
    made = make_shifted_texts(240, 240, shared=0.25, random_state=0)
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(made.texts)
    problem = Problem(Passes(X[:1], X[1:], np.zeros(1), np.arange(2)))
    vectors = problem.sketch(np.random.default_rng(0))
    cosine = vectors @ vectors.T
    here, there = (
        [vectorizer.vocabulary_[word] for word in made.words_of(name, "target")] for name in ("class 0", "class 1")
    )
    own = cosine[np.ix_(here, here)][~np.eye(len(here), dtype=bool)].mean()
    other = cosine[np.ix_(here, there)].mean()
    assert own > other + 0.3
    labels = group_words(vectors, 9, np.random.default_rng(0))
    np.testing.assert_array_equal(np.unique(labels), np.arange(9))


def test_a_small_vocabulary_is_tried_with_two_word_clusters():
    """At least three word clusters, however few the words."""
    X = np.array([[3, 1, 0, 0], [2, 1, 0, 0], [0, 0, 3, 1], [0, 0, 2, 1], [2, 2, 0, 0], [0, 0, 1, 3]])
    model = CoClusteringClassifier(n_word_clusters="auto", random_state=0).fit(X, ["a", "a", "b", "b", None, None])
    assert {row["n_word_clusters"] for row in model.choice_} == {2}


def test_a_source_alone_may_have_a_class_without_words_but_not_only_such():
    X = np.array([[2, 0], [1, 1], [0, 0], [0, 0]])
    model = CoClusteringClassifier(random_state=0).fit(X, ["a", "a", "b", "b"])
    assert model.predict(X[:2]).tolist() == ["a", "a"]
    with pytest.raises(DataError, match="No row holds a word") as caught:
        CoClusteringClassifier(random_state=0).fit(np.zeros((4, 2)), ["a", "a", "b", "b"])
    assert caught.value.code == "empty-class"


@pytest.mark.parametrize("given", ["n_word_clusters", "trade_off"])
def test_only_what_was_left_to_auto_is_chosen(given):
    X, y, domain = two_domains(n=15)
    settings = {"n_word_clusters": "auto", "trade_off": "auto"} | {
        "n_word_clusters": {"n_word_clusters": 3},
        "trade_off": {"trade_off": 0.5},
    }[given]
    model = CoClusteringClassifier(n_init=1, max_iter=3, random_state=0, **settings).fit(X, y, sample_domain=domain)
    tried = {name: {row[name] for row in model.choice_} for name in ("n_word_clusters", "trade_off")}
    assert tried.pop(given) == {settings[given]}, "as it was given"
    assert len(*tried.values()) > 1, "several values of the other are compared"
    assert getattr(model, f"{given}_") == settings[given]
    (best,) = [row for row in model.choice_ if row["chosen"]]
    assert best["compactness"] == max(row["compactness"] for row in model.choice_)
    assert (model.n_word_clusters_, model.trade_off_) == (best["n_word_clusters"], best["trade_off"])
