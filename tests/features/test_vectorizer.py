"""Words, stems, bigrams, counts over the joint vocabulary, tf-idf."""

import pickle
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from isthmus.exceptions import IsthmusError
from isthmus.features import TextVectorizer, guess_language, tokenize_words, weigh_tfidf
from isthmus.features.counting import sharing
from isthmus.features.languages import pick_language
from isthmus.features.ngrams import key_names, ngram_keys
from isthmus.features.tokens import WordAnalyzer

GERMAN = """Der Mann und die Frau gehen am Abend in das Haus am Ende der Strasse und essen dort das Brot, das der Mann
aus dem Laden geholt hat, und trinken Wasser aus dem Glas, das auf dem Tisch in der Ecke steht, und der Hund liegt
unter dem Tisch und wartet darauf, dass ihm jemand etwas gibt, aber niemand denkt an den Hund, und so geht er hinaus."""
ENGLISH = ["The riders were riding the bikes", "A rider and a price", "prices, prices and 42 prices"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't re-read e-mail 2x", ["don", "re", "read", "mail"]),
        ("Über naïve Müller", ["über", "naïve", "müller"]),
        ("cafe\u0301 noir", ["cafe\u0301", "noir"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("Привет, мир", ["привет", "мир"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("snake_case 😀 x", ["snake", "case"]),
        ("", []),
    ],
)
def test_words_are_unicode_letters(text, words):
    assert tokenize_words(text) == words


def test_words_of_plain_letters_are_found_as_all_others_are():
    text = "".join(f"{chr(code)}{'ab' * (code % 2)}{chr(code)}" for code in range(128))
    assert tokenize_words(text, lowercase=False) == tokenize_words(text + " é", lowercase=False)


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        (["the price of the bike was too high for us"], "en"),
        (["价格太高了", "服务很好"], "zh"),
        (["バイクの価格"], "ja"),
        (["der Preis für das Fahrrad war für uns zu hoch, schöne Grüße"], "de"),
        (["цена была слишком высокой"], "ru"),
        ([GERMAN], "de"),
        (["engine carburettor throttle helmet exhaust", "invoice dealer warranty"], "en"),
        ([""], "en"),
    ],
)
def test_language_guess(texts, language):
    assert guess_language(texts) == language


def test_english_defaults_stem_and_drop_stop_words():
    vectorizer = TextVectorizer(min_df=1).fit(ENGLISH)
    assert vectorizer.get_feature_names_out().tolist() == ["bike", "price", "ride", "rider"]


def test_german_defaults_stem_and_drop_stop_words():
    texts = ["Die Preise für Räder", "Größe und Preise"]
    names = TextVectorizer(min_df=1, subwords=False).fit(texts).get_feature_names_out()
    assert names.tolist() == ["gross", "preis", "rad"]
    names = TextVectorizer(min_df=1).fit(texts).get_feature_names_out()
    assert set(names) == {"gross", "preis", "rad", "…größe…", "…preis…", "…reise…", "…räder…"}


@given(st.lists(st.text(alphabet="ab c,éж", max_size=20), min_size=1, max_size=6))
def test_counts_equal_scikit_learn(texts):
    peer = CountVectorizer(token_pattern=r"[^\W\d_]{2,}")
    try:
        expected = peer.fit_transform(texts)
    except ValueError:
        with pytest.raises(IsthmusError):
            TextVectorizer(analyzer="words", stem=False, stop_words=None, min_df=1).fit(texts)
        return
    ours = TextVectorizer(analyzer="words", stem=False, stop_words=None, min_df=1)
    counts = ours.fit_transform(texts)
    assert ours.get_feature_names_out().tolist() == peer.get_feature_names_out().tolist()
    assert (counts != expected).nnz == 0


@given(st.lists(st.text(max_size=15), min_size=1, max_size=5))
def test_character_ngrams_equal_slices(texts):
    keys, documents = ngram_keys(texts, [1, 2, 3], lowercase=False, words_only=False)
    found = sorted(zip(documents.tolist(), key_names(keys).tolist(), strict=True))
    expected = []
    for i, text in enumerate(texts):
        bare = "".join(text.split())
        expected += [(i, bare[j : j + n]) for n in (1, 2, 3) for j in range(len(bare) - n + 1)]
    assert found == sorted(expected)


def test_chinese_bigrams_ignore_segmentation_and_stop_at_punctuation():
    vectorizer = TextVectorizer(min_df=1)
    X = vectorizer.fit_transform(["北京 天气，很好", "北京天气，很好"])
    assert vectorizer.analyzer_ == "bigrams"
    assert sorted(vectorizer.get_feature_names_out()) == sorted(["北京", "京天", "天气", "很好"])
    assert (X[0] != X[1]).nnz == 0


def test_binary_rows_hold_one_for_each_term_that_occurs():
    vectorizer = TextVectorizer(min_df=1, weighting="binary")
    assert vectorizer.fit_transform(["good good plot", "bad plot plot"]).toarray().tolist() == [[0, 1, 1], [1, 0, 1]]
    assert vectorizer.transform(["good good good"]).toarray().tolist() == [[0, 1, 0]]


@pytest.mark.parametrize("texts", [ENGLISH, ["北京天气", "天气很好", "股票上涨"]])
@pytest.mark.parametrize("weighting", ["counts", "binary", "tfidf"])
def test_transform_repeats_fit_transform(texts, weighting):
    vectorizer = TextVectorizer(min_df=1, weighting=weighting)
    X = vectorizer.fit_transform(texts)
    assert sp.issparse(X)
    assert abs(X - vectorizer.transform(texts)).max() < 1e-12
    assert abs(X[[1]] - vectorizer.transform(texts[1:2])).max() < 1e-12


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"ngram_range": (1, 2)},
        {"sentiment": True, "negation": 3},
        {"language": "de"},
        {"phrases": ["no good"]},
        {"language": "de", "min_df": 40},
        {"subwords": True, "ngram_range": (1, 2), "min_df": 40},
    ],
    ids=str,
)
def test_many_texts_are_counted_like_single_ones(settings):
    more = ["unseen", "", "发动机" if not settings else "oil"]
    texts = [f"{'no ' * (n % 3)}good Bremse{n % 7}n an der Straße, {more[n % 11 % 3]}" for n in range(230)]
    vectorizer = TextVectorizer(**{"language": "en", "min_df": 2, **settings}).fit(texts[:200])
    single = sp.vstack([vectorizer.transform([text]) for text in texts], format="csr")
    many = vectorizer.transform(texts)
    assert (many != single).nnz == 0, "texts counted together should have the counts of texts counted alone"
    assert many.has_sorted_indices


