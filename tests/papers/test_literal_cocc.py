"""CoCC written out from the paper's equations (Dai, Xue, Yang and Yu, KDD 2007), in plain numpy and dense arrays.

Nothing here uses the arithmetic of ``isthmus.papers.cocc``, which is compared with it from the same start.
"""

import numpy as np
import pytest
from scipy import sparse as sp

from isthmus.exceptions import IsthmusWarning
from isthmus.methods import make_method
from isthmus.papers import cocc


def kl(p, q):
    kept = p > 0
    return float(np.sum(p[kept] * np.log(p[kept] / q[kept])))


def spread(joint, rows, columns, n_rows, n_columns):
    """joint(r̂, ĉ) · joint(r)/joint(r̂) · joint(c)/joint(ĉ): what the clusters can say about the table."""
    table = np.zeros((n_rows, n_columns))
    np.add.at(table, (rows[:, None], columns[None, :]), joint)
    of_rows = joint.sum(axis=1) / table.sum(axis=1)[rows]
    of_columns = joint.sum(axis=0) / np.where(table.sum(axis=0) > 0, table.sum(axis=0), 1.0)[columns]
    return table[rows][:, columns] * of_rows[:, None] * of_columns[None, :]


class Literal:
    """f with one more document per cluster that holds every word once (Laplace), g with one in every cell."""

    def __init__(self, X, codes, n_classes, documents, words, k, trade_off):
        self.n_classes, self.k, self.trade_off = n_classes, k, trade_off
        source, target = X[: len(codes)], X[len(codes) :]
        self.f = np.vstack([target, np.ones((n_classes, X.shape[1]))])
        self.f = self.f / self.f.sum()
        self.g = np.stack([source[codes == c].sum(axis=0) for c in range(n_classes)]) + 1.0
        self.g = self.g / self.g.sum()
        self.documents = np.concatenate([documents, np.arange(n_classes)])  # the added ones stay where they are
        self.words = words.copy()
        self.classes = np.arange(n_classes)

    def hats(self):
        f = spread(self.f, self.documents, self.words, self.n_classes, self.k)
        return f, spread(self.g, self.classes, self.words, self.n_classes, self.k)

    def objective(self):
        f, g = self.hats()
        return kl(self.f, f) + self.trade_off * kl(self.g, g)

    def document_step(self):
        """d̂ = argmin KL(f(W|d) ‖ f̂(W|d̂))."""
        hat = self.hats()[0]
        profiles = [hat[self.documents == j].sum(axis=0) for j in range(self.n_classes)]
        for d in range(len(self.documents) - self.n_classes):
            own = self.f[d] / self.f[d].sum()
            gaps = [kl(own, profile / profile.sum()) for profile in profiles]
            self.documents[d] = nearest(gaps, self.documents[d])

    def word_step(self):
        """ŵ = argmin f(w)·KL(f(D|w) ‖ f̂(D|ŵ)) + λ·g(w)·KL(g(C|w) ‖ ĝ(C|ŵ))."""
        f, g = self.hats()
        alive = np.unique(self.words)
        in_target = [f[:, self.words == j].sum(axis=1) for j in alive]
        in_source = [g[:, self.words == j].sum(axis=1) for j in alive]
        chosen = self.words.copy()
        for w in range(len(self.words)):
            mine, theirs = self.f[:, w].sum(), self.g[:, w].sum()
            gaps = [
                mine * kl(self.f[:, w] / mine, a / a.sum())
                + self.trade_off * theirs * kl(self.g[:, w] / theirs, b / b.sum())
                for a, b in zip(in_target, in_source, strict=True)
            ]
            chosen[w] = alive[nearest(gaps, int(np.flatnonzero(alive == self.words[w])[0]))]
        self.words = chosen

    def divergences(self):
        """D(ĝ(W|c) ‖ f̂(W|d̂)), classes × clusters."""
        f, g = self.hats()
        profiles = [f[self.documents == j].sum(axis=0) for j in range(self.n_classes)]
        return np.array([[kl(row / row.sum(), p / p.sum()) for p in profiles] for row in g])


def nearest(gaps, now):
    """The smallest, and the present one where nothing is smaller by more than rounding."""
    best = int(np.argmin(gaps))
    return best if gaps[best] < gaps[now] - 1e-13 else now


def counts(seed, n=24, d=40, n_classes=3):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    rate = 0.25 + 1.2 * (np.arange(d)[None, :] % n_classes == codes[:, None])
    source, target = rng.poisson(rate * (np.arange(d) < 30)), rng.poisson(rate * (np.arange(d) >= 8))
    return np.vstack([source, target]).astype(float), codes


