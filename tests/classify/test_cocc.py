"""The CoCC estimator: labels carried across, refusals, blocks, probabilities."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from isthmus import CoClusteringClassifier
from isthmus._math.cocc import block_statistics
from isthmus._progress import listen
from isthmus.classify.cocc.blocks import MappedMatrix
from isthmus.classify.cocc.steps import block_idf, compactness, group_words, refine_by_centroids, sketch_words
from isthmus.corpus import make_shifted_texts
from isthmus.exceptions import DataError, UsageError


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
    assert np.array_equal(model.transduction_[~target], y[~target])
    assert np.mean(model.predict(X[target]) == y[target]) > 0.97
    assert np.array_equal(np.unique(model.document_clusters_[~target]), [-1])
    assert np.mean(model.classes_[model.document_clusters_[target]] == y[target]) > 0.97
    assert len(model.word_clusters_) == X.shape[1]
    for history in model.restart_histories_:
        assert np.all(np.diff(history) <= 1e-12)
    assert model.objective_ == min(history[-1] for history in model.restart_histories_)


def test_same_seed_same_answer_and_other_seed_other_start():
    X, y, domain = two_domains()
    fits = [CoClusteringClassifier(n_init=2, random_state=s).fit(X, y, domain) for s in (3, 3, 4)]
    assert fits[0].history_ == fits[1].history_
    assert np.array_equal(fits[0].word_clusters_, fits[1].word_clusters_)
    assert fits[0].history_[0] != fits[2].history_[0]


def test_the_start_that_is_kept_goes_on_until_nothing_moves():
    X, y, domain = two_domains(shared=0.8)
    for seed in range(4):
        loose = CoClusteringClassifier(tol=0.5, n_init=4, random_state=seed).fit(X, y, domain)
        assert loose.termination_condition_ == "converged"
        assert loose.n_iter_ == (len(loose.history_) - 1) / 2
        assert sum(history is loose.history_ for history in loose.restart_histories_) == 1
        assert min(len(history) for history in loose.restart_histories_) < len(loose.history_)


def test_several_source_domains_are_pooled():
    X, y, domain = two_domains()
    split = domain.copy()
    split[np.flatnonzero(domain > 0)[::2]] = 2
    one = CoClusteringClassifier(random_state=0).fit(X, y, domain)
    two = CoClusteringClassifier(random_state=0).fit(X, y, split)
    assert np.array_equal(one.transduction_, two.transduction_)


def test_blocks_on_disk_give_the_answer_of_memory(tmp_path):
    X, y, domain = two_domains(n=200)
    source, target = np.flatnonzero(domain > 0), np.flatnonzero(domain < 0)
    memory = CoClusteringClassifier(random_state=0).fit(X, y, domain)
    mapped_source = MappedMatrix.write(X[source], tmp_path / "source", block_rows=37)
    mapped_target = MappedMatrix.write(X[target], tmp_path / "target", block_rows=53)

    def labelled():
        start = 0
        for block in mapped_source:
            yield block, y[source][start : start + block.shape[0]]
            start += block.shape[0]

    disk = CoClusteringClassifier(random_state=0).fit_blocks(labelled, mapped_target)
    assert np.allclose(memory.history_, disk.history_, rtol=0, atol=1e-9)
    assert np.array_equal(memory.word_clusters_, disk.word_clusters_)
    assert np.allclose(memory.target_table_, disk.target_table_, rtol=0, atol=1e-9)
    assert np.array_equal(disk.transduction_, np.concatenate([y[source], memory.transduction_[target]]))
    assert np.allclose(memory.predict_proba(X[target]), disk.predict_proba(X[target]), rtol=0, atol=1e-9)


def test_blocks_that_cannot_be_used_are_refused(tmp_path):
    X, y, domain = two_domains(n=20)
    good = [(X[domain > 0], y[domain > 0])]
    model = CoClusteringClassifier(random_state=0)
    with pytest.raises(DataError, match="generator") as caught:
        model.fit_blocks((block for block in good), [X[domain < 0]])
    assert caught.value.code == "bad-parameter"
    with pytest.raises(DataError, match="one vocabulary"):
        model.fit_blocks(good, [X[domain < 0][:, :5]])
    with pytest.raises(DataError, match="no rows"):
        model.fit_blocks(good, [X[:0]])
    with pytest.raises(DataError, match="one label per row"):
        model.fit_blocks([(X, y[:3])], [X])
    with pytest.raises(DataError, match="negative or missing"):
        model.fit_blocks(good, [-X[domain < 0]])
    with pytest.raises(DataError, match="no matrix"):
        MappedMatrix(tmp_path)


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
     {"max_iter": 0}, {"smoothing": 1.0}, {"weighting": "idf"}, {"refine": "x"}, {"tol": -1}],
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


def test_without_a_finish_the_clusters_are_the_labels():
    X, y, domain = two_domains(shared=0.6)
    target = domain < 0
    plain = CoClusteringClassifier(refine=None, random_state=0).fit(X, y, domain)
    assert plain.classes_[plain.document_clusters_[target]].tolist() == plain.transduction_[target].tolist()
    assert plain.predict(X[target]).tolist() == plain.transduction_[target].tolist()
    finished = CoClusteringClassifier(random_state=0).fit(X, y, domain)
    assert np.array_equal(finished.document_clusters_, plain.document_clusters_)
    assert finished.predict(X[target]).tolist() == finished.transduction_[target].tolist()
    assert np.all(np.diff(finished.refine_history_) >= -1e-12)
    assert finished.refine_condition_ == "converged"


def test_the_finish_gives_up_when_a_class_melts_away():
    # Three of the four documents of class 0 are those of class 1; only the first is its own.
    X = sp.csr_matrix(np.array([[1.0, 0.0]] + [[0.0, 1.0]] * 9))
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    weights = block_idf(lambda: [X], 2)
    assert weights[0] > weights[1]
    result = refine_by_centroids(block_statistics(lambda: [X], 2), labels, 2, weights)
    assert result.stopped == "reverted"
    assert np.array_equal(result.labels, labels)
    easy = refine_by_centroids(block_statistics(lambda: [X], 2), np.array([0, 0, 1, 1, 1, 1, 1, 1, 1, 1]), 2, weights)
    assert easy.stopped == "converged"
    assert compactness(block_statistics(lambda: [X], 2), easy.labels, 2, weights) == pytest.approx(easy.history[-1])
    assert easy.labels.tolist() == [0] + [1] * 9


@pytest.mark.parametrize("refine", [None, "centroids"])
def test_probabilities_are_softened_and_agree_with_the_labels(refine):
    X, y, domain = two_domains(shared=0.6)
    model = CoClusteringClassifier(random_state=0, refine=refine).fit(X, y, domain)
    proba = model.predict_proba(X)
    assert np.allclose(proba.sum(axis=1), 1)
    assert np.array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    # Confidence on the source is what the labels bear out; the multinomial's own posterior is certain of everything.
    error = np.mean(model.predict(X[domain > 0]) != y[domain > 0])
    assert abs((1 - proba[domain > 0].max(axis=1).mean()) - error) < 0.05


def test_documents_without_words_get_a_label():
    X, y, domain = two_domains(n=20)
    X = sp.vstack([X, sp.csr_matrix((2, X.shape[1]))]).tocsr()
    model = CoClusteringClassifier(random_state=0).fit(X, np.append(y, [None, None]), np.append(domain, [-1, -1]))
    assert set(model.transduction_[-2:]) <= set(model.classes_)


def test_counts_weighting_is_the_paper_s():
    X, y, domain = two_domains()
    model = CoClusteringClassifier(weighting="counts", random_state=0).fit(X, y, domain)
    total = X[domain < 0].sum()
    share = X[domain < 0].sum(axis=0).A1 / total if hasattr(X.sum(axis=0), "A1") else X[domain < 0].sum(axis=0) / total
    assert np.allclose(model.target_words_.sum(axis=1), np.asarray(share).ravel())


def test_progress_is_reported_per_start():
    X, y, domain = two_domains(n=20)
    events = []
    with listen(events.append):
        CoClusteringClassifier(n_init=3, random_state=0).fit(X, y, domain)
    assert [e["done"] for e in events if e["phase"] == "co-clustering"] == [1, 2, 3]


def test_sketches_bring_words_of_the_same_documents_together():
    made = make_shifted_texts(240, 240, shared=0.25, random_state=0)
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(made.texts)
    vectors = sketch_words(lambda: [X.astype(float)], X.shape[1], np.random.default_rng(0))
    cosine = vectors @ vectors.T
    here, there = (
        [vectorizer.vocabulary_[word] for word in made.words_of(name, "target")] for name in ("class 0", "class 1")
    )
    own = cosine[np.ix_(here, here)][~np.eye(len(here), dtype=bool)].mean()
    other = cosine[np.ix_(here, there)].mean()
    assert own > other + 0.3
    labels = group_words(vectors, 9, np.random.default_rng(0))
    assert np.array_equal(np.unique(labels), np.arange(9))