def test_empty_and_unknown_documents_survive():
    vectorizer = TextVectorizer(min_df=1)
    X = vectorizer.fit_transform([*ENGLISH, "", "the"])
    assert X.shape[0] == 5
    assert X[3:].nnz == 0
    assert vectorizer.transform(["unseen", ""]).shape == (2, 4)


def test_blocks_do_not_change_the_result(monkeypatch):
    texts = [f"北京{i}天气{i % 3}很好" for i in range(50)]
    whole = TextVectorizer(min_df=1).fit_transform(texts)
    for place in ("vectorizer", "term_rows"):
        monkeypatch.setattr(f"isthmus.features.{place}.BLOCK", 7)
    assert (TextVectorizer(min_df=1).fit_transform(texts) != whole).nnz == 0


def test_order_of_documents_does_not_matter():
    forward, backward = TextVectorizer(min_df=1), TextVectorizer(min_df=1)
    X, Y = forward.fit_transform(ENGLISH), backward.fit_transform(ENGLISH[::-1])
    assert forward.get_feature_names_out().tolist() == backward.get_feature_names_out().tolist()
    assert (Y[::-1] != X).nnz == 0


def test_document_frequency_threshold_counts_both_domains():
    texts = ["rare common", "common", "common rare", "once common"]
    names = TextVectorizer(analyzer="words", min_df=2, stop_words=None, stem=False).fit(texts).get_feature_names_out()
    assert names.tolist() == ["common", "rare"]
    names = (
        TextVectorizer(analyzer="words", min_df=1, max_df=0.9, stop_words=None, stem=False).fit(texts).feature_names_
    )
    assert names.tolist() == ["once", "rare"]


@pytest.mark.parametrize(("n", "kept"), [(50, True), (500, False)])
def test_automatic_threshold_goes_by_size(n, kept):
    names = TextVectorizer(stem=False).fit(["unique word"] + ["common word"] * n).get_feature_names_out()
    assert ("unique" in names) == kept


def test_word_pairs():
    vectorizer = TextVectorizer(analyzer="words", ngram_range=(1, 2), min_df=1, stop_words=None, stem=False)
    names = vectorizer.fit(["not good at all"]).get_feature_names_out().tolist()
    assert names == ["all", "at", "at all", "good", "good at", "not", "not good"]


