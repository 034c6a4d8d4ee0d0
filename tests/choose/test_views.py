"""Labels judged in every view: vectors beside words, at equal length."""

import numpy as np
import pytest

from isthmus.choose import Evidence, VotingRule
from isthmus.choose.candidates import try_methods
from isthmus.choose.stages.apply import add_log_odds
from isthmus.choose.stages.lexicon import weigh_lexicon
from isthmus.choose.texts import TransferTexts, nearer_target
from isthmus.choose.views import DenseView, Ridge, even_lengths


def groups(n, shift, seed):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 2
    rows = np.where(codes[:, None] == 0, [3.0, 0, 1, 0], [0, 3.0, 1, 0]) + shift + rng.normal(scale=0.5, size=(n, 4))
    return rows, np.array(["a", "b"])[codes]


def test_leave_one_out_answers_are_those_of_refitting():
    rows, labels = groups(30, 0.0, 0)
    ridge = Ridge.of(rows)
    wanted = (labels == "b").astype(float)
    gram = ridge.rows.T @ ridge.rows
    penalty = 0.1 * np.trace(gram) / len(gram)
    agreed = 0
    for i in range(len(rows)):
        rest = np.arange(len(rows)) != i
        mean = wanted[rest].mean()
        own = ridge.rows[rest] - 0.0
        weights = np.linalg.solve(own.T @ own + penalty * np.eye(4), own.T @ (wanted[rest] - mean))
        agreed += (ridge.rows[i] @ weights + mean > 0.5) == (labels[i] == "b")
    counts = ridge.held_out(labels)
    assert abs(np.trace(counts) - agreed) <= 1


def test_right_labels_score_above_shuffled_ones():
    source, labels = groups(80, 0.0, 0)
    target, truth = groups(80, 2.0, 1)
    view = DenseView(source, labels, target)
    right = Evidence.from_tables(*view.tables(truth))
    wrong = Evidence.from_tables(*view.tables(np.random.default_rng(2).permutation(truth)))
    rule = VotingRule()
    assert rule.score(right) > rule.score(wrong)
    assert right.reverse_accuracy > 0.9


def test_the_score_is_the_mean_over_views():
    words, vectors = Evidence(0.3, 0.3, 0.8, 0.8), Evidence(0.6, 0.3, 0.6, 0.8)
    both = Evidence(0.3, 0.3, 0.8, 0.8, others={"vectors": vectors})
    rule = VotingRule()
    assert np.isclose(rule.score(both), (rule.score(words) + rule.score(vectors)) / 2)


def test_lengths_are_made_even_only_where_they_differ_much():
    short, long = ["a b c", "d e f"], ["a b c d", "e f g h"]
    assert even_lengths(short, long) == (short, long)
    _, thinned = even_lengths(short, [" ".join("abcdefghijkl"), " ".join("mnopqrstuvwx")])
    assert [len(text.split()) for text in thinned] == [3, 3]


def test_further_texts_join_the_side_they_read_like():
    source, target = ["goal match team"] * 20, ["driver memory disk"] * 20
    assert nearer_target(source, target, ["match goal", "disk driver"]).tolist() == [False, True]
    pair = TransferTexts.of(source, np.array(["x", "y"] * 10, dtype=object), target, ["match goal", "disk driver"])
    assert pair.domain[-2:].tolist() == [1, -1]
    assert len(pair.texts[pair.target]) == 20


