"""A method is a recipe's name, an estimator or a pipeline; anything else is refused with what to do."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

import isthmus
from isthmus.api.methods import (
    adapt_estimator,
    build_method,
    check_takes_classes,
    read_parameters,
    set_parameters,
)
from isthmus.base import TransferClassifier
from isthmus.estimator_checks import example_texts
from isthmus.exceptions import UsageError
from isthmus.features import TextVectorizer
from isthmus_bench.baselines.tsvm import TransductiveSVM

TEXTS, LABELS, DOMAIN = example_texts()
SOURCE, TARGET = TEXTS[: len(TEXTS) // 2], TEXTS[len(TEXTS) // 2 :]
TRUTH = LABELS[DOMAIN < 0]


def label(method, **options):
    return isthmus.label(SOURCE, LABELS[DOMAIN > 0], TARGET, method=method, **options)


class KeyWords(TransferClassifier):
    """Reads texts: counts words of either topic."""

    _row_kind = "text"
    _parameter_constraints = {}

    def _fit(self, domains):
        self.n_iter_, self.history_, self.termination_condition_ = 1, [], "fitted"
        return self._scores(domains.rows(domains.target)).argmax(axis=1)

    def _scores(self, X):
        price = {"price", "bill", "cheap", "expensive", "discount", "paid"}
        counts = np.array([sum(word in price for word in text.split()) for text in X], dtype=float)
        return np.column_stack([counts, 2.0 - counts])


@pytest.mark.parametrize(
    ("method", "name"),
    [
        (TransductiveSVM(), "TransductiveSVM"),
        (isthmus.CoClusteringClassifier(), "CoClusteringClassifier"),
        (KeyWords(), "KeyWords"),
        (isthmus.make_transfer_pipeline(CountVectorizer(), isthmus.SourceOnlyClassifier()), "SourceOnlyClassifier"),
        (make_pipeline(TfidfVectorizer(), TransductiveSVM()), "TransductiveSVM"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_estimator_or_a_pipeline_labels(method, name):
    result = label(method)
    assert result.method == result.settings["method"] == name
    assert result.model.members[name].kind == name
    assert np.mean(result.labels == TRUTH) > 0.8
    assert not hasattr(method, "classes_"), "the caller's own estimator was fitted"
    assert {row["class"] for row in result.reasons(0)} == {"price", "staff"}


def test_the_vectoriser_in_front_follows_the_tags():
    assert adapt_estimator(isthmus.CoClusteringClassifier())[0].weighting == "counts"
    assert adapt_estimator(TransductiveSVM())[0].weighting == "tfidf"
    assert adapt_estimator(TransductiveSVM(), analyzer="chars", min_df=2)[0].get_params()["min_df"] == 2
    assert adapt_estimator(TransductiveSVM(), language="german")[0].language == "german"


def test_a_recipe_and_its_parts_agree():
    by_name = label("cocc")
    by_hand = label(isthmus.make_transfer_pipeline(TextVectorizer(), isthmus.CoClusteringClassifier()))
    assert by_name.labels.tolist() == by_hand.labels.tolist()
    np.testing.assert_allclose(by_name.confidence, by_hand.confidence, rtol=1e-5, atol=1e-8)


def test_a_seed_that_is_set_stays():
    assert adapt_estimator(TransductiveSVM(), random_state=3)[-1].random_state == 3
    assert adapt_estimator(TransductiveSVM(random_state=5), random_state=3)[-1].random_state == 5


def test_labelled_words_reach_the_method_once():
    words = {"polite": "staff", "cheap": "price"}
    result = label(isthmus.ManifoldDualClassifier(), word_labels=words)
    assert np.mean(result.labels == TRUTH) > 0.8
    assert len(result.model.members[result.method].rule.labelled_words) == 2
    for method in (TransductiveSVM(), isthmus.ManifoldDualClassifier(word_labels=words)):
        with pytest.raises(UsageError) as caught:
            label(method, word_labels=words)
        assert caught.value.code == "bad-word-labels"


class Mute(ClassifierMixin, BaseEstimator):
    """Takes domains, but says neither how sure it is nor what it decided."""

    def fit(self, X, y, sample_domain=None):
        self.classes_ = np.unique([label for label in y if label is not None])
        return self


class Fitted:
    """Can be fitted, and is no estimator."""

    def fit(self, X, y, sample_domain=None):
        return self


class Forgetful(Mute):
    def predict_proba(self, X):
        return np.full((X.shape[0], 2), 0.5)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (LogisticRegression(), r"SourceOnlyClassifier\(LogisticRegression\(\)\)"),
        (make_pipeline(CountVectorizer(), LogisticRegression()), "does not take sample_domain"),
        (TransductiveSVM, r"give an instance of it: TransductiveSVM\(\)"),
        (isthmus.CrossGuidedKMeans(), "CrossGuidedKMeans has no predict_proba"),
        (Mute(), "Mute has no predict_proba"),
        (Forgetful(), "Forgetful has no transduction_ after fit"),
        (Pipeline([]), "Pipeline does not take sample_domain"),
        (Fitted(), "method is Fitted; give the name of a recipe"),
        (None, "method is NoneType; give the name of a recipe"),
        (3, "method is int; give the name of a recipe"),
        (["cocc"], "method is list"),
    ],
)
def test_what_keeps_no_contract_is_refused(method, words):
    with pytest.raises(UsageError, match=words) as caught:
        label(method)
    assert caught.value.code == "bad-method"


def test_settings_of_a_vectoriser_that_is_not_there_are_refused():
    for method in (KeyWords(), make_pipeline(CountVectorizer(), isthmus.SourceOnlyClassifier())):
        with pytest.raises(UsageError, match="leave them out") as caught:
            label(method, min_df=2)
        assert caught.value.code == "bad-parameter"


def test_names_still_work():
    pipeline, name = build_method("nbc", random_state=0)
    assert name == "nbc"
    assert [type(step).__name__ for _, step in pipeline.steps] == ["TextVectorizer", "SourceOnlyClassifier"]
    with pytest.raises(UsageError) as caught:
        build_method("nbd")
    assert caught.value.code == "unknown-method"


class Callable(TransductiveSVM):
    """An estimator that can also be called."""

    def __call__(self, texts):
        raise AssertionError("an estimator is fitted, not asked as a labeller")


class Plain(BaseEstimator):
    """Says nothing about what its parameters may be."""

    def __init__(self, size=1):
        self.size = size


def test_an_estimator_that_can_be_called_is_no_labeller():
    assert label(Callable()).method == "Callable"


def test_an_estimator_that_states_no_limits_takes_any_value():
    estimator = Plain()
    set_parameters(estimator, {"size": "large"}, "plain")
    assert estimator.size == "large"
    with pytest.raises(UsageError, match="did you mean size"):
        set_parameters(estimator, {"sise": 2}, "plain")


@pytest.mark.parametrize("typed", ["=5", "max_iter", "="])
def test_a_typed_parameter_has_a_name_and_a_value(typed):
    with pytest.raises(UsageError, match="has no value; give NAME=VALUE"):
        read_parameters([typed])


def test_names_of_classes_are_for_methods_that_read_them():
    check_takes_classes("auto")
    check_takes_classes("names")
    for method in ("nbc", TransductiveSVM()):
        with pytest.raises(UsageError, match="does not read names of classes"):
            check_takes_classes(method)