@given(st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=6))
def test_tfidf_equals_scikit_learn(rows):
    X = sp.csr_matrix(np.array(rows, dtype=float))
    X.eliminate_zeros()
    np.testing.assert_allclose(
        weigh_tfidf(X).toarray(), TfidfTransformer().fit_transform(X).toarray(), rtol=1e-5, atol=1e-8
    )
    np.testing.assert_allclose(
        weigh_tfidf(X, sublinear=True).toarray(),
        TfidfTransformer(sublinear_tf=True).fit_transform(X).toarray(),
        rtol=1e-5,
        atol=1e-8,
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {"analyzer": "wrods"},
        {"ngram_range": (2, 1)},
        {"analyzer": "chars", "ngram_range": (5, 8)},
        {"analyzer": "chars", "ngram_range": (1, 4)},
        {"weighting": "x"},
        {"ngram_range": (True, 2)},
        {"ngram_range": [1, 2, 3]},
    ],
)
def test_bad_parameters_are_refused(parameters):
    with pytest.raises(IsthmusError) as caught:
        TextVectorizer(**parameters).fit(ENGLISH)
    assert caught.value.code == "bad-parameter"


def test_no_term_left_is_refused():
    with pytest.raises(IsthmusError) as caught:
        TextVectorizer(min_df=3).fit(ENGLISH[:2])
    assert caught.value.code == "empty-vocabulary"
    assert "in 3 or more of 2 documents; give more texts or lower min_df." in str(caught.value)
    with pytest.raises(IsthmusError, match=r"in 1 or more of 2 documents and in at most 1; .* raise max_df") as caught:
        TextVectorizer(min_df=1, max_df=0.5, language="en").fit(["kind staff", "kind staff"])
    assert caught.value.code == "empty-vocabulary"


def test_is_clonable_and_analyses_like_it_counts():
    vectorizer = clone(TextVectorizer(min_df=1)).fit(ENGLISH)
    assert vectorizer.analyze("Riding bikes and planes") == ["ride", "bike", "plane"]


def test_part_of_the_texts_is_not_read_again_and_counted_the_same():
    texts = [f"kind staff number {word}" for word in ("one", "two", "three", "one")] + ["rude staff", "slow bike"]
    part = [texts[4], texts[2], texts[0]]
    alone = TextVectorizer(min_df=1, ngram_range=(1, 2))
    expected = alone.fit_transform(part)
    with sharing():
        TextVectorizer(min_df=1).fit(texts)
        with patch.object(WordAnalyzer, "words") as read:
            again = TextVectorizer(min_df=1, ngram_range=(1, 2))
            rows = again.fit_transform(part)
    assert not read.called
    assert again.feature_names_.tolist() == alone.feature_names_.tolist()
    assert (rows != expected).nnz == 0


def test_words_after_a_negation_count_as_others():
    texts = ["This is not a good idea and good news", "It didn't work well at all", "Nicht gut"]
    vectorizer = TextVectorizer(min_df=1, sentiment=True, negation=3, language="en")
    counts = vectorizer.fit_transform(texts)
    names = vectorizer.feature_names_.tolist()
    row = dict(zip(names, counts.toarray()[0].tolist(), strict=True))
    assert row["not-good"] == row["good"] == row["not-idea"] == row["not-and"] == row["news"] == 1
    assert {"not-work", "not-well", "not-at", "all"} <= set(names)
    assert not {"not-not", "not-all"} & set(names)  # the negation itself, and beyond its reach
    one_by_one = [vectorizer.analyze(text) for text in texts]
    assert all(sorted(set(terms)) == [names[i] for i in counts[n].indices] for n, terms in enumerate(one_by_one))
    assert (vectorizer.transform(texts) != counts).nnz == 0
    german = TextVectorizer(min_df=1, sentiment=True, negation=3, language="de", stem=False).fit(["nicht schnell"])
    assert "not-schnell" in german.feature_names_


def test_negation_leaves_shared_tokens_as_they_are():
    texts = ["not good", "good"]
    with sharing():
        TextVectorizer(min_df=1, sentiment=True, negation=3, language="en").fit(texts)
        plain = TextVectorizer(min_df=1, sentiment=True, language="en").fit(texts)
    assert plain.feature_names_.tolist() == ["good", "not"]


