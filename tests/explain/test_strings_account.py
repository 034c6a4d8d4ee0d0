"""Accounts of string-kernel labels add up."""

import numpy as np
import pytest
from sklearn.base import clone

from isthmus import StringKernel, TransductiveKernelClassifier
from isthmus.estimator_checks import example_texts
from isthmus.exceptions import UsageError
from isthmus.explain import explain_document
from isthmus.explain.strings import nearest_documents, ngram_contributions, word_contributions
from isthmus.methods import make_method
from isthmus.papers.strings import LiteralStringKernels

TEXT = "the manager paid the expensive bill, the bill"


@pytest.mark.parametrize("kind", ["presence", "intersection", "spectrum"])
@pytest.mark.parametrize(
    "model", [TransductiveKernelClassifier(), TransductiveKernelClassifier(n_landmarks=20), LiteralStringKernels()]
)
def test_contributions_add_up_to_the_score(kind, model):
    model = clone(model).set_params(kernel=kind, ngram_range=(3, 5)).fit(*example_texts())
    table, base = ngram_contributions(model, TEXT)
    # Probabilities depend only on differences between the scores of two classes.
    difference = np.log(model.predict_proba([TEXT])[0]) @ [1, -1] / model.inverse_temperature_
    np.testing.assert_allclose((sum(table.values()) + base) @ [1, -1], difference, atol=1e-8, rtol=1e-5)
    words = word_contributions(model, TEXT)
    assert [word for word, _ in words] == TEXT.split()
    total = sum(values for _, values in words) + base
    np.testing.assert_allclose(total @ [1, -1], difference, atol=1e-8, rtol=1e-5)


def test_words_of_the_topic_lead():
    texts, labels, domain = example_texts()
    pipeline = make_method("strings").fit(texts, labels, sample_domain=domain)
    rows = explain_document(pipeline, "a polite manager and one bill", top=2)
    assert {row["term"] for row in rows if row["class"] == "staff" and row["contribution"] > 0} <= {"polite", "manager"}


def test_marks_around_words_make_no_words_of_their_own():
    texts, labels, domain = example_texts()
    pipeline = make_method("strings").fit(texts, labels, sample_domain=domain)
    rows = [
        row for row in explain_document(pipeline, 'the bill, a "bill" … bill.', top=None) if row["class"] == "staff"
    ]
    assert sorted(row["term"] for row in rows) == ["a", "bill", "the", "…"]
    words = word_contributions(pipeline.steps[-1][1], 'the bill, a "bill" … bill.')
    place = pipeline.classes_.tolist().index("staff")
    assert sum(row["contribution"] for row in rows) == pytest.approx(sum(values[place] for _, values in words))


def test_nearest_source_documents():
    texts, labels, domain = example_texts()
    model = TransductiveKernelClassifier().fit(texts, labels, domain)
    rows = nearest_documents(model, texts[3], texts[:24], labels[:24], top=3)
    assert rows[0]["document"] == 3
    assert rows[0]["similarity"] == pytest.approx(1.0)
    assert rows[0]["label"] == labels[3]


def test_other_kernels_have_no_ngrams():
    texts, labels, domain = example_texts()
    K = StringKernel().gram(texts, normalize=True)
    model = TransductiveKernelClassifier(kernel="precomputed").fit(K, labels, domain)
    with pytest.raises(UsageError):
        ngram_contributions(model, TEXT)
