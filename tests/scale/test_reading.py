"""Texts of a block to numbers of terms."""

from isthmus.features.term_table import unpack_texts
from isthmus.features.tokens import WordAnalyzer
from isthmus.scale.reading import Reading, read_tokens


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