@pytest.mark.parametrize(("sentiment", "kept"), [(False, False), (True, True)])
def test_words_of_most_documents_are_dropped_where_no_list_is_kept_unless_opinions_are_read(sentiment, kept):
    texts = [f"og {'abcdefgh'[n % 8] * 3}" for n in range(60)]
    names = TextVectorizer(language="is", min_df=1, subwords=False, sentiment=sentiment).fit(texts).feature_names_
    assert ("og" in names) is kept
    assert "aaa" in names


def test_min_df_counts_documents_not_occurrences():
    texts = ["rare rare rare common", "common wheel", "common wheel"]
    assert TextVectorizer(min_df=2, stem=False).fit(texts).get_feature_names_out().tolist() == ["common", "wheel"]


@pytest.mark.parametrize(("n_documents", "least"), [(199, 1), (200, 2), (999, 2), (1_000, 3)])
def test_in_how_many_documents_a_term_must_be(n_documents, least):
    """One document more or less at the bounds."""
    words = ["one", *["two"] * 2, *["three"] * 3]
    texts = [*words, *["common"] * (n_documents - len(words))]
    names = TextVectorizer(stem=False, stop_words=None).fit(texts).get_feature_names_out()
    assert set(names) == {"common", *["three", "two", "one"][: 4 - least]}


def test_what_readers_share_goes_by_all_that_they_ask_for():
    texts = ["kind staff staff", "rude staff", "staff and price"]
    asked = [{}, {"max_df": 0.5}, {"min_df": 2}, {"stop_words": ["price"]}, {"stem": False}, {"ngram_range": (1, 2)}]
    weighed = [{"weighting": "tfidf"}, {"weighting": "binary"}, {"sublinear": True}]
    asked += [*weighed, {"weighting": "tfidf", "sublinear": True}, {"weighting": "tfidf", "min_df": 2}]

    def read(one):
        vectorizer = TextVectorizer(**{"min_df": 1, "language": "en"} | one)
        rows = vectorizer.fit_transform(texts)
        return vectorizer.feature_names_.tolist(), rows.toarray().tolist()

    with sharing():
        together = [read(one) for one in asked]
    for one, found in zip(asked, together, strict=True):
        assert found == read(one), one


def test_fitted_again_a_vectoriser_knows_its_new_words_alone():
    vectorizer = TextVectorizer(min_df=1, language="en").fit(["apple apple", "bread"])
    vectorizer.transform(["bread"])
    vectorizer.fit(["zebra", "bread", "crane"])
    assert vectorizer.transform(["crane"]).toarray().tolist() == [[0.0, 1.0, 0.0]]


@pytest.mark.parametrize("texts", [["ab\ncd", "ef"], ["ab", "ef\n"], ["\n\n", "ef"], ["ab", "ef"]])
def test_line_breaks_in_a_text_leave_the_next_text_its_own(texts):
    keys, documents = ngram_keys(texts, [2])
    where = dict(zip(key_names(keys).tolist(), documents.tolist(), strict=True))
    assert where["ef"] == 1


@pytest.mark.parametrize(
    ("settings", "lower", "kept"),
    [
        ({"analyzer": "words", "stem": False}, ["price", "staff"], ["Price", "price", "staff"]),
        ({"analyzer": "chars", "ngram_range": (1, 1)}, list("aceifprst"), list("Pacefiprst")),
        ({"analyzer": "bigrams"}, ["af", "ce", "ff", "ic", "pr", "ri", "st", "ta"], None),
    ],
    ids=str,
)
def test_capitals_are_letters_of_their_own_where_that_is_asked(settings, lower, kept):
    texts = ["Price", "price staff"]
    reader = TextVectorizer(min_df=1, language="en", **settings).fit(texts)
    exact = TextVectorizer(min_df=1, language="en", lowercase=False, **settings).fit(texts)
    kept = kept or ["Pr", *lower]
    assert set(reader.get_feature_names_out()) >= set(lower)
    assert not set(reader.get_feature_names_out()) - {name.lower() for name in reader.get_feature_names_out()}
    assert set(exact.get_feature_names_out()) >= set(kept)
    for vectorizer, alike in ((reader, True), (exact, False)):
        first, second = vectorizer.transform(["Price", "price"]).toarray().tolist()
        assert (first == second) == alike, "later texts are read as the first ones were"


