"""Words of a class and the list of weights, against plain loops over tiny asymmetric tables."""

from math import log, sqrt

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from isthmus import CoClusteringClassifier
from isthmus.explain.cocc import bridge_words
from isthmus.explain.words import log_odds, nearest_documents, word_list

# Six documents of three classes, four words; how often a word stands in a document must not matter.
COUNTS = sp.csr_matrix([[2, 0, 1, 0], [1, 0, 0, 0], [1, 3, 1, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 1, 0]])
CODES = np.array([0, 0, 0, 1, 1, 2])
IN_DOCUMENTS = [[3, 1, 2, 0], [0, 2, 2, 0], [0, 0, 1, 0]]


def test_log_odds_are_those_of_the_formula():
    """A rest that adds the word instead of taking it away; the other classes' rest taken from the own."""
    prior_documents = 500
    whole = [sum(row[w] for row in IN_DOCUMENTS) for w in range(4)]
    share = [(n + 0.5) / sum(m + 0.5 for m in whole) for n in whole]
    found = log_odds(COUNTS, CODES, 3)
    for c in range(3):
        own = [IN_DOCUMENTS[c][w] + prior_documents * share[w] for w in range(4)]
        other = [whole[w] - IN_DOCUMENTS[c][w] + prior_documents * share[w] for w in range(4)]
        for w in range(4):
            difference = log(own[w] / (sum(own) - own[w])) - log(other[w] / (sum(other) - other[w]))
            assert found[c, w] == pytest.approx(difference / sqrt(1 / own[w] + 1 / other[w]), abs=1e-12)


def test_grades_of_the_list_are_centred_log_shares():
    """Weights centred over words instead of classes; the most telling words by the least of their weights."""
    caution, documents = 20, [3, 2, 1]
    whole = [sum(row[w] for row in IN_DOCUMENTS) for w in range(3)]  # the fourth word occurs nowhere
    raw = [
        [log((IN_DOCUMENTS[c][w] + caution * whole[w] / 6) / (documents[c] + caution)) for w in range(3)]
        for c in range(3)
    ]
    centred = [[raw[c][w] - sum(raw[d][w] for d in range(3)) / 3 for w in range(3)] for c in range(3)]
    grades = [[round(9 * centred[c][w] / 2) for c in range(3)] for w in range(3)]
    found = word_list(COUNTS, CODES, ["one", "two", "three", "nowhere"], 3)
    names = ["one", "two", "three"]
    assert found.words == {names[w]: grades[w] for w in range(3) if any(grades[w])}
    assert found.words["one"][0] >= 1 > found.words["one"][1]
    scores = [
        [sum(centred[c][w] for w in range(3) if COUNTS[d, w]) + log((documents[c] + 0.5) / 6) for c in range(3)]
        for d in range(6)
    ]
    assert found.agreement == np.mean([int(np.argmax(row)) == code for row, code in zip(scores, CODES, strict=True)])
    telling = [max(abs(centred[c][w]) for c in range(3)) * sqrt(whole[w]) for w in range(3)]
    only = word_list(COUNTS, CODES, ["one", "two", "three", "nowhere"], 3, size=1)
    assert list(only.words) == [names[int(np.argmax(telling))]]


def test_a_page_carries_at_most_four_thousand_words():
    names = [f"word{number}" for number in range(4_002)]
    counts = np.repeat([[1], [0]], [20, 20], axis=0) * np.ones(4_002)
    counts[:, 0] = 1.0  # the first is in every document
    found = word_list(sp.csr_matrix(counts), np.repeat([0, 1], 20), names, 2)
    assert list(found.words) == names[1:4_001]  # all others tell as much: the first of them stay


def test_companions_are_the_words_the_source_uses_most():
    """Companions in reverse order."""
    # words 0 and 1 belong to class a in the source, 1 much more often; word 2 to b; 3 is the target's own
    X = np.array([[1, 4, 0, 0], [1, 5, 0, 0], [0, 0, 3, 0], [0, 0, 3, 0], [1, 2, 0, 3], [1, 1, 0, 2], [0, 0, 2, 0]])
    y = ["a", "a", "b", "b", None, None, None]
    model = CoClusteringClassifier(n_word_clusters=2, random_state=0).fit(X, y)
    [row] = bridge_words(model, ["seldom", "often", "b0", "new"])
    assert (row["word"], row["class"], row["companions"]) == ("new", "a", ["often", "seldom"])


def test_near_documents_are_the_same_in_blocks(monkeypatch):
    rows = normalize(np.random.default_rng(0).normal(size=(12, 3)))
    whole = nearest_documents(rows[:7], rows[7:])
    monkeypatch.setattr("isthmus.explain.words._BLOCK", 3)
    np.testing.assert_array_equal(nearest_documents(rows[:7], rows[7:]), whole)