@pytest.mark.parametrize("seed", range(3))
def test_the_paper_s_steps_written_out(seed):
    X, codes = counts(seed)
    rng = np.random.default_rng(seed)
    documents, words, k = rng.integers(0, 3, len(codes)), np.arange(40) % 6, 6
    f, g = cocc.joint_distributions(sp.csr_matrix(X[:24]), codes, sp.csr_matrix(X[24:]), 3)
    literal = Literal(X, codes, 3, documents, words, k, 0.25)
    documents = np.concatenate([documents, np.arange(3)])
    whole = cocc.information(f) + 0.25 * cocc.information(g)
    for _ in range(4):
        documents = cocc.document_step(f, documents, words, 3, k)
        literal.document_step()
        np.testing.assert_array_equal(documents, literal.documents)
        words = cocc.word_step(f, g, documents, words, k, 0.25)
        literal.word_step()
        np.testing.assert_array_equal(words, literal.words)
        found = whole - cocc.kept_information(f, g, documents, words, k, 0.25)
        assert found == pytest.approx(literal.objective(), abs=1e-10)


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
@pytest.mark.parametrize("k", [6, 30])
@pytest.mark.parametrize("seed", range(3))
def test_the_recipe_s_map_is_the_printed_one(seed, k):
    X, codes = counts(seed)
    labels = np.array([*codes, *np.full(24, -1)])
    model = make_method("cocc-paper", random_state=seed)[-1].set_params(n_word_clusters=k).fit(X, labels)
    literal = Literal(X, codes, 3, model.document_clusters_[24:], model.word_clusters_, k, 0.25)
    np.testing.assert_allclose(model.match_divergence_, literal.divergences(), rtol=0, atol=1e-10)
    assert model.objective_ == pytest.approx(literal.objective(), abs=1e-10)
    nearest_class = literal.divergences().argmin(axis=0)
    np.testing.assert_array_equal(model.transduction_[24:], nearest_class[model.document_clusters_[24:]])
    np.testing.assert_array_equal(model.predict(X[24:]), model.transduction_[24:])


def i2(rows, sides):
    """The criterion I2: the sum of the lengths of the clusters' sums."""
    return sum(np.linalg.norm(rows[sides == side].sum(axis=0)) for side in np.unique(sides))


def test_a_bisection_finds_two_groups_of_words_and_its_gain_is_that_of_the_criterion():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 10)
    counts_by_document = rng.poisson(np.where(np.arange(12) < 6, 6.0, 0.3), (20, 12))
    counts_by_document[groups == 1] = counts_by_document[groups == 1][:, ::-1]
    rows = counts_by_document / np.linalg.norm(counts_by_document, axis=1, keepdims=True)
    gain, halves = cocc.bisect(sp.csr_matrix(rows), np.random.default_rng(0))
    assert len({(a, b) for a, b in zip(groups.tolist(), halves.tolist(), strict=True)}) == 2
    assert gain == pytest.approx(i2(rows, halves) - i2(rows, np.zeros(20)))


@pytest.mark.parametrize("seed", range(3))
def test_repeated_bisection_never_lowers_the_criterion(seed):
    X, _ = counts(seed)
    rows = X.T / np.maximum(np.linalg.norm(X.T, axis=1, keepdims=True), 1e-12)
    scores = []
    for k in range(1, 6):
        words = cocc.bisecting_words(sp.csr_matrix(X), k, np.random.default_rng(seed))
        assert set(words) == set(range(k))
        scores.append(i2(rows, words))
    assert scores == sorted(scores)


def test_equal_words_cannot_be_divided():
    words = cocc.bisecting_words(sp.csr_matrix(np.ones((4, 5))), 3, np.random.default_rng(0))
    np.testing.assert_array_equal(words, 0)


def test_an_empty_word_cluster_stays_empty():
    X, codes = counts(0)
    f, g = cocc.joint_distributions(sp.csr_matrix(X[:24]), codes, sp.csr_matrix(X[24:]), 3)
    documents, words = np.concatenate([codes, np.arange(3)]), np.where(np.arange(40) < 20, 0, 2)
    moved = cocc.word_step(f, g, documents, words, 3, 0.25)
    assert set(moved) == {0, 2}
    kept = [cocc.word_step(f, g, documents, np.minimum(words, 1), k, 0.25) for k in (2, 5)]
    np.testing.assert_array_equal(*kept)


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
def test_a_class_that_the_printed_map_leaves_out_is_named():
    X, codes = counts(0)
    model = cocc.LiteralCoClustering(random_state=0).fit(X, [*codes, *np.full(24, -1)])
    model.cluster_classes_ = np.zeros(3, dtype=int)
    with pytest.warns(IsthmusWarning, match="left 2 of 3 classes without documents") as caught:
        model._warn_of_unused_classes()
    assert caught[0].message.code == "fallback"
    assert set(model.predict(X)) == {0}
    np.testing.assert_allclose(model.predict_proba(X), np.eye(3)[np.zeros(48, dtype=int)], atol=1e-12)
