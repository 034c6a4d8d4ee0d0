"""A vote that is learned in the target."""

import numpy as np

from isthmus.choose.learning import learn_in_target, mix_learned, to_probabilities


def groups(n=200, wrong=0.2, seed=0):
    """Two groups of rows, and a vote that is wrong about scattered documents, and less sure of them."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=n)
    rows = np.eye(2, 10)[codes] + 0.2 * rng.standard_normal((n, 10))
    said = np.where(rng.random(n) < wrong, 1 - codes, codes)
    sure = np.where(said == codes, 0.8, 0.55)[:, None]
    vote = np.where(np.eye(2)[said] > 0, sure, 1 - sure)
    return rows, vote, codes


def test_scattered_errors_are_seen_through():
    rows, vote, codes = groups()
    found = learn_in_target(rows, vote)
    assert np.mean(vote.argmax(axis=1) == codes) < 0.85
    assert np.mean(mix_learned(vote, found.held_out).argmax(axis=1) == codes) > 0.95
    assert 0.7 < found.agreement < 0.9


def test_no_document_confirms_itself():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((80, 70))  # nearly as many numbers as documents: anything could be fitted
    vote = np.eye(2)[rng.integers(2, size=80)]
    assert learn_in_target(rows, vote).agreement < 0.7


def test_new_documents_get_what_was_learned():
    rows, vote, _ = groups()
    found = learn_in_target(rows, vote)
    new, _, truth = groups(seed=5)
    answers = found.predict_proba(new)
    np.testing.assert_allclose(answers.sum(axis=1), 1, rtol=1e-5, atol=1e-8)
    assert np.mean(answers.argmax(axis=1) == truth) > 0.95


def test_few_documents_teach_nothing():
    rows, vote, _ = groups(n=49)
    assert learn_in_target(rows, vote) is None


def test_shares_beyond_the_ends_become_probabilities():
    found = to_probabilities(np.array([[1.4, -0.4], [0.5, 0.5]]))
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5, atol=1e-8)
    assert found[0, 0] > 0.99
    np.testing.assert_allclose(found[1], 0.5, rtol=1e-5, atol=1e-8)
