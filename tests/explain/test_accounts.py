"""Who explains a label: the method itself, its nearest known ancestor, or words left out."""

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

import isthmus
from isthmus.base import TransferClassifier
from isthmus.choose.model import Member
from isthmus.choose.stages.apply import add_contributions
from isthmus.estimator_checks import example_texts
from isthmus.exceptions import UsageError
from isthmus.explain import Accountable, explain_document, terms
from isthmus.features import TextVectorizer
from isthmus.methods import make_method

TEXTS, LABELS, DOMAIN = example_texts()
TEXT = "cheap bill, rude staff; cheap!"


def fit(*steps):
    return isthmus.make_transfer_pipeline(*steps).fit(TEXTS, LABELS, sample_domain=DOMAIN)


class Tuned(isthmus.CoClusteringClassifier):
    """A user's own variant."""


class Frank(isthmus.SourceOnlyClassifier):
    """Says itself what its words did."""

    def term_contributions(self, row):
        return {column: [1.0, -1.0] for column in row.indices}


class Wordy(TransferClassifier):
    """Reads texts and says nothing about its words."""

    _row_kind = "text"
    _parameter_constraints = {}

    def _fit(self, domains):
        self.n_iter_, self.history_, self.termination_condition_ = 1, [], "fitted"
        return self._scores(domains.rows(domains.target)).argmax(axis=1)

    def _scores(self, X):
        return np.array([[text.count("cheap") + text.count("贵"), text.count("rude")] for text in X], dtype=float)


def test_types_decide_along_the_line_of_ancestors():
    plain, own = (fit(TextVectorizer(min_df=1), cls(random_state=0)) for cls in (isthmus.CoClusteringClassifier, Tuned))
    assert explain_document(own, TEXT) == explain_document(plain, TEXT)
    assert isinstance(Frank(), Accountable)
    assert not isinstance(Tuned(), Accountable)


def test_a_name_alone_decides_nothing():
    impostor = fit(type("CoClusteringClassifier", (Wordy,), {})())
    rows = explain_document(impostor, TEXT, top=None)
    assert {tuple(row.values()) for row in rows} == {
        tuple(row.values()) for row in terms.left_out_words(Member.of(impostor), TEXT)
    }


def test_the_method_is_asked_first():
    rows = explain_document(fit(TextVectorizer(min_df=1), Frank()), "cheap staff", top=None)
    assert {(row["class"], row["term"], row["contribution"]) for row in rows} == {
        (name, word, value) for name, value in (("price", 1.0), ("staff", -1.0)) for word in ("cheap", "staff")
    }


def test_an_account_of_the_wrong_size_is_refused():
    class Short(Frank):
        def term_contributions(self, row):
            return {column: [1.0] for column in row.indices}

    with pytest.raises(UsageError, match="one number for each of the 2 classes"):
        explain_document(fit(TextVectorizer(min_df=1), Short()), "cheap staff")


@pytest.mark.parametrize(
    "method",
    [
        isthmus.SourceOnlyClassifier(RandomForestClassifier(n_estimators=20, random_state=0)),
        isthmus.SourceOnlyClassifier(SVC(kernel="linear")),
    ],
)
@pytest.mark.parametrize("block", [256, 1])
def test_columns_are_left_out_where_there_are_no_weights(method, block, monkeypatch):
    """Asked about in one go or one by one."""
    monkeypatch.setattr(terms, "BLOCK", block)
    pipeline = fit(CountVectorizer(), method)
    row = pipeline[:-1].transform([TEXT])
    without = row.copy()
    column = pipeline[0].vocabulary_["cheap"]
    without[0, column] = 0
    logs = np.log(np.maximum(pipeline[-1].predict_proba(row), 1e-300)) - np.log(
        np.maximum(pipeline[-1].predict_proba(without), 1e-300)
    )
    rows = {(one["class"], one["term"]): one["contribution"] for one in explain_document(pipeline, TEXT, top=None)}
    assert rows["price", "cheap"] == pytest.approx(logs[0, 0], abs=1e-9)
    assert rows["staff", "cheap"] == pytest.approx(logs[0, 1], abs=1e-9)


def check_words(pipeline, text, word, words):
    rows = explain_document(pipeline, text, top=None)
    assert {row["term"] for row in rows} == words
    best = max((row for row in rows if row["class"] == "price"), key=lambda row: row["contribution"])
    assert best["term"] == word
    return rows


