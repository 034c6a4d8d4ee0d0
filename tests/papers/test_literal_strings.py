"""String kernels and both rounds of TKC written out (Ionescu and Butnaru, ICONIP 2018), in plain Python and numpy."""

from collections import Counter

import numpy as np
import pytest

from isthmus import StringKernel
from isthmus.methods import make_method

WORDS = {
    "good": ["wonderful", "story", "charming", "characters", "brilliant", "ending", "lovely", "music"],
    "bad": ["terrible", "plot", "boring", "dialogue", "dreadful", "acting", "awful", "pacing"],
}


def reviews(seed, n=12):
    rng = np.random.default_rng(seed)
    labels = [("good", "bad")[i % 2] for i in range(2 * n)]
    texts = []
    for i, label in enumerate(labels):
        own = WORDS[label][:5] if i < n else WORDS[label][3:]
        texts.append(" ".join([*rng.choice(own, 5), *rng.choice(["this film was", "that book is", "i read"], 2)]))
    return texts, labels


def grams(text, lengths=(5, 8)):
    return Counter(text[i : i + n] for n in range(lengths[0], lengths[1] + 1) for i in range(len(text) - n + 1))


LITERAL = {
    "presence": lambda a, b: len(a.keys() & b.keys()),
    "intersection": lambda a, b: sum(min(count, b[gram]) for gram, count in a.items()),
}


def literal_kernel(texts, kind):
    found = [grams(text) for text in texts]
    K = np.array([[float(LITERAL[kind](a, b)) for b in found] for a in found])
    return K / np.sqrt(np.outer(np.diag(K), np.diag(K)))


@pytest.mark.parametrize("kind", list(LITERAL))
def test_kernels_by_sets_and_counters(kind):
    texts = reviews(0)[0]
    K = StringKernel(kind, ngram_range=(5, 8)).gram(texts, normalize=True)
    np.testing.assert_allclose(K, literal_kernel(texts, kind), rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", list(LITERAL))
@pytest.mark.parametrize("seed", range(2))
def test_both_rounds_of_the_algorithm(kind, seed):
    texts, truth = reviews(seed)
    labels = np.array([*truth[:12], *[None] * 12], dtype=object)
    model = make_method("strings-paper", language="en")[-1].set_params(kernel=kind).fit(texts, labels)
    R = np.exp(literal_kernel(texts, kind) - 1)
    K = R @ R.T
    source, target = np.arange(12), np.arange(12, 24)
    codes = np.searchsorted(model.classes_, truth[:12])

    def ridge(train, known):
        Y = np.where(known[:, None] == np.arange(2), 1.0, -1.0)
        weights = np.linalg.solve(K[np.ix_(train, train)] + 1e-5 * np.eye(len(train)), Y)
        return K[np.ix_(target, train)] @ weights

    first = ridge(source, codes)
    np.testing.assert_array_equal(model.first_round_, model.classes_[first.argmax(axis=1)])
    surest = np.argsort(-first.max(axis=1), kind="stable")[:6]  # half of the target
    assert model.history_[-1]["trained_on"] == 12 + len(surest)
    second = ridge(np.concatenate([source, target[surest]]), np.concatenate([codes, first.argmax(axis=1)[surest]]))
    np.testing.assert_allclose(model.target_scores_, second, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(model.transduction_[12:], model.classes_[second.argmax(axis=1)])
