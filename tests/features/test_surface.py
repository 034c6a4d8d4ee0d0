"""Stems written out as the commonest word behind them."""

from isthmus.features import TextVectorizer
from isthmus.features.tokens import readable, surface_forms

TEXTS = ["the people and the peoples", "people pay invoices", "invoices, an invoice, invoices", "every saturday"]


def test_the_commonest_form_wins():
    forms = surface_forms(TextVectorizer(min_df=1).fit(TEXTS), TEXTS)
    assert forms["peopl"] == "people"
    assert forms["invoic"] == "invoices"
    assert readable("saturdai peopl", forms) == "saturday people"
    assert readable("unknown", forms) == "unknown"


def test_words_that_were_not_looked_at_get_their_shortest_form():
    vectorizer = TextVectorizer(min_df=1).fit(TEXTS)
    assert surface_forms(vectorizer, ["people"])["invoic"] == "invoice"
    assert "invoic" not in surface_forms(vectorizer, ["people"], whole=False)


def test_nothing_to_write_out_where_nothing_is_stemmed():
    assert surface_forms(TextVectorizer(stem=False, min_df=1).fit(TEXTS), TEXTS) == {}
    assert surface_forms(TextVectorizer(min_df=1).fit(["发动机很响", "座位很硬"]), TEXTS) == {}
    assert surface_forms(object(), TEXTS) == {}
