"""Contributions add up to the scores they explain."""

import numpy as np
import pytest

from isthmus import TermProjectionClassifier, make_transfer_pipeline
from isthmus.explain import explain_document
from isthmus.explain.projection import explain_projection
from isthmus.features import TextVectorizer


@pytest.mark.parametrize("classifier", ["rule", "svm"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_contributions_add_up_exactly(classifier, n_classes):
    rng = np.random.default_rng(0)
    codes = np.arange(120) % n_classes
    X = rng.poisson(np.where((np.arange(30) % n_classes)[None, :] == codes[:, None], 1.5, 0.3))
    model = TermProjectionClassifier(classifier=classifier, random_state=0).fit(X, codes)
    for i in (0, 7, 50):
        rows = explain_projection(model, X[i : i + 1])
        sums = np.zeros(n_classes)
        for row in rows:
            sums[row["class"]] += row["contribution"]
        np.testing.assert_allclose(sums, model.class_scores(X[i : i + 1])[0], rtol=1e-12, atol=1e-12)


def test_an_empty_document_has_nothing_but_the_intercept():
    X = np.array([[5, 1, 0], [4, 1, 0], [1, 1, 3], [1, 1, 2]])
    y = ["red", "red", "blue", "blue"]
    nothing = np.zeros((1, 3))
    assert explain_projection(TermProjectionClassifier().fit(X, y), nothing) == []
    svm = TermProjectionClassifier(classifier="svm", random_state=0).fit(X, y)
    assert {row["term"] for row in explain_projection(svm, nothing)} <= {"(class as such)"}


def test_from_raw_text():
    texts = ["kind staff", "cheap price", "polite staff", "fair price", "rude staff here", "high price there"]
    pipeline = make_transfer_pipeline(TextVectorizer(min_df=1), TermProjectionClassifier(max_iter=0))
    pipeline.fit(texts, ["s", "p", "s", "p", None, None])
    rows = explain_document(pipeline, "staff and price and staff", top=3)
    assert {(row["class"], row["term"]) for row in rows} == {("p", "price"), ("s", "staff")}
    by_class = {row["class"]: row["contribution"] for row in rows}
    assert by_class["s"] == pytest.approx(2 * by_class["p"])