def test_stop_words_may_be_english_in_any_language():
    texts = ["the staff und der Preis"]
    named = TextVectorizer(min_df=1, language="de", stem=False, subwords=False, stop_words="english").fit(texts)
    assert named.get_feature_names_out().tolist() == ["der", "preis", "staff", "und"]
    usual = TextVectorizer(min_df=1, language="de", stem=False, subwords=False).fit(texts)
    assert usual.get_feature_names_out().tolist() == ["preis", "staff", "the"]


def test_sequences_of_words_may_be_longer_than_those_of_characters():
    names = TextVectorizer(min_df=1, language="en", stem=False, ngram_range=(4, 4)).fit(
        ["friendly staff sold bikes yesterday"]
    )
    assert names.get_feature_names_out().tolist() == ["friendly staff sold bikes", "staff sold bikes yesterday"]
    assert TextVectorizer(min_df=1, analyzer="chars", ngram_range=(3, 3)).fit(["abcd"]).feature_names_.tolist() == [
        "abc", "bcd"
    ]  # fmt: skip


def test_terms_in_more_than_a_share_of_the_documents_are_dropped():
    texts = ["bike loud", "bike fast", "bike loud", "slow"]
    half = TextVectorizer(min_df=1, language="en", stem=False, max_df=0.5).fit(texts)
    assert half.get_feature_names_out().tolist() == ["fast", "loud", "slow"], "half of them is not more than half"


def test_a_vectoriser_that_is_not_fitted_can_be_saved():
    again = pickle.loads(pickle.dumps(TextVectorizer(min_df=1, max_df=0.9)))
    assert again.max_df == 0.9
    again.max_df = 1.0
    assert again.fit(["kind staff"]).get_feature_names_out().tolist() == ["kind", "staff"]


def test_an_entry_of_zero_stays_one_where_counts_are_taken_as_logarithms():
    rows = sp.csr_matrix((np.array([4.0, 0.0, 1.0]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
    found = weigh_tfidf(rows, np.ones(2), sublinear=True, norm=None).toarray()
    np.testing.assert_allclose(found, [[1 + np.log(4), 0.0], [0.0, 1.0]])


def test_signs_count_among_characters_and_part_pairs_of_letters():
    texts = ["ab, cd"]
    for vectorizer, names in (
        (TextVectorizer(analyzer="chars", ngram_range=(2, 2), min_df=1), [",c", "ab", "b,", "cd"]),
        (TextVectorizer(analyzer="bigrams", min_df=1), ["ab", "cd"]),
    ):
        counts = vectorizer.fit_transform(texts)
        assert vectorizer.get_feature_names_out().tolist() == names
        assert counts.toarray().tolist() == vectorizer.transform(texts).toarray().tolist() == [[1.0] * len(names)]


@pytest.mark.parametrize("settings", [{}, {"subwords": True}, {"subwords": True, "ngram_range": (1, 2)}], ids=str)
def test_every_name_stands_above_its_own_counts(settings):
    texts = ["rare Bremse", "Bremse alt", "Bremse alt neu neu", "neu Zeitung"]
    vectorizer = TextVectorizer(language="de", stem=False, min_df=2, **{"subwords": False, **settings})
    counts = vectorizer.fit_transform(texts).toarray()
    names = vectorizer.get_feature_names_out().tolist()
    terms = [vectorizer.analyze(text) for text in texts]
    kept = sorted({term for several in terms for term in several if sum(term in other for other in terms) >= 2})
    assert names == kept
    assert "zeitung" not in names
    assert counts.tolist() == [[float(several.count(name)) for name in names] for several in terms]


def test_a_text_that_does_not_tell_is_read_in_the_first_of_several_languages():
    assert pick_language("42 !", ["de", "en"]) == "de"
    assert pick_language("价格太高了", ["de", "zh"]) == "zh"
    assert pick_language("价格太高了", ["de", "en"]) == "de"


@pytest.mark.parametrize(("n", "left_out"), [(49, False), (50, True)])
def test_words_of_all_documents_are_stop_words_from_fifty_texts_on(n, left_out):
    """This holds for a language without a list of stop words."""
    texts = [f"shtëpi {'bukur' if i % 4 else 'vogël'} {'abc'[i % 3] * 4}" for i in range(n)]
    names = TextVectorizer(min_df=1, language="sq", stem=False).fit(texts).get_feature_names_out().tolist()
    assert ("shtëpi" not in names) is left_out, f"{n} texts: {names}"
    assert "vogël" in names, "a quarter of the texts contain it"
