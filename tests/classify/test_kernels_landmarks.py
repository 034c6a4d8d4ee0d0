"""Landmarks: a ridge that fits their number; lengths of n-grams by the script."""

import numpy as np
import pytest

from isthmus import TransductiveKernelClassifier
from isthmus.classify.strings.ridge import choose_ridge
from isthmus.estimator_checks import example_texts


def test_noise_asks_for_a_larger_ridge():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 300)
    noisy = rng.normal(size=(300, 230)) + np.eye(3)[codes] @ rng.normal(size=(3, 230)) * 0.3
    chosen = choose_ridge(noisy, codes, 3, 1e-6)
    assert chosen > 1e-6
    assert _held_out_accuracy(noisy, codes, chosen) > _held_out_accuracy(noisy, codes, 1e-6)
    clean = np.eye(3)[codes] * 10
    assert choose_ridge(clean, codes, 3, 1e-6) == 1e-6


def _held_out_accuracy(rows, codes, ridge):
    held = np.arange(len(codes)) % 5 == 4
    Y = np.where(codes[~held, None] == np.arange(3), 1.0, -1.0)
    W = np.linalg.solve(rows[~held].T @ rows[~held] + ridge * np.eye(rows.shape[1]), rows[~held].T @ Y)
    return np.mean((rows[held] @ W).argmax(axis=1) == codes[held])


def test_a_class_that_is_never_trained_on_keeps_the_ridge():
    assert choose_ridge(np.eye(5), np.array([0, 0, 0, 0, 1]), 2, 0.5) == 0.5


def test_lengths_go_by_the_script():
    texts, labels, domain = example_texts()
    fitted = TransductiveKernelClassifier(ngram_range="auto").fit(texts, labels, sample_domain=domain)
    assert fitted.prediction_rule().lengths == (5, 8)
    chinese = ["价格太高了很贵", "服务很好员工热情", "价格便宜", "员工很差服务慢"]
    fitted = TransductiveKernelClassifier(ngram_range="auto").fit(chinese, ["p", "s", None, None])
    assert fitted.prediction_rule().lengths == (1, 4)


def test_landmarks_leave_the_ridge_they_used():
    texts, labels, domain = example_texts(n=60)
    fitted = TransductiveKernelClassifier(n_landmarks=20, random_state=0).fit(texts, labels, sample_domain=domain)
    assert fitted.alpha_ >= fitted.alpha
    assert np.mean(fitted.transduction_[domain < 0] == labels[domain < 0]) > 0.8


def test_threads_and_blocks_of_landmarks_change_nothing(monkeypatch):
    monkeypatch.setattr("isthmus.classify.strings.classifier.BLOCK", 7)
    texts, labels, domain = example_texts()
    answers = []
    for n_jobs in (1, 3):
        model = TransductiveKernelClassifier(ngram_range=(2, 4), n_landmarks=12, n_jobs=n_jobs, random_state=0)
        answers.append(model.fit(texts, labels, domain).target_scores_)
    np.testing.assert_array_equal(*answers)


@pytest.mark.filterwarnings("ignore:.*shorter than the shortest n-gram")
def test_a_single_new_text_is_compared_as_many_are():
    texts, labels, domain = example_texts()
    model = TransductiveKernelClassifier(ngram_range=(2, 4)).fit(texts, labels, domain)
    new = ["kind staff and a fast bike", "the the the", "", "slow", "polite staff"]
    together = model.predict_proba(new)
    alone = np.vstack([model.predict_proba([text]) for text in new])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-14)


@pytest.mark.parametrize("codes", [[0, 1, 0, 1], [0, 1, 0, 1, 2, 0, 1, 0, 1, 2]], ids=["none", "a class"])
def test_where_a_ridge_cannot_be_checked_the_one_that_was_asked_for_stays(codes):
    """Every fifth document is held out: none of four, and of ten all that the third class has."""
    rows = np.eye(3)[codes] + np.random.default_rng(0).normal(size=(len(codes), 3))
    assert choose_ridge(rows, np.array(codes), max(codes) + 1, 0.5) == 0.5
