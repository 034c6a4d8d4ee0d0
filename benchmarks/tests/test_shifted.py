"""Texts made to order: what the parameters promise."""

from collections import Counter

import numpy as np
import pytest
import Stemmer
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

import isthmus
from isthmus.exceptions import UsageError
from isthmus_bench.shifted import make_shifted_texts


def source_only_accuracy(made):
    model = make_pipeline(CountVectorizer(), MultinomialNB()).fit(made.source_texts, made.source_labels)
    return model.score(made.target_texts, made.target_labels)


def test_same_number_same_texts():
    assert make_shifted_texts(20, 20, random_state=1) == make_shifted_texts(20, 20, random_state=1)
    assert make_shifted_texts(20, 20, random_state=1) != make_shifted_texts(20, 20, random_state=2)


def test_each_side_is_as_large_as_asked_for():
    made = make_shifted_texts(7, 4, n_sources=2, random_state=0)
    assert (len(made.source_texts), len(made.target_texts)) == (14, 4)
    assert (len(made.source_labels), len(made.target_labels)) == (14, 4)


def test_words_stand_where_the_table_says():
    made = make_shifted_texts(300, 300, shared=0.4, noise=0)
    of = {row["word"]: (row["class"], row["domain"]) for row in made.words}
    assert len(of) == len(made.words)  # no word twice
    sides = {"source 1": (made.source_texts, made.source_labels), "target": (made.target_texts, made.target_labels)}
    for domain, (texts, labels) in sides.items():
        for text, label in zip(texts, labels, strict=True):
            for word in text.split():
                class_name, place = of[word]
                assert class_name in (None, label)
                assert place in ("shared", domain)
    assert len(made.words_of("class 0", "shared")) == 12
    assert len(made.words_of()) == 2 * (12 + 18 + 18) + 30


def test_words_survive_stemming_and_stop_words():
    words = make_shifted_texts(1, 1, n_classes=20, n_words=200).words_of()
    assert Stemmer.Stemmer("porter").stemWords(words) == words
    assert not set(words) & ENGLISH_STOP_WORDS


def test_the_fewer_words_are_shared_the_harder_it_gets():
    scores = [source_only_accuracy(make_shifted_texts(shared=share, noise=0.3)) for share in (0.0, 0.2, 1.0)]
    assert scores[0] < 0.6 < scores[1] < scores[2]
    assert scores[2] > 0.9


def test_a_method_that_adapts_finds_what_source_only_misses():
    made = make_shifted_texts(shared=0.15, noise=0.3)
    result = isthmus.label(made.source_texts, made.source_labels, made.target_texts, method="cocc")
    assert np.mean(result.labels == np.array(made.target_labels)) > source_only_accuracy(made) + 0.05


def test_shares_novel_classes_and_several_sources():
    made = make_shifted_texts(
        400, 400, n_sources=2, n_novel=1, class_shares=[3, 1], target_class_shares=[0, 1, 1], random_state=3
    )
    assert Counter(made.source_domain) == {"source 1": 400, "source 2": 400}
    assert set(made.source_labels) == {"class 0", "class 1"}
    assert set(made.target_labels) == {"class 1", "class 2"}
    assert 0.7 < Counter(made.source_labels)["class 0"] / 800 < 0.8
    np.testing.assert_array_equal(np.unique(made.sample_domain, return_counts=True), [[-1, 1, 2], [400, 400, 400]])
    target = made.sample_domain < 0
    assert set(made.labels[target]) == {None}
    assert made.true_labels[target].tolist() == made.target_labels
    assert not set(made.words_of(domain="source 1")) & {word for text in made.target_texts for word in text.split()}


def test_one_class_alone_has_no_noise():
    made = make_shifted_texts(5, 5, n_classes=1, noise=1.0, length=1)
    assert all(made.source_texts)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_source": 0},
        {"n_target": 2.5},
        {"n_classes": True},
        {"length": "long"},
        {"shared": 1.2},
        {"shared": True},
        {"noise": "much"},
        {"common": [0.1]},
        {"class_shares": [1, 2, 3]},
        {"target_class_shares": [-1, 2]},
        {"class_shares": [0, 0]},
    ],
    ids=str,
)
def test_nonsense_is_refused(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))) as caught:
        make_shifted_texts(**wrong)
    assert caught.value.code == "bad-parameter"


def test_made_texts_may_be_one_word_long_and_never_empty():
    """Texts of at least two words."""
    made = make_shifted_texts(60, 60, length=1, random_state=0)
    lengths = {len(text.split()) for text in [*made.source_texts, *made.target_texts]}
    assert min(lengths) == 1
