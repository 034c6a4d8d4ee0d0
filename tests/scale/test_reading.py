"""Texts of a block to numbers of terms."""

from itertools import pairwise

import pytest

from isthmus.features import TextVectorizer
from isthmus.features.languages import stop_words
from isthmus.features.term_table import unpack_texts
from isthmus.features.tokens import WordAnalyzer
from isthmus.scale.reading import Reading, choose_reading, read_tokens


def test_words_of_several_languages_are_looked_up_once_a_language(monkeypatch):
    """Once a word: the time of a block grew with the square of its words."""
    asked = []
    real = WordAnalyzer.look_up

    def note(self, words, language):
        asked.append(language)
        return real(self, words, language)

    monkeypatch.setattr(WordAnalyzer, "look_up", note)
    texts = ["The kind people of the town", "Die freundlichen Leute in der Stadt", "Kind people and their houses"]
    tokens = read_tokens(texts, Reading(languages=("en", "de")))
    assert sorted(asked) == sorted(set(asked))
    assert {"kind", "peopl", "leut"} <= set(unpack_texts(tokens.terms))
    assert tokens.ends[-1] == len(tokens.ids)


@pytest.mark.parametrize("analyzer", ["words", "auto"])
def test_a_script_without_blanks_is_cut_as_in_memory(analyzer):
    """By a segmenter where words are asked for by name, and into pairs otherwise."""
    pytest.importorskip("rjieba", reason="words of Chinese texts need the extra 'zh'")
    texts = ["中国男篮获得冠军", "人民银行发布公告"]
    blocks = read_tokens(texts, choose_reading(texts, analyzer=analyzer, language="zh"))
    memory = TextVectorizer(analyzer=analyzer, language="zh", min_df=1).fit(texts)
    assert sorted(unpack_texts(blocks.terms)) == sorted(memory.get_feature_names_out())


def words_of(texts, reading):
    tokens = read_tokens(texts, reading)
    terms = unpack_texts(tokens.terms)
    assert len(set(terms)) == len(terms), "a word of several documents has one number"
    return [[terms[i] for i in tokens.ids[start:end]] for start, end in pairwise([0, *tokens.ends.tolist()])]


def test_documents_of_plain_letters_and_others_keep_their_order():
    """The first are read as bytes, the others as in memory."""
    as_written = Reading("words", ("en",), sentiment=True)
    texts = ["Kind INNS", "", "x", "naïve ideas\nkind", "a bc", "kind-of 12ab34", "inns", "trailing é kind"]
    expected = [["kind", "inns"], [], [], ["naïve", "ideas", "kind"], ["bc"], ["kind", "of", "ab"], ["inns"]]
    assert words_of(texts, as_written) == [*expected, ["trailing", "kind"]]
    for alone in (["é à", "über"], ["ab"], [""], []):
        assert words_of(alone, as_written) == [[word for word in text.split() if len(word) > 1] for text in alone]
    assert words_of(["INNS"], Reading("words", ("tr",)))[0] == words_of(["ınns"], Reading("words", ("tr",)))[0]


@pytest.mark.parametrize(
    ("reading", "share"),
    [
        (Reading("words", ("en",)), 1.0),
        (Reading("words", ("other",)), 1.0),
        (Reading("words", ("zh",)), 1.0),
        (Reading("words", ("sq",)), 0.3),
        (Reading("words", ("sq",), sentiment=True), 1.0),
    ],
    ids=lambda value: str(getattr(value, "languages", value)),
)
def test_a_language_without_a_list_has_its_stop_words_told_by_how_common_they_are(reading, share):
    """Not where opinions are read, nor where words are not told apart by blanks."""
    assert stop_words("sq") == frozenset() == stop_words("other")
    assert reading.most_documents == share


def test_readings_of_cut_and_whole_scripts_are_kept_apart():
    names = {
        Reading("words", ("zh",), segment=segment, sentiment=opinion).name for segment in (0, 1) for opinion in (0, 1)
    }
    assert len(names) == 4, names


def test_n_grams_of_three_characters_are_those_of_texts_in_memory():
    texts = ["kind staff", "", "ab", "price, kind"]
    memory = TextVectorizer(analyzer="trigrams", min_df=1, language="en").fit(texts)
    found = words_of(texts, Reading("trigrams", ("en",)))
    assert {term for row in found for term in row} == set(memory.get_feature_names_out())
    assert [len(row) for row in found] == memory.transform(texts).sum(axis=1).ravel().tolist()[0]