def test_words_are_left_out_where_the_method_reads_texts():
    rows = check_words(fit(Wordy()), TEXT, "cheap", {"cheap", "bill", "rude", "staff"})
    assert {row["contribution"] for row in rows if row["term"] in ("bill", "staff")} == {0.0}


def test_characters_are_left_out_in_scripts_without_blanks():
    check_words(fit(Wordy()), "这个很贵 啊", "贵", set("这个很贵啊"))


@pytest.mark.parametrize(
    "steps", [(HashingVectorizer(n_features=64),), (CountVectorizer(), TruncatedSVD(4, random_state=0))]
)
def test_words_are_left_out_where_columns_are_not_words(steps):
    pipeline = fit(*steps, isthmus.SourceOnlyClassifier())
    rows = explain_document(pipeline, TEXT, top=None)
    assert {row["term"] for row in rows} == {"cheap", "bill", "rude", "staff"}
    whole, less = pipeline.predict_proba([TEXT, "bill, rude staff;"])
    found = next(row for row in rows if (row["class"], row["term"]) == ("price", "cheap"))
    assert found["contribution"] == pytest.approx(np.log(whole[0] / less[0]))


@pytest.mark.parametrize("kernel", ["presence", isthmus.StringKernel(ngram_range=(3, 4)).cross])
def test_string_kernels_and_functions_are_explained(kernel):
    pipeline = fit(isthmus.TransductiveKernelClassifier(kernel, ngram_range=(3, 4)))
    rows = explain_document(pipeline, TEXT, top=None)
    assert {row["term"] for row in rows} == {"cheap", "bill", "rude", "staff"}


def test_an_empty_text_has_no_terms():
    assert explain_document(fit(Wordy()), " ") == []
    assert explain_document(fit(CountVectorizer(), isthmus.SourceOnlyClassifier(SVC(kernel="linear"))), "zzz") == []


def test_contributions_of_a_linear_method_add_up_to_its_decision():
    """Weights divided by what the text holds of a word instead of multiplied."""
    pipeline = make_method("logistic", min_df=1).fit(TEXTS, LABELS, sample_domain=DOMAIN)
    model = pipeline.steps[-1][1].estimator_
    row = pipeline[:-1].transform([TEXT])
    assert len(set(row.data.round(6))) > 1  # words of unequal weight
    rows = explain_document(pipeline, TEXT, top=None)
    decision = model.decision_function(row)[0]
    decision = np.array([-decision / 2, decision / 2]) if np.ndim(decision) == 0 else decision
    for code, label in enumerate(pipeline.steps[-1][1].classes_):
        offset = model.intercept_[code] if len(model.intercept_) > 1 else (-1, 1)[code] * model.intercept_[0] / 2
        total = sum(r["contribution"] for r in rows if r["class"] == label)
        assert total + offset == pytest.approx(decision[code])


def test_columns_that_a_step_only_selects_are_still_terms():
    chosen = fit(TextVectorizer(min_df=1), VarianceThreshold(), isthmus.SourceOnlyClassifier())
    plain = fit(TextVectorizer(min_df=1), isthmus.SourceOnlyClassifier())
    found, expected = ({row["term"] for row in explain_document(one, TEXT)} for one in (chosen, plain))
    assert found <= expected
    assert found


def test_columns_that_are_no_words_in_a_dense_table_leave_words_out():
    """A pipeline whose rows are full of numbers: its words are left out instead."""
    pipeline = fit(
        TextVectorizer(min_df=1), FunctionTransformer(lambda rows: rows.toarray()), isthmus.SourceOnlyClassifier()
    )
    rows = terms.left_out_terms(Member.of(pipeline), TEXT)
    assert rows == terms.left_out_words(Member.of(pipeline), TEXT)
    assert {row["term"] for row in rows} == {"cheap", "bill", "rude", "staff"}


def test_contributions_of_several_members_are_added_by_their_weights():
    """The contributions of a member sum to its weight, however large its own numbers are."""

    def rows(**words):
        return [{"class": "x", "term": term, "contribution": value} for term, value in words.items()]

    added = add_contributions([(rows(w=20.0, v=-20.0), 0.6), (rows(w=0.1), 0.3), ([], 0.1)])
    assert [(row["class"], row["term"]) for row in added] == [("x", "w"), ("x", "v")]
    assert [row["contribution"] for row in added] == pytest.approx([0.6 / 2 + 0.3, -0.6 / 2])