def test_two_witnesses_who_agree_are_surer_than_one():
    both = add_log_odds(np.array([[0.7, 0.3]]), np.array([[0.7, 0.3]]))
    assert both[0, 0] > 0.8


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    words = {"a": ["goal", "match", "team"], "b": ["disk", "driver", "memory"]}

    def texts(n):
        labels = ["a", "b"] * (n // 2)
        return [" ".join(rng.choice([*words[name], "the", "and", "of"], 8)) for name in labels], labels

    source, labels = texts(60)
    target, _ = texts(40)
    texts = TransferTexts.of(source, np.array(labels, dtype=object), target)
    runs = [try_methods(texts, random_state=0, n_jobs=n) for n in (1, 3)]
    assert [candidate.name for candidate in runs[0].fitted] == [candidate.name for candidate in runs[1].fitted]
    for one, three in zip(runs[0].fitted, runs[1].fitted, strict=True):
        np.testing.assert_array_equal(one.labels, three.labels)


def scores(n, distances, common, seed=0):
    """Probabilities by two scores with unit spread, their classes that far apart, errors with that correlation."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 2
    noise = rng.multivariate_normal([0, 0], [[1, common], [common, 1]], size=n)
    margins = (codes[:, None] - 0.5) * distances + noise
    margins *= distances  # log-odds of a Gaussian score
    return codes, *(1 / (1 + np.exp(np.column_stack([m, -m]))) for m in margins.T)


def test_a_witness_is_weighed_by_what_it_says_beyond_the_vote():
    for common, low, high in ((0.0, 0.9, 1.0), (0.5, 0.5, 0.9)):
        codes, own, lexicon = scores(4_000, np.array([2.0, 1.6]), common)
        right = [np.mean(rows.argmax(axis=1) == codes) for rows in (own, lexicon)]
        weight = weigh_lexicon(own, lexicon, *right, common)
        assert low <= weight <= high
        together = np.mean(add_log_odds(own, lexicon, weight).argmax(axis=1) == codes)
        assert together > max(right) + 0.01
        assert together >= np.mean(add_log_odds(own, lexicon).argmax(axis=1) == codes) - 0.002
        # Believed to be far better than it is in the target: its likeness to the vote gives it away.
        assert weigh_lexicon(own, lexicon, right[0], 0.9, common) <= weight + 0.1
    # A lexicon that knows part of what the vote knows, and nothing else, does not count.
    codes, own, lexicon = scores(4_000, np.array([2.0, 0.8]), 0.5)
    right = [np.mean(rows.argmax(axis=1) == codes) for rows in (own, lexicon)]
    assert np.mean(add_log_odds(own, lexicon).argmax(axis=1) == codes) < right[0] - 0.005
    assert weigh_lexicon(own, lexicon, *right, 0.5) < 0.1
    # Documents without a labelled word do not count.
    quiet = np.where(np.arange(len(own))[:, None] % 2 == 0, lexicon, 0.5)
    assert weigh_lexicon(own, quiet, *right, 0.2) == weigh_lexicon(own[::2], lexicon[::2], *right, 0.2)


def test_a_text_keeps_as_many_words_as_the_other_side_has_at_its_place():
    """Lengths 20, 1, 6 and 12 stand at places 3, 0, 1 and 2, next to 2 and 4 words of the other side."""
    short = ["a b c d", "e f"]
    long = [" ".join(f"w{i}" for i in range(20)), "only", "u  v w x y z", " ".join(f"v{i}" for i in range(12))]
    thinned = ["w0 w5 w10 w15", "only", "u x", "v0 v3 v6 v9"]
    assert even_lengths(short, long) == (short, thinned)
    assert even_lengths(long, short) == (thinned, short)
    equal = [*long[:1], "two  words", *long[2:]]
    assert even_lengths(short, equal)[1][1] == "two  words", "a text that is short enough stays as it is"


@pytest.mark.parametrize(
    ("given", "found", "language"),
    [
        ("auto", ["de"], "de"),
        ("auto", ["other"], "other"),
        ("auto", ["latin"], "auto"),
        ("auto", ["de", "en"], "auto"),
        ("fr", ["de"], "fr"),
    ],
)
def test_one_language_is_read_as_itself(monkeypatch, given, found, language):
    """A script that several languages write is no language."""
    monkeypatch.setattr("isthmus.choose.texts.languages_in_use", lambda texts, **options: found)
    texts = TransferTexts.of(["a b"], np.array(["x"], dtype=object), ["c d"])
    assert texts.one_language(given) == language


@pytest.mark.parametrize("domain", [None, np.array(["one", "two", "two", "one"])])
def test_what_is_left_of_a_source_keeps_texts_labels_and_domains_together(domain):
    source = ["d text", "b text", "c text", "a text"]
    labels = np.array(["dd", "bb", None, "aa"], dtype=object)
    texts = TransferTexts.of(source, labels, ["z target", "y target"], ["x extra", "b text"], domain=domain)
    left = texts.keep_source(np.array([True, False, True, True]))
    assert left.given_source == ["d text", "c text", "a text"]
    assert left.given_labels.tolist() == ["dd", None, "aa"]
    assert (None if left.given_domain is None else left.given_domain.tolist()) == (
        None if domain is None else ["one", "two", "one"]
    )
    assert dict(zip(left.known_texts, left.known_labels, strict=True)) == {"d text": "dd", "a text": "aa"}
    if domain is not None:
        assert dict(zip(left.known_texts, left.known_domain, strict=True)) == {"d text": "one", "a text": "one"}
    assert sorted(left.texts[left.target]) == ["y target", "z target"]
    assert left.as_given(np.array(left.texts[left.target])).tolist() == ["z target", "y target"]
    assert sorted(left.texts) == sorted(["d text", "c text", "a text", "z target", "y target", "x extra", "b text"])
