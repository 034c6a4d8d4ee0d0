"""The measures behind the diagnosis, against slow and plain counterparts."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import MultinomialNB

from isthmus.shift.bridges import (
    _log_odds,
    class_shifted_words,
    log_weights,
    pivot_table,
    predicted_shares,
    vocabulary_transfer,
    votes_without_word,
)
from isthmus.shift.duplicates import COPIES, near_duplicates, run_hashes
from isthmus.shift.groups import group_facts, shuffle_words
from isthmus.shift.vocabulary import count_joint, proxy_a_distance, vocabulary_overlap, word_divergence


def random_counts(rows, words, seed, density=0.3):
    rng = np.random.default_rng(seed)
    return sp.csr_matrix((rng.random((rows, words)) < density).astype(float))


# -- vocabulary --------------------------------------------------------------------------------------------------------


def test_counts_merge_stems_and_leave_out_stop_words():
    counts = count_joint(["The bikes, the bike!", ""], ["bike and car"])
    assert counts.names.tolist() == ["bike", "car"]
    assert counts.source.toarray().tolist() == [[2, 0], [0, 0]]
    assert counts.target.toarray().tolist() == [[1, 1]]
    plain = count_joint(["The bikes, the bike!"], ["bike"], language="other")
    assert plain.names.tolist() == ["bike", "bikes", "the"]


def test_scripts_without_blanks_become_pairs():
    counts = count_joint(["iPhone新品发布 ok"], ["大"])
    assert set(counts.names) == {"iphone", "新品", "品发", "发布", "ok"}
    assert counts.target.nnz == 0


def test_each_document_is_read_in_its_own_language():
    german = ["Die Züge halten am Bahnhof", "Der Zug ist schon wieder nicht pünktlich"] * 3
    english = ["The trains stop at this station", "The train is not on time again"] * 3
    counts = count_joint([*german, *english], german)
    assert {"train", "zug"} <= {name.lower() for name in counts.names} | {"zug"}
    assert not {"the", "die", "der", "is", "ist"} & set(counts.names)
    # Zug and Züge are one column, as train and trains are
    assert sum(name in ("zug", "züge") for name in counts.names) == 1
    assert sum(name in ("train", "trains") for name in counts.names) == 1


texts = st.lists(
    st.sampled_from(["red kettle", "blue bike", "red bike bike", "", "old blue oven"]), min_size=1, max_size=8
)


@given(source=texts, target=texts)
@settings(max_examples=50)
def test_overlap_by_sets(source, target):
    counts = count_joint(source, target)
    words = [[word for text in side for word in text.split()] for side in (source, target)]
    overlap = vocabulary_overlap(counts.source, counts.target)
    shared = set(words[0]) & set(words[1])
    assert overlap["shared_types"] == len(shared)
    expected = sum(word in shared for word in words[1]) / len(words[1]) if words[1] else 0.0
    assert overlap["tokens_known"] == pytest.approx(expected)


def test_divergence_of_halves_is_small_and_of_others_large():
    same = random_counts(300, 40, seed=0)
    other = sp.csr_matrix(np.roll(same.toarray() * (np.arange(40) < 20), 20, axis=1))
    found = word_divergence(same, same)
    assert found["kl"] == pytest.approx(0.0, abs=1e-12)
    apart = word_divergence(same, other)
    assert apart["kl"] > 10 * apart["kl_halves"]
    assert np.isnan(word_divergence(same[:0], same)["kl"])


# -- near-duplicates ---------------------------------------------------------------------------------------------------

documents = st.lists(st.lists(st.integers(0, 3), max_size=9), max_size=6)


@given(source=documents, target=documents, run=st.integers(1, 4))
@settings(max_examples=60)
def test_near_duplicates_by_sets(source, target, run):
    def runs(words):
        if not words:
            return set()
        return {tuple(words[i : i + run]) for i in range(max(1, len(words) - run + 1))}

    expected = {}
    for t, words in enumerate(target):
        own = runs(words)
        shares = [len(own & runs(other)) / len(own) for other in source] if own else []
        if shares and max(shares) >= 0.5:
            expected[t] = (int(np.argmax(shares)), max(shares))
    arrays = [[np.array(words, dtype=np.int64) for words in side] for side in (source, target)]
    found = near_duplicates(*arrays, run=run)
    assert {row["target"]: (row["source"], row["share"]) for row in found} == {
        t: (s, round(share, 4)) for t, (s, share) in expected.items()
    }


def test_hashes_are_sorted_and_boilerplate_is_no_copy():
    form = np.arange(8)
    rng = np.random.default_rng(0)
    source = [np.concatenate([form, rng.integers(100, 10_000, 4)]) for _ in range(60)]
    hashes, _ = run_hashes(source)
    assert np.all(hashes[1:] >= hashes[:-1])
    assert near_duplicates(source, [np.concatenate([form, rng.integers(100, 10_000, 1)])]) == []
    assert near_duplicates(source, [source[7]]) == [{"target": 0, "source": 7, "share": 0.8}]


# -- distance ----------------------------------------------------------------------------------------------------------


def test_distance_is_about_twice_the_foreign_share():
    rng = np.random.default_rng(0)
    home = (rng.random((800, 30)) < 0.4).astype(float)
    home[:, 20:] = 0
    for share in (0.0, 0.5, 1.0):
        target = (rng.random((800, 30)) < 0.4).astype(float)
        target[:, 20:] = 0
        rows = rng.random(800) < share
        target[rows] = np.roll(target[rows], 10, axis=1)
        found = proxy_a_distance(sp.csr_matrix(home), sp.csr_matrix(target))
        assert found["distance"] == pytest.approx(2 * share, abs=0.15)
        assert found["low"] <= found["distance"] <= found["high"]


def test_distance_of_few_documents_is_not_given():
    few = random_counts(10, 5, seed=0, density=1.0)
    found = proxy_a_distance(few, random_counts(100, 5, seed=1, density=1.0))
    assert np.isnan(found["distance"])
    assert found["documents"] == 10


# -- bridges -----------------------------------------------------------------------------------------------------------


def test_naive_bayes_is_scikit_learns():
    X, codes = random_counts(50, 12, seed=0), np.arange(50) % 3
    theirs = MultinomialNB(alpha=0.5).fit(X, codes)
    np.testing.assert_allclose(log_weights(X, codes, 3), theirs.feature_log_prob_, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("at_a_time", [4_000_000, 12])
def test_votes_leave_the_word_itself_out(monkeypatch, at_a_time):
    monkeypatch.setattr("isthmus.shift.bridges._AT_A_TIME", at_a_time)
    X, weights = random_counts(30, 8, seed=1), np.log(np.random.default_rng(2).random((3, 8)))
    expected = np.zeros((3, 8))
    for row in X.toarray():
        for word in np.flatnonzero(row):
            rest = row.copy()
            rest[word] = 0
            scores = weights @ rest
            best = np.isclose(scores, scores.max(), rtol=0, atol=1e-9)
            expected[best, word] += 1 / best.sum()
    np.testing.assert_allclose(votes_without_word(X, weights), expected, rtol=1e-5, atol=1e-8)


def domain(n, seed, flipped=(), gone=(), words=30, classes=2):
    """Documents whose words 0–9 speak for class 0, 10–19 for class 1, the rest for none."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(classes, size=n)
    chance = np.full((n, words), 0.2)
    for word in range(20):
        side = codes == (word // 10) ^ (word in flipped)
        chance[:, word] = np.where(side, 0.5, 0.1)
    chance[:, list(gone)] = 0
    return sp.csr_matrix((rng.random((n, words)) < chance).astype(float)), codes


NAMES, CLASSES = np.array([f"w{i}" for i in range(30)], dtype=object), np.array(["zero", "one"])


def test_words_that_changed_sides_are_found_and_others_are_not():
    source, codes = domain(1500, seed=0)
    target, _ = domain(1500, seed=1, flipped=(3, 14))
    found = class_shifted_words(source, codes, target, NAMES, CLASSES)
    assert {row["word"] for row in found} == {"w3", "w14"}
    assert {(row["word"], row["class"], row["towards"]) for row in found} == {
        ("w3", "zero", "one"),
        ("w14", "one", "zero"),
    }


@pytest.mark.parametrize("seed", range(5))
def test_nothing_moved_between_halves(seed):
    source, codes = domain(800, seed=10 + seed)
    target, _ = domain(800, seed=20 + seed)
    assert len(class_shifted_words(source, codes, target, NAMES, CLASSES)) <= 1  # 5% false discoveries are allowed


def test_what_carries_over():
    source, codes = domain(1000, seed=0)
    whole = vocabulary_transfer(source, codes, domain(1000, seed=1)[0])
    half = vocabulary_transfer(source, codes, domain(1000, seed=1, gone=(*range(5), *range(10, 15)))[0])
    none = vocabulary_transfer(source, codes, domain(1000, seed=1, gone=range(20))[0])
    assert whole.share > 0.9
    assert 0.5 < half.share < whole.share - 0.05
    assert none.share < 0.05
    assert vocabulary_transfer(source, np.zeros(1000, dtype=int), source) is None


def test_pivots_are_the_words_that_tell():
    source, codes = domain(1000, seed=0)
    table = pivot_table(source, codes, domain(1000, seed=1, gone=(2,))[0], NAMES, CLASSES)
    assert {row["word"] for row in table[:19]} == {f"w{i}" for i in range(20) if i != 2}
    assert all(row["class"] == ("zero" if int(row["word"][1:]) < 10 else "one") for row in table[:19])
    assert [row["information"] for row in table] == sorted((row["information"] for row in table), reverse=True)


# -- groups ------------------------------------------------------------------------------------------------------------


def test_groups_stand_apart_only_where_there_are_any():
    source, codes = domain(400, seed=0)
    facts = group_facts(source, codes, source, 2)
    assert facts["clusterability"] > 1.5 * facts["shuffled"]
    assert facts["agreement"] > 0.5
    plain = group_facts(source, np.random.default_rng(0).permutation(codes), shuffle_words(source), 2)
    assert plain["clusterability"] < 1.3 * plain["shuffled"]
    assert abs(plain["agreement"]) < 0.05
    assert group_facts(source[:5], codes[:5], source, 2) is None


def test_shuffling_keeps_lengths_and_frequencies():
    X = random_counts(40, 20, seed=0)
    dealt = shuffle_words(X)
    np.testing.assert_allclose(dealt.sum(axis=1), X.sum(axis=1), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(dealt.sum(axis=0), X.sum(axis=0), rtol=1e-5, atol=1e-8)
    assert (dealt != X).nnz > 0
    rows = np.split(dealt.indices, dealt.indptr[1:-1])
    assert all(len(set(row.tolist())) == len(row) for row in rows)  # a word dealt twice is one entry of two


def test_divergence_counts_words_in_exactly_as_many_documents_as_are_asked_for():
    source = sp.csr_matrix([[2, 1, 0], [1, 0, 1], [3, 0, 0]])  # words in 3, 1, 1 of these …
    target = sp.csr_matrix([[1, 2, 0], [0, 9, 1]])  # … and in 1, 2, 1 of those: 4, 3 and 2 in all
    s, t = np.array([7, 2]) / 9, np.array([2, 12]) / 14  # shares of the two words, each raised by one
    assert word_divergence(source, target, min_df=3)["kl"] == pytest.approx(np.sum(s * np.log(s / t)))


def test_log_odds_of_a_word_and_their_variance_by_hand():
    """The variance with 2 / no instead of 1 / no."""
    votes, base = np.array([[3.0], [1.0]]), np.array([10.0, 20.0])
    odds, variance = _log_odds(votes, base)
    np.testing.assert_allclose(variance[:, 0], [1 / 3.5 + 1 / 1.5, 1 / 1.5 + 1 / 3.5])
    np.testing.assert_allclose(
        odds[:, 0], [np.log(3.5 / 1.5) - np.log(10.5 / 20.5), np.log(1.5 / 3.5) - np.log(20.5 / 10.5)]
    )


def test_a_run_in_fifty_documents_may_be_copied_and_in_one_more_is_a_form():
    form = np.arange(8)
    target = [np.append(form, 99)]  # two runs, one of them the form
    for n, found in ((COPIES["boilerplate"], 1), (COPIES["boilerplate"] + 1, 0)):
        source = [np.append(form, 1_000 + number) for number in range(n)]
        assert len(near_duplicates(source, target)) == found, f"the run stands in {n} source documents"


def test_shares_are_not_corrected_where_a_class_has_one_document():
    """Nothing can be held out of it: the shares are those of the labels."""
    source = sp.csr_matrix(np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1.0]]))
    target = sp.csr_matrix(np.array([[1, 0], [1, 0], [1, 0], [0, 1.0]]))
    for n in (4, 5):
        found = predicted_shares(source[:n], np.array([0, 0, 0, 1, 1])[:n], target, 2)
        assert found == pytest.approx([0.75, 0.25]), f"{n} source documents"


def test_one_class_makes_no_groups_to_compare_with():
    source, codes = domain(40, seed=0)
    assert group_facts(source, np.zeros_like(codes), source, 1) is None
    assert class_shifted_words(source, np.zeros_like(codes), source, np.arange(source.shape[1]), ["a"]) == []


def test_a_short_document_is_a_copy_however_often_the_source_repeats_it():
    """Texts of a single run, such as "no comment", are no boilerplate inside a longer text."""
    short = np.arange(2)
    found = near_duplicates([short] * (COPIES["boilerplate"] + 1), [short, np.arange(50, 60)], run=2)
    assert [(row["target"], row["share"]) for row in found] == [(0, 1.0)]
